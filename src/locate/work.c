#include "locate/work.h"

#include "base/memory.h"
#include "eval/evaluate.h"
#include "judge/message.h"
#include "judge/metrics.h"
#include "model/build.h"
#include "model/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP_BYTES = 32 << 20,
    TRUSTED = 64 /* nodes: a larger part that is refused is not computed to see that it is valid */
};

int work_init(struct work *work, const struct settle_case *which, struct error *err)
{
    *work = (struct work){.which = which, .group_bytes = GROUP_BYTES, .err = err};
    if (model_index_init(&work->index, which->model, err))
        return -1;
    arena_init(&work->arena);
    result_init(&work->plain);
    result_init(&work->shown);
    result_init(&work->held);
    size_t count = work->index.count;
    work->known = arena_array(&work->arena, count, sizeof(struct tensor *));
    work->weights = arena_array(&work->arena, count, sizeof *work->weights);
    work->viewed = arena_array(&work->arena, count, sizeof *work->viewed);
    work->planned = arena_array(&work->arena, count, sizeof *work->planned);
    work->folded = arena_array(&work->arena, count, sizeof *work->folded);
    work->forms = arena_array(&work->arena, count, sizeof *work->forms);
    const Onnx__GraphProto *graph = which->model->graph;
    for (size_t i = 0; i < which->n_inputs; i++) {
        const struct value *input = &which->inputs[i];
        const char *name = input->name ? input->name : i < graph->n_input ? graph->input[i]->name : NULL;
        size_t number;
        if (name && input->kind == VALUE_TENSOR && map_get(&work->index.names, name, &number))
            work->known[number] = &input->tensors[0];
    }
    return 0;
}

void work_drop_weight(struct work *work, size_t number)
{
    if (work->known[number] == &work->weights[number])
        work->known[number] = NULL;
    if (work->weights[number].data && !work->viewed[number])
        tensor_release(&work->weights[number]);
    work->weights[number] = (struct tensor){0};
}

void work_release(struct work *work)
{
    if (!work->known)
        return;
    for (size_t i = 0; i < work->index.count; i++) {
        work_drop_weight(work, i);
        if (work->folded[i].data)
            tensor_release(&work->folded[i]);
    }
    for (size_t i = 0; i < work->n_computed; i++)
        tensor_release(&work->computed[i]);
    for (size_t i = 0; i < work->whole.count && work->whole.expected; i++)
        bounded_release(&work->whole.expected[i]);
    free(work->whole.expected);
    model_free(work->inferred);
    result_release(&work->plain);
    result_release(&work->shown);
    result_release(&work->held);
    handover_close(&work->exposed);
    model_index_release(&work->index);
    arena_release(&work->arena);
}

int work_run(struct work *work, const struct model *model, const struct value *inputs, size_t n_inputs,
             size_t answers, struct result *result)
{
    struct handover handover;
    if (handover_open(&handover, work->which->pool, model, work->err)) {
        handover_close(&handover);
        return -1;
    }
    const char **names = memory_zeroed(answers, sizeof *names);
    for (size_t i = 0; i < answers; i++)
        names[i] = model->graph->output[i]->name;
    struct job job = {.engine = work->which->engine,
                      .n_outputs = answers,
                      .outputs = names,
                      .n_inputs = n_inputs,
                      .inputs = inputs};
    handover_give(&handover, &job);
    int status = pool_run_one(work->which->pool, &job, result, work->err);
    work->runs++;
    free(names);
    handover_close(&handover);
    return status;
}

static struct model *infer(const struct model *model)
{
    uint8_t *plain = NULL, *data = NULL;
    size_t plain_size, size;
    struct model *inferred = NULL;
    if (!model_pack_thin(model, &plain, &plain_size, NULL) &&
        !onnx_infer_shapes(plain, plain_size, 0, &data, &size, NULL) &&
        model_parse(&inferred, data, size, NULL))
        inferred = NULL;
    free(plain);
    free(data);
    return inferred;
}

