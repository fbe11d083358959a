/* assay findings: lists what a campaign found, shows one finding, or makes a known issue of it. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/wrap.h"
#include "cli/common.h"
#include "diagnose/known_findings.h"
#include "findings/known_witness.h"
#include "judge/verdict.h"
#include "locate/classify.h"
#include "ops/op.h"
#include "report/causes_answer.h"
#include "report/finding_export.h"
#include "report/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_OCCURRENCES = 10, TITLE_LIMIT = 100 };

struct settings {
    struct common common;
    const char *engine, *op, *kind, *class, *show, *explain, *known, *mute, *because, *junit, *sarif;
    bool all, merged, gone, unknown, no_known;
};

/* Where findings go as they come from the store: a table, the text of a single one, or JSON. */
struct writer {
    struct store *store;
    struct known_issues known;
    bool unknown_only, all, some; /* some: the settings leave findings out */
    struct finding_causes causes;
    struct finding_export export;
    struct table table;
    struct json json;
    struct str *out;
    struct str entries; /* for known issues, one for each finding that is shown; not wrapped on a terminal */
    const char *folder; /* of the campaign, as it was given */
    const struct folder *campaign;
    bool colour;
};

/* A row for one finding, or for the cause of several: `variants` is their number, and `seen` counts all. */
static void add_row(struct writer *writer, const char *indent, const struct stored *stored, size_t variants,
                    int64_t seen)
{
    struct str title;
    str_init(&title);
    text_print(&title, stored->title, TITLE_LIMIT);
    table_add(&writer->table, STYLE_PLAIN, "%s%s", indent, stored->name);
    table_add(&writer->table, STYLE_PLAIN, variants ? "%zu" : "", variants);
    table_add(&writer->table, STYLE_PLAIN, "%lld", (long long)seen);
    table_add(&writer->table, STYLE_PLAIN, "%lld", (long long)stored->nodes);
    table_add(&writer->table, STYLE_PLAIN, "%s", stored->class);
    table_add(&writer->table, STYLE_DIM, "%s", *stored->same_as ? "merged" : stored->status);
    table_add(&writer->table, STYLE_PLAIN, "%s", stored->engine);
    table_add(&writer->table, STYLE_PLAIN, "%s", title.data);
    str_release(&title);
}

/* What is listed apart (cause_is_apart) comes last. */
static void list_causes(struct writer *writer, bool apart)
{
    for (size_t i = 0; i < writer->causes.count; i++) {
        const struct finding_cause *cause = &writer->causes.items[i];
        if (cause_is_apart(cause) != apart)
            continue;
        add_row(writer, "", &cause->lead->stored, cause->count, cause->seen);
        for (const struct cause_variant *one = cause->first; one && writer->all; one = one->next)
            if (one != cause->lead)
                add_row(writer, "  ", &one->stored, 0, one->stored.count);
    }
}

static void list_text(struct writer *writer)
{
    const struct finding_causes *causes = &writer->causes;
    causes_answer(writer->out, causes, writer->some, writer->folder, "\n");
    str_add(writer->out, causes->count ? "\n\n" : "\n");
    if (!causes->count)
        return;
    table_init(&writer->table, "lrrrllll");
    table_head(&writer->table, "finding|variants|seen|nodes|class|status|engine|what");
    list_causes(writer, false);
    list_causes(writer, true);
    table_print(&writer->table, writer->out, writer->colour, 0);
    str_printf(writer->out, "\n%zu finding%s", causes->n_findings, causes->n_findings == 1 ? "" : "s");
    if (causes->n_findings != causes->count)
        str_printf(writer->out, " of %zu cause%s%s", causes->count, causes->count == 1 ? "" : "s",
                   writer->all ? "" : "; --all lists the variants of each");
    str_add(writer->out, "\n");
    table_release(&writer->table);
}

