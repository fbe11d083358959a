/*
 * The keys of causes (findings/cause_key.h) with which the symptom is chance: a class of inputs that
 * unrelated operators fail on, and equivalent forms of the case that cure it.
 */
#ifndef FINDINGS_CAUSE_CLASS_H
#define FINDINGS_CAUSE_CLASS_H

#include "findings/evidence.h"
#include "findings/signature.h"

/* Appends the key; false when no rule applies. */
bool cause_add_any_symptom(struct str *out, const struct signature *signature,
                           const struct finding_evidence *evidence);

#endif
