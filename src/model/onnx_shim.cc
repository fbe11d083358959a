/* The C interface to libonnx (onnx.h). No exception leaves this file. */
// The one C++ file of the core: libonnx behind onnx.h. No exception leaves it, results are malloc'ed.

extern "C" {
#include "model/isolated.h"
#include "model/onnx.h"
}

#include <onnx/checker.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/printer.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using namespace onnx;

// libonnx explains itself over several lines; an error of ours is one.
int fail(struct error *err, enum error_code code, const std::string &text)
{
    std::string line;
    for (char c : text) {
        if (c != '\n' && c != '\r')
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (!line.empty() && line.back() == ' ')
        line.pop_back();
    return error_set(err, code, "%s", line.c_str());
}

// Runs body, which returns our kind of result, and turns what it throws into an error.
template <typename Body> int guarded(struct error *err, enum error_code code, Body body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return error_set(err, ERROR_MEMORY, "no memory left for libonnx");
    } catch (const std::exception &exception) {
        return fail(err, code, exception.what());
    } catch (...) {
        return fail(err, code, "libonnx threw something unknown");
    }
}

int hand_over(const std::string &bytes, uint8_t **out, size_t *size, struct error *err)
{
    *out = static_cast<uint8_t *>(std::malloc(bytes.size() + 1));
    if (!*out)
        return error_set(err, ERROR_MEMORY, "no memory for %zu bytes", bytes.size());
    std::memcpy(*out, bytes.data(), bytes.size());
    (*out)[bytes.size()] = 0;
    *size = bytes.size();
    return 0;
}

template <typename Message>
int hand_over_message(const Message &message, uint8_t **out, size_t *size, struct error *err)
{
    std::string bytes;
    if (message.ByteSizeLong() > INT_MAX || !message.SerializeToString(&bytes))
        return error_set(err, ERROR_LIMIT, "the result exceeds the 2 GB limit of protobuf");
    return hand_over(bytes, out, size, err);
}

bool is_external(const TensorProto &tensor)
{
    return tensor.data_location() == TensorProto::EXTERNAL || tensor.external_data_size() > 0;
}

bool is_external(const SparseTensorProto &tensor)
{
    return is_external(tensor.values()) || is_external(tensor.indices());
}

bool has_external(const GraphProto &graph);

template <typename List> bool any_external(const List &tensors)
{
    for (const auto &tensor : tensors)
        if (is_external(tensor))
            return true;
    return false;
}

bool has_external(const AttributeProto &attribute)
{
    if (is_external(attribute.t()) || is_external(attribute.sparse_tensor()) ||
        any_external(attribute.tensors()) || any_external(attribute.sparse_tensors()))
        return true;
    for (const auto &graph : attribute.graphs())
        if (has_external(graph))
            return true;
    return attribute.has_g() && has_external(attribute.g());
}

template <typename Nodes> bool nodes_have_external(const Nodes &nodes)
{
    for (const auto &node : nodes)
        for (const auto &attribute : node.attribute())
            if (has_external(attribute))
                return true;
    return false;
}

bool has_external(const GraphProto &graph)
{
    return any_external(graph.initializer()) || any_external(graph.sparse_initializer()) ||
           nodes_have_external(graph.node());
}

// libonnx would follow the paths of external data wherever they lead.
bool has_external(const ModelProto &model)
{
    for (const auto &function : model.functions())
        if (nodes_have_external(function.node()))
            return true;
    for (const auto &training : model.training_info())
        if (has_external(training.initialization()) || has_external(training.algorithm()))
            return true;
    return has_external(model.graph());
}

template <typename Imports> bool is_newer(const Imports &imports)
{
    const auto known = OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    for (const auto &import : imports) {
        auto range = known.find(import.domain() == "ai.onnx" ? "" : import.domain());
        if (range != known.end() && import.version() > range->second.second)
            return true;
    }
    return false;
}

bool is_newer(const ModelProto &model)
{
    for (const auto &function : model.functions())
        if (is_newer(function.opset_import()))
            return true;
    return is_newer(model.opset_import());
}

