#include "case/inputs_wanted.h"

#include "base/map.h"

#include <stdlib.h>

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

int inputs_init(struct inputs *inputs, const struct model *model, struct error *err)
{
    *inputs = (struct inputs){0};
    arena_init(&inputs->arena);
    inputs->model = model;
    const Onnx__GraphProto *graph = model->graph;
    struct map initializers;
    map_init(&initializers);
    for (size_t i = 0; i < graph->n_initializer; i++)
        map_set(&initializers, text_or_empty(graph->initializer[i]->name), i);
    inputs->slots = arena_array(&inputs->arena, graph->n_input + 1, sizeof *inputs->slots);
    int status = 0;
    for (size_t i = 0; i < graph->n_input && status == 0; i++) {
        const char *name = text_or_empty(graph->input[i]->name);
        if (map_has(&initializers, name))
            continue;
        struct inputs_slot *slot = &inputs->slots[inputs->count++];
        slot->name = arena_strdup(&inputs->arena, name);
        slot->type = graph->input[i]->type;
        tensor_init(&slot->array);
        if (!*name)
            status = error_set(err, ERROR_INVALID, "input %zu of the model has no name", i);
    }
    map_release(&initializers);
    return status;
}

void inputs_release(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        tensor_release(&inputs->slots[i].array);
    for (size_t i = 0; i < inputs->n_outputs; i++)
        tensor_release(&inputs->outputs[i].array);
    free(inputs->unused);
    free(inputs->classes);
    free(inputs->truth);
    arena_release(&inputs->arena);
    *inputs = (struct inputs){0};
}
