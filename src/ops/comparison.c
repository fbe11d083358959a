/*
 * Comparisons and Where: exact, and undecided (false or true) where the operands' bounds overlap.
 */
#include "ops/broadcast.h"

#include <math.h>
#include <string.h>

/* NaN compares false with everything; a comparison whose result no error can change is exact. */
static void put_verdict(const struct pair *p, struct bounded *out, size_t i, bool value, bool sure)
{
    bool open = isinf(p->hard_a) || isinf(p->hard_b);
    if (!open && (p->exact || sure || isnan(p->a) || isnan(p->b)))
        bounded_put(out, i, value, 0, 0);
    else
        bounded_put_range(out, i, value, 0, 1);
}

/* Whether the operands are farther apart than their bounds reach. */
static bool apart(const struct pair *p)
{
    return fabsl(p->a - p->b) > p->hard_a + p->hard_b;
}

static void put_equal(const struct pair *p, struct bounded *out, size_t i)
{
    put_verdict(p, out, i, p->a == p->b, apart(p));
}

static void put_greater(const struct pair *p, struct bounded *out, size_t i)
{
    put_verdict(p, out, i, p->a > p->b, apart(p));
}

static void put_greater_or_equal(const struct pair *p, struct bounded *out, size_t i)
{
    put_verdict(p, out, i, p->a >= p->b, apart(p));
}

static void put_less(const struct pair *p, struct bounded *out, size_t i)
{
    put_verdict(p, out, i, p->a < p->b, apart(p));
}

static void put_less_or_equal(const struct pair *p, struct bounded *out, size_t i)
{
    put_verdict(p, out, i, p->a <= p->b, apart(p));
}

static int eval_compare(struct op_call *call)
{
    static const struct {
        const char *name;
        void (*put)(const struct pair *pair, struct bounded *out, size_t i);
    } operations[] = {{"Equal", put_equal},
                      {"Greater", put_greater},
                      {"GreaterOrEqual", put_greater_or_equal},
                      {"Less", put_less},
                      {"LessOrEqual", put_less_or_equal}};
    size_t kind = 0;
    while (strcmp(operations[kind].name, call->op->name) != 0)
        kind++;
    if (broadcast_same_type(call, 0))
        return -1;
    return broadcast_binary(call, DTYPE_BOOL, operations[kind].put);
}

/* Stores the range of both branches, as either may have been taken. */
static void put_either(struct bounded *out, size_t i, bool first, const struct bounded *x, size_t at_x,
                       const struct bounded *y, size_t at_y)
{
    long double a = x->value[at_x], b = y->value[at_y], ha = bounded_hard(x, at_x),
                hb = bounded_hard(y, at_y);
    if (isnan(a) || isnan(b))
        bounded_put_undecided(out, i, first ? a : b);
    else
        bounded_put_range(out, i, first ? a : b, fminl(a - ha, b - hb), fmaxl(a + ha, b + hb));
}

static void put_where(struct op_call *call, struct broadcast *walk, struct bounded *out)
{
    const struct bounded *condition = call->inputs[0], *x = call->inputs[1], *y = call->inputs[2];
    for (size_t i = 0; i < out->count; i++, broadcast_next(walk)) {
        bool first = condition->value[walk->at[0]] != 0;
        if (bounded_hard(condition, walk->at[0]) > 0)
            put_either(out, i, first, x, walk->at[1], y, walk->at[2]);
        else
            bounded_move(out, i, first ? x : y, walk->at[first ? 1 : 2]);
    }
}

static int eval_where(struct op_call *call)
{
    int result = -1;
    struct broadcast walk = {.count = 0};
    if (call->n_inputs != 3)
        return call_invalid(call, "has %zu inputs instead of 3", call->n_inputs);
    if (broadcast_init(&walk, call) || broadcast_same_type(call, 1))
        goto out;
    if (call->inputs[0]->type != DTYPE_BOOL) {
        call_invalid(call, "the condition is not bool");
        goto out;
    }
    struct bounded *out = call_output(call, 0, call->inputs[1]->type, &walk.shape);
    if (!out)
        goto out;
    if (!call->shapes_only)
        put_where(call, &walk, out);
    result = 0;
out:
    broadcast_release(&walk);
    return result;
}

static void add_where(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                      struct gradient_sums *sums)
{
    const struct bounded *condition = g->call->inputs[0];
    size_t taken = condition->value[walk->at[0]] != 0 ? 1 : 2, other = 3 - taken;
    if (bounded_hard(condition, walk->at[0]) > 0 || !gradient_is_number(upstream)) {
        upstream = gradient_undecided();
        gradient_sums_undecided(&sums[other], walk->at[other]);
    }
    gradient_sums_add(&sums[taken], walk->at[taken], upstream);
}

