#include "joined_model.h"
#include "base/memory.h"
#include "locate/localize.h"
#include "locate/rate.h"
#include "locate/blame_check.h"
#include "locate/node_verdict.h"
#include "locate/fault_search.h"
#include "locate/settle.h"
#include "model/build.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct shape eight = {4, {1, 2, 2, 2}};

/* cmocka's own compares floats. */
static void is_near(double got, double due, double margin)
{
    if (!(fabs(got - due) <= margin))
        fail_msg("%.17g is not %.17g", got, due);
}

static struct tensor floats(const struct shape *shape, const float *values)
{
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, (long double)values[i]);
    return tensor;
}

static void delta_is_the_mean_absolute_difference(void **state)
{
    (void)state;
    const struct shape four = {1, {4}};
    struct tensor a = floats(&four, (float[]){1, 2, 3, -4});
    struct tensor b = floats(&four, (float[]){1, 2.5F, 2, -4.5F});
    struct rate_mean mean = {0};
    assert_true(isnan(rate_delta(&mean)));
    rate_add(&mean, &a, &b);
    is_near(rate_delta(&mean), 0.5, 0); /* (0 + 0.5 + 1 + 0.5) / 4 */
    /* A second output joins the mean: nothing apart in four elements more. */
    rate_add(&mean, &a, &a);
    is_near(rate_delta(&mean), 0.25, 0);
    tensor_release(&a);
    tensor_release(&b);
}

static void what_is_not_finite_on_one_side_is_infinitely_far(void **state)
{
    (void)state;
    const struct shape two = {1, {2}};
    struct tensor a = floats(&two, (float[]){NAN, INFINITY});
    struct tensor b = floats(&two, (float[]){NAN, 3});
    struct rate_mean same = {0}, other = {0};
    rate_add(&same, &a, &a);
    is_near(rate_delta(&same), 0, 0);
    rate_add(&other, &a, &b);
    assert_true(isinf(rate_delta(&other)));
    tensor_release(&a);
    tensor_release(&b);
}

/* in -> A -> B -> D, A -> C -> D, D -> E; deltas 0.1, 0.1, 0.4, 0.2, 0.2. */
static void rates_follow_the_graph_and_their_quartile_is_interpolated(void **state)
{
    (void)state;
    struct model *model = model_new(13);
    model_add_input(model, "in", DTYPE_FLOAT, &eight);
    model_add_node(model, "Relu", "A", 1, NAMES("in"), 1, NAMES("a"));
    model_add_node(model, "Relu", "B", 1, NAMES("a"), 1, NAMES("b"));
    model_add_node(model, "Relu", "C", 1, NAMES("a"), 1, NAMES("c"));
    model_add_node(model, "Add", "D", 2, NAMES("b", "c"), 1, NAMES("d"));
    model_add_node(model, "Relu", "E", 1, NAMES("d"), 1, NAMES("e"));
    model_add_output(model, "e", DTYPE_FLOAT, &eight);
    struct model_index index;
    assert_int_equal(model_index_init(&index, model, NULL), 0);
    const double delta[] = {0.1, 0.1, 0.4, 0.2, 0.2};
    double rate[5];
    rate_all(&index, delta, rate);
    is_near(rate[0], 0.1 / 1e-7, 1e-3);       /* nothing before it */
    is_near(rate[1], 0, 1e-12);               /* passed on as it came */
    is_near(rate[2], 0.3 / 0.1000001, 1e-9);  /* grows from 0.1 to 0.4 */
    is_near(rate[3], -0.2 / 0.4000001, 1e-9); /* the larger of its two inputs counts */
    is_near(rate[4], 0, 1e-12);
    /* Sorted: -0.5, 0, 0, 3, 1e6. The third quartile lies at 0.75 * 4 = the fourth of them. */
    is_near(rate_quartile(rate, 5), rate[2], 1e-12);
    /* Of four, between the third and the fourth: 3 + 0.25 * (7 - 3); NaN does not count. */
    const double some[] = {7, NAN, 1, 3, 2};
    is_near(rate_quartile(some, 5), 4, 1e-12);
    assert_true(isnan(rate_quartile(some + 1, 1)));
    model_index_release(&index);
    model_free(model);
}

