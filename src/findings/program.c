/* The ten lines of a report: a program that shows the fault with the engine's own API. */
#include "base/str.h"
#include "findings/model_text.h"
#include "findings/writeup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    INLINE_ELEMENTS = 64, /* of all inputs; larger ones are read from their file */
    PRINTED_ELEMENTS = 20,
};

struct c_type {
    enum dtype type;
    const char *name, *onnxruntime, *format;
};

/* Types as the C API has them; the short floats travel and are printed as their bits. */
static const struct c_type c_types[] = {
    {DTYPE_FLOAT, "float", "FLOAT", "%.9g"},
    {DTYPE_DOUBLE, "double", "DOUBLE", "%.17g"},
    {DTYPE_FLOAT16, "uint16_t", "FLOAT16", "0x%04x"},
    {DTYPE_BFLOAT16, "uint16_t", "BFLOAT16", "0x%04x"},
    {DTYPE_INT8, "int8_t", "INT8", "%d"},
    {DTYPE_UINT8, "uint8_t", "UINT8", "%d"},
    {DTYPE_INT16, "int16_t", "INT16", "%d"},
    {DTYPE_UINT16, "uint16_t", "UINT16", "%d"},
    {DTYPE_INT32, "int32_t", "INT32", "%d"},
    {DTYPE_UINT32, "uint32_t", "UINT32", "%u"},
    {DTYPE_INT64, "int64_t", "INT64", "%lld"},
    {DTYPE_UINT64, "uint64_t", "UINT64", "%llu"},
    {DTYPE_BOOL, "uint8_t", "BOOL", "%d"},
};

static const struct c_type *c_type(enum dtype type)
{
    for (size_t i = 0; i < sizeof c_types / sizeof *c_types; i++)
        if (c_types[i].type == type)
            return &c_types[i];
    return NULL;
}

/* Names go into string literals: none that would end one. */
static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            return false;
    return true;
}

static bool can_write(const struct testcase *testcase, const struct model *model)
{
    for (size_t i = 0; i < testcase->n_inputs; i++) {
        const struct value *input = &testcase->inputs[i];
        if (input->kind != VALUE_TENSOR || !c_type(input->tensors[0].type) || !input->name ||
            !is_plain(input->name))
            return false;
    }
    for (size_t i = 0; i < model->graph->n_output; i++)
        if (!is_plain(model->graph->output[i]->name) || !model->graph->output[i]->type ||
            model->graph->output[i]->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            return false;
    return model->graph->n_output > 0;
}

static void add_literal(struct str *out, const struct tensor *tensor, size_t i)
{
    long double value = tensor_get(tensor, i);
    if (tensor->type == DTYPE_FLOAT16 || tensor->type == DTYPE_BFLOAT16) {
        uint16_t bits;
        memcpy(&bits, (const char *)tensor->data + 2 * i, sizeof bits);
        str_printf(out, "0x%04x", bits);
    } else if (isnan(value)) {
        str_add(out, "NAN");
    } else if (isinf(value)) {
        str_add(out, value > 0 ? "INFINITY" : "-INFINITY");
    } else if (dtype_is_float(tensor->type)) {
        char text[60];
        snprintf(text, sizeof text, tensor->type == DTYPE_DOUBLE ? "%.17Lg" : "%.9Lg", value);
        str_printf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
    } else if (tensor->type == DTYPE_INT64 && value == (long double)INT64_MIN) {
        str_add(out, "INT64_MIN");
    } else {
        str_printf(out, "%.0Lf%s", value, tensor->type == DTYPE_UINT64 ? "u" : "");
    }
}

static size_t all_elements(const struct testcase *testcase)
{
    size_t count = 0;
    for (size_t i = 0; i < testcase->n_inputs; i++)
        count += testcase->inputs[i].tensors[0].count;
    return count;
}

static void add_dims(struct str *out, const struct shape *shape, const char *type)
{
    str_printf(out, "(%s[]){", type);
    for (int i = 0; i < shape->rank; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)shape->dims[i]);
    str_add(out, shape->rank ? "}" : "0}");
}

