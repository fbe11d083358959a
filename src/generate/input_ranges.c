#include "generate/planner.h"

#include <math.h>
#include <string.h>

/* How an operator's numbers follow from those of its inputs. */
enum rule {
    RULE_OTHER, /* about as large as the largest input */
    RULE_MOVE,  /* elements of the first input, or 0 */
    RULE_FIXED, /* within [low, high] whatever comes in */
    RULE_ADD,   /* sums of all inputs */
    RULE_MUL,
    RULE_DIV,
    RULE_EXP,
    RULE_SQUARE,
    RULE_SQRT,
    RULE_POWER,
    RULE_LOG,
    RULE_RELU,    /* no longer negative */
    RULE_REDUCE,  /* sums over the elements that disappear */
    RULE_PRODUCT, /* products over them */
    RULE_DOT,     /* sums of products */
};

struct range_rule {
    const char *op;
    enum rule rule;
    double low, high;   /* of the output, for RULE_FIXED */
    double least, most; /* wanted of the input; both 0: anything */
};

/* Sorted by name. */
static const struct range_rule rules[] = {
    {"Abs", RULE_RELU, 0, 0, 0, 0},
    {"Acos", RULE_FIXED, 0, 3.2, -1, 1},
    {"Acosh", RULE_FIXED, 0, 10, 1, 1000},
    {"Add", RULE_ADD, 0, 0, 0, 0},
    {"ArgMax", RULE_FIXED, 0, 100, 0, 0},
    {"ArgMin", RULE_FIXED, 0, 100, 0, 0},
    {"Asin", RULE_FIXED, -1.6, 1.6, -1, 1},
    {"Asinh", RULE_FIXED, -10, 10, 0, 0},
    {"Atan", RULE_FIXED, -1.6, 1.6, 0, 0},
    {"Atanh", RULE_FIXED, -4, 4, -0.99, 0.99},
    {"BatchNormalization", RULE_MUL, 0, 0, 0, 0},
    {"Celu", RULE_OTHER, 0, 0, -50, 1e4},
    {"Conv", RULE_DOT, 0, 0, 0, 0},
    {"ConvInteger", RULE_DOT, 0, 0, 0, 0},
    {"ConvTranspose", RULE_DOT, 0, 0, 0, 0},
    {"Cos", RULE_FIXED, -1, 1, -100, 100},
    {"Cosh", RULE_EXP, 0, 0, -6, 6},
    {"CumSum", RULE_REDUCE, 0, 0, 0, 0},
    {"Div", RULE_DIV, 0, 0, 0, 0},
    {"Einsum", RULE_DOT, 0, 0, 0, 0},
    {"Erf", RULE_FIXED, -1, 1, 0, 0},
    {"Exp", RULE_EXP, 0, 0, -20, 6},
    {"GRU", RULE_FIXED, -1, 1, -100, 100},
    {"Gemm", RULE_DOT, 0, 0, 0, 0},
    {"GroupNormalization", RULE_FIXED, -20, 20, -1e3, 1e3},
    {"HardSigmoid", RULE_FIXED, 0, 1, 0, 0},
    {"Hardmax", RULE_FIXED, 0, 1, 0, 0},
    {"InstanceNormalization", RULE_FIXED, -20, 20, -1e3, 1e3},
    {"LSTM", RULE_FIXED, -1, 1, -100, 100},
    {"LayerNormalization", RULE_FIXED, -20, 20, -1e3, 1e3},
    {"Log", RULE_LOG, 0, 0, 0.01, 1e4},
    {"LogSoftmax", RULE_FIXED, -50, 0, -20, 20},
    {"LpNormalization", RULE_FIXED, -1, 1, -1e3, 1e3},
    {"MatMul", RULE_DOT, 0, 0, 0, 0},
    {"MatMulInteger", RULE_DOT, 0, 0, 0, 0},
    {"MeanVarianceNormalization", RULE_FIXED, -20, 20, -1e3, 1e3},
    {"Mul", RULE_MUL, 0, 0, 0, 0},
    {"PRelu", RULE_MUL, 0, 0, 0, 0},
    {"Pow", RULE_POWER, 0, 0, 0.1, 4},
    {"RNN", RULE_FIXED, -1, 1, -100, 100},
    {"Reciprocal", RULE_FIXED, -20, 20, 0.05, 1e4},
    {"ReduceL1", RULE_REDUCE, 0, 0, 0, 0},
    {"ReduceL2", RULE_REDUCE, 0, 0, -1e3, 1e3},
    {"ReduceLogSum", RULE_LOG, 0, 0, 0.01, 1e3},
    {"ReduceLogSumExp", RULE_OTHER, 0, 0, -20, 20},
    {"ReduceProd", RULE_PRODUCT, 0, 0, -2, 2},
    {"ReduceSum", RULE_REDUCE, 0, 0, 0, 0},
    {"ReduceSumSquare", RULE_SQUARE, 0, 0, -50, 50},
    {"Relu", RULE_RELU, 0, 0, 0, 0},
    {"Reshape", RULE_MOVE, 0, 0, 0, 0},
    {"Shape", RULE_FIXED, 0, 1000, 0, 0},
    {"Sigmoid", RULE_FIXED, 0, 1, 0, 0},
    {"Sign", RULE_FIXED, -1, 1, 0, 0},
    {"Sin", RULE_FIXED, -1, 1, -100, 100},
    {"Sinh", RULE_EXP, 0, 0, -6, 6},
    {"Softmax", RULE_FIXED, 0, 1, -20, 20},
    {"Softsign", RULE_FIXED, -1, 1, 0, 0},
    {"Sqrt", RULE_SQRT, 0, 0, 0, 1e4},
    {"Sub", RULE_ADD, 0, 0, 0, 0},
    {"Sum", RULE_ADD, 0, 0, 0, 0},
    {"Tan", RULE_FIXED, -20, 20, -1.5, 1.5},
    {"Tanh", RULE_FIXED, -1, 1, 0, 0},
};

