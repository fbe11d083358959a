#include "eval/scope.h"

#include "base/file_map.h"
#include "base/memory.h"

#include <stdlib.h>

void scope_init(struct scope *scope, struct scope *parent)
{
    *scope = (struct scope){.parent = parent};
    arena_init(&scope->arena);
    map_init(&scope->names);
    if (!parent)
        return;
    scope->opset = parent->opset;
    scope->depth = parent->depth + 1;
    scope->shapes_only = parent->shapes_only;
    scope->options = parent->options;
}

void slot_drop(struct slot *slot)
{
    if (slot->stored && slot->own.floats)
        file_map_forget(slot->own.floats, slot->stored);
    slot->stored = 0;
    bounded_release(&slot->own);
    bounded_release(&slot->wide);
    parts_release(&slot->parts);
    slot->factors.count = 0;
    slot->view = NULL;
    slot->lost = false;
}

void scope_release(struct scope *scope)
{
    for (size_t i = 0; i < scope->count; i++)
        slot_drop(scope->slots[i]);
    free(scope->slots);
    map_release(&scope->names);
    arena_release(&scope->arena);
}

struct slot *scope_add(struct scope *scope, const char *name)
{
    struct slot *slot = arena_alloc(&scope->arena, sizeof *slot);
    scope->slots = memory_grow(scope->slots, &scope->capacity, scope->count + 1, sizeof(struct slot *));
    scope->slots[scope->count] = slot;
    map_set(&scope->names, name, scope->count++);
    return slot;
}

struct slot *scope_find(const struct scope *scope, const char *name)
{
    size_t number;
    for (; scope; scope = scope->parent)
        if (map_get(&scope->names, name, &number))
            return scope->slots[number];
    return NULL;
}
