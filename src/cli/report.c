/* assay report: writes bundles and reports of a campaign's findings, or of one case. */
#include "base/file.h"
#include "base/markup.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/wrap.h"
#include "campaign/follow_up.h"
#include "cli/casefile.h"
#include "cli/judge_first.h"
#include "diagnose/known_findings.h"
#include "findings/campaign_view.h"
#include "findings/known_witness.h"
#include "report/campaign_page.h"
#include "report/fault_map.h"
#include "report/text_table.h"
#include "search/forbidden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    struct common common;
    struct input_settings inputs;
    const char *show, *known, *db, *campaign;
    bool no_known, again, no_reduce, no_bisect;
    double reduce_time;
};

/* The findings to be bundled, read before anything changes. Texts live in the arena. */
struct task {
    const char *signature, *name, *recipe, *engine;
};
struct tasks {
    struct arena arena;
    bool again, named; /* also those that have a bundle; one was asked for by name */
    size_t known;      /* left out: written up already */
    size_t count, capacity;
    struct task *items;
};

static int add_task(void *context, const struct stored *stored, struct error *err)
{
    struct tasks *tasks = context;
    (void)err;
    if (!tasks->again && *stored->bundle)
        return 0;
    if (!tasks->again && !tasks->named && stored->state == STATE_KNOWN) {
        tasks->known++;
        return 0;
    }
    tasks->items = memory_grow(tasks->items, &tasks->capacity, tasks->count + 1, sizeof *tasks->items);
    tasks->items[tasks->count++] = (struct task){
        .signature = arena_strdup(&tasks->arena, stored->signature),
        .name = arena_strdup(&tasks->arena, stored->name),
        .recipe = arena_strdup(&tasks->arena, stored->recipe),
        .engine = arena_strdup(&tasks->arena, stored->engine),
    };
    return 0;
}

/* The engines of the campaign, whoever wrote its database. */
struct recorded {
    struct arena arena;
    const char *folder;
    struct given_labels labels;
};

static int add_label(void *context, const struct stored_engine *engine, struct error *err)
{
    enum { MOST = 100 };
    struct recorded *recorded = context;
    struct arena *arena = &recorded->arena;
    if (recorded->labels.count == MOST)
        return error_set(err, ERROR_LIMIT, "the campaign in %s names more than %d engines", recorded->folder,
                         MOST);
    const char *source = arena_printf(arena, "the campaign in %s", recorded->folder);
    given_add(arena, &recorded->labels, given_foreign(arena, engine->label, source));
    return 0;
}

/* Writes findings/README.md, the table of contents. */
struct index {
    struct str counted, apart; /* rows; apart: of what is not counted (finding_is_apart) */
};

static int index_row(void *context, const struct stored *stored, struct error *err)
{
    struct index *index = context;
    struct str *out = finding_is_apart(stored->class) ? &index->apart : &index->counted;
    (void)err;
    bool linked = *stored->bundle && finding_name_is_plain(stored->name);
    str_add(out, linked ? "| [" : "| ");
    markdown_cell(out, stored->name);
    if (linked)
        str_printf(out, "](%s/report.md)", stored->name);
    str_printf(out, " | %lld | %lld | ", (long long)stored->count, (long long)stored->nodes);
    markdown_cell(out, stored->class);
    str_add(out, " | ");
    markdown_cell(out, stored->engine);
    str_add(out, " | ");
    markdown_cell(out, stored->state == STATE_KNOWN ? stored->detail : "");
    str_add(out, " | ");
    struct str title;
    str_init(&title);
    text_print(&title, stored->title, 200);
    markdown_cell(out, title.data);
    str_add(out, " |\n");
    str_release(&title);
    return 0;
}

/* The first lines of our index: a README.md that begins otherwise is the user's and is left alone. */
static const char index_head[] = "# Findings\n\n";

