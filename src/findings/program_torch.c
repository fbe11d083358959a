/* libtorch: the module that the adapter wrote, in C++. */
#include "findings/program.h"

#include <string.h>

static const char nnc_head[] = "#include <torch/csrc/jit/passes/tensorexpr_fuser.h>\n"
                               "#include <torch/csrc/jit/tensorexpr/kernel.h>\n\n"
                               "namespace torch { namespace jit { void overrideCanFuseOnCPU(bool); } }\n";

static const char nnc_start[] = "    torch::jit::setTensorExprFuserEnabled(true);\n"
                                "    torch::jit::overrideCanFuseOnCPU(true);\n"
                                "    torch::jit::tensorexpr::getTEMustUseLLVMOnCPU() = false;\n";

static bool takes(const struct test_case *testcase)
{
    for (size_t i = 0; i < testcase->n_inputs; i++)
        if (!program_type(testcase->inputs[i].tensors[0].type)->torch)
            return false;
    return true;
}

/* The adapter's mode, as the library has it. */
static void add_mode(struct str *out, const char *label)
{
    bool optimize = strstr(label, "mode=optimize");
    if (optimize || strstr(label, "mode=freeze"))
        str_add(out, "    m.eval();\n    m = torch::jit::freeze(m);\n");
    if (optimize)
        str_add(out, "    m = torch::jit::optimize_for_inference(m);\n");
}

static void add_inputs(struct str *out, const struct test_case *testcase)
{
    str_add(out, "    std::vector<c10::IValue> x;\n");
    for (size_t i = 0; i < testcase->n_inputs; i++) {
        const struct tensor *tensor = &testcase->inputs[i].tensors[0];
        program_data(out, testcase, i);
        str_printf(out, "    x.push_back(torch::from_blob(x%zu, std::vector<int64_t>{", i);
        program_dims(out, &tensor->shape);
        str_printf(out, "}, torch::%s).clone());\n", program_type(tensor->type)->torch);
    }
}

static void add_printing(struct str *out, const struct bundle_case *which, const struct model *model)
{
    size_t from = program_from(which), size = dtype_size(program_output_type(which, model));
    str_printf(out,
               "    torch::Tensor y = m.forward(x).toTensorList().get(%zu);\n"
               "    printf(\"type %%s shape\", c10::toString(y.scalar_type()));\n"
               "    for (int64_t n : y.sizes()) printf(\" %%d\", (int)n);\n"
               "    y = y.to(torch::kDouble).contiguous();\n"
               "    printf(\"\\nelements from %zu:\");\n"
               "    for (int64_t i = %zu; i < y.numel() && i < %zu; i++) printf(\" %s\", "
               "y.data_ptr<double>()[i]);\n"
               "    puts(\"\");\n",
               program_output(which, model), from, from, from + PROGRAM_ELEMENTS,
               size > 4 ? "%.17g" : "%.9g");
}

bool program_torch(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const char *label = which->engines[0].label;
    bool nnc = strstr(label, "mode=nnc"), eager = !strstr(label, "mode=") || strstr(label, "mode=eager");
    if (!which->source || !takes(which->testcase))
        return false;
    str_printf(
        out,
        "The model as TorchScript, one line an operator, without an importer in between:\n\n```cpp\n"
        "// c++ -std=c++17 -I/usr/include/torch/csrc/api/include run.cc -Wl,--no-as-needed -ltorch_cpu "
        "-lc10 && ./a.out\n"
        "#include <cmath>\n#include <cstdio>\n#include <torch/script.h>\n%s\nint main() try {\n"
        "    torch::NoGradGuard no_gradients;\n%s%s%s",
        nnc ? nnc_head : "", nnc ? nnc_start : "",
        eager ? "    torch::jit::GraphOptimizerEnabledGuard optimizer(false);\n" : "", which->source);
    add_mode(out, label);
    add_inputs(out, which->testcase);
    if (nnc)
        str_add(out, "    for (int i = 0; i < 2; i++) m.forward(x); // profiled, then compiled\n");
    add_printing(out, which, model);
    str_add(out, "} catch (const std::exception &e) {\n    puts(e.what());\n    return 1;\n}\n```\n");
    return true;
}
