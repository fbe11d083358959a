#include "joined_model.h"
#include "locate/localize.h"
#include "model/build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct shape eight = {2, {2, 4}};

struct scene {
    struct registry *registry;
    struct pool *pool;
    struct model *model;
    struct tensor x;
    struct value input;
    struct test_case *test;
    struct localization found;
    int status;
    struct error err;
};

/* Localises by swapping from the healthy rounding reference to another engine. Takes the model over. */
static void scene_run(struct scene *scene, struct model *model, const char *engine)
{
    const struct engine_spec *spec;
    *scene = (struct scene){.model = model};
    assert_int_equal(registry_open(&scene->registry, NULL, 0, NULL), 0);
    scene->pool = pool_new(&(struct pool_options){0});
    const char *labels[] = {"reference:round=on", engine};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(registry_find(scene->registry,
                                       given_typed(registry_arena(scene->registry), labels[i]), &spec, NULL),
                         0);
        pool_add(scene->pool, spec);
    }
    const float values[] = {1, -2, 3, -0.5F, 0.25F, 2, -3, 4};
    assert_int_equal(tensor_alloc(&scene->x, DTYPE_FLOAT, &eight, 0, NULL), 0);
    for (size_t i = 0; i < 8; i++)
        tensor_set(&scene->x, i, (long double)values[i]);
    scene->input = (struct value){.name = "x", .kind = VALUE_TENSOR, .count = 1, .tensors = &scene->x};
    scene->test = test_case_view(model, &scene->input, 1);
    struct localize_case which = {
        .pool = scene->pool, .engine = 0, .second = 1, .test = scene->test, .method = LOCALIZE_SWAP};
    scene->status = localize(&scene->found, &which, &scene->err);
}

static void scene_close(struct scene *scene)
{
    localization_release(&scene->found);
    test_case_free(scene->test);
    tensor_release(&scene->x);
    model_free(scene->model);
    pool_free(scene->pool);
    registry_free(scene->registry);
}

static void nothing_changes_between_healthy_engines(void **state)
{
    (void)state;
    struct scene scene;
    scene_run(&scene, joined(&eight), "reference:round=on,threads=2");
    assert_int_equal(scene.status, 0);
    const struct swapped *swapped = &scene.found.swapped;
    assert_int_equal(swapped->n_nodes, 5);
    assert_int_equal(swapped->n_swapped, 5);
    assert_int_equal(swapped->n_suspects, 0);
    for (size_t i = 0; i < 5; i++)
        assert_true(swapped->nodes[i].delta_c == 0);
    scene_close(&scene);
}

static void a_node_with_a_fault_is_the_only_suspect_and_is_confirmed(void **state)
{
    (void)state;
    struct scene scene;
    scene_run(&scene, joined(&eight), "reference:round=on,fault=concat-three");
    assert_int_equal(scene.status, 0);
    const struct swapped *swapped = &scene.found.swapped;
    assert_int_equal(swapped->n_suspects, 1);
    assert_int_equal(swapped->suspects[0], 2);
    assert_int_equal(swapped->n_wrong, 1);
    assert_true(swapped->confirmed);
    assert_true(swapped->verify_c == 0);
    assert_int_equal(swapped->nodes[2].verdicts[0], VERDICT_AGREES);
    assert_int_equal(swapped->nodes[2].verdicts[1], VERDICT_WRONG);
    /* The mean of tanh|x| over the elements lost, of which there are 8 in 24. */
    double lost = 0;
    for (size_t i = 0; i < 8; i++)
        lost += tanh(fabs((double)tensor_get(&scene.x, i)));
    assert_true(fabs(swapped->nodes[2].delta_c - lost / 24) < 1e-6);
    for (size_t i = 0; i < 5; i++)
        assert_true(i == 2 || swapped->nodes[i].delta_c == 0);
    scene_close(&scene);
}

/* Each node runs once on the first engine and as often on the second as its inputs differ: Relu, Abs and
 * Concat once, Tanh and Neg once more, on what the swapped Concat gives. */
static void what_a_swap_does_not_reach_runs_once(void **state)
{
    (void)state;
    struct scene scene;
    scene_run(&scene, joined(&eight), "reference:round=on,fault=concat-three");
    const size_t second[] = {1, 1, 1, 2, 2};
    /* A run of the first binding alone, then one of all bindings. */
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(scene.found.swapped.nodes[i].made.runs, 1 + 1 + second[i]);
    scene_close(&scene);
}

