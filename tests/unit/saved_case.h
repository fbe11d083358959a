/* Cases in ONNX's backend-test layout in a scene's folder. */
#ifndef UNIT_SAVED_CASE_H
#define UNIT_SAVED_CASE_H

#include "case/backend_suite.h"
#include "scene.h"

#include <stdio.h>

/* "FOLDER/name/rest" of the scene, on the heap. */
static inline char *case_path(const struct scene *scene, const char *name, const char *rest)
{
    char *folder = file_join(scene->folder, name), *path = file_join(folder, rest);
    free(folder);
    return path;
}

/* A data set of the case: inputs first, first + 1 ... for the graph of this text, and its one output with
 * these elements; NULL: the set brings no answer. */
static inline void save_set(const struct scene *scene, const char *name, size_t number, const char *text,
                            long double first, const long double *answer)
{
    struct error err = {0};
    struct test_case *test = case_of_text(text, first);
    const Onnx__GraphProto *graph = test_case_model(test, NULL)->graph;
    char set[60];
    snprintf(set, sizeof set, "test_data_set_%zu", number);
    char *folder = case_path(scene, name, set);
    assert_int_equal(file_make_folders(folder, &err), 0);
    for (size_t i = 0; i < test->n_inputs; i++)
        assert_int_equal(
            suite_write_value(USERS_PATH, folder, "input", i, graph->input[i]->type, &test->inputs[i], &err),
            0);
    if (answer) {
        struct value value = value_for(graph->output[0], 0);
        for (size_t i = 0; i < value.tensors[0].count; i++)
            tensor_set(&value.tensors[0], i, answer[i]);
        assert_int_equal(
            suite_write_value(USERS_PATH, folder, "output", 0, graph->output[0]->type, &value, &err), 0);
        value_release(&value);
    }
    free(folder);
    test_case_free(test);
}

/* A case of one data set. */
static inline void save_case(const struct scene *scene, const char *name, const char *text, long double first,
                             const long double *answer)
{
    save_set(scene, name, 0, text, first, answer);
    struct model *model = model_of_text(text);
    char *path = case_path(scene, name, "model.onnx");
    assert_int_equal(model_save(model, USERS_PATH, path, NULL), 0);
    free(path);
    model_free(model);
}

#endif
