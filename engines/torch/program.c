#include "program.h"

#include "adapter.h"
#include "base/file.h"
#include "base/memory.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value of the graph, or behind them a constant that a row made. */
struct slot {
    const char *name; /* the variable */
    struct face_tensor *tensor;
    enum dtype type;
    struct shape shape;
    bool fixed, weight;
};

struct step {
    struct face_module *module; /* the cache's */
    size_t n_inputs, n_outputs;
    size_t *inputs, *outputs; /* slots */
};

struct input { /* what the program was made for */
    size_t slot;
    enum dtype type;
    struct shape shape;
};

struct program {
    struct arena arena;
    const struct model_index *index;
    enum face_mode mode;
    bool reload;
    const char *source;
    struct cache *cache;
    size_t n_slots, room;
    struct slot *slots;
    size_t n_steps;
    struct step *steps;
    size_t n_inputs;
    struct input *inputs;
    size_t n_outputs;
    size_t *outputs;
    struct str body;
    struct face_module *whole;
    bool reads_data;
    bool fresh; /* the slots hold the results for the inputs it was made with */
};

/* What the library, and torch_face.cc of text that it does not compile, say of what it lacks. */
static const char *const lacking[] = {
    "not implemented for", "not supported", "nsupported",
    "not implemented",     "only supports", "only supported",
    "only support ",       "not yet",       NULL,
};

static int library_error(struct error *err, const char *message)
{
    enum error_code code = adapter_says(message, lacking) ? ERROR_UNSUPPORTED : ERROR_IO;
    return error_set(err, code, "%.480s", message);
}

/* Whether the steps are the program. */
static bool is_steps(const struct program *p)
{
    return p->mode == FACE_EAGER && !p->reload;
}

static size_t add_slot(struct program *p, const char *name)
{
    p->slots = memory_grow(p->slots, &p->room, p->n_slots + 1, sizeof *p->slots);
    p->slots[p->n_slots] = (struct slot){.name = name};
    return p->n_slots++;
}

/* The tensor is taken over. */
static void fill_slot(struct program *p, size_t number, struct face_tensor *tensor)
{
    struct slot *slot = &p->slots[number];
    face_tensor_free(slot->tensor);
    slot->tensor = tensor;
    face_tensor_meta(tensor, &slot->type, &slot->shape);
}

static int fill_from(struct program *p, size_t number, const struct tensor *tensor, struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    struct face_tensor *made;
    if (face_scalar_type(tensor->type) < 0)
        return error_set(err, ERROR_UNSUPPORTED, "the library has no %s", dtype_name(tensor->type));
    if (face_tensor_new(&made, tensor, message) < 0)
        return library_error(err, message);
    fill_slot(p, number, made);
    return 0;
}

static int set_inputs(struct program *p, const struct value *inputs, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t number;
        if (inputs[i].kind != VALUE_TENSOR)
            return error_set(err, ERROR_UNSUPPORTED, "input '%.100s' is no tensor", inputs[i].name);
        if (!map_get(&p->index->names, inputs[i].name, &number))
            return error_set(err, ERROR_INVALID, "the model has no input '%.100s'", inputs[i].name);
        if (fill_from(p, number, &inputs[i].tensors[0], err) < 0)
            return error_prefix(err, "input '%.100s'", inputs[i].name);
        p->inputs[i] = (struct input){number, inputs[i].tensors[0].type, inputs[i].tensors[0].shape};
    }
    p->n_inputs = count;
    return 0;
}

static int set_weights(struct program *p, struct error *err)
{
    for (size_t i = 0; i < p->index->count; i++) {
        const struct index_value *value = &p->index->values[i];
        struct tensor tensor;
        if (p->slots[i].tensor || value->source == SOURCE_NODE)
            continue;
        if (value->source == SOURCE_INPUT) {
            if (value->consumers == 0 && !value->is_output)
                continue;
            return error_set(err, ERROR_INVALID, "no value for input '%.100s'", value->name);
        }
        if (model_weight(p->index->model, value->number, &tensor, err) < 0)
            return -1;
        int result = fill_from(p, i, &tensor, err);
        tensor_release(&tensor);
        if (result < 0)
            return error_prefix(err, "initialiser '%.100s'", value->name);
        p->slots[i].fixed = p->slots[i].weight = true;
    }
    return 0;
}

