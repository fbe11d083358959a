// Runs cases of `assay corpus` on ONNX Runtime, with nothing of Assay: reader CASE... (docs/corpus.md shows a
// part of it).
#include <onnx/onnx_pb.h>
#include <onnxruntime_c_api.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <vector>

static const OrtApi *ort = OrtGetApiBase()->GetApi(11);
static void must(OrtStatus *status)
{
    if (status)
        throw std::runtime_error(ort->GetErrorMessage(status));
}

static bool read(const std::string &path, onnx::TensorProto &tensor)
{
    std::ifstream file(path, std::ios::binary);
    return file && tensor.ParseFromIstream(&file);
}
template <class T> static double at(const void *data, size_t i)
{
    return double(static_cast<const T *>(data)[i]);
}
static double element(int type, const void *data, size_t i)
{
    static double (*const ats[])(const void *, size_t) = {
        nullptr,     at<float>, at<uint8_t>, at<int8_t>, at<uint16_t>, at<int16_t>,  at<int32_t>,
        at<int64_t>, nullptr,   at<bool>,    nullptr,    at<double>,   at<uint32_t>, at<uint64_t>};
    if (type < 1 || type > 13 || !ats[type])
        throw std::invalid_argument("another type");
    else
        return ats[type](data, i);
}
static bool right(int type, const void *got, const void *want, const double *bound, const bool *mask,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double g = element(type, got, i), w = element(type, want, i);
        if (!(mask && !mask[i]) && g != w && !(std::isnan(g) && std::isnan(w)) &&
            !(std::fabs(g - w) <= bound[i]))
            return false;
    }
    return true;
}
static bool run(OrtEnv *env, OrtSessionOptions *options, const std::string &folder)
{
    OrtSession *session;
    OrtMemoryInfo *memory;
    OrtAllocator *allocator;
    size_t count;
    bool good = true;
    must(ort->CreateSession(env, (folder + "/model.onnx").c_str(), options, &session));
    must(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    must(ort->GetAllocatorWithDefaultOptions(&allocator));
    std::vector<onnx::TensorProto> tensors(100);
    std::vector<OrtValue *> inputs, outputs;
    std::vector<char *> names, wanted;
    const std::string set = folder + "/test_data_set_0/";
    for (size_t i = 0; read(set + "input_" + std::to_string(i) + ".pb", tensors.at(i)); i++) {
        onnx::TensorProto &t = tensors[i];
        std::vector<int64_t> dims(t.dims().begin(), t.dims().end());
        inputs.push_back(nullptr);
        names.push_back(const_cast<char *>(t.name().c_str()));
        element(t.data_type(), "\0\0\0\0\0\0\0", 0);
        must(ort->CreateTensorWithDataAsOrtValue(memory, &(*t.mutable_raw_data())[0], t.raw_data().size(),
                                                 dims.data(), dims.size(),
                                                 ONNXTensorElementDataType(t.data_type()), &inputs.back()));
    }
    must(ort->SessionGetOutputCount(session, &count));
    outputs.resize(count);
    wanted.resize(count);
    for (size_t k = 0; k < count; k++)
        must(ort->SessionGetOutputName(session, k, allocator, &wanted[k]));
    must(ort->Run(session, nullptr, names.data(), inputs.data(), names.size(), wanted.data(), count,
                  outputs.data()));
    for (size_t k = 0; k < count; k++) {
        onnx::TensorProto want, bound, mask;
        const std::string end = "_" + std::to_string(k) + ".pb";
        void *got;
        OrtTensorTypeAndShapeInfo *info;
        ONNXTensorElementDataType type;
        size_t size;
        if (!read(set + "output" + end, want) || !read(set + "bound" + end, bound))
            throw std::runtime_error("no output_K.pb or bound_K.pb");
        element(want.data_type(), "\0\0\0\0\0\0\0", 0);
        bool masked = read(set + "mask" + end, mask);
        must(ort->GetTensorMutableData(outputs[k], &got));
        must(ort->GetTensorTypeAndShape(outputs[k], &info));
        must(ort->GetTensorElementType(info, &type));
        must(ort->GetTensorShapeElementCount(info, &size));
        good = good && int(type) == want.data_type() && size * 8 == bound.raw_data().size() &&
               right(type, got, want.raw_data().data(),
                     reinterpret_cast<const double *>(bound.raw_data().data()),
                     masked ? reinterpret_cast<const bool *>(mask.raw_data().data()) : nullptr, size);
    }
    return ort->ReleaseSession(session), good; // the rest goes with the process
}
int main(int argc, char **argv)
{
    OrtEnv *env;
    OrtSessionOptions *options;
    int counts[4] = {0};
    must(ort->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "reader", &env));
    must(ort->CreateSessionOptions(&options));
    must(ort->SetIntraOpNumThreads(options, 1));
    for (int i = 1; i < argc; i++) {
        int what;
        std::string why;
        try {
            what = run(env, options, argv[i]) ? 0 : 1;
        } catch (const std::invalid_argument &e) {
            what = 3;
            why = e.what();
        } catch (const std::exception &e) {
            what = 2;
            why = e.what();
        }
        counts[what]++;
        std::cout << (const char *[]){"right", "wrong", "error", "skipped"}[what] << " " << argv[i] << " "
                  << why << "\n";
    }
    std::cout << counts[0] << " right, " << counts[1] << " wrong, " << counts[2] << " errors, " << counts[3]
              << " of other types\n";
}
