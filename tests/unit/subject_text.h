/* Subjects of the reducer from the text of a model, for its tests. Include behind cmocka.h. */
#ifndef TESTS_SUBJECT_TEXT_H
#define TESTS_SUBJECT_TEXT_H

#include "eval/evaluate.h"
#include "model/onnx.h"
#include "reduce/pass.h"

/* Values that every type holds; index and condition inputs among them stay legal: 0 and 1. */
static inline void fill(struct tensor *tensor)
{
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(tensor, i,
                   dtype_is_float(tensor->type) ? 0.375L * (long double)i - 1 : (long double)(i % 2));
}

static inline void subject_from_text(struct subject *subject, const char *text)
{
    struct error err = {0};
    uint8_t *bytes;
    size_t size;
    if (onnx_parse_text(text, &bytes, &size, &err))
        fail_msg("%s", err.message);
    struct test_case *test = test_case_from_bytes(bytes, size);
    const struct model *model = test_case_model(test, NULL);
    assert_non_null(model);
    test->n_inputs = model->graph->n_input;
    test->inputs = calloc(test->n_inputs, sizeof *test->inputs);
    for (size_t i = 0; i < test->n_inputs; i++) {
        const Onnx__TypeProto__Tensor *type = model->graph->input[i]->type->tensor_type;
        struct shape shape = {.rank = type->shape ? (int)type->shape->n_dim : 0};
        struct tensor tensor;
        for (int k = 0; k < shape.rank; k++)
            shape.dims[k] = type->shape->dim[k]->dim_value;
        assert_int_equal(tensor_alloc(&tensor, (enum dtype)type->elem_type, &shape, 0, NULL), 0);
        fill(&tensor);
        value_set_name(&test->inputs[i], model->graph->input[i]->name);
        value_set_tensor(&test->inputs[i], &tensor);
    }
    assert_int_equal(subject_from_case(subject, test, &err), 0);
    test_case_free(test);
}

/* Evaluates and writes types as the reducer does; false when invalid. Values are the caller's. */
static inline bool evaluate(struct subject *subject, struct bounded **values, size_t *count)
{
    struct evaluator *evaluator;
    *values = NULL;
    *count = 0;
    if (!subject->model->graph->n_node || !subject->model->graph->n_output ||
        evaluator_new(&evaluator, subject->model, NULL, NULL))
        return false;
    int status = evaluator_run(evaluator, subject->inputs, subject->n_inputs, NULL, 0, values, count, NULL);
    evaluator_free(evaluator);
    if (!status)
        subject_settle_types(subject, NULL, *values, *count, TYPES_OUTPUTS);
    return !status;
}

static inline void free_values(struct bounded *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bounded_release(&values[i]);
    free(values);
}

static inline bool apply(struct subject *copy, const struct subject *from, const struct record *record,
                         const struct pass *pass, const struct edit *edit)
{
    assert_int_equal(subject_copy(copy, from, NULL), 0);
    bool made = pass->apply(copy, record, edit) == 0;
    if (made)
        subject_prune(copy);
    return made;
}

#endif
