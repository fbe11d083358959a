/* Estimated ranges of the numbers in a plan's graph (range_of_data and its like in planner.h). */
#include "generate/planner.h"

#include <math.h>

void range_of_data(struct maker_value *value, const struct tensor *data)
{
    double low = 0, high = 0;
    for (size_t i = 0; i < data->count; i++) {
        double x =
            data->type == DTYPE_FLOAT ? (double)((const float *)data->data)[i] : (double)tensor_get(data, i);
        if (isnan(x))
            continue;
        low = i == 0 || x < low ? x : low;
        high = i == 0 || x > high ? x : high;
    }
    value->low = low;
    value->high = high;
}

bool range_wanted(const struct op *op, double *low, double *high)
{
    const struct op_interval *wanted = &op->range.wants;
    *low = wanted->low;
    *high = wanted->high;
    return wanted->low != 0 || wanted->high != 0;
}

bool range_wild(const struct maker_value *value)
{
    double most = 1e4;
    if (value->value.type == DTYPE_FLOAT16)
        most = 100;
    else if (value->value.type == DTYPE_INT8 || value->value.type == DTYPE_UINT8)
        most = 100;
    return !(fabs(value->low) <= most && fabs(value->high) <= most);
}

static double size_of(const struct maker_value *v)
{
    return v ? fmax(fabs(v->low), fabs(v->high)) : 0;
}

static double ratio(const struct maker_value *in, const struct maker_value *out)
{
    return in && out->value.count ? fmax(1, (double)in->value.count / (double)out->value.count) : 1;
}

/* An estimate of the number of terms of a dot product: the elements of the smaller operand per output, or the
 * root of it. */
static double terms(const struct maker_value *a, const struct maker_value *b)
{
    double n = b ? fmin((double)a->value.count, (double)b->value.count) : (double)a->value.count;
    return fmax(1, sqrt(n));
}

void range_of_output(struct planner *g, const struct op *op, const Onnx__NodeProto *node,
                     struct maker_value *output)
{
    const struct maker_value *inputs[3] = {NULL};
    double low = 0, high = 0, sum = 0, product = 1;
    for (size_t i = 0, seen = 0; i < node->n_input; i++) {
        const struct maker_value *v = *node->input[i] ? maker_find(&g->m, node->input[i]) : NULL;
        if (!v)
            continue;
        if (seen < 3)
            inputs[seen] = v;
        low = seen ? fmin(low, v->low) : v->low;
        high = seen ? fmax(high, v->high) : v->high;
        sum += size_of(v);
        product *= seen < 2 ? size_of(v) : 1;
        seen++;
    }
    const struct maker_value *x = inputs[0];
    double size = size_of(x);
    switch (x ? op->range.rule : RANGE_LIKE_INPUTS) {
    case RANGE_MOVE:
        low = fmin(x->low, 0), high = fmax(x->high, 0);
        break;
    case RANGE_FIXED:
        low = op->range.gives.low, high = op->range.gives.high;
        break;
    case RANGE_ADD:
        high = sum, low = -sum;
        break;
    case RANGE_MUL:
        high = product, low = -product;
        break;
    case RANGE_DIV:
        high = inputs[1] && (inputs[1]->low > 0.05 || inputs[1]->high < -0.05) ? 20 * size : 500 * size;
        low = -high;
        break;
    case RANGE_EXP:
        high = exp(fmin(x->high, 700)), low = 0;
        break;
    case RANGE_SQUARE:
        high = size * size * ratio(x, output), low = 0;
        break;
    case RANGE_SQRT:
        high = sqrt(fmax(x->high, 0)), low = 0;
        break;
    case RANGE_POWER:
        high = pow(fmax(size, 1), fmin(fmax(size_of(inputs[1]), 1), 10)), low = -high;
        break;
    case RANGE_LOG:
        high = log(fmax(x->high, 1)), low = log(fmax(x->low, 1e-6));
        break;
    case RANGE_RELU:
        high = size, low = 0;
        break;
    case RANGE_REDUCE:
        high = size * ratio(x, output), low = -high;
        break;
    case RANGE_PRODUCT:
        high = pow(fmax(size, 1), ratio(x, output) / 2), low = -high;
        break;
    case RANGE_DOT:
        high = product * terms(x, inputs[1]), low = -high;
        break;
    default:
        low = fmin(low, -1), high = fmax(high, 1);
        break;
    }
    enum dtype type = output->value.type;
    output->low = fmax(low, (double)dtype_lowest(type));
    output->high = fmin(high, (double)dtype_highest(type));
}
