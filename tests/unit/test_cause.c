/* The cause of a failure, with planted faults: one parameter, one with conditions, several, none, data, a
 * size. */
#include "base/memory.h"
#include "base/str.h"
#include "locate/localize.h"
#include "locate/param_change.h"
#include "ops/param_value.h"
#include "model/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAMES(...) ((const char *[]){__VA_ARGS__})

struct scene {
    struct registry *registry;
    struct pool *pool;
    struct test_case *test;
    struct localization found;
};

/* x counts in steps that are no powers of two, so that no sum of a few elements is 0. */
static struct tensor numbers(enum dtype type, const struct shape *shape)
{
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, type, shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, 0.3L * (long double)(i % 7) - 0.7L + 0.01L * (long double)i);
    return tensor;
}

static void add_weight(struct model *model, const char *name, const struct shape *shape)
{
    struct tensor tensor = numbers(DTYPE_FLOAT, shape);
    model_add_initializer(model, name, &tensor);
    tensor_release(&tensor);
}

static void look_more(struct scene *scene, struct model *model, const struct shape *shape, const char *engine,
                      unsigned method)
{
    const struct engine_spec *spec;
    struct tensor x = numbers(DTYPE_FLOAT, shape);
    struct value input;
    struct error err = {0};
    *scene = (struct scene){.test = test_case_new(model)};
    value_init(&input);
    value_set_name(&input, "x");
    value_set_tensor(&input, &x);
    assert_int_equal(test_case_add_inputs(scene->test, &input, 1, NULL), 0);
    value_release(&input);
    assert_int_equal(registry_open(&scene->registry, NULL, 0, NULL), 0);
    assert_int_equal(
        registry_find(scene->registry, given_typed(registry_arena(scene->registry), engine), &spec, NULL), 0);
    scene->pool = pool_new(&(struct pool_options){0});
    pool_add(scene->pool, spec);
    assert_int_equal(registry_find(scene->registry, given_typed(registry_arena(scene->registry), "reference"),
                                   &spec, NULL),
                     0);
    pool_add(scene->pool, spec);
    struct localize_case which = {.pool = scene->pool, .test = scene->test, .method = method};
    if (localize(&scene->found, &which, &err))
        fail_msg("%s", err.message);
}

static void look(struct scene *scene, struct model *model, const struct shape *shape, const char *engine)
{
    look_more(scene, model, shape, engine, LOCALIZE_LOCAL | LOCALIZE_CAUSE);
}

static void scene_close(struct scene *scene)
{
    localization_release(&scene->found);
    pool_free(scene->pool);
    registry_free(scene->registry);
    test_case_free(scene->test);
}

static void is_cause(const struct scene *scene, const char *parameter, const char *value, const char *cure)
{
    const struct cause *cause = &scene->found.cause;
    if (cause->kind != CAUSE_PARAMETER)
        fail_msg("%s: %s", cause_kind_name(cause->kind), cause->text);
    assert_true(cause->certain);
    assert_int_equal(cause->n_parameters, 1);
    assert_string_equal(cause->parameters[0].parameter, parameter);
    assert_string_equal(cause->parameters[0].value, value);
    if (!strstr(cause->cure, cure))
        fail_msg("%s is not %s", cause->cure, cure);
}

static const struct shape image = {4, {1, 2, 6, 6}};

