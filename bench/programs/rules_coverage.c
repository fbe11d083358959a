/*
 * How many pairs of equivalent models the rules make, of which operators, and how fast such pairs are run.
 *
 *     bench_rules_coverage [--seconds S] [--run N] [--sets N] [--seed S] [-e ENGINE]
 *
 * For `seconds` (600) cases are generated and rewritten; pairs are counted whose graphs (operators,
 * attributes, connections, types and shapes, but not the numbers in weights) no pair before had. Then `run`
 * (200) pairs, whose models are loaded once each, answer `sets` (400) sets of inputs on ENGINE
 * (onnxruntime), and the answers are compared with the published tolerance. The last lines are read by
 * bench/rules-coverage:
 *
 *     pairs N distinct N seconds T
 *     ran N sets N seconds T differ N
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"
#include "engine/pool.h"
#include "generate/operator_case.h"
#include "judge/pair.h"
#include "rule_cases.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMS = 4 }; /* rewritten forms of each generated case */

struct coverage {
    double seconds;
    size_t run, sets;
    uint64_t seed;
    const char *engine;
    size_t *pairs;       /* for each rule */
    size_t *operators;   /* for each rule and operator: how often it was rewritten */
    uint64_t *seen;      /* hashes of pairs, an open hash table */
    size_t n_seen, room; /* room is a power of two */
    size_t made;
};

/* --- Which pairs are different --- */

static uint64_t hash_message(uint64_t hash, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = memory_zeroed(size + 1, 1);
    protobuf_c_message_pack(message, bytes);
    hash = hash_bytes(hash, bytes, size);
    free(bytes);
    return hash;
}

static uint64_t hash_graph(uint64_t hash, const struct model *model)
{
    const Onnx__GraphProto *graph = model->graph;
    hash = hash_combine(hash, (uint64_t)model_opset(model));
    for (size_t i = 0; i < graph->n_node; i++)
        hash = hash_message(hash, &graph->node[i]->base);
    for (size_t i = 0; i < graph->n_input; i++)
        hash = hash_message(hash, &graph->input[i]->base);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const Onnx__TensorProto *weights = graph->initializer[i];
        hash = hash_combine(hash, hash_text(weights->name));
        hash = hash_combine(hash, (uint64_t)weights->data_type);
        hash = hash_bytes(hash, weights->dims, weights->n_dims * sizeof *weights->dims);
    }
    return hash;
}

static bool is_new(struct coverage *coverage, uint64_t hash)
{
    hash += hash == 0;
    if (2 * coverage->n_seen >= coverage->room) {
        struct coverage larger = {.room = coverage->room ? 2 * coverage->room : 1024};
        larger.seen = memory_zeroed(larger.room, sizeof *larger.seen);
        for (size_t i = 0; i < coverage->room; i++)
            if (coverage->seen[i])
                is_new(&larger, coverage->seen[i]);
        free(coverage->seen);
        coverage->seen = larger.seen;
        coverage->room = larger.room;
    }
    size_t at = (size_t)hash & (coverage->room - 1);
    for (; coverage->seen[at]; at = (at + 1) & (coverage->room - 1))
        if (coverage->seen[at] == hash)
            return false;
    coverage->seen[at] = hash;
    coverage->n_seen++;
    return true;
}

/* --- Which operators a rule rewrote --- */

static void count_operator(struct coverage *coverage, size_t rule, const char *op_type)
{
    for (size_t i = 0; i < op_count(); i++)
        if (text_equal(op_at(i)->name, op_type))
            coverage->operators[rule * op_count() + i]++;
}

/* The node at the site: the one that makes the value, or of an input the one that uses it. A rule about the
 * whole model rewrites all its nodes. */
static void count_site(struct coverage *coverage, const struct test_case *rewritten)
{
    const char *text = rewritten->equivalence->rewriting, *at = strchr(text, '@');
    const struct model *model = test_case_model(rewritten->equivalence->origin, NULL);
    const struct rule *rule = rewriting_rule(text);
    struct model_index index;
    size_t number = 0;
    char site[200] = "";
    while (number < rules_count && rules_all[number] != rule)
        number++;
    if (number == rules_count || !model || model_index_init(&index, model, NULL))
        return;
    coverage->pairs[number]++;
    if (at)
        snprintf(site, sizeof site, "%.*s", (int)strcspn(at + 1, "# "), at + 1);
    const struct index_value *value = *site ? model_index_find(&index, site) : NULL;
    if (value && value->source == SOURCE_NODE)
        count_operator(coverage, number, model->graph->node[value->number]->op_type);
    else if (value && value->consumers)
        count_operator(coverage, number, model->graph->node[value->consumer[0]]->op_type);
    for (size_t i = 0; !at && i < model->graph->n_node; i++)
        count_operator(coverage, number, model->graph->node[i]->op_type);
    model_index_release(&index);
}

/* --- Making pairs --- */

