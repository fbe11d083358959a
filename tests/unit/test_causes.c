/* Causes: findings of campaigns on real engines, as they were stored, are grouped where evidence says so. */
#include "diagnose/causes.h"

#include "base/file.h"
#include "diagnose/mates.h"
#include "diagnose/table.h"
#include "ops/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
    const char *signature, *evidence;
};

static void key_of(struct str *key, const struct row *row)
{
    struct signature signature;
    struct finding_evidence evidence;
    str_init(key);
    assert_true(signature_parse(&signature, row->signature));
    evidence_init(&evidence);
    evidence_read(&evidence, row->evidence, strlen(row->evidence));
    cause_key(key, &signature, &evidence, NULL);
    evidence_release(&evidence);
}

static void check(const struct row *a, const struct row *b, bool together)
{
    struct str first, second;
    key_of(&first, a);
    key_of(&second, b);
    if (text_equal(first.data, second.data) != together)
        fail_msg("%s: %s\n%s", together ? "parted" : "together", first.data, second.data);
    str_release(&first);
    str_release(&second);
}

static void same(const struct row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        check(&rows[0], &rows[i], true);
}

static void apart(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            check(&rows[i], &rows[k], false);
}

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* OpenCV 5.0.0: operands that are not broadcast rightly. The refusal is in the layer of BitShift alone, and
 * Pow is right but for the digits that float32 does not have. */
static void test_broadcast(void **state)
{
    static const struct row shared[] = {
        {"wrong|opencv|Max|f32||", "{\"shown\": [\"expanded\", \"diagnosed\"], \"main\": \"Max\"}"},
        {"wrong|opencv|Sum|f32||", "{\"shown\": [\"expanded\", \"diagnosed\"], \"main\": \"Sum\"}"}};
    static const struct row others[] = {
        {"wrong|opencv|Max|f32||", "{\"shown\": [\"expanded\", \"diagnosed\"], \"main\": \"Max\"}"},
        {"refused|opencv|BitShift|||bitshift_layer.cpp:#: error: (#:Assertion failed) isScalarShift",
         "{\"shown\": [\"expanded\", \"diagnosed\"], \"main\": \"BitShift\"}"},
        {"wrong|opencv|Pow|f64||",
         "{\"shown\": [\"expanded\", \"diagnosed\", \"narrower\"], \"main\": \"Pow\"}"}};
    (void)state;
    same(shared, COUNT(shared));
    apart(others, COUNT(others));
}

/* ONNX Runtime 1.20.0 and 1.30.0. */
static void test_one_bug(void **state)
{
    (void)state;
    static const struct row empty[] = {
        {"shape|onnxruntime|ReduceL1|any empty||", "{\"shown\": [\"filled\", \"by_operator\"]}"},
        {"shape|onnxruntime|ReduceSumSquare|any empty||", "{\"shown\": [\"filled\", \"by_operator\"]}"},
        {"shape|onnxruntime|ReduceMean|any empty|keepdims=0|", "{\"shown\": [\"filled\"]}"},
    };
    static const struct row recurrent[] = {
        {"wrong|onnxruntime|GRU|f16|direction=bidirectional|",
         "{\"parameter\": \"activations\", \"value\": \"ThresholdedRelu\", \"owner\": \"GRU\"}"},
        {"wrong|onnxruntime|RNN|f32||",
         "{\"parameter\": \"activations\", \"value\": \"ThresholdedRelu\", \"owner\": \"RNN\"}"},
        {"wrong|onnxruntime|LSTM|f32||",
         "{\"parameter\": \"activations\", \"value\": \"ThresholdedRelu\", \"owner\": \"LSTM\"}"},
    };
    static const struct row scale[] = {
        {"wrong|onnxruntime|MatMul+Div|f64||",
         "{\"shown\": [\"initializer-as-input\", \"by_operator\"], \"passes\": [\"MatMulScaleFusion\"]}"},
        {"wrong|onnxruntime|Mul+MatMul|f64||", "{\"passes\": [\"MatMulScaleFusion\"]}"},
    };
    static const struct row moved[] = {
        {"wrong|onnxruntime|DequantizeLinear+Squeeze|int>f32||",
         "{\"passes\": [\"QDQPropagationTransformer\"]}"},
        {"wrong|onnxruntime|DequantizeLinear+Reshape|int>f32||",
         "{\"passes\": [\"QDQPropagationTransformer\"]}"},
    };
    static const struct row folded[] = {
        {"refused|onnxruntime|If(Abs,Add,Constant,Mul)+Cast|||Node input '?' is not a graph input",
         "{\"shown\": [\"initializer-as-input\"], \"passes\": [\"ConstantFolding\"]}"},
        {"refused|onnxruntime|Add+If(Neg)|||Node input '?' is not a graph input",
         "{\"passes\": [\"ConstantFolding\"]}"},
    };
    same(empty, COUNT(empty));
    same(recurrent, COUNT(recurrent));
    same(scale, COUNT(scale));
    same(moved, COUNT(moved));
    same(folded, COUNT(folded));
}

