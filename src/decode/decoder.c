#include "decode/decoder.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What follows one of the prefixes in a name; NULL: it begins with none. The longer prefixes come first. */
static const char *ending(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
            return name + strlen(*prefixes);
    return NULL;
}

/* Names of a graph by which the roles of its inputs are told. */
struct graph_names {
    const Onnx__GraphProto *graph;
    struct map initializers;
    struct map
        presents; /* what follows the prefix of a cache's outputs, to the number of the first of them */
};

static void names_init(struct graph_names *names, const Onnx__GraphProto *graph)
{
    static const char *const present[] = {"present_key_values", "present", NULL};
    *names = (struct graph_names){.graph = graph};
    map_init(&names->initializers);
    map_init(&names->presents);
    for (size_t i = 0; i < graph->n_initializer; i++)
        map_set(&names->initializers, graph->initializer[i]->name, i);
    for (size_t i = graph->n_output; i-- > 0;) {
        const char *has = ending(graph->output[i]->name, present);
        if (has)
            map_set(&names->presents, has, i);
    }
}

static void names_release(struct graph_names *names)
{
    map_release(&names->initializers);
    map_release(&names->presents);
}

/* The output that an input of the cache is fed from; NULL: it is no input of a cache. */
static const char *present_of(const struct graph_names *names, const char *name)
{
    static const char *const past[] = {"past_key_values", "past", NULL};
    const char *wanted = ending(name, past);
    size_t number;
    return wanted && map_get(&names->presents, wanted, &number) ? names->graph->output[number]->name : NULL;
}

static bool read_form(const Onnx__ValueInfoProto *info, enum dtype *type, struct shape *shape)
{
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return false;
    const Onnx__TypeProto__Tensor *tensor = info->type->tensor_type;
    if (dtype_check(tensor->elem_type, NULL) || !tensor->shape || tensor->shape->n_dim > TENSOR_MAX_RANK)
        return false;
    *type = (enum dtype)tensor->elem_type;
    shape->rank = (int)tensor->shape->n_dim;
    for (size_t i = 0; i < tensor->shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[i];
        bool known = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        shape->dims[i] = known && dim->dim_value >= 0 ? dim->dim_value : -1;
    }
    return true;
}

static int layer_in(const char *name)
{
    while (*name && !isdigit((unsigned char)*name))
        name++;
    long layer = strtol(name, NULL, 10);
    return layer < 100000 ? (int)layer : 0;
}

static int find_cache(struct decoder *decoder, struct decoder_input *input, struct error *err)
{
    const struct shape *shape = &input->shape;
    if (shape->rank != 4 || shape->dims[1] < 1 || shape->dims[3] < 1 || !dtype_is_float(input->type))
        return error_set(
            err, ERROR_USAGE,
            "input %s is not floating-point [batch, heads, past, size] with known heads and size: "
            "decode cannot start it empty",
            input->name);
    input->role = ROLE_CACHE;
    input->layer = layer_in(input->present);
    decoder->kv_heads = shape->dims[1];
    decoder->size = shape->dims[3];
    if ((size_t)input->layer >= decoder->layers)
        decoder->layers = (size_t)input->layer + 1;
    return 0;
}

static int find_input(struct decoder *decoder, const struct graph_names *names,
                      const Onnx__ValueInfoProto *info, const char *tokens, struct error *err)
{
    struct decoder_input *input = &decoder->inputs[decoder->count];
    *input = (struct decoder_input){.name = info->name, .present = present_of(names, info->name)};
    if (!read_form(info, &input->type, &input->shape))
        return error_set(err, ERROR_USAGE, "input %s is not a tensor of known rank", info->name);
    decoder->count++;
    if (input->present)
        return find_cache(decoder, input, err);
    bool whole = input->type == DTYPE_INT64 || input->type == DTYPE_INT32;
    if (strcmp(info->name, tokens) == 0)
        input->role = ROLE_TOKENS;
    else if (strcmp(info->name, "position_ids") == 0)
        input->role = ROLE_POSITIONS;
    else if (strcmp(info->name, "attention_mask") == 0)
        input->role = ROLE_MASK;
    else
        return error_set(err, ERROR_USAGE,
                         "input %s is neither tokens (%s), position_ids, attention_mask nor a cache that an "
                         "output feeds: decode does not know what to give it",
                         info->name, tokens);
    if (!whole || input->shape.rank != 2)
        return error_set(err, ERROR_USAGE, "input %s is not int64 or int32 of rank 2", info->name);
    return 0;
}

static int find_logits(struct decoder *decoder, const struct model *model, const char *logits,
                       struct error *err)
{
    for (size_t i = 0; i < model->graph->n_output; i++) {
        enum dtype type;
        struct shape shape;
        const Onnx__ValueInfoProto *info = model->graph->output[i];
        if (strcmp(info->name, logits) != 0)
            continue;
        decoder->logits = info->name;
        if (read_form(info, &type, &shape) && shape.rank > 0 && shape.dims[shape.rank - 1] > 0)
            decoder->vocabulary = shape.dims[shape.rank - 1];
        return 0;
    }
    return error_set(err, ERROR_USAGE,
                     "the model has no output %s: name the one with the scores of the tokens by --logits",
                     logits);
}

