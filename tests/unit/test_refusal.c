/* Whether an engine lacks what it refuses, asked of ONNX Runtime. Skipped where that release was not fetched
 * (tools/setup brings it). */
#include "locate/refusal.h"
#include "model/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MESON_SKIP = 77 };

static const char optimised[] = "onnxruntime@1.17.0:opt=all", plain[] = "onnxruntime@1.17.0:opt=none";

/* There is no QuantizeLinear of int32; the optimiser stumbles over the Clip before that shows. */
static const char no_kernel[] = "<ir_version: 8, opset_import: [\"\" : 12]>"
                                "g (int32[4] x, float scale) => (uint8[4] y) <int32 low = {0}>"
                                "{ c = Clip(x, low) y = QuantizeLinear(c, scale) }";

/* The optimiser wants a Clip of float32; without it both run. */
static const char fused[] = "<ir_version: 8, opset_import: [\"\" : 13]>"
                            "g (double[4] x) => (double[4] y) <double low = {-1.0}>"
                            "{ r = Relu(x) y = Clip(r, low) }";

/* The same as the first, beside an operator that the reference lacks. */
static const char unknown[] = "<ir_version: 8, opset_import: [\"\" : 12, \"ai.onnx.ml\" : 2]>"
                              "g (int32[4] x, float scale, float[4] z) => (uint8[4] y, float[4] b)"
                              "<int32 low = {0}>"
                              "{ c = Clip(x, low) y = QuantizeLinear(c, scale) b = ai.onnx.ml.Binarizer(z) }";

/* OpenCV takes no products of vectors in any release. Sums of scalars 4.6 does not take, and 4.10 does. */
static const char vectors[] = "<ir_version: 8, opset_import: [\"\" : 13]>"
                              "g (float[4] a, float[4] b) => (float y) { y = MatMul(a, b) }";
static const char scalars[] = "<ir_version: 8, opset_import: [\"\" : 13]>"
                              "g (float scale) => (float y) { y = Add(scale, scale) }";

/* ONNX Runtime takes one zero point of the first operand in any release, and not one for each row. Of a
 * normalisation over one element 1.23 says that it must be more than one, and 1.24 takes it. */
static const char zero_points[] = "<ir_version: 8, opset_import: [\"\" : 13]>"
                                  "g (int8[2,2] a, int8[2,2] b, int8[2] z) => (int32[2,2] y)"
                                  "{ y = MatMulInteger(a, b, z) }";
static const char zero_point[] = "<ir_version: 8, opset_import: [\"\" : 13]>"
                                 "g (int8[2,2] a, int8[2,2] b, int8[1] z) => (int32[2,2] y)"
                                 "{ y = MatMulInteger(a, b, z) }";
static const char normal_of_one[] = "<ir_version: 8, opset_import: [\"\" : 17]>"
                                    "g (float[2,1] x, float[1] s) => (float[2,1] y)"
                                    "{ y = LayerNormalization<axis = -1>(x, s) }";

/* A model on one engine, with inputs of ones. */
struct scene {
    struct pool *pool;
    struct model *model;
    struct test_case *test;
    struct settle_case which;
    struct value inputs[3];
    struct result ended;
};

static const void *ones(enum dtype type)
{
    static const int8_t bytes[] = {1, 1, 1, 1};
    static const int32_t ints[] = {1, 1, 1, 1};
    static const float floats[] = {1, 1, 1, 1};
    static const double doubles[] = {1, 1, 1, 1};
    return type == DTYPE_INT8    ? (const void *)bytes
           : type == DTYPE_INT32 ? (const void *)ints
           : type == DTYPE_FLOAT ? (const void *)floats
                                 : (const void *)doubles;
}

static void make_inputs(struct scene *scene)
{
    for (size_t i = 0; i < scene->model->graph->n_input; i++) {
        const Onnx__ValueInfoProto *info = scene->model->graph->input[i];
        const Onnx__TensorShapeProto *declared = info->type->tensor_type->shape;
        enum dtype type = (enum dtype)info->type->tensor_type->elem_type;
        struct shape shape = {.rank = (int)declared->n_dim};
        struct tensor tensor;
        size_t count = 1;
        for (size_t k = 0; k < declared->n_dim; k++)
            count *= (size_t)(shape.dims[k] = declared->dim[k]->dim_value);
        assert_true(count <= 4);
        assert_int_equal(tensor_from_bytes(&tensor, type, &shape, ones(type), count * dtype_size(type), NULL),
                         0);
        value_init(&scene->inputs[i]);
        value_set_name(&scene->inputs[i], info->name);
        value_set_tensor(&scene->inputs[i], &tensor);
    }
}

