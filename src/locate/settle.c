#include "locate/settle.h"

#include "base/memory.h"
#include "ops/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_WINDOW = 12 };

/* Everything known about one engine's run of one case. */
struct work {
    const struct settle_case *which;
    struct arena arena;
    struct model_index index;
    const struct tensor *
        *known; /* for each value of the index: graph input, initialiser or recorded; may be NULL */
    struct tensor *weights; /* storage for initialisers, one for each value of the index */
    struct result plain, exposed;
    struct tensor *computed; /* by the reference, where the engine gives nothing */
    size_t n_computed;
    const struct verdict *refusal; /* the word on the whole when it is refused, else NULL */
    enum outcome outcome;          /* then how it ended */
    struct error *err;
};

void settlement_release(struct settlement *settlement)
{
    free(settlement->nodes);
    settlement->nodes = NULL;
    settlement->count = 0;
}

static void blame(struct settlement *settlement, const size_t *nodes, size_t count)
{
    settlement->nodes = memory_zeroed(count, sizeof *nodes);
    memcpy(settlement->nodes, nodes, count * sizeof *nodes);
    settlement->count = count;
}

static int run_model(struct work *work, const struct model *model, const struct value *inputs,
                     size_t n_inputs, struct result *result)
{
    uint8_t *data;
    size_t size;
    if (model_pack(model, &data, &size, work->err))
        return -1;
    struct job job = {.engine = work->which->engine,
                      .model = data,
                      .model_size = size,
                      .n_inputs = n_inputs,
                      .inputs = inputs};
    int status = pool_run_one(work->which->pool, &job, result, work->err);
    free(data);
    return status;
}

static void learn(struct work *work, const char *name, const struct tensor *tensor)
{
    size_t number;
    if (map_get(&work->index.names, name, &number))
        work->known[number] = tensor;
}

static void learn_inputs(struct work *work)
{
    const Onnx__GraphProto *graph = work->which->model->graph;
    for (size_t i = 0; i < work->which->n_inputs; i++) {
        const struct value *input = &work->which->inputs[i];
        const char *name = input->name ? input->name : i < graph->n_input ? graph->input[i]->name : NULL;
        if (name && input->kind == VALUE_TENSOR)
            learn(work, name, &input->tensors[0]);
    }
}

/* Names of all values that nodes make, in the arena. */
static const char **computed_names(struct work *work, size_t *count)
{
    const char **names = arena_array(&work->arena, work->index.count, sizeof *names);
    *count = 0;
    for (size_t i = 0; i < work->index.count; i++)
        if (work->index.values[i].source == SOURCE_NODE)
            names[(*count)++] = work->index.values[i].name;
    return names;
}

/* Runs the model with every value exposed and remembers what the engine really had. */
static int record(struct work *work)
{
    struct model *exposed;
    if (model_clone(&exposed, work->which->model, work->err))
        return -1;
    size_t count;
    const char **names = computed_names(work, &count);
    int status = model_expose(exposed, names, count, work->err);
    if (!status)
        status = run_model(work, exposed, work->which->inputs, work->which->n_inputs, &work->exposed);
    model_free(exposed);
    if (status)
        return -1;
    learn_inputs(work);
    for (size_t i = 0; i < work->exposed.count; i++)
        if (work->exposed.outputs[i].kind == VALUE_TENSOR && work->exposed.outputs[i].name)
            learn(work, work->exposed.outputs[i].name, &work->exposed.outputs[i].tensors[0]);
    return 0;
}

/* The engine gives nothing: the reference's values, rounded into their types, stand for what it would have
 * had. */
static int compute(struct work *work)
{
    struct evaluator *evaluator;
    struct bounded *results;
    size_t wanted, count;
    const char **names = computed_names(work, &wanted);
    if (evaluator_new(&evaluator, work->which->model, &(struct evaluate_options){.round = true}, work->err))
        return -1;
    int status = evaluator_run(evaluator, work->which->inputs, work->which->n_inputs, names, wanted, &results,
                               &count, work->err);
    evaluator_free(evaluator);
    if (status)
        return -1;
    learn_inputs(work);
    work->computed = arena_array(&work->arena, count, sizeof *work->computed);
    for (size_t i = 0; i < count; i++) {
        if (!bounded_to_tensor(&results[i], &work->computed[work->n_computed], NULL))
            learn(work, names[i], &work->computed[work->n_computed++]);
        bounded_release(&results[i]);
    }
    free(results);
    return 0;
}

