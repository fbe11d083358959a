#include "judge/verdict.h"

#include "base/arena.h"
#include "base/wrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct verdict_row rows[VERDICT_COUNT] = {
    [VERDICT_UNTESTED] = {.word = "untested",
                          .sentence = "was not tested",
                          .says = {"was not asked about", "were not asked about"},
                          .class = CLASS_NOTHING,
                          .heard = HEARD_NOTHING,
                          .tone = TONE_WARN,
                          .rank = 0,
                          .loudness = 0,
                          .letter = '.'},
    [VERDICT_AGREES] = {.word = "agrees",
                        .sentence = "agrees with the reference",
                        .says = {"is computed correctly by", "are computed correctly by"},
                        .class = CLASS_AGREES,
                        .heard = HEARD_JUDGED,
                        .tone = TONE_GOOD,
                        .rank = 1,
                        .loudness = 2,
                        .letter = 'o'},
    [VERDICT_UNSUPPORTED] = {.word = "unsupported",
                             .sentence = "does not support this",
                             .says = {"does not support", "do not support"},
                             .class = CLASS_LACK,
                             .heard = HEARD_LACK,
                             .tone = TONE_WARN,
                             .rank = 2,
                             .loudness = 3,
                             .letter = 'u'},
    [VERDICT_UNDECIDED] = {.word = "undecided",
                           .sentence = "cannot be judged",
                           .says = {"cannot be judged on", "cannot be judged on"},
                           .class = CLASS_UNDECIDED,
                           .heard = HEARD_UNJUDGED,
                           .tone = TONE_WARN,
                           .rank = 3,
                           .loudness = 1,
                           .letter = '?'},
    [VERDICT_OPEN] = {.word = "open",
                      .sentence = "cannot be judged, as ONNX leaves this result unspecified",
                      .says = {"cannot be judged on", "cannot be judged on"},
                      .class = CLASS_OPEN,
                      .heard = HEARD_UNJUDGED,
                      .tone = TONE_WARN,
                      .rank = 4,
                      .loudness = 1,
                      .letter = '?'},
    [VERDICT_MISTRUSTED] = {.word = "mistrusted",
                            .sentence = "is mistrusted",
                            .says = {"is mistrusted on", "are mistrusted on"},
                            .class = CLASS_DOUBT,
                            .heard = HEARD_JUDGED,
                            .tone = TONE_WARN,
                            .rank = 5,
                            .loudness = 3,
                            .letter = '?'},
    [VERDICT_IMPRECISE] = {.word = "imprecise",
                           .sentence = "is imprecise, though no operator is outside its bound",
                           .says = {"is imprecise on", "are imprecise on"},
                           .class = CLASS_IMPRECISE,
                           .heard = HEARD_JUDGED,
                           .tone = TONE_WARN,
                           .rank = 6,
                           .loudness = 4,
                           .letter = '?',
                           .kin = KIN_NUMBERS},
    [VERDICT_SUSPECT] = {.word = "suspect",
                         .sentence = "is suspect",
                         .says = {"is suspect on", "are suspect on"},
                         .class = CLASS_SUSPECT,
                         .heard = HEARD_JUDGED,
                         .tone = TONE_WARN,
                         .rank = 7,
                         .loudness = 5,
                         .letter = '?'},
    [VERDICT_WRONG] = {.word = "wrong",
                       .sentence = "is wrong",
                       .says = {"is wrong on", "are wrong on"},
                       .class = CLASS_NUMBERS,
                       .heard = HEARD_FINDING,
                       .tone = TONE_BAD,
                       .rank = 8,
                       .loudness = 7,
                       .letter = 'w',
                       .kin = KIN_NUMBERS},
    [VERDICT_NAN] = {.word = "nan",
                     .sentence = "is wrong",
                     .says = {"is wrong on", "are wrong on"},
                     .class = CLASS_NUMBERS,
                     .heard = HEARD_FINDING,
                     .tone = TONE_BAD,
                     .rank = 9,
                     .loudness = 7,
                     .letter = 'w',
                     .kin = KIN_NUMBERS},
    [VERDICT_SHAPE] = {.word = "shape",
                       .sentence = "is wrong",
                       .says = {"is wrong on", "are wrong on"},
                       .class = CLASS_FORM,
                       .heard = HEARD_FINDING,
                       .tone = TONE_BAD,
                       .rank = 10,
                       .loudness = 7,
                       .letter = 'w',
                       .kin = KIN_SHAPE,
                       .every_type = true},
    [VERDICT_DTYPE] = {.word = "dtype",
                       .sentence = "is wrong",
                       .says = {"is wrong on", "are wrong on"},
                       .class = CLASS_FORM,
                       .heard = HEARD_FINDING,
                       .tone = TONE_BAD,
                       .rank = 11,
                       .loudness = 7,
                       .letter = 'w',
                       .kin = KIN_TYPE},
    [VERDICT_REJECTED] = {.word = "rejected",
                          .sentence = "refuses a valid case",
                          .says = {"refuses", "refuse"},
                          .deed = "is refused at",
                          .class = CLASS_REFUSAL,
                          .heard = HEARD_FINDING,
                          .tone = TONE_BAD,
                          .rank = 12,
                          .loudness = 7,
                          .letter = 'r',
                          .kin = KIN_REFUSAL,
                          .evidence = EVIDENCE_MESSAGE,
                          .calls_invalid = true,
                          .narrowed = true},
    [VERDICT_FAILED] = {.word = "failed",
                        .sentence = "fails on a valid case",
                        .says = {"fails on", "fail on"},
                        .deed = "fails at",
                        .class = CLASS_REFUSAL,
                        .heard = HEARD_FINDING,
                        .tone = TONE_BAD,
                        .rank = 13,
                        .loudness = 7,
                        .letter = 'r',
                        .kin = KIN_REFUSAL,
                        .evidence = EVIDENCE_MESSAGE,
                        .narrowed = true},
    [VERDICT_LIMITATION] = {.word = "limitation",
                            .sentence = "does not take this form",
                            .says = {"does not take", "do not take"},
                            .deed = "is not taken at",
                            .class = CLASS_LIMITED,
                            .heard = HEARD_LIMITED,
                            .tone = TONE_WARN,
                            .rank = 24,
                            .loudness = 6,
                            .letter = 'r',
                            .kin = KIN_REFUSAL,
                            .evidence = EVIDENCE_MESSAGE,
                            .narrowed = true},
    [VERDICT_CRASH] = {.word = "crash",
                       .sentence = "crashes",
                       .says = {"crashes on", "crash on"},
                       .deed = "crashes at",
                       .class = CLASS_DEATH,
                       .heard = HEARD_FINDING,
                       .tone = TONE_BAD,
                       .rank = 14,
                       .loudness = 7,
                       .letter = 'c',
                       .kin = KIN_CRASH,
                       .evidence = EVIDENCE_STACK,
                       .every_type = true,
                       .by_signal = true,
                       .narrowed = true},
    [VERDICT_HANG] = {.word = "hang",
                      .sentence = "hangs",
                      .says = {"hangs on", "hang on"},
                      .deed = "hangs at",
                      .class = CLASS_DEATH,
                      .heard = HEARD_FINDING,
                      .tone = TONE_BAD,
                      .rank = 15,
                      .loudness = 7,
                      .letter = 'h',
                      .evidence = EVIDENCE_STACK,
                      .every_type = true,
                      .to_deadline = true},
    [VERDICT_MEMORY] = {.word = "memory",
                        .sentence = "does not fit into the memory allowed (--memory)",
                        .says = {"does not fit into --memory on", "do not fit into --memory on"},
                        .class = CLASS_TROUBLE,
                        .heard = HEARD_NOTHING,
                        .tone = TONE_WARN,
                        .rank = 16,
                        .loudness = 5,
                        .letter = '?'},
    [VERDICT_GARBAGE] = {.word = "garbage",
                         .sentence = "breaks the protocol",
                         .says = {"breaks the protocol on", "break the protocol on"},
                         .class = CLASS_DEATH,
                         .heard = HEARD_FINDING,
                         .tone = TONE_BAD,
                         .rank = 17,
                         .loudness = 7,
                         .letter = 'c',
                         .evidence = EVIDENCE_MESSAGE},
    [VERDICT_INCONSISTENT] = {.word = "inconsistent",
                              .sentence = "gives another answer to an equivalent model",
                              .says = {"gives other answers to equivalent forms of",
                                       "give other answers to equivalent forms of"},
                              .deed = "gives another result in an equivalent model",
                              .class = CLASS_UNSTABLE,
                              .heard = HEARD_FINDING,
                              .tone = TONE_BAD,
                              .rank = 18,
                              .loudness = 7,
                              .letter = 'w',
                              .of_forms = true},
    [VERDICT_NONDETERMINISTIC] = {.word = "nondeterministic",
                                  .sentence = "is nondeterministic",
                                  .says = {"is nondeterministic on", "are nondeterministic on"},
                                  .deed = "gives different results in repeated runs",
                                  .class = CLASS_UNSTABLE,
                                  .heard = HEARD_FINDING,
                                  .tone = TONE_BAD,
                                  .rank = 19,
                                  .loudness = 7,
                                  .letter = 'w',
                                  .kin = KIN_NUMBERS},
    [VERDICT_UNSAID] = {.word = "unsaid",
                        .sentence = "is right by one reading of what ONNX does not say",
                        .says = {"reads otherwise than the reference what ONNX does not say in",
                                 "read otherwise than the reference what ONNX does not say in"},
                        .class = CLASS_UNSAID,
                        .heard = HEARD_UNSAID,
                        .tone = TONE_WARN,
                        .rank = 25,
                        .loudness = 6,
                        .letter = 'w',
                        .kin = KIN_NUMBERS},
    [VERDICT_UNWRITTEN] = {.word = "unwritten",
                           .sentence = "reads memory that it has not written",
                           .says = {"reads memory that it has not written on",
                                    "read memory that they have not written on"},
                           .deed = "reads memory that it has not written",
                           .class = CLASS_UNSTABLE,
                           .heard = HEARD_FINDING,
                           .tone = TONE_BAD,
                           .rank = 26,
                           .loudness = 7,
                           .letter = 'w',
                           .of_forms = true,
                           .of_memory = true},
    [VERDICT_ACCEPTED] = {.word = "accepted",
                          .sentence = "answers a model that ONNX forbids",
                          .says = {"accepts what ONNX forbids in", "accept what ONNX forbids in"},
                          .deed = "is accepted, though ONNX forbids it",
                          .class = CLASS_LENIENT,
                          .heard = HEARD_LENIENT,
                          .tone = TONE_WARN,
                          .rank = 21,
                          .loudness = 6,
                          .letter = 'w'},
    [VERDICT_NO_ENGINE] = {.word = "no engine",
                           .sentence = "fails",
                           .says = {"did not start for", "did not start for"},
                           .class = CLASS_TROUBLE,
                           .heard = HEARD_NOTHING,
                           .tone = TONE_BAD,
                           .rank = 20,
                           .loudness = 7,
                           .letter = '.',
                           .not_started = true},
    [VERDICT_ADAPTER] = {.word = "adapter",
                         .sentence = "was not asked, because its adapter failed",
                         .says = {"was not asked, because its adapter fails on",
                                  "were not asked, because their adapters fail on"},
                         .class = CLASS_TROUBLE,
                         .heard = HEARD_NOTHING,
                         .tone = TONE_WARN,
                         .rank = 22,
                         .loudness = 5,
                         .letter = '?'},
    [VERDICT_LOSSY] = {.word = "loses precision",
                       .sentence =
                           "loses precision by the types of the model that it wrote, and by nothing else",
                       .says = {"loses precision by the types that it writes, and by nothing else, on",
                                "lose precision by the types that they write, and by nothing else, on"},
                       .class = CLASS_LOSSY,
                       .heard = HEARD_JUDGED,
                       .tone = TONE_WARN,
                       .rank = 27,
                       .loudness = 4,
                       .letter = '?',
                       .kin = KIN_NUMBERS},
    [VERDICT_EXPECTATION] = {.word = "expectation",
                             .sentence = "computes this model as written; the expected outputs do not belong "
                                         "to this model and input: check export or preprocessing",
                             .says = {"is computed as written by", "are computed as written by"},
                             .class = CLASS_REFUTED,
                             .heard = HEARD_MISTAKE,
                             .tone = TONE_WARN,
                             .rank = 23,
                             .loudness = 6,
                             .letter = 'o'},
};