// A newer IR version that is not one here: what it allows to be said is not needed to say what an opset known
// here has, and libonnx reads over fields that it does not know. The model is handed back with its own.
class lowered
{
  public:
    explicit lowered(ModelProto &model) : model_(model), version_(model.ir_version())
    {
        if (version_ > Version::IR_VERSION)
            model_.set_ir_version(Version::IR_VERSION);
    }
    ~lowered()
    {
        model_.set_ir_version(version_);
    }
    lowered(const lowered &) = delete;
    lowered &operator=(const lowered &) = delete;

  private:
    ModelProto &model_;
    int64_t version_;
};

// An operator that models have in ONNX's own domain, though ONNX has none: exporters and optimisers write it
// for an engine that takes it there.
void add_foreign_schemas()
{
    static const bool once = [] {
        static const std::vector<std::string> types = {"tensor(float16)", "tensor(float)", "tensor(double)",
                                                       "tensor(bfloat16)"};
        OpSchema schema("SimplifiedLayerNormalization", __FILE__, __LINE__);
        schema.SinceVersion(1)
            .SetDomain("")
            .Attr("axis", "the first dimension of a block", AttributeProto::INT, int64_t{-1})
            .Attr("epsilon", "is added to the mean of squares", AttributeProto::FLOAT, 1e-5F)
            .Attr("stash_type", "the type of the mean", AttributeProto::INT, int64_t{TensorProto::FLOAT})
            .Input(0, "X", "", "T")
            .Input(1, "scale", "", "V")
            .Output(0, "Y", "", "V")
            .Output(1, "inv_std_var", "", "U", OpSchema::Optional)
            .TypeConstraint("T", types, "")
            .TypeConstraint("U", {"tensor(float)", "tensor(double)"}, "")
            .TypeConstraint("V", types, "")
            .TypeAndShapeInferenceFunction([](InferenceContext &context) {
                propagateElemTypeFromInputToOutput(context, 1, 0);
                propagateShapeFromInputToOutput(context, 0, 0);
            });
        OpSchemaRegistry::OpSchemaRegisterOnce registered(schema);
        static_cast<void>(registered);
        return true;
    }();
    static_cast<void>(once);
}

// 0, -1 or ONNX_UNCHECKABLE.
int read_model(const uint8_t *data, size_t size, ModelProto &model, struct error *err)
{
    if (size > INT_MAX)
        return error_set(err, ERROR_LIMIT, "a model of %zu bytes exceeds the 2 GB limit of protobuf", size);
    if (!model.ParseFromArray(data, static_cast<int>(size)))
        return error_set(err, ERROR_FORMAT, "not a protobuf ModelProto");
    if (has_external(model))
        return error_set(err, ERROR_USAGE,
                         "external data must be inlined before the model is given to libonnx");
    add_foreign_schemas();
    return is_newer(model) ? ONNX_UNCHECKABLE : 0;
}

const OpSchema *find_schema(const char *domain, const char *op_type, int opset)
{
    const char *plain = std::strcmp(domain, "ai.onnx") == 0 ? "" : domain;
    add_foreign_schemas();
    return OpSchemaRegistry::Schema(op_type, opset, plain);
}

std::string quoted(const std::string &text)
{
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            result += '\\';
        result += c;
    }
    return result + '"';
}

// The printer of 1.12 knows graphs and functions but not the head of a model.
void print_head(std::ostream &out, const ModelProto &model)
{
    out << "<\n  ir_version: " << model.ir_version() << ",\n  opset_import: [";
    for (int i = 0; i < model.opset_import_size(); i++)
        out << (i ? ", " : "") << quoted(model.opset_import(i).domain()) << " : "
            << model.opset_import(i).version();
    out << "]";
    if (model.has_producer_name())
        out << ",\n  producer_name: " << quoted(model.producer_name());
    out << "\n>\n";
}

/* libonnx's parser and converter write empty names since 1.18, which its printer shows as [""]. */
void clear_empty_names(google::protobuf::RepeatedPtrField<NodeProto> *nodes)
{
    for (auto &node : *nodes) {
        if (node.name().empty())
            node.clear_name();
        for (auto &attribute : *node.mutable_attribute()) {
            if (attribute.has_g())
                clear_empty_names(attribute.mutable_g()->mutable_node());
            for (auto &graph : *attribute.mutable_graphs())
                clear_empty_names(graph.mutable_node());
        }
    }
}

} // namespace

