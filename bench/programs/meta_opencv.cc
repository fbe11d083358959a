/*
 * usage: meta_opencv CASES RESULTS
 * cv::dnn called directly for the cases of bench/meta, one thread, settings as they are by default; it has no
 * gradients. Models that it refuses are left out. Nothing of Assay's adapter is in here: of the model, only
 * names and the types of outputs are read, as OpenCV 4 gives float32 for any of them.
 */
#include "direct.hh"
#include "meta_file.h"

#include <exception>

#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/core/version.hpp>
#include <opencv2/dnn.hpp>

namespace
{

using direct::field;

enum { MODEL_GRAPH = 7, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

struct info {
    cv::String name;
    unsigned type = 0;
};

/* Calls the function for each field of that number. */
template <typename Function>
void each(const unsigned char *data, size_t size, unsigned number, Function function)
{
    field found;
    for (const unsigned char *at = data; direct::next(at, data + size, found);)
        if (found.number == number)
            function(found);
}

/* The graph's inputs or outputs. ValueInfoProto: name is 1, type 2; tensor_type is 1 in it, elem_type 1 in
 * that. */
std::vector<info> infos(const meta_case *one, unsigned which)
{
    std::vector<info> list;
    each(static_cast<const unsigned char *>(one->model), one->model_size, MODEL_GRAPH, [&](field graph) {
        each(graph.data, graph.size, which, [&](field value) {
            info made;
            each(value.data, value.size, 1,
                 [&](field name) { made.name.assign(reinterpret_cast<const char *>(name.data), name.size); });
            each(value.data, value.size, 2, [&](field type) {
                each(type.data, type.size, 1, [&](field tensor) {
                    each(tensor.data, tensor.size, 1,
                         [&](field element) { made.type = static_cast<unsigned>(element.value); });
                });
            });
            list.push_back(made);
        });
    });
    return list;
}

/* An ONNX type as a matrix's; -1 for those that OpenCV 4 has no matrices of. */
int matrix_type(unsigned type)
{
    return type == META_FLOAT ? CV_32F : type == META_DOUBLE ? CV_64F : -1;
}

/* The elements as the model declares them, where that takes no rounding. */
bool take(const cv::Mat &given, unsigned type, meta_tensor &made)
{
    cv::Mat mat = given.isContinuous() ? given : given.clone();
    if (mat.channels() != 1)
        return false;
    bool whole = type == META_INT64 || type == META_BOOL;
    if (!whole && matrix_type(type) != mat.depth())
        return false;
    size_t element = type == META_INT64 ? 8 : type == META_BOOL ? 1 : mat.elemSize();
    made.type = type;
    made.size = mat.total() * element;
    made.data = std::malloc(made.size + 1);
    if (!whole) {
        std::memcpy(made.data, mat.data, made.size);
        return true;
    }
    cv::Mat wide;
    mat.reshape(1, 1).convertTo(wide, CV_64F);
    for (size_t i = 0; i < mat.total(); i++) {
        double x = wide.ptr<double>()[i];
        if (type == META_INT64)
            static_cast<int64_t *>(made.data)[i] = static_cast<int64_t>(x);
        else
            static_cast<unsigned char *>(made.data)[i] = x != 0;
    }
    return true;
}

bool run(const meta_case *one, std::vector<cv::Mat> &results)
{
    std::vector<info> inputs = infos(one, GRAPH_INPUT);
    if (inputs.size() != one->n_inputs)
        meta_die("a model with other inputs");
    cv::dnn::Net net = cv::dnn::readNetFromONNX(static_cast<const char *>(one->model), one->model_size);
    for (size_t i = 0; i < inputs.size(); i++) {
        const meta_tensor &tensor = one->inputs[i];
        std::vector<int> dims(tensor.dims, tensor.dims + tensor.rank);
        if (matrix_type(tensor.type) < 0)
            return false;
        if (dims.empty())
            dims.push_back(1);
        net.setInput(
            cv::Mat(static_cast<int>(dims.size()), dims.data(), matrix_type(tensor.type), tensor.data),
            inputs[i].name);
    }
    std::vector<cv::String> names;
    for (const info &output : infos(one, GRAPH_OUTPUT))
        names.push_back(output.name);
    net.forward(results, names);
    return true;
}

/* CumSum of 4.6 writes and reads outside its tensors where dimensions stand on both sides of the axis
 * (found/opencv/cumsum-middle-axis): its results vary from run to run. */
bool corrupts(const meta_case *one)
{
    return CV_VERSION_MAJOR * 100 + CV_VERSION_MINOR <= 406 && std::strcmp(one->name, "CumSum") == 0;
}

void call(const meta_case *one, meta_result *result)
{
    if (corrupts(one)) {
        result->flags = META_CORRUPTS;
        return;
    }
    std::vector<cv::Mat> results;
    std::vector<info> outputs = infos(one, GRAPH_OUTPUT);
    try {
        if (!run(one, results) || results.size() != outputs.size() || results.size() > META_TENSORS)
            return;
    } catch (const std::exception &) {
        result->flags = META_REFUSED;
        return;
    }
    for (size_t i = 0; i < results.size(); i++) {
        if (!take(results[i], outputs[i].type, result->outputs[i])) {
            result->n_outputs = 0;
            return;
        }
        result->n_outputs++;
    }
}

/* The library prints every error before it throws it. */
int no_print(int, const char *, const char *, const char *, int, void *)
{
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    cv::setNumThreads(1);
    cv::redirectError(no_print);
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    return meta_main(argc, argv, call);
}
