/*
 * Answers kept on disk, so that a comparison that was cut short goes on where it stopped, and one with
 * another engine added runs that engine alone.
 *
 * One file for each model and engine, FOLDER/MODEL-HASH/ENGINE-VERSION.answers: records one behind the other,
 * each the answer to one run, found again by a hash of its inputs. Records carry a checksum; what stands
 * behind the first bad one (a write cut short) is cut off. Nothing in the file is trusted.
 */
#ifndef COMPARE_ANSWER_CACHE_H
#define COMPARE_ANSWER_CACHE_H

#include "engine/outcome.h"

struct answer_cache;

/* What an answer is an answer of: model and engine by name (for people) and by hash or version. */
struct answer_cache_key {
    const char *model;   /* path of the model's file */
    uint64_t model_hash; /* model_hash: of that file and those that hold its weights */
    const char *engine;  /* label */
    const char *version; /* may be NULL */
};

/* Opens or creates the file; folders are made. */
int answer_cache_open(struct answer_cache **cache, const char *folder, const struct answer_cache_key *key,
                      struct error *err);
void answer_cache_close(struct answer_cache *cache); /* NULL is fine */

/* True, and the answer in *result (the caller's to release), when there is one for inputs of this hash. */
bool answer_cache_get(const struct answer_cache *cache, uint64_t inputs, struct result *result);

/* Adds one. An engine that did not start has given no answer; nothing is written then. */
int answer_cache_put(struct answer_cache *cache, uint64_t inputs, const struct result *result,
                     struct error *err);

/* The hash of the inputs of one run. */
uint64_t answer_cache_hash(const struct value *inputs, size_t count);

#endif
