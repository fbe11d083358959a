/*
 * Is every alarm true? An engine that is right by construction, and as hostile as it may be, is judged:
 * bench_soundness [--gradients] COUNT [SEED [OPS [FIRST]]]. Each node is computed from the values that this
 * engine itself has, and each element of the result moved anywhere within the bounds of that node alone: to
 * an end, between, and where nothing is decided to whatever its type holds. That is what some correct
 * implementation may do; so what the judge calls wrong then is a false alarm. The cases are those of
 * campaigns. Each alarm is told by the first value that is outside its bounds, with the operator that made
 * it.
 *
 * With OPS (names with commas) the cases are single nodes of these operators, whose inputs are blurred: given
 * to the reference with bounds, and to the engine as some value within them. FIRST is the number of the first
 * case, as the last column has it; of a single case (COUNT 1) all values are shown.
 *
 * With --gradients the cases ask for gradients. The engine then also moves the derivatives that each node
 * gives to what it reads, anywhere within the bounds of that node's gradient alone, as other formulas and
 * other orders of summation may.
 */
#include "answers.h"

#include "base/memory.h"
#include "campaign/fuzz_source.h"
#include "case/case_gradient.h"
#include "eval/gradient.h"
#include "generate/operator_case.h"
#include "model/model.h"
#include "ops/gradient.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an element may be that nobody decides. */
static long double anything(enum dtype type, struct rng *rng)
{
    long double high = dtype_highest(type), low = dtype_lowest(type);
    if (dtype_is_float(type)) {
        const long double some[] = {NAN, INFINITY, -INFINITY, 0, high, low, dtype_precision(type).smallest,
                                    1,   -1};
        uint64_t which = rng_below(rng, 2 * sizeof some / sizeof *some);
        return which < sizeof some / sizeof *some ? some[which] : rng_normal(rng) * 3;
    }
    if (type == DTYPE_BOOL)
        return rng_chance(rng, 0.5);
    const long double some[] = {low, high, 0, 1};
    return rng_chance(rng, 0.5) ? some[rng_below(rng, 4)] : floorl(low + (high - low) * rng_unit(rng));
}

/* Somewhere within [value - hard, value + hard], in the type, but for what the bound has for the rounding of
 * the reference: this engine's value is another one, rounded otherwise. */
static long double within(enum dtype type, long double value, double bound, struct rng *rng)
{
    long double hard = dtype_is_float(type) ? bound / (1 + bounded_reference_share(type)) : bound;
    double where = rng_chance(rng, 0.5) ? (rng_chance(rng, 0.5) ? 1 : -1) : rng_uniform(rng, -1, 1);
    long double moved = value + where * hard;
    moved = dtype_is_float(type) ? dtype_round(type, moved)
                                 : fminl(fmaxl(nearbyintl(moved), dtype_lowest(type)), dtype_highest(type));
    return fabsl(moved - value) <= hard ? moved : dtype_round(type, value);
}

struct hostile {
    struct rng rng, blur; /* blur: the same for both that compute */
    bool blurs;           /* the inputs of the only node */
    bool moves;           /* false: it is the reference, which is given bounds */
    bool calm;            /* elements that nobody decides stay as they are */
    bool wide;            /* halves are kept in a wider type from node to node */
    bool inside;          /* a body */
    bool shows;
    bool gradients; /* what is moved is derivatives */
    size_t moved;   /* elements that are no longer what they were */
};

/* How far a result may be from its value before it is rounded into its type. */
static double before_rounding(const struct bounded *out, size_t i)
{
    struct dtype_precision p = dtype_precision(out->type);
    double rounding = p.unit * ((double)fabsl(out->value[i]) + out->hard[i]) + p.smallest;
    return fmax(out->hard[i] - rounding, 0);
}

/* As bounded_put_range has it: it is that far to one side only, nobody says which. A subnormal is itself or
 * 0.
 */
static long double moved_in_range(struct hostile *hostile, const struct bounded *out, size_t i)
{
    bool tiny = fabsl(out->value[i]) < dtype_precision(out->type).tiny;
    bool gone = tiny && fabsl(out->value[i]) <= out->hard[i] && rng_chance(&hostile->rng, 0.5);
    return gone ? 0 : out->value[i];
}

/* At a kink or a tie a derivative lies between those of both sides, on one side of the value only: the
 * deviation is then nearly as large as the hard bound, which roundings never are (0.58 of it at most). */
static bool is_one_sided(const struct hostile *hostile, const struct bounded *out, size_t i)
{
    return hostile->gradients && out->likely[i] > 0.7 * out->hard[i] && isfinite(out->hard[i]);
}

