/* Every operator and element type that newer releases of ONNX brought, and the operators of com.microsoft,
 * have planted faults (faults_newer.c, faults_narrow.c and faults_microsoft.c of the reference), which
 * generated cases find; without the fault nothing is found. */
#include "generate/operator_case.h"
#include "scene.h"
#include "trial/trial.h"

#include <stdio.h>

enum { MOST = 60 };

/* What to draw, with which fault at work. */
struct row {
    const char *fault, *ops;
    dtype_set types; /* 0: any */
    int fill;        /* FILL_... + 1; 0: any */
    int opset;
};

enum { F32 = 1 << DTYPE_FLOAT };

static const struct row rows[] = {
    {"attention-not-causal", "Attention", F32},
    {"rms-no-epsilon", "RMSNormalization", F32, FILL_NORMAL + 1},
    {"mvn-first-axis", "MeanVarianceNormalization", F32, FILL_NORMAL + 1},
    {"scan-forward", "Scan", F32, FILL_NORMAL + 1},
    {"rotary-halves", "RotaryEmbedding", F32},
    {"swish-alpha", "Swish", F32},
    {"scatter-from-start", "TensorScatter", F32},
    {"deform-offsets", "DeformConv", F32, FILL_NORMAL + 1},
    {"grid-no-corners", "AffineGrid", F32},
    {"col2im-last-block", "Col2Im", F32},
    {"crop-other-half", "CenterCropPad", F32},
    {"window-periodic", "HannWindow"},
    {"window-periodic", "BlackmanWindow"},
    {"hamming-rounded", "HammingWindow"},
    {"dft-forward", "DFT", F32, FILL_NORMAL + 1},
    {"stft-no-window", "STFT", F32, FILL_NORMAL + 1},
    {"mel-from-zero", "MelWeightMatrix"},
    {"dynamic-quantize-254", "DynamicQuantizeLinear"},
    {"unpool-plane", "MaxUnpool", F32},
    {"roi-no-half-pixel", "RoiAlign", F32, FILL_NORMAL + 1, 16},
    {"boxes-by-corners", "NonMaxSuppression"},
    {"unique-unsorted", "Unique"},
    {"reverse-whole", "ReverseSequence"},
    {"det-no-sign", "Det", F32, FILL_NORMAL + 1},
    {"sqrt-zero-nan", "Sqrt", F32, FILL_EXACT + 1},
    {"loss-no-weights", "NegativeLogLikelihoodLoss", F32},
    {"loss-no-weights", "SoftmaxCrossEntropyLoss", F32},
    {"bitwise-no-sign", "BitwiseAnd"},
    {"bitwise-no-sign", "BitwiseOr"},
    {"bitwise-no-sign", "BitwiseXor"},
    {"compress-last", "Compress"},
    {"ngrams-counted", "TfIdfVectorizer"},
    {"qlinear-no-zero-point", "QLinearConv"},
    {"qlinear-no-zero-point", "QLinearMatMul"},
    {"quick-gelu-alpha", "com.microsoft::QuickGelu", F32, FILL_NORMAL + 1},
    {"gelu-no-bias", "com.microsoft::BiasGelu", F32, FILL_NORMAL + 1},
    {"gelu-no-bias", "com.microsoft::FastGelu", F32, FILL_NORMAL + 1},
    {"fused-alpha", "com.microsoft::FusedMatMul", F32, FILL_NORMAL + 1},
    {"fused-alpha", "com.microsoft::FusedGemm", F32, FILL_NORMAL + 1},
    {"fused-conv-no-bias", "com.microsoft::FusedConv", F32, FILL_NORMAL + 1},
    {"skip-not-added", "com.microsoft::SkipLayerNormalization", F32, FILL_NORMAL + 1},
    {"simplified-scale", "com.microsoft::SimplifiedLayerNormalization", F32, FILL_NORMAL + 1},
    {"skip-not-added", "com.microsoft::SkipSimplifiedLayerNormalization", F32, FILL_NORMAL + 1},
    {"nbits-no-zero-points", "com.microsoft::MatMulNBits", F32, FILL_NORMAL + 1},
    {"turned-by-halves", "com.microsoft::RotaryEmbedding", F32, FILL_NORMAL + 1},
    {"attention-both-ways", "com.microsoft::Attention", F32, FILL_NORMAL + 1},
    {"attention-both-ways", "com.microsoft::MultiHeadAttention", F32, FILL_NORMAL + 1},
    {"group-query-scale", "com.microsoft::GroupQueryAttention", F32, FILL_NORMAL + 1},
    {"qlinear-first-zero", "com.microsoft::QLinearAdd"},
    {"qlinear-first-zero", "com.microsoft::QLinearMul"},
    {"qlinear-first-zero", "com.microsoft::QLinearSigmoid"},
    {"qlinear-first-zero", "com.microsoft::QLinearGlobalAveragePool"},
    {"qlinear-concat-zero", "com.microsoft::QLinearConcat"},
    {"qlinear-leaky-alpha", "com.microsoft::QLinearLeakyRelu"},
    {"qgemm-no-c", "com.microsoft::QGemm"},
    {"to-float-no-bias", "com.microsoft::MatMulIntegerToFloat"},
    {"dynamic-no-bias", "com.microsoft::DynamicQuantizeMatMul"},
    {"nhwc-pool-100", "com.microsoft::NhwcMaxPool"},
    {"e4m3fn-subnormals", "Cast,DequantizeLinear", 1 << DTYPE_FLOAT8E4M3FN},
    {"e4m3fnuz-bias", "Cast,DequantizeLinear", 1 << DTYPE_FLOAT8E4M3FNUZ},
    {"e5m2-infinity", "Cast,DequantizeLinear", 1 << DTYPE_FLOAT8E5M2, FILL_SPECIAL + 1},
    {"e5m2fnuz-nan", "Cast,DequantizeLinear", 1 << DTYPE_FLOAT8E5M2FNUZ, FILL_SPECIAL + 1},
    {"e8m0-bias", "Cast", 1 << DTYPE_FLOAT8E8M0},
    {"e2m1-subnormal", "Cast,DequantizeLinear", 1 << DTYPE_FLOAT4E2M1},
    {"int4-unsigned", "Cast,DequantizeLinear", 1 << DTYPE_INT4},
    {"uint4-signed", "Cast,DequantizeLinear", 1 << DTYPE_UINT4},
    {"int2-unsigned", "Cast,DequantizeLinear", 1 << DTYPE_INT2},
    {"uint2-signed", "Cast,DequantizeLinear", 1 << DTYPE_UINT2},
    {"packed-tail", "Reshape,Transpose", DTYPES_PACKED},
};

