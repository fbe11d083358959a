#include "generate/harvest.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "eval/evaluate.h"
#include "generate/block.h"
#include "generate/harvest_text.h"
#include "generate/plan.h"
#include "model/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The structures found so far, whether they became blocks or not, and a corpus in which texts are tried. */
struct harvest_state {
    struct arena arena;
    struct map structures; /* hash in hex -> number of the block, or NONE */
    struct blocks *trial;
};
#define NONE ((size_t)-1)

void harvest_init(struct harvest *harvest)
{
    *harvest = (struct harvest){.state = memory_zeroed(1, sizeof *harvest->state)};
    arena_init(&harvest->state->arena);
    map_init(&harvest->state->structures);
    harvest->state->trial = blocks_new();
}

void harvest_release(struct harvest *harvest)
{
    for (size_t i = 0; i < harvest->count; i++) {
        free(harvest->blocks[i].name);
        free(harvest->blocks[i].text);
    }
    free(harvest->blocks);
    if (harvest->state) {
        blocks_free(harvest->state->trial);
        map_release(&harvest->state->structures);
        arena_release(&harvest->state->arena);
        free(harvest->state);
    }
    *harvest = (struct harvest){0};
}

/* ---- Types and shapes of all values ---- */

struct field {
    struct model_index index;
    struct bounded *values;
    int opset;
};

/* The size used for a dimension that the model leaves unknown. */
enum { OPEN_SIZE = 2 };

static void know_input(struct bounded *b, const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto__Tensor *type =
        info && info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? info->type->tensor_type
            : NULL;
    struct shape shape = {0};
    if (!type || !type->shape || type->shape->n_dim > 6 || dtype_check(type->elem_type, NULL))
        return;
    shape.rank = (int)type->shape->n_dim;
    for (int i = 0; i < shape.rank; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
        bool given =
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value > 0;
        shape.dims[i] = given ? dim->dim_value : OPEN_SIZE;
    }
    if (bounded_alloc(b, (enum dtype)type->elem_type, &shape, true, NULL))
        bounded_init(b);
}

/* Keeps the numbers of a weight only where shapes may depend on them. */
static void know_weight(struct bounded *b, const struct model *model, size_t number)
{
    const Onnx__GraphProto *graph = model->graph;
    struct tensor tensor;
    struct shape shape = {0};
    if (number >= graph->n_initializer)
        return;
    const Onnx__TensorProto *proto = graph->initializer[number];
    size_t count = 1;
    if (proto->n_dims > 6)
        return;
    shape.rank = (int)proto->n_dims;
    for (size_t i = 0; i < proto->n_dims; i++) {
        shape.dims[i] = proto->dims[i];
        count *= (size_t)proto->dims[i];
    }
    bool small = count <= 64;
    if (small && !model_weight(model, number, &tensor, NULL)) {
        if (tensor.type != DTYPE_STRING)
            bounded_from_tensor(b, &tensor, NULL);
        tensor_release(&tensor);
    } else if (!small) {
        if (bounded_alloc(b, (enum dtype)proto->data_type, &shape, true, NULL))
            bounded_init(b);
    }
}

static void know_node(struct field *f, const Onnx__NodeProto *node)
{
    const struct bounded *inputs[64];
    struct bounded outputs[64];
    size_t number;
    if (node->n_input > 64 || node->n_output > 64 || !op_of(node))
        return;
    for (size_t i = 0; i < node->n_input; i++) {
        inputs[i] =
            *node->input[i] && map_get(&f->index.names, node->input[i], &number) ? &f->values[number] : NULL;
        if (inputs[i] && inputs[i]->type == DTYPE_NONE)
            return;
    }
    bool known = !infer_node(f->opset, node, inputs, node->n_input, outputs, node->n_output, NULL);
    for (size_t i = 0; i < node->n_output; i++) {
        if (known && *node->output[i] && map_get(&f->index.names, node->output[i], &number))
            f->values[number] = outputs[i];
        else
            bounded_release(&outputs[i]);
    }
}

static int field_init(struct field *f, const struct model *model, struct error *err)
{
    *f = (struct field){.opset = model_opset(model)};
    if (model_index_init(&f->index, model, err))
        return -1;
    f->values = memory_zeroed(f->index.count + 1, sizeof *f->values);
    for (size_t i = 0; i < f->index.count; i++) {
        const struct index_value *value = &f->index.values[i];
        if (value->source == SOURCE_INPUT)
            know_input(&f->values[i], value->info);
        else if (value->source == SOURCE_INITIALIZER)
            know_weight(&f->values[i], model, value->number);
    }
    for (size_t i = 0; i < model->graph->n_node; i++)
        know_node(f, model->graph->node[f->index.order[i]]);
    return 0;
}

