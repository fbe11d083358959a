#include "judge/expectation.h"

#include "engine/wire_bounds.h"
#include "judge/standing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *expectation_name(enum expectation expectation)
{
    static const char *const words[EXPECTATION_COUNT] = {
        [EXPECTATION_NONE] = "none",         [EXPECTATION_MET] = "met",
        [EXPECTATION_ROUNDING] = "rounding", [EXPECTATION_UNMET] = "unmet",
        [EXPECTATION_BOTH] = "both",         [EXPECTATION_REFUTED] = "refuted",
        [EXPECTATION_UNTOLD] = "undecided",  [EXPECTATION_ALONE] = "alone",
        [EXPECTATION_WIDE] = "wide",
    };
    return words[expectation];
}

static const char *name_of(const struct value *value)
{
    return value->name ? value->name : "?";
}

/* Whether elements of both can be compared one by one. */
static bool same_form(const struct value *a, const struct value *b)
{
    return a->kind == VALUE_TENSOR && b->kind == VALUE_TENSOR && a->tensors[0].type == b->tensors[0].type &&
           shape_equal(&a->tensors[0].shape, &b->tensors[0].shape);
}

/* The elements of `wanted` that the answer does not meet; the reference's own values in place of the others.
 */
static int disputed_part(struct dispute *dispute, const struct value *wanted, const struct value *own,
                         const struct value *got, const struct bounded *bounded,
                         const struct metrics_tolerance *tolerance, struct value *part, struct error *err)
{
    if (value_copy(part, wanted, err))
        return -1;
    if (!same_form(wanted, own))
        return 0;
    struct tensor *tensor = &part->tensors[0];
    bool *outside = same_form(wanted, got) ? metrics_outside(tensor, &got->tensors[0], tolerance) : NULL;
    for (size_t i = 0; i < tensor->count; i++) {
        bool disputed = !outside || outside[i], open = isinf(bounded_likely(bounded, i));
        dispute->open += disputed && isinf(bounded_hard(bounded, i)) && open;
        dispute->undecided += disputed && isinf(bounded_hard(bounded, i)) && !open;
        if (!disputed)
            tensor_set(tensor, i, tensor_get(&own->tensors[0], i));
    }
    free(outside);
    return 0;
}

static void describe_form(struct verdict *claim, const char *what, const struct value *wanted,
                          const struct value *own)
{
    char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
    const struct tensor *gives = &own->tensors[0];
    if (wanted->kind == VALUE_TENSOR)
        verdict_say(claim, "the expected %s %s is %s %s, but this model gives %s %s", what, name_of(own),
                    dtype_name(wanted->tensors[0].type), shape_text(&wanted->tensors[0].shape, a),
                    dtype_name(gives->type), shape_text(&gives->shape, b));
    else
        verdict_say(claim, "the expected %s %s is not a tensor, but this model gives %s %s", what,
                    name_of(own), dtype_name(gives->type), shape_text(&gives->shape, b));
}

/* How far the element is from what the model gives. */
static void describe_distance(const struct verdict *claim, struct str *out)
{
    if (!verdict_is(claim->kind, CLASS_DEVIATES))
        str_printf(out, ": rounding, tried out at every operator, moves it by less than 1/%g of that",
                   EXPECTATION_FAR);
    else if (claim->kind == VERDICT_SUSPECT)
        str_printf(out, ": %.3g standard deviations of rounding apart (%zu of %zu elements)",
                   claim->deviations, claim->suspect, claim->total);
    else if (isinf(claim->factor))
        str_printf(out, ", and no rounding explains it (%zu of %zu elements)", claim->wrong, claim->total);
    else
        str_printf(out, ": %.3g times what rounding can explain (%zu of %zu elements)", claim->factor,
                   claim->wrong, claim->total);
}

/* Describes how the expected outputs are wrong. The judge's own words would call them an answer of an
 * engine. */
