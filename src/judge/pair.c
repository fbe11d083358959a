#include "judge/pair.h"

#include "base/memory.h"
#include "engine/wire_bounds.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the reference says about one output. */
struct pair_bounds {
    bool compared; /* false: the output does not have the rows that are chosen */
    enum dtype type;
    struct shape before, after; /* in the original and in the rewritten form */
    size_t count;
    double *allowed; /* how far apart the elements of the original may be; infinite: they are not judged */
};

/* --- Which rows answer the original --- */

static bool has_rows(const struct pair *pair, const struct shape *before, const struct shape *after)
{
    if (pair->rows == ROWS_ALL)
        return true;
    /* What keeps its size though rows were added or taken away is no answer for each row. */
    bool grows = pair->rows_after != pair->rows_before;
    return before->rank > 0 && before->dims[0] == pair->rows_before && !(grows && shape_equal(before, after));
}

/* The shape that an output of the original should have in the rewritten form. */
static struct shape shape_after(const struct pair *pair, const struct shape *before)
{
    struct shape shape = *before;
    if (pair->rows == ROWS_FIRST || pair->rows == ROWS_LAST)
        shape.dims[0] = pair->rows_after;
    return shape;
}

/* How many elements of the original, from the first on, the rewritten form has as well. */
static size_t compared(const struct pair *pair, const struct shape *before, size_t count)
{
    if (pair->rows != ROWS_FIRST || pair->rows_after >= pair->rows_before || before->rank < 1)
        return count;
    return count / (size_t)before->dims[0] * (size_t)pair->rows_after;
}

/* Where the rewritten form has element `i` of the original. */
static size_t place_after(const struct pair *pair, const struct shape *before, size_t count, size_t i)
{
    if (pair->rows == ROWS_ALL || pair->rows == ROWS_FIRST || !count)
        return i;
    size_t row = count / (size_t)before->dims[0];
    if (pair->rows == ROWS_LAST)
        return i + (size_t)(pair->rows_after - pair->rows_before) * row;
    return ((size_t)before->dims[0] - 1 - i / row) * row + i % row;
}

/* --- The references --- */

static const struct value *output_at(const struct result *result, size_t place)
{
    return place < result->count ? &result->outputs[place] : NULL;
}

static bool decode(struct bounded *b, const struct result *reference, size_t place)
{
    const struct value *value = output_at(reference, place);
    return value && value->kind == VALUE_TENSOR && value->tensors[0].type != DTYPE_STRING &&
           bounds_from_wire(b, &value->tensors[0], &reference->bounds[place], NULL) == 0;
}

/* As the judge does: bounds are doubles that were themselves rounded. */
static const double rounding_of_bounds = 1 + 0x1p-40;

/* How far apart two right answers may be, or -1 when the reference contradicts itself. The exact values are
 * the same number up to the last bits of long double, but that is not relied on. */
static double allowed_for(const struct bounded *a, size_t i, const struct bounded *b, size_t j)
{
    double hard = bounded_hard(a, i) + bounded_hard(b, j);
    long double x = a->value[i], y = b->value[j];
    if (isinf(hard))
        return INFINITY;
    if (x == y || (isnan(x) && isnan(y)))
        return hard * rounding_of_bounds;
    double apart = (double)fabsl(x - y);
    return apart <= hard * rounding_of_bounds ? (hard + apart) * rounding_of_bounds : -1;
}

static void blame_rewriting(struct pair *pair, const char *output, const char *what)
{
    pair->bad_rewriting = true;
    snprintf(pair->reason, sizeof pair->reason, "for output %.60s the reference gives another %s", output,
             what);
}

