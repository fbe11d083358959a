#include "probe/probe.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/str.h"
#include "engine/label.h"
#include "trial/trial.h"

#include <stdlib.h>
#include <string.h>

/* A case that will be run: where its letter goes, and what to draw. */
struct plan_item {
    const struct op *op;
    size_t op_number, row; /* in a result */
    int opset;
    uint64_t index; /* within the operator, so that recipes do not depend on which others are probed */
};

struct plan {
    struct probe_result layout; /* operators and rows; every engine's result starts as its copy */
    struct plan_item *items;
    size_t count, capacity;
    size_t rows_capacity;
};

/*
 * A quick probe takes some opsets at which many operators changed, or the operator's first when it is newer.
 */
static bool opset_probed(const struct op *op, int opset, const struct probe_options *options)
{
    if (!options->quick || (options->oldest && opset == OPSET_FIRST))
        return true;
    return opset == 13 || opset == 17 || opset == OPSET_LAST ||
           (op_drawn_since(op) > 17 && opset == op_drawn_since(op));
}

/*
 * A quick probe takes at most two ranks, one of them a common one. It takes all where the first input holds
 * no data, as these have few.
 */
static bool rank_probed(const struct op *op, int rank, int low, int high, bool quick)
{
    int usual = high < 4 ? high : 4;
    return !quick || op->data == DATA_NONE || rank == usual || rank == (low < 2 && high >= 2 ? 2 : low);
}

static size_t add_row(struct plan *plan, struct probe_op *op, const struct probe_row *row)
{
    for (size_t i = 0; i < op->n_rows; i++)
        if (op->rows[i].type == row->type && op->rows[i].rank == row->rank && op->rows[i].given == row->given)
            return i;
    op->rows = memory_grow(op->rows, &plan->rows_capacity, op->n_rows + 1, sizeof *op->rows);
    op->rows[op->n_rows] = *row;
    return op->n_rows++;
}

static void add_item(struct plan *plan, const struct op *op, const struct probe_row *row, int opset,
                     uint64_t index)
{
    size_t number = plan->layout.n_ops - 1;
    plan->items = memory_grow(plan->items, &plan->capacity, plan->count + 1, sizeof *plan->items);
    plan->items[plan->count++] = (struct plan_item){
        .op = op,
        .op_number = number,
        .row = add_row(plan, &plan->layout.ops[number], row),
        .opset = opset,
        .index = index,
    };
}

static void plan_opset(struct plan *plan, const struct op *op, int opset, dtype_set types, bool quick,
                       uint64_t *index)
{
    uint32_t forms[PROBE_FORMS];
    size_t n_forms = generate_forms(op, opset, forms, PROBE_FORMS);
    int low = op->inputs.most ? op->ranks.least : -1, high = op->inputs.most ? op->ranks.most : -1;
    high = high > 6 ? 6 : high;
    for (int type = 1; type < DTYPE_COUNT; type++)
        for (size_t form = 0; dtype_in((enum dtype)type, types) && form < n_forms; form++)
            for (int rank = low; rank <= high; rank++) {
                bool form_probed = !quick || form == 0 || form == n_forms - 1;
                struct probe_row row = {.type = (enum dtype)type, .rank = rank, .given = forms[form]};
                memset(row.opsets, probe_letter(PROBE_NONE), PROBE_OPSETS);
                if (form_probed && rank_probed(op, rank, low, high, quick))
                    add_item(plan, op, &row, opset, *index);
                ++*index;
            }
}

/* Those of the narrow types that cases of the operator can have. */
static dtype_set narrow_types(const struct op *op, int opset, dtype_set wanted)
{
    dtype_set set = 0;
    for (int type = 1; type < DTYPE_COUNT; type++) {
        dtype_set one = op_narrow_at(op, opset) & wanted & DTYPE_BIT(type);
        set |= one && op_drawn_types(op, opset, one) ? one : 0;
    }
    return set;
}

/* Narrow types came later: cases of them are counted from here on, so that the others keep their numbers. */
enum { FIRST_NARROW = 1 << 20 };

/* A quick probe asks for narrow types at the newest opset, which has them all. */
static void plan_operator(struct plan *plan, const struct op *op, const struct probe_options *options)
{
    uint64_t index = 0, narrow = FIRST_NARROW;
    for (int opset = op_drawn_since(op) > OPSET_FIRST ? op_drawn_since(op) : OPSET_FIRST;
         opset <= OPSET_NEWEST; opset++) {
        if (opset_probed(op, opset, options))
            plan_opset(plan, op, opset, op_types_at(op, opset), options->quick, &index);
        if (!options->quick || opset == OPSET_NEWEST)
            plan_opset(plan, op, opset, narrow_types(op, opset, options->narrow), options->quick, &narrow);
    }
}