static void test_one_class_of_inputs(void **state)
{
    (void)state;
    /* OpenCV 4.10.0: axes in another order; as an attribute, and as a constant. */
    static const struct row axes[] = {
        {"wrong|opencv|ReduceMax|f32||", "{\"shown\": [\"axes-sorted\"], \"parameter\": \"axes\", \"value\": "
                                         "\"2,3,1,0\", \"owner\": \"ReduceMax\"}"},
        {"wrong|opencv|ReduceProd|f32||", "{\"shown\": [\"axes-sorted\", \"by_operator\"]}"},
    };
    /* A class of inputs that it fails on whatever the operator, with any symptom. */
    static const struct row lists[] = {
        {"shape|opencv|ReduceL1|any||", "{\"shown\": [\"two-dims\", \"lists\"], \"parameter\": \"axes\", "
                                        "\"value\": \"-1\", \"owner\": \"ReduceL1\"}"},
        {"wrong|opencv|CumSum|f32||", "{\"shown\": [\"two-dims\", \"lists\"]}"},
        {"refused|opencv|nary_eltwise_layers.cpp|||nary_eltwise_layers.cpp:#: 'findCommonShape'",
         "{\"shown\": [\"expanded\", \"two-dims\", \"as-columns\", \"lists\"], \"main\": \"Add\"}"},
        {"wrong|opencv|Reshape+Mul|f32||", "{\"shown\": [\"made-two-dims\", \"lists\"], \"main\": \"Mul\"}"},
        {"refused|opencv|Einsum|||einsum_layer.cpp:#: 'processEquation'",
         "{\"shown\": [\"filled\", \"as-columns\", \"lists\"], \"main\": \"Einsum\"}"},
    };
    static const struct row vectors[] = {
        {"refused|opencv|MatMul|||matmul_layer.cpp:#: 'getMemoryShapes'",
         "{\"shown\": [\"two-dims\", \"as-columns\", \"lists\"], \"main\": \"MatMul\"}"},
        {"shape|opencv|MatMul|any||", "{\"shown\": [\"as-columns\", \"lists\"], \"main\": \"MatMul\"}"},
    };
    static const struct row constants[] = {
        {"refused|opencv|Celu|||an empty network", "{\"shown\": [\"initializer-as-input\", \"no_inputs\"]}"},
        {"refused|opencv|ConstantOfShape|||an empty network", "{\"shown\": [\"no_inputs\"]}"},
    };
    static const struct row of_constants[] = {
        {"crash|opencv|ArgMax|any||readNet<load<main", "{\"shown\": [\"constants\"]}"},
        {"refused|opencv|Resize|||resize_layer.cpp:#: inputs.size() == #",
         "{\"shown\": [\"initializer-as-input\", \"constants\"]}"},
    };
    static const struct row outputs[] = {
        {"refused|opencv|Shape|||an empty network", "{\"shown\": [\"no_inputs\"]}"},
        {"refused|opencv|Range|||an empty network", "{\"shown\": [\"no_inputs\"]}"},
        {"refused|opencv|Acos|||an empty network", "{\"shown\": [\"no_inputs\"]}"},
    };
    static const struct row slopes[] = {
        {"refused|opencv|elementwise_layers.cpp|||elementwise_layers.cpp:#: scale.total() in 'apply'",
         "{\"shown\": [\"expanded\"], \"main\": \"PRelu\"}"},
        {"wrong|opencv|PRelu|f32||", "{\"shown\": [\"two-dims\", \"lists\"], \"main\": \"PRelu\"}"},
    };
    static const struct row shifted[] = {
        {"wrong|opencv|Pow|f32||", "{\"shown\": [\"initializer-as-input\"], \"constant\": \"uint8\"}"},
        {"wrong|opencv|Less|int8>bool||", "{\"shown\": [\"initializer-as-input\"], \"constant\": \"uint8\"}"},
        {"wrong|opencv|DequantizeLinear|int8>f32||",
         "{\"shown\": [\"constant-by-cast\"], \"parameter\": \"x_zero_point\", \"value\": \"0\", \"owner\": "
         "\"DequantizeLinear\", \"constant\": \"uint8\", \"main\": \"DequantizeLinear\"}"},
    };
    same(axes, COUNT(axes));
    same(lists, COUNT(lists));
    same(vectors, COUNT(vectors));
    same(constants, COUNT(constants));
    same(of_constants, COUNT(of_constants));
    same(outputs, COUNT(outputs));
    same(slopes, COUNT(slopes));
    same(shifted, COUNT(shifted));
}

static void test_one_parameter_or_result(void **state)
{
    (void)state;
    static const struct row data[] = {
        {"refused|opencv|Conv|||cannot create std::vector",
         "{\"shown\": [\"initializer-as-input\"], \"constant\": \"float32\", \"main\": \"Conv\"}"},
        {"refused|opencv|convolution_layer.cpp|||convolution_layer.cpp:#: blobs.empty()",
         "{\"shown\": [\"initializer-as-input\"], \"constant\": \"float32\", \"main\": \"Conv\"}"},
    };
    static const struct row negative[] = {
        {"refused|opencv|padding_layer.cpp|||padding_layer.cpp:#: paddings[i].first >= #",
         "{\"parameter\": \"pads\", \"value\": \"-1,0\", \"owner\": \"Pad\", \"main\": \"Pad\"}"},
        {"refused|opencv|padding_layer.cpp|||padding_layer.cpp:#: paddings[i].second >= #",
         "{\"parameter\": \"pads\", \"value\": \"0,-3\", \"owner\": \"Pad\", \"main\": \"Pad\"}"},
    };
    static const struct row left_out[] = {
        {"crash|onnxruntime|ConvInteger|any||", "{\"shown\": [\"by_operator\"]}"},
        {"crash|onnxruntime|ConvInteger|any|auto_pad=VALID|", "{\"shown\": [\"by_operator\"]}"},
    };
    static const struct row deaths[] = {
        {"crash|opencv|ReduceMax|any||forwardLayer<forward",
         "{\"parameter\": \"axes\", \"value\": \"0,1\", \"owner\": \"ReduceMax\"}"},
        {"crash-fpe|opencv|ReduceL1|any||malloc<create",
         "{\"parameter\": \"axes\", \"value\": \"-1\", \"owner\": \"ReduceL1\"}"},
    };
    static const struct row further[] = {
        {"refused|opencv|net_impl.cpp|||net_impl.cpp:#: 'getBlob'",
         "{\"shown\": [\"fewer-outputs\"], \"main\": \"LayerNormalization\"}"},
        {"crash|opencv|LayerNormalization+ArgMax|any||readNet<load<main",
         "{\"shown\": [\"fewer-outputs\"], \"alone\": \"refused|opencv|net_impl.cpp|||net_impl.cpp:#: "
         "'getLayerData'\", \"main\": \"LayerNormalization\"}"},
    };
    static const struct row mask[] = {
        {"crash|opencv|Dropout|any||", "{\"shown\": [\"fewer-outputs\"], \"main\": \"Dropout\"}"},
        {"dtype|opencv|Dropout|f32||", "{\"shown\": [\"fewer-outputs\", \"by_operator\"], \"wanted\": "
                                       "\"bool\", \"made\": \"float32\", \"main\": \"Dropout\"}"},
        {"wrong|opencv|Dropout|f32||",
         "{\"shown\": [\"fewer-outputs\", \"by_operator\"], \"main\": \"Dropout\"}"},
    };
    /* A place that many operators come by, and nodes of which each is at fault by itself. */
    static const struct row nodes[] = {
        {"refused|opencv|MaxPool+Reshape|||reshape.cpp:#: 'g'",
         "{\"shown\": [\"by_operator\"], \"alone\": \"refused|opencv|net.cpp|||net.cpp:#: 'f'\", \"main\": "
         "\"MaxPool\"}"},
        {"refused|opencv|Einsum+ScatterND|||scatter.cpp:#: 'h'",
         "{\"shown\": [\"by_operator\"], \"alone\": \"refused|opencv|net.cpp|||net.cpp:#: 'f'\", \"main\": "
         "\"Einsum\"}"},
    };
    /* Nothing is said of why a result is wrong where it depends on something, or is of a wrong type alone. */
    static const struct row indices[] = {
        {"refused|opencv|MaxPool|||x.cpp:#: 'f'", "{\"shown\": [\"fewer-outputs\"], \"main\": \"MaxPool\"}"},
        {"wrong|opencv|MaxPool|f32||",
         "{\"shown\": [\"above-lowest\", \"fewer-outputs\", \"by_operator\"], \"main\": \"MaxPool\"}"},
        {"dtype|opencv|MaxPool|f32||", "{\"shown\": [\"fewer-outputs\", \"by_operator\"], \"wanted\": "
                                       "\"int64\", \"made\": \"float32\", \"main\": \"MaxPool\"}"},
    };
    same(data, COUNT(data));
    same(negative, COUNT(negative));
    same(left_out, COUNT(left_out));
    same(deaths, COUNT(deaths));
    same(further, COUNT(further));
    same(mask, COUNT(mask));
    apart(indices, COUNT(indices));
    apart(nodes, COUNT(nodes));
}

