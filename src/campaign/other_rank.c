#include "campaign/other_rank.h"

#include "base/memory.h"
#include "base/str.h"
#include "case/case_gradient.h"
#include "model/build.h"
#include "ops/param_value.h"
#include "reduce/subject.h"

#include <stdlib.h>
#include <string.h>

const struct rank_change rank_changes[RANK_CHANGES] = {
    {"front-1", RANK_FRONT, 1}, {"front-2", RANK_FRONT, 2}, {"front-0", RANK_FRONT, 0},
    {"third-1", RANK_THIRD, 1}, {"third-2", RANK_THIRD, 2}, {"third-0", RANK_THIRD, 0},
    {"back-1", RANK_BACK, 1},   {"back-2", RANK_BACK, 2},   {"back-0", RANK_BACK, 0},
};

/* How a parameter follows: attributes and inputs of these names mean the same in every operator. */
enum follow {
    FOLLOW_AXES = 1, /* numbers of axes */
    FOLLOW_ORDER,    /* the axes in another order */
    FOLLOW_EACH,     /* one number for each axis, or for each axis of an image */
    FOLLOW_PAIRS,    /* the same twice: begins, then ends */
    FOLLOW_SIZES     /* the length of each axis of the result */
};

struct follower {
    const char *name;
    enum follow how;
    int64_t neutral; /* what a new axis gets */
};

static const struct follower followers[] = {
    {"axis", FOLLOW_AXES, 0},          {"axes", FOLLOW_AXES, 0},           {"perm", FOLLOW_ORDER, 0},
    {"kernel_shape", FOLLOW_EACH, 1},  {"strides", FOLLOW_EACH, 1},        {"dilations", FOLLOW_EACH, 1},
    {"repeats", FOLLOW_EACH, 1},       {"scales", FOLLOW_EACH, 1},         {"starts", FOLLOW_EACH, 0},
    {"steps", FOLLOW_EACH, 1},         {"output_padding", FOLLOW_EACH, 0}, {"pads", FOLLOW_PAIRS, 0},
    {"ends", FOLLOW_EACH, INT64_MAX},  {"shape", FOLLOW_SIZES, 0},         {"sizes", FOLLOW_SIZES, 0},
    {"output_shape", FOLLOW_SIZES, 0},
};

struct changing {
    const struct rank_change *change;
    enum rank_reading reading;
    struct subject subject;
    struct record before; /* all values of the given case */
    struct map changed;   /* names of those that have changed */
    int rank;             /* the largest of the data */
    int behind;           /* so many axes are behind the place, or behind the begin of the axis that goes */
};

/* The numbers of a parameter. */
struct list {
    size_t count; /* at most 2 more than PARAM_LIST */
    long double numbers[PARAM_LIST + 2];
};

/* The place of the axis among the axes of a node. */
struct node_place {
    int rank, place;
    bool has_axes; /* a list of axes says which ones the other lists are about */
};

static int no_such_rank(struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "the case has no such form");
}

static const struct follower *follower_of(const char *name)
{
    for (size_t i = 0; i < sizeof followers / sizeof *followers; i++)
        if (text_equal(followers[i].name, name))
            return &followers[i];
    return NULL;
}

/* Where a value of that rank has the axis; -1: it does not. */
static int place_in(const struct changing *changing, int rank)
{
    return rank > 0 ? rank - changing->behind : -1;
}

/* ---- Which values change ---- */

/* Whether a node takes the value as a parameter that follows by its name. */
static bool is_followed(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t n = 0; n < graph->n_node; n++)
        for (const struct op_param *param = param_taken(graph->node[n], name, NULL); param;
             param = param_taken(graph->node[n], name, param))
            if (follower_of(param->name))
                return true;
    return false;
}

static bool is_data(const struct changing *changing, const Onnx__NodeProto *node, size_t input)
{
    const struct op *op = op_of(node);
    if (op && op->data == DATA_NONE)
        return false;
    return input == 0 || changing->reading == RANK_OF_ALL || (op && op->data == DATA_ALL);
}

