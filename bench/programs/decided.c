/*
 * How many elements cannot be judged, and why: bench_decided [--cases] COUNT SEED FOLDERS MODELS, where
 * FOLDERS and MODELS are lists with commas. No engine is needed: the reference says of each element of each
 * output whether it is undecided or open.
 *
 * Three sets: COUNT cases of a campaign; the MODELS on inputs of many sizes and with a NaN or an infinity in
 * one of two rows; and the cases below FOLDERS. Each case counts once, however many elements it has: its
 * share of elements that are not judged.
 *
 * Why an element is not judged is found by asking the kernel of the node that made it again, on inputs from
 * which one thing after the other is taken away. The first without which the element is decided is the cause.
 * What is inherited counts for the node where it began.
 *
 * Prints lines of columns: "set NAME cases elements undecided open" (the last two are sums of shares), and
 * "cause NAME CAUSE OPERATOR share"; with --cases also "case NAME CAUSE OPERATOR elements recipe".
 */
#include "answers.h"

#include "base/map.h"
#include "base/memory.h"
#include "campaign/fuzz_source.h"
#include "case/backend_suite.h"
#include "case/inputs.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cause {
    DECIDED,
    INHERITED, /* another node began it */
    RANGES,    /* the bounds of an input reach across a jump, a pole or the end of the type */
    SPECIALS,  /* a NaN or an infinity among the inputs */
    ITSELF,    /* the operator: a partial result may overflow in some order, or it defines nothing there */
    OPEN,      /* ONNX leaves it open */
    CAUSES
};

static const char *const cause_names[CAUSES] = {
    [DECIDED] = "",
    [INHERITED] = "from a body or before",
    [RANGES] = "range of an input",
    [SPECIALS] = "NaN or infinity",
    [ITSELF] = "overflow on the way",
    [OPEN] = "left open by ONNX",
};

/* A cause at an operator. */
struct origin {
    enum cause cause;
    const char *op;
};

/* Why the elements of a value are not judged; the origin of the most is that of what it makes undecided. */
struct reasons {
    size_t count;
    struct origin *of;
    struct origin most;
};

static bool shows_cases;

struct survey {
    struct arena arena;
    struct map names; /* of values, to their place in `reasons` */
    struct reasons *reasons;
    size_t count, capacity;
    bool again; /* a kernel is asked again: nothing is noted */
};

static bool is_unjudged(const struct bounded *b, size_t i)
{
    return isinf(bounded_hard(b, i));
}

static bool is_open_at(const struct bounded *b, size_t i)
{
    return b->opened && is_unjudged(b, i) && isinf(bounded_likely(b, i));
}

/* An input without what could be the cause. */
static void take_away(struct bounded *b, enum cause cause)
{
    for (size_t i = 0; b->value && i < b->count; i++) {
        if (cause == SPECIALS && !isfinite(b->value[i]))
            b->value[i] = 0;
        if (b->hard && (cause != INHERITED || is_unjudged(b, i)))
            b->hard[i] = b->likely[i] = 0;
    }
    b->opened = false;
}

/* The kernel on inputs without that; false when it fails. The caller releases the outputs. */
static bool ask_again(const struct op_call *call, enum cause cause, struct bounded *outputs)
{
    struct op_call other = *call;
    struct bounded *own = memory_zeroed(call->n_inputs, sizeof *own);
    const struct bounded **inputs = memory_zeroed(call->n_inputs, sizeof(struct bounded *));
    struct error err = {0};
    int result = 0;
    for (size_t i = 0; !result && i < call->n_inputs; i++) {
        if (!call->inputs[i])
            continue;
        result = bounded_copy(&own[i], call->inputs[i], &err);
        if (!result)
            take_away(&own[i], cause);
        inputs[i] = &own[i];
    }
    other.inputs = inputs;
    other.outputs = outputs;
    other.err = &err;
    if (!result)
        result = call->op->eval(&other);
    for (size_t i = 0; i < call->n_inputs; i++)
        bounded_release(&own[i]);
    free(own);
    free(inputs);
    return result == 0;
}

