/* What the engine really had: the model with every value exposed, its values handed over in groups. */
#include "base/memory.h"
#include "locate/work.h"
#include "model/build.h"

#include <stdlib.h>
#include <string.h>

void record_types(const struct work *work, struct model *exposed)
{
    for (size_t i = 0; i < exposed->graph->n_output; i++) {
        Onnx__ValueInfoProto *info = exposed->graph->output[i];
        size_t number;
        if (info->type || !map_get(&work->index.names, info->name, &number) ||
            work->planned[number].type == DTYPE_NONE)
            continue;
        struct shape shape = {.rank = work->planned[number].shape.rank};
        for (int k = 0; k < shape.rank; k++)
            shape.dims[k] = -1;
        info->type = type_make(&exposed->arena, work->planned[number].type, &shape);
    }
}

int record_expose(struct work *work)
{
    if (work->has_exposed)
        return 0;
    struct model *exposed;
    if (model_clone(&exposed, work->which->model, work->err))
        return -1;
    size_t count;
    const char **names = work_made(work, &count);
    int status = model_expose(exposed, names, count, work->err);
    if (!status)
        record_types(work, exposed);
    if (!status)
        status = handover_open(&work->exposed, work->which->pool, exposed, work->err);
    if (status)
        handover_close(&work->exposed);
    work->has_exposed = !status;
    model_free(exposed); /* its bytes are the handover's own, as it was edited */
    return status;
}

/* What nodes made is no longer at hand. */
static void forget(struct work *work)
{
    for (size_t i = 0; i < work->index.count; i++) {
        if (work->index.values[i].source == SOURCE_INPUT)
            continue;
        work->known[i] = NULL;
        work_drop_weight(work, i);
    }
    result_release(&work->held);
    result_init(&work->held);
}

static void compare_plain(struct work *work, const struct value *value)
{
    for (size_t i = 0; i < work->plain.count; i++) {
        const struct value *plain = &work->plain.outputs[i];
        if (plain->name && strcmp(plain->name, value->name) == 0 &&
            (plain->kind != VALUE_TENSOR || !tensor_identical(&plain->tensors[0], &value->tensors[0])))
            work->changed = true;
    }
}

static void learn(struct work *work)
{
    size_t bytes = 0;
    for (size_t i = 0; i < work->held.count; i++) {
        const struct value *value = &work->held.outputs[i];
        size_t number;
        if (value->kind != VALUE_TENSOR || !value->name || !map_get(&work->index.names, value->name, &number))
            continue;
        const struct tensor *tensor = &value->tensors[0];
        work->known[number] = tensor;
        work->forms[number] = (struct tensor){.type = tensor->type, .shape = tensor->shape};
        bytes += tensor->size;
        compare_plain(work, value);
    }
    if (bytes > work->largest)
        work->largest = bytes;
}

/* One run of the exposed model, of which these values are handed over. */
static int hold(struct work *work, const char *const *names, size_t count)
{
    forget(work);
    struct job job = {.engine = work->which->engine,
                      .n_outputs = count,
                      .outputs = names,
                      .n_inputs = work->which->n_inputs,
                      .inputs = work->which->inputs};
    handover_give(&work->exposed, &job);
    work->runs++;
    if (pool_run_one(work->which->pool, &job, &work->held, work->err))
        return -1;
    if (work->held.outcome == OUTCOME_OK)
        learn(work);
    return 0;
}

/* The values that the group's nodes use and make. */
static void list_names(struct work *work, struct record_group *group)
{
    bool *listed = memory_zeroed(work->index.count, sizeof *listed);
    group->names = memory_zeroed(work->index.count, sizeof *group->names);
    group->n_names = 0;
    for (size_t p = group->first; p < group->first + group->count; p++) {
        size_t number = work->index.order[p];
        const Onnx__NodeProto *node = work->which->model->graph->node[number];
        for (size_t i = 0; i < work->index.n_uses[number] + node->n_output; i++) {
            size_t value, made = i - work->index.n_uses[number];
            if (i < work->index.n_uses[number])
                value = work->index.uses[number][i];
            else if (!*node->output[made] || !map_get(&work->index.names, node->output[made], &value))
                continue;
            if (listed[value] || work->index.values[value].source != SOURCE_NODE ||
                work_is_hidden(work, value))
                continue;
            listed[value] = true;
            group->names[group->n_names++] = work->index.values[value].name;
        }
    }
    free(listed);
}

static int run_group(struct work *work, struct record_group *group, record_visit visit, void *context,
                     enum outcome *outcome)
{
    list_names(work, group);
    int status = 0;
    /* A group that makes nothing has nothing to show. */
    if (group->n_names) {
        status = hold(work, group->names, group->n_names);
        *outcome = work->held.outcome;
    }
    if (!status)
        status = *outcome == OUTCOME_OK ? visit(context, work, group) : 1;
    free(group->names);
    group->names = NULL;
    return status;
}

int record_run(struct work *work, record_visit visit, void *context, enum outcome *outcome)
{
    struct record_group *groups;
    *outcome = OUTCOME_OK;
    record_plan(work, work->group_bytes, &groups, &work->groups);
    if (record_expose(work))
        return -1;
    int status = 0;
    for (size_t i = 0; i < work->groups && status == 0; i++) {
        status = run_group(work, &groups[i], visit, context, outcome);
        if (status != 1 || *outcome == OUTCOME_OK || i > 0 || work->terse)
            continue;
        /* Once more without what an engine may have folded away. */
        work->terse = true;
        handover_close(&work->exposed);
        work->has_exposed = false;
        return record_run(work, visit, context, outcome);
    }
    work->all_held = work->groups <= 1;
    return status < 0 ? -1 : 0;
}

int record_fetch(struct work *work, const char *const *names, size_t count)
{
    if (work->all_held)
        return 0;
    const char **wanted = memory_zeroed(count, sizeof *wanted);
    size_t n_wanted = 0, missing = 0;
    for (size_t i = 0; i < count; i++) {
        const struct index_value *value = model_index_find(&work->index, names[i]);
        if (!value || value->source != SOURCE_NODE ||
            work_is_hidden(work, (size_t)(value - work->index.values)))
            continue;
        missing += work_named(work, names[i]) == NULL;
        wanted[n_wanted++] = names[i];
    }
    int status = missing ? hold(work, wanted, n_wanted) : 0;
    free(wanted);
    return status || (missing && work->held.outcome != OUTCOME_OK) ? -1 : 0;
}
