/* assay conform: test cases that bring their answers. */
#include "base/json.h"
#include "campaign/conform.h"
#include "cli/common.h"
#include "report/junit.h"
#include "report/table.h"

#include <stdlib.h>

enum { SHOWN_FINDINGS = 20, MESSAGE_LIMIT = 160 };

struct settings {
    struct common common;
    const char *match;
    bool list;
    double rtol, atol, scale;
};

static enum style verdict_style(enum conform_verdict verdict)
{
    if (verdict == CONFORM_PASS)
        return STYLE_GOOD;
    return conform_is_finding(verdict) ? STYLE_BAD : STYLE_WARN;
}

static void text_summary(const struct conform *conform, const struct session *session, struct str *out,
                         bool colour)
{
    bool shown[CONFORM_COUNT] = {[CONFORM_PASS] = true};
    struct str align, head;
    str_init(&align);
    str_init(&head);
    str_add(&align, "lr");
    str_add(&head, "engine|cases");
    for (int v = 0; v < CONFORM_COUNT; v++) {
        for (size_t engine = 0; engine < conform->engines; engine++)
            shown[v] |= conform->counts[engine][v] > 0;
        str_add(&align, shown[v] ? "r" : "");
        if (shown[v])
            str_printf(&head, "|%s", conform_verdict_name((enum conform_verdict)v));
    }
    struct table table;
    table_init(&table, align.data);
    table_head(&table, head.data);
    for (size_t engine = 0; engine < conform->engines; engine++) {
        table_add(&table, STYLE_PLAIN, "%s", session->labels[engine]);
        table_add(&table, STYLE_PLAIN, "%zu", conform->suite->count);
        for (int v = 0; v < CONFORM_COUNT; v++)
            if (shown[v])
                table_add(&table,
                          conform->counts[engine][v] ? verdict_style((enum conform_verdict)v) : STYLE_DIM,
                          "%zu", conform->counts[engine][v]);
    }
    table_print(&table, out, colour, 0);
    table_release(&table);
    str_release(&align);
    str_release(&head);
}

static void text_row(struct table *table, const char *engine, const char *name,
                     const struct conform_result *result)
{
    struct str message;
    str_init(&message);
    if (result->message)
        text_print(&message, result->message, MESSAGE_LIMIT);
    table_add(table, STYLE_PLAIN, "%s", engine);
    table_add(table, STYLE_PLAIN, "%s", name);
    table_add(table, verdict_style(result->verdict), "%s", conform_verdict_name(result->verdict));
    table_add(table, STYLE_PLAIN, "%s", stage_name(result->stage));
    table_add(table, STYLE_PLAIN, "%s", message.data);
    str_release(&message);
}

static void write_text(const struct conform *conform, const struct session *session, bool all,
                       struct str *out, bool colour)
{
    size_t findings = 0;
    struct table table;
    table_init(&table, "lllll");
    table_head(&table, "engine|case|verdict|stage|message");
    for (size_t i = 0; i < conform->suite->count; i++) {
        for (size_t engine = 0; engine < conform->engines; engine++) {
            const struct conform_result *result = conform_at(conform, i, engine);
            bool finding = conform_is_finding(result->verdict);
            findings += finding;
            if (all || (finding && findings <= SHOWN_FINDINGS))
                text_row(&table, session->labels[engine], conform->suite->cases[i].name, result);
        }
    }
    if (all || findings) {
        table_print(&table, out, colour, 0);
        if (!all && findings > SHOWN_FINDINGS)
            str_printf(out, "... and %zu more; --list shows every case\n", findings - SHOWN_FINDINGS);
        str_add(out, "\n");
    }
    table_release(&table);
    text_summary(conform, session, out, colour);
}

static void json_engine(struct json *json, const struct conform *conform, const struct session *session,
                        size_t engine)
{
    const struct engine_info *info = pool_engine(session->pool, (int)engine);
    json_object(json, NULL);
    json_string(json, "engine", session->labels[engine]);
    json_string(json, "name", info->name);
    json_string(json, "version", info->version);
    json_object(json, "counts");
    for (int v = 1; v < CONFORM_COUNT; v++)
        json_int(json, conform_verdict_name((enum conform_verdict)v), (int64_t)conform->counts[engine][v]);
    json_end(json);
    json_end(json);
}

