/*
 * Is every alarm true? An engine that is right by construction, and as hostile as it may be, is judged:
 * bench_soundness COUNT [SEED]. Each node is computed from the values that this engine itself has, and each
 * element of the result moved anywhere within the bounds of that node alone: to an end, between, and where
 * nothing is decided to whatever its type holds. That is what some correct implementation may do; so what
 * the judge calls wrong then is a false alarm. The cases are those of campaigns. Each alarm is told by the
 * first value that is outside its bounds, with the operator that made it.
 */
#include "base/memory.h"
#include "campaign/fuzz_source.h"
#include "judge/verdict.h"
#include "model/model.h"
#include "ops/evaluate.h"

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

/* Somewhere within [value - hard, value + hard], in the type. */
static long double within(enum dtype type, long double value, double hard, struct rng *rng)
{
    double where = rng_chance(rng, 0.5) ? (rng_chance(rng, 0.5) ? 1 : -1) : rng_uniform(rng, -1, 1);
    long double moved = value + where * hard;
    moved = dtype_is_float(type) ? dtype_round(type, moved)
                                 : fminl(fmaxl(nearbyintl(moved), dtype_lowest(type)), dtype_highest(type));
    return fabsl(moved - value) <= hard ? moved : dtype_round(type, value);
}

struct hostile {
    struct rng rng;
    bool calm; /* elements that nobody decides stay as they are */
    bool wide; /* halves are kept in a wider type from node to node */
};

/* How far a result may be from its value before it is rounded into its type. */
static double before_rounding(const struct bounded *out, size_t i)
{
    struct dtype_precision p = dtype_precision(out->type);
    double rounding = p.unit * ((double)fabsl(out->value[i]) + out->hard[i]) + p.smallest;
    return fmax(out->hard[i] - rounding, 0);
}

static void move_result(struct hostile *hostile, struct bounded *out)
{
    bool wide = hostile->wide && out->type == DTYPE_FLOAT16;
    for (size_t i = 0; out->hard && out->value && i < out->count; i++)
        if (isinf(out->hard[i]))
            out->value[i] = hostile->calm ? out->value[i] : anything(out->type, &hostile->rng);
        else if (out->hard[i] > 0 && isfinite(out->value[i]) && wide)
            out->value[i] = within(DTYPE_FLOAT, out->value[i], before_rounding(out, i), &hostile->rng);
        else if (out->hard[i] > 0 && isfinite(out->value[i]))
            out->value[i] = within(out->type, out->value[i], out->hard[i], &hostile->rng);
    for (size_t i = 0; !wide && out->value && i < out->count; i++)
        out->value[i] = dtype_round(out->type, out->value[i]);
    free(out->hard);
    out->hard = out->likely = NULL;
}

static int move_results(void *context, struct op_call *call)
{
    struct hostile *hostile = context;
    if (call->op->eval(call))
        return -1;
    for (size_t o = 0; o < call->n_outputs; o++)
        move_result(hostile, &call->outputs[o]);
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

static void free_results(struct bounded *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
}

static int run(const struct model *model, const struct testcase *test, const struct evaluate_options *options,
               const struct names *names, struct bounded **results, size_t *count, struct error *err)
{
    struct evaluator *evaluator = NULL;
    *results = NULL;
    *count = 0;
    int status = evaluator_new(&evaluator, model, options, err);
    if (!status)
        status = evaluator_run(evaluator, test->inputs, test->n_inputs, names->of, names->count, results,
                               count, err);
    evaluator_free(evaluator);
    return status;
}

/* Judges one value; true when it passes. */
static bool passes(const struct bounded *expected, const struct bounded *got, char *text, size_t size)
{
    struct verdict verdict = {.kind = VERDICT_AGREES};
    struct tensor tensor;
    struct value value = {0};
    if (bounded_to_tensor(got, &tensor, NULL))
        return false;
    value_set_tensor(&value, &tensor);
    verdict_output(&verdict, 0, expected, &value);
    verdict_finish(&verdict, NULL);
    value_release(&value);
    snprintf(text, size, "%s: %s", verdict_name(verdict.kind), verdict.text);
    return !verdict_is_finding(verdict.kind);
}

/* False, and a line, when the hostile engine is blamed for something. */
static bool holds(const struct testcase *test, uint64_t seed, size_t *moved)
{
    struct model *model = NULL;
    struct error err = {0};
    bool open = false, good = true;
    char text[400];
    if (model_parse(&model, test->model, test->model_size, &err))
        return false;
    struct names names = values_of(model);
    struct bounded *expected, *got;
    size_t n_expected, n_got;
    struct hostile hostile = {.rng = rng_seed(seed)};
    struct evaluate_options exact = {.open = &open}, rounded = {.hook = move_results, .context = &hostile};
    hostile.calm = rng_chance(&hostile.rng, 0.5);
    hostile.wide = rng_chance(&hostile.rng, 0.5);
    bool decided = !run(model, test, &exact, &names, &expected, &n_expected, &err);
    bool answered = decided && !run(model, test, &rounded, &names, &got, &n_got, &err);
    if (decided && !answered && !open) {
        good = false;
        printf("refused\t%s\t%s\n", err.message, test->recipe);
    }
    for (size_t i = 0; answered && good && i < names.count; i++)
        if (!passes(&expected[i], &got[i], text, sizeof text)) {
            good = false;
            printf("%s\t%s\t%s\t%s\n", names.makers[i]->op_type, names.of[i], text, test->recipe);
        }
    *moved += answered;
    if (answered)
        free_results(got, n_got);
    if (decided)
        free_results(expected, n_expected);
    free(names.of);
    free(names.makers);
    model_free(model);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    struct fuzz_source_options options = {.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
                                          .strategy = FUZZ_RANDOM};
    struct fuzz_source *source;
    struct error err = {0};
    size_t judged = 0, alarms = 0;
    if (fuzz_source_new(&source, &options, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct testcase test;
        size_t node;
        if (fuzz_source_make(source, i, &test, &node, &err))
            continue;
        alarms += !holds(&test, options.seed * 1000003 + i, &judged);
        testcase_release(&test);
    }
    fuzz_source_free(source);
    printf("%zu of %zu cases answered within bounds are called wrong\n", alarms, judged);
    return alarms > 0;
}