/* Declares xK with its values, or reads them: the payload is the end of its file. */
static void add_data(struct str *out, const struct testcase *testcase, size_t k)
{
    const struct tensor *tensor = &testcase->inputs[k].tensors[0];
    const struct c_type *type = c_type(tensor->type);
    bool in_line = all_elements(testcase) <= INLINE_ELEMENTS;
    str_printf(out, "    static %s x%zu[%zu]", type->name, k, tensor->count ? tensor->count : 1);
    if (in_line && tensor->count) {
        str_add(out, " = {");
        for (size_t i = 0; i < tensor->count; i++) {
            str_add(out, i ? ", " : "");
            add_literal(out, tensor, i);
        }
        str_add(out, "}");
    }
    str_add(out, ";\n");
    if (in_line || !tensor->count)
        return;
    str_printf(out,
               "    FILE *f%zu = fopen(\"test_data_set_0/input_%zu.pb\", \"rb\");\n"
               "    if (!f%zu || fseek(f%zu, -(long)sizeof x%zu, SEEK_END) || !fread(x%zu, sizeof x%zu, 1, "
               "f%zu)) return 2;\n",
               k, k, k, k, k, k, k, k);
}

/* Where to start printing, so that the worst element is seen. */
static size_t print_from(const struct bundle_case *which)
{
    const struct verdict *verdict = which->engines[0].verdict;
    bool about_values = verdict->kind == VERDICT_WRONG || verdict->kind == VERDICT_NAN;
    return about_values && verdict->element >= PRINTED_ELEMENTS ? verdict->element - 2 : 0;
}

static size_t output_of_interest(const struct bundle_case *which, const struct model *model)
{
    size_t output = which->engines[0].verdict->output;
    return output < model->graph->n_output ? output : 0;
}

static const char *opt_level(const char *label)
{
    return strstr(label, "opt=none")       ? "ORT_DISABLE_ALL"
           : strstr(label, "opt=basic")    ? "ORT_ENABLE_BASIC"
           : strstr(label, "opt=extended") ? "ORT_ENABLE_EXTENDED"
                                           : "ORT_ENABLE_ALL";
}

/* The type in which output k comes: as the engine gave it, else as the model says. */
static enum dtype output_type(const struct bundle_case *which, const struct model *model, size_t k)
{
    const struct result *result = which->engines[0].result;
    if (result && k < result->count && result->outputs[k].kind == VALUE_TENSOR)
        return result->outputs[k].tensors[0].type;
    return (enum dtype)model->graph->output[k]->type->tensor_type->elem_type;
}

/* Elements the engine gave; 0 when it gave none. */
static size_t output_count(const struct bundle_case *which, size_t k)
{
    const struct result *result = which->engines[0].result;
    return result && k < result->count && result->outputs[k].kind == VALUE_TENSOR
               ? result->outputs[k].tensors[0].count
               : 0;
}

static void add_names(struct str *out, const struct testcase *testcase)
{
    str_add(out, "(const char *[]){");
    for (size_t i = 0; i < testcase->n_inputs; i++)
        str_printf(out, "%s\"%s\"", i ? ", " : "", testcase->inputs[i].name);
    str_add(out, testcase->n_inputs ? "}" : "\"\"}");
}

static void onnxruntime_values(struct str *out, const struct testcase *testcase)
{
    for (size_t k = 0; k < testcase->n_inputs; k++) {
        const struct tensor *tensor = &testcase->inputs[k].tensors[0];
        add_data(out, testcase, k);
        str_printf(out, "    DO(CreateTensorWithDataAsOrtValue(memory, x%zu, ", k);
        if (tensor->count)
            str_printf(out, "sizeof x%zu, ", k);
        else
            str_add(out, "0, ");
        add_dims(out, &tensor->shape, "int64_t");
        str_printf(out, ", %d, ONNX_TENSOR_ELEMENT_DATA_TYPE_%s, &in[%zu]));\n", tensor->shape.rank,
                   c_type(tensor->type)->onnxruntime, k);
    }
}

