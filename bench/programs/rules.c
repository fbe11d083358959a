/*
 * Equivalence rules against planted faults: which rule finds which fault, on the faulty engine alone?
 *
 *     bench_rules [--tries N] [--enough N] [--pairs FILE] [--healthy N] [--seed S] [--rules A,B] [--faults
 * A,B]
 *                 [--loud]
 *
 * For each fault and each rule, cases suited to both are drawn, rewritten by the rule, and both forms are run
 * on reference:fault=NAME,round=on. Found is what the two answers alone betray: they differ by more than
 * rounding (judge/pair.h), or one form ends the engine and the other does not. What the healthy reference
 * says of either form counts for nothing here; it only gives the bounds of rounding.
 *
 * A pair of rule and fault is left after `enough` (3) finds or `tries` (40) cases. --pairs names a file with
 * the pairs to try, a rule and a fault on each line; else all are tried. --loud prints each find. Then
 * `healthy` (20,000) rewritten cases run on
 * the healthy reference:round=on, where nothing may be found. The last lines are read by bench/rules:
 *
 *     rules N of N eagle N of N faults N of N newer N of N
 *     healthy N alarms N suspects N
 *     not true N
 */
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"
#include "generate/operator_case.h"
#include "rule_cases.h"
#include "rules/knob_settings.h"
#include "trial/trial.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    size_t tried, found;
    size_t idle; /* pairs that were drawn, but have none of the fault's operators */
};

enum { IDLE = 10 }; /* so many of them, and none other, are enough */

struct row { /* a fault */
    char *name, *paper, *operators, *parameter;
    struct cell *cells; /* one for each rule */
    size_t found;       /* rules that find it */
};

/* What cases must be like to wake a fault up, where any case would hardly ever do. */
struct hint {
    const char *fault, *operators; /* NULL: those of the fault */
    int fill;
    dtype_set types;
    size_t times; /* so many tries more; 0: as many as others */
};

static const struct hint hints[] = {
    {.fault = "depthwise-first-channel", .times = 4},
    {.fault = "relu-tail", .operators = "Conv|Relu"},
    {.fault = "quant-half-up", .operators = "QuantizeLinear|DynamicQuantizeLinear", .fill = FILL_EXACT + 1},
    {.fault = "softmax-no-max", .fill = FILL_SPECIAL + 1},
    {.fault = "thresholdedrelu-ge", .fill = FILL_EXACT + 1},
    {.fault = "opt-div-reciprocal", .fill = FILL_SPECIAL + 1, .types = DTYPE_BIT(DTYPE_FLOAT16)},
    {.fault = "sparse-row-order", .fill = FILL_EXACT + 1},
    {.fault = "mod-int-float", .fill = FILL_SPECIAL + 1, .types = DTYPE_BIT(DTYPE_INT64)},
    {.fault = "narrow-accumulator", .fill = FILL_SPECIAL + 1},
    {.fault = "sigmoid-nan", .fill = FILL_SPECIAL + 1},
    {.fault = "div-zero-nan", .fill = FILL_EXACT + 1},
    {.fault = "typed-halves", .types = DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16)},
    {.fault = "halves-stay", .types = DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT)},
    {.fault = "saved-without-strings",
     .operators = "Conv|Pad|Einsum|DepthToSpace|AveragePool|MaxPool|GRU|Resize|ScatterND"},
    {.fault = "saved-as-integers", .operators = "LeakyRelu|Elu|HardSigmoid|Gemm|Shrink|Celu|ThresholdedRelu"},
    {.fault = "next-node-only", .operators = "Add|Mul|Relu|Tanh|Neg|Abs"},
    {.fault = "cast-f32-int8", .types = DTYPE_BIT(DTYPE_FLOAT), .times = 6},
};

