#include "rules/rewrite.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/edit.h"
#include "model/tree.h"
#include "ops/op.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int rewrite_opset(const struct rewrite *rewrite)
{
    return model_opset(rewrite->model);
}

static bool is_fixed(const Onnx__ValueInfoProto *info)
{
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !info->type->tensor_type->shape)
        return false;
    const Onnx__TensorShapeProto *shape = info->type->tensor_type->shape;
    for (size_t i = 0; i < shape->n_dim; i++)
        if (shape->dim[i]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            return false;
    return true;
}

bool rewrite_has_fixed_sizes(const struct rewrite *rewrite)
{
    const Onnx__GraphProto *graph = rewrite->model->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        if (!is_fixed(graph->input[i]))
            return false;
    return true;
}

const struct bounded *rewrite_type(const struct rewrite *rewrite, const char *name)
{
    const struct bounded *type = value_types_find(&rewrite->types, name);
    return type && type->type != DTYPE_NONE && type->shape.rank >= 0 ? type : NULL;
}

bool rewrite_has_input(const Onnx__NodeProto *node, size_t number)
{
    return number < node->n_input && *node->input[number];
}

const struct bounded *rewrite_input(const struct rewrite *rewrite, const Onnx__NodeProto *node, size_t number)
{
    return rewrite_has_input(node, number) ? rewrite_type(rewrite, node->input[number]) : NULL;
}

bool rewrite_takes(const struct rewrite *rewrite, const char *op_type, enum dtype type)
{
    const struct op *op = op_find(op_type);
    int opset = rewrite_opset(rewrite);
    return op && opset >= OP_OLDEST && dtype_in(type, op_types_at(op, opset));
}

bool rewrite_one_output(const Onnx__NodeProto *node)
{
    for (size_t i = 1; i < node->n_output; i++)
        if (*node->output[i])
            return false;
    return node->n_output > 0 && *node->output[0];
}

bool rewrite_is_input(const struct rewrite *rewrite, const char *name)
{
    const Onnx__GraphProto *graph = rewrite->model->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        if (text_equal(graph->input[i]->name, name))
            return true;
    return false;
}

static bool is_given(const struct rewrite *rewrite, const char *name)
{
    for (size_t i = 0; i < rewrite->n_inputs; i++)
        if (rewrite->inputs[i].name && text_equal(rewrite->inputs[i].name, name))
            return true;
    return false;
}

int rewrite_constant(const struct rewrite *rewrite, const char *name, struct tensor *tensor,
                     struct error *err)
{
    const struct index_value *value = model_index_find(&rewrite->index, name);
    if (!value || is_given(rewrite, name))
        return 0;
    if (value->source == SOURCE_INITIALIZER)
        return model_weight(rewrite->model, value->number, tensor, err) ? -1 : 1;
    if (value->source != SOURCE_NODE)
        return 0;
    const Onnx__NodeProto *node = rewrite->index.model->graph->node[value->number];
    const Onnx__TensorProto *constant = node_is_constant(node) ? node_tensor(node, "value") : NULL;
    if (!constant)
        return 0;
    return model_tensor_read(constant, tensor, err) ? -1 : 1;
}

int rewrite_known(const struct rewrite *rewrite, const char *name, struct tensor *tensor, struct error *err)
{
    const struct tensor *given = rewrite_given(rewrite, name);
    if (given)
        return tensor_copy(tensor, given, err) ? -1 : 1;
    return rewrite_constant(rewrite, name, tensor, err);
}

bool rewrite_magnitudes(const struct rewrite *rewrite, const char *name, struct magnitudes *found)
{
    struct tensor tensor;
    *found = (struct magnitudes){0};
    if (rewrite_known(rewrite, name, &tensor, NULL) != 1)
        return false;
    bool numbers = dtype_in(tensor.type, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL));
    for (size_t i = 0; numbers && i < tensor.count; i++) {
        long double size = fabsl(tensor_get(&tensor, i));
        numbers = isfinite(size);
        found->zeros |= size == 0;
        if (size > found->largest)
            found->largest = size;
        if (size > 0 && (found->least == 0 || size < found->least))
            found->least = size;
    }
    tensor_release(&tensor);
    return numbers;
}

