/*
 * Which networks can be made to answer with a NaN or an infinity, and how soon?
 *
 *     bench_nan ENGINE LEVEL WHERE SECONDS JUDGED COUNT MODEL.onnx...
 *
 * Each model, and then COUNT networks of the graph generator, are searched on the engine. At the level
 * "input" any finite number of the input's type may be fed; at the level "both" weights are fed as well.
 * Three searches, each with the same populations:
 * guided (mutations of search/danger_climb, fitness by what the reference sees inside), random (nothing but
 * noise on the seed) and the paper's (Guo et al., Audee, ASE 2020: fitness is the greatest minus the least
 * element of the first output). The guided one has SECONDS, the others as many runs of the engine as it took,
 * at least RUNS, within SECONDS. A network counts as reached when an output has a NaN or an infinity; where
 * WHERE is "values", every value inside the model is made an output first. Networks that stay finite whatever
 * their input are searched for a tenth of the time: by search/stays_finite.h, or by the list of the file
 * JUDGED, whose lines are name, tab, "outputs" or "values", tab, reason.
 *
 * One line a network, separated by tabs: name, genes, nodes, whether it has a Softmax, whether it stays
 * finite ("proved", "judged" or "-"), and for each search what was reached ("nan", "inf",
 * "-", or "?" when the engine does not run the network), runs and seconds.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "case/inputs.h"
#include "case/inputs_random.h"
#include "engine/runner.h"
#include "generate/operator_case.h"
#include "model/edit.h"
#include "search/danger_climb.h"
#include "search/stays_finite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * LEAPS: the runs of the guided search before it measures anything, which takes far longer than a run. Where
 * a round of measurements would take more than a tenth of the time, it goes on leaping.
 */
enum { POPULATION = 16, RUNS = 240, LEAPS = 100, GENES = 1 << 20, SEED = 16, NODES = 12 };

struct network {
    char name[64];
    const char *finite; /* "proved", "judged" or "-" */
    struct test_case *test;
    const struct model *model;
    size_t length, n_stretches;
    struct gene_stretch *stretches; /* one for each input of floats */
    float *seed;
    struct danger_meter *meter;
};

struct bench {
    const char *judged; /* text of the file */
    bool both, values;
    struct registry *registry;
    struct panel panel;
    struct runner *runner;
    double seconds;
};

enum method { GUIDED, RANDOM, PAPER, METHODS };

enum seen { SEEN_NOTHING, SEEN_INFINITY, SEEN_NAN, SEEN_REFUSED };

struct score {
    enum seen seen;
    size_t runs;
    double seconds;
};

__attribute__((noreturn)) static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "bench_nan: %s: %s\n", what, err->message);
    exit(2);
}

static bool is_gene(const struct value *value)
{
    return value->kind == VALUE_TENSOR && value->tensors[0].type == DTYPE_FLOAT;
}

/* Copies of the inputs of the case with the genes in place; the caller frees n_inputs values. */
static struct value *express(const struct network *network, const float *genes)
{
    const struct test_case *test = network->test;
    struct value *inputs = memory_zeroed(test->n_inputs, sizeof *inputs);
    struct error err = {0};
    for (size_t i = 0; i < test->n_inputs; i++) {
        value_init(&inputs[i]);
        if (value_copy(&inputs[i], &test->inputs[i], &err))
            die("inputs", &err);
        if (is_gene(&inputs[i])) {
            memcpy(inputs[i].tensors[0].data, genes, inputs[i].tensors[0].size);
            genes += inputs[i].tensors[0].count;
        }
    }
    return inputs;
}

static int measure(void *context, const float *genes, struct danger *danger)
{
    const struct network *network = context;
    struct value *inputs = express(network, genes);
    int status = danger_measure(network->meter, inputs, network->test->n_inputs, danger, NULL);
    values_free(inputs, network->test->n_inputs);
    return status;
}

/* What the outputs show, and the paper's fitness. */
static enum seen look(const struct result *result, double *spread)
{
    enum seen seen = SEEN_NOTHING;
    *spread = 0;
    if (result->outcome != OUTCOME_OK)
        return SEEN_REFUSED;
    for (size_t o = 0; o < result->count; o++) {
        const struct tensor *tensor =
            result->outputs[o].kind == VALUE_TENSOR ? result->outputs[o].tensors : NULL;
        long double least = INFINITY, most = -INFINITY;
        for (size_t i = 0; tensor && dtype_is_float(tensor->type) && i < tensor->count; i++) {
            long double x = tensor_get(tensor, i);
            if (!isfinite(x) && seen != SEEN_NAN)
                seen = isnan(x) ? SEEN_NAN : SEEN_INFINITY;
            least = fminl(least, x);
            most = fmaxl(most, x);
        }
        if (o == 0 && most > least)
            *spread = (double)(most - least);
    }
    return seen;
}

