/* The adapter of MIGraphX: its state, and tensors to its arguments and back. */
#ifndef ENGINE_MIGRAPHX_REF_H
#define ENGINE_MIGRAPHX_REF_H

#include "adapter.h"
#include "messages.h"
#include "model/model.h"

#include <migraphx/migraphx.h>

struct migraphx {
    struct messages *messages;
    migraphx_target_t target;
    struct model *model;
    uint8_t *bytes; /* the model's, where they are needed again */
    size_t size;
    migraphx_program_t program; /* NULL until the shapes of all inputs are known */
    struct shape *shapes; /* those for which it was compiled, of the inputs in order; NULL: as declared */
    size_t n_shapes;
    size_t n_outputs;
    size_t *outputs; /* of the wanted ones, their places among the graph's */
};

/* Fails the call with what the library said: unsupported when that names something that it lacks. */
int migraphx_refuse(struct adapter_call *call, enum adapter_class otherwise);

/* The library's number of an element type; false when it has none. */
bool migraphx_type_of(enum dtype type, migraphx_shape_datatype_t *out);
/* An argument on the elements of the input, which must outlive it. */
int migraphx_input(struct adapter_call *call, const struct value *value, migraphx_argument_t *argument);
/* A copy of a result. `declared` is what the model says of it; it may be NULL. */
int migraphx_output(struct adapter_call *call, const_migraphx_argument_t argument,
                    const Onnx__ValueInfoProto *declared, struct value *value);

#endif
