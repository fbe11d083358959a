/*
 * Planted faults in trained models: is the very node named?
 *
 *     bench_localize OTHER SAMPLES.npy MODEL.onnx...
 *
 * For each fault of the reference engine and each model that exercises it: the truth, what local says, and
 * what rate says against the healthy reference (which differs nowhere before the fault) and against OTHER, an
 * engine that rounds differently everywhere. The truth owes nothing to either: the healthy and the faulty
 * reference run the model with all values shown, and the first node in the order of computation whose value
 * is not bit for bit the same has had the same inputs on both, so the fault is in it. Where the fault ends
 * the engine, it is the last node of the shortest beginning of the model on which the faulty one ends and the
 * healthy one does not. A fault that wakes behind a certain other node only (relu-tail) is named as the group
 * of both, of which the last one counts.
 *
 * Of the samples, single ones and then pairs, the first that shows the fault is taken.
 */
#include "base/memory.h"
#include "base/str.h"
#include "locate/localize.h"
#include "model/edit.h"
#include "tensor/npy.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEALTHY, FAULTY, SECOND, OTHER, ENGINES, MAX_SETS = 64, NOBODY = -1 };

/* The rate against one second engine; cases in which there were hidden states to rate. */
struct rated {
    size_t cases, first, any, marked, nodes;
};

struct totals {
    size_t cases, first, marked;
    struct rated reference, other;
};

struct bench {
    struct registry *registry;
    struct pool *pool;
    const char *other, *operators; /* the second engine; those of the fault at hand */
    struct tensor sets[MAX_SETS];
    size_t n_sets;
    struct totals all;
    size_t missed;
};

struct subject {
    char *name;
    struct model *model, *shown; /* shown: every value is an output */
    struct model_index index;
    bool rounded;                    /* the fault at hand changes roundings alone */
    struct result healthy[MAX_SETS]; /* of the shown model on each set, when first asked for */
};

__attribute__((noreturn)) static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "bench_localize: %s: %s\n", what, err->message);
    exit(2);
}

static int show_all(struct subject *subject, struct error *err)
{
    if (model_index_init(&subject->index, subject->model, err) ||
        model_clone(&subject->shown, subject->model, err))
        return -1;
    const char **names = memory_zeroed(subject->index.count, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < subject->index.count; i++)
        if (subject->index.values[i].source == SOURCE_NODE)
            names[count++] = subject->index.values[i].name;
    int status = model_expose(subject->shown, names, count, err);
    free(names);
    return status;
}

static void subject_release(struct subject *subject)
{
    for (size_t i = 0; i < MAX_SETS; i++)
        if (subject->healthy[i].outcome != OUTCOME_UNTESTED)
            result_release(&subject->healthy[i]);
    model_index_release(&subject->index);
    model_free(subject->shown);
    model_free(subject->model);
}

static void run(struct bench *bench, int engine, const struct model *model, const struct value *input,
                struct result *result)
{
    struct error err = {0};
    uint8_t *data;
    size_t size;
    if (model_pack(model, &data, &size, &err))
        die("packing", &err);
    struct job job = {.engine = engine, .model = data, .model_size = size, .n_inputs = 1, .inputs = input};
    result_init(result);
    if (pool_run_one(bench->pool, &job, result, &err))
        die("running", &err);
    free(data);
}

/* Two values of a node: the same, apart by no more than a few roundings of its largest element, or apart. */
enum apart { SAME, ROUNDED, APART };

static enum apart compare_values(const struct tensor *a, const struct tensor *b)
{
    long double largest = 0, farthest = 0;
    if (tensor_identical(a, b))
        return SAME;
    if (a->type != DTYPE_FLOAT || b->type != DTYPE_FLOAT || !shape_equal(&a->shape, &b->shape))
        return APART;
    for (size_t i = 0; i < a->count; i++) {
        long double x = tensor_get(a, i), y = tensor_get(b, i);
        if (!isfinite(x) || !isfinite(y))
            return APART;
        largest = fmaxl(largest, fabsl(x));
        farthest = fmaxl(farthest, fabsl(x - y));
    }
    return farthest <= 4 * (long double)FLT_EPSILON * largest ? ROUNDED : APART;
}

