/*
 * Sweeps over all values (generate/sweep.h) on engines, judged: the measurement behind bench/exhaustive.
 *
 *     bench_sweeps [--ops A,B] [--types A,B] [--part K/N] [--cases N] [--seconds S] [--probes DIR]
 *                  [--opset N] [--from N] -e ENGINE [-e ENGINE...]
 *
 * Several engines, such as settings of one library, get the same cases, of which the reference is computed
 * once. What all of them lack by probes kept in DIR, or else by those of this user, is left out (assay
 * probe), and so is what they have said to lack here: a draw of an operator that none of them supported in
 * the first cases comes in no other form, and neither does an operator and type of which they supported no
 * draw.
 *
 * --from goes on where a sweep that ran out of its time has said that it came to.
 *
 * A finding is one line, with tabs between: "finding", engine, verdict, node with types and attributes, the
 * known issue that has it or "-", how many cases, how many wrong values, the recipe of the first case, and
 * what was wrong with it. Of each engine the last line is
 *
 *     sweep ENGINE operators N pairs N cases N answered N values N wrong N open N causes N known N seconds T
 * of N skipped N reached N
 *
 * where pairs are those of operator and type, values are elements of answers that were judged, open those
 * that could not be, "of" says how many cases the whole list has, skipped how many of them were left out
 * because the engines lack them, and reached how far the sweep came.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"
#include "campaign/sweep_source.h"
#include "findings/known_issues.h"
#include "probe/probe_file.h"
#include "trial/trial.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cause {
    char *key, *node, *text, *recipe;
    const char *verdict;
    const struct known_issue *known;
    size_t cases, wrong;
};

enum { ENGINES = 16 };

/* What came of the cases on one engine. */
struct swept {
    bool (*seen)[DTYPE_COUNT]; /* answered cases of the row and type */
    size_t answered, values, wrong, open, n_known;
    struct cause *causes;
    size_t n_causes, capacity;
};

/*
 * How often no engine supported a draw, or an operator and type; ANSWERED once one did. The same draw is
 * refused in each form; of an operator many draws are tried, as one may support few targets of Cast.
 */
enum { DRAW_REFUSALS = 2, OPERATOR_REFUSALS = 24 };
static const size_t ANSWERED = SIZE_MAX;

struct sweeps {
    const char *engines[ENGINES], *probes;
    size_t n_engines;
    struct generate_options options;
    struct sweep_options part;
    size_t most;
    double seconds, started;
    struct probe_support *support;
    struct panel panel;
    struct known_issues known;
    struct case_source source;
    uint64_t next, count;
    size_t cases, skipped;
    struct swept swept[ENGINES];
    struct map refusals; /* by the names that name_draw gives */
    struct arena names;
};

static size_t row_of(const struct op *op)
{
    size_t row = 0;
    while (op_at(row) != op)
        row++;
    return row;
}

static bool over(const struct sweeps *run)
{
    return run->next >= run->count || (run->most && run->next >= run->most) ||
           (run->seconds > 0 && clock_seconds() - run->started > run->seconds);
}

/* What a case has in common with its like: "Cast float32" and "Cast float32 45 image". False for no sweep. */
static bool name_draw(const struct test_case *test, char operator[200], char draw[200])
{
    char op[100], type[20], form[20];
    unsigned long long index;
    if (sscanf(test->recipe, "sweep seed=%*u index=%llu ops=%99s opset=%*d types=%19s form=%19s", &index, op,
               type, form) != 4)
        return false;
    bool image =
        strcmp(form, sweep_form_name(SWEEP_IMAGE)) == 0 || strcmp(form, sweep_form_name(SWEEP_TURNED)) == 0;
    snprintf(operator, 200, "%s %s", op, type);
    snprintf(draw, 200, "%s %s %llu %s", op, type, index, image ? "image" : "vector");
    return true;
}

static size_t refusals(const struct sweeps *run, const char *name)
{
    size_t count = 0;
    map_get(&run->refusals, name, &count);
    return count == ANSWERED ? 0 : count;
}

static bool is_lacking(const struct sweeps *run, const struct test_case *test)
{
    char operator[200], draw[200];
    return name_draw(test, operator, draw) &&
           (refusals(run, operator) >= OPERATOR_REFUSALS || refusals(run, draw) >= DRAW_REFUSALS);
}

static void count_refusal(struct sweeps *run, const char *name, bool refused)
{
    size_t count = 0;
    bool known = map_get(&run->refusals, name, &count);
    if (count != ANSWERED)
        map_set(&run->refusals, known ? name : arena_strdup(&run->names, name),
                refused ? count + 1 : ANSWERED);
}

static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct sweeps *run = context;
    struct error why = {0};
    *test = NULL;
    *user = NULL;
    if (over(run))
        return 0;
    if (run->source.kind->make(run->source.self, run->next++, 0, test, &why) && why.code != ERROR_NOT_FOUND) {
        *err = why;
        return -1;
    }
    if (*test && is_lacking(run, *test)) {
        test_case_free(*test);
        *test = NULL;
        run->skipped++;
    }
    return 1;
}

