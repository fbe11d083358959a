/* assay search: changes the inputs and weights of models until engines part or an answer breaks. */
#include "base/memory.h"
#include "base/wrap.h"
#include "campaign/search_source.h"
#include "cli/campaign_run.h"
#include "cli/shared_options.h"
#include "search/watched_values.h"

#include <stdio.h>
#include <stdlib.h>

/* Samples to start from when no data is given. */
enum { RANDOM_SAMPLES = 8 };

extern const struct command command_search;

struct settings {
    struct common common;
    struct input_settings inputs;
    double time;
    long long count, population, kept;
    double crossover, mutation;
    int goal, level, fitness, limits, variants;
    const char *known;
    bool no_known, no_reduce, until_reached, metrics;
    struct fuzz_shared_options shared;
};

/* What is the same for all workers of a shared search; models and data each of them names. */
static const char *const agreed[] = {"engine",        "no-reference", "deadline",   "memory",   "goal",
                                     "level",         "variants",     "count",      "seed",     "random",
                                     "until-reached", "limits",       "population", "fitness",  "no-known",
                                     "no-reduce",     "kept",         "crossover",  "mutation", NULL};

/* In the order of the choices of --level, --goal and --fitness; the last level is that of the network. */
enum { LEVEL_NETWORK = 3 };
static const enum genome_level levels[] = {GENOME_INPUTS, GENOME_WEIGHTS,
                                           GENOME_BOTH, [LEVEL_NETWORK] = GENOME_INPUTS};
static const enum search_goal goals[] = {SEARCH_INCONSISTENCY, SEARCH_NAN, SEARCH_BOUND};
static const enum search_fitness fitnesses[] = {SEARCH_OURS, SEARCH_PAPER, SEARCH_RANDOM};

struct opened {
    struct model *model;
    struct inputs inputs;
};

static int open_model(struct opened *opened, const char *path, const struct settings *settings,
                      struct error *err)
{
    struct input_settings inputs = settings->inputs;
    if (!inputs.data && !inputs.random)
        inputs.random = RANDOM_SAMPLES;
    inputs.alike = true;
    if (model_open(&opened->model, path, err))
        return -1;
    bool watch = goals[settings->goal] == SEARCH_NAN && settings->level != LEVEL_NETWORK;
    if ((watch && watch_values(opened->model, err)) ||
        inputs_from_settings(&opened->inputs, opened->model, path, &inputs, err))
        return error_prefix(err, "%s", path);
    return 0;
}

/* Nothing limits what an overflow may be made of; to be of use, other inputs should be such as may come. */
static enum search_limits limits_of(const struct settings *settings)
{
    enum { AUTOMATIC, DATA, TYPE };
    if (settings->limits == AUTOMATIC)
        return goals[settings->goal] == SEARCH_NAN ? SEARCH_LIMITS_TYPE : SEARCH_LIMITS_DATA;
    return settings->limits == DATA ? SEARCH_LIMITS_DATA : SEARCH_LIMITS_TYPE;
}

/* Variants are judged by the reference in any case, so one engine will do: the goal is then what the
 * reference calls wrong. */
static enum search_goal goal_of(const struct settings *settings, const struct session *session)
{
    enum search_goal goal = goals[settings->goal];
    if (goal != SEARCH_INCONSISTENCY || session->panel.count > 1)
        return goal;
    wrap_printf(stderr,
                "assay search: one engine has no other to differ from; its variants are judged by the "
                "reference (--goal bound)\n");
    return SEARCH_BOUND;
}

static int search(const struct settings *settings, const struct fuzz_shared_options *shared,
                  const struct search_seed *models, size_t count, struct session *session, struct error *err)
{
    const struct search_source_options source = {
        .seed = settings->inputs.seed,
        .goal = goal_of(settings, session),
        .network = settings->level == LEVEL_NETWORK,
        .variants = (enum search_variants)settings->variants,
        .level = levels[settings->level],
        .fitness = fitnesses[settings->fitness],
        .limits = limits_of(settings),
        .population = (size_t)settings->population,
        .breeding = {(size_t)settings->kept, settings->crossover, settings->mutation},
        .models = models,
        .n_models = count,
        .until_reached = settings->until_reached,
    };
    struct fuzz_options options = {
        .search = &source,
        .seconds = settings->time,
        .count = (uint64_t)settings->count,
        .known = settings->known,
        .no_known = settings->no_known,
        .reduce = !settings->no_reduce,
        .shared = shared,
    };
    struct campaign_wanted wanted = {.metrics = settings->metrics};
    return campaign_run(&options, &settings->common, &wanted, session, err);
}

