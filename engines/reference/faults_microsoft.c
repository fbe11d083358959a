/*
 * Faults of the operators of the domain com.microsoft. No paper reports them; each is a mistake that an
 * implementation could make: an input or a parameter that is not looked at.
 */
#include "fault.h"
#include "patch.h"

#include <math.h>

#define IGNORES_INT(function, attribute, value)                                \
    static int function(const struct fault_scene *scene, struct op_call *call) \
    {                                                                          \
        (void)scene;                                                           \
        return eval_with_int(call, attribute, value);                          \
    }

#define IGNORES_FLOAT(function, attribute, value)                              \
    static int function(const struct fault_scene *scene, struct op_call *call) \
    {                                                                          \
        (void)scene;                                                           \
        return eval_with_float(call, attribute, value);                        \
    }

#define INPUT_AS_ZERO(function, index)                                         \
    static int function(const struct fault_scene *scene, struct op_call *call) \
    {                                                                          \
        (void)scene;                                                           \
        return eval_with_input(call, index, zero_input);                       \
    }

#define WITHOUT_INPUT(function, index)                                         \
    static int function(const struct fault_scene *scene, struct op_call *call) \
    {                                                                          \
        (void)scene;                                                           \
        return eval_without_input(call, index);                                \
    }

IGNORES_INT(turned_by_halves, "interleaved", 0)
IGNORES_INT(both_ways, "unidirectional", 0)
IGNORES_FLOAT(alpha_one, "alpha", 1)
IGNORES_FLOAT(slope_hundredth, "alpha", 0.01F)
IGNORES_FLOAT(usual_scale, "scale", 0)
INPUT_AS_ZERO(second_zero, 1)
INPUT_AS_ZERO(third_zero, 2)
WITHOUT_INPUT(no_third, 2)
WITHOUT_INPUT(no_fourth, 3)
WITHOUT_INPUT(no_fifth, 4)
WITHOUT_INPUT(no_seventh, 6)

static int most_100(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    int result;
    struct bounded *out = eval_computed(call, &result);
    for (size_t i = 0; out && i < out->count; i++)
        out->value[i] = fminl(out->value[i], 100);
    return result;
}

#define MS "com.microsoft::"

/* clang-format off */
const struct fault faults_microsoft[] = {
    FAULT_OF_PARAMETER("quick-gelu-alpha", MS "QuickGelu", "alpha", "alpha is taken as 1", alpha_one),
    FAULT_OF_DATA("gelu-no-bias", MS "BiasGelu|" MS "FastGelu", "the bias is taken as 0", second_zero),
    FAULT_OF_PARAMETER("fused-alpha", MS "FusedMatMul|" MS "FusedGemm", "alpha", "alpha is taken as 1", alpha_one),
    FAULT_OF_DATA("fused-conv-no-bias", MS "FusedConv", "B is not added", no_third),
    FAULT_OF_DATA("skip-not-added", MS "SkipLayerNormalization|" MS "SkipSimplifiedLayerNormalization", "skip is taken as 0",
             second_zero),
    FAULT_OF_DATA("simplified-scale", MS "SimplifiedLayerNormalization", "the scale is taken as 0", second_zero),
    FAULT_OF_DATA("nbits-no-zero-points", MS "MatMulNBits", "zero_points are ignored", no_fourth),
    FAULT_OF_PARAMETER("turned-by-halves", MS "RotaryEmbedding", "interleaved", "interleaved is taken as 0", turned_by_halves),
    FAULT_OF_PARAMETER("attention-both-ways", MS "Attention|" MS "MultiHeadAttention", "unidirectional", "unidirectional is taken as 0",
        both_ways),
    FAULT_OF_PARAMETER("group-query-scale", MS "GroupQueryAttention", "scale", "scale is ignored", usual_scale),
    FAULT_OF_DATA("qlinear-first-zero", MS "QLinearAdd|" MS "QLinearMul|" MS "QLinearSigmoid|" MS "QLinearGlobalAveragePool",
             "the first zero point is taken as 0", third_zero),
    FAULT_OF_DATA("qlinear-concat-zero", MS "QLinearConcat", "the zero point of the result is taken as 0", second_zero),
    FAULT_OF_PARAMETER("qlinear-leaky-alpha", MS "QLinearLeakyRelu", "alpha", "alpha is taken as 0.01", slope_hundredth),
    FAULT_OF_DATA("qgemm-no-c", MS "QGemm", "C is not added", no_seventh),
    FAULT_OF_DATA("to-float-no-bias", MS "MatMulIntegerToFloat", "the bias is not added", no_seventh),
    FAULT_OF_DATA("dynamic-no-bias", MS "DynamicQuantizeMatMul", "the bias is not added", no_fifth),
    FAULT_OF_DATA("nhwc-pool-100", MS "NhwcMaxPool", "results saturate at 100", most_100),
    {0},
};
/* clang-format on */
