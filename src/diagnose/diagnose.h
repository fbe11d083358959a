/*
 * Looks for the cause of a finding: the experiments of the table (diagnose/table.h) are made on its reduced
 * case, optimiser passes are switched off, each parameter gets its other values (locate/cause.h), and the
 * engine is asked what it did (engine/trace.h).
 */
#ifndef DIAGNOSE_DIAGNOSE_H
#define DIAGNOSE_DIAGNOSE_H

#include "diagnose/evidence.h"
#include "trial/trial.h"

/*
 * Fills in the evidence of a failure of the panel's first engine, which the caller has initialised. registry
 * may be NULL: then passes are not looked for. Returns what the parameters told as one line, on the heap;
 * NULL when that is not certain. Trouble on the way is no failure: there is less evidence then.
 */
char *diagnose(const struct panel *panel, struct registry *registry, const struct trial_done *done,
               struct finding_evidence *evidence);

#endif
