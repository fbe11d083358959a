/*
 * Do bounds hold what an engine may make of inputs that it has a little different? A node is evaluated on
 * inputs with bounds, and again on inputs moved within them, exactly: the second result, with the bounds it
 * has by itself, must lie within the bounds of the first. Each row is a rule that was once too narrow.
 */
#include "eval/evaluate.h"
#include "model/onnx.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { INPUTS = 6, ELEMENTS = 8, OUTPUTS = 3 };

struct given {
    int64_t dims[4]; /* ended by 0 */
    double value[ELEMENTS], hard[ELEMENTS], moved[ELEMENTS];
};

struct row {
    const char *why, *node;
    enum dtype type;
    size_t count;
    struct given inputs[INPUTS];
};

static const struct row rows[] = {
    {"roundings go with what x may be",
     "y = BatchNormalization (a, b, c, d, e)",
     DTYPE_FLOAT,
     5,
     {{{1, 1}, {0}, {1}, {1}},
      {{1}, {1}, {0}, {1}},
      {{1}, {0}, {0}, {0}},
      {{1}, {0}, {0}, {0}},
      {{1}, {1}, {0}, {1}}}},
    {"a factor that may be tiny",
     "y = BatchNormalization (a, b, c, d, e)",
     DTYPE_FLOAT,
     5,
     {{{1, 1}, {0x1p40}, {0}, {0x1p40}},
      {{1}, {0x1p-120}, {0x1.fcp-121}, {0x1p-127}},
      {{1}, {0}, {0}, {0}},
      {{1}, {0}, {0}, {0}},
      {{1}, {1}, {0}, {1}}}},
    {"the inverse root's own error where it is largest",
     "y = BatchNormalization <epsilon = 0.0> (a, b, c, d, e)",
     DTYPE_FLOAT,
     5,
     {{{1, 1}, {1}, {0}, {1}},
      {{1}, {1}, {0}, {1}},
      {{1}, {0}, {0}, {0}},
      {{1}, {0}, {0}, {0}},
      {{1}, {1}, {0.75}, {0.25}}}},
    {"a product that may overflow",
     "y = BatchNormalization (a, b, c, d, e)",
     DTYPE_FLOAT,
     5,
     {{{1, 1}, {0x1p126}, {0x1p127}, {0x1.8p127}},
      {{1}, {1}, {1}, {2}},
      {{1}, {0}, {0}, {0}},
      {{1}, {0}, {0}, {0}},
      {{1}, {0x1p40}, {0}, {0x1p40}}}},
    {"squares that may overflow",
     "y = InstanceNormalization (a, b, c)",
     DTYPE_FLOAT,
     3,
     {{{1, 1, 2}, {0, 0x0.fffp64}, {0, 0x0.002p64}, {0, 0x1.001p64}},
      {{1}, {1}, {0}, {1}},
      {{1}, {0}, {0}, {0}}}},
    {"a quotient's roundings",
     "y = LpNormalization <p = 1> (a)",
     DTYPE_FLOAT,
     1,
     {{{2}, {0, 4}, {0x1p-40, 1}, {0x1p-40, 3}}}},
    {"a power's roundings",
     "y = LRN <size = 1, alpha = 0.0> (a)",
     DTYPE_FLOAT,
     1,
     {{{1, 1, 1}, {0}, {0.5}, {0.5}}}},
    {"what may be anything leaves anything behind",
     "y = LRN <size = 1> (a)",
     DTYPE_FLOAT,
     1,
     {{{1, 2, 1}, {0, 1}, {INFINITY, 0}, {0x1p60, 1}}}},
    {"a mean's roundings",
     "y = GlobalAveragePool (a)",
     DTYPE_FLOAT,
     1,
     {{{1, 1, 3}, {0, 0, 0}, {0.75, 0, 0}, {0.75, 0, 0}}}},
    {"a power's roundings, and the root's",
     "y = GlobalLpPool <p = 3> (a)",
     DTYPE_FLOAT,
     1,
     {{{1, 1, 2}, {0, 0}, {1, 0}, {1, 0}}}},
    {"a root is steepest at 0",
     "y = GlobalLpPool <p = 3> (a)",
     DTYPE_FLOAT16,
     1,
     {{{1, 1, 2}, {0x1p-7, 0}, {0x1p-7, 0}, {0x1p-16, 0}}}},
    {"a power that nobody holds, of what may be anything",
     "y = GlobalLpPool <p = 20> (a)",
     DTYPE_DOUBLE,
     1,
     {{{1, 1, 1}, {1e308}, {INFINITY}, {1}}}},
    {"an infinity over what may be NaN",
     "y = GlobalLpPool (a)",
     DTYPE_FLOAT,
     1,
     {{{1, 1, 2}, {INFINITY, 0}, {0, INFINITY}, {INFINITY, NAN}}}},
    {"a maximum over what may be NaN",
     "y = GlobalMaxPool (a)",
     DTYPE_FLOAT,
     1,
     {{{1, 1, 2}, {INFINITY, 0}, {0, INFINITY}, {INFINITY, NAN}}}},
    {"what is added may be larger",
     "y = Gemm (a, b, c)",
     DTYPE_FLOAT,
     3,
     {{{1, 2}, {0.3, 0.7}, {0}, {0.3, 0.7}}, {{2, 1}, {1, 1}, {0}, {1, 1}}, {{1}, {0}, {0x1p20}, {0x1p20}}}},
    {"an element that may overflow under alpha",
     "y = Gemm <alpha = 4.0> (a, b)",
     DTYPE_FLOAT,
     2,
     {{{1, 1}, {0x1p125}, {0x1p125}, {0x1p126}}, {{1, 1}, {0x1p-20}, {0}, {0x1p-20}}}},
    {"a sum that may wrap before it is scaled",
     "y = Gemm <alpha = 0.0> (a, b)",
     DTYPE_UINT32,
     2,
     {{{1, 2}, {4294967295, 4294967295}, {0, 0}, {4294967295, 4294967295}},
      {{2, 1}, {0, 0}, {1, 1}, {1, 1}}}},
    {"early sums meet what their row has, and no other",
     "y = Einsum <equation = \"ij,k->ik\"> (a, b)",
     DTYPE_FLOAT,
     2,
     {{{2, 2}, {1, 2, 3, 4}, {INFINITY, 0, 0, 0}, {INFINITY, 2, 3, 4}}, {{1}, {1}, {0}, {1}}}},
    {"a partial product that may underflow",
     "y = Einsum <equation = \"i,i,i->\"> (a, b, c)",
     DTYPE_FLOAT,
     3,
     {{{1}, {0x1p-100}, {0x1p-100}, {0x1p-120}},
      {{1}, {0x1p-20}, {0}, {0x1p-20}},
      {{1}, {0x1p100}, {0}, {0x1p100}}}},
    {"a weight that may be no number meets padding",
     "y = Conv <pads = [1, 1]> (a, b)",
     DTYPE_FLOAT,
     2,
     {{{1, 1, 1}, {NAN}, {0}, {NAN}}, {{2, 1, 1}, {0, 1}, {INFINITY, 0}, {INFINITY, 1}}}},
    {"an activation's error where it is largest",
     "y = RNN <hidden_size = 1, activations = [\"Affine\"], activation_alpha = [1.0], activation_beta = "
     "[0.0]> (a, b, c)",
     DTYPE_FLOAT,
     3,
     {{{1, 1, 1}, {0}, {4.25}, {4.25}}, {{1, 1, 1}, {1.5}, {0}, {1.5}}, {{1, 1, 1}, {0}, {0}, {0}}}},
    {"a term that may overflow the sum",
     "y = RNN <hidden_size = 1> (a, b, c, d)",
     DTYPE_FLOAT,
     4,
     {{{1, 1, 1}, {1}, {0}, {1}},
      {{1, 1, 1}, {1}, {0}, {1}},
      {{1, 1, 1}, {1}, {0}, {1}},
      {{1, 2}, {0x1.dp126, 0}, {0x1p124, 0}, {0x1.08p127, 0}}}},
    {"a state that may be too large",
     "y = RNN <hidden_size = 1, activations = [\"Relu\"]> (a, b, c)",
     DTYPE_FLOAT,
     3,
     {{{1, 1, 1}, {0x1p117}, {0x1p117}, {0x1p118}}, {{1, 1, 1}, {1}, {0}, {1}}, {{1, 1, 1}, {0}, {0}, {0}}}},
    {"a blend's roundings",
     "y = GRU <hidden_size = 1, activations = [\"Sigmoid\", \"Affine\"], activation_alpha = [1.0], "
     "activation_beta = [0.0]> (a, b, c)",
     DTYPE_FLOAT,
     3,
     {{{1, 1, 1}, {1}, {0}, {1}},
      {{1, 3, 1}, {-9, 0, 0}, {0, 0, 4}, {-9, 0, 4}},
      {{1, 3, 1}, {0}, {0}, {0}}}},
    {"an interval within a curved one, taken by its middle",
     "y = RNN <hidden_size = 1> (a, b, c)",
     DTYPE_FLOAT16,
     3,
     {{{1, 1, 2}, {30.5, -30.5}, {0.25, 0}, {30.75, -30.5}},
      {{1, 1, 2}, {1, 1}, {0}, {1, 1}},
      {{1, 1, 1}, {0}, {0}, {0}}}},
    {"a bound beyond the range of what follows",
     "y = RNN <hidden_size = 1> (a, b, c)",
     DTYPE_FLOAT16,
     3,
     {{{1, 1, 2}, {30000, -30000}, {16, 0}, {30016, -30000}},
      {{1, 1, 2}, {1, 1}, {0}, {1, 1}},
      {{1, 1, 1}, {0}, {0}, {0}}}},
    {"a bound of more than half of all numbers",
     "y = MatMul (a, b)",
     DTYPE_DOUBLE,
     2,
     {{{1}, {0}, {0.75}, {0.75}}, {{1}, {DBL_MAX}, {0}, {DBL_MAX}}}},
};

