/*
 * Which of the library's texts say that it lacks something. They are what releases 4.6 and 5.0 threw on the
 * models beside them; most of those of 5.0 cannot be had from the library that this test is built with.
 */
#include "opencv.h"

#include "base/memory.h"
#include "model/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FLOATS "g (float[1,2] x) => (float[1,2] y) { y = Relu(x) }"
#define DOUBLES "g (double[1,2] x) => (double[1,2] y) { y = Relu(x) }"
#define TWO "g (float[1,2] x) => (float[1,2] y) { r = Relu(x) y = Neg(r) }"
#define FIVE "OpenCV(5.0.0) ./modules/dnn/src/"

#define IMPORTER                                                                                            \
    "OpenCV(4.6.0) ./modules/dnn/src/onnx/onnx_importer.cpp:1934: error: (-2:Unspecified error) in "        \
    "function "                                                                                             \
    "'parseClip'\n> (expected: 'node_proto.input_size() == 1'), where\n>     'node_proto.input_size()' is " \
    "3\n> must be equal to\n>     '1' is 1\n"

struct row {
    const char *model, *message;
    enum opencv_stage stage;
    enum adapter_class class;
};

static const struct row rows[] = {
    /* Operators that it has not, alone and among constants. */
    {FLOATS,
     FIVE
     "net_impl.hpp:187: error: (-2:Unspecified error) Can't create layer \"y\" of type \"GlobalLpPool\" in "
     "function 'getLayerInstance'\n",
     OPENCV_STAGE_LOAD, ADAPTER_UNSUPPORTED},
    {FLOATS,
     FIVE "onnx/onnx_importer.cpp:424: error: (-215:Assertion failed) (bool)layer in function 'runLayer'\n",
     OPENCV_STAGE_LOAD, ADAPTER_UNSUPPORTED},
    {FLOATS,
     "an empty network: DNN/ONNX: the model cannot be loaded with the new parser. Trying the older parser.  "
     "Unsupported "
     "operations:\n\tGlobalLpPool\n",
     OPENCV_STAGE_LOAD, ADAPTER_UNSUPPORTED},
    {FLOATS,
     "an empty network: DNN/ONNX: error 'OpenCV(5.0.0) ./modules/dnn/src/onnx/onnx_importer2.cpp:1457: "
     "error: "
     "(-215:Assertion failed) net.isConstArg(node_inputs[1]) in function 'parsePRelu'\n' occurred when "
     "processing node "
     "'onnx_node!0' (PRelu) with 2 inputs and 1 outputs from domain 'ai.onnx'",
     OPENCV_STAGE_LOAD, ADAPTER_UNSUPPORTED},
    {FLOATS, "an empty network", OPENCV_STAGE_LOAD, ADAPTER_REJECTED},
    /* Types, where the model has others than float32, int64 and bool; without them, the library made one. */
    {DOUBLES,
     FIVE
     "layers/batch_norm2_layer.cpp:54: error: (-215:Assertion failed) type_ == CV_32F || type_ == CV_16F || "
     "type_ == CV_16BF in function 'batchnorm'\n",
     OPENCV_STAGE_RUN, ADAPTER_UNSUPPORTED},
    {DOUBLES,
     FIVE "layers/activation_kernels.simd.hpp:333: error: (-215:Assertion failed) src.type() == CV_32F in "
          "function "
          "'softmax_'\n",
     OPENCV_STAGE_RUN, ADAPTER_UNSUPPORTED},
    {DOUBLES,
     "OpenCV(5.0.0) ./modules/core/src/matmul.dispatch.cpp:356: error: (-215:Assertion failed) type == "
     "B.type() in "
     "function 'gemm'\n",
     OPENCV_STAGE_RUN, ADAPTER_UNSUPPORTED},
    {FLOATS,
     FIVE "layers/activation_kernels.simd.hpp:333: error: (-215:Assertion failed) src.type() == CV_32F in "
          "function "
          "'softmax_'\n",
     OPENCV_STAGE_RUN, ADAPTER_FAILED},
    {DOUBLES,
     FIVE "layers/convtranspose_layer.cpp:262: error: (-215:Assertion failed) func != nullptr in function "
          "'forward'\n",
     OPENCV_STAGE_RUN, ADAPTER_UNSUPPORTED},
    /* How many dimensions it has. */
    {FLOATS,
     FIVE "layers/pad2_layer.cpp:640: error: (-215:Assertion failed) ndims <= PAD_MAX_DIMS in function "
          "'getPads'\n",
     OPENCV_STAGE_RUN, ADAPTER_UNSUPPORTED},
    /* A check that compares two numbers is no list of forms; neither is an assertion. */
    {FLOATS,
     FIVE "layers/matmul_layer.cpp:63: error: (-2:Unspecified error) in function 'virtual bool "
          "cv::dnn::MatMulLayerImpl::getMemoryShapes()'\n> DNN/MatMul: invalid shape of input A (expected: "
          "'shape_A.size() >= static_cast<size_t>(2)'), where\n>     'shape_A.size()' is 1\n> must be "
          "greater than or "
          "equal to\n>     'static_cast<size_t>(2)' is 2\n",
     OPENCV_STAGE_RUN, ADAPTER_FAILED},
    {FLOATS,
     FIVE
     "layers/recurrent_layers.cpp:240: error: (-215:Assertion failed) activations.size() == 3 in function "
     "'LSTMLayerImpl'\n",
     OPENCV_STAGE_LOAD, ADAPTER_REJECTED},
    /* Forms of an operator. */
    {FLOATS,
     "OpenCV(4.6.0) ./modules/dnn/src/layers/lrn_layer.cpp:88: error: (-5:Bad argument) LRN layer supports "
     "only "
     "positive odd values for local_size in function 'LRNLayerImpl'\n",
     OPENCV_STAGE_LOAD, ADAPTER_UNSUPPORTED},
    {FLOATS,
     "OpenCV(4.6.0) ./modules/dnn/src/onnx/onnx_importer.cpp:571: error: (-5:Bad argument) Blob r not found "
     "in const "
     "blobs in function 'getBlob'\n",
     OPENCV_STAGE_LOAD, ADAPTER_UNSUPPORTED},
    /* What the importer expects of a node says what it has; in a graph it may have made the node itself. */
    {FLOATS, IMPORTER, OPENCV_STAGE_LOAD, ADAPTER_UNSUPPORTED},
    {TWO, IMPORTER, OPENCV_STAGE_LOAD, ADAPTER_REJECTED},
};

