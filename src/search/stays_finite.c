#include "search/stays_finite.h"

#include "base/map.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* How much larger results may be than a row says of the usual ones. */
#define GENEROUS 1e6L

struct size {
    bool varies;      /* depends on an input */
    bool nan;         /* may be NaN */
    long double most; /* INFINITY: may be infinite */
};

struct sizes {
    struct map numbers; /* of names */
    size_t count, room;
    struct size *of;
};

static void put_size(struct sizes *sizes, const char *name, struct size size)
{
    size_t number;
    if (!map_get(&sizes->numbers, name, &number)) {
        number = sizes->count++;
        sizes->of = memory_grow(sizes->of, &sizes->room, sizes->count, sizeof *sizes->of);
        map_set(&sizes->numbers, name, number);
    }
    sizes->of[number] = size;
}

static long double largest(const struct bounded *b)
{
    long double most = 0;
    for (size_t i = 0; b->value && i < b->count; i++)
        most = isnan(b->value[i]) ? INFINITY : fmaxl(most, fabsl(b->value[i]));
    return most;
}

/* A value that no node made and no input is, such as a weight, has its own size. */
static struct size size_of(const struct sizes *sizes, const char *name, const struct bounded *b)
{
    size_t number;
    if (map_get(&sizes->numbers, name, &number))
        return sizes->of[number];
    long double most = largest(b);
    return (struct size){.nan = isinf(most), .most = most};
}

/* Whether a function of single elements with a fixed range is finite at both infinities, as Tanh is. */
static bool saturates(const struct op_call *call)
{
    struct bounded ends, result;
    const struct bounded *inputs[] = {&ends};
    struct error err = {0};
    struct op_call at_ends = *call;
    bool finite = false;
    if (call->op->range.rule != RANGE_FIXED || call->op->work != WORK_ELEMENTS || call->n_inputs != 1)
        return false;
    bounded_init(&ends);
    bounded_init(&result);
    at_ends.inputs = inputs;
    at_ends.n_outputs = 1;
    at_ends.outputs = &result;
    at_ends.err = &err;
    if (bounded_alloc(&ends, call->inputs[0]->type, &(struct shape){.rank = 1, .dims = {2}}, false, &err) ==
        0) {
        ends.value[0] = INFINITY;
        ends.value[1] = -INFINITY;
        finite = call->op->eval(&at_ends) == 0 && isfinite(largest(&result));
    }
    bounded_release(&ends);
    bounded_release(&result);
    return finite;
}

/* Of operators with a fixed range, those that want certain inputs keep it for any input only when it is that
 * of a sine or a share. */
static long double fixed_size(const struct op_range *range, long double most)
{
    long double gives = fmaxl(fabsl((long double)range->gives.low), fabsl((long double)range->gives.high));
    bool usual = (range->wants.low == 0 && range->wants.high == 0) || gives <= 1 ||
                 (most <= range->wants.high && -most >= range->wants.low);
    return usual ? GENEROUS * gives : INFINITY;
}

static bool has_edges(const struct op *op)
{
    for (size_t i = 0; i < OP_DANGERS; i++)
        if (op->dangers[i].kind == DANGER_DOMAIN || op->dangers[i].kind == DANGER_POLE ||
            op->dangers[i].kind == DANGER_POWER)
            return true;
    return false;
}

/* Whether the results are elements of the inputs, up to their signs. */
static bool moves(const struct op *op)
{
    return op->work == WORK_MOVES || op->range.rule == RANGE_MOVE || op->range.rule == RANGE_RELU;
}

/* What the row says about the size of the result for finite inputs of these sizes. */
static long double result_size(const struct op *op, long double most, long double sum, long double product,
                               long double count)
{
    switch (op->range.rule) {
    case RANGE_FIXED:
        return fixed_size(&op->range, most);
    case RANGE_LIKE_INPUTS:
        return GENEROUS * (1 + sum);
    case RANGE_ADD:
    case RANGE_REDUCE:
        return GENEROUS * count * sum;
    case RANGE_MUL:
    case RANGE_DOT:
        return GENEROUS * count * product;
    case RANGE_SQUARE:
        return count * most * most;
    case RANGE_EXP:
        return expl(most);
    default:
        return INFINITY;
    }
}

static struct size size_of_result(const struct sizes *sizes, const struct op_call *call)
{
    long double most = 0, sum = 0, product = 1, count = 1;
    struct size result = {false, false, 0};
    for (size_t i = 0; i < call->n_inputs && i < call->node->n_input; i++) {
        if (!call->inputs[i])
            continue;
        struct size size = size_of(sizes, call->node->input[i], call->inputs[i]);
        result.varies = result.varies || size.varies;
        result.nan = result.nan || size.nan;
        most = fmaxl(most, size.most);
        sum += size.most;
        product *= 1 + size.most;
        count += (long double)call->inputs[i]->count;
    }
    bool settles = isinf(most) && saturates(call);
    result.most = moves(call->op) ? most
                  : settles       ? GENEROUS
                                  : result_size(call->op, most, sum, product, count);
    result.nan = result.nan || has_edges(call->op) || (isinf(most) && !moves(call->op) && !settles);
    return result;
}

static int follow(void *context, struct op_call *call)
{
    struct sizes *sizes = context;
    int status = call->op->eval(call);
    if (status)
        return status;
    struct size size = size_of_result(sizes, call);
    bool shape = call->op->work == WORK_SHAPE; /* the shape of an input is always the same */
    for (size_t i = 0; i < call->node->n_output && i < call->n_outputs; i++) {
        const struct bounded *b = &call->outputs[i];
        struct size own = size;
        if (shape || (!size.varies && call->op->work != WORK_BODIES))
            own = (struct size){false, false, largest(b)};
        else if (call->op->work == WORK_BODIES)
            own = (struct size){true, true, INFINITY}; /* bodies may use inputs that are not the node's */
        else if (!dtype_is_float(b->type))
            own = (struct size){true, false, dtype_highest(b->type)};
        else if (!(own.most <= dtype_highest(b->type)))
            own.most = INFINITY;
        put_size(sizes, call->node->output[i], own);
    }
    return 0;
}

static bool outputs_are_finite(const struct sizes *sizes, const struct model *model)
{
    size_t number;
    for (size_t i = 0; i < model->graph->n_output; i++)
        if (!map_get(&sizes->numbers, model->graph->output[i]->name, &number) || sizes->of[number].nan ||
            !isfinite(sizes->of[number].most))
            return false;
    return true;
}

int stays_finite(const struct model *model, const struct value *inputs, size_t n_inputs, bool *stays,
                 struct error *err)
{
    struct sizes sizes = {0};
    struct evaluator *evaluator;
    struct bounded *results;
    size_t count;
    map_init(&sizes.numbers);
    for (size_t i = 0; i < n_inputs; i++)
        if (inputs[i].kind == VALUE_TENSOR && inputs[i].name)
            put_size(&sizes, inputs[i].name,
                     (struct size){true, false, dtype_highest(inputs[i].tensors[0].type)});
    struct evaluate_options how = {.round = true, .hook = follow, .context = &sizes};
    int status = evaluator_new(&evaluator, model, &how, err);
    if (!status) {
        status = evaluator_run(evaluator, inputs, n_inputs, NULL, 0, &results, &count, err);
        for (size_t i = 0; !status && i < count; i++)
            bounded_release(&results[i]);
        if (!status)
            free(results);
        evaluator_free(evaluator);
    }
    *stays = !status && outputs_are_finite(&sizes, model);
    map_release(&sizes.numbers);
    free(sizes.of);
    return status;
}