static int write_index(struct store *store, const struct folder *folder, struct error *err)
{
    static const char columns[] =
        "| finding | seen | nodes | class | engine | known | what |\n|---|---|---|---|---|---|---|\n";
    struct index index;
    struct str out;
    str_init(&out);
    str_init(&index.counted);
    str_init(&index.apart);
    int status = store_list(store, &(struct store_filter){0}, index_row, &index, err);
    str_printf(&out, "%s%s%s", index_head, columns, index.counted.data);
    if (index.apart.length)
        str_printf(&out,
                   "\n## Apart\n\nForms that an engine says it does not take and takes nowhere, models that "
                   "ONNX forbids and an engine answers, and answers that are right by one reading of what "
                   "the ONNX text does not say. They are not counted.\n\n%s%s",
                   columns, index.apart.data);
    if (status == 0)
        status = output_own_write(folder, "findings/README.md", index_head, out.data, out.length, err);
    str_release(&index.counted);
    str_release(&index.apart);
    str_release(&out);
    return status;
}

static void say(struct str *out, const struct task *task, const struct follow_up_done *done,
                const struct error *trouble)
{
    text_print(out, task->name, 0);
    if (trouble) {
        str_add(out, ": ");
        text_print(out, trouble->message, 0);
        str_add(out, "\n");
        return;
    }
    if (done->end == FOLLOW_UP_GONE)
        str_add(out, ": not seen again\n");
    else if (strcmp(task->name, done->signature.name) != 0)
        str_printf(out, ": the same bug as %s, reduced to %zu of %zu nodes\n", done->signature.name,
                   done->nodes_after, done->nodes_before);
    else
        str_printf(out, ": bundled, reduced to %zu of %zu nodes\n", done->nodes_after, done->nodes_before);
}

static int work(const struct follow_up_options *options, const struct tasks *tasks, struct str *out,
                struct error *err)
{
    size_t bundled = 0, merged = 0, gone = 0, trouble = 0;
    struct progress progress;
    progress_begin(&progress, "report", tasks->count);
    pool_show(options->panel->pool, &progress);
    for (size_t i = 0; i < tasks->count; i++) {
        struct follow_up_done done;
        struct error why = {0};
        const struct task *task = &tasks->items[i];
        int status = follow_up_finding(options, task->signature, task->recipe, task->engine, &done, &why);
        say(out, task, &done, status ? &why : NULL);
        trouble += status != 0;
        bundled += status == 0 && done.end == FOLLOW_UP_BUNDLED;
        merged += status == 0 && done.end == FOLLOW_UP_MERGED;
        gone += status == 0 && done.end == FOLLOW_UP_GONE;
        progress_step(&progress, i + 1);
    }
    pool_show(options->panel->pool, NULL);
    progress_end(&progress);
    str_printf(out, "%zu bundled, %zu the same as others, %zu not seen again%s", bundled, merged, gone,
               trouble ? "" : "\n");
    if (trouble)
        str_printf(out, ", %zu in trouble\n", trouble);
    bool listed = bundled || folder_has(options->folder, "findings/README.md");
    if (listed && write_index(options->store, options->folder, err))
        return -1;
    return trouble ? STATUS_TROUBLE : STATUS_AGREE;
}

/* The engines, their fresh workers, and the options for bundling. */
struct places {
    struct session session;
    struct panel others;
    struct follow_up_options options;
};

static int places_open(struct places *places, const struct settings *settings,
                       const struct given_labels *engines, struct error *err)
{
    struct common common = settings->common;
    *places = (struct places){0};
    common.engines = *engines;
    int status = session_open(&places->session, &common, 1, true, err);
    if (status == 0)
        panel_add_fresh(&places->session.panel);
    bool others =
        status == 0 && !settings->no_bisect &&
        panel_open_others(&places->others, places->session.registry, &places->session.panel, NULL) == 0;
    places->options = (struct follow_up_options){
        .registry = places->session.registry,
        .no_bisect = settings->no_bisect,
        .panel = &places->session.panel,
        .others = others ? &places->others : NULL,
        .draw = fault_map_svg,
        .no_reduce = settings->no_reduce,
        .reduce_seconds = settings->reduce_time,
        .again = settings->again,
        .force = settings->common.force,
    };
    return status;
}

static void places_close(struct places *places)
{
    panel_close(&places->others);
    session_close(&places->session);
}

