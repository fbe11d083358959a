/*
 * usage: opencv_direct CASE FOLDER
 * One official case on cv::dnn with nothing in between: output K's bytes go to FOLDER/output_K.raw. Model and
 * inputs are taken apart by hand here, and only as far as needed (float32, raw data), so that nothing of
 * Assay is shared with the adapter that this program vouches for.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/dnn.hpp>

namespace
{

typedef std::vector<unsigned char> bytes;

bytes read_file(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    return bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

/* One field of a protobuf message: its number, and a varint or a span. */
struct field {
    unsigned number = 0;
    unsigned long long value = 0;
    const unsigned char *data = nullptr;
    size_t size = 0;
};

unsigned long long varint(const unsigned char *&at, const unsigned char *end)
{
    unsigned long long value = 0;
    for (int shift = 0; at < end && shift < 64; shift += 7) {
        unsigned char byte = *at++;
        value |= static_cast<unsigned long long>(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    std::fprintf(stderr, "opencv_direct: a bad varint\n");
    std::exit(2);
}

bool next(const unsigned char *&at, const unsigned char *end, field &out)
{
    if (at >= end)
        return false;
    unsigned long long key = varint(at, end);
    out = field();
    out.number = static_cast<unsigned>(key >> 3);
    unsigned wire = key & 7;
    if (wire == 0) {
        out.value = varint(at, end);
        return true;
    }
    out.size = wire == 1 ? 8 : wire == 5 ? 4 : static_cast<size_t>(varint(at, end));
    if (out.size > static_cast<size_t>(end - at)) {
        std::fprintf(stderr, "opencv_direct: a field beyond its message\n");
        std::exit(2);
    }
    out.data = at;
    at += out.size;
    return true;
}

/* The names of the graph's inputs (11) or outputs (12): fields of the model's graph (7), each named by
 * field 1. */
std::vector<cv::String> names(const bytes &model, unsigned which)
{
    std::vector<cv::String> list;
    field graph, info, name;
    const unsigned char *at = model.data(), *end = at + model.size();
    while (next(at, end, graph)) {
        if (graph.number != 7)
            continue;
        for (const unsigned char *g = graph.data; next(g, graph.data + graph.size, info);)
            if (info.number == which)
                for (const unsigned char *i = info.data; next(i, info.data + info.size, name);)
                    if (name.number == 1)
                        list.push_back(cv::String(reinterpret_cast<const char *>(name.data), name.size));
    }
    return list;
}

/* A float32 TensorProto: dims (1), data_type (2), raw_data (9). */
cv::Mat read_input(const bytes &tensor)
{
    std::vector<int> dims;
    field part, raw;
    for (const unsigned char *at = tensor.data(), *end = at + tensor.size(); next(at, end, part);) {
        if (part.number == 1 && !part.data)
            dims.push_back(static_cast<int>(part.value));
        for (const unsigned char *d = part.data; part.number == 1 && part.data && d < part.data + part.size;)
            dims.push_back(static_cast<int>(varint(d, part.data + part.size)));
        if (part.number == 2 && part.value != 1) {
            std::fprintf(stderr, "opencv_direct: only float32\n");
            std::exit(2);
        }
        if (part.number == 9)
            raw = part;
    }
    if (dims.empty())
        dims.push_back(1);
    cv::Mat mat(static_cast<int>(dims.size()), dims.data(), CV_32F);
    if (raw.size != mat.total() * sizeof(float)) {
        std::fprintf(stderr, "opencv_direct: only raw_data\n");
        std::exit(2);
    }
    std::memcpy(mat.data, raw.data, raw.size);
    return mat;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: opencv_direct CASE FOLDER\n");
        return 2;
    }
    std::string folder = argv[1], out = argv[2];
    bytes model = read_file(folder + "/model.onnx");
    std::vector<cv::String> inputs = names(model, 11), outputs = names(model, 12);
    cv::setNumThreads(1);
    cv::dnn::Net net = cv::dnn::readNetFromONNX(folder + "/model.onnx");
    for (size_t i = 0; i < inputs.size(); i++) {
        bytes tensor = read_file(folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb");
        if (!tensor.empty()) /* an initialiser that is listed as an input, too */
            net.setInput(read_input(tensor), inputs[i]);
    }
    std::vector<cv::Mat> results;
    net.forward(results, outputs);
    for (size_t i = 0; i < results.size(); i++) {
        std::ofstream file(out + "/output_" + std::to_string(i) + ".raw", std::ios::binary);
        cv::Mat mat = results[i].clone();
        file.write(reinterpret_cast<const char *>(mat.data),
                   static_cast<std::streamsize>(mat.total() * mat.elemSize()));
    }
    return 0;
}
