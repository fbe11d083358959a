/* Variants of networks: always the same, legal ones valid with weights that fit, illegal ones forbidden. */
#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "case/inputs.h"
#include "eval/evaluate.h"
#include "model/build.h"
#include "model/valid.h"
#include "ops/param_value.h"
#include "search/variant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES(...) ((const char *[]){__VA_ARGS__})

enum { NUMBERS = 16 };

static void zoo_path(char *path, size_t size, const char *name)
{
    const char *tests = getenv("ASSAY_TEST_DATA");
    snprintf(path, size, "%s/../models/%s/%s.onnx", tests ? tests : "tests", name, name);
}

static struct test_case *zoo_case(const char *name)
{
    struct model *model;
    struct inputs inputs;
    struct value *values;
    char path[1000];
    zoo_path(path, sizeof path, name);
    assert_int_equal(model_load(&model, path, NULL), 0);
    struct test_case *test = test_case_new(model);
    test_case_set_name(test, name);
    assert_int_equal(inputs_random(&inputs, model, 1, 1, NULL, 0, NULL), 0);
    assert_int_equal(inputs_get(&inputs, 0, &values, NULL), 0);
    test->inputs = values;
    test->n_inputs = inputs.count;
    inputs_release(&inputs);
    return test;
}

static struct variant_seed *seed_of(struct test_case *test)
{
    struct variant_seed *seed;
    assert_int_equal(variant_seed_new(&seed, test, NULL), 0);
    test_case_free(test);
    return seed;
}

static int evaluate(const struct test_case *test, struct error *err)
{
    struct evaluator *evaluator;
    struct evaluate_options options = {0};
    struct bounded *results = NULL;
    size_t count = 0;
    if (evaluator_new(&evaluator, test_case_model(test, NULL), &options, err))
        return -1;
    int result = evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &results, &count, err);
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    return result;
}