/* Marks what this cause explains. */
static void explain(const struct op_call *call, enum cause cause, struct reasons *reasons)
{
    struct bounded *outputs = memory_zeroed(call->n_outputs, sizeof *outputs);
    bool works = ask_again(call, cause, outputs);
    for (size_t o = 0; o < call->n_outputs; o++) {
        bool alike = works && outputs[o].count == reasons[o].count && outputs[o].value;
        for (size_t i = 0; i < reasons[o].count; i++)
            if ((reasons[o].of[i].cause == ITSELF ||
                 (reasons[o].of[i].cause == OPEN && cause == INHERITED)) &&
                (!alike || !is_unjudged(&outputs[o], i)))
                reasons[o].of[i].cause = cause;
        bounded_release(&outputs[o]);
    }
    free(outputs);
}

static const struct reasons *known(const struct survey *survey, const char *name)
{
    size_t at;
    return map_get(&survey->names, name, &at) ? &survey->reasons[at] : NULL;
}

/* Where that which an input brings along began. */
static struct origin before(const struct survey *survey, const struct op_call *call)
{
    for (size_t i = 0; i < call->n_inputs && i < call->node->n_input; i++) {
        const struct reasons *reasons = known(survey, call->node->input[i]);
        if (reasons && reasons->most.cause != DECIDED)
            return reasons->most;
    }
    return (struct origin){INHERITED, call->op->name};
}

static struct origin most_common(const struct reasons *reasons)
{
    size_t seen[CAUSES] = {0};
    struct origin most = {DECIDED, NULL};
    for (size_t i = 0; i < reasons->count; i++) {
        enum cause cause = reasons->of[i].cause;
        if (cause != DECIDED && ++seen[cause] > (most.cause ? seen[most.cause] : 0))
            most = reasons->of[i];
    }
    return most;
}

static void note(struct survey *survey, const char *name, struct reasons reasons)
{
    survey->reasons =
        memory_grow(survey->reasons, &survey->capacity, survey->count + 1, sizeof *survey->reasons);
    map_set(&survey->names, arena_strdup(&survey->arena, name), survey->count);
    survey->reasons[survey->count++] = reasons;
}

static void find_reasons(struct survey *survey, const struct op_call *call)
{
    struct reasons *reasons = memory_zeroed(call->n_outputs, sizeof *reasons);
    size_t unjudged = 0;
    for (size_t o = 0; o < call->n_outputs; o++) {
        const struct bounded *out = &call->outputs[o];
        reasons[o].count = out->value ? out->count : 0;
        reasons[o].of = memory_zeroed(reasons[o].count, sizeof *reasons[o].of);
        for (size_t i = 0; i < reasons[o].count; i++) {
            if (!is_unjudged(out, i))
                continue;
            reasons[o].of[i] = (struct origin){is_open_at(out, i) ? OPEN : ITSELF, call->op->name};
            unjudged++;
        }
    }
    static const enum cause causes[] = {INHERITED, RANGES, SPECIALS};
    for (size_t c = 0; unjudged > 0 && c < sizeof causes / sizeof *causes; c++)
        explain(call, causes[c], reasons);
    struct origin from = before(survey, call);
    for (size_t o = 0; o < call->n_outputs; o++) {
        for (size_t i = 0; i < reasons[o].count; i++)
            if (reasons[o].of[i].cause == INHERITED)
                reasons[o].of[i] = from;
        reasons[o].most = most_common(&reasons[o]);
        if (o < call->node->n_output && *call->node->output[o])
            note(survey, call->node->output[o], reasons[o]);
        else
            free(reasons[o].of);
    }
    free(reasons);
}

static int look(void *context, struct op_call *call)
{
    struct survey *survey = context;
    if (call->op->eval(call))
        return -1;
    if (survey->again || call->shapes_only)
        return 0;
    survey->again = true;
    find_reasons(survey, call);
    survey->again = false;
    return 0;
}

