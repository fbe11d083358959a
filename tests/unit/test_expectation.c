/* Expected outputs as a third party: who is wrong, for each way in which engine, reference and expectation
 * differ. */
#include "judge/expectation.h"

#include "base/memory.h"
#include "engine/wire_bounds.h"
#include "judge/judge.h"
#include "judge/standing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4 };
#define F(...) ((const float[]){__VA_ARGS__})

static struct value value_of(enum dtype type, int64_t count, const float *numbers)
{
    struct shape shape = {1, {count}};
    struct tensor tensor;
    struct value value;
    value_init(&value);
    assert_int_equal(tensor_alloc(&tensor, type, &shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, numbers[i % N]);
    value_set_tensor(&value, &tensor);
    value_set_name(&value, "y");
    return value;
}

/* The reference's answer: 1, 2, 3, 4, each with these bounds, but element 3 with an infinite one where asked.
 */
struct bench {
    double hard, likely;
    bool untold;    /* element 3 cannot be judged, */
    bool open;      /* as ONNX leaves it unspecified */
    bool no_bounds; /* the reference has no bounds */
    double moved;   /* how far rounding moves it, tried out */
};

static void reference_of(const struct bench *bench, struct result *result)
{
    struct shape shape = {1, {N}};
    struct bounded b;
    struct tensor tensor;
    assert_int_equal(bounded_alloc(&b, DTYPE_FLOAT, &shape, false, NULL), 0);
    for (size_t i = 0; i < N; i++)
        bounded_set(&b, i, (long double)i + 1, bench->untold && i == 3 ? INFINITY : bench->hard,
                    bench->open && i == 3 ? INFINITY : bench->likely);
    result_init(result);
    result->outcome = OUTCOME_OK;
    result->outputs = memory_zeroed(1, sizeof *result->outputs);
    result->bounds = memory_zeroed(1, sizeof *result->bounds);
    assert_int_equal(bounds_to_wire(&b, &tensor, &result->bounds[0], NULL), 0);
    value_init(&result->outputs[0]);
    value_set_tensor(&result->outputs[0], &tensor);
    value_set_name(&result->outputs[0], "y");
    result->count = 1;
    bounded_release(&b);
}

/* What is decided of an answer and expected outputs; by_operator as in expectation_decide. */
static struct verdict decide(const struct bench *bench, const struct value *got, const struct value *wanted,
                             bool by_operator)
{
    struct result reference, result = {.outcome = OUTCOME_OK, .count = 1};
    struct judge_entry entry = {.name = "engine", .result = &result};
    struct expected expected = {.count = 1, .values = wanted};
    struct judgement judgement;
    struct dispute dispute;
    result.outputs = (struct value *)(uintptr_t)got;
    reference_of(bench, &reference);
    const struct result *known = bench->no_bounds ? NULL : &reference;
    judge_case(&judgement, known, &entry, 1);
    struct verdict verdict = judgement.verdicts[0];
    expectation_dispute(&dispute, &expected, known, &result, true, &metrics_conformance);
    expectation_decide(&verdict, &dispute,
                       &(struct expectation_known){.right = by_operator, .moved = bench->moved});
    judgement_release(&judgement);
    result_release(&reference);
    return verdict;
}

static struct verdict decide_floats(const struct bench *bench, const float *got, const float *wanted,
                                    bool by_operator)
{
    struct value answer = value_of(DTYPE_FLOAT, N, got), expected = value_of(DTYPE_FLOAT, N, wanted);
    struct verdict verdict = decide(bench, &answer, &expected, by_operator);
    value_release(&answer);
    value_release(&expected);
    return verdict;
}

static void assert_decided(const struct verdict *verdict, enum expectation expectation,
                           enum verdict_kind kind)
{
    assert_string_equal(expectation_name(verdict->expectation), expectation_name(expectation));
    assert_string_equal(verdict_name(verdict->kind), verdict_name(kind));
}

static void four_outcomes(void **state)
{
    (void)state;
    const struct bench tight = {.hard = 1e-6, .likely = 1e-7};
    const float *right = F(1, 2, 3, 4), *off = F(1, 2, 3.5F, 4), *other = F(1, 9, 3, 4);
    struct verdict v = decide_floats(&tight, right, right, false);
    assert_decided(&v, EXPECTATION_MET, VERDICT_AGREES);
    v = decide_floats(&tight, off, right, false);
    assert_decided(&v, EXPECTATION_UNMET, VERDICT_WRONG);
    v = decide_floats(&tight, right, off, false);
    assert_decided(&v, EXPECTATION_REFUTED, VERDICT_EXPECTATION);
    assert_non_null(strstr(v.text, "the expected output y[2] is 3.5, but this model gives 3"));
    assert_int_equal(verdict_heard(&v), HEARD_MISTAKE);
    v = decide_floats(&tight, off, other, false);
    assert_decided(&v, EXPECTATION_BOTH, VERDICT_WRONG);
}

/* Both are inside the bounds: only operators that were all judged tell that the engine is right. */
static void wide_bounds_prove_nothing(void **state)
{
    (void)state;
    const struct bench wide = {.hard = 10, .likely = 0.5, .moved = INFINITY},
                       narrow = {.hard = 10, .likely = 0.01};
    const float *right = F(1, 2, 3, 4), *off = F(1, 2, 3.5F, 4);
    struct verdict v = decide_floats(&wide, right, off, false);
    assert_decided(&v, EXPECTATION_WIDE, VERDICT_SUSPECT);
    assert_int_equal(verdict_heard(&v), HEARD_UNJUDGED);
    v = decide_floats(&wide, right, off, true);
    assert_decided(&v, EXPECTATION_ROUNDING, VERDICT_AGREES);
    assert_int_equal(verdict_heard(&v), HEARD_JUDGED);
    /* 50 standard deviations are no rounding. */
    v = decide_floats(&narrow, right, off, true);
    assert_decided(&v, EXPECTATION_REFUTED, VERDICT_EXPECTATION);
    v = decide_floats(&narrow, right, off, false);
    assert_decided(&v, EXPECTATION_WIDE, VERDICT_SUSPECT);
}

/* Only elements in dispute count: those within the tolerance refute nothing. */
static void elements_that_cannot_be_judged(void **state)
{
    (void)state;
    const struct bench part = {.hard = 1e-6, .likely = 1e-7, .untold = true, .moved = INFINITY},
                       none = {.no_bounds = true};
    const float *right = F(1, 2, 3, 4), *last = F(1, 2, 3, 9), *near = F(1, 2.0001F, 3, 9);
    struct verdict v = decide_floats(&part, right, last, false);
    assert_decided(&v, EXPECTATION_WIDE, VERDICT_SUSPECT);
    v = decide_floats(&part, right, last, true);
    assert_decided(&v, EXPECTATION_UNTOLD, VERDICT_AGREES);
    assert_int_equal(verdict_heard(&v), HEARD_UNJUDGED);
    v = decide_floats(&part, right, near, true); /* element 1 is outside its bound, but not in dispute */
    assert_decided(&v, EXPECTATION_UNTOLD, VERDICT_AGREES);
    const struct bench open = {.hard = 1e-6, .likely = 1e-7, .untold = true, .open = true};
    v = decide_floats(&open, right, last, true);
    assert_decided(&v, EXPECTATION_ALONE, VERDICT_SUSPECT);
    v = decide_floats(&none, right, last, false);
    assert_decided(&v, EXPECTATION_ALONE, VERDICT_SUSPECT);
}

static void forms_count_too(void **state)
{
    (void)state;
    const struct bench tight = {.hard = 1e-6, .likely = 1e-7};
    struct value right = value_of(DTYPE_FLOAT, N, F(1, 2, 3, 4)),
                 wide = value_of(DTYPE_DOUBLE, N, F(1, 2, 3, 4)),
                 longer = value_of(DTYPE_FLOAT, 2 * N, F(1, 2, 3, 4));
    struct verdict v = decide(&tight, &right, &wide, false);
    assert_decided(&v, EXPECTATION_REFUTED, VERDICT_EXPECTATION);
    assert_string_equal(v.text, "the expected output y is float64 [4], but this model gives float32 [4]");
    v = decide(&tight, &right, &longer, false);
    assert_decided(&v, EXPECTATION_REFUTED, VERDICT_EXPECTATION);
    v = decide(&tight, &longer, &right, false);
    assert_decided(&v, EXPECTATION_UNMET, VERDICT_SHAPE);
    v = decide(&tight, &longer, &wide, false);
    assert_decided(&v, EXPECTATION_BOTH, VERDICT_SHAPE);
    value_release(&right);
    value_release(&wide);
    value_release(&longer);
}

/* An engine whose operators are all right shows how large rounding errors are, whatever the bounds allow. */
static void errors_of_the_engine_are_a_measure(void **state)
{
    (void)state;
    struct bench wide = {.hard = 10, .likely = 0.5, .moved = 1e-4}, none = wide;
    none.untold = true;
    const float *near = F(1, 2, 3.00001F, 4), *off = F(1, 2, 3.5F, 4), *last = F(1, 2, 3, 4.5F);
    struct verdict v = decide_floats(&wide, near, off, true);
    assert_decided(&v, EXPECTATION_REFUTED, VERDICT_EXPECTATION);
    assert_non_null(strstr(v.text, "rounding, tried out at every operator, moves it by less"));
    v = decide_floats(&wide, near, off, false);
    assert_decided(&v, EXPECTATION_WIDE, VERDICT_SUSPECT);
    v = decide_floats(&none, near, last, true);
    assert_decided(&v, EXPECTATION_REFUTED, VERDICT_EXPECTATION);
    /* Its own errors are nearly as large, or rounding can move it nearly as far. */
    v = decide_floats(&wide, F(1, 2, 3.01F, 4), off, true);
    assert_decided(&v, EXPECTATION_ROUNDING, VERDICT_AGREES);
    wide.moved = none.moved = 0.1;
    v = decide_floats(&wide, near, off, true);
    assert_decided(&v, EXPECTATION_ROUNDING, VERDICT_AGREES);
    v = decide_floats(&none, near, last, true);
    assert_decided(&v, EXPECTATION_UNTOLD, VERDICT_AGREES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_outcomes),
        cmocka_unit_test(wide_bounds_prove_nothing),
        cmocka_unit_test(elements_that_cannot_be_judged),
        cmocka_unit_test(forms_count_too),
        cmocka_unit_test(errors_of_the_engine_are_a_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