static void json_stored(struct json *json, const struct stored *stored, const char *cause)
{
    char buffer[CLOCK_DATE_SIZE];
    json_string(json, "name", stored->name);
    json_string(json, "signature", stored->signature);
    json_string(json, "cause", cause);
    json_string(json, "kind", stored->kind);
    json_string(json, "class", stored->class);
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
    json_string(json, "first_seen", clock_date(stored->first_seen, buffer));
    json_string(json, "last_seen", clock_date(stored->last_seen, buffer));
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
    char buffer[CLOCK_DATE_SIZE];
    (void)err;
    str_printf(writer->out, "    %s  ", clock_date(occurrence->seen, buffer));
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

static void show_class(struct str *out, const char *word)
{
    enum finding_class class;
    struct str text;
    str_init(&text);
    str_add(&text, word);
    if (finding_class_parse(word, &class))
        str_printf(&text, ": %s", finding_class_row(class)->sentence);
    show_line(out, "class", text.data);
    str_release(&text);
}

/* The entry that would make the finding a known issue. False when it is one. */
static bool add_entry(struct str *out, const struct writer *writer, const struct stored *stored)
{
    return stored->state != STATE_KNOWN &&
           !known_write(out, writer->store, writer->campaign, stored, stored->title, NULL);
}

static void show_entry(struct writer *writer, const struct stored *stored)
{
    struct str entry;
    str_init(&entry);
    if (add_entry(&entry, writer, stored))
        str_printf(&writer->entries,
                   "\n# This entry in a file for --known, or in %s/" KNOWN_FILE ", mutes %s:\n%s",
                   writer->folder, stored->name, entry.data);
    str_release(&entry);
}

static int show_text(struct writer *writer, const struct stored *stored, const char *cause, struct error *err)
{
    struct str *out = writer->out;
    char first[CLOCK_DATE_SIZE], last[CLOCK_DATE_SIZE];
    style_print(out, writer->colour, STYLE_HEAD, "%s", stored->name);
    str_add(out, "\n");
    show_line(out, "what", stored->title);
    show_class(out, stored->class);
    show_line(out, "signature", stored->signature);
    show_line(out, "cause", cause);
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
               clock_date(stored->first_seen, first), clock_date(stored->last_seen, last));
    if (isfinite(stored->factor) && stored->factor > 0)
        str_printf(out, "  %-12s%.3g times what rounding can explain\n", "error", stored->factor);
    str_add(out, "  occurrences\n");
    if (store_occurrences(writer->store, stored->signature, SHOWN_OCCURRENCES, show_occurrence, writer, err))
        return -1;
    str_add(out, "  other engines\n");
    show_entry(writer, stored);
    return store_history_list(writer->store, stored->signature, show_history, writer, err);
}

static int json_occurrence(void *context, const struct occurrence *occurrence, struct error *err)
{
    struct json *json = context;
    char buffer[CLOCK_DATE_SIZE];
    (void)err;
    json_object(json, NULL);
    json_string(json, "signature", occurrence->signature);
    json_string(json, "engine", occurrence->engine);
    json_string(json, "version", occurrence->version);
    json_string(json, "recipe", occurrence->recipe);
    json_string(json, "title", occurrence->title);
    json_double(json, "factor", occurrence->factor);
    json_string(json, "seen", clock_date(occurrence->seen, buffer));
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

static int json_finding(struct writer *writer, const struct stored *stored, const char *cause, bool show,
                        struct error *err)
{
    struct json *json = &writer->json;
    int status = 0;
    json_object(json, NULL);
    json_stored(json, stored, cause);
    if (show) {
        json_array(json, "occurrences");
        status = store_occurrences(writer->store, stored->signature, 0, json_occurrence, json, err);
        json_end(json);
        json_array(json, "history");
        if (status == 0)
            status = store_history_list(writer->store, stored->signature, json_history, json, err);
        json_end(json);
        struct str entry;
        str_init(&entry);
        json_string(json, "known_issue", add_entry(&entry, writer, stored) ? entry.data : NULL);
        str_release(&entry);
    }
    json_end(json);
    return status;
}

static void json_cause(struct json *json, const struct finding_cause *cause)
{
    json_object(json, NULL);
    json_string(json, "cause", cause->key);
    json_string(json, "name", cause->lead->stored.name);
    json_int(json, "count", cause->seen);
    json_bool(json, "apart", cause_is_apart(cause));
    json_array(json, "variants");
    for (const struct cause_variant *one = cause->first; one; one = one->next)
        json_string(json, NULL, one->stored.name);
    json_end(json);
    json_end(json);
}

/* Takes a finding, unless it is filtered out, with the status that the lists of known issues give it now. */
static int take(void *context, const struct stored *stored, struct error *err)
{
    struct writer *writer = context;
    struct stored now = *stored;
    struct str status;
    str_init(&status);
    const char *document = known_now(&writer->known, writer->store, &now, &status);
    bool wanted = !document || !writer->unknown_only;
    if (wanted)
        finding_export_add(&writer->export, &now, document != NULL);
    int result = wanted ? causes_add(&writer->causes, writer->store, &now, document, err) : 0;
    str_release(&status);
    return result;
}

/* Every finding that was taken, in the order of the causes. */
static int each(struct writer *writer, bool json, bool show, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < writer->causes.count; i++) {
        const struct finding_cause *cause = &writer->causes.items[i];
        for (const struct cause_variant *one = cause->first; one && !status; one = one->next)
            status = json ? json_finding(writer, &one->stored, cause->key, show, err)
                          : show_text(writer, &one->stored, cause->key, err);
    }
    return status;
}