/* The first node, in the order of computation, of whose outputs one is not the same. */
static long first_difference(const struct subject *subject, const struct result *a, const struct result *b,
                             enum apart *apart)
{
    size_t first = subject->model->graph->n_node;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        const struct index_value *value = model_index_find(&subject->index, a->outputs[i].name);
        if (!value || value->source != SOURCE_NODE || a->outputs[i].kind != VALUE_TENSOR ||
            subject->index.position[value->number] >= first)
            continue;
        enum apart now = compare_values(&a->outputs[i].tensors[0], &b->outputs[i].tensors[0]);
        if (now == SAME)
            continue;
        first = subject->index.position[value->number];
        *apart = now;
    }
    return first < subject->model->graph->n_node ? (long)subject->index.order[first] : NOBODY;
}

/* Whether the operator is one of the fault's, "Conv|MaxPool". */
static bool is_among(const char *type, const char *operators)
{
    size_t length = strlen(type);
    for (const char *at = operators; (at = strstr(at, type)) != NULL; at += length)
        if ((at == operators || at[-1] == '|') && (!at[length] || at[length] == '|'))
            return true;
    return false;
}

static bool dies_on_first(struct bench *bench, const struct subject *subject, size_t k,
                          const struct value *input)
{
    struct model *part;
    struct result result;
    if (model_cut(&part, &subject->index, subject->index.order, k, NULL, NULL))
        return false;
    run(bench, FAULTY, part, input, &result);
    bool dead = result.outcome != OUTCOME_OK;
    result_release(&result);
    model_free(part);
    return dead;
}

/* The last node of the fault's operators in the shortest beginning that ends the faulty engine. */
static long first_death(struct bench *bench, const struct subject *subject, const struct value *input)
{
    size_t k = 1, n = subject->model->graph->n_node;
    while (k <= n && !dies_on_first(bench, subject, k, input))
        k++;
    for (size_t p = k > n ? 0 : k; p-- > 0;) {
        size_t number = subject->index.order[p];
        if (is_among(subject->model->graph->node[number]->op_type, bench->operators))
            return (long)number;
    }
    return NOBODY;
}

static long find_truth(struct bench *bench, struct subject *subject, size_t set, const struct value *input)
{
    struct result faulty, *healthy = &subject->healthy[set];
    enum apart apart = APART;
    if (healthy->outcome == OUTCOME_UNTESTED)
        run(bench, HEALTHY, subject->shown, input, healthy);
    run(bench, FAULTY, subject->shown, input, &faulty);
    long truth = NOBODY;
    if (healthy->outcome != OUTCOME_OK)
        fprintf(stderr, "%s: the healthy reference: %s\n", subject->name,
                healthy->message ? healthy->message : outcome_name(healthy->outcome));
    else if (faulty.outcome != OUTCOME_OK)
        truth = first_death(bench, subject, input);
    else
        truth = first_difference(subject, healthy, &faulty, &apart);
    subject->rounded = subject->rounded || apart == ROUNDED;
    result_release(&faulty);
    return apart == ROUNDED ? NOBODY : truth;
}

static void print_rate(struct rated *rated, const struct localization *found, size_t truth)
{
    bool first = found->rate && found->first_highlighted == truth;
    bool any = found->rate && found->nodes[truth].highlighted;
    if (!found->rate) {
        printf("   %-18s", "no hidden states");
        return;
    }
    rated->cases++;
    rated->nodes += found->n_nodes;
    rated->first += first;
    rated->any += any;
    rated->marked += found->n_highlighted;
    printf("   %-5s %-5s %3zu/%-3zu", first ? "yes" : "no", any ? "yes" : "no", found->n_highlighted,
           found->n_nodes);
}

static void count_case(struct bench *bench, const struct subject *subject, const char *fault, size_t truth,
                       const struct localization *found, const struct localization *other)
{
    struct totals *all = &bench->all;
    bool local = found->n_culprits > 0 && found->culprits[found->fused ? found->n_culprits - 1 : 0] == truth;
    size_t marked = found->n_wrong ? found->n_wrong : found->n_culprits;
    all->cases++;
    all->first += local;
    all->marked += marked;
    printf("%-23s %-18s %-36.36s %-5s %3zu", fault, subject->name,
           model_node_name(subject->model->graph->node[truth]), local ? "yes" : "NO", marked);
    print_rate(&all->reference, found, truth);
    print_rate(&all->other, other, truth);
    printf("\n");
    if (!local)
        printf("    local said: %s\n", found->text);
    bench->missed += !local;
    fflush(stdout);
}

