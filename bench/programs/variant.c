#include "variant.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/edit.h"

#include <stdlib.h>
#include <string.h>

static int freeze(struct model *model, struct test_case *test, struct error *err)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (model_freeze_input(model, test->inputs[i].name, &test->inputs[i].tensors[0], err))
            return -1;
    values_free(test->inputs, test->n_inputs);
    test->inputs = NULL;
    test->n_inputs = 0;
    return 0;
}

static void add_output_like(struct model *model, const char *name, const char *like)
{
    Onnx__GraphProto *graph = model->graph;
    Onnx__TypeProto *type = NULL;
    for (size_t i = 0; i < graph->n_output; i++)
        if (text_equal(graph->output[i]->name, like))
            type = graph->output[i]->type;
    model_add_output(model, name, DTYPE_FLOAT, NULL)->type = type;
}

static void twin(struct model *model)
{
    Onnx__GraphProto *graph = model->graph;
    const Onnx__NodeProto *last = graph->node[graph->n_node - 1];
    const char **outputs = arena_array(&model->arena, last->n_output, sizeof *outputs);
    for (size_t i = 0; i < last->n_output; i++)
        outputs[i] = *last->output[i] ? arena_printf(&model->arena, "%s_twin", last->output[i]) : "";
    Onnx__NodeProto *again = model_add_node(model, last->op_type, NULL, last->n_input,
                                            (const char *const *)last->input, last->n_output, outputs);
    again->n_attribute = last->n_attribute;
    again->attribute = last->attribute;
    for (size_t i = 0; i < last->n_output; i++)
        if (*outputs[i])
            add_output_like(model, outputs[i], last->output[i]);
}

static void fork_outputs(struct model *model)
{
    size_t count = model->graph->n_output;
    for (size_t i = 0; i < count; i++) {
        const char *name = model->graph->output[i]->name;
        for (int k = 0; k < 2; k++) {
            const char *copy = arena_printf(&model->arena, "%s_fork%d", name, k);
            model_add_node(model, "Identity", NULL, 1, &name, 1, &copy);
            add_output_like(model, copy, name);
        }
    }
}

static bool can_be_sparse(const struct tensor *tensor)
{
    if (tensor->type != DTYPE_FLOAT || tensor->shape.rank != 2)
        return false;
    for (size_t i = 0; i < tensor->count; i++)
        if (tensor_get(tensor, i) == 0)
            return true;
    return false;
}

static Onnx__SparseTensorProto *make_sparse(struct arena *arena, const char *name, const struct tensor *dense)
{
    size_t kept = 0;
    for (size_t i = 0; i < dense->count; i++)
        kept += tensor_get(dense, i) != 0;
    struct shape shape = {1, {(int64_t)kept}};
    struct tensor values, indices;
    if (tensor_alloc(&values, dense->type, &shape, 0, NULL) ||
        tensor_alloc(&indices, DTYPE_INT64, &shape, 0, NULL))
        memory_exhausted(kept);
    for (size_t i = 0, k = 0; i < dense->count; i++)
        if (tensor_get(dense, i) != 0) {
            tensor_set(&values, k, tensor_get(dense, i));
            tensor_set(&indices, k++, (long double)i);
        }
    Onnx__SparseTensorProto *sparse = arena_alloc(arena, sizeof *sparse);
    onnx__sparse_tensor_proto__init(sparse);
    sparse->values = model_tensor_write(arena, name, &values);
    sparse->indices = model_tensor_write(arena, arena_printf(arena, "%s_indices", name), &indices);
    sparse->n_dims = 2;
    sparse->dims = arena_copy(arena, dense->shape.dims, 2 * sizeof *dense->shape.dims);
    tensor_release(&values);
    tensor_release(&indices);
    return sparse;
}

static void sparsify(struct model *model)
{
    Onnx__GraphProto *graph = model->graph;
    graph->sparse_initializer =
        arena_array(&model->arena, graph->n_initializer, sizeof *graph->sparse_initializer);
    size_t left = 0;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        struct tensor tensor;
        tensor_init(&tensor);
        if (!model_weight(model, i, &tensor, NULL) && can_be_sparse(&tensor))
            graph->sparse_initializer[graph->n_sparse_initializer++] =
                make_sparse(&model->arena, graph->initializer[i]->name, &tensor);
        else
            graph->initializer[left++] = graph->initializer[i];
        tensor_release(&tensor);
    }
    graph->n_initializer = left;
}

static int apply_all(struct model *model, struct test_case *test, const char *edits, struct error *err)
{
    if (strstr(edits, "freeze") && freeze(model, test, err))
        return -1;
    if (strstr(edits, "twin"))
        twin(model);
    if (strstr(edits, "fork"))
        fork_outputs(model);
    if (strstr(edits, "sparse"))
        sparsify(model);
    return 0;
}

int variant_apply(struct test_case *test, const char *edits, struct error *err)
{
    if (!edits || !*edits)
        return 0;
    const struct model *from = test_case_model(test, err);
    struct model *model;
    if (!from || model_clone(&model, from, err))
        return -1;
    int result = apply_all(model, test, edits, err);
    test_case_set_model(test, model);
    struct str recipe;
    str_init(&recipe);
    str_printf(&recipe, "%s +%s", test->recipe, edits);
    test_case_set_recipe(test, recipe.data);
    str_release(&recipe);
    return result;
}