bool rewrite_constant_ints(const struct rewrite *rewrite, const char *name, int64_t *values, size_t max,
                           size_t *count)
{
    struct tensor tensor;
    if (rewrite_constant(rewrite, name, &tensor, NULL) != 1)
        return false;
    bool fits = (tensor.type == DTYPE_INT64 || tensor.type == DTYPE_INT32) && tensor.count <= max;
    *count = fits ? tensor.count : 0;
    for (size_t i = 0; i < *count; i++)
        values[i] = (int64_t)tensor_get(&tensor, i);
    tensor_release(&tensor);
    return fits;
}

static size_t find_case_input(const struct rewrite *rewrite, const char *name)
{
    const Onnx__GraphProto *graph = rewrite->model->graph;
    for (size_t i = 0; i < rewrite->n_inputs; i++)
        if (rewrite->inputs[i].name ? text_equal(rewrite->inputs[i].name, name)
                                    : i < graph->n_input && text_equal(graph->input[i]->name, name))
            return i;
    return rewrite->n_inputs;
}

static bool all_finite(const struct tensor *tensor)
{
    for (size_t i = 0; i < tensor->count; i++)
        if (!isfinite(tensor_get(tensor, i)))
            return false;
    return true;
}

bool rewrite_is_finite(const struct rewrite *rewrite, const char *name)
{
    const struct bounded *type = rewrite_type(rewrite, name);
    if (!type || !dtype_is_float(type->type))
        return type && dtype_is_integer(type->type);
    size_t number = find_case_input(rewrite, name);
    if (number < rewrite->n_inputs) {
        const struct value *value = &rewrite->inputs[number];
        return value->kind == VALUE_TENSOR && dtype_is_float(value->tensors[0].type) &&
               all_finite(&value->tensors[0]);
    }
    struct tensor constant;
    if (rewrite_constant(rewrite, name, &constant, NULL) != 1)
        return false;
    bool finite = dtype_is_float(constant.type) && all_finite(&constant);
    tensor_release(&constant);
    return finite;
}

/* Marks the axes that a list names; false when one is out of range or named twice. */
static bool mark_axes(const int64_t *axes, size_t count, int rank, bool marked[TENSOR_MAX_RANK])
{
    for (size_t i = 0; i < count; i++) {
        if (axes[i] < -rank || axes[i] >= rank)
            return false;
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (marked[axis])
            return false;
        marked[axis] = true;
    }
    return true;
}

bool rewrite_reduced_axes(const struct rewrite *rewrite, const Onnx__NodeProto *node, int rank,
                          int64_t axes[TENSOR_MAX_RANK], size_t *count)
{
    int64_t values[TENSOR_MAX_RANK];
    const int64_t *named = values;
    bool marked[TENSOR_MAX_RANK] = {false};
    size_t n_named = 0;
    if (rewrite_has_input(node, 1)) {
        if (!rewrite_constant_ints(rewrite, node->input[1], values, TENSOR_MAX_RANK, &n_named))
            return false;
    } else if (node_attribute(node, "axes") && !node_ints(node, "axes", &named, &n_named)) {
        return false;
    }
    if ((n_named == 0 && node_int(node, "noop_with_empty_axes", 0)) ||
        !mark_axes(named, n_named, rank, marked))
        return false;
    *count = 0;
    for (int i = 0; i < rank; i++)
        if (n_named == 0 || marked[i])
            axes[(*count)++] = i;
    return true;
}

const char *rewrite_string(struct rewrite *rewrite, const Onnx__NodeProto *node, const char *name,
                           const char *otherwise)
{
    const char *text;
    size_t size;
    if (!node_string(node, name, &text, &size))
        return otherwise;
    return arena_copy(&rewrite->model->arena, text, size);
}

struct naming {
    const char *name;
};