/* What is wrong is what gets printed: values, or the shape; of an engine that gives none, that it now did. */
static void onnxruntime_print(struct str *out, const struct bundle_case *which, const struct model *model,
                              size_t k)
{
    enum verdict_kind kind = which->engines[0].verdict->kind;
    const struct c_type *type = c_type(output_type(which, model, k));
    size_t from = print_from(which), count = output_count(which, k);
    if (kind == VERDICT_SHAPE || kind == VERDICT_DTYPE) {
        str_add(out, "    OrtTensorTypeAndShapeInfo *info; ONNXTensorElementDataType type; size_t rank; "
                     "int64_t dims[16];\n"
                     "    DO(GetTensorTypeAndShape(out, &info)); DO(GetTensorElementType(info, &type));\n"
                     "    DO(GetDimensionsCount(info, &rank)); DO(GetDimensions(info, dims, rank)); "
                     "printf(\"type %d shape\", type);\n"
                     "    for (size_t i = 0; i < rank; i++) printf(\" %d\", (int)dims[i]);\n");
    } else if (count) {
        size_t end = from + PRINTED_ELEMENTS < count ? from + PRINTED_ELEMENTS : count;
        str_printf(out,
                   "    %s *y; DO(GetTensorMutableData(out, (void **)&y)); printf(\"elements from %zu:\");\n"
                   "    for (int i = %zu; i < %zu; i++) printf(\" %s\", %sy[i]);\n",
                   type->name, from, from, end, type->format,
                   type->type == DTYPE_INT64    ? "(long long)"
                   : type->type == DTYPE_UINT64 ? "(unsigned long long)"
                                                : "");
    } else {
        str_add(out, "    printf(\"it ran\");\n");
    }
    str_add(out, "    puts(\"\");\n}\n");
}

static void onnxruntime_program(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct testcase *testcase = which->testcase;
    size_t k = output_of_interest(which, model);
    str_add(out,
            "```c\n"
            "// cc run.c -lonnxruntime && ./a.out, in the folder of model.onnx\n"
            "#include <math.h>\n#include <onnxruntime_c_api.h>\n#include <stdio.h>\n"
            "#define DO(call) do { OrtStatus *bad = api->call; if (bad) return "
            "puts(api->GetErrorMessage(bad)), 1; } "
            "while (0)\n\nint main(void) {\n"
            "    const OrtApi *api = OrtGetApiBase()->GetApi(10);\n"
            "    OrtEnv *env; OrtSessionOptions *options; OrtSession *session; OrtMemoryInfo *memory;\n");
    str_printf(out, "    OrtValue *in[%zu], *out = NULL;\n", testcase->n_inputs ? testcase->n_inputs : 1);
    str_printf(
        out,
        "    DO(CreateEnv(ORT_LOGGING_LEVEL_FATAL, \"\", &env)); DO(CreateSessionOptions(&options));\n"
        "    DO(SetIntraOpNumThreads(options, 1)); DO(SetSessionGraphOptimizationLevel(options, %s));\n"
        "    DO(CreateSession(env, \"model.onnx\", options, &session));\n"
        "    DO(CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));\n",
        opt_level(which->engines[0].label));
    onnxruntime_values(out, testcase);
    str_add(out, "    DO(Run(session, NULL, ");
    add_names(out, testcase);
    str_printf(out, ", (const OrtValue *const *)in, %zu, (const char *[]){\"%s\"}, 1, &out));\n",
               testcase->n_inputs, model->graph->output[k]->name);
    onnxruntime_print(out, which, model, k);
    str_add(out, "```\n");
}