/* A kernel has the spatial axes of what it slides over. */
static bool is_kernel(const struct changing *changing, const Onnx__NodeProto *node, const char *name)
{
    const struct tensor *first = record_find(&changing->before, node->input[0]);
    const struct tensor *weights = record_find(&changing->before, name);
    return first && weights && weights->shape.rank == first->shape.rank &&
           place_in(changing, first->shape.rank) >= 2 && op_reads_as_data(node, name);
}

static bool is_data_of_some(const struct changing *changing, const char *name)
{
    const Onnx__GraphProto *graph = changing->subject.model->graph;
    bool found = false;
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t i = 0; i < graph->node[n]->n_input; i++)
            found |= text_equal(graph->node[n]->input[i], name) && is_data(changing, graph->node[n], i);
    return found && !is_followed(graph, name);
}

static bool is_kernel_of_some(const struct changing *changing, const char *name)
{
    const Onnx__GraphProto *graph = changing->subject.model->graph;
    bool found = false;
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t i = 1; i < graph->node[n]->n_input; i++)
            found |= text_equal(graph->node[n]->input[i], name) && is_kernel(changing, graph->node[n], name);
    return found;
}

/* The largest rank of the data, and with it the place. */
static int find_place(struct changing *changing, struct error *err)
{
    int64_t least = changing->change->length ? 3 : 4;
    for (size_t i = 0; i < subject_leaves(&changing->subject); i++) {
        const char *name = subject_leaf_name(&changing->subject, i);
        const struct tensor *tensor = record_find(&changing->before, name);
        if (tensor && is_data_of_some(changing, name) && tensor->shape.rank > changing->rank)
            changing->rank = tensor->shape.rank;
    }
    /* In lower ranks the third axis is the last one, or behind it. */
    if (!changing->rank || changing->rank == TENSOR_MAX_RANK ||
        (changing->change->place == RANK_THIRD && changing->rank < least))
        return no_such_rank(err);
    if (changing->change->place == RANK_BACK)
        changing->behind = changing->change->length ? 0 : 1;
    else
        changing->behind = changing->rank - (changing->change->place == RANK_THIRD ? 2 : 0);
    return 0;
}

/* ---- Tensors ---- */

/* The elements once more along a new axis. */
static int put_in(struct tensor *out, const struct tensor *tensor, int place, int64_t length,
                  struct error *err)
{
    struct shape shape = tensor->shape;
    size_t inner = 1;
    for (int i = place; i < shape.rank; i++)
        inner *= (size_t)shape.dims[i];
    memmove(shape.dims + place + 1, shape.dims + place, (size_t)(shape.rank - place) * sizeof *shape.dims);
    shape.dims[place] = length;
    shape.rank++;
    size_t row = inner * dtype_size(tensor->type);
    if (!row)
        return no_such_rank(err);
    if (tensor_alloc(out, tensor->type, &shape, 0, err))
        return -1;
    for (size_t i = 0; i < out->size / row; i++)
        memcpy((uint8_t *)out->data + i * row, (const uint8_t *)tensor->data + i / (size_t)length * row, row);
    return 0;
}

static int take_out(struct tensor *out, const struct tensor *tensor, int place, struct error *err)
{
    if (tensor->shape.dims[place] != 1)
        return no_such_rank(err);
    if (tensor_copy(out, tensor, err))
        return -1;
    out->shape.rank--;
    memmove(out->shape.dims + place, out->shape.dims + place + 1,
            (size_t)(out->shape.rank - place) * sizeof *out->shape.dims);
    return 0;
}

