#include "locate/second_engine.h"

#include "base/memory.h"

#include <stdlib.h>

void twin_init(struct twin *twin, struct work *work, int engine, bool pieces)
{
    *twin = (struct twin){.work = work, .engine = engine, .pieces = pieces};
    result_init(&twin->held);
    twin->kept = arena_array(&work->arena, work->index.count, sizeof *twin->kept);
    twin->known = arena_array(&work->arena, work->index.count, sizeof(struct tensor *));
}

static void drop_request(struct twin *twin)
{
    handover_close(&twin->handover);
    model_free(twin->part);
    free(twin->inputs);
    twin->part = NULL;
    twin->inputs = NULL;
}

static void forget(struct twin *twin)
{
    result_release(&twin->held);
    result_init(&twin->held);
    for (size_t i = 0; i < twin->work->index.count; i++)
        twin->known[i] = NULL;
}

void twin_release(struct twin *twin)
{
    if (!twin->work)
        return;
    drop_request(twin);
    forget(twin);
    for (size_t i = 0; i < twin->work->index.count; i++)
        if (twin->kept[i].data)
            tensor_release(&twin->kept[i]);
}

/* The value with this number as an input of a part: kept from before, given to the model, or a constant. */
static const struct tensor *input_of_part(struct twin *twin, size_t number)
{
    struct work *work = twin->work;
    if (work->index.values[number].source == SOURCE_INPUT || work_is_hidden(work, number))
        return work_value(work, number);
    return twin->kept[number].type != DTYPE_NONE ? &twin->kept[number] : NULL;
}

static int cut_nodes(struct twin *twin, const struct record_group *group)
{
    struct work *work = twin->work;
    struct arena arena;
    arena_init(&arena);
    const char **names = arena_array(&arena, work->index.count, sizeof *names);
    const struct tensor **tensors = arena_array(&arena, work->index.count, sizeof(struct tensor *));
    struct edit_types types = {.names = names, .tensors = tensors};
    bool *listed = memory_zeroed(work->index.count, sizeof *listed);
    for (size_t p = group->first; p < group->first + group->count; p++)
        for (size_t k = 0; k < work->index.n_uses[work->index.order[p]]; k++) {
            size_t use = work->index.uses[work->index.order[p]][k];
            const struct tensor *tensor = listed[use] ? NULL : input_of_part(twin, use);
            listed[use] = true;
            if (!tensor)
                continue;
            names[types.count] = work->index.values[use].name;
            tensors[types.count++] = tensor;
        }
    free(listed);
    int status =
        model_cut(&twin->part, &work->index, work->index.order + group->first, group->count, &types, NULL);
    arena_release(&arena);
    return status;
}

/* The values that the group itself makes. */
static int expose_made(struct twin *twin, const struct record_group *group)
{
    const struct model_index *index = &twin->work->index;
    const char **names = memory_zeroed(group->n_names, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < group->n_names; i++) {
        const struct index_value *value = model_index_find(index, group->names[i]);
        if (index->position[value->number] >= group->first)
            names[count++] = group->names[i];
    }
    int status = count ? model_set_outputs(twin->part, names, count, NULL) : -1;
    free(names);
    return status;
}

/* The group's nodes as a model of their own; false when an input is missing (not a tensor, say). */
static bool make_part(struct twin *twin, const struct record_group *group, struct job *job)
{
    if (cut_nodes(twin, group) || expose_made(twin, group) ||
        handover_open(&twin->handover, twin->work->which->pool, twin->part, NULL))
        return false;
    const Onnx__GraphProto *graph = twin->part->graph;
    twin->inputs = memory_zeroed(graph->n_input, sizeof *twin->inputs);
    for (size_t i = 0; i < graph->n_input; i++) {
        size_t number;
        const struct tensor *tensor = NULL;
        if (map_get(&twin->work->index.names, graph->input[i]->name, &number))
            tensor = input_of_part(twin, number);
        if (!tensor)
            return false;
        /* Only read. */
        twin->inputs[i] = (struct value){.name = graph->input[i]->name,
                                         .kind = VALUE_TENSOR,
                                         .count = 1,
                                         .tensors = (struct tensor *)(uintptr_t)tensor};
    }
    handover_give(&twin->handover, job);
    job->inputs = twin->inputs;
    job->n_inputs = graph->n_input;
    return true;
}

int twin_start(struct twin *twin, const struct record_group *group)
{
    struct work *work = twin->work;
    struct job job = {.engine = twin->engine};
    forget(twin);
    if (!group->n_names)
        return 0;
    if (!twin->pieces || !make_part(twin, group, &job)) {
        if (record_expose(work))
            return -1;
        handover_give(&work->exposed, &job);
        job.n_outputs = group->n_names;
        job.outputs = group->names;
        job.inputs = work->which->inputs;
        job.n_inputs = work->which->n_inputs;
    }
    pool_submit(work->which->pool, &job);
    twin->under_way = true;
    return 0;
}

int twin_finish(struct twin *twin, const struct record_group *group)
{
    struct work *work = twin->work;
    struct job job;
    bool differ;
    (void)group;
    if (!twin->under_way)
        return 0;
    twin->under_way = false;
    int status = pool_next(work->which->pool, -1, &job, &twin->held, &differ, work->err);
    drop_request(twin);
    if (status <= 0)
        return status < 0 ? -1 : error_set(work->err, ERROR_IO, "the second engine lost an answer");
    for (size_t i = 0; i < twin->held.count; i++) {
        const struct value *value = &twin->held.outputs[i];
        size_t number;
        if (value->kind == VALUE_TENSOR && value->name && map_get(&work->index.names, value->name, &number))
            twin->known[number] = &value->tensors[0];
    }
    return 0;
}

static bool is_needed_after(const struct model_index *index, size_t number, size_t position)
{
    const struct index_value *value = &index->values[number];
    for (size_t i = 0; i < value->consumers; i++)
        if (index->position[value->consumer[i]] >= position)
            return true;
    return false;
}

void twin_next(struct twin *twin, const struct record_group *group)
{
    const struct model_index *index = &twin->work->index;
    size_t end = group->first + group->count;
    for (size_t i = 0; i < index->count && twin->pieces; i++) {
        bool needed = is_needed_after(index, i, end);
        if (!needed && twin->kept[i].type != DTYPE_NONE) {
            tensor_release(&twin->kept[i]);
            twin->kept[i] = (struct tensor){0};
        }
        if (needed && twin->known[i] && twin->kept[i].type == DTYPE_NONE)
            tensor_copy(&twin->kept[i], twin->known[i], NULL);
    }
}