/* What experiments on data and sizes tell, whatever parameter was found beside it. */
static void test_one_kind_of_numbers(void **state)
{
    (void)state;
    /* ONNX Runtime 1.20.0: the quotient of two sizes is rounded. */
    static const struct row sizes[] = {
        {"wrong|onnxruntime|Resize|f32|nearest_mode=round_prefer_ceil|",
         "{\"shown\": [\"another-size\"], \"parameter\": \"nearest_mode\", \"value\": \"round_prefer_ceil\", "
         "\"owner\": \"Resize\", \"main\": \"Resize\"}"},
        {"wrong|onnxruntime|Resize|f32|coordinate_transformation_mode=asymmetric,nearest_mode=floor|",
         "{\"shown\": [\"another-size\"], \"parameter\": \"coordinate_transformation_mode\", \"value\": "
         "\"asymmetric\", \"owner\": \"Resize\", \"main\": \"Resize\"}"},
    };
    /* The largest is looked for from the lowest finite number on. */
    static const struct row lowest[] = {
        {"wrong|onnxruntime|MaxPool|f32||",
         "{\"shown\": [\"finite\", \"above-lowest\"], \"main\": \"MaxPool\"}"},
        {"wrong|onnxruntime|MaxPool|int8||",
         "{\"shown\": [\"above-lowest\", \"fewer-outputs\"], \"main\": \"MaxPool\"}"},
    };
    /* torch 2.6.0: a quotient that overflows. */
    static const struct row large[] = {
        {"nan|torch|Mod|f32|fmod=1|", "{\"shown\": [\"moderate\", \"other-type\"], \"main\": \"Mod\"}"},
        {"nan|torch|Mod|f64|fmod=1|", "{\"shown\": [\"moderate\"], \"main\": \"Mod\"}"},
    };
    same(sizes, COUNT(sizes));
    same(lowest, COUNT(lowest));
    same(large, COUNT(large));
}

/* Of one parameter at fault the symptom is chance, and a node is itself wherever it was found. */
static void test_one_symptom_of_many(void **state)
{
    (void)state;
    /* torch 2.6.0: elements that were never written. */
    static const struct row numbers[] = {
        {"nan|torch|LogSoftmax|f16||",
         "{\"parameter\": \"axis\", \"value\": \"0\", \"owner\": \"LogSoftmax\", \"main\": \"LogSoftmax\"}"},
        {"wrong|torch|LogSoftmax|f16||",
         "{\"parameter\": \"axis\", \"value\": \"0\", \"owner\": \"LogSoftmax\", \"main\": \"LogSoftmax\"}"},
    };
    /* OpenCV 4.10.0: a reduction over all axes, and an Unsqueeze of a constant. */
    static const struct row deaths[] = {
        {"crash|opencv|ArgMax+ReduceSum|any||forwardLayer<forward",
         "{\"parameter\": \"axes\", \"value\": \"1,2,0\", \"owner\": \"ReduceSum\"}"},
        {"crash|opencv|ReduceL1|any||forward",
         "{\"parameter\": \"axes\", \"value\": \"0,1\", \"owner\": \"ReduceL1\", \"main\": \"ReduceL1\"}"},
    };
    static const struct row places[] = {
        {"refused|opencv|Unsqueeze|||onnx_importer.cpp:#: idx <= dims.size()",
         "{\"shown\": [\"by_operator\", \"no_inputs\"], \"main\": \"Unsqueeze\"}"},
        {"refused|opencv|Shape+Unsqueeze|||onnx_importer.cpp:#: idx <= dims.size()",
         "{\"shown\": [\"by_operator\"], \"alone\": \"refused|opencv|Unsqueeze|||onnx_importer.cpp:#: idx <= "
         "dims.size()\", \"main\": \"Unsqueeze\"}"},
    };
    same(numbers, COUNT(numbers));
    same(deaths, COUNT(deaths));
    same(places, COUNT(places));
}

