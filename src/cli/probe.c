/* assay probe: finds out which operators, types, opsets and ranks each engine supports. */
#include "base/file.h"
#include "base/memory.h"
#include "cli/common.h"
#include "probe/probe_file.h"
#include "report/probe_report.h"
#include "report/support_table.h"

#include <stdlib.h>

enum probe_format { PROBE_TEXT, PROBE_JSON, PROBE_HTML, PROBE_CSV, PROBE_MARKDOWN };
enum { MOST_PAGE = 64 << 20 };

struct settings {
    struct common common;
    const char *ops, *keep, *check;
    bool quick, kept, trace;
    uint64_t seed;
};

/* A partial probe does not replace a complete one, except in a folder that the user names. */
static int keep(const struct settings *settings, const struct probe_result *results, size_t count,
                struct error *err)
{
    if (!settings->keep && (settings->quick || settings->ops))
        return 0;
    char *folder = settings->keep ? NULL : probe_folder();
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        if (results[i].started)
            status = probe_keep(&results[i], USERS_PATH, settings->keep ? settings->keep : folder, err);
    free(folder);
    return status;
}

/* Reads the results of earlier probes. Engines are started even so, because they tell their version. */
static int load(const struct settings *settings, struct session *session, struct probe_result **results,
                struct error *err)
{
    char *folder = settings->keep ? memory_strdup(settings->keep) : probe_folder();
    int status = 0;
    *results = memory_zeroed(session->panel.count, sizeof **results);
    for (size_t i = 0; i < session->panel.count && !status; i++) {
        char *engine = probe_engine(panel_engine(&session->panel, i));
        status = probe_load(&(*results)[i], USERS_PATH, folder, engine, err);
        if (status)
            error_prefix(err, "no results of %s are kept ('assay probe' without --kept makes them)", engine);
        free(engine);
    }
    free(folder);
    return status;
}

static int write_report(const struct settings *settings, const struct probe_result *results, size_t count,
                        struct error *err)
{
    struct str out;
    str_init(&out);
    if (settings->common.format == PROBE_JSON)
        probe_json(results, count, &out, true);
    else if (settings->common.format == PROBE_HTML)
        probe_html(results, count, &out);
    else if (settings->common.format == PROBE_CSV)
        support_csv(results, count, &out);
    else if (settings->common.format == PROBE_MARKDOWN)
        support_markdown(results, count, &out);
    else
        probe_text(results, count, &out, output_colour(&settings->common));
    int status = output_write(&settings->common, &out, err);
    str_release(&out);
    return status;
}

/* --check: whether the table in a file is what was found. */
static int check_table(const struct settings *settings, const struct probe_result *results, size_t count,
                       struct error *err)
{
    bool markdown = settings->common.format == PROBE_MARKDOWN;
    struct str table, words;
    char *page;
    size_t size;
    if (file_read(settings->check, MOST_PAGE, &page, &size, err))
        return -1;
    str_init(&table);
    str_init(&words);
    (markdown ? support_markdown : support_csv)(results, count, &table);
    size_t differences = support_differences(table.data, page, markdown, &words);
    if (differences)
        str_printf(&words,
                   "%zu lines of %s are not what was found; 'assay probe --format %s' writes the table.\n",
                   differences, settings->check, markdown ? "markdown" : "csv");
    else
        str_printf(&words, "%s has what was found.\n", settings->check);
    int status = output_write(&settings->common, &words, err);
    str_release(&words);
    str_release(&table);
    free(page);
    return status ? -1 : differences ? STATUS_FINDINGS : STATUS_AGREE;
}

static bool all_started(const struct probe_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!results[i].started)
            return false;
    return true;
}

static int exit_status(const struct probe_result *results, size_t count)
{
    bool finding = false, trouble = false;
    for (size_t i = 0; i < count; i++) {
        struct probe_counts counts = probe_count_all(&results[i]);
        finding |= probe_is_finding(probe_sum_up(&counts));
        trouble |= !results[i].started;
    }
    return finding ? STATUS_FINDINGS : trouble ? STATUS_TROUBLE : STATUS_AGREE;
}

