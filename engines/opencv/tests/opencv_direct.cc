/*
 * usage: opencv_direct CASE FOLDER
 * One official case on cv::dnn with nothing in between: output K's bytes go to FOLDER/output_K.raw. Model and
 * inputs are taken apart by direct.hh (float32, int32, int8 and uint8, raw data). Exit status 3 for an input
 * of another type, which cv::Mat has not.
 */
#include "direct.hh"

#include <cstring>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/dnn.hpp>

namespace
{

using direct::bytes;
using direct::field;
using direct::next;

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

/* The matrix type of a TensorProto's. */
int type_of(int64_t type)
{
    return type == 1 ? CV_32F : type == 2 ? CV_8U : type == 3 ? CV_8S : type == 6 ? CV_32S : -1;
}

cv::Mat read_input(const bytes &tensor)
{
    direct::proto proto = direct::read_tensor(tensor);
    std::vector<int> dims(proto.dims.begin(), proto.dims.end());
    if (dims.empty())
        dims.push_back(1);
    int type = type_of(static_cast<int64_t>(proto.type));
    if (type < 0)
        std::exit(3);
    cv::Mat mat(static_cast<int>(dims.size()), dims.data(), type);
    if (proto.raw.size != mat.total() * mat.elemSize()) {
        std::fprintf(stderr, "opencv_direct: only raw_data\n");
        std::exit(2);
    }
    std::memcpy(mat.data, proto.raw.data, proto.raw.size);
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
    bytes model = direct::read_file(folder + "/model.onnx");
    std::vector<cv::String> inputs = names(model, 11), outputs = names(model, 12);
    cv::setNumThreads(1);
    cv::dnn::Net net = cv::dnn::readNetFromONNX(folder + "/model.onnx");
    for (size_t i = 0; i < inputs.size(); i++) {
        bytes tensor = direct::read_file(folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb");
        if (!tensor.empty()) /* an initialiser that is listed as an input, too */
            net.setInput(read_input(tensor), inputs[i]);
    }
    std::vector<cv::Mat> results;
    net.forward(results, outputs);
    for (size_t i = 0; i < results.size(); i++) {
        cv::Mat mat = results[i].clone();
        direct::write_output(out, i, mat.data, mat.total() * mat.elemSize());
    }
    return 0;
}
