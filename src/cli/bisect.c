/* assay bisect: the releases, the knob and the optimiser pass with which a case fails. */
#include "releases/bisect.h"

#include "base/json.h"
#include "base/progress.h"
#include "cli/casefile.h"
#include "report/text_table.h"

struct settings {
    struct common common;
    struct input_settings inputs;
    long long step;
    bool no_knobs;
};

/* The sample that was bisected, of how many; those before it are bad in no release. */
struct samples {
    size_t at, count;
};

static const char *release_name(const struct bisect *bisect, size_t number)
{
    return bisect->releases[number] ? bisect->releases[number] : "installed";
}

static bool is_bad(const struct bisect *bisect)
{
    bool bad = false;
    for (size_t i = 0; i < bisect->n_stretches && !bad; i++)
        bad = bisect->stretches[i].bad;
    return bad;
}

static void write_stretches(const struct bisect *bisect, struct str *out, bool colour)
{
    struct table table;
    struct str message;
    str_init(&message);
    table_init(&table, "lrlll");
    table_head(&table, "releases|number|verdict|stage|");
    for (size_t i = 0; i < bisect->n_stretches; i++) {
        const struct bisect_stretch *stretch = &bisect->stretches[i];
        const char *first = release_name(bisect, stretch->first), *last = release_name(bisect, stretch->last);
        str_clear(&message);
        text_print(&message, stretch->verdict.text, 0);
        if (stretch->verdict.by_answer)
            str_add(&message, " (by the case's expected outputs)");
        table_add(&table, STYLE_PLAIN, "%s%s%s", first, stretch->first == stretch->last ? "" : " to ",
                  stretch->first == stretch->last ? "" : last);
        table_add(&table, STYLE_PLAIN, "%zu", stretch->last - stretch->first + 1);
        table_add(&table, verdict_style(stretch->verdict.kind), "%s", verdict_name(stretch->verdict.kind));
        table_add(&table, STYLE_PLAIN, "%s", stage_name(stretch->verdict.stage));
        table_add(&table, STYLE_PLAIN, "%s", message.data);
    }
    table_print(&table, out, colour, 0);
    table_release(&table);
    str_release(&message);
}

static void write_knobs(const struct bisect *bisect, struct str *out, bool colour)
{
    str_printf(out, "\non %s\n", bisect->at ? bisect->at : "the installed release");
    for (size_t i = 0; i < bisect->n_knobs; i++) {
        const struct bisect_knob *knob = &bisect->knobs[i];
        str_printf(out, "  %s:", knob->name);
        for (size_t k = 0; k < knob->count; k++) {
            str_printf(out, "%s%s ", k ? ", " : " ", knob->values[k].value);
            style_print(out, colour, verdict_style(knob->values[k].verdict.kind), "%s",
                        verdict_name(knob->values[k].verdict.kind));
        }
        str_add(out, "\n");
    }
    if (!bisect->pass_knob)
        return;
    str_printf(out, "  %s: ", bisect->pass_knob);
    if (!bisect->n_blamed)
        str_printf(out, "the fault stays even without all %zu passes\n", bisect->n_passes);
    else {
        str_printf(out, "the fault is gone without ");
        for (size_t i = 0; i < bisect->n_blamed; i++) {
            str_add(out, i ? "+" : "");
            style_print(out, colour, STYLE_BAD, "%s", bisect->blamed[i]);
        }
        str_add(out, "\n");
    }
}

/* --- The answer --- */

/* What is said of a stretch of releases; neighbours of which the same is said are told as one. */
static const char *said_of(const struct bisect_stretch *stretch)
{
    const struct verdict_row *row = verdict_row(stretch->verdict.kind);
    return stretch->bad                                    ? "bad"
           : row->heard == HEARD_JUDGED                    ? "right"
           : verdict_is(stretch->verdict.kind, CLASS_LACK) ? "not supported"
                                                           : "not judged";
}