/* Plans all cases, operator by operator. */
static void plan_init(struct plan *plan, const struct probe_options *options)
{
    size_t count = op_count();
    *plan = (struct plan){0};
    plan->layout.ops = memory_zeroed(count, sizeof *plan->layout.ops);
    for (size_t i = 0; i < count; i++) {
        const struct op *op = op_at(i);
        if (!op->sample || (options->ops ? !op_list_has(options->ops, op) : *op->owner))
            continue;
        plan->rows_capacity = 0;
        plan->layout.ops[plan->layout.n_ops++] = (struct probe_op){.name = op->name, .family = op_family(op)};
        plan_operator(plan, op, options);
    }
}

static void plan_release(struct plan *plan)
{
    for (size_t i = 0; i < plan->layout.n_ops; i++)
        free(plan->layout.ops[i].rows);
    free(plan->layout.ops);
    free(plan->items);
}

static void result_start(struct probe_result *result, const struct plan *plan,
                         const struct probe_options *options)
{
    arena_init(&result->arena);
    result->seed = options->seed;
    result->complete = !options->quick && !options->ops;
    result->n_ops = plan->layout.n_ops;
    result->ops = arena_array(&result->arena, result->n_ops, sizeof *result->ops);
    for (size_t i = 0; i < result->n_ops; i++) {
        const struct probe_op *from = &plan->layout.ops[i];
        struct probe_op *op = &result->ops[i];
        *op = *from;
        op->rows = arena_array(&result->arena, from->n_rows, sizeof *op->rows);
        if (from->n_rows)
            memcpy(op->rows, from->rows, from->n_rows * sizeof *op->rows);
        op->finds = arena_array(&result->arena, VERDICT_COUNT, sizeof *op->finds);
    }
}

void probe_results_free(struct probe_result *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++)
        arena_release(&results[i].arena);
    free(results);
}

/* The place of this verdict in the list, which is in the order of the first cases; a new one is last. */
static size_t find_place(struct probe_op *op, enum verdict_kind verdict)
{
    for (size_t i = 0; i < op->n_finds; i++)
        if (op->finds[i].verdict == verdict)
            return i;
    op->finds[op->n_finds] = (struct probe_find){.index = UINT64_MAX, .verdict = verdict};
    return op->n_finds++;
}

static void note_find(struct probe_result *result, struct probe_op *op, const struct plan_item *item,
                      const struct verdict *verdict, const char *recipe)
{
    size_t at = find_place(op, verdict->kind);
    struct probe_find find = op->finds[at];
    find.count++;
    if (item->index < find.index) {
        find.index = item->index;
        find.type = op->rows[item->row].type;
        find.opset = item->opset;
        find.message = arena_strdup(&result->arena, verdict->text);
        find.recipe = arena_strdup(&result->arena, recipe);
    }
    for (; at > 0 && op->finds[at - 1].index > find.index; at--)
        op->finds[at] = op->finds[at - 1];
    op->finds[at] = find;
}

/* In alphabetical order, as answers come in any. */
static void note_name(struct probe_result *result, struct probe_op *op, const char *name)
{
    size_t at = 0;
    while (at < op->n_names && strcmp(op->names[at], name) < 0)
        at++;
    if (op->n_names == PROBE_NAMES || (at < op->n_names && text_equal(op->names[at], name)))
        return;
    if (!op->names)
        op->names = arena_array(&result->arena, PROBE_NAMES, sizeof *op->names);
    memmove(op->names + at + 1, op->names + at, (op->n_names++ - at) * sizeof *op->names);
    op->names[at] = arena_strdup(&result->arena, name);
}

static void note_trace(struct probe_result *result, struct probe_op *op, const struct trace *trace)
{
    struct arena arena;
    size_t count;
    arena_init(&arena);
    const char *const *names = trace_names(trace, &arena, &count);
    for (size_t i = 0; i < count; i++)
        note_name(result, op, names[i]);
    arena_release(&arena);
}

