/*
 * Sweeps over all values (generate/sweep.h) on one engine, judged: the measurement behind bench/exhaustive.
 *
 *     bench_sweeps [--ops A,B] [--types A,B] [--part K/N] [--cases N] [--seconds S] [--probes DIR]
 *                  [--opset N] -e ENGINE
 *
 * What the engine lacks by a probe kept in DIR, or else by one of this user, is left out (assay probe). A
 * finding is one line, with tabs between: "finding", engine, verdict, node with types and attributes, the
 * known issue that has it or "-", how many cases, how many wrong values, the recipe of the first case, and
 * what was wrong with it. The last line is
 *
 *     sweep ENGINE operators N pairs N cases N answered N values N wrong N open N causes N known N seconds T
 * of N
 *
 * where pairs are those of operator and type, values are elements of answers that were judged, open those
 * that could not be, and "of" says how many cases the whole list has.
 */
#include "base/clock.h"
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

struct sweeps {
    const char *engine, *probes;
    struct generate_options options;
    struct sweep_options part;
    size_t most;
    double seconds, started;
    struct probe_support *support;
    struct panel panel;
    struct known_issues known;
    struct case_source source;
    uint64_t next, count;
    bool (*seen)[DTYPE_COUNT]; /* answered cases of the row and type */
    size_t cases, answered, values, wrong, open, n_known;
    struct cause *causes;
    size_t n_causes, capacity;
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
    return 1;
}

/* One cause for each verdict, operator and known issue. */
static void note(struct sweeps *run, const struct trial_done *done)
{
    const struct verdict *verdict = &done->judgement.verdicts[0];
    const struct settlement *settlement = &done->settlements[0];
    enum verdict_kind kind = settlement->count ? settlement->kind : verdict->kind;
    const struct engine_info *info = panel_engine(&run->panel, 0);
    struct finding_facts facts;
    struct str node, key;
    str_init(&node);
    str_init(&key);
    struct facts_source of = {.test = done->test, .result = &done->results[0], .profile = info->profile};
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
    while (at < run->n_causes && !text_equal(run->causes[at].key, key.data))
        at++;
    if (at == run->n_causes) {
        run->causes = memory_grow(run->causes, &run->capacity, run->n_causes + 1, sizeof *run->causes);
        run->causes[run->n_causes++] = (struct cause){
            .key = memory_strdup(key.data),
            .node = memory_strdup(node.length ? node.data : done->test->first->name),
            .text = memory_strdup(settlement->count ? settlement->text : verdict->text),
            .recipe = memory_strdup(done->test->recipe),
            .verdict = verdict_name(kind),
            .known = issue,
        };
        run->n_known += issue != NULL;
    }
    run->causes[at].cases++;
    run->causes[at].wrong += verdict->wrong;
    str_release(&key);
    str_release(&node);
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct sweeps *run = context;
    const struct verdict *verdict = &done->judgement.verdicts[0];
    (void)err;
    run->cases++;
    if (verdict->total) {
        enum dtype type = done->test->inputs[0].tensors[0].type;
        run->answered++;
        run->values += verdict->judged;
        run->wrong += verdict->wrong;
        run->open += verdict->total - verdict->judged;
        run->seen[row_of(done->test->first)][type] = true;
    }
    if (verdict_is_finding(verdict->kind))
        note(run, done);
    trial_done_release(done);
    return 0;
}

static void print(const struct sweeps *run)
{
    size_t operators = 0, pairs = 0;
    for (size_t i = 0; i < op_count(); i++) {
        size_t types = 0;
        for (int k = 0; k < DTYPE_COUNT; k++)
            types += run->seen[i][k];
        operators += types > 0;
        pairs += types;
    }
    for (size_t i = 0; i < run->n_causes; i++) {
        const struct cause *cause = &run->causes[i];
        for (char *at = cause->text; *at; at++)
            if ((unsigned char)*at < ' ')
                *at = ' ';
        printf("finding\t%s\t%s\t%s\t%s\t%zu\t%zu\t%s\t%s\n", run->engine, cause->verdict, cause->node,
               cause->known ? known_document(cause->known) : "-", cause->cases, cause->wrong, cause->recipe,
               cause->text);
    }
    printf("sweep %s operators %zu pairs %zu cases %zu answered %zu values %zu wrong %zu open %zu causes %zu "
           "known %zu seconds %.0f of %llu\n",
           run->engine, operators, pairs, run->cases, run->answered, run->values, run->wrong, run->open,
           run->n_causes, run->n_known, clock_seconds() - run->started, (unsigned long long)run->count);
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
    static const struct option long_options[] = {
        {"ops", required_argument, NULL, 'o'},     {"types", required_argument, NULL, 't'},
        {"part", required_argument, NULL, 'p'},    {"cases", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'}, {"probes", required_argument, NULL, 'k'},
        {"opset", required_argument, NULL, 'v'},   {0}};
    int option;
    while ((option = getopt_long(argc, argv, "e:", long_options, NULL)) != -1) {
        if (option == 'e')
            run->engine = optarg;
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
        else if (option == 's')
            run->seconds = strtod(optarg, NULL);
        else if (option == '?')
            return -1;
    }
    bool part = !run->part.of || (run->part.shard && run->part.shard <= run->part.of);
    return run->engine && part && optind == argc ? 0 : -1;
}

/* What the engine lacks, as `assay probe` kept it; without a probe nothing is left out. */
static void read_probe(struct sweeps *run)
{
    char *folder = run->probes ? memory_strdup(run->probes) : probe_folder();
    pool_warm(run->panel.pool);
    char *engine = probe_engine(panel_engine(&run->panel, 0));
    run->support = probe_support_new();
    if (probe_support_load(run->support, folder, engine, NULL) == 0) {
        run->options.lacks = probe_lacks_any;
        run->options.lacks_context = run->support;
    }
    free(engine);
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
    for (size_t i = 0; i < run->n_causes; i++) {
        free(run->causes[i].key);
        free(run->causes[i].node);
        free(run->causes[i].text);
        free(run->causes[i].recipe);
    }
    free(run->causes);
    free(run->seen);
    probe_support_free(run->support);
    known_release(&run->known);
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
    struct pool_options limits = {.deadline = 20};
    run.seen = memory_zeroed(op_count(), sizeof *run.seen);
    int status = panel_open(&run.panel, registry, given_all_typed(registry_arena(registry), &run.engine, 1),
                            &limits, &err) ||
                 panel_add_reference(&run.panel, registry, &err);
    if (!status) {
        read_probe(&run);
        status = sweep(&run, registry, &err);
    }
    if (status)
        fprintf(stderr, "%s: %s\n", run.engine, err.message);
    else
        print(&run);
    panel_close(&run.panel);
    registry_free(registry);
    release(&run);
    return status ? 2 : 0;
}
