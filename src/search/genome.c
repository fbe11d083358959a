#include "search/genome.h"

#include "base/memory.h"
#include "model/edit.h"
#include "ops/param_value.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_GENES ((size_t)4 << 20)

/* Noise is a tenth of the standard deviation of what is there, and at least this. */
#define NOISE 0.1
#define LEAST_NOISE 1e-3

struct genome_layout {
    const struct model *model;
    struct test_case *base; /* the model unchanged, for cases that share it */
    size_t n_inputs;
    struct value *inputs; /* of the first sample */
    size_t n_parts, capacity;
    struct genome_part *parts;
    struct gene_stretch *stretches;
    size_t length;
    size_t n_seeds;
    float **seeds;
};

void genome_layout_free(struct genome_layout *layout)
{
    if (!layout)
        return;
    test_case_free(layout->base);
    if (layout->inputs)
        values_free(layout->inputs, layout->n_inputs);
    for (size_t i = 0; i < layout->n_seeds; i++)
        free(layout->seeds[i]);
    free(layout->seeds);
    free(layout->parts);
    free(layout->stretches);
    free(layout);
}

const struct genome_part *genome_parts(const struct genome_layout *layout, size_t *count)
{
    *count = layout->n_parts;
    return layout->parts;
}

size_t genome_length(const struct genome_layout *layout)
{
    return layout->length;
}

const struct gene_stretch *genome_stretches(const struct genome_layout *layout)
{
    return layout->stretches;
}

size_t genome_seeds(const struct genome_layout *layout)
{
    return layout->n_seeds;
}

const float *const *genome_seed(const struct genome_layout *layout)
{
    return (const float *const *)layout->seeds;
}

size_t genome_inputs_count(const struct genome_layout *layout)
{
    return layout->n_inputs;
}

static void add_part(struct genome_layout *layout, bool weight, size_t index, const struct tensor *tensor)
{
    layout->parts = memory_grow(layout->parts, &layout->capacity, layout->n_parts + 1, sizeof *layout->parts);
    layout->parts[layout->n_parts++] = (struct genome_part){.weight = weight,
                                                            .index = index,
                                                            .type = tensor->type,
                                                            .first = layout->length,
                                                            .count = tensor->count};
    layout->length += tensor->count;
}

/* Whether some node of the graph computes with the value, and does not only take shapes or places from it. */
static bool computed_with(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const Onnx__NodeProto *node = model->graph->node[i];
        const struct op *op = op_of(node);
        bool computes =
            op && (op->work == WORK_ELEMENTS || op->work == WORK_REDUCES || op->work == WORK_PRODUCTS);
        for (size_t k = 0; computes && k < node->n_input; k++)
            if (!strcmp(node->input[k], name))
                return true;
    }
    return false;
}

static bool is_weight(const struct model *model, size_t index)
{
    const Onnx__TensorProto *proto = model->graph->initializer[index];
    size_t count = 1;
    for (size_t i = 0; i < proto->n_dims; i++) {
        if (proto->dims[i] < 0 || (proto->dims[i] && count > MOST_GENES * 64 / (size_t)proto->dims[i]))
            return false;
        count *= (size_t)proto->dims[i];
    }
    return count > 1 && dtype_is_float((enum dtype)proto->data_type) && computed_with(model, proto->name);
}

/* Weights in a random order, as many as there is room for; then put in their own order again. */
static int add_weights(struct genome_layout *layout, size_t most, uint64_t seed, struct error *err)
{
    size_t count = layout->model->graph->n_initializer;
    int64_t *order = memory_zeroed(count + 1, sizeof *order);
    bool *chosen = memory_zeroed(count + 1, sizeof *chosen);
    struct rng rng = rng_seed(seed);
    size_t room = most > layout->length ? most - layout->length : 0;
    int status = 0;
    rng_order(&rng, order, count);
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count && !status; i++) {
            size_t index = pass ? i : (size_t)order[i];
            struct tensor weight;
            if (pass ? !chosen[index] : !is_weight(layout->model, index))
                continue;
            if (model_weight(layout->model, index, &weight, err)) {
                status = -1;
            } else if (pass) {
                add_part(layout, true, index, &weight);
            } else if (weight.count <= room) {
                room -= weight.count;
                chosen[index] = true;
            }
            if (!status)
                tensor_release(&weight);
        }
    free(order);
    free(chosen);
    return status;
}

