/* Two answers of one engine to equivalent cases: what must pass and what must not, with each relation. */
#include "judge/pair.h"

#include "base/memory.h"
#include "engine/wire_bounds.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4 };

#define F(...) ((const float[]){__VA_ARGS__})

static const struct shape whole = {2, {N, 1}};

static void add_output(struct result *result, const char *name, struct tensor *tensor)
{
    result->outputs = realloc(result->outputs, (result->count + 1) * sizeof *result->outputs);
    struct value *value = &result->outputs[result->count++];
    value_init(value);
    value_set_name(value, name);
    value_set_tensor(value, tensor);
}

static struct result answer_of(enum dtype type, const struct shape *shape, const float *values)
{
    struct result result;
    struct tensor tensor;
    result_init(&result);
    result.outcome = OUTCOME_OK;
    result.stage = STAGE_RUN;
    assert_int_equal(tensor_alloc(&tensor, type, shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, values[i]);
    add_output(&result, "y", &tensor);
    return result;
}

static struct result answer(const float *values)
{
    return answer_of(DTYPE_FLOAT, &whole, values);
}

static struct result ended(enum outcome outcome)
{
    struct result result;
    result_init(&result);
    result.outcome = outcome;
    result.stage = STAGE_LOAD;
    result.message = memory_strdup("no");
    return result;
}

/* The reference's answer, with one hard bound for all elements. */
static struct result reference_of(enum dtype type, const struct shape *shape, const float *values,
                                  double hard)
{
    struct result result;
    struct bounded b;
    struct tensor tensor;
    result_init(&result);
    result.outcome = OUTCOME_OK;
    result.bounds = memory_zeroed(1, sizeof *result.bounds);
    assert_int_equal(bounded_alloc(&b, type, shape, false, NULL), 0);
    for (size_t i = 0; i < b.count; i++)
        bounded_set(&b, i, values[i], hard, hard / 10);
    assert_int_equal(bounds_to_wire(&b, &tensor, &result.bounds[0], NULL), 0);
    add_output(&result, "y", &tensor);
    bounded_release(&b);
    return result;
}

/* One pair: the references' values and bounds, then the answers. Everything is released. */
struct trial {
    enum relation relation;
    enum rows rows;
    int64_t rows_before, rows_after;
    bool nothing_new;
    size_t place;                /* of the output in the rewritten form */
    struct result *reference[2]; /* NULL: not asked */
};

static struct verdict judge(const struct trial *trial, struct result original, struct result rewritten,
                            bool *bad)
{
    struct pair pair = {
        .relation = trial->relation ? trial->relation : RELATION_BOUNDS,
        .rows = trial->rows,
        .rows_before = trial->rows_before,
        .rows_after = trial->rows_after,
        .nothing_new = trial->nothing_new,
        .n_outputs = 1,
        .outputs = memory_zeroed(1, sizeof *pair.outputs),
        .places = memory_zeroed(1, sizeof *pair.places),
    };
    struct verdict verdict;
    pair.outputs[0] = "y";
    pair.places[0] = trial->place;
    pair_set_references(&pair, trial->reference[0], trial->reference[1]);
    pair_judge(&pair, &original, &rewritten, &verdict);
    if (bad)
        *bad = pair.bad_rewriting;
    pair_close(&pair);
    result_release(&original);
    result_release(&rewritten);
    return verdict;
}

/* Both forms have the exact values 1 2 3 4. */
static struct verdict judge_floats(enum relation relation, double hard, const float *a, const float *b)
{
    struct result one = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), hard);
    struct result two = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), hard);
    struct verdict verdict =
        judge(&(struct trial){.relation = relation, .reference = {&one, &two}}, answer(a), answer(b), NULL);
    result_release(&one);
    result_release(&two);
    return verdict;
}

static void the_bounds_of_both_forms_decide(void **state)
{
    (void)state;
    struct verdict v = judge_floats(RELATION_BOUNDS, 0.25, F(1, 2.25F, 3, 4), F(1, 1.75F, 3, 4));
    assert_int_equal(v.kind, VERDICT_AGREES);
    assert_int_equal(v.judged, N);
    v = judge_floats(RELATION_BOUNDS, 0.25, F(1, 2.5F, 3, 4), F(1, 1.75F, 3, 4));
    assert_int_equal(v.kind, VERDICT_INCONSISTENT);
    assert_int_equal(v.element, 1);
    assert_int_equal(v.wrong, 1);
    assert_true(fabs(v.factor - 1.5) < 1e-6);
    assert_string_equal(v.text, "output y[1] is 2.5, and 1.75 in the rewritten form: 1.5 times what rounding "
                                "can explain (1 of 4 elements)");
}

