#include "program.h"

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
    bool as_number; /* a row has written its value into the text, so that autograd does not see it */
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
    struct adapter_call *call;
    size_t told; /* steps of the trace before the step that runs now */
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
    "not implemented for", "not supported", "nsupported", "not implemented",    "only supports",
    "only supported",      "only support ", "not yet",    "not differentiable", NULL,
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

static void empty_slot(struct program *p, size_t number)
{
    face_tensor_free(p->slots[number].tensor);
    p->slots[number].tensor = NULL;
}

/* The tensor is taken over. */
static void fill_slot(struct program *p, size_t number, struct face_tensor *tensor)
{
    struct slot *slot = &p->slots[number];
    empty_slot(p, number);
    slot->tensor = tensor;
    face_tensor_meta(tensor, &slot->type, &slot->shape);
}

typedef int make_tensor(struct face_tensor **made, const struct tensor *from,
                        char message[FACE_MESSAGE_SIZE]);

static int fill_from(struct program *p, size_t number, const struct tensor *tensor, make_tensor *make,
                     struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    struct face_tensor *made;
    if (face_scalar_type(tensor->type) < 0)
        return error_set(err, ERROR_UNSUPPORTED, "the library has no %s", dtype_name(tensor->type));
    if (make(&made, tensor, message) < 0)
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
        if (fill_from(p, number, &inputs[i].tensors[0], face_tensor_borrow, err) < 0)
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
        int result = fill_from(p, i, &tensor, face_tensor_new, err);
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
    int result = fill_from(p, number, tensor, face_tensor_new, err);
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

typedef int run_module(struct face_module *module, size_t n_inputs, const struct face_tensor *const *inputs,
                       size_t n_outputs, struct face_tensor **outputs, char message[FACE_MESSAGE_SIZE]);

/* Each name once for a step. */
static void tell(void *context, const char *name, const char *group)
{
    const struct program *p = context;
    const struct trace *trace = p->call->trace;
    for (size_t i = p->told; i < trace->count; i++)
        if (text_equal(trace->steps[i].name, name) && text_equal(trace->steps[i].pass, group))
            return;
    adapter_trace(p->call, &(struct trace_step){.kind = TRACE_KERNEL, .name = name, .pass = group});
}

/* The steps that only serve to write the module are not told. */
static bool begin_trace(struct program *p, const struct step *step)
{
    if (!adapter_traces(p->call) || !(is_steps(p) || step->module == p->whole))
        return false;
    p->told = p->call->trace->count;
    face_tell(tell, p);
    return true;
}

/* Of a module it is not known which operator computes what. */
static void end_trace(struct program *p, const struct step *step)
{
    const char **names = memory_zeroed(step->n_outputs + 1, sizeof *names);
    size_t count = 0;
    face_tell(NULL, NULL);
    for (size_t i = 0; is_steps(p) && i < step->n_outputs; i++)
        if (step->outputs[i] < p->index->count)
            names[count++] = p->index->values[step->outputs[i]].name;
    trace_set_outputs(p->call->trace, p->told, names, count);
    free(names);
}

static int run_step(struct program *p, const struct step *step, run_module *run, struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    const struct face_tensor **inputs = memory_zeroed(step->n_inputs + 1, sizeof *inputs);
    struct face_tensor **outputs = memory_zeroed(step->n_outputs + 1, sizeof *outputs);
    for (size_t i = 0; i < step->n_inputs; i++)
        inputs[i] = p->slots[step->inputs[i]].tensor;
    for (size_t i = 0; i < step->n_outputs; i++)
        empty_slot(p, step->outputs[i]); /* its memory, still in the cache, serves this run */
    bool traced = begin_trace(p, step);
    int result = run(step->module, step->n_inputs, inputs, step->n_outputs, outputs, message);
    if (traced)
        end_trace(p, step);
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
    int result = file_fill(p->source, lines.data, good ? lines.length : 0, err);
    str_release(&text);
    str_release(&lines);
    free(buffers);
    return result;
}

static void mark_numbers(struct program *p, const Onnx__NodeProto *node, uint64_t as_numbers)
{
    for (size_t i = 0; i < node->n_input; i++) {
        size_t number;
        if (as_numbers >> (i < 63 ? i : 63) & 1 && map_get(&p->index->names, node->input[i], &number))
            p->slots[number].as_number = true;
    }
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
    mark_numbers(p, node, e.as_numbers);
    str_append(&p->body, lines.data, lines.length);
    if (result == 0) {
        step_inputs(p, step, number, first_constant);
        if (*p->source)
            result = write_source(p, step->n_outputs, step->outputs, err);
        if (result == 0)
            result = compile_step(p, step, lines.data, err);
    }
    if (result == 0)
        result = run_step(p, step, face_module_run, err);
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
                const char *const *outputs, const char *source, struct adapter_call *call, struct error *err)
{
    struct program *p = memory_zeroed(1, sizeof *p);
    arena_init(&p->arena);
    str_init(&p->body);
    p->index = index;
    p->mode = mode;
    p->reload = reload;
    p->source = source;
    p->call = call;
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

static int run_steps(struct program *p, run_module *run, struct error *err)
{
    for (size_t i = 0; i < p->n_steps; i++)
        if (run_step(p, &p->steps[i], run, err) < 0)
            return -1;
    return 0;
}

static int run_whole(struct program *p, run_module *run, struct error *err)
{
    struct step step = {p->whole, p->n_inputs, p->n_outputs, NULL, p->outputs};
    step.inputs = memory_zeroed(p->n_inputs + 1, sizeof *step.inputs);
    for (size_t i = 0; i < p->n_inputs; i++)
        step.inputs[i] = p->inputs[i].slot;
    int result = run_step(p, &step, run, err);
    free(step.inputs);
    return result;
}

static int lend_outputs(const struct program *p, struct tensor *outputs, struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    for (size_t i = 0; i < p->n_outputs; i++)
        if (face_tensor_lend(p->slots[p->outputs[i]].tensor, &outputs[i], message) < 0)
            return library_error(err, message);
    return 0;
}

int program_run(struct program *p, const struct value *inputs, size_t count, struct tensor *outputs,
                struct error *err)
{
    bool fresh = p->fresh;
    p->fresh = false;
    if (!fresh && set_inputs(p, inputs, count, err) < 0)
        return -1;
    if (is_steps(p) ? !fresh && run_steps(p, face_module_run, err) < 0
                    : run_whole(p, face_module_run, err) < 0)
        return -1;
    return lend_outputs(p, outputs, err);
}

static bool is_leaf(const struct program *p, size_t number)
{
    return number < p->index->count && p->index->values[number].source != SOURCE_NODE &&
           p->slots[number].tensor && dtype_is_float(p->slots[number].type);
}

static bool is_wanted(const struct program *p, const struct adapter_gradient *request, size_t number)
{
    return is_leaf(p, number) && adapter_wants(request, p->index->values[number].name);
}

static int check_wanted(const struct program *p, const struct adapter_gradient *request, struct error *err)
{
    for (size_t i = 0; i < request->n_wanted; i++) {
        size_t number;
        if (!map_get(&p->index->names, request->wanted[i], &number) || !is_leaf(p, number))
            return error_set(err, ERROR_INVALID, "the model has no input or initialiser '%.100s' of floats",
                             request->wanted[i]);
    }
    return 0;
}

/* Which values depend on wanted leaves. */
static bool *find_dependents(const struct program *p, const struct adapter_gradient *request)
{
    const struct model_index *index = p->index;
    bool *dependent = memory_zeroed(p->n_slots + 1, sizeof *dependent);
    for (size_t i = 0; i < index->count; i++)
        dependent[i] = is_wanted(p, request, i);
    for (size_t i = 0; i < p->n_steps; i++) {
        bool any = false;
        for (size_t k = 0; k < p->steps[i].n_inputs; k++)
            any = any || dependent[p->steps[i].inputs[k]];
        for (size_t k = 0; k < p->steps[i].n_outputs; k++)
            dependent[p->steps[i].outputs[k]] = any && dtype_is_float(p->slots[p->steps[i].outputs[k]].type);
    }
    return dependent;
}

/* A value that went into the text as numbers is lost to autograd, and with it what depends on the leaves. */
static int check_numbers(const struct program *p, const struct adapter_gradient *request, struct error *err)
{
    bool *dependent = find_dependents(p, request);
    int result = 0;
    for (size_t i = 0; !result && i < p->index->count; i++)
        if (p->slots[i].as_number && dependent[i])
            result = error_set(err, ERROR_UNSUPPORTED,
                               "gradient by '%.100s', which the library takes as numbers and not as a tensor",
                               p->index->values[i].name);
    free(dependent);
    return result;
}

static bool is_output(const struct program *p, size_t number)
{
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->outputs[i] == number)
            return true;
    return false;
}

/* The derivatives by the leaves, in the order of their slots, from what has just been recorded. */
static int backward(struct program *p, const struct adapter_gradient *request, size_t n_leaves,
                    const struct face_tensor *const *leaves, struct face_tensor **gradients,
                    struct error *err)
{
    char message[FACE_MESSAGE_SIZE] = "";
    const struct face_tensor **outputs = memory_zeroed(request->n_upstream + 1, sizeof *outputs);
    struct face_tensor **upstream = memory_zeroed(request->n_upstream + 1, sizeof *upstream);
    size_t n = 0;
    int result = 0;
    for (size_t i = 0; !result && i < request->n_upstream; i++) {
        const struct value *given = &request->upstream[i];
        size_t number;
        if (given->kind != VALUE_TENSOR || !map_get(&p->index->names, given->name, &number) ||
            !is_output(p, number)) {
            result = error_set(err, ERROR_INVALID, "the model has no output '%.100s'", given->name);
        } else if (face_tensor_is_recorded(p->slots[number].tensor)) {
            outputs[n] = p->slots[number].tensor;
            result = face_tensor_new(&upstream[n++], given->tensors, message);
        }
    }
    if (!result)
        result = face_gradient(n, outputs, (const struct face_tensor *const *)upstream, n_leaves, leaves,
                               gradients, message);
    for (size_t i = 0; i < n; i++)
        face_tensor_free(upstream[i]);
    free(upstream);
    free(outputs);
    return result && *message ? library_error(err, message) : result;
}

/* Whether something arrives at the value on the way back: it is an output that has a weight, or read. */
static bool is_reached(const struct program *p, const struct adapter_gradient *request, size_t number)
{
    for (size_t i = 0; i < request->n_upstream; i++)
        if (strcmp(request->upstream[i].name, p->index->values[number].name) == 0)
            return true;
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t k = 0; k < p->steps[i].n_inputs; k++)
            if (p->steps[i].inputs[k] == number)
                return true;
    return false;
}