static void join_bounds(struct pair *pair, size_t output, const struct bounded *a, const struct bounded *b)
{
    struct pair_bounds *to = &pair->bounds[output];
    struct shape after = shape_after(pair, &a->shape);
    *to = (struct pair_bounds){.type = a->type, .before = a->shape, .after = b->shape};
    to->count = compared(pair, &a->shape, a->count);
    to->compared = has_rows(pair, &a->shape, &b->shape);
    if (!to->compared)
        return;
    if (a->type != b->type || !shape_equal(&after, &b->shape)) {
        blame_rewriting(pair, pair->outputs[output], a->type != b->type ? "type" : "shape");
        return;
    }
    to->allowed = memory_zeroed(a->count + 1, sizeof *to->allowed);
    for (size_t i = 0; i < to->count; i++) {
        to->allowed[i] = allowed_for(a, i, b, place_after(pair, &a->shape, a->count, i));
        if (to->allowed[i] < 0)
            blame_rewriting(pair, pair->outputs[output], "value");
    }
}

static bool answered(const struct result *reference)
{
    return reference && reference->outcome == OUTCOME_OK && reference->bounds;
}

void pair_set_references(struct pair *pair, const struct result *original_reference,
                         const struct result *rewritten_reference)
{
    pair->invalid = original_reference && original_reference->outcome == OUTCOME_REJECTED;
    if (original_reference && original_reference->outcome == OUTCOME_OK && rewritten_reference &&
        rewritten_reference->outcome == OUTCOME_REJECTED) {
        pair->bad_rewriting = true;
        snprintf(pair->reason, sizeof pair->reason, "the reference calls the rewritten case invalid: %.120s",
                 rewritten_reference->message ? rewritten_reference->message : "");
    }
    if (!answered(original_reference) || !answered(rewritten_reference))
        return;
    pair->by_reference = true;
    pair->bounds = memory_zeroed(pair->n_outputs + 1, sizeof *pair->bounds);
    for (size_t i = 0; i < pair->n_outputs && pair->by_reference; i++) {
        struct bounded a, b;
        bounded_init(&a);
        bounded_init(&b);
        pair->by_reference =
            decode(&a, original_reference, i) && decode(&b, rewritten_reference, pair->places[i]);
        if (pair->by_reference)
            join_bounds(pair, i, &a, &b);
        bounded_release(&a);
        bounded_release(&b);
    }
}

/* --- The pair --- */

static const struct tensor *input_named(const struct test_case *test, const char *name)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (name && test->inputs[i].name && strcmp(test->inputs[i].name, name) == 0 &&
            test->inputs[i].kind == VALUE_TENSOR)
            return &test->inputs[i].tensors[0];
    return NULL;
}

/* The inputs have the same number of rows each; the first that has any, or that gets more, tells it. */
static void count_rows(struct pair *pair, const struct test_case *origin, const struct test_case *rewritten)
{
    for (size_t i = 0; i < origin->n_inputs; i++) {
        const struct tensor *before = input_named(origin, origin->inputs[i].name);
        const struct tensor *after = input_named(rewritten, origin->inputs[i].name);
        if (!before || !after || before->shape.rank < 1 || after->shape.rank < 1)
            continue;
        pair->rows_before = before->shape.dims[0];
        pair->rows_after = after->shape.dims[0];
        if (pair->rows_before != pair->rows_after)
            return;
    }
}

static void find_outputs(struct pair *pair, const Onnx__GraphProto *original,
                         const Onnx__GraphProto *rewritten)
{
    pair->n_outputs = original->n_output;
    pair->outputs = memory_zeroed(pair->n_outputs, sizeof *pair->outputs);
    pair->places = memory_zeroed(pair->n_outputs, sizeof *pair->places);
    for (size_t i = 0; i < pair->n_outputs; i++) {
        size_t place = 0;
        pair->outputs[i] = original->output[i]->name;
        while (place < rewritten->n_output && strcmp(rewritten->output[place]->name, pair->outputs[i]) != 0)
            place++;
        pair->places[i] = place;
        if (place == rewritten->n_output) {
            pair->bad_rewriting = true;
            snprintf(pair->reason, sizeof pair->reason, "it loses output %.60s", pair->outputs[i]);
        }
    }
}

