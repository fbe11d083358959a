#include "search/danger.h"

#include "base/memory.h"
#include "search/danger_distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct danger_meter {
    struct evaluator *evaluator;
    size_t n_nodes, room, expected; /* expected: the node that was next in the last run */
    struct {
        const Onnx__NodeProto *node;
        struct danger_place nearest[NEAR_KINDS];
    } * nodes;
    struct danger *total;
};

static void closer(struct danger_place *place, double distance, size_t element, long double margin)
{
    if (distance < place->distance) {
        place->distance = distance;
        place->element = element;
        place->margin = (double)margin;
    }
}

static bool has_numbers(const struct bounded *b)
{
    return b && b->value && b->count > 0;
}

static long double shift_of(const struct op_call *call, const struct op_danger *danger)
{
    return danger->attribute ? call_float(call, danger->attribute, danger->otherwise) : 0;
}

static void near_domain(const struct op_call *call, const struct op_danger *danger, const struct bounded *b,
                        struct danger_place *nearest)
{
    long double shift = shift_of(call, danger);
    for (size_t i = 0; i < b->count; i++) {
        long double x = b->value[i] + shift;
        long double low = x - danger->inside.low, high = danger->inside.high - x;
        long double margin = low < high ? low : high;
        if (isfinite(x))
            closer(&nearest[NEAR_DOMAIN], distance_to_edge(b->type, margin), i, margin);
    }
}

static void near_pole(const struct op_call *call, const struct op_danger *danger, const struct bounded *b,
                      struct danger_place *nearest)
{
    long double shift = shift_of(call, danger) - danger->at;
    for (size_t i = 0; i < b->count; i++) {
        long double x = b->value[i] + shift;
        if (isfinite(x))
            closer(&nearest[NEAR_DIVISION], distance_to_pole(b->type, x), i, x);
    }
}

/* Walks two inputs that broadcast together; without a common shape only the first pairs count. */
static void near_power(const struct op_call *call, struct danger_place *nearest)
{
    const struct bounded *base = call->inputs[0], *exponent = call->inputs[1];
    if (!has_numbers(base) || !has_numbers(exponent))
        return;
    for (size_t i = 0; i < base->count; i++) {
        long double x = base->value[i], y = exponent->value[exponent->count == base->count ? i : 0];
        if (!isfinite(x) || !isfinite(y))
            continue;
        if (y != rintl(y))
            closer(&nearest[NEAR_DOMAIN], distance_to_edge(base->type, x), i, x);
        if (y < 0)
            closer(&nearest[NEAR_DIVISION], distance_to_pole(base->type, x), i, x);
    }
}

static void near_exp(const struct op_danger *danger, const struct bounded *b, struct danger_place *nearest)
{
    for (size_t i = 0; i < b->count; i++) {
        long double x = danger->power == 0 ? fabsl(b->value[i]) : danger->power * b->value[i];
        closer(&nearest[NEAR_EXP], distance_to_exp_overflow(b->type, x), i, 0);
    }
}

/* The largest element decides; one that is no number is there already. */
static void near_overflow(double power, const struct bounded *b, struct danger_place *nearest)
{
    size_t largest = 0;
    for (size_t i = 1; i < b->count && isfinite(b->value[largest]); i++)
        if (!(fabsl(b->value[i]) <= fabsl(b->value[largest])))
            largest = i;
    closer(&nearest[NEAR_OVERFLOW], distance_to_overflow(b->type, b->value[largest], power), largest, 0);
}

static void near_danger(const struct op_call *call, const struct op_danger *danger,
                        struct danger_place *nearest)
{
    const struct bounded *b = call_input(call, danger->input);
    if (!has_numbers(b))
        return;
    switch (danger->kind) {
    case DANGER_NONE:
        break;
    case DANGER_DOMAIN:
        near_domain(call, danger, b, nearest);
        break;
    case DANGER_POLE:
        near_pole(call, danger, b, nearest);
        break;
    case DANGER_POWER:
        near_power(call, nearest);
        break;
    case DANGER_EXP:
        near_exp(danger, b, nearest);
        break;
    case DANGER_INNER:
        near_overflow(danger->power, b, nearest);
        break;
    case DANGER_STEP:
    case DANGER_JUMP:
    case DANGER_COMPARE:
    case DANGER_TIE: /* both sides of a jump are numbers */
        break;
    }
}

/* Whether the results are sums of their inputs, or of products of them. */
static bool adds(const struct op *op)
{
    enum op_range_rule rule = op->range.rule;
    bool inner = false;
    for (size_t i = 0; i < OP_DANGERS; i++)
        inner |= op->dangers[i].kind == DANGER_INNER;
    return rule == RANGE_ADD || rule == RANGE_DOT || rule == RANGE_REDUCE || inner;
}

/* Terms of a sum are as large as the inputs, each with either sign: of the largest of both signs the smaller
 * one counts. A sum of products has both signs as soon as one of its factors has. */
