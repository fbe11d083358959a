/*
 * Are an engine's gradients those of the operators? Each model of a list is differentiated by the engine and
 * by central differences of the reference's exact values, which no gradient of anybody enters.
 *
 *     gradients ENGINE LEAST CASES...
 *
 * Prints one line for each model: right, unsupported with the engine's words, or wrong with the element that
 * is most so. The last line is "N right, N unsupported, N wrong". Status 0 when none is wrong and at least
 * LEAST are right.
 */
#include "one_node.h"

#include "base/memory.h"
#include "engine/pool.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the step of the differences (their error is its square) and of float32 in the engine. */
static const long double step = 1e-4L, tolerance = 2e-4L;

static void die(const struct error *err)
{
    fprintf(stderr, "gradients: %s\n", err->message);
    exit(2);
}

/* The sum of all outputs' elements times their derivatives. */
static long double scalar(const struct one_node *node, struct evaluator *evaluator)
{
    struct bounded *results;
    struct error err = {0};
    size_t count, next = 0;
    long double sum = 0;
    if (evaluator_run(evaluator, node->inputs, node->n_inputs, NULL, 0, &results, &count, &err) < 0)
        die(&err);
    for (size_t i = 0; i < count; i++) {
        if (dtype_is_float(results[i].type)) {
            const struct tensor *upstream = node->upstream[next++].tensors;
            for (size_t k = 0; k < upstream->count; k++)
                sum += results[i].value[k] * tensor_get(upstream, k);
        }
        bounded_release(&results[i]);
    }
    free(results);
    return sum;
}

/* By element k of an input, which is left as it was. */
static long double difference(const struct one_node *node, struct evaluator *evaluator, struct tensor *input,
                              size_t k)
{
    long double at = tensor_get(input, k), ends[2], sums[2];
    for (int i = 0; i < 2; i++) {
        tensor_set(input, k, i ? at - step : at + step);
        ends[i] = tensor_get(input, k);
        sums[i] = scalar(node, evaluator);
    }
    tensor_set(input, k, at);
    return (sums[0] - sums[1]) / (ends[0] - ends[1]);
}

static const struct value *find(const struct result *result, const char *name)
{
    for (size_t i = 0; i < result->count; i++)
        if (strcmp(result->outputs[i].name, name) == 0)
            return &result->outputs[i];
    return NULL;
}

/* False, having said why, when a gradient is not what the differences say. */
static bool agrees(const struct one_node *node, const struct result *result)
{
    struct evaluate_options options = {0};
    struct evaluator *evaluator;
    struct error err = {0};
    bool good = true;
    if (evaluator_new(&evaluator, node->model, &options, &err) < 0)
        die(&err);
    for (size_t i = 0; good && i < node->n_inputs; i++) {
        struct tensor *input = node->inputs[i].tensors;
        if (!dtype_is_float(input->type))
            continue;
        const struct value *given = find(result, node->inputs[i].name);
        good = given && given->kind == VALUE_TENSOR && given->tensors->type == input->type &&
               shape_equal(&given->tensors->shape, &input->shape);
        if (!good)
            printf("%-24s wrong: no gradient by %s in its type and shape\n", node->name,
                   node->inputs[i].name);
        for (size_t k = 0; good && k < input->count; k++) {
            long double expected = difference(node, evaluator, input, k), got = tensor_get(given->tensors, k);
            good = fabsl(got - expected) <= tolerance * (1 + fabsl(expected));
            if (!good)
                printf("%-24s wrong: by element %zu of %s expected %.6Lg, got %.6Lg\n", node->name, k,
                       node->inputs[i].name, expected, got);
        }
    }
    evaluator_free(evaluator);
    return good;
}

enum { RIGHT, UNSUPPORTED, WRONG };

static int try_one(struct pool *pool, int engine, const struct one_node *node)
{
    struct job_gradient gradient;
    const char **wanted = one_node_wanted(node, &gradient);
    struct job job = one_node_job(node, engine, &gradient);
    struct result result;
    struct error err = {0};
    if (pool_run_one(pool, &job, &result, &err) < 0)
        die(&err);
    free(wanted);
    int verdict = WRONG;
    if (result.outcome == OUTCOME_UNSUPPORTED) {
        verdict = UNSUPPORTED;
        printf("%-24s unsupported: %s\n", node->name, result.message ? result.message : "");
    } else if (result.outcome != OUTCOME_OK) {
        printf("%-24s wrong: %s: %s\n", node->name, outcome_name(result.outcome),
               result.message ? result.message : "");
    } else if (agrees(node, &result)) {
        verdict = RIGHT;
        printf("%-24s right\n", node->name);
    }
    result_release(&result);
    return verdict;
}

int main(int argc, char **argv)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err = {0};
    size_t tally[3] = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: gradients ENGINE LEAST CASES...\n");
        return 2;
    }
    if (registry_open(&registry, NULL, 0, &err) < 0 ||
        registry_find(registry, given_typed(registry_arena(registry), argv[1]), &spec, &err) < 0)
        die(&err);
    struct pool *pool = pool_new(&(struct pool_options){.deadline = 60});
    int engine = pool_add(pool, spec);
    for (int i = 3; i < argc; i++) {
        struct one_node *list;
        size_t count;
        if (one_nodes_read(argv[i], &list, &count, &err) < 0)
            die(&err);
        for (size_t k = 0; k < count; k++)
            if (list[k].n_upstream)
                tally[try_one(pool, engine, &list[k])]++;
        one_nodes_free(list, count);
    }
    pool_free(pool);
    registry_free(registry);
    printf("%zu right, %zu unsupported, %zu wrong\n", tally[RIGHT], tally[UNSUPPORTED], tally[WRONG]);
    return tally[WRONG] || tally[RIGHT] < strtoul(argv[2], NULL, 10);
}
