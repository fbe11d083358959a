#include "campaign/integer_constants.h"

#include "campaign/experiment_trial.h"
#include "campaign/other_data.h"
#include "model/build.h"
#include "model/edit.h"

static bool is_of_integers(enum dtype type)
{
    return type == DTYPE_UINT8 || type == DTYPE_INT8 || type == DTYPE_UINT16 || type == DTYPE_INT16 ||
           type == DTYPE_INT32 || type == DTYPE_UINT32;
}

/* The numbers in float32. False when there are none, or they are others then. */
static bool to_floats(const struct tensor *integers, struct tensor *floats)
{
    bool same = integers->count > 0;
    if (!same || tensor_alloc(floats, DTYPE_FLOAT, &integers->shape, 0, NULL))
        return false;
    for (size_t i = 0; i < integers->count; i++) {
        tensor_set(floats, i, tensor_get(integers, i));
        same &= tensor_get(floats, i) == tensor_get(integers, i);
    }
    if (!same)
        tensor_release(floats);
    return same;
}

/* The constant becomes one of float32, which a Cast in front of all other nodes makes what it was. */
static struct test_case *by_cast(const struct test_case *test, const char *name, const struct tensor *floats,
                                 enum dtype type)
{
    struct model *model;
    struct test_case *other = other_data_begin(test, &model);
    if (!other)
        return NULL;
    Onnx__GraphProto *graph = model->graph;
    char *source = arena_printf(&model->arena, "%s_as_floats", name);
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (text_equal(graph->initializer[i]->name, name))
            graph->initializer[i]->name = source;
    bool changed = !model_replace_initializer(model, source, floats, NULL);
    Onnx__NodeProto *cast = model_add_node(model, "Cast", source, 1, (const char *const *)&source, 1, &name);
    node_set_int(&model->arena, cast, "to", (int64_t)type);
    return other_data_finish(other, model, changed && !model_sort_nodes(model, NULL));
}

static bool is_right_by_cast(const struct experiments *how, const struct test_case *test, const char *name,
                             const struct tensor *floats, enum dtype type)
{
    struct trial_done done;
    if (!experiment_try(how, by_cast(test, name, floats, type), false, &done))
        return false;
    bool right =
        verdict_is(done.judgement.verdicts[0].kind, CLASS_AGREES) || experiment_right_but_for_type(&done);
    trial_done_release(&done);
    return right;
}

static bool is_misread(const struct experiments *how, const struct trial_done *done,
                       const Onnx__TensorProto *constant)
{
    const struct test_case *subject = trial_done_subject(done, 0);
    bool misread = false;
    struct tensor integers, floats;
    if (!is_of_integers((enum dtype)constant->data_type) || model_tensor_read(constant, &integers, NULL))
        return false;
    if (to_floats(&integers, &floats)) {
        misread = is_right_by_cast(how, subject, constant->name, &floats, integers.type);
        tensor_release(&floats);
    }
    tensor_release(&integers);
    return misread;
}

const char *integer_constants_misread(const struct experiments *how, const struct trial_done *done)
{
    const struct model *model = test_case_model(trial_done_subject(done, 0), NULL);
    for (size_t i = 0; how->of_numbers && i < model->graph->n_initializer; i++)
        if (is_misread(how, done, model->graph->initializer[i]))
            return dtype_name((enum dtype)model->graph->initializer[i]->data_type);
    return NULL;
}