static void onnxruntime_python(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct testcase *testcase = which->testcase;
    size_t k = output_of_interest(which, model), from = print_from(which);
    const char *name = model->graph->output[k]->name;
    str_printf(
        out,
        "\nThe same in Python:\n\n```python\nimport onnx, onnxruntime as ort\n\n"
        "def load(k):\n"
        "    return onnx.numpy_helper.to_array(onnx.load_tensor(f\"test_data_set_0/input_{k}.pb\"))\n\n"
        "options = ort.SessionOptions()\n"
        "options.graph_optimization_level = ort.GraphOptimizationLevel.%s\n"
        "session = ort.InferenceSession(\"model.onnx\", options, providers=[\"CPUExecutionProvider\"])\n"
        "y, = session.run([\"%s\"], {",
        opt_level(which->engines[0].label), name);
    for (size_t i = 0; i < testcase->n_inputs; i++)
        str_printf(out, "%s\"%s\": load(%zu)", i ? ", " : "", testcase->inputs[i].name, i);
    str_printf(out, "})\nprint(y.shape, y.ravel()[%zu:%zu])\n```\n", from, from + PRINTED_ELEMENTS);
}

/* OpenCV's tensors are float32, int8, int32: other inputs it does not take. */
static bool opencv_takes(const struct testcase *testcase)
{
    for (size_t i = 0; i < testcase->n_inputs; i++)
        if (testcase->inputs[i].tensors[0].type != DTYPE_FLOAT || !testcase->inputs[i].tensors[0].shape.rank)
            return false;
    return true;
}

static void opencv_program(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct testcase *testcase = which->testcase;
    size_t k = output_of_interest(which, model), from = print_from(which);
    str_add(out,
            "```cpp\n"
            "// c++ run.cc $(pkg-config --cflags --libs opencv4) && ./a.out, in the folder of model.onnx\n"
            "#include <cmath>\n#include <cstdio>\n#include <opencv2/dnn.hpp>\n\nint main()\n{\n"
            "    cv::dnn::Net net = cv::dnn::readNetFromONNX(\"model.onnx\");\n");
    for (size_t i = 0; i < testcase->n_inputs; i++) {
        const struct shape *shape = &testcase->inputs[i].tensors[0].shape;
        add_data(out, testcase, i);
        str_printf(out, "    int d%zu[] = {", i);
        for (int d = 0; d < shape->rank; d++)
            str_printf(out, "%s%lld", d ? ", " : "", (long long)shape->dims[d]);
        str_printf(out, "};\n    net.setInput(cv::Mat(%d, d%zu, CV_32F, x%zu), \"%s\");\n", shape->rank, i, i,
                   testcase->inputs[i].name);
    }
    str_printf(
        out,
        "    cv::Mat y = net.forward(\"%s\");\n    printf(\"shape\");\n"
        "    for (int i = 0; i < y.dims; i++) printf(\" %%d\", y.size[i]);\n"
        "    printf(\"\\nelements from %zu:\");\n"
        "    for (size_t i = %zu; i < y.total() && i < %zu; i++) printf(\" %%.9g\", y.ptr<float>()[i]);\n"
        "    puts(\"\");\n}\n```\n",
        model->graph->output[k]->name, from, from, from + PRINTED_ELEMENTS);
}

bool writeup_program(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const char *label = which->engines[0].label;
    size_t k = output_of_interest(which, model);
    if (!can_write(which->testcase, model) || !c_type(output_type(which, model, k)))
        return false;
    if (strncmp(label, "onnxruntime", strcspn(label, "@:")) == 0 && text_starts(label, "onnxruntime")) {
        onnxruntime_program(out, which, model);
        onnxruntime_python(out, which, model);
        return true;
    }
    if (text_starts(label, "opencv") && opencv_takes(which->testcase)) {
        opencv_program(out, which, model);
        return true;
    }
    return false;
}