static void infinite_differences_have_the_rates_of_the_limit(void **state)
{
    (void)state;
    assert_true(isinf(rate_change(INFINITY, 1)));
    is_near(rate_change(INFINITY, INFINITY), 0, 0);
    is_near(rate_change(1, INFINITY), -1, 0);
    assert_true(isnan(rate_change(NAN, 1)));
}

struct scene {
    struct registry *registry;
    struct pool *pool;
    struct model *model;
    struct tensor x;
    struct value input;
    struct localize_case which;
};

static void scene_open(struct scene *scene, const char *engine)
{
    const struct engine_spec *spec;
    *scene = (struct scene){.model = joined(&eight)};
    assert_int_equal(registry_open(&scene->registry, NULL, 0, NULL), 0);
    scene->pool = pool_new(&(struct pool_options){0});
    const char *labels[] = {engine, "reference"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(registry_find(scene->registry,
                                       given_typed(registry_arena(scene->registry), labels[i]), &spec, NULL),
                         0);
        pool_add(scene->pool, spec);
    }
    scene->x = floats(&eight, (float[]){1, -2, 3, -0.5F, 0.25F, 2, -3, 4});
    scene->input = (struct value){.name = "x", .kind = VALUE_TENSOR, .count = 1, .tensors = &scene->x};
    scene->which = (struct localize_case){.pool = scene->pool,
                                          .engine = 0,
                                          .second = 1,
                                          .second_is_reference = true,
                                          .test = test_case_view(scene->model, &scene->input, 1),
                                          .method = LOCALIZE_BOTH};
}

static void scene_close(struct scene *scene)
{
    test_case_free((struct test_case *)(uintptr_t)scene->which.test);
    tensor_release(&scene->x);
    model_free(scene->model);
    pool_free(scene->pool);
    registry_free(scene->registry);
}

