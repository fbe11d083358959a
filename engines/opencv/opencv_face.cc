#include "opencv_face.h"

#include <climits>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/core/version.hpp>
#include <opencv2/dnn.hpp>

#define RELEASE (CV_VERSION_MAJOR * 100 + CV_VERSION_MINOR)

namespace
{

struct depth {
    enum dtype type;
    int depth;
};

const depth depths[] = {
    {DTYPE_FLOAT, CV_32F},     {DTYPE_UINT8, CV_8U},  {DTYPE_INT8, CV_8S},    {DTYPE_UINT16, CV_16U},
    {DTYPE_INT16, CV_16S},     {DTYPE_INT32, CV_32S}, {DTYPE_DOUBLE, CV_64F}, {DTYPE_FLOAT16, CV_16F},
#if RELEASE >= 500
    {DTYPE_BFLOAT16, CV_16BF}, {DTYPE_BOOL, CV_Bool}, {DTYPE_INT64, CV_64S},  {DTYPE_UINT64, CV_64U},
    {DTYPE_UINT32, CV_32U},
#endif
};

int depth_of(enum dtype type)
{
    for (const depth &row : depths)
        if (row.type == type)
            return row.depth;
    return -1;
}

enum dtype type_of(int cv_depth)
{
    for (const depth &row : depths)
        if (row.depth == cv_depth)
            return row.type;
    return DTYPE_NONE;
}

/* The library prints every error before it throws it; the text is in the exception, too. */
int no_print(int, const char *, const char *, const char *, int, void *)
{
    return 0;
}

#if RELEASE >= 500
/* Why the new engine gives a network without layers: it says that in its log, and nowhere else. Of what was
 * logged since it was cleared, the first line about an error, or else the last one. Once it has given up, it
 * is the older engine that writes the log. */
std::string logged;
bool logged_error, given_up;
std::mutex log_mutex;

void keep_log(cv::utils::logging::LogLevel, const char *, const char *, int, const char *, const char *text)
{
    std::lock_guard<std::mutex> lock(log_mutex);
    if (!text || given_up)
        return;
    given_up = std::strstr(text, "cannot be loaded with the new parser") != nullptr;
    if (logged_error)
        return;
    logged = text;
    logged_error = std::strncmp(text, "DNN/ONNX: error ", 16) == 0;
}
#endif

/* Runs the body and turns whatever it throws into a message. */
template <typename Body> int guarded(char message[FACE_MESSAGE_SIZE], Body body)
{
    try {
        return body();
    } catch (const std::exception &e) {
        std::snprintf(message, FACE_MESSAGE_SIZE, "%s", e.what());
    } catch (...) {
        std::snprintf(message, FACE_MESSAGE_SIZE, "an exception of unknown type");
    }
    return -1;
}

int say(char message[FACE_MESSAGE_SIZE], const char *text)
{
    std::snprintf(message, FACE_MESSAGE_SIZE, "%s", text);
    return -1;
}

#if RELEASE >= 500
int engine_of(enum face_engine engine)
{
    return engine == FACE_ENGINE_CLASSIC ? cv::dnn::ENGINE_CLASSIC
           : engine == FACE_ENGINE_NEW   ? cv::dnn::ENGINE_NEW
                                         : cv::dnn::ENGINE_AUTO;
}
#endif

cv::dnn::Net read_net(const void *data, size_t size, const char *path, const face_options *options)
{
#if RELEASE >= 500
    logged.clear();
    logged_error = given_up = false;
    int engine = engine_of(options->engine);
    return data ? cv::dnn::readNetFromONNX(static_cast<const char *>(data), size, engine)
                : cv::dnn::readNetFromONNX(std::string(path), engine);
#else
    (void)options;
    return data ? cv::dnn::readNetFromONNX(static_cast<const char *>(data), size)
                : cv::dnn::readNetFromONNX(std::string(path));
#endif
}

std::string empty_network()
{
    std::string text = "an empty network";
#if RELEASE >= 500
    if (!logged.empty())
        text += ": " + logged;
#endif
    return text;
}

} // namespace

struct face_net {
    cv::dnn::Net net;
    std::vector<cv::Mat> outputs;
};

const char *face_version(void)
{
    static const std::string version = cv::getVersionString();
    return version.c_str();
}

bool face_has_winograd(void)
{
    return RELEASE >= 407;
}

int face_newest_opset(void)
{
    return RELEASE >= 500 ? 24 : RELEASE >= 410 ? 20 : RELEASE >= 406 ? 16 : 12;
}

