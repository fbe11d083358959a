#define _GNU_SOURCE
#include "guarded_inputs.h"

#include "base/memory.h"
#include "base/str.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 16, PATTERN = 0xA5 };

bool guarded_inputs_wanted(void)
{
    const char *wanted = getenv("ASSAY_GUARD");
    return wanted && text_equal(wanted, "on");
}

void guarded_memory_begin(void)
{
    void (*begin)(void);
    void *symbol = guarded_inputs_wanted() ? dlsym(RTLD_DEFAULT, "assay_guard_memory") : NULL;
    memcpy(&begin, &symbol, sizeof begin);
    if (symbol)
        begin();
}

/* Moves the payload to where memory ends. */
static int guard_tensor(struct guarded_inputs *guarded, struct tensor *tensor)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (tensor->size > SIZE_MAX / 2)
        return -1;
    size_t used = (tensor->size + page - 1) / page * page;
    if (!tensor->size)
        return 0;
    char *memory = mmap(NULL, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    guarded->areas[guarded->n_areas++] = (struct guarded_area){memory, used + page};
    if (mprotect(memory + used, page, PROT_NONE))
        return -1;
    size_t from = (used - tensor->size) / ALIGNMENT * ALIGNMENT;
    memset(memory, PATTERN, used);
    memcpy(memory + from, tensor->data, tensor->size);
    tensor->data = memory + from;
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
        .areas = memory_zeroed(tensors + 1, sizeof *guarded->areas),
    };
    for (size_t i = 0; i < count; i++) {
        struct value *value = &guarded->values[i];
        *value = values[i];
        value->tensors = memory_zeroed(value->count + 1, sizeof *value->tensors);
        for (size_t k = 0; k < value->count; k++) {
            value->tensors[k] = values[i].tensors[k];
            if (value->tensors[k].type != DTYPE_STRING && guard_tensor(guarded, &value->tensors[k]))
                return -1;
        }
    }
    return 0;
}

void guarded_inputs_release(struct guarded_inputs *guarded)
{
    for (size_t i = 0; i < guarded->n_areas; i++)
        munmap(guarded->areas[i].memory, guarded->areas[i].size);
    for (size_t i = 0; i < guarded->count; i++)
        free(guarded->values[i].tensors);
    free(guarded->values);
    free(guarded->areas);
    *guarded = (struct guarded_inputs){0};
}