/* What is noticed in several ways, or by operators of a kind. */
static void test_one_condition(void **state)
{
    (void)state;
    /* ONNX Runtime 1.20.0: a pass on tensors without elements. */
    static const struct row pass[] = {
        {"dtype|onnxruntime|Neg+Add|f32 empty||",
         "{\"shown\": [\"filled\"], \"passes\": [\"NoopElimination\"]}"},
        {"refused|onnxruntime|graph_utils.cc|||graph_utils.cc:# Should be unreachable",
         "{\"shown\": [\"filled\"], \"passes\": [\"NoopElimination\"], \"main\": \"Loop\"}"},
    };
    /* OpenCV 4.10.0: weights that are no constant, and how many windows pads make. */
    static const struct row weights[] = {
        {"refused|opencv|convolution_layer.cpp|||convolution_layer.cpp:#: ngroups > #",
         "{\"shown\": [\"frozen-1\"], \"main\": \"Conv\"}"},
        {"refused|opencv|convolution_layer.cpp|||convolution_layer.cpp:#: weightShape.dims()",
         "{\"shown\": [\"frozen-1\"], \"parameter\": \"B\", \"value\": \"0\", \"owner\": \"Conv\", \"main\": "
         "\"Conv\"}"},
    };
    static const struct row windows[] = {
        {"shape|opencv|Conv|any||", "{\"parameter\": \"pads\", \"value\": \"0,1\", \"owner\": \"Conv\"}"},
        {"shape|opencv|MaxPool|any||",
         "{\"parameter\": \"pads\", \"value\": \"2,0\", \"owner\": \"MaxPool\"}"},
    };
    static const struct row letters[] = {
        {"refused|opencv|Einsum|||einsum_layer.cpp:#: leftRank == rightRank",
         "{\"shown\": [\"letters-kept\"], \"main\": \"Einsum\"}"},
        {"refused|opencv|shape_utils.hpp|||shape_utils.hpp:#: axis < dims",
         "{\"shown\": [\"letters-kept\"], \"parameter\": \"equation\", \"value\": \"el,eo->el\", \"owner\": "
         "\"Einsum\", \"main\": \"Einsum\"}"},
    };
    /* Two bugs of one operator at a place that all come by. */
    static const struct row scalar[] = {
        {"refused|opencv|net_impl.cpp|||net_impl.cpp:#: total(os[i]) > #",
         "{\"shown\": [\"scalar\"], \"parameter\": \"equation\", \"value\": \"ym->\", \"owner\": \"Einsum\", "
         "\"main\": \"Einsum\"}"},
        {"refused|opencv|net_impl.cpp|||net_impl.cpp:#: total(os[i]) > #",
         "{\"parameter\": \"equation\", \"value\": \"pksl,lp,kb\", \"owner\": \"Einsum\", \"main\": "
         "\"Einsum\"}"},
    };
    same(pass, COUNT(pass));
    same(weights, COUNT(weights));
    same(windows, COUNT(windows));
    same(letters, COUNT(letters));
    apart(scalar, COUNT(scalar));
}

/* Cures that mean what they say of a single node alone, or of operands that are all broadcast. */
static void test_other_nodes(void **state)
{
    (void)state;
    static const struct row columns[] = {
        {"wrong|opencv|Less|f32>bool||", "{\"shown\": [\"as-columns\", \"lists\"], \"main\": \"Less\"}"},
        {"wrong|opencv|PRelu|f32||",
         "{\"shown\": [\"expanded\", \"as-columns\", \"lists\"], \"main\": \"PRelu\"}"},
    };
    static const struct row vectors[] = {
        {"refused|opencv|MatMul|||matmul_layer.cpp:#: shape_A.size()",
         "{\"shown\": [\"two-dims\"], \"main\": \"MatMul\"}"},
        {"refused|opencv|Add+MatMul|||matmul_layer.cpp:#: K_A == K_B",
         "{\"shown\": [\"two-dims\"], \"main\": \"MatMul\"}"},
    };
    static const struct row broadcast[] = {
        {"wrong|opencv|Gemm|f32||", "{\"shown\": [\"expanded\"], \"main\": \"Gemm\"}"},
        {"refused|opencv|Div+Gemm|||gemm_layer.cpp:#: num_inputs <= #",
         "{\"shown\": [\"expanded\"], \"main\": \"Gemm\"}"},
    };
    apart(columns, COUNT(columns));
    apart(vectors, COUNT(vectors));
    apart(broadcast, COUNT(broadcast));
}

static void test_one_place_or_type(void **state)
{
    (void)state;
    static const struct row place[] = {
        {"refused|opencv|ArgMax|||net_impl.cpp:#: error: (#:Assertion failed) inputs.size() == #", "{}"},
        {"refused|opencv|net_impl.cpp|||net_impl.cpp:#: error: (#:Assertion failed) inputs.size() == #",
         "{\"main\": \"ArgMin\"}"},
    };
    /* An operator that is named by the engine, and one of which nothing was found. */
    static const struct row passed_by[] = {
        {"refused|opencv|Shape|||layer_internals.hpp:#: inputs.size() == #",
         "{\"shown\": [\"by_operator\", \"scalar\"], \"main\": \"Neg\"}"},
        {"refused|opencv|layer_internals.hpp|||layer_internals.hpp:#: inputs.size() == #",
         "{\"main\": \"MatMul\"}"},
    };
    static const struct row types[] = {
        {"refused|torch|Einsum|||expected scalar type Char but found Long", "{}"},
        {"refused|torch|Einsum|||expected scalar type Long but found Int", "{}"},
    };
    static const struct row casts[] = {
        {"dtype|opencv|Cast|f32>int||", "{\"wanted\": \"int32\", \"made\": \"float32\"}"},
        {"dtype|opencv|Cast|f32>bool||", "{\"wanted\": \"bool\", \"made\": \"float32\"}"},
    };
    static const struct row made[] = {
        {"dtype|opencv|Pad|any||", "{\"wanted\": \"uint8\", \"made\": \"float32\"}"},
        {"dtype|opencv|Add|int8||", "{\"wanted\": \"int8\", \"made\": \"float32\"}"},
    };
    same(place, COUNT(place));
    same(passed_by, COUNT(passed_by));
    same(types, COUNT(types));
    same(casts, COUNT(casts));
    same(made, COUNT(made));
}

