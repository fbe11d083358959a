#include "tolerances/tolerances.h"

#include "base/memory.h"
#include "base/str.h"
#include "case/test_case.h"
#include "judge/verdict.h"

#include <math.h>
#include <stdlib.h>

static void add_row(struct tolerances *tolerances, const char *name, const char *op, bool output)
{
    struct tolerance_row *row = &tolerances->rows[tolerances->count++];
    *row = (struct tolerance_row){.name = arena_strdup(&tolerances->arena, name),
                                  .op = arena_strdup(&tolerances->arena, op),
                                  .output = output};
}

static bool is_output(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_output; i++)
        if (text_equal(model->graph->output[i]->name, name))
            return true;
    return false;
}

/* The values of nodes, in the order in which they are computed. Outputs come last, in their own. */
static int add_nodes(struct tolerances *tolerances, struct error *err)
{
    struct model_index index;
    const Onnx__GraphProto *graph = tolerances->model->graph;
    if (model_index_init(&index, tolerances->model, err))
        return -1;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[index.order[i]];
        for (size_t k = 0; k < node->n_output; k++)
            if (*node->output[k] && !is_output(tolerances->model, node->output[k]))
                add_row(tolerances, node->output[k], node->op_type, false);
    }
    model_index_release(&index);
    return 0;
}

static const char *maker(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (text_equal(graph->node[i]->output[k], name))
                return graph->node[i]->op_type;
    return "";
}