struct bench {
    struct registry *registry;
    size_t tries, enough, healthy;
    bool loud;
    char *pairs; /* "\nRULE FAULT\nRULE FAULT\n"; NULL: all */
    uint64_t seed;
    const char *only_rules, *only_faults;
    size_t n_rows;
    struct row *rows;
    size_t *served; /* for each rule: how many faults it finds */
    size_t alarms, suspects, not_true, ran;
    /* The fault at hand: */
    struct row *row;
    struct knob_settings settings;
    size_t round, rule;
};

static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(2);
}

static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    return !list;
}

/* --- The table of faults, as the reference's knob lists it --- */

static void add_row(struct bench *bench, char *line)
{
    char *fields[5] = {line};
    for (int i = 1; i < 5; i++) {
        fields[i] = fields[i - 1] ? strchr(fields[i - 1], '\t') : NULL;
        if (fields[i])
            *fields[i]++ = '\0';
    }
    if (!fields[4] || !is_listed(bench->only_faults, line) || text_equal(fields[1], "gradients"))
        return;
    struct row *row = &bench->rows[bench->n_rows++];
    *row = (struct row){
        .name = memory_strdup(fields[0]),
        .paper = memory_strdup(fields[1]),
        .operators = memory_strdup(fields[2]),
        .parameter = memory_strdup(fields[3]),
        .cells = memory_zeroed(rules_count, sizeof *row->cells),
    };
}

static void read_faults(struct bench *bench)
{
    enum { MOST = 500 };
    struct error err = {0};
    const struct engine_spec *spec;
    if (registry_find(bench->registry, given_typed(registry_arena(bench->registry), "reference"), &spec,
                      &err))
        die("reference", &err);
    struct pool *pool = pool_new(&(struct pool_options){0});
    int engine = pool_add(pool, spec);
    pool_warm(pool);
    const Assay__Welcome *welcome = pool_engine(pool, engine)->welcome;
    bench->rows = memory_zeroed(MOST, sizeof *bench->rows);
    for (size_t i = 0; welcome && i < welcome->n_knobs; i++) {
        if (!text_equal(welcome->knobs[i]->name, "fault"))
            continue;
        char *text = memory_strdup(welcome->knobs[i]->help);
        for (char *line = strtok(text, "\n"); line && bench->n_rows < MOST; line = strtok(NULL, "\n"))
            add_row(bench, line);
        free(text);
    }
    pool_free(pool);
}

/* --- One fault --- */

static bool is_death(enum outcome outcome)
{
    return outcome == OUTCOME_CRASH || outcome == OUTCOME_HANG || outcome == OUTCOME_MEMORY ||
           outcome == OUTCOME_GARBAGE;
}

/* Whether the two answers of the engine betray a fault, whatever is right: they differ, or there is only one.
 * A second run in one session is compared with the first when it is run. */
static bool is_found(const struct trial_done *done)
{
    enum outcome before = done->origin_results[0].outcome, after = done->results[0].outcome;
    enum verdict_kind pair = done->pairs[0].kind;
    if (pair == VERDICT_INCONSISTENT || done->judgement.verdicts[0].kind == VERDICT_NONDETERMINISTIC)
        return true;
    bool one = (before == OUTCOME_OK) != (after == OUTCOME_OK);
    return one && (verdict_is_finding(pair) || is_death(before) || is_death(after));
}

/* Whether the file of pairs has this rule with the fault at hand. */
static bool is_paired(const struct bench *bench, const char *rule)
{
    char line[200];
    snprintf(line, sizeof line, "\n%s %s\n", rule, bench->row->name);
    return strstr(bench->pairs, line) != NULL;
}

/* Rules that run only when they are named ask about determinism; bench/determinism plants faults for them. */
static bool is_asked(const struct bench *bench, size_t rule)
{
    return !rules_all[rule]->on_request && is_listed(bench->only_rules, rules_all[rule]->name);
}

static bool is_left_out(const struct bench *bench, size_t rule)
{
    const struct cell *cell = &bench->row->cells[rule];
    return cell->found >= bench->enough || (cell->idle >= IDLE && !cell->tried) || !is_asked(bench, rule) ||
           (bench->pairs && !is_paired(bench, rules_all[rule]->name));
}