static int names_it(void *context, Onnx__NodeProto *node)
{
    const struct naming *naming = context;
    for (size_t i = 0; i < node->n_output; i++)
        if (text_equal(node->output[i], naming->name))
            return 1;
    for (size_t i = 0; i < node->n_input; i++)
        if (text_equal(node->input[i], naming->name))
            return 1;
    return text_equal(node->name, naming->name);
}

static bool is_taken(const struct rewrite *rewrite, const char *name)
{
    struct naming naming = {name};
    return model_index_find(&rewrite->index, name) || rewrite_is_input(rewrite, name) ||
           model_each_node(rewrite->model->graph, names_it, &naming);
}

const char *rewrite_name(struct rewrite *rewrite, const char *stem)
{
    struct arena *arena = &rewrite->model->arena;
    const char *name;
    do
        name = arena_numbered(arena, arena_printf(arena, "rw_%s", stem), "_", rewrite->made++);
    while (is_taken(rewrite, name));
    return name;
}

static size_t list_length(const char *const *names)
{
    size_t count = 0;
    while (names[count])
        count++;
    return count;
}

Onnx__NodeProto *rewrite_node(struct rewrite *rewrite, const char *op_type, const char *const *inputs,
                              const char *const *outputs)
{
    return model_add_node(rewrite->model, op_type, rewrite_name(rewrite, op_type), list_length(inputs),
                          inputs, list_length(outputs), outputs);
}

enum { OP_INPUTS = 16 };

static Onnx__NodeProto *add_op(struct rewrite *rewrite, const char *op_type, const char *output, va_list args)
{
    const char *inputs[OP_INPUTS + 1];
    size_t count = 0;
    const char *name;
    while ((name = va_arg(args, const char *)) && count < OP_INPUTS)
        inputs[count++] = name;
    inputs[count] = NULL;
    return rewrite_node(rewrite, op_type, inputs, (const char *const[]){output, NULL});
}

const char *rewrite_op(struct rewrite *rewrite, const char *op_type, Onnx__NodeProto **node, ...)
{
    const char *output = rewrite_name(rewrite, op_type);
    va_list args;
    va_start(args, node);
    Onnx__NodeProto *made = add_op(rewrite, op_type, output, args);
    va_end(args);
    if (node)
        *node = made;
    return output;
}

Onnx__NodeProto *rewrite_op_to(struct rewrite *rewrite, const char *output, const char *op_type, ...)
{
    va_list args;
    va_start(args, op_type);
    Onnx__NodeProto *made = add_op(rewrite, op_type, output, args);
    va_end(args);
    return made;
}

const char *rewrite_tensor(struct rewrite *rewrite, const struct tensor *tensor)
{
    const char *name = rewrite_name(rewrite, "constant");
    model_add_initializer(rewrite->model, name, tensor);
    /* Before this version of the format an initialiser has to be an input too. */
    if (rewrite->model->proto->ir_version < MODEL_IR_FREE_INITIALIZERS)
        model_add_input(rewrite->model, name, tensor->type, &tensor->shape);
    return name;
}

const char *rewrite_ints(struct rewrite *rewrite, const int64_t *values, size_t count)
{
    struct tensor tensor;
    struct shape shape = shape_make(1, (const int64_t[]){(int64_t)count});
    if (tensor_from_bytes(&tensor, DTYPE_INT64, &shape, values, count * sizeof *values, NULL))
        memory_exhausted(count * sizeof *values);
    const char *name = rewrite_tensor(rewrite, &tensor);
    tensor_release(&tensor);
    return name;
}

const char *rewrite_scalar(struct rewrite *rewrite, enum dtype type, int rank, long double value)
{
    struct tensor tensor;
    struct shape shape = {.rank = rank};
    for (int i = 0; i < rank; i++)
        shape.dims[i] = 1;
    if (tensor_alloc(&tensor, type, &shape, 0, NULL))
        memory_exhausted(16);
    tensor_set(&tensor, 0, value);
    const char *name = rewrite_tensor(rewrite, &tensor);
    tensor_release(&tensor);
    return name;
}

