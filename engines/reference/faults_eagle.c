/*
 * Bugs reported by Wang, Lutellier, Qian, Pham and Tan: EAGLE: Creating Equivalent Graphs to Test Deep
 * Learning Libraries, ICSE 2022.
 */
#include "fault.h"
#include "patch.h"

#include <math.h>
#include <string.h>

/* Reverses X (and what goes with it) along the batch axis, as if it were time. */
static int birnn_reverse_batch(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0);
    struct patch patch;
    if (!call_int(call, "layout", 0) ||
        strcmp(call_string(call, "direction", "forward"), "bidirectional") != 0 || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *reversed = patch_input(&patch, 0);
    size_t batch = (size_t)x->shape.dims[0], row = shape_span(&x->shape, 1, x->shape.rank);
    for (size_t i = 0; reversed && i < x->count; i++)
        reversed->value[(batch - 1 - i / row) * row + i % row] = x->value[i];
    return patch_eval(&patch);
}

/*
 * In float32 and in float16. That the reciprocal of a subnormal overflows shows in halves only: with float32
 * nobody can tell it from hardware that reads subnormals as zero.
 */
static int opt_div_reciprocal(const struct fault_scene *scene, struct op_call *call)
{
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    const struct bounded *x = call_input(call, 0), *y = call_input(call, 1);
    if (!scene->optimised || (out->type != DTYPE_FLOAT && out->type != DTYPE_FLOAT16))
        return 0;
    struct strides sx = strides_broadcast(&x->shape, &out->shape),
                   sy = strides_broadcast(&y->shape, &out->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++, odometer_next(index, &out->shape)) {
        long double a = x->value[strides_at(&sx, out->shape.rank, index)];
        long double b = y->value[strides_at(&sy, out->shape.rank, index)];
        out->value[i] = a * dtype_round(out->type, 1 / b);
    }
    return 0;
}

static bool row_is_zero(const struct bounded *b, size_t row, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (b->value[row * width + i] != 0)
            return false;
    return true;
}

static bool is_sparse(const struct fault_scene *scene, const char *name)
{
    const Onnx__GraphProto *graph = scene->model->graph;
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        if (strcmp(graph->sparse_initializer[i]->values->name, name) == 0)
            return true;
    return false;
}

/* Stored rows are taken as if none between them were empty: rows behind an empty one move up. */
static int sparse_row_order(const struct fault_scene *scene, struct op_call *call)
{
    size_t at = call->node->n_input;
    while (at-- > 0)
        if (is_sparse(scene, call->node->input[at]))
            break;
    struct patch patch;
    if (at >= call->node->n_input || call->inputs[at]->shape.rank != 2 || !patch_init(&patch, call))
        return call->op->eval(call);
    const struct bounded *from = call->inputs[at];
    struct bounded *packed = patch_input(&patch, at);
    size_t rows = (size_t)from->shape.dims[0], width = (size_t)from->shape.dims[1], next = 0;
    if (packed) {
        memset(packed->value, 0, packed->count * sizeof *packed->value);
        for (size_t r = 0; r < rows; r++)
            if (!row_is_zero(from, r, width))
                memcpy(packed->value + next++ * width, from->value + r * width,
                       width * sizeof *packed->value);
    }
    return patch_eval(&patch);
}

static int mod_int_float(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0), *y = call_input(call, 1);
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    if (out->type != DTYPE_INT64)
        return 0;
    struct strides sx = strides_broadcast(&x->shape, &out->shape),
                   sy = strides_broadcast(&y->shape, &out->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < out->count; i++, odometer_next(index, &out->shape)) {
        float a = (float)x->value[strides_at(&sx, out->shape.rank, index)];
        float b = (float)y->value[strides_at(&sy, out->shape.rank, index)];
        if (b == 0)
            continue;
        float m = fmodf(a, b);
        bool adjust = !call_int(call, "fmod", 0) && m != 0 && (m < 0) != (b < 0);
        out->value[i] = adjust ? m + b : m;
    }
    return 0;
}

static long double wrap16(long double value)
{
    return value - floorl((value + 32768) / 65536) * 65536;
}

