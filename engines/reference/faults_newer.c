/*
 * Faults of the operators that came into the table last: signals, regions, selection, attention and what else
 * newer opsets brought. No paper reports them; each is a mistake that an implementation of the operator could
 * make, so that every one of these operators has something to be found in.
 */
#include "fault.h"
#include "patch.h"

#include <math.h>
#include <string.h>

/* Evaluates with an integer attribute that is `value` whatever the node says. */
#define IGNORES_INT(function, attribute, value)                                \
    static int function(const struct fault_scene *scene, struct op_call *call) \
    {                                                                          \
        (void)scene;                                                           \
        return eval_with_int(call, attribute, value);                          \
    }

IGNORES_INT(attention_not_causal, "is_causal", 0)
IGNORES_INT(rotary_halves, "interleaved", 0)
IGNORES_INT(grid_no_corners, "align_corners", 0)
IGNORES_INT(window_periodic, "periodic", 1)
IGNORES_INT(dft_forward, "inverse", 0)
IGNORES_INT(boxes_by_corners, "center_point_box", 0)
IGNORES_INT(unique_unsorted, "sorted", 0)

static void all_one(const struct op_call *call, struct bounded *input)
{
    (void)call;
    for (size_t i = 0; i < input->count; i++)
        input->value[i] = 1;
}

static void no_sign(const struct op_call *call, struct bounded *input)
{
    (void)call;
    for (size_t i = 0; i < input->count; i++)
        input->value[i] = fabsl(input->value[i]);
}

static int rms_no_epsilon(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_float(call, "epsilon", 0);
}

static int scan_forward(const struct fault_scene *scene, struct op_call *call)
{
    struct patch patch;
    (void)scene;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    patch_drop(&patch, "scan_input_directions");
    return patch_eval(&patch);
}

static int mvn_first_axis(const struct fault_scene *scene, struct op_call *call)
{
    struct patch patch;
    (void)scene;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    patch_ints(&patch, "axes", (const int64_t[]){0}, 1);
    return patch_eval(&patch);
}

static int swish_alpha(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_float(call, "alpha", 1);
}

static int scatter_from_start(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 2, zero_input);
}

/* Offsets are [.., 2 taps, rows, columns], first the row's, then the column's. */
static void exchange_offsets(const struct op_call *call, struct bounded *offset)
{
    (void)call;
    size_t plane = offset->shape.rank == 4 ? shape_span(&offset->shape, 2, 4) : 0;
    for (size_t at = 0; plane && at + 2 * plane <= offset->count; at += 2 * plane)
        for (size_t i = at; i < at + plane; i++) {
            long double kept = offset->value[i];
            offset->value[i] = offset->value[i + plane];
            offset->value[i + plane] = kept;
        }
}

static int deform_offsets(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 2, exchange_offsets);
}

static void drop_last_block(const struct op_call *call, struct bounded *columns)
{
    (void)call;
    size_t blocks = columns->shape.rank ? (size_t)columns->shape.dims[columns->shape.rank - 1] : 0;
    for (size_t at = blocks; blocks && at <= columns->count; at += blocks)
        columns->value[at - 1] = 0;
}

static int col2im_last_block(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 0, drop_last_block);
}

static void reverse(const struct op_call *call, struct bounded *b)
{
    (void)call;
    for (size_t i = 0; i < b->count / 2; i++) {
        long double kept = b->value[i];
        b->value[i] = b->value[b->count - 1 - i];
        b->value[b->count - 1 - i] = kept;
    }
}

/* Of an odd number of places the larger half is at the other end: the same as turning what comes in and what
 * goes out. */
static int crop_other_half(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    int result = eval_with_input(call, 0, reverse);
    if (!result && !call->shapes_only && call->outputs[0].value)
        reverse(call, &call->outputs[0]);
    return result;
}

