#include "locate/blame_check.h"

#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "judge/metrics.h"
#include "locate/node_sets.h"
#include "locate/node_verdict.h"
#include "model/build.h"

#include <stdlib.h>

/* What is replaced, and by what. */
struct replacement {
    size_t count;
    const char **names;
    struct tensor *tensors;
    const struct tensor **views;
};

static void replacement_release(struct replacement *by)
{
    for (size_t i = 0; i < by->count; i++)
        tensor_release(&by->tensors[i]);
    free(by->names);
    free(by->tensors);
    free(by->views);
}

static size_t find_name(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && !text_equal(names[i], name))
        i++;
    return i;
}

/* The names of all that the nodes make. */
static void list_made(struct replacement *by, const struct model_index *index, const size_t *nodes,
                      size_t count)
{
    size_t room = 0, n = 0;
    for (size_t i = 0; i < count; i++)
        room += index->model->graph->node[nodes[i]]->n_output;
    by->names = memory_zeroed(room, sizeof *by->names);
    by->tensors = memory_zeroed(room, sizeof *by->tensors);
    by->views = memory_zeroed(room, sizeof(struct tensor *));
    for (size_t i = 0; i < count; i++) {
        const Onnx__NodeProto *node = index->model->graph->node[nodes[i]];
        for (size_t k = 0; k < node->n_output; k++)
            if (*node->output[k])
                by->names[n++] = node->output[k];
    }
}

/* Takes the values over, as far as they are all there. */
static int take_values(struct replacement *by, struct bounded *values, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        bool there = !status && values[i].type != DTYPE_NONE;
        if (there)
            status = bounded_to_tensor(&values[i], &by->tensors[by->count], NULL);
        if (there && !status) {
            by->views[by->count] = &by->tensors[by->count];
            by->count++;
        }
        bounded_release(&values[i]);
    }
    return status;
}

/* What one node makes of the inputs that it had on the engine. */
static int replace_node(struct replacement *by, struct recording *record, size_t number)
{
    const Onnx__NodeProto *node = record->test->index.model->graph->node[number];
    struct bounded *values = memory_zeroed(node->n_output, sizeof *values);
    struct error err = {0};
    size_t named = 0;
    int status = node_expect(record, number, false, values, &err);
    for (size_t i = 0; i < node->n_output; i++) { /* what the node leaves unnamed is nobody's */
        if (*node->output[i])
            values[named++] = values[i];
        else
            bounded_release(&values[i]);
    }
    status = take_values(by, values, named) || status ? -1 : 0;
    free(values);
    return status || by->count != named ? -1 : 0;
}

/* The expected outputs of several nodes: the reference's own values. */
static int replace_all(struct replacement *by, struct recording *record, size_t n_names)
{
    struct evaluator *evaluator;
    struct bounded *values = NULL;
    size_t count = 0;
    if (evaluator_new(&evaluator, record->test->model, &(struct evaluate_options){.round = true}, NULL))
        return -1;
    int status = evaluator_run(evaluator, record->test->whole->inputs, record->test->whole->n_inputs,
                               by->names, n_names, &values, &count, NULL);
    evaluator_free(evaluator);
    status = take_values(by, values, count) || status ? -1 : 0;
    free(values);
    return status || by->count != n_names ? -1 : 0;
}

static int replace_made(struct replacement *by, struct recording *record, const size_t *nodes, size_t count)
{
    *by = (struct replacement){0};
    list_made(by, &record->test->index, nodes, count);
    size_t named = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < record->test->index.model->graph->node[nodes[i]]->n_output; k++)
            named += *record->test->index.model->graph->node[nodes[i]]->output[k] != '\0';
    return count == 1 ? replace_node(by, record, nodes[0]) : replace_all(by, record, named);
}

/* How far off an answer is. */
enum distance { NEAR, FAR, WRONG };

static enum distance distance_of(enum verdict_kind kind)
{
    return verdict_is_finding(kind) ? WRONG : verdict_is(kind, CLASS_SUSPECT) ? FAR : NEAR;
}

static enum distance distance(const struct bounded *expected, const struct value *got)
{
    struct verdict verdict = verdict_begin(false);
    verdict_output(&verdict, 0, expected, got);
    verdict_finish(&verdict, NULL);
    return distance_of(verdict.kind);
}

/* Output `number` of the graph as the engine gave it in the plain run. */
static enum distance plain_distance(const struct recording *record, size_t number)
{
    bool there = number < whole_answer_expected(record->whole)->count && number < record->whole->answer.count;
    return there ? distance(&whole_answer_expected(record->whole)->values[number],
                            &record->whole->answer.outputs[number])
                 : NEAR;
}

/* The graph's outputs that are off and not replaced, by number. */
static size_t list_off(const struct recording *record, const struct replacement *by, size_t *outputs)
{
    const Onnx__GraphProto *graph = record->test->index.model->graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->n_output; i++)
        if (find_name(by->names, by->count, graph->output[i]->name) == by->count &&
            plain_distance(record, i) != NEAR)
            outputs[count++] = i;
    return count;
}