static int change_leaf(struct changing *changing, size_t leaf, int64_t length, struct error *err)
{
    struct tensor tensor, other;
    if (subject_leaf(&changing->subject, leaf, &tensor))
        return no_such_rank(err);
    int place = place_in(changing, tensor.shape.rank);
    int status = place < 0                  ? 0
                 : changing->change->length ? put_in(&other, &tensor, place, length, err)
                                            : take_out(&other, &tensor, place, err);
    if (place >= 0 && !status) {
        status = subject_set_leaf(&changing->subject, leaf, &other);
        map_set(&changing->changed, subject_leaf_name(&changing->subject, leaf), 0);
        tensor_release(&other);
    }
    tensor_release(&tensor);
    return status;
}

static int change_leaves(struct changing *changing, struct error *err)
{
    bool any = false;
    for (size_t i = 0; i < subject_leaves(&changing->subject); i++) {
        const char *name = subject_leaf_name(&changing->subject, i);
        bool kernel = changing->reading == RANK_OF_DATA && is_kernel_of_some(changing, name);
        if (!kernel && !is_data_of_some(changing, name))
            continue;
        if (change_leaf(changing, i, kernel ? 1 : changing->change->length, err))
            return -1;
        any |= map_has(&changing->changed, name);
    }
    return any ? 0 : no_such_rank(err);
}

/* ---- Parameters ---- */

static void insert(struct list *list, size_t at, long double number)
{
    memmove(list->numbers + at + 1, list->numbers + at, (list->count - at) * sizeof *list->numbers);
    list->numbers[at] = number;
    list->count++;
}

static void erase(struct list *list, size_t at)
{
    list->count--;
    memmove(list->numbers + at, list->numbers + at + 1, (list->count - at) * sizeof *list->numbers);
}

/* Axes keep the side that they are counted from. One that goes is left out. */
static void renumber(struct list *list, const struct node_place *at, bool more)
{
    for (size_t i = 0; i < list->count; i++) {
        long double axis = list->numbers[i] < 0 ? list->numbers[i] + at->rank : list->numbers[i];
        bool from_behind = list->numbers[i] < 0;
        if (axis < 0 || axis >= at->rank)
            continue;
        if (!more && axis == at->place) {
            erase(list, i--);
            continue;
        }
        axis += axis < at->place ? 0 : more ? 1 : -1;
        list->numbers[i] = axis - (from_behind ? at->rank + (more ? 1 : -1) : 0);
    }
}

/* Where a list of so many numbers has the axis; -1: nowhere. */
static int64_t place_in_list(const struct node_place *at, size_t count)
{
    if (count == (size_t)at->rank)
        return at->place;
    return at->rank > 2 && count == (size_t)at->rank - 2 && at->place >= 2 ? at->place - 2 : -1;
}

static void follow_each(struct list *list, const struct node_place *at, size_t halves, int64_t neutral,
                        bool more)
{
    size_t half = list->count / halves;
    int64_t place = list->count % halves ? -1 : place_in_list(at, half);
    for (size_t k = halves; place >= 0 && k > 0; k--) {
        if (more)
            insert(list, (k - 1) * half + (size_t)place, (long double)neutral);
        else
            erase(list, (k - 1) * half + (size_t)place);
    }
}

static void follow_sizes(const struct changing *changing, struct list *list)
{
    bool front = changing->change->place == RANK_FRONT;
    if (!front && list->count < (size_t)changing->behind)
        return;
    size_t place = front ? 0 : list->count - (size_t)changing->behind;
    if (changing->change->length)
        insert(list, place, (long double)changing->change->length);
    else if (place < list->count)
        erase(list, place);
}

/* False when nothing is left of what was there. */
static bool follow(const struct changing *changing, const struct node_place *at,
                   const struct follower *follower, struct list *list)
{
    bool more = changing->change->length > 0, empty = list->count == 0;
    if (follower->how == FOLLOW_AXES || follower->how == FOLLOW_ORDER)
        renumber(list, at, more);
    if (follower->how == FOLLOW_ORDER && more && list->count >= (size_t)at->place)
        insert(list, (size_t)at->place, at->place);
    if (follower->how == FOLLOW_SIZES && !at->has_axes)
        follow_sizes(changing, list);
    if (follower->how == FOLLOW_EACH && !at->has_axes)
        follow_each(list, at, 1, follower->neutral, more);
    if (follower->how == FOLLOW_PAIRS && !at->has_axes)
        follow_each(list, at, 2, follower->neutral, more);
    return empty || list->count > 0;
}

