/* assay replay: runs past findings again. */
#include "base/json.h"
#include "cli/common.h"
#include "findings/replay.h"
#include "report/junit.h"
#include "report/text_table.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    struct common common;
    const char *release, *known;
    bool list, no_known;
};

static enum style state_style(enum replay_state state)
{
    return state == REPLAY_AGREES                             ? STYLE_GOOD
           : state == REPLAY_SKIPPED || state == REPLAY_KNOWN ? STYLE_WARN
                                                              : STYLE_BAD;
}

/* Names the user's known issues that are outdated because their cases agree now. */
static void write_fixed(const struct replay *replay, const struct known_issues *known, struct str *out)
{
    for (size_t i = 0; i < known->count; i++) {
        const struct known_issue *issue = &known->items[i];
        if (issue->accepted && replay_agrees_now(replay, issue))
            str_printf(out, "%s agrees now: remove this issue from %s\n", issue->name, issue->file);
    }
}

static void write_text(const struct replay *replay, const struct standing *standing,
                       const struct known_issues *known, bool list, bool colour, struct str *out)
{
    standing_print(standing, out, colour);
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_row *row = &replay->rows[i];
        if (!list &&
            (row->state == REPLAY_AGREES || row->state == REPLAY_SKIPPED || row->state == REPLAY_KNOWN))
            continue;
        text_print(out, row->name, 0);
        str_add(out, " on ");
        text_print(out, row->engine, 0);
        str_add(out, ": ");
        style_print(out, colour, state_style(row->state), "%s", replay_state_name(row->state));
        if (!text_equal(row->verdict, replay_state_name(row->state)))
            str_printf(out, " (%s)", row->verdict);
        str_add(out, "\n");
        if (*row->title)
            str_add(out, "  ");
        text_print(out, row->title, 0);
        str_add(out, *row->title ? "\n" : "");
        if (*row->text)
            str_add(out, "  ");
        text_print(out, row->text, 0);
        str_add(out, *row->text ? "\n" : "");
    }
    write_fixed(replay, known, out);
    str_printf(out, "%zu replayed: %zu still wrong, ", replay->count, replay->counts[REPLAY_WRONG]);
    if (replay->counts[REPLAY_KNOWN])
        str_printf(out, "%zu known, ", replay->counts[REPLAY_KNOWN]);
    str_printf(out, "%zu agree, %zu skipped", replay->counts[REPLAY_AGREES], replay->counts[REPLAY_SKIPPED]);
    if (replay->counts[REPLAY_EXPECTATION])
        str_printf(out, ", %zu with expected outputs that are not those of the model",
                   replay->counts[REPLAY_EXPECTATION]);
    size_t trouble = replay->counts[REPLAY_TROUBLE] + replay->counts[REPLAY_UNTESTED];
    if (trouble)
        str_printf(out, ", %zu in trouble", trouble);
    str_add(out, "\n");
}

static void write_json(const struct replay *replay, const struct standing *standing,
                       const struct engine_settings *run_with, struct str *out)
{
    struct json json;
    output_json(&json, out, true);
    standing_json(standing, &json);
    engine_settings_json(run_with, &json);
    json_array(&json, "replayed");
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_row *row = &replay->rows[i];
        json_object(&json, NULL);
        json_string(&json, "case", row->name);
        json_string(&json, "folder", row->folder);
        json_string(&json, "engine", row->engine);
        json_string(&json, "state", replay_state_name(row->state));
        json_string(&json, "verdict", row->verdict);
        json_string(&json, "known", row->known);
        json_string(&json, "was", *row->was ? row->was : NULL);
        json_string(&json, "title", *row->title ? row->title : NULL);
        json_string(&json, "text", *row->text ? row->text : NULL);
        json_double(&json, "seconds", row->seconds);
        json_end(&json);
    }
    json_end(&json);
    json_object(&json, "counts");
    for (int state = 0; state < REPLAY_STATES; state++)
        json_int(&json, replay_state_name((enum replay_state)state), (int64_t)replay->counts[state]);
    json_end(&json);
    json_end(&json);
}

