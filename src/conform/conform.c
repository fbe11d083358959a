#include "conform/conform.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/progress.h"
#include "conform/kept_verdicts.h"
#include "engine/handover.h"
#include "engine/runner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_WINDOW = 32, LOG_LINES_LIMIT = 4096 };

static const struct {
    const char *word;
    enum verdict_kind kind; /* the judge's that says the same */
} rows[CONFORM_COUNT] = {
    [CONFORM_UNTESTED] = {"untested", VERDICT_UNTESTED},
    [CONFORM_PASS] = {"pass", VERDICT_AGREES},
    [CONFORM_WRONG] = {"wrong", VERDICT_WRONG},
    [CONFORM_NAN] = {"nan", VERDICT_NAN},
    [CONFORM_SHAPE] = {"shape", VERDICT_SHAPE},
    [CONFORM_DTYPE] = {"dtype", VERDICT_DTYPE},
    [CONFORM_RANDOM] = {"random", VERDICT_OPEN},
    [CONFORM_UNSUPPORTED] = {"unsupported", VERDICT_UNSUPPORTED},
    [CONFORM_REJECTED] = {"rejected", VERDICT_REJECTED},
    [CONFORM_FAILED] = {"failed", VERDICT_FAILED},
    [CONFORM_CRASH] = {"crash", VERDICT_CRASH},
    [CONFORM_HANG] = {"hang", VERDICT_HANG},
    [CONFORM_MEMORY] = {"memory", VERDICT_MEMORY},
    [CONFORM_GARBAGE] = {"garbage", VERDICT_GARBAGE},
    [CONFORM_NO_ENGINE] = {"no engine", VERDICT_NO_ENGINE},
    [CONFORM_ADAPTER] = {"adapter", VERDICT_ADAPTER},
    [CONFORM_NOT_RUNNABLE] = {"not runnable", VERDICT_UNDECIDED},
    [CONFORM_EXPECTATION] = {"expectation", VERDICT_EXPECTATION},
    [CONFORM_UNDECIDED] = {"undecided", VERDICT_UNDECIDED},
};

const char *conform_verdict_name(enum conform_verdict verdict)
{
    return rows[verdict].word;
}

enum verdict_kind conform_verdict_kind(enum conform_verdict verdict)
{
    return rows[verdict].kind;
}

bool conform_is(enum conform_verdict verdict, unsigned classes)
{
    return verdict_is(rows[verdict].kind, classes);
}

bool conform_is_finding(enum conform_verdict verdict)
{
    return !conform_is(verdict, CLASS_AGREES | CLASS_LACK | CLASS_UNJUDGED | CLASS_TROUBLE | CLASS_REFUTED);
}

bool conform_is_unjudged(const struct conform_result *result)
{
    if (result->verdict != CONFORM_PASS || !result->bare)
        return false;
    enum heard heard = result->judged ? verdict_heard(&result->judged->verdict) : HEARD_UNJUDGED;
    return heard != HEARD_JUDGED && heard != HEARD_FINDING;
}

bool conform_is_beyond_rounding(const struct conform_result *result)
{
    return result->verdict == CONFORM_PASS && result->judged &&
           verdict_is_finding(result->judged->verdict.kind);
}

bool conform_judge_says(const struct conform_result *result)
{
    if (!result->judged)
        return false;
    enum verdict_kind kind = result->judged->verdict.kind;
    bool nothing = verdict_is(kind, CLASS_UNDECIDED) && result->judged->verdict.by_vote;
    return !verdict_is(kind, CLASS_AGREES | CLASS_LACK | CLASS_TROUBLE) && !nothing;
}

bool conform_is_apart(const struct conform_result *result)
{
    return result->judged && verdict_is(result->judged->verdict.kind, CLASS_APART);
}

bool conform_is_failure(const struct conform_result *result)
{
    return !(conform_is(result->verdict, CLASS_AGREES | CLASS_OPEN | CLASS_TROUBLE)) ||
           conform_is_beyond_rounding(result);
}

bool conform_is_unexpected(const struct conform_result *result)
{
    if (conform_is(result->verdict, CLASS_TROUBLE) || result->listing == LISTED_EITHER)
        return false;
    return conform_is_failure(result) != (result->listing == LISTED_FAILS);
}

