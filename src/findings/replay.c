#include "findings/replay.h"

#include "base/memory.h"
#include "judge/message.h"
#include "rules/rewriting.h"
#include "trial/trial.h"

#include <stdlib.h>
#include <string.h>

const char *replay_state_name(enum replay_state state)
{
    static const char *const names[REPLAY_STATES] = {
        [REPLAY_UNTESTED] = "untested", [REPLAY_AGREES] = "agrees",   [REPLAY_WRONG] = "still wrong",
        [REPLAY_KNOWN] = "known",       [REPLAY_SKIPPED] = "skipped", [REPLAY_EXPECTATION] = "expectation",
        [REPLAY_TROUBLE] = "trouble",
    };
    return names[state];
}

void replay_init(struct replay *replay)
{
    *replay = (struct replay){0};
    arena_init(&replay->arena);
}

void replay_release(struct replay *replay)
{
    free(replay->rows);
    arena_release(&replay->arena);
}

static enum replay_state by_answer(const struct conform_result *result)
{
    if (conform_is(result->verdict, CLASS_AGREES))
        return conform_is_unjudged(result) ? REPLAY_TROUBLE : REPLAY_AGREES;
    if (conform_is(result->verdict, CLASS_OPEN | CLASS_LACK))
        return REPLAY_SKIPPED;
    if (conform_is(result->verdict, CLASS_REFUTED))
        return REPLAY_EXPECTATION;
    bool trouble = conform_is(result->verdict, CLASS_NOTHING | CLASS_TROUBLE | CLASS_UNDECIDED);
    return trouble ? REPLAY_TROUBLE : REPLAY_WRONG;
}

/* Whether the judge compared the answer with the reference's. */
static bool is_judged(const struct conform_result *result)
{
    const struct verdict *verdict = result->judged ? &result->judged->verdict : NULL;
    return verdict && !verdict_is(verdict->kind, CLASS_NOTHING | CLASS_UNDECIDED) && !verdict->by_vote &&
           !(verdict_is(verdict->kind, CLASS_AGREES) && verdict->blank) &&
           verdict->expectation != EXPECTATION_ALONE;
}

static enum replay_state by_judge(const struct conform_result *result)
{
    static const enum replay_state states[HEARD_COUNT] = {
        [HEARD_NOTHING] = REPLAY_TROUBLE,  [HEARD_LACK] = REPLAY_SKIPPED,
        [HEARD_UNJUDGED] = REPLAY_TROUBLE, [HEARD_JUDGED] = REPLAY_AGREES,
        [HEARD_FINDING] = REPLAY_WRONG,    [HEARD_MISTAKE] = REPLAY_EXPECTATION,
        [HEARD_LIMITED] = REPLAY_WRONG,    [HEARD_LENIENT] = REPLAY_WRONG,
        [HEARD_UNSAID] = REPLAY_WRONG,
    };
    const struct verdict *verdict = &result->judged->verdict;
    return verdict->expectation == EXPECTATION_WIDE ? REPLAY_AGREES : states[verdict_heard(verdict)];
}

/* Whether the bundle's verdict is of these classes. */
static bool is_kept_as(const struct bundle *bundle, unsigned classes)
{
    enum verdict_kind kind;
    return verdict_parse(bundle->kind, &kind) && verdict_is(kind, classes);
}

/*
 * Whether an *unsupported* is still the finding it was. An engine that says it lacks an operator which its
 * own optimiser made is wrong: when the bundle was made, the judge saw another setting of the same release
 * run the case. Here the engine runs without that other setting, and the same message is as wrong as it was
 * then.
 */
static bool lacks_as_before(const struct conform_result *result, const struct bundle *bundle,
                            const struct engine_profile *profile)
{
    if (strcmp(bundle->outcome, outcome_name(OUTCOME_UNSUPPORTED)) != 0 || is_kept_as(bundle, CLASS_LACK) ||
        !result->message)
        return false;
    struct str now, then;
    str_init(&now);
    str_init(&then);
    message_normalise(&now, result->message, NULL, profile);
    message_normalise(&then, bundle->message, NULL, profile);
    bool same = strcmp(now.data, then.data) == 0;
    str_release(&now);
    str_release(&then);
    return same;
}