static int write_json(struct writer *writer, bool show, struct error *err)
{
    struct str answer;
    str_init(&answer);
    causes_answer(&answer, &writer->causes, writer->some, writer->folder, " ");
    output_json(&writer->json, writer->out, true);
    json_string(&writer->json, "answer", answer.data);
    str_release(&answer);
    json_array(&writer->json, "findings");
    int status = each(writer, true, show, err);
    json_end(&writer->json);
    json_array(&writer->json, "causes");
    for (size_t i = 0; i < writer->causes.count; i++)
        json_cause(&writer->json, &writer->causes.items[i]);
    json_end(&writer->json);
    json_end(&writer->json);
    return status;
}

static int write_all(struct writer *writer, const struct settings *settings, struct error *err)
{
    struct store_filter filter = {
        .engine = settings->engine,
        .op = settings->op,
        .kind = settings->kind,
        .class = settings->class,
        .signature = settings->show,
        .merged = settings->merged,
        .gone = settings->gone || settings->show,
    };
    if (store_list(writer->store, &filter, take, writer, err))
        return -1;
    if (settings->common.format == FORMAT_JSON)
        return write_json(writer, settings->show != NULL, err);
    if (settings->show)
        return each(writer, false, true, err);
    list_text(writer);
    return 0;
}

static int check_class(const char *word, struct error *err)
{
    enum finding_class class;
    struct str words;
    if (!word || finding_class_parse(word, &class))
        return 0;
    str_init(&words);
    for (int i = FINDING_UNCLASSIFIED + 1; i < FINDING_CLASS_COUNT; i++)
        str_printf(&words, "%s'%s'", words.length ? ", " : "",
                   finding_class_row((enum finding_class)i)->word);
    error_set(err, ERROR_USAGE, "--class takes one of %s, not '%s'", words.data, word);
    str_release(&words);
    return -1;
}

/* A filter that cannot match anything is the user's mistake. */
static int check_filter(const struct settings *settings, struct error *err)
{
    struct str kinds;
    bool known = !settings->kind;
    str_init(&kinds);
    for (enum verdict_kind kind = 0; verdict_exists(kind); kind++)
        if (verdict_is_finding(kind)) {
            const char *name = verdict_name(kind);
            known |= settings->kind && text_equal(name, settings->kind);
            str_printf(&kinds, "%s%s", kinds.length ? ", " : "", name);
        }
    int status =
        known ? 0
              : error_set(err, ERROR_USAGE, "--kind takes one of %s, not '%s'", kinds.data, settings->kind);
    str_release(&kinds);
    if (status == 0)
        status = check_class(settings->class, err);
    if (status == 0 && settings->op && !op_find(settings->op))
        status =
            error_set(err, ERROR_USAGE,
                      "there is no operator '%s'; 'assay blocks list --operators' lists them", settings->op);
    return status;
}

/* The one finding that a name of the command line means. */
struct named {
    struct store *store;
    const struct folder *campaign;
    const char *because;
    size_t count;
    char *signature, *name;
    struct str entry; /* that mutes it */
};