/* Of models of several nodes, what one node does; of operators, what several places notice. */
static void test_one_bug_noticed_elsewhere(void **state)
{
    (void)state;
    static const char slice[] = "{\"parameter\": \"starts\", \"owner\": \"Slice\", \"alone\": "
                                "\"wrong|opencv|Slice|any||\", \"main\": \"Slice\"}";
    static const struct row behind[] = {
        {"refused|opencv|Slice+Reshape|||reshape_layer.cpp:#: error: maskTotal", slice},
        {"refused|opencv|Concat+Slice+Transpose|||concat_layer.cpp:#: error: shape", slice},
        {"wrong|opencv|Slice|any||",
         "{\"parameter\": \"starts\", \"owner\": \"Slice\", \"main\": \"Slice\"}"},
    };
    static const struct row forward[] = {
        {"crash|opencv|ScatterElements|any||parallel_for_<forward",
         "{\"shown\": [\"axes-forward\"], \"parameter\": \"axis\", \"owner\": \"ScatterElements\", \"main\": "
         "\"ScatterElements\"}"},
        {"crash-fpe|opencv|ScatterElements|any||fastMalloc<create",
         "{\"shown\": [\"axes-forward\"], \"main\": \"ScatterElements\"}"},
    };
    static const struct row levels[] = {
        {"refused|onnxruntime|LayerNormalization|||Type Error: Type parameter (?) bound to different types",
         "{\"passes\": [\"LayerNormFusionL1\"]}"},
        {"refused|onnxruntime|LayerNormalization|||This is an invalid model. Type Error: Type 'tensor(T)'",
         "{\"passes\": [\"LayerNormFusionL2\"]}"},
    };
    static const struct row wordings[] = {
        {"refused|onnxruntime|upsamplebase.h|||upsamplebase.h:# ScalesValidation 'Cubic' mode",
         "{\"passes\": [\"TransposeOptimizer\"]}"},
        {"refused|onnxruntime|upsamplebase.h|||upsamplebase.h:# ScalesValidation 'Linear' mode",
         "{\"passes\": [\"TransposeOptimizer\"]}"},
    };
    same(behind, COUNT(behind));
    same(forward, COUNT(forward));
    same(levels, COUNT(levels));
    same(wordings, COUNT(wordings));
}

static void test_other_bugs(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"shape|onnxruntime|ReduceL1|any empty||", "{\"shown\": [\"filled\", \"by_operator\"]}"},
        {"shape|onnxruntime|ReduceL2|any empty||",
         "{\"shown\": [\"by_operator\"]}"}, /* empty, but is that it? */
        {"nan-lost|onnxruntime|ReduceMax|f32||", "{\"shown\": [\"finite\", \"by_operator\"]}"},
        {"nan-lost|onnxruntime|Erf|f32||", "{\"shown\": [\"finite\", \"by_operator\"]}"},
        {"nan-lost|onnxruntime|Relu|f32||", "{\"shown\": [\"finite\", \"by_operator\"]}"},
        {"wrong|onnxruntime|GRU|f32||",
         "{\"parameter\": \"activations\", \"value\": \"ThresholdedRelu\", \"owner\": \"GRU\"}"},
        {"wrong|onnxruntime|RNN|f32||",
         "{\"parameter\": \"activations\", \"value\": \"HardSigmoid\", \"owner\": \"RNN\"}"},
        {"wrong|opencv|ReduceProd|f32||", "{\"shown\": [\"axes-sorted\", \"by_operator\"]}"},
        {"wrong|opencv|ReduceL1|f32||", /* an axis of size 1 */
         "{\"parameter\": \"axes\", \"value\": \"0\", \"owner\": \"ReduceL1\"}"},
        {"refused|opencv|nary_eltwise_layers.cpp|||nary_eltwise_layers.cpp:#: error: (#:Assertion failed) "
         "shape[i] == # || outShape[i] == # in function 'findCommonShape'",
         "{\"shown\": [\"two-dims\"]}"},
        {"refused|opencv|nary_eltwise_layers.cpp|||nary_eltwise_layers.cpp:#: error: (#:Assertion failed) "
         "shape[i] == # || outShape[i] == # in function 'findCommonShape' > ",
         "{\"shown\": [\"filled\"]}"},
        {"refused|opencv|AveragePool+Reshape|||reshape_layer.cpp:#: error: (#:Assertion failed) maskTotal",
         "{}"},
        {"refused|opencv|Shape+Reshape|||reshape_layer.cpp:#: error: (#:Assertion failed) maskTotal", "{}"},
        {"refused|opencv|Celu|||an empty network", "{}"},
        {"refused|opencv|Reshape|||an empty network", "{}"},
        {"wrong|opencv|Gather|any||", /* because it is counted from the back */
         "{\"shown\": [\"axes-forward\"], \"parameter\": \"axis\", \"owner\": \"Gather\", \"main\": "
         "\"Gather\"}"},
        {"wrong|opencv|Gather|any||", "{\"parameter\": \"axis\", \"value\": \"1\", \"owner\": \"Gather\"}"},
        {"wrong|opencv|Squeeze|any||",
         "{\"parameter\": \"axes\", \"value\": \"-1\", \"owner\": \"Squeeze\"}"},
        {"wrong|onnxruntime|MatMul+Div|f64||", "{\"passes\": [\"MatMulScaleFusion\"]}"},
        {"refused|onnxruntime|Pad|||ParseData type mismatch", "{}"},
        {"refused|onnxruntime|Resize|||ParseData type mismatch", "{}"},
        {"refused|onnxruntime|Resize|||ParseData type mismatch", "{\"passes\": [\"ConstantFolding\"]}"},
        {"wrong|onnxruntime|Gemm|f32|transB=1|gradient", "{\"shown\": [\"by_operator\"]}"},
        {"refused|opencv|Elu|||layer.cpp:#: inputs.size()", "{\"shown\": [\"constants\"]}"},
        {"refused|torch|Elu|||layer.cpp:#: inputs.size()", "{\"shown\": [\"constants\"]}"},
        {"refused|opencv|Cosh|||layer.cpp:#: src.size == dst.size", /* of a scalar */
         "{\"shown\": [\"ranked\", \"constants\"]}"},
        {"crash|opencv|Tile|any empty||readNet<load<main", "{\"shown\": [\"by_operator\"]}"},
        {"refused|opencv|Pad|||padding_layer.cpp:#: inputs.size()", "{}"},
        {"wrong|opencv|Add|f32||", "{\"shown\": [\"two-dims\", \"lists\"]}"},
        {"refused|opencv|layer_norm.cpp|||layer_norm.cpp:#: scale", /* of a scalar */
         "{\"shown\": [\"ranked\", \"two-dims\", \"lists\"]}"},
        {"wrong|opencv|Concat|any||", /* of one operand: memory that is never written */
         "{\"shown\": [\"two-dims\", \"other-type\", \"lists\"]}"},
        {"dtype|opencv|Gemm|int||", /* of lists, but that is no matter of types */
         "{\"shown\": [\"as-columns\", \"lists\"], \"main\": \"Gemm\"}"},
        {"wrong|opencv|PRelu|f32||", /* a row fits the other operand by chance */
         "{\"shown\": [\"two-dims\", \"lists\"], \"main\": \"PRelu\"}"},
        {"refused|opencv|matrix.cpp|||matrix.cpp:#: setSize", /* of constants, and backwards */
         "{\"shown\": [\"steps-forward\", \"constants\"], \"main\": \"Slice\"}"},
        {"inconsistent|onnxruntime|Conv|f32||auto-pad", "{\"shown\": [\"by_operator\"]}"},
        {"shape|opencv|ConvTranspose|any||", "{\"shown\": [\"by_operator\"]}"},
        {"shape|opencv|ConvTranspose|any|auto_pad=SAME_UPPER|", "{\"shown\": [\"by_operator\"]}"},
    };
    apart(rows, COUNT(rows));
}

