#include "torch_face.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/passes/tensorexpr_fuser.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#if __has_include(<torch/version.h>)
#include <torch/version.h>
#define RELEASE (TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR)
#else /* before 1.8 */
#define TORCH_VERSION "1.7"
#define RELEASE 107
#endif
#if RELEASE >= 110
#include <torch/csrc/jit/tensorexpr/kernel.h>
#endif
#if RELEASE < 109
#include <torch/csrc/jit/passes/freeze_module.h>
#endif

/* In every release's library, in no installed header. */
namespace torch
{
namespace jit
{
void overrideCanFuseOnCPU(bool value);
}
} // namespace torch

namespace
{

struct scalar {
    enum dtype type;
    c10::ScalarType scalar;
};

const scalar scalars[] = {
    {DTYPE_FLOAT, c10::kFloat}, {DTYPE_DOUBLE, c10::kDouble}, {DTYPE_FLOAT16, c10::kHalf},
    {DTYPE_BOOL, c10::kBool},   {DTYPE_UINT8, c10::kByte},    {DTYPE_BFLOAT16, c10::kBFloat16},
    {DTYPE_INT8, c10::kChar},   {DTYPE_INT16, c10::kShort},   {DTYPE_INT32, c10::kInt},
    {DTYPE_INT64, c10::kLong},
};

enum dtype type_of(c10::ScalarType scalar)
{
    for (const struct scalar &row : scalars)
        if (row.scalar == scalar)
            return row.type;
    return DTYPE_NONE;
}

int say(char message[FACE_MESSAGE_SIZE], const char *text)
{
    std::snprintf(message, FACE_MESSAGE_SIZE, "%s", text);
    return -1;
}

/* TorchScript puts its traceback before the error itself. */
const char *after_traceback(const char *text)
{
    static const char mark[] = "RuntimeError: ";
    const char *found = std::strstr(text, mark);
    return found ? found + sizeof mark - 1 : text;
}

/* Runs the body and turns whatever it throws into a message. */
template <typename Body> int guarded(char message[FACE_MESSAGE_SIZE], Body body)
{
    try {
        return body();
    } catch (const c10::Error &e) {
        return say(message, after_traceback(e.what_without_backtrace()));
    } catch (const std::exception &e) {
        return say(message, after_traceback(e.what()));
    } catch (...) {
        return say(message, "an exception of unknown type");
    }
}

} // namespace

struct face_tensor {
    at::Tensor tensor;
};

struct face_module {
    torch::jit::Module module;
    enum face_mode mode;
    int warm; /* runs still to be made before one that counts */
};

const char *face_version(void)
{
    return TORCH_VERSION;
}

bool face_is_before(int major, int minor)
{
    return RELEASE < major * 100 + minor;
}

bool face_has_mode(enum face_mode mode)
{
    return mode != FACE_OPTIMIZE || RELEASE >= 111;
}

int face_scalar_type(enum dtype type)
{
    for (const scalar &row : scalars)
        if (row.type == type)
            return static_cast<int>(row.scalar);
    return -1;
}

void face_start(enum face_mode mode, int threads)
{
    at::set_num_threads(threads);
    torch::jit::setTensorExprFuserEnabled(mode == FACE_NNC);
    if (mode == FACE_PROFILE) /* single nodes are differentiated, too */
        torch::jit::debugSetAutodiffSubgraphInlining(false);
    if (mode != FACE_NNC)
        return;
    torch::jit::overrideCanFuseOnCPU(true);
#if RELEASE >= 110
    /* Debian builds 1.13 without LLVM: the library's own interpreter of fused loops runs them. */
    torch::jit::tensorexpr::getTEMustUseLLVMOnCPU() = false;
#endif
}

namespace
{

constexpr uintptr_t ALIGNMENT = 64; /* of the library's own memory */

int make_tensor(struct face_tensor **made, const struct tensor *from, bool borrow,
                char message[FACE_MESSAGE_SIZE])
{
    *made = nullptr;
    return guarded(message, [&] {
        int scalar = face_scalar_type(from->type);
        if (scalar < 0)
            return say(message, "unsupported: no tensor of this type");
        std::vector<int64_t> dims(from->shape.dims, from->shape.dims + from->shape.rank);
        at::TensorOptions options(static_cast<c10::ScalarType>(scalar));
        at::Tensor tensor = borrow ? at::from_blob(from->data, dims, options) : at::empty(dims, options);
        if (!borrow && from->size)
            std::memcpy(tensor.data_ptr(), from->data, from->size);
        *made = new face_tensor{tensor};
        return 0;
    });
}

} // namespace

int face_tensor_new(struct face_tensor **made, const struct tensor *from, char message[FACE_MESSAGE_SIZE])
{
    return make_tensor(made, from, false, message);
}

int face_tensor_borrow(struct face_tensor **made, const struct tensor *from, char message[FACE_MESSAGE_SIZE])
{
    bool aligned = reinterpret_cast<uintptr_t>(from->data) % ALIGNMENT == 0;
    return make_tensor(made, from, from->size > 0 && aligned, message);
}