void work_infer(struct work *work)
{
    if (work->inferred || !(work->inferred = infer(work->which->model)))
        return;
    const Onnx__GraphProto *graph = work->inferred->graph;
    for (size_t i = 0; i < graph->n_value_info; i++) {
        size_t number;
        if (map_get(&work->index.names, graph->value_info[i]->name, &number) &&
            !work->index.values[number].info)
            work->index.values[number].info = graph->value_info[i];
    }
}

int work_run_plain(struct work *work)
{
    const struct settle_case *which = work->which;
    if (work_run(work, which->model, which->inputs, which->n_inputs, 0, &work->plain))
        return -1;
    if (work->plain.outcome != OUTCOME_OK)
        return error_set(work->err, ERROR_UNSUPPORTED, "the engine does not answer the case any more");
    return 0;
}

/* The node when it is a Constant with a tensor, which can be read; else NULL. */
static const Onnx__TensorProto *constant_of(const struct work *work, size_t number)
{
    const struct index_value *value = &work->index.values[number];
    if (value->source != SOURCE_NODE)
        return NULL;
    const Onnx__NodeProto *node = work->which->model->graph->node[value->number];
    return strcmp(node->op_type, "Constant") == 0 ? node_tensor(node, "value") : NULL;
}

bool work_is_hidden(const struct work *work, size_t number)
{
    return constant_of(work, number) || (work->terse && work->folded[number].data);
}

const char **work_made(struct work *work, size_t *count)
{
    const char **names = arena_array(&work->arena, work->index.count, sizeof *names);
    *count = 0;
    for (size_t i = 0; i < work->index.count; i++)
        if (work->index.values[i].source == SOURCE_NODE && !work_is_hidden(work, i))
            names[(*count)++] = work->index.values[i].name;
    return names;
}

/* What an earlier search computed. */
static void drop_computed(struct work *work)
{
    for (size_t i = 0; i < work->index.count && work->n_computed; i++)
        if (work->index.values[i].source == SOURCE_NODE)
            work->known[i] = NULL;
    for (size_t i = 0; i < work->n_computed; i++)
        tensor_release(&work->computed[i]);
    work->n_computed = 0;
}

int work_compute(struct work *work, const char *const *names, size_t wanted)
{
    struct evaluator *evaluator;
    struct bounded *results;
    size_t count;
    if (!wanted) { /* the evaluator would take that for all outputs */
        drop_computed(work);
        work->all_held = true;
        return 0;
    }
    if (evaluator_new(&evaluator, work->which->model, &(struct evaluate_options){.round = true}, work->err))
        return -1;
    int status = evaluator_run(evaluator, work->which->inputs, work->which->n_inputs, names, wanted, &results,
                               &count, work->err);
    evaluator_free(evaluator);
    if (status)
        return -1;
    drop_computed(work);
    work->computed = arena_array(&work->arena, count, sizeof *work->computed);
    for (size_t i = 0; i < count; i++) {
        size_t number;
        struct tensor *tensor = &work->computed[work->n_computed];
        if (!bounded_to_tensor(&results[i], tensor, NULL)) {
            work->n_computed++;
            if (map_get(&work->index.names, names[i], &number)) {
                work->known[number] = tensor;
                work->forms[number] = (struct tensor){.type = tensor->type, .shape = tensor->shape};
            }
        }
        bounded_release(&results[i]);
    }
    free(results);
    work->all_held = true;
    return 0;
}

static bool read_weight(struct work *work, size_t number)
{
    const struct model *model = work->which->model;
    size_t index = work->index.values[number].number;
    work->viewed[number] = model_weight_view(model, index, &work->weights[number]);
    return work->viewed[number] || !model_weight(model, index, &work->weights[number], NULL);
}

