/*
 * Whether a model follows the rules of ONNX, as far as the installed libonnx can tell: no engine is to blame
 * for its answer to a model that does not.
 */
#ifndef MODEL_VALID_H
#define MODEL_VALID_H

#include "model/model.h"

/*
 * Fails with ERROR_INVALID and the reason only on a definite violation. A model passes if it is newer than
 * libonnx, if it crashes libonnx, or if it leaves the shape of an input or output unknown. The checker runs
 * in a process of its own and does not see large weights.
 */
int model_valid(const struct model *model, struct error *err);

#endif