int pair_open(struct pair *pair, const struct test_case *rewritten, const struct result *original_reference,
              const struct result *rewritten_reference, struct error *err)
{
    const struct equivalence *equivalence = rewritten->equivalence;
    *pair = (struct pair){
        .relation = equivalence->relation,
        .rows = equivalence->rows,
        .bytes = equivalence->bytes,
        .random = rewritten->random || test_case_draws_numbers(equivalence->origin),
        .nothing_new = equivalence->nothing_new,
    };
    const struct model *model = test_case_model(equivalence->origin, err);
    const struct model *form = test_case_model(rewritten, err);
    if (!model || !form)
        return -1;
    if (pair->rows != ROWS_ALL)
        count_rows(pair, equivalence->origin, rewritten);
    find_outputs(pair, model->graph, form->graph);
    pair_set_references(pair, original_reference, rewritten_reference);
    return 0;
}

void pair_close(struct pair *pair)
{
    for (size_t i = 0; pair->bounds && i < pair->n_outputs; i++)
        free(pair->bounds[i].allowed);
    free(pair->bounds);
    free(pair->outputs);
    free(pair->places);
    *pair = (struct pair){0};
}

/* --- Two answers --- */

/* What the comparison found so far, besides what the verdict counts. */
struct comparison {
    const struct pair *pair;
    struct verdict *verdict;
    size_t rounding;    /* elements that differ within their bounds */
    bool apart;         /* some element that nothing bounds differs; the first of them: */
    size_t output;      /* its output */
    size_t element;     /* and place */
    long double a, b;   /* and values */
    bool form;          /* type, shape or kind differ: the verdict's text says how */
    bool by_tolerance;  /* how the output at hand is judged */
    double floor, rtol; /* its tolerance */
};

static void keep_worst(struct comparison *c, size_t output, size_t element, long double a, long double b,
                       double factor)
{
    struct verdict *verdict = c->verdict;
    if (verdict->wrong++ && !(factor > verdict->factor))
        return;
    verdict->factor = factor;
    verdict->output = output;
    verdict->element = element;
    verdict->expected = a;
    verdict->got = b;
}

/* Whether two numbers are the same by the tolerance of ONNX's own test cases. */
static bool alike(long double a, long double b)
{
    double magnitude = fmax(fabs((double)a), fabs((double)b));
    return isfinite(magnitude) &&
           (double)fabsl(a - b) <= metrics_conformance.atol + metrics_conformance.rtol * magnitude;
}

/*
 * Acceptance is positive: a NaN on one side only is never within the bounds. Where nothing bounds the
 * difference, two numbers that are alike count as judged; what is farther apart may be the work of rounding
 * and is undecided.
 */
static void compare_element(struct comparison *c, size_t output, size_t element, long double a, long double b,
                            double allowed)
{
    bool same = a == b || (isnan(a) && isnan(b)), bounded = !isinf(allowed);
    c->verdict->total++;
    bool judged = bounded || c->pair->relation == RELATION_BITS || same || alike(a, b);
    c->verdict->judged += judged;
    c->verdict->undecided += !judged;
    if (same)
        return;
    if (!bounded) {
        if (!c->apart) {
            c->apart = true;
            c->output = output;
            c->element = element;
            c->a = a;
            c->b = b;
        }
        return;
    }
    double error = isfinite(a) && isfinite(b) ? (double)fabsl(a - b) : INFINITY;
    if (error <= allowed)
        c->rounding++;
    else
        keep_worst(c, output, element, a, b, allowed > 0 ? error / allowed : INFINITY);
}

/* A type or shape that differs outweighs numbers; the first one is told. */
__attribute__((format(printf, 3, 4))) static void form_differs(struct comparison *c, size_t output,
                                                               const char *format, ...)
{
    if (c->form)
        return;
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->form = true;
    c->verdict->output = output;
    snprintf(c->verdict->text, sizeof c->verdict->text, "output %.40s %s", c->pair->outputs[output], text);
}

/* Unless the user has one: both tolerances at once, so that neither rounding on large numbers nor that of
 * narrow types alarms. */