/* A Conv, a residual Add and a Gemm: a change of the Conv's shape has to be undone before the Add. */
static struct test_case *residual_case(void)
{
    struct model *model = model_new(13);
    struct shape image = {4, {1, 2, 6, 6}}, kernel = {4, {2, 2, 3, 3}}, matrix = {2, {72, 3}};
    struct tensor w, m, x;
    assert_int_equal(tensor_alloc(&w, DTYPE_FLOAT, &kernel, 0, NULL), 0);
    assert_int_equal(tensor_alloc(&m, DTYPE_FLOAT, &matrix, 0, NULL), 0);
    assert_int_equal(tensor_alloc(&x, DTYPE_FLOAT, &image, 0, NULL), 0);
    for (size_t i = 0; i < w.count; i++)
        tensor_set(&w, i, (long double)i);
    model_add_input(model, "x", DTYPE_FLOAT, &image);
    model_add_initializer(model, "w", &w);
    model_add_initializer(model, "m", &m);
    Onnx__NodeProto *conv = model_add_node(model, "Conv", "conv", 2, NAMES("x", "w"), 1, NAMES("c"));
    node_set_ints(&model->arena, conv, "kernel_shape", (int64_t[]){3, 3}, 2);
    node_set_ints(&model->arena, conv, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    model_add_node(model, "Add", "add", 2, NAMES("c", "x"), 1, NAMES("a"));
    model_add_node(model, "Flatten", "flat", 1, NAMES("a"), 1, NAMES("f"));
    model_add_node(model, "Gemm", "gemm", 2, NAMES("f", "m"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, &(struct shape){2, {1, 3}});
    struct test_case *test = test_case_new(model);
    struct value input = value_view("x", &x);
    assert_int_equal(test_case_add_inputs(test, &input, 1, NULL), 0);
    tensor_release(&w);
    tensor_release(&m);
    tensor_release(&x);
    return test;
}

/* ---- Tests ---- */

static void test_same_number_same_variant(void **state)
{
    struct variant_seed *seed = seed_of(zoo_case("lenet1"));
    (void)state;
    for (int law = VARIANT_LEGAL; law <= VARIANT_ILLEGAL; law++)
        for (uint64_t i = 0; i < 12; i++) {
            struct test_case *a, *b;
            const uint8_t *left, *right;
            size_t n, m;
            int first = variant_make(seed, (enum variant_law)law, 7, i, &a, NULL, NULL);
            assert_int_equal(variant_make(seed, (enum variant_law)law, 7, i, &b, NULL, NULL), first);
            if (first)
                continue;
            assert_int_equal(test_case_bytes(a, &left, &n, NULL), 0);
            assert_int_equal(test_case_bytes(b, &right, &m, NULL), 0);
            assert_int_equal(n, m);
            assert_memory_equal(left, right, n);
            assert_string_equal(a->note, b->note);
            test_case_free(a);
            test_case_free(b);
        }
    variant_seed_free(seed);
}

static size_t count_valid(struct variant_seed *seed, size_t count)
{
    size_t made = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct test_case *test;
        struct error err = {0};
        if (variant_make(seed, VARIANT_LEGAL, 1, i, &test, NULL, &err)) {
            assert_int_equal(err.code, ERROR_NOT_FOUND);
            continue;
        }
        made++;
        assert_non_null(strstr(test->note, " -> "));
        assert_int_equal(test->forbidden, FORBIDDEN_BY_NOBODY);
        assert_int_equal(model_valid(test_case_model(test, NULL), &err), 0);
        if (evaluate(test, &err))
            fail_msg("%s: %s", test->note, err.message);
        test_case_free(test);
    }
    return made;
}

static void test_legal_is_valid(void **state)
{
    const char *const names[] = {"lenet1", "gru", "bilstm-batch"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct variant_seed *seed = seed_of(zoo_case(names[i]));
        assert_true(count_valid(seed, NUMBERS) > NUMBERS * 3 / 4);
        variant_seed_free(seed);
    }
}

/* A Conv that gives another shape is cut or padded before the Add, which has no weights. */
static void test_residual(void **state)
{
    struct variant_seed *seed = seed_of(residual_case());
    const struct variant_param *params;
    size_t count = variant_params(seed, &params), varied = 0;
    (void)state;
    bool *seen = memory_zeroed(count, sizeof *seen);
    for (uint64_t i = 0; i < 120; i++) {
        struct test_case *test;
        struct variant_facts facts;
        if (variant_make(seed, VARIANT_LEGAL, 3, i, &test, &facts, NULL) == 0)
            seen[facts.param] = true;
        test_case_free(test);
    }
    for (size_t i = 0; i < count; i++) {
        if (params[i].varies && !seen[i])
            fail_msg("no variant of %s %s", params[i].op->name, params[i].param->name);
        varied += params[i].varies;
    }
    assert_true(varied > 8);
    free(seen);
    variant_seed_free(seed);
}

static void check_kernel(const struct model *model)
{
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const Onnx__NodeProto *node = model->graph->node[i];
        const int64_t *kernel;
        size_t count;
        if (strcmp(node->op_type, "Conv") != 0 || !node_ints(node, "kernel_shape", &kernel, &count))
            continue;
        for (size_t k = 0; k < model->graph->n_initializer; k++) {
            const Onnx__TensorProto *weight = model->graph->initializer[k];
            if (strcmp(weight->name, node->input[1]) == 0)
                for (size_t axis = 0; axis < count; axis++)
                    assert_int_equal(weight->dims[2 + axis], kernel[axis]);
        }
    }
}

static void test_weights_fit(void **state)
{
    struct variant_seed *seed = seed_of(residual_case());
    size_t met = 0;
    (void)state;
    for (uint64_t i = 0; i < 120; i++) {
        struct test_case *test;
        if (variant_make(seed, VARIANT_LEGAL, 5, i, &test, NULL, NULL))
            continue;
        if (strstr(test->note, "Conv conv: kernel_shape 3,3 -> ")) {
            check_kernel(test_case_model(test, NULL));
            met++;
        }
        test_case_free(test);
    }
    assert_true(met > 1);
    variant_seed_free(seed);
}

