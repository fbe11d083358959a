/*
 * Rules about constants: kept as initialisers, made by nodes, computed by us or by the engine.
 */
#include "rules/rule.h"

#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"

#include <math.h>
#include <string.h>

enum { MAX_ELEMENTS = 1 << 20, MAX_FOLDED_INPUTS = 16, MAX_FOLDED_OUTPUTS = 16 };

/* Whether values can be stored as they are: every implementation computes the same. */
static bool is_exact(const struct bounded *value)
{
    if (value->type == DTYPE_NONE || value->type == DTYPE_STRING || value->count > MAX_ELEMENTS ||
        (value->count && !value->value))
        return false;
    for (size_t i = 0; i < value->count; i++)
        if (bounded_hard(value, i) != 0)
            return false;
    return true;
}

/* Lets an initialiser have the name that a node had for its result; a graph output comes from an Identity. */
static int store(struct rewrite *rewrite, const char *name, const struct tensor *tensor)
{
    const struct index_value *value = model_index_find(&rewrite->index, name);
    /* Before this version of the format it would be an input. */
    if (rewrite->model->proto->ir_version < MODEL_IR_FREE_INITIALIZERS)
        return 0;
    if (value && value->is_output)
        rewrite_op_to(rewrite, name, "Identity", rewrite_tensor(rewrite, tensor), NULL);
    else
        model_add_initializer(rewrite->model, name, tensor);
    return 1;
}

static int store_value(struct rewrite *rewrite, const char *name, const struct bounded *value,
                       struct error *err)
{
    struct tensor tensor;
    if (bounded_to_tensor(value, &tensor, err))
        return -1;
    int result = store(rewrite, name, &tensor);
    tensor_release(&tensor);
    return result;
}

/* --- Folded --- */

static bool has_body(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g || node->attribute[i]->n_graphs)
            return true;
    return false;
}

/* Reads the inputs of a node if all are constant. Returns 1, 0 when they are not, or -1. */
static int read_inputs(const struct rewrite *rewrite, const Onnx__NodeProto *node, struct tensor *tensors,
                       const struct tensor **inputs, struct error *err)
{
    int result = 1;
    for (size_t i = 0; i < node->n_input && result == 1; i++) {
        const struct bounded *type = rewrite_input(rewrite, node, i);
        if (!*node->input[i])
            continue;
        if (!type || type->count > MAX_ELEMENTS)
            return 0;
        result = rewrite_constant(rewrite, node->input[i], &tensors[i], err);
        if (result == 1)
            inputs[i] = &tensors[i];
    }
    return result;
}

static int store_outputs(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct bounded *values,
                         struct error *err)
{
    int result = 1;
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i] && !is_exact(&values[i]))
            return 0;
    rewrite_remove(rewrite, node);
    for (size_t i = 0; i < node->n_output && result == 1; i++)
        if (*node->output[i])
            result = store_value(rewrite, node->output[i], &values[i], err);
    return result;
}

/* Computes a node whose inputs are constant. */
static int compute(struct rewrite *rewrite, const Onnx__NodeProto *node, struct error *err)
{
    struct tensor tensors[MAX_FOLDED_INPUTS];
    const struct tensor *inputs[MAX_FOLDED_INPUTS] = {0};
    struct bounded outputs[MAX_FOLDED_OUTPUTS];
    int result = 0;
    for (size_t i = 0; i < MAX_FOLDED_OUTPUTS; i++)
        bounded_init(&outputs[i]);
    if (node->n_input <= MAX_FOLDED_INPUTS && node->n_output <= MAX_FOLDED_OUTPUTS)
        result = read_inputs(rewrite, node, tensors, inputs, err);
    /* What the reference refuses or does not know stays as it is. */
    if (result == 1 &&
        evaluate_node(rewrite->model, node, inputs, NULL, 0, NULL, NULL, outputs, node->n_output, NULL))
        result = 0;
    if (result == 1)
        result = store_outputs(rewrite, node, outputs, err);
    for (size_t i = 0; i < MAX_FOLDED_OUTPUTS; i++)
        bounded_release(&outputs[i]);
    for (size_t i = 0; i < MAX_FOLDED_INPUTS; i++)
        if (inputs[i])
            tensor_release(&tensors[i]);
    return result;
}

