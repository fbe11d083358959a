/* ONNX text on stdin to a model file: `text-model FILE`. Keeps the models of the tests readable. */
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "model/onnx.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct str text;
    struct error err = {0};
    char buffer[4096];
    uint8_t *model = NULL;
    size_t size, got;
    if (argc != 2)
        return 2;
    str_init(&text);
    while ((got = fread(buffer, 1, sizeof buffer, stdin)) > 0)
        str_append(&text, buffer, got);
    int status = onnx_parse_text(text.data, &model, &size, &err);
    if (status == 0)
        status = file_write(argv[1], model, size, &err);
    if (status)
        fprintf(stderr, "text-model: %s\n", err.message);
    free(model);
    str_release(&text);
    return status ? 1 : 0;
}
