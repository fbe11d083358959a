#include "decode/decode.h"

#include "base/memory.h"
#include "base/progress.h"
#include "base/str.h"
#include "engine/handover.h"
#include "engine/runner.h"

#include <math.h>
#include <stdlib.h>

/* One engine under way. */
struct state {
    struct value *inputs; /* of the present step */
    struct result result; /* of the present step */
    size_t begin;         /* of the logits that decide, in their tensor */
    bool judged;          /* at the present step */
};

struct work {
    struct decode *decode;
    const struct model *model;
    const struct panel *panel;
    const struct decode_options *options;
    struct runner *runner;
    struct handover handover;
    struct state *states;
    struct error *err;
};

const char *parting_word(enum parting parting)
{
    static const char *const words[] = {
        [PARTING_NONE] = "none",          [PARTING_TIE] = "near tie", [PARTING_ROUNDING] = "rounding",
        [PARTING_LOWERED] = "fewer bits", [PARTING_FAULT] = "fault",  [PARTING_UNKNOWN] = "unknown"};
    return words[parting];
}

static bool goes_on(const struct work *work, size_t engine)
{
    return work->decode->courses[engine].ended == OUTCOME_OK;
}

/* --- Judging --- */

static bool is_judged_step(const struct work *work, size_t step)
{
    size_t steps = work->options->steps, judge = work->options->judge;
    if (step == 0 || step == steps || !judge || judge >= steps)
        return true;
    return step * judge / steps != (step - 1) * judge / steps;
}

static struct settle_case case_of(const struct work *work, size_t engine, const struct test_case *test)
{
    return (struct settle_case){
        .pool = work->panel->pool, .engine = work->panel->engines[engine], .test = test};
}

static struct test_case *test_of(const struct work *work, size_t engine)
{
    return test_case_view(work->model, work->states[engine].inputs, work->decode->decoder.count);
}

static void keep_judgement(struct work *work, size_t engine, size_t step, const struct settle_case *which,
                           const struct localization *found)
{
    struct decode_course *course = &work->decode->courses[engine];
    struct arena *arena = &work->decode->arena;
    bool every = found->n_judged == found->n_nodes;
    bool right = verdict_is(found->kind, CLASS_AGREES | CLASS_IMPRECISE) && every;
    course->judged++;
    course->right += right;
    if (right && found->lowering && !course->lowering)
        course->lowering = arena_strdup(arena, found->lowering);
    if (verdict_is_finding(found->kind)) {
        course->fault.step = step;
        place_fault(&course->fault, &work->decode->decoder, which, found, arena);
    } else if (!right && !course->unjudged) {
        course->unjudged = every ? arena_strdup(arena, found->text)
                                 : arena_printf(arena, "%zu of %zu operators could not be judged",
                                                found->n_nodes - found->n_judged, found->n_nodes);
    }
}

/* Judges the engine at the present step, unless it was already, or found wrong before. */
static void judge(struct work *work, size_t engine, size_t step)
{
    struct decode_course *course = &work->decode->courses[engine];
    if (work->states[engine].judged || course->fault.found)
        return;
    struct test_case *test = test_of(work, engine);
    struct settle_case which = case_of(work, engine, test);
    struct localize_case asked = {
        .pool = which.pool, .engine = which.engine, .test = test, .method = LOCALIZE_LOCAL};
    struct localization found;
    struct error err = {0};
    work->states[engine].judged = true;
    if (localize(&found, &asked, &err) == 0)
        keep_judgement(work, engine, step, &which, &found);
    else if (!course->unjudged)
        course->unjudged = arena_strdup(&work->decode->arena, err.message);
    localization_release(&found);
    test_case_free(test);
}

/* --- Partings --- */

static bool is_tied(struct work *work, size_t engine, struct decode_pair *pair)
{
    struct test_case *test = test_of(work, engine);
    struct settle_case which = case_of(work, engine, test);
    double gap, bound;
    size_t begin = work->states[engine].begin;
    bool tied = place_tie(&work->decode->decoder, &which, begin + (size_t)pair->tokens[0],
                          begin + (size_t)pair->tokens[1], &gap, &bound);
    if (isnan(pair->gap) || gap < pair->gap) {
        pair->gap = gap;
        pair->bound = bound;
    }
    test_case_free(test);
    return tied;
}

