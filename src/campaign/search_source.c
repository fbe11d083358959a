#include "campaign/search_source.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "campaign/fuzz_record.h"
#include "campaign/kept_case.h"
#include "campaign/search_snapshot.h"
#include "campaign/search_state.h"
#include "campaign/stack_rows.h"
#include "compare/batch.h"
#include "engine/handover.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STUCK = 12,       /* generations without a better genome after which a population begins again */
    IDLE_STEP = 6,    /* for every so many generations without a better genome a model waits one more turn */
    IDLE_MOST = 7,    /* turns that it waits at most */
    PATIENCE = 6,     /* second runs in a row without anything new, after which most generations have none */
    JUDGED = 8,       /* in every eighth generation the fittest genome is judged */
    SELDOM = 16,      /* after that only every sixteenth generation has second runs */
    FAILED_STACKS = 2 /* failures after which a model is not stacked any more */
};

static void free_model(struct searched *m)
{
    search_secant_release(&m->secant);
    genetic_free(m->genetic);
    search_danger_release(&m->danger);
    genome_layout_free(m->layout);
    variant_seed_free(m->variants);
}

static void close_models(struct search_source *source)
{
    for (size_t i = 0; i < source->n_models; i++)
        free_model(&source->models[i]);
    memset(source->models, 0, source->n_models * sizeof *source->models);
}

static void free_source(void *raw)
{
    struct search_source *source = raw;
    if (!source)
        return;
    close_models(source);
    free(source->models);
    free(source);
}

static const char *const level_names[] = {
    [GENOME_INPUTS] = "input", [GENOME_WEIGHTS] = "weights", [GENOME_BOTH] = "both"};

static const char *level_name(const struct search_source_options *options)
{
    static const char *const networks[] = {[SEARCH_VARIANTS_BOTH] = "network",
                                           [SEARCH_VARIANTS_LEGAL] = "network (legal)",
                                           [SEARCH_VARIANTS_ILLEGAL] = "network (illegal)"};
    return options->network ? networks[options->variants] : level_names[options->level];
}

static size_t population_of(const struct search_source_options *options)
{
    return options->population ? options->population : GENETIC_POPULATION;
}

void search_source_describe(const struct search_source_options *o, struct str *out)
{
    str_printf(out, "search, seed %" PRIu64 ", goal %s, level %s, fitness %s, limits %s, population %zu%s",
               o->seed, search_goal_name(o->goal), level_name(o), search_fitness_name(o->fitness),
               o->limits == SEARCH_LIMITS_DATA ? "data" : "type",
               o->population ? o->population : GENETIC_POPULATION, o->until_reached ? ", until reached" : "");
    if (o->breeding.kept)
        str_printf(out, ", kept %zu", o->breeding.kept);
    if (o->breeding.crossover > 0)
        str_printf(out, ", crossover %g", o->breeding.crossover);
    if (o->breeding.mutation > 0)
        str_printf(out, ", mutation %g", o->breeding.mutation);
    for (size_t i = 0; i < o->n_models; i++)
        str_printf(out, ", %s %016" PRIx64, file_base(o->models[i].path), model_hash(o->models[i].model));
}

static struct genetic_settings settings_of(const struct search_source *source, struct searched *m,
                                           size_t number)
{
    const struct search_source_options *o = &source->options;
    struct genetic_settings settings = {
        .seed = hash_combine(o->seed, number),
        .population = population_of(o),
        .kept = o->breeding.kept,
        .crossover = o->breeding.crossover,
        .mutation = o->breeding.mutation,
        .every_gene = o->fitness != SEARCH_OURS,
    };
    if (o->fitness == SEARCH_OURS && o->goal == SEARCH_INCONSISTENCY) {
        settings.guided = search_secant_mutate;
        settings.context = &m->secant;
        settings.guided_share = 0.8;
    } else if (o->fitness == SEARCH_OURS && o->goal == SEARCH_NAN) {
        settings.guided = search_danger_mutate;
        settings.context = &m->danger;
        settings.guided_share = 0.9;
    } else if (o->fitness == SEARCH_OURS && o->goal == SEARCH_BOUND) {
        settings.guided = ascent_mutate;
        settings.context = &m->ascent;
        settings.guided_share = 0.5;
    }
    return settings;
}

