#include "compare/batch.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/*
 * Joins the tensors of the samples, which must have one type and shape. `parts` has an array of values for
 * each sample.
 */
static int stack(struct value *to, struct value *const *parts, size_t count, size_t input, struct error *err)
{
    const struct value *first = &parts[0][input];
    if (count == 1) {
        return value_copy(to, first, err);
    }
    const struct tensor *like = &first->tensors[0];
    struct shape shape = like->shape;
    shape.dims[0] *= (int64_t)count;
    struct tensor tensor;
    if (tensor_alloc(&tensor, like->type, &shape, 0, err))
        return -1;
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct tensor *part = &parts[i][input].tensors[0];
        if (part->type != like->type || !shape_equal(&part->shape, &like->shape))
            status = error_set(err, ERROR_INVALID,
                               "input %s does not have the same type and shape in all samples", first->name);
        else if (part->size)
            memcpy((char *)tensor.data + i * like->size, part->data, part->size);
    }
    if (status == 0) {
        value_set_name(to, first->name);
        value_set_tensor(to, &tensor);
    }
    tensor_release(&tensor);
    return status;
}

int batch_init(struct batch *batch, const struct inputs *inputs, size_t first, size_t count, size_t engines,
               struct error *err)
{
    *batch = (struct batch){.first = first, .count = count, .n_inputs = inputs->count, .engines = engines};
    batch->inputs = memory_zeroed(inputs->count + 1, sizeof *batch->inputs);
    batch->answers = memory_zeroed(engines + 1, sizeof *batch->answers);
    for (size_t i = 0; i < inputs->count; i++)
        value_init(&batch->inputs[i]);
    struct value **parts = memory_zeroed(count, sizeof *parts);
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = inputs_get(inputs, first + i, &parts[i], err);
    for (size_t i = 0; i < inputs->count && status == 0; i++)
        status = stack(&batch->inputs[i], parts, count, i, err);
    for (size_t i = 0; i < count; i++)
        if (parts[i])
            values_free(parts[i], inputs->count);
    free(parts);
    return status;
}

static void release_answer(struct batch *batch, size_t engine)
{
    struct batch_answer *answer = &batch->answers[engine];
    for (size_t i = 0; answer->results && i < (answer->alone ? batch->count : 1); i++)
        result_release(&answer->results[i]);
    free(answer->results);
    *answer = (struct batch_answer){0};
}

void batch_release(struct batch *batch)
{
    for (size_t i = 0; batch->answers && i < batch->engines; i++)
        release_answer(batch, i);
    free(batch->answers);
    if (batch->inputs)
        values_free(batch->inputs, batch->n_inputs);
    for (size_t i = 0; batch->views && i < batch->count * batch->n_inputs; i++)
        free(batch->views[i].tensors);
    free(batch->views);
    *batch = (struct batch){0};
}

size_t batch_size(const struct batch *batch)
{
    size_t size = 0;
    for (size_t i = 0; i < batch->n_inputs; i++)
        for (size_t k = 0; k < batch->inputs[i].count; k++)
            size += batch->inputs[i].tensors[k].size;
    return size;
}

/* Part k of `count` equal parts along the first axis. */
static struct tensor part_of(const struct tensor *whole, size_t count, size_t k)
{
    struct tensor part = *whole;
    part.shape.dims[0] /= (int64_t)count;
    part.count /= count;
    part.size /= count;
    part.data = part.size ? (char *)whole->data + k * part.size : NULL;
    return part;
}

const struct value *batch_views(struct batch *batch, size_t k)
{
    if (batch->count == 1)
        return batch->inputs;
    if (!batch->views) {
        batch->views = memory_zeroed(batch->count * batch->n_inputs + 1, sizeof *batch->views);
        for (size_t s = 0; s < batch->count; s++)
            for (size_t i = 0; i < batch->n_inputs; i++) {
                struct value *view = &batch->views[s * batch->n_inputs + i];
                *view = batch->inputs[i];
                view->tensors = memory_zeroed(1, sizeof *view->tensors);
                view->tensors[0] = part_of(&batch->inputs[i].tensors[0], batch->count, s);
            }
    }
    return batch->views + k * batch->n_inputs;
}

void batch_answer_reset(struct batch *batch, size_t engine, bool alone)
{
    release_answer(batch, engine);
    size_t count = alone ? batch->count : 1;
    batch->answers[engine].alone = alone;
    batch->answers[engine].results = memory_zeroed(count, sizeof *batch->answers[engine].results);
    for (size_t i = 0; i < count; i++)
        result_init(&batch->answers[engine].results[i]);
}

/* Strings cannot be cut into parts of equal size. */
static bool divisible(const struct result *result, size_t count)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct value *value = &result->outputs[i];
        if (value->kind != VALUE_TENSOR || value->tensors[0].type == DTYPE_STRING ||
            value->tensors[0].shape.rank < 1 || value->tensors[0].shape.dims[0] != (int64_t)count)
            return false;
    }
    return true;
}

