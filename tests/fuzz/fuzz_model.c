/*
 * Whatever the bytes, the model layer either refuses them with a message or gives a model on which everything
 * else works: every tensor can be read, and packing, copying and cutting give models again.
 */
#include "base/memory.h"
#include "model/build.h"
#include "model/edit.h"
#include "model/index.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void read_tensor(const Onnx__TensorProto *proto)
{
    struct tensor tensor;
    struct error err = {0};
    /* The loader has vouched for it. */
    require(model_tensor_read(proto, &tensor, &err) == 0);
    tensor_release(&tensor);
}

static int read_attributes(void *context, Onnx__NodeProto *node)
{
    (void)context;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const char *name = node->attribute[i]->name, *text;
        const int64_t *ints;
        const float *floats;
        size_t count;
        node_int(node, name, 0);
        node_float(node, name, 0);
        if (node_string(node, name, &text, &count) && count)
            require(memchr(text, text[0], count) != NULL);
        if (node_ints(node, name, &ints, &count) && count)
            require(ints[count - 1] == ints[count - 1]);
        if (node_floats(node, name, &floats, &count) && count)
            require(memcmp(&floats[0], &floats[0], sizeof *floats) == 0);
        if (node->attribute[i]->t)
            read_tensor(node->attribute[i]->t);
    }
    return 0;
}

static void read_weights(const struct model *model)
{
    for (size_t i = 0; i < model->graph->n_initializer + model->graph->n_sparse_initializer; i++) {
        struct tensor tensor;
        struct error err = {0};
        int result = model_weight(model, i, &tensor, &err);
        require(result == 0 || i >= model->graph->n_initializer);
        if (result)
            require(err.message[0] != '\0');
        else
            tensor_release(&tensor);
    }
}

static void pack_again(const struct model *model)
{
    uint8_t *first, *second;
    size_t first_size, second_size;
    struct model *again, *copy;
    struct error err = {0};
    require(model_pack(model, &first, &first_size, &err) == 0);
    require(model_parse(&again, first, first_size, &err) == 0);
    require(model_clone(&copy, again, &err) == 0);
    model_free(again);
    require(model_pack(copy, &second, &second_size, &err) == 0);
    require(first_size == second_size && memcmp(first, second, first_size) == 0);
    model_free(copy);
    free(first);
    free(second);
}

static void cut_parts(const struct model_index *index)
{
    size_t nodes = index->model->graph->n_node;
    for (size_t i = 0; i < nodes && i < 8; i++) {
        struct model *part;
        struct model_index inner;
        struct error err = {0};
        if (model_cut(&part, index, &i, 1, NULL, &err)) {
            require(err.code == ERROR_NOT_FOUND);
            continue;
        }
        require(model_index_init(&inner, part, &err) == 0);
        model_index_release(&inner);
        model_free(part);
    }
}

static void expose_all(struct model *model, const struct model_index *index)
{
    const char **names = memory_zeroed(index->count, sizeof *names);
    struct error err = {0};
    for (size_t i = 0; i < index->count; i++)
        names[i] = index->values[i].name;
    require(model_expose(model, names, index->count, &err) == 0);
    free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model *model;
    struct model_index index;
    struct error err = {0};
    if (model_parse(&model, data, size, &err)) {
        require(err.message[0] != '\0' && !model);
        return 0;
    }
    model_opset(model);
    read_weights(model);
    model_each_node(model->graph, read_attributes, NULL);
    pack_again(model);
    if (model_index_init(&index, model, &err) == 0) {
        cut_parts(&index);
        expose_all(model, &index);
        model_index_release(&index);
        require(model_index_init(&index, model, &err) == 0);
        model_index_release(&index);
    }
    model_free(model);
    return 0;
}