static bool may_stack(const struct search_source *source, const struct search_seed *seed)
{
    const struct panel *panel = source->panel;
    struct handover handover = {0};
    struct job job = {0};
    if (source->options.level != GENOME_INPUTS || !batch_possible(seed->inputs) ||
        handover_open(&handover, panel->pool, seed->model, NULL))
        return false;
    handover_give(&handover, &job);
    int arbiter = panel->reference < 0 ? panel->engines[0] : panel->reference;
    bool separable = batch_separable(panel->pool, arbiter, &job, seed->inputs, &metrics_conformance);
    handover_close(&handover);
    return separable;
}

/* The file's name without its ending. */
static void name_model(struct searched *m)
{
    const char *base = file_base(m->seed->path), *dot = strrchr(base, '.');
    snprintf(m->name, sizeof m->name, "%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base),
             base);
    snprintf(m->figures.model, sizeof m->figures.model, "%s", m->name);
}

/* Opens the maker of variants, which uses the model with its first sample. */
static int open_variants(struct searched *m, struct error *err)
{
    struct model *copy;
    struct value *sample;
    if (model_clone(&copy, m->seed->model, err))
        return -1;
    struct test_case *origin = test_case_new(copy);
    test_case_set_name(origin, m->name);
    int status = inputs_get(m->seed->inputs, 0, &sample, err);
    if (!status) {
        status = test_case_add_inputs(origin, sample, m->seed->inputs->count, err);
        values_free(sample, m->seed->inputs->count);
    }
    if (!status)
        status = variant_seed_new(&m->variants, origin, err);
    test_case_free(origin);
    return status ? error_prefix(err, "%s", m->seed->path) : 0;
}

static int open_genomes(struct search_source *source, size_t number, struct error *err)
{
    const struct search_source_options *o = &source->options;
    struct searched *m = &source->models[number];
    struct genetic_settings settings = settings_of(source, m, number);
    struct genome_options genome = {
        .level = o->level,
        .data_limits = o->limits == SEARCH_LIMITS_DATA,
        .most_genes = GENETIC_MOST_GENES / (2 * settings.population),
        .most_seeds = settings.population / 2,
        .seed = hash_combine(o->seed, number),
    };
    if (genome_layout_new(&m->layout, m->seed->model, m->seed->inputs, &genome, err))
        return error_prefix(err, "%s", m->seed->path);
    size_t n_parts;
    genome_parts(m->layout, &n_parts);
    m->ascent.space = (struct gene_space){n_parts, genome_stretches(m->layout), genome_length(m->layout)};
    if (o->goal == SEARCH_NAN)
        search_danger_init(&m->danger, m->layout, m->seed->model, o->level);
    if (o->goal == SEARCH_NAN && o->fitness == SEARCH_OURS)
        search_danger_sow(&m->danger, settings.seed, settings.population);
    bool sown = m->danger.n_seeds > 0;
    if (genetic_new(&m->genetic, &settings, n_parts, genome_stretches(m->layout),
                    sown ? m->danger.n_seeds : genome_seeds(m->layout),
                    sown ? m->danger.seeds : genome_seed(m->layout), err))
        return error_prefix(err, "%s", m->seed->path);
    m->danger.genetic = m->ascent.genetic = m->genetic;
    search_secant_init(&m->secant, m->layout, m->genetic);
    m->stacked = may_stack(source, m->seed);
    return 0;
}

static int open_model(struct search_source *source, size_t number, struct error *err)
{
    struct searched *m = &source->models[number];
    m->source = source;
    m->seed = &source->options.models[number];
    m->local_best = m->figures.best = -INFINITY;
    m->figures.first_seconds = -1;
    name_model(m);
    return source->options.network ? open_variants(m, err) : open_genomes(source, number, err);
}