static void survey_release(struct survey *survey)
{
    for (size_t i = 0; i < survey->count; i++)
        free(survey->reasons[i].of);
    free(survey->reasons);
    map_release(&survey->names);
    arena_release(&survey->arena);
}

/* Shares of one set of cases. */
struct total {
    const char *name;
    size_t cases, elements;
    double undecided, open;
    struct {
        struct origin origin;
        double share;
    } by[512];
    size_t origins;
};

static void add_share(struct total *total, struct origin origin, double share)
{
    size_t i = 0;
    while (i < total->origins &&
           (total->by[i].origin.cause != origin.cause || strcmp(total->by[i].origin.op, origin.op) != 0))
        i++;
    if (i == sizeof total->by / sizeof *total->by)
        return;
    if (i == total->origins) {
        total->by[i].origin = origin;
        total->origins++;
    }
    total->by[i].share += share;
}

/* What the value is not judged for; a value of no node is an input. */
static struct origin origin_of(const struct survey *survey, const char *name, const struct bounded *b,
                               size_t i)
{
    const struct reasons *reasons = known(survey, name);
    if (is_open_at(b, i) && (!reasons || i >= reasons->count || !reasons->of[i].op))
        return (struct origin){OPEN, "?"};
    if (!reasons || i >= reasons->count || reasons->of[i].cause == DECIDED)
        return (struct origin){INHERITED, "?"};
    return reasons->of[i];
}

static void add_case(struct total *total, const struct test_case *test)
{
    struct error err = {0};
    struct survey survey = {0};
    arena_init(&survey.arena);
    map_init(&survey.names);
    struct evaluate_options options = {.hook = look, .context = &survey};
    struct answers answers = {0};
    const struct model *model = test_case_model(test, &err);
    struct origin last = {DECIDED, ""};
    size_t elements = 0, unjudged = 0;
    if (model && !answers_compute(&answers, model, test, &options, NULL, 0, &err)) {
        for (size_t o = 0; o < answers.count; o++)
            elements += answers.values[o].count;
        total->cases++;
        total->elements += elements;
    }
    for (size_t o = 0; o < answers.count; o++) {
        const struct bounded *b = &answers.values[o];
        for (size_t i = 0; i < b->count; i++) {
            if (!is_unjudged(b, i))
                continue;
            double share = 1 / (double)elements;
            *(isinf(bounded_likely(b, i)) ? &total->open : &total->undecided) += share;
            struct origin origin = origin_of(&survey, model->graph->output[o]->name, b, i);
            add_share(total, origin, share);
            unjudged++;
            last = origin;
        }
    }
    if (shows_cases && unjudged > 0)
        printf("case\t%s\t%s\t%s\t%zu of %zu\t%s %s\n", total->name, cause_names[last.cause], last.op,
               unjudged, elements, test->name ? test->name : "", test->recipe);
    answers_release(&answers);
    survey_release(&survey);
}

static void show(const struct total *total)
{
    printf("set\t%s\t%zu\t%zu\t%.6g\t%.6g\n", total->name, total->cases, total->elements, total->undecided,
           total->open);
    for (size_t i = 0; i < total->origins; i++)
        printf("cause\t%s\t%s\t%s\t%.6g\n", total->name, cause_names[total->by[i].origin.cause],
               total->by[i].origin.op, total->by[i].share);
}

static int of_campaigns(struct total *total, uint64_t count, uint64_t seed, struct error *err)
{
    struct fuzz_source_options options = {.seed = seed, .strategy = FUZZ_RANDOM};
    struct fuzz_source *source;
    if (fuzz_source_new(&source, &options, err))
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        struct test_case *test;
        struct fuzz_origin origin;
        if (fuzz_source_make(source, i, &test, &origin, err))
            continue;
        add_case(total, test);
        test_case_free(test);
    }
    fuzz_source_free(source);
    return 0;
}

