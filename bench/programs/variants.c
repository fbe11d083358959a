/*
 * Variants of models on real engines: bench_variants [--illegal N | --legal N] [--seed S] [--data FOLDER]
 * [--deadline SECONDS] [--keep FOLDER] [--list] -e ENGINE... MODEL...
 *
 * Illegal: N variants in all, one of ten of the models, the others of generated cases of one operator. Each
 * is classified on each engine: refused cleanly, unsupported, accepted (it gave an answer), crash, hang,
 * other. Crashes and hangs are listed once for each signature, with the first case that shows them. In the
 * tables, `open` are answers that are no finding: only the reference forbids the model, not libonnx, or the
 * adapter reads it and not the library.
 *
 * Legal: N variants of each model, judged as any case is. `top` are those in which two engines differ in the
 * largest element of the first output (the measure of Guo et al., Audee, ASE 2020), `found` those with a
 * finding; `explained` those of which every finding is a known issue of share/known.
 *
 * --list prints a line for each engine and case that is not refused or right; --keep writes the first case of
 * each signature to a folder. The last line is
 *
 *     cases N refused N unsupported N accepted N open N crash N hang N other N signatures N seconds T
 * or
 *     cases N drawn N top N found N explained N seconds T
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "case/inputs.h"
#include "findings/known_issues.h"
#include "findings/signature.h"
#include "generate/operator_case.h"
#include "model/onnx.h"
#include "search/variant.h"
#include "trial/trial.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 256, MAX_ENGINES = 16, SAMPLES = 10, TRIES = 6, SHARE_OF_MODELS = 1 };

enum fate { REFUSED, UNSUPPORTED, ACCEPTED, OPEN, CRASH, HANG, OTHER, FATES };
static const char *const fate_words[FATES] = {
    [REFUSED] = "refused", [UNSUPPORTED] = "lacks", [ACCEPTED] = "accepted", [OPEN] = "open",
    [CRASH] = "crash",     [HANG] = "hang",         [OTHER] = "other"};

struct seed_model {
    const char *path;
    struct test_case *cases[SAMPLES];
    struct variant_seed *seeds[SAMPLES];
    uint64_t number; /* of the next variant */
    size_t made, drawn, top, found, explained;
};

struct seen {
    char *key, *note, *recipe;
    const struct known_issue *known; /* NULL: not written up */
    size_t count;
};

/* What a case is of. */
struct origin_of {
    const struct op *op;
    struct seed_model *model; /* NULL: of one operator */
};

struct bench {
    enum variant_law law;
    size_t wanted, submitted;
    uint64_t seed, index;
    double deadline;
    const char *data, *keep;
    bool list;
    size_t n_engines, n_models;
    const char *labels[MAX_ENGINES];
    struct seed_model *models;
    struct panel panel;
    struct known_issues known;
    size_t tally[MAX_ENGINES][FATES], by_op[MAX_ENGINES][MAX_OPS][FATES], all[FATES];
    struct seen *seen;
    size_t n_seen, capacity;
};

/* --- Seeds --- */

static int open_samples(struct seed_model *seed, const char *data, struct error *err)
{
    struct model *model;
    struct inputs inputs;
    if (model_load(&model, seed->path, err))
        return -1;
    if (data ? inputs_read(&inputs, model, data, err)
             : inputs_random(&inputs, model, SAMPLES, 1, NULL, 0, err))
        return -1;
    struct test_case *first = NULL;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct value *values;
        if (inputs_get(&inputs, i % inputs.samples, &values, err))
            return -1;
        seed->cases[i] = first ? test_case_same_model(first) : test_case_new(model);
        first = seed->cases[0];
        test_case_set_name(seed->cases[i], seed->path);
        seed->cases[i]->inputs = values;
        seed->cases[i]->n_inputs = inputs.count;
        if (variant_seed_new(&seed->seeds[i], seed->cases[i], err))
            return -1;
    }
    inputs_release(&inputs);
    return 0;
}

static void release_samples(struct seed_model *seed)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        variant_seed_free(seed->seeds[i]);
        test_case_free(seed->cases[i]);
    }
}

/* --- Making --- */

static struct origin_of *origin_of(const struct variant_seed *seed, const struct variant_facts *facts,
                                   struct seed_model *model)
{
    const struct variant_param *params;
    struct origin_of *origin = memory_zeroed(1, sizeof *origin);
    variant_params(seed, &params);
    *origin = (struct origin_of){.op = params[facts->param].op, .model = model};
    return origin;
}