/* A constant that a row wants: a weight of ours. */
static const char *add_constant(void *context, struct tensor *tensor, struct error *err)
{
    struct program *p = context;
    size_t number = add_slot(p, arena_printf(&p->arena, "c%zu", p->n_slots));
    int result = fill_from(p, number, tensor, err);
    tensor_release(tensor);
    p->slots[number].fixed = p->slots[number].weight = true;
    return result < 0 ? NULL : p->slots[number].name;
}

static void describe(const struct program *p, const Onnx__NodeProto *node, struct emit_value *inputs)
{
    for (size_t i = 0; i < node->n_input; i++) {
        size_t number;
        if (!node->input[i][0] || !map_get(&p->index->names, node->input[i], &number))
            continue;
        const struct slot *slot = &p->slots[number];
        inputs[i] = (struct emit_value){slot->name, slot->type, slot->shape, slot->fixed, slot->tensor};
    }
}

/* Slots that the step takes: what the node uses, and the constants made for it. */
static void step_inputs(struct program *p, struct step *step, size_t node, size_t first_constant)
{
    const struct model_index *index = p->index;
    step->inputs =
        arena_array(&p->arena, index->n_uses[node] + p->n_slots - first_constant + 1, sizeof *step->inputs);
    for (size_t i = 0; i < index->n_uses[node]; i++)
        step->inputs[step->n_inputs++] = index->uses[node][i];
    for (size_t i = first_constant; i < p->n_slots; i++)
        step->inputs[step->n_inputs++] = i;
}

static void add_names(const struct program *p, struct str *text, const size_t *slots, size_t count,
                      const char *before)
{
    for (size_t i = 0; i < count; i++)
        str_printf(text, "%s%s", i ? ", " : before, p->slots[slots[i]].name);
}

static int compile_step(struct program *p, struct step *step, const char *lines, struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    struct str text;
    str_init(&text);
    str_add(&text, "def forward(self");
    add_names(p, &text, step->inputs, step->n_inputs, ", ");
    str_printf(&text, "):\n%s    return [", lines);
    add_names(p, &text, step->outputs, step->n_outputs, "");
    str_add(&text, "]\n");
    int result = cache_module(p->cache, text.data, &step->module, message);
    str_release(&text);
    return result < 0 ? library_error(err, message) : 0;
}

static int run_step(struct program *p, const struct step *step, struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    const struct face_tensor **inputs = memory_zeroed(step->n_inputs + 1, sizeof *inputs);
    struct face_tensor **outputs = memory_zeroed(step->n_outputs + 1, sizeof *outputs);
    for (size_t i = 0; i < step->n_inputs; i++)
        inputs[i] = p->slots[step->inputs[i]].tensor;
    int result = face_module_run(step->module, step->n_inputs, inputs, step->n_outputs, outputs, message);
    for (size_t i = 0; i < step->n_outputs; i++)
        if (outputs[i])
            fill_slot(p, step->outputs[i], outputs[i]);
    free(inputs);
    free(outputs);
    return result < 0 ? library_error(err, message) : 0;
}

static bool only_shapes(const Onnx__NodeProto *node)
{
    return strcmp(node->op_type, "Shape") == 0 || strcmp(node->op_type, "Size") == 0;
}

static bool all_fixed(const struct emit_value *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (inputs[i].name && !inputs[i].fixed)
            return false;
    return true;
}

/* The node's outputs as slots, and their variables. */
static void step_outputs(struct program *p, struct step *step, const Onnx__NodeProto *node, bool fixed,
                         const char **names)
{
    step->outputs = arena_array(&p->arena, node->n_output + 1, sizeof *step->outputs);
    for (size_t i = 0; i < node->n_output; i++) {
        size_t number;
        if (!node->output[i][0] || !map_get(&p->index->names, node->output[i], &number))
            continue;
        step->outputs[step->n_outputs++] = number;
        p->slots[number].fixed = fixed;
        names[i] = p->slots[number].name;
    }
}