static int follow_tensor(const struct changing *changing, const struct node_place *at,
                         const struct follower *follower, const struct tensor *tensor, struct tensor *out,
                         struct error *err)
{
    struct list list = {0};
    struct shape shape = {1, {0}};
    if (tensor->count > PARAM_LIST || tensor->shape.rank > 1 || !dtype_is_real(tensor->type))
        return tensor_copy(out, tensor, err);
    for (; list.count < tensor->count; list.count++)
        list.numbers[list.count] = tensor_get(tensor, list.count);
    if (!follow(changing, at, follower, &list))
        return no_such_rank(err);
    shape.dims[0] = (int64_t)list.count;
    if (tensor_alloc(out, tensor->type, tensor->shape.rank ? &shape : &tensor->shape, 0, err))
        return -1;
    for (size_t i = 0; i < out->count; i++)
        tensor_set(out, i, list.numbers[i]);
    return 0;
}

/* The parameter is an input or initialiser; what nodes compute follows from what they are given. */
static int follow_input(struct changing *changing, const struct node_place *at,
                        const struct follower *follower, const char *name, struct error *err)
{
    for (size_t i = 0; i < subject_leaves(&changing->subject); i++) {
        struct tensor tensor, other;
        if (!text_equal(subject_leaf_name(&changing->subject, i), name) || map_has(&changing->changed, name))
            continue;
        if (subject_leaf(&changing->subject, i, &tensor))
            return no_such_rank(err);
        map_set(&changing->changed, name, 0);
        int status = follow_tensor(changing, at, follower, &tensor, &other, err);
        tensor_release(&tensor);
        if (status)
            return -1;
        status = subject_set_leaf(&changing->subject, i, &other);
        tensor_release(&other);
        return status;
    }
    return 0;
}

/* An attribute of one number, which may have been left out, or of several. */
static int follow_attribute(struct changing *changing, const struct node_place *at,
                            const struct follower *follower, const struct op_param *param,
                            Onnx__NodeProto *node, struct error *err)
{
    struct arena *arena = &changing->subject.model->arena;
    bool single = param->kind == PARAM_INT, given = node_attribute(node, param->name);
    const int64_t *values = NULL;
    int64_t numbers[PARAM_LIST + 2];
    struct list list = {0};
    size_t count = 0;
    if (single && (given || (param->initial && *param->initial))) {
        numbers[0] = node_int(node, param->name, given ? 0 : strtoll(param->initial, NULL, 10));
        values = numbers;
        count = 1;
    } else if (!node_ints(node, param->name, &values, &count) || count > PARAM_LIST)
        return 0;
    for (; list.count < count; list.count++)
        list.numbers[list.count] = values[list.count];
    if (!follow(changing, at, follower, &list) || (single && list.count != 1))
        return no_such_rank(err);
    for (size_t i = 0; i < list.count; i++)
        numbers[i] = (int64_t)list.numbers[i];
    if (single && (given || numbers[0] != strtoll(param->initial, NULL, 10)))
        node_set_int(arena, node, param->name, numbers[0]);
    else if (!single)
        node_set_ints(arena, node, param->name, numbers, list.count);
    return 0;
}

/* ---- Nodes ---- */

/* What the first input that has changed tells of the node's axes. Axes of an operator that changes shapes may
 * be those of its result. */
