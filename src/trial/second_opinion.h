/*
 * A second opinion before an answer is called wrong: the case is given to another implementation of the ONNX
 * text as well (engine/panel.h), and its answer is judged like any engine's. Where it is wrong too, the two
 * implementations of the text contradict each other, nobody knows who is right, and the verdict becomes
 * mistrusted. Where the second one agrees, fails or lacks something, the verdict stands.
 */
#ifndef TRIAL_SECOND_OPINION_H
#define TRIAL_SECOND_OPINION_H

#include "trial/trial.h"

/* Asks about a finished case if some verdict calls for it, and changes those verdicts. Nothing without a
 * second opinion in the panel. Pairs, gradients and forbidden models are not asked about. */
void second_opinion_ask(const struct panel *panel, struct trial_done *done);

#endif