/* Parameters of whole numbers are left out: with others the model would hardly ever be valid. */
static void add_inputs(struct genome_layout *layout)
{
    for (size_t i = 0; i < layout->n_inputs; i++) {
        const struct value *value = &layout->inputs[i];
        if (value->kind == VALUE_TENSOR && dtype_in(value->tensors[0].type, DTYPES_NUMBER) &&
            !(dtype_is_integer(value->tensors[0].type) && param_is_value(layout->model->graph, value->name)))
            add_part(layout, false, i, &value->tensors[0]);
    }
}

static float gene_of(long double value)
{
    if (isnan(value))
        return 0;
    return value > FLT_MAX ? FLT_MAX : value < -FLT_MAX ? -FLT_MAX : (float)value;
}

static int read_part(const struct genome_layout *layout, const struct genome_part *part,
                     const struct value *sample, float *genes, struct error *err)
{
    struct tensor weight;
    const struct tensor *from = part->weight ? &weight : &sample[part->index].tensors[0];
    if (part->weight && model_weight(layout->model, part->index, &weight, err))
        return -1;
    for (size_t i = 0; i < part->count; i++)
        genes[part->first + i] = gene_of(tensor_get(from, i));
    if (part->weight)
        tensor_release(&weight);
    return 0;
}

static int add_seed(struct genome_layout *layout, const struct value *sample, struct error *err)
{
    float *genes = calloc(layout->length + 1, sizeof *genes);
    int status = genes ? 0 : error_set(err, ERROR_MEMORY, "no memory for %zu genes", layout->length);
    for (size_t i = 0; i < layout->n_parts && !status; i++)
        status = read_part(layout, &layout->parts[i], sample, genes, err);
    if (status)
        free(genes);
    else
        layout->seeds[layout->n_seeds++] = genes;
    return status;
}

static bool like_first(const struct genome_layout *layout, const struct value *sample)
{
    for (size_t i = 0; i < layout->n_inputs; i++) {
        const struct value *a = &layout->inputs[i], *b = &sample[i];
        if (a->kind != b->kind)
            return false;
        if (a->kind == VALUE_TENSOR && (a->tensors[0].type != b->tensors[0].type ||
                                        !shape_equal(&a->tensors[0].shape, &b->tensors[0].shape)))
            return false;
    }
    return true;
}

static int add_seeds(struct genome_layout *layout, const struct inputs *inputs, size_t most,
                     struct error *err)
{
    layout->seeds = memory_zeroed(most, sizeof *layout->seeds);
    for (size_t i = 0; i < inputs->samples && layout->n_seeds < most; i++) {
        struct value *sample;
        if (inputs_get(inputs, i, &sample, err))
            return -1;
        int status = like_first(layout, sample) ? add_seed(layout, sample, err) : 0;
        values_free(sample, inputs->count);
        if (status)
            return -1;
    }
    return 0;
}

/* Least, greatest and standard deviation over all seeds. */
struct spread {
    double low, high, deviation;
};

static struct spread spread_of(const struct genome_layout *layout, const struct genome_part *part)
{
    double sum = 0, squares = 0, n = (double)part->count * (double)layout->n_seeds;
    struct spread spread = {INFINITY, -INFINITY, 0};
    for (size_t s = 0; s < layout->n_seeds; s++)
        for (size_t i = 0; i < part->count; i++) {
            double gene = (double)layout->seeds[s][part->first + i];
            spread.low = fmin(spread.low, gene);
            spread.high = fmax(spread.high, gene);
            sum += gene / n;
            squares += gene * gene / n;
        }
    double variance = squares - sum * sum;
    spread.deviation = isfinite(variance) && variance > 0 ? sqrt(variance) : 0;
    return spread;
}