static struct model *parse(const struct row *row, uint8_t **bytes)
{
    char text[1000];
    size_t size;
    struct error err = {0};
    struct model *model;
    snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\" : 17]> g (float a) => (float y) { %s }",
             row->node);
    if (onnx_parse_text(text, bytes, &size, &err) || model_parse(&model, *bytes, size, &err))
        fail_msg("%s: %s", row->node, err.message);
    return model;
}

static void make_input(struct bounded *x, const struct row *row, const struct given *given, bool moved)
{
    int rank = 0;
    while (rank < 4 && given->dims[rank])
        rank++;
    struct shape shape = shape_make(rank, given->dims);
    assert_int_equal(bounded_alloc(x, row->type, &shape, false, NULL), 0);
    for (size_t i = 0; i < x->count; i++) {
        long double value = dtype_round(row->type, moved ? given->moved[i] : given->value[i]);
        bounded_set(x, i, value, moved ? 0 : given->hard[i],
                    moved || isinf(given->hard[i]) ? 0 : given->hard[i]);
    }
}

static void evaluate(const struct row *row, const struct model *model, bool moved, struct bounded *outputs)
{
    struct bounded inputs[INPUTS];
    const struct bounded *views[INPUTS];
    struct error err = {0};
    for (size_t i = 0; i < row->count; i++) {
        make_input(&inputs[i], row, &row->inputs[i], moved);
        views[i] = &inputs[i];
    }
    for (size_t i = 0; i < OUTPUTS; i++)
        bounded_init(&outputs[i]);
    const Onnx__NodeProto *node = model->graph->node[0];
    struct op_call call = {.op = op_find(node->op_type),
                           .node = node,
                           .opset = 17,
                           .n_inputs = row->count,
                           .inputs = views,
                           .n_outputs = 1,
                           .outputs = outputs,
                           .err = &err};
    if (call.op->eval(&call))
        fail_msg("%s: %s", row->node, err.message);
    for (size_t i = 0; i < row->count; i++)
        bounded_release(&inputs[i]);
}

