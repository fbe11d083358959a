#include "fault_memory.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"

#include <stdlib.h>

struct loaded {
    uint64_t hash; /* of a model */
    size_t times;
};

struct kept {
    char *name;
    struct bounded *value; /* on the heap, as the list moves when it grows */
};

struct fault_memory {
    struct loaded *loads;
    size_t n_loads, loads_room;
    struct kept *values;
    size_t n_values, values_room;
    bool mark;
};

struct fault_memory *fault_memory_new(void)
{
    return memory_zeroed(1, sizeof(struct fault_memory));
}

static void forget_values(struct fault_memory *memory)
{
    for (size_t i = 0; i < memory->n_values; i++) {
        bounded_release(memory->values[i].value);
        free(memory->values[i].value);
        free(memory->values[i].name);
    }
    memory->n_values = 0;
}

void fault_memory_free(struct fault_memory *memory)
{
    if (!memory)
        return;
    forget_values(memory);
    free(memory->values);
    free(memory->loads);
    free(memory);
}

size_t fault_memory_load(struct fault_memory *memory, const struct model *model)
{
    uint8_t *bytes;
    size_t size;
    forget_values(memory);
    if (model_pack(model, &bytes, &size, NULL))
        return 0;
    uint64_t hash = hash_bytes(0, bytes, size);
    free(bytes);
    for (size_t i = 0; i < memory->n_loads; i++)
        if (memory->loads[i].hash == hash)
            return memory->loads[i].times++;
    memory->loads =
        memory_grow(memory->loads, &memory->loads_room, memory->n_loads + 1, sizeof *memory->loads);
    memory->loads[memory->n_loads++] = (struct loaded){hash, 1};
    return 0;
}

struct bounded *fault_memory_value(struct fault_memory *memory, const char *name)
{
    for (size_t i = 0; i < memory->n_values; i++)
        if (text_equal(memory->values[i].name, name))
            return memory->values[i].value;
    memory->values =
        memory_grow(memory->values, &memory->values_room, memory->n_values + 1, sizeof *memory->values);
    struct kept *kept = &memory->values[memory->n_values++];
    *kept = (struct kept){.name = memory_strdup(name), .value = memory_zeroed(1, sizeof *kept->value)};
    bounded_init(kept->value);
    return kept->value;
}

bool *fault_memory_mark(struct fault_memory *memory)
{
    return &memory->mark;
}
