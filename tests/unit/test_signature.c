/* Signatures: variants of one bug get one, different bugs different ones. */
#include "findings/signature.h"

#include "engine_profiles.h"
#include "judge/message.h"
#include "model/build.h"
#include "model/onnx.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct model *read_model(const char *text)
{
    uint8_t *bytes;
    size_t size;
    struct model *model;
    struct error err = {0};
    if (onnx_parse_text(text, &bytes, &size, &err))
        fail_msg("%s", err.message);
    assert_int_equal(model_parse(&model, bytes, size, &err), 0);
    free(bytes);
    return model;
}

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"

/* A case of one engine; blame: the number of the node settled on, or -1. */
struct scene {
    const char *model, *engine;
    enum verdict_kind kind;
    long double expected, got;
    int blame, and_blame; /* and_blame: a second node, fused */
    bool elsewhere;       /* the worst element of the whole is a NaN where a number is expected */
    const char *message, *log;
    int signal;
};

static struct signature sign(const struct scene *scene)
{
    struct model *model = read_model(scene->model);
    struct verdict verdict = {.kind = scene->kind, .expected = scene->expected, .got = scene->got};
    size_t nodes[2] = {(size_t)scene->blame, (size_t)scene->and_blame};
    struct settlement settlement = {.kind = scene->kind, .nodes = nodes, .verdict = verdict};
    settlement.count = scene->blame < 0 ? 0 : scene->and_blame > 0 ? 2 : 1;
    if (scene->elsewhere)
        verdict = (struct verdict){.kind = scene->kind, .expected = 1, .got = NAN};
    struct result result;
    result_init(&result);
    result.message = (char *)(uintptr_t)scene->message;
    result.log = (char *)(uintptr_t)scene->log;
    result.signal = scene->signal;
    struct signature signature;
    struct registry *registry;
    const struct engine_profile *profile = source_profile(&registry, scene->engine);
    signature_of(&signature, scene->engine, profile, &verdict, &settlement, model, &result);
    registry_free(registry);
    model_free(model);
    return signature;
}

static const char pool_a[] =
    HEAD "g (float[1,2,9] x) => (float[1,2,N] y)\n"
         "{ y = AveragePool <ceil_mode = 1, kernel_shape = [7], strides = [3]> (x) }";
static const char pool_b[] =
    HEAD "h (float[1,3,5,5] data) => (float[1,3,A,B] out) {\n"
         " t = Relu (data)\n"
         " out = AveragePool <ceil_mode = 1, kernel_shape = [2,2], pads = [1,1,0,0]> (t) }";
static const char pool_c[] = HEAD "g (float[1,2,9] x) => (float[1,2,N] y)\n"
                                  "{ y = AveragePool <auto_pad = \"SAME_LOWER\", kernel_shape = [7]> (x) }";

static void sizes_names_versions_and_levels_do_not_matter(void **state)
{
    (void)state;
    struct signature a =
        sign(&(struct scene){pool_a, "onnxruntime@1.12.0:opt=all", VERDICT_WRONG, 1, 2, .blame = 0});
    struct signature b = sign(
        &(struct scene){pool_b, "onnxruntime@1.20.0:opt=none,threads=2", VERDICT_WRONG, 5, 7, .blame = 1});
    assert_string_equal(a.text, "wrong|onnxruntime|AveragePool|f32|ceil_mode=1|");
    assert_string_equal(a.text, b.text);
    assert_true(signature_equal(&a, &b));
    assert_true(strncmp(a.name, "wrong-averagepool-", 18) == 0);
    assert_int_equal(strlen(a.name), 18 + 12);
}

static void modes_symptoms_and_engines_do(void **state)
{
    (void)state;
    struct scene scene = {pool_a, "onnxruntime", VERDICT_WRONG, 1, 2, .blame = 0};
    struct signature a = sign(&scene);
    scene.model = pool_c;
    struct signature other_mode = sign(&scene);
    assert_false(signature_equal(&a, &other_mode));
    assert_true(signature_alike(&a, &other_mode));
    scene.model = pool_a;
    scene.kind = VERDICT_SHAPE;
    struct signature other_symptom = sign(&scene);
    assert_false(signature_alike(&a, &other_symptom));
    scene.kind = VERDICT_WRONG;
    scene.engine = "opencv";
    struct signature other_engine = sign(&scene);
    assert_false(signature_alike(&a, &other_engine));
}

