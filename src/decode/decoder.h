/*
 * A decoder: a language model with a key-value cache, and how it is fed from step to step.
 *
 * Its inputs are the tokens (input_ids [1, sequence]), the cache (past_key_values.0.key, past.0.key or past_0
 * [1, heads, past, size]), and where the model has them position_ids [1, sequence] and attention_mask
 * [1, past + sequence]. Each input of the cache has an output that begins with "present" and ends alike
 * (present.0.key), which is fed back to it. The first step takes the whole prompt and an empty cache; each
 * further step takes the token with the largest logit of the step before.
 */
#ifndef DECODE_DECODER_H
#define DECODE_DECODER_H

#include "engine/outcome.h"
#include "model/model.h"

enum decoder_role { ROLE_TOKENS, ROLE_POSITIONS, ROLE_MASK, ROLE_CACHE };

/* One input of the model. */
struct decoder_input {
    const char *name;
    enum decoder_role role;
    enum dtype type;
    struct shape shape;  /* as declared; an open dimension is -1 */
    const char *present; /* of a cache: the output that is fed back */
    int layer;           /* of a cache: the number in its name; 0 when it has none */
};

struct decoder {
    struct arena arena;
    size_t count;
    struct decoder_input *inputs; /* in the model's order, initialisers excepted */
    const char *logits;
    int64_t vocabulary;     /* the last dimension of the logits; 0: not declared */
    int64_t kv_heads, size; /* of the cache: heads, and numbers in each */
    size_t layers;
};

/* Fails with ERROR_USAGE, naming what is missing, when the model is no decoder. tokens and logits: the names
 * of an input and an output; NULL: input_ids, logits. The model must outlive the decoder. Release it also
 * after a failure. */
int decoder_find(struct decoder *decoder, const struct model *model, const char *tokens, const char *logits,
                 struct error *err);
void decoder_release(struct decoder *decoder);

/* The inputs of the first step: decoder->count values, which the caller frees with values_free. */
int decoder_prompt(const struct decoder *decoder, const int64_t *tokens, size_t count, struct value **values,
                   struct error *err);

/* The inputs of the step after the one that had the inputs `before`, gave `result` and chose `token`. Fails
 * when the engine's answer lacks an output of the cache. */
int decoder_next(const struct decoder *decoder, const struct value *before, const struct result *result,
                 int64_t token, struct value **values, struct error *err);

/* The tensor of that name in an answer; NULL when there is none. */
const struct tensor *decoder_output(const struct result *result, const char *name);

/* The logits of the last position: where they begin in the tensor, and the first largest of them. False when
 * the answer has none, or one of them is NaN. */
bool decoder_choose(const struct decoder *decoder, const struct result *result, size_t *begin,
                    int64_t *token);

#endif
