/* assay findings: what a campaign found. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "cli/common.h"
#include "findings/store.h"
#include "judge/verdict.h"
#include "ops/op.h"
#include "report/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN_OCCURRENCES = 10, TITLE_LIMIT = 100 };

struct settings {
    struct common common;
    const char *engine, *op, *kind, *show;
    bool merged, gone;
};

/* What the list and the single finding are written into, as they come from the store. */
struct writer {
    struct store *store;
    struct table table;
    struct json json;
    struct str *out;
    const char *folder;
    bool colour;
    size_t found;
};

static const char *date(int64_t seconds, char buffer[32])
{
    time_t moment = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&moment, &parts) || !strftime(buffer, 32, "%Y-%m-%d %H:%M:%SZ", &parts))
        strcpy(buffer, "?");
    return buffer;
}

static int list_text(void *context, const struct stored *stored, struct error *err)
{
    struct writer *writer = context;
    (void)err;
    writer->found++;
    struct str title;
    str_init(&title);
    text_print(&title, stored->title, TITLE_LIMIT);
    table_add(&writer->table, STYLE_PLAIN, "%s", stored->name);
    table_add(&writer->table, STYLE_PLAIN, "%lld", (long long)stored->count);
    table_add(&writer->table, STYLE_PLAIN, "%lld", (long long)stored->nodes);
    table_add(&writer->table, STYLE_DIM, "%s", *stored->same_as ? "merged" : stored->status);
    table_add(&writer->table, STYLE_PLAIN, "%s", stored->engine);
    table_add(&writer->table, STYLE_PLAIN, "%s", title.data);
    str_release(&title);
    return 0;
}

static void json_stored(struct json *json, const struct stored *stored)
{
    char buffer[32];
    json_string(json, "name", stored->name);
    json_string(json, "signature", stored->signature);
    json_string(json, "kind", stored->kind);
    json_string(json, "engine", stored->engine);
    json_string(json, "version", stored->version);
    json_string(json, "operators", stored->operators);
    json_string(json, "title", stored->title);
    json_string(json, "status", stored->status);
    json_string(json, "bundle", *stored->bundle ? stored->bundle : NULL);
    json_string(json, "same_as", *stored->same_as ? stored->same_as : NULL);
    json_string(json, "recipe", stored->recipe);
    json_double(json, "factor", stored->factor);
    json_int(json, "nodes", stored->nodes);
    json_int(json, "count", stored->count);
    json_string(json, "first_seen", date(stored->first_seen, buffer));
    json_string(json, "last_seen", date(stored->last_seen, buffer));
}

static int list_json(void *context, const struct stored *stored, struct error *err)
{
    struct writer *writer = context;
    (void)err;
    writer->found++;
    json_object(&writer->json, NULL);
    json_stored(&writer->json, stored);
    json_end(&writer->json);
    return 0;
}

static void show_line(struct str *out, const char *what, const char *text)
{
    str_printf(out, "  %-12s", what);
    text_print(out, text, 0);
    str_add(out, "\n");
}

static int show_occurrence(void *context, const struct occurrence *occurrence, struct error *err)
{
    struct writer *writer = context;
    char buffer[32];
    (void)err;
    str_printf(writer->out, "    %s  ", date(occurrence->seen, buffer));
    text_print(writer->out, occurrence->engine, 0);
    str_add(writer->out, "  ");
    text_print(writer->out, occurrence->recipe, 0);
    str_add(writer->out, "\n");
    return 0;
}

static int show_history(void *context, const char *engine, const char *verdict, struct error *err)
{
    struct writer *writer = context;
    (void)err;
    str_add(writer->out, "    ");
    text_print(writer->out, engine, 0);
    str_add(writer->out, ": ");
    text_print(writer->out, verdict, 0);
    str_add(writer->out, "\n");
    return 0;
}

static int show_text(void *context, const struct stored *stored, struct error *err)
{
    struct writer *writer = context;
    struct str *out = writer->out;
    char first[32], last[32];
    writer->found++;
    style_print(out, writer->colour, STYLE_HEAD, "%s", stored->name);
    str_add(out, "\n");
    show_line(out, "what", stored->title);
    show_line(out, "signature", stored->signature);
    if (*stored->same_as)
        show_line(out, "same as", stored->same_as);
    show_line(out, "status", stored->status);
    if (*stored->bundle) {
        char *path = file_join(writer->folder, stored->bundle);
        show_line(out, "bundle", path);
        free(path);
    }
    show_line(out, "recipe", stored->recipe);
    str_printf(out, "  %-12s%lld times, %s to %s\n", "seen", (long long)stored->count,
               date(stored->first_seen, first), date(stored->last_seen, last));
    if (isfinite(stored->factor) && stored->factor > 0)
        str_printf(out, "  %-12s%.3g times what rounding can explain\n", "error", stored->factor);
    str_add(out, "  occurrences\n");
    if (store_occurrences(writer->store, stored->signature, SHOWN_OCCURRENCES, show_occurrence, writer, err))
        return -1;
    str_add(out, "  other engines\n");
    return store_history_list(writer->store, stored->signature, show_history, writer, err);
}

static int json_occurrence(void *context, const struct occurrence *occurrence, struct error *err)
{
    struct json *json = context;
    char buffer[32];
    (void)err;
    json_object(json, NULL);
    json_string(json, "signature", occurrence->signature);
    json_string(json, "engine", occurrence->engine);
    json_string(json, "version", occurrence->version);
    json_string(json, "recipe", occurrence->recipe);
    json_string(json, "title", occurrence->title);
    json_double(json, "factor", occurrence->factor);
    json_string(json, "seen", date(occurrence->seen, buffer));
    json_end(json);
    return 0;
}

