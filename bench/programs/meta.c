/*
 * Are meta-operators their libraries' operators? Models of one node through Assay's protocol, forward and
 * backward, against what programs of their own made of the same inputs by calling the libraries directly.
 *
 *     bench_meta write CASES FOLDER
 *     bench_meta compare CASES ENGINE=RESULTS...
 *
 * write makes FOLDER/cases.bin, which the direct programs read. compare prints a line for each case with the
 * largest difference, forward and backward, for each engine: it must be 0, bit by bit. A dash says that the
 * engine lacks the operator or has no gradient of it, a dot that the direct program does not call it. A
 * library that refuses a model must do so both ways: the outcome through Assay is printed then. A case in
 * which the library is known to corrupt memory has no result to compare and is not run. Status 0 when nothing
 * differs.
 */
#include "meta_file.h"
#include "one_node.h"

#include "base/map.h"
#include "base/memory.h"
#include "engine/pool.h"

#include <math.h>

enum { MOST_ENGINES = 8 };

static void die(const struct error *err)
{
    meta_die(err->message);
}

static struct meta_tensor view(const struct tensor *tensor)
{
    struct meta_tensor made = {.type = tensor->type,
                               .rank = (uint32_t)tensor->shape.rank,
                               .size = tensor->size,
                               .data = tensor->data};
    for (int i = 0; i < tensor->shape.rank && i < META_RANK; i++)
        made.dims[i] = tensor->shape.dims[i];
    return made;
}

static int write_cases(const struct one_node *nodes, size_t count, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/cases.bin", folder);
    FILE *file = fopen(path, "wb");
    if (!file)
        meta_die("cannot write the cases");
    for (size_t i = 0; i < count; i++) {
        struct meta_case one = {.model_size = nodes[i].size,
                                .model = nodes[i].bytes,
                                .n_inputs = (uint32_t)nodes[i].n_inputs,
                                .n_upstream = (uint32_t)nodes[i].n_upstream};
        memcpy(one.name, nodes[i].name, sizeof one.name);
        for (size_t k = 0; k < nodes[i].n_inputs; k++)
            one.inputs[k] = view(nodes[i].inputs[k].tensors);
        for (size_t k = 0; k < nodes[i].n_upstream; k++)
            one.upstream[k] = view(nodes[i].upstream[k].tensors);
        meta_put_case(file, &one);
    }
    return fclose(file) ? 2 : 0;
}

/* The largest difference; infinite when types or sizes differ, the smallest number when only bits do. */
static double difference(const struct value *ours, const struct meta_tensor *theirs)
{
    const struct tensor *tensor = ours->tensors;
    if (ours->kind != VALUE_TENSOR || tensor->size != theirs->size)
        return INFINITY;
    if (!theirs->size || memcmp(tensor->data, theirs->data, theirs->size) == 0)
        return 0;
    struct tensor other = *tensor;
    other.data = theirs->data;
    long double most = 5e-324L;
    for (size_t i = 0; i < tensor->count; i++) {
        long double apart = fabsl(tensor_get(tensor, i) - tensor_get(&other, i));
        most = apart <= most ? most : apart;
    }
    return isnan(most) ? INFINITY : (double)most;
}

static double differences(const struct value *ours, size_t count, const struct meta_tensor *theirs,
                          uint32_t n)
{
    double most = count == n ? 0 : INFINITY;
    for (size_t i = 0; i < count && i < n; i++)
        most = fmax(most, difference(&ours[i], &theirs[i]));
    return most;
}

struct column {
    const char *label;
    int engine;
    FILE *results;
    struct map forward, backward; /* operators that were compared, each once */
    size_t compared[2], uncalled[2], only_direct, refused, corrupting, differ;
};