static size_t write_text(const struct program *p, struct str *text, struct face_buffer *buffers,
                         size_t n_outputs, const size_t *outputs)
{
    size_t n_buffers = 0;
    str_add(text, "def forward(self");
    for (size_t i = 0; i < p->n_inputs; i++)
        str_printf(text, ", %s", p->slots[p->inputs[i].slot].name);
    str_add(text, "):\n");
    for (size_t i = 0; i < p->n_slots; i++) {
        if (!p->slots[i].weight)
            continue;
        buffers[n_buffers++] = (struct face_buffer){p->slots[i].name, p->slots[i].tensor};
        str_printf(text, "    %s = self.%s\n", p->slots[i].name, p->slots[i].name);
    }
    str_printf(text, "%s    return [", p->body.data);
    add_names(p, text, outputs, n_outputs, "");
    str_add(text, "]\n");
    return n_buffers;
}

size_t program_write(const struct program *p, struct str *text, struct face_buffer *buffers)
{
    return write_text(p, text, buffers, p->n_outputs, p->outputs);
}

/* As far as it goes, to the file of knob source: what ends a step has its lines there. */
static int write_source(const struct program *p, size_t n_outputs, const size_t *outputs, struct error *err)
{
    struct face_buffer *buffers = memory_zeroed(p->n_slots + 1, sizeof *buffers);
    struct str text, lines;
    str_init(&text);
    str_init(&lines);
    size_t n_buffers = write_text(p, &text, buffers, n_outputs, outputs);
    bool good = source_lines(&lines, text.data, n_buffers, buffers);
    int result = file_write(p->source, lines.data, good ? lines.length : 0, err);
    str_release(&text);
    str_release(&lines);
    free(buffers);
    return result;
}

static int make_step(struct program *p, size_t number, struct error *err)
{
    const Onnx__NodeProto *node = p->index->model->graph->node[number];
    struct step *step = &p->steps[p->n_steps++];
    struct emit_value *inputs = memory_zeroed(node->n_input + 1, sizeof *inputs);
    const char **names = memory_zeroed(node->n_output + 1, sizeof *names);
    struct str lines;
    size_t first_constant = p->n_slots;
    str_init(&lines);
    describe(p, node, inputs);
    step_outputs(p, step, node, only_shapes(node) || all_fixed(inputs, node->n_input), names);
    struct emit e = {.node = node,
                     .opset = model_opset(p->index->model),
                     .number = number,
                     .n_inputs = node->n_input,
                     .inputs = inputs,
                     .n_outputs = node->n_output,
                     .outputs = names,
                     .text = &lines,
                     .arena = &p->arena,
                     .err = err,
                     .constant = add_constant,
                     .context = p};
    int result = emit_node(&e);
    p->reads_data |= e.reads_data;
    str_append(&p->body, lines.data, lines.length);
    if (result == 0) {
        step_inputs(p, step, number, first_constant);
        if (*p->source)
            result = write_source(p, step->n_outputs, step->outputs, err);
        if (result == 0)
            result = compile_step(p, step, lines.data, err);
    }
    if (result == 0)
        result = run_step(p, step, err);
    str_release(&lines);
    free(names);
    free(inputs);
    return result;
}

size_t program_values(const struct program *p)
{
    return p->n_slots;
}

static int compile_whole(struct program *p, struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    struct face_buffer *buffers = memory_zeroed(p->n_slots + 1, sizeof *buffers);
    struct str text;
    str_init(&text);
    size_t n_buffers = program_write(p, &text, buffers);
    int result = face_module_new(&p->whole, text.data, n_buffers, buffers, p->mode, p->reload, message);
    str_release(&text);
    free(buffers);
    return result < 0 ? library_error(err, message) : 0;
}