static enum replay_state state_of(const struct conform_result *result, const struct bundle *bundle)
{
    enum replay_state plain = by_answer(result);
    bool invalid = result->judged && result->judged->verdict.invalid;
    /* An invalid case that crashed an engine is mended when the engine now refuses it with a message. */
    if (bundle && invalid && result->verdict == CONFORM_NOT_RUNNABLE && is_kept_as(bundle, CLASS_DEATH))
        return REPLAY_AGREES;
    /* To a model that ONNX forbids there is no expected output: whether it is answered is what was judged. */
    bool lenient = invalid && verdict_is(result->judged->verdict.kind, CLASS_LENIENT | CLASS_AGREES);
    if ((plain == REPLAY_TROUBLE && !lenient) || !is_judged(result))
        return plain;
    /* For a case that is not a bundle, its expected outputs decide. */
    enum replay_state judged = by_judge(result);
    if (!bundle && (conform_is(result->verdict, CLASS_WRONG_ANSWER) || judged == REPLAY_TROUBLE))
        return plain;
    return judged;
}

static void say(struct replay *replay, struct replay_row *row, const struct conform_result *result)
{
    struct str text;
    str_init(&text);
    bool judged = is_judged(result) && result->verdict != CONFORM_NOT_RUNNABLE &&
                  (row->state == by_judge(result) || row->state != REPLAY_WRONG);
    row->verdict =
        judged ? verdict_name(result->judged->verdict.kind) : conform_verdict_name(result->verdict);
    if (judged && (row->state == REPLAY_WRONG || row->state == REPLAY_EXPECTATION))
        engine_verdict_sentence(result->judged, &text);
    else if (result->message && row->state != REPLAY_AGREES)
        str_add(&text, result->message);
    else if (result->judged && row->state == REPLAY_TROUBLE)
        engine_verdict_sentence(result->judged, &text);
    row->text = arena_strdup(&replay->arena, text.data);
    str_release(&text);
}

/* A bundle that cannot be read, and a rewriting that does not apply any more or cannot be run, are trouble on
 * every engine. */
static void set_trouble(struct replay *replay, struct replay_row *row, const char *why)
{
    replay->counts[row->state]--;
    row->state = REPLAY_TROUBLE;
    replay->counts[row->state]++;
    row->verdict = verdict_name(verdict_of_outcome(OUTCOME_UNTESTED));
    row->text = arena_strdup(&replay->arena, why);
}

/* The bundle that a case is; fails with ERROR_NOT_FOUND when it is none. */
static int read_bundle(struct bundle *bundle, const struct suite_case *entry, struct arena *arena,
                       struct error *err)
{
    struct folder folder;
    int status = suite_case_open(&folder, entry, err);
    if (!status)
        status = bundle_read(bundle, &folder, arena, err);
    folder_close(&folder);
    return status;
}

static void add_row(struct replay *replay, const struct suite_case *entry,
                    const struct conform_result *result, const struct engine_info *engine)
{
    struct bundle bundle;
    struct error err = {0};
    replay->rows = memory_grow(replay->rows, &replay->capacity, replay->count + 1, sizeof *replay->rows);
    struct replay_row *row = &replay->rows[replay->count++];
    bool is_bundle = read_bundle(&bundle, entry, &replay->arena, &err) == 0;
    *row = (struct replay_row){
        .name = arena_strdup(&replay->arena, entry->name),
        .folder = arena_strdup(&replay->arena, entry->folder),
        .title = is_bundle ? bundle.title : "",
        .was = is_bundle ? bundle.kind : "",
        .engine = arena_strdup(&replay->arena, engine->label),
        .state = state_of(result, is_bundle ? &bundle : NULL),
        .seconds = (double)(result->load_ns + result->run_ns) * 1e-9,
    };
    say(replay, row, result);
    row->known = result->judged ? result->judged->known : NULL;
    if (row->state == REPLAY_EXPECTATION && result->judged && result->judged->refuted)
        row->refuted = arena_strdup(&replay->arena, result->judged->refuted);
    if (row->state == REPLAY_WRONG && row->known && result->judged->accepted)
        row->state = REPLAY_KNOWN;
    if (is_bundle && row->state == REPLAY_SKIPPED && lacks_as_before(result, &bundle, engine->profile)) {
        row->state = REPLAY_WRONG;
        row->verdict = bundle.kind;
    }
    replay->counts[row->state]++;
    if (!is_bundle && err.code != ERROR_NOT_FOUND)
        set_trouble(replay, row, err.message);
}

static enum replay_state state_of_pair(const struct trial_done *done, size_t engine)
{
    const struct verdict *own = &done->judgement.verdicts[engine], *pair = &done->pairs[engine];
    if (verdict_is_finding(own->kind) || verdict_is_finding(pair->kind) || own->of_pair)
        return REPLAY_WRONG;
    if (verdict_is(own->kind, CLASS_LACK))
        return REPLAY_SKIPPED;
    return verdict_is(pair->kind, CLASS_AGREES) ? REPLAY_AGREES : REPLAY_TROUBLE;
}