bool verdict_exists(enum verdict_kind kind)
{
    return (unsigned)kind < VERDICT_COUNT;
}

const struct verdict_row *verdict_row(enum verdict_kind kind)
{
    return &rows[verdict_exists(kind) ? kind : VERDICT_UNTESTED];
}

const char *verdict_name(enum verdict_kind kind)
{
    return verdict_row(kind)->word;
}

bool verdict_parse(const char *word, enum verdict_kind *kind)
{
    for (enum verdict_kind each = 0; verdict_exists(each); each++)
        if (strcmp(rows[each].word, word) == 0) {
            *kind = each;
            return true;
        }
    return false;
}

bool verdict_is(enum verdict_kind kind, unsigned classes)
{
    return verdict_row(kind)->class & classes;
}

uint64_t verdict_sum(const uint64_t counts[VERDICT_COUNT], unsigned classes)
{
    uint64_t sum = 0;
    for (enum verdict_kind kind = 0; verdict_exists(kind); kind++)
        sum += verdict_is(kind, classes) ? counts[kind] : 0;
    return sum;
}

bool verdict_is_finding(enum verdict_kind kind)
{
    return verdict_is_bug(kind) || verdict_is(kind, CLASS_APART);
}

bool verdict_is_bug(enum verdict_kind kind)
{
    return verdict_row(kind)->heard == HEARD_FINDING;
}