static struct searched *at_hand(const struct search_source *source)
{
    return &source->models[source->turn];
}

static bool is_stack(const struct search_source *source)
{
    return at_hand(source)->stacked && !source->alone;
}

/* Whether the search needs the reference: for answers beyond their bounds, and for differing classes when
 * there is only one engine to differ from. NaN is seen without it. */
static bool is_judged(const struct search_source *source)
{
    enum search_goal goal = source->options.goal;
    return goal == SEARCH_BOUND || (goal == SEARCH_INCONSISTENCY && source->panel->count < 2);
}

static void plan_range(void *raw, struct case_range *range)
{
    struct search_source *source = raw;
    const struct genetic *genetic = at_hand(source)->genetic;
    if (!genetic) {
        *range = (struct case_range){.count = population_of(&source->options)};
        return;
    }
    *range = (struct case_range){.rough = true, .unjudged = !is_judged(source)};
    if (source->judging)
        *range = (struct case_range){.count = source->n_suspects, .sequel = true};
    else
        range->count = is_stack(source) ? 1 : genetic_population(genetic) - genetic_first_new(genetic);
}

static int make_stack(const struct searched *m, struct test_case **out, struct error *err)
{
    size_t first = genetic_first_new(m->genetic), count = genetic_population(m->genetic) - first;
    const float **genes = memory_zeroed(count, sizeof *genes);
    for (size_t i = 0; i < count; i++)
        genes[i] = genetic_genome(m->genetic, first + i);
    int status = genome_stack(m->layout, count, genes, out, err);
    free(genes);
    return status;
}

/* The number of a genome among all that were bred from the model. */
static uint64_t number_of(const struct searched *m, size_t genome)
{
    return genetic_round(m->genetic) * genetic_population(m->genetic) + genome;
}

/* Gives the case the name by which its finding can be found again once it is kept. */
static void name_case(const struct searched *m, struct test_case *test, uint64_t number)
{
    char own[80], name[KEPT_NAME_SIZE], recipe[KEPT_NAME_SIZE + 20];
    uint64_t island = m->source->island;
    snprintf(own, sizeof own, island ? "%.40s-i%" PRIu64 : "%.60s", m->name, island);
    kept_case_name(own, number, name);
    snprintf(recipe, sizeof recipe, "case cases/%s", name);
    test_case_set_name(test, name);
    test_case_set_recipe(test, recipe);
}

static int make_genome(const struct searched *m, size_t genome, struct test_case **out, struct error *err)
{
    if (genome_case(m->layout, genetic_genome(m->genetic, genome), out, err))
        return -1;
    name_case(m, *out, number_of(m, genome));
    return 0;
}

static enum variant_law law_of(const struct search_source_options *o, uint64_t number)
{
    if (o->variants == SEARCH_VARIANTS_BOTH)
        return number % 2 ? VARIANT_ILLEGAL : VARIANT_LEGAL;
    return o->variants == SEARCH_VARIANTS_LEGAL ? VARIANT_LEGAL : VARIANT_ILLEGAL;
}

/* Some numbers give no variant, which is no error. */
static int make_variant(const struct searched *m, size_t number, struct test_case **out, struct error *err)
{
    const struct search_source_options *o = &m->source->options;
    uint64_t all = m->figures.generations * population_of(o) + number;
    if (variant_make(m->variants, law_of(o, all), o->seed, all, out, NULL, err))
        return -1;
    name_case(m, *out, all);
    return 0;
}

static int make_case(void *raw, uint64_t index, size_t number, struct test_case **out, struct error *err)
{
    struct search_source *source = raw;
    struct searched *m = at_hand(source);
    (void)index;
    if (m->variants)
        return make_variant(m, number, out, err);
    if (source->judging)
        return make_genome(m, source->suspects[number].genome, out, err);
    return is_stack(source) ? make_stack(m, out, err)
                            : make_genome(m, genetic_first_new(m->genetic) + number, out, err);
}