static int note_named(void *context, const struct stored *stored, struct error *err)
{
    struct named *named = context;
    if (named->count++)
        return 0;
    named->signature = memory_strdup(stored->signature);
    named->name = memory_strdup(stored->name);
    return known_write(&named->entry, named->store, named->campaign, stored, named->because, err);
}

/* The caller releases *named, also after a failure. */
static int find_named(struct named *named, const struct writer *writer, const char *name, const char *because,
                      struct error *err)
{
    struct store_filter filter = {.signature = name, .gone = true};
    *named = (struct named){.store = writer->store, .campaign = writer->campaign, .because = because};
    str_init(&named->entry);
    int status = store_list(writer->store, &filter, note_named, named, err);
    return status || named->count == 1
               ? status
               : error_set(err, ERROR_NOT_FOUND, "%s '%s'; 'assay findings %s' lists them",
                           named->count ? "several findings begin with" : "no finding", name, writer->folder);
}

static void named_release(struct named *named)
{
    free(named->signature);
    free(named->name);
    str_release(&named->entry);
}

/* --- Why a finding is known, or not --- */

static void explain_match(struct str *out, const struct known_issue *issue, const struct finding_facts *facts)
{
    bool named = false;
    for (size_t i = 0; i < issue->n_names; i++)
        named |= text_equal(issue->names[i], facts->name);
    str_printf(out, "%s is known: [%s] of %s:%d %s.\n  cause  ", facts->name, issue->name, issue->file,
               issue->line,
               named                         ? "names it"
               : known_is_of_findings(issue) ? "has the same cause"
                                             : "has conditions that all hold");
    text_print(out, issue->cause, 0);
    str_add(out, "\n");
}

static void explain_facts(struct str *out, const struct known_issues *known,
                          const struct finding_facts *facts)
{
    const struct known_issue *match = known_find(known, facts);
    size_t near = 0, far = 0;
    if (match) {
        explain_match(out, match, facts);
        return;
    }
    str_printf(out, "%s is not known: there is no issue of which everything holds.\n", facts->name);
    show_line(out, "cause", facts->cause);
    for (size_t i = 0; i < known->count; i++) {
        const struct known_issue *issue = &known->items[i];
        if (!known_is_near(issue, facts)) {
            far++;
            continue;
        }
        if (near++ < SHOWN_OCCURRENCES)
            str_printf(out, "  [%s] of %s:%d does not hold: %s\n", issue->name, issue->file, issue->line,
                       known_misfit(known, issue, facts));
    }
    if (near > SHOWN_OCCURRENCES)
        str_printf(out, "  and %zu more issues of its engine and operators\n", near - SHOWN_OCCURRENCES);
    str_printf(out, "  %zu issues are about other engines, releases or operators\n", far);
}

static int explain(struct writer *writer, const struct settings *settings, struct error *err)
{
    struct finding_facts facts;
    struct named named;
    int status = find_named(&named, writer, settings->explain, "", err);
    if (!status)
        status = known_facts(&facts, writer->store, named.signature, err);
    if (!status) {
        facts.undiagnosed = false;
        explain_facts(writer->out, &writer->known, &facts);
        facts_release(&facts);
    }
    named_release(&named);
    return status;
}

/* --- Muting --- */

/* The file of known issues: one that the user names, or the campaign's own. */
struct issue_file {
    const struct folder *in;
    const char *name;
};

/* Adds the issue to the file, which must be new or a valid list of known issues. */
static int add_issue(const struct issue_file *file, const char *name, const char *issue, struct error *err)
{
    enum { LIMIT = 4 << 20 };
    struct known_issues before;
    struct str text;
    char *data = NULL;
    size_t size = 0;
    int status = 0;
    str_init(&text);
    known_init(&before);
    if (folder_has(file->in, file->name))
        status = known_read_in(&before, file->in, file->name, KNOWN_OF_USER, err) ||
                         folder_read(file->in, file->name, LIMIT, &data, &size, err)
                     ? -1
                     : 0;
    for (size_t i = 0; i < before.count && !status; i++)
        if (text_equal(before.items[i].name, name))
            status = error_set(err, ERROR_USAGE, "%s:%d already has an issue %s", before.items[i].file,
                               before.items[i].line, name);
    if (!status) {
        str_append(&text, data ? data : "", size);
        str_printf(&text, "%s%s", size ? "\n" : "", issue);
        status = file->in == USERS_PATH ? file_write(file->name, text.data, text.length, err)
                                        : folder_write(file->in, file->name, text.data, text.length, err);
    }
    known_release(&before);
    str_release(&text);
    free(data);
    return status;
}

