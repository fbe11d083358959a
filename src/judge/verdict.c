#include "judge/verdict.h"

#include <math.h>
#include <stdio.h>

static const char *const names[VERDICT_COUNT] = {
    [VERDICT_UNTESTED] = "untested",
    [VERDICT_AGREES] = "agrees",
    [VERDICT_UNSUPPORTED] = "unsupported",
    [VERDICT_UNDECIDED] = "undecided",
    [VERDICT_OPEN] = "open",
    [VERDICT_MISTRUSTED] = "mistrusted",
    [VERDICT_IMPRECISE] = "imprecise",
    [VERDICT_SUSPECT] = "suspect",
    [VERDICT_WRONG] = "wrong",
    [VERDICT_NAN] = "nan",
    [VERDICT_SHAPE] = "shape",
    [VERDICT_DTYPE] = "dtype",
    [VERDICT_REJECTED] = "rejected",
    [VERDICT_FAILED] = "failed",
    [VERDICT_CRASH] = "crash",
    [VERDICT_HANG] = "hang",
    [VERDICT_MEMORY] = "memory",
    [VERDICT_GARBAGE] = "garbage",
    [VERDICT_NONDETERMINISTIC] = "nondeterministic",
    [VERDICT_NO_ENGINE] = "no engine",
};

const char *verdict_name(enum verdict_kind kind)
{
    return (unsigned)kind < VERDICT_COUNT ? names[kind] : "unknown";
}

bool verdict_is_finding(enum verdict_kind kind)
{
    return kind >= VERDICT_WRONG && kind <= VERDICT_NONDETERMINISTIC;
}

struct reading {
    enum verdict_kind kind; /* agrees, suspect, wrong, nan, undecided or open */
    double factor, deviations;
};

/* Bounds are doubles that were themselves rounded on the way, which shows where they are half an ulp of a
 * float64. */
static const long double rounding_of_bounds = 1 + 0x1p-40L;

static struct reading read_element(long double want, double hard, double likely, long double got)
{
    if (isinf(hard))
        return (struct reading){isinf(likely) ? VERDICT_OPEN : VERDICT_UNDECIDED, 0, 0};
    if (isnan(want) || isnan(got)) {
        bool both = isnan(want) && isnan(got);
        return (struct reading){both ? VERDICT_AGREES : VERDICT_NAN, both ? 0 : INFINITY, 0};
    }
    if (want == got)
        return (struct reading){VERDICT_AGREES, 0, 0};
    if (isinf(want) || isinf(got))
        return (struct reading){VERDICT_WRONG, INFINITY, INFINITY};
    long double error = fabsl(want - got);
    double factor = hard > 0 ? (double)(error / hard) : INFINITY;
    double deviations = likely > 0 ? (double)(error / likely) : INFINITY;
    if (!(error <= hard * rounding_of_bounds))
        return (struct reading){VERDICT_WRONG, factor, deviations};
    return (struct reading){deviations <= VERDICT_DEVIATIONS ? VERDICT_AGREES : VERDICT_SUSPECT, factor,
                            deviations};
}

/* Among wrong elements the largest factor is the worst; NaN beats them; suspects rank below, by deviations.
 */
static bool is_worse(const struct reading *now, const struct verdict *so_far)
{
    if (now->kind != so_far->kind)
        return now->kind > so_far->kind;
    return now->kind == VERDICT_SUSPECT ? now->deviations > so_far->deviations : now->factor > so_far->factor;
}

static void count_element(struct verdict *verdict, enum verdict_kind kind)
{
    verdict->total++;
    verdict->undecided += kind == VERDICT_UNDECIDED;
    verdict->open += kind == VERDICT_OPEN;
    verdict->judged += kind != VERDICT_UNDECIDED && kind != VERDICT_OPEN;
    verdict->wrong += kind == VERDICT_WRONG || kind == VERDICT_NAN;
    verdict->suspect += kind == VERDICT_SUSPECT;
}