static enum junit_result junit_result(enum replay_state state)
{
    return state == REPLAY_AGREES                             ? JUNIT_PASS
           : state == REPLAY_WRONG                            ? JUNIT_FAILURE
           : state == REPLAY_SKIPPED || state == REPLAY_KNOWN ? JUNIT_SKIPPED
                                                              : JUNIT_ERROR;
}

/* One suite for each engine, with the cases in their order. */
static void write_junit(const struct replay *replay, const struct standing *standing,
                        const struct engine_settings *run_with, struct str *out)
{
    struct junit junit;
    bool *done = calloc(replay->count + 1, sizeof *done);
    junit_init(&junit);
    engine_settings_junit(run_with, &junit);
    for (size_t i = 0; i < replay->count && done; i++) {
        if (done[i])
            continue;
        junit_suite(&junit, replay->rows[i].engine);
        for (size_t k = i; k < replay->count; k++) {
            const struct replay_row *row = &replay->rows[k];
            if (done[k] || strcmp(row->engine, replay->rows[i].engine) != 0)
                continue;
            done[k] = true;
            junit_case(&junit, &(struct junit_case){.name = row->name,
                                                    .seconds = row->seconds,
                                                    .result = junit_result(row->state),
                                                    .type = row->verdict,
                                                    .message = *row->text ? row->text : row->title,
                                                    .details = row->title});
        }
    }
    if (standing->troubles && !junit_errors(&junit))
        junit_trouble(&junit, "replay", standing->reason);
    junit_write(&junit, out);
    junit_release(&junit);
    free(done);
}

static int run_group(struct replay *replay, const struct settings *settings, const struct known_issues *known,
                     const struct given_labels *engines, const struct suite *suite,
                     struct engine_settings *run_with, struct error *err)
{
    struct session session = {0};
    struct common common = settings->common;
    common.engines = *engines;
    struct conform_options options = {
        .tolerance = {.rtol = 1e-3, .atol = 1e-5, .scale = 1e-5},
        .progress = true,
        .look_up = known_look_up,
        .known = known,
    };
    int status = session_open(&session, &common, 1, true, err);
    options.registry = session.registry;
    if (status == 0)
        status = replay_run(replay, suite, &session.panel, &options, err);
    engine_settings_take(run_with, &session.panel);
    session_close(&session);
    return status;
}

/* The engine that a bundle says it was found on, perhaps at another release. NULL with an error. */
static const struct given_label *recorded_engine(struct arena *arena, const struct suite_case *entry,
                                                 const char *release, struct error *err)
{
    struct folder folder;
    struct bundle bundle;
    const struct given_label *label = NULL;
    if (suite_case_open(&folder, entry, err) ||
        (bundle_read(&bundle, &folder, arena, err) && err->code != ERROR_NOT_FOUND))
        goto out;
    if (*bundle.engine)
        label = given_foreign(arena, bundle.engine, entry->folder);
    else
        error_set(err, ERROR_USAGE, "%s does not say on which engine it was found; name one with -e",
                  entry->folder);
    if (label && release)
        label = given_at(arena, label, release);
out:
    folder_close(&folder);
    return label;
}