static int mute(const struct settings *settings, const struct writer *writer, struct error *err)
{
    struct named muted;
    struct issue_file file = {writer->campaign, KNOWN_FILE};
    if (settings->known)
        file = (struct issue_file){USERS_PATH, settings->known};
    int status = find_named(&muted, writer, settings->mute, settings->because, err);
    if (!status)
        status = add_issue(&file, muted.name, muted.entry.data, err);
    struct known_issues known;
    known_init(&known);
    if (!status)
        status = known_read_in(&known, file.in, file.name,
                               settings->known ? KNOWN_OF_USER : KNOWN_OF_CAMPAIGN, err);
    if (!status)
        status = witnesses_load(&known, writer->store, writer->campaign, err);
    if (!status)
        status = known_again(&known, writer->store, true, err);
    char *path = folder_path(file.in, file.name);
    if (!status)
        wrap_printf(stdout, "%s%s is now a known issue, in %s\n", muted.entry.data, muted.name, path);
    known_release(&known);
    named_release(&muted);
    free(path);
    return status;
}

static int check_mute(const struct settings *settings, struct error *err)
{
    if (!settings->mute == !settings->because)
        return 0;
    return error_set(err, ERROR_USAGE,
                     settings->mute
                         ? "give the reason for muting %s with --because TEXT"
                         : "--because gives the reason for muting a finding: name the finding with --mute%s",
                     settings->mute ? settings->mute : "");
}

/* The entries stay as they are on a terminal, too, because they are there to be copied. */
static int write_out(const struct common *common, struct str *out, const struct str *entries,
                     struct error *err)
{
    if (common->output) {
        str_add(out, entries->data);
        return output_write(common, out, err);
    }
    return output_write(common, out, err) || output_write_plain(common, entries, err) ? -1 : 0;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give the folder of one campaign");
    if (check_filter(settings, err) || check_mute(settings, err) || output_check(&settings->common, err))
        return -1;
    struct str out;
    struct writer writer = {.out = &out,
                            .folder = words->items[0],
                            .unknown_only = settings->unknown,
                            .all = settings->all,
                            .some = settings->engine || settings->op || settings->kind || settings->class ||
                                    settings->show || settings->unknown,
                            .colour = output_colour(&settings->common)};
    if (store_open(&writer.store, writer.folder, settings->mute ? STORE_WRITE : STORE_READ, err)) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
        return error_set(err, ERROR_NOT_FOUND,
                         "%s is not the folder of a campaign: there is no %s/assay.db; 'assay fuzz -o DIR' "
                         "starts a campaign",
                         writer.folder, writer.folder);
    }
    struct folder campaign;
    writer.campaign = &campaign;
    int status = folder_open(&campaign, USERS_PATH, writer.folder, err);
    if (status || settings->mute) {
        status = status ? -1 : mute(settings, &writer, err);
        folder_close(&campaign);
        store_close(writer.store);
        return status;
    }
    str_init(&out);
    causes_init(&writer.causes);
    str_init(&writer.entries);
    struct known_files files = {settings->known, words->items[0], settings->no_known};
    status = known_open(&writer.known, &files, err);
    if (status == 0)
        status = witnesses_load(&writer.known, writer.store, &campaign, err);
    if (finding_export_open(&writer.export, settings->junit, settings->sarif, words->items[0],
                            settings->common.force, err))
        status = -1;
    if (status == 0)
        status = (settings->explain ? explain : write_all)(&writer, settings, err);
    if (status == 0)
        status = known_in_time(&writer.known, err);
    if (status == 0 && settings->show && !writer.causes.count)
        status = error_set(err, ERROR_NOT_FOUND, "no finding '%s'; 'assay findings %s' lists them",
                           settings->show, words->items[0]);
    if (status == 0 && !writer.causes.n_findings && settings->junit)
        finding_export_pass(&writer.export, words->items[0], "no findings");
    if (status == 0)
        status = finding_export_write(&writer.export, "", err);
    if (status == 0)
        status = write_out(&settings->common, &out, &writer.entries, err);
    size_t found = writer.causes.n_findings;
    causes_release(&writer.causes);
    str_release(&writer.entries);
    finding_export_release(&writer.export);
    known_release(&writer.known);
    folder_close(&campaign);
    store_close(writer.store);
    str_release(&out);
    return status ? -1 : found ? STATUS_FINDINGS : STATUS_AGREE;
}