static struct model *parse(const char *graph)
{
    struct str text;
    struct model *model;
    uint8_t *bytes;
    size_t size;
    str_init(&text);
    str_printf(&text, "<ir_version: 8, opset_import: [\"\": 17]> %s", graph);
    assert_int_equal(onnx_parse_text(text.data, &bytes, &size, NULL), 0);
    assert_int_equal(model_parse(&model, bytes, size, NULL), 0);
    free(bytes);
    str_release(&text);
    return model;
}

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct opencv opencv = {.model = parse(rows[i].model), .newest_opset = 17};
        struct adapter_call call = {.engine = &opencv};
        str_init(&call.message);
        assert_int_equal(opencv_fail(&call, rows[i].stage, rows[i].message), -1);
        if (call.error_class != rows[i].class)
            fail_msg("class %d instead of %d: %s", (int)call.error_class, (int)rows[i].class,
                     rows[i].message);
        str_release(&call.message);
        model_free(opencv.model);
    }
}

#define AXES "g (float[2] x, int64[1] a) => (float[1,2] y) { y = Unsqueeze(x, a) }"

/* A refusal says nothing of a release that is older than the form of an operator. */
static void test_newer_opset(void **state)
{
    (void)state;
    for (int newest = 12; newest < 14; newest++) {
        struct opencv opencv = {.model = parse(AXES), .newest_opset = newest};
        struct adapter_call call = {.engine = &opencv};
        str_init(&call.message);
        opencv_fail(&call, OPENCV_STAGE_LOAD, "an empty network");
        assert_int_equal(call.error_class, newest < 13 ? ADAPTER_UNSUPPORTED : ADAPTER_REJECTED);
        str_release(&call.message);
        model_free(opencv.model);
    }
}

#define EMPTY "g (float[2,0] x) => (float[2,0] y) { y = Relu(x) }"

/* Only from 5.0 on are there tensors without elements. */
static void test_empty(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        struct opencv opencv = {.model = parse(EMPTY), .newest_opset = 17, .all_types = all};
        struct adapter_call call = {.engine = &opencv};
        str_init(&call.message);
        opencv_fail(&call, OPENCV_STAGE_LOAD, "an empty network");
        assert_int_equal(call.error_class, all ? ADAPTER_REJECTED : ADAPTER_UNSUPPORTED);
        str_release(&call.message);
        model_free(opencv.model);
    }
}

