#include "gguf/llama_form.h"

#include "gguf/llama_probe.h"
#include "model/build.h"
#include "ops/op.h"

#include <inttypes.h>
#include <math.h>

enum { DEFAULT_CONTEXT = 2048 };

/* The initialiser of that name; NULL: there is none. */
static const Onnx__TensorProto *initializer_of(const struct model_index *index, const char *name)
{
    const struct index_value *value = model_index_find(index, name);
    const Onnx__GraphProto *graph = index->model->graph;
    bool is = value && value->source == SOURCE_INITIALIZER && value->number < graph->n_initializer;
    return is ? graph->initializer[value->number] : NULL;
}

/* The dimensions of a constant of rank 2 with elements of a type that weights have: an initialiser, or what
 * is made of one that holds levels, by a scale that is one, too. NULL: it is neither. */
static const int64_t *matrix_dims(const struct model_index *index, const char *name, enum dtype *type)
{
    const struct index_value *value = model_index_find(index, name);
    const Onnx__TensorProto *tensor = initializer_of(index, name), *numbers = tensor;
    if (value && value->source == SOURCE_NODE) {
        const Onnx__NodeProto *node = index->model->graph->node[value->number];
        bool levels = op_has(node, OP_DEQUANTIZES) && node->n_input >= 2;
        tensor = levels ? initializer_of(index, node->input[0]) : NULL;
        numbers = levels ? initializer_of(index, node->input[1]) : NULL;
        if (levels && node->n_input > 2 && *node->input[2] && !initializer_of(index, node->input[2]))
            return NULL;
    }
    if (!tensor || !numbers || tensor->n_dims != 2 || !dtype_in((enum dtype)numbers->data_type, DTYPES_FLOAT))
        return NULL;
    *type = (enum dtype)numbers->data_type;
    return tensor->dims;
}

/* The initialiser behind a weight: the operand itself, or what a node turns round. */
static const char *weight_behind(const struct model_index *index, const char *name, bool *turned)
{
    const struct index_value *value = model_index_find(index, name);
    *turned = false;
    if (!value || value->source != SOURCE_NODE)
        return name;
    const Onnx__NodeProto *node = index->model->graph->node[value->number];
    *turned = op_has(node, OP_PERMUTES) && node->n_input == 1;
    return *turned ? node->input[0] : name;
}

static bool read_linear(const struct model_index *index, size_t number, struct llama_linear *linear,
                        enum dtype *type)
{
    const Onnx__NodeProto *node = index->model->graph->node[number];
    const struct op *op = op_of(node);
    if (!op || op->work != WORK_PRODUCTS || node->n_input != 2 || node->n_output != 1 || node->n_attribute)
        return false;
    const char *weight = weight_behind(index, node->input[1], &linear->turned);
    const int64_t *dims = matrix_dims(index, weight, type);
    if (!dims)
        return false;
    linear->input = node->input[0];
    linear->output = node->output[0];
    linear->weight = weight;
    linear->rows = dims[linear->turned];
    linear->columns = dims[!linear->turned];
    return true;
}

/* All products by constant matrices, in the order in which they are computed. */
static int list_linears(struct llama_form *form, const struct model_index *index,
                        struct llama_linear *linears, size_t *count, struct error *err)
{
    *count = 0;
    for (size_t p = 0; p < index->model->graph->n_node; p++) {
        enum dtype type;
        if (!read_linear(index, index->order[p], &linears[*count], &type))
            continue;
        if (type != DTYPE_FLOAT)
            return error_set(err, ERROR_UNSUPPORTED,
                             "weight %s is of %s, and only models of float32 are read: the reference cannot "
                             "judge masks of infinities in narrower types",
                             linears[*count].weight, dtype_name(type));
        form->type = type;
        form->levels |= !initializer_of(index, linears[*count].weight);
        ++*count;
    }
    form->n_layers = form->decoder.layers;
    if (!form->n_layers || *count != form->n_layers * LLAMA_PARTS + 1)
        return error_set(
            err, ERROR_UNSUPPORTED,
            "of its nodes %zu are products by a constant matrix of floating-point type; llama with as many "
            "layers (%zu) has %zu, seven in each and the last",
            *count, form->n_layers, form->n_layers * LLAMA_PARTS + 1);
    return 0;
}

