/* assay localize: finds the operator at fault in a model. */
#include "cli/localize.h"

#include "base/progress.h"
#include "base/side_by_side.h"
#include "engine/handover.h"
#include "locate/rate.h"
#include "locate/traced_case.h"
#include "report/fault_map.h"

#include <stdlib.h>

enum { LOCALIZE_TEXT, LOCALIZE_JSON, LOCALIZE_HTML };

struct settings {
    struct common common;
    struct input_settings inputs;
    const char *sample;
    int method;
    bool metrics;
    long long group, window;
    double tc, tg, t1, t2;
};

struct work {
    const struct settings *settings;
    struct session session;
    struct model *model;
    struct inputs inputs;
    int second; /* number in the pool */
    size_t sample;
    struct localization found;
    struct classification class;
    struct standing standing;
    struct trace *trace; /* of the engine, when there is a culprit */
};

enum { METHOD_UNSAID = -1 };

/* CRADLE's rate is computed where it is asked for, and for JSON, which has all there is. */
static unsigned method_of(const struct settings *settings)
{
    static const unsigned methods[] = {LOCALIZE_LOCAL, LOCALIZE_RATE, LOCALIZE_BOTH,
                                       LOCALIZE_BOTH | LOCALIZE_CAUSE | LOCALIZE_RERUN | LOCALIZE_PAIRS,
                                       LOCALIZE_SWAP};
    bool all = settings->metrics || settings->common.format == LOCALIZE_JSON;
    if (settings->method == METHOD_UNSAID)
        return all ? LOCALIZE_BOTH : LOCALIZE_LOCAL;
    return methods[settings->method] | (settings->metrics && !settings->method ? LOCALIZE_RATE : 0);
}

/* How much the two engines' answers to one sample differ; infinite when one gives no answer. */
static int distance(struct work *work, size_t sample, double *far, struct error *err)
{
    struct value *values;
    struct result results[2];
    struct rate_mean mean = {0};
    if (inputs_get(&work->inputs, sample, &values, err))
        return -1;
    int status = 0;
    for (int i = 0; i < 2; i++)
        result_init(&results[i]);
    struct handover handover;
    status = handover_open(&handover, work->session.panel.pool, work->model, err);
    for (int i = 0; i < 2 && status == 0; i++) {
        struct job job = {.engine = i ? work->second : 0, .n_inputs = work->inputs.count, .inputs = values};
        handover_give(&handover, &job);
        status = pool_run_one(work->session.panel.pool, &job, &results[i], err);
    }
    mean.apart = results[0].outcome != OUTCOME_OK || results[0].count != results[1].count;
    for (size_t i = 0; i < results[0].count && !mean.apart; i++)
        if (results[0].outputs[i].kind == VALUE_TENSOR && results[1].outputs[i].kind == VALUE_TENSOR)
            rate_add(&mean, &results[0].outputs[i].tensors[0], &results[1].outputs[i].tensors[0]);
    *far = rate_delta(&mean);
    for (int i = 0; i < 2; i++)
        result_release(&results[i]);
    handover_close(&handover);
    values_free(values, work->inputs.count);
    return status;
}

