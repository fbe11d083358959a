#include "search/forbidden.h"

#include "eval/evaluate.h"
#include "model/onnx.h"
#include "model/valid.h"

#include <stdlib.h>

bool forbidden_by_run(const struct model *model, const struct value *inputs, size_t n_inputs,
                      struct error *why)
{
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    struct evaluate_options options = {0};
    size_t count = 0;
    int result = evaluator_new(&evaluator, model, &options, why);
    if (!result)
        result = evaluator_run(evaluator, inputs, n_inputs, NULL, 0, &results, &count, why);
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    return result && why->code == ERROR_INVALID;
}

/* Without the outputs' shapes: those that the seed declares may contradict a change that is odd, but legal.
 */
static int pack_without_shapes(const struct model *model, uint8_t **bytes, size_t *size)
{
    struct model *copy;
    if (model_clone(&copy, model, NULL))
        return -1;
    for (size_t i = 0; i < copy->graph->n_output; i++) {
        Onnx__TypeProto *type = copy->graph->output[i]->type;
        if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            type->tensor_type->shape = NULL;
    }
    int result = model_pack_thin(copy, bytes, size, NULL);
    model_free(copy);
    return result;
}

bool forbidden_by_inference(const struct model *model, struct error *why)
{
    uint8_t *bytes = NULL, *inferred = NULL;
    size_t size, inferred_size;
    struct error err = {0};
    int result = pack_without_shapes(model, &bytes, &size);
    if (!result)
        result = onnx_infer_shapes(bytes, size, 1, &inferred, &inferred_size, &err);
    free(inferred);
    free(bytes);
    if (result >= 0 || err.code != ERROR_INVALID)
        return false;
    *why = err;
    return true;
}

enum forbidden_by forbidden_proof(const struct model *model, const struct value *inputs, size_t n_inputs,
                                  struct error *why)
{
    *why = (struct error){0};
    if (model_valid(model, why))
        return FORBIDDEN_BY_CHECKER;
    *why = (struct error){0};
    if (!forbidden_by_run(model, inputs, n_inputs, why))
        return FORBIDDEN_BY_NOBODY;
    return forbidden_by_inference(model, why) ? FORBIDDEN_BY_INFERENCE : FORBIDDEN_BY_REFERENCE;
}
