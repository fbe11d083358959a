/* IDX files and labels in the formats of data sets: refused with a reason, or as long as they say. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "base/file.h"
#include "case/idx.h"
#include "case/inputs.h"
#include "model/model.h"

/* Labels in lines are known by the name of their file. */
static const char *text_path(const uint8_t *data, size_t size)
{
    static char path[60];
    if (!path[0]) {
        char folder[] = "/tmp/assay-fuzz-XXXXXX";
        require(mkdtemp(folder) != NULL);
        snprintf(path, sizeof path, "%s/labels.txt", folder);
    }
    require(file_write(path, data, size, NULL) == 0);
    return path;
}

/* The first byte chooses what the rest is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct fuzz_file file = fuzz_file(data + 1, size - 1);
    struct error err = {0};
    if (data[0] & 1) {
        struct model *model = model_new(13);
        struct inputs inputs = {.model = model, .samples = 1 + (data[0] >> 4)};
        if (inputs_labels(&inputs, data[0] & 8 ? text_path(data + 1, size - 1) : file.path, &err))
            require(err.message[0] != '\0');
        inputs_release(&inputs);
        model_free(model);
    } else {
        struct tensor tensor = {0};
        struct shape like = {.rank = 2, .dims = {1, 4}};
        int status = data[0] & 2 ? idx_images(file.path, data[0] & 4, &like, &tensor, &err)
                                 : idx_read(file.path, &tensor, &err);
        require(status == 0 || err.message[0] != '\0');
        if (status == 0)
            tensor_release(&tensor);
    }
    close(file.descriptor);
    return 0;
}
