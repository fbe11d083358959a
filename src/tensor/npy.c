#include "tensor/npy.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { MAGIC_SIZE = 6, HEADER_ALIGNMENT = 64 };
static const char magic[] = "\x93NUMPY";

static const struct {
    const char *code; /* descr without the byte order */
    enum dtype type;
} codes[] = {
    {"b1", DTYPE_BOOL},      {"i1", DTYPE_INT8},        {"i2", DTYPE_INT16},    {"i4", DTYPE_INT32},
    {"i8", DTYPE_INT64},     {"u1", DTYPE_UINT8},       {"u2", DTYPE_UINT16},   {"u4", DTYPE_UINT32},
    {"u8", DTYPE_UINT64},    {"f2", DTYPE_FLOAT16},     {"f4", DTYPE_FLOAT},    {"f8", DTYPE_DOUBLE},
    {"c8", DTYPE_COMPLEX64}, {"c16", DTYPE_COMPLEX128}, {"V2", DTYPE_BFLOAT16}, {"V1", DTYPE_UINT8},
};

/* The Python dictionary of the header, read from left to right. */
struct parser {
    const char *at, *end;
    struct error *err;
};

struct header {
    enum dtype type;
    bool big_endian, fortran;
    bool has_type, has_order, has_shape;
    struct shape shape;
};

static int malformed(struct parser *parser, const char *what)
{
    return error_set(parser->err, ERROR_FORMAT, "the .npy header is malformed: expected %s", what);
}

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->end && isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool accept(struct parser *parser, char wanted)
{
    skip_space(parser);
    if (parser->at == parser->end || *parser->at != wanted)
        return false;
    parser->at++;
    return true;
}

static int parse_text(struct parser *parser, char *text, size_t size)
{
    skip_space(parser);
    if (parser->at == parser->end || (*parser->at != '\'' && *parser->at != '"'))
        return malformed(parser, "a quoted string");
    char quote = *parser->at++;
    const char *close = memchr(parser->at, quote, (size_t)(parser->end - parser->at));
    if (!close || (size_t)(close - parser->at) >= size)
        return malformed(parser, "a shorter quoted string");
    size_t length = (size_t)(close - parser->at);
    memcpy(text, parser->at, length);
    text[length] = '\0';
    parser->at = close + 1;
    return 0;
}

static int parse_type(struct parser *parser, struct header *header)
{
    char descr[32];
    skip_space(parser);
    if (parser->at < parser->end && *parser->at == '[')
        return error_set(
            parser->err, ERROR_UNSUPPORTED,
            ".npy files of structured type are not supported: save each field as an array of its own");
    if (parse_text(parser, descr, sizeof descr))
        return -1;
    const char *code = descr + (strchr("<>|=", descr[0]) && descr[0] ? 1 : 0);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (!text_equal(codes[i].code, code))
            continue;
        header->type = codes[i].type;
        header->big_endian = descr[0] == '>' && dtype_size(header->type) > 1;
        header->has_type = true;
        return 0;
    }
    return error_set(parser->err, ERROR_UNSUPPORTED,
                     "element type '%s' of a .npy file is not supported: save numbers or bools", descr);
}

static int parse_order(struct parser *parser, struct header *header)
{
    static const char *const words[] = {"False", "True"};
    skip_space(parser);
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, words[i], length) != 0)
            continue;
        parser->at += length;
        header->fortran = i == 1;
        header->has_order = true;
        return 0;
    }
    return malformed(parser, "True or False");
}

static int parse_dim(struct parser *parser, int64_t *dim)
{
    skip_space(parser);
    const char *start = parser->at;
    *dim = 0;
    for (; parser->at < parser->end && isdigit((unsigned char)*parser->at); parser->at++) {
        int digit = *parser->at - '0';
        if (*dim > (INT64_MAX - digit) / 10)
            return error_set(parser->err, ERROR_LIMIT, "a dimension in the .npy header is larger than 2^63");
        *dim = *dim * 10 + digit;
    }
    if (parser->at == start)
        return malformed(parser, "a dimension");
    if (parser->at < parser->end && *parser->at == 'L') /* Python 2 wrote long integers as 3L */
        parser->at++;
    return 0;
}

