#include "locate/other_reading.h"

#include "base/str.h"
#include "engine/handover.h"
#include "locate/expected.h"
#include "locate/under_test.h"
#include "model/onnx.h"
#include "ops/op.h"

#include <math.h>
#include <stdio.h>

enum {
    OPERANDS = 4, /* that are tried */
    REDUCED = 6,  /* elements of a reduction, in each of which NaN is tried */
};

/* An operator alone, and what is expected by both readings. */
struct readings {
    const struct settle_case *which;
    const struct model *model;
    struct expected usual, other;
};

/* After a failure there is nothing to release. */
static int readings_init(struct readings *readings, const struct settle_case *which)
{
    struct under_test under;
    struct error err = {0};
    const struct test_case *test = which->test;
    *readings = (struct readings){.which = which};
    if (under_test_init(&under, which, &err))
        return -1;
    struct arithmetic how = under.alone;
    readings->model = under.model;
    int status = expected_compute(&readings->usual, under.model, &how, test->inputs, test->n_inputs);
    how.nans_left_out = true;
    if (!status && expected_compute(&readings->other, under.model, &how, test->inputs, test->n_inputs)) {
        expected_release(&readings->usual);
        status = -1;
    }
    under_test_release(&under);
    return status;
}

static void readings_release(struct readings *readings)
{
    expected_release(&readings->usual);
    expected_release(&readings->other);
}

/* The verdict on an engine's answer by the usual reading, which is untested without an answer. */
static void ask(const struct readings *readings, int engine, struct result *result, struct verdict *verdict)
{
    struct job job = {.engine = engine};
    *verdict = (struct verdict){0};
    result_init(result);
    if (!handover_run_case(readings->which->pool, readings->which->test, false, &job, result, NULL) &&
        result->outcome == OUTCOME_OK)
        expected_judge(&readings->usual, readings->model, result, verdict);
}

/* Throughout: an engine that keeps one NaN and leaves out another follows neither reading. */
static bool is_right_by_the_other(const struct readings *readings)
{
    struct result result;
    struct verdict usual, other;
    ask(readings, readings->which->engine, &result, &usual);
    bool right = false;
    if (verdict_is(usual.kind, CLASS_NUMBERS)) {
        expected_judge(&readings->other, readings->model, &result, &other);
        right = verdict_is(other.kind, CLASS_AGREES) && other.judged >= usual.judged;
    }
    result_release(&result);
    return right;
}

static bool keeps_nan(const struct readings *readings, int engine)
{
    struct result result;
    struct verdict verdict;
    ask(readings, engine, &result, &verdict);
    result_release(&result);
    return verdict_is(verdict.kind, CLASS_AGREES);
}

/* Whether the engine itself keeps the NaN in its plain setting or in another release. */
static bool is_kept_elsewhere(const struct readings *readings)
{
    const struct settle_case *which = readings->which;
    int engine = pool_plain(which->pool, which->engine);
    if (engine >= 0 && engine != which->engine && keeps_nan(readings, engine))
        return true;
    for (size_t i = 0; (engine = pool_other_release(which->pool, which->engine, i)) >= 0; i++)
        if (keeps_nan(readings, engine))
            return true;
    return false;
}

static bool reduces(const Onnx__NodeProto *node)
{
    return op_of(node)->work == WORK_REDUCES;
}

/* How many operands of the node may hold a NaN: all of them, or the first beside limits. */
static size_t operands_of(const Onnx__NodeProto *node)
{
    bool all = op_of(node)->data == DATA_ALL;
    return !all ? 1 : node->n_input < OPERANDS ? node->n_input : OPERANDS;
}

/* The node's operator with operands of `count` elements; limits that the node has are constants. */
static void add_model(struct str *out, int opset, const Onnx__NodeProto *node, size_t operands, size_t count)
{
    struct str limits, names;
    str_init(&limits);
    str_init(&names);
    str_printf(out, "<ir_version: 8, opset_import: [\"\" : %d]> g (", opset);
    for (size_t i = 0; i < operands; i++) {
        str_printf(out, "%sfloat[%zu] x%zu", i ? ", " : "", count, i);
        str_printf(&names, "%sx%zu", i ? ", " : "", i);
    }
    for (size_t i = 1; op_of(node)->data != DATA_ALL && !reduces(node) && i < node->n_input; i++) {
        const char *given = *node->input[i] ? "c" : "";
        str_printf(&names, ", %s", *given ? given : "");
        if (*given) {
            str_printf(&names, "%zu", i);
            str_printf(&limits, "%sfloat c%zu = {%s1.5}", limits.length ? ", " : "", i, i % 2 ? "-" : "");
        }
    }
    str_printf(out, ") => (float[%zu] y) %s%s%s { y = %s (%s) }", reduces(node) ? 1 : count,
               limits.length ? "<" : "", limits.length ? limits.data : "", limits.length ? ">" : "",
               node->op_type, names.data);
    str_release(&names);
    str_release(&limits);
}

/* Of several operands each has two elements, from `first` on, where it is NaN, of either sign, and the others
 * are not. */
static int add_operand(struct test_case *test, size_t operand, size_t first, size_t nans, size_t count)
{
    struct error err = {0};
    struct shape shape = {.rank = 1, .dims = {(int64_t)count}};
    struct tensor tensor;
    char name[16];
    if (tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, &err))
        return -1;
    for (size_t i = 0; i < count; i++)
        tensor_set(&tensor, i,
                   i >= first && i < first + nans ? copysignl(NAN, i % 2 ? -1 : 1)
                                                  : (long double)i - (long double)operand);
    snprintf(name, sizeof name, "x%zu", operand);
    struct value value = value_view(name, &tensor);
    int status = test_case_add_inputs(test, &value, 1, &err);
    tensor_release(&tensor);
    return status;
}

/* A case in which the node's operator alone meets NaN at every place or, where it reduces, at one of them;
 * NULL when there is none. */
static struct test_case *habit_case(int opset, const Onnx__NodeProto *node, size_t place)
{
    size_t operands = operands_of(node), count = reduces(node) ? REDUCED : 2 * operands + 2, size;
    struct str text;
    uint8_t *bytes;
    str_init(&text);
    add_model(&text, opset, node, operands, count);
    int status = onnx_parse_text(text.data, &bytes, &size, NULL);
    str_release(&text);
    if (status)
        return NULL;
    struct test_case *test = test_case_from_bytes(bytes, size);
    for (size_t i = 0; !status && i < operands; i++)
        status =
            reduces(node) ? add_operand(test, i, place, 1, count) : add_operand(test, i, 2 * i, 2, count);
    if (!status)
        return test;
    test_case_free(test);
    return NULL;
}

static bool is_habit_at(const struct settle_case *which, struct test_case *test)
{
    struct readings readings;
    struct settle_case alone = {.pool = which->pool, .engine = which->engine, .test = test};
    if (!test || readings_init(&readings, &alone))
        return false;
    bool always = is_right_by_the_other(&readings) && !is_kept_elsewhere(&readings);
    readings_release(&readings);
    return always;
}

bool other_reading_is_habit(const struct settle_case *which, const struct model *model,
                            const Onnx__NodeProto *node)
{
    size_t places = reduces(node) ? REDUCED : 1;
    bool always = true;
    for (size_t place = 0; always && place < places; place++) {
        struct test_case *test = habit_case(model_opset(model), node, place);
        always = is_habit_at(which, test);
        test_case_free(test);
    }
    return always;
}