static int probe(const struct settings *settings, struct session *session, struct error *err)
{
    struct probe_options options = {
        .panel = &session->panel,
        .ops = settings->ops,
        .narrow = DTYPES_NARROW,
        .seed = settings->seed,
        .quick = settings->quick,
        .trace = settings->trace,
        .progress = true,
    };
    struct probe_result *results = NULL;
    int status = settings->kept ? load(settings, session, &results, err) : probe_run(&options, &results, err);
    if (!status && !settings->kept)
        status = keep(settings, results, session->panel.count, err);
    if (!status && settings->check && all_started(results, session->panel.count))
        status = check_table(settings, results, session->panel.count, err);
    else if (!status)
        status = write_report(settings, results, session->panel.count, err)
                     ? -1
                     : exit_status(results, session->panel.count);
    probe_results_free(results, session->panel.count);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct session session = {0};
    if (words->count)
        return error_set(err, ERROR_USAGE, "probe takes engines with -e, not '%s'", words->items[0]);
    const struct settings *settings = raw;
    if (settings->check && settings->common.format != PROBE_CSV && settings->common.format != PROBE_MARKDOWN)
        return error_set(err, ERROR_USAGE, "--check compares a table of --format markdown or --format csv");
    if (output_check(&settings->common, err))
        return -1;
    int status = session_open(&session, &((const struct settings *)raw)->common, 1, true, err);
    if (status == 0)
        status = probe(raw, &session, err);
    session_close(&session);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    {0, "ops", OPTION_TEXT, "A,B,...", offsetof(struct settings, ops), "only these operators"},
    {'q', "quick", OPTION_FLAG, NULL, offsetof(struct settings, quick),
     "use three opsets and two ranks only: a tenth of the cases"},
    {0, "seed", OPTION_SEED, "S", offsetof(struct settings, seed), "seed of the cases' data (default 1)"},
    {0, "keep", OPTION_TEXT, "DIR", offsetof(struct settings, keep),
     "where results are kept (default: probe/ in the data folder, for complete probes only)"},
    {0, "kept", OPTION_FLAG, NULL, offsetof(struct settings, kept),
     "show the results of earlier probes instead of probing"},
    {0, "trace", OPTION_FLAG, NULL, offsetof(struct settings, trace),
     "also show which kernels and passes each engine uses for each operator, where it tells"},
    {0, "check", OPTION_TEXT, "FILE", offsetof(struct settings, check),
     "with --format markdown or csv: compare with the table in FILE; status 1 where they differ"},
    COMMON_OUTPUT(struct settings, "text|json|html|csv|markdown"),
};

static const struct settings defaults = {.common.deadline = 10, .seed = 1};

const struct command command_probe = {
    .name = "probe",
    .summary = "find out what engines can do: operators, types, opsets, ranks",
    .usage = "-e ENGINE... [OPTION...]",
    .about =
        "Asks every engine for every operator, element type, opset (11 to 25), rank and combination of\n"
        "optional inputs, as models of one node, and compares the answers with the reference: ok, unsure\n"
        "(the answer proves nothing), unsupported, rejected, wrong, crash or hang. Unsupported means that "
        "the\n"
        "engine cleanly says it lacks something, which is not a finding; a crash is one. The results are\n"
        "kept for each engine version, so that later campaigns do not ask for what an engine lacks.\n",
    .examples = "  assay probe -e onnxruntime\n"
                "  assay probe -e onnxruntime@1.12.0 -e onnxruntime -e opencv --format html -o probe.html\n"
                "  assay probe -e opencv --ops Conv,Relu,Softmax --format json\n"
                "  assay probe -e onnxruntime --quick\n"
                "  assay probe -e opencv --quick --format markdown --check docs/operators.md\n"
                "  assay probe -e onednn --ops Conv,MatMul --quick --trace\n"
                "  assay probe -e onnxruntime -e opencv --kept --format html -o probe.html\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