static struct model *conv(const char *auto_pad, int64_t stride)
{
    struct model *model = model_new(13);
    const struct shape kernel = {4, {2, 2, 3, 3}};
    model_add_input(model, "x", DTYPE_FLOAT, &image);
    add_weight(model, "w", &kernel);
    model_add_node(model, "Abs", "before", 1, NAMES("x"), 1, NAMES("a"));
    Onnx__NodeProto *node = model_add_node(model, "Conv", "conv", 2, NAMES("a", "w"), 1, NAMES("c"));
    if (auto_pad)
        node_set_string(&model->arena, node, "auto_pad", auto_pad);
    node_set_ints(&model->arena, node, "strides", (const int64_t[]){stride, stride}, 2);
    model_add_node(model, "Tanh", "behind", 1, NAMES("c"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    return model;
}

static void a_parameter_and_its_condition_are_named(void **state)
{
    (void)state;
    struct scene scene;
    look(&scene, conv("SAME_UPPER", 2), &image, "reference:fault=same-pad-side,round=on");
    is_cause(&scene, "auto_pad", "SAME_UPPER", "pads=0,0,1,1 in place of auto_pad");
    assert_int_equal(scene.found.cause.parameters[0].node, 1); /* as the whole model counts */
    assert_non_null(strstr(scene.found.cause.text, "Conv `conv`: auto_pad=SAME_UPPER with strides=2,2"));
    bool strides = false;
    for (size_t i = 0; i < scene.found.cause.n_conditions; i++)
        strides |= text_equal(scene.found.cause.conditions[i].parameter, "strides");
    assert_true(strides);
    scene_close(&scene);
}

/* The network with the cure: right, and wrong at the next node with the same fault. */
static void the_cure_is_confirmed_in_the_network(void **state)
{
    (void)state;
    const unsigned method = LOCALIZE_LOCAL | LOCALIZE_CAUSE | LOCALIZE_RERUN;
    struct scene scene;
    look_more(&scene, conv("SAME_UPPER", 2), &image, "reference:fault=same-pad-side,round=on", method);
    is_cause(&scene, "auto_pad", "SAME_UPPER", "pads=0,0,1,1 in place of auto_pad");
    assert_int_equal(scene.found.cause.rerun, RERUN_RIGHT);
    assert_non_null(strstr(scene.found.cause.text, "; with it the network is right"));
    assert_null(scene.found.cause.fixed);
    scene_close(&scene);
    struct model *model = conv(NULL, 1);
    model_add_node(model, "Conv", "again", 2, NAMES("y", "w"), 1, NAMES("z"));
    model_add_output(model, "z", DTYPE_FLOAT, NULL);
    look_more(&scene, model, &image, "reference:fault=conv-rotated,round=on", method);
    is_cause(&scene, "W", "float32 [2,2,3,3]", "W=symmetric planes");
    /* Both have the same weights. */
    assert_int_equal(scene.found.cause.rerun, RERUN_RIGHT);
    scene_close(&scene);
    model = conv(NULL, 1);
    const struct shape kernel = {4, {2, 2, 3, 3}};
    add_weight(model, "v", &kernel);
    model_add_node(model, "Conv", "again", 2, NAMES("y", "v"), 1, NAMES("z"));
    model_add_output(model, "z", DTYPE_FLOAT, NULL);
    look_more(&scene, model, &image, "reference:fault=conv-rotated,round=on", method);
    assert_int_equal(scene.found.cause.rerun, RERUN_ELSEWHERE);
    assert_string_equal(scene.found.cause.next, "Conv `again`");
    scene_close(&scene);
}

/* Seven nodes as one part, of which one is at fault. */
static void groups_of_many_nodes_have_a_cause(void **state)
{
    (void)state;
    struct scene scene;
    struct cause cause;
    struct under_test test;
    struct error err = {0};
    struct model *model = conv("SAME_UPPER", 2);
    static const char *const names[] = {"y", "y1", "y2", "y3", "y4"};
    for (size_t i = 0; i < 4; i++)
        model_add_node(model, "Tanh", names[i + 1], 1, &names[i], 1, &names[i + 1]);
    model_add_output(model, "y4", DTYPE_FLOAT, NULL);
    look_more(&scene, model, &image, "reference:fault=same-pad-side,round=on", LOCALIZE_LOCAL);
    struct settle_case which = {.pool = scene.pool, .test = scene.test};
    assert_int_equal(under_test_init(&test, &which, &err), 0);
    struct cause_options options = {0};
    assert_int_equal(cause_find(&cause, &test, scene.test, &options, &test.arena, &err), 0);
    assert_int_equal(cause.kind, CAUSE_PARAMETER);
    assert_string_equal(cause.parameters[0].parameter, "auto_pad");
    assert_int_equal(cause.parameters[0].node, 1);
    under_test_release(&test);
    scene_close(&scene);
}

/* Two nodes as one part. The fault wants a type of each, and the attribute of both has one name. */
static void a_condition_of_another_node_is_named_with_it(void **state)
{
    (void)state;
    struct scene scene;
    struct cause cause;
    struct under_test test;
    struct error err = {0};
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &image);
    Onnx__NodeProto *narrow = model_add_node(model, "Cast", "narrow", 1, NAMES("x"), 1, NAMES("h"));
    node_set_int(&model->arena, narrow, "to", DTYPE_FLOAT16);
    Onnx__NodeProto *truth = model_add_node(model, "Cast", "truth", 1, NAMES("h"), 1, NAMES("y"));
    node_set_int(&model->arena, truth, "to", DTYPE_BOOL);
    model_add_output(model, "y", DTYPE_BOOL, NULL);
    look_more(&scene, model, &image, "reference:fault=cast-bool-cut,round=on", LOCALIZE_LOCAL);
    struct settle_case which = {.pool = scene.pool, .test = scene.test};
    assert_int_equal(under_test_init(&test, &which, &err), 0);
    struct cause_options options = {0};
    assert_int_equal(cause_find(&cause, &test, scene.test, &options, &test.arena, &err), 0);
    if (!strstr(cause.text, "Cast `narrow`: to=10 with to=9 of Cast `truth`; cured by to=11"))
        fail_msg("%s", cause.text);
    under_test_release(&test);
    scene_close(&scene);
}

/* The paper's method names every parameter whose change alone makes the engines agree. */
static void audee_names_pairs(void **state)
{
    (void)state;
    struct scene scene;
    look(&scene, conv("SAME_UPPER", 2), &image, "reference:fault=same-pad-side,round=on");
    localization_release(&scene.found);
    struct localize_case which = {.pool = scene.pool,
                                  .second = 1,
                                  .second_is_reference = true,
                                  .test = scene.test,
                                  .method = LOCALIZE_RATE | LOCALIZE_PAIRS};
    assert_int_equal(localize(&scene.found, &which, NULL), 0);
    bool auto_pad = false, group = false;
    for (size_t i = 0; i < scene.found.pairs.count; i++) {
        const struct causal_pair *pair = &scene.found.pairs.items[i];
        assert_int_equal(pair->node, 1);
        if (pair->instead)
            continue;
        assert_true(pair->rate < PAIRS_T2);
        auto_pad |= text_equal(pair->parameter, "auto_pad");
        group |= text_equal(pair->parameter, "group");
    }
    assert_true(auto_pad);
    assert_false(group);
    scene_close(&scene);
}

static void weights_are_a_parameter(void **state)
{
    (void)state;
    struct scene scene;
    look(&scene, conv(NULL, 1), &image, "reference:fault=conv-rotated,round=on");
    is_cause(&scene, "W", "float32 [2,2,3,3]", "W=symmetric planes");
    assert_int_equal(scene.found.cause.n_conditions, 0);
    scene_close(&scene);
}

static void a_default_can_be_the_cause(void **state)
{
    (void)state;
    struct scene scene;
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &image);
    Onnx__NodeProto *node = model_add_node(model, "AveragePool", "pool", 1, NAMES("x"), 1, NAMES("y"));
    node_set_ints(&model->arena, node, "kernel_shape", (const int64_t[]){3, 3}, 2);
    node_set_ints(&model->arena, node, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    look(&scene, model, &image, "reference:fault=avgpool-counts-pad,round=on");
    is_cause(&scene, "count_include_pad", "left out", "count_include_pad=1");
    scene_close(&scene);
}

/* An engine that dies of it. */
static void a_crash_has_a_cause(void **state)
{
    (void)state;
    struct scene scene;
    const struct shape a = {2, {2, 3}}, b = {2, {4, 3}};
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &a);
    add_weight(model, "b", &b);
    Onnx__NodeProto *node = model_add_node(model, "Gemm", "gemm", 2, NAMES("x", "b"), 1, NAMES("y"));
    node_set_int(&model->arena, node, "transB", 1);
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    look(&scene, model, &a, "reference:fault=gemm-shape-crash,round=on");
    is_cause(&scene, "transB", "1", "transB");
    scene_close(&scene);
}