static int json_history(void *context, const char *engine, const char *verdict, struct error *err)
{
    struct json *json = context;
    (void)err;
    json_object(json, NULL);
    json_string(json, "engine", engine);
    json_string(json, "verdict", verdict);
    json_end(json);
    return 0;
}

static int show_json(void *context, const struct stored *stored, struct error *err)
{
    struct writer *writer = context;
    struct json *json = &writer->json;
    writer->found++;
    json_object(json, NULL);
    json_stored(json, stored);
    json_array(json, "occurrences");
    int status = store_occurrences(writer->store, stored->signature, 0, json_occurrence, json, err);
    json_end(json);
    json_array(json, "history");
    if (status == 0)
        status = store_history_list(writer->store, stored->signature, json_history, json, err);
    json_end(json);
    json_end(json);
    return status;
}

static int write_all(struct writer *writer, const struct settings *settings, struct error *err)
{
    struct store_filter filter = {
        .engine = settings->engine,
        .op = settings->op,
        .kind = settings->kind,
        .signature = settings->show,
        .merged = settings->merged,
        .gone = settings->gone || settings->show,
    };
    if (settings->common.format == FORMAT_JSON) {
        output_json(&writer->json, writer->out, true);
        json_array(&writer->json, "findings");
        int status = store_list(writer->store, &filter, settings->show ? show_json : list_json, writer, err);
        json_end(&writer->json);
        json_end(&writer->json);
        return status;
    }
    if (settings->show)
        return store_list(writer->store, &filter, show_text, writer, err);
    table_init(&writer->table, "lrrlll");
    table_head(&writer->table, "finding|seen|nodes|status|engine|what");
    int status = store_list(writer->store, &filter, list_text, writer, err);
    if (status == 0 && writer->found)
        table_print(&writer->table, writer->out, writer->colour, 0);
    str_printf(writer->out, "%s%zu finding%s\n", writer->found ? "\n" : "", writer->found,
               writer->found == 1 ? "" : "s");
    table_release(&writer->table);
    return status;
}

/* A filter that can match nothing is a slip. */
static int check_filter(const struct settings *settings, struct error *err)
{
    struct str kinds;
    bool known = !settings->kind;
    str_init(&kinds);
    for (int kind = 0; kind < VERDICT_COUNT; kind++)
        if (verdict_is_finding((enum verdict_kind)kind)) {
            const char *name = verdict_name((enum verdict_kind)kind);
            known |= settings->kind && text_equal(name, settings->kind);
            str_printf(&kinds, "%s%s", kinds.length ? ", " : "", name);
        }
    int status =
        known ? 0
              : error_set(err, ERROR_USAGE, "--kind takes one of %s, not '%s'", kinds.data, settings->kind);
    str_release(&kinds);
    if (status == 0 && settings->op && !op_find(settings->op))
        status =
            error_set(err, ERROR_USAGE,
                      "there is no operator '%s'; 'assay blocks list --operators' lists them", settings->op);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give the folder of one campaign");
    if (check_filter(settings, err) || output_check(&settings->common, err))
        return -1;
    struct str out;
    struct writer writer = {
        .out = &out, .folder = words->items[0], .colour = output_colour(&settings->common)};
    if (store_open(&writer.store, words->items[0], STORE_READ, err))
        return err->code == ERROR_NOT_FOUND
                   ? error_set(
                         err, ERROR_NOT_FOUND,
                         "%s is no campaign's folder: it has no assay.db; 'assay fuzz -o DIR' makes one",
                         words->items[0])
                   : -1;
    str_init(&out);
    int status = write_all(&writer, settings, err);
    if (status == 0 && settings->show && !writer.found)
        status = error_set(err, ERROR_NOT_FOUND, "no finding '%s'; 'assay findings %s' lists them",
                           settings->show, words->items[0]);
    if (status == 0)
        status = output_write(&settings->common, &out, err);
    store_close(writer.store);
    str_release(&out);
    return status ? -1 : writer.found ? STATUS_FINDINGS : STATUS_AGREE;
}

static const struct cli_option options[] = {
    {'e', "engine", OPTION_TEXT, "ENGINE", offsetof(struct settings, engine),
     "only on engines whose label begins with ENGINE: onnxruntime, onnxruntime@1.12.0"},
    {0, "op", OPTION_TEXT, "OP", offsetof(struct settings, op), "only with this operator at fault"},
    {0, "kind", OPTION_TEXT, "WORD", offsetof(struct settings, kind),
     "only with this verdict: wrong, nan, shape, dtype, rejected, failed, crash, hang ..."},
    {0, "show", OPTION_TEXT, "NAME", offsetof(struct settings, show),
     "all about one finding, by its name, the start of its name, or its signature"},
    {0, "merged", OPTION_FLAG, NULL, offsetof(struct settings, merged),
     "also list findings that turned out to be another one when they were reduced"},
    {0, "gone", OPTION_FLAG, NULL, offsetof(struct settings, gone),
     "also list findings that did not fail again in a fresh process"},
    COMMON_OUTPUT(struct settings, "text|json"),
};

const struct command command_findings = {
    .name = "findings",
    .summary = "list what a campaign found",
    .usage = "DIR [OPTION...]",
    .about =
        "DIR is the folder of a campaign ('assay fuzz -o DIR'), which may still be running. Each line is "
        "one\n"
        "distinct bug, as far as its signature tells: symptom, engine, operators, types, modes and message.\n"
        "The bundle of a finding is DIR/findings/NAME; 'assay replay' runs it again.\n",
    .examples = "  assay findings campaign\n"
                "  assay findings campaign --kind crash --op Resize\n"
                "  assay findings campaign --show wrong-resize\n"
                "  assay findings campaign --format json\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