static void choose_tolerance(struct comparison *c, const struct tensor *a)
{
    const struct metrics_tolerance *own = c->pair->tolerance;
    enum { UNITS = 16 };
    double unit = dtype_is_float(a->type) ? UNITS * unit_of(a->type) : 0;
    double scale = fmax(metrics_conformance.scale, unit), largest = 0;
    c->by_tolerance = true;
    c->floor = c->rtol = 0;
    if (!dtype_is_float(a->type))
        return;
    if (own) {
        c->floor = own->atol;
        c->rtol = own->rtol;
        return;
    }
    for (size_t i = 0; i < a->count; i++) {
        double magnitude = fabs((double)tensor_get(a, i));
        if (isfinite(magnitude) && magnitude > largest)
            largest = magnitude;
    }
    c->floor = fmax(metrics_eagle.atol, scale * largest);
    c->rtol = fmax(metrics_conformance.rtol, unit);
}

static void compare_numbers(struct comparison *c, size_t output, const struct tensor *a,
                            const struct tensor *b, const double *allowed)
{
    size_t count = compared(c->pair, &a->shape, a->count);
    for (size_t i = 0; i < count; i++) {
        long double x = tensor_get(a, i);
        long double y = tensor_get(b, place_after(c->pair, &a->shape, a->count, i));
        double tolerance = c->by_tolerance && isfinite(y) ? c->floor + c->rtol * (double)fabsl(y) : 0;
        compare_element(c, output, i, x, y, allowed ? allowed[i] : tolerance);
    }
}

/* Bytes, as programs that must repeat see them: -0 is not 0, and each NaN is only itself. */
static void compare_bytes(struct comparison *c, size_t output, const struct tensor *a, const struct tensor *b)
{
    struct verdict *verdict = c->verdict;
    size_t size = dtype_size(a->type), count = compared(c->pair, &a->shape, a->count);
    if (a->type == DTYPE_STRING)
        return;
    for (size_t i = 0; i < count; i++) {
        size_t place = place_after(c->pair, &a->shape, a->count, i);
        if (memcmp((const char *)a->data + i * size, (const char *)b->data + place * size, size) == 0 ||
            verdict->other_bytes++)
            continue;
        verdict->bytes_output = output;
        verdict->bytes_element = i;
        verdict->bytes_before = tensor_get(a, i);
        verdict->bytes_after = tensor_get(b, place);
    }
}

/* The real and imaginary parts, as a tensor of real numbers. */
static struct tensor as_real(const struct tensor *tensor)
{
    struct tensor real = *tensor;
    if (tensor->type != DTYPE_COMPLEX64 && tensor->type != DTYPE_COMPLEX128)
        return real;
    real.type = tensor->type == DTYPE_COMPLEX64 ? DTYPE_FLOAT : DTYPE_DOUBLE;
    real.count *= 2;
    return real;
}

static void compare_by_tolerance(struct comparison *c, size_t output, const struct tensor *a,
                                 const struct tensor *b)
{
    struct tensor x = as_real(a), y = as_real(b);
    if (a->type == DTYPE_STRING) {
        struct metrics_difference difference;
        if (c->pair->rows != ROWS_ALL)
            return;
        metrics_compare(a, b, &metrics_eagle, &difference);
        c->verdict->total += a->count;
        c->verdict->judged += a->count;
        if (difference.beyond)
            form_differs(c, output, "has other strings in the rewritten form (%zu of %zu)", difference.beyond,
                         difference.count);
        return;
    }
    choose_tolerance(c, &x);
    compare_numbers(c, output, &x, &y, NULL);
}