const char *rewrite_reshape(struct rewrite *rewrite, const char *value, const struct shape *shape)
{
    Onnx__NodeProto *node;
    const char *sizes = rewrite_ints(rewrite, shape->dims, (size_t)shape->rank);
    bool empty = false;
    for (int i = 0; i < shape->rank; i++)
        empty |= shape->dims[i] == 0;
    const char *result = rewrite_op(rewrite, "Reshape", &node, value, sizes, NULL);
    /* A 0 means "as in the input" unless this says otherwise. */
    if (empty && rewrite_opset(rewrite) >= 14)
        node_set_int(&rewrite->model->arena, node, "allowzero", 1);
    return result;
}

const char *rewrite_transpose(struct rewrite *rewrite, const char *value, const int64_t *order, size_t rank)
{
    Onnx__NodeProto *node;
    const char *result = rewrite_op(rewrite, "Transpose", &node, value, NULL);
    node_set_ints(&rewrite->model->arena, node, "perm", order, rank);
    return result;
}

/* From opset 13 on (for reductions 18, ReduceSum 13) axes are an input. */
static const char *with_axes(struct rewrite *rewrite, const char *op_type, const char *value,
                             const int64_t *axes, size_t n_axes, int since, Onnx__NodeProto **node)
{
    if (rewrite_opset(rewrite) >= since)
        return rewrite_op(rewrite, op_type, node, value, rewrite_ints(rewrite, axes, n_axes), NULL);
    const char *result = rewrite_op(rewrite, op_type, node, value, NULL);
    node_set_ints(&rewrite->model->arena, *node, "axes", axes, n_axes);
    return result;
}

const char *rewrite_unsqueeze(struct rewrite *rewrite, const char *value, int64_t axis)
{
    Onnx__NodeProto *node;
    return with_axes(rewrite, "Unsqueeze", value, &axis, 1, 13, &node);
}

const char *rewrite_squeeze(struct rewrite *rewrite, const char *value, int64_t axis)
{
    Onnx__NodeProto *node;
    return with_axes(rewrite, "Squeeze", value, &axis, 1, 13, &node);
}

const char *rewrite_reduce(struct rewrite *rewrite, const char *op_type, const char *value,
                           const int64_t *axes, size_t n_axes, bool keepdims)
{
    Onnx__NodeProto *node;
    int since = text_equal(op_type, "ReduceSum") ? 13 : 18;
    const char *result = with_axes(rewrite, op_type, value, axes, n_axes, since, &node);
    node_set_int(&rewrite->model->arena, node, "keepdims", keepdims);
    return result;
}

const char *rewrite_slice(struct rewrite *rewrite, const char *value, int64_t axis, int64_t start,
                          int64_t end)
{
    const char *from = rewrite_ints(rewrite, &start, 1), *to = rewrite_ints(rewrite, &end, 1);
    return rewrite_op(rewrite, "Slice", NULL, value, from, to, rewrite_ints(rewrite, &axis, 1), NULL);
}

/* From opset 13 on the sizes are an input. */
void rewrite_split(struct rewrite *rewrite, const char *value, int64_t axis, const int64_t *sizes,
                   size_t count, const char **parts)
{
    struct arena *arena = &rewrite->model->arena;
    bool by_input = rewrite_opset(rewrite) >= 13;
    const char *inputs[2] = {value, by_input ? rewrite_ints(rewrite, sizes, count) : NULL};
    for (size_t i = 0; i < count; i++)
        parts[i] = rewrite_name(rewrite, "part");
    Onnx__NodeProto *node = model_add_node(rewrite->model, "Split", rewrite_name(rewrite, "Split"),
                                           by_input ? 2 : 1, inputs, count, parts);
    node_set_int(arena, node, "axis", axis);
    if (!by_input)
        node_set_ints(arena, node, "split", sizes, count);
}

