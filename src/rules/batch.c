/* Rule 15 of EAGLE: the same rows in a batch of another size, and in another order. */
#include "rules/rule.h"

#include "rules/row_wise.h"

#include "base/str.h"

#include <string.h>

enum { ELEMENTS = 1 << 22 }; /* of the largest batch that is made */

/*
 * A batch whose row i is row from[i] of the given one; made_of(k) stands for row k halved, where it is of
 * real numbers, so that not all are alike. Whole numbers may be indices and stay what they are.
 */
static int64_t made_of(int64_t row)
{
    return -1 - row;
}

static int make_batch(const struct tensor *given, const int64_t *from, int64_t rows, struct tensor *made,
                      struct error *err)
{
    struct shape shape = given->shape;
    size_t row = given->size / (size_t)shape.dims[0], items = given->count / (size_t)shape.dims[0];
    shape.dims[0] = rows;
    if (tensor_alloc(made, given->type, &shape, 0, err))
        return -1;
    for (size_t i = 0; i < (size_t)rows; i++) {
        bool halved = from[i] < 0;
        size_t at = (size_t)(halved ? -1 - from[i] : from[i]);
        memcpy((char *)made->data + i * row, (const char *)given->data + at * row, row);
        for (size_t k = 0; halved && dtype_is_float(given->type) && k < items; k++)
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

enum { MORE = 3, BEFORE = 64, MOST = 1024 }; /* rows: added, and in the largest batch that is given */

/* Chooses the rows of the new batch: returns how many, 0 when the rule does not apply. */
typedef int64_t row_choice(const struct row_wise *row_wise, int64_t from[MOST + BEFORE], struct rng *rng);

static int rows_chosen(struct rewrite *rewrite, enum rows answer, row_choice *choose)
{
    struct row_wise row_wise;
    int64_t from[MOST + BEFORE];
    int result = 0;
    if (!row_wise_init(&row_wise, rewrite))
        return 0;
    int64_t rows = row_wise.rows <= MOST ? choose(&row_wise, from, &rewrite->rng) : 0;
    if (rows > 0) {
        rewrite->way->rows = answer;
        result = change_rows(&row_wise, from, rows, rewrite->err);
    }
    row_wise_release(&row_wise);
    return result;
}

static int64_t choose_more(const struct row_wise *row_wise, int64_t from[MOST + BEFORE], struct rng *rng)
{
    int64_t rows = row_wise->rows + rng_range(rng, 1, MORE);
    for (int64_t i = 0; i < rows; i++)
        from[i] = i < row_wise->rows ? i : made_of(rng_range(rng, 0, row_wise->rows - 1));
    return rows;
}

static int batch(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    return rows_chosen(rewrite, ROWS_FIRST, choose_more);
}

const struct rule rule_batch = {
    .name = "batch",
    .paper = 15,
    .summary = "a larger batch, whose first rows are the given ones",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .axis = AXIS_BATCH_SIZE,
    .variations = 2,
    .apply = batch,
};

static int64_t choose_last(const struct row_wise *row_wise, int64_t from[MOST + BEFORE], struct rng *rng)
{
    /* Places at which kernels that take several rows at a time begin, end, or have some left over. */
    static const int64_t before[] = {1, 2, 3, 5, 7, 8, 15, 16, 31, BEFORE};
    int64_t more = before[rng_below(rng, sizeof before / sizeof *before)];
    for (int64_t i = 0; i < row_wise->rows + more; i++)
        from[i] = i < more ? made_of(rng_range(rng, 0, row_wise->rows - 1)) : i - more;
    return row_wise->rows + more;
}

static int batch_last(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    return rows_chosen(rewrite, ROWS_LAST, choose_last);
}

const struct rule rule_batch_last = {
    .name = "batch-last",
    .summary = "a larger batch, whose last rows are the given ones",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .on_request = true,
    .axis = AXIS_BATCH_POSITION,
    .variations = 4,
    .apply = batch_last,
};

static int64_t choose_fewer(const struct row_wise *row_wise, int64_t from[MOST + BEFORE], struct rng *rng)
{
    int64_t rows = row_wise->rows > 1 ? rng_range(rng, 1, row_wise->rows - 1) : 0;
    for (int64_t i = 0; i < rows; i++)
        from[i] = i;
    return rows;
}

static int batch_first(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    return rows_chosen(rewrite, ROWS_FIRST, choose_fewer);
}

const struct rule rule_batch_first = {
    .name = "batch-first",
    .summary = "only the first rows of a batch",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .on_request = true,
    .axis = AXIS_BATCH_SIZE,
    .variations = 2,
    .apply = batch_first,
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

static int64_t choose_reversed(const struct row_wise *row_wise, int64_t from[MOST + BEFORE], struct rng *rng)
{
    (void)rng;
    if (row_wise->rows < 2 || !all_outputs(row_wise) || !first_has_rows(row_wise))
        return 0;
    for (int64_t i = 0; i < row_wise->rows; i++)
        from[i] = row_wise->rows - 1 - i;
    return row_wise->rows;
}

static int batch_reversed(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    return rows_chosen(rewrite, ROWS_REVERSED, choose_reversed);
}

const struct rule rule_batch_reversed = {
    .name = "batch-reversed",
    .paper = 15,
    .summary = "the rows of a batch in reverse order",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .axis = AXIS_BATCH_POSITION,
    .variations = 1,
    .apply = batch_reversed,
};
