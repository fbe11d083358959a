#include "reduce/subject.h"

#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "model/build.h"
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

static const struct value *given_value(const struct test_case *from, const char *name, size_t position)
{
    for (size_t i = 0; i < from->n_inputs; i++)
        if (from->inputs[i].name ? text_equal(from->inputs[i].name, name) : i == position)
            return &from->inputs[i];
    return NULL;
}

static bool is_initializer(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (text_equal(graph->initializer[i]->name, name))
            return true;
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        if (graph->sparse_initializer[i]->values &&
            text_equal(graph->sparse_initializer[i]->values->name, name))
            return true;
    return false;
}

/* An initialiser that a given value overrides goes. */
static void drop_initializer(Onnx__GraphProto *graph, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (!text_equal(graph->initializer[i]->name, name))
            graph->initializer[kept++] = graph->initializer[i];
    graph->n_initializer = kept;
}

static int take_inputs(struct subject *subject, const struct test_case *from, struct error *err)
{
    Onnx__GraphProto *graph = subject->model->graph;
    size_t kept = 0;
    subject->inputs = memory_zeroed(graph->n_input, sizeof *subject->inputs);
    for (size_t i = 0; i < graph->n_input; i++) {
        Onnx__ValueInfoProto *info = graph->input[i];
        const struct value *given = given_value(from, info->name, i);
        if (!given && is_initializer(graph, info->name))
            continue;
        if (!given)
            return error_set(err, ERROR_UNSUPPORTED, "the input '%.100s' is not given", info->name);
        drop_initializer(graph, info->name);
        if (value_copy(&subject->inputs[subject->n_inputs], given, err))
            return -1;
        value_set_name(&subject->inputs[subject->n_inputs++], info->name);
        graph->input[kept++] = info;
    }
    graph->n_input = kept;
    /* Initialisers that need not be inputs too: one way to say it is enough. */
    if (subject->model->proto->ir_version < MODEL_IR_FREE_INITIALIZERS)
        subject->model->proto->ir_version = MODEL_IR_FREE_INITIALIZERS;
    return 0;
}

int subject_from_case(struct subject *subject, const struct test_case *from, struct error *err)
{
    *subject = (struct subject){0};
    const struct model *model = test_case_model(from, err);
    if (!model || model_clone(&subject->model, model, err))
        return -1;
    return take_inputs(subject, from, err);
}

struct test_case *subject_to_case(struct subject *subject)
{
    struct test_case *test = test_case_new(subject->model);
    test->inputs = subject->inputs;
    test->n_inputs = subject->n_inputs;
    *subject = (struct subject){0};
    return test;
}

int subject_copy(struct subject *to, const struct subject *from, struct error *err)
{
    *to = (struct subject){0};
    if (model_clone(&to->model, from->model, err))
        return -1;
    to->inputs = memory_zeroed(from->n_inputs, sizeof *to->inputs);
    for (; to->n_inputs < from->n_inputs; to->n_inputs++)
        if (value_copy(&to->inputs[to->n_inputs], &from->inputs[to->n_inputs], err))
            return -1;
    return 0;
}

void subject_release(struct subject *subject)
{
    model_free(subject->model);
    if (subject->inputs)
        values_free(subject->inputs, subject->n_inputs);
    *subject = (struct subject){0};
}

static int count_node(void *context, Onnx__NodeProto *node)
{
    (void)node;
    ++*(size_t *)context;
    return 0;
}

size_t subject_nodes(const struct subject *subject)
{
    size_t count = 0;
    model_each_node(subject->model->graph, count_node, &count);
    return count;
}

size_t subject_elements(const struct subject *subject)
{
    size_t total = 0;
    for (size_t i = 0; i < subject->n_inputs; i++)
        for (size_t k = 0; k < subject->inputs[i].count; k++)
            total += subject->inputs[i].tensors[k].count;
    for (size_t i = 0; i < subject->model->graph->n_initializer; i++) {
        const Onnx__TensorProto *tensor = subject->model->graph->initializer[i];
        size_t count = 1;
        for (size_t k = 0; k < tensor->n_dims; k++)
            count *= (size_t)tensor->dims[k];
        total += count;
    }
    return total;
}

size_t subject_leaves(const struct subject *subject)
{
    return subject->n_inputs + subject->model->graph->n_initializer;
}

