/* The operator table: every row answers every question that is asked of it. */
#include "drawn_node.h"
#include "base/arena.h"
#include "base/str.h"
#include "model/onnx.h"
#include "ops/draw.h"
#include "ops/param_value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_answers(void **state)
{
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        if (!op->eval || !op->types[0].set || !op->data || !op->range.rule || !op->factors.rule ||
            !op->result || !op->work || !op->slope || !op->dangers[0].kind)
            fail_msg("the row of %s lacks an answer", op->name);
}

/* An input that acts as a parameter is none that edges bring, and two are not the same one. */
static void test_params(void **state)
{
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        for (const struct op_param *p = op->params; p && p->name; p++) {
            bool placed = p->kind != PARAM_INPUT ||
                          (p->input < (size_t)op->inputs.most && (p->input > 0 || op->data == DATA_NONE));
            for (const struct op_param *other = op->params; other < p; other++)
                placed = placed &&
                         (p->kind != PARAM_INPUT || other->kind != PARAM_INPUT || p->input != other->input);
            if (!placed)
                fail_msg("%s: %s is not the input %zu", op->name, p->name, p->input);
            if (p->illegal && (!*p->illegal || p->kind == PARAM_TENSOR || p->kind == PARAM_GRAPH))
                fail_msg("%s: %s cannot be made illegal", op->name, p->name);
        }
}

/* The parameter that an attribute is at an opset, or NULL. */
static const struct op_param *param_of(const struct op *op, int opset, const Onnx__AttributeProto *attribute)
{
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->kind != PARAM_INPUT && text_equal(p->name, attribute->name) && param_exists(p, opset))
            return p;
    return NULL;
}

/* Holds the defaults of libonnx's schema against the table, and then each of them as a graph and as no type.
 * Returns how many are parameters. */
static size_t check_defaults(const struct op *op, int opset, Onnx__NodeProto *node)
{
    struct error err = {0};
    struct op_call call = {.op = op, .node = node, .opset = opset, .err = &err};
    size_t known = 0;
    if (call_check_attributes(&call))
        fail_msg("opset %d, by libonnx's types: %s", opset, err.message);
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__AttributeProto *attribute = node->attribute[i];
        if (!param_of(op, opset, attribute))
            continue;
        Onnx__AttributeProto__AttributeType type = attribute->type;
        attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
        assert_int_equal(call_check_attributes(&call), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        attribute->has_type = 0;
        assert_int_equal(call_check_attributes(&call), 0);
        attribute->has_type = 1;
        attribute->type = type;
        known++;
    }
    return known;
}

/* Before it, kernels do not run, and attributes may have had other types (LpPool's p). */
static int first_opset(const struct op *op)
{
    return op->history.same_since > op->since ? op->history.same_since : op->since;
}

/* The types of attributes are those of libonnx's schemas, and other types are refused. */
static void test_attribute_types(void **state)
{
    size_t known = 0;
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        for (int opset = first_opset(op); opset <= onnx_max_opset(); opset++) {
            uint8_t *bytes;
            size_t size;
            if (onnx_attribute_defaults(op->domain, op->type, opset, &bytes, &size, NULL))
                continue;
            Onnx__NodeProto *node = onnx__node_proto__unpack(NULL, size, bytes);
            assert_non_null(node);
            known += check_defaults(op, opset, node);
            onnx__node_proto__free_unpacked(node, NULL);
            free(bytes);
        }
    assert_true(known > 500);
}

/* What an operator older than the kernels' opsets meant there; attributes that became inputs have a place. */
static void test_history(void **state)
{
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op)) {
        const struct op_history *history = &op->history;
        if (op->since < OP_OLDEST ? history->same_since < op->since : history->same_since != 0)
            fail_msg("the row of %s does not say since when it means the same", op->name);
        for (int i = 0; i < OP_FORMER && history->attributes[i].name; i++)
            if (history->reformed <= op->since || i + 1 >= op->inputs.most)
                fail_msg("%s: %s became no input", op->name, history->attributes[i].name);
    }
}

enum { DRAWS = 30, INPUTS = 16, OUTPUTS = 64, OPSET = 21, SCALE = 4 };

