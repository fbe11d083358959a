/*
 * Modules that were compiled before. Compiling a line of TorchScript takes some hundred microseconds, far
 * more than most operators, and the same line comes again and again: in other models, and in other places of
 * one. Modules are found by their text, in which only the names of variables may differ. They are run as
 * written, without the optimising executor, so that they keep nothing of the values they have seen.
 */
#ifndef TORCH_CACHE_H
#define TORCH_CACHE_H

#include "torch_face.h"

struct cache;

struct cache *cache_new(void);
void cache_free(struct cache *cache);

/* Forgets all when there are many. Modules given out before are gone then. */
void cache_trim(struct cache *cache);

/* The module of this text, which takes no buffers, made if need be. It stays the cache's. */
int cache_module(struct cache *cache, const char *text, struct face_module **module,
                 char message[FACE_MESSAGE_SIZE]);

#endif