/* Without evidence, or with damaged evidence, the signature is the cause. */
static void test_nothing_known(void **state)
{
    (void)state;
    static const char *const evidence[] = {"", "{", "[1]",
                                           "{\"passes\": 3, \"shown\": null, \"cures\": null}"};
    for (size_t i = 0; i < COUNT(evidence); i++) {
        struct row row = {"wrong|opencv|Resize|f32|mode=cubic|", evidence[i]};
        struct str key;
        key_of(&key, &row);
        assert_string_equal(key.data, row.signature);
        str_release(&key);
    }
}

/* What the engine says computed the nodes. */
static void test_one_kernel(void **state)
{
    (void)state;
    static const struct row products[] = {
        {"nan-lost|onednn|MatMul|f32||",
         "{\"shown\": [\"finite\"], \"kernel\": \"matmul jit\", \"main\": \"MatMul\"}"},
        {"wrong|onednn|Gemm|f32||",
         "{\"shown\": [\"finite\"], \"kernel\": \"matmul jit\", \"main\": \"Gemm\"}"},
    };
    static const struct row functions[] = {
        {"wrong|onednn|Log|f32||", "{\"kernel\": \"eltwise jit\", \"main\": \"Log\"}"},
        {"wrong|onednn|Softplus|f32||", "{\"kernel\": \"eltwise jit\", \"main\": \"Softplus\"}"},
    };
    static const struct row always[] = {
        {"wrong|onednn|Conv|f32|auto_pad=VALID|",
         "{\"kernel\": \"convolution jit:avx2\", \"main\": \"Conv\"}"},
        {"wrong|onednn|Conv|f32|auto_pad=SAME_UPPER|",
         "{\"kernel\": \"convolution jit:avx2\", \"main\": \"Conv\"}"},
    };
    static const struct row fused[] = {
        {"wrong|onnxruntime|Conv+Relu|f32||",
         "{\"kernel\": \"FusedConv\", \"made_by\": \"ConvActivationFusion\"}"},
        {"wrong|onnxruntime|Conv+LeakyRelu|f32||",
         "{\"kernel\": \"FusedConv\", \"made_by\": \"ConvActivationFusion\"}"},
    };
    static const struct row kernels[] = {
        {"wrong|onednn|Conv|f32||", "{\"kernel\": \"convolution jit:avx2\", \"main\": \"Conv\"}"},
        {"wrong|onednn|Conv|f32||", "{\"kernel\": \"convolution ref:any\", \"main\": \"Conv\"}"},
        {"shape|onednn|Conv|any||", "{\"kernel\": \"convolution ref:any\", \"main\": \"Conv\"}"},
    };
    same(products, COUNT(products));
    apart(functions, COUNT(functions));
    same(always, COUNT(always));
    same(fused, COUNT(fused));
    apart(kernels, COUNT(kernels));
}