struct verdict verdict_begin(bool gradient)
{
    return (struct verdict){.kind = VERDICT_AGREES, .gradient = gradient};
}

bool verdict_loses_nan(const struct verdict *verdict)
{
    return verdict->kind == VERDICT_NAN && isnan(verdict->expected);
}

void verdict_lose_precision(struct verdict *verdict, const char *formats, double share)
{
    verdict->kind = VERDICT_LOSSY;
    verdict_say(verdict,
                "its model has numbers of %s, which cost %.2g %% of the answer: what these types must",
                formats, 100 * share);
}

void verdict_leave_unsaid(struct verdict *verdict)
{
    verdict->kind = VERDICT_UNSAID;
}

void verdict_doubt(struct verdict *verdict)
{
    verdict->kind = VERDICT_MISTRUSTED;
}

bool verdict_is_earned(const struct verdict *verdict)
{
    return rows[verdict->kind].heard == HEARD_JUDGED && !verdict->blank &&
           (verdict->judged > verdict->vague || !verdict->total);
}

enum verdict_kind verdict_of_outcome(enum outcome outcome)
{
    static const enum verdict_kind kinds[OUTCOME_COUNT] = {
        [OUTCOME_UNSUPPORTED] = VERDICT_UNSUPPORTED,
        [OUTCOME_REJECTED] = VERDICT_REJECTED,
        [OUTCOME_FAILED] = VERDICT_FAILED,
        [OUTCOME_CRASH] = VERDICT_CRASH,
        [OUTCOME_HANG] = VERDICT_HANG,
        [OUTCOME_MEMORY] = VERDICT_MEMORY,
        [OUTCOME_GARBAGE] = VERDICT_GARBAGE,
        [OUTCOME_NO_ENGINE] = VERDICT_NO_ENGINE,
        [OUTCOME_ADAPTER] = VERDICT_ADAPTER,
    };
    return kinds[outcome];
}

