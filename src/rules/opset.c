/* The rule that converts a model to another opset by libonnx's version converter. */
#include "rules/rule.h"

#include "base/str.h"
#include "model/isolated.h"
#include "model/onnx.h"
#include "model/tree.h"
#include "model/valid.h"
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

enum { OLDEST_SOURCE = 7, OLDEST_TARGET = 11 };

/*
 * What libonnx 1.12 gets wrong: an operator that changed its meaning in an opset, which the converter passes
 * over as if it had not.
 */
struct mistake {
    const char *op;
    int opset;
    const char *mode; /* coordinate_transformation_mode of a Resize; NULL: any node */
    size_t input;     /* only a node that has this input; 0: any node */
};
static const struct mistake mistakes[] = {
    /* The axis had another default, and all axes behind it belonged to it; the node is left as it is. */
    {.op = "Hardmax", .opset = 13},
    /* The mode is gone; the node keeps it. */
    {.op = "Resize", .opset = 13, .mode = "tf_half_pixel_for_nn"},
    /* Beside sizes, scales had to be an empty tensor and must then be omitted; the node keeps it. */
    {.op = "Resize", .opset = 13, .input = 3},
};

static bool has_mistake(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct mistake *mistake)
{
    return text_equal(node->op_type, mistake->op) &&
           (!mistake->input || rewrite_has_input(node, mistake->input)) &&
           (!mistake->mode ||
            text_equal(rewrite_string(rewrite, node, "coordinate_transformation_mode", ""), mistake->mode));
}

static bool is_mistaken(struct rewrite *rewrite, int from, int to)
{
    const Onnx__GraphProto *graph = rewrite->model->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++)
            if ((from < mistakes[k].opset) != (to < mistakes[k].opset) &&
                has_mistake(rewrite, graph->node[i], &mistakes[k]))
                return true;
    return false;
}

/* The converter leaves bodies as they are and loses functions, sparse initialisers and other domains. */
static bool is_plain(const struct model *model)
{
    const Onnx__GraphProto *graph = model->graph;
    if (model->proto->n_functions || model->proto->n_training_info || model->proto->n_opset_import != 1 ||
        graph->n_sparse_initializer || graph->n_quantization_annotation)
        return false;
    for (size_t i = 0; i < graph->n_node; i++) {
        if (*graph->node[i]->domain)
            return false;
        for (size_t k = 0; k < graph->node[i]->n_attribute; k++) {
            const Onnx__AttributeProto *attribute = graph->node[i]->attribute[k];
            if (attribute->g || attribute->n_graphs || attribute->sparse_tensor ||
                attribute->n_sparse_tensors)
                return false;
        }
    }
    return true;
}

static int convert(const uint8_t *data, size_t size, int opset, uint8_t **out, size_t *out_size,
                   struct error *err)
{
    int result = onnx_convert_opset(data, size, opset, out, out_size, err);
    return result == ONNX_UNCHECKABLE ? error_set(err, ERROR_UNSUPPORTED, "libonnx has no such opset")
                                      : result;
}

static bool has_input(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_input; i++)
        if (text_equal(graph->input[i]->name, name))
            return true;
    return false;
}

static bool has_output(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_output; i++)
        if (text_equal(graph->output[i]->name, name))
            return true;
    return false;
}

/* Large weights were left out and became inputs: puts them back. */
static void restore_weights(struct arena *arena, Onnx__GraphProto *made, const Onnx__GraphProto *before)
{
    size_t kept = 0;
    Onnx__TensorProto **tensors =
        arena_array(arena, made->n_initializer + before->n_initializer, sizeof *tensors);
    if (made->n_initializer)
        memcpy(tensors, made->initializer, made->n_initializer * sizeof *tensors);
    made->initializer = tensors;
    for (size_t i = 0; i < before->n_initializer; i++)
        if (before->initializer[i]->has_raw_data && before->initializer[i]->raw_data.len > MODEL_INLINE_LIMIT)
            tensors[made->n_initializer++] = before->initializer[i];
    for (size_t i = 0; i < made->n_input; i++)
        if (has_input(before, made->input[i]->name))
            made->input[kept++] = made->input[i];
    made->n_input = kept;
}

/* Takes over what the converter made, if it has the same inputs and outputs and is valid. */
static int take_over(struct rewrite *rewrite, const uint8_t *bytes, size_t size)
{
    struct arena *arena = &rewrite->model->arena;
    const Onnx__GraphProto *before = rewrite->model->graph;
    struct model *parsed;
    if (model_parse(&parsed, bytes, size, NULL))
        return 0;
    Onnx__ModelProto *made = (Onnx__ModelProto *)tree_copy(&parsed->proto->base, arena, NULL, NULL);
    model_free(parsed);
    restore_weights(arena, made->graph, before);
    if (made->graph->n_input != before->n_input || made->graph->n_output != before->n_output)
        return 0;
    for (size_t i = 0; i < before->n_output; i++)
        if (!has_output(made->graph, before->output[i]->name))
            return 0;
    rewrite->model->proto = made;
    rewrite->model->graph = made->graph;
    rewrite->model->path = NULL;
    return model_valid(rewrite->model, NULL) == 0;
}

static int opset(struct rewrite *rewrite, const struct rule_site *site)
{
    int from = rewrite_opset(rewrite), most = onnx_max_opset();
    uint8_t *bytes, *made;
    size_t n_bytes, size;
    (void)site;
    if (from < OLDEST_SOURCE || from > most || !is_plain(rewrite->model))
        return 0;
    int to = (int)rng_range(&rewrite->rng, OLDEST_TARGET, most);
    if (to == from || is_mistaken(rewrite, from, to))
        return 0;
    if (model_pack_thin(rewrite->model, &bytes, &n_bytes, rewrite->err))
        return -1;
    int result = 0;
    if (isolated_ask("libonnx", convert, bytes, n_bytes, to, &made, &size, NULL) == 0) {
        result = take_over(rewrite, made, size);
        free(made);
    }
    free(bytes);
    return result;
}

const struct rule rule_opset = {
    .name = "opset",
    .summary = "the model converted to another opset by libonnx",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .apply = opset,
};