static void nan_meets_nan_and_zero_has_no_sign(void **state)
{
    (void)state;
    assert_int_equal(judge_floats(RELATION_BOUNDS, 9, F(1, NAN, 3, 4), F(1, 2, 3, 4)).kind,
                     VERDICT_INCONSISTENT);
    assert_int_equal(judge_floats(RELATION_BOUNDS, 9, F(1, 2, 3, 4), F(1, 2, 3, NAN)).kind,
                     VERDICT_INCONSISTENT);
    assert_int_equal(judge_floats(RELATION_BITS, 0, F(1, NAN, 0, 4), F(1, -NAN, -0.0F, 4)).kind,
                     VERDICT_AGREES);
    assert_int_equal(judge_floats(RELATION_BOUNDS, 9, F(1, 2, 3, INFINITY), F(1, 2, 3, 4)).kind,
                     VERDICT_INCONSISTENT);
    assert_int_equal(judge_floats(RELATION_BOUNDS, 9, F(1, 2, 3, INFINITY), F(1, 2, 3, -INFINITY)).kind,
                     VERDICT_INCONSISTENT);
    assert_int_equal(judge_floats(RELATION_BOUNDS, 9, F(1, 2, 3, INFINITY), F(1, 2, 3, INFINITY)).kind,
                     VERDICT_AGREES);
}

static void what_nothing_bounds_is_judged_by_its_bits_alone(void **state)
{
    (void)state;
    struct verdict v = judge_floats(RELATION_BOUNDS, INFINITY, F(1, 2, 3, 4), F(9, 9, 9, 9));
    assert_int_equal(v.kind, VERDICT_UNDECIDED);
    assert_int_equal(judge_floats(RELATION_BITS, INFINITY, F(1, 2, 3, 4), F(1, 2, 3, 4)).kind,
                     VERDICT_AGREES);
    v = judge_floats(RELATION_BITS, INFINITY, F(1, 2, 3, 4), F(1, 2, 9, 9));
    assert_int_equal(v.kind, VERDICT_INCONSISTENT);
    assert_int_equal(v.element, 2);
    assert_true(v.expected == 3 && v.got == 9);
}

static void what_nothing_bounds_may_be_alike(void **state)
{
    (void)state;
    assert_int_equal(judge_floats(RELATION_BOUNDS, INFINITY, F(1, 2, 3, 4), F(1, 2, 3, 4.0001f)).kind,
                     VERDICT_AGREES);
    struct verdict v = judge_floats(RELATION_BOUNDS, INFINITY, F(1, 2, 3, 4), F(1, 2, 9, NAN));
    assert_int_equal(v.kind, VERDICT_AGREES);
    assert_int_equal(v.judged, 2);
    assert_int_equal(v.undecided, 2);
}

static void rounding_is_no_difference_of_bits(void **state)
{
    (void)state;
    assert_int_equal(judge_floats(RELATION_BITS, 0.25, F(1, 2, 3, 4), F(1, 2.25F, 3, 4)).kind,
                     VERDICT_AGREES);
    assert_int_equal(judge_floats(RELATION_BITS, 0.25, F(1, 2, 3, 4), F(1, 2.75F, 3, 4)).kind,
                     VERDICT_INCONSISTENT);
}

/* Element 3 is not bounded; when another one is rounded differently, that may be why it differs. */
static void rounding_elsewhere_excuses_a_jump(void **state)
{
    (void)state;
    for (int rounded = 0; rounded < 2; rounded++) {
        struct result references[2];
        for (size_t i = 0; i < 2; i++) {
            references[i] = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0.25);
            ((double *)references[i].bounds[0].hard.data)[3] = INFINITY;
        }
        struct trial trial = {.relation = RELATION_BITS, .reference = {&references[0], &references[1]}};
        struct verdict v =
            judge(&trial, answer(F(1, 2, 3, 4)), answer(F(1, rounded ? 2.25F : 2, 3, 5)), NULL);
        assert_int_equal(v.kind, rounded ? VERDICT_AGREES : VERDICT_INCONSISTENT);
        result_release(&references[0]);
        result_release(&references[1]);
    }
}