/* The node and the reason, without the paths of another machine. */
static void test_shortened(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"OpenCV(4.6.0) ./modules/dnn/src/onnx/onnx_importer.cpp:1040: error: (-2:Unspecified error) in "
         "function "
         "'handleNode'\n> Node [LRN@ai.onnx]:(onnx_node!l) parse error: OpenCV(4.6.0) "
         "./modules/dnn/src/layers/"
         "lrn_layer.cpp:88: error: (-5:Bad argument) no\n",
         "Node [LRN@ai.onnx]:(onnx_node!l): lrn_layer.cpp:88: error: (-5:Bad argument) no"},
        {"an empty network: DNN/ONNX: error 'OpenCV(5.0.0) "
         "./modules/dnn/src/layers/recurrent2_layers.cpp:109: error: "
         "(-215:Assertion failed) activations.size() == 3 in function 'LSTM2LayerImpl'\n' occurred when "
         "processing node "
         "'LSTM_27' (LSTM) with 7 inputs and 2 outputs from domain 'ai.onnx'",
         "Node [LSTM@ai.onnx]:(onnx_node!LSTM_27): recurrent2_layers.cpp:109: error: (-215:Assertion failed) "
         "activations.size() == 3 in function 'LSTM2LayerImpl'"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct opencv opencv = {.model = parse(FLOATS), .newest_opset = 17};
        struct adapter_call call = {.engine = &opencv};
        str_init(&call.message);
        opencv_fail(&call, OPENCV_STAGE_LOAD, texts[i][0]);
        assert_string_equal(call.message.data, texts[i][1]);
        str_release(&call.message);
        model_free(opencv.model);
    }
}

#define NO_CAST                                                                                      \
    "DNN/ONNX: error '" FIVE "layers/cast2_layer.cpp:388: error: (-213:The function/feature is not " \
    "implemented) Cast: unsupported 'to' / dtype value in function 'mapToCvDepth'\n' occurred when " \
    "processing node 'Cast_1' (Cast) with 1 inputs and 1 outputs from domain 'ai.onnx'"
#define NO_OPERATOR                                                                                    \
    "DNN/ONNX: the model cannot be loaded with the new parser. Trying the older parser.  Unsupported " \
    "operations:\n\tSTFT\n"
#define ASSERTED                                                                                       \
    "DNN/ONNX: error '" FIVE "layers/recurrent2_layers.cpp:109: error: (-215:Assertion failed) "       \
    "activations.size() == 3 in function 'LSTM2LayerImpl'\n' occurred when processing node 'LSTM_27' " \
    "(LSTM) with 7 inputs and 2 outputs from domain 'ai.onnx'"
#define OLDER                                                                                            \
    FIVE "layers/roialign_layer.cpp:280: error: (-215:Assertion failed) inputs.size() == 3 in function " \
         "'getMemoryShapes'\n"

/* The older engine is tried on what the new one cannot read, and stops wherever it stops: what the new one
 * lacks is the reason. */
static void test_two_engines(void **state)
{
    (void)state;
    static const struct {
        const char *first, *text;
        enum adapter_class class;
    } refusals[] = {
        {NO_CAST, "Node [Cast@ai.onnx]:(onnx_node!Cast_1): cast2_layer.cpp:388", ADAPTER_UNSUPPORTED},
        {NO_OPERATOR, "DNN/ONNX: the model cannot be loaded", ADAPTER_UNSUPPORTED},
        {ASSERTED, "roialign_layer.cpp:280", ADAPTER_REJECTED},
        {"", "roialign_layer.cpp:280", ADAPTER_REJECTED},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct opencv opencv = {.model = parse(FLOATS), .newest_opset = 17};
        struct adapter_call call = {.engine = &opencv};
        str_init(&call.message);
        assert_int_equal(opencv_refuse(&call, refusals[i].first, OLDER), -1);
        assert_int_equal(call.error_class, refusals[i].class);
        assert_memory_equal(call.message.data, refusals[i].text, strlen(refusals[i].text));
        str_release(&call.message);
        model_free(opencv.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_newer_opset),
                                       cmocka_unit_test(test_empty), cmocka_unit_test(test_shortened),
                                       cmocka_unit_test(test_two_engines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
