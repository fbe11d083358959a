/*
 * usage: meta_torch CASES RESULTS
 * libtorch called directly for the cases of bench/meta: one line a case, each the call of ATen that a user
 * would write, and torch::autograd::grad behind it. Nothing of Assay's adapter is in here.
 */
#include "meta_file.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

namespace
{

typedef at::Tensor T;
typedef std::vector<T> X;
typedef std::function<X(const X &)> call;

T numbers(std::vector<int64_t> values, std::vector<int64_t> dims)
{
    return at::tensor(values, at::kLong).reshape(dims);
}

T floats(std::vector<float> values)
{
    return at::tensor(values, at::kFloat);
}

/* ONNX's gates in ATen's order: one direction of W or R, or half of B. */
T gates(const T &weights, std::vector<int64_t> order, int64_t from = 0)
{
    int64_t hidden = 3;
    X parts;
    for (int64_t gate : order)
        parts.push_back(weights[0].narrow(0, (from + gate) * hidden, hidden));
    return at::cat(parts);
}

X layer(const X &x, std::vector<int64_t> order)
{
    int64_t n = static_cast<int64_t>(order.size());
    return {gates(x[1], order), gates(x[2], order), gates(x[3], order), gates(x[3], order, n)};
}

T steps(const T &y)
{
    return y.reshape({3, 2, 1, 3}).permute({0, 2, 1, 3});
}

T start()
{
    return at::zeros({1, 2, 3});
}

T local_response(const T &x)
{
    T squares = at::constant_pad_nd((x * x).reshape({1, 1, 6, 9}), {0, 0, 1, 1}, 0);
    T mean = at::avg_pool2d(squares, {3, 1}, {1, 1});
    return x / at::pow(mean * double(0.02F) + 1.0, 0.75).reshape({1, 6, 3, 3});
}

const double leaky = 0.1F, small = 0.2F;

#define ONE(name, expression)                          \
    {                                                  \
        name, [](const X &x) { return X{expression}; } \
    }

const std::map<std::string, call> calls = {
    ONE("Abs", at::abs(x[0])),
    ONE("Acos", at::acos(x[0])),
    ONE("Acosh", at::acosh(x[0])),
    ONE("Add", at::add(x[0], x[1])),
    ONE("And", at::logical_and(x[0], x[1])),
    ONE("ArgMax", at::argmax(x[0], 1, true)),
    ONE("ArgMin", at::argmin(x[0], 1, true)),
    ONE("Asin", at::asin(x[0])),
    ONE("Asinh", at::asinh(x[0])),
    ONE("Atan", at::atan(x[0])),
    ONE("Atanh", at::atanh(x[0])),
    ONE("AveragePool", (at::avg_pool2d(x[0], {2, 2}, {1, 1}))),
    ONE("BatchNormalization", at::batch_norm(x[0], x[1], x[2], floats({0.5F, -1, 2}), floats({1.5F, 0.5F, 2}),
                                             false, 0, 1e-5F, false)),
    ONE("Cast", x[0].to(at::kDouble)),
    ONE("CastBFloat16", x[0].to(at::kBFloat16)),
    ONE("Ceil", at::ceil(x[0])),
    ONE("Celu", at::celu(x[0], 1)),
    ONE("Clip", at::clamp(x[0], at::scalar_tensor(0.0F), at::scalar_tensor(0.8F))),
    ONE("Concat", at::cat({x[0], x[1]}, 1)),
    ONE("Conv", (at::conv2d(x[0], x[1], x[2], {1, 1}, {1, 1}))),
    ONE("ConvGroups", (at::convolution(x[0], x[1], {}, {2}, {0}, {1}, false, {0}, 2))),
    ONE("ConvStrides", (at::conv2d(x[0], x[1], {}, {2, 2}))),
    ONE("ConvTranspose", (at::conv_transpose2d(x[0], x[1], x[2], {2, 2}))),
    ONE("Cos", at::cos(x[0])),
    ONE("Cosh", at::cosh(x[0])),
    ONE("CumSum", at::cumsum(x[0], 1)),
    ONE("DepthToSpace",
        (x[0].reshape({1, 2, 2, 2, 2, 3}).permute({0, 3, 4, 1, 5, 2}).reshape({1, 2, 4, 6}))),
    ONE("Div", at::div(x[0], x[1])),
    ONE("Einsum", (at::einsum("bij,bjk->bik", {x[0], x[1]}))),
    ONE("Elu", at::elu(x[0], 2)),
    ONE("Equal", at::eq(x[0], x[1])),
    ONE("Erf", at::erf(x[0])),
    ONE("Exp", at::exp(x[0])),
    ONE("Expand", (x[0].expand({2, 3, 4}))),
    ONE("Flatten", (at::reshape(x[0], {2, 12}))),
    ONE("Floor", at::floor(x[0])),
    ONE("GRU", steps(std::get<0>(
                   at::gru(x[0], start(), layer(x, {1, 0, 2}), true, 1, 0, false, false, false)))),
    ONE("Gather", at::index_select(x[0], 0, numbers({3, 1}, {2}))),
    ONE("GatherElements", (at::gather(x[0], 0, numbers({0, 2, 1, 0, 1, 1, 2, 2}, {2, 4})))),
    ONE("GatherND", at::index(x[0], {numbers({2, 0}, {2})})),
    ONE("Gelu", at::gelu(x[0], "none")),
    ONE("Gemm", at::addmm(x[2], x[0].t(), x[1].t(), 0.25, 0.5)),
    ONE("GemmBias", at::addmm(x[2], x[0], x[1])),
    ONE("GlobalAveragePool", (at::adaptive_avg_pool2d(x[0], {1, 1}))),
    ONE("GlobalMaxPool", (at::amax(x[0], {2, 3}, true))),
    ONE("Greater", at::gt(x[0], x[1])),
    ONE("GreaterOrEqual", at::ge(x[0], x[1])),
    ONE("GridSample", at::grid_sampler(x[0], x[1], 0, 0, false)),
    ONE("HardSigmoid", at::clamp(x[0] * double(small) + 0.5, 0, 1)),
    ONE("HardSwish", at::hardswish(x[0])),
    ONE("Hardmax", at::scatter(at::zeros_like(x[0]), -1, at::argmax(x[0], -1, true), 1)),
    ONE("Identity", x[0]),
    ONE("InstanceNormalization", at::instance_norm(x[0], x[1], x[2], {}, {}, true, 0, 1e-5F, false)),
    ONE("IsInf", at::isinf(x[0])),
    ONE("IsNaN", at::isnan(x[0])),
    ONE("LRN", local_response(x[0])),
    ONE("LSTM", steps(std::get<0>(at::lstm(x[0], {start(), start()}, layer(x, {0, 2, 3, 1}), true, 1, 0,
                                           false, false, false)))),
    ONE("LayerNormalization", at::layer_norm(x[0], {8}, x[1], x[2], 1e-5F, false)),
    ONE("LeakyRelu", at::leaky_relu(x[0], leaky)),
    ONE("Less", at::lt(x[0], x[1])),
    ONE("LessOrEqual", at::le(x[0], x[1])),
    ONE("Log", at::log(x[0])),
    ONE("LogSoftmax", at::log_softmax(x[0], 1)),
    ONE("LpNormalization", x[0] / at::norm(x[0], 2, {1}, true)),
    ONE("MatMul", at::matmul(x[0], x[1])),
    ONE("MatMulStack", at::matmul(x[0], x[1])),
    ONE("MatMulVector", at::matmul(x[0], x[1])),
    ONE("Max", at::maximum(x[0], x[1])),
    ONE("MaxPool", (at::max_pool2d(at::constant_pad_nd(x[0], {1, 0, 1, 0}, -INFINITY), {3, 3}, {2, 2}))),
    ONE("Mean", at::add(x[0], x[1]) / 2.0),
    ONE("Min", at::minimum(x[0], x[1])),
    ONE("Mish", at::mish(x[0])),
    ONE("Mod", at::fmod(x[0], x[1])),
    ONE("Mul", at::mul(x[0], x[1])),
    ONE("MulFirst", at::mul(x[0], x[1])),
    ONE("Neg", at::neg(x[0])),
    ONE("Not", at::logical_not(x[0])),
    ONE("Or", at::logical_or(x[0], x[1])),
    ONE("PRelu", at::where(x[0] == 0, x[0], at::prelu(x[0], x[1].reshape({3})))),
    ONE("PReluOne", at::where(x[0] == 0, x[0], at::prelu(x[0], x[1]))),
    ONE("Pad", (at::constant_pad_nd(x[0], {1, 2, 0, 1}, 0))),
    ONE("Pow", at::pow(x[0], at::scalar_tensor(2.5F))),
    ONE("PowBoth", at::pow(x[0], x[1])),
    ONE("RNN",
        steps(std::get<0>(at::rnn_tanh(x[0], start(), layer(x, {0}), true, 1, 0, false, false, false)))),
    ONE("Reciprocal", at::reciprocal(x[0])),
    ONE("ReduceL1", at::norm(x[0], 1, {1}, true)),
    ONE("ReduceL2", at::norm(x[0], 2, {1}, true)),
    ONE("ReduceLogSum", at::log(at::sum(x[0], {1}, true))),
    ONE("ReduceLogSumExp", at::logsumexp(x[0], {1}, true)),
    ONE("ReduceMax", at::amax(x[0], {1}, true)),
    ONE("ReduceMean", at::mean(x[0], {1}, false)),
    ONE("ReduceMin", at::amin(x[0], {1}, true)),
    ONE("ReduceProd", at::prod(x[0], 1, true)),
    ONE("ReduceSum", at::sum(x[0], {1}, true)),
    ONE("ReduceSumSquare", at::sum(x[0] * x[0], {1}, true)),
    ONE("Relu", at::relu(x[0])),
    ONE("Reshape", (at::reshape(x[0], {6, 4}))),
    ONE("ResizeLinear", (at::upsample_bilinear2d(x[0], {6, 6}, false))),
    ONE("ResizeNearest", (at::upsample_nearest2d(x[0], {6, 6}))),
    ONE("Round", at::round(x[0])),
    ONE("ScatterElements", (at::scatter(x[0], 0, numbers({0, 1, 2, 2, 0, 1}, {2, 3}), x[1]))),
    ONE("ScatterND", at::index_put(x[0], {numbers({3, 1}, {2})}, x[1])),
    ONE("Selu", at::selu(x[0])),
    ONE("Shrink", at::where(x[0] < -double(0.4F), x[0] + double(small),
                            at::where(x[0] > double(0.4F), x[0] - double(small), at::zeros_like(x[0])))),
    ONE("Sigmoid", at::sigmoid(x[0])),
    ONE("Sign", at::sign(x[0])),
    ONE("Sin", at::sin(x[0])),
    ONE("Sinh", at::sinh(x[0])),
    ONE("Slice", at::slice(x[0], 0, 1, 4, 2)),
    ONE("Softmax", at::softmax(x[0], 1)),
    ONE("Softplus", at::softplus(x[0])),
    ONE("Softsign", x[0] / (at::abs(x[0]) + 1)),
    ONE("SpaceToDepth",
        (x[0].reshape({1, 2, 2, 2, 3, 2}).permute({0, 3, 5, 1, 2, 4}).reshape({1, 8, 2, 3}))),
    {"Split", [](const X &x) { return at::split_with_sizes(x[0], {2, 4}, 1); }},
    ONE("Sqrt", at::sqrt(x[0])),
    ONE("Squeeze", at::squeeze(x[0], 1)),
    ONE("Sub", at::sub(x[0], x[1])),
    ONE("Sum", x[0] + x[1] + x[2]),
    ONE("Tan", at::tan(x[0])),
    ONE("Tanh", at::tanh(x[0])),
    ONE("ThresholdedRelu", at::threshold(x[0], double(0.3F), 0)),
    ONE("Tile", (x[0].repeat({2, 3}))),
    {"TopK",
     [](const X &x) {
         auto both = at::topk(x[0], 3);
         return X{std::get<0>(both), std::get<1>(both)};
     }},
    ONE("Transpose", (x[0].permute({2, 0, 1}))),
    ONE("Trilu", at::triu(x[0])),
    ONE("Unsqueeze", at::unsqueeze(x[0], 1)),
    ONE("Where", at::where(x[0], x[1], x[2])),
    ONE("Xor", at::logical_xor(x[0], x[1])),
};

T taken(const meta_tensor &from)
{
    at::ScalarType type = from.type == META_FLOAT    ? at::kFloat
                          : from.type == META_DOUBLE ? at::kDouble
                          : from.type == META_INT64  ? at::kLong
                          : from.type == META_BOOL   ? at::kBool
                                                     : at::kBFloat16;
    T tensor = at::empty(at::IntArrayRef(from.dims, from.rank), type);
    std::memcpy(tensor.data_ptr(), from.data, from.size);
    return tensor;
}

meta_tensor given(const T &tensor)
{
    T dense = tensor.detach().contiguous();
    meta_tensor to = {};
    to.size = dense.nbytes();
    to.data = std::malloc(to.size + 1);
    std::memcpy(to.data, dense.data_ptr(), to.size);
    return to;
}

void run(const meta_case *one, meta_result *result)
{
    auto found = calls.find(one->name);
    if (found == calls.end())
        return;
    X inputs, leaves, outputs, upstream;
    for (uint32_t i = 0; i < one->n_inputs; i++) {
        inputs.push_back(taken(one->inputs[i]));
        if (!one->n_upstream || !inputs.back().is_floating_point())
            continue;
        inputs.back().set_requires_grad(true);
        leaves.push_back(inputs.back());
    }
    X made = found->second(inputs);
    for (const T &tensor : made) {
        result->outputs[result->n_outputs++] = given(tensor);
        if (tensor.is_floating_point() && tensor.requires_grad()) {
            upstream.push_back(taken(one->upstream[outputs.size()]));
            outputs.push_back(tensor);
        }
    }
    X gradients(leaves.size());
    if (!outputs.empty())
        gradients = torch::autograd::grad(outputs, leaves, upstream, false, false, true);
    for (size_t i = 0; i < leaves.size(); i++)
        result->gradients[result->n_gradients++] =
            given(gradients[i].defined() ? gradients[i] : at::zeros_like(leaves[i]));
}

} // namespace

int main(int argc, char **argv)
{
    at::set_num_threads(1);
    return meta_main(argc, argv, run);
}
