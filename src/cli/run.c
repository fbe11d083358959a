/* assay run: runs a model on some engines and shows its outputs. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/progress.h"
#include "cli/common.h"
#include "engine/handover.h"
#include "judge/metrics.h"
#include "eval/value_types.h"
#include "model/data.h"
#include "model/edit.h"
#include "model/npz_write.h"
#include "report/answer.h"
#include "report/text_table.h"

#include <stdlib.h>

enum {
    FIRST_VALUES = 4,
    SHOWN = 100, /* tensors of one answer in the table: an engine or a model may have as many as it likes */
};

struct settings {
    struct common common;
    struct input_settings inputs;
    int save;
    bool trace, all_values;
};

struct work {
    const struct settings *settings;
    struct session session;
    const char *given; /* the model's path */
    struct handover handover;
    struct model *model;
    struct inputs inputs;
    struct table table;
    struct table steps; /* --trace: what the engines did */
    struct json json;
    struct standing standing;
    struct run_outcome *outcomes; /* one for each engine */
};

/* What became of the samples of one engine. */
struct run_outcome {
    size_t answered, other; /* samples; other: those with the outcome below */
    enum outcome outcome;   /* the first that was no answer */
};

static void first_values(const struct tensor *tensor, struct str *out)
{
    size_t shown = tensor->count < FIRST_VALUES ? tensor->count : FIRST_VALUES;
    bool number = dtype_is_real(tensor->type);
    for (size_t i = 0; i < shown && number; i++)
        str_printf(out, "%s%.6g", i ? " " : "", (double)tensor_get(tensor, i));
    if (number && shown < tensor->count)
        str_add(out, " ...");
}

static void number_cell(struct table *table, double value, bool known)
{
    if (known)
        table_add(table, STYLE_PLAIN, "%.6g", value);
    else
        table_add(table, STYLE_PLAIN, "-");
}

static void text_tensor(struct work *work, const char *engine, size_t sample, const char *name,
                        const struct tensor *tensor)
{
    struct metrics_summary summary;
    struct str first;
    char shape[SHAPE_TEXT_SIZE];
    metrics_summarize(tensor, &summary);
    str_init(&first);
    first_values(tensor, &first);
    bool known = summary.min <= summary.max;
    table_add(&work->table, STYLE_PLAIN, "%s", engine);
    table_add(&work->table, STYLE_PLAIN, "%zu", sample);
    table_add(&work->table, STYLE_PLAIN, "%s", name);
    table_add(&work->table, STYLE_PLAIN, "%s", dtype_name(tensor->type));
    table_add(&work->table, STYLE_PLAIN, "%s", shape_text(&tensor->shape, shape));
    number_cell(&work->table, summary.min, known);
    number_cell(&work->table, summary.max, known);
    number_cell(&work->table, summary.mean, known);
    table_add(&work->table, summary.nan ? STYLE_WARN : STYLE_PLAIN, "%zu", summary.nan);
    table_add(&work->table, summary.inf ? STYLE_WARN : STYLE_PLAIN, "%zu", summary.inf);
    table_add(&work->table, STYLE_PLAIN, "%s", first.data);
    str_release(&first);
}

static void json_tensor(struct work *work, const struct tensor *tensor)
{
    struct metrics_summary summary;
    metrics_summarize(tensor, &summary);
    bool number = dtype_is_real(tensor->type);
    json_object(&work->json, NULL);
    json_string(&work->json, "dtype", dtype_name(tensor->type));
    json_array(&work->json, "shape");
    for (int i = 0; i < tensor->shape.rank; i++)
        json_int(&work->json, NULL, tensor->shape.dims[i]);
    json_end(&work->json);
    json_double(&work->json, "min", summary.min);
    json_double(&work->json, "max", summary.max);
    json_double(&work->json, "mean", summary.mean);
    json_int(&work->json, "nan", (int64_t)summary.nan);
    json_int(&work->json, "inf", (int64_t)summary.inf);
    json_array(&work->json, "first");
    for (size_t i = 0; number && i < tensor->count && i < FIRST_VALUES; i++)
        json_double(&work->json, NULL, (double)tensor_get(tensor, i));
    json_end(&work->json);
    json_end(&work->json);
}

