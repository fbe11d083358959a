/* Short descriptions of parts of a model for messages: never parsed, and cut when they are long. */
#ifndef MODEL_DESCRIBE_H
#define MODEL_DESCRIBE_H

#include "base/str.h"
#include "model/model.h"

/* "[1, 2, 3]", "0.5", "\"SAME_UPPER\"", "float32 tensor [3,3]", "graph of 4 nodes". */
void describe_attribute(struct str *out, const Onnx__AttributeProto *attribute);

/* "float32 [1,3,N,?]", "sequence of float32"; "unknown" for NULL, maps and the like. */
void describe_type(struct str *out, const Onnx__TypeProto *type);

#endif
