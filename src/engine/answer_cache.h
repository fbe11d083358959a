/*
 * Answers kept on disk, so that an interrupted comparison continues where it stopped, and one with another
 * engine added runs only that engine.
 *
 * Each model and engine has a file FOLDER/MODEL-HASH/ENGINE-VERSION.answers. It is a sequence of records,
 * each the answer to one run, found again by a hash of the run's inputs; or, in a file of its own, a text
 * that is kept in place of an answer (conform/kept_verdicts.h). Every record has a checksum; the file is cut
 * off at the first bad record, which an interrupted write leaves. Nothing in the file is trusted.
 */
#ifndef ENGINE_ANSWER_CACHE_H
#define ENGINE_ANSWER_CACHE_H

#include "engine/outcome.h"

struct answer_cache;

/* Which model and engine the answers belong to: names for people, hash and version to tell them apart. */
struct answer_cache_key {
    const char *model;   /* path of the model's file */
    uint64_t model_hash; /* of that file and of those that hold its weights (model_hash) */
    const char *engine;  /* label */
    const char *version; /* may be NULL */
};

/* Opens or creates the file and the folders it lies in. Fails for a file that is not one of answers. */
int answer_cache_open(struct answer_cache **cache, const char *path, const struct answer_cache_key *key,
                      struct error *err);
void answer_cache_close(struct answer_cache *cache); /* NULL is fine */

/*
 * Returns true and the answer in *result, which the caller releases, when there is one for inputs of this
 * hash.
 */
bool answer_cache_get(const struct answer_cache *cache, uint64_t inputs, struct result *result);

/* Adds an answer. Writes nothing for an engine that did not start, as that is no answer. */
int answer_cache_put(struct answer_cache *cache, uint64_t inputs, const struct result *result,
                     struct error *err);

/* The same for texts, in a file that holds nothing else. *text is on the heap. */
bool answer_cache_get_text(const struct answer_cache *cache, uint64_t inputs, char **text);
int answer_cache_put_text(struct answer_cache *cache, uint64_t inputs, const char *text, struct error *err);

/* The hash of the inputs of one run. */
uint64_t answer_cache_hash(const struct value *inputs, size_t count);

#endif