int tolerances_init(struct tolerances *tolerances, const struct model *model, enum precision precision,
                    bool nodes, struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    size_t room = graph->n_output;
    *tolerances = (struct tolerances){.model = model, .precision = precision};
    arena_init(&tolerances->arena);
    for (size_t i = 0; nodes && i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    tolerances->rows = arena_array(&tolerances->arena, room, sizeof *tolerances->rows);
    if (nodes && add_nodes(tolerances, err))
        return -1;
    for (size_t i = 0; i < graph->n_output; i++)
        add_row(tolerances, graph->output[i]->name, maker(graph, graph->output[i]->name), true);
    return 0;
}

/* How far a right answer may be from the expected number, by both bases. */
struct reach {
    double hard, likely;
};

static struct reach reach_of(const struct bounded *b, size_t i, long double expected)
{
    long double hard = bounded_hard(b, i), apart = fabsl(b->value[i] - expected);
    long double likely = verdict_unsuspected(bounded_likely(b, i));
    if (dtype_is_float(b->type))
        likely += unit_of(b->type) * fabsl(expected);
    return (struct reach){(double)(hard + apart), (double)(fminl(likely, hard) + apart)};
}

/* Whether some right engine may give the expected number. */
static bool is_possible(const struct bounded *b, size_t i, long double expected)
{
    long double value = b->value[i];
    if (!isfinite(expected) || !isfinite(value))
        return expected == dtype_round(b->type, value) || (isnan(expected) && isnan(value));
    return fabsl(value - expected) <= bounded_hard(b, i);
}

/* given: what a data set expects, or NULL; own: what the reference gives. */
static void add_number(struct tolerance_row *row, const struct bounded *b, size_t i,
                       const struct tensor *given, const struct tensor *own)
{
    long double expected = tensor_get(given ? given : own, i);
    row->values++;
    if (!isfinite(bounded_hard(b, i))) {
        row->unjudged++;
        return;
    }
    bool refuted = given && !is_possible(b, i, expected),
         numbers = isfinite(expected) && isfinite(b->value[i]);
    row->refuted += refuted;
    row->lost += refuted && !numbers;
    if (numbers) {
        struct reach reach = reach_of(b, i, expected);
        double size = (double)fabsl(expected);
        bool whole = !dtype_is_float(b->type);
        tolerance_add(&row->fits[BASIS_HARD], size, reach.hard, whole);
        tolerance_add(&row->fits[BASIS_LIKELY], size, reach.likely, whole);
    }
}

static int add_value(struct tolerance_row *row, const struct bounded *b, const struct value *expected,
                     struct error *err)
{
    struct tensor own;
    if (b->kind != BOUNDED_TENSOR || !dtype_is_real(b->type))
        return 0;
    if (bounded_to_tensor(b, &own, err))
        return -1;
    const struct tensor *given = expected && expected->kind == VALUE_TENSOR &&
                                         expected->tensors[0].type == b->type &&
                                         shape_equal(&expected->tensors[0].shape, &b->shape)
                                     ? &expected->tensors[0]
                                     : NULL;
    row->type = b->type;
    for (size_t i = 0; i < b->count; i++)
        add_number(row, b, i, given, &own);
    for (size_t basis = 0; basis < BASIS_COUNT; basis++)
        tolerance_end_group(&row->fits[basis]);
    tensor_release(&own);
    return 0;
}

/* Engines may compute several nodes as one; where shapes depend on values that does not work. */
static int evaluate(const struct tolerances *tolerances, bool loose, const struct value *inputs,
                    size_t n_inputs, struct bounded **values, struct error *err)
{
    struct evaluator *evaluator;
    struct evaluate_options options = {
        .loose = loose, .containers = true, .precision = tolerances->precision};
    const char **names = memory_zeroed(tolerances->count + 1, sizeof *names);
    size_t count;
    for (size_t i = 0; i < tolerances->count; i++)
        names[i] = tolerances->rows[i].name;
    int status = evaluator_new(&evaluator, tolerances->model, &options, err);
    if (!status)
        status = evaluator_run(evaluator, inputs, n_inputs, names, tolerances->count, values, &count, err);
    evaluator_free(evaluator);
    free(names);
    return status;
}

static bool draws_numbers(const struct model *model, const struct value *inputs, size_t n_inputs)
{
    struct test_case *view = test_case_view(model, inputs, n_inputs);
    bool draws = test_case_draws_numbers(view);
    test_case_free(view);
    return draws;
}

int tolerances_add(struct tolerances *tolerances, const struct value *inputs, size_t n_inputs,
                   const struct value *expected, size_t n_expected, struct error *err)
{
    struct bounded *values;
    bool several = tolerances->model->graph->n_node > 1;
    if (draws_numbers(tolerances->model, inputs, n_inputs))
        return error_set(err, ERROR_UNSUPPORTED,
                         "the model draws random numbers: only types and shapes can be tested");
    if ((!several || evaluate(tolerances, true, inputs, n_inputs, &values, NULL)) &&
        evaluate(tolerances, false, inputs, n_inputs, &values, err))
        return -1;
    size_t first = tolerances->count - tolerances->model->graph->n_output;
    int status = 0;
    for (size_t i = 0; i < tolerances->count; i++) {
        const struct value *given = i >= first && i - first < n_expected ? &expected[i - first] : NULL;
        if (!status)
            status = add_value(&tolerances->rows[i], &values[i], given, err);
        bounded_release(&values[i]);
    }
    free(values);
    tolerances->samples++;
    return status;
}

void tolerances_finish(struct tolerances *tolerances)
{
    struct tolerance_row *all = &tolerances->all;
    for (size_t i = 0; i < tolerances->count; i++) {
        const struct tolerance_row *row = &tolerances->rows[i];
        if (!row->output)
            continue;
        all->values += row->values;
        all->unjudged += row->unjudged;
        if (row->type != DTYPE_NONE)
            all->type = row->type;
        for (size_t basis = 0; basis < BASIS_COUNT; basis++)
            tolerance_merge(&all->fits[basis], &row->fits[basis]);
    }
}

void tolerances_release(struct tolerances *tolerances)
{
    for (size_t basis = 0; basis < BASIS_COUNT; basis++) {
        tolerance_release(&tolerances->all.fits[basis]);
        for (size_t i = 0; i < tolerances->count; i++)
            tolerance_release(&tolerances->rows[i].fits[basis]);
    }
    arena_release(&tolerances->arena);
}

struct tolerance_choice tolerances_choose(struct tolerance_row *row, double error)
{
    struct tolerance_choice choice = {0};
    for (enum tolerance_basis basis = BASIS_HARD; basis < BASIS_COUNT; basis++) {
        struct tolerance_fit *fit = &row->fits[basis];
        choice.basis = basis;
        choice.least = tolerance_least(fit);
        choice.passes = tolerance_passes(fit, choice.least);
        choice.most = tolerance_most(fit, choice.least.rtol, error);
        if (choice.passes <= error)
            return choice;
    }
    return choice;
}

bool tolerances_has_choice(struct tolerance_row *row, double error)
{
    if (row->type == DTYPE_NONE || row->lost || !row->fits[BASIS_HARD].added)
        return false;
    return !row->refuted || tolerances_choose(row, error).passes <= error;
}

bool tolerances_has_common_choice(struct tolerances *tolerances, double error)
{
    for (size_t i = 0; i < tolerances->count; i++) {
        struct tolerance_row *row = &tolerances->rows[i];
        if (row->output && row->refuted && !tolerances_has_choice(row, error))
            return false;
    }
    return tolerances_has_choice(&tolerances->all, error);
}