void conform_hold(struct conform *conform, struct expected_failures *list)
{
    conform->listed = true;
    for (size_t i = 0; i < conform->suite->count; i++) {
        struct conform_result *result = &conform->results[i];
        const char *name = conform->suite->cases[i].name;
        if (conform_is(result->verdict, CLASS_TROUBLE))
            continue;
        result->listing = expected_failures_hold(list, name, conform_is_failure(result));
        if (conform_is_failure(result) && result->listing == LISTED_NOT)
            expected_failures_add(list, name, result->message, result->stage == STAGE_LOAD);
    }
}

static bool has_run(const struct conform_result *result)
{
    return !conform_is(result->verdict, CLASS_LACK | CLASS_TROUBLE) && !conform_is_apart(result) &&
           result->verdict != CONFORM_NOT_RUNNABLE;
}

static void case_stands(const struct conform_result *result, const char *name, const char *label,
                        struct standing *standing)
{
    const char *message = result->message ? result->message : "";
    if (conform_is(result->verdict, CLASS_TROUBLE))
        standing_trouble(standing, "%s gave no answer to %s: %.1000s", label, name, message);
    else if (result->verdict == CONFORM_NOT_RUNNABLE)
        standing_trouble(standing, "%s is not runnable: %.1000s", name, message);
    else if (conform_is_unjudged(result))
        standing_trouble(standing, "%s brings no expected outputs, and the answer of %s could not be judged",
                         name, label);
    else if (result->verdict == CONFORM_UNDECIDED)
        standing_trouble(standing, "%s on %s: %.1000s", name, label, message);
    else if (conform_is_apart(result) && !standing->strict)
        return; /* as what it does not support */
    else if ((conform_is_finding(result->verdict) || conform_is_beyond_rounding(result)) &&
             !(result->judged && result->judged->accepted))
        standing_finding(standing);
}

/* Expected outputs that the reference refutes are one mistake, however many engines are right. */
static void expected_stand(const struct conform *conform, size_t number, struct standing *standing)
{
    for (size_t engine = 0; engine < conform->engines; engine++) {
        const struct engine_verdict *judged = conform_at(conform, number, engine)->judged;
        if (!judged || !judged->refuted)
            continue;
        standing_mistake(standing, "%s: %.1000s", conform->suite->cases[number].name, judged->refuted);
        return;
    }
}

void conform_stands(const struct conform *conform, const char *const *labels, struct standing *standing)
{
    for (size_t i = 0; i < conform->suite->count; i++)
        if (!conform->listed || conform_at(conform, i, 0)->listing == LISTED_NOT)
            expected_stand(conform, i, standing);
    for (size_t engine = 0; engine < conform->engines; engine++) {
        size_t ran = 0;
        for (size_t i = 0; i < conform->suite->count; i++) {
            const struct conform_result *result = conform_at(conform, i, engine);
            ran += has_run(result);
            if (conform->listed && conform_is_unexpected(result))
                standing_finding(standing);
            else if (!conform->listed || result->listing == LISTED_NOT)
                case_stands(result, conform->suite->cases[i].name, labels[engine], standing);
        }
        if (ran < conform->at_least)
            standing_trouble(standing, "%zu of %zu cases ran on %s, and at least %zu are wanted", ran,
                             conform->suite->count, labels[engine], conform->at_least);
        if (!ran && conform->counts[engine][CONFORM_UNSUPPORTED])
            standing_trouble(
                standing,
                "nothing ran on %s: it supports none of the %zu cases; use --list to see what it lacks, or "
                "name another engine",
                labels[engine], conform->suite->count);
    }
}

/* A case under way. */
struct flight {
    struct flight *next, **link;
    size_t number;
    size_t asked;   /* engines of those that work now which have no verdict yet */
    size_t *places; /* theirs in the panel */
    int *engines;   /* their numbers in the pool */
    struct suite_loaded loaded;
    struct handover handover;
    struct job_set *sets;
    struct job_gradient *gradients; /* for each set, where gradients are asked for */
    struct run *run;                /* its results, when all are there */
};

struct work {
    struct conform *conform;
    const struct panel *panel;
    const struct conform_options *options;
    struct runner *runner;
    struct kept_verdicts *kept;
    uint64_t *hashes; /* of the cases' files, where verdicts are kept */
    size_t from, to;  /* the engines that work now */
    struct flight *first;
    size_t flights, bytes; /* in memory now */
    struct str why;
};

