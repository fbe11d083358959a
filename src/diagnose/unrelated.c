#include "diagnose/unrelated.h"

#include "base/str.h"
#include "diagnose/changed_case.h"
#include "diagnose/constants.h"
#include "diagnose/lists.h"
#include "model/build.h"
#include "ops/param_value.h"

#include <math.h>
#include <stddef.h>

enum { OPSET = 13 };

/* A tensor of float32 as an input of the case, or as a constant of its model. */
static int add_operand(struct test_case *test, struct model *model, const char *name,
                       const struct shape *shape, bool constant, bool nan)
{
    struct tensor tensor;
    if (tensor_alloc(&tensor, DTYPE_FLOAT, shape, 0, NULL))
        return -1;
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, nan && i + 1 == tensor.count ? NAN : (long double)i - 1);
    int status = 0;
    if (constant)
        model_add_initializer(model, name, &tensor);
    else
        status = changed_add_input(test, model, name, &tensor);
    tensor_release(&tensor);
    return status;
}

/* Adds a node of the operator that works along the last axis. */
static void add_operator(struct model *model, const struct op *op, bool row)
{
    static const int64_t last = -1;
    bool joins = op->inputs.most == OP_VARIADIC;
    Onnx__NodeProto *node =
        model_add_node(model, op->type, "node", row || joins ? 2 : 1,
                       (const char *[]){"x", row ? "row" : "x"}, 1, (const char *[]){"y"});
    for (const struct op_param *param = op->params; param && param->name; param++) {
        bool here = param->kind != PARAM_INPUT && param_exists(param, OPSET);
        if (here && text_equal(param->name, "axis"))
            node_set_int(&model->arena, node, param->name, last);
        else if (here && text_equal(param->name, "axes"))
            node_set_ints(&model->arena, node, param->name, &last, 1);
    }
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
}

struct test_case *unrelated_case(enum unrelated_class class, const struct op *op, bool of_class)
{
    static const struct shape list = {.rank = 1, .dims = {3}}, one_row = {.rank = 2, .dims = {1, 3}},
                              image = {.rank = 4, .dims = {1, 1, 1, 3}};
    const struct shape *plain = class == UNRELATED_NAN ? &image : &one_row;
    bool constant = class == UNRELATED_CONSTANTS && of_class, nan = class == UNRELATED_NAN && of_class;
    bool row = op->inputs.least == 2;
    if (!(op->flags & (class == UNRELATED_NAN ? OP_SPECIMEN_OF_NAN : OP_SPECIMEN)))
        return NULL;
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    int status =
        add_operand(test, model, "x", class == UNRELATED_LISTS && of_class ? &list : plain, constant, nan);
    if (!status && row)
        status = add_operand(test, model, "row", plain, constant, false);
    add_operator(model, op, row);
    if (status) {
        test_case_free(test);
        return NULL;
    }
    if (class == UNRELATED_NAN)
        return changed_finish(test, true);
    /* An engine may refuse a model just for having only constants, whatever the operator. */
    struct test_case *made = constants_with_variables(test);
    test_case_free(test);
    return made;
}

struct test_case *unrelated_constant(void)
{
    static const struct shape shape = {.rank = 2, .dims = {1, 3}};
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    if (add_operand(test, model, "x", &shape, true, false)) {
        test_case_free(test);
        return NULL;
    }
    model_add_node(model, "Identity", "node", 1, (const char *[]){"x"}, 1, (const char *[]){"y"});
    model_add_output(model, "y", DTYPE_FLOAT, &shape);
    return test;
}

static bool fail_on(const struct experiment *how, enum unrelated_class class)
{
    struct experiment own = *how;
    size_t failing = 0;
    own.deadly = true; /* the engine may end on what it refuses of other operators */
    own.of_numbers = true;
    for (const struct op *op = op_after(NULL); op && failing < UNRELATED_ENOUGH; op = op_after(op))
        failing += experiment_ask_right(&own, unrelated_case(class, op, false)) &&
                   !experiment_ask_right(&own, unrelated_case(class, op, true));
    return failing == UNRELATED_ENOUGH;
}

bool unrelated_fail_on_lists(const struct experiment *how)
{
    const uint64_t proved = EVIDENCE(CURED_COLUMNS) | EVIDENCE(CURED_MADE_LISTS) | EVIDENCE(CURED_DEEPER);
    uint64_t shown = how->evidence->shown;
    return ((shown & proved) || ((shown & EVIDENCE(CURED_TWO_DIMS)) && lists_are_told(how))) &&
           fail_on(how, UNRELATED_LISTS);
}

bool unrelated_fail_on_constants(const struct experiment *how)
{
    return how->fed && fail_on(how, UNRELATED_CONSTANTS);
}

bool unrelated_fail_on_nan(const struct experiment *how)
{
    return (how->evidence->shown & EVIDENCE(CURED_FINITE)) && fail_on(how, UNRELATED_NAN);
}
