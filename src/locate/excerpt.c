#include "locate/excerpt.h"

#include "base/memory.h"
#include "eval/evaluate.h"
#include "locate/localize.h"
#include "model/edit.h"

#include <stdlib.h>
#include <string.h>

/* What the nodes use and none of them makes, weights left out: names and values, one for each. */
struct outside {
    size_t count;
    const char **names;
    struct bounded *values;
    struct tensor *tensors;
};

static bool is_among(const size_t *nodes, size_t count, size_t node)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static void list_outside(struct outside *outside, const struct model_index *index, const size_t *nodes,
                         size_t count)
{
    bool *listed = memory_zeroed(index->count, sizeof *listed);
    outside->names = memory_zeroed(index->count, sizeof *outside->names);
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < index->n_uses[nodes[n]]; i++) {
            size_t use = index->uses[nodes[n]][i];
            const struct index_value *value = &index->values[use];
            if (listed[use] || value->source == SOURCE_INITIALIZER ||
                (value->source == SOURCE_NODE && is_among(nodes, count, value->number)))
                continue;
            listed[use] = true;
            outside->names[outside->count++] = value->name;
        }
    free(listed);
}

static int compute(struct outside *outside, const struct test_case *whole, struct error *err)
{
    struct evaluator *evaluator;
    size_t count = 0;
    outside->tensors = memory_zeroed(outside->count, sizeof *outside->tensors);
    if (!outside->count)
        return 0;
    const struct model *model = test_case_model(whole, err);
    if (!model || evaluator_new(&evaluator, model, &(struct evaluate_options){.round = true}, err))
        return -1;
    int status = evaluator_run(evaluator, whole->inputs, whole->n_inputs, outside->names, outside->count,
                               &outside->values, &count, err);
    evaluator_free(evaluator);
    for (size_t i = 0; i < count && !status; i++)
        status = bounded_to_tensor(&outside->values[i], &outside->tensors[i], err);
    return status;
}

static void outside_release(struct outside *outside)
{
    for (size_t i = 0; i < outside->count; i++) {
        if (outside->values)
            bounded_release(&outside->values[i]);
        if (outside->tensors && outside->tensors[i].data)
            tensor_release(&outside->tensors[i]);
    }
    free(outside->names);
    free(outside->values);
    free(outside->tensors);
}

/* The inputs of the part, in its order. */
static int take_inputs(struct test_case *part, const struct model *model, const struct outside *outside,
                       struct error *err)
{
    part->inputs = memory_zeroed(model->graph->n_input, sizeof *part->inputs);
    for (size_t i = 0; i < model->graph->n_input; i++)
        for (size_t k = 0; k < outside->count; k++) {
            struct tensor copy;
            if (strcmp(outside->names[k], model->graph->input[i]->name) != 0)
                continue;
            if (tensor_copy(&copy, &outside->tensors[k], err))
                return -1;
            struct value *value = &part->inputs[part->n_inputs++];
            value_init(value);
            value_set_tensor(value, &copy);
            value_set_name(value, outside->names[k]);
        }
    return 0;
}

static int cut_out(struct test_case **part, const struct test_case *whole, const size_t *nodes, size_t count,
                   struct error *err)
{
    struct model_index index;
    struct model *model = NULL;
    struct outside outside = {0};
    if (model_index_init(&index, test_case_model(whole, err), err))
        return -1;
    list_outside(&outside, &index, nodes, count);
    int status = compute(&outside, whole, err);
    const struct tensor **tensors = memory_zeroed(outside.count, sizeof(struct tensor *));
    for (size_t i = 0; i < outside.count; i++)
        tensors[i] = &outside.tensors[i];
    struct edit_types types = {outside.count, outside.names, tensors};
    if (!status)
        status = model_cut(&model, &index, nodes, count, &types, err);
    if (!status) {
        *part = test_case_new(model);
        status = take_inputs(*part, model, &outside, err);
    }
    free(tensors);
    outside_release(&outside);
    model_index_release(&index);
    return status;
}

/* The culprit with the nodes behind which it goes wrong. */
static int cut_out_found(struct test_case **part, const struct test_case *whole,
                         const struct localization *found, struct error *err)
{
    size_t count = found->n_culprits + found->n_behind, *nodes = memory_zeroed(count, sizeof *nodes);
    memcpy(nodes, found->behind, found->n_behind * sizeof *nodes);
    memcpy(nodes + found->n_behind, found->culprits, found->n_culprits * sizeof *nodes);
    int status = cut_out(part, whole, nodes, count, err);
    free(nodes);
    return status;
}

int excerpt_make(struct test_case **part, const struct test_case *whole, struct pool *pool, int engine,
                 struct error *err)
{
    struct localization found = {0};
    struct localize_case where = {
        .pool = pool, .engine = engine, .test = whole, .method = LOCALIZE_LOCAL, .progress = true};
    *part = NULL;
    int status = localize(&found, &where, err);
    if (!status && !found.n_culprits)
        status = error_set(err, ERROR_NOT_FOUND, "none of its nodes is at fault on %s (%s)",
                           pool_engine(pool, engine)->label, verdict_name(found.kind));
    if (!status)
        status = cut_out_found(part, whole, &found, err);
    localization_release(&found);
    if (status) {
        test_case_free(*part);
        *part = NULL;
    }
    return status;
}
