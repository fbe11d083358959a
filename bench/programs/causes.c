/*
 * Planted faults: does the causal method name exactly the node and the parameter?
 *
 *     bench_causes causes[=FAULT] CASES SAMPLES.npy MODEL.onnx...
 *     bench_causes methods - SAMPLES.npy MODEL.onnx...
 *
 * causes: every fault that is tied to a parameter (its row in engines/reference says to which), on every
 * model that shows it; where none does, on CASES generated cases of one operator that show it. The node at
 * fault is known independently (planted.h), the parameter from the row. Named exactly: that node and
 * parameter, and no other. Of the published faults that are tied to no parameter, none may be named. Of one
 * FAULT alone, all values that were tried are shown where it is not named exactly.
 *
 * methods: every published fault on every model that shows it, by local, rate (against the reference), the
 * causal method and swap (from the healthy engine to the faulty one): whether the node is named first, among
 * those marked, how many are marked, and the time. Nodes that fail only together are named first together.
 * The causal method begins where local ends: `by` says whether it names a parameter, whose node counts then,
 * or goes no further than local's node. Swap ranks by how much a node changes the outputs: any node of an
 * operator at fault is right there, since the fault is in all of them.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/str.h"
#include "generate/operator_case.h"
#include "locate/localize.h"
#include "planted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 600 }; /* generated cases until enough of them show the fault */

struct tally {
    size_t cases, exact, pairs;
    double seconds, longest;
};

struct method {
    const char *name;
    size_t cases, first, among, marked;
    size_t by_parameter; /* of the causal method: cases in which it names one */
    double seconds;
};

struct reruns {
    size_t run, right,
        elsewhere; /* networks that ran with the cure; that were right; that failed elsewhere */
};

struct bench {
    struct planted planted;
    const char *only; /* the fault; NULL: all */
    size_t wanted;    /* generated cases for each fault */
    struct tally zoo, generated, untied;
    struct reruns reruns;
    size_t met; /* faults with a case */
    struct method methods[4];
};

/* Faults of the papers that show in what a model computes. */
static bool is_published(const struct planted_row *row)
{
    return strcmp(row->paper, "rules") != 0 && strcmp(row->paper, "gradients") != 0;
}

/* --- causes --- */

static bool is_exact(const struct localization *found, long truth, const char *tied)
{
    const struct cause *cause = &found->cause;
    if (strcmp(tied, "-") == 0)
        return cause->kind == CAUSE_OPERATOR || !cause->certain;
    return cause->kind == CAUSE_PARAMETER && cause->certain && cause->n_parameters == 1 &&
           text_equal(cause->parameters[0].parameter, tied) &&
           (truth == NOBODY || cause->parameters[0].node == (size_t)truth);
}

static void print_tries(const struct cause *cause)
{
    for (size_t i = 0; i < cause->n_tries; i++)
        printf("        %s %s=%s%s\n", cause_end_name(cause->tries[i].end),
               cause->tries[i].to.parameter ? cause->tries[i].to.parameter : "form", cause->tries[i].to.value,
               cause->tries[i].equivalent ? ", the same answer" : "");
}

static void count(struct bench *bench, struct tally *tally, const struct planted_row *row, const char *where,
                  long truth, const struct localization *found, double seconds)
{
    const struct cause *cause = &found->cause;
    bool exact = is_exact(found, truth, row->tied);
    tally->cases++;
    tally->exact += exact;
    tally->pairs += cause->n_parameters;
    tally->seconds += seconds;
    tally->longest = seconds > tally->longest ? seconds : tally->longest;
    bench->reruns.run += cause->rerun != RERUN_NONE;
    bench->reruns.right += cause->rerun == RERUN_RIGHT;
    bench->reruns.elsewhere += cause->rerun == RERUN_ELSEWHERE;
    printf("%-23s %-30.30s %-18s %-18s %2zu %6.2f %s\n", row->name, where, row->tied,
           cause->n_parameters ? cause->parameters[0].parameter : "-", cause->n_parameters, seconds,
           exact ? "yes" : "NO");
    if (!exact)
        printf("    %s\n", *cause->text ? cause->text : found->text);
    if (!exact && bench->only)
        print_tries(cause);
    fflush(stdout);
}