static struct model *transposed_gemm(void)
{
    const struct shape a = {2, {3, 2}}, b = {2, {4, 3}};
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &a);
    add_weight(model, "b", &b);
    Onnx__NodeProto *node = model_add_node(model, "Gemm", "gemm", 2, NAMES("x", "b"), 1, NAMES("y"));
    node_set_int(&model->arena, node, "transA", 1);
    node_set_int(&model->arena, node, "transB", 1);
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    return model;
}

/* A fault of two parameters, each of which keeps it alone. */
static void parameters_that_cure_only_together_are_a_set(void **state)
{
    (void)state;
    struct scene scene;
    look(&scene, transposed_gemm(), &(struct shape){2, {3, 2}}, "reference:fault=gemm-turned-short,round=on");
    const struct cause *cause = &scene.found.cause;
    if (cause->kind != CAUSE_SET)
        fail_msg("%s: %s", cause_kind_name(cause->kind), cause->text);
    assert_true(cause->certain);
    assert_int_equal(cause->n_parameters, 2);
    assert_string_equal(cause->parameters[0].parameter, "transA");
    assert_string_equal(cause->parameters[1].parameter, "transB");
    assert_string_equal(cause->cure, "transA=0 and transB=0");
    assert_non_null(strstr(cause->text, "Gemm `gemm`: transA=1 and transB=1; cured only together, by"));
    scene_close(&scene);
}