/* A row that says something instead of showing a tensor. */
static void text_note(struct work *work, const char *engine, size_t sample, enum style style,
                      const char *what, const char *note)
{
    table_add(&work->table, STYLE_PLAIN, "%s", engine);
    table_add(&work->table, STYLE_PLAIN, "%zu", sample);
    table_add(&work->table, style, "%s", what);
    for (int i = 3; i < 10; i++)
        table_add(&work->table, STYLE_PLAIN, "%s", "");
    table_add(&work->table, STYLE_PLAIN, "%s", note);
}

static void text_outputs(struct work *work, const char *engine, size_t sample, const struct result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->count; i++) {
        const struct value *value = &result->outputs[i];
        for (size_t k = 0; k < value->count && count++ < SHOWN; k++) {
            struct str name;
            str_init(&name);
            str_add(&name, value->name ? value->name : "?");
            if (value->kind == VALUE_SEQUENCE)
                str_printf(&name, "[%zu]", k);
            text_tensor(work, engine, sample, name.data, &value->tensors[k]);
            str_release(&name);
        }
    }
}

static void text_result(struct work *work, const char *engine, size_t sample, const struct result *result)
{
    struct str words;
    size_t tensors = 0;
    str_init(&words);
    text_outputs(work, engine, sample, result);
    for (size_t i = 0; i < result->count; i++)
        tensors += result->outputs[i].count;
    if (tensors > SHOWN) {
        str_printf(&words, "%zu more", tensors - SHOWN);
        text_note(work, engine, sample, STYLE_PLAIN, words.data,
                  "not shown here: --format json has them all");
        str_clear(&words);
    }
    if (result->outcome != OUTCOME_OK) {
        str_printf(&words, "at %s: ", stage_name(result->stage));
        result_words(result, &words);
        text_note(work, engine, sample, STYLE_BAD, outcome_name(result->outcome), words.data);
    }
    str_release(&words);
}

/* "y, z": the values that a kernel computed. */
static void add_outputs(const struct trace_step *step, struct str *out)
{
    for (size_t i = 0; i < step->n_outputs && i < FIRST_VALUES; i++)
        str_printf(out, "%s%s", i ? ", " : "", step->outputs[i]);
    if (step->n_outputs > FIRST_VALUES)
        str_add(out, " ...");
}

static void text_trace(struct work *work, const char *engine, size_t sample, const struct trace *trace)
{
    struct str outputs;
    str_init(&outputs);
    for (size_t i = 0; trace && i < trace->count && i < SHOWN; i++) {
        const struct trace_step *step = &trace->steps[i];
        str_clear(&outputs);
        add_outputs(step, &outputs);
        table_add(&work->steps, STYLE_PLAIN, "%s", engine);
        table_add(&work->steps, STYLE_PLAIN, "%zu", sample);
        table_add(&work->steps, STYLE_PLAIN, "%s", trace_kind_name(step->kind));
        table_add(&work->steps, STYLE_PLAIN, "%s", step->name);
        table_add(&work->steps, STYLE_PLAIN, "%s", step->device);
        table_add(&work->steps, STYLE_PLAIN, "%s", step->pass);
        table_add(&work->steps, STYLE_PLAIN, "%s", outputs.data);
    }
    if (!trace || trace->count > SHOWN) {
        table_add(&work->steps, STYLE_PLAIN, "%s", engine);
        table_add(&work->steps, STYLE_PLAIN, "%zu", sample);
        for (int i = 2; i < 6; i++)
            table_add(&work->steps, STYLE_PLAIN, "%s", "");
        table_add(&work->steps, STYLE_PLAIN, "%s",
                  trace ? "further steps are not shown here: --format json has them all"
                        : "this engine does not tell what it does");
    }
    str_release(&outputs);
}

static void json_trace(struct work *work, const struct trace *trace)
{
    struct arena arena;
    size_t count;
    arena_init(&arena);
    const char *const *names = trace_names(trace, &arena, &count);
    trace_json(trace, &work->json, "trace");
    json_array(&work->json, "trace_names");
    for (size_t i = 0; i < count; i++)
        json_string(&work->json, NULL, names[i]);
    json_end(&work->json);
    arena_release(&arena);
}

