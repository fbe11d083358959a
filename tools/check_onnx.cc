// Checks models with a libonnx of another release than the one this system has (tools/fetch-root SUITE
// libonnx). Reads from stdin, for each model: a byte (0: check only; 1: also infer types and shapes, with
// propagation of shape values; 2: also infer them, without it, which is ONNX's full_check), the size in 4
// bytes, little-endian, and the model. Writes a line to stdout for each: "ok", "newer" (it does not know the
// opset) or "bad: REASON". src/engine/onnx_checker.h is the other end.
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <cstdint>
#include <iostream>
#include <string>

namespace
{

constexpr size_t LONGEST = 1500;

// One line, and a short one: libonnx lists every error it finds.
std::string one_line(std::string text)
{
    if (text.size() > LONGEST)
        text.resize(LONGEST);
    for (char &c : text)
        if (c == '\n' || c == '\r')
            c = ' ';
    return text;
}

std::string check(const std::string &bytes, int infer)
{
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes))
        return "bad: no ModelProto";
    const auto range = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("");
    for (const auto &import : model.opset_import())
        if ((import.domain().empty() || import.domain() == "ai.onnx") && import.version() > range.second)
            return "newer";
    // What an opset has does not depend on the IR version.
    if (model.ir_version() > onnx::Version::IR_VERSION)
        model.set_ir_version(onnx::Version::IR_VERSION);
    onnx::checker::check_model(model);
    if (infer) {
        onnx::ShapeInferenceOptions options(true, 1, infer == 1);
        onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
    }
    return "ok";
}

} // namespace

int main()
{
    unsigned char head[5];
    while (std::cin.read(reinterpret_cast<char *>(head), sizeof head)) {
        uint32_t size = head[1] | head[2] << 8 | head[3] << 16 | static_cast<uint32_t>(head[4]) << 24;
        std::string bytes(size, '\0'), word;
        if (!std::cin.read(&bytes[0], size))
            return 1;
        try {
            word = check(bytes, head[0]);
        } catch (const std::exception &exception) {
            word = "bad: " + one_line(exception.what());
        }
        std::cout << word << std::endl;
    }
    return 0;
}
