/* Sets a parameter of a node in a working copy of a model: an attribute, or an input that acts as one. */
#ifndef SEARCH_SET_PARAM_H
#define SEARCH_SET_PARAM_H

#include "ops/param_value.h"
#include "rules/rewrite.h"

/* Whether the node has the parameter and it can be set: an input must be there, with known type and shape,
 * and nobody else may use it if it is an input of the graph. */
bool can_set_param(const struct rewrite *work, const Onnx__NodeProto *node, const struct op_param *param);

/* The present value in the table's form; "default" when it is left out and the table has none, "..." when it
 * is computed or long. */
void show_param(const struct rewrite *work, const Onnx__NodeProto *node, const struct op_param *param,
                struct str *out);

/* Sets a value in the table's form. `as_it_is`: a list is not brought to the length that it had. */
int set_param(struct rewrite *work, Onnx__NodeProto *node, const struct op_param *param, bool as_it_is,
              struct rng *rng, const char *word, struct error *err);

/* Makes a tensor the input `number` of the node: a constant or, where an input of the graph was used, its
 * value in the case. Takes over the tensor's payload. */
int set_input_tensor(struct rewrite *work, Onnx__NodeProto *node, size_t number, struct tensor *tensor,
                     struct error *err);

#endif
