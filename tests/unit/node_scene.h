/* One node on numbers that anyone can check by hand. */
#ifndef TESTS_NODE_SCENE_H
#define TESTS_NODE_SCENE_H

#include "eval/evaluate.h"
#include "model/build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { INPUTS = 8, OPSET = 24 };

/* A node with its inputs: {rank, sizes} and numbers; a NULL for one that is omitted. */
struct scene {
    struct model *model;
    Onnx__NodeProto *node;
    size_t count;
    struct tensor tensors[INPUTS];
    const struct tensor *given[INPUTS];
};

static inline void give(struct scene *scene, enum dtype type, struct shape shape, const double *values)
{
    struct tensor *tensor = &scene->tensors[scene->count];
    assert_int_equal(tensor_alloc(tensor, type, &shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(tensor, i, (long double)values[i]);
    scene->given[scene->count++] = tensor;
}

static inline void begin_at(struct scene *scene, int opset, const char *op_type, size_t inputs)
{
    static const char *const names[INPUTS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    *scene = (struct scene){.model = model_new(opset)};
    scene->node = model_add_node(scene->model, op_type, "n", inputs, names, 1, (const char *[]){"y"});
}

static inline void begin(struct scene *scene, const char *op_type, size_t inputs)
{
    begin_at(scene, OPSET, op_type, inputs);
}

static inline void set_int(struct scene *scene, const char *name, int64_t value)
{
    node_set_int(&scene->model->arena, scene->node, name, value);
}

/* Evaluates the node; the scene is over. */
static inline int run(struct scene *scene, struct bounded *y, struct error *err)
{
    int result = evaluate_node(scene->model, scene->node, scene->given, NULL, 0, NULL, false, y, 1, err);
    for (size_t i = 0; i < scene->count; i++)
        tensor_release(&scene->tensors[i]);
    model_free(scene->model);
    return result;
}

/* Evaluates the node and compares; NAN in `wanted`: the element must be left open. */
static inline void end(struct scene *scene, const double *wanted, size_t count)
{
    struct bounded y;
    struct error err = {0};
    if (run(scene, &y, &err))
        fail_msg("%s", err.message);
    assert_int_equal(y.count, count);
    for (size_t i = 0; i < count; i++) {
        if (isnan(wanted[i]))
            assert_true(isinf(bounded_hard(&y, i)) && isinf(bounded_likely(&y, i)));
        else
            assert_true(fabsl(y.value[i] - wanted[i]) < 1e-6L && bounded_hard(&y, i) < 1e-4);
    }
    bounded_release(&y);
}

#endif
