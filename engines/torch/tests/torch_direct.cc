/*
 * usage: torch_direct CASE FOLDER
 * One official case on ATen with nothing in between: output K's bytes go to FOLDER/output_K.raw. The call
 * that a case stands for is in the table, with the case's attributes.
 */
#include "direct.hh"

#include <functional>
#include <map>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace
{

typedef std::vector<at::Tensor> tensors;
typedef std::function<tensors(const tensors &)> call;

const std::map<std::string, call> calls = {
    {"test_abs", [](const tensors &x) { return tensors{at::abs(x[0])}; }},
    {"test_acos", [](const tensors &x) { return tensors{at::acos(x[0])}; }},
    {"test_add_bcast", [](const tensors &x) { return tensors{at::add(x[0], x[1])}; }},
    {"test_argmax_keepdims_random", [](const tensors &x) { return tensors{at::argmax(x[0], 1, true)}; }},
    {"test_asinh", [](const tensors &x) { return tensors{at::asinh(x[0])}; }},
    {"test_averagepool_2d_default",
     [](const tensors &x) {
         return tensors{at::avg_pool2d(x[0], {2, 2}, {1, 1})};
     }},
    {"test_averagepool_2d_strides",
     [](const tensors &x) {
         return tensors{at::avg_pool2d(x[0], {5, 5}, {3, 3})};
     }},
    {"test_basic_conv_with_padding",
     [](const tensors &x) {
         return tensors{at::conv2d(x[0], x[1], {}, {1, 1}, {1, 1})};
     }},
    {"test_batchnorm_example",
     [](const tensors &x) {
         return tensors{at::batch_norm(x[0], x[1], x[2], x[3], x[4], false, 0, 1e-5F, false)};
     }},
    {"test_conv_with_strides_padding",
     [](const tensors &x) {
         return tensors{at::conv2d(x[0], x[1], {}, {2, 2}, {1, 1})};
     }},
    {"test_convtranspose_3d", [](const tensors &x) { return tensors{at::conv_transpose3d(x[0], x[1])}; }},
    {"test_cos", [](const tensors &x) { return tensors{at::cos(x[0])}; }},
    {"test_div", [](const tensors &x) { return tensors{at::div(x[0], x[1])}; }},
    {"test_einsum_batch_matmul",
     [](const tensors &x) {
         return tensors{at::einsum("bij, bjk -> bik", {x[0], x[1]})};
     }},
    {"test_elu", [](const tensors &x) { return tensors{at::elu(x[0], 2.0F)}; }},
    {"test_erf", [](const tensors &x) { return tensors{at::erf(x[0])}; }},
    {"test_exp", [](const tensors &x) { return tensors{at::exp(x[0])}; }},
    {"test_gather_elements_1", [](const tensors &x) { return tensors{at::gather(x[0], 0, x[1])}; }},
    {"test_gemm_all_attributes",
     [](const tensors &x) { return tensors{at::addmm(x[2], x[0].t(), x[1].t(), 0.35F, 0.25F)}; }},
    {"test_globalaveragepool",
     [](const tensors &x) {
         return tensors{at::adaptive_avg_pool2d(x[0], {1, 1})};
     }},
    {"test_hardswish", [](const tensors &x) { return tensors{at::hardswish(x[0])}; }},
    {"test_instancenorm_epsilon",
     [](const tensors &x) {
         return tensors{at::instance_norm(x[0], x[1], x[2], {}, {}, true, 0, 1e-2F, false)};
     }},
    {"test_layer_normalization_2d_axis1",
     [](const tensors &x) {
         auto all = at::native_layer_norm(x[0], {x[0].size(1)}, x[1], x[2], 1e-5F);
         return tensors{std::get<0>(all), std::get<1>(all), std::get<2>(all)};
     }},
    {"test_leakyrelu", [](const tensors &x) { return tensors{at::leaky_relu(x[0], 0.1F)}; }},
    {"test_log", [](const tensors &x) { return tensors{at::log(x[0])}; }},
    {"test_logsoftmax_axis_1", [](const tensors &x) { return tensors{at::log_softmax(x[0], 1)}; }},
    {"test_lstm_defaults",
     [](const tensors &x) {
         /* ONNX's gates are input, output, forget, cell; ATen's input, forget, cell, output. */
         auto gates = [](const at::Tensor &w) {
             tensors g = w[0].chunk(4);
             return at::cat({g[0], g[2], g[3], g[1]});
         };
         at::Tensor zero = at::zeros({1, x[0].size(1), x[2].size(2)});
         auto all =
             at::lstm(x[0], {zero, zero}, {gates(x[1]), gates(x[2])}, false, 1, 0, false, false, false);
         return tensors{std::get<1>(all)};
     }},
    {"test_matmul_3d", [](const tensors &x) { return tensors{at::matmul(x[0], x[1])}; }},
    {"test_maxpool_3d_default",
     [](const tensors &x) {
         return tensors{at::max_pool3d(x[0], {2, 2, 2}, {1, 1, 1})};
     }},
    {"test_mul", [](const tensors &x) { return tensors{at::mul(x[0], x[1])}; }},
    {"test_pow", [](const tensors &x) { return tensors{at::pow(x[0], x[1])}; }},
    {"test_reduce_log_sum_exp_keepdims_random",
     [](const tensors &x) { return tensors{at::logsumexp(x[0], {1}, true)}; }},
    {"test_reduce_sum_keepdims_random", [](const tensors &x) { return tensors{at::sum(x[0], {1}, true)}; }},
    {"test_resize_upsample_scales_cubic",
     [](const tensors &x) {
         return tensors{at::upsample_bicubic2d(x[0], {8, 8}, false, 2., 2.)};
     }},
    {"test_sigmoid", [](const tensors &x) { return tensors{at::sigmoid(x[0])}; }},
    {"test_softmax_axis_1", [](const tensors &x) { return tensors{at::softmax(x[0], 1)}; }},
    {"test_softmax_large_number", [](const tensors &x) { return tensors{at::softmax(x[0], 1)}; }},
    {"test_tanh", [](const tensors &x) { return tensors{at::tanh(x[0])}; }},
    {"test_transpose_all_permutations_3",
     [](const tensors &x) {
         return tensors{x[0].permute({1, 2, 0})};
     }},
};

at::Tensor read_input(const direct::bytes &file)
{
    direct::proto proto = direct::read_tensor(file);
    at::ScalarType type = proto.type == 1 ? at::kFloat : proto.type == 11 ? at::kDouble : at::kLong;
    std::vector<int64_t> dims(proto.dims.begin(), proto.dims.end());
    at::Tensor tensor = at::empty(dims, type);
    if ((proto.type != 1 && proto.type != 7 && proto.type != 11) || proto.raw.size != tensor.nbytes()) {
        std::fprintf(stderr, "torch_direct: only float32, float64 and int64 in raw_data\n");
        std::exit(2);
    }
    if (proto.raw.size)
        std::memcpy(tensor.data_ptr(), proto.raw.data, proto.raw.size);
    return tensor;
}

int answer(const std::string &folder, const char *out)
{
    auto found = calls.find(folder.substr(folder.rfind('/') + 1));
    if (found == calls.end()) {
        std::fprintf(stderr, "torch_direct: no call for %s\n", folder.c_str());
        return 2;
    }
    tensors inputs;
    for (size_t i = 0;; i++) {
        direct::bytes file =
            direct::read_file(folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb");
        if (file.empty())
            break;
        inputs.push_back(read_input(file));
    }
    tensors outputs = found->second(inputs);
    for (size_t i = 0; i < outputs.size(); i++) {
        at::Tensor dense = outputs[i].contiguous();
        direct::write_output(out, i, dense.data_ptr(), dense.nbytes());
    }
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 3 || argc % 2 == 0) {
        std::fprintf(stderr, "usage: torch_direct CASE FOLDER [CASE FOLDER]...\n");
        return 2;
    }
    at::set_num_threads(1);
    int result = 0;
    for (int i = 1; i < argc && result == 0; i += 2)
        result = answer(argv[i], argv[i + 1]);
    return result;
}