/* Integers are places, classes or words as often as numbers: only those that were seen are certainly valid.
 */
static struct gene_stretch limits_of(const struct genome_layout *layout, const struct genome_part *part,
                                     bool data_limits)
{
    struct spread spread = spread_of(layout, part);
    double low = fmax(-FLT_MAX, (double)dtype_lowest(part->type)),
           high = fmin(FLT_MAX, (double)dtype_highest(part->type)),
           widest = 2 * fmax(fabs(spread.low), fabs(spread.high));
    if (!part->count)
        return (struct gene_stretch){0};
    if (!part->weight && (data_limits || dtype_is_integer(part->type))) {
        low = spread.low;
        high = spread.high;
    } else if (data_limits) {
        low = -fmin(widest, high);
        high = fmin(widest, high);
    }
    return (struct gene_stretch){.count = part->count,
                                 .low = (float)low,
                                 .high = (float)high,
                                 .scale = (float)fmin(fmax(NOISE * spread.deviation, LEAST_NOISE), 1e30)};
}

static int fill(struct genome_layout *layout, const struct inputs *inputs,
                const struct genome_options *options, struct error *err)
{
    size_t most = options->most_genes ? options->most_genes : MOST_GENES,
           seeds = options->most_seeds ? options->most_seeds : 1;
    if (inputs_get(inputs, 0, &layout->inputs, err))
        return -1;
    if (options->level != GENOME_WEIGHTS)
        add_inputs(layout);
    if (options->level != GENOME_INPUTS && add_weights(layout, most, options->seed, err))
        return -1;
    if (!layout->length)
        return error_set(err, ERROR_UNSUPPORTED, "the model has no %s that could be changed",
                         options->level == GENOME_WEIGHTS ? "weights" : "inputs");
    if (layout->length > most)
        return error_set(err, ERROR_LIMIT, "the inputs have %zu elements, more than %zu", layout->length,
                         most);
    if (add_seeds(layout, inputs, options->level == GENOME_WEIGHTS ? 1 : seeds, err))
        return -1;
    layout->stretches = memory_zeroed(layout->n_parts, sizeof *layout->stretches);
    for (size_t i = 0; i < layout->n_parts; i++)
        layout->stretches[i] = limits_of(layout, &layout->parts[i], options->data_limits);
    struct model *copy;
    if (model_clone(&copy, layout->model, err))
        return -1;
    layout->base = test_case_new(copy);
    return 0;
}

int genome_layout_new(struct genome_layout **out, const struct model *model, const struct inputs *inputs,
                      const struct genome_options *options, struct error *err)
{
    struct genome_layout *layout = memory_zeroed(1, sizeof *layout);
    layout->model = model;
    layout->n_inputs = inputs->count;
    *out = NULL;
    if (fill(layout, inputs, options, err)) {
        genome_layout_free(layout);
        return -1;
    }
    *out = layout;
    return 0;
}

static void set_elements(struct tensor *tensor, size_t first, const float *genes, size_t count)
{
    bool whole = dtype_is_integer(tensor->type);
    for (size_t i = 0; i < count; i++)
        tensor_set(tensor, first + i, whole ? roundl((long double)genes[i]) : (long double)genes[i]);
}

int genome_inputs(const struct genome_layout *layout, const float *genes, struct value **out,
                  struct error *err)
{
    struct value *inputs = memory_zeroed(layout->n_inputs + 1, sizeof *inputs);
    int status = 0;
    for (size_t i = 0; i < layout->n_inputs; i++)
        value_init(&inputs[i]);
    for (size_t i = 0; i < layout->n_inputs && !status; i++)
        status = value_copy(&inputs[i], &layout->inputs[i], err);
    for (size_t i = 0; i < layout->n_parts && !status; i++) {
        const struct genome_part *part = &layout->parts[i];
        if (!part->weight)
            set_elements(&inputs[part->index].tensors[0], 0, genes + part->first, part->count);
    }
    if (status)
        values_free(inputs, layout->n_inputs);
    *out = status ? NULL : inputs;
    return status;
}