static int narrow_accumulator(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (call->op->eval(call))
        return -1;
    struct bounded *out = &call->outputs[0];
    if (out->type != DTYPE_INT32)
        return 0;
    for (size_t i = 0; i < out->count; i++)
        out->value[i] = wrap16(out->value[i]);
    return 0;
}

/* The scale and zero point of element i: one for all, or one for each index of the axis. */
static long double along_axis(const struct op_call *call, size_t input, const struct bounded *x, size_t i)
{
    const struct bounded *p = call_input(call, input);
    if (!p)
        return 0;
    if (p->count == 1)
        return p->value[0];
    int axis = (int)call_int(call, "axis", 1);
    axis = axis < 0 ? axis + x->shape.rank : axis;
    size_t inner = shape_span(&x->shape, axis + 1, x->shape.rank);
    return p->value[i / inner % (size_t)x->shape.dims[axis]];
}

static int quant_half_up(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0);
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    if (call_int(call, "block_size", 0))
        return 0;
    for (size_t i = 0; i < y->count; i++) {
        long double steps = x->value[i] / along_axis(call, 1, x, i), low = floorl(steps);
        if (steps - low == 0.5L)
            y->value[i] = dtype_round(y->type, low + 1 + along_axis(call, 2, x, i));
    }
    return 0;
}

static int batch_dependent(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0), *scale = call_input(call, 1), *bias = call_input(call, 2);
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    size_t batch = (size_t)x->shape.dims[0], channels = (size_t)x->shape.dims[1];
    size_t plane = shape_span(&x->shape, 2, x->shape.rank);
    if (batch < 2 || !plane)
        return 0;
    for (size_t c = 0; c < channels; c++) {
        long double sum = 0, squares = 0, n = (long double)(batch * plane);
        for (size_t i = 0; i < batch * plane; i++)
            sum += x->value[(i / plane * channels + c) * plane + i % plane];
        for (size_t i = 0; i < batch * plane; i++)
            squares += powl(x->value[(i / plane * channels + c) * plane + i % plane] - sum / n, 2);
        long double factor = scale->value[c] / sqrtl(squares / n + call_float(call, "epsilon", 1e-5));
        for (size_t i = 0; i < batch * plane; i++) {
            size_t at = (i / plane * channels + c) * plane + i % plane;
            y->value[at] = (x->value[at] - sum / n) * factor + bias->value[c];
        }
    }
    return 0;
}

static int pad_unpad_off(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *pads = patch_input(&patch, 1);
    for (size_t i = 0; pads && i < pads->count; i++)
        if (pads->value[i] < 0)
            pads->value[i]++;
    return patch_eval(&patch);
}

const struct fault faults_eagle[] = {
    {"birnn-reverse-batch", "EAGLE", "LSTM|GRU|RNN", "layout",
     "bidirectional with layout=1 reverses the batch axis", birnn_reverse_batch, NULL, .tied = "layout"},
    {"opt-div-reciprocal", "EAGLE", "Div", "(opt=all)",
     "x * (1/y): overflows for subnormal y, loses bits; only with knob opt=all", opt_div_reciprocal, NULL},
    {"sparse-row-order", "EAGLE", "MatMul", "sparse initialiser",
     "assumes that no row between stored ones is empty", sparse_row_order, NULL},
    {"mod-int-float", "EAGLE", "Mod", "fmod", "int64 computed through float32", mod_int_float, NULL},
    {"narrow-accumulator", "EAGLE", "ReduceSum|MatMulInteger", "type", "sums wrap at 16 bits",
     narrow_accumulator, NULL},
    {"quant-half-up", "EAGLE", "QuantizeLinear", "-", "rounds half up instead of half to even", quant_half_up,
     NULL},
    {"batch-dependent", "EAGLE", "InstanceNormalization", "batch",
     "statistics taken over the batch when batch > 1", batch_dependent, NULL},
    {"pad-unpad-off", "EAGLE", "Pad", "pads", "negative pads crop one too few", pad_unpad_off, NULL,
     .tied = "pads"},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};
