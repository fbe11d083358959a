#include "campaign/follow_up.h"

#include "base/file.h"
#include "base/memory.h"
#include "campaign/engine_source.h"
#include "engine/label.h"
#include "findings/bundle.h"
#include "generate/operator_case.h"
#include "reduce/reduce.h"
#include "reduce/subject.h"
#include "releases/bisect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENGINES = 32 };

int follow_up_try(const struct follow_up_options *options, struct test_case *test, int engine,
                  struct trial_done *done, struct error *err)
{
    int engines[MAX_ENGINES + 1] = {engine};
    size_t count = 1;
    for (size_t i = 0; i < options->n_engines && count <= MAX_ENGINES; i++)
        if (options->engines[i] != engine)
            engines[count++] = options->engines[i];
    struct trial_options trial = {
        .pool = options->fresh ? options->fresh : options->pool,
        .reference = options->reference,
        .n_engines = count,
        .engines = engines,
        .repeat = 1,
        .settle = true,
        .parts = options->pool,
    };
    struct trials *trials = trials_new(&trial);
    int status = trials_submit(trials, test_case_share(test), NULL, err);
    if (!status)
        status = trials_next(trials, done, err);
    trials_free(trials);
    return status == 1 ? 0 : status == 0 ? error_set(err, ERROR_IO, "the case was lost") : -1;
}

bool follow_up_signature(const struct pool *pool, int engine, const struct trial_done *done, size_t number,
                         struct signature *signature)
{
    const struct verdict *verdict = &done->judgement.verdicts[number];
    const struct model *model = verdict_is_finding(verdict->kind) ? test_case_model(done->test, NULL) : NULL;
    if (!model)
        return false;
    const struct engine_info *info = pool_engine(pool, engine);
    signature_of(signature, info->label, info->profile, verdict, &done->settlements[number], model,
                 &done->results[number]);
    return true;
}

static int engine_number(const struct follow_up_options *options, const char *label)
{
    for (size_t i = 0; i < options->n_engines; i++)
        if (strcmp(pool_engine(options->pool, options->engines[i])->label, label) == 0)
            return options->engines[i];
    return -1;
}

/* What other releases say, and which pass makes it. Strings live in the arena. */
struct past {
    struct arena arena;
    size_t count;
    struct bundle_history *history;
    char *pass;
};

static void note_stretches(struct past *past, const struct bisect *bisect, const char *label)
{
    past->history = arena_array(&past->arena, bisect->n_releases, sizeof *past->history);
    for (size_t i = 0; i < bisect->n_stretches; i++) {
        const struct bisect_stretch *stretch = &bisect->stretches[i];
        for (size_t k = stretch->first; k <= stretch->last && k < bisect->n_releases; k++) {
            char *engine = label_at(label, bisect->releases[k]);
            past->history[past->count++] = (struct bundle_history){arena_strdup(&past->arena, engine),
                                                                   verdict_name(stretch->verdict.kind)};
            free(engine);
        }
    }
    struct str pass;
    str_init(&pass);
    for (size_t i = 0; i < bisect->n_blamed; i++)
        str_printf(&pass, "%s%s", i ? ", " : "", bisect->blamed[i]);
    past->pass = pass.length ? arena_strdup(&past->arena, pass.data) : NULL;
    str_release(&pass);
}

/* No releases, no registry, trouble on the way: then there is no history, which is no failure. */
static void look_back(struct past *past, const struct follow_up_options *options,
                      const struct trial_done *done, const char *label)
{
    *past = (struct past){0};
    arena_init(&past->arena);
    if (!options->registry || options->no_bisect)
        return;
    struct bisect bisect;
    struct bisect_case which = {
        .model = test_case_model(done->test, NULL),
        .n_inputs = done->test->n_inputs,
        .inputs = done->test->inputs,
    };
    if (!which.model)
        return;
    char *engine = label_at(label, NULL);
    struct bisect_options how = {.registry = options->registry, .engine = engine};
    if (bisect_run(&bisect, &which, &how, NULL) == 0)
        note_stretches(past, &bisect, label);
    bisect_release(&bisect);
    free(engine);
}

