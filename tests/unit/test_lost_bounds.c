/* Bounds that tell nothing are dropped in large models, and what they reach is undecided. */
#include "scene.h"

#include "base/random.h"
#include "base/str.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum { DEPTH = 24 };

/* A chain of products; `wide` elements beside it, which make the model small or large. */
static struct test_case *chain(int wide, const char *end)
{
    struct str text;
    str_init(&text);
    str_printf(&text, "g (float[%d,2048] big, float[32,32] a0, float[32,32] w) => (float[32,32] a%d, ", wide,
               DEPTH);
    str_printf(&text, "float[%d,2048] b, int64[n] s) { b = Relu(big) ", wide);
    for (int i = 1; i <= DEPTH; i++)
        str_printf(&text, "a%d = MatMul(a%d, w) ", i, i - 1);
    str_printf(&text, "%s }", end);
    struct test_case *test = case_of_text(text.data, 3);
    struct rng rng = rng_seed(5);
    for (size_t i = 0; i < test->n_inputs; i++)
        for (size_t k = 0; k < test->inputs[i].tensors[0].count; k++)
            tensor_set(&test->inputs[i].tensors[0], k, rng_normal(&rng) / 4);
    str_release(&text);
    return test;
}

struct answer {
    struct bounded *values;
    size_t count;
};

static struct answer answer_of(const struct test_case *test, const struct evaluate_options *options)
{
    struct evaluator *evaluator;
    struct answer answer;
    assert_int_equal(evaluator_new(&evaluator, test_case_model(test, NULL), options, NULL), 0);
    assert_int_equal(
        evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &answer.values, &answer.count, NULL),
        0);
    evaluator_free(evaluator);
    return answer;
}

static void answer_release(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        bounded_release(&answer->values[i]);
    free(answer->values);
}

static int look_on(void *context, struct op_call *call)
{
    (void)context;
    return call->op->eval(call);
}

static void large_models_lose_bounds_that_tell_nothing(void **state)
{
    (void)state;
    struct test_case *test = chain(2048, "s = Shape(a23)");
    struct answer lost = answer_of(test, NULL);
    struct answer kept = answer_of(test, &(struct evaluate_options){.hook = look_on});
    for (size_t i = 0; i < lost.values[0].count; i++) {
        assert_true(lost.values[0].value[i] == kept.values[0].value[i]);
        assert_true(isinf(lost.values[0].hard[i]) && isfinite(lost.values[0].likely[i]));
        assert_true(isfinite(kept.values[0].hard[i]));
    }
    assert_null(lost.values[1].hard);
    assert_null(lost.values[2].hard); /* a shape depends on no element */
    assert_true(lost.values[2].value[0] == 32);
    answer_release(&kept);
    answer_release(&lost);
    test_case_free(test);
}

/* Which saves most of their work: then no number tells anything either. */
static void numbers_that_nobody_judges_are_left_out(void **state)
{
    (void)state;
    struct test_case *test = chain(2048, "t = Transpose(a23) i = ArgMax(a23) s = Shape(t)");
    struct answer lost = answer_of(test, NULL);
    struct answer less = answer_of(test, &(struct evaluate_options){.only_judged = true});
    assert_int_equal(lost.count, less.count);
    for (size_t o = 0; o < lost.count; o++) {
        const struct bounded *a = &lost.values[o], *b = &less.values[o];
        assert_true(a->type == b->type && shape_equal(&a->shape, &b->shape));
        for (size_t i = 0; i < a->count; i++) {
            assert_true(isinf(bounded_hard(a, i)) == isinf(bounded_hard(b, i)));
            assert_true(isinf(bounded_likely(a, i)) == isinf(bounded_likely(b, i)));
            assert_true(isinf(bounded_hard(a, i)) ? b->value[i] == 0 : a->value[i] == b->value[i]);
        }
    }
    answer_release(&less);
    answer_release(&lost);
    test_case_free(test);
}

static void small_models_keep_them(void **state)
{
    (void)state;
    struct test_case *test = chain(2, "s = Shape(a23)");
    struct answer answer = answer_of(test, NULL);
    assert_true(isfinite(answer.values[0].hard[0]) && answer.values[0].hard[0] > 0);
    answer_release(&answer);
    test_case_free(test);
}

/* Which are not zero is not known, so that nobody may be blamed for another number of them. */
static void shapes_of_lost_values_are_not_known(void **state)
{
    (void)state;
    struct test_case *test = chain(2048, "z = NonZero(a23) s = Shape(z)");
    struct evaluator *evaluator;
    struct bounded *values;
    size_t count;
    assert_int_equal(evaluator_new(&evaluator, test_case_model(test, NULL), NULL, NULL), 0);
    assert_int_equal(evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &values, &count, NULL),
                     -1);
    evaluator_free(evaluator);
    test_case_free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_models_lose_bounds_that_tell_nothing),
        cmocka_unit_test(numbers_that_nobody_judges_are_left_out),
        cmocka_unit_test(small_models_keep_them),
        cmocka_unit_test(shapes_of_lost_values_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
