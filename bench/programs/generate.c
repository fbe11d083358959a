/*
 * How fast plans become models: bench_generate COUNT [BLOCKS | graph]. Plans are drawn from the whole corpus,
 * operators and subgraphs, any topology and mutations; each case is made and serialised, its inputs too.
 * Prints models, nodes, bytes and CPU seconds.
 */
#include "generate/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    bool graph = argc > 2 && strcmp(argv[2], "graph") == 0;
    size_t n_blocks = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    struct generate_options ten = {.min_nodes = 10, .max_nodes = 10};
    struct blocks *blocks = blocks_new();
    struct error err = {0};
    struct rng root = rng_seed(1);
    size_t nodes = 0, bytes = 0, inputs = 0, refused = 0;
    if (blocks_add_builtin(blocks, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    double start = cpu_seconds();
    for (uint64_t i = 0; i < count; i++) {
        struct rng rng = rng_split(&root, i);
        struct plan plan;
        struct test_case *c;
        const uint8_t *data;
        size_t size;
        if (graph ? generate_graph(1, i, &ten, &c, &err)
                  : plan_random(&plan, blocks, &rng, n_blocks ? n_blocks : 2 + i % 3, NULL, &err) ||
                        generate_plan(1, i, &plan, NULL, &c, &err)) {
            refused++;
            continue;
        }
        if (test_case_bytes(c, &data, &size, &err))
            return 2;
        nodes += test_case_model(c, NULL)->graph->n_node;
        bytes += size;
        for (size_t k = 0; k < c->n_inputs; k++)
            inputs += c->inputs[k].tensors[0].size;
        test_case_free(c);
    }
    double seconds = cpu_seconds() - start;
    printf(
        "%s: %llu models, %zu refused, %.1f nodes, %.0f bytes and %.0f bytes of inputs each, %.3f s, %.0f a "
        "second\n",
        graph ? "graphs with values" : "plans", (unsigned long long)count, refused,
        (double)nodes / (double)count, (double)bytes / (double)count, (double)inputs / (double)count, seconds,
        (double)count / seconds);
    blocks_free(blocks);
    return 0;
}