void face_tensor_free(struct face_tensor *tensor)
{
    delete tensor;
}

void face_tensor_meta(const struct face_tensor *tensor, enum dtype *type, struct shape *shape)
{
    const at::Tensor &t = tensor->tensor;
    *shape = {};
    *type = t.dim() <= TENSOR_MAX_RANK ? type_of(t.scalar_type()) : DTYPE_NONE;
    for (int64_t i = 0; i < t.dim() && i < TENSOR_MAX_RANK; i++)
        shape->dims[shape->rank++] = t.size(i);
}

int face_tensor_lend(struct face_tensor *from, struct tensor *to, char message[FACE_MESSAGE_SIZE])
{
    return guarded(message, [&] {
        *to = {};
        face_tensor_meta(from, &to->type, &to->shape);
        if (to->type == DTYPE_NONE)
            return say(message, "a tensor of a type or rank that ONNX does not have");
        at::Tensor &t = from->tensor;
        if (t.is_mkldnn())
            t = t.to_dense();
        t = t.contiguous();
        to->count = static_cast<size_t>(t.numel());
        to->size = to->count * t.element_size();
        to->data = to->size ? t.data_ptr() : nullptr;
        return 0;
    });
}

int face_tensor_read(const struct face_tensor *from, struct tensor *to, char message[FACE_MESSAGE_SIZE])
{
    struct face_tensor dense = *from;
    struct tensor lent;
    struct error err = {};
    if (face_tensor_lend(&dense, &lent, message) < 0)
        return -1;
    return tensor_copy(to, &lent, &err) < 0 ? say(message, err.message) : 0;
}

namespace
{

torch::jit::Module in_mode(torch::jit::Module module, enum face_mode mode)
{
    if (mode == FACE_EAGER || mode == FACE_NNC || mode == FACE_PROFILE)
        return module;
    module.eval();
#if RELEASE >= 109
    module = torch::jit::freeze(module);
#else
    module = torch::jit::freeze_module(module);
#endif
#if RELEASE >= 111
    if (mode == FACE_OPTIMIZE) {
#if RELEASE >= 200
        c10::InferenceMode inference;
#endif
        module = torch::jit::optimize_for_inference(module);
    }
#endif
    return module;
}

/* Through the library's own archive, in memory. */
torch::jit::Module reloaded(const torch::jit::Module &module)
{
    std::stringstream archive;
    module.save(archive);
    return torch::jit::load(archive);
}

} // namespace

int face_module_new(struct face_module **made, const char *text, size_t n_buffers,
                    const struct face_buffer *buffers, enum face_mode mode, bool reload,
                    char message[FACE_MESSAGE_SIZE])
{
    *made = nullptr;
    return guarded(message, [&] {
        torch::NoGradGuard no_gradients;
        torch::jit::Module module("graph");
        if (!module.hasattr("training"))
            module.register_attribute("training", c10::BoolType::get(), false);
        for (size_t i = 0; i < n_buffers; i++)
            module.register_buffer(buffers[i].name, buffers[i].tensor->tensor);
        try {
            module.define(text);
        } catch (const std::exception &e) {
            /* The text is ours: a release that does not compile it lacks an operator, an argument or a type.
             */
            return say(message,
                       ("unsupported by this release: " + std::string(after_traceback(e.what()))).c_str());
        }
        if (reload && mode != FACE_FREEZE)
            module = reloaded(module);
        module = in_mode(module, mode);
        if (reload && mode == FACE_FREEZE)
            module = reloaded(module);
        /* One run is profiled, the next one compiles, the third is the compiled one. */
        *made = new face_module{module, mode, mode == FACE_NNC || mode == FACE_PROFILE ? 2 : 0};
        return 0;
    });
}

void face_module_free(struct face_module *module)
{
    delete module;
}

namespace
{

/* The library calls a plain function, which has no other way to know whom to tell. */
struct {
    face_teller *tell;
    void *context;
} teller;

/* Inputs are not asked for: with them 1.13 leaves out calls at random. The name is text, or before 1.12 a
 * view of one. */
void tell_function(const at::RecordFunction &function)
{
    std::ostringstream name;
    name << function.name();
    if (teller.tell)
        teller.tell(teller.context, name.str().c_str(), "");
}

#if RELEASE >= 108
std::unique_ptr<at::ObserverContext> on_function(const at::RecordFunction &function)
{
    tell_function(function);
    return nullptr;
}
#else
bool on_function(const at::RecordFunction &function)
{
    tell_function(function);
    return true;
}
#endif

/* The profiler's callback, as long as this lives. */
class Listener
{
  public:
    Listener() : listens(teller.tell != nullptr)
    {
        if (listens)
            handle = at::addThreadLocalCallback(
                at::RecordFunctionCallback(on_function).scopes({at::RecordScope::FUNCTION}));
    }
    ~Listener()
    {
        if (listens)
            at::removeCallback(handle);
    }
    Listener(const Listener &) = delete;
    Listener &operator=(const Listener &) = delete;

