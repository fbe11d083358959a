/* Forms of cases for experiments with constants, and the cases that are tried elsewhere. */
#include "diagnose/constants.h"
#include "diagnose/narrower.h"
#include "diagnose/spoiled.h"
#include "diagnose/unrelated.h"
#include "locate/expected.h"
#include "model/build.h"
#include "ops/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { OPSET = 13 };

static const struct shape matrix = {.rank = 2, .dims = {2, 3}};

static void add_constant(struct model *model, const char *name)
{
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &matrix, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, (long double)i);
    model_add_initializer(model, name, &tensor);
    tensor_release(&tensor);
}

static void add_input(struct test_case *test, struct model *model)
{
    struct tensor tensor;
    char name[] = "x";
    struct value value = {.name = name, .kind = VALUE_TENSOR, .count = 1, .tensors = &tensor};
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &matrix, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, 1);
    model_add_input(model, name, DTYPE_FLOAT, &matrix);
    assert_int_equal(test_case_add_inputs(test, &value, 1, NULL), 0);
    tensor_release(&tensor);
}

static void add_node(struct model *model, const char *op_type, const char *first, const char *second,
                     const char *output)
{
    const char *inputs[] = {first, second};
    model_add_node(model, op_type, NULL, second ? 2 : 1, inputs, 1, &output);
}

/* The first element of the only output, which the reference computes. */
static long double first_element(const struct test_case *test)
{
    struct expected expected;
    const struct model *model = test_case_model(test, NULL);
    assert_int_equal(expected_compute(&expected, model, NULL, test->inputs, test->n_inputs), 0);
    struct tensor tensor;
    assert_int_equal(bounded_to_tensor(&expected.values[0], &tensor, NULL), 0);
    long double value = tensor_get(&tensor, tensor.count - 1);
    tensor_release(&tensor);
    expected_release(&expected);
    return value;
}

/* y = Add(Neg(c), c): both nodes are on constants alone, and can be fed with the same result. */
static void test_fed(void **state)
{
    (void)state;
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    add_constant(model, "c");
    add_node(model, "Neg", "c", NULL, "n");
    add_node(model, "Sub", "n", "c", "y");
    model_add_output(model, "y", DTYPE_FLOAT, &matrix);
    for (size_t i = 0; i < 2; i++) {
        struct test_case *fed = constants_fed(test, i, false);
        assert_non_null(fed);
        assert_int_equal(fed->n_inputs, 1);
        assert_string_equal(fed->inputs[0].name, i ? "n" : "c");
        assert_true(first_element(fed) == first_element(test));
        test_case_free(fed);
    }
    assert_null(constants_fed(test, 2, false));
    assert_null(constants_fed(test, 0, true)); /* of float32 already */
    assert_true(constants_alone(test));
    test_case_free(test);
}

/* An input x, and n = Neg(c) of a constant; the caller adds what takes them. */
static struct test_case *negated_constant(struct model **model)
{
    *model = model_new(OPSET);
    struct test_case *test = test_case_new(*model);
    add_constant(*model, "c");
    add_input(test, *model);
    add_node(*model, "Neg", "c", NULL, "n");
    return test;
}

/* y = Add(x, Neg(c)) with -c given. */
static void test_folded(void **state)
{
    (void)state;
    const char *taker;
    struct model *model;
    struct test_case *test = negated_constant(&model);
    add_node(model, "Add", "x", "n", "y");
    model_add_output(model, "y", DTYPE_FLOAT, &matrix);
    struct test_case *folded = constants_folded(test, NULL, &taker);
    assert_non_null(folded);
    assert_string_equal(taker, "Add");
    assert_int_equal(test_case_model(folded, NULL)->graph->n_node, 1);
    assert_true(first_element(folded) == first_element(test));
    assert_null(constants_folded(folded, NULL, &taker));
    test_case_free(folded);
    test_case_free(test);
}

/* y = Mul(Add(x, -c), -c), where -c is given to one of them; and with c as an input. */
static void test_folded_for_one(void **state)
{
    (void)state;
    const char *taker;
    struct model *model;
    struct test_case *test = negated_constant(&model);
    add_node(model, "Add", "x", "n", "a");
    add_node(model, "Mul", "a", "n", "y");
    model_add_output(model, "y", DTYPE_FLOAT, &matrix);
    struct test_case *folded = constants_folded(test, "Mul", &taker);
    assert_non_null(folded);
    assert_string_equal(taker, "Mul");
    const Onnx__GraphProto *graph = test_case_model(folded, NULL)->graph;
    assert_int_equal(graph->n_node, 3); /* Add still takes what Neg makes */
    assert_string_equal(graph->node[1]->input[1], "n");
    assert_string_not_equal(graph->node[2]->input[1], "n");
    assert_true(first_element(folded) == first_element(test));
    test_case_free(folded);
    assert_null(constants_folded(test, "Neg", &taker)); /* which takes nothing that is computed */
    assert_null(constants_opened(test));                /* it has an input */
    test_case_free(test);
}

