/*
 * The cause of a finding, as a key: findings with the same key are variants of one bug, as far as can be
 * told.
 *
 * Two bugs under one key are worse than one bug under two, so a key is wider than the signature only where an
 * experiment (findings/evidence.h) or the engine itself says what is to blame:
 *
 * - an optimiser pass without which the case is right, together with the message or the parameter;
 * - a place in the engine's source code that its message names, whatever operators stand in the model;
 * - a parameter that cures the case, for operators that are computed alike (cause_mates);
 * - a class of inputs that the failure needs, for such operators: constants, variables, inputs that are
 *   broadcast, an element type, NaN and infinities, empty tensors;
 * - nothing but the operator: then modes that differ from their defaults do not part findings.
 *
 * Operators inside the bodies of If, Loop and Scan never part them: a body that mattered would have been
 * reduced to its own nodes.
 */
#ifndef FINDINGS_CAUSE_KEY_H
#define FINDINGS_CAUSE_KEY_H

#include "findings/evidence.h"
#include "findings/signature.h"

/*
 * Appends the key: "wrong|onnxruntime|GRU|parameter activations=ThresholdedRelu". It is the signature's own
 * text where nothing more is known.
 */
void cause_key(struct str *out, const struct signature *signature, const struct finding_evidence *evidence);

#endif
