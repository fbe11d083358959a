// Runs cases of `assay corpus` on ONNX Runtime, with nothing of Assay: ls -d cases/* | reader
#include <onnx/onnx_pb.h>
#include <onnxruntime_cxx_api.h>
#include <fstream>
#include <iostream>
#include <map>
using Tensor = onnx::TensorProto;
static Tensor read(const std::string &folder, const char *stem, size_t k)
{
    Tensor tensor; // without a type where there is no such file
    std::ifstream file(folder + "/test_data_set_0/" + stem + "_" + std::to_string(k) + ".pb");
    tensor.ParseFromIstream(&file);
    return tensor;
}
template <class T> static bool right(const Ort::Value &got, const std::string &folder, size_t k)
{
    Tensor want = read(folder, "output", k), near = read(folder, "bound", k), mask = read(folder, "mask", k);
    const T *g = got.GetTensorData<T>(), *w = (const T *)want.raw_data().data();
    auto bound = (const double *)near.raw_data().data();
    auto info = got.GetTensorTypeAndShapeInfo();
    bool good = info.GetElementType() == want.data_type() &&
                near.raw_data().size() == 8 * info.GetElementCount() &&
                info.GetShape() == std::vector<int64_t>(want.dims().begin(), want.dims().end());
    for (size_t i = 0; good && i < info.GetElementCount(); i++)
        good = (mask.data_type() && !mask.raw_data()[i]) || g[i] == w[i] || (g[i] != g[i] && w[i] != w[i]) ||
               std::abs(double(g[i]) - double(w[i])) <= bound[i];
    return good;
}
static const std::map<int, decltype(&right<float>)> types = {
    {1, right<float>},   {2, right<uint8_t>},   {3, right<int8_t>},   {4, right<uint16_t>},
    {5, right<int16_t>}, {6, right<int32_t>},   {7, right<int64_t>},  {9, right<bool>},
    {11, right<double>}, {12, right<uint32_t>}, {13, right<uint64_t>}};
int main()
{
    Ort::Env env(ORT_LOGGING_LEVEL_FATAL);
    for (std::string folder; std::getline(std::cin, folder);)
        try {
            Ort::Session session(env, (folder + "/model.onnx").c_str(), Ort::SessionOptions());
            Ort::IoBinding io(session);
            auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
            Tensor t[100];
            for (size_t i = 0; (t[i] = read(folder, "input", i)).data_type(); i++)
                io.BindInput(t[i].name().c_str(),
                             Ort::Value::CreateTensor(memory, &(*t[i].mutable_raw_data())[0],
                                                      t[i].raw_data().size(), t[i].dims().data(),
                                                      t[i].dims_size(),
                                                      ONNXTensorElementDataType(t[i].data_type())));
            for (size_t k = 0; k < session.GetOutputCount(); k++)
                io.BindOutput(session.GetOutputNameAllocated(k, Ort::AllocatorWithDefaultOptions()).get(),
                              memory);
            session.Run({}, io);
            auto out = io.GetOutputValues();
            bool good = true;
            for (size_t k = 0; k < out.size(); k++)
                good &= types.at(out[k].GetTensorTypeAndShapeInfo().GetElementType())(out[k], folder, k);
            std::cout << (good ? "right " : "wrong ") << folder << std::endl;
        } catch (const std::exception &e) { // the engine refuses it, or it has an output of 16 or fewer bits
            std::cout << "error " << folder << " " << e.what() << std::endl;
        }
}