static void place(struct bench *bench, const struct subject *subject, const char *fault, size_t truth,
                  const struct value *input)
{
    struct test_case *test = test_case_view(subject->model, input, 1);
    struct localize_case which = {.pool = bench->pool,
                                  .engine = FAULTY,
                                  .second = SECOND,
                                  .second_is_reference = true,
                                  .test = test,
                                  .method = LOCALIZE_BOTH};
    struct localization found, other;
    struct error err = {0};
    if (localize(&found, &which, &err))
        die(subject->name, &err);
    which.method = LOCALIZE_RATE;
    which.second = OTHER;
    which.second_is_reference = false;
    if (localize(&other, &which, &err))
        die(subject->name, &err);
    /* Nothing to rate when the other engine refused the model. */
    bool seen = false;
    for (size_t i = 0; i < other.n_nodes; i++)
        seen |= other.nodes[i].delta >= 0;
    other.rate = other.rate && seen;
    count_case(bench, subject, fault, truth, &found, &other);
    localization_release(&found);
    localization_release(&other);
    test_case_free(test);
}

static void try_subject(struct bench *bench, struct subject *subject, const char *fault)
{
    subject->rounded = false;
    for (size_t i = 0; i < bench->n_sets; i++) {
        struct value input = {.name = subject->model->graph->input[0]->name,
                              .kind = VALUE_TENSOR,
                              .count = 1,
                              .tensors = &bench->sets[i]};
        long truth = find_truth(bench, subject, i, &input);
        if (truth == NOBODY)
            continue;
        place(bench, subject, fault, (size_t)truth, &input);
        return;
    }
    if (subject->rounded)
        printf("%-23s %-18s changes roundings alone, which no bound tells from a right answer: not counted\n",
               fault, subject->name);
}

static bool is_concerned(const struct subject *subject, const char *operators)
{
    for (size_t i = 0; i < subject->model->graph->n_node; i++)
        if (is_among(subject->model->graph->node[i]->op_type, operators))
            return true;
    return false;
}

static void try_fault(struct bench *bench, struct subject *subjects, size_t count, const char *fault,
                      const char *operators)
{
    struct error err = {0};
    struct str label;
    const struct engine_spec *specs[ENGINES];
    str_init(&label);
    /* Div is computed by a reciprocal only where an optimiser is at work. */
    str_printf(&label, "reference:fault=%s%s", fault, strcmp(fault, "opt-div-reciprocal") ? "" : ",opt=all");
    const char *labels[] = {"reference:round=on", label.data, "reference", bench->other};
    bench->pool = pool_new(&(struct pool_options){.deadline = 10});
    for (int i = 0; i < ENGINES; i++) {
        if (registry_find(bench->registry, labels[i], &specs[i], &err))
            die(labels[i], &err);
        pool_add(bench->pool, specs[i]);
    }
    bench->operators = operators;
    for (size_t i = 0; i < count; i++)
        if (is_concerned(&subjects[i], operators))
            try_subject(bench, &subjects[i], fault);
    pool_free(bench->pool);
    str_release(&label);
}

/* Rows [first, first + count) of the samples as one input of the models. */
static void add_set(struct bench *bench, const struct tensor *samples, size_t first, size_t count)
{
    struct error err = {0};
    size_t row = samples->size / (size_t)samples->shape.dims[0];
    struct shape shape = samples->shape;
    shape.dims[0] = (int64_t)count;
    if (bench->n_sets < MAX_SETS &&
        tensor_from_bytes(&bench->sets[bench->n_sets++], samples->type, &shape,
                          (const char *)samples->data + first * row, count * row, &err))
        die("samples", &err);
}

static void read_samples(struct bench *bench, const char *path)
{
    struct error err = {0};
    struct tensor samples;
    if (npy_read(path, &samples, &err))
        die(path, &err);
    size_t count = (size_t)samples.shape.dims[0];
    for (size_t i = 0; i < count && i < 8; i++)
        add_set(bench, &samples, i, 1);
    for (size_t i = 0; i + 1 < count && i < 8; i += 2)
        add_set(bench, &samples, i, 2);
    tensor_release(&samples);
}

