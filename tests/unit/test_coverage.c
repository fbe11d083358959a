#include "guide/coverage.h"

#include "guide/coverage_param.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A value named x8 is of shape [1,8,8,3]. */
static bool shape_by_name(const void *context, const char *name, enum dtype *type, struct shape *shape)
{
    int64_t size = atoi(name + 1);
    (void)context;
    *type = DTYPE_FLOAT;
    *shape = (struct shape){.rank = 4, .dims = {1, size, size, 3}};
    return true;
}

static const struct coverage_shapes shapes = {shape_by_name, NULL};

/* Nodes are {operator, output, input, second input or NULL}. */
static void add_network(struct coverage *coverage, const char *const nodes[][4], size_t count)
{
    struct model *model = model_new(17);
    struct coverage_record record;
    for (size_t i = 0; i < count; i++)
        model_add_node(model, nodes[i][0], NULL, nodes[i][3] ? 2 : 1, &nodes[i][2], 1, &nodes[i][1]);
    coverage_record_init(&record);
    coverage_record_model(&record, model, &shapes);
    double before = coverage_total(coverage).olc;
    struct coverage_gain peek = coverage_peek(coverage, &record);
    assert_true(coverage_total(coverage).olc == before);
    struct coverage_gain gain = coverage_add(coverage, &record);
    assert_true(coverage_grows(&gain) && fabs(peek.olc - gain.olc) < 1e-12 && peek.edges == gain.edges &&
                peek.vectors == gain.vectors && peek.types == gain.types);
    assert_true(fabs(coverage_total(coverage).olc - before - gain.olc) < 1e-12);
    gain = coverage_add(coverage, &record);
    assert_false(coverage_grows(&gain));
    coverage_record_release(&record);
    model_free(model);
}

/* The paper's Table I: the corpus of its worked example, with n_max 10. */
static struct coverage *table_one(void)
{
    struct coverage_options options = {.n_max = 10};
    struct coverage *coverage = coverage_new(&options);
    assert_true(coverage_add_op(coverage, "Conv2d", 1u << 1, 7));
    assert_true(coverage_add_op(coverage, "Relu", 1u << 1, 7));
    assert_true(coverage_add_op(coverage, "Add", 1u << 2, 7));
    assert_false(coverage_add_op(coverage, "Add", 1u << 2, 7));
    return coverage;
}

/*
 * Three networks with the counts of the paper's (which stand in a picture): Conv2d with two out-degrees, one
 * kind of successor, two vectors; Relu with one of each; Add with two, one and three.
 */
static void add_example(struct coverage *coverage)
{
    static const char *const first[][4] = {
        {"Conv2d", "c8", "x8", NULL}, {"Relu", "r8", "c8", NULL}, {"Add", "y8", "r8", "x8"}};
    static const char *const second[][4] = {{"Conv2d", "c8", "x9", NULL},
                                            {"Relu", "r8", "c8", NULL},
                                            {"Relu", "s8", "c8", NULL},
                                            {"Add", "y8", "r8", "s8"}};
    static const char *const third[][4] = {{"Add", "a7", "x7", "z7"}, {"Add", "y7", "a7", "x1"}};
    add_network(coverage, first, 3);
    add_network(coverage, second, 4);
    add_network(coverage, third, 2);
}

static void row_is(struct coverage_figures f, const char *expected)
{
    char text[100];
    snprintf(text, sizeof text, "%.3g %.3g %.3g %.3g %.3g %.3g", 100 * f.otc, 100 * f.idc, 100 * f.odc,
             100 * f.sec, 100 * f.spc, 100 * f.olc);
    assert_string_equal(text, expected);
}

static void table_two_is(const struct coverage *coverage)
{
    row_is(coverage_of(coverage, 0), "100 100 66.7 33.3 20 64");
    row_is(coverage_of(coverage, 1), "100 100 33.3 33.3 10 55.3");
    row_is(coverage_of(coverage, 2), "100 100 66.7 33.3 30 66");
    row_is(coverage_total(coverage), "100 100 55.6 33.3 20 61.8");
}

static void test_table_two(void **state)
{
    struct coverage *coverage = table_one();
    (void)state;
    row_is(coverage_total(coverage), "0 0 0 0 0 0");
    add_example(coverage);
    table_two_is(coverage);
    coverage_free(coverage);
}

/* The weight of a metric that says nothing may be 0. */
static void test_weights(void **state)
{
    struct coverage_options options = {.n_max = 10, .weights = {1, 1, 0, 1, 1}};
    struct coverage *coverage = coverage_new(&options);
    (void)state;
    coverage_add_op(coverage, "Conv2d", 1u << 1, 7);
    coverage_add_op(coverage, "Relu", 1u << 1, 7);
    coverage_add_op(coverage, "Add", 1u << 2, 7);
    add_example(coverage);
    assert_float_equal(coverage_total(coverage).olc, (1 + 1 + 1 / 3.0 + 0.2) / 4, 1e-9);
    coverage_free(coverage);
}

