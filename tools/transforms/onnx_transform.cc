// What ONNX's own library makes of models, as tools for engine files (docs/engines.md):
//
//     onnx-transform convert OPSET IN OUT    its version converter
//     onnx-transform inline IN OUT           its inliner: calls of functions become their nodes, also
//                                            those of operators that ONNX defines by a function
//     onnx-transform infer IN OUT            its inference of types and shapes, with propagation of shapes
//     onnx-transform text IN OUT             its text form, printed and parsed again
//
// tools/fetch-transforms builds it with the libonnx that tools/fetch-root fetched.
#include <onnx/checker.h>
#include <onnx/common/ir.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/printer.h>
#include <onnx/defs/schema.h>
#include <onnx/inliner/inliner.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace
{

onnx::ModelProto read(const char *path)
{
    onnx::ModelProto model;
    std::ifstream file(path, std::ios::binary);
    if (!file || !model.ParseFromIstream(&file))
        throw std::runtime_error(std::string("no model: ") + path);
    return model;
}

void write(const onnx::ModelProto &model, const char *path)
{
    std::ofstream file(path, std::ios::binary);
    if (!model.SerializeToOstream(&file) || !file.flush())
        throw std::runtime_error(std::string("cannot write ") + path);
}

onnx::ModelProto printed_and_parsed(const onnx::ModelProto &model)
{
    std::ostringstream text;
    text << model;
    const std::string copy = text.str();
    onnx::ModelProto parsed;
    onnx::OnnxParser parser(copy.c_str());
    const auto status = parser.Parse(parsed);
    if (!status.IsOK())
        throw std::runtime_error(status.ErrorMessage());
    return parsed;
}

void transform(const std::string &what, char **argv)
{
    if (what == "convert") {
        write(onnx::version_conversion::ConvertVersion(read(argv[3]), std::stoi(argv[2])), argv[4]);
        return;
    }
    onnx::ModelProto model = read(argv[2]);
    if (what == "inline") {
        // Of none is said that it stays.
        const auto all = onnx::inliner::FunctionIdSet::Create({}, true);
#ifdef WITHOUT_SCHEMA_FUNCTIONS // releases before 1.19 inline the model's own functions alone
        onnx::inliner::InlineSelectedFunctions(model, *all);
#else
        onnx::inliner::InlineSelectedFunctions(model, *all, onnx::OpSchemaRegistry::Instance());
#endif
    } else if (what == "infer") {
        onnx::ShapeInferenceOptions options(true, 1, true);
        onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
    } else {
        model = printed_and_parsed(model);
    }
    write(model, argv[3]);
}

} // namespace

int main(int argc, char **argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    const bool known =
        what == "convert" ? argc == 5 : (what == "inline" || what == "infer" || what == "text") && argc == 4;
    if (!known) {
        std::cerr
            << "usage: onnx-transform convert OPSET IN OUT | inline IN OUT | infer IN OUT | text IN OUT\n";
        return 2;
    }
    try {
        transform(what, argv);
    } catch (const std::exception &error) {
        std::string text = error.what();
        for (char &c : text)
            if (c == '\n')
                c = ' ';
        std::cerr << text << "\n";
        return 1;
    }
    return 0;
}
