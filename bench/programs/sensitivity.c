/*
 * What the judge notices.
 *
 *     bench_sensitivity elements N        one output element moved by twice the hard bound, and by half of it
 *     bench_sensitivity graphs NODES N    one node's output moved by a relative 1e-3 in one element
 *
 * elements: N cases each of Conv, MatMul, Softmax, LayerNormalization and LSTM in float32, float16 and
 * float64, judged in this process. graphs: N graphs of that many nodes through reference:disturb=on, judged
 * and settled; of those where the disturbance moves an output beyond its likely bound, how many are judged
 * wrong with that very node named.
 */
#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "generate/operator_case.h"
#include "model/build.h"
#include "trial/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const operators[] = {"Conv", "MatMul", "Softmax", "LayerNormalization", "LSTM"};
static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_FLOAT16, DTYPE_DOUBLE};

enum { OPERATORS = sizeof operators / sizeof *operators, TYPES = sizeof types / sizeof *types };

struct score {
    size_t tried, caught, passed;
};

/* The output as an engine would give it, with one element off by `factor` hard bounds, judged. */
static enum verdict_kind judge_moved(const struct bounded *b, size_t element, double factor)
{
    struct value value;
    struct tensor tensor;
    value_init(&value);
    if (bounded_to_tensor(b, &tensor, NULL))
        return VERDICT_UNTESTED;
    tensor_set(&tensor, element, b->value[element] + (long double)factor * bounded_hard(b, element));
    value_set_tensor(&value, &tensor);
    struct verdict verdict = {.kind = VERDICT_AGREES};
    verdict_output(&verdict, 0, b, &value);
    value_release(&value);
    return verdict.kind;
}

/*
 * Rounding into the type moves the disturbed value by up to half an ulp more. Where the hard bound is hardly
 * larger than that, half of it cannot be told from all of it in that type, so such elements are not tried.
 */
static bool can_be_moved(const struct bounded *b, size_t i)
{
    double hard = bounded_hard(b, i);
    long double moved = fabsl(b->value[i]) + 2 * (long double)hard;
    return isfinite(hard) && isfinite(b->value[i]) && hard >= 4 * bounded_unit(b) * (double)moved &&
           moved < dtype_highest(b->type) && hard > 8 * dtype_precision(b->type).smallest;
}

static void score_output(struct score *score, const struct bounded *b, struct rng *rng)
{
    for (int tries = 0; tries < 20 && b->count; tries++) {
        size_t i = (size_t)rng_below(rng, b->count);
        if (!can_be_moved(b, i))
            continue;
        enum verdict_kind twice = judge_moved(b, i, 2), half = judge_moved(b, i, 0.5);
        score->tried++;
        score->caught += twice == VERDICT_WRONG;
        score->passed += half == VERDICT_AGREES || half == VERDICT_SUSPECT;
        return;
    }
}

static int score_case(struct score *score, const struct test_case *test, struct rng *rng)
{
    const struct model *model = test_case_model(test, NULL);
    struct evaluator *evaluator;
    struct bounded *results;
    size_t count;
    struct error err = {0};
    if (!model)
        return -1;
    int status = evaluator_new(&evaluator, model, NULL, &err);
    if (!status)
        status = evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &results, &count, &err);
    if (!status) {
        score_output(score, &results[0], rng);
        for (size_t i = 0; i < count; i++)
            bounded_release(&results[i]);
        free(results);
    }
    evaluator_free(evaluator);
    return status;
}

static int elements(size_t wanted)
{
    struct score all = {0};
    printf("%-20s %-8s %8s %14s %14s\n", "operator", "type", "cases", "twice: caught", "half: passed");
    for (size_t o = 0; o < OPERATORS; o++)
        for (size_t t = 0; t < TYPES; t++) {
            struct score score = {0};
            struct rng rng = rng_seed(o * TYPES + t);
            struct generate_options options = {
                .ops = operators[o], .types = DTYPE_BIT(types[t]), .fill = FILL_NORMAL + 1, .opset = 17};
            for (uint64_t index = 0; score.tried < wanted && index < 20 * wanted; index++) {
                struct test_case *made;
                if (generate_one(11, index, &options, &made, NULL))
                    continue;
                score_case(&score, made, &rng);
                test_case_free(made);
            }
            printf("%-20s %-8s %8zu %14zu %14zu\n", operators[o], dtype_name(types[t]), score.tried,
                   score.caught, score.passed);
            all.tried += score.tried;
            all.caught += score.caught;
            all.passed += score.passed;
            if (score.tried < wanted)
                return 1;
        }
    printf("elements tried %zu caught %zu passed %zu\n", all.tried, all.caught, all.passed);
    return all.caught == all.tried && all.passed == all.tried ? 0 : 1;
}