/* Remembers the most suspicious genomes of the generation. */
static void suspect(struct search_source *source, size_t genome, const struct search_sample *sample,
                    bool strange)
{
    struct search_suspect added = {genome, strange && !sample->reference ? 0 : -1};
    for (size_t i = 0; i < sample->n_engines; i++) {
        enum verdict_kind kind = sample->verdicts[i].kind;
        if (verdict_is_finding(kind))
            added.weight = INFINITY;
        else if (verdict_is(kind, CLASS_SUSPECT))
            added.weight = fmax(added.weight, sample->verdicts[i].deviations);
    }
    for (size_t i = 0; i < SEARCH_SUSPECTS && added.weight >= 0; i++) {
        if (i == source->n_suspects) {
            source->suspects[source->n_suspects++] = added;
            return;
        }
        if (added.weight > source->suspects[i].weight) {
            struct search_suspect less = source->suspects[i];
            source->suspects[i] = added;
            added = less;
        }
    }
}

static void reach(struct searched *m, size_t genome, const struct fuzz_status *status)
{
    if (m->figures.reached)
        return;
    m->figures.reached = true;
    m->figures.first_genome = m->figures.genomes;
    m->figures.first_seconds = status->elapsed;
    m->reaching = true;
    m->reached = genome;
}

static void count_strange(struct search_figures *f, const struct search_seen *seen, bool judged)
{
    f->strange_judged += seen->strange && judged;
    f->strange_expected += seen->strange && judged && seen->expected;
}

/* Goals by the paper's oracle: counted, shown, and no alarm by themselves. */
static void count_seen(struct searched *m, size_t genome, const struct search_seen *seen, bool judged,
                       const struct fuzz_status *status)
{
    struct search_figures *f = &m->figures;
    f->genomes++;
    f->inconsistent += seen->inconsistent;
    f->strange += seen->strange;
    count_strange(f, seen, judged);
    if (search_reaches(seen, m->source->options.goal))
        reach(m, genome, status);
}

static struct search_sample sample_of(const struct trial_done *done)
{
    return (struct search_sample){
        .n_engines = done->n_engines,
        .results = done->results,
        .reference = done->asked && done->reference.outcome == OUTCOME_OK ? &done->reference : NULL,
        .verdicts = done->judgement.verdicts,
    };
}

static void hear_sample(struct search_source *source, size_t genome, const struct trial_done *done,
                        struct fuzz_status *status)
{
    struct searched *m = at_hand(source);
    struct search_sample sample = sample_of(done);
    struct search_seen seen;
    fuzz_count(status, done);
    search_see(&seen, &sample);
    count_seen(m, genome, &seen, sample.reference != NULL, status);
    genetic_rate(m->genetic, genome, search_rate(&seen, source->options.goal, source->options.fitness));
    suspect(source, genome, &sample, seen.strange);
    search_secant_learn(&m->secant, genome, &seen);
}

static bool has_finding(const struct trial_done *done)
{
    bool found = false;
    for (size_t i = 0; i < done->n_engines; i++)
        found |= verdict_is_finding(done->judgement.verdicts[i].kind);
    return found;
}

/* Hears of a suspect that was judged alone: only here can a search for answers beyond their bounds reach its
 * goal. */
static void hear_judged(struct searched *m, size_t number, const struct trial_done *done,
                        const struct fuzz_status *status)
{
    struct search_sample sample = sample_of(done);
    struct search_seen seen;
    bool found = has_finding(done);
    m->figures.findings += found;
    search_see(&seen, &sample);
    if (!is_judged(m->source))
        count_strange(&m->figures, &seen, sample.reference != NULL);
    free(seen.logits);
    if (found && m->source->options.goal == SEARCH_BOUND)
        reach(m, m->source->suspects[number].genome, status);
}