static enum conform_verdict from_outcome(enum outcome outcome)
{
    static const enum conform_verdict verdicts[OUTCOME_COUNT] = {
        [OUTCOME_UNTESTED] = CONFORM_UNTESTED,
        [OUTCOME_OK] = CONFORM_PASS,
        [OUTCOME_UNSUPPORTED] = CONFORM_UNSUPPORTED,
        [OUTCOME_REJECTED] = CONFORM_REJECTED,
        [OUTCOME_FAILED] = CONFORM_FAILED,
        [OUTCOME_CRASH] = CONFORM_CRASH,
        [OUTCOME_HANG] = CONFORM_HANG,
        [OUTCOME_MEMORY] = CONFORM_MEMORY,
        [OUTCOME_GARBAGE] = CONFORM_GARBAGE,
        [OUTCOME_NO_ENGINE] = CONFORM_NO_ENGINE,
        [OUTCOME_ADAPTER] = CONFORM_ADAPTER,
    };
    return verdicts[outcome];
}

static enum conform_verdict from_golden(enum golden golden)
{
    static const enum conform_verdict verdicts[] = {
        [GOLDEN_PASS] = CONFORM_PASS,   [GOLDEN_WRONG] = CONFORM_WRONG, [GOLDEN_NAN] = CONFORM_NAN,
        [GOLDEN_SHAPE] = CONFORM_SHAPE, [GOLDEN_DTYPE] = CONFORM_DTYPE, [GOLDEN_MISSING] = CONFORM_SHAPE,
    };
    return verdicts[golden];
}

/* The answer is not as expected: what it is called when the reference was heard about it too. */
static enum conform_verdict from_dispute(enum expectation expectation, enum golden golden)
{
    static const enum conform_verdict verdicts[EXPECTATION_COUNT] = {
        [EXPECTATION_ROUNDING] = CONFORM_PASS,
        [EXPECTATION_REFUTED] = CONFORM_EXPECTATION,
        [EXPECTATION_UNTOLD] = CONFORM_UNDECIDED,
    };
    return verdicts[expectation] ? verdicts[expectation] : from_golden(golden);
}

/* What becomes of the case on one of the engines that were asked. */
static struct conform_result *result_on(const struct work *work, const struct flight *flight, size_t asked)
{
    return &work->conform->results[flight->number * work->conform->engines + flight->places[asked]];
}

static struct expected expected_of(const struct test_case *test)
{
    return (struct expected){.count = test->n_outputs, .values = test->outputs, .masks = test->masks};
}

static const char *tail(struct arena *arena, const char *log)
{
    if (!log || !*log)
        return NULL;
    size_t length = strlen(log);
    return arena_strdup(arena, length > LOG_LINES_LIMIT ? log + length - LOG_LINES_LIMIT : log);
}

/* judged: the judge's verdict on this answer, or NULL. */
static enum conform_verdict hold(struct work *work, const struct flight *flight, size_t set,
                                 const struct result *result, const struct verdict *judged)
{
    str_clear(&work->why);
    if (result->outcome != OUTCOME_OK) {
        result_words(result, &work->why);
        return from_outcome(result->outcome);
    }
    const struct test_case *test = flight->loaded.tests[set];
    struct expected expected = expected_of(test);
    enum golden golden = golden_compare(&expected, result->outputs, result->count, !test->random,
                                        &work->options->tolerance, &work->why);
    if (golden == GOLDEN_PASS)
        return test->random ? CONFORM_RANDOM : CONFORM_PASS;
    enum expectation expectation = judged ? judged->expectation : EXPECTATION_NONE;
    enum conform_verdict verdict = from_dispute(expectation, golden);
    if (verdict != from_golden(golden)) {
        str_clear(&work->why);
        str_add(&work->why, judged->text);
    }
    return verdict;
}

/*
 * Whether the case itself is broken, so that no engine can be blamed: its inputs do not fit the model or,
 * where an engine refuses it, the reference says that the model or the values are invalid. Says in work->why
 * what is wrong.
 */
