/*
 * usage: overhead_bare_opencv FOLDER
 * The bare loop over cv::dnn: read a network, run it once, free it, for every model, one thread. The output
 * is copied out, as any user of it would.
 */
#include <cstdio>
#include <cstring>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>

extern "C" {
#include "overhead.h"
}

struct loop {
    struct overhead_case *cases;
    std::vector<unsigned char> copy;
};

static void bare_case(void *context, size_t number)
{
    struct loop *loop = static_cast<struct loop *>(context);
    const struct overhead_case *one = &loop->cases[number];
    std::vector<unsigned char> &copy = loop->copy;
    int dims[TENSOR_MAX_RANK];
    for (int i = 0; i < one->input.shape.rank; i++)
        dims[i] = static_cast<int>(one->input.shape.dims[i]);
    cv::dnn::Net net = cv::dnn::readNetFromONNX(one->model, one->size);
    overhead_loaded();
    net.setInput(cv::Mat(one->input.shape.rank, dims, CV_32F, one->input.data), "x");
    std::vector<cv::Mat> outputs;
    net.forward(outputs, std::vector<cv::String>{"y"});
    size_t size = outputs[0].total() * outputs[0].elemSize();
    copy.resize(size);
    std::memcpy(copy.data(), outputs[0].data, size);
    overhead_ran();
}

int main(int argc, char **argv)
{
    struct error err = {};
    struct loop loop = {nullptr, {}};
    size_t count = 0;
    if (argc != 2 || overhead_read(argv[1], &loop.cases, &count, &err) < 0 || count == 0) {
        std::fprintf(stderr, "usage: overhead_bare_opencv FOLDER %s\n", err.message);
        return 2;
    }
    cv::setNumThreads(1);
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    overhead_bare(count, bare_case, &loop);
    overhead_free(loop.cases, count);
    return 0;
}
