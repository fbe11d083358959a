/*
 * What the programs that call a library directly share: official cases taken apart by hand, and only as far
 * as needed, so that nothing of Assay is shared with the adapters that these programs vouch for.
 */
#ifndef ENGINES_DIRECT_HH
#define ENGINES_DIRECT_HH

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace direct
{

typedef std::vector<unsigned char> bytes;

inline bytes read_file(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    return bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

/* One field of a protobuf message: its number, and a varint or a span. */
struct field {
    unsigned number = 0;
    unsigned long long value = 0;
    const unsigned char *data = nullptr;
    size_t size = 0;
};

inline unsigned long long varint(const unsigned char *&at, const unsigned char *end)
{
    unsigned long long value = 0;
    for (int shift = 0; at < end && shift < 64; shift += 7) {
        unsigned char byte = *at++;
        value |= static_cast<unsigned long long>(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    std::fprintf(stderr, "direct: a bad varint\n");
    std::exit(2);
}

inline bool next(const unsigned char *&at, const unsigned char *end, field &out)
{
    if (at >= end)
        return false;
    unsigned long long key = varint(at, end);
    out = field();
    out.number = static_cast<unsigned>(key >> 3);
    unsigned wire = key & 7;
    if (wire == 0) {
        out.value = varint(at, end);
        return true;
    }
    out.size = wire == 1 ? 8 : wire == 5 ? 4 : static_cast<size_t>(varint(at, end));
    if (out.size > static_cast<size_t>(end - at)) {
        std::fprintf(stderr, "direct: a field beyond its message\n");
        std::exit(2);
    }
    out.data = at;
    at += out.size;
    return true;
}

/* A TensorProto: dims (1), data_type (2), raw_data (9). */
struct proto {
    std::vector<long long> dims;
    int type = 0; /* ONNX's number */
    field raw;
};

inline proto read_tensor(const bytes &tensor)
{
    proto out;
    field part;
    for (const unsigned char *at = tensor.data(), *end = at + tensor.size(); next(at, end, part);) {
        if (part.number == 1 && !part.data)
            out.dims.push_back(static_cast<long long>(part.value));
        for (const unsigned char *d = part.data; part.number == 1 && part.data && d < part.data + part.size;)
            out.dims.push_back(static_cast<long long>(varint(d, part.data + part.size)));
        if (part.number == 2)
            out.type = static_cast<int>(part.value);
        if (part.number == 9)
            out.raw = part;
    }
    return out;
}

/* The bytes of output K. */
inline void write_output(const std::string &folder, size_t k, const void *data, size_t size)
{
    std::ofstream file(folder + "/output_" + std::to_string(k) + ".raw", std::ios::binary);
    file.write(static_cast<const char *>(data), static_cast<std::streamsize>(size));
}

} // namespace direct
#endif
