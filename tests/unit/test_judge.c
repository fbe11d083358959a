/* The judge itself: what must pass and what must fail, each both ways. */
#include "judge/judge.h"
#include "judge/standing.h"

#include "base/memory.h"
#include "engine/wire_bounds.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4 };

/* An expected float32 vector of N elements; hard and likely are for all of them. */
static void expect_values(struct bounded *b, const float *values, double hard, double likely)
{
    struct shape shape = {1, {N}};
    assert_int_equal(bounded_alloc(b, DTYPE_FLOAT, &shape, false, NULL), 0);
    for (size_t i = 0; i < N; i++)
        bounded_set(b, i, values[i], hard, likely);
}

static struct value answer(enum dtype type, const struct shape *shape, const float *values)
{
    struct tensor tensor;
    struct value value;
    value_init(&value);
    assert_int_equal(tensor_alloc(&tensor, type, shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, values[i]);
    value_set_tensor(&value, &tensor);
    return value;
}

static struct verdict judge_floats(const float *expected, double hard, double likely, const float *got)
{
    struct shape shape = {1, {N}};
    struct bounded b;
    expect_values(&b, expected, hard, likely);
    struct value value = answer(DTYPE_FLOAT, &shape, got);
    struct verdict verdict = {.kind = VERDICT_AGREES};
    verdict_output(&verdict, 0, &b, &value);
    verdict_finish(&verdict, "y");
    value_release(&value);
    bounded_release(&b);
    return verdict;
}

#define F(...) ((const float[]){__VA_ARGS__})

static void the_hard_bound_decides(void **state)
{
    (void)state;
    struct verdict v = judge_floats(F(1, 2, 3, 4), 0.5, 0.1, F(1, 2.5F, 3, 4));
    assert_int_equal(v.kind, VERDICT_AGREES);
    assert_int_equal(v.judged, N);
    v = judge_floats(F(1, 2, 3, 4), 0.5, 0.1, F(1, 2, 3.75F, 4));
    assert_int_equal(v.kind, VERDICT_WRONG);
    assert_int_equal(v.element, 2);
    assert_int_equal(v.wrong, 1);
    assert_true(fabs(v.factor - 1.5) < 1e-6);
    /* A bound is no more exact than doubles are; what is beyond it by more than that is wrong all the same.
     */
    double less = 0.5 * (1 - DBL_EPSILON), little = 0.5 * (1 - 1e-9);
    assert_int_equal(judge_floats(F(1, 2, 3, 4), less, 0.1, F(1, 2.5F, 3, 4)).kind, VERDICT_AGREES);
    assert_int_equal(judge_floats(F(1, 2, 3, 4), little, 0.1, F(1, 2.5F, 3, 4)).kind, VERDICT_WRONG);
}

static void the_likely_bound_only_suspects(void **state)
{
    (void)state;
    assert_int_equal(judge_floats(F(1, 2, 3, 4), 10, 0.1, F(1, 2, 3, 5.5F)).kind, VERDICT_AGREES);
    assert_int_equal(judge_floats(F(1, 2, 3, 4), 10, 0.1, F(1, 2, 3, 5.7F)).kind, VERDICT_SUSPECT);
}

static void nan_never_passes_for_a_number(void **state)
{
    (void)state;
    assert_int_equal(judge_floats(F(1, 2, 3, 4), 1e30, 1e30, F(1, NAN, 3, 4)).kind, VERDICT_NAN);
    assert_int_equal(judge_floats(F(1, NAN, 3, 4), 0, 0, F(1, 2, 3, 4)).kind, VERDICT_NAN);
    assert_int_equal(judge_floats(F(1, NAN, 3, 4), 0, 0, F(1, -NAN, 3, 4)).kind, VERDICT_AGREES);
}

static void infinities_must_be_the_same(void **state)
{
    (void)state;
    assert_int_equal(judge_floats(F(1, INFINITY, 3, 4), 0, 0, F(1, INFINITY, 3, 4)).kind, VERDICT_AGREES);
    assert_int_equal(judge_floats(F(1, INFINITY, 3, 4), 0, 0, F(1, -INFINITY, 3, 4)).kind, VERDICT_WRONG);
    assert_int_equal(judge_floats(F(1, INFINITY, 3, 4), 0, 0, F(1, FLT_MAX, 3, 4)).kind, VERDICT_WRONG);
    assert_int_equal(judge_floats(F(1, 2, 3, 4), 1e30, 1e30, F(1, INFINITY, 3, 4)).kind, VERDICT_WRONG);
    assert_int_equal(judge_floats(F(1, NAN, 3, 4), 0, 0, F(1, INFINITY, 3, 4)).kind, VERDICT_NAN);
}

static void minus_zero_is_zero(void **state)
{
    (void)state;
    assert_int_equal(judge_floats(F(0, -0.0F, 3, 4), 0, 0, F(-0.0F, 0, 3, 4)).kind, VERDICT_AGREES);
    assert_int_equal(judge_floats(F(0, 0, 3, 4), 0, 0, F(-FLT_TRUE_MIN, 0, 3, 4)).kind, VERDICT_WRONG);
}

static void subnormals_are_numbers(void **state)
{
    (void)state;
    const float s = 3 * FLT_TRUE_MIN;
    assert_int_equal(judge_floats(F(s, 1, 2, 3), 0, 0, F(s, 1, 2, 3)).kind, VERDICT_AGREES);
    assert_int_equal(judge_floats(F(s, 1, 2, 3), 0, 0, F(0, 1, 2, 3)).kind, VERDICT_WRONG);
    /* A computed subnormal may be flushed: bounded_put allows for it. */
    struct bounded b;
    struct shape shape = {1, {1}};
    assert_int_equal(bounded_alloc(&b, DTYPE_FLOAT, &shape, false, NULL), 0);
    bounded_put(&b, 0, s, 0, 0);
    assert_true(bounded_hard(&b, 0) >= s && bounded_hard(&b, 0) <= 2 * FLT_MIN);
    /* One that is large against the smallest: flushed, it is no suspect either. */
    bounded_put(&b, 0, FLT_MIN / 4, 0, 0);
    assert_true(bounded_likely(&b, 0) >= FLT_MIN / 4 && bounded_likely(&b, 0) <= FLT_MIN);
    bounded_put(&b, 0, 2 * FLT_MIN, 0, 0);
    assert_true(bounded_likely(&b, 0) < FLT_MIN / 1024);
    bounded_release(&b);
}

static void open_and_undecided_pass_anything(void **state)
{
    (void)state;
    assert_int_equal(judge_floats(F(1, 2, 3, 4), INFINITY, INFINITY, F(9, NAN, INFINITY, 0)).kind,
                     VERDICT_OPEN);
    assert_int_equal(judge_floats(F(1, 2, 3, 4), INFINITY, 0, F(9, NAN, INFINITY, 0)).kind,
                     VERDICT_UNDECIDED);
    struct bounded b;
    expect_values(&b, F(1, 2, 3, 4), 0.1, 0.1);
    bounded_put_open(&b, 1);
    struct shape shape = {1, {N}};
    struct value good = answer(DTYPE_FLOAT, &shape, F(1, 99, 3, 4)),
                 bad = answer(DTYPE_FLOAT, &shape, F(1, 99, 3, 5));
    struct verdict verdict = {.kind = VERDICT_AGREES};
    verdict_output(&verdict, 0, &b, &good);
    verdict_finish(&verdict, "y");
    assert_int_equal(verdict.kind, VERDICT_AGREES);
    assert_int_equal(verdict.open, 1);
    verdict = (struct verdict){.kind = VERDICT_AGREES};
    verdict_output(&verdict, 0, &b, &bad);
    assert_int_equal(verdict.kind, VERDICT_WRONG);
    value_release(&good);
    value_release(&bad);
    bounded_release(&b);
}

static void form_comes_before_content(void **state)
{
    (void)state;
    struct shape right = {1, {N}}, wrong = {2, {2, 2}}, shorter = {1, {3}};
    struct bounded b;
    expect_values(&b, F(1, 2, 3, 4), 0, 0);
    struct value shape = answer(DTYPE_FLOAT, &wrong, F(1, 2, 3, 4)),
                 type = answer(DTYPE_DOUBLE, &right, F(1, 2, 3, 4)),
                 cut = answer(DTYPE_FLOAT, &shorter, F(1, 2, 3)), none;
    value_init(&none);
    const struct {
        const struct value *value;
        enum verdict_kind kind;
    } rows[] = {
        {&shape, VERDICT_SHAPE}, {&type, VERDICT_DTYPE}, {&cut, VERDICT_SHAPE}, {&none, VERDICT_DTYPE}};
    for (size_t i = 0; i < 4; i++) {
        struct verdict verdict = {.kind = VERDICT_AGREES};
        verdict_output(&verdict, 0, &b, rows[i].value);
        verdict_finish(&verdict, "y");
        assert_int_equal(verdict.kind, rows[i].kind);
    }
    value_release(&shape);
    value_release(&type);
    value_release(&cut);
    bounded_release(&b);
}

static void empty_tensors_agree_with_empty_ones_only(void **state)
{
    (void)state;
    struct shape empty = {2, {0, 3}}, other = {2, {3, 0}};
    struct bounded b;
    assert_int_equal(bounded_alloc(&b, DTYPE_FLOAT, &empty, false, NULL), 0);
    struct value same = answer(DTYPE_FLOAT, &empty, NULL), different = answer(DTYPE_FLOAT, &other, NULL);
    struct verdict verdict = {.kind = VERDICT_AGREES};
    verdict_output(&verdict, 0, &b, &same);
    verdict_finish(&verdict, "y");
    assert_int_equal(verdict.kind, VERDICT_AGREES);
    verdict = (struct verdict){.kind = VERDICT_AGREES};
    verdict_output(&verdict, 0, &b, &different);
    assert_int_equal(verdict.kind, VERDICT_SHAPE);
    value_release(&same);
    value_release(&different);
    bounded_release(&b);
}

/* Results as engines would give them. */
static struct result result_of(const float *values, size_t count)
{
    struct result result;
    result_init(&result);
    struct shape shape = {1, {(int64_t)count}};
    result.outcome = OUTCOME_OK;
    result.stage = STAGE_RUN;
    result.count = 1;
    result.outputs = memory_zeroed(1, sizeof *result.outputs);
    result.outputs[0] = answer(DTYPE_FLOAT, &shape, values);
    value_set_name(&result.outputs[0], "y");
    return result;
}

static struct result reference_of(const float *values, size_t count, double hard)
{
    struct result result = result_of(values, count);
    struct bounded b;
    struct tensor tensor;
    assert_int_equal(bounded_from_tensor(&b, &result.outputs[0].tensors[0], NULL), 0);
    for (size_t i = 0; i < count; i++)
        bounded_set(&b, i, values[i], hard, hard);
    result.bounds = memory_zeroed(1, sizeof *result.bounds);
    assert_int_equal(bounds_to_wire(&b, &tensor, &result.bounds[0], NULL), 0);
    tensor_release(&tensor);
    bounded_release(&b);
    return result;
}

static void the_one_who_differs_is_the_culprit(void **state)
{
    (void)state;
    struct result reference = reference_of(F(1, 2, 3, 4), N, 0.01), good = result_of(F(1, 2, 3, 4), N),
                  bad = result_of(F(1, 2, 3, 5), N);
    struct judge_entry entries[] = {
        {"a", "1", "", &good, false}, {"b", "1", "", &bad, false}, {"c", "1", "", &good, false}};
    struct judgement judgement;
    judge_case(&judgement, &reference, entries, 3);
    assert_true(judgement.by_reference);
    assert_int_equal(judgement.culprit, 1);
    assert_int_equal(judgement.verdicts[0].kind, VERDICT_AGREES);
    assert_int_equal(judgement.verdicts[1].kind, VERDICT_WRONG);
    judgement_release(&judgement);
    entries[0].repeats_differ = true;
    entries[1].result = &good;
    judge_case(&judgement, &reference, entries, 3);
    assert_int_equal(judgement.verdicts[0].kind, VERDICT_NONDETERMINISTIC);
    assert_int_equal(judgement.culprit, 0);
    judgement_release(&judgement);
    result_release(&reference);
    result_release(&good);
    result_release(&bad);
}

static void everybody_against_the_reference_is_our_bug(void **state)
{
    (void)state;
    struct result reference = reference_of(F(1, 2, 3, 4), N, 0.01), bad = result_of(F(1, 2, 3, 5), N);
    struct judge_entry two_libraries[] = {{"a", "1", "", &bad, false}, {"b", "1", "", &bad, false}};
    struct judge_entry one_library[] = {{"a", "1", "", &bad, false}, {"a", "2", "", &bad, false}};
    struct judgement judgement;
    judge_case(&judgement, &reference, two_libraries, 2);
    assert_int_equal(judgement.verdicts[0].kind, VERDICT_MISTRUSTED);
    assert_int_equal(judgement.culprit, -1);
    judgement_release(&judgement);
    judge_case(&judgement, &reference, one_library, 2);
    assert_int_equal(judgement.verdicts[0].kind, VERDICT_WRONG);
    judgement_release(&judgement);
    result_release(&reference);
    result_release(&bad);
}

static void constant_answers_prove_nothing(void **state)
{
    (void)state;
    const float zeros[9] = {0}, nearly[9] = {0, 0, 0, 1};
    struct result reference = reference_of(zeros, 9, 0), same = result_of(zeros, 9),
                  other = result_of(nearly, 9);
    struct judge_entry entry = {"a", "1", "", &same, false};
    struct judgement judgement;
    judge_case(&judgement, &reference, &entry, 1);
    assert_int_equal(judgement.verdicts[0].kind, VERDICT_MISTRUSTED);
    judgement_release(&judgement);
    entry.result = &other;
    judge_case(&judgement, &reference, &entry, 1);
    assert_int_equal(judgement.verdicts[0].kind, VERDICT_WRONG);
    judgement_release(&judgement);
    result_release(&reference);
    result_release(&same);
    result_release(&other);
}

static void without_a_reference_engines_vote(void **state)
{
    (void)state;
    struct result good = result_of(F(1, 2, 3, 4), N), bad = result_of(F(1, 2, 3, 5), N);
    struct judge_entry entries[] = {
        {"a", "1", "", &good, false}, {"b", "1", "", &bad, false}, {"c", "1", "", &good, false}};
    struct judgement judgement;
    judge_case(&judgement, NULL, entries, 3);
    assert_false(judgement.by_reference);
    assert_int_equal(judgement.verdicts[0].kind, VERDICT_AGREES);
    assert_int_equal(judgement.verdicts[1].kind, VERDICT_SUSPECT);
    assert_true(judgement.verdicts[1].by_vote);
    judgement_release(&judgement);
    judge_case(&judgement, NULL, entries, 2);
    assert_int_equal(judgement.verdicts[0].kind, VERDICT_SUSPECT);
    assert_int_equal(judgement.verdicts[1].kind, VERDICT_SUSPECT);
    judgement_release(&judgement);
    result_release(&good);
    result_release(&bad);
}

static struct result ended(enum outcome outcome, int signal_number)
{
    struct result result;
    result_init(&result);
    result.outcome = outcome;
    result.stage = STAGE_LOAD;
    result.signal = signal_number;
    result.exit_status = -1;
    return result;
}

static void refusals_count_only_on_valid_cases(void **state)
{
    (void)state;
    struct result reference = reference_of(F(1, 2, 3, 4), N, 0.01),
                  open = reference_of(F(1, 2, 3, 4), N, INFINITY),
                  inside = reference_of(F(1, 2, 3, 4), N, 0.01), invalid = ended(OUTCOME_REJECTED, 0),
                  good = result_of(F(1, 2, 3, 4), N), rejected = ended(OUTCOME_REJECTED, 0),
                  lacks = ended(OUTCOME_UNSUPPORTED, 0), crash = ended(OUTCOME_CRASH, SIGSEGV),
                  untested = ended(OUTCOME_UNTESTED, 0);
    inside.bounds[0].open = true; /* on the way; what it shows is not */
    const struct {
        const struct result *reference, *first, *second;
        const char *second_version;
        enum verdict_kind kind;    /* of the first */
        const char *first_kernels; /* NULL: none but the defaults, like the second's */
    } rows[] = {
        {&reference, &rejected, &good, "1", VERDICT_REJECTED},
        {&open, &rejected, &good, "1", VERDICT_OPEN},
        {&inside, &rejected, &good, "1", VERDICT_OPEN},
        {&inside, &lacks, &good, "1", VERDICT_UNSUPPORTED},
        {&inside, &good, &good, "1", VERDICT_AGREES},
        {&invalid, &rejected, &good, "1", VERDICT_OPEN},
        {&invalid, &good, &good, "1", VERDICT_OPEN},
        {NULL, &rejected, &good, "1", VERDICT_SUSPECT},
        {&reference, &lacks, &good, "2", VERDICT_UNSUPPORTED},
        {&reference, &lacks, &good, "1", VERDICT_REJECTED},
        {&reference, &lacks, &good, "1", VERDICT_UNSUPPORTED, "impl=ref"},
        {&reference, &rejected, &good, "1", VERDICT_REJECTED, "impl=ref"},
        {&invalid, &crash, &good, "1", VERDICT_CRASH},
        {&open, &crash, &good, "1", VERDICT_CRASH},
        {&reference, &untested, &good, "1", VERDICT_UNTESTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct judge_entry entries[] = {
            {"a", "1", rows[i].first_kernels ? rows[i].first_kernels : "", rows[i].first, false},
            {"a", rows[i].second_version, "", rows[i].second, false}};
        struct judgement judgement;
        judge_case(&judgement, rows[i].reference, entries, 2);
        assert_int_equal(judgement.verdicts[0].kind, rows[i].kind);
        judgement_release(&judgement);
    }
    struct result *all[] = {&reference, &open,  &inside, &invalid, &good,
                            &rejected,  &lacks, &crash,  &untested};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        result_release(all[i]);
}

/* Of a model that ONNX forbids only a refusal is right; an answer is a finding where that is certain and the
 * library reads the model itself. */
static void a_forbidden_model_must_be_refused(void **state)
{
    (void)state;
    struct result reference = reference_of(F(1, 2, 3, 4), N, 0.01), invalid = ended(OUTCOME_REJECTED, 0),
                  good = result_of(F(1, 2, 3, 4), N), rejected = ended(OUTCOME_REJECTED, 0),
                  failed = ended(OUTCOME_FAILED, 0), lacks = ended(OUTCOME_UNSUPPORTED, 0),
                  crash = ended(OUTCOME_CRASH, SIGSEGV), hang = ended(OUTCOME_HANG, 0);
    const struct {
        const struct result *reference, *result;
        bool certain, adapter;
        enum verdict_kind kind;
    } rows[] = {
        {&reference, &good, true, false, VERDICT_ACCEPTED},
        {&invalid, &good, true, false, VERDICT_ACCEPTED},
        {&invalid, &good, false, false, VERDICT_OPEN},
        {&invalid, &good, true, true, VERDICT_OPEN},
        {&reference, &rejected, true, false, VERDICT_AGREES},
        {&invalid, &rejected, false, true, VERDICT_AGREES},
        {&invalid, &failed, true, false, VERDICT_AGREES},
        {&invalid, &lacks, true, false, VERDICT_UNSUPPORTED},
        {&invalid, &crash, false, true, VERDICT_CRASH},
        {&invalid, &hang, true, false, VERDICT_HANG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct judge_entry entry = {"a", "1", "", rows[i].result, false, rows[i].adapter};
        struct judgement judgement;
        judge_case(&judgement, rows[i].reference, &entry, 1);
        judge_forbidden(&judgement, &entry, rows[i].certain, "the checker says so");
        assert_int_equal(judgement.verdicts[0].kind, rows[i].kind);
        assert_int_equal(judgement.culprit, verdict_is_finding(rows[i].kind) ? 0 : -1);
        judgement_release(&judgement);
    }
    struct result *all[] = {&reference, &invalid, &good, &rejected, &failed, &lacks, &crash, &hang};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        result_release(all[i]);
}

static void findings_are_what_engines_must_mend(void **state)
{
    (void)state;
    assert_false(verdict_is_finding(VERDICT_UNTESTED));
    assert_false(verdict_is_finding(VERDICT_SUSPECT));
    assert_false(verdict_is_finding(VERDICT_IMPRECISE));
    assert_true(verdict_is_finding(VERDICT_WRONG));
    assert_true(verdict_is_finding(VERDICT_INCONSISTENT));
    assert_true(verdict_is_finding(VERDICT_NONDETERMINISTIC));
    assert_false(verdict_is_finding(VERDICT_NO_ENGINE));
}

/* Each verdict is described whole, and nothing in its row contradicts the rest. */
static void rows_are_whole(void **state)
{
    static const unsigned bugs = CLASS_WRONG_ANSWER | CLASS_REFUSAL | CLASS_DEATH | CLASS_UNSTABLE;
    (void)state;
    for (int i = 0; i < VERDICT_COUNT; i++) {
        const struct verdict_row *row = verdict_row((enum verdict_kind)i);
        enum verdict_kind back = VERDICT_COUNT;
        assert_true(row->word && *row->word && row->sentence && *row->sentence);
        assert_true(row->class && !(row->class & (row->class - 1)));
        assert_true(row->heard < HEARD_COUNT && strchr(".o?urwch", row->letter));
        assert_true((row->heard == HEARD_FINDING) == !!(row->class & bugs));
        assert_true(verdict_is_bug((enum verdict_kind)i) == !!(row->class & bugs));
        assert_true(verdict_is_finding((enum verdict_kind)i) == !!(row->class & (bugs | CLASS_APART)));
        assert_true(!(row->class & (CLASS_REFUSAL | CLASS_UNSTABLE)) || row->deed);
        assert_true(row->tone != TONE_GOOD || row->heard == HEARD_JUDGED);
        assert_true(row->heard != HEARD_FINDING || row->tone == TONE_BAD);
        assert_true(verdict_parse(row->word, &back));
        assert_int_equal(back, i);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(verdict_row((enum verdict_kind)k)->rank, row->rank);
    }
    assert_false(verdict_parse("fine", &(enum verdict_kind){0}));
    assert_false(verdict_parse("", &(enum verdict_kind){0}));
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        enum verdict_kind kind = verdict_of_outcome((enum outcome)i);
        bool answered = i == OUTCOME_OK || i == OUTCOME_UNTESTED;
        assert_true(answered == verdict_is(kind, CLASS_NOTHING));
        assert_true(answered || strcmp(verdict_name(kind), outcome_name((enum outcome)i)) == 0);
    }
}

static void only_what_was_judged_earns_zero(void **state)
{
    (void)state;
    static const struct {
        struct verdict verdict;
        int status;
    } rows[] = {
        {{.kind = VERDICT_AGREES, .total = 4, .judged = 1}, STATUS_AGREE},
        {{.kind = VERDICT_AGREES, .total = 4, .judged = 2, .blank = 1}, STATUS_TROUBLE},
        {{.kind = VERDICT_AGREES, .by_vote = true}, STATUS_AGREE},
        {{.kind = VERDICT_IMPRECISE}, STATUS_AGREE},
        {{.kind = VERDICT_SUSPECT}, STATUS_AGREE},
        {{.kind = VERDICT_SUSPECT, .by_vote = true}, STATUS_TROUBLE},
        {{.kind = VERDICT_SUSPECT, .unanswered = true}, STATUS_TROUBLE},
        {{.kind = VERDICT_MISTRUSTED}, STATUS_AGREE},
        {{.kind = VERDICT_MISTRUSTED, .wrong = 1}, STATUS_TROUBLE},
        {{.kind = VERDICT_OPEN}, STATUS_TROUBLE},
        {{.kind = VERDICT_UNDECIDED}, STATUS_TROUBLE},
        {{.kind = VERDICT_UNSUPPORTED, .unanswered = true}, STATUS_TROUBLE},
        {{.kind = VERDICT_NO_ENGINE, .unanswered = true}, STATUS_TROUBLE},
        {{.kind = VERDICT_UNTESTED}, STATUS_TROUBLE},
        {{.kind = VERDICT_WRONG}, STATUS_FINDINGS},
        {{.kind = VERDICT_CRASH, .unanswered = true}, STATUS_FINDINGS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct standing standing = {0};
        standing_heard(&standing, "e", verdict_heard(&rows[i].verdict), 1, 1, "why");
        assert_int_equal(standing_status(&standing), rows[i].status);
        assert_int_equal(*standing.reason != 0, rows[i].status == STATUS_TROUBLE);
    }
}

static void findings_win_and_the_first_reason_is_kept(void **state)
{
    (void)state;
    struct standing standing = {0};
    assert_int_equal(standing_status(&standing), STATUS_AGREE);
    standing_heard(&standing, "a", HEARD_NOTHING, 2, 10, "gone");
    standing_heard(&standing, "b", HEARD_LACK, 1, 1, NULL);
    assert_int_equal(standing_status(&standing), STATUS_TROUBLE);
    assert_string_equal(standing.reason, "a gave no answer on 2 of 10 samples: gone");
    assert_int_equal(standing.troubles, 2);
    standing_finding(&standing);
    assert_int_equal(standing_status(&standing), STATUS_FINDINGS);
}

/* Of two outputs one is open: the other agrees, and yet not every answer was judged. */
static void an_output_that_is_not_judged_is_counted(void **state)
{
    (void)state;
    struct shape shape = {1, {N}};
    struct bounded sure, open;
    expect_values(&sure, F(1, 2, 3, 4), 0.5, 0.1);
    expect_values(&open, F(1, 2, 3, 4), INFINITY, INFINITY);
    struct value value = answer(DTYPE_FLOAT, &shape, F(1, 2, 3, 4));
    struct verdict verdict = {.kind = VERDICT_AGREES};
    verdict_output(&verdict, 0, &sure, &value);
    verdict_output(&verdict, 1, &open, &value);
    verdict_finish(&verdict, "y");
    assert_int_equal(verdict.kind, VERDICT_AGREES);
    assert_int_equal(verdict.blank, 1);
    assert_int_equal(verdict_heard(&verdict), HEARD_UNJUDGED);
    value_release(&value);
    bounded_release(&sure);
    bounded_release(&open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hard_bound_decides),
        cmocka_unit_test(the_likely_bound_only_suspects),
        cmocka_unit_test(nan_never_passes_for_a_number),
        cmocka_unit_test(infinities_must_be_the_same),
        cmocka_unit_test(minus_zero_is_zero),
        cmocka_unit_test(subnormals_are_numbers),
        cmocka_unit_test(open_and_undecided_pass_anything),
        cmocka_unit_test(form_comes_before_content),
        cmocka_unit_test(empty_tensors_agree_with_empty_ones_only),
        cmocka_unit_test(the_one_who_differs_is_the_culprit),
        cmocka_unit_test(everybody_against_the_reference_is_our_bug),
        cmocka_unit_test(constant_answers_prove_nothing),
        cmocka_unit_test(without_a_reference_engines_vote),
        cmocka_unit_test(refusals_count_only_on_valid_cases),
        cmocka_unit_test(a_forbidden_model_must_be_refused),
        cmocka_unit_test(findings_are_what_engines_must_mend),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(only_what_was_judged_earns_zero),
        cmocka_unit_test(findings_win_and_the_first_reason_is_kept),
        cmocka_unit_test(an_output_that_is_not_judged_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