/* Two tensors that should be of one type and, up to rows, of one shape. */
static void compare_tensors(struct comparison *c, size_t output, const struct tensor *a,
                            const struct tensor *b)
{
    char before[SHAPE_TEXT_SIZE], after[SHAPE_TEXT_SIZE];
    const struct pair_bounds *bounds = c->pair->by_reference ? &c->pair->bounds[output] : NULL;
    if (bounds ? !bounds->compared : !has_rows(c->pair, &a->shape, &b->shape))
        return;
    struct shape shape = shape_after(c->pair, &a->shape);
    if (a->type != b->type || !shape_equal(&shape, &b->shape)) {
        form_differs(c, output, "is %s %.60s in the original and %s %.60s in the rewritten form",
                     dtype_name(a->type), shape_text(&a->shape, before), dtype_name(b->type),
                     shape_text(&b->shape, after));
        return;
    }
    c->by_tolerance = false;
    compare_bytes(c, output, a, b);
    if (!bounds)
        compare_by_tolerance(c, output, a, b);
    else if (a->type == bounds->type && shape_equal(&a->shape, &bounds->before))
        compare_numbers(c, output, a, b, bounds->allowed);
    /* Else both answers have the same wrong form: nothing bounds their elements. */
}

static void compare_values(struct comparison *c, size_t output, const struct value *a, const struct value *b)
{
    if (!b || a->kind != b->kind || a->count != b->count) {
        form_differs(c, output,
                     b ? "is of another kind in the rewritten form"
                       : "is missing in the answer to the rewritten form");
        return;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (c->pair->rows != ROWS_ALL && a->tensors[i].shape.rank < 1)
            continue;
        compare_tensors(c, output, &a->tensors[i], &b->tensors[i]);
    }
}

/* --- The verdict --- */

static void describe(const struct comparison *c)
{
    struct verdict *verdict = c->verdict;
    char explained[100];
    if (!c->pair->by_reference)
        snprintf(explained, sizeof explained, ": beyond the tolerance");
    else if (isinf(verdict->factor))
        snprintf(explained, sizeof explained, ", no rounding explains it");
    else
        snprintf(explained, sizeof explained, ": %.3g times what rounding can explain", verdict->factor);
    snprintf(verdict->text, sizeof verdict->text,
             "output %.60s[%zu] is %.9Lg, and %.9Lg in the rewritten form%s (%zu of %zu elements)",
             c->pair->outputs[verdict->output], verdict->element, verdict->expected, verdict->got, explained,
             verdict->wrong, verdict->total);
}

/* When rounding differs anywhere, it may be what made an element jump. */
static bool jumps_for_no_reason(const struct comparison *c)
{
    return c->pair->relation == RELATION_BITS && c->apart && !c->rounding;
}

static void describe_jump(const struct comparison *c)
{
    struct verdict *verdict = c->verdict;
    verdict->output = c->output;
    verdict->element = c->element;
    verdict->expected = c->a;
    verdict->got = c->b;
    verdict->factor = INFINITY;
    verdict->wrong = 1;
    snprintf(verdict->text, sizeof verdict->text,
             "output %.60s[%zu] is %.9Lg, and %.9Lg in the rewritten form, though both are the same work",
             c->pair->outputs[c->output], c->element, c->a, c->b);
}

/* The same work gave other bytes: no reference is needed to call that nondeterministic. */
static bool must_repeat(const struct comparison *c)
{
    return c->pair->bytes && c->pair->relation == RELATION_BITS && c->verdict->other_bytes;
}

static void describe_bytes(struct verdict *verdict, const char *output)
{
    char more[60] = "";
    if (verdict->other_bytes > 1)
        snprintf(more, sizeof more, " and %zu more elements", verdict->other_bytes - 1);
    verdict->of_pair = true;
    verdict->kind = VERDICT_NONDETERMINISTIC;
    verdict->output = verdict->bytes_output;
    verdict->element = verdict->bytes_element;
    verdict->expected = verdict->bytes_before;
    verdict->got = verdict->bytes_after;
    snprintf(verdict->text, sizeof verdict->text,
             "output %.60s[%zu]%s: the same work gave other bytes, %.9Lg and %.9Lg, within rounding", output,
             verdict->element, more, verdict->expected, verdict->got);
}

