/*
 * Do bounds reach what depends on them? Every operator is evaluated on inputs some of whose elements have
 * bounds, and again with these elements moved within them: the second result, with the bounds of its own,
 * must lie within the bounds of the first.
 */
#include "base/hash.h"
#include "base/memory.h"
#include "eval/evaluate.h"
#include "generate/operator_case.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DRAWS = 150, MOST = 64 };

struct operands {
    size_t count;
    struct bounded values[MOST];
    const struct bounded *views[MOST]; /* NULL: omitted */
};

static int read_operand(const struct test_case *made, const struct model *model, const char *name,
                        struct bounded *out)
{
    for (size_t i = 0; i < made->n_inputs; i++)
        if (strcmp(made->inputs[i].name, name) == 0)
            return made->inputs[i].kind == VALUE_TENSOR
                       ? bounded_from_tensor(out, &made->inputs[i].tensors[0], NULL)
                       : -1;
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (strcmp(model->graph->initializer[i]->name, name) == 0) {
            struct tensor tensor;
            if (model_weight(model, i, &tensor, NULL))
                return -1;
            int status = bounded_from_tensor(out, &tensor, NULL);
            tensor_release(&tensor);
            return status;
        }
    return -1;
}

static int read_operands(const struct test_case *made, const struct model *model, struct operands *operands)
{
    const Onnx__NodeProto *node = model->graph->node[0];
    *operands = (struct operands){.count = node->n_input};
    if (node->n_input > MOST)
        return -1;
    for (size_t i = 0; i < node->n_input; i++) {
        bounded_init(&operands->values[i]);
        if (*node->input[i] && read_operand(made, model, node->input[i], &operands->values[i]))
            return -1;
        operands->views[i] = *node->input[i] ? &operands->values[i] : NULL;
    }
    return 0;
}

static void release_operands(struct operands *operands)
{
    for (size_t i = 0; i < operands->count; i++)
        bounded_release(&operands->values[i]);
}

static int evaluate(const struct op *op, const struct model *model, const struct operands *operands,
                    struct bounded *outputs)
{
    struct error err = {0};
    const Onnx__NodeProto *node = model->graph->node[0];
    size_t least = op->outputs.least > 1 ? (size_t)op->outputs.least : 1;
    struct op_call call = {
        .op = op,
        .node = node,
        .opset = model_opset(model),
        .n_inputs = operands->count,
        .inputs = operands->views,
        .n_outputs = node->n_output > least ? node->n_output : least,
        .outputs = outputs,
        .err = &err,
    };
    for (size_t i = 0; i < MOST; i++)
        bounded_init(&outputs[i]);
    return op->eval(&call);
}

static void release_outputs(struct bounded *outputs)
{
    for (size_t i = 0; i < MOST; i++)
        bounded_release(&outputs[i]);
}

/* How far an element may be off, as results of other nodes are: some roundings, behind a jump, not known. */
static double some_bound(enum dtype type, long double value, struct rng *rng)
{
    double size = fabs((double)value), h;
    if (rng_chance(rng, 0.2))
        return INFINITY;
    if (!dtype_is_float(type))
        h = type == DTYPE_BOOL ? 1 : (double)rng_below(rng, 4);
    else if (rng_chance(rng, 0.4))
        h = rng_uniform(rng, 0, 16) * dtype_precision(type).unit * size;
    else if (rng_chance(rng, 0.15))
        h = rng_uniform(rng, 0, 2) * dtype_precision(type).tiny;
    else
        h = pow(10, rng_uniform(rng, -6, 0.5)) * (size == 0 || rng_chance(rng, 0.2) ? 1 : size);
    bool inside = dtype_is_float(type) ? size + h < dtype_highest(type)
                                       : value - h >= dtype_lowest(type) && value + h <= dtype_highest(type);
    return inside || type == DTYPE_BOOL ? h : (double)INFINITY;
}

/* Gives some elements of an operand bounds, as if a node had computed them. */
static void loosen(struct bounded *x, struct rng *rng)
{
    uint64_t share = rng_chance(rng, 0.3) ? 1 : 1 + x->count / 3;
    for (size_t at = 0; at < x->count; at++) {
        if (!isfinite(x->value[at]) || rng_below(rng, share) != 0)
            continue;
        double h = some_bound(x->type, x->value[at], rng);
        bounded_set(x, at, x->value[at], h, isinf(h) && rng_chance(rng, 0.5) ? INFINITY : fmin(h, 1) / 3);
    }
    x->given = false;
}

/* Some operands, at least one; false when there is nothing to loosen. */
static bool loosen_operands(struct operands *operands, struct rng *rng)
{
    bool any = false;
    for (size_t i = 0; i < operands->count; i++) {
        struct bounded *x = &operands->values[i];
        if (!operands->views[i] || !x->count || rng_chance(rng, dtype_is_float(x->type) ? 0.3 : 0.6))
            continue;
        loosen(x, rng);
        any |= x->hard != NULL;
    }
    return any;
}

/* What an element may be that nobody decides. */
static long double anything(enum dtype type, struct rng *rng)
{
    if (type == DTYPE_BOOL)
        return rng_chance(rng, 0.5);
    if (!dtype_is_float(type))
        return rng_chance(rng, 0.5) ? dtype_lowest(type) : (long double)rng_below(rng, 9);
    uint64_t which = rng_below(rng, 8);
    return which == 0   ? NAN
           : which == 1 ? INFINITY
           : which == 2 ? -INFINITY
           : which == 3 ? 0
                        : dtype_round(type, rng_normal(rng));
}

