/*
 * Generated cases through engines and the reference, judged: the measurement behind bench/false-alarms,
 * bench/bounds, bench/faults and bench/sensitivity.
 *
 *     trials [--one N] [--graphs N] [--plans N] [--ops A,B] [--nodes MIN,MAX] [--illegal] [--opset N]
 * [--types A,B]
 * [--fill NAME]
 *            [--edit WORDS] [--repeat N] [--deadline SECONDS] [--seed S] [--from INDEX]
 * [--bounds] [--list]
 * [--quiet] [--fresh] [--probed] [--gradients] [--oracles] -e ENGINE...
 *
 * Every engine is judged by the healthy reference. A finding is one line: engine, verdict, the node to blame
 * with its types and attributes, and the recipe of the first case. What a known issue of share/known explains
 * counts as explained. An answer that all engines give against the reference (mistrusted) needs an
 * explanation too. --list prints a line for each verdict: engine, verdict, text, recipe, and of what needs an
 * explanation the node and the document that has it; with --oracles also a line "reported" for each answer
 * that is wrong or that an oracle reports. --probed leaves out what all engines lack by what `assay probe`
 * has kept; the indices then go on until there are as many cases as asked for. --gradients judges gradients
 * in place of outputs. --oracles counts what published oracles (oracles.h) would say of the answers that were
 * judged, beside the verdict: a line "oracle ENGINE NAME true N false N missed N silent N" for each, where
 * true and missed are findings that it reports and does not, and false and silent are answers within the
 * bounds; and how many wrong answers, refusals left out, no known issue explains. The last line is
 *
 *     cases N findings N explained N unexplained N untested N seconds T strays N
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/str.h"
#include "findings/known_issues.h"
#include "generate/plan.h"
#include "oracles.h"
#include "probe/probe_file.h"
#include "trial/trial.h"
#include "variant.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 256, MAX_REFUSED = 100 * 1000 * 1000 };

struct seen {
    char *key, *text, *recipe;
    const struct known_issue *known;
    size_t count;
};

struct tally {
    size_t cases, elements, judged;
    size_t verdicts[VERDICT_COUNT];
    double factor, deviations; /* largest seen, known engine bugs aside */
};

struct bench {
    struct generate_options options;
    uint64_t seed, from;
    size_t one, graphs, plans;
    struct blocks *blocks;
    const char *edits; /* variant.h */
    int repeat;
    double deadline;
    bool bounds, list, quiet, probed;
    bool fresh; /* a process for every case: none sees what another did to the engine's memory */
    struct probe_support *support;
    size_t refused; /* indices left out, as all engines lack what they draw or it has no gradient */
    size_t n_engines;
    const char **labels;
    struct panel panel;
    struct known_issues known;
    struct seen *findings;
    size_t n_findings, capacity;
    size_t settled[VERDICT_COUNT];
    struct tally by_op[MAX_OPS], all;
    bool oracles;
    size_t (*said)[ORACLE_COUNT][2]
                  [2];   /* of each engine: whether it is a finding, whether the oracle reports it */
    size_t open_answers; /* those that are findings without a known issue; refusals are none */
    size_t untested, found, n_known;
};

/* A finding, or all engines against the reference; not an answer that merely proves nothing. */
static bool needs_explanation(const struct verdict *verdict)
{
    return verdict_is_finding(verdict->kind) ||
           (verdict->kind == VERDICT_MISTRUSTED && !verdict->no_evidence);
}

/* One line for each different (engine, verdict, operators); the first case stands for the rest. The known
 * issue that it is of, if any; the node's text goes into *node. */
