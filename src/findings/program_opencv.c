/* OpenCV: the model whole, through cv::dnn in C++. */
#include "findings/program.h"

#include <stdlib.h>
#include <string.h>

/* The release as the engine says it, else as its label does; 4 when neither does. */
static int major_release(const struct bundle_engine *engine)
{
    const char *at = strchr(engine->label, '@');
    int major = engine->version && *engine->version ? atoi(engine->version) : at ? atoi(at + 1) : 4;
    return major ? major : 4;
}

/* Up to 4.x there are neither 64-bit integers nor bools nor tensors without elements. */
static bool takes(const struct test_case *testcase, int major)
{
    for (size_t i = 0; i < testcase->n_inputs && major < 5; i++) {
        const struct tensor *tensor = &testcase->inputs[i].tensors[0];
        if (program_type(tensor->type)->opencv_5 || !tensor->count)
            return false;
    }
    return true;
}

/* A scalar is one element of one dimension, up to 4.x. */
static void add_input(struct str *out, const struct test_case *testcase, size_t k, int major)
{
    const struct tensor *tensor = &testcase->inputs[k].tensors[0];
    program_data(out, testcase, k);
    str_add(out, "    net.setInput(cv::Mat(std::vector<int>{");
    program_dims(out, &tensor->shape);
    str_printf(out, "%s}, %s, x%zu), \"%s\");\n", tensor->shape.rank == 0 && major < 5 ? "1" : "",
               program_type(tensor->type)->opencv, k, testcase->inputs[k].name);
}

static void add_settings(struct str *out, const char *label)
{
    if (strstr(label, "fusion=off"))
        str_add(out, "    net.enableFusion(false);\n");
    if (strstr(label, "winograd=off"))
        str_add(out, "    net.enableWinograd(false);\n");
}

static void add_printing(struct str *out, const struct bundle_case *which, const struct model *model)
{
    enum dtype type = program_output_type(which, model);
    size_t k = program_output(which, model), from = program_from(which);
    str_printf(
        out,
        "    printf(\"type %%s shape\", cv::typeToString(y[%zu].type()).c_str());\n"
        "    for (int i = 0; i < y[%zu].dims; i++) printf(\" %%d\", y[%zu].size[i]);\n"
        "    cv::Mat v;\n"
        "    y[%zu].convertTo(v, CV_64F);\n"
        "    printf(\"\\nelements from %zu:\");\n"
        "    for (size_t i = %zu; i < v.total() && i < %zu; i++) printf(\" %s\", v.ptr<double>()[i]);\n"
        "    puts(\"\");\n",
        k, k, k, k, from, from, from + PROGRAM_ELEMENTS, dtype_size(type) > 4 ? "%.17g" : "%.9g");
}

static void add_running(struct str *out, const struct bundle_case *which, const struct model *model,
                        int major)
{
    for (size_t i = 0; i < which->testcase->n_inputs; i++)
        add_input(out, which->testcase, i, major);
    str_add(out, "    std::vector<cv::Mat> y;\n    net.forward(y, std::vector<cv::String>{");
    for (size_t i = 0; i < model->graph->n_output; i++)
        str_printf(out, "%s\"%s\"", i ? ", " : "", model->graph->output[i]->name);
    str_add(out, "});\n");
    add_printing(out, which, model);
}

bool program_opencv(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct bundle_engine *engine = &which->engines[0];
    const char *label = engine->label;
    int major = major_release(engine);
    bool runs = takes(which->testcase, major);
    if ((!runs && (!engine->result || engine->result->stage != STAGE_LOAD)) || strstr(label, "cpu="))
        return false;
    str_printf(
        out,
        "```cpp\n"
        "// c++ -I/usr/include/opencv%d run.cc -lopencv_dnn -lopencv_core && ./a.out, in the folder of "
        "model.onnx\n"
        "#include <cmath>\n#include <cstdio>\n#include <opencv2/dnn.hpp>\n\nint main() try {\n"
        "    cv::dnn::Net net = cv::dnn::readNetFromONNX(\"model.onnx\"%s);\n"
        "    if (net.empty()) return puts(\"an empty network\"), 1;\n",
        major < 5 ? 4 : major,
        strstr(label, "engine=classic") ? ", cv::dnn::ENGINE_CLASSIC"
        : strstr(label, "engine=new")   ? ", cv::dnn::ENGINE_NEW"
                                        : "");
    add_settings(out, label);
    if (runs)
        add_running(out, which, model, major);
    else
        str_add(out, "    puts(\"it loaded\");\n");
    str_add(out, "} catch (const std::exception &e) {\n    puts(e.what());\n    return 1;\n}\n```\n");
    return true;
}
