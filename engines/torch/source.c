#include "source.h"

#include "tensor/literal.h"

enum { MOST_ELEMENTS = 256 }; /* of one weight */

struct type {
    enum dtype type;
    const char *name, *scalar; /* C++'s and the library's */
};

/* The short floats as their bits. */
static const struct type types[] = {
    {DTYPE_FLOAT, "float", "kFloat"},     {DTYPE_DOUBLE, "double", "kDouble"},
    {DTYPE_FLOAT16, "uint16_t", "kHalf"}, {DTYPE_BFLOAT16, "uint16_t", "kBFloat16"},
    {DTYPE_BOOL, "uint8_t", "kBool"},     {DTYPE_UINT8, "uint8_t", "kByte"},
    {DTYPE_INT8, "int8_t", "kChar"},      {DTYPE_INT16, "int16_t", "kShort"},
    {DTYPE_INT32, "int32_t", "kInt"},     {DTYPE_INT64, "int64_t", "kLong"},
};

static bool add_buffer(struct str *out, const char *name, const struct tensor *tensor)
{
    const struct type *type = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == tensor->type)
            type = &types[i];
    if (!type || tensor->count > MOST_ELEMENTS)
        return false;
    str_printf(out, "    static %s %s[] = {", type->name, name);
    for (size_t i = 0; i < tensor->count; i++) {
        str_add(out, i ? ", " : "");
        tensor_literal(out, tensor, i);
    }
    str_printf(out, "%s};\n    m.register_buffer(\"%s\", torch::from_blob(%s, std::vector<int64_t>{",
               tensor->count ? "" : "0", name, name);
    for (int i = 0; i < tensor->shape.rank; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)tensor->shape.dims[i]);
    str_printf(out, "}, torch::%s).clone());\n", type->scalar);
    return true;
}

bool source_lines(struct str *out, const char *text, size_t n_buffers, const struct face_buffer *buffers)
{
    char message[FACE_MESSAGE_SIZE];
    bool good = true;
    str_add(out, "    torch::jit::Module m(\"m\");\n");
    for (size_t i = 0; i < n_buffers && good; i++) {
        struct tensor tensor;
        good = face_tensor_read(buffers[i].tensor, &tensor, message) == 0;
        if (!good)
            break;
        good = add_buffer(out, buffers[i].name, &tensor);
        tensor_release(&tensor);
    }
    str_printf(out, "    m.define(R\"(%s)\");\n", text);
    return good;
}