static bool is_broken(struct work *work, const struct flight *flight, size_t set,
                      enum conform_verdict verdict)
{
    const struct result *reference = run_result(flight->run, set, flight->asked);
    if (conform_is_finding(verdict) && flight->loaded.misfit) {
        str_clear(&work->why);
        str_add(&work->why, flight->loaded.misfit);
        return true;
    }
    if (!conform_is(verdict, CLASS_REFUSAL) || reference->outcome != OUTCOME_REJECTED)
        return false;
    str_clear(&work->why);
    str_printf(&work->why, "the case is not valid: %s", reference->message ? reference->message : "");
    return true;
}

/* Of several data sets the first that is not a pass gives the case its verdict. judged: see hold. */
static void record(struct work *work, const struct flight *flight, size_t set, size_t asked,
                   const struct verdict *judged)
{
    struct conform *conform = work->conform;
    const struct result *result = run_result(flight->run, set, asked);
    struct conform_result *kept = result_on(work, flight, asked);
    enum conform_verdict verdict = hold(work, flight, set, result, judged);
    if (is_broken(work, flight, set, verdict))
        verdict = CONFORM_NOT_RUNNABLE;
    kept->bare |= flight->loaded.tests[set]->n_outputs == 0;
    kept->load_ns += result->load_ns;
    kept->run_ns += result->run_ns;
    if (kept->verdict != CONFORM_UNTESTED && kept->verdict != CONFORM_PASS)
        return;
    kept->verdict = verdict;
    kept->stage = result->stage;
    kept->message = work->why.length ? arena_strdup(&conform->arena, work->why.data) : NULL;
    kept->log = tail(&conform->arena, result->log);
}

/* Judges the case's expected outputs as if an engine had answered with them. */
static void judge_golden(struct work *work, const struct flight *flight, size_t set)
{
    const struct test_case *test = flight->loaded.tests[set];
    const struct result *reference = run_result(flight->run, set, flight->asked);
    struct result answer = {.outcome = OUTCOME_OK, .count = test->n_outputs, .outputs = test->outputs};
    struct judge_entry entry = {.name = "golden", .result = &answer};
    struct judgement judgement;
    if (test->n_outputs != reference->count)
        return;
    judge_case(&judgement, reference, &entry, 1);
    if (judgement.by_reference && verdict_is_finding(judgement.verdicts[0].kind))
        work->conform->golden[flight->number] =
            arena_strdup(&work->conform->arena, judgement.verdicts[0].text);
    judgement_release(&judgement);
}

/* Whether an engine claims to have what is in the case: else its expected outputs are of no interest. */
static bool is_taken(const struct flight *flight, size_t set)
{
    for (size_t i = 0; i < flight->asked; i++)
        if (run_result(flight->run, set, i)->outcome != OUTCOME_UNSUPPORTED)
            return true;
    return false;
}

/* The outputs of a single operator show all of it. */
static bool has_several(const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    return model && model->graph->n_node > 1;
}

/* Engines that are judged together: `count` of those that were asked, from `first` on. */
struct group {
    size_t first, count;
    struct panel panel;
    struct sample_verdicts verdicts;
    struct verdict *each;
};

static void judge_set(const struct flight *flight, size_t set, struct group *group)
{
    const struct test_case *test = flight->loaded.tests[set];
    bool arbitrated = group->panel.reference >= 0;
    sample_verdicts_add(&group->verdicts,
                        &(struct sample_results){
                            .number = set,
                            .test = test,
                            .results = run_result(flight->run, set, group->first),
                            .reference = arbitrated ? run_result(flight->run, set, flight->asked) : NULL,
                            .expected = expected_of(test),
                            .check = has_several(test) ? CHECK_OPERATORS : CHECK_UNDECIDED,
                        },
                        group->each);
}

static void keep_judged(struct work *work, const struct flight *flight, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        struct conform_result *kept = result_on(work, flight, group->first + i);
        kept->judged = &group->verdicts.engine[i];
        /* It lacks an operator, although its message does not say so. */
        if (conform_is(kept->verdict, CLASS_REFUSAL) && verdict_is(kept->judged->verdict.kind, CLASS_LACK))
            kept->verdict = CONFORM_UNSUPPORTED;
    }
}

/* Judges the answers of a group and compares them with the expected outputs, in the order of the data sets.
 * The judge's verdicts are in the arena. */
