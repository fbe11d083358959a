/*
 * The keys of causes (findings/cause_key.h) of refusals: the engine's own words tell more than experiments.
 */
#ifndef FINDINGS_CAUSE_REFUSAL_H
#define FINDINGS_CAUSE_REFUSAL_H

#include "findings/evidence.h"
#include "findings/signature.h"

/* Appends what follows symptom and engine; false when the engine gave no words. */
bool cause_add_refusal(struct str *out, const struct signature *signature,
                       const struct finding_evidence *evidence);

#endif