/* The first output of a drawn node whose input i is multiplied by SCALE to the power powers[i]. */
static bool compute(const struct draw *d, const double *powers, struct bounded *first)
{
    struct bounded values[INPUTS], outputs[OUTPUTS] = {0};
    const struct bounded *inputs[INPUTS] = {NULL};
    size_t count = 0;
    bool done = d->n_inputs <= INPUTS && d->n_outputs <= OUTPUTS;
    for (; done && count < d->n_inputs; count++) {
        struct bounded *value = &values[count];
        bounded_init(value);
        if (d->inputs[count].source == DRAWN_OMITTED)
            continue;
        done = bounded_from_tensor(value, &d->inputs[count].data, NULL) == 0;
        for (size_t i = 0; done && dtype_is_float(value->type) && i < value->count; i++)
            value->value[i] *= powl(SCALE, powers[count]);
        inputs[count] = value;
    }
    for (size_t i = 0; i < OUTPUTS; i++)
        bounded_init(&outputs[i]);
    struct error err = {0};
    struct op_call call = drawn_call(d, inputs, outputs, &err);
    done = done && d->op->eval(&call) == 0;
    for (size_t i = done ? 1 : 0; i < OUTPUTS; i++)
        bounded_release(&outputs[i]);
    while (count-- > 0)
        bounded_release(&values[count]);
    *first = outputs[0];
    return done;
}

/* Elements of `after` that are those of `before` times `factor`, and others; only numbers that are certain.
 */
struct scaled {
    size_t yes, same, no;
};

static void compare(const struct bounded *before, const struct bounded *after, double factor,
                    struct scaled *scaled)
{
    for (size_t i = 0; dtype_is_float(before->type) && i < before->count && after->count == before->count;
         i++) {
        long double x = before->value[i], y = after->value[i];
        long double slack = bounded_hard(before, i) * fabs(factor) + bounded_hard(after, i);
        if (!isfinite(x) || !isfinite(y) || !isfinite(slack) || x == 0)
            continue;
        if (fabsl(y - factor * x) <= slack + 1e-6L * fabsl(y))
            scaled->yes++;
        else if (fabsl(y - x) <= slack + 1e-6L * fabsl(y))
            scaled->same++;
        else
            scaled->no++;
    }
}

static void scale(const struct draw *d, const double *powers, double factor, struct scaled *scaled)
{
    static const double unscaled[INPUTS];
    struct bounded before, after;
    bool done = compute(d, unscaled, &before);
    if (done && compute(d, powers, &after)) {
        compare(&before, &after, factor, scaled);
        bounded_release(&after);
    }
    if (done)
        bounded_release(&before);
}

/* Scales one input after the other as the row says, or all of them at once. */
static void scale_drawn(const struct draw *d, struct scaled *scaled)
{
    const struct op_factors *rule = &d->op->factors;
    double powers[INPUTS];
    if (rule->rule == FACTORS_NONE || rule->rule == FACTORS_SUM) {
        for (size_t i = 0; i < INPUTS; i++)
            powers[i] = 1;
        scale(d, powers, SCALE, scaled);
        return;
    }
    for (size_t i = 0; i < d->n_inputs && i < 5; i++) {
        double power = rule->rule == FACTORS_PRODUCT_OF_ALL ? 1 : rule->powers[i];
        for (size_t k = 0; k < INPUTS; k++)
            powers[k] = k == i ? 1 : rule->added >> k & 1 ? power : 0;
        if (power != 0 && dtype_is_float(d->inputs[i].type))
            scale(d, powers, pow(SCALE, power), scaled);
    }
}

static struct scaled scale_operator(const struct op *op)
{
    struct scaled scaled = {0};
    struct rng root = rng_seed(3);
    int opset = op_drawn_since(op) > OPSET ? op_drawn_since(op) : OPSET;
    dtype_set set = op_types_at(op, opset);
    for (uint64_t n = 0; n < DRAWS && op->sample && op->work != WORK_BODIES; n++) {
        struct arena arena;
        struct draw d;
        enum dtype type = DTYPE_FLOAT;
        while (!dtype_in(type, set))
            type = (enum dtype)((type + 1) % DTYPE_COUNT);
        arena_init(&arena);
        draw_init(&d, &arena, op, opset, type, (enum fill)(n % FILL_COUNT), rng_split(&root, n));
        if (draw_node(&d) == 0)
            scale_drawn(&d, &scaled);
        draw_release(&d);
        arena_release(&arena);
    }
    return scaled;
}