static void conclude_group(struct work *work, const struct flight *flight, struct group *group,
                           struct arena *arena)
{
    bool judged = !flight->loaded.tests[0]->random && !flight->loaded.misfit;
    group->panel = *work->panel;
    group->panel.count = group->count;
    group->panel.engines = &flight->engines[group->first];
    group->each = memory_zeroed(group->count + 1, sizeof *group->each);
    sample_verdicts_init(&group->verdicts, arena, &group->panel);
    group->verdicts.tolerance = &work->options->tolerance;
    group->verdicts.look_up = work->options->look_up;
    group->verdicts.known = work->options->known;
    for (size_t set = 0; set < flight->loaded.sets; set++) {
        if (judged)
            judge_set(flight, set, group);
        for (size_t i = 0; i < group->count; i++)
            record(work, flight, set, group->first + i, judged ? &group->each[i] : NULL);
    }
    if (judged)
        keep_judged(work, flight, group);
    sample_verdicts_release(&group->verdicts);
    free(group->each);
}

static int conclude_by_itself(struct work *work, const struct flight *flight, size_t asked, struct error *err)
{
    struct conform_result *result = result_on(work, flight, asked);
    struct group group = {.first = asked, .count = 1};
    struct arena arena;
    arena_init(&arena);
    conclude_group(work, flight, &group, &arena);
    kept_shorten(result, &work->conform->arena);
    arena_release(&arena);
    return work->kept ? kept_put(work->kept, work->hashes[flight->number], flight->places[asked], result, err)
                      : 0;
}

/* All engines have answered. */
static int conclude(struct work *work, struct flight *flight, struct error *err)
{
    struct group all = {.count = flight->asked};
    bool judged = !flight->loaded.tests[0]->random && !flight->loaded.misfit;
    int status = 0;
    if (!work->options->by_itself)
        conclude_group(work, flight, &all, &work->conform->arena);
    for (size_t i = 0; i < flight->asked && work->options->by_itself && !status; i++)
        status = conclude_by_itself(work, flight, i, err);
    for (size_t set = 0; set < flight->loaded.sets && judged && work->panel->reference >= 0; set++)
        if (!work->conform->golden[flight->number] && is_taken(flight, set))
            judge_golden(work, flight, set);
    return status;
}

static void land(struct work *work, struct flight *flight)
{
    *flight->link = flight->next;
    if (flight->next)
        flight->next->link = flight->link;
    work->flights--;
    work->bytes -= flight->loaded.size;
    run_free(flight->run);
    free(flight->sets);
    free(flight->gradients);
    free(flight->places);
    free(flight->engines);
    handover_close(&flight->handover);
    suite_unload(&flight->loaded);
    free(flight);
}

static void submit(struct work *work, struct flight *flight)
{
    const struct suite_loaded *loaded = &flight->loaded;
    flight->sets = memory_zeroed(loaded->sets, sizeof *flight->sets);
    flight->gradients = memory_zeroed(loaded->sets, sizeof *flight->gradients);
    for (size_t i = 0; i < loaded->sets; i++) {
        flight->sets[i] =
            (struct job_set){.n_inputs = loaded->tests[i]->n_inputs, .inputs = loaded->tests[i]->inputs};
        if (handover_gradient(loaded->tests[i], &flight->gradients[i]))
            flight->sets[i].gradient = &flight->gradients[i];
    }
    struct job job = {.n_sets = loaded->sets, .sets = flight->sets, .user = flight};
    handover_give(&flight->handover, &job);
    runner_submit_to(work->runner, &job, flight->engines, flight->asked,
                     loaded->tests[0]->random ? ASK_NEVER : ASK_ALWAYS);
}

static void choose_engines(struct work *work, struct flight *flight)
{
    const struct conform *conform = work->conform;
    flight->places = memory_zeroed(work->to - work->from + 1, sizeof *flight->places);
    flight->engines = memory_zeroed(work->to - work->from + 1, sizeof *flight->engines);
    for (size_t i = work->from; i < work->to; i++) {
        if (conform_at(conform, flight->number, i)->verdict != CONFORM_UNTESTED)
            continue;
        flight->places[flight->asked] = i;
        flight->engines[flight->asked++] = work->panel->engines[i];
    }
}