struct reading {
    enum verdict_kind kind; /* agrees, imprecise, suspect, wrong, nan, undecided or open */
    double factor, deviations;
};

/* Bounds are doubles that were themselves rounded on the way, which shows where they are half an ulp of a
 * float64. */
static const long double rounding_of_bounds = 1 + 0x1p-40L;

static struct reading read_element(long double want, double hard, double likely, long double got)
{
    if (bound_is_some_number(hard, likely) && !isfinite(got))
        return (struct reading){VERDICT_IMPRECISE, 0, 0};
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
        return rows[now->kind].rank > rows[so_far->kind].rank;
    return now->kind == VERDICT_SUSPECT ? now->deviations > so_far->deviations : now->factor > so_far->factor;
}

static void count_element(struct verdict *verdict, enum verdict_kind kind)
{
    verdict->total++;
    verdict->undecided += kind == VERDICT_UNDECIDED;
    verdict->open += kind == VERDICT_OPEN;
    verdict->judged += !verdict_is(kind, CLASS_UNJUDGED);
    verdict->wrong += verdict_is(kind, CLASS_NUMBERS);
    verdict->suspect += kind == VERDICT_SUSPECT;
    verdict->strange += kind == VERDICT_IMPRECISE;
}

/* The largest error that is not noticed. */
static double passes(double hard, double likely)
{
    double suspect = verdict_unsuspected(likely);
    return suspect < hard ? suspect : hard;
}