static int find_table(struct llama_form *form, const struct model_index *index, struct error *err)
{
    const struct decoder_input *ids = NULL;
    for (size_t i = 0; i < form->decoder.count; i++)
        if (form->decoder.inputs[i].role == ROLE_TOKENS)
            ids = &form->decoder.inputs[i];
    const struct index_value *value = ids ? model_index_find(index, ids->name) : NULL;
    for (size_t i = 0; value && i < value->consumers; i++) {
        const Onnx__NodeProto *node = index->model->graph->node[value->consumer[i]];
        enum dtype type;
        const int64_t *dims = node->n_input == 2 ? matrix_dims(index, node->input[0], &type) : NULL;
        const struct op *op = op_of(node);
        if (!dims || !op || op->work != WORK_MOVES || node_int(node, "axis", 0) != 0 || type != form->type)
            continue;
        form->table = node->input[0];
        form->embedded = node->output[0];
        form->vocabulary = dims[0];
        form->hidden = dims[1];
        return 0;
    }
    return error_set(err, ERROR_UNSUPPORTED, "no table of embeddings is read by the tokens");
}

/* How many positions the model has angles for: the rows of the table that position_ids read. */
static void find_context(struct llama_form *form, const struct model_index *index)
{
    form->context = DEFAULT_CONTEXT;
    const struct index_value *value = model_index_find(index, "position_ids");
    for (size_t i = 0; value && i < value->consumers; i++) {
        const Onnx__NodeProto *node = index->model->graph->node[value->consumer[i]];
        for (size_t k = 0; k < node->n_input; k++) {
            enum dtype type;
            const int64_t *dims = matrix_dims(index, node->input[k], &type);
            if (dims && dims[0] > 0 && dims[0] < 1 << 30)
                form->context = dims[0];
        }
    }
}

static bool share_input(const struct llama_linear *linears, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (!text_equal(linears[i].input, linears[0].input))
            return false;
    return true;
}

/* The value that the only user of this one makes: the sum. */
static const char *made_of(const struct model_index *index, const char *name)
{
    const struct index_value *value = model_index_find(index, name);
    if (!value || value->consumers != 1)
        return NULL;
    const Onnx__NodeProto *node = index->model->graph->node[value->consumer[0]];
    return node->n_output == 1 && node->n_input == 2 ? node->output[0] : NULL;
}

static int check_sizes(struct llama_form *form, const struct llama_layer *layer, struct error *err)
{
    const struct llama_linear *p = layer->parts;
    int64_t q = form->heads * form->size, kv = form->kv_heads * form->size;
    bool fit = p[LLAMA_Q].rows == form->hidden && p[LLAMA_Q].columns == q && p[LLAMA_K].columns == kv &&
               p[LLAMA_V].columns == kv && p[LLAMA_O].rows == q && p[LLAMA_O].columns == form->hidden &&
               p[LLAMA_GATE].rows == form->hidden && p[LLAMA_GATE].columns == form->inner &&
               p[LLAMA_UP].columns == form->inner && p[LLAMA_DOWN].rows == form->inner &&
               p[LLAMA_DOWN].columns == form->hidden;
    return fit ? 0
               : error_set(err, ERROR_UNSUPPORTED,
                           "its matrices do not fit %" PRId64 " heads, %" PRId64 " of keys, of %" PRId64
                           " numbers each, and %" PRId64 " numbers within",
                           form->heads, form->kv_heads, form->size, form->inner);
}

static int read_sizes(struct llama_form *form, const struct llama_layer *first, struct error *err)
{
    const int64_t most = 1 << 24;
    form->size = form->decoder.size;
    form->kv_heads = form->decoder.kv_heads;
    form->heads = first->parts[LLAMA_O].rows / form->size; /* which three are Q, K and V is not known yet */
    form->inner = first->parts[LLAMA_GATE].columns;
    bool sane = form->size > 0 && form->size % 2 == 0 && form->size <= 1024 && form->kv_heads > 0 &&
                form->heads > 0 && form->heads <= 4096 && form->heads % form->kv_heads == 0 &&
                form->hidden > 0 && form->hidden <= most && form->inner > 0 && form->inner <= most &&
                form->vocabulary > 0 && form->vocabulary <= most;
    return sane ? 0
                : error_set(err, ERROR_UNSUPPORTED,
                            "%" PRId64 " heads, %" PRId64 " of keys, of %" PRId64 " numbers each, in a state "
                            "of %" PRId64 ", are none that llama.cpp has",
                            form->heads, form->kv_heads, form->size, form->hidden);
}

