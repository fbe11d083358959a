/*
 * Is it that node? What it makes is replaced by what is expected, as an input of the model, and the engine
 * computes the rest: an answer that is as far off as before is not off because of the node.
 */
#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "locate/work.h"

#include <stdlib.h>
#include <string.h>

/* What is replaced, and by what. */
struct cure {
    size_t count;
    const char **names;
    struct tensor *tensors;
    const struct tensor **views;
};

static void cure_release(struct cure *cure)
{
    for (size_t i = 0; i < cure->count; i++)
        tensor_release(&cure->tensors[i]);
    free(cure->names);
    free(cure->tensors);
    free(cure->views);
}

static size_t find_name(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && !text_equal(names[i], name))
        i++;
    return i;
}

/* The names of all that the nodes make. */
static void list_made(struct cure *cure, const struct work *work, const size_t *nodes, size_t count)
{
    size_t room = 0, n = 0;
    for (size_t i = 0; i < count; i++)
        room += work->which->model->graph->node[nodes[i]]->n_output;
    cure->names = memory_zeroed(room, sizeof *cure->names);
    cure->tensors = memory_zeroed(room, sizeof *cure->tensors);
    cure->views = memory_zeroed(room, sizeof(struct tensor *));
    for (size_t i = 0; i < count; i++) {
        const Onnx__NodeProto *node = work->which->model->graph->node[nodes[i]];
        for (size_t k = 0; k < node->n_output; k++)
            if (*node->output[k])
                cure->names[n++] = node->output[k];
    }
}

/* Takes the values over, as far as they are all there. */
static int take_values(struct cure *cure, struct bounded *values, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        bool there = !status && values[i].type != DTYPE_NONE;
        if (there)
            status = bounded_to_tensor(&values[i], &cure->tensors[cure->count], NULL);
        if (there && !status) {
            cure->views[cure->count] = &cure->tensors[cure->count];
            cure->count++;
        }
        bounded_release(&values[i]);
    }
    return status;
}

/* What one node makes of the inputs that it had on the engine. */
static int cure_node(struct cure *cure, struct work *work, size_t number)
{
    const Onnx__NodeProto *node = work->which->model->graph->node[number];
    struct bounded *values = memory_zeroed(node->n_output, sizeof *values);
    struct error err = {0};
    size_t named = 0;
    int status = work_expect_node(work, number, false, values, &err);
    for (size_t i = 0; i < node->n_output; i++) { /* what the node leaves unnamed is nobody's */
        if (*node->output[i])
            values[named++] = values[i];
        else
            bounded_release(&values[i]);
    }
    status = take_values(cure, values, named) || status ? -1 : 0;
    free(values);
    return status || cure->count != named ? -1 : 0;
}

/* What several nodes make, wherever they are: the reference's own values. */
static int cure_all(struct cure *cure, struct work *work, size_t n_names)
{
    struct evaluator *evaluator;
    struct bounded *values = NULL;
    size_t count = 0;
    if (evaluator_new(&evaluator, work->which->model, &(struct evaluate_options){.round = true}, NULL))
        return -1;
    int status = evaluator_run(evaluator, work->which->inputs, work->which->n_inputs, cure->names, n_names,
                               &values, &count, NULL);
    evaluator_free(evaluator);
    status = take_values(cure, values, count) || status ? -1 : 0;
    free(values);
    return status || cure->count != n_names ? -1 : 0;
}

static int cure_make(struct cure *cure, struct work *work, const size_t *nodes, size_t count)
{
    *cure = (struct cure){0};
    list_made(cure, work, nodes, count);
    size_t named = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < work->which->model->graph->node[nodes[i]]->n_output; k++)
            named += *work->which->model->graph->node[nodes[i]]->output[k] != '\0';
    return count == 1 ? cure_node(cure, work, nodes[0]) : cure_all(cure, work, named);
}

/* How far off an answer is. */
enum distance { NEAR, FAR, WRONG };

static enum distance distance_of(enum verdict_kind kind)
{
    return verdict_is_finding(kind) ? WRONG : verdict_is(kind, CLASS_SUSPECT) ? FAR : NEAR;
}

static enum distance distance(const struct bounded *expected, const struct value *got)
{
    struct verdict verdict = {.kind = VERDICT_AGREES};
    verdict_output(&verdict, 0, expected, got);
    verdict_finish(&verdict, NULL);
    return distance_of(verdict.kind);
}

/* Of output `number` of the graph, as the engine gave it at first. */
static enum distance plain_distance(const struct work *work, size_t number)
{
    bool there = number < work->whole.count && number < work->plain.count;
    return there ? distance(&work->whole.expected[number], &work->plain.outputs[number]) : NEAR;
}

/* The graph's outputs that are off and not replaced, by number. */
static size_t list_off(const struct work *work, const struct cure *cure, size_t *outputs)
{
    const Onnx__GraphProto *graph = work->which->model->graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->n_output; i++)
        if (find_name(cure->names, cure->count, graph->output[i]->name) == cure->count &&
            plain_distance(work, i) != NEAR)
            outputs[count++] = i;
    return count;
}

/* Whether an output of the graph that is replaced is as far off by what it is replaced with: then it was what
 * the node was given. */
static bool cure_is_off(const struct work *work, const struct cure *cure)
{
    const Onnx__GraphProto *graph = work->which->model->graph;
    for (size_t i = 0; i < graph->n_output; i++) {
        size_t at = find_name(cure->names, cure->count, graph->output[i]->name);
        struct value value = work_view(NULL, at < cure->count ? cure->views[at] : NULL);
        enum distance before = at < cure->count ? plain_distance(work, i) : NEAR;
        if (before != NEAR && distance(&work->whole.expected[i], &value) >= before)
            return true;
    }
    return false;
}