/* Of the judged elements of one output: the largest finite value, error and error that passes. */
struct extremes {
    long double value, error;
    double passes;
};

static void note_extremes(struct extremes *extremes, long double want, double hard, double likely,
                          long double got)
{
    if (!isfinite(want))
        return;
    long double value = fabsl(want), error = fabsl(want - got);
    extremes->value = value > extremes->value ? value : extremes->value;
    extremes->error = error > extremes->error ? error : extremes->error;
    extremes->passes = fmax(extremes->passes, passes(hard, likely));
}

static size_t count_vague(const struct bounded *expected, long double size)
{
    size_t count = 0;
    for (size_t i = 0; i < expected->count; i++)
        count += isfinite(bounded_hard(expected, i)) &&
                 (long double)passes(bounded_hard(expected, i), bounded_likely(expected, i)) >= size;
    return count;
}

/* An output of zeros has no size to measure by. */
static void keep_extremes(struct verdict *verdict, const struct bounded *expected,
                          const struct extremes *extremes)
{
    long double size = extremes->value > 0 ? extremes->value : 1;
    if ((long double)extremes->passes >= size)
        verdict->vague += count_vague(expected, size);
    double error = (double)(extremes->error / size), visible = (double)(extremes->passes / size);
    verdict->error = error > verdict->error ? error : verdict->error;
    verdict->visible = visible > verdict->visible ? visible : verdict->visible;
}

/* What judging some elements one by one would give, where all are well within their bounds. */
struct plain_row {
    double factor, deviations; /* the largest */
    size_t worst;              /* has the largest factor */
    double value, error, passes;
};

/* fmax of numbers, which is a call. */
static double larger(double a, double b)
{
    return b > a ? b : a;
}

/* Judges float32 in double. False unless all elements are finite and well within finite bounds. */
static bool judge_floats(struct plain_row *row, const struct bounded *expected, const struct tensor *got,
                         size_t first, size_t count)
{
    const double within = 1 - 0x1p-20; /* nearer to a bound the last bits may matter */
    bool plain = true;
    *row = (struct plain_row){.worst = first};
    for (size_t i = first; i < first + count; i++) {
        float is;
        memcpy(&is, (const char *)got->data + i * sizeof is, sizeof is);
        double want = (double)expected->value[i], hard = bounded_hard(expected, i),
               likely = bounded_likely(expected, i), error = fabs(want - (double)is);
        double factor = error > 0 ? error / hard : 0, deviations = error > 0 ? error / likely : 0;
        plain &= isfinite(want) && isfinite(error) && isfinite(hard) && factor <= within &&
                 deviations <= VERDICT_DEVIATIONS * within;
        row->worst = factor > row->factor ? i : row->worst;
        row->factor = larger(row->factor, factor);
        row->deviations = larger(row->deviations, deviations);
        row->value = larger(row->value, fabs(want));
        row->error = larger(row->error, error);
        row->passes = larger(row->passes, passes(hard, likely));
    }
    return plain;
}

static void add_row(struct verdict *verdict, size_t output, const struct bounded *expected,
                    const struct tensor *got, const struct plain_row *row, size_t count,
                    struct extremes *extremes)
{
    size_t worst = row->worst;
    verdict->total += count;
    verdict->judged += count;
    extremes->value = fmaxl(extremes->value, row->value);
    extremes->error = fmaxl(extremes->error, row->error);
    extremes->passes = fmax(extremes->passes, row->passes);
    if (row->factor > verdict->factor) {
        verdict->output = output;
        verdict->element = worst;
        verdict->expected = expected->value[worst];
        verdict->got = tensor_get(got, worst);
        verdict->hard = bounded_hard(expected, worst);
        verdict->factor = row->factor;
    }
    verdict->deviations = fmax(verdict->deviations, row->deviations);
}

