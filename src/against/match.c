#include "against/match.h"

#include "base/memory.h"
#include "base/str.h"
#include "ops/op.h"

#include <math.h>
#include <stdlib.h>

/* Values may be the same one when their difference is that part of them; names of values whose cosine is less
 * are not believed. */
static const double surely_alike = 0.15, hardly_alike = 0.2;

enum { LEAST_ELEMENTS = 8 }; /* of a value that is found by its numbers alone */

const Onnx__NodeProto *match_maker(const struct model_index *index, size_t value)
{
    const struct index_value *at = &index->values[value];
    return at->source == SOURCE_NODE ? index->model->graph->node[at->number] : NULL;
}

/* Whether the node gives its first input in another form. */
static bool only_passes(const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    bool copies = op && op->work == WORK_MOVES && op->inputs.most == 1 && op->result == RESULT_LIKE_INPUT;
    return op && node->n_input && (copies || op->flags & (OP_CASTS | OP_QUANTIZES | OP_DEQUANTIZES));
}

static size_t number_of(const struct model_index *index, const char *name)
{
    size_t number;
    return *name && map_get(&index->names, name, &number) ? number : NO_VALUE;
}

/* The value with which the chain of this one begins. */
static size_t find_root(const struct model_index *index, size_t value)
{
    const Onnx__NodeProto *node = match_maker(index, value);
    for (size_t steps = 0; node && only_passes(node) && steps < index->count; steps++) {
        size_t before = number_of(index, node->input[0]);
        if (before == NO_VALUE)
            break;
        value = before;
        node = match_maker(index, value);
    }
    return value;
}

bool match_is_constant(const struct model_index *index, size_t value)
{
    size_t root = find_root(index, value);
    const Onnx__NodeProto *node = match_maker(index, root);
    return index->values[root].source == SOURCE_INITIALIZER || (node && node_is_constant(node));
}

/* Whether a value of the chain leaves it: some node reads it that does more than change its form, or it is an
 * output. */
static bool is_read(const struct model_index *index, size_t value)
{
    const struct index_value *at = &index->values[value];
    bool read = at->is_output;
    for (size_t i = 0; i < at->consumers && !read; i++) {
        const Onnx__NodeProto *node = index->model->graph->node[at->consumer[i]];
        read = !only_passes(node) || number_of(index, node->input[0]) != value;
    }
    return read;
}

/* Whether levels stand here: only a node that makes numbers of them knows what they mean. */
static bool has_levels(const struct model_index *index, size_t value)
{
    const Onnx__NodeProto *node = match_maker(index, value);
    return node && op_has(node, OP_QUANTIZES);
}

static bool same_operator(const Onnx__NodeProto *a, const Onnx__NodeProto *b)
{
    return a && b ? text_equal(op_title(a), op_title(b)) : a == b;
}

/* A chain becomes a layer. The end is the first value of the chain that leaves it. */
static void add_layer(struct match *match, size_t other, size_t root, enum matched_by by)
{
    size_t number = match->n_layers;
    match->layers = memory_grow(match->layers, &match->layers_capacity, number + 1, sizeof *match->layers);
    struct match_layer *layer = &match->layers[match->n_layers++];
    *layer = (struct match_layer){.other = other, .made = root, .passed = NO_VALUE, .by = by};
    match->reverse[other] = number;
    for (size_t i = 0; i < match->model->count; i++) {
        if (match->root[i] != root || has_levels(match->model, i))
            continue;
        match->layer[i] = number;
        if (i != root && layer->passed == NO_VALUE && is_read(match->model, i))
            layer->passed = i;
    }
}

static bool is_free(const struct match *match, size_t other, size_t root)
{
    return match->reverse[other] == NO_VALUE && match->layer[root] == NO_VALUE &&
           !match_is_constant(match->other, other) && !match_is_constant(match->model, root);
}

/* Names alone tell little where they are numbers: then the operator must be the same too. */
static bool name_speaks(const char *name)
{
    bool letters = false;
    for (; *name; name++)
        letters |= *name < '0' || *name > '9';
    return letters;
}

