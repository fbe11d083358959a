/*
 * Inputs that lie at the end of memory, for an engine in the setting guard=on: whoever reads behind an input
 * is ended by the system there and then. Each tensor begins at a multiple of 16 bytes, as memory of malloc
 * does, so up to 15 bytes that follow it can be read; they hold a pattern. What is in front of it, too, is
 * filled with the pattern, back to the beginning of its page.
 */
#ifndef SDK_GUARDED_INPUTS_H
#define SDK_GUARDED_INPUTS_H

#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on memory that the engine allocates ends where it ends, too (guarded_memory.c), where the library
 * that does so was loaded. */
void guarded_memory_begin(void);

struct guarded_inputs {
    size_t count;
    struct value *values; /* to be given to the engine; names are those of the originals */
    size_t n_areas;
    struct guarded_area {
        void *memory;
        size_t size;
    } * areas;
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