/* "bad in every installed release up to 1.26.0", "right from 1.27.0": releases from one to another. */
static void add_span(struct str *out, const struct bisect *bisect, const char *said, size_t from, size_t to)
{
    const char *first = release_name(bisect, from), *last = release_name(bisect, to);
    bool oldest = from == 0, newest = to + 1 == bisect->n_releases;
    if (oldest && newest && from == to)
        str_printf(out, "%s in %s", said, bisect->releases[from] ? first : "the installed release");
    else if (oldest && newest)
        str_printf(out, "%s in every installed release, %s to %s", said, first, last);
    else if (newest)
        str_printf(out, "%s from %s", said, first);
    else if (from == to)
        str_printf(out, "%s in %s", said, first);
    else if (oldest)
        str_printf(out, "%s in every installed release up to %s", said, last);
    else
        str_printf(out, "%s from %s to %s", said, first, last);
}

static void add_releases(struct str *out, const struct bisect *bisect)
{
    for (size_t i = 0, end; i < bisect->n_stretches; i = end) {
        const char *said = said_of(&bisect->stretches[i]);
        for (end = i + 1; end < bisect->n_stretches && text_equal(said_of(&bisect->stretches[end]), said);)
            end++;
        str_add(out, i ? "; " : "");
        add_span(out, bisect, said, bisect->stretches[i].first, bisect->stretches[end - 1].last);
    }
    str_add(out, ".");
}

/* Begins what cures the failure: " On 1.26.0 it is right", or ", or" behind an earlier cure. */
static void add_cure(struct str *out, const struct bisect *bisect, size_t before)
{
    if (before)
        str_add(out, ", or");
    else if (bisect->n_releases > 1)
        str_printf(out, " On %s it is right", bisect->at);
    else
        str_add(out, " It is right");
}

static void add_cures(struct str *out, const struct bisect *bisect)
{
    size_t cures = 0;
    for (size_t i = 0; i < bisect->n_knobs; i++)
        for (size_t k = 0; k < bisect->knobs[i].count; k++) {
            const struct bisect_value *value = &bisect->knobs[i].values[k];
            if (value->bad || verdict_row(value->verdict.kind)->heard != HEARD_JUDGED)
                continue;
            add_cure(out, bisect, cures++);
            str_printf(out, " with %s=%s", bisect->knobs[i].name, value->value);
        }
    if (bisect->n_blamed)
        add_cure(out, bisect, cures++);
    for (size_t i = 0; i < bisect->n_blamed; i++)
        str_printf(out, " %s %s", i ? "and" : "without", bisect->blamed[i]);
    str_add(out, cures ? "." : "");
}

static void add_answer(struct str *out, const struct bisect *bisect, const struct test_case *test,
                       const struct samples *samples, const char *between)
{
    size_t looked = 0;
    for (size_t i = 0; i < bisect->n_releases; i++)
        looked += bisect->looked[i];
    text_print(out, test->name, 0);
    str_printf(out, " on %s: ", bisect->engine);
    if (samples->count > 1 && is_bad(bisect))
        str_printf(out, "sample %zu is ", samples->at);
    else if (samples->count > 1)
        str_printf(out, "none of %zu samples is bad; the last is ", samples->count);
    add_releases(out, bisect);
    add_cures(out, bisect);
    str_printf(out, "%sEvidence: %zu installed release%s, ", between, bisect->n_releases,
               bisect->n_releases == 1 ? "" : "s");
    if (looked < bisect->n_releases)
        str_printf(out, "of which %zu were run; the rest lies between two that are alike.", looked);
    else
        str_printf(out, "%s run.", looked == 1 ? "which was" : "all of which were");
}

/* Releases that lack an operator are no trouble as long as some release was judged. */
static void stand(const struct bisect *bisect, struct standing *standing)
{
    size_t judged = 0;
    for (size_t i = 0; i < bisect->n_stretches; i++) {
        const struct bisect_stretch *stretch = &bisect->stretches[i];
        enum heard heard = verdict_row(stretch->verdict.kind)->heard;
        judged += heard == HEARD_JUDGED || heard == HEARD_FINDING || heard == HEARD_LIMITED ||
                  heard == HEARD_LENIENT || heard == HEARD_UNSAID;
        if (stretch->bad)
            standing_finding(standing);
        else if (heard == HEARD_NOTHING || heard == HEARD_UNJUDGED)
            standing_heard(standing, release_name(bisect, stretch->first), heard, 1, 1,
                           stretch->verdict.text);
    }
    if (!judged)
        standing_trouble(standing, "no release of %s gave an answer that could be judged", bisect->engine);
}