static void by_names(struct match *match)
{
    for (size_t i = 0; i < match->other->count; i++) {
        const char *name = match->other->values[i].name;
        size_t at = number_of(match->model, name), root = at == NO_VALUE ? at : match->root[at];
        if (at == NO_VALUE || !is_free(match, i, root))
            continue;
        const Onnx__NodeProto *here = match_maker(match->model, root), *there = match_maker(match->other, i);
        bool input = !here && !there;
        if (input || (here && there && (name_speaks(name) || same_operator(here, there))))
            add_layer(match, i, root, MATCHED_BY_NAME);
    }
}

/* Nodes that kept their names while their values got others. */
static void by_node_names(struct match *match)
{
    const Onnx__GraphProto *model = match->model->model->graph, *other = match->other->model->graph;
    struct map names;
    map_init(&names);
    for (size_t i = 0; i < model->n_node; i++)
        if (name_speaks(model->node[i]->name))
            map_set(&names, model->node[i]->name, i);
    for (size_t i = 0; i < other->n_node; i++) {
        const Onnx__NodeProto *there = other->node[i], *here;
        size_t number;
        if (!map_get(&names, there->name, &number))
            continue;
        here = model->node[number];
        for (size_t k = 0; same_operator(here, there) && k < here->n_output && k < there->n_output; k++) {
            size_t at = number_of(match->model, here->output[k]);
            size_t of = number_of(match->other, there->output[k]);
            if (at != NO_VALUE && of != NO_VALUE && is_free(match, of, at))
                add_layer(match, of, at, MATCHED_BY_NAME);
        }
    }
    map_release(&names);
}

/* Inputs and outputs that have other names stand in the same places. */
static void by_place(struct match *match)
{
    const Onnx__GraphProto *model = match->model->model->graph, *other = match->other->model->graph;
    for (size_t i = 0; i < model->n_input && i < other->n_input; i++) {
        size_t at = number_of(match->model, model->input[i]->name);
        size_t there = number_of(match->other, other->input[i]->name);
        if (at != NO_VALUE && there != NO_VALUE && is_free(match, there, match->root[at]))
            add_layer(match, there, match->root[at], MATCHED_BY_STRUCTURE);
    }
    for (size_t i = 0; i < model->n_output && i < other->n_output; i++) {
        size_t at = number_of(match->model, model->output[i]->name);
        size_t there = number_of(match->other, other->output[i]->name);
        if (at != NO_VALUE && there != NO_VALUE && is_free(match, there, match->root[at]))
            add_layer(match, there, match->root[at], MATCHED_BY_STRUCTURE);
    }
}

/* Whether the node of MODEL reads in each place the layer, or some constant, that the other's node reads
 * there. */
static bool reads_alike(const struct match *match, const Onnx__NodeProto *here, const Onnx__NodeProto *there)
{
    bool alike = same_operator(here, there) && here->n_input == there->n_input, layers = false;
    for (size_t i = 0; i < there->n_input && alike; i++) {
        size_t at = number_of(match->model, here->input[i]), of = number_of(match->other, there->input[i]);
        if (at == NO_VALUE || of == NO_VALUE) {
            alike = at == of;
        } else if (match_is_constant(match->other, of)) {
            alike = match_is_constant(match->model, at);
        } else {
            alike = match->reverse[of] != NO_VALUE && match->layer[match->root[at]] == match->reverse[of];
            layers = true;
        }
    }
    return alike && layers;
}

/* Matches the outputs of a node of OTHER that a single node of MODEL, not matched yet, is like. */
static bool match_node(struct match *match, const Onnx__NodeProto *there)
{
    const Onnx__GraphProto *graph = match->model->model->graph;
    const Onnx__NodeProto *found = NULL;
    size_t count = 0, of = there->n_output ? number_of(match->other, there->output[0]) : NO_VALUE;
    for (size_t i = 0; i < graph->n_node && of != NO_VALUE && match->reverse[of] == NO_VALUE; i++) {
        const Onnx__NodeProto *here = graph->node[i];
        size_t at = here->n_output ? number_of(match->model, here->output[0]) : NO_VALUE;
        if (at == NO_VALUE || match->layer[at] != NO_VALUE || !reads_alike(match, here, there))
            continue;
        found = here;
        count++;
    }
    for (size_t i = 0; count == 1 && i < found->n_output && i < there->n_output; i++) {
        size_t at = number_of(match->model, found->output[i]);
        size_t other = number_of(match->other, there->output[i]);
        if (at != NO_VALUE && other != NO_VALUE && is_free(match, other, at))
            add_layer(match, other, at, MATCHED_BY_STRUCTURE);
    }
    return count == 1;
}