static const struct tensor *known_value(struct work *work, size_t number)
{
    const struct index_value *value = &work->index.values[number];
    if (!work->known[number] && value->source == SOURCE_INITIALIZER &&
        !model_weight(work->which->model, value->number, &work->weights[number], NULL))
        work->known[number] = &work->weights[number];
    return work->known[number];
}

static const struct tensor *known_by_name(struct work *work, const char *name)
{
    size_t number;
    return map_get(&work->index.names, name, &number) ? known_value(work, number) : NULL;
}

/* The node's inputs as the engine had them; false when one was not recorded. */
static bool node_inputs(struct work *work, size_t number, const struct tensor **inputs,
                        struct value *captured, size_t *n_captured)
{
    const Onnx__NodeProto *node = work->which->model->graph->node[number];
    for (size_t i = 0; i < node->n_input; i++) {
        inputs[i] = *node->input[i] ? known_by_name(work, node->input[i]) : NULL;
        if (*node->input[i] && !inputs[i])
            return false;
    }
    *n_captured = 0;
    for (size_t i = 0; i < work->index.n_uses[number]; i++) {
        size_t use = work->index.uses[number][i];
        const struct tensor *tensor = known_value(work, use);
        if (!tensor)
            return false;
        /* A view: evaluate_node only reads it. */
        captured[(*n_captured)++] = (struct value){.name = (char *)(uintptr_t)work->index.values[use].name,
                                                   .kind = VALUE_TENSOR,
                                                   .count = 1,
                                                   .tensors = (struct tensor *)(uintptr_t)tensor};
    }
    return true;
}

static void judge_recorded(struct work *work, const Onnx__NodeProto *node, const struct bounded *expected,
                           struct verdict *verdict)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const struct tensor *got = *node->output[i] ? known_by_name(work, node->output[i]) : NULL;
        if (!got || expected[i].type == DTYPE_NONE)
            continue;
        struct value view = {.kind = VALUE_TENSOR, .count = 1, .tensors = (struct tensor *)(uintptr_t)got};
        verdict_output(verdict, i, &expected[i], &view);
    }
    verdict_finish(verdict, node->n_output ? node->output[verdict->output] : NULL);
}

/* One node on its recorded inputs. Nodes the reference cannot evaluate are passed over: agrees with nothing
 * judged. */
static void judge_node(struct work *work, size_t number, struct verdict *verdict)
{
    const Onnx__NodeProto *node = work->which->model->graph->node[number];
    *verdict = (struct verdict){.kind = VERDICT_AGREES};
    const struct tensor **inputs = memory_zeroed(node->n_input, sizeof(struct tensor *));
    struct value *captured = memory_zeroed(work->index.n_uses[number], sizeof *captured);
    struct bounded *expected = memory_zeroed(node->n_output, sizeof *expected);
    size_t n_captured;
    if (node_inputs(work, number, inputs, captured, &n_captured) &&
        !evaluate_node(work->which->model, node, inputs, captured, n_captured, expected, node->n_output,
                       NULL))
        judge_recorded(work, node, expected, verdict);
    for (size_t i = 0; i < node->n_output; i++)
        bounded_release(&expected[i]);
    free(expected);
    free(captured);
    free(inputs);
}

static bool same_answers(const struct result *plain, const struct result *exposed)
{
    for (size_t i = 0; i < plain->count; i++)
        for (size_t j = 0; j < exposed->count; j++) {
            const struct value *a = &plain->outputs[i], *b = &exposed->outputs[j];
            if (!a->name || !b->name || strcmp(a->name, b->name) != 0 || a->kind != VALUE_TENSOR ||
                b->kind != VALUE_TENSOR)
                continue;
            if (!tensor_identical(&a->tensors[0], &b->tensors[0]))
                return false;
        }
    return true;
}