/* Forbidden, by the checker or by the reference; one parameter is named. */
static void test_illegal_is_forbidden(void **state)
{
    struct variant_seed *seed = seed_of(residual_case());
    size_t by[4] = {0};
    (void)state;
    for (uint64_t i = 0; i < 120; i++) {
        struct test_case *test;
        struct error err = {0};
        if (variant_make(seed, VARIANT_ILLEGAL, 1, i, &test, NULL, NULL))
            continue;
        assert_non_null(test->forbidden_why);
        assert_null(strstr(test->note, "; "));
        by[test->forbidden]++;
        bool refused = model_valid(test_case_model(test, NULL), &err) || evaluate(test, &err);
        if (!refused)
            fail_msg("nobody refuses %s", test->note);
        test_case_free(test);
    }
    assert_int_equal(by[FORBIDDEN_BY_NOBODY], 0);
    assert_true(by[FORBIDDEN_BY_CHECKER] > 1);
    assert_true(by[FORBIDDEN_BY_INFERENCE] + by[FORBIDDEN_BY_REFERENCE] > 10);
    variant_seed_free(seed);
}

/* Who forbids the model is kept beside it. */
static void test_forbidden_is_kept(void **state)
{
    struct variant_seed *seed = seed_of(residual_case());
    struct test_case *test = NULL, *back;
    char folder[] = "/tmp/test_variantXXXXXX";
    (void)state;
    for (uint64_t i = 0; !test; i++)
        variant_make(seed, VARIANT_ILLEGAL, 1, i, &test, NULL, NULL);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(suite_write_path(folder, test, NULL), 0);
    assert_int_equal(suite_load_one(folder, &back, NULL), 0);
    assert_int_equal(back->forbidden, test->forbidden);
    assert_string_equal(back->forbidden_why, test->forbidden_why);
    assert_string_equal(back->forbidden_node, test->forbidden_node);
    assert_int_equal(file_remove_tree(folder, NULL), 0);
    test_case_free(back);
    test_case_free(test);
    variant_seed_free(seed);
}

/* Whether the reference takes a recurrent node of one direction with so many activations. */
static bool takes_activations(const char *type, int64_t gates, size_t count)
{
    static const char *const names[] = {"Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", "Tanh"};
    struct model *model = model_new(13);
    struct bounded values[3], outputs[1];
    const struct bounded *inputs[] = {&values[0], &values[1], &values[2]};
    const struct shape shapes[] = {{3, {1, 1, 1}}, {3, {1, gates, 1}}, {3, {1, gates, 1}}};
    struct error err = {0};
    Onnx__NodeProto *node = model_add_node(model, type, "cell", 3, NAMES("x", "w", "r"), 1, NAMES("y"));
    node_set_strings(&model->arena, node, "activations", names, count);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(bounded_alloc(&values[i], DTYPE_FLOAT, &shapes[i], true, NULL), 0);
    bounded_init(&outputs[0]);
    int result = infer_node(13, node, inputs, 3, outputs, 1, &err);
    assert_true(!result || err.code == ERROR_INVALID);
    for (size_t i = 0; i < 3; i++)
        bounded_release(&values[i]);
    bounded_release(&outputs[0]);
    model_free(model);
    return !result;
}

/* Six activations are those of two directions: a legal variant must not have them for one. */
static void test_activations(void **state)
{
    (void)state;
    assert_true(takes_activations("LSTM", 4, 3));
    assert_false(takes_activations("LSTM", 4, 6));
    assert_false(takes_activations("LSTM", 4, 2));
    assert_true(takes_activations("GRU", 3, 2));
    assert_false(takes_activations("GRU", 3, 4));
    assert_true(takes_activations("RNN", 1, 1));
    assert_true(takes_activations("RNN", 1, 2)); /* as ONNX writes its default */
    assert_false(takes_activations("RNN", 1, 3));
}

/* What the reference says of a pool or convolution with a kernel of 2 over 4 elements, where one list of
 * attributes has this value. */