const struct tensor *work_value(struct work *work, size_t number)
{
    if (!work->known[number] && work->index.values[number].source == SOURCE_INITIALIZER &&
        read_weight(work, number))
        work->known[number] = &work->weights[number];
    if (work->known[number] || !work_is_hidden(work, number))
        return work->known[number];
    const Onnx__TensorProto *constant = constant_of(work, number);
    if (!constant)
        work->known[number] = &work->folded[number];
    else if (!model_tensor_read(constant, &work->weights[number], NULL)) {
        work->viewed[number] = false;
        work->known[number] = &work->weights[number];
    }
    return work->known[number];
}

const struct tensor *work_named(struct work *work, const char *name)
{
    size_t number;
    return map_get(&work->index.names, name, &number) ? work_value(work, number) : NULL;
}

struct value work_view(const char *name, const struct tensor *tensor)
{
    return (struct value){.name = (char *)(uintptr_t)name,
                          .kind = VALUE_TENSOR,
                          .count = 1,
                          .tensors = (struct tensor *)(uintptr_t)tensor};
}

static bool has_body(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g || node->attribute[i]->n_graphs)
            return true;
    return false;
}

/* The node's inputs as the engine had them, and what its bodies use; false when one was not recorded. */
static bool node_inputs(struct work *work, size_t number, const struct tensor **inputs,
                        struct value *captured, size_t *n_captured)
{
    const Onnx__NodeProto *node = work->which->model->graph->node[number];
    for (size_t i = 0; i < node->n_input; i++) {
        inputs[i] = *node->input[i] ? work_named(work, node->input[i]) : NULL;
        if (*node->input[i] && !inputs[i])
            return false;
    }
    *n_captured = 0;
    for (size_t i = 0; has_body(node) && i < work->index.n_uses[number]; i++) {
        size_t use = work->index.uses[number][i];
        const struct tensor *tensor = work_value(work, use);
        if (!tensor)
            return false;
        captured[(*n_captured)++] = work_view(work->index.values[use].name, tensor);
    }
    return true;
}

/* The value so named that a run's answer leaves out or gives as a sequence; or NULL. */
static const struct value *no_tensor(const struct result *result, const char *name)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct value *value = &result->outputs[i];
        if (value->kind != VALUE_TENSOR && value->name && strcmp(value->name, name) == 0)
            return value;
    }
    return NULL;
}

/* An output of the model that is no tensor, whether the values between are shown or not; or NULL. */
static const struct value *never_tensor(const struct work *work, const char *name)
{
    return no_tensor(&work->plain, name) ? no_tensor(&work->held, name) : NULL;
}

static void judge_recorded(struct work *work, const Onnx__NodeProto *node, const struct bounded *expected,
                           struct verdict *verdict)
{
    size_t looked_at = 0;
    *verdict = (struct verdict){.kind = VERDICT_AGREES};
    for (size_t i = 0; i < node->n_output; i++) {
        const struct tensor *got = *node->output[i] ? work_named(work, node->output[i]) : NULL;
        const struct value *other = *node->output[i] && !got ? never_tensor(work, node->output[i]) : NULL;
        if ((!got && !other) || expected[i].type == DTYPE_NONE)
            continue;
        struct value view = work_view(NULL, got);
        verdict_output(verdict, i, &expected[i], other ? other : &view);
        looked_at++;
    }
    verdict_finish(verdict, node->n_output ? node->output[verdict->output] : NULL);
    if (!looked_at)
        *verdict = (struct verdict){.text = "not judged: its outputs are not shown"};
}

/* Whether nothing that the node makes was asked for. */
static bool is_folded(const struct work *work, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++) {
        size_t made;
        if (*node->output[i] && map_get(&work->index.names, node->output[i], &made) &&
            (constant_of(work, made) || !(work->terse && work->folded[made].data)))
            return false;
    }
    return true;
}

