/*
 * Bugs reported by Guo, Xie, Li, Zhang, Liu, Li and Shen: Audee: Automated Testing for Deep Learning
 * Frameworks, ASE 2020.
 */
#include "fault.h"
#include "patch.h"
#include "fault_window.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static bool asymmetric(const struct window *windows, int spatial)
{
    for (int i = 0; i < spatial; i++)
        if (windows[i].pad_low != windows[i].pad_high)
            return true;
    return false;
}

static int depthwise_first_channel(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct window windows[TENSOR_MAX_RANK];
    const struct bounded *x = call_input(call, 0);
    int spatial = windows_of(call, windows);
    if (call->op->eval(call))
        return -1;
    if (!spatial || x->shape.dims[1] < 2 || call_int(call, "group", 1) != x->shape.dims[1] ||
        !asymmetric(windows, spatial))
        return 0;
    struct bounded *y = &call->outputs[0];
    size_t plane = shape_span(&y->shape, 2, y->shape.rank), channels = (size_t)y->shape.dims[1];
    for (size_t i = 0; i < y->count; i++)
        if (i / plane % channels)
            y->value[i] = 0;
    return 0;
}

static int same_symmetric(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct window windows[TENSOR_MAX_RANK];
    int spatial = windows_of(call, windows);
    bool odd = false;
    int64_t pads[2 * TENSOR_MAX_RANK];
    for (int i = 0; i < spatial; i++) {
        int64_t total = window_same_total(&windows[i]);
        odd = odd || total % 2;
        pads[i] = pads[i + spatial] = total / 2;
    }
    struct patch patch;
    if (!odd || strncmp(call_string(call, "auto_pad", "NOTSET"), "SAME", 4) != 0 || !patch_init(&patch, call))
        return call->op->eval(call);
    patch_drop(&patch, "auto_pad");
    patch_ints(&patch, "pads", pads, (size_t)spatial * 2);
    return patch_eval(&patch);
}

/* Does rounding up add a window along this dimension? It then starts near the end and hangs over it. */
static bool ceil_adds_window(const struct window *w)
{
    int64_t room = w->input + w->pad_low + w->pad_high - ((w->kernel - 1) * w->dilation + 1);
    return w->stride > 0 && room >= 0 && room % w->stride != 0;
}

static int avgpool_ceil_outside(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct window windows[TENSOR_MAX_RANK];
    int spatial = windows_of(call, windows);
    if (call->op->eval(call))
        return -1;
    if (!call_int(call, "ceil_mode", 0) || strcmp(call_string(call, "auto_pad", "NOTSET"), "NOTSET") != 0)
        return 0;
    struct bounded *y = &call->outputs[0];
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < y->count; i++, odometer_next(index, &y->shape))
        for (int k = 0; k < spatial; k++)
            if (ceil_adds_window(&windows[k]) && index[k + 2] == y->shape.dims[k + 2] - 1)
                y->value[i] = NAN;
    return 0;
}

/* exp(x) / sum exp(x) in float32, the axis' maximum not subtracted. */
static int softmax_no_max(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0);
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    int axis = (int)call_int(call, "axis", call->opset < 13 ? 1 : -1);
    axis = axis < 0 ? axis + x->shape.rank : axis;
    int end = call->opset < 13 ? x->shape.rank : axis + 1;
    size_t inner = shape_span(&x->shape, end, x->shape.rank), along = shape_span(&x->shape, axis, end);
    for (size_t i = 0; i < y->count; i++) {
        size_t first = i / (inner * along) * inner * along + i % inner;
        float sum = 0;
        for (size_t k = 0; k < along; k++)
            sum += expf((float)x->value[first + k * inner]);
        if (isinf(sum))
            y->value[i] = expf((float)x->value[i]) / sum;
    }
    return 0;
}

static int kernel_zero_crash(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    size_t count;
    const int64_t *kernel = call_ints(call, "kernel_shape", &count);
    for (size_t i = 0; i < count; i++)
        if (kernel[i] == 0)
            raise(SIGFPE);
    return call->op->eval(call);
}

static int thresholdedrelu_ge(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0);
    if (call->op->eval(call))
        return -1;
    long double alpha = dtype_round(x->type, call_float(call, "alpha", 1));
    for (size_t i = 0; i < x->count; i++)
        if (x->value[i] == alpha)
            call->outputs[0].value[i] = alpha;
    return 0;
}

static int exp_f16(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    for (size_t i = 0; i < y->count; i++)
        if (y->value[i] > 65504)
            y->value[i] = INFINITY;
    return 0;
}

const struct fault faults_audee[] = {
    {"depthwise-first-channel", "Audee", "Conv", "group",
     "with group = channels and asymmetric pads only channel 0 is computed", depthwise_first_channel, NULL,
     .tied = "group"},
    {"same-symmetric", "Audee", "Conv|MaxPool|AveragePool|LpPool", "auto_pad",
     "SAME padded symmetrically although the total is odd", same_symmetric, NULL, .tied = "auto_pad"},
    {"avgpool-ceil-outside", "Audee", "AveragePool", "ceil_mode",
     "the window that rounding up adds divides by zero: NaN", avgpool_ceil_outside, NULL,
     .tied = "ceil_mode"},
    {"softmax-no-max", "Audee", "Softmax", "axis", "no max subtraction: inf/inf = NaN for large inputs",
     softmax_no_max, NULL},
    {"kernel-zero-crash", "Audee", "Conv", "kernel_shape", "kernel 0 divides by zero: SIGFPE",
     kernel_zero_crash, NULL},
    {"thresholdedrelu-ge", "Audee", "ThresholdedRelu", "alpha", "keeps x >= alpha instead of x > alpha",
     thresholdedrelu_ge, NULL, .tied = "alpha"},
    {"exp-f16", "Audee", "Exp", "-", "overflows at 65504", exp_f16, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};
