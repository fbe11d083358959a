#include "locate/record_values.h"

#include "base/memory.h"
#include "model/build.h"

#include <stdlib.h>

enum { GROUP_BYTES = 128 << 20 };

void recording_init(struct recording *record, struct under_test *test, struct whole_answer *whole)
{
    *record = (struct recording){.test = test, .whole = whole, .group_bytes = GROUP_BYTES};
    held_values_init(&record->values, test);
    result_init(&record->held);
}

void recording_release(struct recording *record)
{
    held_values_release(&record->values);
    result_release(&record->held);
    handover_close(&record->exposed);
}

void recording_types(const struct held_values *values, struct model *exposed)
{
    for (size_t i = 0; i < exposed->graph->n_output; i++) {
        Onnx__ValueInfoProto *info = exposed->graph->output[i];
        size_t number;
        if (info->type || !map_get(&values->test->index.names, info->name, &number) ||
            values->planned[number].type == DTYPE_NONE)
            continue;
        struct shape shape = {.rank = values->planned[number].shape.rank};
        for (int k = 0; k < shape.rank; k++)
            shape.dims[k] = -1;
        info->type = type_make(&exposed->arena, values->planned[number].type, &shape);
    }
}

/* Opens record->exposed with these values as outputs. */
static int expose(struct recording *record, const char *const *names, size_t count)
{
    struct model *exposed;
    if (model_clone(&exposed, record->test->model, record->test->err))
        return -1;
    int status = model_expose(exposed, names, count, record->test->err);
    if (!status)
        recording_types(&record->values, exposed);
    if (!status)
        status = handover_open(&record->exposed, record->test->which->pool, exposed, record->test->err);
    if (status)
        handover_close(&record->exposed);
    record->has_exposed = !status;
    model_free(exposed); /* its bytes are the handover's own, as it was edited */
    return status;
}

int recording_expose(struct recording *record)
{
    if (record->has_exposed)
        return 0;
    size_t count;
    const char **names = held_values_made(&record->values, &count);
    return expose(record, names, count);
}

void recording_close(struct recording *record)
{
    handover_close(&record->exposed);
    record->exposed = (struct handover){0};
    record->has_exposed = record->values.complete = false;
}

int recording_expose_some(struct recording *record, const bool *exposed)
{
    const struct model_index *index = &record->test->index;
    const char **names = memory_zeroed(index->count, sizeof *names);
    size_t count = 0;
    recording_close(record);
    for (size_t i = 0; i < index->count; i++)
        if (exposed[i])
            names[count++] = index->values[i].name;
    int status = expose(record, names, count);
    free(names);
    return status;
}

/* Forgets the outputs of nodes. */
static void forget(struct recording *record)
{
    for (size_t i = 0; i < record->test->index.count; i++) {
        if (record->test->index.values[i].source == SOURCE_INPUT)
            continue;
        record->values.known[i] = NULL;
        held_values_drop(&record->values, i);
    }
    result_release(&record->held);
    result_init(&record->held);
}

/* plain: the names of the answer's values, to their numbers. */
static void compare_plain(struct recording *record, const struct map *plain, const struct value *value)
{
    size_t number;
    if (!map_get(plain, value->name, &number))
        return;
    const struct value *answer = &record->whole->answer.outputs[number];
    if (answer->kind != VALUE_TENSOR || !tensor_identical(&answer->tensors[0], &value->tensors[0]))
        record->changed = true;
}

static void learn(struct recording *record)
{
    size_t bytes = 0;
    struct map plain;
    map_init(&plain);
    for (size_t i = 0; i < record->whole->answer.count; i++)
        if (record->whole->answer.outputs[i].name)
            map_set(&plain, record->whole->answer.outputs[i].name, i);
    for (size_t i = 0; i < record->held.count; i++) {
        const struct value *value = &record->held.outputs[i];
        size_t number;
        if (value->kind != VALUE_TENSOR || !value->name ||
            !map_get(&record->test->index.names, value->name, &number))
            continue;
        const struct tensor *tensor = &value->tensors[0];
        record->values.known[number] = tensor;
        record->values.forms[number] = (struct tensor){.type = tensor->type, .shape = tensor->shape};
        bytes += tensor->size;
        compare_plain(record, &plain, value);
    }
    map_release(&plain);
    if (bytes > record->largest)
        record->largest = bytes;
}