/* Runs the new genomes of a round in one job. */
static enum seen run_round(struct bench *bench, const struct network *network, const struct genetic *genetic,
                           double *spreads)
{
    struct error err = {0};
    size_t first = genetic_first_new(genetic), count = genetic_population(genetic) - first;
    struct job_set sets[POPULATION];
    struct job job = {.n_sets = count, .sets = sets};
    const uint8_t *bytes;
    enum seen seen = SEEN_NOTHING;
    bool refused = true;
    for (size_t i = 0; i < count; i++)
        sets[i] = (struct job_set){.n_inputs = network->test->n_inputs,
                                   .inputs = express(network, genetic_genome(genetic, first + i))};
    if (test_case_bytes(network->test, &bytes, &job.model_size, &err))
        die("model", &err);
    job.model = bytes;
    struct run *run;
    runner_submit(bench->runner, &job, ASK_NEVER);
    if (runner_next(bench->runner, &run, &err) != 1)
        die("running", &err);
    for (size_t i = 0; i < count; i++) {
        enum seen one = look(run_result(run, i, 0), &spreads[first + i]);
        refused = refused && one == SEEN_REFUSED;
        seen = one != SEEN_REFUSED && one > seen ? one : seen;
        values_free((struct value *)(uintptr_t)sets[i].inputs, network->test->n_inputs);
    }
    run_free(run);
    return refused ? SEEN_REFUSED : seen;
}

static void rate(const struct network *network, struct genetic *genetic, bool measured, const double *spreads)
{
    for (size_t i = genetic_first_new(genetic); i < genetic_population(genetic); i++) {
        struct danger danger;
        if (!measured)
            genetic_rate(genetic, i, spreads[i]);
        else if (measure((void *)(uintptr_t)network, genetic_genome(genetic, i), &danger) == 0)
            genetic_rate(genetic, i, danger_fitness(&danger, DANGERS_OF_NAN));
    }
}

/* Whether the guided search measures in its next round, or only leaps. */
static bool may_measure(const struct bench *bench, const struct network *network)
{
    struct danger danger;
    double start = clock_seconds(), most = bench->seconds / 10 / (POPULATION * DANGER_CLIMB_MEASURES / 2);
    return measure((void *)(uintptr_t)network, network->seed, &danger) == 0 &&
           clock_seconds() - start <= most;
}

/* What the guided search begins with besides the seed: POPULATION - 1 genomes, which the caller frees. */
static float *leaps_from_seed(const struct danger_climb *climb, const struct network *network)
{
    float *leaps = memory_zeroed((POPULATION - 1) * network->length, sizeof *leaps);
    struct danger_climb leaping = *climb;
    struct rng rng = rng_seed(SEED);
    leaping.leaps = 1;
    for (size_t i = 0; i < POPULATION - 1; i++)
        danger_climb_mutate(&leaping, &rng, network->seed, leaps + i * network->length, network->length);
    return leaps;
}

/* The guided search has its time, the others `runs` runs. */
static struct score search(struct bench *bench, const struct network *network, enum method method,
                           size_t runs)
{
    double seconds = *network->finite == '-' ? bench->seconds : bench->seconds / 10;
    struct danger_climb climb = {
        .measure = measure,
        .context = (void *)(uintptr_t)network,
        .meter = network->meter,
        .n_stretches = network->n_stretches,
        .stretches = network->stretches,
    };
    struct genetic_settings settings = {
        .seed = SEED,
        .population = POPULATION,
        .every_gene = method == PAPER,
        .guided = method == GUIDED ? danger_climb_mutate : NULL,
        .context = &climb,
        .guided_share = 0.9,
    };
    struct genetic *genetic;
    struct error err = {0};
    struct score score = {0};
    bool measured = false, asked = false;
    double spreads[POPULATION], start = clock_seconds();
    const float *seeds[POPULATION] = {network->seed};
    float *leaps = leaps_from_seed(&climb, network);
    for (size_t i = 1; i < POPULATION; i++)
        seeds[i] = leaps + (i - 1) * network->length;
    if (genetic_new(&genetic, &settings, network->n_stretches, network->stretches,
                    method == GUIDED ? POPULATION : 1, seeds, &err))
        die(network->name, &err);
    free(leaps);
    while (score.seen == SEEN_NOTHING && score.seconds < seconds && score.runs < runs) {
        score.runs += genetic_population(genetic) - genetic_first_new(genetic);
        score.seen = run_round(bench, network, genetic, spreads);
        score.seconds = clock_seconds() - start;
        if (score.seen != SEEN_NOTHING)
            break;
        if (method == GUIDED && !asked && score.runs > LEAPS) {
            measured = may_measure(bench, network);
            asked = true;
        }
        rate(network, genetic, measured, spreads);
        climb.leaps = measured ? 0.5 : 1;
        if (method == RANDOM)
            genetic_restart(genetic);
        else
            genetic_next(genetic);
    }
    genetic_free(genetic);
    return score;
}