static bool changes_weights(const struct genome_layout *layout)
{
    for (size_t i = 0; i < layout->n_parts; i++)
        if (layout->parts[i].weight)
            return true;
    return false;
}

static int set_weight(const struct genome_layout *layout, struct model *model, const struct genome_part *part,
                      const float *genes, struct error *err)
{
    struct tensor weight;
    if (model_weight(layout->model, part->index, &weight, err))
        return -1;
    set_elements(&weight, 0, genes + part->first, part->count);
    int status =
        model_replace_initializer(model, layout->model->graph->initializer[part->index]->name, &weight, err);
    tensor_release(&weight);
    return status;
}

static int make_model(const struct genome_layout *layout, const float *genes, struct test_case **out,
                      struct error *err)
{
    struct model *model;
    if (!changes_weights(layout)) {
        *out = test_case_same_model(layout->base);
        return 0;
    }
    if (model_clone(&model, layout->model, err))
        return -1;
    int status = 0;
    for (size_t i = 0; i < layout->n_parts && !status; i++)
        if (layout->parts[i].weight)
            status = set_weight(layout, model, &layout->parts[i], genes, err);
    model->path = NULL;
    if (status)
        model_free(model);
    else
        *out = test_case_new(model);
    return status;
}

int genome_case(const struct genome_layout *layout, const float *genes, struct test_case **out,
                struct error *err)
{
    struct value *inputs;
    *out = NULL;
    if (make_model(layout, genes, out, err))
        return -1;
    int status = genome_inputs(layout, genes, &inputs, err);
    if (!status) {
        status = test_case_add_inputs(*out, inputs, layout->n_inputs, err);
        values_free(inputs, layout->n_inputs);
    }
    if (status) {
        test_case_free(*out);
        *out = NULL;
    }
    return status;
}

/* Input `index` of all genomes, one behind the other. */
static int stack_input(const struct genome_layout *layout, size_t index, size_t count,
                       const float *const *genes, struct value *out, struct error *err)
{
    const struct tensor *one = &layout->inputs[index].tensors[0];
    struct shape shape = one->shape;
    struct tensor all;
    if (layout->inputs[index].kind != VALUE_TENSOR || !shape.rank || one->type == DTYPE_STRING)
        return error_set(err, ERROR_UNSUPPORTED, "input %s cannot be stacked", layout->inputs[index].name);
    shape.dims[0] *= (int64_t)count;
    if (tensor_alloc(&all, one->type, &shape, 0, err))
        return -1;
    for (size_t i = 0; i < count && one->size; i++)
        memcpy((char *)all.data + i * one->size, one->data, one->size);
    for (size_t p = 0; p < layout->n_parts; p++)
        for (size_t i = 0; i < count && layout->parts[p].index == index; i++)
            set_elements(&all, i * one->count, genes[i] + layout->parts[p].first, one->count);
    value_set_name(out, layout->inputs[index].name);
    value_set_tensor(out, &all);
    return 0;
}

int genome_stack(const struct genome_layout *layout, size_t count, const float *const *genes,
                 struct test_case **out, struct error *err)
{
    struct value *inputs = memory_zeroed(layout->n_inputs + 1, sizeof *inputs);
    int status = changes_weights(layout)
                     ? error_set(err, ERROR_UNSUPPORTED, "models with other weights cannot be stacked")
                     : 0;
    for (size_t i = 0; i < layout->n_inputs; i++)
        value_init(&inputs[i]);
    for (size_t i = 0; i < layout->n_inputs && !status; i++)
        status = stack_input(layout, i, count, genes, &inputs[i], err);
    *out = status ? NULL : test_case_same_model(layout->base);
    if (!status)
        status = test_case_add_inputs(*out, inputs, layout->n_inputs, err);
    if (status) {
        test_case_free(*out);
        *out = NULL;
    }
    values_free(inputs, layout->n_inputs);
    return status;
}