/* What campaigns of before have stored, and what is stored now. */
static void test_former_text(void **state)
{
    (void)state;
    static const char signature[] = "crash|opencv|Pad+Neg|any||f<g";
    static const struct row rows[] = {
        {signature,
         "{\"passes\": \"\", \"parameter\": \"pads+mode\", \"value\": \"1\", \"owner\": \"Pad\", "
         "\"cures\": \"initializer-as-input+no-such-cure\", \"general\": \"\", \"main\": \"Pad+Neg\", "
         "\"by_operator\": true, \"empty\": false}"},
        {signature, "{\"shown\": [\"initializer-as-input\", \"by_operator\", \"diagnosed\", \"together\"], "
                    "\"passes\": [], "
                    "\"parameter\": "
                    "\"pads\", \"value\": \"1\", \"owner\": \"Pad\"}"},
    };
    struct str written[2];
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct finding_evidence evidence;
        evidence_init(&evidence);
        evidence_read(&evidence, rows[i].evidence, strlen(rows[i].evidence));
        assert_int_equal(evidence.shown, EVIDENCE(CURED_VARIABLE) | EVIDENCE(FAILS_ALWAYS) |
                                             EVIDENCE(DIAGNOSED) | EVIDENCE(FAILS_TOGETHER) |
                                             EVIDENCE(COUNTS_MATES));
        str_init(&written[i]);
        evidence_write(&written[i], &evidence);
        evidence_release(&evidence);
    }
    assert_string_equal(written[0].data, written[1].data);
    str_release(&written[0]);
    str_release(&written[1]);
    same(rows, COUNT(rows));
}

/* A crash is at one place, whichever operators and parameters lead there. */
static void test_one_stack(void **state)
{
    (void)state;
    static const struct row one[] = {
        {"crash|onnxruntime|Einsum|any||", "{\"stack\": \"libonnxruntime.so+0x1f<libonnxruntime.so+0x2f\"}"},
        {"crash|onnxruntime|ReduceSum|any|keepdims=0|",
         "{\"stack\": \"libonnxruntime.so+0x1f<libonnxruntime.so+0x2f\", \"parameter\": \"axes\", \"owner\": "
         "\"ReduceSum\", \"main\": \"ReduceSum\", \"shown\": [\"filled\"]}"},
    };
    static const struct row two[] = {
        {"crash|onnxruntime|Einsum|any||", "{\"stack\": \"libonnxruntime.so+0x1f\"}"},
        {"crash|onnxruntime|Einsum|any||", "{\"stack\": \"libonnxruntime.so+0x3f\"}"},
        {"crash|opencv|Einsum|any||f<g", "{\"stack\": \"damaged heap\", \"main\": \"Einsum\"}"},
        {"crash|opencv|Gather|any||f<g", "{\"stack\": \"damaged heap\", \"main\": \"Gather\"}"},
    };
    /* Where damaged memory is noticed is chance. */
    static const struct row heap[] = {
        {"crash|opencv|Gather|any||f<g", "{\"stack\": \"damaged heap\", \"main\": \"Gather\"}"},
        {"crash|opencv|Gather|any empty||h", "{\"stack\": \"damaged heap\", \"main\": \"Gather\"}"},
    };
    same(one, COUNT(one));
    same(heap, COUNT(heap));
    /* What is to blame for a crash, wherever it ends. */
    static const struct row blamed[] = {
        {"crash|opencv|CumSum|any||f<g",
         "{\"stack\": \"f<g\", \"parameter\": \"axis\", \"value\": \"-4\", \"owner\": \"CumSum\"}"},
        {"crash|opencv|CumSum|any||h", "{\"stack\": \"h\"}"},
        {"wrong|opencv|CumSum|f32||", "{\"parameter\": \"axis\", \"value\": \"-4\", \"owner\": \"CumSum\"}"},
    };
    static const char *const keys[] = {"parameter|crash|opencv|CumSum|axes", "", ""};
    for (size_t i = 0; i < COUNT(blamed); i++) {
        struct signature signature;
        struct finding_evidence evidence;
        struct str key;
        str_init(&key);
        assert_true(signature_parse(&signature, blamed[i].signature));
        evidence_init(&evidence);
        evidence_read(&evidence, blamed[i].evidence, strlen(blamed[i].evidence));
        cause_crash_key(&key, &signature, &evidence);
        assert_string_equal(key.data, keys[i]);
        evidence_release(&evidence);
        str_release(&key);
    }
    apart(two, COUNT(two));
}

