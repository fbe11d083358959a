/*
 * Generated cases: the same from the same recipe, valid for libonnx as far as it knows the opset, of the
 * shapes that its strict inference finds, and within the reference's reach.
 */
#include "base/clock.h"
#include "base/str.h"
#include "generate/onecase.h"
#include "model/onnx.h"
#include "ops/evaluate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ONE_CASES = 5000, GRAPH_CASES = 300 };

typedef int generate(uint64_t seed, uint64_t index, const struct generate_options *options,
                     struct gencase *out, struct error *err);

static bool same_case(const struct gencase *a, const struct gencase *b)
{
    if (a->test.model_size != b->test.model_size ||
        memcmp(a->test.model, b->test.model, a->test.model_size) != 0 ||
        a->test.n_inputs != b->test.n_inputs || strcmp(a->test.recipe, b->test.recipe) != 0 ||
        strcmp(a->note, b->note) != 0)
        return false;
    for (size_t i = 0; i < a->test.n_inputs; i++)
        if (strcmp(a->test.inputs[i].name, b->test.inputs[i].name) != 0 ||
            !tensor_identical(&a->test.inputs[i].tensors[0], &b->test.inputs[i].tensors[0]))
            return false;
    return true;
}

/* Runs the case through the reference; the outputs must have the declared types and shapes. */
static int evaluate_case(const struct gencase *c, struct error *err)
{
    struct model *model = NULL;
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    size_t count = 0;
    int result = model_parse(&model, c->test.model, c->test.model_size, err);
    if (!result)
        result = evaluator_new(&evaluator, model, NULL, err);
    if (!result)
        result = evaluator_run(evaluator, c->test.inputs, c->test.n_inputs, NULL, 0, &results, &count, err);
    for (size_t i = 0; !result && i < count; i++) {
        const Onnx__TypeProto__Tensor *type = model->graph->output[i]->type->tensor_type;
        bool same = type->elem_type == (int)results[i].type && type->shape &&
                    type->shape->n_dim == (size_t)results[i].shape.rank;
        for (size_t k = 0; same && k < type->shape->n_dim; k++)
            same = type->shape->dim[k]->dim_value == results[i].shape.dims[k];
        if (!same)
            result = error_set(err, ERROR_INVALID, "output %zu is not of the declared type and shape", i);
    }
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    model_free(model);
    return result;
}

/*
 * libonnx 1.12 infers ConvTranspose against the text: with output_shape it forgets batch and channels, with
 * SAME_UPPER and SAME_LOWER it adds output_padding.
 */
static bool inference_is_right(const struct gencase *c)
{
    struct model *model;
    bool right = true;
    assert_int_equal(model_parse(&model, c->test.model, c->test.model_size, NULL), 0);
    for (size_t i = 0; i < model->graph->n_node; i++)
        right &= strcmp(model->graph->node[i]->op_type, "ConvTranspose") != 0;
    model_free(model);
    return right;
}

static int check_case(const struct gencase *c, struct error *err)
{
    uint8_t *inferred = NULL;
    size_t size;
    if (onnx_check(c->test.model, c->test.model_size, err) == -1)
        return -1;
    if (inference_is_right(c) &&
        onnx_infer_shapes(c->test.model, c->test.model_size, 1, &inferred, &size, err) == -1)
        return -1;
    free(inferred);
    return evaluate_case(c, err);
}

static void complain(const struct gencase *c, const struct error *err)
{
    char *text = NULL;
    onnx_print_text(c->test.model, c->test.model_size, &text, NULL);
    print_error("%s\n  %s\n%s\n", c->test.recipe, err->message, text ? text : "");
    free(text);
}