static void json_result(struct work *work, const char *engine, size_t sample, const struct result *result)
{
    static const char *const kinds[] = {"none", "tensor", "sequence"};
    struct json *json = &work->json;
    struct str last;
    str_init(&last);
    result_last_lines(result->log, &last);
    json_object(json, NULL);
    json_string(json, "engine", engine);
    json_int(json, "sample", (int64_t)sample);
    json_string(json, "outcome", outcome_name(result->outcome));
    json_string(json, "stage", stage_name(result->stage));
    json_string(json, "message", result->message);
    json_string(json, "stderr", last.length ? last.data : NULL);
    str_release(&last);
    json_int(json, "signal", result->signal);
    json_array(json, "outputs");
    for (size_t i = 0; i < result->count; i++) {
        json_object(json, NULL);
        json_string(json, "name", result->outputs[i].name);
        json_string(json, "kind", kinds[result->outputs[i].kind]);
        json_array(json, "tensors");
        for (size_t k = 0; k < result->outputs[i].count; k++)
            json_tensor(work, &result->outputs[i].tensors[k]);
        json_end(json);
        json_end(json);
    }
    json_end(json);
    if (work->settings->trace)
        json_trace(work, result->trace);
    json_end(json);
}

static void show_result(struct work *work, const char *engine, size_t sample, const struct result *result)
{
    if (work->settings->common.format != FORMAT_TEXT) {
        json_result(work, engine, sample, result);
        return;
    }
    text_result(work, engine, sample, result);
    if (work->settings->trace)
        text_trace(work, engine, sample, result->trace);
}

static const Onnx__TypeProto *output_type(const struct model *model, const char *name)
{
    for (size_t i = 0; name && i < model->graph->n_output; i++)
        if (model->graph->output[i]->name && text_equal(model->graph->output[i]->name, name))
            return model->graph->output[i]->type;
    return NULL;
}

/* The name of the folder of an engine's outputs. */
static void add_engine_folder(struct str *path, const char *engine)
{
    for (const char *c = engine; *c; c++)
        str_append(path, *c == '/' ? "_" : c, 1);
}

enum { SAVE_PB, SAVE_NPY, SAVE_NPZ };

/* FOLDER/ENGINE/test_data_set_SAMPLE/output_N.pb, or all of them in outputs.npz there */
static int save_outputs(const struct work *work, const struct folder *folder, struct str *path,
                        const struct result *result, struct error *err)
{
    static const char *const endings[] = {[SAVE_PB] = "pb", [SAVE_NPY] = "npy"};
    size_t length = path->length;
    int status = 0;
    if (work->settings->save == SAVE_NPZ) {
        str_add(path, "/outputs.npz");
        return npz_write(folder, path->data, result->outputs, result->count, err);
    }
    for (size_t i = 0; i < result->count && status == 0; i++) {
        path->length = length;
        str_printf(path, "/output_%zu.%s", i, endings[work->settings->save]);
        status = data_write_typed(folder, path->data, output_type(work->model, result->outputs[i].name),
                                  &result->outputs[i], err);
    }
    return status;
}

static int save(const struct work *work, const char *engine, size_t sample, const struct result *result,
                struct error *err)
{
    struct folder folder;
    struct str path;
    str_init(&path);
    int status = folder_make(&folder, USERS_PATH, work->settings->common.output, err);
    add_engine_folder(&path, engine);
    str_printf(&path, "/test_data_set_%zu", sample);
    if (status == 0 && result->outcome == OUTCOME_OK)
        status = folder_make_all(&folder, path.data, err) || save_outputs(work, &folder, &path, result, err);
    folder_close(&folder);
    str_release(&path);
    return status;
}

/*
 * Existing outputs, of an earlier run or of a case, are overwritten only with --force, and never those that
 * lie beside the inputs.
 */
static int check_folder(const struct work *work, struct error *err)
{
    const char *folder = work->settings->common.output, *data = work->settings->inputs.data;
    int status = 0;
    for (size_t i = 0; folder && i < work->session.panel.count && status == 0; i++) {
        struct str path;
        str_init(&path);
        str_printf(&path, "%s/", folder);
        add_engine_folder(&path, work->session.labels[i]);
        if (data && output_is_within(data, path.data))
            status = error_set(err, ERROR_IO, "%s holds the inputs %s; name another folder", path.data, data);
        else if (file_exists(path.data) && !work->settings->common.force)
            status = error_set(err, ERROR_IO,
                               "%s already exists; use --force to overwrite the outputs in it, or name "
                               "another folder",
                               path.data);
        str_release(&path);
    }
    return status;
}