/* Whether a replaced output of the graph is as far off with the value that replaces it: then the node's
 * inputs were at fault. */
static bool is_off_replaced(const struct recording *record, const struct replacement *by)
{
    const Onnx__GraphProto *graph = record->test->index.model->graph;
    for (size_t i = 0; i < graph->n_output; i++) {
        size_t at = find_name(by->names, by->count, graph->output[i]->name);
        struct value value = value_view(NULL, at < by->count ? by->views[at] : NULL);
        enum distance before = at < by->count ? plain_distance(record, i) : NEAR;
        if (before != NEAR && distance(&whole_answer_expected(record->whole)->values[i], &value) >= before)
            return true;
    }
    return false;
}

/* The part's inputs, of the case or replaced; false when one is neither. */
static bool list_inputs(struct recording *record, const struct replacement *by, const struct model *part,
                        struct value *inputs)
{
    for (size_t i = 0; i < part->graph->n_input; i++) {
        const char *name = part->graph->input[i]->name;
        size_t at = find_name(by->names, by->count, name);
        const struct tensor *tensor =
            at < by->count ? by->views[at] : held_values_find(&record->values, name);
        if (!tensor)
            return false;
        inputs[i] = value_view(name, tensor);
    }
    return true;
}

/* Whether one of these outputs is still as far off when the engine computes only them, from the replaced
 * values. False when the engine does not answer. */
static bool computes_off(struct recording *record, const struct replacement *by, const size_t *outputs,
                         size_t count)
{
    const Onnx__GraphProto *graph = record->test->index.model->graph;
    const char **names = memory_zeroed(count, sizeof *names);
    struct edit_types types = {by->count, by->names, by->views};
    struct model *part = NULL;
    struct result result;
    bool off = false;
    result_init(&result);
    for (size_t i = 0; i < count; i++)
        names[i] = graph->output[outputs[i]]->name;
    if (!model_cut_between(&part, &record->test->index, by->names, by->count, names, count, &types, NULL)) {
        struct value *inputs = memory_zeroed(part->graph->n_input, sizeof *inputs);
        bool answered = list_inputs(record, by, part, inputs) &&
                        !under_test_run(record->test, part, inputs, part->graph->n_input, 0, &result) &&
                        result.outcome == OUTCOME_OK && result.count == count;
        for (size_t i = 0; i < count && answered && !off; i++)
            off = distance(&whole_answer_expected(record->whole)->values[outputs[i]], &result.outputs[i]) >=
                  plain_distance(record, outputs[i]);
        free(inputs);
    }
    model_free(part);
    result_release(&result);
    free(names);
    return off;
}

/* By a node that is no Constant. */
static bool is_made(const struct recording *record, size_t number)
{
    const struct index_value *value = &record->test->index.values[number];
    return value->source == SOURCE_NODE &&
           !node_is_constant(record->test->index.model->graph->node[value->number]);
}

/* The values that other nodes gave to a node: as they are recorded or, where the engine folds them away, as
 * they should be. They are borrowed. */
static int replace_inputs(struct replacement *by, struct recording *record, size_t number)
{
    size_t room = record->test->index.n_uses[number];
    *by = (struct replacement){.names = memory_zeroed(room, sizeof *by->names),
                               .tensors = memory_zeroed(room, sizeof *by->tensors),
                               .views = memory_zeroed(room, sizeof(struct tensor *))};
    for (size_t i = 0; i < room; i++) {
        size_t use = record->test->index.uses[number][i];
        const struct tensor *tensor = held_values_get(&record->values, use);
        if (!tensor)
            return -1;
        if (!is_made(record, use))
            continue;
        by->names[by->count] = record->test->index.values[use].name;
        by->views[by->count++] = tensor;
    }
    return 0;
}

bool blame_breaks_right_inputs(struct recording *record, size_t number)
{
    const Onnx__GraphProto *graph = record->test->index.model->graph;
    struct verdict verdict;
    struct replacement by;
    whole_answer_judge(record->whole, &record->whole->answer, &verdict);
    if (distance_of(verdict.kind) == NEAR)
        return false;
    size_t *outputs = memory_zeroed(graph->n_output, sizeof *outputs);
    bool off = false;
    if (!replace_inputs(&by, record, number)) {
        size_t n_off = list_off(record, &by, outputs);
        off = n_off && computes_off(record, &by, outputs, n_off);
    }
    replacement_release(&by);
    free(outputs);
    return off;
}

bool blame_stays_off(struct recording *record, const size_t *nodes, size_t count)
{
    const Onnx__GraphProto *graph = record->test->index.model->graph;
    struct verdict verdict;
    struct replacement by;
    if (graph->n_node <= count)
        return false;
    whole_answer_judge(record->whole, &record->whole->answer, &verdict);
    if (distance_of(verdict.kind) == NEAR)
        return false;
    size_t *outputs = memory_zeroed(graph->n_output, sizeof *outputs);
    bool off = false;
    if (!replace_made(&by, record, nodes, count)) {
        size_t n_off = list_off(record, &by, outputs);
        off = is_off_replaced(record, &by) || (n_off && computes_off(record, &by, outputs, n_off));
    }
    replacement_release(&by);
    free(outputs);
    return off;
}

