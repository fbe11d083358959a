/*
 * A suspect settled locally.
 *
 * An engine's answer to a whole graph is beyond its bounds, or only beyond the likely one. What is wrong is
 * then found by judging each operator on the inputs the engine itself had: all values are made outputs and
 * recorded, each node is evaluated alone by the reference on the recorded inputs, and the first node whose
 * recorded output is outside its own hard bound is wrong by itself, whatever came before or after.
 *
 * Blame is checked against the answer: what the node makes is replaced by what is expected, as an input, and
 * the engine computes the rest. When the answer stays as far off it was not that node; one that is wrong as a
 * model of its own, too, is blamed when no other one explains the answer.
 *
 * When exposing the values makes the deviation vanish it sits in a fusion: growing parts of the
 * model are cut out with their recorded inputs, run unexposed and held against the hard bound of the part,
 * which allows for another formula that is the same for real numbers (evaluate_options.loose); the smallest
 * wrong part is the fused group.
 *
 * When every node and part is inside its hard bound but the whole is far beyond the likely one, the engine
 * is imprecise.
 */
#ifndef LOCATE_SETTLE_H
#define LOCATE_SETTLE_H

#include "locate/settlement.h"

/* An engine that refuses the model with its values exposed is judged on parts with the reference's values as
 * inputs. Fails only when the case itself cannot be worked on (the reference lacks an operator). */
int settle(struct settlement *settlement, const struct settle_case *which, struct error *err);

/*
 * The engine refuses the whole, fails or dies on it (`ended` says how; `verdict` is the judge's): the
 * smallest part, one node at first, on which it ends the same way, with the same message if there is one. The
 * inputs of a part are the reference's own values. Fails with ERROR_NOT_FOUND when no part does.
 */
int settle_refusal(struct settlement *settlement, const struct settle_case *which,
                   const struct verdict *verdict, const struct result *ended, struct error *err);

/* Settles one verdict where that is called for: a suspect becomes what settling says; a verdict that was sure
 * stays what it is and gets its node. False, and *settlement untouched, when nothing was settled. */
bool settle_verdict(const struct settle_case *which, struct verdict *verdict, struct settlement *settlement);

/* Whether settle_verdict would try. */
bool settle_wanted(const struct verdict *verdict);

#endif