static bool is_failure(enum outcome outcome)
{
    return verdict_is_finding(verdict_of_outcome(outcome));
}

/* Nothing is judged here: it is enough that every engine answered. */
static void stand(struct work *work, size_t number, size_t sample, const struct result *result)
{
    const char *engine = work->session.labels[number];
    struct str words;
    str_init(&words);
    result_words(result, &words);
    struct run_outcome *kept = &work->outcomes[number];
    if (result->outcome == OUTCOME_OK)
        kept->answered++;
    else if (!kept->other++)
        kept->outcome = result->outcome;
    if (is_failure(result->outcome))
        standing_finding(&work->standing);
    else if (result->outcome != OUTCOME_OK)
        standing_trouble(&work->standing, "%s %s on sample %zu: %.1000s", engine,
                         result->outcome == OUTCOME_UNSUPPORTED ? "does not support it" : "gave no answer",
                         sample, words.data);
    str_release(&words);
}

static int run_sample(struct work *work, size_t sample, struct error *err)
{
    struct value *values;
    if (inputs_get(&work->inputs, sample, &values, err))
        return -1;
    int status = 0;
    for (size_t i = 0; i < work->session.panel.count && status == 0; i++) {
        struct job job = {.engine = (int)i,
                          .n_inputs = work->inputs.count,
                          .inputs = values,
                          .trace = work->settings->trace};
        handover_give(&work->handover, &job);
        struct result result;
        result_init(&result);
        status = pool_run_one(work->session.panel.pool, &job, &result, err);
        if (status == 0 && is_failure(result.outcome))
            status = session_valid(&work->session, &job, &work->inputs, sample, err);
        if (status == 0) {
            stand(work, i, sample, &result);
            show_result(work, work->session.labels[i], sample, &result);
            if (work->settings->common.output)
                status = save(work, work->session.labels[i], sample, &result, err);
        }
        result_release(&result);
    }
    values_free(values, work->inputs.count);
    return status;
}

/* Nothing is judged here, and the answer says so. */
static void add_answer(const struct work *work, const char *between, struct str *out)
{
    size_t engines = work->session.panel.count, samples = work->inputs.samples;
    struct answer_part *parts = memory_zeroed(2 * engines + 1, sizeof *parts);
    struct answer answer = {.unjudging = true, .parts = parts, .standing = &work->standing};
    struct str evidence, what;
    str_init(&evidence);
    str_init(&what);
    text_print(&what, work->given, 0);
    inputs_describe(&work->inputs, &evidence);
    str_add(&evidence, "; no answer was judged, which 'assay compare' does");
    for (size_t i = 0; i < engines; i++) {
        const struct run_outcome *of = &work->outcomes[i];
        if (of->answered)
            parts[answer.count++] = (struct answer_part){.engine = work->session.labels[i],
                                                         .kind = VERDICT_AGREES,
                                                         .alike = of->answered,
                                                         .all = samples};
        if (of->other)
            parts[answer.count++] = (struct answer_part){.engine = work->session.labels[i],
                                                         .kind = verdict_of_outcome(of->outcome),
                                                         .alike = of->other,
                                                         .all = samples};
    }
    answer.what = what.data;
    answer.evidence = evidence.data;
    answer_add(out, &answer, between);
    str_release(&evidence);
    str_release(&what);
    free(parts);
}

static int run_all(struct work *work, struct str *out, struct error *err)
{
    const struct common *common = &work->settings->common;
    struct common screen = *common;
    screen.output = NULL; /* -o is the folder of the outputs */
    bool text = common->format == FORMAT_TEXT;
    if (text) {
        table_head(&work->table, "engine|sample|output|type|shape|min|max|mean|nan|inf|first values");
        table_head(&work->steps, "engine|sample|step|name|device|made by|computes");
    } else {
        output_json(&work->json, out, true);
        json_string(&work->json, "model", work->given);
        json_array(&work->json, "results");
    }
    struct progress progress;
    int status = 0;
    progress_begin(&progress, "samples", work->inputs.samples);
    for (size_t sample = 0; sample < work->inputs.samples && !status; sample++) {
        status = run_sample(work, sample, err);
        progress_step(&progress, sample + 1);
    }
    progress_end(&progress);
    if (status)
        return -1;
    if (text) {
        add_answer(work, "\n", out);
        str_add(out, "\n\n");
        table_print(&work->table, out, output_colour(&screen), 0);
        if (work->settings->trace) {
            str_add(out, "\n");
            table_print(&work->steps, out, output_colour(&screen), 0);
        }
    } else {
        struct str answer;
        str_init(&answer);
        add_answer(work, " ", &answer);
        json_end(&work->json);
        json_string(&work->json, "answer", answer.data);
        str_release(&answer);
        standing_json(&work->standing, &work->json);
        engine_settings_json(&work->session.settings, &work->json);
        json_end(&work->json);
    }
    return output_result(&screen, &work->session.settings, out, err);
}