static int write_bundle(const struct follow_up_options *options, const struct trial_done *done, int engine,
                        const struct signature *signature, const struct past *past, const char *folder,
                        bool force, struct error *err)
{
    struct bundle_engine engines[MAX_ENGINES + 1];
    size_t count = 0;
    for (size_t i = 0; i < done->n_engines && i <= MAX_ENGINES; i++) {
        int number = engine;
        if (i > 0) { /* the order of follow_up_try */
            size_t seen = 0;
            for (size_t k = 0; k < options->n_engines; k++)
                if (options->engines[k] != engine && ++seen == i)
                    number = options->engines[k];
        }
        const struct engine_info *info = pool_engine(options->pool, number);
        engines[count++] = (struct bundle_engine){
            .label = info->label,
            .version = info->version,
            .profile = info->profile,
            .verdict = &done->judgement.verdicts[i],
            .result = &done->results[i],
        };
    }
    struct bundle_case which = {
        .signature = signature,
        .testcase = done->test,
        .reference = options->reference >= 0 ? &done->reference : NULL,
        .settlement = &done->settlements[0],
        .n_engines = count,
        .engines = engines,
        .n_history = past->count,
        .history = past->history,
        .pass = past->pass,
        .draw = options->draw,
    };
    char *source = engine_source_of(options->registry, pool_engine(options->pool, engine), done->test);
    which.source = source;
    int status = bundle_write(folder, &which, force, err);
    free(source);
    return status;
}

static int write_finding(const struct follow_up_options *options, const struct trial_done *done, int engine,
                         const struct signature *signature, const struct past *past, struct error *err)
{
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/findings", options->folder);
    int status = file_make_folders(path.data, err);
    str_printf(&path, "/%s", signature->name);
    if (status == 0)
        status = write_bundle(options, done, engine, signature, past, path.data, true, err);
    str_release(&path);
    return status;
}

/* The finding that is already there under this signature, if any. */
struct present {
    bool bundled, known; /* known: written up elsewhere */
    int64_t nodes;
    char name[SIGNATURE_NAME_SIZE], same_as[SIGNATURE_TEXT_SIZE];
};

static int note_present(void *context, const struct stored *stored, struct error *err)
{
    struct present *present = context;
    (void)err;
    present->bundled = *stored->bundle != '\0';
    present->known = text_starts(stored->status, "known");
    present->nodes = stored->nodes;
    snprintf(present->name, sizeof present->name, "%s", stored->name);
    snprintf(present->same_as, sizeof present->same_as, "%s", stored->same_as);
    return 0;
}

static int find_present(struct store *store, const char *signature, struct present *present,
                        struct error *err)
{
    struct store_filter filter = {.signature = signature, .merged = true, .gone = true};
    *present = (struct present){0};
    return store_list(store, &filter, note_present, present, err);
}

static int look_up(const struct follow_up_options *options, const struct trial_done *done, const char *label,
                   const struct signature *signature, const struct model *model, struct error *err)
{
    static const struct explained none;
    const struct settlement *settlement = &done->settlements[0];
    const struct verdict *verdict = &done->judgement.verdicts[0];
    struct explained_case which = {
        .signature = signature->text,
        .engine = label,
        .verdict = verdict_name(settlement->count ? settlement->kind : verdict->kind),
        .text = settlement->count ? settlement->text : verdict->text,
        .model = model,
        .testcase = done->test,
        .settlement = settlement,
    };
    return explained_mark(options->table ? options->table : &none, options->store, &which, err);
}

