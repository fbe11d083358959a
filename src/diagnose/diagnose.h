/*
 * Looks for the cause of a finding: the experiments of the table (diagnose/table.h) are made on its reduced
 * case, optimiser passes are switched off, each parameter gets its other values (locate/cause.h), and the
 * engine is asked what it did (engine/trace.h).
 */
#ifndef DIAGNOSE_DIAGNOSE_H
#define DIAGNOSE_DIAGNOSE_H

#include "diagnose/evidence.h"
#include "trial/trial.h"

/* Fills in the evidence, which the caller has initialised, of a failure of the panel's first engine. registry
 * may be NULL: then passes are not looked for. Returns one line on the heap about the parameter to blame;
 * NULL when none is for certain. Experiments that cannot be made are no failure: there is less evidence
 * then. */
char *diagnose(const struct panel *panel, struct registry *registry, const struct trial_done *done,
               struct finding_evidence *evidence);

#endif
