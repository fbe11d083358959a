#define _GNU_SOURCE /* memmem */
#include "base/file_format.h"

#include <string.h>

/* What a file has at its beginning, or in its first bytes. */
static const struct {
    size_t at, length;
    const char *mark, *what;
} marks[] = {
    {0, 4, "\x89HDF",
     "an HDF5 file, as Keras writes it; tf2onnx makes an ONNX model of what it was saved from"},
    {4, 4, "TFL3", "a TensorFlow Lite model; tf2onnx makes an ONNX model of it"},
    {4, 4, "ORTM", "a model in ONNX Runtime's own format; take the .onnx file that it was made from"},
    {0, 4, "GGUF", "a GGUF model; take an ONNX export of it"},
    {8, 2, "{\"", "a file of safetensors, which has weights and no graph; export the model to ONNX"},
    {0, 6, "\x93NUMPY", "an array of NumPy; arrays are given with --data"},
    {0, 2, "\x1f\x8b", "packed by gzip; unpack it first"},
    {0, 14, "<!DOCTYPE html", "a web page; download the file itself"},
    {0, 14, "<!doctype html", "a web page; download the file itself"},
    {0, 5, "<html", "a web page; download the file itself"},
    {0, 5, "<?xml", "a file of XML; name the .onnx file"},
    {0, 2, "\x80\x02", "a pickle of Python, as PyTorch once wrote it; export the model to ONNX with PyTorch"},
    {0, 2, "\x80\x03", "a pickle of Python; export what is in it to ONNX"},
    {0, 2, "\x80\x04", "a pickle of Python; export what is in it to ONNX"},
};

/* Names inside of ZIP archives. */
static const struct {
    const char *name, *what;
} archives[] = {
    {"/data.pkl", "a PyTorch file; export the model to ONNX with PyTorch"},
    {"archive_format", "a PyTorch program; export the model to ONNX with PyTorch"},
    {"model.weights.h5", "a Keras model; tf2onnx makes an ONNX model of it"},
    {".npy", "a file of NumPy arrays; arrays are given with --data"},
    {".onnx", "a ZIP archive with an ONNX model inside; unpack it first"},
};

static bool has(const void *data, size_t size, const char *text)
{
    return memmem(data, size, text, strlen(text)) != NULL;
}

/* The directory of an archive stands at its end. */
static const char *archive_format(const char *data, size_t size)
{
    enum { DIRECTORY = 1 << 20 };
    size_t tail = size < DIRECTORY ? size : DIRECTORY;
    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++)
        if (has(data + size - tail, tail, archives[i].name))
            return archives[i].what;
    return "a ZIP archive; name the .onnx file";
}

static bool starts(const char *data, size_t size, size_t at, const char *mark, size_t length)
{
    return size >= at + length && memcmp(data + at, mark, length) == 0;
}

bool file_is_lfs_pointer(const void *data, size_t size)
{
    static const char mark[] = "version https://git-lfs.github.com/spec/";
    return starts(data, size, 0, mark, sizeof mark - 1);
}

const char *file_format(const void *data, size_t size)
{
    if (starts(data, size, 0, "PK\3\4", 4))
        return archive_format(data, size);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (starts(data, size, marks[i].at, marks[i].mark, marks[i].length))
            return marks[i].what;
    return NULL;
}