static int parse_shape(struct parser *parser, struct header *header)
{
    struct shape *shape = &header->shape;
    *shape = (struct shape){0};
    if (!accept(parser, '('))
        return malformed(parser, "a tuple");
    while (!accept(parser, ')')) {
        if (shape->rank == TENSOR_MAX_RANK)
            return error_set(parser->err, ERROR_LIMIT, "the .npy array has more than %d dimensions",
                             TENSOR_MAX_RANK);
        if (parse_dim(parser, &shape->dims[shape->rank++]))
            return -1;
        if (accept(parser, ','))
            continue;
        if (!accept(parser, ')'))
            return malformed(parser, "the end of the tuple");
        break;
    }
    header->has_shape = true;
    return 0;
}

static int parse_member(struct parser *parser, struct header *header)
{
    char key[32];
    if (parse_text(parser, key, sizeof key))
        return -1;
    if (!accept(parser, ':'))
        return malformed(parser, "a colon");
    if (text_equal(key, "descr"))
        return parse_type(parser, header);
    if (text_equal(key, "fortran_order"))
        return parse_order(parser, header);
    if (text_equal(key, "shape"))
        return parse_shape(parser, header);
    return error_set(parser->err, ERROR_FORMAT, "the .npy header has an unknown key '%s'", key);
}

static int parse_header(struct parser *parser, struct header *header)
{
    *header = (struct header){0};
    if (!accept(parser, '{'))
        return malformed(parser, "a dictionary");
    while (!accept(parser, '}')) {
        if (parse_member(parser, header))
            return -1;
        if (accept(parser, ','))
            continue;
        if (!accept(parser, '}'))
            return malformed(parser, "the end of the dictionary");
        break;
    }
    skip_space(parser);
    if (parser->at != parser->end)
        return error_set(parser->err, ERROR_FORMAT, "the .npy header continues after its dictionary");
    if (!header->has_type || !header->has_order || !header->has_shape)
        return malformed(parser, "descr, fortran_order and shape");
    return 0;
}

/* Finds the text of the header; *payload is the offset of what follows it. */
static int find_header(const uint8_t *data, size_t size, struct parser *parser, size_t *payload)
{
    if (size < MAGIC_SIZE + 4 || memcmp(data, magic, MAGIC_SIZE) != 0)
        return error_set(parser->err, ERROR_FORMAT, "not a .npy file");
    unsigned major = data[MAGIC_SIZE];
    if (major < 1 || major > 3)
        return error_set(parser->err, ERROR_UNSUPPORTED, ".npy format version %u is not supported", major);
    size_t start = MAGIC_SIZE + 2 + (major == 1 ? 2 : 4), length = 0;
    if (size < start)
        return error_set(parser->err, ERROR_FORMAT, "the .npy header is cut off");
    for (size_t i = start; i-- > MAGIC_SIZE + 2;)
        length = length << 8 | data[i];
    if (length > size - start)
        return error_set(parser->err, ERROR_FORMAT,
                         "the .npy header should have %zu bytes, but only %zu follow", length, size - start);
    parser->at = (const char *)data + start;
    parser->end = parser->at + length;
    *payload = start + length;
    return 0;
}

static void swap_bytes(struct tensor *tensor)
{
    bool complex = tensor->type == DTYPE_COMPLEX64 || tensor->type == DTYPE_COMPLEX128;
    size_t unit = dtype_size(tensor->type) / (complex ? 2 : 1);
    uint8_t *data = tensor->data;
    for (size_t at = 0; at < tensor->size; at += unit)
        for (size_t i = 0; i < unit / 2; i++) {
            uint8_t byte = data[at + i];
            data[at + i] = data[at + unit - 1 - i];
            data[at + unit - 1 - i] = byte;
        }
}