static struct test_case *generate(const struct coverage *coverage, size_t index)
{
    struct generate_options options = {.max_opset = 17, .min_nodes = 2, .max_nodes = 8};
    struct test_case *test;
    int failed = index % 2 ? generate_one(coverage->seed, index, &options, &test, NULL)
                           : generate_graph(coverage->seed, index, &options, &test, NULL);
    return failed ? NULL : test;
}

/* Up to FORMS rewritten forms of case number `index`, the same ones every time: any rules on any case, then
 * each rule in turn on a case with its own operators. */
static size_t make_pairs(const struct coverage *coverage, size_t index, struct test_case *forms[FORMS])
{
    struct rule_choice choice = {.no_runs = true};
    struct rng rng = rng_seed(hash_combine(coverage->seed, index));
    struct test_case *origin = generate(coverage, index);
    size_t count = 0;
    for (size_t i = 0; origin && i < FORMS / 2; i++)
        count += rewriting_draw(origin, &choice, 1, 8, &rng, &forms[count], NULL) == 1;
    test_case_free(origin);
    for (size_t i = 0; i < FORMS / 2; i++) {
        size_t number = index * FORMS / 2 + i;
        struct rule_case_options options = {.rule = rules_all[number % rules_count], .seed = coverage->seed};
        if (options.rule->scope != RULE_RUN)
            count += rule_case_draw(&options, number / rules_count, &forms[count], NULL) == 1;
    }
    return count;
}

static double make_all(struct coverage *coverage)
{
    double start = clock_seconds();
    for (size_t index = 0; clock_seconds() - start < coverage->seconds; index++) {
        struct test_case *forms[FORMS];
        size_t count = make_pairs(coverage, index, forms);
        for (size_t i = 0; i < count; i++) {
            const struct model *from = test_case_model(forms[i]->equivalence->origin, NULL);
            const struct model *to = test_case_model(forms[i], NULL);
            coverage->made++;
            if (from && to && is_new(coverage, hash_graph(hash_graph(1, from), to)))
                count_site(coverage, forms[i]);
            test_case_free(forms[i]);
        }
    }
    return clock_seconds() - start;
}

/* --- Running pairs --- */

struct runs {
    struct pool *pool;
    int engine;
    size_t sets, ran, differ, refused;
};

/* Both forms take the same inputs, so that other numbers can be given to both. */
static bool same_inputs(const struct test_case *a, const struct test_case *b)
{
    if (a->n_inputs != b->n_inputs)
        return false;
    for (size_t i = 0; i < a->n_inputs; i++)
        if (a->inputs[i].kind != VALUE_TENSOR || b->inputs[i].kind != VALUE_TENSOR ||
            !text_equal(a->inputs[i].name, b->inputs[i].name) ||
            !tensor_identical(&a->inputs[i].tensors[0], &b->inputs[i].tensors[0]))
            return false;
    return true;
}

/* Floating-point inputs are drawn anew; others may be parameters and stay. */
static struct value *draw_set(const struct test_case *test, struct rng *rng)
{
    struct value *inputs = memory_zeroed(test->n_inputs + 1, sizeof *inputs);
    for (size_t i = 0; i < test->n_inputs; i++) {
        value_init(&inputs[i]);
        if (value_copy(&inputs[i], &test->inputs[i], NULL))
            continue;
        struct tensor *tensor = &inputs[i].tensors[0];
        for (size_t k = 0; dtype_is_float(tensor->type) && k < tensor->count; k++)
            tensor_set(tensor, k, rng_normal(rng));
    }
    return inputs;
}

/* Runs all sets on one form; the answers are the caller's. */
static int run_form(struct runs *runs, const struct test_case *test, const struct job_set *sets,
                    struct result *answers, struct error *err)
{
    struct job job = {.engine = runs->engine, .n_sets = runs->sets, .sets = sets};
    const uint8_t *bytes;
    if (test_case_bytes(test, &bytes, &job.model_size, err))
        return -1;
    job.model = bytes;
    pool_submit(runs->pool, &job);
    for (size_t i = 0; i < runs->sets; i++) {
        struct job back;
        bool differ;
        if (pool_next(runs->pool, 60, &back, &answers[i], &differ, err) != 1)
            return -1;
    }
    return 0;
}

static void compare(struct runs *runs, const struct test_case *rewritten, const struct result *a,
                    const struct result *b)
{
    struct pair pair;
    struct error err = {0};
    size_t differ = 0;
    if (pair_open(&pair, rewritten, NULL, NULL, &err))
        return;
    for (size_t i = 0; i < runs->sets; i++) {
        struct verdict verdict = {0};
        pair_judge(&pair, &a[i], &b[i], &verdict);
        differ += verdict.kind == VERDICT_SUSPECT || verdict_is_finding(verdict.kind);
    }
    pair_close(&pair);
    bool answered = a[0].outcome == OUTCOME_OK && b[0].outcome == OUTCOME_OK;
    runs->ran += answered;
    runs->refused += !answered;
    runs->differ += differ > 0;
}

