#include "locate/similar_data.h"

#include "base/random.h"
#include "base/str.h"
#include "model/edit.h"
#include "ops/param_value.h"

#include <math.h>

static void shuffle(struct tensor *tensor, struct rng *rng)
{
    for (size_t i = tensor->count; i > 1; i--) {
        size_t k = (size_t)rng_below(rng, i);
        long double kept = tensor_get(tensor, i - 1);
        tensor_set(tensor, i - 1, tensor_get(tensor, k));
        tensor_set(tensor, k, kept);
    }
}

/* A fraction becomes up to a half smaller. A whole number becomes smaller by one, or larger by one if it is 0
 * or negative. */
static long double vary(long double value, enum dtype type, struct rng *rng)
{
    if (!isfinite(value) || rng_chance(rng, 0.25))
        return value;
    if (value != floorl(value))
        return value * (long double)rng_uniform(rng, 0.5, 1);
    return fabsl(value) < 0x1p24L ? value + (value > 0 ? -1 : 1) : dtype_is_float(type) ? value / 2 : value;
}

/* Each element becomes one of the given elements, or a number near it. */
static void draw_again(struct tensor *tensor, const struct tensor *from, struct rng *rng)
{
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(tensor, i, vary(tensor_get(from, (size_t)rng_below(rng, from->count)), from->type, rng));
}

static bool is_data(const struct model *model, const char *name, const struct tensor *tensor)
{
    return tensor->type != DTYPE_STRING && tensor->count && !param_is_value(model->graph, name);
}

/* Numbers that differ from their neighbours; none is 0 or 1, as in reduced cases, nor far from the others. */
static void count_up(struct tensor *tensor)
{
    enum { PERIOD = 13, FIRST = 2 };
    bool whole = !dtype_is_float(tensor->type);
    for (size_t i = 0; i < tensor->count; i++) {
        long double place = (long double)(i % PERIOD);
        tensor_set(tensor, i, tensor->type == DTYPE_BOOL ? (i + 1) % 2 : FIRST + (whole ? place : place / 4));
    }
}

static void make_similar(struct tensor *tensor, const struct tensor *from, size_t set, struct rng *rng)
{
    if (set == SIMILAR_COUNTED)
        count_up(tensor);
    else if (set <= SIMILAR_SHUFFLED)
        shuffle(tensor, rng);
    else
        draw_again(tensor, from, rng);
}

/* Whether a node takes the value as data. */
static bool feeds_data(const struct model *model, const char *name)
{
    for (size_t n = 0; n < model->graph->n_node; n++) {
        const Onnx__NodeProto *node = model->graph->node[n];
        const struct op *op = op_of(node);
        size_t count = !op || op->data == DATA_ALL ? node->n_input : op->data == DATA_FIRST ? 1 : 0;
        for (size_t i = 0; i < node->n_input && i < count; i++)
            if (text_equal(node->input[i], name))
                return true;
    }
    return false;
}

/* Constants that are data get other elements. */
static int vary_constants(struct model *model, size_t set, struct rng *rng, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < model->graph->n_initializer && !status; i++) {
        const char *name = model->graph->initializer[i]->name;
        struct tensor old, new;
        if (!feeds_data(model, name) || model_weight(model, i, &old, NULL))
            continue;
        if (is_data(model, name, &old)) {
            status = tensor_copy(&new, &old, err);
            if (!status) {
                make_similar(&new, &old, set, rng);
                status = model_replace_initializer(model, name, &new, err);
                tensor_release(&new);
            }
        }
        tensor_release(&old);
    }
    return status;
}

/* Another case with the model, whose constants are data. */
static struct test_case *other_constants(const struct model *model, size_t set, struct rng *rng,
                                         struct error *err)
{
    struct model *other;
    if (model_clone(&other, model, err))
        return NULL;
    other->path = NULL;
    if (!vary_constants(other, set, rng, err))
        return test_case_new(other);
    model_free(other);
    return NULL;
}

int similar_data(struct test_case **similar, const struct test_case *first, size_t set, struct error *err)
{
    const struct model *model = test_case_model(first, err);
    struct rng rng = rng_seed(set);
    bool given = false;
    *similar = NULL;
    for (size_t i = 0; model && i < first->n_inputs; i++)
        given |=
            first->inputs[i].kind == VALUE_TENSOR &&
            is_data(model, first->inputs[i].name ? first->inputs[i].name : "", &first->inputs[i].tensors[0]);
    if (model)
        *similar = given && set != SIMILAR_COUNTED ? test_case_same_model(first)
                                                   : other_constants(model, set, &rng, err);
    if (!*similar || test_case_add_inputs(*similar, first->inputs, first->n_inputs, err))
        return -1;
    for (size_t i = 0; i < first->n_inputs; i++) {
        struct value *value = &(*similar)->inputs[i];
        if (value->kind == VALUE_TENSOR && is_data(model, value->name ? value->name : "", &value->tensors[0]))
            make_similar(&value->tensors[0], &first->inputs[i].tensors[0], set, &rng);
    }
    return 0;
}
