/*
 * Illegal values for one parameter of a node: values of the operator table, zero, negative and huge
 * numbers, lists that are too long, too short or empty, an attribute that is left out or has another type, an
 * input that is left out or has another type or rank.
 *
 * Not every such value is forbidden: illegal_value_proof says which are.
 */
#ifndef SEARCH_ILLEGAL_VALUE_H
#define SEARCH_ILLEGAL_VALUE_H

#include "search/set_param.h"

/* Gives the parameter such a value and appends what it is to `text`. Fails with ERROR_NOT_FOUND when what
 * was drawn does not apply. */
int illegal_value_apply(struct rewrite *work, Onnx__NodeProto *node, const struct op_param *param,
                        struct rng *rng, struct str *text, struct error *err);

/*
 * Whether it is certain that ONNX forbids the changed model because of this node, and who says so. In this
 * order: libonnx's checker; libonnx's shape inference, when the reference calls the node invalid as well; the
 * reference alone. `why` is the message. The types of `work` must be up to date.
 */
enum forbidden_by illegal_value_proof(const struct rewrite *work, const Onnx__NodeProto *node,
                                      struct error *why);

#endif