static long double moved(struct hostile *hostile, const struct bounded *out, size_t i, bool wide)
{
    long double value = out->value[i];
    if ((out->hard[i] == out->likely[i] && isfinite(out->hard[i])) || is_one_sided(hostile, out, i))
        return moved_in_range(hostile, out, i);
    if (isinf(out->hard[i]))
        return hostile->calm ? value : anything(out->type, &hostile->rng);
    if (out->hard[i] == 0 || !isfinite(value))
        return value;
    return wide ? within(DTYPE_FLOAT, value, before_rounding(out, i), &hostile->rng)
                : within(out->type, value, out->hard[i], &hostile->rng);
}

static void move_result(struct hostile *hostile, struct bounded *out)
{
    bool wide = hostile->wide && out->type == DTYPE_FLOAT16;
    for (size_t i = 0; out->hard && out->value && i < out->count; i++) {
        long double to = moved(hostile, out, i, wide);
        long double was = dtype_round(out->type, out->value[i]), is = dtype_round(out->type, to);
        hostile->moved += is != was && !(isnan(is) && isnan(was));
        out->value[i] = to;
    }
    for (size_t i = 0; !wide && out->value && i < out->count; i++)
        out->value[i] = dtype_round(out->type, out->value[i]);
    free(out->hard);
    out->hard = out->likely = NULL;
}

/* How far an element may be off: some units, some part of it, or some of a step; 0 for what cannot move. */
static double blur_of(enum dtype type, long double value, struct rng *rng)
{
    double unit = dtype_precision(type).unit;
    if (type == DTYPE_BOOL || !isfinite(value))
        return 0;
    if (!dtype_is_float(type)) {
        double step =
            rng_chance(rng, 0.8) ? 1 + (double)rng_below(rng, 3) : floor(pow(10, rng_uniform(rng, 0, 10)));
        return value - step >= dtype_lowest(type) && value + step <= dtype_highest(type) ? step : 0;
    }
    double part = rng_chance(rng, 0.5) ? unit * rng_uniform(rng, 1, 20) : pow(10, rng_uniform(rng, -7, 0));
    double hard = part * (rng_chance(rng, 0.8) ? (double)fabsl(value) : 1);
    return fabsl(value) + 2 * hard < dtype_highest(type) ? hard : 0;
}

/* Bounds for some inputs, of all or of some elements; the exact value is then no number of the type. */
static void blur_input(struct bounded *b, struct rng *rng)
{
    double share = rng_chance(rng, 0.5) ? 1 : rng_uniform(rng, 0, 0.5);
    double nothing = rng_chance(rng, 0.2) ? rng_uniform(rng, 0, 0.2) : 0;
    if (rng_chance(rng, dtype_is_float(b->type) ? 0.2 : 0.6))
        return;
    for (size_t i = 0; b->value && i < b->count; i++) {
        double hard = blur_of(b->type, b->value[i], rng), where = rng_uniform(rng, -0.5, 0.5);
        if (rng_chance(rng, nothing) || b->type == DTYPE_BOOL)
            bounded_put_undecided(b, i, b->value[i]);
        else if (rng_chance(rng, share) && hard > 0)
            bounded_set(b, i, b->value[i] + (dtype_is_float(b->type) ? where * hard : 0), hard, hard / 3);
    }
    bounded_settle(b, NULL);
}

static void show(const char *what, const struct bounded *b)
{
    printf("%s %s", what, dtype_name(b->type));
    for (int i = 0; i < b->shape.rank; i++)
        printf(" %lld", (long long)b->shape.dims[i]);
    printf("\n");
    for (size_t i = 0; b->value && i < b->count && i < 2000; i++)
        printf("  [%zu] %.21Lg hard %.17g likely %.3g\n", i, b->value[i], bounded_hard(b, i),
               bounded_likely(b, i));
}

static int compute(struct hostile *hostile, struct op_call *call)
{
    if (call->op->eval(call))
        return -1;
    for (size_t o = 0; hostile->moves && o < call->n_outputs; o++)
        move_result(hostile, &call->outputs[o]);
    for (size_t i = 0; hostile->shows && i < call->n_inputs; i++)
        if (call->inputs[i])
            show("input", call->inputs[i]);
    for (size_t o = 0; hostile->shows && o < call->n_outputs; o++)
        show(call->op->name, &call->outputs[o]);
    return 0;
}