bool batch_answer_usable(const struct batch *batch, const struct result *result)
{
    if (batch->count == 1)
        return true;
    if (result->outcome == OUTCOME_OK)
        return divisible(result, batch->count);
    /* A failure to load the model, or a missing operator, holds for every sample. */
    return result->stage != STAGE_RUN || result->outcome == OUTCOME_UNSUPPORTED ||
           result->outcome == OUTCOME_NO_ENGINE;
}

void batch_row_init(struct batch_row *row, size_t engines)
{
    *row = (struct batch_row){.engines = engines};
    row->results = memory_zeroed(engines + 1, sizeof *row->results);
    row->values = memory_zeroed(engines + 1, sizeof *row->values);
    row->tensors = memory_zeroed(engines + 1, sizeof *row->tensors);
    row->sizes = memory_zeroed(engines + 1, sizeof *row->sizes);
}

void batch_row_release(struct batch_row *row)
{
    for (size_t i = 0; row->values && i < row->engines; i++) {
        free(row->values[i]);
        free(row->tensors[i]);
    }
    free(row->results);
    free(row->values);
    free(row->tensors);
    free(row->sizes);
    *row = (struct batch_row){0};
}

static void cut(struct batch_row *row, size_t engine, size_t count, size_t k)
{
    struct result *result = &row->results[engine];
    if (row->sizes[engine] < result->count) {
        free(row->values[engine]);
        free(row->tensors[engine]);
        row->sizes[engine] = result->count;
        row->values[engine] = memory_zeroed(result->count, sizeof **row->values);
        row->tensors[engine] = memory_zeroed(result->count, sizeof **row->tensors);
    }
    for (size_t i = 0; i < result->count; i++) {
        row->tensors[engine][i] = part_of(&result->outputs[i].tensors[0], count, k);
        row->values[engine][i] = result->outputs[i];
        row->values[engine][i].tensors = &row->tensors[engine][i];
    }
    result->outputs = row->values[engine];
}

void batch_row_fill(struct batch_row *row, const struct batch *batch, size_t k)
{
    for (size_t i = 0; i < row->engines; i++) {
        const struct batch_answer *answer = &batch->answers[i];
        struct result *result = &row->results[i];
        *result = answer->results[answer->alone ? k : 0];
        if (answer->alone || batch->count == 1)
            continue;
        if (result->outcome == OUTCOME_OK)
            cut(row, i, batch->count, k);
        if (k > 0)
            result->load_ns = result->run_ns = 0;
    }
}

static bool open_dimension(const Onnx__TypeProto *type)
{
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type->shape ||
        type->tensor_type->shape->n_dim == 0)
        return false;
    return type->tensor_type->shape->dim[0]->value_case !=
           ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
}

bool batch_possible(const struct inputs *inputs)
{
    bool possible = inputs->count > 0 && inputs->samples > 1 && !inputs_sizes_vary(inputs);
    for (size_t i = 0; i < inputs->count; i++)
        possible = possible && open_dimension(inputs->slots[i].type);
    struct value *first = NULL;
    struct error err = {0};
    if (!possible || inputs_get(inputs, 0, &first, &err))
        return false;
    for (size_t i = 0; i < inputs->count; i++)
        possible = possible && first[i].kind == VALUE_TENSOR && first[i].tensors[0].type != DTYPE_STRING &&
                   first[i].tensors[0].shape.rank > 0 && first[i].tensors[0].shape.dims[0] == 1;
    values_free(first, inputs->count);
    return possible;
}

/* Compares the parts of the batch's answer with the answers to the samples alone. */
static bool parts_agree(const struct result *whole, const struct result *alone, size_t k,
                        const struct metrics_tolerance *tolerance)
{
    bool agree = whole->outcome == OUTCOME_OK && alone->outcome == OUTCOME_OK &&
                 whole->count == alone->count && divisible(whole, 2) && divisible(alone, 1);
    for (size_t i = 0; agree && i < whole->count; i++) {
        struct tensor part = part_of(&whole->outputs[i].tensors[0], 2, k);
        const struct tensor *own = &alone->outputs[i].tensors[0];
        struct metrics_difference difference = {0};
        agree = part.type == own->type && shape_equal(&part.shape, &own->shape);
        if (agree)
            metrics_compare(own, &part, tolerance, &difference);
        agree = agree && difference.close;
    }
    return agree;
}

bool batch_separable(struct pool *pool, int engine, const struct job *job, const struct inputs *inputs,
                     const struct metrics_tolerance *tolerance)
{
    struct batch batch;
    struct result whole, alone;
    struct error err = {0};
    struct job run = *job;
    result_init(&whole);
    run.engine = engine;
    bool agree = batch_init(&batch, inputs, 0, 2, 0, &err) == 0;
    run.n_inputs = batch.n_inputs;
    run.inputs = batch.inputs;
    agree = agree && pool_run_one(pool, &run, &whole, &err) == 0 && whole.outcome == OUTCOME_OK;
    for (size_t k = 0; agree && k < 2; k++) {
        result_init(&alone);
        run.inputs = batch_views(&batch, k);
        agree = pool_run_one(pool, &run, &alone, &err) == 0 && parts_agree(&whole, &alone, k, tolerance);
        result_release(&alone);
    }
    result_release(&whole);
    batch_release(&batch);
    return agree;
}
