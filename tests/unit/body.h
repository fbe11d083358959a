/* A graph as ONNX text, run by the reference. */
#ifndef UNIT_BODY_H
#define UNIT_BODY_H

#include "eval/evaluate.h"
#include "model/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Runs a model without inputs; one output. */
static int run_body(int opset, const char *body, const struct evaluate_options *options,
                    struct bounded *result, struct error *err)
{
    char text[1000];
    uint8_t *bytes;
    size_t size, count;
    struct model *model;
    struct evaluator *evaluator;
    struct bounded *results;
    snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\" : %d]> g () => (float y) { %s }", opset,
             body);
    if (onnx_parse_text(text, &bytes, &size, err) || model_parse(&model, bytes, size, err))
        fail_msg("%s", err->message);
    int status = evaluator_new(&evaluator, model, options, err) ||
                 evaluator_run(evaluator, NULL, 0, NULL, 0, &results, &count, err);
    if (!status) {
        assert_int_equal(count, 1);
        *result = results[0];
        free(results);
    }
    evaluator_free(evaluator);
    model_free(model);
    free(bytes);
    return status ? -1 : 0;
}

#endif