/* A model's answers against the evaluator on the same inputs. */
static int judge_model(const struct model *model, const struct value *inputs, size_t n_inputs,
                       const struct result *result, struct verdict *verdict, struct error *err)
{
    struct evaluator *evaluator;
    struct bounded *expected;
    size_t count;
    if (evaluator_new(&evaluator, model, NULL, err))
        return -1;
    int status = evaluator_run(evaluator, inputs, n_inputs, NULL, 0, &expected, &count, err);
    evaluator_free(evaluator);
    if (status)
        return -1;
    *verdict = (struct verdict){.kind = VERDICT_AGREES};
    for (size_t i = 0; i < count; i++) {
        if (i < result->count)
            verdict_output(verdict, i, &expected[i], &result->outputs[i]);
        bounded_release(&expected[i]);
    }
    verdict_finish(verdict, count ? model->graph->output[verdict->output]->name : NULL);
    free(expected);
    return 0;
}

/*
 * The `size` latest nodes, in topological order, among `end` and what it is computed from. Such a set is
 * convex: a path between two members runs only through ancestors of `end` that come later than the earliest
 * member. False when there are fewer nodes than that.
 */
static bool window_ending_at(const struct work *work, size_t end_position, size_t size,
                             const size_t *position_of, size_t *nodes)
{
    const struct model_index *index = &work->index;
    bool *wanted = memory_zeroed(end_position + 1, sizeof *wanted);
    wanted[end_position] = true;
    size_t found = 0;
    for (size_t p = end_position + 1; p-- > 0 && found < size;) {
        if (!wanted[p])
            continue;
        size_t number = index->order[p];
        nodes[found++] = number;
        for (size_t i = 0; i < index->n_uses[number]; i++) {
            const struct index_value *value = &index->values[index->uses[number][i]];
            if (value->source == SOURCE_NODE)
                wanted[position_of[value->number]] = true;
        }
    }
    free(wanted);
    return found == size;
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Types of all recorded values, for the inputs of a cut. */
static struct edit_types recorded_types(struct work *work)
{
    struct edit_types types = {0};
    const char **names = arena_array(&work->arena, work->index.count, sizeof *names);
    const struct tensor **tensors = arena_array(&work->arena, work->index.count, sizeof(struct tensor *));
    for (size_t i = 0; i < work->index.count; i++) {
        if (!work->known[i])
            continue;
        names[types.count] = work->index.values[i].name;
        tensors[types.count++] = work->known[i];
    }
    types.names = names;
    types.tensors = tensors;
    return types;
}

/* A window cut out as a model of its own, with its known inputs. */
struct part {
    struct model *model;
    struct value *inputs;
};

static void part_release(struct part *part)
{
    free(part->inputs);
    model_free(part->model);
}

/* False when it cannot be cut or an input is not known; released by part_release in any case. */
static bool part_cut(struct part *part, struct work *work, const struct edit_types *types,
                     const size_t *nodes, size_t size)
{
    *part = (struct part){0};
    if (model_cut(&part->model, &work->index, nodes, size, types, NULL))
        return false;
    const Onnx__GraphProto *graph = part->model->graph;
    part->inputs = memory_zeroed(graph->n_input, sizeof *part->inputs);
    for (size_t i = 0; i < graph->n_input; i++) {
        const struct tensor *tensor = known_by_name(work, graph->input[i]->name);
        if (!tensor)
            return false;
        part->inputs[i] = (struct value){.name = graph->input[i]->name,
                                         .kind = VALUE_TENSOR,
                                         .count = 1,
                                         .tensors = (struct tensor *)(uintptr_t)tensor};
    }
    return true;
}

/*
 * Cuts a window out, runs it unexposed on its known inputs and judges it: by its own hard bound, or, when the
 * whole is refused, by whether the engine ends the same way on it.
 */
static void judge_window(struct work *work, const struct edit_types *types, const size_t *nodes, size_t size,
                         struct verdict *verdict)
{
    *verdict = (struct verdict){.kind = VERDICT_AGREES};
    struct part part;
    struct result result;
    result_init(&result);
    if (part_cut(&part, work, types, nodes, size) &&
        !run_model(work, part.model, part.inputs, part.model->graph->n_input, &result)) {
        if (work->refusal && result.outcome == work->outcome)
            *verdict = *work->refusal;
        else if (!work->refusal && result.outcome == OUTCOME_OK &&
                 judge_model(part.model, part.inputs, part.model->graph->n_input, &result, verdict, NULL))
            *verdict = (struct verdict){.kind = VERDICT_AGREES};
    }
    result_release(&result);
    part_release(&part);
}

/*
 * Engines without kernels for the short float types compute neighbours in float32 and need not round between
 * them: what is recorded is then not quite what the next node had.
 */
static bool may_be_wider(const struct work *work, size_t number)
{
    for (size_t i = 0; i < work->index.n_uses[number]; i++) {
        size_t use = work->index.uses[number][i];
        const struct tensor *tensor = work->known[use];
        if (tensor && work->index.values[use].source == SOURCE_NODE &&
            (tensor->type == DTYPE_FLOAT16 || tensor->type == DTYPE_BFLOAT16))
            return true;
    }
    return false;
}

/* The first node outside its hard bound. Where its inputs may have been wider, it must be outside alone too.
 */
static bool settle_by_nodes(struct work *work, struct settlement *settlement)
{
    for (size_t i = 0; i < work->which->model->graph->n_node; i++) {
        size_t number = work->index.order[i];
        struct verdict verdict;
        judge_node(work, number, &verdict);
        if (verdict_is_finding(verdict.kind) && may_be_wider(work, number)) {
            struct edit_types types = recorded_types(work);
            judge_window(work, &types, &number, 1, &verdict);
        }
        if (!verdict_is_finding(verdict.kind))
            continue;
        settlement->kind = verdict.kind;
        settlement->verdict = verdict;
        blame(settlement, &number, 1);
        return true;
    }
    return false;
}

static bool settle_by_windows(struct work *work, size_t smallest, struct settlement *settlement)
{
    size_t n = work->which->model->graph->n_node;
    size_t largest = work->which->max_window ? work->which->max_window : DEFAULT_WINDOW;
    struct edit_types types = recorded_types(work);
    size_t *position_of = arena_array(&work->arena, n, sizeof *position_of);
    size_t *nodes = arena_array(&work->arena, n, sizeof *nodes);
    for (size_t p = 0; p < n; p++)
        position_of[work->index.order[p]] = p;
    for (size_t size = smallest; size <= n && size <= largest; size++)
        for (size_t end = 0; end < n; end++) {
            struct verdict verdict;
            if (!window_ending_at(work, end, size, position_of, nodes))
                continue;
            judge_window(work, &types, nodes, size, &verdict);
            if (!verdict_is_finding(verdict.kind))
                continue;
            settlement->kind = verdict.kind;
            settlement->verdict = verdict;
            settlement->fused = size > 1;
            qsort(nodes, size, sizeof *nodes, compare_sizes);
            blame(settlement, nodes, size);
            return true;
        }
    return false;
}

/* Nothing local is wrong: imprecise, agrees, or (a group larger than any window tried) the whole is to blame.
 */
static int settle_whole(struct work *work, struct settlement *settlement)
{
    const struct model *model = work->which->model;
    struct verdict verdict;
    if (judge_model(model, work->which->inputs, work->which->n_inputs, &work->plain, &verdict, work->err))
        return -1;
    settlement->verdict = verdict;
    settlement->kind = verdict.kind == VERDICT_SUSPECT ? VERDICT_IMPRECISE : verdict.kind;
    if (!verdict_is_finding(verdict.kind))
        return 0;
    size_t *all = arena_array(&work->arena, model->graph->n_node, sizeof *all);
    for (size_t i = 0; i < model->graph->n_node; i++)
        all[i] = i;
    settlement->fused = model->graph->n_node > 1;
    blame(settlement, all, model->graph->n_node);
    return 0;
}

static void describe(struct settlement *settlement, const struct model *model)
{
    char who[120] = "";
    size_t used = 0;
    for (size_t i = 0; i < settlement->count && used < sizeof who; i++) {
        const Onnx__NodeProto *node = model->graph->node[settlement->nodes[i]];
        used += (size_t)snprintf(who + used, sizeof who - used, "%s%s", i ? "+" : "", node->op_type);
    }
    if (settlement->count == 1) {
        const Onnx__NodeProto *node = model->graph->node[settlement->nodes[0]];
        snprintf(settlement->text, sizeof settlement->text, "%s (node %s): %s", who,
                 node->name && *node->name ? node->name
                 : node->n_output          ? node->output[0]
                                           : "?",
                 settlement->verdict.text);
    } else if (settlement->count) {
        snprintf(settlement->text, sizeof settlement->text, "%s %s: %s", who,
                 settlement->verdict.kind >= VERDICT_REJECTED ? "together" : "fused",
                 settlement->verdict.text);
    } else {
        snprintf(settlement->text, sizeof settlement->text, "%s", settlement->verdict.text);
    }
}

static int settle_work(struct work *work, struct settlement *settlement)
{
    if (run_model(work, work->which->model, work->which->inputs, work->which->n_inputs, &work->plain) ||
        work->plain.outcome != OUTCOME_OK)
        return error_set(work->err, ERROR_UNSUPPORTED, "the engine does not answer the case any more");
    if (record(work))
        return -1;
    /* An engine that does not show its values: parts of the model on the reference's. */
    if (work->exposed.outcome != OUTCOME_OK)
        return compute(work)                            ? -1
               : settle_by_windows(work, 1, settlement) ? 0
                                                        : settle_whole(work, settlement);
    if (settle_by_nodes(work, settlement))
        return 0;
    if (!same_answers(&work->plain, &work->exposed) && settle_by_windows(work, 2, settlement))
        return 0;
    return settle_whole(work, settlement);
}

/* The smallest part that the engine refuses, or dies on, in the same way. */
static int refusal_work(struct work *work, struct settlement *settlement)
{
    if (compute(work))
        return -1;
    if (!settle_by_windows(work, 1, settlement))
        return error_set(work->err, ERROR_NOT_FOUND, "no part of the model is refused alone");
    return 0;
}

static int with_work(struct work *work, struct settlement *settlement,
                     int (*settle_it)(struct work *work, struct settlement *settlement))
{
    const struct model *model = work->which->model;
    *settlement = (struct settlement){.kind = VERDICT_UNTESTED};
    if (model_index_init(&work->index, model, work->err))
        return -1;
    arena_init(&work->arena);
    result_init(&work->plain);
    result_init(&work->exposed);
    work->known = arena_array(&work->arena, work->index.count, sizeof(struct tensor *));
    work->weights = arena_array(&work->arena, work->index.count, sizeof *work->weights);
    int status = settle_it(work, settlement);
    if (!status)
        describe(settlement, model);
    for (size_t i = 0; i < work->index.count; i++)
        if (work->weights[i].data)
            tensor_release(&work->weights[i]);
    for (size_t i = 0; i < work->n_computed; i++)
        tensor_release(&work->computed[i]);
    result_release(&work->plain);
    result_release(&work->exposed);
    model_index_release(&work->index);
    arena_release(&work->arena);
    return status;
}

int settle(struct settlement *settlement, const struct settle_case *which, struct error *err)
{
    struct work work = {.which = which, .err = err};
    return with_work(&work, settlement, settle_work);
}

int settle_refusal(struct settlement *settlement, const struct settle_case *which,
                   const struct verdict *verdict, enum outcome outcome, struct error *err)
{
    struct work work = {.which = which, .refusal = verdict, .outcome = outcome, .err = err};
    return with_work(&work, settlement, refusal_work);
}