static int code_of(const char *type, const char *pad, const char *name, int64_t value, size_t count)
{
    const int64_t kernel[] = {2}, values[] = {value, value};
    struct model *model = model_new(13);
    struct bounded x, w, output;
    struct error err = {0};
    Onnx__NodeProto *node = model_add_node(model, type, "node", 2, NAMES("x", "w"), 1, NAMES("y"));
    const struct bounded *inputs[] = {&x, &w};
    if (strcmp(name, "kernel_shape"))
        node_set_ints(&model->arena, node, "kernel_shape", kernel, 1);
    node_set_ints(&model->arena, node, name, values, count);
    node_set_string(&model->arena, node, "auto_pad", pad);
    assert_int_equal(bounded_alloc(&x, DTYPE_FLOAT, &(struct shape){3, {1, 1, 4}}, true, NULL), 0);
    assert_int_equal(bounded_alloc(&w, DTYPE_FLOAT, &(struct shape){3, {1, 1, 2}}, true, NULL), 0);
    bounded_init(&output);
    node->n_input = strcmp(type, "MaxPool") ? 2 : 1;
    int result = infer_node(13, node, inputs, node->n_input, &output, 1, &err);
    bounded_release(&output);
    bounded_release(&w);
    bounded_release(&x);
    model_free(model);
    return result ? (int)err.code : 0;
}

/* A size that is larger than the reference computes is not forbidden, unless its window fits nowhere. */
static void test_absurd_is_not_forbidden(void **state)
{
    const int64_t huge = INT64_C(4294967297);
    (void)state;
    assert_int_equal(code_of("MaxPool", "SAME_LOWER", "kernel_shape", huge, 1), ERROR_UNSUPPORTED);
    assert_int_equal(code_of("MaxPool", "NOTSET", "kernel_shape", huge, 1), ERROR_INVALID);
    assert_int_equal(code_of("MaxPool", "NOTSET", "kernel_shape", 0, 1), ERROR_INVALID);
    assert_int_equal(code_of("MaxPool", "NOTSET", "pads", huge, 2), ERROR_UNSUPPORTED);
    assert_int_equal(code_of("MaxPool", "NOTSET", "pads", -1, 2), ERROR_INVALID);
    const char *const types[] = {"MaxPool", "Conv", "ConvTranspose"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(code_of(types[i], "NOTSET", "strides", huge, 1), ERROR_UNSUPPORTED);
        assert_int_equal(code_of(types[i], "NOTSET", "strides", 0, 1), ERROR_INVALID);
        assert_int_equal(code_of(types[i], "NOTSET", "dilations", huge, 1),
                         i == 2 ? ERROR_UNSUPPORTED : ERROR_INVALID);
        assert_int_equal(code_of(types[i], "SAME_UPPER", "dilations", huge, 1), ERROR_UNSUPPORTED);
    }
}

static void test_nothing_to_change(void **state)
{
    struct model *model = model_new(13);
    struct variant_seed *seed;
    struct error err = {0};
    (void)state;
    model_add_input(model, "x", DTYPE_FLOAT, &(struct shape){1, {2}});
    model_add_node(model, "Relu", "relu", 1, NAMES("x"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, &(struct shape){1, {2}});
    struct test_case *test = test_case_new(model);
    assert_int_equal(variant_seed_new(&seed, test, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    test_case_free(test);
}

static void test_values_of_the_table(void **state)
{
    struct rng rng = rng_seed(1);
    char word[PARAM_WORD];
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_true(param_draw(&rng, "-2..2", false, word));
        long value = strtol(word, NULL, 10);
        assert_true(value >= -2 && value <= 2);
        assert_true(param_draw(&rng, "0.5..4", false, word));
        assert_true(strtod(word, NULL) >= 0.5 && strtod(word, NULL) <= 4);
        assert_true(param_draw(&rng, "a|b", false, word));
        assert_true(strcmp(word, "a") == 0 || strcmp(word, "b") == 0);
    }
    assert_false(param_draw(&rng, NULL, false, word));
    int64_t ints[PARAM_LIST];
    assert_int_equal(param_ints("1,-2,3", ints), 3);
    assert_int_equal(ints[1], -2);
    assert_int_equal(param_ints("x", ints), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_number_same_variant),
        cmocka_unit_test(test_legal_is_valid),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_weights_fit),
        cmocka_unit_test(test_illegal_is_forbidden),
        cmocka_unit_test(test_nothing_to_change),
        cmocka_unit_test(test_forbidden_is_kept),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_absurd_is_not_forbidden),
        cmocka_unit_test(test_values_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