static int check_words(const struct settings *settings, const struct cli_list *words, struct error *err)
{
    if (!words->count)
        return error_set(err, ERROR_USAGE, "give a model");
    if (shared_options_check(&settings->shared, settings->common.output, err))
        return -1;
    if (settings->population == 1)
        return error_set(err, ERROR_USAGE, "--population takes 2 or more, not 1");
    long long population = settings->population ? settings->population : GENETIC_POPULATION;
    if (settings->kept >= population)
        return error_set(err, ERROR_USAGE,
                         "--kept takes fewer genomes than a generation has, %lld, not %lld (--population)",
                         population, settings->kept);
    if (settings->crossover > 1 || settings->mutation > 1)
        return error_set(err, ERROR_USAGE,
                         "--crossover and --mutation are chances: they take up to 1, not %g",
                         settings->crossover > 1 ? settings->crossover : settings->mutation);
    return 0;
}

static int check_engines(const struct settings *settings, const struct session *session, struct error *err)
{
    if (goals[settings->goal] != SEARCH_INCONSISTENCY || settings->level == LEVEL_NETWORK ||
        session->panel.count > 1)
        return 0;
    return error_set(err, ERROR_USAGE,
                     "--goal inconsistency compares engines, and there is only one; name another with -e, or "
                     "judge this one by the reference with --goal bound");
}

static int run_search(void *raw, const struct fuzz_shared_options *shared, const struct cli_list *words,
                      struct error *err)
{
    const struct settings *settings = raw;
    struct session session = {0};
    struct opened *opened = memory_zeroed(words->count, sizeof *opened);
    struct search_seed *models = memory_zeroed(words->count, sizeof *models);
    int status = 0;
    for (size_t i = 0; i < words->count && status == 0; i++) {
        status = open_model(&opened[i], words->items[i], settings, err);
        models[i] = (struct search_seed){words->items[i], opened[i].model, &opened[i].inputs};
    }
    if (status == 0)
        status = session_open(&session, &settings->common, 1, true, err);
    if (status == 0)
        status = check_engines(settings, &session, err);
    if (status == 0)
        status = search(settings, shared, models, words->count, &session, err);
    session_close(&session);
    for (size_t i = 0; i < words->count; i++) {
        inputs_release(&opened[i].inputs);
        model_free(opened[i].model);
    }
    free(models);
    free(opened);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    struct settings *settings = raw;
    if (check_words(settings, words, err))
        return -1;
    return shared_options_take_part(&command_search, agreed, &settings->shared, settings, words, run_search,
                                    err);
}