static void conclude(const struct comparison *c)
{
    struct verdict *verdict = c->verdict;
    verdict->of_pair = c->form || verdict->wrong || jumps_for_no_reason(c);
    if (!verdict->of_pair && must_repeat(c)) {
        describe_bytes(verdict, c->pair->outputs[verdict->bytes_output]);
    } else if (verdict->of_pair) {
        verdict->kind = c->pair->by_reference ? VERDICT_INCONSISTENT
                        : must_repeat(c)      ? VERDICT_NONDETERMINISTIC
                                              : VERDICT_SUSPECT;
        if (!c->form && verdict->wrong)
            describe(c);
        else if (!c->form)
            describe_jump(c);
    } else if (verdict->total && !verdict->judged) {
        verdict->kind = VERDICT_UNDECIDED;
        snprintf(verdict->text, sizeof verdict->text, "none of %zu elements can be judged", verdict->total);
    } else if (!verdict->total && c->pair->rows != ROWS_ALL) {
        verdict->kind = VERDICT_UNDECIDED;
        snprintf(verdict->text, sizeof verdict->text, "no output has the rows of the inputs");
    }
}

/* The original is answered and the rewritten form is refused. Where the reference knows the case, the judge
 * decides (judge/judge.h). */
static void judge_refusal(const struct pair *pair, const struct result *rewritten, struct verdict *verdict)
{
    enum verdict_kind kind = verdict_of_outcome(rewritten->outcome);
    const char *message = rewritten->message ? rewritten->message : "";
    snprintf(verdict->text, sizeof verdict->text, "the rewritten form has no answer (%s)%s%s",
             outcome_name(rewritten->outcome), *message ? ": " : "", message);
    if (!verdict_is(kind, CLASS_REFUSAL) || pair->by_reference || !pair->nothing_new)
        return;
    verdict->kind = kind;
    verdict->at_stage = true;
    verdict_say(verdict, "at %s, though it answers the original: %s", stage_name(rewritten->stage), message);
}

/*
 * The other way round: the original is refused and the rewritten form is answered. When the two are made of
 * the same things, the refusal is a fault.
 */
static void judge_refused_original(const struct pair *pair, const struct result *original,
                                   struct verdict *verdict)
{
    enum verdict_kind kind = verdict_of_outcome(original->outcome);
    snprintf(verdict->text, sizeof verdict->text, "not judged, as it does not answer the original (%s)",
             outcome_name(original->outcome));
    if (!verdict_is(kind, CLASS_REFUSAL) || pair->by_reference || !pair->nothing_new || verdict->unanswered)
        return;
    verdict->kind = kind;
    verdict->at_stage = true;
    verdict_say(verdict, "at %s, though it answers the rewritten form: %s", stage_name(original->stage),
                original->message ? original->message : "");
}

/* What is said when there are no two answers that must be alike. True when that is so. */
static bool judge_absence(const struct pair *pair, const struct result *original,
                          const struct result *rewritten, struct verdict *verdict)
{
    verdict->unanswered = rewritten->outcome != OUTCOME_OK;
    if (pair->bad_rewriting)
        verdict_say(verdict, "not judged, as the rewriting is at fault: %s", pair->reason);
    else if (pair->random)
        snprintf(verdict->text, sizeof verdict->text, "not judged, as the model draws random numbers");
    else if (pair->invalid)
        snprintf(verdict->text, sizeof verdict->text, "not judged, as the original is not valid");
    else if (original->outcome != OUTCOME_OK)
        judge_refused_original(pair, original, verdict);
    else if (verdict->unanswered)
        judge_refusal(pair, rewritten, verdict);
    else
        return false;
    return true;
}

void pair_judge(const struct pair *pair, const struct result *original, const struct result *rewritten,
                struct verdict *verdict)
{
    struct comparison comparison = {.pair = pair, .verdict = verdict};
    *verdict = (struct verdict){.kind = VERDICT_UNTESTED};
    if (judge_absence(pair, original, rewritten, verdict))
        return;
    verdict->kind = VERDICT_AGREES;
    for (size_t i = 0; i < pair->n_outputs; i++) {
        const struct value *before = output_at(original, i);
        if (before)
            compare_values(&comparison, i, before, output_at(rewritten, pair->places[i]));
    }
    conclude(&comparison);
}
