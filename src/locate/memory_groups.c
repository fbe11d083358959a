#include "locate/memory_groups.h"

#include "base/memory.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "ops/op.h"

#include <stdlib.h>

enum {
    KNOWN_LIMIT = 1024,     /* elements: constants up to here may steer shapes */
    UNKNOWN_BYTES = 1 << 20 /* taken for a value whose shape shows only when it is computed */
};

/* Types and shapes by the operator table, without values but for small constants. */
struct sizing {
    struct held_values *values;
    struct bounded *forms; /* one for each value of the index; type DTYPE_NONE: not known */
};

static int form_of(struct bounded *form, const struct tensor *tensor)
{
    if (tensor->count <= KNOWN_LIMIT)
        return bounded_from_tensor(form, tensor, NULL);
    return bounded_alloc(form, tensor->type, &tensor->shape, true, NULL);
}

static void form_inputs(struct sizing *sizing)
{
    struct held_values *values = sizing->values;
    for (size_t i = 0; i < values->test->index.count; i++) {
        if (values->test->index.values[i].source == SOURCE_NODE)
            continue;
        bool was_known = values->known[i] != NULL;
        const struct tensor *tensor = held_values_get(values, i);
        if (tensor && tensor->type != DTYPE_STRING && form_of(&sizing->forms[i], tensor))
            bounded_release(&sizing->forms[i]);
        if (!was_known && tensor)
            held_values_drop(values, i);
    }
}

static bool is_formed(const struct bounded *form)
{
    return form->type != DTYPE_NONE;
}

/* A Constant, whose tensor is only looked at when it is small. */
static bool form_constant(struct sizing *sizing, const Onnx__NodeProto *node)
{
    size_t made;
    if (node->n_output != 1 || !map_get(&sizing->values->test->index.names, node->output[0], &made) ||
        !held_values_is_hidden(sizing->values, made))
        return false;
    const struct tensor *tensor = held_values_get(sizing->values, made);
    if (tensor && tensor->type != DTYPE_STRING && form_of(&sizing->forms[made], tensor))
        bounded_release(&sizing->forms[made]);
    sizing->values->known[made] = NULL;
    held_values_drop(sizing->values, made);
    return true;
}

/* What node `number` makes, from what it uses; leaves it unknown when that is not known or depends on values.
 */
static void form_node(struct sizing *sizing, size_t number)
{
    const struct model_index *index = &sizing->values->test->index;
    const Onnx__NodeProto *node = index->model->graph->node[number];
    if (form_constant(sizing, node))
        return;
    size_t n_captured = index->n_uses[number];
    const struct bounded **inputs = memory_zeroed(node->n_input, sizeof(struct bounded *));
    struct captured *captured = memory_zeroed(n_captured, sizeof *captured);
    struct bounded *outputs = memory_zeroed(node->n_output, sizeof *outputs);
    bool known = true;
    for (size_t i = 0; i < n_captured; i++) {
        size_t use = index->uses[number][i];
        captured[i] = (struct captured){index->values[use].name, &sizing->forms[use]};
        known = known && is_formed(&sizing->forms[use]);
    }
    for (size_t i = 0; i < node->n_input; i++) {
        size_t use;
        if (*node->input[i] && map_get(&index->names, node->input[i], &use))
            inputs[i] = &sizing->forms[use];
    }
    int status = known ? infer_node_capturing(model_opset(index->model), node, inputs, node->n_input,
                                              captured, n_captured, outputs, node->n_output, NULL)
                       : -1;
    for (size_t i = 0; i < node->n_output; i++) {
        size_t made;
        if (!status && *node->output[i] && map_get(&index->names, node->output[i], &made)) {
            sizing->forms[made] = outputs[i];
            bounded_init(&outputs[i]);
        }
        bounded_release(&outputs[i]);
    }
    free(outputs);
    free(captured);
    free(inputs);
}

bool *memory_groups_fed(const struct model_index *index)
{
    bool *fed = memory_zeroed(index->count, sizeof *fed);
    for (size_t i = 0; i < index->count; i++)
        fed[i] = index->values[i].source == SOURCE_INPUT;
    for (size_t p = 0; p < index->model->graph->n_node; p++) {
        size_t number = index->order[p], made;
        const Onnx__NodeProto *node = index->model->graph->node[number];
        bool any = false;
        for (size_t i = 0; i < index->n_uses[number]; i++)
            any = any || fed[index->uses[number][i]];
        const struct op *op = op_of(node);
        any = any && !(op && op->work == WORK_SHAPE);
        for (size_t i = 0; i < node->n_output; i++)
            if (*node->output[i] && map_get(&index->names, node->output[i], &made))
                fed[made] = any;
    }
    return fed;
}

