/*
 * Greedy decoding on several engines: each feeds its own cache and its own tokens back to itself, and where
 * they choose different tokens it is said why.
 *
 * At every judged step each engine is localised on the inputs that it had (locate/localize.h): every operator
 * is judged by its own bounds, as those of a whole network of many layers say nothing any more. Judged are
 * the prompt, as many steps as asked for, spread evenly, the last one, and every step at which an engine
 * chooses another token than the first engine for the first time. Of an engine that was found wrong no
 * further step is judged. Two engines part
 *
 * - by a fault, when an operator of one of them was outside its hard bound at this step or before;
 * - by a near tie, when the two logits are so near that the last operator alone may round them either way;
 * - by rounding, when they are further apart than that, but every operator is within its bounds at this step
 *   and all before: rounding errors of earlier operators and steps have added up;
 * - by fewer bits, when one of them computes some operators in fewer bits than their type has, by a setting
 *   that is documented to do so (engine/profile.h), and is right by the bounds of that;
 * - by what was not judged, otherwise.
 */
#ifndef DECODE_DECODE_H
#define DECODE_DECODE_H

#include "decode/decode_place.h"
#include "engine/panel.h"

struct decode_options {
    size_t steps; /* after the prompt */
    size_t judge; /* steps judged besides the prompt; 0: all */
    size_t n_prompt;
    const int64_t *prompt;
    bool progress;
};

/* One engine. */
struct decode_course {
    size_t count; /* tokens chosen: one by the prompt, one by each step */
    int64_t *tokens;
    size_t judged, right; /* steps that were judged, and those at which every operator is within its bounds */
    const char *lowering; /* what it computes in fewer bits than their type, and how; NULL: nothing */
    const char *unjudged; /* why the first step that could not be judged could not; NULL: all could */
    struct decode_fault fault;
    enum outcome ended;      /* OUTCOME_OK: it made all steps */
    const char *why;         /* it ended */
    int64_t load_ns, run_ns; /* of the first load; of all steps, without what judging took */
};

enum parting { PARTING_NONE, PARTING_TIE, PARTING_ROUNDING, PARTING_LOWERED, PARTING_FAULT, PARTING_UNKNOWN };
const char *parting_word(enum parting parting); /* "near tie", "rounding" ... */

/* An engine beside the first one. */
struct decode_pair {
    enum parting kind;
    size_t step;       /* at which they part */
    int64_t tokens[2]; /* of the first engine, of this one */
    double gap, bound; /* of the two logits, on the engine on which they are nearest; NAN: not known */
    struct decode_apart apart;
};

struct decode {
    struct arena arena;
    struct decoder decoder;
    size_t engines;
    struct decode_course *courses;
    struct decode_pair *pairs; /* one for each engine; the first one's is PARTING_NONE */
};

/* Calls `step` for the prompt, which is step 0, and each of the steps behind it, until one fails. */
int decode_steps(struct pool *pool, size_t steps, bool progress, int (*step)(void *context, size_t number),
                 void *context);

/* tokens, logits: as for decoder_find. Fails, and blames no engine, when the reference calls the inputs of a
 * step invalid. The model must outlive *decode; release it also after a failure. */
int decode_run(struct decode *decode, const struct model *model, const char *tokens, const char *logits,
               const struct panel *panel, const struct decode_options *options, struct error *err);
void decode_release(struct decode *decode);

#endif