static void judge_elements(struct verdict *verdict, size_t output, const struct bounded *expected,
                           const struct tensor *got)
{
    for (size_t i = 0; i < expected->count; i++) {
        long double value = tensor_get(got, i);
        struct reading now =
            read_element(expected->value[i], bounded_hard(expected, i), bounded_likely(expected, i), value);
        count_element(verdict, now.kind);
        if (now.kind == VERDICT_UNDECIDED || now.kind == VERDICT_OPEN)
            continue;
        if (is_worse(&now, verdict)) {
            verdict->kind = now.kind;
            verdict->output = output;
            verdict->element = i;
            verdict->expected = expected->value[i];
            verdict->got = value;
            verdict->hard = bounded_hard(expected, i);
        }
        if (now.factor > verdict->factor)
            verdict->factor = now.factor;
        if (now.deviations > verdict->deviations)
            verdict->deviations = now.deviations;
    }
}

bool verdict_count(struct verdict *verdict, size_t expected, size_t got)
{
    if (got == expected)
        return false;
    verdict->kind = VERDICT_SHAPE;
    snprintf(verdict->text, sizeof verdict->text, "%zu outputs instead of %zu", got, expected);
    return true;
}

void verdict_output(struct verdict *verdict, size_t output, const struct bounded *expected,
                    const struct value *got)
{
    char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
    enum verdict_kind form = VERDICT_AGREES;
    if (got->kind != VALUE_TENSOR || got->tensors[0].type != expected->type)
        form = VERDICT_DTYPE;
    else if (!shape_equal(&got->tensors[0].shape, &expected->shape))
        form = VERDICT_SHAPE;
    if (form == VERDICT_AGREES) {
        size_t before = verdict->judged;
        judge_elements(verdict, output, expected, &got->tensors[0]);
        verdict->blank += expected->count && verdict->judged == before;
        return;
    }
    verdict->total += expected->count;
    if (form <= verdict->kind)
        return;
    verdict->kind = form;
    verdict->output = output;
    if (got->kind != VALUE_TENSOR)
        snprintf(verdict->text, sizeof verdict->text, "is not a tensor; %s %s is due",
                 dtype_name(expected->type), shape_text(&expected->shape, a));
    else
        snprintf(verdict->text, sizeof verdict->text, "is %s %s; %s %s is due",
                 dtype_name(got->tensors[0].type), shape_text(&got->tensors[0].shape, a),
                 dtype_name(expected->type), shape_text(&expected->shape, b));
}

static void describe_element(struct verdict *verdict, const char *name)
{
    char text[sizeof verdict->text];
    size_t bad = verdict->kind == VERDICT_SUSPECT ? verdict->suspect : verdict->wrong;
    int used = snprintf(text, sizeof text, "output %s[%zu] is %.9Lg, %.9Lg is due", name, verdict->element,
                        verdict->got, verdict->expected);
    size_t at = used < 0 ? 0 : (size_t)used < sizeof text ? (size_t)used : sizeof text - 1;
    if (verdict->kind == VERDICT_SUSPECT)
        snprintf(text + at, sizeof text - at, ": %.3g standard deviations off (%zu of %zu elements)",
                 verdict->deviations, bad, verdict->total);
    else if (isinf(verdict->factor))
        snprintf(text + at, sizeof text - at, ", no rounding explains it (%zu of %zu elements)", bad,
                 verdict->total);
    else
        snprintf(text + at, sizeof text - at, ": %.3g times what rounding can explain (%zu of %zu elements)",
                 verdict->factor, bad, verdict->total);
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
}

void verdict_finish(struct verdict *verdict, const char *name)
{
    if (!name)
        name = "?";
    if (verdict->kind == VERDICT_SUSPECT || verdict->kind == VERDICT_WRONG || verdict->kind == VERDICT_NAN) {
        describe_element(verdict, name);
    } else if (verdict->kind == VERDICT_SHAPE || verdict->kind == VERDICT_DTYPE) {
        char text[sizeof verdict->text];
        snprintf(text, sizeof text, "output %s %s", name, verdict->text);
        snprintf(verdict->text, sizeof verdict->text, "%s", text);
    } else if (verdict->kind == VERDICT_AGREES && verdict->total && !verdict->judged) {
        verdict->kind = verdict->open >= verdict->undecided ? VERDICT_OPEN : VERDICT_UNDECIDED;
        snprintf(verdict->text, sizeof verdict->text, "none of %zu elements can be judged", verdict->total);
    } else if (verdict->kind == VERDICT_AGREES && verdict->blank) {
        snprintf(verdict->text, sizeof verdict->text,
                 "%zu of its outputs could not be judged: %zu of %zu elements were", verdict->blank,
                 verdict->judged, verdict->total);
    }
}
