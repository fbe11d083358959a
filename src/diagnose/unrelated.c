#include "diagnose/unrelated.h"

#include "base/str.h"
#include "diagnose/changed_case.h"
#include "diagnose/constants.h"
#include "diagnose/lists.h"
#include "model/build.h"

#include <math.h>
#include <stddef.h>

enum { OPSET = 13 };

/* Operators with nothing in common, and the classes that they are asked for; attributes are -1, the last
 * axis.
 */
enum { FORMS = 1 << UNRELATED_CONSTANTS | 1 << UNRELATED_LISTS, NANS = 1 << UNRELATED_NAN };
static const struct {
    const char *name;
    unsigned classes;
    const char *inputs[2];
    const char *axis, *axes;
} operators[UNRELATED_OPERATORS] = {
    {"Elu", FORMS, {"x"}, NULL, NULL},
    {"Softmax", FORMS, {"x"}, "axis", NULL},
    {"ReduceMax", FORMS, {"x"}, NULL, "axes"},
    {"Concat", FORMS, {"x", "x"}, "axis", NULL},
    {"ArgMax", FORMS, {"x"}, "axis", NULL},
    {"Add", FORMS | NANS, {"x", "row"}, NULL, NULL},
    {"Mul", NANS, {"x", "row"}, NULL, NULL},
    {"Exp", NANS, {"x"}, NULL, NULL},
    {"GlobalAveragePool", NANS, {"x"}, NULL, NULL},
    {"ReduceSum", NANS, {"x"}, NULL, NULL},
};

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
    else {
        struct value value = {
            .name = (char *)(uintptr_t)name, .kind = VALUE_TENSOR, .count = 1, .tensors = &tensor};
        model_add_input(model, name, DTYPE_FLOAT, shape);
        status = test_case_add_inputs(test, &value, 1, NULL);
    }
    tensor_release(&tensor);
    return status;
}

static void add_operator(struct model *model, size_t operator)
{
    const char *const *inputs = operators[operator].inputs;
    static const int64_t last = -1;
    Onnx__NodeProto *node = model_add_node(model, operators[operator].name, "node", inputs[1] ? 2 : 1, inputs, 1,
                                           (const char *[]){"y"});
    if (operators[operator].axis)
        node_set_int(&model->arena, node, operators[operator].axis, last);
    if (operators[operator].axes)
        node_set_ints(&model->arena, node, operators[operator].axes, &last, 1);
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
}

struct test_case *unrelated_case(enum unrelated_class class, size_t operator, bool of_class)
{
    static const struct shape list = {.rank = 1, .dims = {3}}, one_row = {.rank = 2, .dims = {1, 3}},
                              image = {.rank = 4, .dims = {1, 1, 1, 3}};
    const struct shape *plain = class == UNRELATED_NAN ? &image : &one_row;
    bool constant = class == UNRELATED_CONSTANTS && of_class, nan = class == UNRELATED_NAN && of_class;
    if (!(operators[operator].classes & 1U << class))
        return NULL;
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    int status =
        add_operand(test, model, "x", class == UNRELATED_LISTS && of_class ? &list : plain, constant, nan);
    if (!status && operators[operator].inputs[1] && text_equal(operators[operator].inputs[1], "row"))
        status = add_operand(test, model, "row", plain, constant, false);
    add_operator(model, operator);
    if (status) {
        test_case_free(test);
        return NULL;
    }
    if (class == UNRELATED_NAN)
        return changed_finish(test, true);
    /* A model of constants alone may be refused for that, and for no operator. */
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
    own.deadly = true; /* some operators may die of what others refuse */
    own.of_numbers = true;
    for (size_t i = 0; i < UNRELATED_OPERATORS && failing < UNRELATED_ENOUGH; i++)
        failing += experiment_right(&own, unrelated_case(class, i, false)) &&
                   !experiment_right(&own, unrelated_case(class, i, true));
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