/* Makes what every node of the graph gives an output, behind those of the model. Types are declared as far as
 * they are known: not all engines find them by themselves. */
static int expose_all(struct model *model, struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    struct value_types types;
    const char **names = NULL;
    size_t count = 0, room = 0, own = graph->n_output;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (*graph->node[i]->output[k]) {
                names = memory_grow(names, &room, count + 1, sizeof *names);
                names[count++] = graph->node[i]->output[k];
            }
    value_types_init(&types, model);
    int status = model_expose(model, names, count, err);
    for (size_t i = own; i < graph->n_output && !status; i++) {
        const struct bounded *known = value_types_find(&types, graph->output[i]->name);
        if (known && known->type != DTYPE_NONE && known->kind == BOUNDED_TENSOR && !graph->output[i]->type)
            graph->output[i]->type = type_make(&model->arena, known->type, NULL);
    }
    value_types_release(&types);
    free(names);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct work work = {.settings = raw};
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give one model");
    struct str out;
    str_init(&out);
    table_init(&work.table, "lrlllrrrrrl");
    table_init(&work.steps, "lrlllll");
    work.given = words->items[0];
    int status = model_open(&work.model, work.given, err);
    if (status == 0 && work.settings->all_values)
        status = expose_all(work.model, err);
    if (status == 0)
        status = inputs_from_settings(&work.inputs, work.model, work.given, &work.settings->inputs, err);
    if (status == 0)
        status = session_open(&work.session, &work.settings->common, 1, false, err);
    if (status == 0)
        status = check_folder(&work, err);
    if (status == 0)
        status = handover_open(&work.handover, work.session.panel.pool, work.model, err);
    work.outcomes = memory_zeroed(work.session.panel.count + 1, sizeof *work.outcomes);
    if (status == 0)
        status = run_all(&work, &out, err);
    free(work.outcomes);
    inputs_release(&work.inputs);
    session_close(&work.session);
    handover_close(&work.handover);
    model_free(work.model);
    table_release(&work.table);
    table_release(&work.steps);
    str_release(&out);
    return status ? -1 : standing_status(&work.standing);
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_INPUTS(struct settings),
    {'o', "output", OPTION_TEXT, "DIR", offsetof(struct settings, common.output),
     "also save outputs: DIR/ENGINE/test_data_set_N/output_N; DIR/ENGINE must be new"},
    COMMON_FORCE(struct settings, "overwrite outputs that are there"),
    {0, "save", OPTION_CHOICE, "pb|npy|npz", offsetof(struct settings, save),
     "how outputs are saved (default pb); npz: all of a sample in outputs.npz, by their names"},
    {0, "all-values", OPTION_FLAG, NULL, offsetof(struct settings, all_values),
     "also what every node gives, not the model's outputs alone"},
    {0, "trace", OPTION_FLAG, NULL, offsetof(struct settings, trace),
     "also show what each engine did: the kernels and passes that its library names"},
    {0, "format", OPTION_CHOICE, "text|json", offsetof(struct settings, common.format),
     "how the result is written"},
};

static const struct settings defaults = {.inputs = {.seed = 1}};

const struct command command_run = {
    .name = "run",
    .summary = "run a model and show its outputs",
    .usage = "MODEL -e ENGINE [OPTION...]",
    .about =
        "Runs the model on each engine and prints the type, shape, range and first values of every output.\n",
    .examples = "  assay run model.onnx -e onnxruntime\n"
                "  assay run model.onnx -e onnxruntime --data folder -o outputs --save npy\n"
                "  assay run model.onnx -e onnxruntime -e reference --all-values -o values --save npz\n"
                "  assay run model.onnx -e onnxruntime@1.30.0:opt=none -n 3 --seed 7 --dim batch=2\n"
                "  assay run model.onnx -e onnxruntime -e onednn --trace\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