/* A node whose inputs are constant, or whose result follows from shapes alone. */
static int folded(struct rewrite *rewrite, const struct rule_site *site)
{
    const Onnx__NodeProto *node = site->node;
    const struct bounded *known = rewrite_type(rewrite, node->output[0]);
    if (node_is_constant(node) || has_body(node) || *node->domain || rewrite_opset(rewrite) < OP_OLDEST)
        return 0;
    if (!known || !known->value || !rewrite_one_output(node) || !is_exact(known))
        return compute(rewrite, node, rewrite->err);
    rewrite_remove(rewrite, node);
    return store_value(rewrite, node->output[0], known, rewrite->err);
}

const struct rule rule_folded = {
    .name = "folded",
    .summary = "a node on constants, or on shapes, replaced by its result",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .apply = folded,
};

static int constant_as_initializer(struct rewrite *rewrite, const struct rule_site *site)
{
    return *site->node->domain ? 0 : compute(rewrite, site->node, rewrite->err);
}

const struct rule rule_constant_as_initializer = {
    .name = "constant-as-initializer",
    .summary = "a Constant node by an initialiser",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Constant",
    .apply = constant_as_initializer,
};

/* --- Made by nodes --- */

/* The tensor of an initialiser that no input can replace. Returns as rewrite_constant does. */
static int read_initializer(const struct rewrite *rewrite, const struct index_value *value,
                            struct tensor *tensor, struct error *err)
{
    const struct bounded *type = rewrite_type(rewrite, value->name);
    const Onnx__GraphProto *graph = rewrite->model->graph;
    if (value->source != SOURCE_INITIALIZER || value->is_output || !type || type->count == 0 ||
        type->count > MAX_ELEMENTS || dtype_size(type->type) == 0 || rewrite_opset(rewrite) < OP_OLDEST)
        return 0;
    for (size_t i = 0; i < graph->n_input; i++)
        if (text_equal(graph->input[i]->name, value->name))
            return 0;
    return rewrite_constant(rewrite, value->name, tensor, err);
}

/* Removes a dense or sparse initialiser of the top graph. */
static void remove_initializer(struct rewrite *rewrite, const char *name)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (!text_equal(graph->initializer[i]->name, name))
            graph->initializer[kept++] = graph->initializer[i];
    graph->n_initializer = kept;
    kept = 0;
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        if (!text_equal(graph->sparse_initializer[i]->values->name, name))
            graph->sparse_initializer[kept++] = graph->sparse_initializer[i];
    graph->n_sparse_initializer = kept;
    rewrite->model->path = NULL;
}

/* From opset 12 on single numbers and lists may be attributes of their own kind. */
static void set_value(struct rewrite *rewrite, Onnx__NodeProto *node, const struct tensor *tensor)
{
    struct arena *arena = &rewrite->model->arena;
    bool plain = rewrite_opset(rewrite) >= 12 && tensor->shape.rank <= 1 && rng_chance(&rewrite->rng, 0.5);
    if (plain && tensor->type == DTYPE_INT64 && tensor->shape.rank == 1)
        node_set_ints(arena, node, "value_ints", tensor->data, tensor->count);
    else if (plain && tensor->type == DTYPE_FLOAT && tensor->shape.rank == 1)
        node_set_floats(arena, node, "value_floats", tensor->data, tensor->count);
    else if (plain && tensor->type == DTYPE_INT64)
        node_set_int(arena, node, "value_int", *(const int64_t *)tensor->data);
    else if (plain && tensor->type == DTYPE_FLOAT)
        node_set_float(arena, node, "value_float", *(const float *)tensor->data);
    else
        node_set_tensor(arena, node, "value", tensor);
}

static int initializer_as_constant(struct rewrite *rewrite, const struct rule_site *site)
{
    struct tensor tensor;
    int result = read_initializer(rewrite, site->value, &tensor, rewrite->err);
    if (result != 1)
        return result;
    remove_initializer(rewrite, site->value->name);
    set_value(rewrite, rewrite_op_to(rewrite, site->value->name, "Constant", NULL), &tensor);
    tensor_release(&tensor);
    return 1;
}