const char *rewrite_cast(struct rewrite *rewrite, const char *value, enum dtype type)
{
    Onnx__NodeProto *node;
    const char *result = rewrite_op(rewrite, "Cast", &node, value, NULL);
    node_set_int(&rewrite->model->arena, node, "to", type);
    return result;
}

const char *rewrite_concat(struct rewrite *rewrite, int64_t axis, const char *const *values, size_t count)
{
    const char *result = rewrite_name(rewrite, "Concat");
    Onnx__NodeProto *node = model_add_node(rewrite->model, "Concat", rewrite_name(rewrite, "Concat"), count,
                                           values, 1, (const char *const[]){result});
    node_set_int(&rewrite->model->arena, node, "axis", axis);
    return result;
}

static int uses_it(void *context, Onnx__NodeProto *node)
{
    const struct naming *naming = context;
    for (size_t i = 0; i < node->n_input; i++)
        if (text_equal(node->input[i], naming->name))
            return 1;
    return 0;
}

void rewrite_result(struct rewrite *rewrite, const char *from, const char *to)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    Onnx__NodeProto *last = graph->n_node ? graph->node[graph->n_node - 1] : NULL;
    struct naming naming = {from};
    if (last && last->n_output == 1 && text_equal(last->output[0], from) &&
        !model_index_find(&rewrite->index, from) && !model_each_node(graph, uses_it, &naming)) {
        last->output[0] = arena_strdup(&rewrite->model->arena, to);
        return;
    }
    rewrite_op_to(rewrite, to, "Identity", from, NULL);
}

Onnx__ValueInfoProto *rewrite_info(struct rewrite *rewrite, const char *name, const struct bounded *type)
{
    struct arena *arena = &rewrite->model->arena;
    struct shape shape = type->shape;
    for (int i = 0; i < shape.rank && !rewrite_has_fixed_sizes(rewrite); i++)
        shape.dims[i] = -1;
    return value_info_make(arena, name, type_make(arena, type->type, &shape));
}

void rewrite_expose(struct rewrite *rewrite, const char *name, const struct bounded *type)
{
    model_add_output(rewrite->model, name, type->type, NULL)->type = rewrite_info(rewrite, name, type)->type;
}

void rewrite_remove(struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        if (graph->node[i] != node)
            graph->node[kept++] = graph->node[i];
    graph->n_node = kept;
    rewrite->model->path = NULL;
}

void rewrite_redirect(struct rewrite *rewrite, const char *from, const char *to)
{
    graph_redirect(&rewrite->model->arena, rewrite->model->graph, from, to);
    rewrite->model->path = NULL;
}

void rewrite_intercept(struct rewrite *rewrite, const struct index_value *value, const char **before,
                       const char **after)
{
    if (value->source != SOURCE_NODE) {
        *before = value->name;
        *after = rewrite_name(rewrite, "after");
        rewrite_redirect(rewrite, *before, *after);
        return;
    }
    Onnx__NodeProto *node = rewrite->model->graph->node[value->number];
    *after = value->name;
    *before = rewrite_name(rewrite, "before");
    for (size_t i = 0; i < node->n_output; i++)
        if (text_equal(node->output[i], value->name))
            node->output[i] = arena_strdup(&rewrite->model->arena, *before);
    rewrite->model->path = NULL;
}

Onnx__NodeProto *rewrite_copy_node(struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    struct arena *arena = &rewrite->model->arena;
    Onnx__NodeProto *added =
        model_add_node(rewrite->model, node->op_type, rewrite_name(rewrite, node->op_type), node->n_input,
                       (const char *const *)node->input, node->n_output, (const char *const *)node->output);
    Onnx__NodeProto *copy = (Onnx__NodeProto *)tree_copy(&node->base, arena, NULL, NULL);
    added->domain = copy->domain;
    added->attribute = copy->attribute;
    added->n_attribute = copy->n_attribute;
    return added;
}

