#include "locate/param_read.h"

#include "base/str.h"
#include "locate/param_change.h"
#include "model/build.h"
#include "ops/param_value.h"

const struct op_param *param_at(const struct op *op, size_t number)
{
    const struct op_param *const lists[] = {op->params, op->extras};
    for (size_t k = 0; k < 2; k++)
        for (const struct op_param *param = lists[k]; param && param->name; param++)
            if (number-- == 0)
                return param;
    return NULL;
}

const struct op *param_row(const Onnx__NodeProto *node)
{
    return op_of(node);
}

const char *param_input_name(const Onnx__NodeProto *node, const struct op_param *param)
{
    return param->input < node->n_input && *node->input[param->input] ? node->input[param->input] : NULL;
}

long param_initializer(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (text_equal(model->graph->initializer[i]->name, name))
            return (long)i;
    return -1;
}

struct value *param_given(const struct test_case *test, const char *name)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].name && text_equal(test->inputs[i].name, name) &&
            test->inputs[i].kind == VALUE_TENSOR)
            return &test->inputs[i];
    return NULL;
}

int param_read(const struct test_case *test, const struct model *model, const char *name,
               struct tensor *tensor, struct error *err)
{
    const struct value *given = param_given(test, name);
    long initializer = param_initializer(model, name);
    if (given)
        return tensor_copy(tensor, &given->tensors[0], err);
    if (initializer >= 0)
        return model_weight(model, (size_t)initializer, tensor, err);
    return error_set(err, ERROR_NOT_FOUND, "the value of '%.80s' is computed", name);
}

static void tensor_text(struct str *out, const struct tensor *tensor)
{
    char shape[SHAPE_TEXT_SIZE];
    enum { SHOWN = 8 };
    if (!tensor->count || tensor->count > SHOWN || tensor->type == DTYPE_STRING) {
        str_printf(out, "%s %s", dtype_name(tensor->type), shape_text(&tensor->shape, shape));
        return;
    }
    for (size_t i = 0; i < tensor->count; i++)
        str_printf(out, "%s%.7Lg", i ? "," : "", tensor_get(tensor, i));
}

const char *param_present(const struct test_case *test, size_t node, const struct op_param *param,
                          struct arena *arena, bool *plain)
{
    const struct model *model = test_case_model(test, NULL);
    const Onnx__NodeProto *proto = model->graph->node[node];
    const Onnx__AttributeProto *attribute =
        param->kind == PARAM_INPUT ? NULL : node_attribute(proto, param->name);
    const char *name = param->kind == PARAM_INPUT ? param_input_name(proto, param) : NULL;
    struct tensor tensor;
    struct str text;
    str_init(&text);
    if (attribute)
        param_text(&text, attribute);
    else if (name && !param_read(test, model, name, &tensor, NULL)) {
        tensor_text(&text, &tensor);
        tensor_release(&tensor);
    }
    bool there = attribute || name;
    *plain =
        !there || (attribute && param->initial && param_same(text.length ? text.data : "", param->initial));
    const char *kept = arena_strdup(arena, !there ? PARAM_LEFT_OUT : text.length ? text.data : "computed");
    str_release(&text);
    return kept;
}