/* y = Neg(c) with c as an input. */
static void test_opened(void **state)
{
    (void)state;
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    add_constant(model, "c");
    add_node(model, "Neg", "c", NULL, "y");
    model_add_output(model, "y", DTYPE_FLOAT, &matrix);
    struct test_case *opened = constants_opened(test);
    assert_non_null(opened);
    assert_int_equal(opened->n_inputs, 1);
    assert_int_equal(test_case_model(opened, NULL)->graph->n_initializer, 0);
    assert_false(constants_alone(opened));
    assert_true(first_element(opened) == first_element(test));
    test_case_free(opened);
    test_case_free(test);
}

/* A node with a variable is none on constants alone; what is computed of a shape is constant. */
static void test_variables(void **state)
{
    (void)state;
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    add_constant(model, "c");
    add_input(test, model);
    add_node(model, "Add", "x", "c", "a");
    add_node(model, "Shape", "a", NULL, "s");
    add_node(model, "Neg", "s", NULL, "y");
    model_add_output(model, "y", DTYPE_INT64, NULL);
    assert_null(constants_fed(test, 0, false));
    assert_null(constants_fed(test, 1, false));
    struct test_case *fed = constants_fed(test, 2, false);
    assert_non_null(fed);
    assert_string_equal(fed->inputs[0].name, "s");
    assert_true(first_element(fed) == -3);
    test_case_free(fed);
    fed = constants_fed(test, 2, true);
    assert_non_null(fed);
    assert_string_equal(test_case_model(fed, NULL)->graph->node[0]->op_type, "Cast");
    assert_int_equal(fed->inputs[0].tensors[0].type, DTYPE_FLOAT);
    assert_true(first_element(fed) == -3);
    test_case_free(fed);
    const char *taker;
    assert_null(constants_folded(test, NULL, &taker)); /* the output is a constant */
    struct test_case *with = constants_with_variables(test);
    assert_non_null(with);
    assert_null(constants_folded(with, NULL, &taker));
    assert_int_equal(with->n_inputs, 2);
    assert_true(constants_alone(test)); /* of the shape */
    assert_false(constants_alone(with));
    assert_true(first_element(with) == -3);
    test_case_free(with);
    test_case_free(test);
}

static void test_unrelated(void **state)
{
    (void)state;
    struct test_case *constant = unrelated_constant();
    assert_non_null(constant);
    assert_true(constants_alone(constant));
    test_case_free(constant);
    for (int class = 0; class < UNRELATED_CLASSES; class ++) {
        size_t asked = 0;
        for (const struct op *op = op_after(NULL); op; op = op_after(op)) {
            struct test_case *of_class = unrelated_case((enum unrelated_class) class, op, true);
            struct test_case *other = unrelated_case((enum unrelated_class) class, op, false);
            assert_true(!of_class == !other);
            asked += of_class != NULL;
            if (of_class && class == UNRELATED_NAN)
                assert_true(isnan(first_element(of_class)) && !isnan(first_element(other)));
            else if (of_class)
                assert_true(first_element(of_class) == first_element(other));
            test_case_free(of_class);
            test_case_free(other);
        }
        assert_true(asked >= 2 * UNRELATED_ENOUGH - 1); /* an engine may lack some */
    }
}

/* x is read by two nodes, and what is made of it may be a view: each node gets copies in turn, and the case
 * means the same. */
static void test_copied(void **state)
{
    (void)state;
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    add_input(test, model);
    add_node(model, "Identity", "x", NULL, "view");
    add_node(model, "Neg", "view", NULL, "n");
    add_node(model, "Exp", "n", NULL, "e");
    add_node(model, "Add", "e", "x", "y");
    model_add_output(model, "y", DTYPE_FLOAT, &matrix);
    long double right = first_element(test);
    for (size_t node = 0; node < 4; node++) {
        struct test_case *copied = spoiled_copied(test, node);
        assert_non_null(copied);
        const struct model *changed = test_case_model(copied, NULL);
        assert_true(changed->graph->n_node > model->graph->n_node);
        assert_int_equal(copied->n_inputs, 2);
        assert_true(first_element(copied) == right);
        test_case_free(copied);
    }
    test_case_free(test);
}

/* What one node alone reads is not copied. */
static void test_not_shared(void **state)
{
    (void)state;
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    add_input(test, model);
    add_node(model, "Neg", "x", NULL, "n");
    add_node(model, "Exp", "n", NULL, "y");
    model_add_output(model, "y", DTYPE_FLOAT, &matrix);
    assert_null(spoiled_copied(test, SIZE_MAX));
    test_case_free(test);
}

/* The functions that are asked about have other results in double than a float32 can hold. */
static void test_narrower(void **state)
{
    (void)state;
    struct test_case *wide = narrower_case(op_find("Exp"), DTYPE_DOUBLE);
    assert_non_null(wide);
    long double value = first_element(wide);
    assert_true((double)value == exp(1.3) && (double)(float)value != (double)value);
    test_case_free(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fed),        cmocka_unit_test(test_copied),
        cmocka_unit_test(test_not_shared), cmocka_unit_test(test_narrower),
        cmocka_unit_test(test_folded),     cmocka_unit_test(test_folded_for_one),
        cmocka_unit_test(test_opened),     cmocka_unit_test(test_variables),
        cmocka_unit_test(test_unrelated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
