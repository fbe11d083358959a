/*
 * Settles a verdict on gradients: which node's gradient is wrong.
 *
 * The reference evaluates the model, rounding as an engine does. Going back from the outputs, each node is
 * then made a model of its own, with the values that it read and the derivatives that arrived at its outputs,
 * and the engine is asked for its gradient, with which the next nodes go on. The first node whose gradient is
 * outside its own hard bound is wrong by itself. When none is, the errors of many nodes add up: the engine is
 * imprecise.
 */
#ifndef LOCATE_GRADIENT_NODE_H
#define LOCATE_GRADIENT_NODE_H

#include "locate/settlement.h"

/* Fails when the case cannot be settled: the reference lacks a gradient, the model calls functions of its
 * own, or the engine differentiates no node alone. */
int settle_gradient(struct settlement *settlement, const struct settle_case *which, struct error *err);

/* The same for an engine that refuses or dies when it is asked for gradients: the node whose gradient alone
 * ends in the same way. Fails with ERROR_NOT_FOUND when there is none. */
int settle_gradient_refusal(struct settlement *settlement, const struct settle_case *which,
                            const struct verdict *verdict, const struct result *ended, struct error *err);

#endif