int work_expect_node(struct work *work, size_t number, bool loose, struct bounded *expected,
                     struct error *err)
{
    const Onnx__NodeProto *node = work->which->model->graph->node[number];
    const struct tensor **inputs = memory_zeroed(node->n_input, sizeof(struct tensor *));
    struct value *captured = memory_zeroed(work->index.n_uses[number], sizeof *captured);
    size_t n_captured;
    int status = node_inputs(work, number, inputs, captured, &n_captured)
                     ? evaluate_node(work->which->model, node, inputs, captured, n_captured, loose, expected,
                                     node->n_output, err)
                     : error_set(err, ERROR_NOT_FOUND, "an input is not a tensor or not shown");
    free(captured);
    free(inputs);
    return status;
}

void work_judge_node(struct work *work, size_t number, bool loose, struct verdict *verdict)
{
    const Onnx__NodeProto *node = work->which->model->graph->node[number];
    struct error err = {0};
    *verdict = (struct verdict){0};
    struct bounded *expected = memory_zeroed(node->n_output, sizeof *expected);
    if (is_folded(work, node))
        snprintf(verdict->text, sizeof verdict->text, "not judged: the engine folds it away");
    else if (work_expect_node(work, number, loose, expected, &err))
        snprintf(verdict->text, sizeof verdict->text, "not judged: %.200s", err.message);
    else
        judge_recorded(work, node, expected, verdict);
    for (size_t i = 0; i < node->n_output; i++)
        bounded_release(&expected[i]);
    free(expected);
}

/* A model's answers on the same inputs, by the reference. fused: what computing several nodes as one may do
 * is allowed for, unless a shape (of Range, say) hangs on it. */
static int expect(const struct model *model, bool fused, const struct value *inputs, size_t n_inputs,
                  struct bounded **expected, size_t *count)
{
    struct evaluator *evaluator;
    if (evaluator_new(&evaluator, model, &(struct evaluate_options){.loose = fused}, NULL))
        return -1;
    int status = evaluator_run(evaluator, inputs, n_inputs, NULL, 0, expected, count, NULL);
    evaluator_free(evaluator);
    return status && fused ? expect(model, false, inputs, n_inputs, expected, count) : status;
}

static void judge_answers(const struct model *model, const struct bounded *expected, size_t count,
                          const struct result *result, struct verdict *verdict)
{
    *verdict = (struct verdict){.kind = VERDICT_AGREES};
    if (verdict_count(verdict, count, result->count))
        return;
    for (size_t i = 0; i < count; i++)
        verdict_output(verdict, i, &expected[i], &result->outputs[i]);
    verdict_finish(verdict, count ? model->graph->output[verdict->output]->name : NULL);
}

void work_judge_whole(struct work *work, const struct result *result, struct verdict *verdict)
{
    const struct settle_case *which = work->which;
    struct work_whole *whole = &work->whole;
    *verdict = (struct verdict){0};
    if (!whole->tried &&
        expect(which->model, true, which->inputs, which->n_inputs, &whole->expected, &whole->count))
        whole->expected = NULL;
    whole->tried = true;
    if (whole->expected)
        judge_answers(which->model, whole->expected, whole->count, result, verdict);
}

bool work_is_fused(const struct work *work, const struct result *result)
{
    const struct settle_case *which = work->which;
    struct bounded *expected = NULL;
    struct verdict strict = {0};
    size_t count = 0;
    if (!expect(which->model, false, which->inputs, which->n_inputs, &expected, &count))
        judge_answers(which->model, expected, count, result, &strict);
    for (size_t i = 0; i < count && expected; i++)
        bounded_release(&expected[i]);
    free(expected);
    return verdict_is_finding(strict.kind);
}

bool *work_ancestors(const struct work *work, size_t end, size_t first)
{
    const struct model_index *index = &work->index;
    bool *wanted = memory_zeroed(end + 1, sizeof *wanted);
    wanted[end] = true;
    for (size_t p = end + 1; p-- > first;) {
        if (!wanted[p])
            continue;
        size_t number = index->order[p];
        for (size_t i = 0; i < index->n_uses[number]; i++) {
            const struct index_value *value = &index->values[index->uses[number][i]];
            if (value->source == SOURCE_NODE)
                wanted[index->position[value->number]] = true;
        }
    }
    return wanted;
}