/* The next variant of a model. */
static int of_model(struct bench *b, struct seed_model *model, struct test_case **test, void **user,
                    struct error *err)
{
    for (;;) {
        struct variant_facts facts;
        const struct variant_seed *seed = model->seeds[model->number % SAMPLES];
        int result = variant_make(seed, b->law, b->seed, model->number++, test, &facts, err);
        model->drawn++;
        if (result && err->code == ERROR_NOT_FOUND)
            continue;
        if (result)
            return -1;
        model->made++;
        *user = origin_of(seed, &facts, model);
        return 1;
    }
}

/* A variant of the next generated case of one operator that has one. */
static int of_operator(struct bench *b, struct test_case **test, void **user, struct error *err)
{
    struct generate_options options = {.max_opset = onnx_max_opset()};
    for (;; b->index++) {
        struct test_case *one;
        struct variant_seed *seed;
        struct variant_facts facts;
        if (generate_one(b->seed, b->index, &options, &one, err))
            continue;
        int result = variant_seed_new(&seed, one, err);
        for (uint64_t i = 0; !result && i < TRIES; i++) {
            if (variant_make(seed, VARIANT_ILLEGAL, b->seed, b->index * TRIES + i, test, &facts, err))
                continue;
            *user = origin_of(seed, &facts, NULL);
            variant_seed_free(seed);
            test_case_free(one);
            b->index++;
            return 1;
        }
        if (!result)
            variant_seed_free(seed);
        test_case_free(one);
    }
}

static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct bench *b = context;
    size_t total = b->law == VARIANT_LEGAL ? b->wanted * b->n_models : b->wanted;
    if (b->submitted == total)
        return 0;
    size_t number = b->submitted++;
    if (b->law == VARIANT_LEGAL)
        return of_model(b, &b->models[number / b->wanted], test, user, err);
    if (!b->n_models || number % 10 >= SHARE_OF_MODELS)
        return of_operator(b, test, user, err);
    size_t turn = number / 10 * SHARE_OF_MODELS + number % 10;
    return of_model(b, &b->models[turn % b->n_models], test, user, err);
}

/* --- Taking --- */

static enum fate fate_of(const struct verdict *verdict, const struct result *result)
{
    switch (result->outcome) {
    case OUTCOME_OK:
        return verdict->kind == VERDICT_ACCEPTED ? ACCEPTED : OPEN;
    case OUTCOME_UNSUPPORTED:
        return UNSUPPORTED;
    case OUTCOME_REJECTED:
    case OUTCOME_FAILED:
        return REFUSED;
    case OUTCOME_CRASH:
        return CRASH;
    case OUTCOME_HANG:
        return HANG;
    default:
        return OTHER;
    }
}

static void keep_case(const struct bench *b, const struct test_case *test)
{
    struct str path;
    struct error err = {0};
    if (!b->keep)
        return;
    str_init(&path);
    str_printf(&path, "%s/%zu", b->keep, b->n_seen);
    if (suite_write_path(path.data, test, &err))
        fprintf(stderr, "%s: %s\n", path.data, err.message);
    str_release(&path);
}

/* The issue of share/known that a finding is of, or NULL. */
static const struct known_issue *known_of(const struct bench *b, const struct trial_done *done, size_t engine)
{
    struct finding_facts facts;
    const struct engine_info *info = done->engines[engine];
    facts_of(&facts, &(struct facts_source){.engine = info->label,
                                            .version = info->version,
                                            .profile = info->profile,
                                            .verdict = &done->judgement.verdicts[engine],
                                            .settlement = &done->settlements[engine],
                                            .result = &done->results[engine],
                                            .test = done->test});
    const struct known_issue *known = known_find(&b->known, &facts);
    facts_release(&facts);
    return known;
}

/* Adds a finding to those of its signature. */
static void note(struct bench *b, const struct trial_done *done, size_t engine, const char *what,
                 const struct known_issue *known)
{
    const struct engine_info *info = done->engines[engine];
    struct signature signature;
    char key[SIGNATURE_TEXT_SIZE + 200];
    if (!signature_of_trial(&signature, info->label, info->profile, done, engine))
        return;
    snprintf(key, sizeof key, "%s\t%s\t%s", b->labels[engine], what, signature.text);
    for (size_t i = 0; i < b->n_seen; i++)
        if (text_equal(b->seen[i].key, key) && b->seen[i].known == known) {
            b->seen[i].count++;
            return;
        }
    keep_case(b, done->test);
    b->seen = memory_grow(b->seen, &b->capacity, b->n_seen + 1, sizeof *b->seen);
    b->seen[b->n_seen++] = (struct seen){memory_strdup(key), memory_strdup(done->test->note),
                                         memory_strdup(done->test->recipe), known, 1};
}

