/* Rule 15 of EAGLE: the same rows in a batch of another size, and in another order. */
#include "rules/rule.h"

#include "rules/row_wise.h"

#include "base/str.h"

#include <string.h>

enum { ELEMENTS = 1 << 22 }; /* of the largest batch that is made */

/*
 * A batch whose row i is row from[i] of the given one. Rows behind the given ones are halved where they are
 * real numbers, so that not all are alike; whole numbers may be indices and stay what they are.
 */
static int make_batch(const struct tensor *given, const int64_t *from, int64_t rows, struct tensor *made,
                      struct error *err)
{
    struct shape shape = given->shape;
    size_t row = given->size / (size_t)shape.dims[0], items = given->count / (size_t)shape.dims[0];
    size_t old = (size_t)shape.dims[0];
    shape.dims[0] = rows;
    if (tensor_alloc(made, given->type, &shape, 0, err))
        return -1;
    for (size_t i = 0; i < (size_t)rows; i++) {
        memcpy((char *)made->data + i * row, (const char *)given->data + (size_t)from[i] * row, row);
        for (size_t k = 0; i >= old && dtype_is_float(given->type) && k < items; k++)
            tensor_set(made, i * items + k, tensor_get(made, i * items + k) / 2);
    }
    return 0;
}

/* What the model declares of a value: the new number of rows. */
static void declare(struct rewrite *rewrite, Onnx__ValueInfoProto *info, int64_t rows)
{
    struct arena *arena = &rewrite->model->arena;
    Onnx__TypeProto__Tensor *tensor = info->type ? info->type->tensor_type : NULL;
    if (!tensor || !tensor->shape || !tensor->shape->n_dim)
        return;
    Onnx__TensorShapeProto__Dimension *dimension = arena_alloc(arena, sizeof *dimension);
    onnx__tensor_shape_proto__dimension__init(dimension);
    dimension->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    dimension->dim_value = rows;
    tensor->shape->dim[0] = dimension;
}

static void declare_all(const struct row_wise *row_wise, int64_t rows)
{
    struct rewrite *rewrite = row_wise->rewrite;
    Onnx__GraphProto *graph = rewrite->model->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        if (row_wise_is(row_wise, graph->input[i]->name))
            declare(rewrite, graph->input[i], rows);
    for (size_t i = 0; i < graph->n_output; i++)
        if (row_wise_is(row_wise, graph->output[i]->name))
            declare(rewrite, graph->output[i], rows);
    for (size_t i = 0; i < graph->n_value_info; i++)
        if (row_wise_is(row_wise, graph->value_info[i]->name))
            declare(rewrite, graph->value_info[i], rows);
    rewrite->model->path = NULL;
}

static void reshape_all(const struct row_wise *row_wise, int64_t rows)
{
    struct rewrite *rewrite = row_wise->rewrite;
    Onnx__GraphProto *graph = rewrite->model->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        Onnx__NodeProto *node = graph->node[i];
        if (!text_equal(node->op_type, "Reshape") || !row_wise_is(row_wise, node->input[0]))
            continue;
        struct shape shape = rewrite_type(rewrite, node->output[0])->shape;
        shape.dims[0] = rows;
        rewrite_set_input(rewrite, node, 1, rewrite_ints(rewrite, shape.dims, (size_t)shape.rank));
    }
}

/* Gives all inputs with rows other rows, and the model what it says of their number. */
static int change_rows(const struct row_wise *row_wise, const int64_t *from, int64_t rows, struct error *err)
{
    struct rewrite *rewrite = row_wise->rewrite;
    const Onnx__GraphProto *graph = rewrite->model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name;
        const struct tensor *given = row_wise_is(row_wise, name) ? rewrite_given(rewrite, name) : NULL;
        struct tensor made;
        if (!given)
            continue;
        if (given->count / (size_t)row_wise->rows * (size_t)rows > ELEMENTS)
            return 0;
        if (make_batch(given, from, rows, &made, err) || rewrite_set_case_input(rewrite, name, &made, err))
            return -1;
    }
    if (rows != row_wise->rows) {
        declare_all(row_wise, rows);
        reshape_all(row_wise, rows);
    }
    return 1;
}

enum { MORE = 3, MOST = 1024 }; /* rows: added, and in the largest batch */

static int batch(struct rewrite *rewrite, const struct rule_site *site)
{
    struct row_wise row_wise;
    int64_t from[MOST + MORE];
    int result = 0;
    (void)site;
    if (!row_wise_init(&row_wise, rewrite))
        return 0;
    if (row_wise.rows <= MOST) {
        int64_t rows = row_wise.rows + rng_range(&rewrite->rng, 1, MORE);
        for (int64_t i = 0; i < rows; i++)
            from[i] = i < row_wise.rows ? i : rng_range(&rewrite->rng, 0, row_wise.rows - 1);
        rewrite->way->rows = ROWS_FIRST;
        result = change_rows(&row_wise, from, rows, rewrite->err);
    }
    row_wise_release(&row_wise);
    return result;
}

const struct rule rule_batch = {
    .name = "batch",
    .paper = 15,
    .summary = "a larger batch, whose first rows are the given ones",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .apply = batch,
};

static bool all_outputs(const struct row_wise *row_wise)
{
    const Onnx__GraphProto *graph = row_wise->rewrite->model->graph;
    for (size_t i = 0; i < graph->n_output; i++)
        if (!row_wise_is(row_wise, graph->output[i]->name))
            return false;
    return true;
}

/* The first input of the case with rows says how many there are (judge/pair.h). */
static bool first_has_rows(const struct row_wise *row_wise)
{
    const Onnx__GraphProto *graph = row_wise->rewrite->model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        const struct tensor *given = rewrite_given(row_wise->rewrite, graph->input[i]->name);
        if (given && given->shape.rank > 0)
            return row_wise_is(row_wise, graph->input[i]->name);
    }
    return false;
}

static int batch_reversed(struct rewrite *rewrite, const struct rule_site *site)
{
    struct row_wise row_wise;
    int64_t from[MOST];
    int result = 0;
    (void)site;
    if (!row_wise_init(&row_wise, rewrite))
        return 0;
    if (row_wise.rows > 1 && row_wise.rows <= MOST && all_outputs(&row_wise) && first_has_rows(&row_wise)) {
        for (int64_t i = 0; i < row_wise.rows; i++)
            from[i] = row_wise.rows - 1 - i;
        rewrite->way->rows = ROWS_REVERSED;
        result = change_rows(&row_wise, from, row_wise.rows, rewrite->err);
    }
    row_wise_release(&row_wise);
    return result;
}

const struct rule rule_batch_reversed = {
    .name = "batch-reversed",
    .paper = 15,
    .summary = "the rows of a batch in reverse order",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .apply = batch_reversed,
};