/* The sample of --sample, or the one on which the engines differ most. */
static int choose_sample(struct work *work, struct error *err)
{
    double farthest = -1;
    if (work->settings->sample) {
        char *end;
        unsigned long long number = strtoull(work->settings->sample, &end, 10);
        if (*end || end == work->settings->sample || number >= work->inputs.samples)
            return error_set(err, ERROR_USAGE, "--sample takes 0 to %zu here", work->inputs.samples - 1);
        work->sample = (size_t)number;
        return 0;
    }
    struct progress progress;
    int status = 0;
    progress_begin(&progress, "samples", work->inputs.samples);
    for (size_t i = 0; work->inputs.samples > 1 && i < work->inputs.samples && !status; i++) {
        double far = 0;
        status = distance(work, i, &far, err);
        if (!status && far > farthest) {
            farthest = far;
            work->sample = i;
        }
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    return status;
}

/* Checks that the case is valid before an engine that gave no answer is blamed. */
static int check_valid(struct work *work, const struct value *values, struct error *err)
{
    struct job job = {.n_inputs = work->inputs.count, .inputs = values};
    uint8_t *bytes = NULL;
    int status = model_pack(work->model, &bytes, &job.model_size, err);
    job.model = bytes;
    if (status == 0)
        status = session_valid(&work->session, &job, &work->inputs, work->sample, err);
    free(bytes);
    return status;
}

/* What the engine does about numbers beyond their type, by its answer to the model as it is. */
static int see_handling(struct work *work, const struct test_case *test, struct error *err)
{
    struct handover handover;
    struct result result;
    struct job job = {.n_inputs = test->n_inputs, .inputs = test->inputs};
    result_init(&result);
    int status = handover_open(&handover, work->session.panel.pool, work->model, err);
    handover_give(&handover, &job);
    if (status == 0)
        status = pool_run_one(work->session.panel.pool, &job, &result, err);
    if (status == 0 && result.outcome == OUTCOME_OK)
        classify_handling(&work->class, test, result.outputs, result.count);
    result_release(&result);
    handover_close(&handover);
    return status;
}

static int locate(struct work *work, struct error *err)
{
    struct value *values;
    if (choose_sample(work, err) || inputs_get(&work->inputs, work->sample, &values, err))
        return -1;
    struct test_case *test = test_case_view(work->model, values, work->inputs.count);
    struct localize_case which = {
        .pool = work->session.panel.pool,
        .engine = 0,
        .second = work->second,
        .second_is_reference = work->second == work->session.panel.reference,
        .test = test,
        .method = method_of(work->settings),
        .group_bytes = (size_t)work->settings->group,
        .max_group = (size_t)work->settings->window,
        .progress = true,
        .t1 = work->settings->t1,
        .t2 = work->settings->t2,
        .t_c = work->settings->tc,
        .t_g = work->settings->tg,
    };
    int status = localize(&work->found, &which, err);
    if (status == 0 && !work->found.swap && !work->found.n_judged && verdict_is_finding(work->found.kind))
        status = check_valid(work, values, err);
    if (status == 0 && work->found.local) {
        classify(&work->class,
                 &(struct verdict){.kind = work->found.kind,
                                   .output = work->found.verdict.output,
                                   .element = work->found.verdict.element},
                 work->found.n_culprits ? NULL : test);
        if (work->found.unbounded)
            type_limit_find(&work->class.limit, test, NULL);
        status = work->class.limit.kind ? see_handling(work, test, err) : 0;
    }
    if (status == 0 && work->found.n_culprits && !verdict_is(work->found.kind, CLASS_DEATH))
        work->trace = traced_case(which.pool, which.engine, test);
    test_case_free(test);
    values_free(values, work->inputs.count);
    return status;
}

static int write_map(const struct localize_report *said, struct str *out, struct error *err)
{
    struct model_index index;
    if (model_index_init(&index, said->model, err))
        return -1;
    struct str class;
    str_init(&class);
    classification_text(&class, said->class);
    struct str answer;
    str_init(&answer);
    localize_answer(said, "\n", &answer);
    struct map_source source = {said->path, &index, said->found, class.data, answer.data};
    int status = fault_map_html(out, &source, err);
    str_release(&answer);
    str_release(&class);
    model_index_release(&index);
    return status;
}

/* With --method rate nothing is judged: it is enough that the engines answered. */
static void stand(struct work *work)
{
    const struct localization *found = &work->found;
    enum heard heard = verdict_row(found->kind)->heard;
    bool doubtful = verdict_is(found->kind, CLASS_DOUBT | CLASS_SUSPECT);
    if (found->local && heard == HEARD_JUDGED && !doubtful && found->n_judged < found->n_nodes)
        standing_trouble(&work->standing, "%s answered, and %zu of %zu operators could not be judged",
                         found->engine, found->n_nodes - found->n_judged, found->n_nodes);
    else if (found->local)
        standing_heard(&work->standing, found->engine, doubtful ? HEARD_UNJUDGED : heard, 1, 1, found->text);
    if (found->swap && found->swapped.n_wrong)
        standing_finding(&work->standing);
    else if (found->swap && found->swapped.n_suspects > found->swapped.n_cleared)
        standing_trouble(&work->standing, "the reference cannot judge every node that differs");
    else if (found->swap && found->swapped.n_swapped < found->n_nodes)
        standing_trouble(&work->standing, "%zu of %zu nodes run on one of the engines only",
                         found->n_nodes - found->swapped.n_swapped, found->n_nodes);
}

static int report(struct work *work, const char *path, struct error *err)
{
    const struct common *common = &work->settings->common;
    struct str out, described;
    str_init(&out);
    str_init(&described);
    inputs_describe(&work->inputs, &described);
    struct localize_report said = {
        .path = path,
        .model = work->model,
        .sample = work->sample,
        .samples = work->inputs.samples,
        .found = &work->found,
        .settings = &work->session.settings,
        .standing = &work->standing,
        .class = &work->class,
        .described = described.data,
        .trace = work->trace,
    };
    int status = 0;
    stand(work);
    if (common->format == LOCALIZE_JSON)
        localize_write_json(&said, &out);
    else if (common->format == LOCALIZE_HTML)
        status = write_map(&said, &out, err);
    else
        localize_write_text(&said, output_colour(common), &out);
    if (status == 0)
        status = output_result(common, said.settings, &out, err);
    str_release(&out);
    str_release(&described);
    return status;
}

static int open_engines(struct work *work, struct error *err)
{
    const struct settings *settings = work->settings;
    if (settings->common.engines.count > 2)
        return error_set(err, ERROR_USAGE, "localize takes one engine, and one more for the rate");
    bool single = settings->common.engines.count < 2;
    if (session_open(&work->session, &settings->common, 1, single, err))
        return -1;
    work->second = single ? work->session.panel.reference : 1;
    return 0;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct work work = {.settings = raw};
    side_by_side_use((size_t)work.settings->common.threads);
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give one model");
    if (!(work.settings->t1 > 0 && work.settings->t2 > 0 && work.settings->tc > 0 && work.settings->tg > 0))
        return error_set(err, ERROR_USAGE, "--t1, --t2, --tc and --tg take numbers above 0");
    if (output_check(&work.settings->common, err))
        return -1;
    int status = model_open(&work.model, words->items[0], err);
    if (status == 0)
        status = inputs_from_settings(&work.inputs, work.model, words->items[0], &work.settings->inputs, err);
    if (status == 0)
        status = open_engines(&work, err);
    if (status == 0)
        status = locate(&work, err);
    if (status == 0)
        status = report(&work, words->items[0], err);
    struct standing standing = work.standing;
    localization_release(&work.found);
    trace_free(work.trace);
    inputs_release(&work.inputs);
    session_close(&work.session);
    model_free(work.model);
    return status ? -1 : standing_status(&standing);
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_THREADS(struct settings),
    COMMON_INPUTS(struct settings),
    {0, "sample", OPTION_TEXT, "N", offsetof(struct settings, sample),
     "the sample to look at (default: the one on which the two engines differ most)"},
    {0, "method", OPTION_CHOICE, "local|rate|both|causal|swap", offsetof(struct settings, method),
     "judge every node on the inputs it had (default), CRADLE's rate between two engines, both, both and "
     "the parameter that makes the node fail, or the implementations of two engines swapped node by node"},
    {0, "metrics", OPTION_FLAG, NULL, offsetof(struct settings, metrics),
     "also show CRADLE's numbers for each node, as --method both does, and what they mean"},
    {0, "group", OPTION_SIZE, "SIZE", offsetof(struct settings, group),
     "memory for the intermediate values that are held at once (default 128M)"},
    {0, "window", OPTION_SEVERAL, "N", offsetof(struct settings, window),
     "largest fused group to look for, in nodes (default 12)"},
    {0, "t1", OPTION_NUMBER, "X", offsetof(struct settings, t1),
     "with causal: rate of change above which Audee's algorithm looks at a node (default 1000)"},
    {0, "t2", OPTION_NUMBER, "X", offsetof(struct settings, t2),
     "with causal: rate below which a node with another parameter counts as cured (default 2)"},
    {0, "tc", OPTION_NUMBER, "X", offsetof(struct settings, tc),
     "with swap: change of the outputs above which two implementations differ (default 1.5e-4)"},
    {0, "tg", OPTION_NUMBER, "X", offsetof(struct settings, tg),
     "with swap: the same for the gradients of parameters (default 1.5e-4)"},
    COMMON_OUTPUT(struct settings, "text|json|html"),
};

static const struct settings defaults = {.inputs = {.seed = 1},
                                         .method = METHOD_UNSAID,
                                         .t1 = PAIRS_T1,
                                         .t2 = PAIRS_T2,
                                         .tc = SWAP_THRESHOLD,
                                         .tg = SWAP_THRESHOLD};

const struct command command_localize = {
    .name = "localize",
    .summary = "find the operator at fault in a model",
    .usage = "MODEL -e ENGINE [-e OTHER] [OPTION...]",
    .about =
        "Tells which node of the model an engine computes wrongly. The reference evaluates every node on "
        "the\n"
        "inputs that the engine itself gave it and compares the results: a difference larger than rounding\n"
        "can explain is that node's own fault, whatever came before it. When the fault vanishes as soon as\n"
        "the values between nodes are exposed, it is in a fusion, and the fused nodes are named.\n"
        "\n"
        "With --metrics it also shows CRADLE's rate of change R between the engine and OTHER (default: the\n"
        "reference) and marks the nodes whose R is above the third quartile.\n"
        "\n"
        "With --method causal it also looks for the cause: each parameter of the node at fault is given "
        "other\n"
        "legal values, and the changed node runs alone, on the inputs it had and on others like them. The\n"
        "parameter whose change alone cures the failure is the cause. The model then runs with the cure, to\n"
        "see whether it is right or fails at another node.\n"
        "\n"
        "With --method swap the model runs node by node: all nodes on ENGINE first, then one after the "
        "other,\n"
        "from the last, on OTHER. What a swap changes in the outputs (delta_C) and in the gradients of the\n"
        "parameters (delta_G, where both engines have gradients) is that node's doing. The result is then\n"
        "verified with the suspects on ENGINE and everything else on OTHER.\n",
    .examples = "  assay localize model.onnx -e onnxruntime --data folder\n"
                "  assay localize model.onnx -e opencv -e onnxruntime --method rate\n"
                "  assay localize model.onnx -e opencv --method causal\n"
                "  assay localize model.onnx -e torch -e onednn --method swap\n"
                "  assay localize model.onnx -e onnxruntime@1.12.0 -n 20 --format html -o where.html\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