/* One cause for each verdict, operator and known issue. */
static void note(struct sweeps *run, const struct trial_done *done, size_t engine)
{
    struct swept *swept = &run->swept[engine];
    const struct verdict *verdict = &done->judgement.verdicts[engine];
    const struct settlement *settlement = &done->settlements[engine];
    enum verdict_kind kind = settlement->count ? settlement->kind : verdict->kind;
    const struct engine_info *info = panel_engine(&run->panel, engine);
    struct finding_facts facts;
    struct str node, key;
    str_init(&node);
    str_init(&key);
    struct facts_source of = {.test = done->test, .result = &done->results[engine], .profile = info->profile};
    of.verdict = verdict;
    of.settlement = settlement;
    of.engine = info->label;
    of.version = info->version;
    facts_of(&facts, &of);
    facts_nodes_text(&node, &facts);
    const struct known_issue *issue = known_find(&run->known, &facts);
    facts_release(&facts);
    str_printf(&key, "%s %s", issue ? known_document(issue) : verdict_name(kind),
               issue ? "" : done->test->first->name);
    size_t at = 0;
    while (at < swept->n_causes && !text_equal(swept->causes[at].key, key.data))
        at++;
    if (at == swept->n_causes) {
        swept->causes =
            memory_grow(swept->causes, &swept->capacity, swept->n_causes + 1, sizeof *swept->causes);
        swept->causes[swept->n_causes++] = (struct cause){
            .key = memory_strdup(key.data),
            .node = memory_strdup(node.length ? node.data : done->test->first->name),
            .text = memory_strdup(settlement->count ? settlement->text : verdict->text),
            .recipe = memory_strdup(done->test->recipe),
            .verdict = verdict_name(kind),
            .known = issue,
        };
        swept->n_known += issue != NULL;
    }
    swept->causes[at].cases++;
    swept->causes[at].wrong += verdict->wrong;
    str_release(&key);
    str_release(&node);
}

static void take_verdict(struct sweeps *run, const struct trial_done *done, size_t engine)
{
    const struct verdict *verdict = &done->judgement.verdicts[engine];
    struct swept *swept = &run->swept[engine];
    if (verdict->total) {
        swept->answered++;
        swept->values += verdict->judged;
        swept->wrong += verdict->wrong;
        swept->open += verdict->total - verdict->judged;
        swept->seen[row_of(done->test->first)][done->test->inputs[0].tensors[0].type] = true;
    }
    if (verdict_is_finding(verdict->kind))
        note(run, done, engine);
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct sweeps *run = context;
    char operator[200], draw[200];
    bool refused = true;
    (void)err;
    run->cases++;
    for (size_t i = 0; i < run->n_engines; i++) {
        take_verdict(run, done, i);
        refused = refused && done->judgement.verdicts[i].kind == VERDICT_UNSUPPORTED;
    }
    if (name_draw(done->test, operator, draw)) {
        count_refusal(run, operator, refused);
        count_refusal(run, draw, refused);
    }
    trial_done_release(done);
    return 0;
}

static void print_causes(const char *engine, const struct swept *swept)
{
    for (size_t i = 0; i < swept->n_causes; i++) {
        const struct cause *cause = &swept->causes[i];
        for (char *at = cause->text; *at; at++)
            if ((unsigned char)*at < ' ')
                *at = ' ';
        printf("finding\t%s\t%s\t%s\t%s\t%zu\t%zu\t%s\t%s\n", engine, cause->verdict, cause->node,
               cause->known ? known_document(cause->known) : "-", cause->cases, cause->wrong, cause->recipe,
               cause->text);
    }
}

static void print(const struct sweeps *run, size_t engine)
{
    const struct swept *swept = &run->swept[engine];
    size_t operators = 0, pairs = 0;
    for (size_t i = 0; i < op_count(); i++) {
        size_t types = 0;
        for (int k = 0; k < DTYPE_COUNT; k++)
            types += swept->seen[i][k];
        operators += types > 0;
        pairs += types;
    }
    print_causes(run->engines[engine], swept);
    printf("sweep %s operators %zu pairs %zu cases %zu answered %zu values %zu wrong %zu open %zu causes %zu "
           "known %zu seconds %.0f of %llu skipped %zu reached %llu\n",
           run->engines[engine], operators, pairs, run->cases, swept->answered, swept->values, swept->wrong,
           swept->open, swept->n_causes, swept->n_known, clock_seconds() - run->started,
           (unsigned long long)run->count, run->skipped, (unsigned long long)run->next);
}

static int read_types(char *text, dtype_set *types)
{
    char *rest = NULL;
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (dtype_from_name(name) == DTYPE_NONE)
            return -1;
        *types |= DTYPE_BIT(dtype_from_name(name));
    }
    return 0;
}