static int visit_operator(void *context, Onnx__NodeProto *node)
{
    const char *operators = context;
    size_t length = strlen(node->op_type);
    for (const char *at = operators; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, node->op_type, length) == 0 && (at[length] == '|' || !at[length]))
            return 1;
    return 0;
}

/* Whether the fault can show in one of the two forms: it has one of the operators. Functions may have any. */
static bool is_concerned(const struct row *row, const struct test_case *test)
{
    const struct test_case *forms[2] = {test, test->equivalence->origin};
    for (size_t i = 0; i < 2; i++) {
        const struct model *model = test_case_model(forms[i], NULL);
        if (!model || model->proto->n_functions || text_equal(row->operators, "any") ||
            model_each_node(model->graph, visit_operator, row->operators))
            return true;
    }
    return false;
}

static struct hint hint_of(const struct row *row)
{
    struct hint hint = {0};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (text_equal(hints[i].fault, row->name))
            hint = hints[i];
    if (!hint.operators)
        hint.operators = row->operators;
    return hint;
}

static int make_pair(void *context, struct test_case **test, void **user, struct error *err)
{
    struct bench *bench = context;
    *test = NULL;
    if (bench->rule == rules_count) {
        bench->rule = 0;
        bench->round++;
    }
    struct hint hint = hint_of(bench->row);
    if (bench->round >= bench->tries * (hint.times ? hint.times : 1))
        return 0;
    size_t number = bench->rule++;
    if (is_left_out(bench, number))
        return 1;
    struct rule_case_options options = {
        .rule = rules_all[number],
        .operators = hint.operators,
        .fill = hint.fill,
        .types = hint.types,
        .seed = bench->seed,
        .n_knobs = bench->settings.count,
        .knobs = bench->settings.settings,
    };
    struct cell *cell = &bench->row->cells[number];
    int result = rule_case_draw(&options, bench->round, test, err);
    if (result == 1 && !is_concerned(bench->row, *test)) {
        test_case_free(*test);
        *test = NULL;
        cell->idle++;
    }
    *user = cell;
    return result < 0 ? -1 : 1;
}

/* A fault that depends on what the process did before changes any two answers. Only a rule about the way of
 * running may claim it. */
static bool serves(const struct row *row, const struct rule *rule)
{
    return rule->scope == RULE_RUN || !text_starts(row->parameter, "(past");
}

static int take_pair(void *context, struct trial_done *done, struct error *err)
{
    struct bench *bench = context;
    struct cell *cell = done->user;
    (void)err;
    cell->tried++;
    bench->ran++;
    if (done->bad_rewriting) {
        bench->not_true++;
        printf("not true: %s\n", done->test->recipe);
    } else if (is_found(done)) {
        size_t rule = (size_t)(cell - bench->row->cells);
        if (bench->loud)
            printf("  %s: %s, %s; %s %s\n", done->test->recipe, outcome_name(done->origin_results[0].outcome),
                   outcome_name(done->results[0].outcome), verdict_name(done->pairs[0].kind),
                   done->pairs[0].text);
        if (cell->found++ == 0) {
            bench->row->found++;
            bench->served[rule] += serves(bench->row, rules_all[rule]);
        }
    }
    trial_done_release(done);
    return 0;
}

/* Both forms need the engine in some setting other than the rule's own. */
static char *faulty_label(const struct row *row)
{
    struct str label;
    str_init(&label);
    str_printf(&label, "reference:fault=%s,round=on", row->name);
    if (text_equal(row->parameter, "(threads > 1)"))
        str_add(&label, ",threads=3");
    return str_detach(&label);
}