/* Replaces what running the original alone gave. */
static void set_pair(struct replay *replay, struct replay_row *row, const struct trial_done *done,
                     size_t engine)
{
    const struct verdict *own = &done->judgement.verdicts[engine], *pair = &done->pairs[engine];
    const struct verdict *verdict = verdict_is_finding(own->kind) || own->of_pair ? own : pair;
    replay->counts[row->state]--;
    row->state = state_of_pair(done, engine);
    replay->counts[row->state]++;
    row->verdict = verdict_name(verdict->kind);
    row->text = row->state == REPLAY_AGREES ? "" : arena_strdup(&replay->arena, verdict->text);
}

static int run_pair(const struct bundle *bundle, const struct suite_case *entry, const struct panel *panel,
                    const struct conform_options *options, struct trial_done *done, struct error *err)
{
    struct suite_loaded origin;
    struct test_case *rewritten;
    int status = suite_load(entry, &origin, err);
    if (!status && origin.misfit)
        status = error_set(err, ERROR_INVALID, "%s", origin.misfit);
    if (!status && rewriting_apply(origin.tests[0], bundle->rewriting, &rewritten, err) != 1)
        status = -1;
    suite_unload(&origin);
    if (status)
        return -1;
    struct trials *trials =
        trials_new(&(struct trial_options){.panel = panel, .registry = options->registry, .settle = true});
    if (trials_submit(trials, rewritten, NULL, err) || trials_next(trials, done, err) != 1)
        status = -1;
    trials_free(trials);
    return status;
}

/* Rows: one for each engine. */
static void replay_pair(struct replay *replay, struct replay_row *rows, const struct suite_case *entry,
                        const struct panel *panel, const struct conform_options *options)
{
    struct bundle bundle;
    struct trial_done done;
    struct error err = {0};
    if (read_bundle(&bundle, entry, &replay->arena, NULL) || !*bundle.rewriting)
        return;
    int status = run_pair(&bundle, entry, panel, options, &done, &err);
    for (size_t e = 0; e < panel->count; e++)
        if (status)
            set_trouble(replay, &rows[e], err.message);
        else
            set_pair(replay, &rows[e], &done, e);
    if (!status)
        trial_done_release(&done);
}

int replay_run(struct replay *replay, const struct suite *suite, const struct panel *panel,
               const struct conform_options *options, struct error *err)
{
    struct conform conform = {0};
    int status = conform_run(&conform, suite, panel, options, err);
    for (size_t i = 0; i < suite->count && status == 0; i++) {
        for (size_t e = 0; e < panel->count; e++)
            add_row(replay, &suite->cases[i], conform_at(&conform, i, e), panel_engine(panel, e));
        replay_pair(replay, &replay->rows[replay->count - panel->count], &suite->cases[i], panel, options);
    }
    conform_release(&conform);
    return status;
}

void replay_stands(const struct replay *replay, struct standing *standing)
{
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_row *row = &replay->rows[i];
        if (row->state == REPLAY_WRONG)
            standing_finding(standing);
        else if (row->state == REPLAY_EXPECTATION)
            standing_mistake(standing, "%s: %.1000s", row->name, row->refuted ? row->refuted : row->text);
        else if (row->state == REPLAY_TROUBLE || row->state == REPLAY_UNTESTED)
            standing_trouble(standing, "%s on %s was not judged (%s)%s%.200s", row->name, row->engine,
                             row->verdict, *row->text ? ": " : "", row->text);
    }
    if (replay->count == replay->counts[REPLAY_SKIPPED])
        standing_trouble(
            standing,
            "nothing ran: every case was skipped; name an engine with -e that supports one of them");
}

/* The last part of the issue's case is the name of the folder that is replayed. */
static bool names_case(const struct known_issue *issue, const char *name)
{
    const char *slash = strrchr(issue->document, '/'), *row = strrchr(name, '/');
    return *issue->document && text_equal(slash ? slash + 1 : issue->document, row ? row + 1 : name);
}

bool replay_agrees_now(const struct replay *replay, const struct known_issue *issue)
{
    size_t agrees = 0;
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_row *row = &replay->rows[i];
        if (!names_case(issue, row->name))
            continue;
        if (row->state == REPLAY_WRONG || row->state == REPLAY_KNOWN)
            return false;
        agrees += row->state == REPLAY_AGREES;
    }
    return agrees > 0;
}
