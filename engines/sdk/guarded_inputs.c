#define _GNU_SOURCE
#include "guarded_inputs.h"

#include "base/memory.h"
#include "base/str.h"
#include "guard.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool guarded_inputs_wanted(void)
{
    const char *wanted = getenv("ASSAY_GUARD");
    return wanted && !text_equal(wanted, "off");
}

/* A function of what guard=on loads before the engine (guarded_memory.c); NULL: it did not. */
static void *preloaded(const char *name)
{
    return guarded_inputs_wanted() ? dlsym(RTLD_DEFAULT, name) : NULL;
}

void guarded_memory_begin(void)
{
    void (*begin)(void);
    guard_tell *tell;
    void *symbol = preloaded("assay_guard_memory"), *tells = preloaded("assay_guard_tell");
    memcpy(&begin, &symbol, sizeof begin);
    memcpy(&tell, &tells, sizeof tell);
    if (symbol)
        begin();
    guard_ask_of_crashes(tell);
}

void guarded_memory_name(const void *memory, const char *what, const char *name)
{
    void (*give)(const void *memory, const char *what, const char *name);
    void *symbol = preloaded("assay_guard_name");
    memcpy(&give, &symbol, sizeof give);
    if (symbol)
        give(memory, what, name);
}

/* Moves the payload to memory of its own, which malloc guards. */
static int guard_tensor(struct guarded_inputs *guarded, const char *name, struct tensor *tensor)
{
    void *memory = tensor->size ? malloc(tensor->size) : NULL;
    if (!memory)
        return tensor->size ? -1 : 0;
    guarded->copies[guarded->n_copies++] = memory;
    memcpy(memory, tensor->data, tensor->size);
    guarded_memory_name(memory, "input", name ? name : "");
    tensor->data = memory;
    return 0;
}

int guarded_inputs_make(struct guarded_inputs *guarded, const struct value *values, size_t count)
{
    size_t tensors = 0;
    for (size_t i = 0; i < count; i++)
        tensors += values[i].count;
    *guarded = (struct guarded_inputs){
        .count = count,
        .values = memory_zeroed(count + 1, sizeof *guarded->values),
        .copies = memory_zeroed(tensors + 1, sizeof *guarded->copies),
    };
    for (size_t i = 0; i < count; i++) {
        struct value *value = &guarded->values[i];
        *value = values[i];
        value->tensors = memory_zeroed(value->count + 1, sizeof *value->tensors);
        for (size_t k = 0; k < value->count; k++) {
            value->tensors[k] = values[i].tensors[k];
            if (value->tensors[k].type != DTYPE_STRING &&
                guard_tensor(guarded, value->name, &value->tensors[k]))
                return -1;
        }
    }
    return 0;
}

void guarded_inputs_release(struct guarded_inputs *guarded)
{
    for (size_t i = 0; i < guarded->n_copies; i++)
        free(guarded->copies[i]);
    for (size_t i = 0; i < guarded->count; i++)
        free(guarded->values[i].tensors);
    free(guarded->values);
    free(guarded->copies);
    *guarded = (struct guarded_inputs){0};
}
