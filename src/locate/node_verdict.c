#include "locate/node_verdict.h"

#include "base/memory.h"
#include "eval/evaluate.h"
#include "locate/type_limits.h"
#include "ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_body(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g || node->attribute[i]->n_graphs)
            return true;
    return false;
}

/* The node's inputs as the engine had them, and what its bodies use; false when one was not recorded. */
static bool node_inputs(struct recording *record, size_t number, const struct tensor **inputs,
                        struct value *captured, size_t *n_captured)
{
    const Onnx__NodeProto *node = record->test->model->graph->node[number];
    for (size_t i = 0; i < node->n_input; i++) {
        inputs[i] = *node->input[i] ? held_values_find(&record->values, node->input[i]) : NULL;
        if (*node->input[i] && !inputs[i])
            return false;
    }
    *n_captured = 0;
    for (size_t i = 0; has_body(node) && i < record->test->index.n_uses[number]; i++) {
        size_t use = record->test->index.uses[number][i];
        const struct tensor *tensor = held_values_get(&record->values, use);
        if (!tensor)
            return false;
        captured[(*n_captured)++] = value_view(record->test->index.values[use].name, tensor);
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
static const struct value *never_tensor(const struct recording *record, const char *name)
{
    return no_tensor(&record->whole->answer, name) ? no_tensor(&record->held, name) : NULL;
}

static void judge_recorded(struct recording *record, const Onnx__NodeProto *node,
                           const struct bounded *expected, struct verdict *verdict)
{
    size_t looked_at = 0;
    *verdict = verdict_begin(false);
    for (size_t i = 0; i < node->n_output; i++) {
        const struct tensor *got =
            *node->output[i] ? held_values_find(&record->values, node->output[i]) : NULL;
        const struct value *other = *node->output[i] && !got ? never_tensor(record, node->output[i]) : NULL;
        if ((!got && !other) || expected[i].type == DTYPE_NONE)
            continue;
        struct value view = value_view(NULL, got);
        verdict_output(verdict, i, &expected[i], other ? other : &view);
        looked_at++;
    }
    verdict_finish(verdict, node->n_output ? node->output[verdict->output] : NULL);
    if (!looked_at)
        *verdict = (struct verdict){.text = "not judged: the engine does not show its outputs"};
}

bool node_is_folded(const struct recording *record, size_t number)
{
    const Onnx__NodeProto *node = record->test->model->graph->node[number];
    for (size_t i = 0; i < node->n_output; i++) {
        size_t made;
        if (*node->output[i] && map_get(&record->test->index.names, node->output[i], &made) &&
            (held_values_constant(&record->values, made) ||
             !(record->values.skip_folded && record->values.folded[made].data)))
            return false;
    }
    return true;
}

static int expect_by(struct recording *record, size_t number, const struct evaluate_options *how,
                     struct bounded *expected, struct error *err)
{
    const Onnx__NodeProto *node = record->test->model->graph->node[number];
    const struct tensor **inputs = memory_zeroed(node->n_input, sizeof(struct tensor *));
    struct value *captured = memory_zeroed(record->test->index.n_uses[number], sizeof *captured);
    size_t n_captured;
    const struct tensor *shown = op_has(node, OP_STATES) && node->n_output && *node->output[0]
                                     ? held_values_find(&record->values, node->output[0])
                                     : NULL;
    int status =
        node_inputs(record, number, inputs, captured, &n_captured)
            ? evaluate_node(record->test->model, node, inputs, captured, n_captured, shown, how, expected,
                            node->n_output, err)
            : error_set(err, ERROR_NOT_FOUND, "an input is not a tensor, or the engine does not show it");
    free(captured);
    free(inputs);
    return status;
}

int node_expect(struct recording *record, size_t number, bool loose, struct bounded *expected,
                struct error *err)
{
    struct evaluate_options how = {.loose = loose, .direct = record->test->alone.direct};
    return expect_by(record, number, &how, expected, err);
}

bool node_reads_otherwise(struct recording *record, size_t number, const struct verdict *usual)
{
    const Onnx__NodeProto *node = record->test->model->graph->node[number];
    struct evaluate_options how = {.direct = record->test->alone.direct, .nans_left_out = true};
    struct verdict other = {0};
    struct error err = {0};
    if (!op_has(node, OP_NAN_UNSAID) || !verdict_loses_nan(usual))
        return false;
    struct bounded *expected = memory_zeroed(node->n_output, sizeof *expected);
    if (!expect_by(record, number, &how, expected, &err))
        judge_recorded(record, node, expected, &other);
    for (size_t i = 0; i < node->n_output; i++)
        bounded_release(&expected[i]);
    free(expected);
    return verdict_is(other.kind, CLASS_AGREES) && other.judged >= usual->judged;
}

/* Weights of a large model are released after use: not all of them fit into memory. */
static void drop_weights(struct recording *record, size_t number)
{
    const struct model_index *index = &record->test->index;
    for (size_t i = 0; i < index->n_uses[number]; i++)
        if (index->values[index->uses[number][i]].source == SOURCE_INITIALIZER)
            held_values_drop(&record->values, index->uses[number][i]);
}

/* Whether all nodes that use the value multiply its elements and add them up. */
static bool is_summed(const struct recording *record, const char *name)
{
    const struct index_value *value = model_index_find(&record->test->index, name);
    bool summed = value && value->consumers && !value->is_output;
    for (size_t i = 0; summed && i < value->consumers; i++) {
        const struct op *op = op_of(record->test->model->graph->node[value->consumer[i]]);
        summed = op && op->work == WORK_PRODUCTS;
    }
    return summed;
}

/* Whether what the node makes is beyond its type in a way that may decide an answer. */
static bool leaves_its_type(const struct recording *record, const Onnx__NodeProto *node,
                            const struct bounded *outputs)
{
    bool leaves = false;
    for (size_t i = 0; i < node->n_output && !leaves; i++)
        leaves = type_limit_touched(&outputs[i], 1) &&
                 !(is_summed(record, node->output[i]) && type_limit_drowns(&outputs[i]));
    return leaves;
}

void node_judge(struct recording *record, size_t number, bool loose, struct verdict *verdict)
{
    const Onnx__NodeProto *node = record->test->model->graph->node[number];
    struct error err = {0};
    *verdict = (struct verdict){0};
    struct bounded *expected = memory_zeroed(node->n_output, sizeof *expected);
    if (node_is_folded(record, number))
        snprintf(verdict->text, sizeof verdict->text, "not judged: the engine replaces it by a constant");
    else if (node_expect(record, number, loose, expected, &err))
        verdict_say(verdict, "not judged: %s", err.message);
    else {
        judge_recorded(record, node, expected, verdict);
        record->limits |= leaves_its_type(record, node, expected);
    }
    for (size_t i = 0; i < node->n_output; i++)
        bounded_release(&expected[i]);
    free(expected);
    drop_weights(record, number);
}