/*
 * The kernels are held against what rows say of factors: one that says there are none must not scale with its
 * inputs, one that says so must. Not all elements need, where the other inputs are chosen from. Left out:
 * BatchNormalization, whose mean and epsilon are of the inputs' sizes; and the Scatters, which may multiply
 * or add what is there.
 */
static void test_factors(void **state)
{
    size_t wrong = 0;
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op)) {
        struct scaled scaled = scale_operator(op);
        bool some = op->factors.rule == FACTORS_PRODUCT, none = op->factors.rule == FACTORS_NONE;
        if (op->range.never_negative || strncmp(op->name, "Scatter", 7) == 0)
            continue;
        bool good = none ? !scaled.yes || scaled.same + scaled.no
                         : scaled.yes && !scaled.no && (some || !scaled.same);
        if (!good)
            print_message("%s: %zu elements scaled, %zu the same, %zu neither\n", op->name, scaled.yes,
                          scaled.same, scaled.no);
        wrong += !good;
    }
    assert_int_equal(wrong, 0);
}

/* Whether a drawn node, applied `times` times, gives the elements of its first input in their order. */
static bool gives_back(const struct op *op, enum dtype type, uint64_t n, int times)
{
    static const double unscaled[INPUTS];
    struct rng root = rng_seed(4);
    struct arena arena;
    struct draw d;
    struct bounded result;
    arena_init(&arena);
    draw_init(&d, &arena, op, OPSET, type, (enum fill)(n % FILL_COUNT), rng_split(&root, n));
    assert_int_equal(draw_node(&d), 0);
    struct tensor *input = &d.inputs[0].data, first;
    assert_int_equal(tensor_copy(&first, input, NULL), 0);
    for (int i = 0; i < times; i++) {
        assert_true(compute(&d, unscaled, &result));
        for (size_t k = 0; i + 1 < times && k < input->count; k++)
            tensor_set(input, k, result.value[k]);
        if (i + 1 < times)
            bounded_release(&result);
    }
    bool same = result.count == first.count;
    for (size_t k = 0; same && k < first.count; k++) {
        long double from = tensor_get(&first, k), to = result.value[k];
        bool overflows = times > 1 && dtype_is_integer(type) && from == dtype_lowest(type);
        same = from == to || (isnan(from) && isnan(to)) || overflows;
    }
    bounded_release(&result);
    tensor_release(&first);
    draw_release(&d);
    arena_release(&arena);
    return same;
}

/* What rows say of the order of elements, and of operators that undo themselves: of those of one type it is
 * said of the last. */
static void test_given_back(void **state)
{
    size_t shown = 0;
    (void)state;
    for (enum dtype type = 0; type < DTYPE_COUNT; type++) {
        const struct op *undoes = NULL;
        for (const struct op *op = op_after(NULL); op; op = op_after(op)) {
            bool has = dtype_in(type, op_types_at(op, OPSET));
            undoes = has && op->flags & OP_UNDOES_ITSELF ? op : undoes;
            for (uint64_t n = 0; has && op->flags & OP_RESHAPES && n < DRAWS; n++, shown++)
                if (!gives_back(op, type, n, 1))
                    fail_msg("%s changes elements or their order", op->name);
        }
        for (uint64_t n = 0; undoes && n < DRAWS; n++, shown++)
            if (!gives_back(undoes, type, n, 2))
                fail_msg("%s of %s twice changes elements", undoes->name, dtype_name(type));
    }
    assert_true(shown > (size_t)10 * DRAWS);
}

/* The result of a node without attributes on single numbers, all 2 but input `which`; NaN when the node is
 * refused. */
static long double result_at(const struct op *op, size_t which, double number)
{
    struct bounded values[INPUTS], output;
    const struct bounded *inputs[INPUTS];
    size_t count = (size_t)op->inputs.least;
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    struct error err = {0};
    struct shape shape = {.rank = 1, .dims = {1, 1}}, first = {.rank = 2, .dims = {1, 1}};
    struct op_call call = {.op = op,
                           .node = &node,
                           .opset = OPSET,
                           .n_inputs = count,
                           .inputs = inputs,
                           .n_outputs = 1,
                           .outputs = &output,
                           .err = &err};
    bounded_init(&output);
    for (size_t i = 0; i < count; i++) {
        inputs[i] = &values[i];
        bounded_init(&values[i]);
        assert_int_equal(bounded_alloc(&values[i], DTYPE_FLOAT, i ? &shape : &first, false, NULL), 0);
        values[i].value[0] = i == which ? number : 2;
    }
    long double result = op->eval(&call) == 0 && isfinite(bounded_hard(&output, 0)) ? output.value[0] : NAN;
    bounded_release(&output);
    for (size_t i = 0; i < count; i++)
        bounded_release(&values[i]);
    return result;
}

