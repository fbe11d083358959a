#include "model/valid.h"

#include "model/isolated.h"
#include "model/onnx.h"

#include <stdlib.h>

/* What the checker process returns; -1 means that it crashed, which says nothing about the model. */
enum { VALID = 0, INVALID = 2 };

static int check(const uint8_t *data, size_t size, int number, uint8_t **out, size_t *out_size,
                 struct error *err)
{
    (void)number;
    *out = NULL;
    *out_size = 0;
    int result = onnx_check(data, size, err);
    return result < 0 && err->code == ERROR_INVALID ? INVALID : VALID;
}

/* Removes the raw data of weights: the checker does not read it, and a model of any size is then checked
 * quickly. */
static void strip_weights(struct model *model)
{
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        Onnx__TensorProto *tensor = model->graph->initializer[i];
        if (tensor->has_raw_data && tensor->raw_data.len > MODEL_INLINE_LIMIT)
            tensor->raw_data.len = 1;
    }
}

/* Adds an empty shape to inputs and outputs without one: the checker requires it, though many exporters leave
 * it out and every engine accepts that. */
static void add_shapes(struct model *model, Onnx__ValueInfoProto **infos, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Onnx__TypeProto *type = infos[i]->type;
        if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || type->tensor_type->shape)
            continue;
        Onnx__TensorShapeProto *shape = arena_array(&model->arena, 1, sizeof *shape);
        onnx__tensor_shape_proto__init(shape);
        type->tensor_type->shape = shape;
    }
}

int model_valid(const struct model *model, struct error *err)
{
    struct model *copy = NULL;
    struct error why = {0};
    uint8_t *packed = NULL, *nothing = NULL;
    size_t packed_size, size;
    int result = VALID;
    if (model_clone(&copy, model, NULL))
        return 0;
    strip_weights(copy);
    add_shapes(copy, copy->graph->input, copy->graph->n_input);
    add_shapes(copy, copy->graph->output, copy->graph->n_output);
    onnx_prepare();
    if (model_pack(copy, &packed, &packed_size, NULL) == 0)
        result = isolated_ask("libonnx", check, packed, packed_size, 0, &nothing, &size, &why);
    free(nothing);
    free(packed);
    model_free(copy);
    return result == INVALID ? error_set(err, ERROR_INVALID, "not a valid ONNX model: %s", why.message) : 0;
}