/* Why they part. By rounding only where all steps up to this one were judged: a fault may hide in the others.
 */
static void part(struct work *work, size_t engine, size_t step)
{
    struct decode_pair *pair = &work->decode->pairs[engine];
    const struct decode_course *first = &work->decode->courses[0], *other = &work->decode->courses[engine];
    pair->step = step;
    pair->tokens[0] = first->tokens[step];
    pair->tokens[1] = other->tokens[step];
    pair->gap = pair->bound = NAN;
    place_apart(&pair->apart, &work->decode->decoder, &work->states[0].result, &work->states[engine].result);
    judge(work, 0, step);
    judge(work, engine, step);
    if (first->fault.found || other->fault.found)
        pair->kind = PARTING_FAULT;
    else if (is_tied(work, 0, pair) || is_tied(work, engine, pair))
        pair->kind = PARTING_TIE;
    else if (first->right < step + 1 || other->right < step + 1)
        pair->kind = PARTING_UNKNOWN;
    else
        pair->kind = first->lowering || other->lowering ? PARTING_LOWERED : PARTING_ROUNDING;
}

static void look_for_partings(struct work *work, size_t step)
{
    struct decode *decode = work->decode;
    for (size_t e = 1; e < decode->engines; e++)
        if (decode->pairs[e].kind == PARTING_NONE && goes_on(work, 0) && goes_on(work, e) &&
            decode->courses[0].tokens[step] != decode->courses[e].tokens[step])
            part(work, e, step);
}

/* --- Steps --- */

/* An engine that does not answer; nobody is blamed for inputs that the reference calls invalid. */
static int end_course(struct work *work, size_t engine, size_t step)
{
    struct decode_course *course = &work->decode->courses[engine];
    const struct result *result = &work->states[engine].result;
    struct job job = {.engine = work->panel->reference,
                      .n_inputs = work->decode->decoder.count,
                      .inputs = work->states[engine].inputs};
    struct result reference;
    result_init(&reference);
    handover_give(&work->handover, &job);
    int status = pool_run_one(work->panel->pool, &job, &reference, work->err);
    if (!status && reference.outcome == OUTCOME_REJECTED)
        status = error_set(work->err, ERROR_INVALID,
                           "the model does not take step %zu: %s: give a shorter prompt or fewer --steps",
                           step, reference.message ? reference.message : "");
    result_release(&reference);
    struct str words;
    str_init(&words);
    result_words(result, &words);
    course->ended = result->outcome;
    course->why = arena_strdup(&work->decode->arena, words.data);
    str_release(&words);
    return status;
}

static int take(struct work *work, size_t engine, size_t step)
{
    struct decode_course *course = &work->decode->courses[engine];
    struct state *state = &work->states[engine];
    if (state->result.outcome != OUTCOME_OK)
        return end_course(work, engine, step);
    if (step == 0)
        course->load_ns = state->result.load_ns; /* again only after a judged step */
    course->run_ns += state->result.run_ns;
    if (decoder_choose(&work->decode->decoder, &state->result, &state->begin, &course->tokens[step])) {
        course->count++;
        return 0;
    }
    judge(work, engine, step); /* NaN among the logits, or none at all: whose fault it is */
    course->ended = OUTCOME_FAILED;
    course->why = arena_printf(&work->decode->arena, "it gives no logits to choose from, or NaN among them");
    return 0;
}

static int run_step(struct work *work, size_t step)
{
    size_t pending = 0;
    for (size_t e = 0; e < work->decode->engines; e++) {
        if (!goes_on(work, e))
            continue;
        struct job job = {.n_inputs = work->decode->decoder.count,
                          .inputs = work->states[e].inputs,
                          .stay = 1, /* the same model at every step */
                          .user = &work->states[e]};
        handover_give(&work->handover, &job);
        work->states[e].judged = false;
        runner_submit_to(work->runner, &job, &work->panel->engines[e], 1, ASK_NEVER);
        pending++;
    }
    int status = 0;
    for (struct run *run; pending && !status; pending--) {
        if (runner_next(work->runner, &run, work->err) != 1)
            return -1;
        struct state *state = run->job.user;
        result_release(&state->result);
        state->result = run_take(run, 0, 0);
        run_free(run);
        status = take(work, (size_t)(state - work->states), step);
    }
    return status;
}