int recording_hold(struct recording *record, const char *const *names, size_t count, enum outcome *outcome)
{
    forget(record);
    struct job job = {.engine = record->test->which->engine,
                      .n_outputs = count,
                      .outputs = names,
                      .n_inputs = record->test->whole->n_inputs,
                      .inputs = record->test->whole->inputs};
    handover_give(&record->exposed, &job);
    record->test->runs++;
    if (pool_run_one(record->test->which->pool, &job, &record->held, record->test->err))
        return -1;
    if (record->held.outcome == OUTCOME_OK)
        learn(record);
    *outcome = record->held.outcome;
    return 0;
}

/* The values that the group's nodes use and make. */
static void list_names(struct recording *record, struct memory_group *group)
{
    bool *listed = memory_zeroed(record->test->index.count, sizeof *listed);
    group->names = memory_zeroed(record->test->index.count, sizeof *group->names);
    group->n_names = 0;
    for (size_t p = group->first; p < group->first + group->count; p++) {
        size_t number = record->test->index.order[p];
        const Onnx__NodeProto *node = record->test->model->graph->node[number];
        for (size_t i = 0; i < record->test->index.n_uses[number] + node->n_output; i++) {
            size_t value, made = i - record->test->index.n_uses[number];
            if (i < record->test->index.n_uses[number])
                value = record->test->index.uses[number][i];
            else if (!*node->output[made] || !map_get(&record->test->index.names, node->output[made], &value))
                continue;
            if (listed[value] || record->test->index.values[value].source != SOURCE_NODE ||
                held_values_is_hidden(&record->values, value))
                continue;
            listed[value] = true;
            group->names[group->n_names++] = record->test->index.values[value].name;
        }
    }
    free(listed);
}

static int run_group(struct recording *record, struct memory_group *group, recording_visit visit,
                     void *context, enum outcome *outcome)
{
    list_names(record, group);
    int status = 0;
    /* A group without outputs needs no run. */
    if (group->n_names)
        status = recording_hold(record, group->names, group->n_names, outcome);
    if (!status)
        status = *outcome == OUTCOME_OK ? visit(context, record, group) : 1;
    free(group->names);
    group->names = NULL;
    return status;
}

int recording_run(struct recording *record, recording_visit visit, void *context, enum outcome *outcome)
{
    struct memory_group *groups;
    *outcome = OUTCOME_OK;
    memory_groups_make(&record->values, record->group_bytes, &groups, &record->groups, &record->wanted);
    if (recording_expose(record))
        return -1;
    int status = 0;
    for (size_t i = 0; i < record->groups && status == 0; i++) {
        status = run_group(record, &groups[i], visit, context, outcome);
        if (status != 1 || *outcome == OUTCOME_OK || i > 0 || record->values.skip_folded)
            continue;
        /* Once more without what an engine may have folded away. */
        record->values.skip_folded = true;
        handover_close(&record->exposed);
        record->has_exposed = false;
        return recording_run(record, visit, context, outcome);
    }
    record->values.complete = record->groups <= 1;
    return status < 0 ? -1 : 0;
}

int recording_fetch(struct recording *record, const char *const *names, size_t count)
{
    if (record->values.complete)
        return 0;
    const char **wanted = memory_zeroed(count, sizeof *wanted);
    size_t n_wanted = 0, missing = 0;
    for (size_t i = 0; i < count; i++) {
        const struct index_value *value = model_index_find(&record->test->index, names[i]);
        if (!value || value->source != SOURCE_NODE ||
            held_values_is_hidden(&record->values, (size_t)(value - record->test->index.values)))
            continue;
        missing += held_values_find(&record->values, names[i]) == NULL;
        wanted[n_wanted++] = names[i];
    }
    enum outcome outcome = OUTCOME_OK;
    int status = missing ? recording_expose(record) : 0;
    if (missing && !status)
        status = recording_hold(record, wanted, n_wanted, &outcome);
    free(wanted);
    return status || outcome != OUTCOME_OK ? -1 : 0;
}
