#include "case/case_gradient.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/str.h"
#include "eval/gradient.h"
#include "eval/value_types.h"

#include <stdlib.h>

enum { STEPS_AN_ELEMENT = 64 };

static int draw_weights(struct value *value, const char *name, const struct bounded *output, uint64_t seed,
                        struct error *err)
{
    struct rng all = rng_seed(seed), rng = rng_split(&all, hash_text(name));
    struct tensor tensor;
    size_t count;
    if (shape_count(&output->shape, &count, err) || limits_room(count, dtype_size(output->type), err) ||
        tensor_alloc(&tensor, output->type, &output->shape, 0, err))
        return error_prefix(err, "the weights of output %s", name);
    limits_begin();
    for (size_t i = 0; i < tensor.count && !limits_late(STEPS_AN_ELEMENT); i++)
        tensor_set(&tensor, i, rng_normal(&rng));
    int status = limits_check(err);
    limits_end();
    value_set_name(value, name);
    value_set_tensor(value, &tensor);
    return status ? error_prefix(err, "drawing the weights of output %s", name) : 0;
}

static int add_weights(struct case_gradient *gradient, const struct model *model,
                       const struct value_types *types, struct error *err)
{
    const Onnx__GraphProto *graph = model->graph;
    gradient->upstream = memory_zeroed(graph->n_output, sizeof *gradient->upstream);
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = graph->output[i]->name;
        const struct bounded *output = value_types_find(types, name);
        if (!output || output->type == DTYPE_NONE || output->shape.rank < 0)
            return error_set(err, ERROR_UNSUPPORTED, "the shape of output %s depends on data", name);
        for (int d = 0; d < output->shape.rank; d++)
            if (output->shape.dims[d] < 0)
                return error_set(err, ERROR_UNSUPPORTED, "the shape of output %s is not known", name);
        if (!dtype_is_float(output->type))
            continue;
        struct value *value = &gradient->upstream[gradient->n_upstream++];
        value_init(value);
        if (draw_weights(value, name, output, gradient->seed, err))
            return -1;
    }
    return 0;
}

int case_gradient_new(struct case_gradient **out, const struct model *model, const struct value *inputs,
                      size_t n_inputs, uint64_t seed, struct error *err)
{
    struct case_gradient *gradient = memory_zeroed(1, sizeof *gradient);
    struct value_types types;
    gradient->seed = seed;
    arena_init(&gradient->arena);
    gradient->wanted = gradient_wanted(model, &gradient->arena, &gradient->n_wanted);
    value_types_init_for(&types, model, inputs, n_inputs);
    int result = add_weights(gradient, model, &types, err);
    value_types_release(&types);
    if (!result && (!gradient->n_upstream || !gradient->n_wanted))
        result = error_set(err, ERROR_UNSUPPORTED, "the model has nothing to differentiate");
    if (result) {
        case_gradient_free(gradient);
        gradient = NULL;
    }
    *out = gradient;
    return result;
}

void case_gradient_free(struct case_gradient *gradient)
{
    if (!gradient)
        return;
    values_free(gradient->upstream, gradient->n_upstream);
    arena_release(&gradient->arena);
    free(gradient);
}

int test_case_ask_gradient(struct test_case *test, uint64_t seed, struct error *err)
{
    const struct model *model = test_case_model(test, err);
    struct case_gradient *gradient;
    if (!model || case_gradient_new(&gradient, model, test->inputs, test->n_inputs, seed, err))
        return -1;
    case_gradient_free(test->gradient);
    test->gradient = gradient;
    return 0;
}

int test_case_ask_loss(struct test_case *test, const char *output, struct error *err)
{
    if (test_case_ask_gradient(test, 0, err))
        return -1;
    struct case_gradient *gradient = test->gradient;
    size_t kept = 0;
    for (size_t i = 0; i < gradient->n_upstream; i++) {
        struct value *value = &gradient->upstream[i];
        if (!text_equal(value->name, output)) {
            value_release(value);
            continue;
        }
        for (size_t k = 0; k < value->tensors[0].count; k++)
            tensor_set(&value->tensors[0], k, 1);
        gradient->upstream[kept++] = *value;
    }
    gradient->n_upstream = kept;
    return kept ? 0
                : error_set(err, ERROR_NOT_FOUND, "the model has no output '%s' of floating-point type",
                            output);
}

int test_case_ask_like(struct test_case *test, const struct test_case *like, struct error *err)
{
    return like->gradient ? test_case_ask_gradient(test, like->gradient->seed, err) : 0;
}