static int find_outputs(struct program *p, size_t count, const char *const *names, struct error *err)
{
    p->outputs = arena_array(&p->arena, count + 1, sizeof *p->outputs);
    for (size_t i = 0; i < count; i++)
        if (!map_get(&p->index->names, names[i], &p->outputs[i]))
            return error_set(err, ERROR_INVALID, "the model has no output '%.100s'", names[i]);
    p->n_outputs = count;
    return 0;
}

static int build(struct program *p, const struct value *inputs, size_t count, struct error *err)
{
    size_t n_nodes = p->index->model->graph->n_node;
    p->inputs = arena_array(&p->arena, count + 1, sizeof *p->inputs);
    p->steps = arena_array(&p->arena, n_nodes + 1, sizeof *p->steps);
    for (size_t i = 0; i < p->index->count; i++)
        add_slot(p, arena_printf(&p->arena, "v%zu", i));
    if (set_inputs(p, inputs, count, err) < 0 || set_weights(p, err) < 0)
        return -1;
    for (size_t i = 0; i < n_nodes; i++)
        if (make_step(p, p->index->order[i], err) < 0)
            return -1;
    p->fresh = true;
    if (*p->source && write_source(p, p->n_outputs, p->outputs, err) < 0)
        return -1;
    return is_steps(p) ? 0 : compile_whole(p, err);
}

int program_new(struct program **made, const struct model_index *index, enum face_mode mode, bool reload,
                struct cache *cache, const struct value *inputs, size_t count, size_t n_outputs,
                const char *const *outputs, const char *source, struct error *err)
{
    struct program *p = memory_zeroed(1, sizeof *p);
    arena_init(&p->arena);
    str_init(&p->body);
    p->index = index;
    p->mode = mode;
    p->reload = reload;
    p->source = source;
    p->cache = cache;
    *made = p;
    if (find_outputs(p, n_outputs, outputs, err) == 0 && build(p, inputs, count, err) == 0)
        return 0;
    program_free(p);
    *made = NULL;
    return -1;
}

void program_free(struct program *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_slots; i++)
        face_tensor_free(p->slots[i].tensor);
    face_module_free(p->whole);
    free(p->slots);
    str_release(&p->body);
    arena_release(&p->arena);
    free(p);
}

bool program_fits(const struct program *p, const struct value *inputs, size_t count)
{
    if (p->reads_data || count != p->n_inputs)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct input *input = &p->inputs[i];
        const struct tensor *tensor = inputs[i].tensors;
        if (inputs[i].kind != VALUE_TENSOR || tensor->type != input->type ||
            !shape_equal(&tensor->shape, &input->shape) ||
            strcmp(p->index->values[input->slot].name, inputs[i].name) != 0)
            return false;
    }
    return true;
}

static int run_steps(struct program *p, struct error *err)
{
    for (size_t i = 0; i < p->n_steps; i++)
        if (run_step(p, &p->steps[i], err) < 0)
            return -1;
    return 0;
}

static int run_whole(struct program *p, struct error *err)
{
    struct step step = {p->whole, p->n_inputs, p->n_outputs, NULL, p->outputs};
    step.inputs = memory_zeroed(p->n_inputs + 1, sizeof *step.inputs);
    for (size_t i = 0; i < p->n_inputs; i++)
        step.inputs[i] = p->inputs[i].slot;
    int result = run_step(p, &step, err);
    free(step.inputs);
    return result;
}

static int read_outputs(const struct program *p, struct tensor *outputs, struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    for (size_t i = 0; i < p->n_outputs; i++) {
        if (face_tensor_read(p->slots[p->outputs[i]].tensor, &outputs[i], message) < 0) {
            while (i-- > 0)
                tensor_release(&outputs[i]);
            return library_error(err, message);
        }
    }
    return 0;
}

int program_run(struct program *p, const struct value *inputs, size_t count, struct tensor *outputs,
                struct error *err)
{
    bool fresh = p->fresh;
    p->fresh = false;
    if (!fresh && set_inputs(p, inputs, count, err) < 0)
        return -1;
    if (is_steps(p) ? !fresh && run_steps(p, err) < 0 : run_whole(p, err) < 0)
        return -1;
    return read_outputs(p, outputs, err);
}