static bool find_node_place(const struct changing *changing, const Onnx__NodeProto *node,
                            struct node_place *at)
{
    const struct tensor *result = node->n_output ? record_find(&changing->before, node->output[0]) : NULL;
    for (size_t i = 0; i < node->n_input; i++) {
        const struct tensor *input = record_find(&changing->before, node->input[i]);
        if (!input || !map_has(&changing->changed, node->input[i]) || param_taken(node, node->input[i], NULL))
            continue;
        *at = (struct node_place){.rank = input->shape.rank};
        if (op_has(node, OP_RESHAPES) && result && result->shape.rank > at->rank)
            at->rank = result->shape.rank;
        at->place = place_in(changing, at->rank);
        at->has_axes = node_attribute(node, "axes") || param_input(node, "axes");
        return at->place >= 0;
    }
    return false;
}

static int change_node(struct changing *changing, Onnx__NodeProto *node, struct error *err)
{
    const struct op *op = op_of(node);
    struct node_place at;
    int status = 0;
    if (!find_node_place(changing, node, &at))
        return 0;
    for (size_t i = 0; i < node->n_output; i++)
        map_set(&changing->changed, node->output[i], 0);
    for (const struct op_param *param = op ? op->params : NULL; param && param->name && !status; param++) {
        const struct follower *follower = follower_of(param->name);
        if (!follower || !param_exists(param, model_opset(changing->subject.model)))
            continue;
        if (param->kind != PARAM_INPUT)
            status = follow_attribute(changing, &at, follower, param, node, err);
        else if (param->input < node->n_input)
            status = follow_input(changing, &at, follower, node->input[param->input], err);
    }
    return status;
}

/* The model's outputs are declared as what the reference computes. */
static int settle(struct changing *changing, struct error *err)
{
    const Onnx__GraphProto *graph = changing->subject.model->graph;
    struct bounded *types = memory_zeroed(graph->n_output + 1, sizeof *types);
    struct record after;
    int status = record_reference(&after, &changing->subject, err);
    for (size_t i = 0; i < graph->n_output && !status; i++) {
        const struct tensor *tensor = record_find(&after, graph->output[i]->name);
        if (!tensor)
            status = no_such_rank(err);
        else
            types[i] = (struct bounded){.type = tensor->type, .shape = tensor->shape};
    }
    if (!status)
        subject_settle_types(&changing->subject, NULL, types, graph->n_output, TYPES_OUTPUTS);
    record_release(&after);
    free(types);
    return status;
}

/* A constant is changed like any other tensor that the model brings along. */
static void constants_as_initializers(struct model *model)
{
    Onnx__GraphProto *graph = model->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__TensorProto *value =
            node_is_constant(graph->node[i]) ? node_tensor(graph->node[i], "value") : NULL;
        struct tensor tensor;
        if (value && graph->node[i]->n_output == 1 && !model_tensor_read(value, &tensor, NULL)) {
            model_add_initializer(model, graph->node[i]->output[0], &tensor);
            tensor_release(&tensor);
        } else
            graph->node[kept++] = graph->node[i];
    }
    graph->n_node = kept;
}

static int change_all(struct changing *changing, struct error *err)
{
    Onnx__GraphProto *graph = changing->subject.model->graph;
    if (find_place(changing, err) || change_leaves(changing, err))
        return -1;
    for (size_t i = 0; i < graph->n_node; i++)
        if (change_node(changing, graph->node[i], err))
            return -1;
    return settle(changing, err);
}

int case_in_other_rank(const struct test_case *given, const struct rank_change *change,
                       enum rank_reading reading, struct test_case **out, struct error *err)
{
    struct changing changing = {.change = change, .reading = reading};
    int status = subject_from_case(&changing.subject, given, err);
    if (!status) {
        changing.subject.model->path = NULL;
        constants_as_initializers(changing.subject.model);
        map_init(&changing.changed);
        status =
            record_reference(&changing.before, &changing.subject, err) || change_all(&changing, err) ? -1 : 0;
        record_release(&changing.before);
        map_release(&changing.changed);
    }
    if (!status) {
        *out = subject_to_case(&changing.subject);
        if (given->gradient && test_case_ask_like(*out, given, err)) {
            test_case_free(*out);
            status = -1;
        }
    }
    subject_release(&changing.subject);
    return status;
}