static const struct range_rule *find_rule(const char *op)
{
    size_t low = 0, high = sizeof rules / sizeof *rules;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(op, rules[middle].op);
        if (order == 0)
            return &rules[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

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
    const struct range_rule *rule = find_rule(op->name);
    if (!rule || (rule->least == 0 && rule->most == 0))
        return false;
    *low = rule->least;
    *high = rule->most;
    return true;
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

/* Terms of a dot product, about: as many as the smaller operand has for each output, or the root of it. */
static double terms(const struct maker_value *a, const struct maker_value *b)
{
    double n = b ? fmin((double)a->value.count, (double)b->value.count) : (double)a->value.count;
    return fmax(1, sqrt(n));
}

void range_of_output(struct planner *g, const struct op *op, const Onnx__NodeProto *node,
                     struct maker_value *output)
{
    const struct range_rule *rule = find_rule(op->name);
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
    switch (rule && x ? rule->rule : RULE_OTHER) {
    case RULE_MOVE:
        low = fmin(x->low, 0), high = fmax(x->high, 0);
        break;
    case RULE_FIXED:
        low = rule->low, high = rule->high;
        break;
    case RULE_ADD:
        high = sum, low = -sum;
        break;
    case RULE_MUL:
        high = product, low = -product;
        break;
    case RULE_DIV:
        high = inputs[1] && (inputs[1]->low > 0.05 || inputs[1]->high < -0.05) ? 20 * size : 500 * size;
        low = -high;
        break;
    case RULE_EXP:
        high = exp(fmin(x->high, 700)), low = 0;
        break;
    case RULE_SQUARE:
        high = size * size * ratio(x, output), low = 0;
        break;
    case RULE_SQRT:
        high = sqrt(fmax(x->high, 0)), low = 0;
        break;
    case RULE_POWER:
        high = pow(fmax(size, 1), fmin(fmax(size_of(inputs[1]), 1), 10)), low = -high;
        break;
    case RULE_LOG:
        high = log(fmax(x->high, 1)), low = log(fmax(x->low, 1e-6));
        break;
    case RULE_RELU:
        high = size, low = 0;
        break;
    case RULE_REDUCE:
        high = size * ratio(x, output), low = -high;
        break;
    case RULE_PRODUCT:
        high = pow(fmax(size, 1), ratio(x, output) / 2), low = -high;
        break;
    case RULE_DOT:
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