static int run_pair(struct runs *runs, const struct test_case *rewritten, struct rng *rng, struct error *err)
{
    const struct test_case *origin = rewritten->equivalence->origin;
    struct job_set *sets = memory_zeroed(runs->sets, sizeof *sets);
    struct result *a = memory_zeroed(runs->sets, sizeof *a), *b = memory_zeroed(runs->sets, sizeof *b);
    for (size_t i = 0; i < runs->sets; i++)
        sets[i] = (struct job_set){.n_inputs = origin->n_inputs, .inputs = draw_set(origin, rng)};
    int result = run_form(runs, origin, sets, a, err);
    if (!result)
        result = run_form(runs, rewritten, sets, b, err);
    if (!result)
        compare(runs, rewritten, a, b);
    for (size_t i = 0; i < runs->sets; i++) {
        values_free((struct value *)sets[i].inputs, sets[i].n_inputs);
        result_release(&a[i]);
        result_release(&b[i]);
    }
    free(a);
    free(b);
    free(sets);
    return result;
}

static int run_all(const struct coverage *coverage, struct runs *runs, struct error *err)
{
    struct rng rng = rng_seed(coverage->seed);
    int result = 0;
    for (size_t index = 0; !result && runs->ran < coverage->run && index < 20 * coverage->run + 100;
         index++) {
        struct test_case *forms[FORMS];
        size_t count = make_pairs(coverage, index, forms);
        for (size_t i = 0; i < count; i++) {
            if (!result && runs->ran < coverage->run && forms[i]->n_inputs > 0 &&
                same_inputs(forms[i], forms[i]->equivalence->origin))
                result = run_pair(runs, forms[i], &rng, err);
            test_case_free(forms[i]);
        }
    }
    return result;
}

static int run_engine(const struct coverage *coverage, struct error *err)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct runs runs = {.sets = coverage->sets};
    if (registry_open(&registry, NULL, 0, err) ||
        registry_find(registry, given_typed(registry_arena(registry), coverage->engine), &spec, err))
        return -1;
    runs.pool = pool_new(&(struct pool_options){.deadline = 10});
    runs.engine = pool_add(runs.pool, spec);
    pool_warm(runs.pool);
    double start = clock_seconds();
    int result = run_all(coverage, &runs, err);
    printf("ran %zu sets %zu seconds %.2f differ %zu refused %zu\n", runs.ran, runs.sets,
           clock_seconds() - start, runs.differ, runs.refused);
    pool_free(runs.pool);
    registry_free(registry);
    return result;
}

/* --- Tables --- */

static void print_table(const struct coverage *coverage)
{
    printf("%-24s %7s %9s  %s\n", "rule", "pairs", "operators", "which, with how many pairs");
    for (size_t r = 0; r < rules_count; r++) {
        const size_t *row = &coverage->operators[r * op_count()];
        size_t count = 0;
        if (rules_all[r]->scope == RULE_RUN)
            continue;
        for (size_t i = 0; i < op_count(); i++)
            count += row[i] > 0;
        printf("%-24s %7zu %9zu ", rules_all[r]->name, coverage->pairs[r], count);
        for (size_t i = 0; i < op_count(); i++)
            if (row[i])
                printf(" %s %zu", op_at(i)->name, row[i]);
        printf("\n");
    }
}

static void read_options(struct coverage *coverage, int argc, char **argv)
{
    static const struct option options[] = {
        {"seconds", required_argument, NULL, 't'}, {"run", required_argument, NULL, 'r'},
        {"sets", required_argument, NULL, 'n'},    {"seed", required_argument, NULL, 's'},
        {"engine", required_argument, NULL, 'e'},  {0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "e:", options, NULL)) != -1)
        switch (option) {
        case 't':
            coverage->seconds = strtod(optarg, NULL);
            break;
        case 'r':
            coverage->run = strtoul(optarg, NULL, 10);
            break;
        case 'n':
            coverage->sets = strtoul(optarg, NULL, 10);
            break;
        case 's':
            coverage->seed = strtoull(optarg, NULL, 10);
            break;
        case 'e':
            coverage->engine = optarg;
            break;
        default:
            fprintf(stderr, "usage: see the head of bench/programs/rules_coverage.c\n");
            exit(2);
        }
}

int main(int argc, char **argv)
{
    struct coverage coverage = {.seconds = 600, .run = 200, .sets = 400, .seed = 1, .engine = "onnxruntime"};
    struct error err = {0};
    read_options(&coverage, argc, argv);
    coverage.pairs = memory_zeroed(rules_count, sizeof *coverage.pairs);
    coverage.operators = memory_zeroed(rules_count * op_count(), sizeof *coverage.operators);
    double seconds = make_all(&coverage);
    print_table(&coverage);
    printf("pairs %zu distinct %zu seconds %.1f\n", coverage.made, coverage.n_seen, seconds);
    int result = coverage.run ? run_engine(&coverage, &err) : 0;
    if (result)
        fprintf(stderr, "%s\n", err.message);
    free(coverage.pairs);
    free(coverage.operators);
    free(coverage.seen);
    return result ? 2 : 0;
}
