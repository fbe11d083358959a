#include "decode/decode_place.h"

#include "base/memory.h"
#include "locate/node_verdict.h"
#include "locate/fault_search.h"
#include "model/build.h"
#include "ops/op.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Layers --- */

/* "/model/layers.12/mlp/MatMul": 12. A word counts only whole, with a number behind it. */
static int layer_named(const char *name)
{
    static const char *const words[] = {"layers", "layer", "blocks", "block", "h"};
    for (const char *at = name; *at; at++) {
        if (at > name && isalnum((unsigned char)at[-1]))
            continue;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            size_t length = strlen(words[i]);
            bool here = strncmp(at, words[i], length) == 0 && at[length] && strchr("._/", at[length]) &&
                        isdigit((unsigned char)at[length + 1]);
            if (here)
                return (int)(strtol(at + length + 1, NULL, 10) % 100000);
        }
    }
    return -1;
}

static int layer_of_value(const struct decoder *decoder, const char *name)
{
    for (size_t i = 0; i < decoder->count; i++)
        if (decoder->inputs[i].role == ROLE_CACHE && strcmp(decoder->inputs[i].name, name) == 0)
            return decoder->inputs[i].layer;
    return -1;
}

int place_layer(const struct decoder *decoder, const struct model_index *index, size_t node)
{
    const Onnx__GraphProto *graph = index->model->graph;
    int named = layer_named(model_node_name(graph->node[node]));
    if (named >= 0)
        return named;
    int *last = memory_zeroed(index->count, sizeof *last), result = -1;
    for (size_t i = 0; i < index->count; i++)
        last[i] = layer_of_value(decoder, index->values[i].name);
    for (size_t p = 0; p < graph->n_node; p++) {
        size_t number = index->order[p], made;
        int layer = -1;
        for (size_t i = 0; i < index->n_uses[number]; i++)
            layer = last[index->uses[number][i]] > layer ? last[index->uses[number][i]] : layer;
        for (size_t i = 0; i < graph->node[number]->n_output; i++)
            if (map_get(&index->names, graph->node[number]->output[i], &made))
                last[made] = layer;
        if (number == node)
            result = layer;
    }
    free(last);
    return result;
}

/* --- Heads --- */

/* Whether the node's result is cut into heads: it is reshaped, and its axes are put into another order. */
static bool is_cut_into_heads(const struct model_index *index, size_t node)
{
    const Onnx__NodeProto *proto = index->model->graph->node[node];
    for (int depth = 0; depth < 2; depth++) {
        const struct index_value *value = proto->n_output ? model_index_find(index, proto->output[0]) : NULL;
        if (!value || value->consumers != 1)
            return false;
        proto = index->model->graph->node[value->consumer[0]];
        if (!op_has(proto, depth ? OP_PERMUTES : OP_RESHAPES))
            return false;
    }
    return true;
}

int64_t place_head(const struct decoder *decoder, const struct model_index *index, size_t node,
                   const struct shape *shape, size_t element, int64_t *heads)
{
    const Onnx__NodeProto *proto = index->model->graph->node[node];
    const int64_t *d = shape->dims;
    int64_t at = (int64_t)element, kv = decoder->kv_heads, own = node_int(proto, "q_num_heads", 0);
    *heads = 0;
    for (int i = 0; i < shape->rank; i++)
        if (d[i] < 1)
            return -1;
    bool rows_first = op_has(proto, OP_RESHAPES) && shape->rank == 4 && d[3] == decoder->size;
    if (shape->rank == 4 && d[1] % kv == 0 && !rows_first) { /* [batch, heads, rows, size] */
        *heads = d[1];
        return at / (d[2] * d[3]) % d[1];
    }
    if (shape->rank == 4 && d[3] == decoder->size && d[2] % kv == 0) { /* [batch, rows, heads, size] */
        *heads = d[2];
        return at / d[3] % d[2];
    }
    if (shape->rank == 5 && d[1] == kv) { /* keys of the cache, repeated for the heads that share them */
        *heads = d[1] * d[2];
        return at / (d[3] * d[4]) % *heads;
    }
    if (shape->rank != 3)
        return -1;
    if (own < 1 && d[2] % decoder->size == 0 && is_cut_into_heads(index, node))
        own = d[2] / decoder->size;
    if (own < 1 || d[2] % own)
        return -1;
    *heads = own;
    return at % d[2] / (d[2] / own);
}

