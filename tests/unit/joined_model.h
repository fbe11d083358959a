/* A model whose Concat loses its third input under the planted fault concat-three. */
#ifndef UNIT_JOINED_MODEL_H
#define UNIT_JOINED_MODEL_H

#include "model/build.h"

#define NAMES(...) ((const char *[]){__VA_ARGS__})

/* Of one input of this shape: x -> Relu r, x -> Abs a; Concat of three; Tanh; Neg. */
static inline struct model *joined(const struct shape *shape)
{
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, shape);
    model_add_node(model, "Relu", "relu", 1, NAMES("x"), 1, NAMES("r"));
    model_add_node(model, "Abs", "abs", 1, NAMES("x"), 1, NAMES("a"));
    Onnx__NodeProto *concat =
        model_add_node(model, "Concat", "concat", 3, NAMES("r", "a", "x"), 1, NAMES("c"));
    node_set_int(&model->arena, concat, "axis", 1);
    model_add_node(model, "Tanh", "tanh", 1, NAMES("c"), 1, NAMES("t"));
    model_add_node(model, "Neg", "neg", 1, NAMES("t"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    return model;
}

#endif