/* Bytes of every value of the index, in the arena. */
static size_t *value_sizes(struct held_values *values)
{
    struct sizing sizing = {values, memory_zeroed(values->test->index.count, sizeof *sizing.forms)};
    size_t *sizes = arena_array(&values->test->arena, values->test->index.count, sizeof *sizes);
    form_inputs(&sizing);
    for (size_t i = 0; i < values->test->index.model->graph->n_node; i++)
        form_node(&sizing, values->test->index.order[i]);
    bool *fed = memory_groups_fed(&values->test->index);
    for (size_t i = 0; i < values->test->index.count; i++) {
        const struct bounded *form = &sizing.forms[i];
        if (values->test->index.values[i].source == SOURCE_NODE && is_formed(form) && form->value &&
            !fed[i] && !values->folded[i].data && bounded_to_tensor(form, &values->folded[i], NULL))
            values->folded[i] = (struct tensor){0};
        values->planned[i] = (struct tensor){.type = form->type, .shape = form->shape};
        sizes[i] = is_formed(form) ? form->count * dtype_size(form->type) : UNKNOWN_BYTES;
        bounded_release(&sizing.forms[i]);
    }
    free(fed);
    free(sizing.forms);
    return sizes;
}

size_t memory_groups_bytes(struct held_values *values)
{
    const size_t *sizes = value_sizes(values);
    size_t bytes = 0;
    for (size_t i = 0; i < values->test->index.count; i++)
        if (values->test->index.values[i].source == SOURCE_NODE)
            bytes = sizes[i] > SIZE_MAX - bytes ? SIZE_MAX : bytes + sizes[i];
    return bytes;
}

/* Values to hold for the group that is being filled: `mark` has the group's number plus one where it is. */
struct filling {
    struct held_values *values;
    const size_t *sizes;
    size_t *mark, stamp;
    struct memory_group *group;
};

/* Bytes that node `number` adds; with `take` they are added. */
static size_t add_node(struct filling *filling, size_t number, bool take)
{
    struct held_values *values = filling->values;
    const Onnx__NodeProto *node = values->test->model->graph->node[number];
    size_t bytes = 0;
    for (size_t i = 0; i < values->test->index.n_uses[number] + node->n_output; i++) {
        size_t value, made = i - values->test->index.n_uses[number];
        if (i < values->test->index.n_uses[number])
            value = values->test->index.uses[number][i];
        else if (!*node->output[made] || !map_get(&values->test->index.names, node->output[made], &value))
            continue;
        if (values->test->index.values[value].source != SOURCE_NODE ||
            filling->mark[value] == filling->stamp || held_values_is_hidden(values, value))
            continue;
        bytes += filling->sizes[value];
        if (take)
            filling->mark[value] = filling->stamp;
    }
    if (take) {
        filling->group->bytes += bytes;
        filling->group->count++;
    }
    return bytes;
}

void memory_groups_make(struct held_values *values, size_t limit, struct memory_group **groups, size_t *count,
                        size_t *wanted)
{
    size_t n = values->test->model->graph->n_node;
    struct filling filling = {
        .values = values,
        .sizes = value_sizes(values),
        .mark = arena_array(&values->test->arena, values->test->index.count, sizeof *filling.mark),
    };
    *groups = arena_array(&values->test->arena, n, sizeof **groups);
    *count = *wanted = 0;
    for (size_t i = 0; i < values->test->index.count; i++)
        if (values->test->index.values[i].source == SOURCE_NODE && !held_values_is_hidden(values, i))
            *wanted += filling.sizes[i];
    for (size_t position = 0; position < n; position++) {
        size_t number = values->test->index.order[position];
        bool full = filling.group && filling.group->bytes + add_node(&filling, number, false) > limit;
        if (!filling.group || full) {
            filling.group = &(*groups)[(*count)++];
            filling.stamp = *count;
            *filling.group = (struct memory_group){.first = position};
        }
        add_node(&filling, number, true);
    }
}