static const struct known_issue *note_finding(struct bench *run, const struct trial_done *done, size_t engine,
                                              struct str *node)
{
    const struct verdict *verdict = &done->judgement.verdicts[engine];
    const struct settlement *settlement = &done->settlements[engine];
    /* The word on the node to blame, where one was found: downstream it may have become another (a shape, a
     * NaN). */
    enum verdict_kind kind = settlement->count ? settlement->kind : verdict->kind;
    const struct engine_info *info = panel_engine(&run->panel, engine);
    struct finding_facts facts;
    struct str key;
    str_init(&key);
    facts_of(&facts, &(struct facts_source){.engine = info->label,
                                            .version = info->version,
                                            .profile = info->profile,
                                            .verdict = verdict,
                                            .settlement = settlement,
                                            .result = &done->results[engine],
                                            .test = done->test});
    facts_nodes_text(node, &facts);
    const char *brief = settlement->count ? settlement->text : verdict->text;
    struct known_issue *issue = known_find(&run->known, &facts);
    facts_release(&facts);
    run->found++;
    run->n_known += issue != NULL;
    if (issue)
        issue->met++;
    str_printf(&key, "%s\t%s\t%.*s", run->labels[engine], verdict_name(kind), (int)strcspn(node->data, " "),
               node->data);
    for (size_t i = 0; i < run->n_findings; i++)
        if (text_equal(run->findings[i].key, key.data) && (run->findings[i].known == issue)) {
            run->findings[i].count++;
            goto out;
        }
    run->findings = memory_grow(run->findings, &run->capacity, run->n_findings + 1, sizeof *run->findings);
    struct seen *finding = &run->findings[run->n_findings++];
    struct str text;
    str_init(&text);
    str_printf(&text, "%s\n      %s", node->data, brief);
    *finding =
        (struct seen){str_detach(&key), str_detach(&text), memory_strdup(done->test->recipe), issue, 1};
out:
    str_release(&key);
    return issue;
}

/* A known engine bug says nothing about our bounds; a finding that is not known counts against them.
 */
static void tally_add(struct tally *tally, const struct verdict *verdict, bool known)
{
    tally->cases++;
    tally->elements += verdict->total;
    tally->judged += verdict->judged;
    tally->verdicts[verdict->kind]++;
    if (known)
        return;
    tally->factor = fmax(tally->factor, verdict->factor);
    tally->deviations = fmax(tally->deviations, verdict->deviations);
}

/* One line, whatever an engine says. */
static void list_verdict(const struct bench *run, const struct trial_done *done, size_t engine,
                         const char *node, const struct known_issue *issue)
{
    const struct verdict *verdict = &done->judgement.verdicts[engine];
    char *text =
        memory_strdup(done->settlements[engine].count ? done->settlements[engine].text : verdict->text);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    printf("%s\t%s%s\t%s\t%s\t%s\t%s\n", run->labels[engine], issue ? "explained " : "",
           verdict->no_evidence ? "no evidence" : verdict_name(verdict->kind), text, done->test->recipe, node,
           issue ? known_document(issue) : "-");
    free(text);
}

/* The type and the first element that differs by more than a hundred thousandth. */
static void print_difference(const struct result *got, const struct result *right)
{
    for (size_t k = 0; k < right->count && k < got->count; k++) {
        const struct value *x = &got->outputs[k], *y = &right->outputs[k];
        if (x->kind != VALUE_TENSOR || y->kind != VALUE_TENSOR || x->tensors->type != y->tensors->type ||
            x->tensors->count != y->tensors->count || !dtype_is_real(x->tensors->type))
            continue;
        for (size_t i = 0; i < y->tensors->count; i++) {
            long double a = tensor_get(x->tensors, i), b = tensor_get(y->tensors, i);
            if (a != b && !(isnan(a) && isnan(b)) && !(fabsl(a - b) <= 1e-5L * fabsl(b))) {
                printf("\t%s element %zu: %.9Lg, expected %.9Lg", dtype_name(x->tensors->type), i, a, b);
                return;
            }
        }
    }
}

/* Answers in numbers that the judge has an opinion on; known: a finding of a known issue. */
static void ask_oracles(struct bench *run, const struct trial_done *done, size_t engine, bool known)
{
    const struct verdict *verdict = &done->judgement.verdicts[engine];
    bool found = verdict_is_finding(verdict->kind);
    if (done->results[engine].outcome != OUTCOME_OK || done->reference.outcome != OUTCOME_OK ||
        (!found && !verdict_is(verdict->kind, CLASS_AGREES)))
        return;
    struct result right;
    struct error err;
    run->open_answers += found && !known;
    if (oracle_expect(&done->results[engine], &done->reference, &right, &err)) {
        fprintf(stderr, "%s: %s\n", done->test->recipe, err.message);
        return;
    }
    struct str names;
    str_init(&names);
    for (enum oracle i = 0; i < ORACLE_COUNT; i++) {
        bool reports = oracle_reports(i, &done->results[engine], &right);
        run->said[engine][i][found][reports]++;
        if (reports)
            str_printf(&names, "%s%s", names.length ? "," : "", oracle_name(i));
    }
    if (run->list && (found || names.length)) {
        printf("reported\t%s\t%s\t%s\t%s", run->labels[engine], found ? "wrong" : "right", names.data,
               done->test->recipe);
        print_difference(&done->results[engine], &right);
        putchar('\n');
    }
    str_release(&names);
    oracle_forget(&right);
}

