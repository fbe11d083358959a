/* Operators as they were before opset 11: attributes where there are inputs now. */
#include "eval/evaluate.h"
#include "model/build.h"
#include "model/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES(...) ((const char *[]){__VA_ARGS__})

static const struct shape six = {1, {6}};

/* One node on [-3, -1, 0, 2, 5, 9]. */
struct scene {
    struct model *model;
    Onnx__NodeProto *node;
    struct bounded *results;
    size_t count;
    struct error err;
};

static void scene_open(struct scene *scene, int opset, const char *op)
{
    *scene = (struct scene){.model = model_new(opset)};
    model_add_input(scene->model, "x", DTYPE_FLOAT, &six);
    scene->node = model_add_node(scene->model, op, "node", 1, NAMES("x"), 1, NAMES("y"));
    model_add_output(scene->model, "y", DTYPE_FLOAT, NULL);
}

static int scene_run(struct scene *scene)
{
    static const float x[] = {-3, -1, 0, 2, 5, 9};
    struct evaluator *evaluator;
    struct tensor tensor;
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, &six, x, sizeof x, NULL), 0);
    struct value input = {.name = "x", .kind = VALUE_TENSOR, .count = 1, .tensors = &tensor};
    int status = evaluator_new(&evaluator, scene->model, NULL, &scene->err);
    if (!status)
        status = evaluator_run(evaluator, &input, 1, NULL, 0, &scene->results, &scene->count, &scene->err);
    evaluator_free(evaluator);
    tensor_release(&tensor);
    return status;
}

static void check(struct scene *scene, size_t count, const double *due)
{
    if (scene_run(scene))
        fail_msg("%s", scene->err.message);
    assert_int_equal(scene->results[0].count, count);
    for (size_t i = 0; i < count; i++)
        assert_true((double)scene->results[0].value[i] == due[i]);
    bounded_release(&scene->results[0]);
    free(scene->results);
    model_free(scene->model);
}

static void clip_takes_its_limits_from_attributes(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 9, "Clip");
    node_set_float(&scene.model->arena, scene.node, "min", 0);
    node_set_float(&scene.model->arena, scene.node, "max", 6);
    check(&scene, 6, (double[]){0, 0, 0, 2, 5, 6});
    scene_open(&scene, 10, "Clip");
    node_set_float(&scene.model->arena, scene.node, "max", 1);
    check(&scene, 6, (double[]){-3, -1, 0, 1, 1, 1});
}

static void slice_and_pad_take_lists_from_attributes(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 9, "Slice");
    node_set_ints(&scene.model->arena, scene.node, "starts", (int64_t[]){1}, 1);
    node_set_ints(&scene.model->arena, scene.node, "ends", (int64_t[]){-2}, 1);
    check(&scene, 3, (double[]){-1, 0, 2});
    scene_open(&scene, 8, "Pad");
    node_set_ints(&scene.model->arena, scene.node, "pads", (int64_t[]){1, 2}, 2);
    node_set_float(&scene.model->arena, scene.node, "value", 7);
    check(&scene, 9, (double[]){7, -3, -1, 0, 2, 5, 9, 7, 7});
}

static void what_meant_something_else_is_unsupported(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 5, "Cast"); /* its type was a word */
    assert_int_equal(scene_run(&scene), -1);
    assert_int_equal(scene.err.code, ERROR_UNSUPPORTED);
    model_free(scene.model);
}

static void what_never_changed_is_known(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 6, "Relu");
    check(&scene, 6, (double[]){0, 0, 0, 2, 5, 9});
    scene_open(&scene, 1, "Abs");
    check(&scene, 6, (double[]){3, 1, 0, 2, 5, 9});
}

/* What the table says of every operator is what libonnx has. */
static void no_operator_is_older_than_it_is(void **state)
{
    (void)state;
    struct onnx_schema schema;
    struct error err = {0};
    for (size_t i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        if (*op->owner) /* which is not ONNX: libonnx has no schemas of these, or only what it is told */
            continue;
        if (op->since <= onnx_max_opset() && onnx_schema("", op->name, op->since, &schema, &err))
            fail_msg("%s: %s", op->name, err.message);
        for (int opset = 1; opset < op->since && opset <= onnx_max_opset(); opset++)
            if (!onnx_schema("", op->name, opset, &schema, &err))
                fail_msg("%s is in opset %d, and the table says %d", op->name, opset, op->since);
    }
}

static void what_came_later_is_invalid(void **state)
{
    (void)state;
    struct scene scene;
    struct evaluator *evaluator;
    scene_open(&scene, 8, "Sign");
    assert_int_equal(evaluator_new(&evaluator, scene.model, NULL, &scene.err), -1);
    assert_int_equal(scene.err.code, ERROR_INVALID);
    model_free(scene.model);
    scene_open(&scene, 9, "Sign");
    check(&scene, 6, (double[]){-1, -1, 0, 1, 1, 1});
}

/* Axes are an attribute of it up to opset 17. */
static void what_became_an_input_later_is_none_before(void **state)
{
    (void)state;
    const struct shape one = {1, {1}};
    for (int opset = 17; opset <= 18; opset++) {
        struct bounded x = {.type = DTYPE_FLOAT, .shape = six, .count = 6};
        struct bounded axes = {.type = DTYPE_INT64, .shape = one, .count = 1};
        long double zero = 0;
        axes.value = &zero;
        struct model *model = model_new(opset);
        struct bounded y = {0};
        struct error err = {0};
        const Onnx__NodeProto *node =
            model_add_node(model, "ReduceL1", "node", 2, NAMES("x", "axes"), 1, NAMES("y"));
        const struct bounded *inputs[] = {&x, &axes};
        assert_int_equal(infer_node(opset, node, inputs, 2, &y, 1, &err), opset == 18 ? 0 : -1);
        assert_true(opset == 18 || err.code == ERROR_INVALID);
        bounded_release(&y);
        model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clip_takes_its_limits_from_attributes),
        cmocka_unit_test(slice_and_pad_take_lists_from_attributes),
        cmocka_unit_test(what_meant_something_else_is_unsupported),
        cmocka_unit_test(what_never_changed_is_known),
        cmocka_unit_test(no_operator_is_older_than_it_is),
        cmocka_unit_test(what_came_later_is_invalid),
        cmocka_unit_test(what_became_an_input_later_is_none_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
