/*
 * `split-model FROM TO`: the model FROM as TO, all initialisers, and what its Constant nodes hold, one behind
 * the other in TO.weights, as exporters write it. Written without the library's own way of saving.
 */
#include "../external_data.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "model/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 24 }; /* bytes between the tensors: offsets count */

/* Constant nodes become initialisers. */
static int lift_constants(struct model *model, struct error *err)
{
    Onnx__GraphProto *graph = model->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        Onnx__NodeProto *node = graph->node[i];
        const Onnx__TensorProto *value =
            text_equal(node->op_type, "Constant") ? node_tensor(node, "value") : NULL;
        struct tensor tensor;
        if (!value) {
            graph->node[kept++] = node;
            continue;
        }
        if (model_tensor_read(value, &tensor, err))
            return -1;
        model_add_initializer(model, node->output[0], &tensor);
        tensor_release(&tensor);
    }
    graph->n_node = kept;
    return 0;
}

static int move_out(struct arena *arena, Onnx__TensorProto *proto, const char *location, struct str *weights,
                    struct error *err)
{
    struct tensor tensor;
    static const char gap[GAP] = {0};
    if (model_tensor_read(proto, &tensor, err))
        return -1;
    str_append(weights, gap, GAP);
    Onnx__TensorProto bare = ONNX__TENSOR_PROTO__INIT;
    bare.name = proto->name;
    bare.has_data_type = true;
    bare.data_type = proto->data_type;
    bare.n_dims = proto->n_dims;
    bare.dims = proto->dims;
    external_place(arena, &bare, location, weights->length, tensor.size);
    str_append(weights, tensor.data, tensor.size);
    tensor_release(&tensor);
    *proto = bare;
    return 0;
}

static int split(struct model *model, const char *to, struct error *err)
{
    struct str weights;
    uint8_t *data = NULL;
    size_t size;
    char *path = arena_printf(&model->arena, "%s.weights", to);
    str_init(&weights);
    int status = lift_constants(model, err);
    for (size_t i = 0; i < model->graph->n_initializer && !status; i++)
        status = move_out(&model->arena, model->graph->initializer[i], file_base(path), &weights, err);
    if (!status)
        status = file_write(path, weights.data, weights.length, err) ||
                 model_pack(model, &data, &size, err) || file_write(to, data, size, err);
    free(data);
    str_release(&weights);
    return status;
}

int main(int argc, char **argv)
{
    struct model *model;
    struct error err = {0};
    if (argc != 3)
        return 2;
    int status = model_load(&model, argv[1], &err) || split(model, argv[2], &err);
    if (status)
        fprintf(stderr, "split-model: %s\n", err.message);
    model_free(model);
    return status ? 1 : 0;
}