/* Marks what is known, and lists what is left to be done. */
static int choose_tasks(const struct settings *settings, struct store *store, const char *folder,
                        const struct known_issues *known, struct tasks *tasks, struct str *out,
                        struct error *err)
{
    struct store_filter filter = {.signature = settings->show, .gone = true};
    if (known_again(known, store, false, err) || store_list(store, &filter, add_task, tasks, err))
        return -1;
    if (settings->show && !tasks->count)
        return error_set(err, ERROR_NOT_FOUND,
                         "there is no finding '%s' without a bundle; 'assay findings %s' lists all findings",
                         settings->show, folder);
    if (tasks->known)
        str_printf(out, "%zu more are of known issues: --again, or --show NAME, bundles them too\n",
                   tasks->known);
    if (!tasks->count)
        str_add(out, "nothing to do: all findings have their bundle\n");
    return 0;
}

/* Opens all engines of the campaign, as a verdict depends on how the others answered. Where known issues
 * have witnesses, these tell first what is known; otherwise the tasks are chosen already. */
static int with_engines(const struct settings *settings, struct store *store, const char *path,
                        struct known_issues *known, struct tasks *tasks, struct str *out, struct error *err)
{
    struct recorded recorded = {.folder = path};
    struct places places = {0};
    struct folder folder;
    arena_init(&recorded.arena);
    int status = folder_open(&folder, USERS_PATH, path, err);
    if (status == 0)
        status = store_engines(store, add_label, &recorded, err);
    given_vouched(&recorded.labels, &settings->common.engines);
    if (status == 0)
        status = places_open(&places, settings, &recorded.labels, err);
    places.options.store = store;
    places.options.folder = &folder;
    places.options.known = known;
    if (status == 0 && known_has_witnesses(known) &&
        (witnesses_try(known, &places.session.panel, store, err) ||
         choose_tasks(settings, store, path, known, tasks, out, err)))
        status = -1;
    if (status == 0 && tasks->count)
        status = work(&places.options, tasks, out, err);
    engine_settings_print(&places.session.settings, out);
    places_close(&places);
    folder_close(&folder);
    arena_release(&recorded.arena);
    return status;
}

/* There is no finding: the engine is right, or nothing could be judged. Returns the exit status, or -1. */
static int say_gone(const char *path, const char *engine, const struct verdict *verdict, struct error *err)
{
    struct standing standing = {0};
    struct str out;
    if (verdict->invalid)
        return error_set(
            err, ERROR_INVALID,
            "%s is not a valid case, so %s cannot be blamed: %.200s; correct the inputs or the model", path,
            engine, verdict->text);
    str_init(&out);
    standing_heard(&standing, engine, verdict_heard(verdict), 1, 1, verdict->text);
    standing_print(&standing, &out, false);
    str_printf(&out, "%s: no finding on %s\n", path, engine);
    wrap_print(stdout, out.data);
    str_release(&out);
    return standing_status(&standing);
}

/* `assay compare` sees a failure, and following it up does not: it shows in a step of a recurrent operator,
 * or by chance. Returns the exit status. */
static int say_unfollowed(const struct judged_first *judged)
{
    struct str out;
    str_init(&out);
    str_printf(
        &out,
        "%s\n\nNo report was written: the outputs alone do not show it, or not each time. 'assay localize' "
        "shows where it is.\n",
        judged->answer);
    wrap_print(stdout, out.data);
    str_release(&out);
    return judged->status;
}

/* Whether the engine fails in a new process. It is run twice, as a failure may depend on memory or on chance.
 */
static bool fails_afresh(const struct places *places, struct test_case *test)
{
    struct trial_done trial;
    struct signature signature;
    if (follow_up_try(places->options.panel, test, &trial, NULL))
        return false; /* what cannot be tried again, such as a model over 2 GB, stands as it was judged */
    bool fails = follow_up_signature(places->options.panel, 0, &trial, &signature);
    trial_done_release(&trial);
    return fails;
}

/* A case that ONNX forbids is a mistake of whoever made it, unless the engine ends over it, which it may not
 * do over any: then the case says that it is forbidden, as those do that a campaign makes so. The engines are
 * started anew, as they may still be at work on the case. */