/* Conv, then Relu, whose last elements keep their sign under fault=relu-tail: only behind a Conv. */
static struct model *behind_conv(void)
{
    const struct shape seven = {4, {1, 1, 1, 7}}, one = {4, {1, 1, 1, 1}};
    struct model *model = model_new(13);
    struct tensor weight = floats(&one, (float[]){-1});
    model_add_input(model, "x", DTYPE_FLOAT, &seven);
    model_add_initializer(model, "w", &weight);
    model_add_node(model, "Abs", "abs", 1, NAMES("x"), 1, NAMES("a"));
    model_add_node(model, "Conv", "conv", 2, NAMES("a", "w"), 1, NAMES("c"));
    model_add_node(model, "Relu", "relu", 1, NAMES("c"), 1, NAMES("r"));
    model_add_node(model, "Neg", "neg", 1, NAMES("r"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, &seven);
    tensor_release(&weight);
    return model;
}

/* Parameters that are tried are those of the Conv, as a Relu has none. */
static void check_tries(const struct cause *cause)
{
    size_t count = 0;
    for (size_t i = 0; i < cause->n_tries; i++)
        if (cause->tries[i].to.parameter) {
            assert_int_equal(cause->tries[i].to.node, 1);
            count++;
        }
    assert_true(count > 0);
}

/* The Conv is right, and its value is shown: it is where the Relu goes wrong, but not to blame. */
static void who_is_wrong_behind_another_is_blamed_without_it(void **state)
{
    (void)state;
    struct scene scene;
    struct localization found;
    struct settlement settled = {0};
    const struct shape seven = {4, {1, 1, 1, 7}};
    struct model *model = behind_conv();
    struct tensor x = floats(&seven, (float[]){1, -2, 3, -0.5F, 0.25F, 2, -3});
    struct value input = {.name = "x", .kind = VALUE_TENSOR, .count = 1, .tensors = &x};
    struct test_case *test = test_case_view(model, &input, 1);
    scene_open(&scene, "reference:fault=relu-tail");
    struct localize_case where = scene.which;
    where.test = test;
    where.method |= LOCALIZE_CAUSE;
    assert_int_equal(localize(&found, &where, NULL), 0);
    assert_int_equal(found.kind, VERDICT_WRONG);
    assert_int_equal(found.n_culprits, 1);
    assert_int_equal(found.culprits[0], 2);
    check_tries(&found.cause);
    assert_int_equal(found.n_behind, 1);
    assert_int_equal(found.behind[0], 1);
    assert_false(found.fused);
    assert_true(found.nodes[2].culprit && !found.nodes[1].culprit);
    assert_int_equal(found.path[found.n_path - 1], 2);
    assert_non_null(strstr(found.text, "Relu (node relu) behind Conv: "));
    localization_release(&found);
    struct settle_case which = {.pool = scene.pool, .engine = 0, .test = test};
    assert_int_equal(settle(&settled, &which, NULL), 0);
    assert_int_equal(settled.count, 2); /* it takes both to show it */
    assert_true(settled.behind);
    assert_int_equal(settled.at, 2);
    settlement_release(&settled);
    test_case_free(test);
    tensor_release(&x);
    model_free(model);
    scene_close(&scene);
}

static void check_concat(const struct localization *found)
{
    assert_int_equal(found->kind, VERDICT_WRONG);
    assert_int_equal(found->n_culprits, 1);
    assert_int_equal(found->culprits[0], 2);
    assert_int_equal(found->n_wrong, 1);
    assert_false(found->fused);
    assert_true(isinf(found->nodes[2].factor));
    for (size_t i = 0; i < found->n_nodes; i++)
        assert_int_equal(found->nodes[i].verdict, i == 2 ? VERDICT_WRONG : VERDICT_AGREES);
    assert_int_equal(found->n_path, 1); /* the Concat is fed by the input itself */
    assert_int_equal(found->nodes[2].outputs[0].shape.dims[1], 6);
    /* Elements 16 to 23 are lost: the sum of |x| over 24 elements. */
    is_near(found->nodes[2].delta, 15.75 / 24, 1e-6);
    is_near(found->nodes[0].delta, 0, 0);
    assert_true(found->nodes[2].highlighted);
    assert_int_equal(found->first_highlighted, 2);
}

static void a_planted_fault_is_named_whatever_the_groups(void **state)
{
    (void)state;
    struct scene scene;
    struct localization found;
    scene_open(&scene, "reference:fault=concat-three");
    const size_t sizes[] = {0, 200, 64, 1};
    const size_t groups[] = {1, 3, 4, 5};
    for (size_t i = 0; i < 4; i++) {
        scene.which.group_bytes = sizes[i];
        assert_int_equal(localize(&found, &scene.which, NULL), 0);
        check_concat(&found);
        assert_int_equal(found.groups, groups[i]);
        localization_release(&found);
    }
    scene_close(&scene);
}

static void a_healthy_engine_is_not_blamed(void **state)
{
    (void)state;
    struct scene scene;
    struct localization found;
    scene_open(&scene, "reference:round=on");
    assert_int_equal(localize(&found, &scene.which, NULL), 0);
    assert_int_equal(found.kind, VERDICT_AGREES);
    assert_int_equal(found.n_culprits, 0);
    assert_int_equal(found.n_wrong, 0);
    assert_int_equal(found.n_highlighted, 0);
    localization_release(&found);
    scene_close(&scene);
}

/* Two faulty nodes, of which the first one's error is multiplied by 0: the other is to blame. */
static void a_fault_that_does_no_harm_is_not_blamed(void **state)
{
    (void)state;
    const struct shape scalar = {.rank = 0};
    struct tensor zero = floats(&scalar, (float[]){0});
    struct settlement found;
    struct scene scene;
    scene_open(&scene, "reference:fault=concat-three");
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &eight);
    model_add_initializer(model, "zero", &zero);
    for (int i = 0; i < 2; i++) {
        Onnx__NodeProto *node = model_add_node(model, "Concat", i ? "harmful" : "harmless", 3,
                                               NAMES("x", "x", "x"), 1, NAMES(i ? "z" : "c"));
        node_set_int(&model->arena, node, "axis", 1);
        if (!i)
            model_add_node(model, "Mul", "mul", 2, NAMES("c", "zero"), 1, NAMES("y"));
    }
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    model_add_output(model, "z", DTYPE_FLOAT, NULL);
    struct test_case *test = test_case_view(model, &scene.input, 1);
    struct settle_case which = {.pool = scene.pool, .engine = 0, .test = test};
    assert_int_equal(settle(&found, &which, NULL), 0);
    assert_int_equal(found.kind, VERDICT_WRONG);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.nodes[0], 2);
    settlement_release(&found);
    tensor_release(&zero);
    test_case_free(test);
    model_free(model);
    scene_close(&scene);
}