static const struct cli_option options[] = {
    COMMON_ENGINES(struct settings),
    COMMON_REFERENCE(struct settings),
    COMMON_STRICT(struct settings),
    {'o', "output", OPTION_TEXT, "DIR", offsetof(struct settings, common.output),
     "the campaign's folder: new or empty; an existing campaign is resumed"},
    SHARED_OPTIONS(struct settings, "search", "samples", "500"),
    {0, "goal", OPTION_CHOICE, "inconsistency|nan|bound", offsetof(struct settings, goal),
     "what to look for: different top classes, NaN or infinity in any value of the model, an answer beyond "
     "its "
     "error bound"},
    {0, "level", OPTION_CHOICE, "input|weights|both|network", offsetof(struct settings, level),
     "what is changed: the inputs, the weights, both, or the parameters of the nodes"},
    {0, "variants", OPTION_CHOICE, "both|legal|illegal", offsetof(struct settings, variants),
     "with --level network: variants that are valid, those with a value that ONNX forbids, or both"},
    {'t', "time", OPTION_TIME, "TIME", offsetof(struct settings, time), "stop after this long"},
    {'n', "count", OPTION_SEVERAL, "N", offsetof(struct settings, count),
     "stop when N changed samples were run"},
    {0, "until-reached", OPTION_FLAG, NULL, offsetof(struct settings, until_reached),
     "do not search a model any more once the goal is reached on it; end when it is on all"},
    {'d', "data", OPTION_TEXT, "PATH", offsetof(struct settings, inputs.data),
     "start from the inputs in PATH: a folder, a .npy, .npz or .pb file"},
    {0, "random", OPTION_SEVERAL, "N", offsetof(struct settings, inputs.random),
     "start from N random samples (default 8)"},
    {0, "dim", OPTION_LIST, "NAME=SIZE", offsetof(struct settings, inputs.dims),
     "size of an open dimension of random samples (default: 1 for the first, others drawn from 1, 2, 3, 7 "
     "and 16); repeatable"},
    {0, "seed", OPTION_SEED, "S", offsetof(struct settings, inputs.seed),
     "seed of all random choices (default 1)"},
    {0, "population", OPTION_SEVERAL, "N", offsetof(struct settings, population),
     "genomes of a generation (default 24)"},
    {0, "kept", OPTION_SEVERAL, "N", offsetof(struct settings, kept),
     "the best N of a generation live on (the paper's m; default: a quarter)"},
    {0, "crossover", OPTION_NUMBER, "R", offsetof(struct settings, crossover),
     "the chance of a gene to come from the first parent (the paper's r1; default 0.5)"},
    {0, "mutation", OPTION_NUMBER, "R", offsetof(struct settings, mutation),
     "the chance of a new genome to be mutated (the paper's r2; default 0.8)"},
    {0, "limits", OPTION_CHOICE, "auto|data|type", offsetof(struct settings, limits),
     "how far numbers may be changed: within the range of the data, or of their element type (default: the "
     "latter for --goal nan)"},
    {0, "fitness", OPTION_CHOICE, "ours|paper|random", offsetof(struct settings, fitness),
     "what guides the search: Assay's measures, those of the paper, or nothing"},
    COMMON_KNOWN(struct settings),
    {0, "no-reduce", OPTION_FLAG, NULL, offsetof(struct settings, no_reduce),
     "keep findings as they were found: do not reduce them, write no bundles"},
    CAMPAIGN_METRICS(struct settings),
    {0, "format", OPTION_CHOICE, "text|json", offsetof(struct settings, common.format),
     "how the summary is written"},
};

static const struct settings defaults = {.common.deadline = 10, .inputs.seed = 1};

const struct command command_search = {
    .name = "search",
    .summary = "change inputs and weights of models until engines part or break",
    .usage = "MODEL... -e ENGINE... {-o DIR | --db URL --campaign NAME} [OPTION...]",
    .about =
        "Breeds inputs, weights or both: the first generation is the data with noise, and each next one is\n"
        "made from those that came nearest to the goal (Guo et al., Audee, ASE 2020). Several models take\n"
        "turns, those most often whose fitness still rises. With --level network, the parameters of nodes\n"
        "are drawn anew instead, legally and illegally; an illegal model must be refused, and one engine is\n"
        "enough, which the reference judges. Every answer is held against the reference and its error\n"
        "bounds. What is wrong is judged again alone, reduced and kept in DIR, as with 'assay fuzz'; an\n"
        "existing search is resumed when its folder and the same options are given again.\n"
        "\n"
        "That two engines differ in the top class, or that an answer is NaN, is the goal of a search, but\n"
        "not yet a finding: the reference tells whether rounding explains the one, and whether ONNX's own\n"
        "arithmetic gives NaN there too. The case in which a model first reaches the goal is kept in\n"
        "DIR/cases.\n"
        "\n"
        "With --db, any number of workers share one search, as with 'assay fuzz'. It then consists of eight\n"
        "islands, each with a seed of its own, which go on by themselves; all workers name the same "
        "models.\n",
    .examples =
        "  assay search model.onnx -e onnxruntime -e opencv --data samples/ --time 10m -o found\n"
        "  assay search models/*/*.onnx -e onnxruntime -e torch --level both --time 1h -o found\n"
        "  assay search model.onnx -e onnxruntime --goal nan --level weights --until-reached -o nan\n"
        "  assay search model.onnx -e onnxruntime -e opencv --level network --time 10m -o variants\n"
        "  assay search model.onnx -e onnxruntime --level network --variants illegal -n 1000 -o illegal\n"
        "  assay search model.onnx -e onednn --goal bound --data samples/ --time 10m -o bounds\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