static void scene_open(struct scene *scene, struct registry *registry, const char *label, const char *text)
{
    struct error err = {0};
    const struct engine_spec *spec;
    uint8_t *bytes;
    size_t size;
    *scene = (struct scene){0};
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), label), &spec, &err), 0);
    if (onnx_parse_text(text, &bytes, &size, &err) || model_parse(&scene->model, bytes, size, &err))
        fail_msg("%s", err.message);
    make_inputs(scene);
    scene->test = test_case_view(scene->model, scene->inputs, scene->model->graph->n_input);
    scene->pool = pool_new(&(struct pool_options){.deadline = 60, .registry = registry});
    scene->which =
        (struct settle_case){.pool = scene->pool, .engine = pool_add(scene->pool, spec), .test = scene->test};
    struct job job = {.engine = scene->which.engine,
                      .model = bytes,
                      .model_size = size,
                      .inputs = scene->inputs,
                      .n_inputs = scene->test->n_inputs};
    result_init(&scene->ended);
    assert_int_equal(pool_run_one(scene->pool, &job, &scene->ended, &err), 0);
    free(bytes);
}

static void scene_close(struct scene *scene)
{
    for (size_t i = 0; i < scene->test->n_inputs; i++)
        value_release(&scene->inputs[i]);
    result_release(&scene->ended);
    test_case_free(scene->test);
    model_free(scene->model);
    pool_free(scene->pool);
}

static void what_is_lacking_is_asked_once(void **state)
{
    struct scene scene;
    struct refusals *known = refusals_new(true);
    scene_open(&scene, *state, optimised, no_kernel);
    assert_int_equal(scene.ended.outcome, OUTCOME_REJECTED); /* in other words than those of a lack */
    struct verdict first = {.kind = VERDICT_REJECTED, .text = "at load: something"}, second = first;
    assert_true(refusal_decide(known, &scene.which, &scene.ended, &first));
    assert_int_equal(first.kind, VERDICT_UNSUPPORTED);
    assert_non_null(strstr(first.text, "QuantizeLinear (node y) is not supported alone"));
    size_t asked = refusals_asked(known);
    assert_int_equal(asked, 3); /* the whole at opt=none, and two nodes */
    assert_true(refusal_decide(known, &scene.which, &scene.ended, &second));
    assert_int_equal(refusals_asked(known), asked + 1); /* the whole */
    assert_int_equal(second.kind, VERDICT_UNSUPPORTED);
    assert_string_equal(second.text, first.text);
    refusals_free(known);
    scene_close(&scene);
}

static void what_runs_unoptimised_is_not_lacking(void **state)
{
    struct scene scene;
    struct verdict verdict = {.kind = VERDICT_REJECTED, .text = "at load: something"};
    scene_open(&scene, *state, optimised, fused);
    assert_int_equal(scene.ended.outcome, OUTCOME_REJECTED);
    assert_false(refusal_decide(NULL, &scene.which, &scene.ended, &verdict));
    assert_int_equal(verdict.kind, VERDICT_REJECTED);
    assert_string_equal(verdict.text, "at load: something");
    scene_close(&scene);
}

static void what_cannot_be_asked_blames_nobody(void **state)
{
    struct scene scene;
    scene_open(&scene, *state, plain, unknown);
    /* In the words of a lack, and in others. */
    struct verdict verdict = {.kind = VERDICT_REJECTED}, other = {.kind = VERDICT_FAILED};
    assert_int_equal(scene.ended.outcome, OUTCOME_UNSUPPORTED);
    assert_true(refusal_decide(NULL, &scene.which, &scene.ended, &verdict));
    assert_int_equal(verdict.kind, VERDICT_UNSUPPORTED);
    assert_non_null(strstr(verdict.text, "could not be asked"));
    scene.ended.outcome = OUTCOME_REJECTED;
    assert_true(refusal_decide(NULL, &scene.which, &scene.ended, &other));
    assert_int_equal(other.kind, VERDICT_UNDECIDED);
    scene_close(&scene);
}