/* The two forms do not mean the same: no engine is to blame, however its answers differ. */
static void a_bad_rewriting_blames_no_engine(void **state)
{
    (void)state;
    struct shape other = {2, {1, N}};
    struct result right = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0.25);
    struct result bad[4] = {
        reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 5), 0.25),
        reference_of(DTYPE_FLOAT, &whole, F(1, NAN, 3, 4), 0.25),
        reference_of(DTYPE_DOUBLE, &whole, F(1, 2, 3, 4), 0.25),
        reference_of(DTYPE_FLOAT, &other, F(1, 2, 3, 4), 0.25),
    };
    struct result invalid = ended(OUTCOME_REJECTED);
    for (size_t i = 0; i < 5; i++) {
        struct result *second = i < 4 ? &bad[i] : &invalid;
        bool blamed;
        struct verdict v = judge(&(struct trial){.reference = {&right, second}}, answer(F(1, 2, 3, 4)),
                                 answer(F(9, 9, 9, 9)), &blamed);
        assert_int_equal(v.kind, VERDICT_UNTESTED);
        assert_non_null(strstr(v.text, "the rewriting is at fault"));
        assert_true(blamed);
    }
    for (size_t i = 0; i < 4; i++)
        result_release(&bad[i]);
    result_release(&invalid);
    result_release(&right);
}

static void without_a_reference_the_tolerance_only_suspects(void **state)
{
    (void)state;
    static const struct {
        enum dtype type;
        float a, b;
        enum verdict_kind kind;
    } rows[] = {
        {DTYPE_FLOAT, 1, 1.009F, VERDICT_AGREES},
        {DTYPE_FLOAT, 1, 1.02F, VERDICT_SUSPECT},
        {DTYPE_FLOAT, 1e6F, 1.0009e6F, VERDICT_AGREES},
        {DTYPE_FLOAT, 1e6F, 1.01e6F, VERDICT_SUSPECT},
        {DTYPE_FLOAT, NAN, 1, VERDICT_SUSPECT},
        {DTYPE_FLOAT, NAN, NAN, VERDICT_AGREES},
        {DTYPE_FLOAT, INFINITY, 1, VERDICT_SUSPECT},
        {DTYPE_FLOAT16, 1000, 1002, VERDICT_AGREES},
        {DTYPE_FLOAT16, 1000, 1100, VERDICT_SUSPECT},
        {DTYPE_INT32, 7, 8, VERDICT_SUSPECT},
        {DTYPE_INT32, 7, 7, VERDICT_AGREES},
        {DTYPE_BOOL, 0, 1, VERDICT_SUSPECT},
    };
    const struct shape one = {0, {0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int bits = 0; bits < 2; bits++) {
            struct verdict v = judge(&(struct trial){.relation = bits ? RELATION_BITS : RELATION_BOUNDS},
                                     answer_of(rows[i].type, &one, &rows[i].a),
                                     answer_of(rows[i].type, &one, &rows[i].b), NULL);
            if (v.kind != rows[i].kind)
                fail_msg("row %zu is %s: %s", i, verdict_name(v.kind), v.text);
        }
}

static void one_reference_is_none(void **state)
{
    (void)state;
    struct result reference = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0);
    struct result failed = ended(OUTCOME_UNSUPPORTED);
    struct verdict v = judge(&(struct trial){.reference = {&reference, &failed}}, answer(F(1, 2, 3, 4)),
                             answer(F(1, 2, 3, 5)), NULL);
    assert_int_equal(v.kind, VERDICT_SUSPECT);
    v = judge(&(struct trial){.reference = {NULL, &reference}}, answer(F(1, 2, 3, 4)), answer(F(1, 2, 3, 4)),
              NULL);
    assert_int_equal(v.kind, VERDICT_AGREES);
    result_release(&reference);
    result_release(&failed);
}