const struct rule rule_initializer_as_constant = {
    .name = "initializer-as-constant",
    .summary = "an initialiser by a Constant node",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = initializer_as_constant,
};

/* --- Unfolded --- */

/* Ways to let the engine compute a constant; each returns the name of the result, NULL when it cannot. */
typedef const char *unfold(struct rewrite *rewrite, const struct tensor *tensor);

static struct tensor empty_like(const struct tensor *tensor, enum dtype type, const struct shape *shape)
{
    struct tensor made;
    if (tensor_alloc(&made, type, shape, 0, NULL))
        memory_exhausted(tensor->size);
    return made;
}

static const char *constant_of_shape(struct rewrite *rewrite, const struct tensor *tensor)
{
    Onnx__NodeProto *node;
    size_t size = dtype_size(tensor->type);
    const char *bytes = tensor->data;
    /* It gives these only in later opsets, or never. */
    if (tensor->type == DTYPE_BFLOAT16 || tensor->type == DTYPE_COMPLEX64 || tensor->type == DTYPE_COMPLEX128)
        return NULL;
    for (size_t i = 1; i < tensor->count; i++)
        if (memcmp(bytes, bytes + i * size, size) != 0)
            return NULL;
    struct shape one = {.rank = 1, .dims = {1}};
    struct tensor element = empty_like(tensor, tensor->type, &one);
    memcpy(element.data, bytes, size);
    const char *shape = rewrite_ints(rewrite, tensor->shape.dims, (size_t)tensor->shape.rank);
    const char *made = rewrite_op(rewrite, "ConstantOfShape", &node, shape, NULL);
    node_set_tensor(&rewrite->model->arena, node, "value", &element);
    tensor_release(&element);
    return made;
}

/* Two parts along the first axis, which is a cut through the bytes. */
static const char *joined(struct rewrite *rewrite, const struct tensor *tensor)
{
    const char *parts[2];
    if (tensor->shape.rank == 0 || tensor->shape.dims[0] < 2 ||
        !rewrite_takes(rewrite, "Concat", tensor->type))
        return NULL;
    int64_t rows = tensor->shape.dims[0], first = rng_range(&rewrite->rng, 1, rows - 1);
    size_t row = tensor->size / (size_t)rows;
    for (int i = 0; i < 2; i++) {
        struct shape shape = tensor->shape;
        shape.dims[0] = i ? rows - first : first;
        struct tensor part = empty_like(tensor, tensor->type, &shape);
        memcpy(part.data, (const char *)tensor->data + (i ? (size_t)first * row : 0), part.size);
        parts[i] = rewrite_tensor(rewrite, &part);
        tensor_release(&part);
    }
    return rewrite_concat(rewrite, 0, parts, 2);
}

/* Some rows more at the end, which a Slice leaves out. */
static const char *sliced(struct rewrite *rewrite, const struct tensor *tensor)
{
    if (tensor->shape.rank == 0 || !rewrite_takes(rewrite, "Slice", tensor->type))
        return NULL;
    struct shape shape = tensor->shape;
    shape.dims[0]++;
    struct tensor longer = empty_like(tensor, tensor->type, &shape);
    memcpy(longer.data, tensor->data, tensor->size);
    const char *made = rewrite_slice(rewrite, rewrite_tensor(rewrite, &longer), 0, 0, tensor->shape.dims[0]);
    tensor_release(&longer);
    return made;
}

static const char *reshaped(struct rewrite *rewrite, const struct tensor *tensor)
{
    if (!rewrite_takes(rewrite, "Reshape", tensor->type))
        return NULL;
    struct shape flat = {.rank = 1, .dims = {(int64_t)tensor->count}};
    struct tensor other = *tensor; /* a view */
    other.shape = flat;
    return rewrite_reshape(rewrite, rewrite_tensor(rewrite, &other), &tensor->shape);
}