/* With one of the two the fault has one parameter. */
static void of_two_parameters_the_one_that_is_set_is_named(void **state)
{
    (void)state;
    struct scene scene;
    struct model *model = transposed_gemm();
    const struct shape a = {2, {2, 3}};
    node_remove_attribute(model->graph->node[0], "transA");
    model->graph->input[0]->type = type_make(&model->arena, DTYPE_FLOAT, &a);
    look(&scene, model, &a, "reference:fault=gemm-turned-short,round=on");
    is_cause(&scene, "transB", "1", "transB");
    scene_close(&scene);
}

/* A model whose only data are constants is tried on other constants. */
static void constants_are_data_where_nothing_else_is(void **state)
{
    (void)state;
    struct scene scene;
    const struct shape shape = {4, {1, 8, 2, 2}}, one = {1, {1}};
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &one);
    add_weight(model, "data", &shape);
    model_add_node(model, "Neg", "unused", 1, NAMES("x"), 1, NAMES("z"));
    Onnx__NodeProto *node = model_add_node(model, "DepthToSpace", "d", 1, NAMES("data"), 1, NAMES("y"));
    node_set_int(&model->arena, node, "blocksize", 2);
    node_set_string(&model->arena, node, "mode", "CRD");
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    look(&scene, model, &one, "reference:fault=depth-mode-ignored,round=on");
    is_cause(&scene, "mode", "CRD", "mode");
    scene_close(&scene);
}

static void an_equation_has_other_outputs(void **state)
{
    (void)state;
    struct scene scene;
    const struct shape shape = {3, {2, 3, 4}};
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    Onnx__NodeProto *node = model_add_node(model, "Einsum", "e", 1, NAMES("x"), 1, NAMES("y"));
    node_set_string(&model->arena, node, "equation", "abc->ca");
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    look(&scene, model, &shape, "reference:fault=einsum-order,round=on");
    is_cause(&scene, "equation", "abc->ca", "equation=abc->ac");
    scene_close(&scene);
}

static void what_no_parameter_cures_is_the_operator(void **state)
{
    (void)state;
    struct scene scene;
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &image);
    Onnx__NodeProto *node = model_add_node(model, "Concat", "join", 3, NAMES("x", "x", "x"), 1, NAMES("y"));
    node_set_int(&model->arena, node, "axis", 1);
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    look(&scene, model, &image, "reference:fault=concat-three,round=on");
    assert_int_equal(scene.found.cause.kind, CAUSE_OPERATOR);
    assert_int_equal(scene.found.cause.n_parameters, 0);
    assert_non_null(strstr(scene.found.cause.text, "whatever its parameters"));
    scene_close(&scene);
}

/* The last elements of a Relu behind a Conv, when their number is not a multiple of 8: another kernel cures
 * only because it gives another number of elements. */
