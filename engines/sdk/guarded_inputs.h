/*
 * Inputs in memory of their own, for an engine in the setting guard=on or guard=before: malloc then lets
 * every piece of memory end (or begin) where reading goes no further (guarded_memory.c), and inputs are to
 * have the same guards as what the engine allocates itself.
 */
#ifndef SDK_GUARDED_INPUTS_H
#define SDK_GUARDED_INPUTS_H

#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on memory that is allocated has guards, where the library that does so was loaded. */
void guarded_memory_begin(void);

/* What memory from malloc holds, for the report of who reaches beside it: "initialiser", "w". Nothing happens
 * without guards. */
void guarded_memory_name(const void *memory, const char *what, const char *name);

struct guarded_inputs {
    size_t count;
    struct value *values; /* to be given to the engine; names are those of the originals */
    size_t n_copies;
    void **copies;
};

/* Whether the environment asks for it. */
bool guarded_inputs_wanted(void);

/* Copies the values, which must outlive the copies. Fails when there is not enough memory. Release them in
 * any case. */
int guarded_inputs_make(struct guarded_inputs *guarded, const struct value *values, size_t count);
void guarded_inputs_release(struct guarded_inputs *guarded);

#ifdef __cplusplus
}
#endif
#endif