/* The kernel, on inputs that are blurred. */
static int compute_blurred(struct hostile *hostile, struct op_call *call)
{
    const struct bounded *const *given = call->inputs;
    struct bounded *own = memory_zeroed(call->n_inputs, sizeof *own);
    const struct bounded **inputs = memory_zeroed(call->n_inputs, sizeof(struct bounded *));
    int result = 0;
    for (size_t i = 0; !result && i < call->n_inputs; i++) {
        if (!given[i])
            continue;
        inputs[i] = &own[i];
        result = bounded_copy(&own[i], given[i], call->err);
        if (result)
            break;
        blur_input(&own[i], &hostile->blur);
        if (hostile->moves)
            move_result(hostile, &own[i]);
    }
    call->inputs = inputs;
    hostile->inside = true;
    if (!result)
        result = compute(hostile, call);
    hostile->inside = false;
    call->inputs = given;
    for (size_t i = 0; i < call->n_inputs; i++)
        bounded_release(&own[i]);
    free(own);
    free(inputs);
    return result;
}

static int run_hostile(void *context, struct op_call *call)
{
    struct hostile *hostile = context;
    return hostile->blurs && !hostile->inside ? compute_blurred(hostile, call) : compute(hostile, call);
}

static int differentiate_hostile(void *context, struct op_gradient *g)
{
    struct hostile *hostile = context;
    if (g->call->op->gradient(g))
        return -1;
    hostile->gradients = true;
    for (size_t i = 0; i < g->call->n_inputs; i++) {
        if (g->slopes[i].type == DTYPE_NONE)
            continue;
        if (hostile->moves)
            move_result(hostile, &g->slopes[i]);
        if (hostile->shows)
            show(g->call->op->name, &g->slopes[i]);
    }
    return 0;
}

struct names {
    const char **of;
    const Onnx__NodeProto **makers;
    size_t count;
};

/* All that the graph's own nodes make, in their order. */
static struct names values_of(const struct model *model)
{
    struct names names = {0};
    const Onnx__GraphProto *graph = model->graph;
    size_t room = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    names.of = memory_zeroed(room, sizeof *names.of);
    names.makers = memory_zeroed(room, sizeof *names.makers);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t o = 0; o < graph->node[i]->n_output; o++)
            if (*graph->node[i]->output[o]) {
                names.makers[names.count] = graph->node[i];
                names.of[names.count++] = graph->node[i]->output[o];
            }
    return names;
}

/* What is asked for, and what came of it. */
struct search {
    uint64_t count, seed, first;
    const char *ops; /* NULL: cases of campaigns */
    bool gradients;
    size_t judged, alarms, moved;
};

/* False, and a line, when the hostile engine is blamed for something. */
static bool holds(struct search *search, uint64_t number, const struct test_case *test)
{
    struct error err = {0};
    const struct model *model = test_case_model(test, &err);
    bool open = false, good = true;
    char text[400];
    if (!model)
        return false;
    struct names names = values_of(model);
    struct answers expected, got = {0};
    struct rng rng = rng_seed(search->seed * 1000003 + number);
    bool calm = rng_chance(&rng, 0.5), wide = rng_chance(&rng, 0.5);
    struct hostile hostile = {.blur = rng_split(&rng, 1),
                              .blurs = search->ops,
                              .shows = search->count == 1,
                              .calm = calm,
                              .wide = wide};
    struct hostile engine = hostile;
    engine.rng = rng;
    engine.moves = true;
    struct evaluate_options exact = {.open = &open, .hook = run_hostile, .context = &hostile},
                            rounded = {.hook = run_hostile, .context = &engine};
    bool decided = !answers_compute(&expected, model, test, &exact, names.of, names.count, &err);
    bool answered = decided && !answers_compute(&got, model, test, &rounded, names.of, names.count, &err);
    if (decided && !answered && !open) {
        good = false;
        printf("refused\t%s\t%s\t%llu\n", err.message, test->recipe, (unsigned long long)number);
    }
    for (size_t i = 0; answered && good && i < names.count; i++)
        if (!answers_pass(&expected.values[i], &got.values[i], 1, text, sizeof text)) {
            good = false;
            printf("%s\t%s\t%s\t%s\t%llu\n", names.makers[i]->op_type, names.of[i], text, test->recipe,
                   (unsigned long long)number);
        }
    search->judged += answered;
    search->moved += engine.moved;
    answers_release(&got);
    answers_release(&expected);
    free(names.of);
    free(names.makers);
    return good;
}