/*
 * Of an operator with several results the library may differentiate the first alone and treat the others as
 * constants (mean and deviation of native_layer_norm). What arrives there would be lost without a word.
 */
static int check_recorded(const struct program *p, const struct adapter_gradient *request, struct error *err)
{
    for (size_t i = 0; i < p->n_steps; i++) {
        const struct step *step = &p->steps[i];
        bool recorded = false;
        for (size_t k = 0; k < step->n_outputs; k++)
            recorded |= face_tensor_is_recorded(p->slots[step->outputs[k]].tensor);
        for (size_t k = 0; k < step->n_outputs && recorded; k++) {
            size_t number = step->outputs[k];
            if (number < p->index->count && dtype_is_float(p->slots[number].type) &&
                !face_tensor_is_recorded(p->slots[number].tensor) && is_reached(p, request, number))
                return error_set(err, ERROR_UNSUPPORTED, "the library calls '%.100s' not differentiable",
                                 p->index->values[number].name);
        }
    }
    return 0;
}

/* Forward and backward. The optimising executor compiles each half after a profiled run of it. */
static int differentiate(struct program *p, const struct adapter_gradient *request, size_t n_leaves,
                         const struct face_tensor *const *leaves, struct face_tensor **gradients,
                         struct error *err)
{
    int result = run_steps(p, face_module_record, err);
    if (!result)
        result = check_recorded(p, request, err);
    for (int runs = is_steps(p) ? 1 : 3; !result && runs > 0; runs--) {
        result = is_steps(p) ? 0 : run_whole(p, face_module_record, err);
        if (!result && p->mode == FACE_PROFILE && runs == 1 && face_symbolic_parts() == 0)
            result = error_set(err, ERROR_UNSUPPORTED, "the JIT differentiates none of these operators");
        for (size_t i = 0; i < n_leaves; i++) {
            face_tensor_free(gradients[i]);
            gradients[i] = NULL;
        }
        if (!result)
            result = backward(p, request, n_leaves, leaves, gradients, err);
    }
    return result;
}

