#include "locate/named_states.h"

#include "ops/op.h"

static bool hides_states(const Onnx__NodeProto *node)
{
    return op_has(node, OP_STATES) && node->n_output && !*node->output[0];
}

static bool any_hides_states(const struct model *model)
{
    for (size_t i = 0; i < model->graph->n_node; i++)
        if (hides_states(model->graph->node[i]))
            return true;
    return false;
}

/* ONNX calls this output Y. Should the model have a value of the same name already, it is no longer valid:
 * the engine refuses it, and the caller goes on with the model as it was. */
static void name_states(struct model *model)
{
    for (size_t i = 0; i < model->graph->n_node; i++) {
        Onnx__NodeProto *node = model->graph->node[i];
        for (size_t k = 1; hides_states(node) && k < node->n_output; k++)
            if (*node->output[k])
                node->output[0] = arena_printf(&model->arena, "%s/Y", node->output[k]);
    }
    model->path = NULL;
}

struct test_case *named_states(const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct model *copy;
    if (!model || !any_hides_states(model) || model_clone(&copy, model, NULL))
        return NULL;
    name_states(copy);
    struct test_case *named = test_case_new(copy);
    if (test_case_add_inputs(named, test->inputs, test->n_inputs, NULL)) {
        test_case_free(named);
        return NULL;
    }
    return named;
}