static int find_inputs(struct decoder *decoder, const struct graph_names *names, const char *tokens,
                       struct error *err)
{
    const Onnx__GraphProto *graph = names->graph;
    bool fed = false, cached = false;
    for (size_t i = 0; i < graph->n_input; i++)
        fed |= strcmp(graph->input[i]->name, tokens) == 0;
    if (!fed)
        return error_set(err, ERROR_USAGE,
                         "the model has no input %s: name the one that takes tokens by --ids", tokens);
    for (size_t i = 0; i < graph->n_input; i++)
        cached |= present_of(names, graph->input[i]->name) != NULL;
    if (!cached)
        return error_set(
            err, ERROR_USAGE,
            "the model has no key-value cache: decode needs inputs such as past_key_values.0.key, "
            "each with an output such as present.0.key");
    for (size_t i = 0; i < graph->n_input; i++)
        if (!map_has(&names->initializers, graph->input[i]->name) &&
            find_input(decoder, names, graph->input[i], tokens, err))
            return -1;
    return 0;
}

int decoder_find(struct decoder *decoder, const struct model *model, const char *tokens, const char *logits,
                 struct error *err)
{
    struct graph_names names;
    *decoder = (struct decoder){0};
    arena_init(&decoder->arena);
    decoder->inputs = arena_array(&decoder->arena, model->graph->n_input + 1, sizeof *decoder->inputs);
    names_init(&names, model->graph);
    int status = find_inputs(decoder, &names, tokens ? tokens : "input_ids", err);
    names_release(&names);
    return status ? -1 : find_logits(decoder, model, logits ? logits : "logits", err);
}

void decoder_release(struct decoder *decoder)
{
    if (decoder->inputs)
        arena_release(&decoder->arena);
    *decoder = (struct decoder){0};
}

/* [1, count]: `count` numbers from `first` on, `step` apart. */
static int set_row(struct value *value, const struct decoder_input *input, size_t count, int64_t first,
                   int64_t step, struct error *err)
{
    struct tensor tensor;
    struct shape shape = {2, {1, (int64_t)count}};
    if (tensor_alloc(&tensor, input->type, &shape, 0, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        tensor_set(&tensor, i, (long double)(first + (int64_t)i * step));
    value_set_tensor(value, &tensor);
    return 0;
}

static int set_empty(struct value *value, const struct decoder_input *input, struct error *err)
{
    struct tensor tensor;
    struct shape shape = {4, {1, input->shape.dims[1], 0, input->shape.dims[3]}};
    if (tensor_alloc(&tensor, input->type, &shape, 0, err))
        return -1;
    value_set_tensor(value, &tensor);
    return 0;
}

static struct value *new_values(const struct decoder *decoder)
{
    struct value *values = memory_zeroed(decoder->count, sizeof *values);
    for (size_t i = 0; i < decoder->count; i++) {
        value_init(&values[i]);
        value_set_name(&values[i], decoder->inputs[i].name);
    }
    return values;
}

int decoder_prompt(const struct decoder *decoder, const int64_t *tokens, size_t count, struct value **values,
                   struct error *err)
{
    int status = 0;
    *values = new_values(decoder);
    for (size_t i = 0; i < decoder->count && !status; i++) {
        const struct decoder_input *input = &decoder->inputs[i];
        struct value *value = &(*values)[i];
        if (input->role == ROLE_CACHE)
            status = set_empty(value, input, err);
        else
            status =
                set_row(value, input, count, input->role == ROLE_MASK, input->role == ROLE_POSITIONS, err);
        for (size_t k = 0; !status && input->role == ROLE_TOKENS && k < count; k++)
            tensor_set(&value->tensors[0], k, (long double)tokens[k]);
    }
    if (!status)
        return 0;
    values_free(*values, decoder->count);
    *values = NULL;
    return -1;
}

const struct tensor *decoder_output(const struct result *result, const char *name)
{
    for (size_t i = 0; i < result->count; i++)
        if (result->outputs[i].kind == VALUE_TENSOR && text_equal(result->outputs[i].name, name))
            return &result->outputs[i].tensors[0];
    return NULL;
}

static int next_value(const struct decoder_input *input, const struct value *before,
                      const struct result *result, int64_t token, struct value *value, struct error *err)
{
    const struct tensor *old = &before->tensors[0];
    if (input->role == ROLE_TOKENS)
        return set_row(value, input, 1, token, 0, err);
    if (input->role == ROLE_POSITIONS)
        return set_row(value, input, 1, (int64_t)tensor_get(old, old->count - 1) + 1, 0, err);
    if (input->role == ROLE_MASK)
        return set_row(value, input, old->count + 1, 1, 0, err);
    const struct tensor *present = decoder_output(result, input->present);
    struct tensor copy;
    if (!present || present->type != input->type || present->shape.rank != 4)
        return error_set(err, ERROR_INVALID, "its output %s cannot be fed back to %s", input->present,
                         input->name);
    if (tensor_copy(&copy, present, err))
        return -1;
    value_set_tensor(value, &copy);
    return 0;
}

int decoder_next(const struct decoder *decoder, const struct value *before, const struct result *result,
                 int64_t token, struct value **values, struct error *err)
{
    int status = 0;
    *values = new_values(decoder);
    for (size_t i = 0; i < decoder->count && !status; i++)
        status = next_value(&decoder->inputs[i], &before[i], result, token, &(*values)[i], err);
    if (!status)
        return 0;
    values_free(*values, decoder->count);
    *values = NULL;
    return -1;
}

bool decoder_choose(const struct decoder *decoder, const struct result *result, size_t *begin, int64_t *token)
{
    const struct tensor *logits = decoder_output(result, decoder->logits);
    if (!logits || !dtype_is_float(logits->type) || logits->shape.rank < 1)
        return false;
    int64_t width = logits->shape.dims[logits->shape.rank - 1];
    if (width < 1 || logits->count < (size_t)width)
        return false;
    *begin = logits->count - (size_t)width;
    *token = 0;
    for (int64_t i = 0; i < width; i++) {
        long double value = tensor_get(logits, *begin + (size_t)i);
        if (isnan(value))
            return false;
        if (value > tensor_get(logits, *begin + (size_t)*token))
            *token = i;
    }
    return true;
}