static void run_source(struct bench *bench, const char *label, double deadline,
                       const struct trial_source *source)
{
    struct error err = {0};
    struct panel panel;
    struct arena arena;
    struct pool_options limits = {.deadline = deadline};
    if (panel_open(&panel, bench->registry, given_all_typed(registry_arena(bench->registry), &label, 1),
                   &limits, &err) ||
        panel_add_reference(&panel, bench->registry, &err))
        die(label, &err);
    panel_add_fresh(&panel);
    pool_warm(panel.pool);
    arena_init(&arena);
    const struct engine_info *info = panel_engine(&panel, 0);
    if (!info->welcome)
        die(label, &(struct error){.message = "does not start"});
    bench->settings = knob_settings(&arena, info->spec, info->welcome);
    struct trials *trials = trials_new(&(struct trial_options){.panel = &panel, .registry = bench->registry});
    if (trials_run(trials, source, &err))
        die(label, &err);
    trials_free(trials);
    panel_close(&panel);
    arena_release(&arena);
}

static void try_fault(struct bench *bench, struct row *row)
{
    char *label = faulty_label(row);
    bench->row = row;
    bench->round = bench->rule = 0;
    /* The one fault that hangs is not waited for. */
    run_source(bench, label, text_ends(row->name, "-hang") ? 0.5 : 10,
               &(struct trial_source){.context = bench, .make = make_pair, .take = take_pair});
    free(label);
    printf("%-24s %-14s %3zu rules:", row->name, row->paper, row->found);
    for (size_t i = 0; i < rules_count; i++)
        if (row->cells[i].found)
            printf(" %s %zu/%zu", rules_all[i]->name, row->cells[i].found, row->cells[i].tried);
    printf("\n");
    fflush(stdout);
}

/* --- The healthy engine --- */

static int make_healthy(void *context, struct test_case **test, void **user, struct error *err)
{
    struct bench *bench = context;
    struct generate_options options = {.max_opset = bench->round % 4 ? 17 : 0};
    struct rule_choice choice = {
        .rules = bench->only_rules, .n_knobs = bench->settings.count, .knobs = bench->settings.settings};
    struct test_case *origin;
    *test = NULL;
    *user = NULL;
    if (bench->ran >= bench->healthy)
        return 0;
    size_t index = bench->round++;
    struct rng rng = rng_seed(hash_combine(bench->seed, index));
    if (index % 3 ? generate_one(bench->seed, index, &options, &origin, NULL)
                  : generate_graph(bench->seed, index, &options, &origin, NULL))
        return 1;
    int result = rewriting_draw(origin, &choice, 1 + rng_below(&rng, 3), 8, &rng, test, err);
    test_case_free(origin);
    return result < 0 ? -1 : 1;
}

static int take_healthy(void *context, struct trial_done *done, struct error *err)
{
    struct bench *bench = context;
    (void)err;
    bench->ran++;
    if (done->bad_rewriting || is_found(done) || verdict_is_finding(done->judgement.verdicts[0].kind)) {
        bench->alarms++;
        printf("alarm: %s: %s\n", done->test->recipe,
               done->bad_rewriting ? "the reference contradicts itself" : done->pairs[0].text);
    } else if (done->pairs[0].kind == VERDICT_SUSPECT) {
        bench->suspects++;
        if (bench->loud)
            printf("suspect: %s: %s\n", done->test->recipe, done->pairs[0].text);
    }
    trial_done_release(done);
    return 0;
}

/* --- Tables --- */

static void print_rules(const struct bench *bench)
{
    printf("\n%-24s %5s %7s %6s  %s\n", "rule", "paper", "faults", "pairs", "finds");
    for (size_t i = 0; i < rules_count; i++) {
        size_t tried = 0;
        if (!is_asked(bench, i))
            continue;
        for (size_t k = 0; k < bench->n_rows; k++)
            tried += bench->rows[k].cells[i].tried;
        printf("%-24s %5d %7zu %6zu ", rules_all[i]->name, rules_all[i]->paper, bench->served[i], tried);
        for (size_t k = 0; k < bench->n_rows; k++)
            if (bench->rows[k].cells[i].found)
                printf(" %s", bench->rows[k].name);
        printf("\n");
    }
}

/* Faults of paper "newer" are there for operators and types, one each: no rule was ever chosen for them. */
static bool is_meant(const struct row *row)
{
    return !text_equal(row->paper, "newer");
}

