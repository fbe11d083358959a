/*
 * A cache of compiled modules. Compiling a line of TorchScript takes some hundred microseconds, far more than
 * most operators, and the same line occurs again and again, in one model and in others. Modules are found by
 * their text; names of variables in it may differ. They are run as written, without the optimising executor,
 * so that they keep no state from earlier values.
 */
#ifndef TORCH_CACHE_H
#define TORCH_CACHE_H

#include "torch_face.h"

struct cache;

struct cache *cache_new(void);
void cache_free(struct cache *cache);

/* Frees all modules when there are many; modules returned before are then no longer valid. */
void cache_trim(struct cache *cache);

/* The module with this text, which uses no buffers; it is compiled unless it is in the cache. The cache owns
 * it. */
int cache_module(struct cache *cache, const char *text, struct face_module **module,
                 char message[FACE_MESSAGE_SIZE]);

#endif