static const struct cli_option options[] = {
    {'e', "engine", OPTION_TEXT, "ENGINE", offsetof(struct settings, engine),
     "only on engines whose label begins with ENGINE: onnxruntime, onnxruntime@1.12.0"},
    {0, "op", OPTION_TEXT, "OP", offsetof(struct settings, op), "only with this operator at fault"},
    {0, "kind", OPTION_TEXT, "WORD", offsetof(struct settings, kind),
     "only with this verdict: wrong, nan, shape, dtype, rejected, failed, crash, hang ..."},
    {0, "class", OPTION_TEXT, "WORD", offsetof(struct settings, class),
     "only of this class: 'engine bug', difference, precision or unknown"},
    {0, "show", OPTION_TEXT, "NAME", offsetof(struct settings, show),
     "all about one finding, by its name, the start of its name, or its signature, and the entry that would "
     "make it a known issue"},
    {0, "explain", OPTION_TEXT, "NAME", offsetof(struct settings, explain),
     "say which known issue a finding is, or which condition of each that is about its operators fails"},
    {0, "all", OPTION_FLAG, NULL, offsetof(struct settings, all), "list every variant of a cause below it"},
    {0, "merged", OPTION_FLAG, NULL, offsetof(struct settings, merged),
     "also list findings that turned out to be another one when they were reduced"},
    {0, "gone", OPTION_FLAG, NULL, offsetof(struct settings, gone),
     "also list findings that did not fail again in a fresh process"},
    {0, "unknown", OPTION_FLAG, NULL, offsetof(struct settings, unknown),
     "only list findings that no known issue explains"},
    COMMON_KNOWN(struct settings),
    {0, "mute", OPTION_TEXT, "NAME", offsetof(struct settings, mute),
     "make a known issue of this finding, in DIR/known.ini or in the file of --known"},
    {0, "because", OPTION_TEXT, "TEXT", offsetof(struct settings, because),
     "of --mute: the cause, or where it is written up"},
    COMMON_EXPORT(struct settings),
    COMMON_OUTPUT(struct settings, "text|json"),
};

const struct command command_findings = {
    .name = "findings",
    .summary = "list what a campaign found",
    .usage = "DIR [OPTION...]",
    .about =
        "DIR is the folder of a campaign ('assay fuzz -o DIR'), which may still be running. Each line is "
        "one\n"
        "cause: the findings that experiments with their reduced cases show to be one bug, by the same\n"
        "parameter, class of inputs, optimiser pass or place in the engine's code, or that one known issue\n"
        "explains. The smallest of them gives the line its name; --all lists all. What tells findings apart\n"
        "is their signature: symptom, engine, operators, types, modes and message.\n"
        "The bundle of a finding is DIR/findings/NAME; 'assay replay' runs it again.\n",
    .examples = "  assay findings campaign\n"
                "  assay findings campaign --all\n"
                "  assay findings campaign --kind crash --op Resize\n"
                "  assay findings campaign --class 'engine bug'\n"
                "  assay findings campaign --show wrong-resize\n"
                "  assay findings campaign --unknown\n"
                "  assay findings campaign --junit findings.xml --sarif findings.sarif\n"
                "  assay findings campaign --mute wrong-resize --because 'reported as issue 123'\n"
                "  assay findings campaign --explain wrong-resize\n"
                "  assay findings campaign --format json\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