static bool ends_over_forbidden(const struct settings *settings, struct places *places,
                                struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct trial_done trial;
    struct error why;
    places_close(places);
    if (places_open(places, settings, &settings->common.engines, &why) || !model ||
        !(test->forbidden = forbidden_proof(model, test->inputs, test->n_inputs, &why)))
        return false;
    test->forbidden_why = memory_strdup(why.message);
    if (follow_up_try(places->options.panel, test, &trial, NULL))
        return false;
    bool ends = verdict_is(trial.judgement.verdicts[0].kind, CLASS_DEATH);
    trial_done_release(&trial);
    return ends;
}

/* Follows up a case that fails, with a line of progress. */
static int follow_shown(const struct places *places, struct test_case *test, const char *bundle,
                        struct follow_up_done *done, struct error *err)
{
    struct pool *pool = places->session.panel.pool;
    struct progress progress;
    progress_begin(&progress, "report", 0);
    pool_show(pool, &progress);
    int status = follow_up_case(&places->options, test, bundle, done, err);
    pool_show(pool, NULL);
    progress_end(&progress);
    return status;
}

/* Judges the case and, where something is wrong with it, reduces and bundles it. */
static int follow_case(const struct settings *settings, const char *path, struct places *places,
                       struct test_case **test, struct error *err)
{
    const struct panel *panel = &places->session.panel;
    struct judged_first judged = {0};
    struct follow_up_done done = {0};
    int status = judge_first(&judged, test, path, &settings->inputs, &places->session, err);
    if (status < 0 && err->code == ERROR_INVALID && ends_over_forbidden(settings, places, *test))
        status = 0;
    if (status == 0 && judged.right && (judged.samples > 1 || !fails_afresh(places, *test))) {
        struct str out;
        str_init(&out);
        judged_first_say(&judged, "report", &out);
        wrap_print(stdout, out.data);
        str_release(&out);
        status = judged.status;
        goto out;
    }
    if (status == 0)
        status = casefile_in_one_piece(test, panel->pool, panel->engines[0], err);
    if (status == 0)
        status = follow_shown(places, *test, settings->common.output, &done, err);
    if (status == 0 && done.end == FOLLOW_UP_GONE && judged.status == STATUS_FINDINGS) {
        status = say_unfollowed(&judged);
    } else if (status == 0 && done.end == FOLLOW_UP_GONE) {
        status = say_gone(path, given_text(settings->common.engines.items[0]), &done.verdict, err);
    } else if (status == 0) {
        wrap_printf(stdout, "%s: %s, reduced to %zu of %zu nodes, in %s\n", path, done.signature.name,
                    done.nodes_after, done.nodes_before, settings->common.output);
        status = STATUS_FINDINGS;
    }
out:
    judged_first_release(&judged);
    return status;
}

static void print_settings(const struct session *session)
{
    struct str line;
    str_init(&line);
    engine_settings_print(&session->settings, &line);
    wrap_print(stdout, line.data);
    str_release(&line);
}

static int report_case(const struct settings *settings, const char *path, struct error *err)
{
    struct places places = {0};
    struct test_case *test = NULL;
    if (!settings->common.output)
        return error_set(err, ERROR_USAGE, "name the folder for the bundle of %s with -o", path);
    const char *const inputs[] = {path, settings->inputs.data};
    if (output_check_bundle(&settings->common, inputs, 2, err))
        return -1;
    int status = casefile_open(&test, path, &settings->inputs, err);
    if (status == 0)
        status = casefile_rewrite(&test, path, err);
    if (status == 0)
        status = places_open(&places, settings, &settings->common.engines, err);
    if (status == 0)
        status = follow_case(settings, path, &places, &test, err);
    if (status >= 0)
        print_settings(&places.session);
    places_close(&places);
    test_case_free(test);
    return status;
}

static bool is_case(const char *path)
{
    char *model = file_join(path, "model.onnx");
    bool found = !file_is_folder(path) || file_exists(model);
    free(model);
    return found && file_exists(path);
}

/* --- The page of a campaign --- */

enum { FORMAT_PAGE = 1 };