static void a_cure_by_another_shape_is_not_believed(void **state)
{
    (void)state;
    struct scene scene;
    const struct shape five = {4, {1, 2, 5, 5}}, kernel = {4, {3, 2, 3, 3}};
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &five);
    add_weight(model, "w", &kernel);
    model_add_node(model, "Neg", "neg", 1, NAMES("x"), 1, NAMES("n")); /* most sums are negative */
    model_add_node(model, "Conv", "conv", 2, NAMES("n", "w"), 1, NAMES("c"));
    model_add_node(model, "Relu", "relu", 1, NAMES("c"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    look(&scene, model, &five, "reference:fault=relu-tail,round=on");
    assert_int_equal(scene.found.n_culprits, 1);
    assert_int_equal(scene.found.n_behind, 1);
    if (scene.found.cause.kind != CAUSE_OPERATOR)
        fail_msg("%s", scene.found.cause.text);
    assert_non_null(scene.found.cause.form);
    scene_close(&scene);
}

static void a_healthy_engine_has_no_cause(void **state)
{
    (void)state;
    struct scene scene;
    look(&scene, conv("SAME_UPPER", 2), &image, "reference:round=on");
    assert_int_equal(scene.found.cause.kind, CAUSE_UNKNOWN);
    assert_string_equal(scene.found.cause.text, "");
    scene_close(&scene);
}

static void values_are_read_as_texts_and_lists(void **state)
{
    (void)state;
    long double list[PARAM_LIST];
    assert_int_equal(param_numbers("1,2.5,-3", list), 3);
    assert_true(list[1] == 2.5 && list[2] == -3);
    assert_int_equal(param_numbers("1,x", list), 0);
    assert_int_equal(param_numbers("", list), 0);
    assert_true(param_same("1", "1,1,1"));
    assert_true(param_same("0.1", "1e-1"));
    assert_false(param_same("1,2", "1,2,3"));
    assert_false(param_same("SAME", "SAME_UPPER"));
}

static void count_value(void *context, const char *value)
{
    (void)value;
    ++*(size_t *)context;
}

static void ranges_give_their_whole_numbers(void **state)
{
    (void)state;
    size_t count = 0;
    param_legal(&(struct op_param){"axis", PARAM_INT, .legal = "-2..2"}, count_value, &count);
    assert_int_equal(count, 5);
    count = 0;
    param_legal(&(struct op_param){"alpha", PARAM_FLOAT, .legal = "0.01..4", .initial = "1"}, count_value,
                &count);
    assert_int_equal(count, 5); /* both ends, the middle, the default, 0 */
}

/* Every change either makes a case or is refused; a change of group gives the weights the shape for it. */
static void weights_are_made_to_fit(void **state)
{
    (void)state;
    const struct shape grouped = {4, {4, 1, 3, 3}}, four = {4, {1, 4, 6, 6}};
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &four);
    add_weight(model, "w", &grouped);
    Onnx__NodeProto *node = model_add_node(model, "Conv", "conv", 2, NAMES("x", "w"), 1, NAMES("y"));
    node_set_int(&model->arena, node, "group", 4);
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    struct test_case *test = test_case_new(model);
    struct tensor x = numbers(DTYPE_FLOAT, &four);
    struct value input = value_view("x", &x);
    assert_int_equal(test_case_add_inputs(test, &input, 1, NULL), 0);
    struct param_changes changes;
    param_changes_init(&changes, test);
    size_t groups = 0;
    for (size_t i = 0; i < changes.count; i++) {
        const struct param_change *change = &changes.items[i];
        struct test_case *changed;
        if (change->way != WAY_ATTRIBUTE || !text_equal(change->param->name, "group") ||
            param_change_apply(&changed, test, &change, 1, NULL))
            continue;
        struct tensor w;
        assert_int_equal(model_weight(test_case_model(changed, NULL), 0, &w, NULL), 0);
        assert_int_equal(w.shape.dims[1], 4 / atoi(change->text));
        tensor_release(&w);
        test_case_free(changed);
        groups++;
    }
    assert_int_equal(groups, 2); /* 1 and 2 */
    param_changes_release(&changes);
    tensor_release(&x);
    test_case_free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_and_its_condition_are_named),
        cmocka_unit_test(the_cure_is_confirmed_in_the_network),
        cmocka_unit_test(groups_of_many_nodes_have_a_cause),
        cmocka_unit_test(a_condition_of_another_node_is_named_with_it),
        cmocka_unit_test(audee_names_pairs),
        cmocka_unit_test(weights_are_a_parameter),
        cmocka_unit_test(a_default_can_be_the_cause),
        cmocka_unit_test(a_crash_has_a_cause),
        cmocka_unit_test(parameters_that_cure_only_together_are_a_set),
        cmocka_unit_test(of_two_parameters_the_one_that_is_set_is_named),
        cmocka_unit_test(constants_are_data_where_nothing_else_is),
        cmocka_unit_test(an_equation_has_other_outputs),
        cmocka_unit_test(what_no_parameter_cures_is_the_operator),
        cmocka_unit_test(a_cure_by_another_shape_is_not_believed),
        cmocka_unit_test(a_healthy_engine_has_no_cause),
        cmocka_unit_test(values_are_read_as_texts_and_lists),
        cmocka_unit_test(ranges_give_their_whole_numbers),
        cmocka_unit_test(weights_are_made_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