/* --- A node asked for once more --- */

/* One node on the inputs that the engine gave it. */
struct look {
    struct fault_search search;
    size_t number;
    const Onnx__NodeProto *node;
    struct bounded *expected;
};

static void look_release(struct look *look)
{
    for (size_t i = 0; look->expected && i < look->node->n_output; i++)
        bounded_release(&look->expected[i]);
    free(look->expected);
    fault_search_release(&look->search);
}

static int look_at(struct look *look, const struct settle_case *which, size_t number, struct error *err)
{
    *look = (struct look){.number = number};
    if (fault_search_init(&look->search, which, err))
        return -1;
    struct recording *record = &look->search.record;
    const struct model_index *index = &look->search.test.index;
    look->node = index->model->graph->node[number];
    size_t count = 0;
    const char **names = memory_zeroed(index->n_uses[number] + look->node->n_output, sizeof *names);
    for (size_t i = 0; i < index->n_uses[number]; i++)
        names[count++] = index->values[index->uses[number][i]].name;
    for (size_t i = 0; i < look->node->n_output; i++)
        if (*look->node->output[i])
            names[count++] = look->node->output[i];
    look->expected = memory_zeroed(look->node->n_output, sizeof *look->expected);
    memory_groups_bytes(&record->values);
    int status = recording_expose(record) || recording_fetch(record, names, count) ||
                 node_expect(record, number, false, look->expected, err);
    free(names);
    return status ? -1 : 0;
}

static bool is_right(const struct bounded *expected, size_t i, const struct tensor *got)
{
    long double value = tensor_get(got, i), want = expected->value[i];
    if (isinf(bounded_hard(expected, i)) || (isnan(value) && isnan(want)) || value == want)
        return true;
    return fabsl(value - want) <= (long double)bounded_hard(expected, i);
}

/* Marks the heads of output `output` that have an element outside its bound. */
static void mark_heads(struct look *look, const struct decoder *decoder, size_t output,
                       struct decode_fault *fault, struct arena *arena)
{
    const struct tensor *got = held_values_find(&look->search.record.values, look->node->output[output]);
    const struct bounded *expected = &look->expected[output];
    int64_t heads = 0;
    if (!got || !expected->value || !shape_equal(&got->shape, &expected->shape) ||
        place_head(decoder, &look->search.test.index, look->number, &got->shape, 0, &heads) < 0)
        return;
    bool *marked = memory_zeroed((size_t)heads, sizeof *marked);
    for (size_t i = 0; i < got->count; i++)
        if (!is_right(expected, i, got))
            marked[place_head(decoder, &look->search.test.index, look->number, &got->shape, i, &heads)] =
                true;
    fault->heads = heads;
    fault->wrong = arena_array(arena, (size_t)heads, sizeof *fault->wrong);
    for (int64_t h = 0; h < heads; h++)
        if (marked[h])
            fault->wrong[fault->n_wrong++] = h;
    free(marked);
}

void place_fault(struct decode_fault *fault, const struct decoder *decoder, const struct settle_case *which,
                 const struct localization *found, struct arena *arena)
{
    fault->found = true;
    fault->kind = found->kind;
    fault->operator= fault->node = "";
    fault->layer = -1;
    fault->text = arena_strdup(arena, found->text);
    if (!found->n_culprits)
        return;
    size_t number = found->culprits[found->n_culprits - 1];
    struct look look;
    struct error err = {0};
    bool seen = look_at(&look, which, number, &err) == 0;
    if (look.node) {
        fault->operator= arena_strdup(arena, look.node->op_type);
        fault->node = arena_strdup(arena, model_node_name(look.node));
        fault->layer = place_layer(decoder, &look.search.test.index, number);
    }
    if (seen && found->verdict.output < look.node->n_output)
        mark_heads(&look, decoder, found->verdict.output, fault, arena);
    look_release(&look);
}