static void write_text(const struct bisect *bisect, const struct test_case *test,
                       const struct samples *samples, const struct standing *standing, struct str *out,
                       bool colour)
{
    add_answer(out, bisect, test, samples, "\n");
    str_add(out, "\n\n");
    standing_print(standing, out, colour);
    write_stretches(bisect, out, colour);
    if (bisect->n_knobs || bisect->pass_knob)
        write_knobs(bisect, out, colour);
}

static void json_verdict(struct json *json, const struct bisect_verdict *verdict)
{
    json_string(json, "verdict", verdict_name(verdict->kind));
    json_string(json, "stage", stage_name(verdict->stage));
    json_bool(json, "bad", verdict_is_finding(verdict->kind));
    json_bool(json, "by_answer", verdict->by_answer);
    json_string(json, "text", verdict->text);
    json_string(json, "message", verdict->message);
}

static void json_stretches(struct json *json, const struct bisect *bisect)
{
    json_array(json, "windows");
    for (size_t i = 0; i < bisect->n_stretches; i++) {
        const struct bisect_stretch *stretch = &bisect->stretches[i];
        json_object(json, NULL);
        json_string(json, "first", bisect->releases[stretch->first]);
        json_string(json, "last", bisect->releases[stretch->last]);
        json_int(json, "releases", (int64_t)(stretch->last - stretch->first + 1));
        json_verdict(json, &stretch->verdict);
        json_end(json);
    }
    json_end(json);
}