static bool has_operator(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_node; i++)
        if (strcmp(model->graph->node[i]->op_type, name) == 0)
            return true;
    return false;
}

static void print_score(const struct score *score)
{
    static const char *const words[] = {"-", "inf", "nan", "?"};
    printf("\t%s\t%zu\t%.2f", words[score->seen], score->runs, score->seconds);
}

static void search_all(struct bench *bench, const struct network *network)
{
    struct score guided = search(bench, network, GUIDED, SIZE_MAX);
    size_t runs = guided.runs > RUNS ? guided.runs : RUNS;
    printf("%s\t%zu\t%zu\t%s\t%s", network->name, network->length, network->model->graph->n_node,
           has_operator(network->model, "Softmax") ? "softmax" : "-", network->finite);
    print_score(&guided);
    for (enum method method = RANDOM; method < METHODS; method++) {
        struct score score = search(bench, network, method, runs);
        print_score(&score);
    }
    printf("\n");
    fflush(stdout);
}

/* Whether the list says that the outputs, or all values, of a network stay finite. */
static bool is_judged(const struct bench *bench, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = bench->judged; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, length) == 0 && line[length] == '\t')
            return !bench->values || strncmp(line + length + 1, "values\t", 7) == 0;
    return false;
}

/* Nothing stays finite whatever its weights. */
static const char *finiteness(const struct bench *bench, const struct network *network)
{
    bool stays = false;
    if (bench->both ||
        stays_finite(network->model, network->test->inputs, network->test->n_inputs, &stays, NULL))
        return "-";
    return stays ? "proved" : is_judged(bench, network->name) ? "judged" : "-";
}

/* Makes inputs of the weights of the case. */
static void feed_weights(struct network *network)
{
    struct error err = {0};
    const struct model *model = test_case_model(network->test, &err);
    const Onnx__GraphProto *graph = model->graph;
    struct model_index index;
    struct model *fed;
    size_t count = 0;
    const char **from = memory_zeroed(graph->n_initializer, sizeof *from);
    const char **to = memory_zeroed(graph->n_output, sizeof *to);
    struct value *values = memory_zeroed(graph->n_initializer, sizeof *values);
    for (size_t i = 0; i < graph->n_output; i++)
        to[i] = graph->output[i]->name;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        struct tensor tensor;
        if (graph->initializer[i]->data_type != DTYPE_FLOAT || model_weight(model, i, &tensor, &err))
            continue;
        from[count] = graph->initializer[i]->name;
        value_init(&values[count]);
        value_set_name(&values[count], from[count]);
        value_set_tensor(&values[count++], &tensor);
    }
    if (model_index_init(&index, model, &err) ||
        model_cut_between(&fed, &index, from, count, to, graph->n_output, NULL, &err))
        die(network->name, &err);
    struct test_case *test = test_case_new(fed);
    if (test_case_add_inputs(test, network->test->inputs, network->test->n_inputs, &err) ||
        test_case_add_inputs(test, values, count, &err))
        die(network->name, &err);
    values_free(values, count);
    free(from);
    free(to);
    model_index_release(&index);
    test_case_free(network->test);
    network->test = test;
}

/* Makes an output of every value that a node makes. */
static void show_values(struct network *network)
{
    struct error err = {0};
    struct model *shown;
    struct model_index index;
    const struct model *model = test_case_model(network->test, &err);
    size_t count = 0;
    if (!model || model_clone(&shown, model, &err) || model_index_init(&index, model, &err))
        die(network->name, &err);
    const char **names = memory_zeroed(index.count, sizeof *names);
    for (size_t i = 0; i < index.count; i++)
        if (index.values[i].source == SOURCE_NODE)
            names[count++] = index.values[i].name;
    if (model_expose(shown, names, count, &err))
        die(network->name, &err);
    free(names);
    model_index_release(&index);
    test_case_set_model(network->test, shown);
}