static int give_gradients(const struct program *p, size_t n_leaves, const size_t *slots,
                          struct face_tensor *const *gradients, struct adapter_outputs *outputs,
                          struct error *err)
{
    char message[FACE_MESSAGE_SIZE];
    for (size_t i = 0; i < n_leaves; i++) {
        struct tensor tensor;
        if (face_tensor_read(gradients[i], &tensor, message) < 0)
            return library_error(err, message);
        value_set_tensor(adapter_output(outputs, p->index->values[slots[i]].name), &tensor);
    }
    return 0;
}

int program_gradient(struct program *p, const struct adapter_gradient *request,
                     struct adapter_outputs *outputs, struct error *err)
{
    if (p->reload || p->mode == FACE_FREEZE || p->mode == FACE_OPTIMIZE)
        return error_set(err, ERROR_UNSUPPORTED, "gradients of a graph that is frozen or loaded again");
    p->fresh = false;
    if (set_inputs(p, request->inputs, request->n_inputs, err) < 0 || check_wanted(p, request, err) < 0 ||
        check_numbers(p, request, err) < 0)
        return -1;
    size_t *slots = memory_zeroed(p->index->count + 1, sizeof *slots), n = 0;
    struct face_tensor **gradients = memory_zeroed(p->index->count + 1, sizeof *gradients);
    const struct face_tensor **leaves = memory_zeroed(p->index->count + 1, sizeof *leaves);
    for (size_t i = 0; i < p->index->count; i++) {
        if (!is_wanted(p, request, i))
            continue;
        face_tensor_want(p->slots[i].tensor, true);
        leaves[n] = p->slots[i].tensor;
        slots[n++] = i;
    }
    int result = differentiate(p, request, n, leaves, gradients, err);
    if (!result)
        result = give_gradients(p, n, slots, gradients, outputs, err);
    for (size_t i = 0; i < n; i++) {
        face_tensor_want(p->slots[slots[i]].tensor, false);
        face_tensor_free(gradients[i]);
    }
    free(leaves);
    free(gradients);
    free(slots);
    return result;
}