bool face_has_engines(void)
{
    return RELEASE >= 500;
}

bool face_has_all_types(void)
{
    return RELEASE >= 500;
}

bool face_takes(enum dtype type)
{
    return depth_of(type) >= 0;
}

void face_start(int threads)
{
    cv::setNumThreads(threads);
    cv::redirectError(no_print);
#if RELEASE >= 500
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_INFO);
    cv::utils::logging::internal::replaceWriteLogMessageEx(keep_log);
#else
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
#endif
}

int face_load(struct face_net **net, const void *data, size_t size, const char *path,
              const struct face_options *options, char first[FACE_MESSAGE_SIZE],
              char message[FACE_MESSAGE_SIZE])
{
    *net = nullptr;
    first[0] = '\0';
    int result = guarded(message, [&] {
        cv::dnn::Net read = read_net(data, size, path, options);
        if (read.empty())
            return say(message, empty_network().c_str());
        read.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
        read.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
        /* Both are on by default, and 5.0's new engine is disturbed by being asked at all. */
        if (!options->fusion)
            read.enableFusion(false);
#if RELEASE >= 407
        if (!options->winograd)
            read.enableWinograd(false);
#endif
        *net = new face_net{read, {}};
        return 0;
    });
#if RELEASE >= 500
    if (result < 0 && given_up && options->engine == FACE_ENGINE_DEFAULT)
        std::snprintf(first, FACE_MESSAGE_SIZE, "%s", logged.c_str());
#endif
    return result;
}

void face_free(struct face_net *net)
{
    delete net;
}

int face_set_input(struct face_net *net, const char *name, const struct tensor *tensor,
                   char message[FACE_MESSAGE_SIZE])
{
    return guarded(message, [&] {
        int dims[TENSOR_MAX_RANK];
        int rank = tensor->shape.rank;
        for (int i = 0; i < rank; i++) {
            if (tensor->shape.dims[i] > INT_MAX)
                return say(message, "unsupported: a dimension beyond 2^31");
            dims[i] = static_cast<int>(tensor->shape.dims[i]);
        }
        int depth = depth_of(tensor->type);
        if (depth < 0)
            return say(message, "unsupported: no matrix of this type");
#if RELEASE < 500
        /* No scalars: one element of one dimension, which the matrix calls 1 x 1. */
        if (rank == 0)
            dims[rank++] = 1;
#endif
        net->net.setInput(cv::Mat(rank, dims, CV_MAKETYPE(depth, 1), tensor->data), name);
        return 0;
    });
}

int face_forward(struct face_net *net, const char *const *names, size_t count,
                 char message[FACE_MESSAGE_SIZE])
{
    net->outputs.clear();
    return guarded(message, [&] {
        std::vector<cv::String> wanted(names, names + count);
        net->net.forward(net->outputs, wanted);
        return net->outputs.size() == count ? 0 : say(message, "another number of outputs than asked for");
    });
}

int face_output(struct face_net *net, size_t number, struct tensor *tensor, char message[FACE_MESSAGE_SIZE])
{
    return guarded(message, [&] {
        cv::Mat mat = net->outputs.at(number);
        if (!mat.isContinuous())
            mat = mat.clone();
        enum dtype type = type_of(mat.depth());
        if (type == DTYPE_NONE || mat.channels() != 1 || mat.dims > TENSOR_MAX_RANK)
            return say(message, "unsupported: an output of another kind than a plain tensor");
        struct shape shape = {};
        shape.rank = mat.dims;
        for (int i = 0; i < mat.dims; i++)
            shape.dims[i] = mat.size[i];
        struct error err = {};
        if (tensor_from_bytes(tensor, type, &shape, mat.data, mat.total() * mat.elemSize(), &err) < 0)
            return say(message, err.message);
        return 0;
    });
}

namespace
{

/* What the library's own drawing would say of the layers alone. */
std::string draw_layers(cv::dnn::Net &net)
{
    std::string text;
    for (const cv::String &name : net.getLayerNames())
        text += "\t\"" + name + "\" [label=\"" + name + "\\n" + net.getLayer(net.getLayerId(name))->type +
                "\\n\"]\n";
    return text;
}

} // namespace

char *face_draw(struct face_net *net)
{
    char message[FACE_MESSAGE_SIZE];
    std::string text;
    guarded(message, [&] {
        text = net->net.dump();
        return 0;
    });
    if (text.find("[label=") == std::string::npos)
        guarded(message, [&] {
            text = draw_layers(net->net);
            return 0;
        });
    return text.empty() ? nullptr : strdup(text.c_str());
}