static void describe_claim(struct dispute *dispute, const struct expected *expected,
                           const struct result *reference)
{
    struct verdict *claim = &dispute->claim;
    bool deviates = verdict_is(claim->kind, CLASS_DEVIATES);
    size_t output = deviates ? claim->output : dispute->output;
    const struct value *own = &reference->outputs[output];
    const char *what = claim->gradient ? "gradient by" : "output";
    struct str text;
    for (size_t i = 0; i < expected->count && verdict_is(claim->kind, CLASS_FORM); i++)
        if (expected_place(expected, i) == output)
            describe_form(claim, what, &expected->values[i], own);
    if (verdict_is(claim->kind, CLASS_FORM) || !(deviates || dispute->far > 0))
        return;
    str_init(&text);
    str_printf(&text, "the expected %s %s[%zu] is %.9Lg, but this model gives %.9Lg", what, name_of(own),
               deviates ? claim->element : dispute->element, deviates ? claim->got : dispute->expected,
               deviates ? claim->expected : dispute->given);
    describe_distance(claim, &text);
    verdict_say(claim, "%s", text.data);
    str_release(&text);
}

/* Notes the element in dispute that is farthest from the reference, beside the largest error of the answer.
 */
static void measure(struct dispute *dispute, size_t place, const struct bounded *own,
                    const struct value *wanted, const struct value *got)
{
    long double largest = 0, farthest = 0;
    size_t element = 0;
    if (!dtype_is_float(own->type) || !same_form(wanted, got))
        return;
    for (size_t i = 0; i < own->count; i++) {
        long double error = fabsl(tensor_get(&got->tensors[0], i) - own->value[i]);
        long double off = fabsl(tensor_get(&wanted->tensors[0], i) - own->value[i]);
        long double unit = (long double)unit_of(own->type) * fabsl(own->value[i]);
        largest = error > largest ? error : unit > largest ? unit : largest;
        if (off > farthest) {
            farthest = off;
            element = i;
        }
    }
    if (!(farthest > 0 && isfinite(farthest)) || !(largest > 0) ||
        (dispute->far > 0 && farthest * dispute->error <= dispute->far * largest))
        return;
    dispute->far = (double)farthest;
    dispute->error = (double)largest;
    dispute->output = place;
    dispute->element = element;
    dispute->expected = tensor_get(&wanted->tensors[0], element);
    dispute->given = own->value[element];
}

/* Judges one expected output; false when the reference has no bounds for it. */
static bool judge_output(struct dispute *dispute, const struct value *wanted, size_t place,
                         const struct result *reference, const struct result *answer,
                         const struct metrics_tolerance *tolerance)
{
    static const struct value nothing = {0};
    struct error err = {0};
    struct bounded bounded;
    struct value part;
    const struct value *own = &reference->outputs[place];
    const struct value *got = place < answer->count ? &answer->outputs[place] : &nothing;
    value_init(&part);
    bounded_init(&bounded);
    bool known = own->kind == VALUE_TENSOR && dtype_is_real(own->tensors[0].type) &&
                 !bounds_from_wire(&bounded, &own->tensors[0], &reference->bounds[place], &err) &&
                 !disputed_part(dispute, wanted, own, got, &bounded, tolerance, &part, &err);
    if (known) {
        verdict_output(&dispute->claim, place, &bounded, &part);
        if (same_form(wanted, own))
            measure(dispute, place, &bounded, &part, got);
    }
    value_release(&part);
    bounded_release(&bounded);
    return known;
}

static void judge_claim(struct dispute *dispute, const struct expected *expected,
                        const struct result *reference, const struct result *answer,
                        const struct metrics_tolerance *tolerance)
{
    dispute->claim = verdict_begin(reference->gradients);
    dispute->known = true;
    for (size_t i = 0; i < expected->count && dispute->known; i++) {
        size_t place = expected_place(expected, i);
        dispute->known = place < reference->count &&
                         judge_output(dispute, &expected->values[i], place, reference, answer, tolerance);
    }
    if (dispute->known)
        describe_claim(dispute, expected, reference);
}