/* Fills in what follows from the case. Returns false when it is not for this bench. */
static bool prepare(const struct bench *bench, struct network *network)
{
    struct error err = {0};
    if (bench->both)
        feed_weights(network);
    if (bench->values)
        show_values(network);
    const struct test_case *test = network->test;
    network->model = test_case_model(test, &err);
    network->stretches = memory_zeroed(test->n_inputs + 1, sizeof *network->stretches);
    for (size_t i = 0; i < test->n_inputs; i++)
        if (is_gene(&test->inputs[i]) && test->inputs[i].tensors[0].count > 0) {
            size_t count = test->inputs[i].tensors[0].count;
            network->stretches[network->n_stretches++] =
                (struct gene_stretch){.count = count, .low = -FLT_MAX, .high = FLT_MAX, .scale = 1};
            network->length += count;
        }
    network->seed = memory_zeroed(network->length, sizeof *network->seed);
    float *at = network->seed;
    for (size_t i = 0; i < test->n_inputs; i++)
        if (is_gene(&test->inputs[i])) {
            memcpy(at, test->inputs[i].tensors[0].data, test->inputs[i].tensors[0].size);
            at += test->inputs[i].tensors[0].count;
        }
    bool fits = network->model && network->length > 0 && network->length <= GENES;
    network->finite = fits ? finiteness(bench, network) : "-";
    return fits && danger_meter_new(&network->meter, network->model, NULL, &err) == 0;
}

static void network_release(struct network *network)
{
    danger_meter_free(network->meter);
    free(network->stretches);
    free(network->seed);
    test_case_free(network->test);
}

/* A model from a file with one random sample. */
static bool open_file(const struct bench *bench, struct network *network, const char *path)
{
    struct error err = {0};
    struct model *model;
    struct inputs inputs;
    struct value *values;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    *network = (struct network){0};
    snprintf(network->name, sizeof network->name, "%.*s", (int)strcspn(name, "."), name);
    if (model_load(&model, path, &err))
        die(path, &err);
    network->test = test_case_new(model);
    if (inputs_random(&inputs, model, 1, SEED, NULL, 0, &err) || inputs_get(&inputs, 0, &values, &err))
        die(path, &err);
    size_t count = inputs.count;
    if (test_case_add_inputs(network->test, values, count, &err))
        die(path, &err);
    values_free(values, count);
    inputs_release(&inputs);
    return prepare(bench, network);
}

/* Whether some output is of floats, as the generator declares it. */
static bool has_float_output(const struct model *model)
{
    for (size_t i = 0; i < model->graph->n_output; i++) {
        const Onnx__TypeProto *type = model->graph->output[i]->type;
        if (type && type->tensor_type && type->tensor_type->elem_type == DTYPE_FLOAT)
            return true;
    }
    return false;
}

/* The next generated network of numbers that is finite on its own inputs. */
static bool draw_network(const struct bench *bench, struct network *network, uint64_t *index)
{
    struct generate_options options = {
        .types = DTYPE_BIT(DTYPE_FLOAT), .opset = 17, .min_nodes = NODES, .max_nodes = 2 * NODES};
    struct error err = {0};
    struct danger danger;
    *network = (struct network){0};
    snprintf(network->name, sizeof network->name, "graph-%llu", (unsigned long long)*index);
    if (generate_graph(SEED, (*index)++, &options, &network->test, &err))
        return false;
    return prepare(bench, network) && has_float_output(network->model) &&
           measure(network, network->seed, &danger) == 0 && danger.nans + danger.infinities == 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct error err = {0};
    struct network network;
    char *judged;
    size_t size;
    if (argc < 7) {
        fprintf(stderr, "usage: bench_nan ENGINE LEVEL WHERE SECONDS JUDGED COUNT MODEL.onnx...\n");
        return 2;
    }
    const char *label = argv[1];
    bench.both = strcmp(argv[2], "both") == 0;
    bench.values = strcmp(argv[3], "values") == 0;
    bench.seconds = atof(argv[4]);
    if (file_read(argv[5], 1 << 20, &judged, &size, &err))
        die(argv[5], &err);
    bench.judged = judged;
    if (registry_open(&bench.registry, NULL, 0, &err) ||
        panel_open(&bench.panel, bench.registry, &label, 1, &(struct pool_options){.deadline = 60}, &err))
        die(label, &err);
    bench.runner = runner_new(&bench.panel, &(struct runner_options){.ahead = 1});
    for (int i = 7; i < argc; i++) {
        if (open_file(&bench, &network, argv[i]))
            search_all(&bench, &network);
        network_release(&network);
    }
    size_t wanted = (size_t)atoi(argv[6]);
    for (uint64_t index = 0; wanted > 0; network_release(&network))
        if (draw_network(&bench, &network, &index)) {
            search_all(&bench, &network);
            wanted--;
        }
    runner_free(bench.runner);
    panel_close(&bench.panel);
    registry_free(bench.registry);
    free(judged);
    return 0;
}