/* Every element that has a bound, somewhere within it, often at an end, and no bounds. */
static void move_within(struct bounded *x, struct rng *rng)
{
    for (size_t i = 0; i < x->count && x->hard; i++) {
        double h = x->hard[i], where = rng_chance(rng, 0.5) ? 1 : rng_uniform(rng, -1, 1);
        if (h > 0 && isinf(h)) {
            x->value[i] = anything(x->type, rng);
        } else if (h > 0) {
            long double value = x->value[i], moved = value + (rng_chance(rng, 0.5) ? where : -where) * h;
            moved = x->type == DTYPE_BOOL ? rng_chance(rng, 0.5) : dtype_round(x->type, moved);
            x->value[i] = fabsl(moved - value) <= h ? moved : value;
        }
        x->hard[i] = x->likely[i] = 0;
    }
}

/* Whether all that may come of the moved operands may come of those with bounds. */
static bool within(const struct bounded *wide, const struct bounded *exact, size_t i)
{
    long double a = wide->value[i], b = exact->value[i], room = bounded_hard(wide, i);
    if (isinf(room))
        return true;
    /* A range is stored as far to one side as to the other (bounded_put_range): its value alone is sure. */
    double reach = bounded_hard(exact, i) == bounded_likely(exact, i) ? 0 : bounded_hard(exact, i);
    long double low = b - reach, high = b + reach;
    if (!dtype_is_float(exact->type)) {
        low = fmaxl(low, dtype_lowest(exact->type));
        high = fminl(high, dtype_highest(exact->type));
    } else if (isnan(b) || isinf(bounded_hard(exact, i))) {
        return isnan(a) && isnan(b) && !isinf(bounded_hard(exact, i));
    }
    if (low == a && high == a)
        return true;
    /* Bounds are doubles, each rounded up. */
    long double slack = 1e-8L * room + 1e-18L * (fabsl(a) + fabsl(b)) + 3 * DBL_TRUE_MIN;
    return a - low <= room + slack && high - a <= room + slack;
}

/* One draw; false when the bounds do not hold. */
static bool holds(const struct op *op, uint64_t index)
{
    struct generate_options options = {.ops = op->name};
    struct rng root = rng_seed(hash_combine(7, hash_text(op->name))), rng = rng_split(&root, index);
    struct test_case *made;
    struct operands operands = {0};
    struct bounded wide[MOST], exact[MOST];
    bool good = true;
    if (generate_one(11, index, &options, &made, NULL))
        return true;
    const struct model *model = test_case_model(made, NULL);
    assert_non_null(model);
    for (size_t i = 0; i < MOST; i++) {
        bounded_init(&wide[i]);
        bounded_init(&exact[i]);
    }
    if (!read_operands(made, model, &operands) && loosen_operands(&operands, &rng) &&
        !evaluate(op, model, &operands, wide)) {
        for (size_t i = 0; i < operands.count; i++)
            move_within(&operands.values[i], &rng);
        if (!evaluate(op, model, &operands, exact))
            for (size_t o = 0; o < MOST && good; o++)
                for (size_t i = 0; i < wide[o].count && wide[o].value && good &&
                                   shape_equal(&wide[o].shape, &exact[o].shape) && exact[o].value;
                     i++)
                    if (!within(&wide[o], &exact[o], i)) {
                        good = false;
                        printf("%s: %s: output %zu[%zu] is %.12Lg +- %.12g, but may be %.12Lg +- %.12g\n",
                               op->name, made->recipe, o, i, wide[o].value[i], bounded_hard(&wide[o], i),
                               exact[o].value[i], bounded_hard(&exact[o], i));
                    }
    }
    release_operands(&operands);
    release_outputs(wide);
    release_outputs(exact);
    test_case_free(made);
    return good;
}

static void test_all_operators(void **state)
{
    size_t broken = 0;
    (void)state;
    for (size_t i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        bool good = true;
        for (uint64_t k = 0; k < DRAWS && op->sample && op->work != WORK_BODIES && good; k++)
            good = holds(op, k);
        broken += !good;
    }
    assert_int_equal(broken, 0);
}

/* What -0.3 is cut to is 0 in an integer type, whose reciprocal, as a float again, is not negative. */
static void test_integer_zero(void **state)
{
    struct bounded b;
    (void)state;
    assert_int_equal(bounded_alloc(&b, DTYPE_INT32, &(struct shape){.rank = 1, .dims = {2}}, false, NULL), 0);
    bounded_put_range(&b, 0, -0.0L, -0.0L, 0);
    bounded_put(&b, 1, -0.0L, 0, 0);
    assert_false(signbit(b.value[0]) || signbit(b.value[1]));
    bounded_release(&b);
}

/* Nor is the root of the square of an integer that may be anything 0, where no rounding is made. */
static void test_integer_square(void **state)
{
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    struct bounded x, out;
    const struct bounded *view = &x;
    struct error err = {0};
    struct op_call call = {.op = op_find("ReduceL2"),
                           .node = &node,
                           .opset = 18,
                           .n_inputs = 1,
                           .inputs = &view,
                           .n_outputs = 1,
                           .outputs = &out,
                           .err = &err};
    (void)state;
    assert_int_equal(bounded_alloc(&x, DTYPE_UINT32, &(struct shape){.rank = 1, .dims = {2}}, false, NULL),
                     0);
    bounded_init(&out);
    bounded_put_open(&x, 0);
    assert_int_equal(call.op->eval(&call), 0);
    assert_true(isinf(bounded_hard(&out, 0)));
    bounded_release(&x);
    bounded_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_operators),
        cmocka_unit_test(test_integer_zero),
        cmocka_unit_test(test_integer_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