static int store_kept(const struct follow_up_options *options, const char *from,
                      const struct trial_done *done, const char *label, const struct signature *signature,
                      size_t nodes, bool known, struct error *err)
{
    struct str title;
    const struct model *model = test_case_model(done->test, err);
    if (!model)
        return -1;
    str_init(&title);
    struct bundle_engine engine = {
        .label = label,
        .profile = pool_engine(options->pool, engine_number(options, label))->profile,
        .verdict = &done->judgement.verdicts[0],
        .result = &done->results[0],
    };
    struct bundle_case which = {.signature = signature,
                                .testcase = done->test,
                                .settlement = &done->settlements[0],
                                .n_engines = 1,
                                .engines = &engine};
    bundle_title(&title, &which, model);
    struct finding finding = {
        .signature = signature->text,
        .name = signature->name,
        .kind = verdict_name(done->judgement.verdicts[0].kind),
        .engine = label,
        .operators = signature->operators,
        .title = title.data,
        .recipe = done->test->recipe,
        .factor = done->judgement.verdicts[0].factor,
        .nodes = (int64_t)nodes,
    };
    char *bundle = file_join("findings", signature->name);
    struct settled settled = {/* what is written up stays so */
                              .status = known ? NULL : "bundled",
                              .bundle = bundle,
                              .title = title.data,
                              .nodes = (int64_t)nodes};
    int status = strcmp(from, signature->text) == 0 ? 0 : store_add(options->store, &finding, NULL, err);
    if (status == 0)
        status = store_settle(options->store, signature->text, &settled, err);
    if (status == 0)
        status = look_up(options, done, label, signature, model, err);
    free(bundle);
    str_release(&title);
    return status;
}

static int keep_past(const struct follow_up_options *options, const struct signature *signature,
                     const struct past *past, struct error *err)
{
    for (size_t i = 0; i < past->count; i++)
        if (store_history(options->store, signature->text, past->history[i].engine, past->history[i].verdict,
                          err))
            return -1;
    return 0;
}

static size_t count_nodes(const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    return model ? model->graph->n_node : 0;
}

/* Bundled, unless the bundle of another finding of the same bug is as small, or that one is written up. A
 * finding's own bundle is made anew where that is asked for, and stays where it came in meanwhile. */
static int bundle_it(const struct follow_up_options *options, const char *from,
                     const struct trial_done *trial, int engine, struct follow_up_done *done,
                     struct error *err)
{
    const char *label = pool_engine(options->pool, engine)->label;
    struct present present;
    if (find_present(options->store, done->signature.text, &present, err))
        return -1;
    if (text_equal(present.same_as, from)) { /* one that was merged into it: then it is its own still */
        if (find_present(options->store, from, &present, err))
            return -1;
        if (!signature_parse(&done->signature, from))
            snprintf(done->signature.text, sizeof done->signature.text, "%s", from);
        snprintf(done->signature.name, sizeof done->signature.name, "%s", present.name);
    }
    bool own = text_equal(from, done->signature.text);
    bool as_small = present.bundled && present.nodes <= (int64_t)done->nodes_after;
    if (present.same_as[0] || (!own && present.known) || (as_small && !(own && options->again))) {
        done->end = FOLLOW_UP_MERGED;
        return store_merge(options->store, from, present.same_as[0] ? present.same_as : done->signature.text,
                           err);
    }
    struct past past;
    look_back(&past, options, trial, label);
    int status = write_finding(options, trial, engine, &done->signature, &past, err);
    if (status == 0)
        status =
            store_kept(options, from, trial, label, &done->signature, done->nodes_after, present.known, err);
    if (status == 0)
        status = keep_past(options, &done->signature, &past, err);
    if (status == 0)
        status = store_merge(options->store, from, done->signature.text, err);
    arena_release(&past.arena);
    return status;
}

/* Another setting of the same release and kernels, for what the engine calls unsupported: the one that leaves
 * graphs alone, or where that is the engine itself any other. */
static int companion_of(const struct follow_up_options *options, struct pool *pool, int engine)
{
    int plain = pool_plain(pool, engine);
    if (plain != engine)
        return plain;
    for (size_t i = 0; i < options->n_engines; i++)
        if (options->engines[i] != engine &&
            pool_same_kernels(pool_engine(pool, engine), pool_engine(pool, options->engines[i])))
            return options->engines[i];
    return -1;
}