/* What is still to be drawn, and what was found. */
struct search {
    const struct row *row;
    uint64_t next;
    size_t found, healthy; /* findings on the engine with the fault, and on the one without */
    char text[256];
};

static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct search *search = context;
    struct generate_options wish = {.ops = search->row->ops,
                                    .types = search->row->types,
                                    .fill = search->row->fill,
                                    .opset = search->row->opset};
    (void)user;
    if (search->found || search->next == MOST)
        return 0;
    return generate_one(5, search->next++, &wish, test, err) ? -1 : 1;
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct search *search = context;
    const struct verdict *verdicts = done->judgement.verdicts;
    (void)err;
    if (verdict_is_finding(verdicts[0].kind) && !search->healthy++)
        snprintf(search->text, sizeof search->text, "%s: %s", done->test->recipe, verdicts[0].text);
    search->found += verdict_is_finding(verdicts[1].kind);
    trial_done_release(done);
    return 0;
}

static void scene_with(struct scene *scene, const char *fault)
{
    struct str label;
    str_init(&label);
    str_printf(&label, "reference:fault=%s", fault);
    scene_open(scene, LABELS("reference:round=on", label.data));
    str_release(&label);
}

static void each_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct search search = {.row = &rows[i]};
        struct scene scene;
        struct error err = {0};
        scene_with(&scene, rows[i].fault);
        struct trials *trials = trials_new(&(struct trial_options){.panel = &scene.panel, .ahead = 4});
        int status = trials_run(trials, &(struct trial_source){&search, make, take}, &err);
        trials_free(trials);
        scene_close(&scene);
        print_message("%s: %zu cases\n", rows[i].fault, (size_t)search.next);
        if (status)
            fail_msg("%s on %s: %s", rows[i].fault, rows[i].ops, err.message);
        if (search.healthy)
            fail_msg("without a fault: %s", search.text);
        if (!search.found)
            fail_msg("%s is not found in %d cases of %s", rows[i].fault, MOST, rows[i].ops);
    }
}

/* Operators that are not drawn: random ones, and those on sequences. */
static const struct {
    const char *fault, *text;
} models[] = {
    {"sequence-first", "g (float[3] a, int64 i) => (float[3] y) { b = Neg(a) s = SequenceConstruct(a, b) "
                       "y = SequenceAt(s, i) }"},
    {"random-beyond", "g (float[3] a) => (float[4] y) { y = RandomUniform<shape = [4]>() }"},
    {"random-beyond", "g (float[3] a) => (float[3] y) { y = RandomUniformLike(a) }"},
    {"random-beyond", "g (float[2,3] a) => (int32[2,1] y) { y = Multinomial(a) }"},
};

static void models_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct scene scene;
        struct trial_done done;
        struct error err = {0};
        scene_with(&scene, models[i].fault);
        struct trials *trials = trials_new(&(struct trial_options){.panel = &scene.panel});
        assert_int_equal(trials_submit(trials, case_of_text(models[i].text, 1), NULL, &err), 0);
        assert_int_equal(trials_next(trials, &done, &err), 1);
        if (verdict_is_finding(done.judgement.verdicts[0].kind))
            fail_msg("without a fault: %s: %s", models[i].text, done.judgement.verdicts[0].text);
        if (!verdict_is_finding(done.judgement.verdicts[1].kind))
            fail_msg("%s is not found: %s", models[i].fault, models[i].text);
        trial_done_release(&done);
        trials_free(trials);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found),
        cmocka_unit_test(models_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
