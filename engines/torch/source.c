#include "source.h"

#include "tensor/literal.h"

enum { MOST_ELEMENTS = 256 }; /* of one weight */

struct type {
    enum dtype type;
    const char *name, *scalar, *python; /* C++'s; the library's there and in Python */
};

/* The short floats as their bits. */
static const struct type types[] = {
    {DTYPE_FLOAT, "float", "kFloat", "float32"},     {DTYPE_DOUBLE, "double", "kDouble", "float64"},
    {DTYPE_FLOAT16, "uint16_t", "kHalf", "float16"}, {DTYPE_BFLOAT16, "uint16_t", "kBFloat16", "bfloat16"},
    {DTYPE_BOOL, "uint8_t", "kBool", "bool"},        {DTYPE_UINT8, "uint8_t", "kByte", "uint8"},
    {DTYPE_INT8, "int8_t", "kChar", "int8"},         {DTYPE_INT16, "int16_t", "kShort", "int16"},
    {DTYPE_INT32, "int32_t", "kInt", "int32"},       {DTYPE_INT64, "int64_t", "kLong", "int64"},
};

static const struct type *type_of(const struct tensor *tensor)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == tensor->type)
            return tensor->count <= MOST_ELEMENTS ? &types[i] : NULL;
    return NULL;
}

static void add_dims(struct str *out, const struct tensor *tensor)
{
    for (int i = 0; i < tensor->shape.rank; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)tensor->shape.dims[i]);
}

static void add_cpp(struct str *out, const char *name, const struct tensor *tensor, const struct type *type)
{
    str_printf(out, "    static %s %s[] = {", type->name, name);
    for (size_t i = 0; i < tensor->count; i++) {
        str_add(out, i ? ", " : "");
        tensor_literal(out, tensor, i);
    }
    str_printf(out, "%s};\n    m.register_buffer(\"%s\", torch::from_blob(%s, std::vector<int64_t>{",
               tensor->count ? "" : "0", name, name);
    add_dims(out, tensor);
    str_printf(out, "}, torch::%s).clone());\n", type->scalar);
}

static void add_python(struct str *out, const char *name, const struct tensor *tensor,
                       const struct type *type)
{
    str_printf(out, "m.register_buffer(\"%s\", torch.tensor(", name);
    tensor_python_list(out, tensor, 0, tensor->count);
    str_printf(out, ", dtype=torch.%s).reshape([", type->python);
    add_dims(out, tensor);
    str_add(out, "]))\n");
}

static bool add_buffers(struct str *out, bool python, size_t n_buffers, const struct face_buffer *buffers)
{
    char message[FACE_MESSAGE_SIZE];
    for (size_t i = 0; i < n_buffers; i++) {
        struct tensor tensor;
        if (face_tensor_read(buffers[i].tensor, &tensor, message) < 0)
            return false;
        const struct type *type = type_of(&tensor);
        if (type && python)
            add_python(out, buffers[i].name, &tensor, type);
        else if (type)
            add_cpp(out, buffers[i].name, &tensor, type);
        tensor_release(&tensor);
        if (!type)
            return false;
    }
    return true;
}

bool source_lines(struct str *out, const char *text, size_t n_buffers, const struct face_buffer *buffers)
{
    str_add(out, "@cpp\n    torch::jit::Module m(\"m\");\n");
    if (!add_buffers(out, false, n_buffers, buffers))
        return false;
    str_printf(out, "    m.define(R\"(%s)\");\n@python\nm = torch.nn.Module()\n", text);
    bool good = add_buffers(out, true, n_buffers, buffers);
    str_printf(out, "m = torch.jit.script(m)\ndefine(m, \"\"\"%s\"\"\")\n", text);
    return good;
}