static void near_opposite(const struct op_call *call, struct danger_place *nearest)
{
    enum dtype type = call->outputs[0].type;
    double high = 1, low = 1;
    size_t element = 0;
    for (size_t k = 0; dtype_is_float(type) && k < call->n_inputs; k++) {
        const struct bounded *b = call->inputs[k];
        if (!has_numbers(b) || b->type != type)
            continue;
        size_t most = 0, least = 0;
        for (size_t i = 1; i < b->count; i++) {
            most = b->value[i] > b->value[most] ? i : most;
            least = b->value[i] < b->value[least] ? i : least;
        }
        if (b->value[most] > 0)
            high = fmin(high, distance_to_overflow(type, b->value[most], 1));
        if (b->value[least] < 0)
            low = fmin(low, distance_to_overflow(type, b->value[least], 1));
        element = k == 0 ? least : element;
    }
    closer(&nearest[NEAR_OPPOSITE], fmax(high, low), element, 0);
}

void danger_of_call(const struct op_call *call, struct danger_place *nearest)
{
    for (size_t i = 0; i < OP_DANGERS && call->op->dangers[i].kind; i++)
        near_danger(call, &call->op->dangers[i], nearest);
    for (size_t i = 0; i < call->n_outputs; i++)
        if (has_numbers(&call->outputs[i]) && dtype_is_float(call->outputs[i].type))
            near_overflow(1, &call->outputs[i], nearest);
    if (adds(call->op))
        near_opposite(call, nearest);
}

/* The number of a node. Runs visit the nodes in the same order, so it is nearly always the expected one. */
static size_t number_of(struct danger_meter *meter, const Onnx__NodeProto *node)
{
    size_t i = meter->expected;
    if (i >= meter->n_nodes || meter->nodes[i].node != node)
        for (i = 0; i < meter->n_nodes && meter->nodes[i].node != node;)
            i++;
    if (i == meter->n_nodes) {
        meter->nodes = memory_grow(meter->nodes, &meter->room, i + 1, sizeof *meter->nodes);
        memset(&meter->nodes[i], 0, sizeof *meter->nodes);
        meter->nodes[i].node = node;
        for (size_t k = 0; k < NEAR_KINDS; k++)
            meter->nodes[i].nearest[k].distance = 1;
        meter->n_nodes++;
    }
    meter->expected = i + 1;
    return i;
}

static void count_strange(struct danger *danger, const struct bounded *b, size_t node)
{
    for (size_t i = 0; has_numbers(b) && dtype_is_float(b->type) && i < b->count; i++) {
        bool nan = isnan(b->value[i]), infinite = isinf(b->value[i]);
        if ((nan || infinite) && danger->nans + danger->infinities == 0)
            danger->first_strange = node;
        danger->nans += nan;
        danger->infinities += infinite;
    }
}

static int watch(void *context, struct op_call *call)
{
    struct danger_meter *meter = context;
    int status = call->op->eval(call);
    if (status || call->shapes_only)
        return status;
    size_t node = number_of(meter, call->node);
    danger_of_call(call, meter->nodes[node].nearest);
    for (size_t i = 0; i < call->n_outputs; i++)
        count_strange(meter->total, &call->outputs[i], node);
    return 0;
}

int danger_meter_new(struct danger_meter **meter, const struct model *model, struct error *err)
{
    *meter = memory_zeroed(1, sizeof **meter);
    struct evaluate_options how = {.round = true, .hook = watch, .context = *meter};
    if (evaluator_new(&(*meter)->evaluator, model, &how, err) == 0)
        return 0;
    free(*meter);
    *meter = NULL;
    return -1;
}

void danger_meter_free(struct danger_meter *meter)
{
    if (!meter)
        return;
    evaluator_free(meter->evaluator);
    free(meter->nodes);
    free(meter);
}

static void gather_nearest(const struct danger_meter *meter, struct danger *danger)
{
    for (size_t i = 0; i < meter->n_nodes; i++)
        for (size_t k = 0; k < NEAR_KINDS; k++)
            if (meter->nodes[i].nearest[k].distance < danger->nearest[k].distance) {
                danger->nearest[k] = meter->nodes[i].nearest[k];
                danger->nearest[k].node = i;
            }
}

int danger_measure(struct danger_meter *meter, const struct value *inputs, size_t n_inputs,
                   struct danger *danger, struct error *err)
{
    struct bounded *results;
    size_t count;
    memset(danger, 0, sizeof *danger);
    for (size_t k = 0; k < NEAR_KINDS; k++) {
        danger->nearest[k].distance = 1;
        for (size_t i = 0; i < meter->n_nodes; i++)
            meter->nodes[i].nearest[k] = (struct danger_place){.distance = 1, .node = i};
    }
    meter->total = danger;
    meter->expected = 0;
    int status = evaluator_run(meter->evaluator, inputs, n_inputs, NULL, 0, &results, &count, err);
    for (size_t i = 0; !status && i < count; i++)
        bounded_release(&results[i]);
    if (!status)
        free(results);
    gather_nearest(meter, danger);
    return status;
}

size_t danger_nodes(const struct danger_meter *meter)
{
    return meter->n_nodes;
}

const Onnx__NodeProto *danger_node(const struct danger_meter *meter, size_t node)
{
    return meter->nodes[node].node;
}

const struct danger_place *danger_of_node(const struct danger_meter *meter, size_t node,
                                          enum danger_kind kind)
{
    return &meter->nodes[node].nearest[kind];
}