static void test_text(void **state)
{
    struct coverage *coverage = table_one(), *copy = table_one(), *other = coverage_new(NULL);
    struct str text, again;
    struct error err;
    (void)state;
    str_init(&text);
    str_init(&again);
    coverage_write(coverage, &text);
    assert_int_equal(coverage_read(copy, text.data, &err), 0);
    row_is(coverage_total(copy), "0 0 0 0 0 0");
    str_clear(&text);
    add_example(coverage);
    coverage_write(coverage, &text);
    assert_int_equal(coverage_read(copy, text.data, &err), 0);
    table_two_is(copy);
    coverage_write(copy, &again);
    assert_string_equal(text.data, again.data);
    coverage_add_op(other, "Conv2d", 1u << 1, 7);
    assert_int_equal(coverage_read(other, text.data, &err), -1);
    for (size_t length = 0; length + 1 < text.length; length += 7) {
        text.data[length] = '\0';
        assert_int_equal(coverage_read(copy, text.data, &err), -1);
        text.data[length] = again.data[length];
    }
    str_release(&text);
    str_release(&again);
    coverage_free(coverage);
    coverage_free(copy);
    coverage_free(other);
}

static struct coverage_gain add_gemm(struct coverage *coverage, int64_t trans_a, int64_t trans_b, float alpha)
{
    const char *inputs[2] = {"a3", "b3"}, *output = "y3";
    struct model *model = model_new(17);
    struct coverage_record record;
    Onnx__NodeProto *node = model_add_node(model, "Gemm", NULL, 2, inputs, 1, &output);
    if (trans_a >= 0)
        node_set_int(&model->arena, node, "transA", trans_a);
    if (trans_b >= 0)
        node_set_int(&model->arena, node, "transB", trans_b);
    node_set_float(&model->arena, node, "alpha", alpha);
    coverage_record_init(&record);
    coverage_record_model(&record, model, &shapes);
    struct coverage_gain gain = coverage_add(coverage, &record);
    coverage_record_release(&record);
    model_free(model);
    return gain;
}

/* Gemm has four parameters, so a node makes six pairs; a value changed makes three of them new. */
static void test_pairs(void **state)
{
    struct coverage *coverage = coverage_new(NULL);
    size_t op;
    (void)state;
    assert_true(coverage_add_row(coverage, op_find("Gemm")));
    assert_true(coverage_find(coverage, "Gemm", &op));
    assert_int_equal(add_gemm(coverage, 0, 0, 0.5f).pairs, 6);
    assert_int_equal(add_gemm(coverage, 0, 0, 0.5f).pairs, 0);
    assert_int_equal(add_gemm(coverage, 1, 0, 0.5f).pairs, 3);
    assert_int_equal(add_gemm(coverage, -1, 0, 0.5f).pairs, 3);
    assert_int_equal(add_gemm(coverage, 1, 1, 0.5f).pairs, 3);
    assert_int_equal(add_gemm(coverage, 1, 0, 0.3f).pairs, 3);
    assert_int_equal(add_gemm(coverage, 1, 0, 0.7f).pairs, 0);
    /* transA, transB: two values and "another" and left out; alpha, beta: four, another, left out. */
    assert_float_equal(coverage_of(coverage, op).pairs, 18.0 / (16 + 4 * 24 + 36), 1e-9);
    coverage_free(coverage);
}

/* Every row of the table has classes for its parameters, and every class fits. */
static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < op_count(); i++) {
        size_t params = 0;
        for (const struct op_param *p = op_at(i)->params; p && p->name; p++, params++)
            assert_in_range(param_classes(p), 1, 254);
        assert_in_range(params, 0, COVERAGE_PARAMS);
    }
}

/* A difference holds what is new, and folding is a union, in which nothing counts twice. */
static void test_fold(void **state)
{
    struct coverage *before = table_one(), *now = table_one(), *sum = table_one();
    struct str text, whole, again;
    struct error err;
    (void)state;
    str_init(&text);
    str_init(&whole);
    str_init(&again);
    coverage_difference(now, before, &text);
    assert_string_equal(text.data, "A"); /* nothing */
    add_example(now);
    coverage_difference(now, NULL, &whole);
    str_clear(&text);
    coverage_difference(now, before, &text);
    assert_string_equal(text.data, whole.data);
    for (int i = 0; i < 2; i++) { /* the second time adds nothing */
        const char *at = text.data;
        assert_int_equal(coverage_fold(sum, &at, &err), 0);
        assert_int_equal(*at, '\0');
        table_two_is(sum);
    }
    coverage_copy(before, now);
    table_two_is(before);
    str_clear(&text);
    coverage_difference(now, before, &text);
    assert_string_equal(text.data, "A");
    for (size_t length = 0; length < whole.length; length++) {
        str_clear(&again);
        str_append(&again, whole.data, length);
        const char *at = again.data;
        coverage_clear(sum);
        assert_int_equal(coverage_fold(sum, &at, &err), -1);
    }
    coverage_clear(now);
    row_is(coverage_total(now), "0 0 0 0 0 0");
    str_release(&text);
    str_release(&whole);
    str_release(&again);
    coverage_free(before);
    coverage_free(now);
    coverage_free(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_two), cmocka_unit_test(test_weights), cmocka_unit_test(test_text),
        cmocka_unit_test(test_pairs),     cmocka_unit_test(test_rows),    cmocka_unit_test(test_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