extern "C" int onnx_max_opset(void)
{
    try {
        return OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
    } catch (...) {
        return 0;
    }
}

extern "C" void onnx_prepare(void)
{
    try {
        OpSchemaRegistry::Schema("Add", 13, "");
        add_foreign_schemas();
    } catch (...) {
        /* Then the first model to need it says why. */
    }
}

extern "C" int onnx_check(const uint8_t *data, size_t size, struct error *err)
{
    return guarded(err, ERROR_INVALID, [&] {
        ModelProto model;
        int result = read_model(data, size, model, err);
        if (result)
            return result;
        lowered here(model);
        checker::check_model(model);
        return 0;
    });
}

// Inference in a process of its own: libonnx 1.12 dies of some valid models (it adds up dims that it knows
// through empty ones).
static int infer_shapes(const uint8_t *data, size_t size, int strict, uint8_t **out, size_t *out_size,
                        struct error *err)
{
    return guarded(err, ERROR_INVALID, [&] {
        ModelProto model;
        int result = read_model(data, size, model, err);
        if (result)
            return result;
        ShapeInferenceOptions options(strict != 0, strict != 0, true);
        {
            lowered here(model);
            shape_inference::InferShapes(model, OpSchemaRegistry::Instance(), options);
        }
        return hand_over_message(model, out, out_size, err);
    });
}

extern "C" int onnx_infer_shapes(const uint8_t *data, size_t size, int strict, uint8_t **out,
                                 size_t *out_size, struct error *err)
{
    onnx_prepare();
    return isolated_ask("libonnx", infer_shapes, data, size, strict, out, out_size, err);
}

extern "C" int onnx_parse_text(const char *text, uint8_t **out, size_t *size, struct error *err)
{
    *out = nullptr;
    *size = 0;
    return guarded(err, ERROR_FORMAT, [&] {
        ModelProto model;
        auto status = OnnxParser::Parse(model, text);
        if (!status.IsOK())
            return fail(err, ERROR_FORMAT, status.ErrorMessage());
        return hand_over_message(model, out, size, err);
    });
}

extern "C" int onnx_print_text(const uint8_t *data, size_t size, char **text, struct error *err)
{
    *text = nullptr;
    return guarded(err, ERROR_INVALID, [&] {
        ModelProto model;
        // A newer model prints as well as an older one.
        if (read_model(data, size, model, err) < 0)
            return -1;
        clear_empty_names(model.mutable_graph()->mutable_node());
        for (auto &function : *model.mutable_functions())
            clear_empty_names(function.mutable_node());
        std::ostringstream out;
        out.precision(9);
        print_head(out, model);
        out << model.graph() << "\n";
        for (const auto &function : model.functions())
            out << function << "\n";
        uint8_t *bytes;
        size_t length;
        if (hand_over(out.str(), &bytes, &length, err))
            return -1;
        *text = reinterpret_cast<char *>(bytes);
        return 0;
    });
}

extern "C" int onnx_convert_opset(const uint8_t *data, size_t size, int opset, uint8_t **out,
                                  size_t *out_size, struct error *err)
{
    *out = nullptr;
    *out_size = 0;
    return guarded(err, ERROR_UNSUPPORTED, [&] {
        ModelProto model;
        int result = read_model(data, size, model, err);
        if (result == 0 && opset > onnx_max_opset())
            result = ONNX_UNCHECKABLE;
        if (result)
            return result;
        return hand_over_message(version_conversion::ConvertVersion(model, opset), out, out_size, err);
    });
}

extern "C" int onnx_schema(const char *domain, const char *op_type, int opset, struct onnx_schema *schema,
                           struct error *err)
{
    return guarded(err, ERROR_INVALID, [&] {
        const OpSchema *found = find_schema(domain, op_type, opset);
        if (!found)
            return error_set(err, ERROR_NOT_FOUND, "there is no operator %s%s%.100s at opset %d", domain,
                             domain[0] ? "." : "", op_type, opset);
        schema->since = found->SinceVersion();
        schema->min_inputs = found->min_input();
        schema->max_inputs = found->max_input();
        schema->min_outputs = found->min_output();
        schema->max_outputs = found->max_output();
        schema->has_function_body = found->HasFunction() || found->HasContextDependentFunction();
        schema->deprecated = found->Deprecated();
        return 0;
    });
}