static void by_structure(struct match *match)
{
    const struct model_index *other = match->other;
    for (size_t i = 0; i < other->model->graph->n_node; i++)
        match_node(match, other->model->graph->node[other->order[i]]);
}

static size_t *no_values(size_t count)
{
    size_t *numbers = memory_zeroed(count + 1, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = NO_VALUE;
    return numbers;
}

void match_init(struct match *match, const struct model_index *model, const struct model_index *other)
{
    *match = (struct match){
        .model = model,
        .other = other,
        .root = no_values(model->count),
        .layer = no_values(model->count),
        .weight = no_values(model->count),
        .reverse = no_values(other->count),
    };
    for (size_t i = 0; i < model->count; i++)
        match->root[i] = find_root(model, i);
    by_names(match);
    by_node_names(match);
    by_place(match);
    by_structure(match);
}

void match_release(struct match *match)
{
    free(match->layers);
    free(match->weights);
    free(match->root);
    free(match->layer);
    free(match->weight);
    free(match->reverse);
    *match = (struct match){0};
}

double match_cosine(const struct tensor *a, const struct tensor *b)
{
    long double ab = 0, aa = 0, bb = 0;
    if (!a->data || !b->data || a->count != b->count || !a->count)
        return NAN;
    for (size_t i = 0; i < a->count; i++) {
        long double x = tensor_get(a, i), y = tensor_get(b, i);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return (double)(ab / sqrtl(aa * bb));
}

/* The values are no longer matched. The layer stays, without any. */
static void drop_layer(struct match *match, size_t number)
{
    struct match_layer *layer = &match->layers[number];
    match->reverse[layer->other] = NO_VALUE;
    for (size_t i = 0; i < match->model->count; i++)
        if (match->layer[i] == number)
            match->layer[i] = NO_VALUE;
    layer->made = layer->passed = NO_VALUE;
}

/* Matches whose numbers have nothing in common, as a name or a place was given to something else. */
static void drop_strangers(struct match *match, const struct tensor *model, const struct tensor *other)
{
    for (size_t i = 0; i < match->n_layers; i++) {
        struct match_layer *layer = &match->layers[i];
        const struct tensor *a = &model[layer->made], *b = &other[layer->other];
        bool same =
            same_operator(match_maker(match->model, layer->made), match_maker(match->other, layer->other));
        if (a->data && b->data && (a->count != b->count || (!same && match_cosine(a, b) < hardly_alike)))
            drop_layer(match, i);
    }
}

static double distance(const struct tensor *a, const struct tensor *b)
{
    long double sum = 0;
    for (size_t i = 0; i < a->count; i++) {
        long double apart = tensor_get(a, i) - tensor_get(b, i);
        sum += apart * apart;
    }
    return (double)sum;
}

/* The difference of two values as a part of the second; NaN for zeros. A factor between them counts. */
static double apart_of(const struct tensor *a, const struct tensor *b)
{
    long double size = 0;
    for (size_t i = 0; i < b->count; i++)
        size += tensor_get(b, i) * tensor_get(b, i);
    return size > 0 ? sqrt(distance(a, b) / (double)size) : NAN;
}

/* The root that is most like the value, if it surely is. */
static size_t most_alike(const struct match *match, const struct tensor *model, const struct tensor *value)
{
    size_t best = NO_VALUE;
    double least = surely_alike;
    for (size_t i = 0; i < match->model->count; i++) {
        bool open = match->root[i] == i && match->layer[i] == NO_VALUE && model[i].data &&
                    model[i].count == value->count && dtype_is_float(model[i].type);
        double apart = open && !match_is_constant(match->model, i) ? apart_of(&model[i], value) : NAN;
        if (apart < least) {
            least = apart;
            best = i;
        }
    }
    return best;
}

/* The end of a chain becomes a layer of its own: the value behind an activation that MODEL does by the range
 * of its levels. */
static void move_end(struct match *match, size_t number, size_t other)
{
    struct match_layer layer = match->layers[number];
    size_t made = match->n_layers;
    match->layers = memory_grow(match->layers, &match->layers_capacity, made + 1, sizeof *match->layers);
    match->layers[match->n_layers++] = (struct match_layer){
        .other = other, .made = NO_VALUE, .passed = layer.passed, .by = MATCHED_BY_VALUES};
    match->layers[number].passed = NO_VALUE;
    match->reverse[other] = made;
    for (size_t i = 0; i < match->model->count; i++)
        if (match->layer[i] == number && i != layer.made)
            match->layer[i] = made;
}

static void find_end(struct match *match, size_t number, const struct tensor *model,
                     const struct tensor *other)
{
    const struct match_layer *layer = &match->layers[number];
    if (layer->passed == NO_VALUE || !model[layer->passed].data || !other[layer->other].data)
        return;
    const struct index_value *value = &match->other->values[layer->other];
    const struct tensor *end = &model[layer->passed];
    for (size_t i = 0; i < value->consumers; i++) {
        const Onnx__NodeProto *node = match->other->model->graph->node[value->consumer[i]];
        const struct op *op = op_of(node);
        bool cuts = op && (op->flags & OP_LEVELS_OFF || op->range.rule == RANGE_RELU);
        size_t behind = cuts ? number_of(match->other, node->output[0]) : NO_VALUE;
        if (behind == NO_VALUE || match->reverse[behind] != NO_VALUE || !other[behind].data ||
            other[behind].count != end->count || end->count != other[layer->other].count)
            continue;
        if (distance(&other[behind], end) < distance(&other[layer->other], end) / 2) {
            move_end(match, number, behind);
            break;
        }
    }
}

void match_by_values(struct match *match, const struct tensor *model, const struct tensor *other)
{
    drop_strangers(match, model, other);
    size_t before = match->n_layers;
    for (size_t i = 0; i < before; i++)
        find_end(match, i, model, other);
    by_structure(match);
    for (size_t i = 0; i < match->other->model->graph->n_node; i++) {
        const Onnx__NodeProto *node = match->other->model->graph->node[match->other->order[i]];
        for (size_t o = 0; o < node->n_output; o++) {
            size_t value = number_of(match->other, node->output[o]);
            bool open = value != NO_VALUE && match->reverse[value] == NO_VALUE && other[value].data &&
                        dtype_is_float(other[value].type) && other[value].count >= LEAST_ELEMENTS;
            size_t root = open ? most_alike(match, model, &other[value]) : NO_VALUE;
            if (root != NO_VALUE && is_free(match, value, root))
                add_layer(match, value, root, MATCHED_BY_VALUES);
        }
        match_node(match, node);
    }
}

static void add_weight(struct match *match, struct match_weight weight)
{
    if (match->weight[weight.model] != NO_VALUE)
        return;
    size_t number = match->n_weights;
    match->weights = memory_grow(match->weights, &match->weights_capacity, number + 1, sizeof weight);
    match->weights[match->n_weights++] = weight;
    match->weight[weight.model] = number;
}

void match_weights(struct match *match)
{
    for (size_t i = 0; i < match->n_layers; i++) {
        const struct match_layer *layer = &match->layers[i];
        const Onnx__NodeProto *here = layer->made == NO_VALUE ? NULL : match_maker(match->model, layer->made);
        const Onnx__NodeProto *there = match_maker(match->other, layer->other);
        if (!here || !there || !same_operator(here, there))
            continue;
        for (size_t k = 0; k < here->n_input && k < there->n_input; k++) {
            size_t at = number_of(match->model, here->input[k]),
                   of = number_of(match->other, there->input[k]);
            if (at != NO_VALUE && of != NO_VALUE && match_is_constant(match->model, at) &&
                match_is_constant(match->other, of))
                add_weight(match, (struct match_weight){.other = of, .model = at, .layer = i});
        }
    }
}
