/* A model whose weights lie in files beside it: none is read that is not below its folder. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "base/file.h"
#include "model/model.h"

/* The folder of the model, beside a secret that no tensor may ever hold. */
static const char secret[] = "the secret of the folder above!";

static const char *folder(void)
{
    static char path[] = "/tmp/assay-fuzz-XXXXXX";
    static bool made;
    if (made)
        return path;
    made = true;
    require(mkdtemp(path) != NULL);
    char *inner = file_join(path, "m"), *above = file_join(path, "secret"), *data = file_join(inner, "w.bin"),
         *link = file_join(inner, "link.bin");
    require(file_make_folders(inner, NULL) == 0 && file_write(above, secret, sizeof secret, NULL) == 0 &&
            file_write(data, "0123456789abcdef", 16, NULL) == 0 && symlink("../secret", link) == 0);
    free(inner);
    free(above);
    free(data);
    free(link);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model *model = NULL;
    struct error err = {0};
    char *inner = file_join(folder(), "m"), *path = file_join(inner, "model.onnx");
    require(file_write(path, data, size, &err) == 0);
    if (model_load(&model, path, &err)) {
        require(err.message[0] != '\0');
    } else {
        for (size_t i = 0; i < model->graph->n_initializer; i++) {
            const ProtobufCBinaryData *raw = &model->graph->initializer[i]->raw_data;
            require(!raw->len || !memmem(raw->data, raw->len, secret + 4, 20) ||
                    memmem(data, size, secret + 4, 20));
        }
        model_free(model);
    }
    free(path);
    free(inner);
    return 0;
}
