#include "diagnose/narrower.h"

#include "diagnose/cause_parts.h"
#include "diagnose/changed_case.h"
#include "model/build.h"
#include "ops/op.h"

#include <math.h>

enum { OPSET = 13, ENOUGH = 3 };

/* A few roundings of float32, which no computation in double comes near to. */
#define FLOAT_DIGITS 1e-6L

struct test_case *narrower_case(const struct op *op, enum dtype type)
{
    static const struct shape shape = {.rank = 2, .dims = {1, 3}};
    static const double numbers[] = {0.3, 0.7, 1.3};
    struct tensor tensor;
    if (tensor_alloc(&tensor, type, &shape, 0, NULL))
        return NULL;
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, numbers[i]);
    struct model *model = model_new(OPSET);
    struct test_case *test = test_case_new(model);
    int status = changed_add_input(test, model, "x", &tensor);
    model_add_node(model, op->type, "node", 1, (const char *[]){"x"}, 1, (const char *[]){"y"});
    model_add_output(model, "y", type, &shape);
    tensor_release(&tensor);
    return changed_finish(test, !status);
}

static bool has_float_digits(const struct tensor *right, const struct tensor *got)
{
    if (right->type != DTYPE_DOUBLE || got->type != DTYPE_DOUBLE || !shape_equal(&right->shape, &got->shape))
        return false;
    for (size_t i = 0; i < right->count; i++) {
        long double a = tensor_get(right, i), b = tensor_get(got, i);
        if (a != b && !(isnan(a) && isnan(b)) && !(fabsl(a - b) <= FLOAT_DIGITS * fabsl(a)))
            return false;
    }
    return true;
}

/* Whether wrong results are right but for their last digits. */
static bool is_narrow(const struct trial_done *done)
{
    return verdict_is(done->judgement.verdicts[0].kind, CLASS_NUMBERS) &&
           experiment_tensors_are(done, has_float_digits);
}

static bool computes_narrow(const struct experiment *how, const struct op *op)
{
    struct trial_done done;
    if (!experiment_ask_right(how, narrower_case(op, DTYPE_FLOAT)) ||
        !experiment_try(how, narrower_case(op, DTYPE_DOUBLE), false, &done))
        return false;
    bool narrow = is_narrow(&done);
    trial_done_release(&done);
    return narrow;
}

bool narrower_computed(const struct experiment *how)
{
    size_t found = 0;
    if (!is_narrow(how->done))
        return false;
    for (size_t i = 0; i < op_count() && found < ENOUGH; i++)
        if (cause_is_function(op_at(i)) && !*op_at(i)->domain && op_at(i)->slope == SLOPE_EVERYWHERE &&
            op_at(i)->since <= OPSET)
            found += computes_narrow(how, op_at(i));
    return found == ENOUGH;
}