/* A variant is judged and recorded like any case; here only the paper's goals are looked for. */
static int hear_variant(struct searched *m, size_t number, const struct trial_done *done,
                        const struct fuzz_status *status, struct error *err)
{
    const struct search_source_options *o = &m->source->options;
    struct search_sample sample = sample_of(done);
    struct search_seen seen;
    bool found = has_finding(done);
    m->figures.findings += found;
    search_see(&seen, &sample);
    count_seen(m, number, &seen, sample.reference != NULL, status);
    if (found && o->goal == SEARCH_BOUND)
        reach(m, number, status);
    m->figures.best = fmax(m->figures.best, search_rate(&seen, o->goal, o->fitness));
    free(seen.logits);
    if (!m->reaching)
        return 0;
    m->reaching = false;
    snprintf(m->figures.kept, sizeof m->figures.kept, "cases/%s", done->test->name);
    return kept_case_write(m->source->folder, done->test->name, done->test, err);
}

static int hear(void *raw, size_t number, const struct trial_done *done, struct fuzz_status *status,
                struct error *err)
{
    struct search_source *source = raw;
    struct searched *m = at_hand(source);
    if (m->variants)
        return hear_variant(m, number, done, status, err);
    size_t first = genetic_first_new(m->genetic), count = genetic_population(m->genetic) - first;
    if (source->judging) {
        hear_judged(m, number, done, status);
        return 0;
    }
    if (!is_stack(source)) {
        hear_sample(source, first + number, done, status);
        return 0;
    }
    struct stack_rows rows;
    source->stack_failed = stack_rows_open(&rows, done, count) != 0;
    for (size_t i = 0; i < count && !source->stack_failed; i++)
        hear_sample(source, first + i, stack_rows_at(&rows, i), status);
    stack_rows_close(&rows);
    return 0;
}

/* Compares the best genome of the generation with the best so far. */
static void note_best(struct searched *m)
{
    double best = genetic_fitness(m->genetic, genetic_best(m->genetic));
    m->idle++;
    m->stuck++;
    m->figures.generations++;
    if (best > m->figures.best) {
        m->figures.best = best;
        m->idle = 0;
    }
    if (best > m->local_best) {
        m->local_best = best;
        m->stuck = 0;
    }
}

static void breed(struct search_source *source, struct searched *m)
{
    bool restart = source->options.fitness == SEARCH_RANDOM;
    if (!restart && m->stuck >= STUCK) {
        m->figures.restarts++;
        restart = true;
        m->stuck = 0;
    }
    if (restart) {
        m->local_best = -INFINITY;
        genetic_restart(m->genetic);
    } else {
        genetic_next(m->genetic);
    }
}

static bool is_done(const struct search_source *source, const struct searched *m)
{
    return source->options.until_reached && m->figures.reached;
}

/* The model whose turn comes first; of equals, the first. */
static void choose_turn(struct search_source *source)
{
    struct searched *m = at_hand(source);
    uint64_t wait = m->idle / IDLE_STEP;
    source->clock++;
    m->due = source->clock + source->n_models * (1 + (wait < IDLE_MOST ? wait : IDLE_MOST));
    for (size_t i = 0; i < source->n_models; i++) {
        const struct searched *other = &source->models[i];
        if (is_done(source, other))
            continue;
        if (is_done(source, at_hand(source)) || other->due < at_hand(source)->due)
            source->turn = i;
    }
}

static int keep_reached(struct search_source *source, struct searched *m, struct error *err)
{
    struct test_case *test;
    if (!m->reaching)
        return 0;
    m->reaching = false;
    if (make_genome(m, m->reached, &test, err))
        return -1;
    int status = kept_case_write(source->folder, test->name, test, err);
    snprintf(m->figures.kept, sizeof m->figures.kept, "cases/%s", test->name);
    test_case_free(test);
    return status;
}

/* Whether genomes of the generation are to be judged alone; chooses which. */
static bool choose_judged(struct search_source *source)
{
    struct searched *m = at_hand(source);
    if (source->futile >= PATIENCE && m->figures.generations % SELDOM)
        source->n_suspects = 0;
    if (!is_judged(source) && m->figures.generations % JUDGED == 0 && source->n_suspects < SEARCH_SUSPECTS)
        source->suspects[source->n_suspects++] = (struct search_suspect){genetic_best(m->genetic), 0};
    return source->n_suspects > 0;
}