static void types_and_shapes_must_be_the_same(void **state)
{
    (void)state;
    const struct shape other = {2, {1, N}};
    for (int referenced = 0; referenced < 2; referenced++) {
        struct result a = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0.25);
        struct result b = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0.25);
        struct trial trial = {.reference = {referenced ? &a : NULL, referenced ? &b : NULL}};
        enum verdict_kind expected = referenced ? VERDICT_INCONSISTENT : VERDICT_SUSPECT;
        struct verdict v =
            judge(&trial, answer(F(1, 2, 3, 4)), answer_of(DTYPE_FLOAT, &other, F(1, 2, 3, 4)), NULL);
        assert_int_equal(v.kind, expected);
        assert_string_equal(v.text, "output y is float32 [4,1] in the original and float32 [1,4] in the "
                                    "rewritten form");
        v = judge(&trial, answer(F(1, 2, 3, 4)), answer_of(DTYPE_DOUBLE, &whole, F(1, 2, 3, 4)), NULL);
        assert_int_equal(v.kind, expected);
        struct result without = answer(F(1, 2, 3, 4));
        without.count = 0;
        values_free(without.outputs, 1);
        without.outputs = NULL;
        v = judge(&trial, answer(F(1, 2, 3, 4)), without, NULL);
        assert_int_equal(v.kind, expected);
        result_release(&a);
        result_release(&b);
    }
}

/* Both answers have the same wrong shape: that is not for the pair to judge. */
static void the_same_wrong_shape_is_consistent(void **state)
{
    (void)state;
    const struct shape other = {2, {1, N}};
    struct result a = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0.25);
    struct result b = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0.25);
    struct verdict v =
        judge(&(struct trial){.reference = {&a, &b}}, answer_of(DTYPE_FLOAT, &other, F(1, 2, 3, 4)),
              answer_of(DTYPE_FLOAT, &other, F(1, 2, 3, 9)), NULL);
    assert_false(verdict_is_finding(v.kind));
    result_release(&a);
    result_release(&b);
}

/* The first two rows of four, and four rows in reverse order, with and without references. */
static void rows_are_found_in_the_rewritten_form(void **state)
{
    (void)state;
    const struct shape two = {2, {2, 1}};
    for (int referenced = 0; referenced < 2; referenced++) {
        enum verdict_kind differs = referenced ? VERDICT_INCONSISTENT : VERDICT_SUSPECT;
        struct result half = reference_of(DTYPE_FLOAT, &two, F(1, 2), 0);
        struct result all = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0);
        struct result turned = reference_of(DTYPE_FLOAT, &whole, F(4, 3, 2, 1), 0);
        struct trial first = {.rows = ROWS_FIRST,
                              .rows_before = 2,
                              .rows_after = 4,
                              .reference = {referenced ? &half : NULL, referenced ? &all : NULL}};
        struct trial reversed = {.rows = ROWS_REVERSED,
                                 .rows_before = 4,
                                 .rows_after = 4,
                                 .reference = {referenced ? &all : NULL, referenced ? &turned : NULL}};
        const struct {
            const struct trial *trial;
            const struct shape *shape;
            const float *a, *b;
            enum verdict_kind kind;
        } rows[] = {
            {&first, &two, F(1, 2), F(1, 2, 9, 9), VERDICT_AGREES},
            {&first, &two, F(1, 2), F(1, 3, 3, 4), differs},
            {&reversed, &whole, F(1, 2, 3, 4), F(4, 3, 2, 1), VERDICT_AGREES},
            {&reversed, &whole, F(1, 2, 3, 4), F(1, 2, 3, 4), differs},
        };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct verdict v = judge(rows[i].trial, answer_of(DTYPE_FLOAT, rows[i].shape, rows[i].a),
                                     answer(rows[i].b), NULL);
            if (v.kind != rows[i].kind)
                fail_msg("row %zu is %s: %s", i, verdict_name(v.kind), v.text);
        }
        result_release(&half);
        result_release(&all);
        result_release(&turned);
    }
}

