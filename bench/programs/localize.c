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
 * healthy one does not.
 *
 * Of the samples, single ones and then pairs, the first that shows the fault is taken.
 */
#include "base/memory.h"
#include "base/str.h"
#include "locate/localize.h"
#include "planted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rate against one second engine; cases in which there were hidden states to rate. */
struct rated {
    size_t cases, first, any, marked, nodes;
};

struct totals {
    size_t cases, first, marked;
    struct rated reference, other;
};

struct bench {
    struct planted planted;
    const char *other; /* the second engine */
    struct totals all;
    size_t missed;
};

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
    struct localize_case which = {.pool = bench->planted.pool,
                                  .engine = FAULTY,
                                  .second = SECOND,
                                  .second_is_reference = true,
                                  .test = test,
                                  .method = LOCALIZE_BOTH};
    struct localization found, other;
    struct error err = {0};
    if (localize(&found, &which, &err))
        planted_die(subject->name, &err);
    which.method = LOCALIZE_RATE;
    which.second = OTHER;
    which.second_is_reference = false;
    if (localize(&other, &which, &err))
        planted_die(subject->name, &err);
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
    for (size_t i = 0; i < bench->planted.n_sets; i++) {
        struct value input;
        long truth = planted_truth(&bench->planted, subject, i, &input);
        if (truth == NOBODY)
            continue;
        place(bench, subject, fault, (size_t)truth, &input);
        return;
    }
    if (subject->rounded)
        printf("%-23s %-18s changes roundings alone, which no bound tells from a right answer: not counted\n",
               fault, subject->name);
}

static void try_fault(struct bench *bench, struct subject *subjects, size_t count,
                      const struct planted_row *row)
{
    planted_open(&bench->planted, row, bench->other);
    for (size_t i = 0; i < count; i++)
        if (planted_concerns(&subjects[i], row->operators))
            try_subject(bench, &subjects[i], row->name);
    planted_close(&bench->planted);
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
    if (registry_open(&bench.planted.registry, NULL, 0, &err))
        planted_die("registry", &err);
    size_t count = (size_t)(argc - 3);
    struct subject *subjects = memory_zeroed(count, sizeof *subjects);
    bench.other = argv[1];
    planted_samples(&bench.planted, argv[2]);
    planted_models(subjects, argv + 3, count);
    size_t n_rows;
    struct planted_row *rows = planted_rows(&bench.planted, &n_rows);
    printf("%-23s %-18s %-36s %-9s   %-18s %s\n%-79s %-5s %-3s   %-18s %s\n", "fault", "model",
           "node at fault", "local", "rate: reference", bench.other, "", "first", "n", "first any   n/all",
           "first any   n/all");
    /* Faults for equivalence rules need another form of the model, or another way of running it. */
    for (size_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].paper, "rules") != 0)
            try_fault(&bench, subjects, count, &rows[i]);
    print_totals(&bench);
    free(rows);
    for (size_t i = 0; i < count; i++)
        subject_release(&subjects[i]);
    free(subjects);
    for (size_t i = 0; i < bench.planted.n_sets; i++)
        tensor_release(&bench.planted.sets[i]);
    registry_free(bench.planted.registry);
    return bench.missed || !bench.all.cases;
}