/* Rows are held against kernels: inside a domain there is a number, outside and at a pole there is none. */
static void test_dangers(void **state)
{
    size_t checked = 0;
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        for (size_t i = 0; i < OP_DANGERS && op->dangers[i].kind; i++) {
            const struct op_danger *d = &op->dangers[i];
            double low = d->inside.low, high = d->inside.high;
            assert_true(d->input < (size_t)op->inputs.most || d->kind == DANGER_NONE);
            assert_true(d->kind != DANGER_NONE || (i == 0 && !op->dangers[1].kind));
            if (d->kind == DANGER_DOMAIN && (!isnan(result_at(op, d->input, low - 1)) ||
                                             (high < INFINITY && !isnan(result_at(op, 0, high + 1))) ||
                                             !isfinite(result_at(op, d->input, low + 0.5))))
                fail_msg("%s: the domain of input %zu is another one", op->name, d->input);
            if (d->kind == DANGER_POLE && d->input < (size_t)op->inputs.least && op->result != RESULT_OTHER &&
                isfinite(result_at(op, d->input, d->at - d->otherwise)))
                fail_msg("%s: input %zu has no pole at %g", op->name, d->input, d->at);
            checked += d->kind == DANGER_DOMAIN || d->kind == DANGER_POLE;
        }
    assert_true(checked >= 12);
}

#define node_of(of_domain, of_type) \
    ((Onnx__NodeProto){.domain = (char *)(uintptr_t)(of_domain), .op_type = (char *)(uintptr_t)(of_type)})

static void test_names(void **state)
{
    (void)state;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        assert_ptr_equal(op_find(op->name), op);
    assert_null(op_find("NoSuchOperator"));
    assert_null(op_of(&node_of("", "NoSuchOperator")));
    assert_ptr_equal(op_of(&node_of("", "Relu")), op_find("Relu"));
}

/* The same name in two domains is two operators; ONNX's own domain has two names. */
static void test_domains(void **state)
{
    (void)state;
    const struct op *own = op_find("Gelu"), *other = op_find("com.microsoft::Gelu");
    assert_true(own && other && own != other);
    assert_ptr_equal(op_of(&node_of("", "Gelu")), own);
    assert_ptr_equal(op_of(&node_of("ai.onnx", "Gelu")), own);
    assert_ptr_equal(op_of(&node_of("com.microsoft", "Gelu")), other);
    assert_null(op_of(&node_of("com.example", "Gelu")));
    assert_null(op_of(&node_of("com.microsoft", "Relu")));
    assert_string_equal(op_title(&node_of("com.microsoft", "Gelu")), "com.microsoft::Gelu");
    assert_string_equal(op_title(&node_of("com.example", "Gelu")), "Gelu");
    assert_true(op_list_has("Relu,com.microsoft::Gelu", other));
    assert_true(op_list_has("com.microsoft", other));
    assert_false(op_list_has("Gelu,com.microsoft::GeluX", other));
    assert_false(op_list_has("com.microsoft", own));
    assert_int_equal(op_check_names("com.microsoft,Gelu", NULL), 0);
    assert_int_equal(op_check_names("com.example", NULL), -1);
}

static void test_flags(void **state)
{
    (void)state;
    assert_true(op_has(&node_of("", "Scan"), OP_SCANS));
    assert_true(op_has(&node_of("", "RandomNormal"), OP_RANDOM));
    assert_false(op_has(&node_of("", "Relu"), OP_RANDOM));
    assert_false(op_has(&node_of("com.example", "Scan"), OP_SCANS));
    assert_int_equal(op_of(&node_of("", "Compress"))->work, WORK_MOVES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),         cmocka_unit_test(test_params),
        cmocka_unit_test(test_attribute_types), cmocka_unit_test(test_history),
        cmocka_unit_test(test_factors),         cmocka_unit_test(test_given_back),
        cmocka_unit_test(test_dangers),         cmocka_unit_test(test_names),
        cmocka_unit_test(test_domains),         cmocka_unit_test(test_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