/* 0.54 and 0.46, as textbooks have it, in place of 25/46 and 21/46. */
static int hamming_rounded(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    int result;
    struct bounded *out = eval_computed(call, &result);
    for (size_t i = 0; out && i < out->count; i++)
        out->value[i] = 0.54L - 0.46L * (25 - 46 * out->value[i]) / 21;
    return result;
}

static int stft_no_window(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 2, all_one);
}

static int mel_from_zero(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 3, zero_input);
}

static int quantize_to_254(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    int result;
    struct bounded *out = eval_computed(call, &result);
    for (size_t i = 0; out && i < out->count; i++)
        out->value[i] = fminl(out->value[i], 254);
    return result;
}

/* Indices count within a channel, as other libraries have it. */
static void within_plane(const struct op_call *call, struct bounded *indices)
{
    const struct bounded *x = call_input(call, 0);
    long double plane = x && x->shape.rank > 2 ? (long double)shape_span(&x->shape, 2, x->shape.rank) : 1;
    for (size_t i = 0; i < indices->count; i++)
        indices->value[i] = fmodl(indices->value[i], plane);
}

static int unpool_plane(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 1, within_plane);
}

static int roi_no_half_pixel(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return call->opset < 16 ? call->op->eval(call)
                            : eval_with_string(call, "coordinate_transformation_mode", "output_half_pixel");
}

static void whole_length(const struct op_call *call, struct bounded *lengths)
{
    const struct bounded *x = call_input(call, 0);
    int64_t axis = call_int(call, "time_axis", 0);
    for (size_t i = 0; x && axis >= 0 && axis < x->shape.rank && i < lengths->count; i++)
        lengths->value[i] = (long double)x->shape.dims[axis];
}

static int reverse_whole(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 1, whole_length);
}

/* Exchanged rows do not change the sign. */
static int det_no_sign(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    int result;
    struct bounded *out = eval_computed(call, &result);
    for (size_t i = 0; out && i < out->count; i++)
        out->value[i] = fabsl(out->value[i]);
    return result;
}

/* As by a number times the reciprocal of its root. */
static int sqrt_zero_nan(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    int result;
    struct bounded *out = eval_computed(call, &result);
    for (size_t i = 0; out && i < out->count; i++)
        if (out->value[i] == 0)
            out->value[i] = NAN;
    return result;
}

static int loss_no_weights(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_without_input(call, 2);
}

static int bitwise_no_sign(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 0, no_sign);
}

static void drop_last(const struct op_call *call, struct bounded *condition)
{
    (void)call;
    if (condition->count)
        condition->value[condition->count - 1] = 0;
}

static int compress_last(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 1, drop_last);
}

static int ngrams_counted(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_string(call, "mode", "TF");
}

static int qlinear_no_zero_point(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 2, zero_input);
}

static int sequence_first(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_input(call, 1, zero_input);
}

/* Random results that the distribution does not have. */
static int random_beyond(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    int result;
    struct bounded *out = eval_computed(call, &result);
    const struct bounded *x = call_input(call, 0);
    bool classes = strcmp(call->op->name, "Multinomial") == 0 && x && x->shape.rank == 2;
    for (size_t i = 0; out && i < out->count; i++)
        out->value[i] = classes ? (long double)x->shape.dims[1] : call_float(call, "high", 1) + 2;
    return result;
}