/* The cell of one direction: what is to be printed goes into `text`. */
static void compare(struct pool *pool, struct column *column, const struct one_node *node,
                    const struct meta_result *direct, bool backward, char text[16])
{
    const char *op = node->model->graph->node[0]->op_type;
    struct job_gradient gradient;
    const char **wanted = one_node_wanted(node, &gradient);
    struct job job = one_node_job(node, column->engine, backward ? &gradient : NULL);
    struct result result;
    struct error err = {0};
    if (pool_run_one(pool, &job, &result, &err) < 0)
        die(&err);
    bool called = backward ? direct->n_gradients : direct->n_outputs;
    bool refused = direct->flags & (META_REFUSED | (backward ? META_REFUSED_GRADIENTS : 0));
    bool refuses = result.outcome == OUTCOME_REJECTED || result.outcome == OUTCOME_FAILED;
    if (result.outcome == OUTCOME_UNSUPPORTED) {
        snprintf(text, 16, "-");
        column->only_direct += called;
    } else if (result.outcome != OUTCOME_OK) {
        snprintf(text, 16, "%.11s", outcome_name(result.outcome));
        column->refused += refuses && refused && !(backward && direct->flags & META_REFUSED); /* once */
        column->differ += !(refuses && refused);
    } else if (refused) {
        snprintf(text, 16, "accepted");
        column->differ++;
    } else if (!called) {
        snprintf(text, 16, ".");
        column->uncalled[backward]++;
    } else {
        double apart =
            differences(result.outputs, result.count, backward ? direct->gradients : direct->outputs,
                        backward ? direct->n_gradients : direct->n_outputs);
        snprintf(text, 16, "%.2g", apart);
        column->differ += apart != 0;
        map_set(backward ? &column->backward : &column->forward, op, 0);
        column->compared[backward]++;
    }
    result_release(&result);
    free(wanted);
}

static void open_column(struct column *column, struct pool *pool, struct registry *registry, char *argument)
{
    char *equals = strrchr(argument, '=');
    const struct engine_spec *spec;
    struct error err = {0};
    if (!equals)
        meta_die("usage: bench_meta compare CASES ENGINE=RESULTS...");
    *equals = '\0';
    column->label = argument;
    column->results = fopen(equals + 1, "rb");
    if (!column->results)
        meta_die("no results of a direct program");
    if (registry_find(registry, given_typed(registry_arena(registry), argument), &spec, &err) < 0)
        die(&err);
    column->engine = pool_add(pool, spec);
    map_init(&column->forward);
    map_init(&column->backward);
}

static int report(struct column *columns, int n)
{
    size_t differ = 0;
    for (int i = 0; i < n; i++) {
        struct column *c = &columns[i];
        printf("%s: %zu operators forward (%zu cases, %zu not called directly), %zu backward (%zu cases, %zu "
               "not called directly), %zu only directly, %zu refused both ways, %zu corrupting, %zu differ\n",
               c->label, c->forward.count, c->compared[0], c->uncalled[0], c->backward.count, c->compared[1],
               c->uncalled[1], c->only_direct, c->refused, c->corrupting, c->differ);
        differ += c->differ;
        map_release(&c->forward);
        map_release(&c->backward);
        fclose(c->results);
    }
    return differ ? 1 : 0;
}

static int compare_all(const struct one_node *nodes, size_t count, int n, char **arguments)
{
    struct column columns[MOST_ENGINES] = {0};
    struct registry *registry;
    struct error err = {0};
    if (n > MOST_ENGINES)
        meta_die("too many engines");
    if (registry_open(&registry, NULL, 0, &err) < 0)
        die(&err);
    struct pool *pool = pool_new(&(struct pool_options){.deadline = 60});
    printf("%-24s", "case");
    for (int i = 0; i < n; i++) {
        open_column(&columns[i], pool, registry, arguments[i]);
        printf("%24s", columns[i].label);
    }
    printf("\n");
    for (size_t k = 0; k < count; k++) {
        printf("%-24s", nodes[k].name);
        for (int i = 0; i < n; i++) {
            struct meta_result direct;
            char forward[16], backward[16] = "";
            if (!meta_get_result(columns[i].results, &direct) || strcmp(direct.name, nodes[k].name) != 0)
                meta_die("results of other cases");
            if (direct.flags & META_CORRUPTS) {
                snprintf(forward, sizeof forward, "corrupts");
                columns[i].corrupting++;
            } else {
                compare(pool, &columns[i], &nodes[k], &direct, false, forward);
                if (nodes[k].n_upstream)
                    compare(pool, &columns[i], &nodes[k], &direct, true, backward);
            }
            printf("%12s%12s", forward, backward);
            meta_free_result(&direct);
        }
        printf("\n");
        fflush(stdout);
    }
    int status = report(columns, n);
    pool_free(pool);
    registry_free(registry);
    return status;
}

int main(int argc, char **argv)
{
    struct one_node *nodes;
    struct error err = {0};
    size_t count;
    if (argc < 4)
        meta_die("usage: bench_meta write CASES FOLDER | compare CASES ENGINE=RESULTS...");
    if (one_nodes_read(argv[2], &nodes, &count, &err) < 0)
        die(&err);
    int status = strcmp(argv[1], "write") == 0 ? write_cases(nodes, count, argv[3])
                                               : compare_all(nodes, count, argc - 3, argv + 3);
    one_nodes_free(nodes, count);
    return status;
}