static bool holds(const struct bounded *wide, const struct bounded *moved, size_t i)
{
    long double a = wide->value[i], b = moved->value[i], h = bounded_hard(moved, i);
    if (isinf(bounded_hard(wide, i)))
        return true;
    if (isinf(h) || isnan(a) || isnan(b))
        return !isinf(h) && isnan(a) && isnan(b);
    return (a == b ? 0 : fabsl(a - b)) + h <= bounded_hard(wide, i) * (1 + 1e-12L);
}

static void bounds_hold_what_inputs_may_become(void **state)
{
    size_t broken = 0;
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint8_t *bytes;
        struct model *model = parse(&rows[r], &bytes);
        struct bounded wide[OUTPUTS], moved[OUTPUTS];
        evaluate(&rows[r], model, false, wide);
        evaluate(&rows[r], model, true, moved);
        for (size_t i = 0; i < wide[0].count; i++)
            if (!holds(&wide[0], &moved[0], i)) {
                broken++;
                printf("%s: %s: [%zu] is %.9Lg +- %.9g, but may be %.9Lg +- %.9g\n", rows[r].why,
                       rows[r].node, i, wide[0].value[i], bounded_hard(&wide[0], i), moved[0].value[i],
                       bounded_hard(&moved[0], i));
            }
        for (size_t i = 0; i < OUTPUTS; i++) {
            bounded_release(&wide[i]);
            bounded_release(&moved[i]);
        }
        model_free(model);
        free(bytes);
    }
    assert_int_equal(broken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_what_inputs_may_become),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
