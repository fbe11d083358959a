#include "search/set_param.h"

#include <string.h>

enum { SHOWN = 8 };

bool can_set_param(const struct rewrite *work, const Onnx__NodeProto *node, const struct op_param *param)
{
    if (!param_exists(param, rewrite_opset(work)))
        return false;
    if (param->kind != PARAM_INPUT)
        return param->kind != PARAM_TENSOR && param->kind != PARAM_GRAPH;
    const struct bounded *type = rewrite_input(work, node, param->input);
    if (!type || !dtype_in(type->type, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL)))
        return false;
    const struct index_value *value = model_index_find(&work->index, node->input[param->input]);
    return value && (value->source != SOURCE_INPUT || value->consumers == 1);
}

static void show_input(const struct rewrite *work, const char *name, struct str *out)
{
    struct tensor tensor;
    if (rewrite_known(work, name, &tensor, NULL) != 1) {
        str_add(out, "...");
        return;
    }
    for (size_t i = 0; i < tensor.count && tensor.count <= SHOWN; i++)
        str_printf(out, "%s%.20Lg", i ? "," : "", tensor_get(&tensor, i));
    if (tensor.count > SHOWN || tensor.count == 0)
        str_add(out, tensor.count ? "..." : "empty");
    tensor_release(&tensor);
}

void show_param(const struct rewrite *work, const Onnx__NodeProto *node, const struct op_param *param,
                struct str *out)
{
    const Onnx__AttributeProto *attribute = node_attribute(node, param->name);
    if (param->kind == PARAM_INPUT && rewrite_has_input(node, param->input))
        show_input(work, node->input[param->input], out);
    else if (param->kind != PARAM_INPUT && attribute)
        param_text(out, attribute);
    else
        str_add(out, param->initial && *param->initial ? param->initial : "default");
}

static int set_graph_input(struct rewrite *work, const char *name, struct tensor *tensor, struct error *err)
{
    Onnx__GraphProto *graph = work->model->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        if (text_equal(graph->input[i]->name, name))
            graph->input[i]->type = type_make(&work->model->arena, tensor->type, &tensor->shape);
    work->model->path = NULL;
    return rewrite_set_case_input(work, name, tensor, err);
}

int set_input_tensor(struct rewrite *work, Onnx__NodeProto *node, size_t number, struct tensor *tensor,
                     struct error *err)
{
    const char *name = node->input[number];
    if (rewrite_given(work, name))
        return set_graph_input(work, name, tensor, err);
    rewrite_set_input(work, node, number, rewrite_tensor(work, tensor));
    tensor_release(tensor);
    return 0;
}

/* A list takes the length of the text, or keeps its own for a single number; anything else keeps its shape.
 */
static int set_input(struct rewrite *work, Onnx__NodeProto *node, const struct op_param *param, bool as_it_is,
                     struct rng *rng, const char *word, struct error *err)
{
    long double numbers[PARAM_LIST];
    size_t count = param_numbers(word, numbers);
    const struct bounded *type = rewrite_input(work, node, param->input);
    struct tensor tensor;
    if (!count || !type)
        return error_set(err, ERROR_NOT_FOUND, "%s cannot be set to '%s'", param->name, word);
    struct shape shape = type->shape;
    bool keep = count == 1 && !as_it_is && rng_chance(rng, 0.5);
    if (shape.rank == 1 && !keep)
        shape.dims[0] = (int64_t)count;
    if (tensor_alloc(&tensor, type->type, &shape, 0, err))
        return -1;
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, numbers[i % count]);
    return set_input_tensor(work, node, param->input, &tensor, err);
}

int set_param(struct rewrite *work, Onnx__NodeProto *node, const struct op_param *param, bool as_it_is,
              struct rng *rng, const char *word, struct error *err)
{
    const struct bounded *first = rewrite_input(work, node, 0);
    if (param->kind == PARAM_INPUT)
        return set_input(work, node, param, as_it_is, rng, word, err);
    if (param_set(&work->model->arena, node, param, first ? first->shape.rank : 0, as_it_is, rng, word))
        return error_set(err, ERROR_NOT_FOUND, "%s cannot be set to '%s'", param->name, word);
    work->model->path = NULL;
    return 0;
}
