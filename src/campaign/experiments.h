/*
 * Experiments on a reduced case that tell what its failure needs: optimiser passes are switched off, each
 * parameter gets its other values (locate/cause.h), and the case is written in equivalent forms (rules/), a
 * constant as an input, say. What cures the case is evidence of the cause (findings/evidence.h).
 */
#ifndef CAMPAIGN_EXPERIMENTS_H
#define CAMPAIGN_EXPERIMENTS_H

#include "findings/evidence.h"
#include "trial/trial.h"

struct experiments {
    const struct panel *panel; /* the engine in question is the first of it */
    struct registry *registry; /* NULL: passes are not looked for */
    bool deadly;               /* private: the case ends the engine */
    bool of_numbers;           /* private: the answer has wrong numbers */
    bool of_type;              /* private: the answer is of a wrong element type */
    const char *message;       /* private: that of the signature, when there is no answer; else NULL */
};

/*
 * Fills in the evidence, which the caller has initialised. Returns what the parameters told as one line, on
 * the heap; NULL when that is not certain. Trouble on the way is no failure: there is less evidence then.
 */
char *experiments_run(const struct experiments *how, const struct trial_done *done,
                      struct finding_evidence *evidence);

#endif