static void look(struct bench *bench, struct tally *tally, const struct planted_row *row, const char *where,
                 const struct test_case *test, long truth)
{
    struct localize_case which = {.pool = bench->planted.pool,
                                  .engine = FAULTY,
                                  .test = test,
                                  .method = LOCALIZE_LOCAL | LOCALIZE_CAUSE | LOCALIZE_RERUN};
    struct localization found;
    struct error err = {0};
    double start = clock_seconds();
    if (localize(&found, &which, &err))
        planted_die(where, &err);
    count(bench, tally, row, where, truth, &found, clock_seconds() - start);
    localization_release(&found);
}

static size_t look_in_zoo(struct bench *bench, struct subject *subjects, size_t n,
                          const struct planted_row *row)
{
    size_t met = 0;
    for (size_t i = 0; i < n; i++) {
        struct value input;
        long truth = NOBODY;
        if (!planted_concerns(&subjects[i], row->operators))
            continue;
        for (size_t set = 0; set < bench->planted.n_sets && truth == NOBODY; set++)
            truth = planted_truth(&bench->planted, &subjects[i], set, &input);
        if (truth == NOBODY)
            continue;
        struct test_case *test = test_case_view(subjects[i].model, &input, 1);
        look(bench, strcmp(row->tied, "-") ? &bench->zoo : &bench->untied, row, subjects[i].name, test,
             truth);
        test_case_free(test);
        met++;
    }
    return met;
}

/* Whether the fault shows on a case of one node: local blames it. */
static bool shows(struct bench *bench, const struct test_case *test)
{
    struct localize_case which = {
        .pool = bench->planted.pool, .engine = FAULTY, .test = test, .method = LOCALIZE_LOCAL};
    struct localization found;
    bool shown = !localize(&found, &which, NULL) && found.n_culprits == 1;
    localization_release(&found);
    return shown;
}

static size_t look_at_generated(struct bench *bench, const struct planted_row *row)
{
    struct generate_options options = {.max_opset = OPSET_LAST};
    char *operators = memory_strdup(row->operators);
    size_t met = 0;
    for (char *bar = operators; (bar = strchr(bar, '|')) != NULL;)
        *bar = ',';
    options.ops = operators;
    /* Plain numbers first; some faults need others. */
    for (uint64_t index = 0; index < 2 * DRAWS && met < bench->wanted; index++) {
        struct test_case *test;
        options.fill = index < DRAWS ? FILL_NORMAL + 1 : 0;
        options.types = index < DRAWS ? DTYPE_BIT(DTYPE_FLOAT) : 0;
        if (index == DRAWS && met)
            break;
        if (generate_one(1, index, &options, &test, NULL))
            continue;
        const struct model *model = test_case_model(test, NULL);
        if (model && model->graph->n_node == 1 && shows(bench, test)) {
            char where[64];
            snprintf(where, sizeof where, "case %llu of %s", (unsigned long long)index,
                     model->graph->node[0]->op_type);
            look(bench, &bench->generated, row, where, test, 0);
            met++;
        }
        test_case_free(test);
    }
    free(operators);
    return met;
}

static void print_tally(const char *what, const struct tally *tally)
{
    double cases = tally->cases ? (double)tally->cases : 1;
    printf("%s: %zu of %zu exactly; %.2f pairs of node and parameter a case; %.2f s a case, at most %.2f\n",
           what, tally->exact, tally->cases, (double)tally->pairs / cases, tally->seconds / cases,
           tally->longest);
}

