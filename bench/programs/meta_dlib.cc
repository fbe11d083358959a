/*
 * usage: meta_dlib CASES RESULTS
 * dlib's tensor functions called directly for the cases of bench/meta that are one of them forward and one
 * backward. Nothing of Assay's adapter is in here.
 */
#include "meta_file.h"

#include <dlib/cuda/tensor_tools.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

namespace
{

namespace tt = dlib::tt;
typedef dlib::resizable_tensor T;

/* Inputs and derivatives in, the result and gradients out; shapes as each function takes them. */
struct work {
    const meta_case *one;
    meta_result *result;

    T in(const meta_tensor &from, long long n, long long k, long long nr, long long nc) const
    {
        T tensor;
        tensor.set_size(n, k, nr, nc);
        std::memcpy(tensor.host_write_only(), from.data, from.size);
        return tensor;
    }
    T line(const meta_tensor &from) const
    {
        return in(from, static_cast<long long>(from.size / sizeof(float)), 1, 1, 1);
    }
    T image(const meta_tensor &from) const
    {
        return in(from, from.dims[0], from.dims[1], from.dims[2], from.dims[3]);
    }
    static meta_tensor bytes(const T &tensor)
    {
        meta_tensor made = {};
        made.size = tensor.size() * sizeof(float);
        made.data = std::malloc(made.size + 1);
        std::memcpy(made.data, tensor.host(), made.size);
        return made;
    }
    void out(const T &tensor) const
    {
        result->outputs[result->n_outputs++] = bytes(tensor);
    }
    void gradient(const T &tensor) const
    {
        result->gradients[result->n_gradients++] = bytes(tensor);
    }
};

/* A function of single elements, whose gradient takes its result or its source. */
template <typename Forward, typename Backward>
void elements(const work &w, Forward forward, Backward backward, bool from_source = false)
{
    T x = w.line(w.one->inputs[0]), g = w.line(w.one->upstream[0]), y, dx;
    y.copy_size(x);
    dx.copy_size(x);
    dx = 0;
    forward(y, x);
    backward(dx, from_source ? x : y, g);
    w.out(y);
    w.gradient(dx);
}

void pool(const work &w, bool max, bool global)
{
    const meta_tensor &in = w.one->inputs[0], &up = w.one->upstream[0];
    long long size = in.dims[2] * in.dims[3];
    T x = global ? w.in(in, in.dims[0], in.dims[1], 1, size) : w.image(in), g = w.image(up), y, dx;
    tt::pooling pooling;
    if (global && max)
        pooling.setup_max_pooling(1, static_cast<int>(size), 1, 1, 0, 0);
    else if (global)
        pooling.setup_avg_pooling(1, static_cast<int>(size), 1, 1, 0, 0);
    else
        pooling.setup_avg_pooling(2, 2, 1, 1, 0, 0);
    pooling(y, x);
    dx.copy_size(x);
    dx = 0;
    pooling.get_gradient(g, y, x, dx);
    w.out(y);
    w.gradient(dx);
}

void convolve(const work &w)
{
    T x = w.image(w.one->inputs[0]), f = w.image(w.one->inputs[1]), g = w.image(w.one->upstream[0]), y, dx,
      df;
    tt::tensor_conv conv;
    conv.setup(x, f, 2, 2, 0, 0);
    conv(false, y, x, f);
    dx.copy_size(x);
    df.copy_size(f);
    conv.get_gradient_for_data(false, g, f, dx);
    conv.get_gradient_for_filters(false, g, x, df);
    w.out(y);
    w.gradient(dx);
    w.gradient(df);
}

void softmax(const work &w)
{
    T x = w.in(w.one->inputs[0], 2, 3, 4, 1), g = w.in(w.one->upstream[0], 2, 3, 4, 1), y, dx;
    y.copy_size(x);
    dx.copy_size(x);
    dx = 0;
    tt::softmax(y, x);
    tt::softmax_gradient(dx, y, g);
    w.out(y);
    w.gradient(dx);
}

void matmul(const work &w)
{
    T a = w.in(w.one->inputs[0], 6, 4, 1, 1), b = w.in(w.one->inputs[1], 4, 5, 1, 1);
    T g = w.in(w.one->upstream[0], 6, 5, 1, 1), y, da, db;
    y.set_size(6, 5);
    da.copy_size(a);
    db.copy_size(b);
    tt::gemm(0, y, 1, a, false, b, false);
    tt::gemm(0, da, 1, g, false, b, true);
    tt::gemm(0, db, 1, a, true, g, false);
    w.out(y);
    w.gradient(da);
    w.gradient(db);
}

/* [2, 3, 4] with one factor for each of the 3. */
void multiply(const work &w)
{
    T x = w.in(w.one->inputs[0], 2, 3, 4, 1), b = w.in(w.one->inputs[1], 1, 3, 1, 1);
    T g = w.in(w.one->upstream[0], 2, 3, 4, 1), y, dx, db;
    y.copy_size(x);
    dx.copy_size(x);
    db.copy_size(b);
    tt::multiply_conv(false, y, x, b);
    tt::multiply_conv(false, dx, g, b);
    tt::multiply_conv(false, db, g, x);
    w.out(y);
    w.gradient(dx);
    w.gradient(db);
}

void add(const work &w)
{
    T y = w.in(w.one->inputs[0], 2, 3, 4, 1), b = w.in(w.one->inputs[1], 1, 3, 1, 1);
    T g = w.in(w.one->upstream[0], 2, 3, 4, 1), db;
    db.copy_size(b);
    tt::add(1, y, 1, b);
    tt::assign_conv_bias_gradient(db, g);
    w.out(y);
    w.gradient(g);
    w.gradient(db);
}

void prelu(const work &w)
{
    T x = w.line(w.one->inputs[0]), s = w.line(w.one->inputs[1]), g = w.line(w.one->upstream[0]), y, dx, ds;
    y.copy_size(x);
    dx.copy_size(x);
    dx = 0;
    ds.copy_size(s);
    tt::prelu(y, x, s);
    tt::prelu_gradient(dx, x, g, s, ds);
    w.out(y);
    w.gradient(dx);
    w.gradient(ds);
}

typedef std::function<void(const work &)> call;

const std::map<std::string, call> calls = {
    {"Relu", [](const work &w) { elements(w, tt::relu, tt::relu_gradient); }},
    {"Sigmoid", [](const work &w) { elements(w, tt::sigmoid, tt::sigmoid_gradient); }},
    {"Tanh", [](const work &w) { elements(w, tt::tanh, tt::tanh_gradient); }},
    {"Mish", [](const work &w) { elements(w, tt::mish, tt::mish_gradient, true); }},
    {"Exp",
     [](const work &w) {
         elements(w, tt::exp, [](T &dx, const T &y, const T &g) { tt::multiply(false, dx, g, y); });
     }},
    {"LeakyRelu",
     [](const work &w) {
         elements(
             w, [](T &y, const T &x) { tt::leaky_relu(y, x, 0.1F); },
             [](T &dx, const T &y, const T &g) { tt::leaky_relu_gradient(dx, y, g, 0.1F); });
     }},
    {"Elu",
     [](const work &w) {
         elements(
             w, [](T &y, const T &x) { tt::elu(y, x, 2); },
             [](T &dx, const T &y, const T &g) { tt::elu_gradient(dx, y, g, 2); });
     }},
    {"Clip",
     [](const work &w) {
         elements(
             w, [](T &y, const T &x) { tt::clipped_relu(y, x, 0.8F); },
             [](T &dx, const T &y, const T &g) { tt::clipped_relu_gradient(dx, y, g, 0.8F); });
     }},
    {"PReluOne", prelu},
    {"Softmax", softmax},
    {"AveragePool", [](const work &w) { pool(w, false, false); }},
    {"GlobalAveragePool", [](const work &w) { pool(w, false, true); }},
    {"GlobalMaxPool", [](const work &w) { pool(w, true, true); }},
    {"ConvStrides", convolve},
    {"MatMul", matmul},
    {"Mul", multiply},
    {"Add", add},
};

void run(const meta_case *one, meta_result *result)
{
    auto found = calls.find(one->name);
    if (found != calls.end())
        found->second(work{one, result});
}

} // namespace

int main(int argc, char **argv)
{
    return meta_main(argc, argv, run);
}