void expectation_dispute(struct dispute *dispute, const struct expected *expected,
                         const struct result *reference, const struct result *answer, bool values,
                         const struct metrics_tolerance *tolerance)
{
    struct str why;
    str_init(&why);
    *dispute = (struct dispute){
        .golden = golden_compare(expected, answer->outputs, answer->count, values, tolerance, &why)};
    snprintf(dispute->text, sizeof dispute->text, "%s", why.data);
    str_release(&why);
    if (dispute->golden != GOLDEN_PASS && reference && reference->outcome == OUTCOME_OK && reference->bounds)
        judge_claim(dispute, expected, reference, answer, tolerance);
}

/* No rounding explains the expected outputs where they are in dispute. */
static bool is_refuted(const struct dispute *dispute)
{
    return dispute->known && verdict_is(dispute->claim.kind, CLASS_WRONG_ANSWER);
}

/* Whether the reference judged the answer, and finds it right. */
static bool is_right(const struct verdict *verdict)
{
    return verdict_is(verdict->kind, CLASS_AGREES | CLASS_IMPRECISE | CLASS_DOUBT) && !verdict->by_vote &&
           verdict_heard(verdict) == HEARD_JUDGED;
}

bool expectation_needs_operators(const struct dispute *dispute, const struct verdict *verdict)
{
    return dispute->golden != GOLDEN_PASS && dispute->known && is_right(verdict) && !is_refuted(dispute) &&
           !dispute->open;
}

/* Rounding would explain the difference, by bounds that may be those of a worst case which never happens. */
static bool is_far(const struct dispute *dispute, double moved)
{
    double rounding = moved > dispute->error ? moved : dispute->error;
    return dispute->far > 0 && dispute->far >= EXPECTATION_FAR * rounding;
}

bool expectation_needs_moved(const struct dispute *dispute, const struct verdict *verdict, bool right)
{
    return right && expectation_needs_operators(dispute, verdict) && is_far(dispute, 0) &&
           !verdict_is(dispute->claim.kind, CLASS_SUSPECT);
}

static enum expectation decide(const struct verdict *verdict, const struct dispute *dispute,
                               const struct expectation_known *known)
{
    if (dispute->golden == GOLDEN_PASS)
        return EXPECTATION_MET;
    if (verdict_is_finding(verdict->kind))
        return is_refuted(dispute) ? EXPECTATION_BOTH : EXPECTATION_UNMET;
    if (!is_right(verdict) || !dispute->known)
        return EXPECTATION_ALONE;
    if (is_refuted(dispute))
        return EXPECTATION_REFUTED;
    if (dispute->open)
        return EXPECTATION_ALONE;
    if (!known->right)
        return EXPECTATION_WIDE;
    if (verdict_is(dispute->claim.kind, CLASS_SUSPECT) || is_far(dispute, known->moved))
        return EXPECTATION_REFUTED;
    return dispute->undecided ? EXPECTATION_UNTOLD : EXPECTATION_ROUNDING;
}

/* Whether the verdict says already why the answer cannot be called right or wrong. */
static bool is_explained(const struct verdict *verdict)
{
    return verdict_is(verdict->kind, CLASS_OPEN | CLASS_SUSPECT) ||
           (verdict_is(verdict->kind, CLASS_DOUBT) && !verdict->no_evidence);
}

void expectation_decide(struct verdict *verdict, const struct dispute *dispute,
                        const struct expectation_known *known)
{
    verdict->expectation = decide(verdict, dispute, known);
    switch (verdict->expectation) {
    case EXPECTATION_REFUTED:
        verdict->kind = VERDICT_EXPECTATION;
        verdict_say(verdict, "%s", dispute->claim.text);
        break;
    case EXPECTATION_ALONE:
    case EXPECTATION_WIDE:
        if (is_explained(verdict))
            break;
        verdict->kind = VERDICT_SUSPECT;
        verdict_say(verdict, "%s, and %s which of the two is wrong", dispute->text,
                    dispute->known ? "the reference cannot tell" : "there is no reference to tell");
        break;
    case EXPECTATION_UNTOLD:
        verdict_say(verdict, "%s; each operator is right, and whether rounding explains it is not known",
                    dispute->text);
        break;
    case EXPECTATION_ROUNDING:
        verdict_say(verdict, "%s; each operator is right, and rounding explains it", dispute->text);
        break;
    default:
        break;
    }
}
