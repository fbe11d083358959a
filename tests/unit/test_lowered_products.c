/* How an engine computes: products with dequantised weights in fewer bits, by a setting that says so, and
 * convolutions. */
#include "scene.h"

#include "locate/expected.h"

#include <math.h>
#include <stddef.h>

/* One row of A times one column of weights 2, 4, 6 and 8. */
#define PRODUCT                                                                         \
    "g (float[1,4] a) => (float[1,1] y) <int8[4,1] q = {1, 2, 3, 4}, float s = {2.0}> " \
    "{ w = DequantizeLinear(q, s) y = MatMul(a, w) }"
#define SWAPPED                                                                         \
    "g (float[4,1] a) => (float[1,1] y) <int8[1,4] q = {1, 2, 3, 4}, float s = {2.0}> " \
    "{ w = DequantizeLinear(q, s) y = MatMul(w, a) }"

static const struct lowered_products eight_bits = {.makers = "Other|DequantizeLinear",
                                                   .products = "MatMul|Gemm"};

/* A is 127, 1, 1 and 1, so that a step is 1: the product is 254 + 4 + 6 + 8. */
static struct verdict judged(const char *text, const struct lowered_products *lowered, float answer)
{
    struct test_case *test = case_of_text(text, 1);
    struct tensor *a = &test->inputs[0].tensors[0], y;
    for (size_t i = 0; i < a->count; i++)
        tensor_set(a, i, i ? 1 : 127);
    assert_int_equal(tensor_alloc(&y, DTYPE_FLOAT, &(struct shape){2, {1, 1}}, 0, NULL), 0);
    tensor_set(&y, 0, answer);
    struct value view = {.kind = VALUE_TENSOR, .count = 1, .tensors = &y};
    struct result result = {.outcome = OUTCOME_OK, .count = 1, .outputs = &view};
    struct expected expected;
    struct verdict verdict;
    struct arithmetic fusing = {.fuses = true, .lowered = lowered};
    expected_judge_fused(&expected, test_case_model(test, NULL), &fusing, test->inputs, test->n_inputs,
                         &result, &verdict);
    expected_release(&expected);
    tensor_release(&y);
    test_case_free(test);
    return verdict;
}

static void exact_answers_need_no_setting(void **state)
{
    (void)state;
    struct verdict verdict = judged(PRODUCT, &eight_bits, 272);
    assert_int_equal(verdict.kind, VERDICT_AGREES);
    assert_false(verdict.lowered);
    assert_true(verdict.visible < 1e-3);
}

/* Each element of A may be off by a step: by 2 + 4 + 6 + 8 in all. */
static void a_step_is_within_the_setting(void **state)
{
    (void)state;
    struct verdict verdict = judged(PRODUCT, &eight_bits, 280);
    assert_int_equal(verdict.kind, VERDICT_AGREES);
    assert_true(verdict.lowered);
    assert_int_equal(judged(PRODUCT, NULL, 280).kind, VERDICT_WRONG);
}

static void more_than_a_step_is_wrong(void **state)
{
    (void)state;
    struct verdict verdict = judged(PRODUCT, &eight_bits, 293);
    assert_int_equal(verdict.kind, VERDICT_WRONG);
    assert_false(verdict.lowered);
}

static void other_products_are_as_exact_as_ever(void **state)
{
    (void)state;
    assert_int_equal(judged(SWAPPED, &eight_bits, 280).kind, VERDICT_WRONG);
    struct lowered_products others = {.makers = "DequantizeLinear", .products = "Gemm"};
    assert_int_equal(judged(PRODUCT, &others, 280).kind, VERDICT_WRONG);
    others = (struct lowered_products){.makers = "Dequantize", .products = "MatMul"};
    assert_int_equal(judged(PRODUCT, &others, 280).kind, VERDICT_WRONG);
}

/* One window of 3 x 3 ones, and an image whose numbers cancel: Winograd's algorithm may lose more than a sum.
 */
static void convolutions_are_judged_as_the_engine_computes_them(void **state)
{
    (void)state;
    struct test_case *test = case_of_text("g (float[1,1,3,3] x) => (float[1,1,1,1] y) "
                                          "<float[1,1,3,3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}> "
                                          "{ y = Conv(x, w) }",
                                          1);
    const struct model *model = test_case_model(test, NULL);
    for (size_t i = 0; i < 9; i++)
        tensor_set(&test->inputs[0].tensors[0], i, i % 2 ? 0.1L : -0.3L);
    struct expected any, direct;
    struct arithmetic how = {.direct = true};
    assert_int_equal(expected_compute(&any, model, NULL, test->inputs, test->n_inputs), 0);
    assert_int_equal(expected_compute(&direct, model, &how, test->inputs, test->n_inputs), 0);
    assert_true(direct.values[0].value[0] == any.values[0].value[0]);
    assert_true(direct.values[0].hard[0] * 4 < any.values[0].hard[0]);
    assert_true(direct.values[0].hard[0] > 0);
    expected_release(&direct);
    expected_release(&any);
    test_case_free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_answers_need_no_setting),
        cmocka_unit_test(a_step_is_within_the_setting),
        cmocka_unit_test(more_than_a_step_is_wrong),
        cmocka_unit_test(other_products_are_as_exact_as_ever),
        cmocka_unit_test(convolutions_are_judged_as_the_engine_computes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