/* Replays each case on the engine it was found on. */
static int run_recorded(struct replay *replay, const struct settings *settings,
                        const struct known_issues *known, const struct suite *suite,
                        struct engine_settings *run_with, struct error *err)
{
    struct arena arena;
    arena_init(&arena);
    const struct given_label **engines = arena_array(&arena, suite->count, sizeof *engines);
    struct suite_case *cases = arena_array(&arena, suite->count, sizeof *cases);
    int status = 0;
    for (size_t i = 0; i < suite->count && status == 0; i++) {
        engines[i] = recorded_engine(&arena, &suite->cases[i], settings->release, err);
        status = engines[i] ? 0 : -1;
    }
    for (size_t i = 0; i < suite->count && status == 0; i++) {
        const struct given_label *engine = engines[i];
        if (!engine)
            continue;
        struct suite part = {.cases = cases};
        for (size_t k = i; k < suite->count; k++)
            if (engines[k] && strcmp(given_text(engines[k]), given_text(engine)) == 0) {
                part.cases[part.count++] = suite->cases[k];
                engines[k] = NULL;
            }
        status = run_group(replay, settings, known, &(struct given_labels){1, &engine}, &part, run_with, err);
    }
    arena_release(&arena);
    return status;
}

static int report(const struct replay *replay, const struct settings *settings,
                  const struct known_issues *known, const struct engine_settings *run_with, struct error *err)
{
    struct standing standing = {0};
    struct str out;
    str_init(&out);
    replay_stands(replay, &standing);
    if (settings->common.format == FORMAT_JSON)
        write_json(replay, &standing, run_with, &out);
    else if (settings->common.format == FORMAT_JUNIT)
        write_junit(replay, &standing, run_with, &out);
    else
        write_text(replay, &standing, known, settings->list, output_colour(&settings->common), &out);
    int status = output_result(&settings->common, run_with, &out, err);
    str_release(&out);
    return status ? -1 : standing_status(&standing);
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (words->count == 0)
        return error_set(err, ERROR_USAGE, "give a bundle, or a folder of them");
    if (settings->release && settings->common.engines.count)
        return error_set(err, ERROR_USAGE, "--release is for the engines of the bundles: leave out -e");
    if (output_check(&settings->common, err))
        return -1;
    struct suite suite = {0};
    struct replay replay;
    struct engine_settings run_with;
    replay_init(&replay);
    engine_settings_init(&run_with);
    struct known_issues known;
    struct known_files files = {.named = settings->known, .none_installed = settings->no_known};
    int status = known_open(&known, &files, err);
    if (status == 0)
        status = suite_open(&suite, words->items, words->count, NULL, err);
    if (status == 0)
        status = settings->common.engines.count
                     ? run_group(&replay, settings, &known, &settings->common.engines, &suite, &run_with, err)
                     : run_recorded(&replay, settings, &known, &suite, &run_with, err);
    if (status == 0)
        status = report(&replay, settings, &known, &run_with, err);
    if (status < 0)
        trouble_junit(&settings->common, "replay", err);
    replay_release(&replay);
    engine_settings_release(&run_with);
    known_release(&known);
    suite_release(&suite);
    return status;
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_REFERENCE(struct settings),
    {0, "release", OPTION_TEXT, "VERSION", offsetof(struct settings, release),
     "run each finding on the engine and knobs it was found on, but in this release"},
    COMMON_KNOWN(struct settings),
    {'l', "list", OPTION_FLAG, NULL, offsetof(struct settings, list),
     "print every case, not only what is still wrong"},
    COMMON_OUTPUT(struct settings, "text|json|junit"),
};

const struct command command_replay = {
    .name = "replay",
    .summary = "run past findings again",
    .usage = "BUNDLE... [-e ENGINE...] [OPTION...]",
    .about =
        "BUNDLE is a finding that 'assay fuzz' kept, any case in ONNX's backend-test layout, or a tree of\n"
        "them: a corpus of past findings is a regression test. Without -e each finding runs on the engine "
        "it\n"
        "was found on. The exit status is 0 when all agree (an engine may cleanly lack what a case needs, "
        "as\n"
        "long as some case ran), 1 when something is still wrong, and 2 when something could not be run or\n"
        "judged.\n",
    .examples =
        "  assay replay campaign/findings/wrong-resize-3fa9c2d1b0e4\n"
        "  assay replay campaign/findings -e onnxruntime@1.30.0 --list\n"
        "  assay replay corpus --release 1.30.0 --known corpus/known.ini --format junit -o replay.xml\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