static void other_verdicts_are_left_alone(void **state)
{
    struct scene scene;
    static const enum verdict_kind kinds[] = {VERDICT_OPEN, VERDICT_SUSPECT, VERDICT_UNSUPPORTED,
                                              VERDICT_CRASH, VERDICT_WRONG};
    scene_open(&scene, *state, optimised, no_kernel);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct verdict verdict = {.kind = kinds[i]};
        assert_false(refusal_decide(NULL, &scene.which, &scene.ended, &verdict));
        assert_int_equal(verdict.kind, kinds[i]);
    }
    scene_close(&scene);
}

static bool has_engine(struct registry *registry, const char *label)
{
    const struct engine_spec *spec;
    return !registry_find(registry, given_typed(registry_arena(registry), label), &spec, NULL);
}

/* What becomes of the refusal of a model by an engine; of one that is not refused, VERDICT_UNTESTED. */
static enum verdict_kind decided(struct registry *registry, const char *label, const char *text)
{
    struct scene scene;
    struct verdict verdict = {0};
    scene_open(&scene, registry, label, text);
    if (scene.ended.outcome == OUTCOME_REJECTED || scene.ended.outcome == OUTCOME_FAILED) {
        verdict.kind = VERDICT_REJECTED;
        refusal_decide(NULL, &scene.which, &scene.ended, &verdict);
    }
    scene_close(&scene);
    return verdict.kind;
}

static void a_form_that_no_case_has_taken_is_a_limitation(void **state)
{
    if (!has_engine(*state, "opencv"))
        skip();
    assert_int_equal(decided(*state, "opencv", vectors), VERDICT_LIMITATION);
}

/* One zero point or none is taken; in words about the number of elements, several are not. */
static void a_number_of_elements_that_no_case_has_taken_is_a_limitation(void **state)
{
    assert_int_equal(decided(*state, optimised, zero_points), VERDICT_LIMITATION);
    assert_int_equal(decided(*state, optimised, zero_point), VERDICT_UNTESTED);
}

static void a_number_of_elements_that_another_release_takes_is_a_bug(void **state)
{
    static const char older[] = "onnxruntime@1.23.2";
    if (!has_engine(*state, older) || !has_engine(*state, "onnxruntime@1.24.1"))
        skip();
    assert_int_equal(decided(*state, older, normal_of_one), VERDICT_REJECTED);
}

static void a_form_that_another_release_takes_is_a_bug(void **state)
{
    if (!has_engine(*state, "opencv") || !has_engine(*state, "opencv@4.10.0"))
        skip();
    assert_int_equal(decided(*state, "opencv@4.10.0", scalars), VERDICT_UNTESTED);
    enum verdict_kind older = decided(*state, "opencv", scalars);
    if (older == VERDICT_UNTESTED) /* the system has a later one */
        skip();
    assert_int_equal(older, VERDICT_REJECTED);
}

static int open_registry(void **state)
{
    return registry_open((struct registry **)state, NULL, 0, NULL);
}

static int close_registry(void **state)
{
    registry_free(*state);
    return 0;
}

static bool is_here(void)
{
    struct error err = {0};
    struct registry *registry;
    const struct engine_spec *spec;
    bool here = !registry_open(&registry, NULL, 0, &err) &&
                !registry_find(registry, given_typed(registry_arena(registry), optimised), &spec, &err);
    registry_free(registry);
    if (!here)
        fprintf(stderr, "skipped: %s\n", err.message);
    return here;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lacking_is_asked_once),
        cmocka_unit_test(what_runs_unoptimised_is_not_lacking),
        cmocka_unit_test(what_cannot_be_asked_blames_nobody),
        cmocka_unit_test(other_verdicts_are_left_alone),
        cmocka_unit_test(a_form_that_no_case_has_taken_is_a_limitation),
        cmocka_unit_test(a_form_that_another_release_takes_is_a_bug),
        cmocka_unit_test(a_number_of_elements_that_no_case_has_taken_is_a_limitation),
        cmocka_unit_test(a_number_of_elements_that_another_release_takes_is_a_bug),
    };
    return is_here() ? cmocka_run_group_tests(tests, open_registry, close_registry) : MESON_SKIP;
}