static int causes(struct bench *bench, struct subject *subjects, size_t n)
{
    size_t n_rows, tied = 0;
    struct planted_row *rows = planted_rows(&bench->planted, &n_rows);
    printf("%-23s %-30s %-18s %-18s %2s %6s %s\n", "fault", "model", "parameter", "named", "n", "s",
           "exactly");
    for (size_t i = 0; i < n_rows; i++) {
        bool is_tied = strcmp(rows[i].tied, "-") != 0;
        if (bench->only ? strcmp(rows[i].name, bench->only) != 0 : !is_tied && !is_published(&rows[i]))
            continue;
        planted_open(&bench->planted, &rows[i], NULL);
        size_t met = look_in_zoo(bench, subjects, n, &rows[i]);
        if (!met && is_tied)
            met = look_at_generated(bench, &rows[i]);
        if (!met && is_tied)
            printf("%-23s no case shows it\n", rows[i].name);
        tied += is_tied;
        bench->met += is_tied && met;
        planted_close(&bench->planted);
    }
    free(rows);
    printf("\n");
    print_tally("models of the zoo", &bench->zoo);
    print_tally("generated cases", &bench->generated);
    print_tally("faults tied to no parameter, for which none may be named", &bench->untied);
    printf("faults with a case: %zu of %zu\n", bench->met, tied);
    printf("networks run again with the cure: %zu; right: %zu; the next node with the fault blamed: %zu\n",
           bench->reruns.run, bench->reruns.right, bench->reruns.elsewhere);
    size_t exact = bench->zoo.exact + bench->generated.exact + bench->untied.exact;
    size_t all = bench->zoo.cases + bench->generated.cases + bench->untied.cases;
    printf("named %zu of %zu\n", exact, all);
    return exact != all || !all;
}

/* --- methods --- */

static struct localization run_method(struct bench *bench, const struct test_case *test, unsigned method,
                                      double *seconds)
{
    bool swap = method & LOCALIZE_SWAP;
    struct localize_case which = {.pool = bench->planted.pool,
                                  .engine = swap ? HEALTHY : FAULTY,
                                  .second = swap ? FAULTY : SECOND,
                                  .second_is_reference = !swap,
                                  .test = test,
                                  .method = method};
    struct localization found;
    struct error err = {0};
    double start = clock_seconds();
    if (localize(&found, &which, &err))
        planted_die("localize", &err);
    *seconds = clock_seconds() - start;
    return found;
}

static void add_method(struct method *method, bool first, bool among, size_t marked, double seconds)
{
    method->cases++;
    method->first += first;
    method->among += among;
    method->marked += marked;
    method->seconds += seconds;
    printf(" %5s %5s %4zu %6.2f", first ? "yes" : "no", among ? "yes" : "no", marked, seconds);
}

/* The causal method marks the nodes whose parameters it names; otherwise it has no node but local's. */
static void add_causal(struct bench *bench, const struct localization *found, size_t truth, double seconds)
{
    const struct cause *cause = &found->cause;
    bool named = false, blamed = found->nodes[truth].culprit;
    for (size_t i = 0; i < cause->n_parameters; i++)
        named |= cause->parameters[i].node == truth;
    bool first = cause->n_parameters ? named : blamed;
    bench->methods[2].by_parameter += cause->n_parameters > 0;
    add_method(&bench->methods[2], first, first,
               cause->n_parameters ? cause->n_parameters : found->n_culprits, seconds);
}

static void add_swap(struct bench *bench, const struct subject *subject, const struct localization *found,
                     size_t truth, double seconds)
{
    const struct swapped *swapped = &found->swapped;
    bool among = swapped->nodes[truth].suspect;
    bool first = swapped->n_suspects && (swapped->suspects[0] == truth ||
                                         planted_is_faulty(&bench->planted, subject, swapped->suspects[0]));
    add_method(&bench->methods[3], first, among, swapped->n_suspects, seconds);
}