/* Large numbers behind the fault saturate: the outputs do not change, but the node is wrong. */
static void what_the_rest_of_the_model_hides_is_found_by_its_bounds(void **state)
{
    (void)state;
    struct scene scene;
    const struct shape scalar = {.rank = 0};
    struct tensor zero;
    assert_int_equal(tensor_alloc(&zero, DTYPE_FLOAT, &scalar, 0, NULL), 0);
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &eight);
    model_add_initializer(model, "zero", &zero);
    Onnx__NodeProto *concat =
        model_add_node(model, "Concat", "concat", 3, NAMES("x", "x", "x"), 1, NAMES("c"));
    node_set_int(&model->arena, concat, "axis", 1);
    model_add_node(model, "Mul", "mul", 2, NAMES("c", "zero"), 1, NAMES("m"));
    model_add_node(model, "Abs", "abs", 1, NAMES("m"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    scene_run(&scene, model, "reference:round=on,fault=concat-three");
    assert_int_equal(scene.status, 0);
    assert_true(scene.found.swapped.nodes[0].delta_c == 0);
    assert_int_equal(scene.found.swapped.n_suspects, 1);
    assert_int_equal(scene.found.swapped.suspects[0], 0);
    assert_int_equal(scene.found.swapped.nodes[0].verdicts[1], VERDICT_WRONG);
    tensor_release(&zero);
    scene_close(&scene);
}

static void a_node_on_which_one_engine_dies_is_a_suspect(void **state)
{
    (void)state;
    struct scene scene;
    const struct shape weights = {2, {3, 4}};
    struct tensor w;
    assert_int_equal(tensor_alloc(&w, DTYPE_FLOAT, &weights, 0, NULL), 0);
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &eight);
    model_add_initializer(model, "w", &w);
    Onnx__NodeProto *gemm = model_add_node(model, "Gemm", "gemm", 2, NAMES("x", "w"), 1, NAMES("g"));
    node_set_int(&model->arena, gemm, "transB", 1);
    model_add_node(model, "Relu", "relu", 1, NAMES("g"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    scene_run(&scene, model, "reference:round=on,fault=gemm-shape-crash");
    assert_int_equal(scene.status, 0);
    const struct swapped *swapped = &scene.found.swapped;
    assert_int_equal(swapped->n_suspects, 1);
    assert_int_equal(swapped->suspects[0], 0);
    assert_true(swapped->nodes[0].made.died[1]);
    assert_true(isinf(swapped->nodes[0].delta_c));
    assert_int_equal(swapped->n_swapped, 1);
    tensor_release(&w);
    scene_close(&scene);
}

/* Under deconv-shape the output is too small, and what comes behind it cannot be added. */
static void a_node_that_makes_the_next_one_fail_is_the_suspect(void **state)
{
    (void)state;
    struct scene scene;
    const struct shape weights = {4, {1, 1, 3, 3}}, image = {4, {1, 1, 2, 4}}, large = {4, {1, 1, 6, 10}};
    struct tensor w, added, form;
    assert_int_equal(tensor_alloc(&w, DTYPE_FLOAT, &weights, 0, NULL), 0);
    assert_int_equal(tensor_alloc(&added, DTYPE_FLOAT, &large, 0, NULL), 0);
    assert_int_equal(tensor_alloc(&form, DTYPE_INT64, &(struct shape){1, {4}}, 0, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        tensor_set(&form, i, (long double)image.dims[i]);
    for (size_t i = 0; i < 9; i++)
        tensor_set(&w, i, 1 + (long double)i);
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &eight);
    model_add_initializer(model, "form", &form);
    model_add_initializer(model, "w", &w);
    model_add_initializer(model, "added", &added);
    model_add_node(model, "Reshape", "reshape", 2, NAMES("x", "form"), 1, NAMES("i"));
    Onnx__NodeProto *node =
        model_add_node(model, "ConvTranspose", "wider", 2, NAMES("i", "w"), 1, NAMES("c"));
    node_set_ints(&model->arena, node, "strides", (int64_t[]){2, 2}, 2);
    node_set_ints(&model->arena, node, "output_padding", (int64_t[]){1, 1}, 2);
    model_add_node(model, "Add", "add", 2, NAMES("c", "added"), 1, NAMES("s"));
    model_add_node(model, "Relu", "relu", 1, NAMES("s"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    scene_run(&scene, model, "reference:round=on,fault=deconv-shape");
    if (scene.status)
        fail_msg("%s", scene.err.message);
    const struct swapped *swapped = &scene.found.swapped;
    assert_int_equal(swapped->n_suspects, 1);
    assert_int_equal(swapped->suspects[0], 1);
    assert_true(isinf(swapped->nodes[1].delta_c));
    assert_int_equal(swapped->n_swapped, 4);
    assert_true(swapped->confirmed);
    tensor_release(&w);
    tensor_release(&added);
    tensor_release(&form);
    scene_close(&scene);
}

static void an_engine_that_does_not_start_is_named(void **state)
{
    (void)state;
    struct scene scene;
    scene_run(&scene, joined(&eight), "reference:fault=no-such-fault");
    assert_int_equal(scene.status, -1);
    assert_non_null(strstr(scene.err.message, "no-such-fault"));
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_between_healthy_engines),
        cmocka_unit_test(a_node_with_a_fault_is_the_only_suspect_and_is_confirmed),
        cmocka_unit_test(what_a_swap_does_not_reach_runs_once),
        cmocka_unit_test(what_the_rest_of_the_model_hides_is_found_by_its_bounds),
        cmocka_unit_test(a_node_on_which_one_engine_dies_is_a_suspect),
        cmocka_unit_test(a_node_that_makes_the_next_one_fail_is_the_suspect),
        cmocka_unit_test(an_engine_that_does_not_start_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