static void launch(struct work *work, size_t number)
{
    struct flight *flight = memory_zeroed(1, sizeof *flight);
    struct conform *conform = work->conform;
    struct error err;
    error_clear(&err);
    flight->number = number;
    choose_engines(work, flight);
    flight->next = work->first;
    flight->link = &work->first;
    if (work->first)
        work->first->link = &flight->next;
    work->first = flight;
    work->flights++;
    if (!flight->asked) {
        land(work, flight);
        return;
    }
    if (suite_load(&conform->suite->cases[number], &flight->loaded, &err) == 0 &&
        handover_open_case(&flight->handover, work->panel->pool, flight->loaded.tests[0], &err) == 0) {
        work->bytes += flight->loaded.size;
        submit(work, flight);
        return;
    }
    flight->loaded.size = 0;
    const char *advice = error_advice(&err);
    const char *message =
        arena_printf(&conform->arena, "%s%s%s", err.message, advice ? ". " : "", advice ? advice : "");
    for (size_t i = 0; i < flight->asked; i++)
        *result_on(work, flight, i) =
            (struct conform_result){.verdict = CONFORM_NOT_RUNNABLE, .message = message};
    land(work, flight);
}

static int receive(struct work *work, struct error *err)
{
    struct run *run;
    if (runner_next(work->runner, &run, err) != 1)
        return -1;
    struct flight *flight = run->job.user;
    flight->run = run;
    int status = conclude(work, flight, err);
    land(work, flight);
    return status;
}

static bool room(const struct work *work)
{
    size_t window = work->options->window ? work->options->window : DEFAULT_WINDOW;
    size_t bytes = work->options->window_bytes ? work->options->window_bytes : (size_t)1 << 30;
    return work->flights == 0 || (work->flights < window && work->bytes < bytes);
}

/* Asserts that every case has one verdict on every engine. */
static void count(struct conform *conform)
{
    conform->counts = memory_zeroed(conform->engines, sizeof *conform->counts);
    for (size_t engine = 0; engine < conform->engines; engine++) {
        for (size_t i = 0; i < conform->suite->count; i++)
            conform->counts[engine][conform_at(conform, i, engine)->verdict]++;
        size_t total = 0;
        for (int verdict = 0; verdict < CONFORM_COUNT; verdict++)
            total += conform->counts[engine][verdict];
        assert(total == conform->suite->count);
        assert(conform->counts[engine][CONFORM_UNTESTED] == 0);
    }
}

static uint64_t hash_options(const struct conform_options *options)
{
    const double numbers[] = {options->tolerance.rtol, options->tolerance.atol, options->tolerance.scale};
    return hash_bytes(options->judge, numbers, sizeof numbers);
}

/* All cases on the engines that work now. done: how many steps of the progress went before. */
static int run_cases(struct work *work, struct progress *progress, size_t done, struct error *err)
{
    size_t cases = work->conform->suite->count;
    int status = 0;
    for (size_t next = 0; status == 0 && (next < cases || work->flights > 0);) {
        if (next < cases && room(work))
            launch(work, next++);
        else
            status = receive(work, err);
        progress_step(progress, done + next - work->flights);
    }
    return status;
}

static bool has_work(const struct conform *conform, size_t engine)
{
    for (size_t i = 0; i < conform->suite->count; i++)
        if (conform_at(conform, i, engine)->verdict == CONFORM_UNTESTED)
            return true;
    return false;
}

/* An engine that does not start has answered all. */
static void answer_nothing(struct conform *conform, size_t engine, const char *problem)
{
    const char *message = arena_strdup(&conform->arena, problem);
    for (size_t i = 0; i < conform->suite->count; i++)
        conform->results[i * conform->engines + engine] =
            (struct conform_result){.verdict = CONFORM_NO_ENGINE, .stage = STAGE_START, .message = message};
}

/* Starts those of the engines in turn that have something to do, and tells how many these are. */
static size_t start_turn(struct work *work, int *engines)
{
    struct conform *conform = work->conform;
    size_t count = 0, up = 0;
    for (size_t i = work->from; i < work->to; i++)
        if (has_work(conform, i))
            engines[count++] = work->panel->engines[i];
    pool_warm_some(work->panel->pool, engines, count);
    for (size_t i = work->from; i < work->to; i++) {
        const char *problem = panel_engine(work->panel, i)->problem;
        if (problem)
            answer_nothing(conform, i, problem);
        else
            up += has_work(conform, i);
    }
    return up ? count : 0;
}