static int gradients_of(const struct model *model, const struct test_case *test,
                        const struct evaluate_options *options, struct gradient **gradients, size_t *count,
                        struct error *err)
{
    struct evaluator *evaluator;
    struct gradient_request request = {.inputs = test->inputs,
                                       .n_inputs = test->n_inputs,
                                       .upstream = test->gradient->upstream,
                                       .n_upstream = test->gradient->n_upstream,
                                       .wanted = test->gradient->wanted,
                                       .n_wanted = test->gradient->n_wanted};
    *gradients = NULL;
    *count = 0;
    if (evaluator_new(&evaluator, model, options, err))
        return -1;
    int status = evaluator_gradient(evaluator, &request, gradients, count, err);
    evaluator_free(evaluator);
    return status;
}

/* The same for gradients. */
static bool gradients_hold(struct search *search, uint64_t number, const struct test_case *test)
{
    struct error err = {0};
    const struct model *model = test_case_model(test, &err);
    struct rng rng = rng_seed(search->seed * 1000003 + number);
    struct hostile hostile = {.shows = search->count == 1}, engine = hostile;
    bool open = false, good = true;
    char text[400];
    engine.calm = rng_chance(&rng, 0.5);
    engine.wide = rng_chance(&rng, 0.5);
    engine.rng = rng;
    engine.moves = true;
    struct evaluate_options exact = {.open = &open,
                                     .hook = run_hostile,
                                     .gradient_hook = differentiate_hostile,
                                     .context = &hostile},
                            moved_too = {.hook = run_hostile,
                                         .gradient_hook = differentiate_hostile,
                                         .context = &engine};
    struct gradient *expected, *got = NULL;
    size_t count, again = 0;
    if (!model || gradients_of(model, test, &exact, &expected, &count, &err))
        return true; /* not supported: nothing is judged */
    bool answered = !gradients_of(model, test, &moved_too, &got, &again, &err);
    if (!answered && !open) {
        good = false;
        printf("refused\t%s\t%s\t%llu\n", err.message, test->recipe, (unsigned long long)number);
    }
    for (size_t i = 0; answered && good && i < count; i++)
        if (!answers_pass(&expected[i].slope, &got[i].slope, 1, text, sizeof text)) {
            good = false;
            printf("%s\t%s\t%s\t%s\t%llu\n", model->graph->node[0]->op_type, expected[i].name, text,
                   test->recipe, (unsigned long long)number);
        }
    search->judged += answered;
    search->moved += engine.moved;
    gradients_free(expected, count);
    gradients_free(got, again);
    return good;
}

static void judge(struct search *search, uint64_t number, const struct test_case *test)
{
    search->alarms += !(search->gradients ? gradients_hold : holds)(search, number, test);
}

static int of_campaigns(struct search *search, struct error *err)
{
    struct fuzz_source_options options = {
        .seed = search->seed, .strategy = FUZZ_RANDOM, .generate = {.gradients = search->gradients}};
    struct fuzz_source *source;
    if (fuzz_source_new(&source, &options, err))
        return -1;
    for (uint64_t i = search->first; i < search->first + search->count; i++) {
        struct test_case *test;
        struct fuzz_origin origin;
        if (fuzz_source_make(source, i, &test, &origin, err))
            continue;
        judge(search, i, test);
        test_case_free(test);
    }
    fuzz_source_free(source);
    return 0;
}

static int of_operators(struct search *search, struct error *err)
{
    struct generate_options options = {.ops = search->ops, .gradients = search->gradients};
    for (uint64_t i = search->first; i < search->first + search->count; i++) {
        struct test_case *one;
        if (generate_one(search->seed, i, &options, &one, err)) {
            if (err->code == ERROR_NOT_FOUND)
                return -1;
            continue;
        }
        judge(search, i, one);
        test_case_free(one);
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool gradients = argc > 1 && strcmp(argv[1], "--gradients") == 0;
    argc -= gradients;
    argv += gradients;
    struct search search = {.gradients = gradients,
                            .count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000,
                            .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
                            .ops = argc > 3 && *argv[3] ? argv[3] : NULL,
                            .first = argc > 4 ? strtoull(argv[4], NULL, 10) : 0};
    struct error err = {0};
    if (search.ops ? of_operators(&search, &err) : of_campaigns(&search, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    printf("%zu of %zu cases answered within bounds are called wrong\n", search.alarms, search.judged);
    /* An engine that hardly answers, or leaves everything where it is, proves nothing. */
    if (search.count > 1 && (search.judged < search.count / 2 || search.moved < search.judged)) {
        fprintf(stderr, "only %zu cases were answered and %zu elements moved\n", search.judged, search.moved);
        return 2;
    }
    return search.alarms > 0;
}
