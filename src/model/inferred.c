#include "model/inferred.h"

#include "model/onnx.h"

#include <stdlib.h>

struct model *model_inferred(const struct model *model)
{
    uint8_t *plain = NULL, *data = NULL;
    size_t plain_size, size;
    struct model *inferred = NULL;
    if (!model_pack_thin(model, &plain, &plain_size, NULL) &&
        !onnx_infer_shapes(plain, plain_size, 0, &data, &size, NULL) &&
        model_parse(&inferred, data, size, NULL))
        inferred = NULL;
    free(plain);
    free(data);
    return inferred;
}
