/*
 * Parts of the model as models of their own, which are run on the recorded values of their inputs and judged.
 */
#ifndef LOCATE_PART_H
#define LOCATE_PART_H

#include "locate/record_values.h"

struct part {
    struct model *model;
    size_t n_inputs;
    struct value *inputs; /* views, one for each input of the model that is not frozen */
};

/* Cuts the nodes out of the model. False when that is not possible or an input is not known. Release the part
 * also after a failure. */
bool part_cut(struct part *part, struct recording *record, const size_t *nodes, size_t size);
void part_release(struct part *part);

/* Makes input i, and its value, an initialiser of the part; the inputs behind it move up. */
int part_freeze(struct part *part, size_t i);

/* Which messages of a refused part count as the same refusal as the whole model's: any message; one that
 * names an operator of the part or begins like the whole model's message; only the same message. */
enum message_match { MESSAGE_ANY, MESSAGE_OWN, MESSAGE_SAME };

/* How the engine refuses the whole model, or crashes on it. */
struct refused {
    const struct verdict *verdict; /* on the whole model */
    const struct result *ended;    /* how it ended */
    enum message_match message;    /* which messages of a part count */
};

/*
 * Cuts the nodes out, runs the part on its known inputs, without exposing inner values, and judges it. With
 * `refused` NULL the answer is judged by the part's own hard bound; otherwise the verdict says whether the
 * engine refuses the part, or crashes on it, in the same way as the whole model. The verdict is agrees when
 * the part cannot be cut. mistrusting: an answer that is right only by another formula for the nodes is
 * called mistrusted.
 */
void part_judge(struct recording *record, const struct refused *refused, const size_t *nodes, size_t size,
                bool mistrusting, struct verdict *verdict);

#endif
