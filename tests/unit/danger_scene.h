/* What the tests of search/danger and search/danger_climb share: a small model with a meter on it. */
#ifndef TESTS_DANGER_SCENE_H
#define TESTS_DANGER_SCENE_H

#include "model/onnx.h"
#include "search/danger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct scene {
    struct model *model;
    struct danger_meter *meter;
    size_t measured; /* times, by those who count */
};

/* A model with the given inputs ("float[4] x") and nodes, whose last value is z, of the given type. */
static inline struct scene scene_make(const char *inputs, const char *nodes, const char *z)
{
    struct scene scene = {NULL, NULL, 0};
    struct error err = {0};
    uint8_t *bytes;
    size_t size;
    char text[1024];
    snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\": 17]>\ng (%s) => (%s z) {\n%s\n}\n",
             inputs, z, nodes);
    if (onnx_parse_text(text, &bytes, &size, &err) || model_parse(&scene.model, bytes, size, &err) ||
        danger_meter_new(&scene.meter, scene.model, &err))
        fail_msg("%s", err.message);
    free(bytes);
    return scene;
}

static inline void scene_drop(struct scene *scene)
{
    danger_meter_free(scene->meter);
    model_free(scene->model);
}

/* An input of floats, which the caller releases. */
static inline struct value scene_input(const char *name, const float *elements, size_t count)
{
    struct tensor tensor;
    struct value value;
    struct shape shape = {.rank = 1, .dims = {(int64_t)count}};
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, NULL), 0);
    memcpy(tensor.data, elements, count * sizeof *elements);
    value_init(&value);
    value_set_name(&value, name);
    value_set_tensor(&value, &tensor);
    return value;
}

#endif