static void field_release(struct field *f)
{
    for (size_t i = 0; f->values && i < f->index.count; i++)
        bounded_release(&f->values[i]);
    free(f->values);
    model_index_release(&f->index);
}

/* ---- Structure ---- */

struct cut_set {
    size_t nodes[HARVEST_MOST];
    size_t count;
};

static bool has_node(const struct cut_set *set, size_t node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->nodes[i] == node)
            return true;
    return false;
}

/* Adds a node and keeps the set in an order in which it can be computed. */
static void add_node(struct cut_set *set, const struct model_index *index, size_t node)
{
    size_t at = set->count++;
    for (; at > 0 && index->position[set->nodes[at - 1]] > index->position[node]; at--)
        set->nodes[at] = set->nodes[at - 1];
    set->nodes[at] = node;
}

/* A hash of operators and connections: each input is identified by the position of its producer, or by the
 * order of its first use. */
static uint64_t structure_of(const struct field *f, const struct cut_set *set)
{
    const Onnx__GraphProto *graph = f->index.model->graph;
    const char *outside[HARVEST_MOST * 16];
    size_t n_outside = 0;
    uint64_t hash = set->count;
    for (size_t i = 0; i < set->count; i++) {
        const Onnx__NodeProto *node = graph->node[set->nodes[i]];
        hash = hash_combine(hash, hash_text(node->op_type));
        for (size_t k = 0; k < node->n_input && k < 16; k++) {
            const struct index_value *value =
                *node->input[k] ? model_index_find(&f->index, node->input[k]) : NULL;
            uint64_t from = 1;
            for (size_t m = 0; value && value->source == SOURCE_NODE && m < i; m++)
                if (set->nodes[m] == value->number)
                    from = 100 + m;
            if (value && from == 1) {
                size_t at = 0;
                while (at < n_outside && strcmp(outside[at], value->name) != 0)
                    at++;
                if (at == n_outside)
                    outside[n_outside++] = value->name;
                from = 1000 + 2 * at + (value->source == SOURCE_INITIALIZER);
            }
            hash = hash_combine(hash, from);
        }
    }
    return hash;
}

/* ---- Opsets ---- */

/* Whether a node has another form in an opset that this libonnx may not know; other changes of that opset
 * were additions. */
static bool changes_later(const struct field *f, const struct cut_set *set)
{
    enum { LATER = 18 };
    for (size_t i = 0; i < set->count; i++) {
        const struct op *op = op_of(f->index.model->graph->node[set->nodes[i]]);
        if (op && op->history.reformed >= LATER)
            return true;
    }
    return false;
}

/* Whether libonnx accepts the block when it is placed at this opset. */
static bool valid_at(const struct block *block, int opset)
{
    struct block there = *block;
    struct plan plan = {.blocks = {&there}, .n_blocks = 1, .opset = opset, .reshape = true, .reparam = true};
    there.since = there.until = opset;
    bool valid = true;
    for (uint64_t i = 0; valid && i < 2; i++) {
        struct test_case *test;
        const uint8_t *bytes;
        uint8_t *inferred = NULL;
        size_t size, inferred_size;
        valid = !generate_plan(1, i, &plan, NULL, &test, NULL) &&
                !test_case_bytes(test, &bytes, &size, NULL) && !onnx_check(bytes, size, NULL) &&
                !onnx_infer_shapes(bytes, size, 1, &inferred, &inferred_size, NULL);
        free(inferred);
        test_case_free(test);
    }
    return valid;
}

/* Finds the opsets around the first one at which the block is valid, as far as libonnx knows them. */
static bool widen(const struct field *f, const struct cut_set *set, const struct block *block, int *since,
                  int *until)
{
    int known = onnx_max_opset();
    if (*since > known)
        return true;
    if (!valid_at(block, *since))
        return false;
    while (*since > OPSET_FIRST && valid_at(block, *since - 1))
        --*since;
    while (*until < known && valid_at(block, *until + 1))
        ++*until;
    if (*until == known && !changes_later(f, set))
        *until = OPSET_LAST;
    return true;
}

/* ---- Blocks ---- */

/* Ways to make sizes variable, the most general first. */
static const struct {
    enum opening opening;
    int low, high;
} ways[] = {
    {OPEN_ALL, 2, 6},      {OPEN_MULTIPLE, 2, 4}, {OPEN_ALL, 7, 12},
    {OPEN_MULTIPLE, 6, 9}, {OPEN_ALL, 13, 20},    {OPEN_NONE, 0, 0},
};