static int read_options(struct sweeps *run, int argc, char **argv)
{
    static const struct option long_options[] = {{"ops", required_argument, NULL, 'o'},
                                                 {"types", required_argument, NULL, 't'},
                                                 {"part", required_argument, NULL, 'p'},
                                                 {"cases", required_argument, NULL, 'c'},
                                                 {"seconds", required_argument, NULL, 's'},
                                                 {"probes", required_argument, NULL, 'k'},
                                                 {"opset", required_argument, NULL, 'v'},
                                                 {"from", required_argument, NULL, 'f'},
                                                 {0}};
    int option;
    while ((option = getopt_long(argc, argv, "e:", long_options, NULL)) != -1) {
        if (option == 'e' && run->n_engines < ENGINES)
            run->engines[run->n_engines++] = optarg;
        else if (option == 'o')
            run->options.ops = optarg;
        else if (option == 't' && read_types(optarg, &run->options.types))
            return -1;
        else if (option == 'p' && sscanf(optarg, "%zu/%zu", &run->part.shard, &run->part.of) != 2)
            return -1;
        else if (option == 'c')
            run->most = strtoull(optarg, NULL, 10);
        else if (option == 'k')
            run->probes = optarg;
        else if (option == 'v')
            run->options.opset = (int)strtol(optarg, NULL, 10);
        else if (option == 'f')
            run->next = strtoull(optarg, NULL, 10);
        else if (option == 's')
            run->seconds = strtod(optarg, NULL);
        else if (option == '?')
            return -1;
    }
    bool part = !run->part.of || (run->part.shard && run->part.shard <= run->part.of);
    return run->n_engines && part && optind == argc ? 0 : -1;
}

/* What all engines lack, as `assay probe` kept it; without a probe of each nothing is left out. */
static void read_probes(struct sweeps *run)
{
    char *folder = run->probes ? memory_strdup(run->probes) : probe_folder();
    bool all = true;
    pool_warm(run->panel.pool);
    run->support = probe_support_new();
    for (size_t i = 0; i < run->n_engines; i++) {
        char *engine = probe_engine(panel_engine(&run->panel, i));
        all = probe_support_load(run->support, folder, engine, NULL) == 0 && all;
        free(engine);
    }
    if (all) {
        run->options.lacks = probe_lacks_any;
        run->options.lacks_context = run->support;
    }
    free(folder);
}

static int sweep(struct sweeps *run, struct registry *registry, struct error *err)
{
    if (sweep_source_new(&run->source, &run->part, 1, &run->options, &run->count, err))
        return -1;
    struct trial_options options = {
        .panel = &run->panel, .settle = true, .registry = registry, .narrow = true};
    struct trials *trials = trials_new(&options);
    run->started = clock_seconds();
    int status = trials_run(trials, &(struct trial_source){run, make, take}, err);
    trials_free(trials);
    run->source.kind->free(run->source.self);
    return status;
}

static void release(struct sweeps *run)
{
    for (size_t e = 0; e < run->n_engines; e++) {
        struct swept *swept = &run->swept[e];
        for (size_t i = 0; i < swept->n_causes; i++) {
            free(swept->causes[i].key);
            free(swept->causes[i].node);
            free(swept->causes[i].text);
            free(swept->causes[i].recipe);
        }
        free(swept->causes);
        free(swept->seen);
    }
    map_release(&run->refusals);
    arena_release(&run->names);
    probe_support_free(run->support);
    known_release(&run->known);
}

static int open_panel(struct sweeps *run, struct registry *registry, struct error *err)
{
    struct pool_options limits = {.deadline = 20};
    return panel_open(&run->panel, registry,
                      given_all_typed(registry_arena(registry), run->engines, run->n_engines), &limits,
                      err) ||
                   panel_add_reference(&run->panel, registry, err)
               ? -1
               : 0;
}

int main(int argc, char **argv)
{
    struct sweeps run = {0};
    struct registry *registry = NULL;
    struct error err = {0};
    if (read_options(&run, argc, argv) || known_open(&run.known, &(struct known_files){0}, &err) ||
        registry_open(&registry, NULL, 0, &err)) {
        fprintf(stderr, "usage: see the head of bench/programs/sweeps.c; %s\n", err.message);
        return 2;
    }
    map_init(&run.refusals);
    arena_init(&run.names);
    for (size_t i = 0; i < run.n_engines; i++)
        run.swept[i].seen = memory_zeroed(op_count(), sizeof *run.swept[i].seen);
    int status = open_panel(&run, registry, &err);
    if (!status) {
        read_probes(&run);
        status = sweep(&run, registry, &err);
    }
    if (status)
        fprintf(stderr, "%s: %s\n", run.engines[0], err.message);
    for (size_t i = 0; i < run.n_engines && !status; i++)
        print(&run, i);
    panel_close(&run.panel);
    registry_free(registry);
    release(&run);
    return status ? 2 : 0;
}