/* clang-format off */
const struct fault faults_newer[] = {
    FAULT_OF_PARAMETER("attention-not-causal", "Attention", "is_causal", "is_causal is taken as 0", attention_not_causal),
    FAULT_OF_PARAMETER("rms-no-epsilon", "RMSNormalization", "epsilon", "epsilon is taken as 0", rms_no_epsilon),
    FAULT_OF_PARAMETER("mvn-first-axis", "MeanVarianceNormalization", "axes", "axes are taken as 0", mvn_first_axis),
    FAULT_OF_PARAMETER("scan-forward", "Scan", "scan_input_directions", "scan_input_directions is ignored", scan_forward),
    FAULT_OF_PARAMETER("rotary-halves", "RotaryEmbedding", "interleaved", "interleaved is taken as 0", rotary_halves),
    FAULT_OF_PARAMETER("swish-alpha", "Swish", "alpha", "alpha is taken as 1", swish_alpha),
    FAULT_OF_DATA("scatter-from-start", "TensorScatter", "write_indices are taken as 0", scatter_from_start),
    FAULT_OF_DATA("deform-offsets", "DeformConv", "offsets along rows and columns are exchanged", deform_offsets),
    FAULT_OF_PARAMETER("grid-no-corners", "AffineGrid", "align_corners", "align_corners is taken as 0", grid_no_corners),
    FAULT_OF_DATA("col2im-last-block", "Col2Im", "the last block is left out", col2im_last_block),
    FAULT_OF_DATA("crop-other-half", "CenterCropPad", "of an odd number of places the larger half is first", crop_other_half),
    FAULT_OF_PARAMETER("window-periodic", "HannWindow|BlackmanWindow", "periodic", "periodic is taken as 1", window_periodic),
    FAULT_OF_DATA("hamming-rounded", "HammingWindow", "its coefficients are 0.54 and 0.46", hamming_rounded),
    FAULT_OF_PARAMETER("dft-forward", "DFT", "inverse", "inverse is taken as 0", dft_forward),
    FAULT_OF_DATA("stft-no-window", "STFT", "the window is taken as ones", stft_no_window),
    FAULT_OF_DATA("mel-from-zero", "MelWeightMatrix", "lower_edge_hertz is taken as 0", mel_from_zero),
    FAULT_OF_DATA("dynamic-quantize-254", "DynamicQuantizeLinear", "results saturate at 254", quantize_to_254),
    FAULT_OF_DATA("unpool-plane", "MaxUnpool", "indices count within a channel of the input", unpool_plane),
    FAULT_OF_PARAMETER("roi-no-half-pixel", "RoiAlign", "coordinate_transformation_mode", "half_pixel is taken as output_half_pixel",
        roi_no_half_pixel),
    FAULT_OF_PARAMETER("boxes-by-corners", "NonMaxSuppression", "center_point_box", "center_point_box is taken as 0", boxes_by_corners),
    FAULT_OF_PARAMETER("unique-unsorted", "Unique", "sorted", "sorted is taken as 0", unique_unsorted),
    FAULT_OF_DATA("reverse-whole", "ReverseSequence", "sequences are reversed over their whole length", reverse_whole),
    FAULT_OF_DATA("det-no-sign", "Det", "results are absolute values", det_no_sign),
    FAULT_OF_DATA("sqrt-zero-nan", "Sqrt", "the root of 0 is NaN", sqrt_zero_nan),
    FAULT_OF_DATA("loss-no-weights", "NegativeLogLikelihoodLoss|SoftmaxCrossEntropyLoss", "weights are ignored",
             loss_no_weights),
    FAULT_OF_DATA("bitwise-no-sign", "BitwiseAnd|BitwiseOr|BitwiseXor", "the first operand loses its sign", bitwise_no_sign),
    FAULT_OF_DATA("compress-last", "Compress", "the last condition is taken as false", compress_last),
    FAULT_OF_PARAMETER("ngrams-counted", "TfIdfVectorizer", "mode", "mode is taken as TF", ngrams_counted),
    FAULT_OF_DATA("qlinear-no-zero-point", "QLinearConv|QLinearMatMul", "the first zero point is taken as 0",
             qlinear_no_zero_point),
    FAULT_OF_DATA("sequence-first", "SequenceAt", "the position is taken as 0", sequence_first),
    FAULT_OF_DATA("random-beyond", "RandomUniform|RandomUniformLike|Bernoulli|Multinomial",
             "results lie outside the range of the distribution", random_beyond),
    {0},
};
/* clang-format on */