/* Reads the findings by their causes, and writes the page. */
static int write_page(const struct settings *settings, struct campaign_page *page, struct error *err)
{
    struct finding_causes causes;
    struct known_files files = {settings->known, page->folder ? page->path : NULL, settings->no_known};
    struct store_filter filter = {.signature = settings->show};
    struct str out;
    str_init(&out);
    causes_init(&causes);
    page->causes = &causes;
    int status = known_causes(&causes, page->store, page->folder, &files, &filter, err);
    if (status == 0 && settings->show && !causes.count)
        status = error_set(err, ERROR_NOT_FOUND, "there is no finding '%s'", settings->show);
    if (status == 0)
        status = campaign_page_write(&out, page, err);
    if (status == 0)
        status = output_write(&settings->common, &out, err);
    causes_release(&causes);
    str_release(&out);
    return status;
}

/* Engine files that were given are given to the commands that show a finding again, too. */
static const char *registry_options(const struct common *common, struct str *out)
{
    for (size_t i = 0; i < common->registries.count; i++)
        str_printf(out, "%s-E %s", i ? " " : "", common->registries.items[i]);
    return out->data;
}

static int page_of_folder(const struct settings *settings, const char *path, struct error *err)
{
    struct campaign_view view;
    struct folder folder;
    struct campaign_page page = {.view = &view, .folder = &folder, .path = path};
    struct str registries;
    if (store_open(&page.store, path, STORE_READ, err))
        return -1;
    str_init(&registries);
    page.options = registry_options(&settings->common, &registries);
    int status = campaign_view_read_folder(&view, page.store, path, err);
    if (folder_open(&folder, USERS_PATH, path, status ? NULL : err))
        status = -1;
    if (status == 0)
        status = write_page(settings, &page, err);
    folder_close(&folder);
    str_release(&registries);
    campaign_view_release(&view);
    store_close(page.store);
    return status;
}

static int page_of_database(const struct settings *settings, struct error *err)
{
    struct campaign_view view;
    struct str export, registries;
    str_init(&export);
    str_init(&registries);
    str_printf(&export, "assay campaign export %s %s -o %s", settings->db, settings->campaign,
               settings->campaign);
    struct campaign_page page = {.view = &view,
                                 .path = settings->campaign,
                                 .before = export.data,
                                 .options = registry_options(&settings->common, &registries)};
    int status = campaign_view_read(&view, settings->db, settings->campaign, err);
    if (status == 0)
        status = store_open_campaign(&page.store, settings->db, settings->campaign, STORE_READ, err);
    if (status == 0) {
        status = write_page(settings, &page, err);
        store_close(page.store);
    }
    campaign_view_release(&view);
    str_release(&export);
    str_release(&registries);
    return status;
}

static int run_page(const struct settings *settings, const struct cli_list *words, struct error *err)
{
    if (settings->again || settings->no_reduce || settings->common.engines.count)
        return error_set(err, ERROR_USAGE,
                         "--format html shows what the campaign has and runs nothing: leave out --again, "
                         "--no-reduce and -e");
    if (settings->db && (!settings->campaign || words->count))
        return error_set(err, ERROR_USAGE, "name the campaign in the database with --campaign NAME%s",
                         words->count ? ", and no folder" : "");
    if (!settings->db && words->count != 1)
        return error_set(err, ERROR_USAGE, "give the folder of one campaign, or --db URL --campaign NAME");
    if (output_check(&settings->common, err))
        return -1;
    return settings->db ? page_of_database(settings, err) : page_of_folder(settings, words->items[0], err);
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (settings->common.format == FORMAT_PAGE)
        return run_page(settings, words, err);
    if (settings->db || settings->campaign)
        return error_set(err, ERROR_USAGE,
                         "--db and --campaign are for --format html; 'assay campaign export' writes a folder "
                         "that 'assay report' can work on");
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give the folder of one campaign, or one case");
    const char *folder = words->items[0];
    struct store *store;
    if (is_case(folder))
        return report_case(settings, folder, err);
    if (output_check(&settings->common, err) || store_open(&store, folder, STORE_WRITE, err))
        return -1;
    struct tasks tasks = {.again = settings->again, .named = settings->show != NULL};
    struct str out;
    str_init(&out);
    arena_init(&tasks.arena);
    struct known_issues known;
    struct known_files files = {settings->known, folder, settings->no_known};
    int status = known_open(&known, &files, err);
    bool witnesses = known_has_witnesses(&known);
    if (status == 0 && !witnesses)
        status = choose_tasks(settings, store, folder, &known, &tasks, &out, err);
    if (status == 0 && (witnesses || tasks.count))
        status = with_engines(settings, store, folder, &known, &tasks, &out, err);
    if (status >= 0 && output_write(&settings->common, &out, err))
        status = -1;
    known_release(&known);
    free(tasks.items);
    arena_release(&tasks.arena);
    str_release(&out);
    store_close(store);
    return status;
}

