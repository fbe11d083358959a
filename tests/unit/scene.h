/* A panel of engines, and cases from ONNX text for it: for tests of what runs cases and judges them. */
#ifndef UNIT_SCENE_H
#define UNIT_SCENE_H

#include "bad_engines.h"
#include "base/str.h"
#include "case/test_case.h"
#include "model/onnx.h"

#include <stdint.h>
#include <string.h>

#define LABELS(...) \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

struct scene {
    struct registry *registry;
    struct panel panel; /* with the reference as arbiter */
    char folder[40];    /* an empty one */
};

static inline void scene_open(struct scene *scene, const char *const *labels, size_t count)
{
    struct error err = {0};
    struct pool_options limits = {.deadline = 20, .start_deadline = 60};
    *scene = (struct scene){.registry = open_registry(), .folder = "/tmp/assay-unit-XXXXXX"};
    assert_non_null(mkdtemp(scene->folder));
    if (panel_open(&scene->panel, scene->registry,
                   given_all_typed(registry_arena(scene->registry), labels, count), &limits, &err) ||
        panel_add_reference(&scene->panel, scene->registry, &err))
        fail_msg("%s", err.message);
}

/* Nothing stays behind, not even a process. */
static inline void scene_close(struct scene *scene)
{
    panel_close(&scene->panel);
    assert_true(no_children());
    registry_free(scene->registry);
    assert_int_equal(file_remove_tree(scene->folder, NULL), 0);
}

/* text: a graph, "g (float[3] x) => (float[3] y) { y = Relu(x) }". */
static inline struct model *model_of_text(const char *text)
{
    struct error err = {0};
    uint8_t *bytes;
    size_t size;
    struct model *model;
    struct str whole;
    str_init(&whole);
    str_printf(&whole, "<ir_version: 8, opset_import: [\"\" : 13]> %s", text);
    if (onnx_parse_text(whole.data, &bytes, &size, &err) || model_parse(&model, bytes, size, &err))
        fail_msg("%s", err.message);
    free(bytes);
    str_release(&whole);
    return model;
}

/* The value of one input of the model: elements first, first + 1 ...; open dimensions are 1. */
static inline struct value value_for(const Onnx__ValueInfoProto *info, long double first)
{
    const Onnx__TypeProto__Tensor *type = info->type->tensor_type;
    struct value value;
    struct tensor tensor;
    struct shape shape = {0};
    for (size_t i = 0; i < type->shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
        bool fixed = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        shape.dims[shape.rank++] = fixed ? dim->dim_value : 1;
    }
    assert_int_equal(tensor_alloc(&tensor, (enum dtype)type->elem_type, &shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, first + (long double)i);
    value_init(&value);
    value_set_name(&value, info->name);
    value_set_tensor(&value, &tensor);
    return value;
}

/* The case of a graph and such inputs. */
static inline struct test_case *case_of_text(const char *text, long double first)
{
    struct model *model = model_of_text(text);
    struct test_case *test = test_case_new(model);
    for (size_t i = 0; i < model->graph->n_input; i++) {
        struct value value = value_for(model->graph->input[i], first);
        assert_int_equal(test_case_add_inputs(test, &value, 1, NULL), 0);
        value_release(&value);
    }
    return test;
}

/* Concat is the third node; fault=concat-three leaves its last input out. */
#define JOINED \
    "g (float[4] x) => (float[12] y) { r = Relu(x) a = Abs(x) c = Concat<axis = 0>(r, a, x) y = Neg(c) }"

/* What the engine that gives its inputs back gets right. */
#define COPIED "g (float[4] x) => (float[4] y) { y = Identity(x) }"

#endif