size_t blame_needed(struct recording *record, size_t output, size_t *nodes)
{
    const Onnx__GraphProto *graph = record->test->index.model->graph;
    const struct index_value *value =
        output < graph->n_output ? model_index_find(&record->test->index, graph->output[output]->name) : NULL;
    size_t count = 0,
           end = value && value->source == SOURCE_NODE ? record->test->index.position[value->number] : 0;
    bool *needed =
        value && value->source == SOURCE_NODE ? nodes_ancestors(&record->test->index, end, 0) : NULL;
    for (size_t p = 0; needed && p <= end; p++)
        if (needed[p])
            nodes[count++] = record->test->index.order[p];
    free(needed);
    if (count && count < graph->n_node && computes_off(record, &(struct replacement){0}, &output, 1))
        return count;
    for (size_t i = 0; i < graph->n_node; i++)
        nodes[i] = i;
    return graph->n_node;
}

/* The names of the outputs that the node has; the caller frees them. */
static const char **list_outputs(const Onnx__NodeProto *node, size_t *count)
{
    const char **names = memory_zeroed(node->n_output, sizeof *names);
    *count = 0;
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            names[(*count)++] = node->output[i];
    return names;
}

/* The part of the model that these values need, and those of the inputs that the part has. */
struct beginning {
    struct model *model; /* NULL when it cannot be cut */
    size_t n_inputs;
    struct value *inputs; /* views */
};

static void beginning_cut(struct beginning *part, const struct recording *record, const char *const *names,
                          size_t count)
{
    const struct test_case *whole = record->test->whole;
    struct arena arena;
    arena_init(&arena);
    struct edit_types types = held_values_types(&record->values, &arena);
    *part = (struct beginning){.inputs = memory_zeroed(whole->n_inputs, sizeof *part->inputs)};
    if (model_cut_between(&part->model, &record->test->index, NULL, 0, names, count, &types, NULL))
        part->model = NULL;
    arena_release(&arena);
    for (size_t i = 0; part->model && i < whole->n_inputs; i++)
        for (size_t k = 0; k < part->model->graph->n_input; k++)
            if (whole->inputs[i].name &&
                text_equal(whole->inputs[i].name, part->model->graph->input[k]->name))
                part->inputs[part->n_inputs++] = whole->inputs[i];
}

static void beginning_release(struct beginning *part)
{
    model_free(part->model);
    free(part->inputs);
}

/* Runs the model up to the node, in the order of the file, with these values of it for its only outputs. */
static int run_ending_at(struct recording *record, size_t number, const char *const *names, size_t count,
                         struct result *result)
{
    const struct test_case *whole = record->test->whole;
    struct model *ending;
    if (model_clone(&ending, record->test->model, NULL))
        return -1;
    int status = model_set_outputs(ending, names, count, NULL);
    ending->graph->n_node = number + 1;
    if (!status)
        status = under_test_run(record->test, ending, whole->inputs, whole->n_inputs, 0, result);
    model_free(ending);
    return status;
}

bool blame_wrong_at_end(struct recording *record, size_t number, struct verdict *verdict)
{
    size_t count;
    const char **names = list_outputs(record->test->model->graph->node[number], &count);
    struct expected expected = {0};
    struct beginning part;
    struct result result;
    result_init(&result);
    *verdict = verdict_begin(false);
    beginning_cut(&part, record, names, count);
    if (part.model && !run_ending_at(record, number, names, count, &result) && result.outcome == OUTCOME_OK &&
        !expected_compute(&expected, part.model, &record->test->fusing, part.inputs, part.n_inputs))
        expected_judge(&expected, part.model, &result, verdict);
    expected_release(&expected);
    beginning_release(&part);
    result_release(&result);
    free(names);
    return verdict_is_finding(verdict->kind);
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

bool blame_confirm(struct recording *record, size_t number, size_t output)
{
    const Onnx__NodeProto *node = record->test->model->graph->node[number];
    const char *name = output < node->n_output ? node->output[output] : "";
    const struct tensor *recorded = held_values_find(&record->values, name);
    struct beginning part;
    struct result result;
    if (!recorded)
        return true;
    beginning_cut(&part, record, &name, 1);
    result_init(&result);
    /* An engine that does not answer does not disprove the value. */
    bool confirmed =
        !part.model || under_test_run(record->test, part.model, part.inputs, part.n_inputs, 0, &result) ||
        result.outcome != OUTCOME_OK || result.count != 1 || is_as_recorded(recorded, &result.outputs[0]);
    result_release(&result);
    beginning_release(&part);
    size_t value;
    if (!confirmed && map_get(&record->test->index.names, name, &value))
        record->values.known[value] = NULL;
    return confirmed;
}