const char *subject_leaf_name(const struct subject *subject, size_t leaf)
{
    return leaf < subject->n_inputs ? subject->inputs[leaf].name
                                    : subject->model->graph->initializer[leaf - subject->n_inputs]->name;
}

int subject_leaf(const struct subject *subject, size_t leaf, struct tensor *tensor)
{
    tensor_init(tensor);
    if (leaf < subject->n_inputs && subject->inputs[leaf].kind != VALUE_TENSOR)
        return -1;
    if (leaf < subject->n_inputs)
        return tensor_copy(tensor, &subject->inputs[leaf].tensors[0], NULL);
    return model_tensor_read(subject->model->graph->initializer[leaf - subject->n_inputs], tensor, NULL);
}

int subject_set_leaf(struct subject *subject, size_t leaf, const struct tensor *tensor)
{
    struct model *model = subject->model;
    if (leaf >= subject->n_inputs) {
        Onnx__TensorProto **at = &model->graph->initializer[leaf - subject->n_inputs];
        *at = model_tensor_write(&model->arena, (*at)->name, tensor);
        return 0;
    }
    struct tensor copy;
    if (tensor_copy(&copy, tensor, NULL))
        return -1;
    model->graph->input[leaf]->type = type_make(&model->arena, tensor->type, &tensor->shape);
    tensor_release(&subject->inputs[leaf].tensors[0]);
    subject->inputs[leaf].tensors[0] = copy;
    return 0;
}

int subject_add_input(struct subject *subject, const char *name, const struct tensor *tensor)
{
    struct tensor copy;
    if (tensor_copy(&copy, tensor, NULL))
        return -1;
    struct value *inputs = memory_zeroed(subject->n_inputs + 1, sizeof *inputs);
    if (subject->n_inputs)
        memcpy(inputs, subject->inputs, subject->n_inputs * sizeof *inputs);
    free(subject->inputs);
    subject->inputs = inputs;
    value_set_tensor(&inputs[subject->n_inputs], &copy);
    value_set_name(&inputs[subject->n_inputs++], name);
    model_add_input(subject->model, name, tensor->type, &tensor->shape);
    return 0;
}

/* Names that some node, or a body of one, mentions, or that are outputs. */
static int mention(void *context, Onnx__NodeProto *node)
{
    struct map *names = context;
    for (size_t i = 0; i < node->n_input; i++)
        map_set(names, node->input[i], 0);
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__GraphProto *body = node->attribute[i]->g;
        for (size_t k = 0; body && k < body->n_output; k++)
            map_set(names, body->output[k]->name, 0);
    }
    return 0;
}

static bool is_needed(const struct map *names, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i] && map_has(names, node->output[i]))
            return true;
    return false;
}

/* Removes nodes whose outputs are not used anywhere; true when one was removed. */
static bool prune_nodes(Onnx__GraphProto *graph, Onnx__GraphProto *whole)
{
    struct map names;
    map_init(&names);
    model_each_node(whole, mention, &names);
    for (size_t i = 0; i < whole->n_output; i++)
        map_set(&names, whole->output[i]->name, 0);
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        if (is_needed(&names, graph->node[i]))
            graph->node[kept++] = graph->node[i];
    bool went = kept < graph->n_node;
    graph->n_node = kept;
    map_release(&names);
    return went;
}

struct prune {
    Onnx__GraphProto *whole;
    bool went;
};

static int prune_bodies(void *context, Onnx__NodeProto *node)
{
    struct prune *prune = context;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            prune->went |= prune_nodes(node->attribute[i]->g, prune->whole);
    return 0;
}

static void prune_leaves(struct subject *subject)
{
    Onnx__GraphProto *graph = subject->model->graph;
    struct map names;
    map_init(&names);
    model_each_node(graph, mention, &names);
    for (size_t i = 0; i < graph->n_output; i++)
        map_set(&names, graph->output[i]->name, 0);
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (map_has(&names, graph->initializer[i]->name))
            graph->initializer[kept++] = graph->initializer[i];
    graph->n_initializer = kept;
    kept = 0;
    for (size_t i = 0; i < subject->n_inputs; i++) {
        if (!map_has(&names, graph->input[i]->name)) {
            value_release(&subject->inputs[i]);
            continue;
        }
        graph->input[kept] = graph->input[i];
        subject->inputs[kept++] = subject->inputs[i];
    }
    graph->n_input = subject->n_inputs = kept;
    map_release(&names);
}

