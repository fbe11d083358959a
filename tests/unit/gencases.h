/* What every test of generated cases asks of one: the same again, valid, of the declared shapes. */
#ifndef UNIT_GENCASES_H
#define UNIT_GENCASES_H

#include "eval/evaluate.h"
#include "generate/operator_case.h"
#include "model/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "same_bytes.h"

static bool same_case(const struct test_case *a, const struct test_case *b)
{
    if (!same_bytes(a, b) || a->n_inputs != b->n_inputs || strcmp(a->recipe, b->recipe) != 0 ||
        strcmp(a->note, b->note) != 0)
        return false;
    for (size_t i = 0; i < a->n_inputs; i++)
        if (strcmp(a->inputs[i].name, b->inputs[i].name) != 0 ||
            !tensor_identical(&a->inputs[i].tensors[0], &b->inputs[i].tensors[0]))
            return false;
    return true;
}

/* The bytes that engines would get, read again. */
static int parse_bytes(const struct test_case *c, struct model **model, struct error *err)
{
    const uint8_t *bytes;
    size_t size;
    *model = NULL;
    return test_case_bytes(c, &bytes, &size, err) ? -1 : model_parse(model, bytes, size, err);
}

/* Runs the case through the reference; the outputs must have the declared types and shapes. */
static int evaluate_case(const struct test_case *c, struct error *err)
{
    struct model *model = NULL;
    struct evaluator *evaluator = NULL;
    struct bounded *results = NULL;
    size_t count = 0;
    int result = parse_bytes(c, &model, err);
    if (!result)
        result = evaluator_new(&evaluator, model, NULL, err);
    if (!result)
        result = evaluator_run(evaluator, c->inputs, c->n_inputs, NULL, 0, &results, &count, err);
    for (size_t i = 0; !result && i < count; i++) {
        const Onnx__TypeProto__Tensor *type = model->graph->output[i]->type->tensor_type;
        bool same = type->elem_type == (int)results[i].type && type->shape &&
                    type->shape->n_dim == (size_t)results[i].shape.rank;
        for (size_t k = 0; same && k < type->shape->n_dim; k++)
            same = type->shape->dim[k]->dim_value == results[i].shape.dims[k];
        if (!same)
            result = error_set(err, ERROR_INVALID, "output %zu is not of the declared type and shape", i);
    }
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    model_free(model);
    return result;
}

/*
 * libonnx 1.12 infers ConvTranspose against the text: with output_shape it forgets batch and channels, with
 * SAME_UPPER and SAME_LOWER it adds output_padding.
 */
static bool inference_is_right(const struct test_case *c)
{
    const struct model *model = test_case_model(c, NULL);
    bool right = true;
    for (size_t i = 0; i < model->graph->n_node; i++)
        right &= strcmp(model->graph->node[i]->op_type, "ConvTranspose") != 0;
    return right;
}

static int check_case(const struct test_case *c, struct error *err)
{
    const uint8_t *bytes;
    uint8_t *inferred = NULL;
    size_t size, inferred_size;
    if (test_case_bytes(c, &bytes, &size, err) || onnx_check(bytes, size, err) == -1)
        return -1;
    if (inference_is_right(c) && onnx_infer_shapes(bytes, size, 1, &inferred, &inferred_size, err) == -1)
        return -1;
    free(inferred);
    return evaluate_case(c, err);
}

static void complain(const struct test_case *c, const struct error *err)
{
    char *text = NULL;
    const uint8_t *bytes;
    size_t size;
    if (!test_case_bytes(c, &bytes, &size, NULL))
        onnx_print_text(bytes, size, &text, NULL);
    print_error("%s\n  %s\n%s\n", c->recipe, err->message, text ? text : "");
    free(text);
}

#endif