static void judge_one_by_one(struct verdict *verdict, size_t output, const struct bounded *expected,
                             const struct tensor *got, size_t first, size_t count, struct extremes *extremes)
{
    for (size_t i = first; i < first + count; i++) {
        long double value = tensor_get(got, i);
        struct reading now =
            read_element(expected->value[i], bounded_hard(expected, i), bounded_likely(expected, i), value);
        count_element(verdict, now.kind);
        if (verdict_is(now.kind, CLASS_UNJUDGED))
            continue;
        note_extremes(extremes, expected->value[i], bounded_hard(expected, i), bounded_likely(expected, i),
                      value);
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

static void judge_elements(struct verdict *verdict, size_t output, const struct bounded *expected,
                           const struct tensor *got)
{
    enum { ROW = 256 };
    struct extremes extremes = {0};
    struct plain_row row;
    for (size_t first = 0, count; first < expected->count; first += count) {
        count = expected->count - first < ROW ? expected->count - first : ROW;
        if (expected->type == DTYPE_FLOAT && verdict->kind == VERDICT_AGREES &&
            judge_floats(&row, expected, got, first, count))
            add_row(verdict, output, expected, got, &row, count, &extremes);
        else
            judge_one_by_one(verdict, output, expected, got, first, count, &extremes);
    }
    keep_extremes(verdict, expected, &extremes);
}

void verdict_say(struct verdict *verdict, const char *format, ...)
{
    struct arena arena;
    va_list args;
    arena_init(&arena);
    va_start(args, format);
    text_fit(verdict->text, sizeof verdict->text, arena_vprintf(&arena, format, args));
    va_end(args);
    arena_release(&arena);
}

bool verdict_count(struct verdict *verdict, size_t expected, size_t got)
{
    if (got == expected)
        return false;
    verdict->kind = VERDICT_SHAPE;
    snprintf(verdict->text, sizeof verdict->text, "%zu %s instead of %zu", got,
             verdict->gradient ? "gradients" : "outputs", expected);
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
    if (rows[form].rank <= rows[verdict->kind].rank)
        return;
    verdict->kind = form;
    verdict->output = output;
    if (got->kind != VALUE_TENSOR)
        snprintf(verdict->text, sizeof verdict->text, "is not a tensor, expected %s %s",
                 dtype_name(expected->type), shape_text(&expected->shape, a));
    else
        snprintf(verdict->text, sizeof verdict->text, "is %s %s, expected %s %s",
                 dtype_name(got->tensors[0].type), shape_text(&got->tensors[0].shape, a),
                 dtype_name(expected->type), shape_text(&expected->shape, b));
}

static const char *subject(const struct verdict *verdict)
{
    return verdict->gradient ? "the gradient by" : "output";
}

static void describe_element(struct verdict *verdict, const char *name)
{
    char text[sizeof verdict->text];
    size_t bad = verdict->kind == VERDICT_SUSPECT ? verdict->suspect : verdict->wrong;
    int used = snprintf(text, sizeof text, "%s %s[%zu] is %.9Lg, expected %.9Lg", subject(verdict), name,
                        verdict->element, verdict->got, verdict->expected);
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

/* An imprecise answer of a single element: it says nothing about others that are only far off. */
static void describe_strange(struct verdict *verdict, const char *name)
{
    snprintf(verdict->text, sizeof verdict->text,
             "%s %s[%zu] is %Lg, expected about %.9Lg: all that the operator's formula passes through are "
             "finite numbers (%zu of %zu elements)",
             subject(verdict), name, verdict->element, verdict->got, verdict->expected, verdict->strange,
             verdict->total);
}

void verdict_finish(struct verdict *verdict, const char *name)
{
    if (!name)
        name = "?";
    if (verdict->kind == VERDICT_IMPRECISE) {
        describe_strange(verdict, name);
        return;
    }
    if (verdict_is(verdict->kind, CLASS_SUSPECT | CLASS_NUMBERS)) {
        describe_element(verdict, name);
    } else if (verdict_is(verdict->kind, CLASS_FORM)) {
        char text[sizeof verdict->text];
        snprintf(text, sizeof text, "%s %s %s", subject(verdict), name, verdict->text);
        snprintf(verdict->text, sizeof verdict->text, "%s", text);
    } else if (verdict->kind == VERDICT_AGREES && verdict->total && !verdict->judged) {
        verdict->kind = verdict->open >= verdict->undecided ? VERDICT_OPEN : VERDICT_UNDECIDED;
        snprintf(verdict->text, sizeof verdict->text, "none of %zu elements can be judged", verdict->total);
    } else if (verdict->kind == VERDICT_AGREES && verdict->blank) {
        snprintf(verdict->text, sizeof verdict->text,
                 "%zu of its %s could not be judged (of all elements, %zu of %zu were judged)",
                 verdict->blank, verdict->gradient ? "gradients" : "outputs", verdict->judged,
                 verdict->total);
    }
}