static void settings_that_choose_code_matter(void **state)
{
    (void)state;
    struct scene scene = {pool_a, "onednn:isa=avx2,borrow=on,layout=nhwc", VERDICT_WRONG, .blame = 0};
    struct signature a = sign(&scene);
    assert_string_equal(a.text, "wrong|onednn:isa=avx2,layout=nhwc|AveragePool|f32|ceil_mode=1|");
}

static void lost_nans_are_a_symptom_of_their_own(void **state)
{
    (void)state;
    struct scene scene = {pool_a, "e", VERDICT_NAN, NAN, 2, .blame = 0};
    struct signature lost = sign(&scene);
    scene.elsewhere = true;
    struct signature blamed = sign(&scene);
    assert_string_equal(blamed.text, lost.text);
    scene.elsewhere = false;
    scene.expected = 2;
    scene.got = NAN;
    struct signature made = sign(&scene);
    assert_true(strncmp(lost.text, "nan-lost|", 9) == 0);
    assert_true(strncmp(made.text, "nan|", 4) == 0);
    scene.kind = VERDICT_WRONG;
    struct signature number = sign(&scene);
    assert_true(signature_alike(&number, &lost));
    assert_true(signature_alike(&number, &made));
    assert_false(signature_alike(&made, &number));
    assert_false(signature_alike(&lost, &made));
}

static void groups_and_types(void **state)
{
    (void)state;
    static const char fused[] = HEAD "g (double[2] x, double[2,3] w) => (double[3] y) {\n"
                                     " s = Constant <value = double {2}> ()\n"
                                     " t = Mul (x, s)\n y = MatMul (t, w) }";
    struct scene scene = {fused, "onnxruntime", VERDICT_WRONG, .blame = 1, .and_blame = 2};
    assert_string_equal(sign(&scene).text, "wrong|onnxruntime|Mul+MatMul|f64||");
    static const char moved[] = HEAD "g (uint8[0,4] x) => (uint8[4,0] y) { y = Transpose (x) }";
    scene = (struct scene){moved, "onnxruntime", VERDICT_WRONG, .blame = 0};
    assert_string_equal(sign(&scene).text, "wrong|onnxruntime|Transpose|any empty||");
    static const char casts[] =
        HEAD "g (float[4] x) => (bool[4] y) { a = Cast <to = 6> (x)\n y = Cast <to = 9> (a) }";
    scene = (struct scene){casts, "onnxruntime", VERDICT_WRONG, .blame = 0, .and_blame = 1};
    assert_string_equal(sign(&scene).text, "wrong|onnxruntime|Cast+Cast|f32||");
    static const char cast[] = HEAD "g (float[4] x) => (int32[4] y) { y = Cast <to = 6> (x) }";
    scene = (struct scene){cast, "onnxruntime", VERDICT_WRONG, .blame = -1};
    assert_string_equal(sign(&scene).text, "wrong|onnxruntime|Cast|f32>int||");
}

static void bodies_are_named(void **state)
{
    (void)state;
    static const char branch[] =
        HEAD "g (bool c, float[2] x) => (float[2] y) {\n"
             " y = If (c) <then_branch = t () => (float[2] a) { a = Sin (x) },\n"
             "             else_branch = e () => (float[2] b) { d = Sin (x) \n b = Cos (d) }> }";
    struct scene scene = {branch, "onnxruntime", VERDICT_WRONG, .blame = 0};
    assert_string_equal(sign(&scene).text, "wrong|onnxruntime|If(Cos,Sin)|any||");
}