/* How many engines share a turn: so few that none waits long enough for a core to be called hung, and so many
 * that the cores have work while a slow one holds up the others. */
static size_t at_once(const struct panel *panel)
{
    return 2 * pool_cores(panel->pool) + 1;
}

static int run_in_turns(struct work *work, struct progress *progress, struct error *err)
{
    struct conform *conform = work->conform;
    struct pool *pool = work->panel->pool;
    size_t most = at_once(work->panel);
    int *engines = memory_zeroed(most, sizeof *engines), status = 0;
    for (; work->from < conform->engines && !status; work->from = work->to) {
        size_t left = conform->engines - work->from;
        work->to = work->from + (left < most ? left : most);
        size_t count = start_turn(work, engines);
        if (count)
            status = run_cases(work, progress, work->from * conform->suite->count / most, err);
        for (size_t i = 0; i < count && !status; i++) {
            int plain = pool_plain(pool, engines[i]);
            pool_rest(pool, engines[i]);
            if (plain >= 0)
                pool_rest(pool, plain);
        }
    }
    free(engines);
    return status;
}

static void recall(struct work *work)
{
    struct conform *conform = work->conform;
    for (size_t i = 0; i < conform->suite->count; i++) {
        work->hashes[i] = kept_case(&conform->suite->cases[i]);
        for (size_t engine = 0; engine < conform->engines; engine++) {
            struct conform_result *result = &conform->results[i * conform->engines + engine];
            if (kept_get(work->kept, work->hashes[i], engine, &conform->arena, result))
                conform->kept++;
            else
                *result = (struct conform_result){0};
        }
    }
}

static int run(struct work *work, struct progress *progress, struct error *err)
{
    const struct conform_options *options = work->options;
    if (options->keep) {
        if (kept_open(&work->kept, options->keep, hash_options(options), work->panel, err))
            return -1;
        recall(work);
    }
    if (options->by_itself)
        return run_in_turns(work, progress, err);
    work->to = work->conform->engines;
    return run_cases(work, progress, 0, err);
}

int conform_run(struct conform *conform, const struct suite *suite, const struct panel *panel,
                const struct conform_options *options, struct error *err)
{
    *conform = (struct conform){.suite = suite, .engines = panel->count};
    arena_init(&conform->arena);
    conform->results = memory_zeroed(suite->count * panel->count, sizeof *conform->results);
    conform->golden = memory_zeroed(suite->count, sizeof *conform->golden);
    struct work work = {
        .conform = conform,
        .panel = panel,
        .options = options,
        .runner = runner_new(panel, &(struct runner_options){0}),
        .hashes = memory_zeroed(suite->count, sizeof *work.hashes),
    };
    str_init(&work.why);
    struct progress progress = {0};
    size_t turns = options->by_itself ? panel->count / at_once(panel) + 1 : 1;
    if (options->progress)
        progress_begin(&progress, "conform", suite->count * turns);
    struct progress *outer = pool_show(panel->pool, &progress);
    double start = clock_seconds();
    int status = run(&work, &progress, err);
    pool_show(panel->pool, outer);
    progress_end(&progress);
    conform->seconds = clock_seconds() - start;
    while (work.first && status)
        land(&work, work.first);
    runner_free(work.runner);
    kept_close(work.kept);
    free(work.hashes);
    str_release(&work.why);
    if (status == 0) {
        assert(work.flights == 0 && work.bytes == 0);
        count(conform);
    }
    return status;
}

void conform_leave_out_absent(struct conform *conform, const struct panel *panel)
{
    size_t cases = conform->suite->count, engines = 0, kept = 0;
    for (size_t i = 0; i < panel->count; i++)
        engines += !panel_engine(panel, i)->problem;
    for (size_t i = 0; i < cases * panel->count; i++)
        if (!panel_engine(panel, i % panel->count)->problem)
            conform->results[kept++] = conform->results[i];
    conform->engines = engines;
    free(conform->counts);
    count(conform);
}

void conform_release(struct conform *conform)
{
    free(conform->results);
    free(conform->golden);
    free(conform->counts);
    arena_release(&conform->arena);
}