extern "C" int onnx_function_body(const char *domain, const char *op_type, int opset, uint8_t **function,
                                  size_t *size, struct error *err)
{
    *function = nullptr;
    *size = 0;
    return guarded(err, ERROR_INVALID, [&] {
        const OpSchema *found = find_schema(domain, op_type, opset);
        if (!found)
            return error_set(err, ERROR_NOT_FOUND, "there is no operator %.100s at opset %d", op_type, opset);
        if (!found->HasFunction())
            return error_set(err, ERROR_NOT_FOUND, "%.100s has no function body%s", op_type,
                             found->HasContextDependentFunction() ? " that holds for every node" : "");
        return hand_over_message(*found->GetFunction(), function, size, err);
    });
}

// The inputs' types as a schema's builder asks for them; shapes are not told.
static std::vector<TypeProto> tensor_types(const int *types, size_t count)
{
    std::vector<TypeProto> made(count);
    for (size_t i = 0; i < count; i++)
        if (types[i])
            made[i].mutable_tensor_type()->set_elem_type(types[i]);
    return made;
}

extern "C" int onnx_function_body_for(const uint8_t *bytes, size_t length, int opset, const int *types,
                                      size_t n_types, uint8_t **function, size_t *size, struct error *err)
{
    *function = nullptr;
    *size = 0;
    return guarded(err, ERROR_INVALID, [&] {
        NodeProto node;
        if (length > INT_MAX || !node.ParseFromArray(bytes, static_cast<int>(length)))
            return error_set(err, ERROR_FORMAT, "not a protobuf NodeProto");
        const OpSchema *found = find_schema(node.domain().c_str(), node.op_type().c_str(), opset);
        if (found && found->HasFunction())
            return hand_over_message(*found->GetFunction(), function, size, err);
        FunctionProto built;
        FunctionBodyBuildContextImpl context(node, tensor_types(types, n_types));
        if (!found || !found->HasContextDependentFunction() ||
            !found->BuildContextDependentFunction(context, built))
            return error_set(err, ERROR_NOT_FOUND, "%.100s has no function body at opset %d",
                             node.op_type().c_str(), opset);
        return hand_over_message(built, function, size, err);
    });
}

static std::string text_of(const OpSchema &schema, const std::string &part)
{
    if (part.empty())
        return schema.doc() ? schema.doc() : "";
    auto attribute = schema.attributes().find(part);
    if (attribute != schema.attributes().end())
        return attribute->second.description;
    for (const auto *parameters : {&schema.inputs(), &schema.outputs()})
        for (const auto &one : *parameters)
            if (one.GetName() == part)
                return one.GetDescription();
    return "";
}

extern "C" int onnx_schema_text(const char *domain, const char *op_type, int opset, const char *part,
                                char **text, struct error *err)
{
    *text = nullptr;
    return guarded(err, ERROR_INVALID, [&] {
        const OpSchema *found = find_schema(domain, op_type, opset);
        uint8_t *bytes;
        size_t size;
        if (!found || opset > onnx_max_opset())
            return error_set(err, ERROR_NOT_FOUND, "there is no operator %.100s at opset %d", op_type, opset);
        if (hand_over(text_of(*found, part), &bytes, &size, err))
            return -1;
        *text = reinterpret_cast<char *>(bytes);
        return 0;
    });
}

extern "C" int onnx_attribute_defaults(const char *domain, const char *op_type, int opset, uint8_t **node,
                                       size_t *size, struct error *err)
{
    *node = nullptr;
    *size = 0;
    return guarded(err, ERROR_INVALID, [&] {
        const OpSchema *found = find_schema(domain, op_type, opset);
        if (!found)
            return error_set(err, ERROR_NOT_FOUND, "there is no operator %.100s at opset %d", op_type, opset);
        NodeProto made;
        for (const auto &attribute : found->attributes())
            if (attribute.second.default_value.has_name())
                *made.add_attribute() = attribute.second.default_value;
        return hand_over_message(made, node, size, err);
    });
}