void work_part_release(struct work_part *part)
{
    free(part->inputs);
    model_free(part->model);
}

/* Types of all values seen, for the inputs of a cut. */
static struct edit_types seen_types(struct work *work, struct arena *arena)
{
    struct edit_types types = {0};
    const char **names = arena_array(arena, work->index.count, sizeof *names);
    const struct tensor **tensors = arena_array(arena, work->index.count, sizeof(struct tensor *));
    for (size_t i = 0; i < work->index.count; i++) {
        const struct tensor *form = work->known[i] ? work->known[i] : &work->forms[i];
        if (form->type == DTYPE_NONE)
            continue;
        names[types.count] = work->index.values[i].name;
        tensors[types.count++] = form;
    }
    types.names = names;
    types.tensors = tensors;
    return types;
}

bool work_part_cut(struct work_part *part, struct work *work, const size_t *nodes, size_t size)
{
    struct arena arena;
    *part = (struct work_part){0};
    arena_init(&arena);
    struct edit_types types = seen_types(work, &arena);
    int status = model_cut(&part->model, &work->index, nodes, size, &types, NULL);
    arena_release(&arena);
    if (status)
        return false;
    const Onnx__GraphProto *graph = part->model->graph;
    part->inputs = memory_zeroed(graph->n_input, sizeof *part->inputs);
    const char **missing = memory_zeroed(graph->n_input, sizeof *missing);
    size_t n_missing = 0;
    for (size_t i = 0; i < graph->n_input; i++)
        missing[n_missing++] = graph->input[i]->name;
    bool found = !record_fetch(work, missing, n_missing);
    free(missing);
    for (size_t i = 0; i < graph->n_input && found; i++) {
        const struct tensor *tensor = work_named(work, graph->input[i]->name);
        found = tensor != NULL;
        part->inputs[i] = work_view(graph->input[i]->name, tensor);
    }
    return found;
}

/* Whether the words are those of the whole, at least the first `enough` letters of them (0: all). */
static bool says_the_same(const struct work *work, const struct model *part, const char *message,
                          size_t enough)
{
    struct str whole, here;
    str_init(&whole);
    str_init(&here);
    const struct engine_profile *profile = pool_engine(work->which->pool, work->which->engine)->profile;
    message_normalise(&whole, work->ended->message ? work->ended->message : "", work->which->model, profile);
    message_normalise(&here, message ? message : "", part, profile);
    bool same = enough ? strncmp(whole.data, here.data, enough) == 0 : text_equal(whole.data, here.data);
    str_release(&whole);
    str_release(&here);
    return same;
}

static bool names_operator(const struct model *part, const char *message)
{
    for (size_t i = 0; i < part->graph->n_node && message; i++)
        if (strstr(message, part->graph->node[i]->op_type))
            return true;
    return false;
}

/* Refused when it is loaded or when it runs: where an engine notices depends on what is around the part. */
static bool ends_alike(const struct work *work, const struct model *part, const struct result *result)
{
    enum outcome a = result->outcome, b = work->ended->outcome;
    bool refusals =
        (a == OUTCOME_REJECTED || a == OUTCOME_FAILED) && (b == OUTCOME_REJECTED || b == OUTCOME_FAILED);
    if (refusals && work->words == WORDS_SAME)
        return says_the_same(work, part, result->message, 0);
    if (refusals && work->words == WORDS_OWN)
        return says_the_same(work, part, result->message, 16) || names_operator(part, result->message);
    return a == b || refusals;
}

static bool is_as_recorded(const struct tensor *recorded, const struct value *got)
{
    struct metrics_difference difference;
    if (got->kind != VALUE_TENSOR || got->tensors[0].type != recorded->type ||
        !shape_equal(&got->tensors[0].shape, &recorded->shape))
        return false;
    metrics_compare(recorded, &got->tensors[0], &metrics_conformance, &difference);
    return difference.close;
}

