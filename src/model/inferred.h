/* A model with the types and shapes of its values as libonnx infers them. */
#ifndef MODEL_INFERRED_H
#define MODEL_INFERRED_H

#include "model/model.h"

/* A new model, whose value_info has what could be inferred; its large weights are inputs. NULL when libonnx
 * cannot read the model. */
struct model *model_inferred(const struct model *model);

#endif