static void read_models(struct subject *subjects, char **paths, size_t count)
{
    struct error err = {0};
    for (size_t i = 0; i < count; i++) {
        struct subject *subject = &subjects[i];
        const char *slash = strrchr(paths[i], '/'), *base = slash ? slash + 1 : paths[i];
        if (model_load(&subject->model, paths[i], &err))
            die(paths[i], &err);
        subject->name = arena_strdup(&subject->model->arena, base);
        subject->name[strcspn(base, ".")] = '\0';
        if (show_all(subject, &err))
            die(paths[i], &err);
    }
}

/* Faults as the reference's knob lists them: name, paper, operators, parameter, summary. */
static char *fault_rows(struct bench *bench)
{
    struct error err = {0};
    const struct engine_spec *spec;
    if (registry_find(bench->registry, "reference", &spec, &err))
        die("reference", &err);
    struct pool *pool = pool_new(&(struct pool_options){0});
    int engine = pool_add(pool, spec);
    pool_warm(pool);
    const Assay__Welcome *welcome = pool_engine(pool, engine)->welcome;
    char *rows = NULL;
    for (size_t i = 0; welcome && i < welcome->n_knobs; i++)
        if (strcmp(welcome->knobs[i]->name, "fault") == 0)
            rows = memory_strdup(welcome->knobs[i]->help);
    pool_free(pool);
    if (!rows)
        die("reference", &(struct error){.message = "tells no faults"});
    return rows;
}

static void print_rated(const char *against, const struct rated *rated)
{
    double cases = rated->cases ? (double)rated->cases : 1;
    printf(
        "rate against %s: %zu cases with hidden states; the exact node is the first highlighted in %.1f %%, "
        "among the highlighted in %.1f %%; %.1f of %.1f nodes highlighted a case\n",
        against, rated->cases, 100 * (double)rated->first / cases, 100 * (double)rated->any / cases,
        (double)rated->marked / cases, (double)rated->nodes / cases);
}

static void print_totals(const struct bench *bench)
{
    const struct totals *all = &bench->all;
    double cases = all->cases ? (double)all->cases : 1;
    printf("\nlocal: %zu cases; the exact node is the first named in %.1f %%; %.1f nodes wrong on their own "
           "inputs a "
           "case\n",
           all->cases, 100 * (double)all->first / cases, (double)all->marked / cases);
    print_rated("the reference", &all->reference);
    print_rated(bench->other, &all->other);
    printf("named %zu of %zu\n", all->first, all->cases);
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct error err = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: bench_localize OTHER SAMPLES.npy MODEL.onnx...\n");
        return 2;
    }
    if (registry_open(&bench.registry, NULL, 0, &err))
        die("registry", &err);
    size_t count = (size_t)(argc - 3);
    struct subject *subjects = memory_zeroed(count, sizeof *subjects);
    bench.other = argv[1];
    read_samples(&bench, argv[2]);
    read_models(subjects, argv + 3, count);
    char *rows = fault_rows(&bench);
    printf("%-23s %-18s %-36s %-9s   %-18s %s\n%-79s %-5s %-3s   %-18s %s\n", "fault", "model",
           "node at fault", "local", "rate: reference", bench.other, "", "first", "n", "first any   n/all",
           "first any   n/all");
    for (char *line = strtok(rows, "\n"); line; line = strtok(NULL, "\n")) {
        char *paper = strchr(line, '\t'), *operators = paper ? strchr(paper + 1, '\t') : NULL;
        char *parameter = operators ? strchr(operators + 1, '\t') : NULL;
        /* Faults for equivalence rules need another form of the model, or another way of running it. */
        if (!parameter || strncmp(paper + 1, "rules\t", 6) == 0)
            continue;
        *paper = *parameter = '\0';
        try_fault(&bench, subjects, count, line, operators + 1);
    }
    print_totals(&bench);
    free(rows);
    for (size_t i = 0; i < count; i++)
        subject_release(&subjects[i]);
    free(subjects);
    for (size_t i = 0; i < bench.n_sets; i++)
        tensor_release(&bench.sets[i]);
    registry_free(bench.registry);
    return bench.missed || !bench.all.cases;
}
