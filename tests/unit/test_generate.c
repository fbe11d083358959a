/*
 * Generated cases: the same from the same recipe, valid for libonnx as far as it knows the opset, of the
 * shapes that its strict inference finds, and within the reference's reach.
 */
#include "gencases.h"

#include "base/clock.h"
#include "base/str.h"

#ifdef __SANITIZE_ADDRESS__ /* fifteen times slower */
enum { ONE_CASES = 800, GRAPH_CASES = 60 };
#else
enum { ONE_CASES = 5000, GRAPH_CASES = 300 };
#endif

typedef int generate(uint64_t seed, uint64_t index, const struct generate_options *options,
                     struct test_case **out, struct error *err);

/* Number of cases that are not as they should be; every tenth is made again from its recipe. */
static size_t try_cases(generate *make, const struct generate_options *options, uint64_t count)
{
    size_t bad = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct test_case *c, *again;
        struct error err = {0};
        if (make(1, i, options, &c, &err)) {
            print_error("case %llu: %s\n", (unsigned long long)i, err.message);
            bad++;
            continue;
        }
        if (check_case(c, &err)) {
            complain(c, &err);
            bad++;
        }
        if (i % 10 == 0) {
            assert_int_equal(generate_recipe(c->recipe, &again, &err), 0);
            assert_true(same_case(c, again));
            test_case_free(again);
        }
        test_case_free(c);
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

/* What ONNX has withdrawn (GroupNormalization of opset 18) is not drawn. */
static void test_withdrawn(void **state)
{
    (void)state;
    struct generate_options options = {.ops = "GroupNormalization"};
    for (uint64_t i = 0; i < 100; i++) {
        struct test_case *c;
        assert_int_equal(generate_one(1, i, &options, &c, NULL), 0);
        assert_true(model_opset(test_case_model(c, NULL)) >= 21);
        test_case_free(c);
    }
    struct test_case *c;
    options.opset = 18;
    assert_int_equal(generate_one(1, 0, &options, &c, NULL), -1);
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
        struct test_case *c;
        assert_int_equal(generate_one(3, i, &options, &c, NULL), 0);
        assert_true(strcmp(c->first->name, "Transpose") == 0 || strcmp(c->first->name, "Concat") == 0);
        assert_int_equal(model_opset(test_case_model(c, NULL)), 13);
        for (size_t k = 0; k < c->n_inputs; k++)
            assert_int_equal(c->inputs[k].tensors[0].type, DTYPE_INT8);
        test_case_free(c);
    }
    options.ops = "Abs,NoSuchOperator";
    struct test_case *c;
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
        struct test_case *c;
        struct error err = {0};
        assert_int_equal(generate_one(4, i, &options, &c, &err), 0);
        assert_true(text_starts(c->note, "illegal "));
        struct evaluator *evaluator = NULL;
        struct bounded *results = NULL;
        size_t count = 0;
        const struct model *model = test_case_model(c, &err);
        assert_non_null(model);
        if (evaluator_new(&evaluator, model, NULL, &err) ||
            evaluator_run(evaluator, c->inputs, c->n_inputs, NULL, 0, &results, &count, &err))
            refused++;
        for (size_t k = 0; k < count; k++)
            bounded_release(&results[k]);
        free(results);
        evaluator_free(evaluator);
        test_case_free(c);
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
        struct test_case *c;
        struct error err = {0};
        assert_int_equal(generate_recipe(wrong[i], &c, &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipes),   cmocka_unit_test(test_options),
        cmocka_unit_test(test_illegal),   cmocka_unit_test(test_one),
        cmocka_unit_test(test_graphs),    cmocka_unit_test(test_new_opsets),
        cmocka_unit_test(test_withdrawn), cmocka_unit_test(test_large_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