/* Number of cases that are not as they should be; every tenth is made again from its recipe. */
static size_t try_cases(generate *make, const struct generate_options *options, uint64_t count)
{
    size_t bad = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct gencase c, again;
        struct error err = {0};
        if (make(1, i, options, &c, &err)) {
            print_error("case %llu: %s\n", (unsigned long long)i, err.message);
            bad++;
            continue;
        }
        if (check_case(&c, &err)) {
            complain(&c, &err);
            bad++;
        }
        if (i % 10 == 0) {
            assert_int_equal(generate_recipe(c.test.recipe, &again, &err), 0);
            assert_true(same_case(&c, &again));
            gencase_release(&again);
        }
        gencase_release(&c);
    }
    return bad;
}

static void test_one(void **state)
{
    (void)state;
    struct generate_options options = {.max_opset = 17};
    assert_int_equal(try_cases(generate_one, &options, ONE_CASES), 0);
}

static void test_new_opsets(void **state)
{
    (void)state;
    assert_int_equal(try_cases(generate_one, NULL, ONE_CASES / 5), 0);
}

static void test_graphs(void **state)
{
    (void)state;
    struct generate_options options = {.max_opset = 17};
    assert_int_equal(try_cases(generate_graph, &options, GRAPH_CASES), 0);
}

static void test_large_graphs(void **state)
{
    (void)state;
    struct generate_options options = {.min_nodes = 40, .max_nodes = 40};
    assert_int_equal(try_cases(generate_graph, &options, 20), 0);
}

static void test_options(void **state)
{
    (void)state;
    struct generate_options options = {
        .ops = "Transpose,Concat", .opset = 13, .types = DTYPE_BIT(DTYPE_INT8), .fill = FILL_EXACT + 1};
    for (uint64_t i = 0; i < 200; i++) {
        struct gencase c;
        assert_int_equal(generate_one(3, i, &options, &c, NULL), 0);
        assert_true(strcmp(c.first->name, "Transpose") == 0 || strcmp(c.first->name, "Concat") == 0);
        assert_int_equal(c.opset, 13);
        for (size_t k = 0; k < c.test.n_inputs; k++)
            assert_int_equal(c.test.inputs[k].tensors[0].type, DTYPE_INT8);
        gencase_release(&c);
    }
    options.ops = "Abs,NoSuchOperator";
    struct gencase c;
    struct error err = {0};
    options.types = DTYPE_BIT(DTYPE_BOOL);
    assert_int_equal(generate_one(3, 0, &options, &c, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* A case with an illegal parameter says which, and the reference refuses most of them. */
static void test_illegal(void **state)
{
    (void)state;
    struct generate_options options = {.illegal = true, .max_opset = 17};
    size_t refused = 0, cases = 1000;
    for (uint64_t i = 0; i < cases; i++) {
        struct gencase c;
        struct error err = {0};
        assert_int_equal(generate_one(4, i, &options, &c, &err), 0);
        assert_true(text_starts(c.note, "illegal "));
        struct model *model = NULL;
        struct evaluator *evaluator = NULL;
        struct bounded *results = NULL;
        size_t count = 0;
        assert_int_equal(model_parse(&model, c.test.model, c.test.model_size, &err), 0);
        if (evaluator_new(&evaluator, model, NULL, &err) ||
            evaluator_run(evaluator, c.test.inputs, c.test.n_inputs, NULL, 0, &results, &count, &err))
            refused++;
        for (size_t k = 0; k < count; k++)
            bounded_release(&results[k]);
        free(results);
        evaluator_free(evaluator);
        model_free(model);
        gencase_release(&c);
    }
    print_message("%zu of %zu cases with an illegal parameter are refused\n", refused, cases);
    assert_true(refused > cases / 2);
}

static void test_recipes(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "two seed=1",
                                        "one seed=x",
                                        "one fill=none",
                                        "one types=float9",
                                        "graph nodes=3",
                                        "one opset=99999",
                                        "one frobnicate"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gencase c;
        struct error err = {0};
        assert_int_equal(generate_recipe(wrong[i], &c, &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipes),      cmocka_unit_test(test_options),
        cmocka_unit_test(test_illegal),      cmocka_unit_test(test_one),
        cmocka_unit_test(test_graphs),       cmocka_unit_test(test_new_opsets),
        cmocka_unit_test(test_large_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