static void compare_methods(struct bench *bench, const struct planted_row *row, struct subject *subject,
                            size_t truth, const struct value *input)
{
    struct test_case *test = test_case_view(subject->model, input, 1);
    double seconds;
    printf("%-23s %-14.14s %-28.28s", row->name, subject->name,
           model_node_name(subject->model->graph->node[truth]));
    struct localization found = run_method(bench, test, LOCALIZE_LOCAL, &seconds);
    bool blamed = found.nodes[truth].culprit;
    add_method(&bench->methods[0], blamed, blamed || verdict_is_finding(found.nodes[truth].verdict),
               found.n_wrong ? found.n_wrong : found.n_culprits, seconds);
    localization_release(&found);
    /* An engine that dies shows no values, and there is nothing to rate. */
    struct result whole;
    planted_run(&bench->planted, FAULTY, subject->model, input, 1, &whole);
    if (whole.outcome == OUTCOME_OK) {
        found = run_method(bench, test, LOCALIZE_RATE, &seconds);
        add_method(&bench->methods[1], found.first_highlighted == truth, found.nodes[truth].highlighted,
                   found.n_highlighted, seconds);
        localization_release(&found);
    } else {
        printf(" %5s %5s %4s %6s", "-", "-", "-", "-");
    }
    result_release(&whole);
    found = run_method(bench, test, LOCALIZE_LOCAL | LOCALIZE_CAUSE, &seconds);
    add_causal(bench, &found, truth, seconds);
    const char *by = found.cause.n_parameters ? "parameter" : "local";
    localization_release(&found);
    found = run_method(bench, test, LOCALIZE_SWAP, &seconds);
    add_swap(bench, subject, &found, truth, seconds);
    localization_release(&found);
    printf(" %s\n", by);
    fflush(stdout);
    test_case_free(test);
}

static int methods(struct bench *bench, struct subject *subjects, size_t n)
{
    static const char *const names[] = {"local", "rate", "causal", "swap"};
    size_t n_rows;
    struct planted_row *rows = planted_rows(&bench->planted, &n_rows);
    printf("%-67s %-23s %-23s %-23s %s\n%-23s %-14s %-28s", "", "local", "rate", "causal", "swap", "fault",
           "model", "node at fault");
    for (int i = 0; i < 4; i++)
        printf(" %5s %5s %4s %6s", "first", "among", "n", "s");
    printf(" by\n");
    for (size_t r = 0; r < n_rows; r++) {
        if (!is_published(&rows[r]))
            continue;
        planted_open(&bench->planted, &rows[r], NULL);
        for (size_t i = 0; i < n; i++) {
            struct value input;
            long truth = NOBODY;
            for (size_t set = 0; set < bench->planted.n_sets && truth == NOBODY &&
                                 planted_concerns(&subjects[i], rows[r].operators);
                 set++)
                truth = planted_truth(&bench->planted, &subjects[i], set, &input);
            if (truth != NOBODY)
                compare_methods(bench, &rows[r], &subjects[i], (size_t)truth, &input);
        }
        planted_close(&bench->planted);
    }
    free(rows);
    printf("\n%-8s %6s %16s %16s %14s %10s\n", "method", "cases", "right first", "among marked",
           "marked a case", "s a case");
    for (int i = 0; i < 4; i++) {
        const struct method *method = &bench->methods[i];
        double cases = method->cases ? (double)method->cases : 1;
        printf("%-8s %6zu %14.1f %% %14.1f %% %14.1f %10.2f\n", names[i], method->cases,
               100 * (double)method->first / cases, 100 * (double)method->among / cases,
               (double)method->marked / cases, method->seconds / cases);
    }
    const struct method *causal = &bench->methods[2];
    printf("causal: %zu of %zu by a parameter it names; the others have local's node\n", causal->by_parameter,
           causal->cases);
    printf("named %zu of %zu\n", causal->first, causal->cases);
    return causal->first != causal->cases || !causal->cases;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct error err = {0};
    if (argc < 5) {
        fprintf(stderr, "usage: bench_causes causes[=FAULT]|methods CASES SAMPLES.npy MODEL.onnx...\n");
        return 2;
    }
    if (registry_open(&bench.planted.registry, NULL, 0, &err))
        planted_die("registry", &err);
    size_t n = (size_t)(argc - 4);
    struct subject *subjects = memory_zeroed(n, sizeof *subjects);
    if (text_starts(argv[1], "causes="))
        bench.only = argv[1] + strlen("causes=");
    bench.wanted = (size_t)strtoul(argv[2], NULL, 10);
    planted_samples(&bench.planted, argv[3]);
    planted_models(subjects, argv + 4, n);
    int status = strcmp(argv[1], "methods") == 0 ? methods(&bench, subjects, n) : causes(&bench, subjects, n);
    for (size_t i = 0; i < n; i++)
        subject_release(&subjects[i]);
    free(subjects);
    for (size_t i = 0; i < bench.planted.n_sets; i++)
        tensor_release(&bench.planted.sets[i]);
    registry_free(bench.planted.registry);
    return status;
}