bool work_confirm(struct work *work, size_t number, size_t output)
{
    const struct settle_case *which = work->which;
    const Onnx__NodeProto *node = which->model->graph->node[number];
    const char *name = output < node->n_output ? node->output[output] : "";
    const struct tensor *recorded = work_named(work, name);
    struct model *part;
    struct result result;
    struct arena arena;
    /* What was run as a model of its own needs no other: with the nodes before it, and not those behind, the
     * engine may make something else of it. */
    if (!recorded || work->alone || (work->n_group && work->group_of == number))
        return true;
    arena_init(&arena);
    struct edit_types types = seen_types(work, &arena);
    int status = model_cut_between(&part, &work->index, NULL, 0, &name, 1, &types, NULL);
    arena_release(&arena);
    if (status)
        return true;
    result_init(&result);
    struct value *inputs = memory_zeroed(which->n_inputs, sizeof *inputs);
    size_t count = 0;
    for (size_t i = 0; i < which->n_inputs; i++)
        for (size_t k = 0; k < part->graph->n_input; k++)
            if (which->inputs[i].name && strcmp(which->inputs[i].name, part->graph->input[k]->name) == 0)
                inputs[count++] = which->inputs[i];
    /* One that does not answer shows nothing to the contrary. */
    bool confirmed = work_run(work, part, inputs, count, 0, &result) || result.outcome != OUTCOME_OK ||
                     result.count != 1 || is_as_recorded(recorded, &result.outputs[0]);
    free(inputs);
    result_release(&result);
    model_free(part);
    size_t value;
    if (!confirmed && map_get(&work->index.names, name, &value))
        work->known[value] = NULL;
    return confirmed;
}

/* Nodes that an engine can compute as one. */
static bool is_group(const Onnx__GraphProto *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        count += graph->node[i]->n_input > 0;
    return count > 1;
}

/* An answer that is right, but would not be if each node were computed by itself. */
static void mistrust(const struct work_part *part, const struct result *result, struct verdict *verdict)
{
    const Onnx__GraphProto *graph = part->model->graph;
    struct bounded *expected = NULL;
    struct verdict strict = {0};
    size_t count = 0;
    if (verdict_is_finding(verdict->kind) ||
        expect(part->model, false, part->inputs, graph->n_input, &expected, &count))
        return;
    judge_answers(part->model, expected, count, result, &strict);
    if (verdict_is_finding(strict.kind))
        verdict->kind = VERDICT_MISTRUSTED;
    for (size_t i = 0; i < count; i++)
        bounded_release(&expected[i]);
    free(expected);
}

void work_judge_window(struct work *work, const size_t *nodes, size_t size, bool mistrusting,
                       struct verdict *verdict)
{
    *verdict = (struct verdict){.kind = VERDICT_AGREES};
    struct work_part part;
    struct result result;
    struct bounded *expected = NULL;
    size_t count = 0;
    result_init(&result);
    if (!work_part_cut(&part, work, nodes, size) ||
        work_run(work, part.model, part.inputs, part.model->graph->n_input, 0, &result))
        goto out;
    bool wanted = work->refusal ? ends_alike(work, part.model, &result) : result.outcome == OUTCOME_OK;
    bool trusted = work->refusal && size > TRUSTED;
    if (wanted && !trusted)
        wanted = !expect(part.model, is_group(part.model->graph), part.inputs, part.model->graph->n_input,
                         &expected, &count);
    if (wanted && work->refusal)
        *verdict = *work->refusal;
    else if (wanted)
        judge_answers(part.model, expected, count, &result, verdict);
    if (wanted && mistrusting && !work->refusal)
        mistrust(&part, &result, verdict);
out:
    for (size_t i = 0; i < count && expected; i++)
        bounded_release(&expected[i]);
    free(expected);
    result_release(&result);
    work_part_release(&part);
}