static const struct cli_option options[] = {
    COMMON_REGISTRY(struct settings),
    {'e', "engine", OPTION_LABELS, "ENGINE", offsetof(struct settings, common.engines),
     "for a case: the engine that is wrong, then others to show beside it; for a campaign: an engine of it "
     "with "
     "a knob that only you may set"},
    {0, "show", OPTION_TEXT, "NAME", offsetof(struct settings, show),
     "only this finding, by its name or the start of it"},
    {0, "again", OPTION_FLAG, NULL, offsetof(struct settings, again),
     "write existing bundles again (those of fuzz lack the other releases), known issues included"},
    COMMON_INPUTS(struct settings),
    COMMON_KNOWN(struct settings),
    {0, "no-reduce", OPTION_FLAG, NULL, offsetof(struct settings, no_reduce), "do not reduce the cases"},
    {0, "reduce-time", OPTION_TIME, "TIME", offsetof(struct settings, reduce_time),
     "time limit for reducing one case (default 60s)"},
    {0, "no-bisect", OPTION_FLAG, NULL, offsetof(struct settings, no_bisect),
     "do not run the engine's other releases"},
    COMMON_LIMITS(struct settings),
    COMMON_SANDBOX(struct settings),
    {0, "format", OPTION_CHOICE, "text|html", offsetof(struct settings, common.format),
     "html: show what the campaign has as one page that needs nothing but itself, and run nothing"},
    {0, "db", OPTION_TEXT, "URL", offsetof(struct settings, db),
     "with --format html: of a campaign in this PostgreSQL database; no password in it"},
    {0, "campaign", OPTION_TEXT, "NAME", offsetof(struct settings, campaign),
     "with --db: the campaign's name"},
    {'o', "output", OPTION_TEXT, "PATH", offsetof(struct settings, common.output),
     "of a campaign: write the summary or page to this file instead of stdout; of a case: the bundle's "
     "folder, new or empty"},
    COMMON_FORCE(struct settings, "overwrite the file; replace the folder where it is a bundle of Assay's"),
};

static const struct settings defaults = {.inputs = {.seed = 1}};

const struct command command_report = {
    .name = "report",
    .summary = "bundles and reports of what a campaign found",
    .usage = "DIR [OPTION...] | CASE -e ENGINE... -o BUNDLE [OPTION...] | "
             "{DIR | --db URL --campaign NAME} --format html -o PAGE",
    .about =
        "For each finding of a campaign that has no bundle yet: makes the case again, runs it, tries it "
        "on the\n"
        "engine's other releases and writes it to DIR/findings/NAME with a report for the engine's\n"
        "maintainers. DIR/findings/README.md lists all of them.\n"
        "\n"
        "Of a case (a folder, or a model with inputs) the engine is judged first, as compare does it, on "
        "all\n"
        "samples; the one on which it fails is reported. Where it fails on none, that is said, with status "
        "0.\n"
        "\n"
        "With --format html, one page shows the campaign to people: first the causes that are not known, "
        "each\n"
        "with its map, its minimal model and the commands that show it again; then operators by engines,\n"
        "coverage and causes over time, and what is known, folded away. It holds no script and loads "
        "nothing.\n",
    .examples = "  assay report campaign\n"
                "  assay report campaign --show wrong-resize --again\n"
                "  assay report my-case -e onnxruntime@1.30.0 -o my-bundle\n"
                "  assay report campaign --format html -o campaign.html\n"
                "  assay report --db postgresql://host/assay --campaign night --format html -o night.html\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