static void print_oracles(const struct bench *run)
{
    for (size_t engine = 0; run->oracles && engine < run->n_engines; engine++)
        for (enum oracle i = 0; i < ORACLE_COUNT; i++) {
            const size_t(*said)[2] = run->said[engine][i];
            printf("oracle %s %s true %zu false %zu missed %zu silent %zu\n", run->labels[engine],
                   oracle_name(i), said[1][1], said[0][1], said[1][0], said[0][0]);
        }
    if (run->oracles)
        printf("wrong answers without a known issue %zu\n", run->open_answers);
}

static void take(struct bench *run, struct trial_done *done)
{
    size_t op = (size_t)(uintptr_t)done->user;
    for (size_t i = 0; i < run->n_engines; i++) {
        const struct verdict *verdict = &done->judgement.verdicts[i];
        run->untested += verdict->kind == VERDICT_UNTESTED || verdict->kind == VERDICT_NO_ENGINE;
        struct str node;
        str_init(&node);
        const struct known_issue *issue =
            needs_explanation(verdict) ? note_finding(run, done, i, &node) : NULL;
        tally_add(&run->by_op[op], verdict, issue != NULL);
        tally_add(&run->all, verdict, issue != NULL);
        if (run->oracles)
            ask_oracles(run, done, i, issue != NULL);
        if (run->list)
            list_verdict(run, done, i, node.length ? node.data : op_at(op)->name, issue);
        str_release(&node);
    }
    trial_done_release(done);
}

static size_t op_number(const struct op *op)
{
    for (size_t i = 0; i < op_count(); i++)
        if (op_at(i) == op)
            return i;
    return 0;
}

/* A plan of 1 to 8 blocks over the whole corpus. */
static int make_plan(struct bench *run, uint64_t index, struct test_case **made, struct error *err)
{
    struct rng root = rng_seed(run->seed), rng = rng_split(&root, index);
    struct plan plan;
    if (!run->blocks) {
        run->blocks = blocks_new();
        if (blocks_add_builtin(run->blocks, err))
            return -1;
    }
    if (plan_random(&plan, run->blocks, &rng, 1 + index % 8, &run->options, err))
        return -1;
    return generate_plan(run->seed, index, &plan, &run->options, made, err);
}

static int make_case(struct bench *run, size_t number, struct test_case **test, size_t *op)
{
    struct error err = {0};
    bool one = number < run->one, graph = !one && number < run->one + run->graphs;
    bool skips = run->options.gradients || (one && run->support);
    uint64_t index = run->from + number - (one ? 0 : graph ? run->one : run->one + run->graphs);
    int status;
    for (;; run->refused++) {
        uint64_t at = index + (skips ? run->refused : 0);
        status = one     ? generate_one(run->seed, at, &run->options, test, &err)
                 : graph ? generate_graph(run->seed, at, &run->options, test, &err)
                         : make_plan(run, at, test, &err);
        if (!status || !skips || err.code != ERROR_UNSUPPORTED || run->refused >= MAX_REFUSED)
            break;
    }
    if (status) {
        fprintf(stderr, "no case %zu: %s\n", number, err.message);
        return -1;
    }
    *op = op_number((*test)->first);
    if (variant_apply(*test, run->edits, &err)) {
        fprintf(stderr, "%s: %s\n", (*test)->recipe, err.message);
        return -1;
    }
    return 0;
}