static int keep_epsilon(struct llama_form *form, float epsilon, struct error *err)
{
    if (form->epsilon > 0 && epsilon != form->epsilon) /* a GGUF file has one */
        return error_set(err, ERROR_UNSUPPORTED, "its norms have an epsilon of %g and one of %g",
                         (double)form->epsilon, (double)epsilon);
    form->epsilon = epsilon;
    return 0;
}

static int check_norm(struct llama_form *form, const struct model_index *index, const char *from,
                      const char *to, const char **weight, struct error *err)
{
    float epsilon;
    return llama_probe_norm(form, index, from, to, weight, &epsilon, err) || keep_epsilon(form, epsilon, err)
               ? -1
               : 0;
}

static int check_layer(struct llama_form *form, const struct model_index *index, size_t number,
                       struct error *err)
{
    struct llama_layer *layer = &form->layers[number];
    struct llama_linear *p = layer->parts;
    if (!share_input(p, 3) || !share_input(p + LLAMA_GATE, 2))
        return error_set(err, ERROR_UNSUPPORTED,
                         "its products do not read their states as queries, keys and values do, and the two "
                         "halves of a gate");
    layer->attn_sum = made_of(index, p[LLAMA_O].output);
    layer->ffn_sum = made_of(index, p[LLAMA_DOWN].output);
    if (!layer->attn_sum || !layer->ffn_sum)
        return error_set(err, ERROR_UNSUPPORTED, "its results are not added to what it read");
    if ((number == 0 && read_sizes(form, layer, err)) || llama_probe_heads(form, index, number, err) ||
        check_sizes(form, layer, err))
        return -1;
    return check_norm(form, index, layer->input, p[LLAMA_Q].input, &layer->attn_norm, err) ||
                   llama_probe_attention(form, index, layer, err) ||
                   llama_probe_sum(form, index, layer->input, p[LLAMA_O].output, layer->attn_sum, err) ||
                   check_norm(form, index, layer->attn_sum, p[LLAMA_GATE].input, &layer->ffn_norm, err) ||
                   llama_probe_gate(form, index, layer, err) ||
                   llama_probe_sum(form, index, layer->attn_sum, p[LLAMA_DOWN].output, layer->ffn_sum, err)
               ? -1
               : 0;
}

static int check_layers(struct llama_form *form, const struct model_index *index,
                        const struct llama_linear *linears, struct error *err)
{
    const char *state = form->embedded;
    form->layers = arena_array(&form->arena, form->n_layers, sizeof *form->layers);
    for (size_t l = 0; l < form->n_layers; l++) {
        form->layers[l].input = state;
        for (size_t i = 0; i < LLAMA_PARTS; i++)
            form->layers[l].parts[i] = linears[l * LLAMA_PARTS + i];
        if (check_layer(form, index, l, err))
            return error_prefix(err, "layer %zu", l);
        state = form->layers[l].ffn_sum;
    }
    form->head = linears[form->n_layers * LLAMA_PARTS];
    if (form->head.columns != form->vocabulary || form->head.rows != form->hidden)
        return error_set(err, ERROR_UNSUPPORTED,
                         "its last product gives %" PRId64 " logits of %" PRId64 " tokens",
                         form->head.columns, form->vocabulary);
    return check_norm(form, index, state, form->head.input, &form->norm, err);
}

int llama_form_find(struct llama_form *form, const struct model_index *index, struct error *err)
{
    size_t count, nodes = index->model->graph->n_node;
    *form = (struct llama_form){0};
    arena_init(&form->arena);
    if (decoder_find(&form->decoder, index->model, NULL, NULL, err))
        return -1;
    struct llama_linear *linears = arena_array(&form->arena, nodes + 1, sizeof *linears);
    if (list_linears(form, index, linears, &count, err) || find_table(form, index, err) ||
        check_layers(form, index, linears, err))
        return error_prefix(err, "the model is not of llama's form");
    find_context(form, index);
    return 0;
}

void llama_form_release(struct llama_form *form)
{
    decoder_release(&form->decoder);
    arena_release(&form->arena);
    *form = (struct llama_form){0};
}

double llama_angle(const struct llama_form *form, int64_t position, int64_t pair)
{
    return (double)position * pow((double)form->base, -2 * (double)pair / (double)form->size);
}

void llama_pair(const struct llama_form *form, int64_t pair, int64_t elements[2])
{
    elements[0] = form->halves ? pair : 2 * pair;
    elements[1] = form->halves ? pair + form->size / 2 : 2 * pair + 1;
}