static void list(const struct bench *b, const struct trial_done *done, size_t engine, const char *what)
{
    const char *why = done->test->forbidden_why ? done->test->forbidden_why : "";
    const char *message = done->results[engine].message ? done->results[engine].message : "";
    if (b->list)
        printf("%s\t%s\t%s\t%.200s\t%.*s\t%s\t%s\n", b->labels[engine], what, done->test->note, why,
               (int)strcspn(message, "\n"), message, done->judgement.verdicts[engine].text,
               done->test->recipe);
}

static size_t op_number(const struct op *op)
{
    size_t i = 0;
    while (i < op_count() && op_at(i) != op)
        i++;
    return i;
}

static void take_illegal(struct bench *b, const struct trial_done *done, const struct origin_of *origin)
{
    for (size_t i = 0; i < b->n_engines; i++) {
        enum fate fate = fate_of(&done->judgement.verdicts[i], &done->results[i]);
        b->tally[i][fate]++;
        b->by_op[i][op_number(origin->op)][fate]++;
        b->all[fate]++;
        if (fate == CRASH || fate == HANG || fate == OTHER)
            note(b, done, i, fate_words[fate], known_of(b, done, i));
        if (fate != REFUSED && fate != UNSUPPORTED)
            list(b, done, i, fate_words[fate]);
    }
}

/* The place of the largest element of the first output; -1 when there is no answer. */
static long top(const struct result *result)
{
    if (result->outcome != OUTCOME_OK || !result->count || result->outputs[0].kind != VALUE_TENSOR)
        return -1;
    const struct tensor *tensor = &result->outputs[0].tensors[0];
    long best = -1;
    for (size_t i = 0; i < tensor->count; i++)
        if (best < 0 || tensor_get(tensor, i) > tensor_get(tensor, (size_t)best))
            best = (long)i;
    return best;
}

static void take_legal(struct bench *b, const struct trial_done *done, struct seed_model *model)
{
    bool differ = false, found = false, explained = true;
    for (size_t i = 0; i < b->n_engines; i++) {
        const struct verdict *verdict = &done->judgement.verdicts[i];
        for (size_t k = 0; k < i; k++) {
            long a = top(&done->results[k]), other = top(&done->results[i]);
            differ = differ || (a >= 0 && other >= 0 && a != other);
        }
        if (!verdict_is_finding(verdict->kind))
            continue;
        const struct known_issue *known = known_of(b, done, i);
        found = true;
        explained = explained && known;
        note(b, done, i, known ? "explained" : "unexplained", known);
        list(b, done, i, known ? "explained" : "unexplained");
    }
    if (differ)
        list(b, done, 0, found ? "top, found" : "top");
    model->top += differ;
    model->found += found;
    model->explained += found && explained;
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct bench *b = context;
    struct origin_of *origin = done->user;
    (void)err;
    if (b->law == VARIANT_LEGAL)
        take_legal(b, done, origin->model);
    else
        take_illegal(b, done, origin);
    free(origin);
    trial_done_release(done);
    return 0;
}

/* --- Tables --- */

static void print_fates(const char *name, const size_t *counts)
{
    printf("%-24s", name);
    for (int i = 0; i < FATES; i++)
        printf(" %8zu", counts[i]);
    printf("\n");
}

static void print_head(const char *name)
{
    printf("%-24s", name);
    for (int i = 0; i < FATES; i++)
        printf(" %8s", fate_words[i]);
    printf("\n");
}

static void print_seen(const struct bench *b)
{
    for (size_t i = 0; i < b->n_seen; i++)
        printf("%zu\t%s%s%s%s\n      %s\n      %s\n", b->seen[i].count, b->seen[i].key,
               b->seen[i].known ? "\t(" : "", b->seen[i].known ? known_document(b->seen[i].known) : "",
               b->seen[i].known ? ")" : "", b->seen[i].note, b->seen[i].recipe);
}

static void print_operators(const char *engine, const size_t (*by_op)[FATES])
{
    print_head(engine);
    for (size_t i = 0; i < op_count() && i < MAX_OPS; i++) {
        size_t sum = 0;
        for (int k = 0; k < FATES; k++)
            sum += by_op[i][k];
        if (sum)
            print_fates(op_at(i)->name, by_op[i]);
    }
    printf("\n");
}

static void print_illegal(const struct bench *b, double seconds)
{
    print_head("engine");
    for (size_t i = 0; i < b->n_engines; i++)
        print_fates(b->labels[i], b->tally[i]);
    printf("\n");
    for (size_t i = 0; i < b->n_engines; i++)
        print_operators(b->labels[i], (const size_t(*)[FATES])b->by_op[i]);
    print_seen(b);
    printf("cases %zu refused %zu unsupported %zu accepted %zu open %zu crash %zu hang %zu other %zu "
           "signatures "
           "%zu seconds %.0f\n",
           b->submitted, b->all[REFUSED], b->all[UNSUPPORTED], b->all[ACCEPTED], b->all[OPEN], b->all[CRASH],
           b->all[HANG], b->all[OTHER], b->n_seen, seconds);
}