  private:
    bool listens;
    at::CallbackHandle handle = 0;
};

void tell_groups(at::ArrayRef<torch::jit::Block *> blocks, const char *group)
{
    for (torch::jit::Block *block : blocks)
        for (torch::jit::Node *node : block->nodes()) {
            const char *name = node->kind().toQualString();
            bool computes = std::strncmp(name, "aten::", 6) == 0;
            if (*group && computes)
                teller.tell(teller.context, name, group);
            if (node->hasAttribute(torch::jit::attr::Subgraph))
                tell_groups({node->g(torch::jit::attr::Subgraph)->block()}, name);
            tell_groups(node->blocks(), group);
        }
}

void tell_graph()
{
    std::shared_ptr<torch::jit::Graph> graph = torch::jit::lastExecutedOptimizedGraph();
    if (teller.tell && graph)
        tell_groups({graph->block()}, "");
}

c10::IValue call_module(struct face_module *module, const std::vector<c10::IValue> &arguments)
{
    Listener listener;
    c10::IValue result = module->module.forward(arguments);
    if (module->mode != FACE_EAGER)
        tell_graph();
    return result;
}

int forward(struct face_module *module, size_t n_inputs, const struct face_tensor *const *inputs, int runs,
            size_t n_outputs, struct face_tensor **outputs, char message[FACE_MESSAGE_SIZE])
{
    torch::jit::GraphOptimizerEnabledGuard executor(module->mode != FACE_EAGER);
    std::vector<c10::IValue> arguments;
    for (size_t i = 0; i < n_inputs; i++)
        arguments.emplace_back(inputs[i]->tensor);
    for (; runs > 1; runs--)
        module->module.forward(arguments);
    c10::List<at::Tensor> results = call_module(module, arguments).toTensorList();
    if (results.size() != n_outputs)
        return say(message, "another number of outputs than asked for");
    for (size_t i = 0; i < n_outputs; i++)
        outputs[i] = new face_tensor{results.get(i)};
    return 0;
}

size_t count_nodes(at::ArrayRef<torch::jit::Block *> blocks, c10::Symbol kind)
{
    size_t count = 0;
    for (torch::jit::Block *block : blocks)
        for (torch::jit::Node *node : block->nodes())
            count += (node->kind() == kind) + count_nodes(node->blocks(), kind);
    return count;
}

} // namespace

void face_tell(face_teller *tell, void *context)
{
    teller = {tell, context};
}

int face_module_run(struct face_module *module, size_t n_inputs, const struct face_tensor *const *inputs,
                    size_t n_outputs, struct face_tensor **outputs, char message[FACE_MESSAGE_SIZE])
{
    return guarded(message, [&] {
        torch::NoGradGuard no_gradients;
        int runs = module->warm + 1;
        module->warm = 0;
        return forward(module, n_inputs, inputs, runs, n_outputs, outputs, message);
    });
}

int face_module_record(struct face_module *module, size_t n_inputs, const struct face_tensor *const *inputs,
                       size_t n_outputs, struct face_tensor **outputs, char message[FACE_MESSAGE_SIZE])
{
    return guarded(message,
                   [&] { return forward(module, n_inputs, inputs, 1, n_outputs, outputs, message); });
}

int face_gradient(size_t n_outputs, const struct face_tensor *const *outputs,
                  const struct face_tensor *const *upstream, size_t n_leaves,
                  const struct face_tensor *const *leaves, struct face_tensor **gradients,
                  char message[FACE_MESSAGE_SIZE])
{
    return guarded(message, [&] {
        std::vector<at::Tensor> from, by, with;
        for (size_t i = 0; i < n_outputs; i++) {
            from.push_back(outputs[i]->tensor);
            with.push_back(upstream[i]->tensor);
        }
        for (size_t i = 0; i < n_leaves; i++)
            by.push_back(leaves[i]->tensor);
        std::vector<at::Tensor> found(n_leaves);
        if (n_outputs && n_leaves)
            found = torch::autograd::grad(from, by, with, false, false, true);
        for (size_t i = 0; i < n_leaves; i++)
            gradients[i] = new face_tensor{
                found[i].defined() ? found[i].detach() : at::zeros(by[i].sizes(), by[i].scalar_type())};
        return 0;
    });
}

void face_tensor_want(struct face_tensor *tensor, bool wanted)
{
    tensor->tensor.set_requires_grad(wanted);
}

bool face_tensor_is_recorded(const struct face_tensor *tensor)
{
    return tensor->tensor.requires_grad();
}

size_t face_symbolic_parts(void)
{
    std::shared_ptr<torch::jit::Graph> graph = torch::jit::lastExecutedOptimizedGraph();
    torch::jit::Block *block = graph ? graph->block() : nullptr;
    return block ? count_nodes({block}, torch::jit::prim::DifferentiableGraph) : 0;
}
