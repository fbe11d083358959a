#include "locate/second_engine.h"

#include "base/memory.h"

#include <stdlib.h>

void second_engine_init(struct second_engine *second, struct recording *record, int engine, bool pieces)
{
    *second = (struct second_engine){.record = record, .engine = engine, .pieces = pieces};
    second->panel = (struct panel){
        .pool = record->test->which->pool, .count = 1, .engines = &second->engine, .reference = -1};
    second->runner = runner_new(&second->panel, &(struct runner_options){0});
    result_init(&second->held);
    second->kept = arena_array(&record->test->arena, record->test->index.count, sizeof *second->kept);
    second->known = arena_array(&record->test->arena, record->test->index.count, sizeof(struct tensor *));
}

static void drop_request(struct second_engine *second)
{
    handover_close(&second->handover);
    model_free(second->part);
    free(second->inputs);
    second->part = NULL;
    second->inputs = NULL;
}

static void forget(struct second_engine *second)
{
    result_release(&second->held);
    result_init(&second->held);
    for (size_t i = 0; i < second->record->test->index.count; i++)
        second->known[i] = NULL;
}

void second_engine_release(struct second_engine *second)
{
    if (!second->record)
        return;
    runner_free(second->runner);
    drop_request(second);
    forget(second);
    for (size_t i = 0; i < second->record->test->index.count; i++)
        if (second->kept[i].data)
            tensor_release(&second->kept[i]);
}

/* The value with this number as an input of a part: kept from before, given to the model, or a constant. */
static const struct tensor *input_of_part(struct second_engine *second, size_t number)
{
    struct recording *record = second->record;
    if (record->test->index.values[number].source == SOURCE_INPUT ||
        held_values_is_hidden(&record->values, number))
        return held_values_get(&record->values, number);
    return second->kept[number].type != DTYPE_NONE ? &second->kept[number] : NULL;
}

static int cut_nodes(struct second_engine *second, const struct memory_group *group)
{
    struct recording *record = second->record;
    struct arena arena;
    arena_init(&arena);
    const char **names = arena_array(&arena, record->test->index.count, sizeof *names);
    const struct tensor **tensors = arena_array(&arena, record->test->index.count, sizeof(struct tensor *));
    struct edit_types types = {.names = names, .tensors = tensors};
    bool *listed = memory_zeroed(record->test->index.count, sizeof *listed);
    for (size_t p = group->first; p < group->first + group->count; p++)
        for (size_t k = 0; k < record->test->index.n_uses[record->test->index.order[p]]; k++) {
            size_t use = record->test->index.uses[record->test->index.order[p]][k];
            const struct tensor *tensor = listed[use] ? NULL : input_of_part(second, use);
            listed[use] = true;
            if (!tensor)
                continue;
            names[types.count] = record->test->index.values[use].name;
            tensors[types.count++] = tensor;
        }
    free(listed);
    int status = model_cut(&second->part, &record->test->index, record->test->index.order + group->first,
                           group->count, &types, NULL);
    arena_release(&arena);
    return status;
}

/* The values that the group itself makes. */
static int expose_made(struct second_engine *second, const struct memory_group *group)
{
    const struct model_index *index = &second->record->test->index;
    const char **names = memory_zeroed(group->n_names, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < group->n_names; i++) {
        const struct index_value *value = model_index_find(index, group->names[i]);
        if (index->position[value->number] >= group->first)
            names[count++] = group->names[i];
    }
    int status = count ? model_set_outputs(second->part, names, count, NULL) : -1;
    free(names);
    return status;
}

/* The group's nodes as a model of their own; false when an input is missing (not a tensor, say). */
static bool make_part(struct second_engine *second, const struct memory_group *group, struct job *job)
{
    if (cut_nodes(second, group) || expose_made(second, group) ||
        handover_open(&second->handover, second->record->test->which->pool, second->part, NULL))
        return false;
    const Onnx__GraphProto *graph = second->part->graph;
    second->inputs = memory_zeroed(graph->n_input, sizeof *second->inputs);
    for (size_t i = 0; i < graph->n_input; i++) {
        size_t number;
        const struct tensor *tensor = NULL;
        if (map_get(&second->record->test->index.names, graph->input[i]->name, &number))
            tensor = input_of_part(second, number);
        if (!tensor)
            return false;
        /* Only read. */
        second->inputs[i] = (struct value){.name = graph->input[i]->name,
                                           .kind = VALUE_TENSOR,
                                           .count = 1,
                                           .tensors = (struct tensor *)(uintptr_t)tensor};
    }
    handover_give(&second->handover, job);
    job->inputs = second->inputs;
    job->n_inputs = graph->n_input;
    return true;
}

int second_engine_start(struct second_engine *second, const struct memory_group *group)
{
    struct recording *record = second->record;
    struct job job = {0};
    forget(second);
    if (!group->n_names)
        return 0;
    if (!second->pieces || !make_part(second, group, &job)) {
        if (recording_expose(record))
            return -1;
        handover_give(&record->exposed, &job);
        job.n_outputs = group->n_names;
        job.outputs = group->names;
        job.inputs = record->test->whole->inputs;
        job.n_inputs = record->test->whole->n_inputs;
    }
    runner_submit(second->runner, &job, ASK_NEVER);
    return 0;
}

int second_engine_finish(struct second_engine *second, const struct memory_group *group)
{
    struct recording *record = second->record;
    struct run *run;
    (void)group;
    int status = runner_next(second->runner, &run, record->test->err);
    drop_request(second);
    if (status != 1)
        return status;
    second->held = run_take(run, 0, 0);
    run_free(run);
    for (size_t i = 0; i < second->held.count; i++) {
        const struct value *value = &second->held.outputs[i];
        size_t number;
        if (value->kind == VALUE_TENSOR && value->name &&
            map_get(&record->test->index.names, value->name, &number))
            second->known[number] = &value->tensors[0];
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

void second_engine_next(struct second_engine *second, const struct memory_group *group)
{
    const struct model_index *index = &second->record->test->index;
    size_t end = group->first + group->count;
    for (size_t i = 0; i < index->count && second->pieces; i++) {
        bool needed = is_needed_after(index, i, end);
        if (!needed && second->kept[i].type != DTYPE_NONE) {
            tensor_release(&second->kept[i]);
            second->kept[i] = (struct tensor){0};
        }
        if (needed && second->known[i] && second->kept[i].type == DTYPE_NONE)
            tensor_copy(&second->kept[i], second->known[i], NULL);
    }
}
