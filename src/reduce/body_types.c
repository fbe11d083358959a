/* What bodies declare of their outputs and of what they carry: an engine or a checker may refuse a rank that
 * is not the one computed. */
#include "reduce/subject.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/onnx.h"
#include "ops/op.h"

#include <stdlib.h>

/* The tensor types that bodies declare for their outputs, in the order of model_each_node. */
struct declared {
    Onnx__TypeProto__Tensor **types;
    size_t count, capacity;
};

static Onnx__TypeProto__Tensor *tensor_type(const Onnx__ValueInfoProto *info)
{
    bool tensor = info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    return tensor ? info->type->tensor_type : NULL;
}

static int collect(void *context, Onnx__NodeProto *node)
{
    struct declared *declared = context;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__GraphProto *body = node->attribute[i]->g;
        for (size_t k = 0; body && k < body->n_output; k++) {
            declared->types = memory_grow(declared->types, &declared->capacity, declared->count + 1,
                                          sizeof *declared->types);
            declared->types[declared->count++] = tensor_type(body->output[k]);
        }
    }
    return 0;
}

static struct declared declared_of(const struct model *model)
{
    struct declared declared = {0};
    model_each_node(model->graph, collect, &declared);
    return declared;
}

/* libonnx gives up on an output_shape that is smaller than the input in the midst of its dims, and leaves a
 * wrong rank. */
static int forget_sizes(void *context, Onnx__NodeProto *node)
{
    (void)context;
    node_remove_attribute(node, "output_shape"); /* of a ConvTranspose */
    return 0;
}

/* A model like this one, with the shapes that libonnx infers for outputs of bodies; NULL when it cannot. */
static struct model *infer(const struct model *model)
{
    struct model *bare = NULL, *inferred = NULL;
    uint8_t *bytes = NULL, *out = NULL;
    size_t size, out_size;
    if (model_clone(&bare, model, NULL))
        return NULL;
    struct declared declared = declared_of(bare);
    for (size_t i = 0; i < declared.count; i++)
        if (declared.types[i])
            declared.types[i]->shape = NULL;
    free(declared.types);
    model_each_node(bare->graph, forget_sizes, NULL);
    if (model_pack(bare, &bytes, &size, NULL) || onnx_infer_shapes(bytes, size, 0, &out, &out_size, NULL) ||
        model_parse(&inferred, out, out_size, NULL))
        inferred = NULL;
    free(bytes);
    free(out);
    model_free(bare);
    return inferred;
}

static Onnx__TensorShapeProto *open_shape(struct arena *arena, size_t rank)
{
    struct shape shape = {.rank = (int)rank};
    for (size_t k = 0; k < rank; k++)
        shape.dims[k] = -1;
    return type_make(arena, DTYPE_FLOAT, &shape)->tensor_type->shape;
}

static void settle(struct arena *arena, Onnx__TypeProto__Tensor *type, size_t rank)
{
    if (rank <= TENSOR_MAX_RANK && (!type->shape || type->shape->n_dim != rank))
        type->shape = open_shape(arena, rank);
}

/* Outputs that are initialisers of their body, for which inference gives no type. */
static int settle_constants(void *context, Onnx__NodeProto *node)
{
    struct arena *arena = context;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__GraphProto *body = node->attribute[i]->g;
        for (size_t k = 0; body && k < body->n_output; k++)
            for (size_t n = 0; n < body->n_initializer; n++) {
                Onnx__TypeProto__Tensor *type = tensor_type(body->output[k]);
                if (type && text_equal(body->initializer[n]->name, body->output[k]->name))
                    settle(arena, type, body->initializer[n]->n_dims);
            }
    }
    return 0;
}

/* The rank of an input or initialiser of the model, -1 when it is neither or does not say. */
static long leaf_rank(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (text_equal(graph->initializer[i]->name, name))
            return (long)graph->initializer[i]->n_dims;
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__TypeProto__Tensor *type = tensor_type(graph->input[i]);
        if (text_equal(graph->input[i]->name, name))
            return type && type->shape ? (long)type->shape->n_dim : -1;
    }
    return -1;
}

/* A value that a Loop carries may have another rank in each turn: one that begins with another than the body
 * declares has none there. */
static int settle_carried(void *context, Onnx__NodeProto *node)
{
    const Onnx__GraphProto *graph = context;
    const Onnx__GraphProto *body = op_has(node, OP_LOOPS) ? node_graph(node, "body") : NULL;
    for (size_t i = 2; body && i < node->n_input && i < body->n_input; i++) {
        Onnx__TypeProto__Tensor *type = tensor_type(body->input[i]);
        long rank = leaf_rank(graph, node->input[i]);
        if (type && type->shape && rank >= 0 && (size_t)rank != type->shape->n_dim)
            type->shape = NULL;
    }
    return 0;
}

void subject_settle_bodies(struct subject *subject)
{
    struct arena *arena = &subject->model->arena;
    model_each_node(subject->model->graph, settle_constants, arena);
    model_each_node(subject->model->graph, settle_carried, subject->model->graph);
    struct declared said = declared_of(subject->model);
    struct model *inferred = said.count ? infer(subject->model) : NULL;
    struct declared due = inferred ? declared_of(inferred) : (struct declared){0};
    for (size_t i = 0; due.count == said.count && i < said.count; i++)
        if (said.types[i] && due.types[i] && due.types[i]->shape)
            settle(arena, said.types[i], due.types[i]->shape->n_dim);
    free(due.types);
    free(said.types);
    model_free(inferred);
}

/* By this system's libonnx. */
static int check_here(const uint8_t *model, size_t size, struct error *err)
{
    uint8_t *inferred;
    int result = onnx_check(model, size, err);
    if (result)
        return result;
    result = onnx_infer_shapes(model, size, 1, &inferred, &size, err);
    free(inferred);
    return result;
}

unsigned model_doubts(struct checker *checker, const uint8_t *model, size_t size, struct error *err)
{
    int result = onnx_checker_ask(checker, model, size, CHECKER_FULL, err);
    if (result == ONNX_UNCHECKABLE)
        result = check_here(model, size, err);
    return result < 0 ? DOUBT_CHECKER : result == ONNX_UNCHECKABLE ? DOUBT_UNKNOWN : 0;
}