static int run_cases(struct bench *run, struct trials *trials)
{
    size_t total = run->one + run->graphs + run->plans, submitted = 0, finished = 0;
    struct progress progress;
    struct error err = {0};
    progress_begin(&progress, "cases", total);
    while (finished < total) {
        while (submitted < total && trials_room(trials)) {
            struct test_case *test;
            size_t op;
            if (make_case(run, submitted++, &test, &op))
                return -1;
            if (trials_submit(trials, test, (void *)(uintptr_t)op, &err))
                return -1;
        }
        struct trial_done done;
        if (trials_next(trials, &done, &err) != 1) {
            fprintf(stderr, "%s\n", err.message);
            return -1;
        }
        take(run, &done);
        progress_step(&progress, ++finished);
    }
    progress_end(&progress);
    return 0;
}

static void print_row(const char *name, const struct tally *t)
{
    size_t findings = 0;
    for (int k = 0; k < VERDICT_COUNT; k++)
        findings += verdict_is_finding((enum verdict_kind)k) ? t->verdicts[k] : 0;
    printf("%-22s %8zu %8zu %8zu %8zu %8zu %8zu %8zu %8zu  %9.3g %9.3g\n", name, t->cases,
           t->verdicts[VERDICT_AGREES], t->verdicts[VERDICT_UNSUPPORTED],
           t->verdicts[VERDICT_UNDECIDED] + t->verdicts[VERDICT_OPEN], t->verdicts[VERDICT_MISTRUSTED],
           t->verdicts[VERDICT_SUSPECT], t->verdicts[VERDICT_IMPRECISE], findings, t->factor, t->deviations);
}

static void print_tables(const struct bench *run)
{
    printf("%-22s %8s %8s %8s %8s %8s %8s %8s %8s  %9s %9s\n", "operator", "verdicts", "agrees", "lacks",
           "open", "mistrust", "suspect", "imprec", "findings", "err/hard", "err/sigma");
    for (size_t i = 0; run->bounds && i < op_count(); i++)
        if (run->by_op[i].cases)
            print_row(op_at(i)->name, &run->by_op[i]);
    print_row("all", &run->all);
    for (size_t i = 0; !run->quiet && i < run->n_findings; i++) {
        const struct seen *f = &run->findings[i];
        printf("%s%s\t%zu\n      %s\n      %s\n", f->known ? "explained " : "", f->key, f->count, f->text,
               f->recipe);
        if (f->known)
            printf("      %s\n", known_document(f->known));
    }
}

static int number_pair(const char *text, int *low, int *high)
{
    return sscanf(text, "%d,%d", low, high) == 2 ? 0 : -1;
}

static dtype_set read_types(char *text)
{
    dtype_set set = 0;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ","))
        set |= DTYPE_BIT(dtype_from_name(word));
    return set;
}

static int read_fill(const char *name)
{
    for (int fill = 0; fill < FILL_COUNT; fill++)
        if (text_equal(fill_name((enum fill)fill), name))
            return fill + 1;
    return 0;
}

static const struct option long_options[] = {
    {"one", 1, NULL, '1'},       {"graphs", 1, NULL, 'g'},  {"ops", 1, NULL, 'o'},
    {"nodes", 1, NULL, 'n'},     {"illegal", 0, NULL, 'i'}, {"opset", 1, NULL, 'p'},
    {"types", 1, NULL, 't'},     {"fill", 1, NULL, 'f'},    {"seed", 1, NULL, 's'},
    {"from", 1, NULL, 'F'},      {"bounds", 0, NULL, 'b'},  {"list", 0, NULL, 'l'},
    {"oracles", 0, NULL, 'O'},   {"quiet", 0, NULL, 'q'},   {"fresh", 0, NULL, 'w'},
    {"engine", 1, NULL, 'e'},    {"edit", 1, NULL, 'E'},    {"repeat", 1, NULL, 'r'},
    {"deadline", 1, NULL, 'd'},  {"probed", 0, NULL, 'P'},  {"plans", 1, NULL, 'L'},
    {"gradients", 0, NULL, 'G'}, {NULL, 0, NULL, 0},
};