void rewrite_set_input(struct rewrite *rewrite, Onnx__NodeProto *node, size_t number, const char *name)
{
    struct arena *arena = &rewrite->model->arena;
    if (number >= node->n_input) {
        char **inputs = arena_array(arena, number + 1, sizeof *inputs);
        for (size_t i = 0; i <= number; i++)
            inputs[i] = i < node->n_input ? node->input[i] : arena_strdup(arena, "");
        node->input = inputs;
        node->n_input = number + 1;
    }
    node->input[number] = arena_strdup(arena, name);
    rewrite->model->path = NULL;
}

void rewrite_add_knobs(struct rewrite *rewrite, const char *knobs)
{
    struct str all;
    str_init(&all);
    str_printf(&all, "%s%s%s", rewrite->way->knobs, *rewrite->way->knobs ? "," : "", knobs);
    free(rewrite->way->knobs);
    rewrite->way->knobs = str_detach(&all);
}

int rewrite_set_case_input(struct rewrite *rewrite, const char *name, struct tensor *tensor,
                           struct error *err)
{
    size_t number = find_case_input(rewrite, name);
    if (number == rewrite->n_inputs)
        return error_set(err, ERROR_NOT_FOUND, "the case has no input '%.100s'", name);
    value_release(&rewrite->inputs[number]);
    value_init(&rewrite->inputs[number]);
    value_set_name(&rewrite->inputs[number], name);
    value_set_tensor(&rewrite->inputs[number], tensor);
    return 0;
}

void rewrite_drop_case_input(struct rewrite *rewrite, const char *name)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    size_t number = find_case_input(rewrite, name), kept = 0;
    /* The others are found by position no longer. */
    for (size_t i = 0; i < rewrite->n_inputs && i < graph->n_input; i++)
        if (!rewrite->inputs[i].name)
            value_set_name(&rewrite->inputs[i], graph->input[i]->name);
    for (size_t i = 0; i < graph->n_input; i++)
        if (!text_equal(graph->input[i]->name, name))
            graph->input[kept++] = graph->input[i];
    graph->n_input = kept;
    rewrite->model->path = NULL;
    if (number == rewrite->n_inputs)
        return;
    value_release(&rewrite->inputs[number]);
    rewrite->n_inputs--;
    memmove(&rewrite->inputs[number], &rewrite->inputs[number + 1],
            (rewrite->n_inputs - number) * sizeof *rewrite->inputs);
}

void rewrite_add_case_input(struct rewrite *rewrite, const char *name, struct tensor *tensor)
{
    struct value *inputs = memory_zeroed(rewrite->n_inputs + 1, sizeof *inputs);
    if (rewrite->n_inputs)
        memcpy(inputs, rewrite->inputs, rewrite->n_inputs * sizeof *inputs);
    free(rewrite->inputs);
    rewrite->inputs = inputs;
    model_add_input(rewrite->model, name, tensor->type, &tensor->shape);
    struct value *added = &inputs[rewrite->n_inputs++];
    value_init(added);
    value_set_name(added, name);
    value_set_tensor(added, tensor);
    rewrite->model->path = NULL;
}

const struct tensor *rewrite_given(const struct rewrite *rewrite, const char *name)
{
    const Onnx__GraphProto *graph = rewrite->model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        if (!text_equal(graph->input[i]->name, name))
            continue;
        const struct value *value = value_for_input(rewrite->inputs, rewrite->n_inputs, name, i);
        return value && value->kind == VALUE_TENSOR ? &value->tensors[0] : NULL;
    }
    return NULL;
}

void rewrite_drop_initializer(struct rewrite *rewrite, size_t number)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    rewrite->model->path = NULL;
    if (number < graph->n_initializer) {
        graph->n_initializer--;
        memmove(&graph->initializer[number], &graph->initializer[number + 1],
                (graph->n_initializer - number) * sizeof *graph->initializer);
        return;
    }
    number -= graph->n_initializer;
    graph->n_sparse_initializer--;
    memmove(&graph->sparse_initializer[number], &graph->sparse_initializer[number + 1],
            (graph->n_sparse_initializer - number) * sizeof *graph->sparse_initializer);
}
