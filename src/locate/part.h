/*
 * Parts of the model as models of their own, run on the inputs that are recorded of them and judged.
 */
#ifndef LOCATE_PART_H
#define LOCATE_PART_H

#include "locate/record_values.h"

struct part {
    struct model *model;
    struct value *inputs; /* views, one for each of the model's */
};

/* False when it cannot be cut or an input is not known; released in any case. */
bool part_cut(struct part *part, struct recording *record, const size_t *nodes, size_t size);
void part_release(struct part *part);

/* Which messages of a part that is refused count as those of the whole: any; such as name an operator of the
 * part, or begin as the whole's does; just the whole's. */
enum message_match { MESSAGE_ANY, MESSAGE_OWN, MESSAGE_SAME };

/* A whole that the engine refuses, or dies on. */
struct refused {
    const struct verdict *verdict; /* on the whole */
    const struct result *ended;    /* how it ended */
    enum message_match message;    /* with which a part must end to count */
};

/*
 * Cuts the nodes out, runs the part unexposed on its known inputs and judges it: by its own hard bound, or,
 * when the whole is refused (else NULL), by whether the engine refuses it, or dies on it, as well. Agrees
 * when it cannot be cut. mistrusting: mistrusted, when only another formula for the nodes explains the
 * answer.
 */
void part_judge(struct recording *record, const struct refused *refused, const size_t *nodes, size_t size,
                bool mistrusting, struct verdict *verdict);

#endif