/* From column-major to row-major: walks the row-major indices and keeps track of the column-major offset. */
static void transpose(struct tensor *tensor, const uint8_t *from)
{
    const struct shape *shape = &tensor->shape;
    size_t item = dtype_size(tensor->type), offset = 0;
    size_t stride[TENSOR_MAX_RANK] = {0};
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (int i = 0; i < shape->rank; i++)
        stride[i] = i ? stride[i - 1] * (size_t)shape->dims[i - 1] : 1;
    for (size_t n = 0; n < tensor->count; n++) {
        memcpy((uint8_t *)tensor->data + n * item, from + offset * item, item);
        for (int i = shape->rank - 1; i >= 0; i--) {
            offset += stride[i];
            if (++index[i] < shape->dims[i])
                break;
            offset -= stride[i] * (size_t)shape->dims[i];
            index[i] = 0;
        }
    }
}

static void normalise_bools(struct tensor *tensor)
{
    uint8_t *data = tensor->data;
    for (size_t i = 0; i < tensor->count; i++)
        data[i] = data[i] != 0;
}

int npy_parse(const void *data, size_t size, struct tensor *tensor, struct error *err)
{
    struct parser parser = {.err = err};
    struct header header;
    size_t payload = 0, count;
    tensor_init(tensor);
    if (find_header(data, size, &parser, &payload) || parse_header(&parser, &header) ||
        shape_count(&header.shape, &count, err))
        return -1;
    size_t item = dtype_size(header.type), left = size - payload;
    const uint8_t *bytes = (const uint8_t *)data + payload;
    if (left / item != count || left % item) {
        char text[SHAPE_TEXT_SIZE];
        return error_set(err, ERROR_FORMAT, "%s%s needs %zu elements of %zu bytes, but there are %zu bytes",
                         dtype_name(header.type), shape_text(&header.shape, text), count, item, left);
    }
    if (tensor_from_bytes(tensor, header.type, &header.shape, bytes, left, err))
        return -1;
    if (header.fortran && header.shape.rank > 1)
        transpose(tensor, bytes);
    if (header.big_endian)
        swap_bytes(tensor);
    if (header.type == DTYPE_BOOL)
        normalise_bools(tensor);
    return 0;
}

int npy_read(const struct folder *in, const char *name, struct tensor *tensor, struct error *err)
{
    struct file_map map;
    tensor_init(tensor);
    if (folder_map(&map, in, name, err))
        return -1;
    int result = npy_parse(map.data, map.size, tensor, err);
    if (result)
        folder_prefix(in, name, err);
    file_map_close(&map);
    return result;
}

/* NULL when such tensors cannot be written. */
static const char *code_of(enum dtype type)
{
    if (dtype_is_narrow(type))
        return type == DTYPE_INT4 || type == DTYPE_INT2 ? "i1" : "u1";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].type == type)
            return codes[i].code;
    return NULL;
}

int npy_header(const struct tensor *tensor, struct str *header, struct error *err)
{
    const char *code = code_of(tensor->type);
    if (!code)
        return error_set(err, ERROR_UNSUPPORTED, "a %s tensor cannot be written as .npy",
                         dtype_name(tensor->type));
    str_append(header, "\x93NUMPY\1\0\0\0", MAGIC_SIZE + 4);
    size_t start = header->length;
    str_printf(header, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
               dtype_size(tensor->type) > 1 ? '<' : '|', code);
    for (int i = 0; i < tensor->shape.rank; i++)
        str_printf(header, "%s%" PRId64 "%s", i ? " " : "", tensor->shape.dims[i],
                   i + 1 < tensor->shape.rank || i == 0 ? "," : "");
    str_add(header, "), }");
    while ((header->length + 1) % HEADER_ALIGNMENT)
        str_add(header, " ");
    str_add(header, "\n");
    size_t length = header->length - start;
    header->data[start - 2] = (char)(length & 0xff);
    header->data[start - 1] = (char)(length >> 8);
    return 0;
}

int npy_write(const struct folder *in, const char *name, const struct tensor *tensor, struct error *err)
{
    struct str text;
    str_init(&text);
    int result = npy_header(tensor, &text, err);
    if (!result) {
        str_append(&text, tensor->data, tensor->size);
        result = folder_write(in, name, text.data, text.length, err);
    } else {
        folder_prefix(in, name, err);
    }
    str_release(&text);
    return result;
}