static void print_totals(const struct bench *bench)
{
    size_t rules = 0, served = 0, eagle = 0, found = 0, faults[2] = {0}, all[2] = {0};
    for (size_t i = 0; i < rules_count; i++) {
        rules += is_asked(bench, i);
        served += bench->served[i] > 0;
    }
    for (size_t i = 0; i < bench->n_rows; i++) {
        bool is_eagle = text_equal(bench->rows[i].paper, "EAGLE");
        bool is_newer = !is_meant(&bench->rows[i]);
        faults[is_newer] += bench->rows[i].found > 0;
        all[is_newer]++;
        eagle += is_eagle;
        found += is_eagle && bench->rows[i].found > 0;
    }
    printf("rules %zu of %zu eagle %zu of %zu faults %zu of %zu newer %zu of %zu\n", served, rules, found,
           eagle, faults[0], all[0], faults[1], all[1]);
}

static char *read_pairs(const char *path)
{
    struct error err = {0};
    struct str text;
    char *data;
    size_t size;
    if (file_read(path, 1 << 20, &data, &size, &err))
        die(path, &err);
    str_init(&text);
    str_add(&text, "\n");
    str_append(&text, data, size);
    free(data);
    return str_detach(&text);
}

static void read_options(struct bench *bench, int argc, char **argv)
{
    static const struct option options[] = {
        {"tries", required_argument, NULL, 't'},
        {"enough", required_argument, NULL, 'n'},
        {"pairs", required_argument, NULL, 'p'},
        {"loud", no_argument, NULL, 'l'},
        {"healthy", required_argument, NULL, 'h'},
        {"seed", required_argument, NULL, 's'},
        {"rules", required_argument, NULL, 'r'},
        {"faults", required_argument, NULL, 'f'},
        {0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (option) {
        case 't':
            bench->tries = strtoul(optarg, NULL, 10);
            break;
        case 'n':
            bench->enough = strtoul(optarg, NULL, 10);
            break;
        case 'p':
            bench->pairs = read_pairs(optarg);
            break;
        case 'l':
            bench->loud = true;
            break;
        case 'h':
            bench->healthy = strtoul(optarg, NULL, 10);
            break;
        case 's':
            bench->seed = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            bench->only_rules = optarg;
            break;
        case 'f':
            bench->only_faults = optarg;
            break;
        default:
            fprintf(stderr, "usage: see the head of bench/programs/rules.c\n");
            exit(2);
        }
}

static void release(struct bench *bench)
{
    for (size_t i = 0; i < bench->n_rows; i++) {
        free(bench->rows[i].name);
        free(bench->rows[i].paper);
        free(bench->rows[i].operators);
        free(bench->rows[i].parameter);
        free(bench->rows[i].cells);
    }
    free(bench->rows);
    free(bench->served);
    free(bench->pairs);
    registry_free(bench->registry);
}

int main(int argc, char **argv)
{
    struct bench bench = {.tries = 40, .enough = 3, .healthy = 20000, .seed = 1};
    struct error err = {0};
    read_options(&bench, argc, argv);
    if (registry_open(&bench.registry, NULL, 0, &err))
        die("registry", &err);
    bench.served = memory_zeroed(rules_count, sizeof *bench.served);
    read_faults(&bench);
    for (size_t i = 0; i < bench.n_rows; i++)
        try_fault(&bench, &bench.rows[i]);
    size_t pairs = bench.ran;
    bench.ran = bench.round = 0;
    if (bench.healthy)
        run_source(&bench, "reference:round=on", 10,
                   &(struct trial_source){.context = &bench, .make = make_healthy, .take = take_healthy});
    print_rules(&bench);
    printf("%zu pairs on faulty engines\n", pairs);
    print_totals(&bench);
    printf("healthy %zu alarms %zu suspects %zu\nnot true %zu\n", bench.ran, bench.alarms, bench.suspects,
           bench.not_true);
    release(&bench);
    return 0;
}