static void messages_lose_what_changes(void **state)
{
    (void)state;
    struct model *model = read_model(pool_b);
    struct registry *registry;
    const struct engine_profile *profile = source_profile(&registry, "onnxruntime");
    const char *pairs[][2] = {
        {"Node:data_7 Output:out [ShapeInferenceError] Mismatch between {1,2,-3} and {4}",
         "Node:data_# Output:? [ShapeInferenceError] Mismatch between {#} and {#}"},
        {"/onnxruntime_src/onnxruntime/core/graph/graph.cc:1234 Resolve() tensor(float16) is 0x7ffe12, "
         "1.25e3.",
         "graph.cc:# Resolve() tensor(T) is #e#."},
        {"/src/attention_helper.cc:66 onnxruntime::Status onnxruntime::Compute(const onnxruntime::Tensor*, "
         "std::vector<long int>&, void (*)(int)) [with T = float] the mask must be 2D",
         "attention_helper.cc:# onnxruntime::Status onnxruntime::Compute() the mask must be #D"},
        {"a::b(int", "a::b(int"},
        {"Failed to open /tmp/abc/x.onnx\n  line two", "Failed to open x.onnx line two"},
        {"at run (/home/my-user/tfjs@4.22.0/dist/tf-core.node.js:4051:27) in /opt/some+folder/lib.so",
         "at run (tf-core.node.js:#) in lib.so"},
        {"/layer-1/out: mended", "out: mended"},
        {"the cast InsertedPrecisionFreeCast_0x55d2e8f0a1b0_XU of 0X7FFD and 10x12 has no kernel",
         "the cast InsertedPrecisionFreeCast_#_XU of # and # has no kernel"},
        {"while running Conv node. Name:'fused 7' Node () Op (Conv)",
         "while running Conv node. Name:'?' Node (?) Op (Conv)"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct str out;
        str_init(&out);
        message_normalise(&out, pairs[i][0], model, profile);
        assert_string_equal(out.data, pairs[i][1]);
        str_release(&out);
    }
    registry_free(registry);
    model_free(model);
}

static void refusals_are_told_apart_by_their_message(void **state)
{
    (void)state;
    struct scene scene = {pool_a, "onnxruntime", VERDICT_REJECTED, .blame = 0,
                          .message = "x: no kernel for 3"};
    struct signature a = sign(&scene);
    scene.message = "y: no kernel for 17";
    struct signature b = sign(&scene);
    scene.message = "x: inputs differ in 3";
    struct signature c = sign(&scene);
    scene.message = "x: no kernel for 3";
    scene.kind = VERDICT_FAILED;
    struct signature d = sign(&scene);
    assert_true(signature_equal(&a, &d));
    assert_true(signature_equal(&a, &b));
    assert_false(signature_alike(&a, &c));
}

/* One importer, many operators; but what a message says of an operator is that operator's. */
static void a_place_in_shared_code_stands_for_operators(void **state)
{
    (void)state;
    struct scene scene = {pool_b, "opencv", VERDICT_REJECTED, .blame = 0,
                          .message = "graph_simplifier.cpp:76: error: Input node with name t not found"};
    struct signature relu = sign(&scene);
    scene.blame = 1;
    struct signature pool = sign(&scene);
    assert_true(signature_equal(&relu, &pool));
    assert_true(strncmp(relu.text, "refused|opencv|graph_simplifier.cpp|", 36) == 0);
    scene.message =
        "Node [Relu@ai.onnx]:(onnx_node!t): graph_simplifier.cpp:76: error: Input node with name t not "
        "found";
    assert_string_equal(sign(&scene).text, relu.text);
    scene.message = "pool.cc:76: averagepool lacks this";
    pool = sign(&scene);
    assert_true(strncmp(pool.text, "refused|opencv|AveragePool|", 27) == 0);
}

static void expect_operators(const char *model, const char *message, const char *due)
{
    struct scene scene = {model, "onnxruntime", VERDICT_REJECTED, .blame = -1, .message = message};
    char text[SIGNATURE_TEXT_SIZE];
    struct signature signature = sign(&scene);
    snprintf(text, sizeof text, "refused|onnxruntime|%s|", due);
    if (strncmp(signature.text, text, strlen(text)) != 0)
        fail_msg("%s is not of %s", signature.text, due);
}

/* An operator that the engine made itself stands for those it made it of. */
static void what_the_engine_made_is_the_place(void **state)
{
    (void)state;
    static const char chain[] = HEAD "g (float16[2] x) => (float16[2] y) {\n"
                                     " a = Sin (x)\n b = Cast <to = 10> (a)\n y = Cos (b) }";
    static const char gemm[] = HEAD "g (float[1,2] x, float[2,1] w) => (float[1,1] y) {\n"
                                    " a = MatMul (x, w)\n y = Relu (a) }";
    expect_operators(chain,
                     "Type Error: Type (tensor(float)) of output arg (InsertedCast_b) of node (Cast_3) does "
                     "not match expected type (tensor(float16)).",
                     "InsertedCast");
    expect_operators(gemm,
                     "Non-zero status code returned while running FastGelu node. Name:'GPT2Gelu' Status "
                     "Message: Input 0 is expected to have 1 or more dimensions, got 0",
                     "FastGelu");
    expect_operators(gemm,
                     "This is an invalid model. In Node, (\"fused a\", FusedGemm, \"com.microsoft\", -1)",
                     "FusedGemm");
    /* What is in the model, or made by several passes, is told by the nodes. */
    expect_operators(gemm,
                     "Non-zero status code returned while running MatMul node. Name:'n' Status Message: no",
                     "MatMul+Relu");
    expect_operators(gemm, "Node (x) Op (FusedMatMul) [ShapeInferenceError] bad", "MatMul+Relu");
}

/* Two wordings of one thing, with the engine's own names in them. */
static void lacking_kernels_are_one_class(void **state)
{
    (void)state;
    struct scene scene = {pool_a, "onnxruntime", VERDICT_REJECTED, .blame = 0,
                          .message =
                              "Failed to find kernel for com.microsoft.QuickGelu(1) (node:'' ep:'CPU'). "
                              "Op with name () domain (com.microsoft) ..."};
    struct signature a = sign(&scene);
    scene.message = "Could not find an implementation for QuickGelu(1) node with name 'a7_q'";
    struct signature b = sign(&scene);
    assert_string_equal(a.text, "refused|onnxruntime|QuickGelu|||no kernel for QuickGelu");
    assert_string_equal(a.text, b.text);
}

/* "if" in a sentence is not the operator; an operator's own file is. */
static void short_names_are_no_words(void **state)
{
    (void)state;
    static const char branch[] = HEAD "g (bool c, float[2] x) => (float[2] y) {\n"
                                      " y = If (c) <then_branch = t () => (float[2] a) { a = Sin (x) },\n"
                                      "             else_branch = e () => (float[2] b) { b = Cos (x) }> }";
    expect_operators(branch, "/src/core/graph_utils.cc:531 RemoveNode() Should be unreachable if in sync",
                     "graph_utils.cc");
    expect_operators(branch, "/src/core/if.cc:31 the branch is missing", "If(Cos,Sin)");
    expect_operators(branch, "/src/core/frame.cc:31 IfImpl is missing", "If(Cos,Sin)");
    struct scene scene = {branch, "onnxruntime", VERDICT_REJECTED, .blame = -1};
    scene.message =
        "Non-zero status code returned while running If node. Name:'If_4' Status Message: Non-zero "
        "status code returned while running Cos node. Name:'c' Status Message: tensor.h:5 bad";
    assert_string_equal(sign(&scene).text, "refused|onnxruntime|tensor.h|||tensor.h:# bad");
    scene.message = "/src/kernel.cc:7 Sin::Sin() [ONNXRuntimeError] : 1 : FAIL : /src/tensor.h:5 bad";
    assert_string_equal(sign(&scene).text, "refused|onnxruntime|tensor.h|||tensor.h:# bad");
    scene.message = "/src/kernel.cc:7 it is [ONNXRuntimeError] : 1 : FAIL : bad";
    assert_true(strncmp(sign(&scene).text, "refused|onnxruntime|kernel.cc|||kernel.cc:# it is", 49) == 0);
}

static void deaths_are_told_apart_by_their_frames(void **state)
{
    (void)state;
    static const char log[] = "some chatter\ncrash: stack of the engine\n"
                              "/usr/libexec/assay-engine-x(+0x12)[0x55]\n"
                              "/lib/libc.so.6(+0x3c050)[0x7f3]\n"
                              "/opt/libx.so.1.12(_ZN4core3divEv+0x1f)[0x7f4]\n"
                              "/opt/libx.so.1.12(+0x99)[0x7f5]\n"
                              "/opt/libx.so.1.12(_ZN4core3runEv+0x2)[0x7f6]\n";
    struct scene scene = {pool_a, "onnxruntime", VERDICT_CRASH, .blame = 0, .log = log, .signal = SIGSEGV};
    struct signature a = sign(&scene);
    assert_string_equal(a.text,
                        "crash|onnxruntime|AveragePool|any|ceil_mode=1|_ZN4core3divEv<_ZN4core3runEv");
    scene.signal = SIGFPE;
    struct signature b = sign(&scene);
    assert_true(strncmp(b.text, "crash-fpe|", 10) == 0);
    scene.log = NULL;
    assert_string_equal(sign(&scene).text, "crash-fpe|onnxruntime|AveragePool|any|ceil_mode=1|");
}

static void a_text_is_read_back(void **state)
{
    (void)state;
    struct scene scene = {pool_a, "onednn:isa=avx2", VERDICT_WRONG, .blame = 0};
    struct signature made = sign(&scene), a;
    assert_true(signature_parse(&a, made.text));
    assert_memory_equal(&a, &made, sizeof a);
    assert_int_equal(a.symptom, VERDICT_WRONG);
    assert_string_equal(a.engine, "onednn:isa=avx2");
    assert_string_equal(a.operators, "AveragePool");
    assert_string_equal(a.types, "f32");
    assert_string_equal(a.attributes, "ceil_mode=1");
    assert_string_equal(a.message, "");
    for (int i = 0; i < SYMPTOM_COUNT; i++) {
        char text[SIGNATURE_TEXT_SIZE];
        snprintf(text, sizeof text, "%s|e|Neg|||no | here", symptom_word((enum symptom)i));
        assert_true(signature_parse(&a, text));
        assert_int_equal(a.symptom, i);
        assert_string_equal(a.message, "no | here");
        assert_string_equal(a.text, text);
    }
}

static void expect_named(const struct signature *signature, size_t number, const char *name, int outer)
{
    assert_true(number < signature->n_named);
    assert_int_equal(signature->named[number].length, strlen(name));
    assert_memory_equal(signature->operators + signature->named[number].start, name, strlen(name));
    assert_int_equal(signature->named[number].outer, outer);
}

static void operators_are_named(void **state)
{
    (void)state;
    struct signature a;
    assert_true(signature_parse(&a, "wrong|e|Mul+If(Abs,Neg)+Add+...|||"));
    assert_int_equal(a.n_named, 5);
    assert_true(a.larger);
    expect_named(&a, 0, "Mul", -1);
    expect_named(&a, 1, "If", -1);
    expect_named(&a, 2, "Abs", 1);
    expect_named(&a, 3, "Neg", 1);
    expect_named(&a, 4, "Add", -1);
    assert_true(signature_parse(&a, "wrong|e|graph|||"));
    assert_true(a.blame == BLAME_GRAPH && !a.n_named && !a.larger);
    assert_true(signature_parse(&a, "refused|e|tensor.h|||bad"));
    assert_true(a.blame == BLAME_PLACE && !a.n_named);
}

/* What is no signature is refused, whatever its length. */
static void other_texts_are_no_signatures(void **state)
{
    (void)state;
    struct signature a;
    char text[2000] = "wrong|e|";
    static const char *const none[] = {"",     "no bars", "wrong", "wrong|e|Neg|f32|", "fine|e|Neg|f32||",
                                       "|||||"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(signature_parse(&a, none[i]));
    memset(text + 8, '(', sizeof text - 9);
    assert_false(signature_parse(&a, text));
    strcpy(text + 8 + SIGNATURE_PART_SIZE, "|||");
    text[8] = 'A';
    assert_true(signature_parse(&a, text));
    assert_true(a.larger);
}

/* Of two texts the first is the smaller case's. */
static void expect_stands_for(const char *smaller, const char *larger, bool due)
{
    struct signature a, b;
    assert_true(signature_parse(&a, smaller) && signature_parse(&b, larger));
    if (signature_stands_for(&a, &b) != due)
        fail_msg("%s %s for %s", smaller, due ? "does not stand" : "stands", larger);
}

static void a_smaller_case_stands_for_its_class(void **state)
{
    (void)state;
    static const char *const numbers[] = {"wrong|e|Neg|f32||", "nan|e|Neg|f32||", "nan-lost|e|Neg|f32||",
                                          "imprecise|e|Neg|f32||", "nondeterministic|e|Neg|f32||"};
    static const char *const others[] = {"shape|e|Neg|any||", "dtype|e|Neg|f32||", "refused|e|Neg|||no",
                                         "crash|e|Neg|any||", "hang|e|Neg|any||"};
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++) {
            expect_stands_for(numbers[i], numbers[k], true);
            expect_stands_for(numbers[i], others[k], false);
            expect_stands_for(others[k], numbers[i], false);
            expect_stands_for(others[i], others[k], i == k);
        }
    expect_stands_for("crash-fpe|e|Neg|any||", "crash|e|Neg|any||", true);
    /* Nobody was blamed, or a place in the engine's own code. */
    expect_stands_for("crash|e|Neg|any||", "wrong|e|graph|||", true);
    expect_stands_for("wrong|e|Neg|f32||", "refused|e|tensor.h|||tensor.h:# bad", true);
}

/* Nothing of a text from outside may break the parts or the buffers. */
static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    struct scene scene = {pool_a, text, VERDICT_REJECTED, .blame = 0, .message = text};
    struct signature a = sign(&scene);
    assert_true(strlen(a.text) < SIGNATURE_TEXT_SIZE);
    assert_true(strstr(a.text, "AveragePool") != NULL);
    struct signature b = sign(&scene);
    assert_true(signature_equal(&a, &b));
}

