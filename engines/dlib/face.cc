#include "face.h"

#include <dlib/cuda/tensor_tools.h>
#include <dlib/revision.h>

#include <cstdio>
#include <cstring>
#include <exception>

namespace tt = dlib::tt;
using dlib::resizable_tensor;

namespace
{

void take(resizable_tensor &to, const face_array &from)
{
    to.set_size(from.n, from.k, from.nr, from.nc);
    std::memcpy(to.host_write_only(), from.data, to.size() * sizeof(float));
}

/* False when dlib made something of another size. */
bool give(const face_array &to, const resizable_tensor &from)
{
    if (from.num_samples() != to.n || from.k() != to.k || from.nr() != to.nr || from.nc() != to.nc)
        return false;
    std::memcpy(to.data, from.host(), from.size() * sizeof(float));
    return true;
}

/*
 * Calls that changed between releases, newer form first: the one that compiles is taken. A convolution with
 * biases came to be asked whether a Relu follows (19.24.6), and reorg whether it adds to what is there (20).
 */
template <typename conv_type>
auto convolve_biased(conv_type &conv, resizable_tensor &out, const resizable_tensor *in, int)
    -> decltype(conv(false, out, in[0], in[1], in[2], false))
{
    conv(false, out, in[0], in[1], in[2], false);
}

template <typename conv_type>
void convolve_biased(conv_type &conv, resizable_tensor &out, const resizable_tensor *in, long)
{
    conv(false, out, in[0], in[1], in[2]);
}

template <typename tensor_type>
auto reorg(tensor_type &out, int block, const tensor_type &in, int)
    -> decltype(tt::reorg(false, out, block, block, in))
{
    tt::reorg(false, out, block, block, in);
}

template <typename tensor_type> void reorg(tensor_type &out, int block, const tensor_type &in, long)
{
    tt::reorg(out, block, block, in);
}

template <typename tensor_type>
auto reorg_back(tensor_type &out, int block, const tensor_type &in, int)
    -> decltype(tt::reorg_gradient(false, out, block, block, in))
{
    tt::reorg_gradient(false, out, block, block, in);
}

template <typename tensor_type> void reorg_back(tensor_type &out, int block, const tensor_type &in, long)
{
    out = 0; /* it adds */
    tt::reorg_gradient(out, block, block, in);
}

void convolve(const face_call &call, resizable_tensor &out, const resizable_tensor *in)
{
    const int *w = call.window;
    tt::tensor_conv conv;
    if (call.op == FACE_CONV_TRANSPOSED) {
        conv.setup(out, in[1], w[0], w[1], w[2], w[3]);
        conv.get_gradient_for_data(false, in[0], in[1], out);
        return;
    }
    conv.setup(in[0], in[1], w[0], w[1], w[2], w[3]);
    if (call.n_inputs > 2)
        convolve_biased(conv, out, in, 0);
    else
        conv(false, out, in[0], in[1]);
}

void filters_gradient(const face_call &call, resizable_tensor &out, const resizable_tensor *in)
{
    const int *w = call.window;
    tt::tensor_conv conv;
    conv.setup(in[1], out, w[0], w[1], w[2], w[3]);
    conv.get_gradient_for_filters(false, in[0], in[1], out);
}

void set_up(tt::pooling &pooling, bool max, const int *w)
{
    if (max)
        pooling.setup_max_pooling(w[0], w[1], w[2], w[3], w[4], w[5]);
    else
        pooling.setup_avg_pooling(w[0], w[1], w[2], w[3], w[4], w[5]);
}

void pool(const face_call &call, resizable_tensor &out, const resizable_tensor &in)
{
    tt::pooling pooling;
    set_up(pooling, call.op == FACE_MAX_POOL, call.window);
    pooling(out, in);
}

void pool_gradient(const face_call &call, resizable_tensor &out, const resizable_tensor *in)
{
    tt::pooling pooling;
    set_up(pooling, call.op == FACE_MAX_POOL_GRADIENT, call.window);
    pooling.get_gradient(in[0], in[1], in[2], out);
}

void prelu_gradient(const face_call &call, resizable_tensor &out, const resizable_tensor *in)
{
    resizable_tensor other;
    if (call.op == FACE_PRELU_GRADIENT) {
        other.copy_size(in[2]);
        tt::prelu_gradient(out, in[1], in[0], in[2], other);
    } else {
        other.copy_size(in[1]);
        other = 0;
        tt::prelu_gradient(other, in[1], in[0], in[2], out);
    }
}

/* Most of the library's gradients add to what is there. */
void differentiate(const face_call &call, resizable_tensor &out, const resizable_tensor *in)
{
    const float a = call.numbers[0];
    out = 0;
    switch (call.op) {
    case FACE_RELU_GRADIENT:
        return tt::relu_gradient(out, in[1], in[0]);
    case FACE_SIGMOID_GRADIENT:
        return tt::sigmoid_gradient(out, in[1], in[0]);
    case FACE_TANH_GRADIENT:
        return tt::tanh_gradient(out, in[1], in[0]);
    case FACE_MISH_GRADIENT:
        return tt::mish_gradient(out, in[1], in[0]);
    case FACE_LEAKY_RELU_GRADIENT:
        return tt::leaky_relu_gradient(out, in[1], in[0], a);
    case FACE_ELU_GRADIENT:
        return tt::elu_gradient(out, in[1], in[0], a);
    case FACE_CLIPPED_RELU_GRADIENT:
        return tt::clipped_relu_gradient(out, in[1], in[0], a);
    case FACE_SOFTMAX_GRADIENT:
        return tt::softmax_gradient(out, in[1], in[0]);
    case FACE_PRELU_GRADIENT:
    case FACE_PRELU_SLOPE_GRADIENT:
        return prelu_gradient(call, out, in);
    case FACE_BIAS_GRADIENT:
        return tt::assign_conv_bias_gradient(out, in[0]);
    case FACE_CONV_FILTERS_GRADIENT:
        return filters_gradient(call, out, in);
    default:
        return pool_gradient(call, out, in);
    }
}

void compute(const face_call &call, resizable_tensor &out, const resizable_tensor *in)
{
    const float a = call.numbers[0], b = call.numbers[1];
    const int *w = call.window;
    switch (call.op) {
    case FACE_RELU:
        return tt::relu(out, in[0]);
    case FACE_SIGMOID:
        return tt::sigmoid(out, in[0]);
    case FACE_TANH:
        return tt::tanh(out, in[0]);
    case FACE_EXP:
        return tt::exp(out, in[0]);
    case FACE_LOG:
        return tt::log(out, in[0]);
    case FACE_MISH:
        return tt::mish(out, in[0]);
    case FACE_LEAKY_RELU:
        return tt::leaky_relu(out, in[0], a);
    case FACE_ELU:
        return tt::elu(out, in[0], a);
    case FACE_CLIPPED_RELU:
        return tt::clipped_relu(out, in[0], a);
    case FACE_PRELU:
        return tt::prelu(out, in[0], in[1]);
    case FACE_AFFINE:
        return tt::affine_transform(out, in[0], a, b);
    case FACE_BLEND:
        return tt::affine_transform(out, in[0], in[1], a, b);
    case FACE_ADD_TO:
        return tt::add(1, out, a, in[0]);
    case FACE_MULTIPLY:
        return tt::multiply(false, out, in[0], in[1]);
    case FACE_MULTIPLY_CONV:
        return tt::multiply_conv(false, out, in[0], in[1]);
    case FACE_SCALE_CHANNELS:
        return tt::scale_channels(false, out, in[0], in[1]);
    case FACE_SOFTMAX:
        return tt::softmax(out, in[0]);
    case FACE_GEMM:
        return tt::gemm(b, out, a, in[0], w[0] != 0, in[1], w[1] != 0);
    case FACE_CONV:
    case FACE_CONV_TRANSPOSED:
        return convolve(call, out, in);
    case FACE_MAX_POOL:
    case FACE_AVERAGE_POOL:
        return pool(call, out, in[0]);
    case FACE_BATCH_NORMALIZE:
        return tt::batch_normalize_conv_inference(a, out, in[0], in[1], in[2], in[3], in[4]);
    case FACE_REORG:
        return reorg(out, w[0], in[0], 0);
    case FACE_REORG_BACK:
        return reorg_back(out, w[0], in[0], 0);
    default:
        return differentiate(call, out, in);
    }
}

} // namespace

int face_run(face_call *call)
try {
    resizable_tensor in[FACE_INPUTS], out;
    for (int i = 0; i < call->n_inputs; i++)
        take(in[i], call->inputs[i]);
    take(out, call->out);
    compute(*call, out, in);
    if (give(call->out, out))
        return 0;
    std::snprintf(call->message, sizeof call->message, "the result is [%lld,%lld,%lld,%lld]",
                  out.num_samples(), out.k(), out.nr(), out.nc());
    return -1;
} catch (const std::exception &e) {
    std::snprintf(call->message, sizeof call->message, "%s", e.what());
    return -1;
}

#define FACE_TEXT(number) #number
#define FACE_VERSION(major, minor, patch) FACE_TEXT(major) "." FACE_TEXT(minor) "." FACE_TEXT(patch)

const char *face_version(void)
{
    return FACE_VERSION(DLIB_MAJOR_VERSION, DLIB_MINOR_VERSION, DLIB_PATCH_VERSION);
}