static int read_options(struct bench *run, int argc, char **argv)
{
    int c;
    while ((c = getopt_long(argc, argv, "e:", long_options, NULL)) != -1)
        switch (c) {
        case '1':
            run->one = strtoull(optarg, NULL, 10);
            break;
        case 'g':
            run->graphs = strtoull(optarg, NULL, 10);
            break;
        case 'G':
            run->options.gradients = true;
            break;
        case 'L':
            run->plans = strtoull(optarg, NULL, 10);
            break;
        case 'o':
            run->options.ops = optarg;
            break;
        case 'n':
            if (number_pair(optarg, &run->options.min_nodes, &run->options.max_nodes))
                return -1;
            break;
        case 'i':
            run->options.illegal = true;
            break;
        case 'p':
            run->options.opset = atoi(optarg);
            break;
        case 't':
            run->options.types = read_types(optarg);
            break;
        case 'f':
            run->options.fill = read_fill(optarg);
            break;
        case 's':
            run->seed = strtoull(optarg, NULL, 10);
            break;
        case 'F':
            run->from = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            run->bounds = true;
            break;
        case 'l':
            run->list = true;
            break;
        case 'O':
            run->oracles = true;
            break;
        case 'q':
            run->quiet = true;
            break;
        case 'w':
            run->fresh = true;
            break;
        case 'P':
            run->probed = true;
            break;
        case 'E':
            run->edits = optarg;
            break;
        case 'r':
            run->repeat = atoi(optarg);
            break;
        case 'd':
            run->deadline = atof(optarg);
            break;
        case 'e':
            run->labels[run->n_engines++] = optarg;
            break;
        default:
            return -1;
        }
    return run->n_engines ? 0 : -1;
}

/* What `assay probe` has kept of every engine, by the version that it says when it starts. */
static int read_probes(struct bench *run)
{
    const struct panel *panel = &run->panel;
    char *folder = probe_folder();
    struct error err = {0};
    int status = 0;
    run->support = probe_support_new();
    pool_warm(panel->pool);
    for (size_t i = 0; i < panel->count && !status; i++) {
        char *engine = probe_engine(panel_engine(panel, i));
        status = probe_support_load(run->support, folder, engine, &err);
        free(engine);
    }
    if (status)
        fprintf(stderr, "%s; run assay probe first\n", err.message);
    run->options.lacks = probe_lacks_any;
    run->options.lacks_context = run->support;
    free(folder);
    return status;
}

static void free_run(struct bench *run)
{
    for (size_t i = 0; i < run->n_findings; i++) {
        free(run->findings[i].key);
        free(run->findings[i].text);
        free(run->findings[i].recipe);
    }
    free(run->findings);
    known_release(&run->known);
    blocks_free(run->blocks);
    probe_support_free(run->support);
    free(run->labels);
    free(run->said);
    free(run);
}

int main(int argc, char **argv)
{
    struct bench *run = memory_zeroed(1, sizeof *run);
    run->seed = 1;
    run->deadline = 10;
    run->labels = memory_zeroed((size_t)argc, sizeof *run->labels);
    run->said = memory_zeroed((size_t)argc, sizeof *run->said);
    struct registry *registry = NULL;
    struct error err = {0};
    if (read_options(run, argc, argv) || known_open(&run->known, &(struct known_files){0}, &err) ||
        registry_open(&registry, NULL, 0, &err)) {
        fprintf(stderr, "usage: see the head of bench/programs/trials.c; %s\n", err.message);
        return 2;
    }
    struct pool_options limits = {.deadline = run->deadline, .fresh = run->fresh};
    if (panel_open(&run->panel, registry,
                   given_all_typed(registry_arena(registry), run->labels, run->n_engines), &limits, &err) ||
        panel_add_reference(&run->panel, registry, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    if (run->probed && read_probes(run))
        return 2;
    struct trial_options options = {
        .panel = &run->panel,
        .settle = true,
        .repeat = run->repeat,
    };
    double start = clock_seconds();
    struct trials *trials = trials_new(&options);
    int status = run_cases(run, trials);
    size_t strays = trials_strays(trials);
    trials_free(trials);
    panel_close(&run->panel);
    registry_free(registry);
    print_tables(run);
    print_oracles(run);
    size_t unexplained = run->found - run->n_known;
    printf("cases %zu findings %zu explained %zu unexplained %zu untested %zu seconds %.1f strays %zu\n",
           run->one + run->graphs + run->plans, run->found, run->n_known, unexplained, run->untested,
           clock_seconds() - start, strays);
    bool clean = !status && !unexplained && !run->untested;
    free_run(run);
    return status ? 2 : clean ? 0 : 1;
}