/* A bug of AveragePool is the same bug where AveragePool is called as a function of the model, with a Relu
 * before it or not; the node beside the call is not to blame. */
static void functions_are_what_is_inside(void **state)
{
    (void)state;
    static const char called[] =
        "<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]>\n"
        "g (float[1,2,9] x) => (float[1,2,N] y) { a = Abs (x) y = own.pool (a) }\n"
        "<opset_import: [\"\" : 17], domain: \"own\">\n"
        "pool (u) => (v) { v = AveragePool <ceil_mode = 1, kernel_shape = [7], strides = [3]> (u) }";
    static const char two[] =
        "<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]>\n"
        "g (float[1,2,9] x) => (float[1,2,N] y) { a = Abs (x) y = own.pool (a) }\n"
        "<opset_import: [\"\" : 17], domain: \"own\">\n"
        "pool (u) => (v) { r = Relu (u) v = AveragePool <ceil_mode = 1, kernel_shape = [7]> (r) }";
    struct signature plain = sign(&(struct scene){pool_a, "onnxruntime", VERDICT_WRONG, 1, 2, 0});
    struct signature inside = sign(&(struct scene){called, "onnxruntime", VERDICT_WRONG, 1, 2, 1});
    assert_string_equal(inside.text, plain.text);
    struct signature both = sign(&(struct scene){two, "onnxruntime", VERDICT_WRONG, 1, 2, 1});
    assert_string_equal(both.operators, "Relu+AveragePool");
    struct signature other = sign(&(struct scene){called, "onnxruntime", VERDICT_WRONG, 1, 2, 0});
    assert_string_equal(other.operators, "Abs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_names_versions_and_levels_do_not_matter),
        cmocka_unit_test(modes_symptoms_and_engines_do),
        cmocka_unit_test(settings_that_choose_code_matter),
        cmocka_unit_test(lost_nans_are_a_symptom_of_their_own),
        cmocka_unit_test(groups_and_types),
        cmocka_unit_test(bodies_are_named),
        cmocka_unit_test(functions_are_what_is_inside),
        cmocka_unit_test(messages_lose_what_changes),
        cmocka_unit_test(refusals_are_told_apart_by_their_message),
        cmocka_unit_test(a_place_in_shared_code_stands_for_operators),
        cmocka_unit_test(what_the_engine_made_is_the_place),
        cmocka_unit_test(lacking_kernels_are_one_class),
        cmocka_unit_test(short_names_are_no_words),
        cmocka_unit_test(deaths_are_told_apart_by_their_frames),
        cmocka_unit_test(a_text_is_read_back),
        cmocka_unit_test(operators_are_named),
        cmocka_unit_test(other_texts_are_no_signatures),
        cmocka_unit_test(a_smaller_case_stands_for_its_class),
        cmocka_unit_test(long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