/* --- Near ties --- */

/* The node that computes the logits: conversions to another type and copies are passed over. */
static size_t logits_node(const struct model_index *index, const char *logits)
{
    const struct index_value *value = model_index_find(index, logits);
    for (size_t steps = 0; value && value->source == SOURCE_NODE && steps < index->count; steps++) {
        const Onnx__NodeProto *node = index->model->graph->node[value->number];
        const struct op *op = op_of(node);
        bool copies = op && op->work == WORK_MOVES && op->result == RESULT_LIKE_INPUT;
        if (!(copies || op_has(node, OP_CASTS)) || node->n_input != 1)
            return value->number;
        value = model_index_find(index, node->input[0]);
    }
    return index->model->graph->n_node;
}

bool place_tie(const struct decoder *decoder, const struct settle_case *which, size_t a, size_t b,
               double *gap, double *bound)
{
    const struct model *model = test_case_model(which->test, NULL);
    struct model_index index;
    struct look look;
    struct error err = {0};
    *gap = *bound = NAN;
    if (!model || model_index_init(&index, model, &err))
        return false;
    size_t number = logits_node(&index, decoder->logits);
    model_index_release(&index);
    if (number == model->graph->n_node)
        return false;
    bool known = look_at(&look, which, number, &err) == 0;
    const struct bounded *made = known ? &look.expected[0] : NULL;
    if (known && made->value && a < made->count && b < made->count) {
        *gap = (double)fabsl(made->value[a] - made->value[b]);
        *bound = bounded_hard(made, a) + bounded_hard(made, b);
    }
    look_release(&look);
    return *gap <= *bound;
}

/* --- Caches --- */

static bool is_earlier(const struct decode_apart *apart, size_t position, int layer, int64_t head)
{
    if (!apart->differ || position != apart->first_position)
        return !apart->differ || position < apart->first_position;
    return layer != apart->first_layer ? layer < apart->first_layer : head < apart->first_head;
}

static void compare_cache(struct decode_apart *apart, const struct decoder_input *input,
                          const struct tensor *a, const struct tensor *b)
{
    long double largest = 0;
    const int64_t *d = a->shape.dims;
    for (size_t i = 0; i < a->count; i++)
        largest = fmaxl(largest, fabsl(tensor_get(a, i)));
    for (size_t i = 0; i < a->count; i++) {
        long double x = tensor_get(a, i), y = tensor_get(b, i);
        if (x == y)
            continue;
        int64_t head = (int64_t)i / (d[2] * d[3]) % d[1];
        size_t position = (size_t)((int64_t)i / d[3] % d[2]);
        double share = largest > 0 ? (double)(fabsl(x - y) / largest) : INFINITY;
        if (is_earlier(apart, position, input->layer, head)) {
            apart->first_position = position;
            apart->first_layer = input->layer;
            apart->first_head = head;
        }
        if (!apart->differ || !(share <= apart->share)) {
            apart->share = share;
            apart->layer = input->layer;
            apart->head = head;
            apart->position = position;
            apart->name = input->present;
        }
        apart->differ = true;
    }
}

void place_apart(struct decode_apart *apart, const struct decoder *decoder, const struct result *a,
                 const struct result *b)
{
    *apart = (struct decode_apart){0};
    for (size_t i = 0; i < decoder->count; i++) {
        const struct decoder_input *input = &decoder->inputs[i];
        const struct tensor *x = input->present ? decoder_output(a, input->present) : NULL;
        const struct tensor *y = input->present ? decoder_output(b, input->present) : NULL;
        if (x && y && x->shape.rank == 4 && x->type == y->type && shape_equal(&x->shape, &y->shape))
            compare_cache(apart, input, x, y);
    }
}