static char *block_name(const struct field *f, const struct cut_set *set, uint64_t hash)
{
    struct str name;
    str_init(&name);
    str_add(&name, "cut");
    for (size_t i = 0; i < set->count && i < 4; i++)
        str_printf(&name, "-%s", f->index.model->graph->node[set->nodes[i]]->op_type);
    str_printf(&name, "-%08lx", (unsigned long)(hash & 0xffffffff));
    char *text = str_detach(&name);
    str_release(&name);
    return text;
}

/* Makes a block of the set, if possible. */
static int make_block(struct harvest *h, const struct field *f, const struct cut_set *set, const char *name,
                      char **text)
{
    struct cutting cut = {.index = &f->index, .values = f->values, .nodes = set->nodes, .count = set->count};
    struct str out;
    struct error err = {0};
    int result = -1;
    cut.since = cut.until = f->opset < OPSET_FIRST ? OPSET_FIRST : f->opset;
    if (cut.since > OPSET_LAST)
        return -1;
    str_init(&out);
    for (size_t i = 0; result && i < sizeof ways / sizeof *ways; i++) {
        cut.opening = ways[i].opening;
        cut.low = ways[i].low;
        cut.high = ways[i].high;
        str_clear(&out);
        if (harvest_text(&out, &cut, &err))
            break; /* the text form cannot express it, whatever the sizes */
        result = blocks_add_text(h->state->trial, name, out.data, &err);
    }
    if (!result && !widen(f, set, blocks_find(h->state->trial, name), &cut.since, &cut.until))
        result = -1;
    str_clear(&out);
    if (!result)
        result = harvest_text(&out, &cut, &err);
    if (!result)
        *text = str_detach(&out);
    str_release(&out);
    return result;
}

static void take_set(struct harvest *h, const struct field *f, const struct cut_set *set)
{
    uint64_t hash = structure_of(f, set);
    char key[20], *text;
    size_t number;
    snprintf(key, sizeof key, "%016llx", (unsigned long long)hash);
    if (map_get(&h->state->structures, key, &number)) {
        if (number != NONE)
            h->blocks[number].seen++;
        return;
    }
    char *name = block_name(f, set, hash);
    bool made = !make_block(h, f, set, name, &text);
    map_set(&h->state->structures, arena_strdup(&h->state->arena, key), made ? h->count : NONE);
    if (!made) {
        free(name);
        h->refused++;
        return;
    }
    h->blocks = memory_grow(h->blocks, &h->capacity, h->count + 1, sizeof *h->blocks);
    h->blocks[h->count++] = (struct harvested){name, text, set->count, 1};
}

static bool usable(const struct field *f, size_t number)
{
    const Onnx__NodeProto *node = f->index.model->graph->node[number];
    const struct op *op = op_of(node);
    return op && op->work != WORK_BODIES && !(op->flags & OP_DATA_SHAPE) && node->n_input <= 16;
}

/* The next node for the set: a producer of what it uses, or a user of what it makes; NONE when there is none.
 */
static size_t next_node(const struct field *f, const struct cut_set *set, bool backwards)
{
    const Onnx__GraphProto *graph = f->index.model->graph;
    for (size_t i = 0; i < set->count; i++) {
        size_t at = backwards ? set->count - 1 - i : i;
        const Onnx__NodeProto *node = graph->node[set->nodes[at]];
        size_t count = backwards ? node->n_input : node->n_output;
        for (size_t k = 0; k < count; k++) {
            const char *name = backwards ? node->input[k] : node->output[k];
            const struct index_value *value = *name ? model_index_find(&f->index, name) : NULL;
            if (!value)
                continue;
            if (backwards && value->source == SOURCE_NODE && !has_node(set, value->number) &&
                usable(f, value->number))
                return value->number;
            for (size_t c = 0; !backwards && c < value->consumers; c++)
                if (!has_node(set, value->consumer[c]) && usable(f, value->consumer[c]))
                    return value->consumer[c];
        }
    }
    return NONE;
}

int harvest_model(struct harvest *h, const struct model *model, size_t most, struct error *err)
{
    struct field f;
    int result = field_init(&f, model, err);
    for (size_t i = 0; !result && i < model->graph->n_node; i++)
        for (int backwards = 0; backwards < 2 && usable(&f, i); backwards++) {
            struct cut_set set = {.nodes = {i}, .count = 1};
            while (set.count < HARVEST_MOST && (!most || h->count < most)) {
                size_t next = next_node(&f, &set, backwards);
                if (next == NONE)
                    break;
                add_node(&set, &f.index, next);
                take_set(h, &f, &set);
            }
        }
    field_release(&f);
    return result;
}