/* Feeds every engine what it answered. */
static int feed_back(struct work *work, size_t step)
{
    const struct decoder *decoder = &work->decode->decoder;
    for (size_t e = 0; e < work->decode->engines; e++) {
        struct decode_course *course = &work->decode->courses[e];
        struct state *state = &work->states[e];
        struct value *next;
        struct error err = {0};
        if (!goes_on(work, e))
            continue;
        if (decoder_next(decoder, state->inputs, &state->result, course->tokens[step], &next, &err)) {
            course->ended = OUTCOME_FAILED;
            course->why = arena_strdup(&work->decode->arena, err.message);
            continue;
        }
        values_free(state->inputs, decoder->count);
        state->inputs = next;
    }
    return 0;
}

/* A step, and what is to be said of it. */
static int make_step(void *context, size_t step)
{
    struct work *work = context;
    int status = run_step(work, step);
    for (size_t e = 0; e < work->decode->engines && !status && is_judged_step(work, step); e++)
        if (goes_on(work, e))
            judge(work, e, step);
    if (!status)
        look_for_partings(work, step);
    if (!status && step < work->options->steps)
        status = feed_back(work, step);
    return status;
}

int decode_steps(struct pool *pool, size_t steps, bool progress, int (*step)(void *context, size_t number),
                 void *context)
{
    struct progress shown = {0};
    int status = 0;
    if (progress)
        progress_begin(&shown, "steps", steps + 1);
    struct progress *outer = pool_show(pool, &shown);
    for (size_t number = 0; number <= steps && !status; number++) {
        status = step(context, number);
        progress_step(&shown, number + 1);
    }
    pool_show(pool, outer);
    progress_end(&shown);
    return status;
}

static int begin(struct work *work)
{
    const struct decode_options *options = work->options;
    struct decode *decode = work->decode;
    for (size_t e = 0; e < decode->engines; e++) {
        decode->courses[e].tokens =
            arena_array(&decode->arena, options->steps + 1, sizeof *decode->courses[e].tokens);
        decode->courses[e].ended = OUTCOME_OK;
        result_init(&work->states[e].result);
        if (decoder_prompt(&decode->decoder, options->prompt, options->n_prompt, &work->states[e].inputs,
                           work->err))
            return -1;
    }
    return handover_open(&work->handover, work->panel->pool, work->model, work->err);
}

int decode_run(struct decode *decode, const struct model *model, const char *tokens, const char *logits,
               const struct panel *panel, const struct decode_options *options, struct error *err)
{
    *decode = (struct decode){.engines = panel->count};
    arena_init(&decode->arena);
    decode->courses = arena_array(&decode->arena, panel->count, sizeof *decode->courses);
    decode->pairs = arena_array(&decode->arena, panel->count, sizeof *decode->pairs);
    if (decoder_find(&decode->decoder, model, tokens, logits, err))
        return -1;
    struct work work = {.decode = decode, .model = model, .panel = panel, .options = options, .err = err};
    work.states = memory_zeroed(panel->count, sizeof *work.states);
    work.runner = runner_new(panel, &(struct runner_options){.ahead = panel->count, .in_order = true});
    int status = begin(&work);
    if (!status)
        status = decode_steps(panel->pool, options->steps, options->progress, make_step, &work);
    for (size_t e = 0; e < panel->count; e++) {
        if (work.states[e].inputs)
            values_free(work.states[e].inputs, decode->decoder.count);
        result_release(&work.states[e].result);
    }
    free(work.states);
    handover_close(&work.handover);
    runner_free(work.runner);
    return status;
}

void decode_release(struct decode *decode)
{
    decoder_release(&decode->decoder);
    if (decode->courses)
        arena_release(&decode->arena);
    *decode = (struct decode){0};
}