void subject_prune(struct subject *subject)
{
    Onnx__GraphProto *graph = subject->model->graph;
    struct prune prune = {.whole = graph};
    do {
        prune.went = prune_nodes(graph, graph);
        model_each_node(graph, prune_bodies, &prune);
    } while (prune.went);
    prune_leaves(subject);
}

/* Element type and rank alone: sizes inside a body follow from what it is given. (The checker wants a shape.)
 */
static void forget_sizes(Onnx__ValueInfoProto **infos, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Onnx__TypeProto *type = infos[i]->type;
        if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type ||
            !type->tensor_type->shape)
            continue;
        for (size_t k = 0; k < type->tensor_type->shape->n_dim; k++)
            type->tensor_type->shape->dim[k]->value_case =
                ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
    }
}

/* Whether it is a Loop of no iteration: the sizes of its scan outputs are what its body declares. */
static bool is_idle_loop(const Onnx__GraphProto *graph, const Onnx__NodeProto *node)
{
    bool idle = false;
    for (size_t i = 0; op_has(node, OP_LOOPS) && i < graph->n_initializer && !idle; i++) {
        struct tensor trips;
        if (!node->n_input || !text_equal(graph->initializer[i]->name, node->input[0]) ||
            model_tensor_read(graph->initializer[i], &trips, NULL))
            continue;
        idle = trips.count == 1 && tensor_get(&trips, 0) <= 0;
        tensor_release(&trips);
    }
    return idle;
}

static int forget_types(void *context, Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__GraphProto *body = node->attribute[i]->g;
        if (!body)
            continue;
        size_t carried = node->n_input > 2 ? node->n_input - 2 : 0;
        bool idle = is_idle_loop(context, node);
        body->n_value_info = 0;
        forget_sizes(body->input, body->n_input);
        forget_sizes(body->output, idle && carried < body->n_output ? carried + 1 : body->n_output);
    }
    return 0;
}

void subject_forget_types(struct subject *subject)
{
    Onnx__GraphProto *graph = subject->model->graph;
    graph->n_value_info = 0;
    model_each_node(graph, forget_types, graph);
    forget_sizes(graph->output, graph->n_output);
    subject_settle_bodies(subject);
}

/* Rank and element type of the input that the maker of a value reads first; float when it reads none. */
static Onnx__TypeProto *guess_type(const struct subject *subject, const char *name)
{
    struct arena *arena = &subject->model->arena;
    const Onnx__GraphProto *graph = subject->model->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output && graph->node[i]->n_input; k++)
            for (size_t m = 0; m < subject->n_inputs; m++)
                if (text_equal(graph->node[i]->output[k], name) && subject->inputs[m].kind == VALUE_TENSOR &&
                    text_equal(graph->node[i]->input[0], subject->inputs[m].name))
                    return type_make(arena, subject->inputs[m].tensors[0].type,
                                     &subject->inputs[m].tensors[0].shape);
    return type_make(arena, DTYPE_FLOAT, NULL);
}

void subject_guess_types(struct subject *subject)
{
    Onnx__GraphProto *graph = subject->model->graph;
    for (size_t i = 0; i < graph->n_output; i++)
        if (!graph->output[i]->type)
            graph->output[i]->type = guess_type(subject, graph->output[i]->name);
    subject_forget_types(subject);
}

void subject_settle_types(struct subject *subject, const char *const *names, const struct bounded *values,
                          size_t count, enum types types)
{
    struct arena *arena = &subject->model->arena;
    Onnx__GraphProto *graph = subject->model->graph;
    subject_forget_types(subject);
    graph->value_info = arena_array(arena, count, sizeof *graph->value_info);
    for (size_t i = 0; i < count; i++) {
        struct shape shape = values[i].shape;
        for (int k = 0; k < shape.rank && types == TYPES_RANKS; k++)
            shape.dims[k] = -1;
        if (values[i].type == DTYPE_NONE)
            continue;
        Onnx__TypeProto *type = type_make(arena, values[i].type, &shape);
        if (i < graph->n_output)
            graph->output[i]->type = type;
        else
            graph->value_info[graph->n_value_info++] = value_info_make(arena, names[i], type);
    }
}