static void print_legal(const struct bench *b, double seconds)
{
    size_t top_all = 0, found = 0, explained = 0, drawn = 0;
    printf("%-40s %8s %8s %8s %8s %9s\n", "model", "variants", "drawn", "top", "found", "explained");
    for (size_t i = 0; i < b->n_models; i++) {
        const struct seed_model *m = &b->models[i];
        printf("%-40s %8zu %8zu %8zu %8zu %9zu\n", m->path, m->made, m->drawn, m->top, m->found,
               m->explained);
        top_all += m->top;
        found += m->found;
        explained += m->explained;
        drawn += m->drawn;
    }
    print_seen(b);
    printf("cases %zu drawn %zu top %zu found %zu explained %zu seconds %.0f\n", b->submitted, drawn, top_all,
           found, explained, seconds);
}

/* --- Running --- */

static int read_options(struct bench *b, int argc, char **argv)
{
    static const struct option options[] = {
        {"illegal", 1, NULL, 'i'},  {"legal", 1, NULL, 'l'}, {"seed", 1, NULL, 's'}, {"data", 1, NULL, 'd'},
        {"deadline", 1, NULL, 't'}, {"keep", 1, NULL, 'k'},  {"list", 0, NULL, 'L'}, {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "e:", options, NULL)) != -1)
        switch (c) {
        case 'i':
        case 'l':
            b->law = c == 'i' ? VARIANT_ILLEGAL : VARIANT_LEGAL;
            b->wanted = strtoull(optarg, NULL, 10);
            break;
        case 's':
            b->seed = strtoull(optarg, NULL, 10);
            break;
        case 'd':
            b->data = optarg;
            break;
        case 't':
            b->deadline = strtod(optarg, NULL);
            break;
        case 'k':
            b->keep = optarg;
            break;
        case 'L':
            b->list = true;
            break;
        case 'e':
            if (b->n_engines == MAX_ENGINES)
                return -1;
            b->labels[b->n_engines++] = optarg;
            break;
        default:
            return -1;
        }
    b->n_models = (size_t)(argc - optind);
    b->models = memory_zeroed(b->n_models + 1, sizeof *b->models);
    for (size_t i = 0; i < b->n_models; i++)
        b->models[i].path = argv[optind + (int)i];
    return b->wanted && b->n_engines && (b->law == VARIANT_ILLEGAL || b->n_models) ? 0 : -1;
}

static int run(struct bench *b, struct registry *registry, struct error *err)
{
    struct pool_options limits = {.deadline = b->deadline};
    for (size_t i = 0; i < b->n_models; i++)
        if (open_samples(&b->models[i], b->data, err))
            return error_prefix(err, "%s", b->models[i].path);
    if (panel_open(&b->panel, registry, given_all_typed(registry_arena(registry), b->labels, b->n_engines),
                   &limits, err) ||
        panel_add_reference(&b->panel, registry, err))
        return -1;
    struct trials *trials = trials_new(&(struct trial_options){.panel = &b->panel, .settle = true});
    struct trial_source source = {.context = b, .make = make, .take = take};
    int status = trials_run(trials, &source, err);
    trials_free(trials);
    panel_close(&b->panel);
    return status;
}

static void release(struct bench *b)
{
    for (size_t i = 0; i < b->n_models; i++)
        release_samples(&b->models[i]);
    for (size_t i = 0; i < b->n_seen; i++) {
        free(b->seen[i].key);
        free(b->seen[i].note);
        free(b->seen[i].recipe);
    }
    free(b->seen);
    free(b->models);
    known_release(&b->known);
    free(b);
}

int main(int argc, char **argv)
{
    struct bench *b = memory_zeroed(1, sizeof *b);
    struct registry *registry = NULL;
    struct error err = {0};
    b->seed = 1;
    b->deadline = 5;
    if (read_options(b, argc, argv) || known_open(&b->known, &(struct known_files){0}, &err) ||
        registry_open(&registry, NULL, 0, &err)) {
        fprintf(stderr, "usage: see the head of bench/programs/variants.c; %s\n", err.message);
        return 2;
    }
    double start = clock_seconds();
    int status = run(b, registry, &err);
    registry_free(registry);
    if (status)
        fprintf(stderr, "%s\n", err.message);
    else
        (b->law == VARIANT_LEGAL ? print_legal : print_illegal)(b, clock_seconds() - start);
    release(b);
    return status ? 2 : 0;
}