/* Inputs of one size, and those in which one element of the first row is NaN or infinite. */
static const struct extreme_input {
    double size, special;
} extremes[] = {{1e2, 0},  {1e4, 0}, {1e8, 0},      {1e16, 0},      {1e30, 0},
                {1e37, 0}, {1, NAN}, {1, INFINITY}, {1, -INFINITY}, {1, 3e38}};

static void make_extreme(struct value *values, size_t count, const struct extreme_input *how)
{
    for (size_t v = 0; v < count; v++) {
        struct tensor *t = values[v].kind == VALUE_TENSOR ? &values[v].tensors[0] : NULL;
        size_t n = 0;
        if (!t || !dtype_is_float(t->type) || shape_count(&t->shape, &n, NULL))
            continue;
        for (size_t i = 0; i < n; i++)
            dtype_store(t->type, t->data, i, dtype_load(t->type, t->data, i) * how->size);
        if (how->special != 0 && n > 0)
            dtype_store(t->type, t->data, n / 4, how->special);
    }
}

/* The names of the open dimensions of the first input, each with two rows. */
static int of_model(struct total *total, const char *path, struct error *err)
{
    struct model *model;
    struct inputs inputs;
    if (model_load(&model, path, err))
        return -1;
    char first[200];
    const Onnx__GraphProto *graph = model->graph;
    const Onnx__TensorShapeProto *shape = graph->input[0]->type->tensor_type->shape;
    const char *name = shape && shape->n_dim ? shape->dim[0]->dim_param : NULL;
    snprintf(first, sizeof first, "%s=2", name ? name : "");
    const char *dims[] = {first};
    int result = inputs_random(&inputs, model, 1, 1, dims, name && *name ? 1 : 0, err);
    for (size_t i = 0; !result && i < sizeof extremes / sizeof *extremes; i++) {
        struct value *values;
        result = inputs_get(&inputs, 0, &values, err);
        if (result)
            break;
        make_extreme(values, inputs.count, &extremes[i]);
        struct test_case *test = test_case_view(model, values, inputs.count);
        char called[300];
        snprintf(called, sizeof called, "%s size %g with %g", path, extremes[i].size, extremes[i].special);
        test_case_set_name(test, called);
        add_case(total, test);
        test_case_free(test);
        values_free(values, inputs.count);
    }
    inputs_release(&inputs);
    model_free(model);
    return result;
}

static int of_models(struct total *total, char *models, struct error *err)
{
    for (char *path = strtok(models, ","); path; path = strtok(NULL, ","))
        if (of_model(total, path, err))
            return error_prefix(err, "%s", path);
    return 0;
}

static int of_folders(struct total *total, char *list, struct error *err)
{
    const char *folders[16];
    size_t count = 0;
    for (char *path = strtok(list, ","); path && count < 16; path = strtok(NULL, ","))
        folders[count++] = path;
    struct suite suite;
    int result = suite_open(&suite, folders, count, NULL, err);
    for (size_t i = 0; !result && i < suite.count; i++) {
        struct suite_loaded loaded;
        struct error own = {0};
        if (!suite_load(&suite.cases[i], &loaded, &own))
            for (size_t s = 0; s < loaded.sets; s++)
                if (!loaded.tests[s]->gradient)
                    add_case(total, loaded.tests[s]);
        suite_unload(&loaded);
    }
    suite_release(&suite);
    return result;
}

int main(int argc, char **argv)
{
    static struct total campaign = {.name = "campaign"}, zoo = {.name = "zoo"}, bugs = {.name = "bugs"};
    struct error err = {0};
    shows_cases = argc > 1 && strcmp(argv[1], "--cases") == 0;
    argc -= shows_cases;
    argv += shows_cases;
    if (argc != 5) {
        fprintf(stderr, "usage: bench_decided [--cases] COUNT SEED FOLDER,... MODEL,...\n");
        return 2;
    }
    if (of_campaigns(&campaign, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), &err) ||
        of_folders(&bugs, argv[3], &err) || of_models(&zoo, argv[4], &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    show(&campaign);
    show(&zoo);
    show(&bugs);
    return 0;
}
