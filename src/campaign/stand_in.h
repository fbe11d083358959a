/*
 * The node of a model that is at fault by itself. An engine often computes one node wrong and only notices
 * behind it, where a shape does not fit, say. Such a finding is that of the node, whatever stands around it.
 *
 * A node is at fault when it fails as a model of its own, on the inputs that it should have, and the rest of
 * the model does not fail with what the node should give: the first such node, producers first, is taken.
 */
#ifndef CAMPAIGN_STAND_IN_H
#define CAMPAIGN_STAND_IN_H

#include "campaign/experiments.h"

/* Looks for it in a case of several nodes that the engine fails on, and gives the trial of the node alone,
 * which the caller releases. False when there is none, or not in time. */
bool stand_in_find(const struct experiments *how, const struct trial_done *whole, struct trial_done *alone);

#endif
