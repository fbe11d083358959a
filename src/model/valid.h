/*
 * Whether a model keeps ONNX's rules, as far as the libonnx at hand can tell: an engine is not to blame for
 * one that does not.
 */
#ifndef MODEL_VALID_H
#define MODEL_VALID_H

#include "model/model.h"

/*
 * Fails with ERROR_INVALID, naming what is wrong, only on a definite violation. A model that is newer than
 * libonnx, or of which it dies, passes; so does one that leaves the shape of an input or output open. The
 * checker runs in a process of its own, and is not shown large weights.
 */
int model_valid(const struct model *model, struct error *err);

#endif