/* Writes the wish into the model; the node it names, on the heap, or NULL when the draw hit nothing that can
 * be moved. */
static char *disturb(struct test_case *test, struct rng *rng)
{
    struct model *model;
    if (model_clone(&model, test_case_model(test, NULL), NULL))
        return NULL;
    const Onnx__NodeProto *node = model->graph->node[rng_below(rng, model->graph->n_node)];
    Onnx__StringStringEntryProto *entry = arena_alloc(&model->arena, sizeof *entry);
    onnx__string_string_entry_proto__init(entry);
    entry->key = arena_strdup(&model->arena, "disturb");
    entry->value = arena_printf(&model->arena, "%s@%u", node->name, (unsigned)rng_below(rng, 1000));
    model->proto->metadata_props = arena_array(&model->arena, 1, sizeof entry);
    model->proto->metadata_props[0] = entry;
    model->proto->n_metadata_props = 1;
    char *name = memory_strdup(node->name);
    test_case_set_model(test, model);
    return name;
}

struct tally {
    size_t graphs, moved, named, elsewhere, imprecise;
};

static void take(struct tally *tally, struct trial_done *done)
{
    const struct settlement *settlement = &done->settlements[0];
    enum verdict_kind kind = done->judgement.verdicts[0].kind;
    bool moved = kind == VERDICT_SUSPECT || kind == VERDICT_IMPRECISE || verdict_is_finding(kind);
    tally->graphs++;
    tally->moved += moved;
    tally->imprecise += kind == VERDICT_IMPRECISE || kind == VERDICT_SUSPECT;
    const struct model *model = test_case_model(done->test, NULL);
    if (moved && settlement->count == 1 && model) {
        bool right = text_equal(model->graph->node[settlement->nodes[0]]->name, done->user);
        tally->named += right;
        tally->elsewhere += !right;
        if (!right)
            printf("  %s was disturbed, %s is named: %s\n", (char *)done->user, settlement->text,
                   done->test->recipe);
    } else if (moved) {
        printf("  %s was disturbed, %s: %s\n", (char *)done->user, verdict_name(kind), done->test->recipe);
    }
    free(done->user);
    trial_done_release(done);
}

static int graphs(int nodes, size_t wanted)
{
    struct registry *registry;
    struct error err = {0};
    const struct engine_spec *reference, *disturbed;
    if (registry_open(&registry, NULL, 0, &err) ||
        registry_find(registry, given_typed(registry_arena(registry), "reference"), &reference, &err) ||
        registry_find(registry, given_typed(registry_arena(registry), "reference:disturb=on"), &disturbed,
                      &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    struct pool_options pool_options = {.deadline = 20};
    struct pool *pool = pool_new(&pool_options);
    int number = pool_add(pool, reference), engine = pool_add(pool, disturbed);
    struct panel panel = {.pool = pool, .count = 1, .engines = &engine, .reference = number};
    struct trial_options options = {.panel = &panel, .settle = true};
    struct trials *trials = trials_new(&options);
    struct generate_options generate = {
        .min_nodes = nodes, .max_nodes = nodes, .types = DTYPE_BIT(DTYPE_FLOAT), .fill = FILL_NORMAL + 1};
    struct rng rng = rng_seed((uint64_t)nodes);
    struct tally tally = {0};
    for (uint64_t index = 0; tally.graphs < wanted;) {
        while (index < wanted && trials_room(trials)) {
            struct test_case *made;
            if (generate_graph(13, index++, &generate, &made, &err)) {
                fprintf(stderr, "%s\n", err.message);
                return 2;
            }
            char *name = disturb(made, &rng);
            if (trials_submit(trials, made, name, &err))
                return 2;
        }
        struct trial_done done;
        if (trials_next(trials, &done, &err) != 1)
            return 2;
        take(&tally, &done);
    }
    trials_free(trials);
    pool_free(pool);
    registry_free(registry);
    double percent = tally.moved ? 100.0 * (double)tally.named / (double)tally.moved : 0;
    printf("nodes %d graphs %zu moved %zu named %zu elsewhere %zu unsettled %zu percent %.1f\n", nodes,
           tally.graphs, tally.moved, tally.named, tally.elsewhere, tally.imprecise, percent);
    return percent >= 95 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && text_equal(argv[1], "elements"))
        return elements(strtoull(argv[2], NULL, 10));
    if (argc == 4 && text_equal(argv[1], "graphs"))
        return graphs(atoi(argv[2]), strtoull(argv[3], NULL, 10));
    fprintf(stderr, "usage: bench_sensitivity elements N | graphs NODES N\n");
    return 2;
}