static int end_range(void *raw, const char *marks, size_t count, struct error *err)
{
    struct search_source *source = raw;
    struct searched *m = at_hand(source);
    if (m->variants) {
        m->figures.generations++;
        choose_turn(source);
        return 0;
    }
    for (size_t i = 0; source->judging && i < count; i++)
        source->futile = marks[i] == MARK_NEW ? 0 : source->futile + 1;
    if (source->stack_failed) {
        source->stack_failed = false;
        source->alone = true; /* this generation again */
        m->stacked = ++m->failed_stacks < FAILED_STACKS;
        return 0;
    }
    if (keep_reached(source, m, err))
        return -1;
    if (!source->judging && choose_judged(source)) {
        source->judging = true;
        return 0;
    }
    source->judging = source->alone = false;
    source->n_suspects = 0;
    note_best(m);
    breed(source, m);
    choose_turn(source);
    return 0;
}

static bool is_over(const void *raw)
{
    const struct search_source *source = raw;
    for (size_t i = 0; i < source->n_models; i++)
        if (!is_done(source, &source->models[i]))
            return false;
    return true;
}

static void give_figures(const void *raw, struct fuzz_status *status)
{
    const struct search_source *source = raw;
    const struct search_source_options *o = &source->options;
    if (!status->searched)
        status->searched = memory_zeroed(source->n_models, sizeof *status->searched);
    status->n_searched = source->n_models;
    status->search_words =
        (struct search_words){search_goal_name(o->goal), level_name(o), search_fitness_name(o->fitness), ""};
    struct str start;
    str_init(&start);
    if (o->n_models)
        inputs_describe(o->models[0].inputs, &start);
    snprintf(status->search_words.start, sizeof status->search_words.start, "%s", start.data);
    str_release(&start);
    for (size_t i = 0; i < source->n_models; i++)
        status->searched[i] = source->models[i].figures;
}

static int open_models(struct search_source *source, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < source->n_models && !status; i++)
        status = open_model(source, i, err);
    return status;
}

/* Each island has a seed of its own, the first that of the campaign. */
static int begin_island(void *raw, uint64_t island, const char *text, struct error *err)
{
    struct search_source *source = raw;
    close_models(source);
    source->island = island;
    source->options.seed = island ? hash_combine(source->seed, island) : source->seed;
    source->turn = 0;
    source->clock = 0;
    source->alone = source->stack_failed = source->judging = false;
    source->n_suspects = source->futile = 0;
    if (open_models(source, err))
        return -1;
    return *text ? search_island_read(source, text, err) : 0;
}

int search_source_new(struct case_source *out, const struct search_source_options *options,
                      const struct panel *panel, const struct folder *folder, struct error *err)
{
    static const struct case_source_kind kind = {
        .command = "search",
        .bred = true,
        .plan = plan_range,
        .make = make_case,
        .hear = hear,
        .end = end_range,
        .over = is_over,
        .write = search_snapshot_write,
        .read = search_snapshot_read,
        .settle = begin_island,
        .island_write = search_island_write,
        .figures = give_figures,
        .free = free_source,
    };
    if (options->population > FUZZ_RANGE)
        return error_set(err, ERROR_USAGE, "a population has at most %d genomes, not %zu", FUZZ_RANGE,
                         options->population);
    struct search_source *source = memory_zeroed(1, sizeof *source);
    source->options = *options;
    source->panel = panel;
    source->folder = folder;
    source->n_models = options->n_models;
    source->models = memory_zeroed(options->n_models + 1, sizeof *source->models);
    source->seed = options->seed;
    int status = open_models(source, err);
    if (status)
        free_source(source);
    else
        *out = (struct case_source){&kind, source};
    return status;
}