static int gradient_where(struct op_gradient *g)
{
    return broadcast_gradient(g, add_where);
}

/* Half of the time, some elements of the second input equal those of the first. */
static int sample_compare(struct draw *d)
{
    struct drawn a = draw_primary(d);
    struct shape shape = broadcast_partner(d, &a.shape);
    draw_data(d, a.type, &shape);
    const struct drawn *b = &d->inputs[1];
    if (a.source != DRAWN_NEW || b->source != DRAWN_NEW || !a.data.count || draw_chance(d, 0.5))
        return 0;
    struct tensor data = b->data;
    for (size_t i = 0; i < data.count; i++)
        if (draw_chance(d, 0.4))
            tensor_set(&data, i, tensor_get(&a.data, i % a.data.count));
    return 0;
}

/* The primary input is the condition; the other two have any type. */
static int sample_where(struct draw *d)
{
    struct drawn condition = draw_primary(d);
    dtype_set types = DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL);
    enum dtype type = draw_type(d, d->opset < 16 ? types & ~DTYPE_BIT(DTYPE_BFLOAT16) : types);
    struct shape x = broadcast_partner(d, &condition.shape);
    struct shape y = draw_broadcastable(d, draw_chance(d, 0.5) ? &x : &condition.shape);
    draw_data(d, type, &x);
    draw_data(d, type, &y);
    return 0;
}

enum {
    SOME_NUMBERS = DTYPES_NUMBER & ~(1 << DTYPE_BFLOAT16),
    BOOLEAN = 1 << DTYPE_BOOL,
};

/* Members that the rows have in common. */
#define USUAL                                                                           \
    .outputs = {1, 1}, .ranks = {0, 6}, .data = DATA_ALL, .range = {RANGE_LIKE_INPUTS}, \
    .result = RESULT_OTHER, .work = WORK_ELEMENTS

const struct op ops_comparison[] = {
    {OP("Equal", 1), USUAL, .inputs = {2, 2}, .each = {EACH_PAIR, .second = 1},
     .types = {{11, SOME_NUMBERS | BOOLEAN}, {13, DTYPES_NUMBER | BOOLEAN}}, .eval = eval_compare,
     .sample = sample_compare, .factors = {FACTORS_NONE}, .history = {.same_since = 7},
     .slope = SLOPE_NOWHERE, .dangers = {{DANGER_COMPARE}}},
    {OP("Greater", 1), USUAL, .inputs = {2, 2}, .each = {EACH_PAIR, .second = 1},
     .types = {{11, SOME_NUMBERS}, {13, DTYPES_NUMBER}}, .eval = eval_compare, .sample = sample_compare,
     .factors = {FACTORS_NONE}, .history = {.same_since = 7}, .slope = SLOPE_NOWHERE,
     .dangers = {{DANGER_COMPARE}}},
    {OP("GreaterOrEqual", 12), USUAL, .inputs = {2, 2}, .each = {EACH_PAIR, .second = 1},
     .types = {{12, SOME_NUMBERS}, {16, DTYPES_NUMBER}}, .eval = eval_compare, .sample = sample_compare,
     .factors = {FACTORS_NONE}, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_COMPARE}}},
    {OP("Less", 1), USUAL, .inputs = {2, 2}, .each = {EACH_PAIR, .second = 1},
     .types = {{11, SOME_NUMBERS}, {13, DTYPES_NUMBER}}, .eval = eval_compare, .sample = sample_compare,
     .factors = {FACTORS_NONE}, .history = {.same_since = 7}, .slope = SLOPE_NOWHERE,
     .dangers = {{DANGER_COMPARE}}},
    {OP("LessOrEqual", 12), USUAL, .inputs = {2, 2}, .each = {EACH_PAIR, .second = 1},
     .types = {{12, SOME_NUMBERS}, {16, DTYPES_NUMBER}}, .eval = eval_compare, .sample = sample_compare,
     .factors = {FACTORS_NONE}, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_COMPARE}}},
    {OP("Where", 9), USUAL, .flags = OP_CHOOSES, .inputs = {3, 3}, .types = {{11, BOOLEAN}},
     .eval = eval_where, .gradient = gradient_where, .sample = sample_where, .factors = {FACTORS_SUM},
     .history = {.same_since = 9}, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