static void json_knobs(struct json *json, const struct bisect *bisect)
{
    json_array(json, "knobs");
    for (size_t i = 0; i < bisect->n_knobs; i++) {
        json_object(json, NULL);
        json_string(json, "name", bisect->knobs[i].name);
        json_array(json, "values");
        for (size_t k = 0; k < bisect->knobs[i].count; k++) {
            json_object(json, NULL);
            json_string(json, "value", bisect->knobs[i].values[k].value);
            json_verdict(json, &bisect->knobs[i].values[k].verdict);
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
    json_object(json, "passes");
    json_string(json, "knob", bisect->pass_knob);
    json_int(json, "tried", (int64_t)bisect->n_passes);
    json_array(json, "blamed");
    for (size_t i = 0; i < bisect->n_blamed; i++)
        json_string(json, NULL, bisect->blamed[i]);
    json_end(json);
    json_end(json);
}

static void write_json(const struct bisect *bisect, const struct test_case *test,
                       const struct samples *samples, const struct standing *standing,
                       const struct engine_settings *run_with, struct str *out)
{
    struct json json;
    struct str answer;
    str_init(&answer);
    add_answer(&answer, bisect, test, samples, " ");
    output_json(&json, out, true);
    json_string(&json, "answer", answer.data);
    str_release(&answer);
    standing_json(standing, &json);
    engine_settings_json(run_with, &json);
    json_string(&json, "case", test->name);
    json_int(&json, "sample", (int64_t)samples->at);
    json_string(&json, "engine", bisect->engine);
    json_int(&json, "releases", (int64_t)bisect->n_releases);
    json_int(&json, "runs", (int64_t)bisect->runs);
    json_int(&json, "knob_runs", (int64_t)bisect->knob_runs);
    json_int(&json, "pass_runs", (int64_t)bisect->pass_runs);
    json_stretches(&json, bisect);
    json_string(&json, "at", bisect->at);
    json_knobs(&json, bisect);
    json_end(&json);
    str_add(out, "\n");
}

static int report(const struct bisect *bisect, const struct test_case *test, const struct samples *samples,
                  const struct settings *settings, const struct engine_settings *run_with, struct error *err)
{
    struct standing standing = {0};
    struct str out;
    str_init(&out);
    stand(bisect, &standing);
    if (settings->common.format == FORMAT_JSON)
        write_json(bisect, test, samples, &standing, run_with, &out);
    else
        write_text(bisect, test, samples, &standing, &out, output_colour(&settings->common));
    int status = output_result(&settings->common, run_with, &out, err);
    str_release(&out);
    return status ? -1 : standing_status(&standing);
}

static void take_settings(void *context, const struct panel *releases)
{
    engine_settings_take(context, releases);
}

/* Bisects one sample. Returns the exit status, -1, or NEXT_SAMPLE when it is not bad and not the last. */
enum { NEXT_SAMPLE = 100 };
static int bisect_sample(const struct settings *settings, struct test_case *test, struct registry *registry,
                         struct samples *samples, struct error *err)
{
    struct bisect bisect;
    struct engine_settings run_with;
    struct progress progress;
    struct bisect_options options = {
        .registry = registry,
        .limits = {.deadline = settings->common.deadline,
                   .memory = (size_t)settings->common.memory,
                   .sandbox = (enum sandbox_mode)settings->common.sandbox},
        .engine = settings->common.engines.items[0],
        .step = (size_t)settings->step,
        .no_knobs = settings->no_knobs,
        .ran = take_settings,
        .context = &run_with,
        .progress = &progress,
    };
    engine_settings_init(&run_with);
    progress_begin(&progress, "bisect: engine runs", 0);
    int status = bisect_run(&bisect, test, &options, err);
    progress_end(&progress);
    if (!status && settings->no_knobs && bisect.n_releases < 2)
        status = error_set(err, ERROR_USAGE,
                           "%s is one release, so there is nothing to bisect: leave out --no-knobs, or name "
                           "an engine with several releases ('assay engines')",
                           given_text(options.engine));
    if (!status && !is_bad(&bisect) && samples->at + 1 < samples->count)
        status = NEXT_SAMPLE;
    else if (!status)
        status = report(&bisect, test, samples, settings, &run_with, err);
    engine_settings_release(&run_with);
    bisect_release(&bisect);
    return status;
}

/* The first sample that is bad in some release, or the last. */
static int bisect_case(const struct settings *settings, const char *path, struct registry *registry,
                       struct error *err)
{
    struct samples samples = {0};
    int status = NEXT_SAMPLE;
    for (; status == NEXT_SAMPLE; samples.at++) {
        struct test_case *test;
        status = casefile_open_sample(&test, path, &settings->inputs, samples.at, &samples.count, err);
        if (!status)
            status = casefile_rewrite(&test, path, err);
        if (!status)
            status = bisect_sample(settings, test, registry, &samples, err);
        test_case_free(test);
    }
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    struct registry *registry;
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give one case: a folder, or a model");
    if (settings->common.engines.count != 1)
        return error_set(err, ERROR_USAGE, "name one engine with -e; 'assay engines' lists them");
    if (output_check(&settings->common, err))
        return -1;
    if (registry_open(&registry, settings->common.registries.items, settings->common.registries.count, err))
        return -1;
    int status = bisect_case(settings, words->items[0], registry, err);
    registry_free(registry);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_INPUTS(struct settings),
    {0, "step", OPTION_SEVERAL, "N", offsetof(struct settings, step),
     "run every Nth release first (default 2); 1 runs them all"},
    {0, "no-knobs", OPTION_FLAG, NULL, offsetof(struct settings, no_knobs),
     "look at releases only, not at knobs and passes"},
    COMMON_OUTPUT(struct settings, "text|json"),
};

static const struct settings defaults = {.inputs = {.seed = 1}, .step = 2};

const struct command command_bisect = {
    .name = "bisect",
    .summary = "find the releases, the knob and the optimiser pass with which a case goes wrong",
    .usage = "CASE-FOLDER|MODEL -e ENGINE [OPTION...]",
    .about =
        "Runs a case on the installed releases of an engine and tells in which of them it is right, wrong,\n"
        "refused or fatal. Every second release is run first, then every change between neighbours is\n"
        "bisected. So a fault that comes and goes several times is seen, but not one of a single release\n"
        "between two good ones: --step 1 runs every release. The reference judges, and the expected outputs\n"
        "of the case where its folder has some. Of several samples the first that is bad in some release is\n"
        "told of.\n"
        "\n"
        "On the last bad release it then tries each value of each knob, and looks for a smallest set of\n"
        "optimiser passes without which the fault is gone, where the engine can switch off passes by name.\n"
        "With a version (onnxruntime@1.20.0) only knobs and passes are tried.\n"
        "\n"
        "The exit status is 1 when some release is bad, 0 when none is, 2 when none could be judged.\n",
    .examples = "  assay bisect findings/1f3a -e onnxruntime\n"
                "  assay bisect model.onnx --data data/ -e onnxruntime:opt=none --step 1\n"
                "  assay bisect findings/1f3a -e onnxruntime@1.30.0 --format json\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
