/* ONNX Runtime: the model whole, in C and in Python. */
#include "findings/program.h"

#include <string.h>

static const char *opt_level(const char *label)
{
    return strstr(label, "opt=none")       ? "ORT_DISABLE_ALL"
           : strstr(label, "opt=basic")    ? "ORT_ENABLE_BASIC"
           : strstr(label, "opt=extended") ? "ORT_ENABLE_EXTENDED"
                                           : "ORT_ENABLE_ALL";
}

/* Elements the engine gave; 0 when it gave none. */
static size_t output_count(const struct bundle_case *which, size_t k)
{
    const struct result *result = which->engines[0].result;
    return result && k < result->count && result->outputs[k].kind == VALUE_TENSOR
               ? result->outputs[k].tensors[0].count
               : 0;
}

static void add_names(struct str *out, const struct test_case *testcase)
{
    str_add(out, "(const char *[]){");
    for (size_t i = 0; i < testcase->n_inputs; i++)
        str_printf(out, "%s\"%s\"", i ? ", " : "", testcase->inputs[i].name);
    str_add(out, testcase->n_inputs ? "}" : "\"\"}");
}

static void add_values(struct str *out, const struct test_case *testcase)
{
    for (size_t k = 0; k < testcase->n_inputs; k++) {
        const struct tensor *tensor = &testcase->inputs[k].tensors[0];
        program_data(out, testcase, k);
        str_printf(out, "    DO(CreateTensorWithDataAsOrtValue(memory, x%zu, ", k);
        if (tensor->count)
            str_printf(out, "sizeof x%zu, ", k);
        else
            str_add(out, "0, ");
        str_add(out, "(int64_t[]){");
        program_dims(out, &tensor->shape);
        str_printf(out, "%s}, %d, ONNX_TENSOR_ELEMENT_DATA_TYPE_%s, &in[%zu]));\n",
                   tensor->shape.rank ? "" : "0", tensor->shape.rank, program_type(tensor->type)->onnxruntime,
                   k);
    }
}

/* What is wrong is what gets printed: values, or the shape; of an engine that gives none, that it now did. */
static void add_printing(struct str *out, const struct bundle_case *which, const struct model *model,
                         size_t k)
{
    enum verdict_kind kind = which->engines[0].verdict->kind;
    const struct program_type *type = program_type(program_output_type(which, model));
    size_t from = program_from(which), count = output_count(which, k);
    if (verdict_is(kind, CLASS_FORM)) {
        str_add(out, "    OrtTensorTypeAndShapeInfo *info; ONNXTensorElementDataType type; size_t rank; "
                     "int64_t dims[16];\n"
                     "    DO(GetTensorTypeAndShape(out, &info)); DO(GetTensorElementType(info, &type));\n"
                     "    DO(GetDimensionsCount(info, &rank)); DO(GetDimensions(info, dims, rank)); "
                     "printf(\"type %d shape\", type);\n"
                     "    for (size_t i = 0; i < rank; i++) printf(\" %d\", (int)dims[i]);\n");
    } else if (count) {
        size_t end = from + PROGRAM_ELEMENTS < count ? from + PROGRAM_ELEMENTS : count;
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

static void add_c(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct test_case *testcase = which->testcase;
    size_t k = program_output(which, model);
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
    add_values(out, testcase);
    str_add(out, "    DO(Run(session, NULL, ");
    add_names(out, testcase);
    str_printf(out, ", (const OrtValue *const *)in, %zu, (const char *[]){\"%s\"}, 1, &out));\n",
               testcase->n_inputs, model->graph->output[k]->name);
    add_printing(out, which, model, k);
    str_add(out, "```\n");
}

static void add_python(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct test_case *testcase = which->testcase;
    size_t k = program_output(which, model), from = program_from(which);
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
    str_printf(out, "})\nprint(y.shape, y.ravel()[%zu:%zu])\n```\n", from, from + PROGRAM_ELEMENTS);
}

bool program_onnxruntime(struct str *out, const struct bundle_case *which, const struct model *model)
{
    add_c(out, which, model);
    add_python(out, which, model);
    return true;
}