void record_add(struct record *record, const char *name, struct tensor *tensor)
{
    size_t number;
    if (map_get(&record->names, name, &number)) {
        tensor_release(&record->tensors[number]);
        record->tensors[number] = *tensor;
        return;
    }
    record->tensors = memory_grow(record->tensors, &record->capacity, record->count + 1, sizeof *tensor);
    record->tensors[record->count] = *tensor;
    map_set(&record->names, name, record->count++);
}

void record_init(struct record *record, const struct subject *subject)
{
    *record = (struct record){0};
    map_init(&record->names);
    for (size_t i = 0; i < subject_leaves(subject); i++) {
        struct tensor tensor;
        if (!subject_leaf(subject, i, &tensor))
            record_add(record, subject_leaf_name(subject, i), &tensor);
    }
}

static const char **made_names(const Onnx__GraphProto *graph, bool inner, size_t *count)
{
    size_t capacity = 0;
    const char **names = NULL;
    *count = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            bool wanted = *graph->node[i]->output[k] != '\0';
            for (size_t o = 0; o < graph->n_output && inner; o++)
                wanted = wanted && !text_equal(graph->output[o]->name, graph->node[i]->output[k]);
            if (!wanted)
                continue;
            names = memory_grow(names, &capacity, *count + 1, sizeof *names);
            names[(*count)++] = graph->node[i]->output[k];
        }
    return names;
}

const char **subject_made_names(const struct subject *subject, size_t *count)
{
    return made_names(subject->model->graph, false, count);
}

const char **subject_inner_names(const struct subject *subject, size_t *count)
{
    return made_names(subject->model->graph, true, count);
}

int record_reference(struct record *record, const struct subject *subject, struct error *err)
{
    struct evaluator *evaluator;
    struct bounded *results = NULL;
    size_t wanted, count = 0;
    record_init(record, subject);
    if (evaluator_new(&evaluator, subject->model, &(struct evaluate_options){.round = true}, err))
        return -1;
    const char **names = subject_made_names(subject, &wanted);
    int status = !wanted ? 0
                         : evaluator_run(evaluator, subject->inputs, subject->n_inputs, names, wanted,
                                         &results, &count, err);
    for (size_t i = 0; i < count; i++) {
        struct tensor tensor;
        if (!status && results[i].type != DTYPE_NONE && !bounded_to_tensor(&results[i], &tensor, NULL))
            record_add(record, names[i], &tensor);
        bounded_release(&results[i]);
    }
    free(results);
    free(names);
    evaluator_free(evaluator);
    return status;
}

/* False when an input of the node is not known. */
static bool known_inputs(const struct record *record, const Onnx__NodeProto *node,
                         const struct tensor **inputs)
{
    bool known = true;
    for (size_t i = 0; i < node->n_input; i++) {
        inputs[i] = *node->input[i] ? record_find(record, node->input[i]) : NULL;
        known = known && (inputs[i] || !*node->input[i]);
    }
    return known;
}

static void record_node(struct record *record, const struct model *model, const Onnx__NodeProto *node)
{
    const struct tensor **inputs = memory_zeroed(node->n_input + 1, sizeof(struct tensor *));
    struct bounded *outputs = memory_zeroed(node->n_output + 1, sizeof *outputs);
    bool made = known_inputs(record, node, inputs) &&
                !evaluate_node(model, node, inputs, NULL, 0, NULL, NULL, outputs, node->n_output, NULL);
    for (size_t i = 0; i < node->n_output; i++) {
        struct tensor tensor;
        if (made && *node->output[i] && outputs[i].type != DTYPE_NONE &&
            !bounded_to_tensor(&outputs[i], &tensor, NULL))
            record_add(record, node->output[i], &tensor);
        bounded_release(&outputs[i]);
    }
    free(outputs);
    free(inputs);
}

void record_possible(struct record *record, const struct subject *subject)
{
    struct model_index index;
    record_init(record, subject);
    if (model_index_init(&index, subject->model, NULL))
        return;
    for (size_t i = 0; i < subject->model->graph->n_node; i++)
        record_node(record, subject->model, subject->model->graph->node[index.order[i]]);
    model_index_release(&index);
}

const struct tensor *record_find(const struct record *record, const char *name)
{
    size_t number;
    return map_get(&record->names, name, &number) ? &record->tensors[number] : NULL;
}

void record_release(struct record *record)
{
    for (size_t i = 0; i < record->count; i++)
        tensor_release(&record->tensors[i]);
    free(record->tensors);
    map_release(&record->names);
    *record = (struct record){0};
}
