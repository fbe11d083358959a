/*
 * Settles a verdict: judges each operator of a model on the inputs that the engine gave it.
 *
 * An engine's answer to a whole graph is beyond its hard bound or its likely bound. To find what is wrong,
 * all inner values are exposed and recorded, and the reference evaluates each node alone on its recorded
 * inputs. The first node whose recorded output is outside its own hard bound is wrong by itself, whatever
 * came before or after.
 *
 * The blame is then checked against the answer: the node's output is replaced by the expected values, as an
 * input, and the engine computes the rest. When the answer is as far off as before, that node is not the
 * cause; if it is also wrong as a model of its own, it is still blamed when no other node explains the
 * answer.
 *
 * When exposing the values makes the deviation vanish, it is in a fusion. Growing parts of the model are then
 * cut out with their recorded inputs, run without exposed values and compared with the hard bound of the
 * part, which allows for another formula that is the same for real numbers (evaluate_options.loose). The
 * smallest wrong part is the fused group.
 *
 * The answer of a tool that makes models may be off by its format alone (format_loss.h): then it has no node
 * to blame.
 *
 * A number in place of NaN may be right by another reading of what ONNX does not say (other_reading.h).
 *
 * When every node and part is inside its hard bound but the whole is far beyond the likely bound, the engine
 * is imprecise.
 */
#ifndef LOCATE_SETTLE_H
#define LOCATE_SETTLE_H

#include "locate/settlement.h"

/* Settles a wrong or suspect answer; one of gradients as gradient_node.h says or, where these are right, by
 * the outputs of the nodes. An engine that refuses the
 * model with exposed values is judged on parts of it, with the reference's values as inputs. Fails only when
 * the case cannot be settled at all (the reference lacks an operator, the engine no longer answers). */
int settle(struct settlement *settlement, const struct settle_case *which, struct error *err);

/*
 * For a model that the engine refuses, fails on or crashes on (`ended` says how, `verdict` is the verdict on
 * it): finds the smallest part, single nodes first, that ends in the same way, with the same message if there
 * is one. The inputs of a part are the reference's own values. Fails with ERROR_NOT_FOUND when no part ends
 * so.
 */
int settle_refusal(struct settlement *settlement, const struct settle_case *which,
                   const struct verdict *verdict, const struct result *ended, struct error *err);

/* The same for a verdict whose row says that it is narrowed down, on a model of several nodes. False, with
 * *settlement unchanged, when no part was found. */
bool settle_end(const struct settle_case *which, const struct verdict *verdict, const struct result *ended,
                struct settlement *settlement);

/* Settles one verdict where settle_wanted is true: a suspect gets the verdict of the settlement; a verdict
 * that was certain stays and only gets its node. False, with *settlement unchanged, when nothing was settled.
 */
bool settle_verdict(const struct settle_case *which, struct verdict *verdict, struct settlement *settlement);

/* Whether settle_verdict would try to settle this verdict. */
bool settle_wanted(const struct verdict *verdict);

#endif
