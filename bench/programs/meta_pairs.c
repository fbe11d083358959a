/*
 * How far engines are apart in single operators, forward and backward, and what the way through Assay costs
 * in memory: the meta-operators paper's tables 2 and 3, and its figures 7 and 8.
 *
 *     bench_meta_pairs apart CASES ENGINE...
 *     bench_meta_pairs memory CASES ENGINE
 *
 * apart prints a line for each case, direction and pair of engines that both answer: the mean absolute
 * difference of all elements (equal infinities and NaN on both sides are no difference, NaN on one side makes
 * it inf). memory prints for each case the most resident memory that a worker of its own took, in KB, with
 * the case run eleven times forward, and by how much each of the last ten runs let it grow.
 */
#include "one_node.h"

#include "engine/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ENGINES = 12, RUNS = 10 };

static void die(const char *what)
{
    fprintf(stderr, "meta_pairs: %s\n", what);
    exit(2);
}

static struct pool *open_pool(struct registry **registry, int n, char **labels, int *engines)
{
    struct error err = {0};
    const struct engine_spec *spec;
    if (registry_open(registry, NULL, 0, &err))
        die(err.message);
    struct pool *pool = pool_new(&(struct pool_options){.deadline = 60});
    for (int i = 0; i < n; i++) {
        if (registry_find(*registry, given_typed(registry_arena(*registry), labels[i]), &spec, &err))
            die(err.message);
        engines[i] = pool_add(pool, spec);
    }
    return pool;
}

static void run(struct pool *pool, const struct one_node *node, int engine, bool backward,
                struct result *result)
{
    struct job_gradient gradient;
    struct error err = {0};
    const char **wanted = one_node_wanted(node, &gradient);
    struct job job = one_node_job(node, engine, backward ? &gradient : NULL);
    if (pool_run_one(pool, &job, result, &err) < 0)
        die(err.message);
    free(wanted);
}

/* --- Mean absolute differences --- */

static long double element_apart(long double a, long double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isnan(a) || isnan(b) ? INFINITY : fabsl(a - b);
}

/* False when they cannot be compared: not all outputs are tensors of one type and shape. */
static bool mean_apart(const struct result *a, const struct result *b, double *mean)
{
    long double sum = 0;
    size_t count = 0;
    if (a->outcome != OUTCOME_OK || b->outcome != OUTCOME_OK || a->count != b->count)
        return false;
    for (size_t k = 0; k < a->count; k++) {
        const struct value *x = &a->outputs[k], *y = &b->outputs[k];
        if (x->kind != VALUE_TENSOR || y->kind != VALUE_TENSOR || x->tensors->type != y->tensors->type ||
            !shape_equal(&x->tensors->shape, &y->tensors->shape) || !dtype_is_real(x->tensors->type))
            return false;
        for (size_t i = 0; i < x->tensors->count; i++)
            sum += element_apart(tensor_get(x->tensors, i), tensor_get(y->tensors, i));
        count += x->tensors->count;
    }
    *mean = count ? (double)(sum / (long double)count) : 0;
    return true;
}

static void print_pairs(const char *name, bool backward, int n, char **labels, const struct result *results)
{
    double mean;
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (mean_apart(&results[i], &results[k], &mean))
                printf("%s\t%s\t%s\t%s\t%.3g\n", name, backward ? "backward" : "forward", labels[i],
                       labels[k], mean);
}

static void print_apart(const struct one_node *nodes, size_t count, int n, char **labels)
{
    int engines[MOST_ENGINES];
    struct registry *registry;
    if (n > MOST_ENGINES)
        die("too many engines");
    struct pool *pool = open_pool(&registry, n, labels, engines);
    for (size_t i = 0; i < count; i++)
        for (int backward = 0; backward < (nodes[i].n_upstream ? 2 : 1); backward++) {
            struct result results[MOST_ENGINES];
            for (int k = 0; k < n; k++)
                run(pool, &nodes[i], engines[k], backward, &results[k]);
            print_pairs(nodes[i].name, backward, n, labels, results);
            for (int k = 0; k < n; k++)
                result_release(&results[k]);
        }
    pool_free(pool);
    registry_free(registry);
}

/* --- Memory --- */

/* A line of /proc/PROCESS/status, in KB. */
static long status_of(long process, const char *name)
{
    char path[64], line[256];
    long found = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            found = strtol(line + strlen(name) + 1, NULL, 10);
    if (file)
        fclose(file);
    return found;
}

/* Of the processes under this one, that with the most: the worker, whatever started it. */
static long most_below(long process, const char *name)
{
    char path[96];
    long most = 0, child;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", process, process);
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%ld", &child) == 1) {
        long own = status_of(child, name), below = most_below(child, name);
        most = own > most ? own : most;
        most = below > most ? below : most;
    }
    if (file)
        fclose(file);
    return most;
}

static void print_memory(const struct one_node *nodes, size_t count, char *label)
{
    for (size_t i = 0; i < count; i++) {
        int engine;
        struct registry *registry;
        struct result result;
        struct pool *pool = open_pool(&registry, 1, &label, &engine);
        long before = 0;
        enum outcome outcome = OUTCOME_OK;
        for (int k = 0; k <= RUNS && outcome == OUTCOME_OK; k++) {
            run(pool, &nodes[i], engine, false, &result);
            outcome = result.outcome;
            result_release(&result);
            before = k ? before : most_below(getpid(), "VmRSS:");
        }
        if (outcome == OUTCOME_OK)
            printf("%s\t%ld\t%.1f\n", nodes[i].name, most_below(getpid(), "VmHWM:"),
                   (double)(most_below(getpid(), "VmRSS:") - before) / RUNS);
        pool_free(pool);
        registry_free(registry);
    }
}

int main(int argc, char **argv)
{
    struct one_node *nodes;
    struct error err = {0};
    size_t count;
    if (argc < 4)
        die("usage: bench_meta_pairs apart CASES ENGINE... | memory CASES ENGINE");
    if (one_nodes_read(argv[2], &nodes, &count, &err) < 0)
        die(err.message);
    if (strcmp(argv[1], "apart") == 0)
        print_apart(nodes, count, argc - 3, argv + 3);
    else
        print_memory(nodes, count, argv[3]);
    one_nodes_free(nodes, count);
    return 0;
}