/* A plan being worked off. */
struct probing {
    const struct probe_options *options;
    const struct plan *plan;
    struct probe_result *results;
    struct progress progress;
    size_t next, back; /* items: to be made next; done with */
    int64_t end_ns;    /* when no more are made; 0: when all are */
};

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct probing *probing = context;
    const struct plan_item *item = done->user;
    (void)err;
    for (size_t i = 0; i < done->n_engines; i++) {
        struct probe_result *result = &probing->results[i];
        const struct verdict *verdict = &done->judgement.verdicts[i];
        struct probe_op *op = &result->ops[item->op_number];
        enum probe_answer answer = probe_answer_of(verdict);
        op->rows[item->row].opsets[item->opset - OPSET_FIRST] = probe_letter(answer);
        result->started |= !verdict_row(verdict->kind)->not_started;
        if (probe_is_finding(answer) || answer == PROBE_UNSUPPORTED)
            note_find(result, op, item, verdict, done->test->recipe);
        if (probing->options->trace)
            note_trace(result, op, done->results[i].trace);
    }
    trial_done_release(done);
    progress_step(&probing->progress, ++probing->back);
    return 0;
}

/* Where the sampler cannot make such a case, none is run. */
static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct probing *probing = context;
    const struct plan *plan = probing->plan;
    (void)err;
    if (probing->next == plan->count || interrupt_pending() ||
        (probing->end_ns && clock_ns() > probing->end_ns))
        return 0;
    struct plan_item *item = &plan->items[probing->next++];
    const struct probe_row *row = &plan->layout.ops[item->op_number].rows[item->row];
    struct generate_options wish = {
        .ops = item->op->name,
        .opset = item->opset,
        .types = DTYPE_BIT(row->type),
        .fill = FILL_NORMAL + 1,
        .rank = row->rank + 1,
        .given = row->given,
    };
    *user = item;
    if (generate_one(probing->options->seed, item->index, &wish, test, NULL)) {
        *test = NULL;
        probing->back++;
    }
    return 1;
}

static int run_plan(const struct probe_options *options, const struct plan *plan, struct trials *trials,
                    struct probe_result *results, struct error *err)
{
    struct probing probing = {.options = options, .plan = plan, .results = results};
    if (options->seconds > 0)
        probing.end_ns = clock_ns() + (int64_t)(options->seconds * 1e9);
    if (options->progress)
        progress_begin(&probing.progress, "probe", plan->count);
    int status = trials_run(trials, &(struct trial_source){&probing, make, take}, err);
    progress_end(&probing.progress);
    return status;
}

char *probe_engine(const struct engine_info *info)
{
    const struct engine_spec *spec = info->spec;
    const char *version = info->version ? info->version : spec->version;
    struct label parts = {.name = label_part(spec->name),
                          .version = label_part(version && *version ? version : NULL)};
    struct str label;
    str_init(&label);
    label_print(&label, &parts);
    for (size_t i = 0; i < spec->knobs; i++)
        label_add_knob(&label, label_part(spec->knob_names[i]), label_part(spec->knob_values[i]));
    char *text = str_detach(&label);
    str_release(&label);
    return text;
}

/* As many cases under way as it takes that a slow one (an engine restarts) does not stop the others. */
enum { AHEAD = 64 };

void probe_introduce(struct probe_result *result, const struct engine_info *info)
{
    const Assay__Welcome *welcome = info->welcome;
    char *engine = probe_engine(info);
    result->engine = arena_strdup(&result->arena, engine);
    free(engine);
    result->name = arena_strdup(&result->arena, info->name);
    result->version = info->version ? arena_strdup(&result->arena, info->version) : NULL;
    if (!welcome)
        return;
    struct str declared;
    str_init(&declared);
    for (size_t i = 0; i < welcome->n_operators; i++)
        str_printf(&declared, "%s%s", i ? "," : "", welcome->operators[i]);
    result->declared = welcome->n_operators ? arena_strdup(&result->arena, declared.data) : NULL;
    str_release(&declared);
    result->types = 0;
    for (size_t i = 0; i < welcome->n_types; i++)
        if (welcome->types[i] > 0 && welcome->types[i] < DTYPE_COUNT)
            result->types |= DTYPE_BIT(welcome->types[i]);
}

int probe_run(const struct probe_options *options, struct probe_result **results, struct error *err)
{
    struct plan plan;
    *results = NULL;
    if (op_check_names(options->ops, err))
        return -1;
    plan_init(&plan, options);
    *results = memory_zeroed(options->panel->count, sizeof **results);
    for (size_t i = 0; i < options->panel->count; i++)
        result_start(&(*results)[i], &plan, options);
    struct trial_options trial = {
        .panel = options->panel,
        .ahead = AHEAD,
        .trace = options->trace,
    };
    struct trials *trials = trials_new(&trial);
    int status = run_plan(options, &plan, trials, *results, err);
    trials_free(trials);
    for (size_t i = 0; i < options->panel->count; i++) {
        probe_introduce(&(*results)[i], panel_engine(options->panel, i));
    }
    plan_release(&plan);
    return status;
}
