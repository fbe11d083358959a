/* Whether a model is valid, as libonnx sees it: what is refused, and what is made good before it is asked. */
#include "model/build.h"
#include "model/onnx.h"
#include "model/valid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct shape pair = {.rank = 1, .dims = {2}};

/* y = OP(x), where y is declared with a shape or without one. */
static struct model *one_node(const char *op, const struct shape *declared)
{
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &pair);
    model_add_node(model, op, "node", 1, (const char *[]){"x"}, 1, (const char *[]){"y"});
    model_add_output(model, "y", DTYPE_FLOAT, declared);
    return model;
}

static void assert_valid(struct model *model, bool valid)
{
    struct error err = {0};
    assert_int_equal(model_valid(model, &err), valid ? 0 : -1);
    if (!valid)
        assert_int_equal(err.code, ERROR_INVALID);
    model_free(model);
}

static void test_valid_and_invalid(void **state)
{
    (void)state;
    assert_valid(one_node("Relu", &pair), true);
    assert_valid(one_node("NoSuchOperator", &pair), false);
    assert_valid(one_node("Concat", &pair), false); /* without its axis */
}

/* Exporters leave shapes out, and engines accept that. The caller's model stays as it is. */
static void test_missing_shapes(void **state)
{
    (void)state;
    struct model *model = one_node("Relu", NULL);
    assert_null(model->graph->output[0]->type->tensor_type->shape);
    assert_int_equal(model_valid(model, NULL), 0);
    assert_null(model->graph->output[0]->type->tensor_type->shape);
    assert_valid(model, true);
}

/* Large weights are not copied to the checker, and the caller's stay whole. */
static void test_large_weights(void **state)
{
    (void)state;
    struct model *model = model_new(13);
    struct shape large = {.rank = 1, .dims = {(int64_t)MODEL_INLINE_LIMIT}};
    struct tensor weights;
    assert_int_equal(tensor_alloc(&weights, DTYPE_FLOAT, &large, 0, NULL), 0);
    model_add_initializer(model, "w", &weights);
    tensor_release(&weights);
    model_add_node(model, "Relu", "node", 1, (const char *[]){"w"}, 1, (const char *[]){"y"});
    model_add_output(model, "y", DTYPE_FLOAT, &large);
    size_t before = model->graph->initializer[0]->raw_data.len;
    assert_true(before > MODEL_INLINE_LIMIT);
    assert_int_equal(model_valid(model, NULL), 0);
    assert_int_equal(model->graph->initializer[0]->raw_data.len, before);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_and_invalid),
        cmocka_unit_test(test_missing_shapes),
        cmocka_unit_test(test_large_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