/* The matrices of the last two dimensions turned round, and turned back by a Transpose. */
static const char *transposed(struct rewrite *rewrite, const struct tensor *tensor)
{
    int64_t order[TENSOR_MAX_RANK];
    int rank = tensor->shape.rank;
    if (rank < 2 || !rewrite_takes(rewrite, "Transpose", tensor->type))
        return NULL;
    struct shape shape = tensor->shape;
    size_t rows = (size_t)shape.dims[rank - 2], columns = (size_t)shape.dims[rank - 1];
    shape.dims[rank - 2] = (int64_t)columns;
    shape.dims[rank - 1] = (int64_t)rows;
    struct tensor turned = empty_like(tensor, tensor->type, &shape);
    size_t size = dtype_size(tensor->type);
    for (size_t i = 0; i < tensor->count; i++) {
        size_t matrix = i / (rows * columns), r = i / columns % rows, c = i % columns;
        memcpy((char *)turned.data + (matrix * rows * columns + c * rows + r) * size,
               (const char *)tensor->data + i * size, size);
    }
    for (int i = 0; i < rank; i++)
        order[i] = i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2;
    const char *made = rewrite_transpose(rewrite, rewrite_tensor(rewrite, &turned), order, (size_t)rank);
    tensor_release(&turned);
    return made;
}

/* A wider type that holds every element. */
static const char *widened(struct rewrite *rewrite, const struct tensor *tensor)
{
    enum dtype wide = tensor->type == DTYPE_FLOAT                                      ? DTYPE_DOUBLE
                      : tensor->type == DTYPE_FLOAT16                                  ? DTYPE_FLOAT
                      : dtype_is_integer(tensor->type) && dtype_size(tensor->type) < 8 ? DTYPE_INT64
                                                                                       : DTYPE_NONE;
    if (wide == DTYPE_NONE || !rewrite_takes(rewrite, "Cast", wide))
        return NULL;
    struct tensor other = empty_like(tensor, wide, &tensor->shape);
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(&other, i, tensor_get(tensor, i));
    const char *made = rewrite_cast(rewrite, rewrite_tensor(rewrite, &other), tensor->type);
    tensor_release(&other);
    return made;
}

/* The part of a number that is stored in the first of two summands: half of it, which is exact unless it is
 * subnormal, and for integers rounded down. */
static bool halve(enum dtype type, long double value, long double *half)
{
    *half = value / 2;
    if (!dtype_is_float(type))
        *half = floorl(*half);
    else if (isfinite(value) && value != 0 && fabsl(*half) < (long double)dtype_precision(type).tiny)
        return false;
    return true;
}

static const char *summed(struct rewrite *rewrite, const struct tensor *tensor)
{
    long double half;
    const char *made = NULL;
    if (!rewrite_takes(rewrite, "Add", tensor->type))
        return NULL;
    struct tensor parts[2];
    for (int k = 0; k < 2; k++)
        parts[k] = empty_like(tensor, tensor->type, &tensor->shape);
    size_t i = 0;
    for (; i < tensor->count && halve(tensor->type, tensor_get(tensor, i), &half); i++) {
        long double value = tensor_get(tensor, i);
        tensor_set(&parts[0], i, half);
        tensor_set(&parts[1], i, dtype_is_float(tensor->type) ? half : value - half);
    }
    if (i == tensor->count)
        made = rewrite_op(rewrite, "Add", NULL, rewrite_tensor(rewrite, &parts[0]),
                          rewrite_tensor(rewrite, &parts[1]), NULL);
    for (int k = 0; k < 2; k++)
        tensor_release(&parts[k]);
    return made;
}

static unfold *const ways[] = {constant_of_shape, joined, sliced, reshaped, transposed, widened, summed};
enum { WAYS = sizeof ways / sizeof *ways };

static int unfolded(struct rewrite *rewrite, const struct rule_site *site)
{
    struct tensor tensor;
    const char *made = NULL;
    int result = read_initializer(rewrite, site->value, &tensor, rewrite->err);
    if (result != 1)
        return result;
    size_t first = (size_t)rng_below(&rewrite->rng, WAYS);
    for (size_t i = 0; i < WAYS && !made; i++)
        made = ways[(first + i) % WAYS](rewrite, &tensor);
    tensor_release(&tensor);
    if (!made)
        return 0;
    rewrite_redirect(rewrite, site->value->name, made);
    remove_initializer(rewrite, site->value->name);
    return 1;
}

const struct rule rule_unfolded = {
    .name = "unfolded",
    .summary = "an initialiser computed by a node on other constants",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = unfolded,
};