static void write_json(const struct conform *conform, const struct session *session, struct str *out)
{
    struct json json;
    json_init(&json, out, true);
    json_object(&json, NULL);
    json_int(&json, "cases", (int64_t)conform->suite->count);
    json_array(&json, "engines");
    for (size_t engine = 0; engine < conform->engines; engine++)
        json_engine(&json, conform, session, engine);
    json_end(&json);
    json_array(&json, "results");
    for (size_t i = 0; i < conform->suite->count * conform->engines; i++) {
        const struct conform_result *result = &conform->results[i];
        json_object(&json, NULL);
        json_string(&json, "case", conform->suite->cases[i / conform->engines].name);
        json_string(&json, "engine", session->labels[i % conform->engines]);
        json_string(&json, "verdict", conform_verdict_name(result->verdict));
        json_string(&json, "stage", stage_name(result->stage));
        json_string(&json, "message", result->message);
        json_string(&json, "log", result->log);
        json_int(&json, "load_ns", result->load_ns);
        json_int(&json, "run_ns", result->run_ns);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
}

static enum junit_result junit_result(enum conform_verdict verdict)
{
    switch (verdict) {
    case CONFORM_PASS:
        return JUNIT_PASS;
    case CONFORM_WRONG:
    case CONFORM_NAN:
    case CONFORM_SHAPE:
    case CONFORM_DTYPE:
        return JUNIT_FAILURE;
    case CONFORM_RANDOM:
    case CONFORM_UNSUPPORTED:
    case CONFORM_NOT_RUNNABLE:
        return JUNIT_SKIPPED;
    default:
        return JUNIT_ERROR;
    }
}

static void write_junit(const struct conform *conform, const struct session *session, struct str *out)
{
    struct junit junit;
    junit_init(&junit);
    for (size_t engine = 0; engine < conform->engines; engine++) {
        junit_suite(&junit, session->labels[engine]);
        for (size_t i = 0; i < conform->suite->count; i++) {
            const struct conform_result *result = conform_at(conform, i, engine);
            junit_case(&junit, &(struct junit_case){
                                   .name = conform->suite->cases[i].name,
                                   .seconds = (double)(result->load_ns + result->run_ns) * 1e-9,
                                   .result = junit_result(result->verdict),
                                   .type = conform_verdict_name(result->verdict),
                                   .message = result->message,
                                   .details = result->log,
                               });
        }
    }
    junit_write(&junit, out);
    junit_release(&junit);
}

static int exit_status(const struct conform *conform)
{
    bool finding = false, trouble = false;
    for (size_t engine = 0; engine < conform->engines; engine++) {
        const size_t *counts = conform->counts[engine];
        for (int v = 0; v < CONFORM_COUNT; v++)
            finding |= counts[v] && v != CONFORM_NO_ENGINE && conform_is_finding((enum conform_verdict)v);
        trouble |= counts[CONFORM_NO_ENGINE] || counts[CONFORM_NOT_RUNNABLE];
    }
    return finding ? STATUS_FINDINGS : trouble ? STATUS_TROUBLE : STATUS_AGREE;
}

static int report(const struct conform *conform, const struct session *session,
                  const struct settings *settings, struct error *err)
{
    struct str out;
    str_init(&out);
    if (settings->common.format == FORMAT_JSON)
        write_json(conform, session, &out);
    else if (settings->common.format == FORMAT_JUNIT)
        write_junit(conform, session, &out);
    else
        write_text(conform, session, settings->list, &out, output_colour(&settings->common));
    int status = output_write(&settings->common, &out, err);
    str_release(&out);
    return status ? -1 : exit_status(conform);
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (words->count == 0)
        return error_set(err, ERROR_USAGE, "give a folder of test cases");
    struct suite suite = {0};
    struct session session = {0};
    struct conform conform = {0};
    struct conform_options options = {
        .tolerance = {.rtol = settings->rtol, .atol = settings->atol, .scale = settings->scale},
        .progress = true,
    };
    int status = suite_open(&suite, words->items, words->count, settings->match, err);
    if (status == 0)
        status = session_open(&session, &settings->common, 1, err);
    if (status == 0)
        status = conform_run(&conform, &suite, session.pool, session.count, &options, err);
    if (status == 0)
        status = report(&conform, &session, settings, err);
    session_close(&session);
    conform_release(&conform);
    suite_release(&suite);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    {'m', "match", OPTION_TEXT, "PATTERN", offsetof(struct settings, match),
     "only cases whose name matches, as in a shell"},
    {'l', "list", OPTION_FLAG, NULL, offsetof(struct settings, list), "print every case, not only findings"},
    {0, "rtol", OPTION_NUMBER, "X", offsetof(struct settings, rtol), "relative tolerance (default 1e-3)"},
    {0, "atol", OPTION_NUMBER, "X", offsetof(struct settings, atol), "absolute tolerance (default 1e-5)"},
    {0, "scale", OPTION_NUMBER, "X", offsetof(struct settings, scale),
     "or this part of an output's largest magnitude, if more (default 1e-5)"},
    COMMON_OUTPUT(struct settings, "text|json|junit"),
};

static const struct settings defaults = {.rtol = 1e-3, .atol = 1e-5, .scale = 1e-5};

const struct command command_conform = {
    .name = "conform",
    .summary = "run test cases that bring their answers",
    .usage = "DIR... -e ENGINE... [OPTION...]",
    .about =
        "DIR is a case in ONNX's backend-test layout (model.onnx, test_data_set_0/input_0.pb,\n"
        "output_0.pb) or a tree of them. Every case gets one verdict on every engine: pass, wrong, nan,\n"
        "shape, dtype, random (not judged), unsupported, rejected, failed, crash, hang, memory, garbage,\n"
        "no engine or not runnable.\n",
    .examples = "  assay conform cases/ -e onnxruntime -e onnxruntime:opt=none\n"
                "  assay conform cases/ -e onnxruntime --match 'node/test_conv*' --list\n"
                "  assay conform cases/ -e onnxruntime --format junit -o conform.xml\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