/* A sum over all rows is another one when there are more of them. */
static void what_has_no_rows_is_not_compared(void **state)
{
    (void)state;
    const struct shape scalar = {0, {0}}, one = {1, {1}};
    struct trial trial = {.rows = ROWS_FIRST, .rows_before = 1, .rows_after = 4};
    for (int i = 0; i < 2; i++) {
        const struct shape *shape = i ? &one : &scalar;
        struct verdict v =
            judge(&trial, answer_of(DTYPE_FLOAT, shape, F(1)), answer_of(DTYPE_FLOAT, shape, F(5)), NULL);
        assert_int_equal(v.kind, VERDICT_UNDECIDED);
    }
}

static void outputs_may_have_another_place(void **state)
{
    (void)state;
    struct result rewritten;
    struct tensor more;
    result_init(&rewritten);
    rewritten.outcome = OUTCOME_OK;
    assert_int_equal(tensor_alloc(&more, DTYPE_FLOAT, &whole, 0, NULL), 0);
    add_output(&rewritten, "inner", &more);
    struct result y = answer(F(1, 2, 3, 4));
    add_output(&rewritten, "y", &y.outputs[0].tensors[0]);
    result_release(&y);
    struct verdict v = judge(&(struct trial){.place = 1}, answer(F(1, 2, 3, 4)), rewritten, NULL);
    assert_int_equal(v.kind, VERDICT_AGREES);
    assert_int_equal(v.judged, N);
}

static void a_refusal_counts_when_nothing_is_new(void **state)
{
    (void)state;
    static const struct {
        enum outcome original, rewritten;
        bool nothing_new, referenced;
        enum verdict_kind kind;
    } rows[] = {
        {OUTCOME_OK, OUTCOME_REJECTED, true, false, VERDICT_REJECTED},
        {OUTCOME_OK, OUTCOME_FAILED, true, false, VERDICT_FAILED},
        {OUTCOME_OK, OUTCOME_UNSUPPORTED, true, false, VERDICT_UNTESTED},
        {OUTCOME_OK, OUTCOME_REJECTED, false, false, VERDICT_UNTESTED},
        {OUTCOME_OK, OUTCOME_REJECTED, true, true, VERDICT_UNTESTED},
        {OUTCOME_OK, OUTCOME_CRASH, true, false, VERDICT_UNTESTED},
        {OUTCOME_REJECTED, OUTCOME_REJECTED, true, false, VERDICT_UNTESTED},
        {OUTCOME_UNSUPPORTED, OUTCOME_OK, true, false, VERDICT_UNTESTED},
        {OUTCOME_CRASH, OUTCOME_OK, true, true, VERDICT_UNTESTED},
    };
    struct result a = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0);
    struct result b = reference_of(DTYPE_FLOAT, &whole, F(1, 2, 3, 4), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trial trial = {.nothing_new = rows[i].nothing_new};
        if (rows[i].referenced) {
            trial.reference[0] = &a;
            trial.reference[1] = &b;
        }
        struct result forms[2];
        for (size_t k = 0; k < 2; k++) {
            enum outcome outcome = k ? rows[i].rewritten : rows[i].original;
            forms[k] = outcome == OUTCOME_OK ? answer(F(1, 2, 3, 4)) : ended(outcome);
        }
        struct verdict v = judge(&trial, forms[0], forms[1], NULL);
        assert_int_equal(v.kind, rows[i].kind);
        assert_true(*v.text);
    }
    result_release(&a);
    result_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bounds_of_both_forms_decide),
        cmocka_unit_test(nan_meets_nan_and_zero_has_no_sign),
        cmocka_unit_test(what_nothing_bounds_is_judged_by_its_bits_alone),
        cmocka_unit_test(what_nothing_bounds_may_be_alike),
        cmocka_unit_test(rounding_is_no_difference_of_bits),
        cmocka_unit_test(rounding_elsewhere_excuses_a_jump),
        cmocka_unit_test(a_bad_rewriting_blames_no_engine),
        cmocka_unit_test(without_a_reference_the_tolerance_only_suspects),
        cmocka_unit_test(one_reference_is_none),
        cmocka_unit_test(types_and_shapes_must_be_the_same),
        cmocka_unit_test(the_same_wrong_shape_is_consistent),
        cmocka_unit_test(rows_are_found_in_the_rewritten_form),
        cmocka_unit_test(what_has_no_rows_is_not_compared),
        cmocka_unit_test(outputs_may_have_another_place),
        cmocka_unit_test(a_refusal_counts_when_nothing_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