/* The case made smaller in a pool, when the smaller one shows the failure in a fresh process as well. */
static bool make_smaller(const struct follow_up_options *options, struct pool *pool, int engine,
                         const char *signature, const struct test_case *test, struct trial_done *trial,
                         struct follow_up_done *done)
{
    struct reduce_options how = {
        .pool = pool,
        .engine = engine,
        .companion = companion_of(options, pool, engine),
        .seconds = options->reduce_seconds > 0 ? options->reduce_seconds : 60,
    };
    struct reduce_stats stats = {0};
    struct test_case *smaller;
    if (reduce_case(&smaller, test, &how, &stats, NULL))
        return false;
    done->reduce_seconds += stats.seconds;
    struct signature whole;
    size_t nodes = count_nodes(smaller);
    int status = follow_up_try(options, smaller, engine, trial, NULL);
    test_case_free(smaller);
    if (status)
        return false;
    if (!follow_up_signature(options->pool, engine, trial, 0, &done->signature) ||
        (signature && signature_parse(&whole, signature) &&
         !signature_stands_for(&done->signature, &whole))) {
        trial_done_release(trial);
        return false;
    }
    done->nodes_after = nodes;
    return true;
}

/*
 * The smaller case, or where there is none the case itself, tried and signed: 1, 0 when it is gone, -1. The
 * search needs no fresh processes, what is kept does; where that shows nothing in
 * them, as it depends on what is in memory, it is searched for in them.
 */
static int try_smallest(const struct follow_up_options *options, const char *signature,
                        struct test_case *test, int engine, struct trial_done *trial,
                        struct follow_up_done *done, struct error *err)
{
    *done = (struct follow_up_done){.end = FOLLOW_UP_BUNDLED};
    done->nodes_before = done->nodes_after = count_nodes(test);
    struct pool *pools[2] = {options->pool, options->fresh};
    for (size_t i = 0; i < 2 && !options->no_reduce; i++)
        if (pools[i] && make_smaller(options, pools[i], engine, signature, test, trial, done))
            return 1;
    if (follow_up_try(options, test, engine, trial, err))
        return -1;
    if (follow_up_signature(options->pool, engine, trial, 0, &done->signature))
        return 1;
    done->verdict = trial->judgement.verdicts[0];
    if (trial->judgement.invalid)
        snprintf(done->verdict.text, sizeof done->verdict.text, "%s", trial->judgement.reason);
    trial_done_release(trial);
    done->end = FOLLOW_UP_GONE;
    return 0;
}

/* A model that ONNX's own checker refuses, an engine may refuse as well: as a rule it asks the same code. */
static bool refused_rightly(const struct trial_done *trial)
{
    struct checker checker;
    if (!verdict_row(trial->judgement.verdicts[0].kind)->calls_invalid)
        return false;
    const uint8_t *bytes;
    size_t size;
    if (test_case_bytes(trial->test, &bytes, &size, NULL))
        return false;
    onnx_checker_start_newest(&checker);
    unsigned doubts = model_doubts(&checker, bytes, size, NULL);
    onnx_checker_stop(&checker);
    return doubts & DOUBT_CHECKER;
}

int follow_up_finding(const struct follow_up_options *options, const char *signature, const char *recipe,
                      const char *label, struct follow_up_done *done, struct error *err)
{
    struct test_case *made;
    struct trial_done trial;
    int engine = engine_number(options, label);
    *done = (struct follow_up_done){0};
    if (engine < 0)
        return error_set(err, ERROR_NOT_FOUND, "%s is no engine of the campaign", label);
    if (generate_recipe(recipe, &made, err))
        return -1;
    int status = try_smallest(options, signature, made, engine, &trial, done, err);
    test_case_free(made);
    if (status == 1 && refused_rightly(&trial)) {
        trial_done_release(&trial);
        done->end = FOLLOW_UP_GONE;
        status = 0;
    }
    if (status == 0)
        return store_settle(options->store, signature, &(struct settled){.status = STORE_GONE}, err);
    if (status < 0)
        return -1;
    status = bundle_it(options, signature, &trial, engine, done, err);
    trial_done_release(&trial);
    return status;
}

int follow_up_case(const struct follow_up_options *options, struct test_case *test, const char *folder,
                   struct follow_up_done *done, struct error *err)
{
    int engine = options->engines[0];
    struct trial_done trial;
    struct past past;
    int status = try_smallest(options, NULL, test, engine, &trial, done, err);
    if (status <= 0)
        return status;
    look_back(&past, options, &trial, pool_engine(options->pool, engine)->label);
    status = write_bundle(options, &trial, engine, &done->signature, &past, folder, options->force, err);
    arena_release(&past.arena);
    trial_done_release(&trial);
    return status;
}