/* (1 + b) * w, with an engine's answer. The exact one is 0.0340559113. */
static enum verdict_kind scaled_sum(const char *sum, float b, float answer)
{
    const struct shape one = {.rank = 1, .dims = {1}};
    struct model *model = model_new(13);
    struct tensor weights[2] = {floats(&one, &b), floats(&one, (float[]){-0.630248785F})};
    model_add_input(model, "x", DTYPE_FLOAT, &one);
    model_add_initializer(model, "b", &weights[0]);
    model_add_initializer(model, "w", &weights[1]);
    model_add_node(model, sum, "sum", 2, NAMES("x", "b"), 1, NAMES("s"));
    model_add_node(model, "Mul", "mul", 2, NAMES("s", "w"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, &one);
    struct tensor x = floats(&one, (float[]){1}), y = floats(&one, &answer);
    struct value input = {.name = "x", .kind = VALUE_TENSOR, .count = 1, .tensors = &x};
    struct value output = {.name = "y", .kind = VALUE_TENSOR, .count = 1, .tensors = &y};
    struct result result = {.outcome = OUTCOME_OK, .count = 1, .outputs = &output};
    struct test_case *test = test_case_view(model, &input, 1);
    struct settle_case which = {.test = test};
    struct verdict verdict;
    struct fault_search search;
    assert_int_equal(fault_search_init(&search, &which, NULL), 0);
    whole_answer_judge(&search.whole, &result, &verdict);
    assert_true(expected_by_fusing(model, NULL, test->inputs, test->n_inputs,
                                   &result)); /* none of the answers is right without */
    fault_search_release(&search);
    tensor_release(&x);
    tensor_release(&y);
    tensor_release(&weights[0]);
    tensor_release(&weights[1]);
    test_case_free(test);
    model_free(model);
    return verdict.kind;
}

/* How many elements a Range has hangs on its inputs: no bound may make that uncertain. */
static void a_shape_is_not_fused_away(void **state)
{
    (void)state;
    const struct shape scalar = {.rank = 0}, three = {.rank = 1, .dims = {3}};
    struct model *model = model_new(13);
    const char *names[] = {"a", "b", "c"};
    struct tensor given[3] = {floats(&scalar, (float[]){0}), floats(&scalar, (float[]){3}),
                              floats(&scalar, (float[]){1})};
    struct value inputs[3];
    for (int i = 0; i < 3; i++) {
        model_add_input(model, names[i], DTYPE_FLOAT, &scalar);
        inputs[i] = (struct value){
            .name = (char *)(uintptr_t)names[i], .kind = VALUE_TENSOR, .count = 1, .tensors = &given[i]};
    }
    model_add_node(model, "Range", "range", 3, names, 1, NAMES("r"));
    model_add_node(model, "Neg", "neg", 1, NAMES("r"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, &three);
    struct tensor y = floats(&three, (float[]){0, -1, -2});
    struct value output = {.name = "y", .kind = VALUE_TENSOR, .count = 1, .tensors = &y};
    struct result result = {.outcome = OUTCOME_OK, .count = 1, .outputs = &output};
    struct test_case *test = test_case_view(model, inputs, 3);
    struct settle_case which = {.test = test};
    struct verdict verdict;
    struct fault_search search;
    assert_int_equal(fault_search_init(&search, &which, NULL), 0);
    whole_answer_judge(&search.whole, &result, &verdict);
    assert_int_equal(verdict.kind, VERDICT_AGREES);
    fault_search_release(&search);
    for (int i = 0; i < 3; i++)
        tensor_release(&given[i]);
    tensor_release(&y);
    test_case_free(test);
    model_free(model);
}

static void a_factor_may_be_folded_into_a_sum(void **state)
{
    (void)state;
    /* 1 * w + b * w in float32: what cancels has the rounding of its parts. */
    assert_int_equal(scaled_sum("Add", -1.05403566F, 0.0340558887F), VERDICT_AGREES);
    assert_int_equal(scaled_sum("Sub", 1.05403566F, 0.0340558887F), VERDICT_AGREES);
    assert_int_equal(scaled_sum("Add", -1.05403566F, 0.0340555F), VERDICT_WRONG);
    assert_int_equal(scaled_sum("Add", -1.05403566F, -0.0340559113F), VERDICT_WRONG);
}

/* What a later node wrote over: the engine gives another value when the model ends before it. */
static void a_value_that_was_written_over_judges_nobody(void **state)
{
    (void)state;
    struct scene scene;
    struct verdict verdict;
    struct fault_search search;
    size_t made;
    scene_open(&scene, "reference");
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &eight);
    model_add_node(model, "Neg", "neg", 1, NAMES("x"), 1, NAMES("a"));
    model_add_node(model, "Abs", "abs", 1, NAMES("a"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, &eight);
    struct tensor a = floats(&eight, (float[]){9, 2, -3, 0.5F, -0.25F, -2, 3, -4});
    struct tensor y = floats(&eight, (float[]){1, 2, 3, 0.5F, 0.25F, 2, 3, 4});
    struct test_case *test = test_case_view(model, &scene.input, 1);
    struct settle_case which = {.pool = scene.pool, .engine = 0, .test = test};
    assert_int_equal(fault_search_init(&search, &which, NULL), 0);
    assert_true(map_get(&search.test.index.names, "a", &made));
    search.record.values.known[made] = &a;
    assert_true(map_get(&search.test.index.names, "y", &made));
    search.record.values.known[made] = &y;
    node_judge(&search.record, 0, false, &verdict);
    assert_int_equal(verdict.kind, VERDICT_WRONG);
    assert_true(fault_search_confirm(&search, 0, 1)); /* an output of a window: it was run by itself */
    assert_false(fault_search_confirm(&search, 0, 0));
    node_judge(&search.record, 1, false, &verdict);
    assert_int_equal(verdict.kind, VERDICT_UNTESTED);
    fault_search_release(&search);
    tensor_release(&a);
    tensor_release(&y);
    test_case_free(test);
    model_free(model);
    scene_close(&scene);
}

/* One node's recorded output is made to be another than it was. */
static void record(struct fault_search *search, const char *name, const struct tensor *tensor)
{
    size_t number;
    assert_true(map_get(&search->test.index.names, name, &number));
    search->record.values.known[number] = tensor;
}

/*
 * What is recorded of a node does not belong to its inputs, as engines show it that compute a constant twice:
 * alone it is right, and the answer is as wrong without it. The one that is wrong by itself is to blame.
 */
static void who_does_no_harm_and_is_right_alone_is_not_blamed(void **state)
{
    (void)state;
    struct scene scene;
    struct verdict verdict;
    struct fault_search search;
    scene_open(&scene, "reference:fault=concat-three");
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &eight);
    model_add_node(model, "Neg", "neg", 1, NAMES("x"), 1, NAMES("n"));
    Onnx__NodeProto *node = model_add_node(model, "Concat", "concat", 3, NAMES("x", "x", "n"), 1, NAMES("z"));
    node_set_int(&model->arena, node, "axis", 1);
    model_add_node(model, "Abs", "abs", 1, NAMES("n"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    model_add_output(model, "z", DTYPE_FLOAT, NULL);
    const struct shape three = {4, {1, 6, 2, 2}};
    struct tensor n = floats(&eight, (float[]){-1, 2, -3, 0.5F, -0.25F, -2, 3, -4});
    struct tensor y = floats(&eight, (float[]){9, 2, 3, 0.5F, 0.25F, 2, 3, 4});
    struct tensor z = floats(&three, (float[24]){9});
    struct test_case *test = test_case_view(model, &scene.input, 1);
    struct settle_case which = {.pool = scene.pool, .engine = 0, .test = test};
    assert_int_equal(fault_search_init(&search, &which, NULL), 0);
    assert_int_equal(whole_answer_run(&search.whole), 0);
    record(&search, "n", &n);
    record(&search, "y", &y);
    record(&search, "z", &z);
    search.record.values.complete = true;
    node_judge(&search.record, 2, false, &verdict);
    assert_int_equal(verdict.kind, VERDICT_WRONG);
    assert_true(blame_stays_off(&search.record, (size_t[]){2}, 1));
    assert_int_equal(fault_search_weigh(&search, 2, &verdict), WEIGHT_NONE);
    assert_true(blame_breaks_right_inputs(&search.record, 1));
    node_judge(&search.record, 1, false, &verdict);
    assert_int_equal(verdict.kind, VERDICT_WRONG);
    assert_false(blame_stays_off(&search.record, (size_t[]){1}, 1));
    assert_int_equal(fault_search_weigh(&search, 1, &verdict), WEIGHT_FULL);
    fault_search_release(&search);
    tensor_release(&n);
    tensor_release(&y);
    tensor_release(&z);
    test_case_free(test);
    model_free(model);
    scene_close(&scene);
}

/* What a node was given is shown as what it should be: given that, the answer is right, so it had another. */
static void who_is_right_on_right_inputs_is_not_blamed(void **state)
{
    (void)state;
    struct scene scene;
    struct verdict verdict;
    struct fault_search search;
    scene_open(&scene, "reference:fault=concat-three");
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &eight);
    Onnx__NodeProto *node = model_add_node(model, "Concat", "concat", 3, NAMES("x", "x", "x"), 1, NAMES("z"));
    node_set_int(&model->arena, node, "axis", 1);
    model_add_node(model, "Neg", "neg", 1, NAMES("z"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    const struct shape three = {4, {1, 6, 2, 2}};
    struct tensor z, y;
    assert_int_equal(tensor_alloc(&z, DTYPE_FLOAT, &three, 0, NULL), 0);
    const struct tensor *x = &scene.input.tensors[0];
    for (size_t i = 0; i < z.count; i++)
        tensor_set(&z, i, tensor_get(x, i % x->count));
    struct test_case *test = test_case_view(model, &scene.input, 1);
    struct settle_case which = {.pool = scene.pool, .engine = 0, .test = test};
    assert_int_equal(fault_search_init(&search, &which, NULL), 0);
    assert_int_equal(whole_answer_run(&search.whole), 0);
    assert_int_equal(tensor_copy(&y, &search.whole.answer.outputs[0].tensors[0], NULL), 0);
    record(&search, "z", &z);
    record(&search, "y", &y);
    search.record.values.complete = true;
    node_judge(&search.record, 1, false, &verdict);
    assert_int_equal(verdict.kind, VERDICT_WRONG);
    assert_false(blame_stays_off(&search.record, (size_t[]){1}, 1)); /* its output is the answer */
    assert_false(blame_breaks_right_inputs(&search.record, 1));
    assert_int_equal(fault_search_weigh(&search, 1, &verdict), WEIGHT_NONE);
    fault_search_release(&search);
    tensor_release(&z);
    tensor_release(&y);
    test_case_free(test);
    model_free(model);
    scene_close(&scene);
}

/* Two faulty nodes, one behind the other: without either the answer is still wrong, without both it is right.
 */
static void of_two_faults_the_first_is_blamed(void **state)
{
    (void)state;
    struct settlement found;
    struct scene scene;
    scene_open(&scene, "reference:fault=concat-three");
    struct model *model = model_new(13);
    model_add_input(model, "x", DTYPE_FLOAT, &eight);
    model_add_node(model, "Neg", "neg", 1, NAMES("x"), 1, NAMES("n"));
    for (int i = 0; i < 2; i++) {
        const char *from = i ? "a" : "n";
        Onnx__NodeProto *node = model_add_node(model, "Concat", i ? "second" : "first", 3,
                                               NAMES(from, from, from), 1, NAMES(i ? "y" : "a"));
        node_set_int(&model->arena, node, "axis", 1);
    }
    model_add_output(model, "y", DTYPE_FLOAT, NULL);
    struct test_case *test = test_case_view(model, &scene.input, 1);
    struct settle_case which = {.pool = scene.pool, .engine = 0, .test = test};
    assert_int_equal(settle(&found, &which, NULL), 0);
    assert_int_equal(found.kind, VERDICT_WRONG);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.nodes[0], 1);
    settlement_release(&found);
    test_case_free(test);
    model_free(model);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delta_is_the_mean_absolute_difference),
        cmocka_unit_test(what_is_not_finite_on_one_side_is_infinitely_far),
        cmocka_unit_test(rates_follow_the_graph_and_their_quartile_is_interpolated),
        cmocka_unit_test(infinite_differences_have_the_rates_of_the_limit),
        cmocka_unit_test(a_planted_fault_is_named_whatever_the_groups),
        cmocka_unit_test(a_healthy_engine_is_not_blamed),
        cmocka_unit_test(a_factor_may_be_folded_into_a_sum),
        cmocka_unit_test(a_shape_is_not_fused_away),
        cmocka_unit_test(a_value_that_was_written_over_judges_nobody),
        cmocka_unit_test(a_fault_that_does_no_harm_is_not_blamed),
        cmocka_unit_test(who_does_no_harm_and_is_right_alone_is_not_blamed),
        cmocka_unit_test(who_is_right_on_right_inputs_is_not_blamed),
        cmocka_unit_test(of_two_faults_the_first_is_blamed),
        cmocka_unit_test(who_is_wrong_behind_another_is_blamed_without_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