static void test_mates(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool alike;
    } pairs[] = {
        {"ReduceMax", "ReduceMin", true}, {"Less", "Equal", true}, {"ArgMax", "ReduceMean", true},
        {"MaxPool", "AveragePool", true}, {"Erf", "Relu", false},  {"Relu", "Relu", false},
        {"Conv", "ConvTranspose", false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(mates_are_alike(op_find(pairs[i].a), op_find(pairs[i].b)), pairs[i].alike);
    /* A cause is of the operator of its finding, unless another was shown to fail alike. */
    static const struct row pool[] = {
        {"shape|opencv|AveragePool|any||", "{\"parameter\": \"auto_pad\", \"value\": \"SAME_UPPER\", "
                                           "\"owner\": \"AveragePool\", \"main\": \"AveragePool\", "
                                           "\"shared\": \"\"}"},
        {"wrong|opencv|MaxPool|f32||", "{\"parameter\": \"ceil_mode\", \"value\": \"1\", \"owner\": "
                                       "\"MaxPool\", \"main\": \"MaxPool\", \"shared\": \"\"}"},
        {"wrong|opencv|AveragePool|f32||",
         "{\"parameter\": \"ceil_mode\", \"value\": \"1\", \"owner\": \"AveragePool\", \"main\": "
         "\"AveragePool\", \"shared\": \"\"}"},
    };
    static const struct row shown[] = {
        {"wrong|opencv|MaxPool|f32||", "{\"parameter\": \"ceil_mode\", \"value\": \"1\", \"owner\": "
                                       "\"MaxPool\", \"main\": \"MaxPool\", \"shared\": \"AveragePool\"}"},
        {"wrong|opencv|AveragePool|f32||",
         "{\"parameter\": \"ceil_mode\", \"value\": \"1\", \"owner\": \"AveragePool\", \"main\": "
         "\"AveragePool\", \"shared\": \"\"}"},
    };
    struct str key;
    key_of(&key, &pool[1]);
    assert_non_null(strstr(key.data, "|MaxPool|"));
    str_release(&key);
    apart(pool, COUNT(pool));
    same(shown, COUNT(shown));
}

struct listing {
    struct store *store;
    struct finding_causes causes;
};

static int take(void *context, const struct stored *stored, struct error *err)
{
    struct listing *listing = context;
    bool known = text_equal(stored->kind, "crash");
    return causes_add(&listing->causes, listing->store, stored, known ? "found/one" : NULL, err);
}

static void add(struct store *store, const char *signature, const char *kind, int64_t nodes, uint64_t shown)
{
    struct error err = {0};
    struct finding finding = {.signature = signature,
                              .name = signature,
                              .kind = kind,
                              .engine = "onnxruntime",
                              .recipe = signature,
                              .nodes = nodes};
    struct finding_evidence evidence;
    evidence_init(&evidence);
    evidence.shown = shown;
    if (strstr(signature, "|ReduceMin|f32")) {
        evidence.main = "ReduceMin";
        evidence.shared = "ReduceMax";
    }
    if (store_add(store, &finding, NULL, &err) || evidence_store(store, signature, &evidence, &err))
        fail_msg("%s", err.message);
    evidence_release(&evidence);
}

static void test_store(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-causes-XXXXXX";
    struct error err = {0};
    struct listing listing;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(store_open(&listing.store, folder, STORE_CREATE, &err), 0);
    add(listing.store, "nan-lost|onnxruntime|ReduceMax|f32||", "nan", 3, EVIDENCE(CURED_FINITE));
    add(listing.store, "nan-lost|onnxruntime|ReduceMin|f32||", "nan", 1, EVIDENCE(CURED_FINITE));
    add(listing.store, "nan-lost|onnxruntime|ReduceMin|f64||", "nan", 1, 0);
    add(listing.store, "crash|onnxruntime|Einsum|any||", "crash", 1, 0);
    add(listing.store, "crash|onnxruntime|Mod|any||", "crash", 1, 0);
    add(listing.store, "not a signature", "wrong", 1, 0);
    causes_init(&listing.causes);
    if (store_list(listing.store, &(struct store_filter){0}, take, &listing, &err))
        fail_msg("%s", err.message);
    assert_int_equal(listing.causes.n_findings, 6);
    assert_int_equal(listing.causes.count, 4);
    for (size_t i = 0; i < listing.causes.count; i++) {
        const struct finding_cause *cause = &listing.causes.items[i];
        if (text_starts(cause->key, "finite|")) {
            assert_int_equal(cause->count, 2);
            assert_int_equal(cause->seen, 2);
            assert_string_equal(cause->lead->stored.name, "nan-lost|onnxruntime|ReduceMin|f32||");
        }
        if (text_starts(cause->key, "known "))
            assert_int_equal(cause->count, 2);
    }
    causes_release(&listing.causes);
    store_close(listing.store);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

/* TensorFlow.js 4.22.0 and OpenCV 5.0.0. */
static void test_whatever_is_around(void **state)
{
    (void)state;
    static const struct row spoilt[] = {
        {"wrong|tfjs|ScatterND|f32||",
         "{\"shown\": [\"copied\"], \"spoiler\": \"ScatterND\", \"parameter\": \"indices\", "
         "\"value\": \"1,0\", \"owner\": \"ScatterND\"}"},
        {"wrong|tfjs|Neg+Reshape+ScatterND|int||", "{\"shown\": [\"copied\"], \"spoiler\": \"ScatterND\"}"},
        {"nan-lost|tfjs|ScatterND+Neg|f32||", "{\"shown\": [\"copied\"], \"spoiler\": \"ScatterND\"}"},
    };
    static const struct row narrow[] = {
        {"wrong|opencv|Elu|f64||", "{\"shown\": [\"narrower\"], \"kernel\": \"ELU\"}"},
        {"wrong|opencv|HardSigmoid|f64||",
         "{\"shown\": [\"narrower\"], \"kernel\": \"HardSigmoid\", \"parameter\": \"beta\", "
         "\"value\": \"left out\", \"owner\": \"HardSigmoid\"}"},
    };
    static const struct row letters[] = {
        {"shape|tfjs|Einsum|any||",
         "{\"parameter\": \"equation\", \"value\": \"yzu,u->z\", \"owner\": \"Einsum\"}"},
        {"shape|tfjs|Einsum|any||",
         "{\"parameter\": \"equation\", \"value\": \"ncfg,fch->hg\", \"owner\": \"Einsum\"}"},
    };
    static const struct row others[] = {
        {"wrong|opencv|Elu|f64||", "{\"shown\": [\"narrower\"], \"kernel\": \"ELU\"}"},
        {"wrong|opencv|Einsum|f64||", "{\"shown\": [\"narrower\"], \"kernel\": \"Einsum\"}"},
        {"wrong|opencv|LRN|f64||", "{\"kernel\": \"LRN\"}"},
        {"wrong|tfjs|ScatterND|f32||", "{\"shown\": [\"copied\"], \"spoiler\": \"ScatterND\"}"},
        {"wrong|tfjs|Neg|f32||", "{\"shown\": [\"copied\"], \"spoiler\": \"Neg\"}"},
    };
    same(spoilt, COUNT(spoilt));
    same(narrow, COUNT(narrow));
    same(letters, COUNT(letters));
    apart(others, COUNT(others));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broadcast),           cmocka_unit_test(test_one_bug),
        cmocka_unit_test(test_one_class_of_inputs), cmocka_unit_test(test_one_parameter_or_result),
        cmocka_unit_test(test_one_kind_of_numbers), cmocka_unit_test(test_one_symptom_of_many),
        cmocka_unit_test(test_one_condition),       cmocka_unit_test(test_other_nodes),
        cmocka_unit_test(test_one_place_or_type),   cmocka_unit_test(test_one_bug_noticed_elsewhere),
        cmocka_unit_test(test_other_bugs),          cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_one_kernel),          cmocka_unit_test(test_whatever_is_around),
        cmocka_unit_test(test_former_text),         cmocka_unit_test(test_mates),
        cmocka_unit_test(test_one_stack),           cmocka_unit_test(test_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
