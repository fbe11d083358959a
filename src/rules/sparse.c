/* Rule 8 of EAGLE: dense weights against sparse ones. Zeros that are not stored are positive, as in ONNX;
 * negative ones are kept. */
#include "rules/rule.h"

#include <string.h>

enum {
    ELEMENTS = 1 << 20, /* of the largest weight that is rewritten */
    SPARSE_IR = 6,      /* the first IR version that has sparse tensors */
    SPARSE_OPSET = 11   /* the first opset whose Constant has them */
};

static void add_sparse(struct rewrite *rewrite, Onnx__SparseTensorProto *sparse)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    Onnx__SparseTensorProto **list =
        arena_array(&rewrite->model->arena, graph->n_sparse_initializer + 1, sizeof *list);
    if (graph->n_sparse_initializer)
        memcpy(list, graph->sparse_initializer, graph->n_sparse_initializer * sizeof *list);
    list[graph->n_sparse_initializer++] = sparse;
    graph->sparse_initializer = list;
    rewrite->model->path = NULL;
}

/* One of the two forms that indices may have. */
static Onnx__SparseTensorProto *make_sparse(struct rewrite *rewrite, const char *name,
                                            const struct tensor *tensor)
{
    bool linear = rng_chance(&rewrite->rng, 0.5);
    return tensor->count <= ELEMENTS ? model_sparse_write(&rewrite->model->arena, name, tensor, linear)
                                     : NULL;
}

/* A dense initialiser as a sparse one, or as a Constant with a sparse value. */
static int dense_to_sparse(struct rewrite *rewrite, const struct index_value *value, struct error *err)
{
    struct arena *arena = &rewrite->model->arena;
    struct tensor tensor;
    if (model_weight(rewrite->model, value->number, &tensor, err))
        return -1;
    Onnx__SparseTensorProto *sparse = make_sparse(rewrite, value->name, &tensor);
    tensor_release(&tensor);
    if (!sparse)
        return 0;
    rewrite_drop_initializer(rewrite, value->number);
    if (rewrite_opset(rewrite) >= SPARSE_OPSET && rng_chance(&rewrite->rng, 0.25)) {
        Onnx__NodeProto *node = rewrite_op_to(rewrite, value->name, "Constant", NULL);
        node_set_sparse(arena, node, "sparse_value", sparse);
    } else {
        add_sparse(rewrite, sparse);
    }
    return 1;
}

static int sparse_to_dense(struct rewrite *rewrite, const struct index_value *value, struct error *err)
{
    struct tensor tensor;
    if (model_weight(rewrite->model, value->number, &tensor, err))
        return -1;
    bool small = tensor.count <= ELEMENTS;
    if (small) {
        rewrite_drop_initializer(rewrite, value->number);
        model_add_initializer(rewrite->model, value->name, &tensor);
    }
    tensor_release(&tensor);
    return small;
}

static int constant(struct rewrite *rewrite, Onnx__NodeProto *node, struct error *err)
{
    struct arena *arena = &rewrite->model->arena;
    const Onnx__AttributeProto *dense = node_attribute(node, "value"),
                               *sparse = node_attribute(node, "sparse_value");
    struct tensor tensor;
    int result = 0;
    if (dense && dense->t && rewrite_opset(rewrite) >= SPARSE_OPSET) {
        if (model_tensor_read(dense->t, &tensor, err))
            return -1;
        Onnx__SparseTensorProto *made = make_sparse(rewrite, "", &tensor);
        if (made) {
            node_remove_attribute(node, "value");
            node_set_sparse(arena, node, "sparse_value", made);
            result = 1;
        }
        tensor_release(&tensor);
    } else if (sparse && sparse->sparse_tensor) {
        if (model_sparse_read(sparse->sparse_tensor, &tensor, err))
            return -1;
        node_remove_attribute(node, "sparse_value");
        node_set_tensor(arena, node, "value", &tensor);
        tensor_release(&tensor);
        result = 1;
    }
    return result;
}

static int sparse(struct rewrite *rewrite, const struct rule_site *site)
{
    const struct index_value *value = site->value;
    Onnx__GraphProto *graph = rewrite->model->graph;
    if (rewrite->model->proto->ir_version < SPARSE_IR || !rewrite_type(rewrite, value->name))
        return 0;
    if (value->source == SOURCE_NODE)
        return node_is_constant(graph->node[value->number])
                   ? constant(rewrite, graph->node[value->number], rewrite->err)
                   : 0;
    if (value->source != SOURCE_INITIALIZER || rewrite_is_input(rewrite, value->name))
        return 0;
    return value->number < graph->n_initializer ? dense_to_sparse(rewrite, value, rewrite->err)
                                                : sparse_to_dense(rewrite, value, rewrite->err);
}

const struct rule rule_sparse = {
    .name = "sparse",
    .paper = 8,
    .summary = "a dense weight as a sparse one, and back",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = sparse,
};

/* A matrix with one more row in front, of zeros. */
static int with_zero_row(const struct tensor *matrix, struct tensor *longer, struct error *err)
{
    struct shape shape = shape_make(2, matrix->shape.dims);
    shape.dims[0]++;
    if (tensor_alloc(longer, matrix->type, &shape, 0, err))
        return -1;
    memcpy((char *)longer->data + (longer->size - matrix->size), matrix->data, matrix->size);
    return 0;
}

/* The product gets one more summand, 0 * 0: a column of zeros in front of one matrix, a row that the sparse
 * form leaves out in front of the other. */
static int sparse_product(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *x = rewrite_input(rewrite, node, 0), *w = rewrite_input(rewrite, node, 1);
    struct tensor matrix, longer;
    int64_t pads[2 * TENSOR_MAX_RANK] = {0};
    if (!x || !w || x->shape.rank < 1 || w->shape.rank != 2 || !x->count || !w->count ||
        w->count > ELEMENTS / 2 || rewrite->model->proto->ir_version < SPARSE_IR ||
        rewrite_opset(rewrite) < SPARSE_OPSET)
        return 0;
    int status = rewrite_constant(rewrite, node->input[1], &matrix, rewrite->err);
    if (status != 1)
        return status;
    status = with_zero_row(&matrix, &longer, rewrite->err);
    tensor_release(&matrix);
    if (status)
        return -1;
    const char *name = rewrite_name(rewrite, "sparse");
    add_sparse(rewrite, make_sparse(rewrite, name, &longer));
    tensor_release(&longer);
    pads[x->shape.rank - 1] = 1;
    const char *amounts = rewrite_ints(rewrite, pads, 2 * (size_t)x->shape.rank);
    rewrite_set_input(rewrite, node, 0, rewrite_op(rewrite, "Pad", NULL, node->input[0], amounts, NULL));
    rewrite_set_input(rewrite, node, 1, name);
    return 1;
}

const struct rule rule_sparse_product = {
    .name = "sparse-product",
    .paper = 8,
    .summary = "a product with a sparse weight that has one more row, of zeros",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "MatMul",
    .apply = sparse_product,
};