/* The part's inputs, of the case or replaced; false when one is neither. */
static bool list_inputs(struct work *work, const struct cure *cure, const struct model *part,
                        struct value *inputs)
{
    for (size_t i = 0; i < part->graph->n_input; i++) {
        const char *name = part->graph->input[i]->name;
        size_t at = find_name(cure->names, cure->count, name);
        const struct tensor *tensor = at < cure->count ? cure->views[at] : work_named(work, name);
        if (!tensor)
            return false;
        inputs[i] = work_view(name, tensor);
    }
    return true;
}

/* Whether one of these outputs is still as far off when the engine computes them, and nothing else, from what
 * is replaced. One that does not answer shows nothing. */
static bool computes_off(struct work *work, const struct cure *cure, const size_t *outputs, size_t count)
{
    const Onnx__GraphProto *graph = work->which->model->graph;
    const char **names = memory_zeroed(count, sizeof *names);
    struct edit_types types = {cure->count, cure->names, cure->views};
    struct model *part = NULL;
    struct result result;
    bool off = false;
    result_init(&result);
    for (size_t i = 0; i < count; i++)
        names[i] = graph->output[outputs[i]]->name;
    if (!model_cut_between(&part, &work->index, cure->names, cure->count, names, count, &types, NULL)) {
        struct value *inputs = memory_zeroed(part->graph->n_input, sizeof *inputs);
        bool answered = list_inputs(work, cure, part, inputs) &&
                        !work_run(work, part, inputs, part->graph->n_input, 0, &result) &&
                        result.outcome == OUTCOME_OK && result.count == count;
        for (size_t i = 0; i < count && answered && !off; i++)
            off = distance(&work->whole.expected[outputs[i]], &result.outputs[i]) >=
                  plain_distance(work, outputs[i]);
        free(inputs);
    }
    model_free(part);
    result_release(&result);
    free(names);
    return off;
}

/* By a node that is no Constant. */
static bool is_made(const struct work *work, size_t number)
{
    const struct index_value *value = &work->index.values[number];
    return value->source == SOURCE_NODE &&
           !text_equal(work->which->model->graph->node[value->number]->op_type, "Constant");
}

/* The values that a node was given by others, as they are recorded or, where the engine folds them away, due;
 * borrowed. */
static int cure_inputs(struct cure *cure, struct work *work, size_t number)
{
    size_t room = work->index.n_uses[number];
    *cure = (struct cure){.names = memory_zeroed(room, sizeof *cure->names),
                          .tensors = memory_zeroed(room, sizeof *cure->tensors),
                          .views = memory_zeroed(room, sizeof(struct tensor *))};
    for (size_t i = 0; i < room; i++) {
        size_t use = work->index.uses[number][i];
        const struct tensor *tensor = work_value(work, use);
        if (!tensor)
            return -1;
        if (!is_made(work, use))
            continue;
        cure->names[cure->count] = work->index.values[use].name;
        cure->views[cure->count++] = tensor;
    }
    return 0;
}

bool work_breaks_right_inputs(struct work *work, size_t number)
{
    const Onnx__GraphProto *graph = work->which->model->graph;
    struct verdict verdict;
    struct cure cure;
    work_judge_whole(work, &work->plain, &verdict);
    if (distance_of(verdict.kind) == NEAR)
        return false;
    size_t *outputs = memory_zeroed(graph->n_output, sizeof *outputs);
    bool off = false;
    if (!cure_inputs(&cure, work, number)) {
        size_t n_off = list_off(work, &cure, outputs);
        off = n_off && computes_off(work, &cure, outputs, n_off);
    }
    cure_release(&cure);
    free(outputs);
    return off;
}

bool work_stays_off(struct work *work, const size_t *nodes, size_t count)
{
    const Onnx__GraphProto *graph = work->which->model->graph;
    struct verdict verdict;
    struct cure cure;
    if (graph->n_node <= count)
        return false;
    work_judge_whole(work, &work->plain, &verdict);
    if (distance_of(verdict.kind) == NEAR)
        return false;
    size_t *outputs = memory_zeroed(graph->n_output, sizeof *outputs);
    bool off = false;
    if (!cure_make(&cure, work, nodes, count)) {
        size_t n_off = list_off(work, &cure, outputs);
        off = cure_is_off(work, &cure) || (n_off && computes_off(work, &cure, outputs, n_off));
    }
    cure_release(&cure);
    free(outputs);
    return off;
}

size_t work_needed(struct work *work, size_t output, size_t *nodes)
{
    const Onnx__GraphProto *graph = work->which->model->graph;
    const struct index_value *value =
        output < graph->n_output ? model_index_find(&work->index, graph->output[output]->name) : NULL;
    size_t count = 0, end = value && value->source == SOURCE_NODE ? work->index.position[value->number] : 0;
    bool *needed = value && value->source == SOURCE_NODE ? work_ancestors(work, end, 0) : NULL;
    for (size_t p = 0; needed && p <= end; p++)
        if (needed[p])
            nodes[count++] = work->index.order[p];
    free(needed);
    if (count && count < graph->n_node && computes_off(work, &(struct cure){0}, &output, 1))
        return count;
    for (size_t i = 0; i < graph->n_node; i++)
        nodes[i] = i;
    return graph->n_node;
}
