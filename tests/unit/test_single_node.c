/* Nodes of a case by themselves, the node at fault among them, and what experiments say of it. */
#include "scene.h"

#include "diagnose/changed_case.h"
#include "diagnose/diagnose.h"
#include "diagnose/lists.h"
#include "diagnose/single_node.h"
#include "findings/signature.h"
#include "locate/expected.h"

#include <stddef.h>

static const char padded[] = "reference:fault=pad-unpad-off";

/* Pad crops too little on the faulty engine, and Add, whose operands do not fit then, notices. */
#define CROPPED                                                           \
    "g (float[6] x, float[4] z) => (float[4] y) <int64[2] p = {-1, -1}> " \
    "{ a = Abs(x) c = Pad(a, p) s = Add(c, z) y = Neg(s) }"

static struct trial_done try_on(struct scene *scene, const char *text)
{
    struct trial_done done;
    struct trials *trials = trials_new(&(struct trial_options){.panel = &scene->panel});
    assert_int_equal(trials_submit(trials, case_of_text(text, 1), NULL, NULL), 0);
    assert_int_equal(trials_next(trials, &done, NULL), 1);
    trials_free(trials);
    return done;
}

static void assert_right(const struct test_case *test, const char *op_type, size_t nodes)
{
    struct expected expected;
    const struct model *model = test_case_model(test, NULL);
    assert_int_equal(model->graph->n_node, nodes);
    assert_string_equal(model->graph->node[0]->op_type, op_type);
    assert_int_equal(expected_compute(&expected, model, NULL, test->inputs, test->n_inputs), 0);
    expected_release(&expected);
}

static void test_parts(void **state)
{
    (void)state;
    bool nothing;
    struct test_case *test = case_of_text(CROPPED, 1);
    struct node_values *values = node_values_new(test);
    assert_non_null(values);
    assert_int_equal(node_values_at(values, 1), 1);
    struct test_case *alone = node_alone(values, 1, false);
    assert_right(alone, "Pad", 1);
    assert_int_equal(alone->n_inputs, 1); /* the pads stay a constant */
    test_case_free(alone);
    struct test_case *rest = node_replaced(values, 1, false, &nothing);
    assert_false(nothing);
    assert_right(rest, "Add", 2);
    assert_int_equal(rest->n_inputs, 2);
    test_case_free(rest);
    rest = node_replaced(values, 1, true, &nothing);
    assert_right(rest, "Add", 2);
    assert_int_equal(rest->n_inputs, 1);
    test_case_free(rest);
    assert_null(node_replaced(values, 3, false, &nothing));
    assert_true(nothing);
    node_values_free(values);
    test_case_free(test);
}

static void test_found(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    scene_open(&scene, LABELS(padded));
    struct trial_done whole = try_on(&scene, CROPPED);
    struct experiment how = {.panel = &scene.panel, .done = &whole};
    struct trial_done alone;
    assert_true(node_at_fault(&how, &alone));
    assert_string_equal(test_case_model(alone.test, NULL)->graph->node[0]->op_type, "Pad");
    trial_done_release(&alone);
    evidence_init(&evidence);
    free(diagnose(&scene.panel, NULL, &whole, &evidence));
    assert_string_equal(evidence.alone, "shape|reference:fault=pad-unpad-off|Pad|any||");
    assert_string_equal(evidence.main, "Pad");
    assert_string_equal(evidence.kernel, "Pad"); /* as the engine tells it */
    evidence_release(&evidence);
    trial_done_release(&whole);
    scene_close(&scene);
}

/* A fault that takes two nodes has no node that stands for it; nor is there anything to find in one node. */
static void test_none(void **state)
{
    (void)state;
    struct scene scene;
    struct trial_done alone;
    scene_open(&scene, LABELS(padded));
    struct trial_done one =
        try_on(&scene, "g (float[6] x) => (float[4] y) <int64[2] p = {-1, -1}> { y = Pad(x, p) }");
    assert_false(node_at_fault(&(struct experiment){.panel = &scene.panel, .done = &one}, &alone));
    trial_done_release(&one);
    scene_close(&scene);
}

static bool stands_for(const struct scene *scene, struct trial_done *whole, enum verdict_kind kind,
                       enum outcome outcome)
{
    struct trial_done alone;
    whole->judgement.verdicts[0].kind = kind;
    whole->results[0].outcome = outcome;
    bool found = node_at_fault(&(struct experiment){.panel = &scene->panel, .done = whole}, &alone);
    if (found)
        trial_done_release(&alone);
    return found;
}

/* Without one node that is wrong there still is another, which may be the one of which an engine dies. */
static void test_death(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, LABELS(padded));
    struct trial_done whole =
        try_on(&scene, "g (float[6] x, float[6] z) => (float[4] y, float[4] w) <int64[2] p = {-1, -1}> "
                       "{ a = Abs(x) c = Pad(a, p) y = Neg(c) b = Abs(z) d = Pad(b, p) w = Neg(d) }");
    assert_true(stands_for(&scene, &whole, VERDICT_FAILED, OUTCOME_FAILED));
    assert_false(stands_for(&scene, &whole, VERDICT_CRASH, OUTCOME_CRASH));
    trial_done_release(&whole);
    scene_close(&scene);
}

/* Axes, and lists as rows. */
static void test_other_forms(void **state)
{
    (void)state;
    struct test_case *test = case_of_text(
        "g (float[2,3,4] x) => (float[3] y) { y = ReduceMax<axes = [-1, 0], keepdims = 0>(x) }", 1);
    struct test_case *forward = changed_axes_forward(test), *sorted = changed_axes_sorted(test);
    const Onnx__AttributeProto *axes = test_case_model(forward, NULL)->graph->node[0]->attribute[0];
    assert_int_equal(axes->ints[0], 2);
    axes = test_case_model(sorted, NULL)->graph->node[0]->attribute[0];
    assert_int_equal(axes->ints[0], 0);
    assert_int_equal(axes->ints[1], 2);
    test_case_free(forward);
    test_case_free(sorted);
    test_case_free(test);
    test = case_of_text("g (float[2,0] x) => (int64[1,0] y) { y = ArgMax<axis = -2>(x) }", 1);
    forward = changed_axes_forward(test); /* of a result without elements, too */
    assert_non_null(forward);
    test_case_free(forward);
    test_case_free(test);
    test = case_of_text(
        "g (float[3] x) => (float[3] y) <int64[1] s = {-1}, int64[1] e = {-9}, int64[1] a = {0}> "
        "{ y = Slice(x, s, e, a, s) }",
        1);
    struct test_case *ahead = changed_steps_forward(test);
    assert_null(ahead); /* its starts and steps are one constant, which cannot be both */
    test_case_free(test);
    test = case_of_text("g (float[3] x) => (float[3] y) <int64[1] s = {-1}, int64[1] e = {-9}, int64[1] a = "
                        "{0}, int64[1] t = {-1}> "
                        "{ y = Slice(x, s, e, a, t) }",
                        1);
    ahead = changed_steps_forward(test);
    assert_non_null(ahead);
    test_case_free(ahead);
    test_case_free(test);
    test = case_of_text(
        "g (float[2,3] x, float[3] v) => (float[2] y) { y = Einsum<equation = \"ij,j->i\">(x, v) }", 1);
    struct test_case *rows = lists_given_as_rows(test);
    assert_non_null(rows);
    const Onnx__AttributeProto *equation = test_case_model(rows, NULL)->graph->node[0]->attribute[0];
    assert_int_equal(equation->s.len, strlen("ij,aj->ai"));
    assert_memory_equal(equation->s.data, "ij,aj->ai", equation->s.len);
    test_case_free(rows);
    test_case_free(test);
}

/* Axes that are an input of the model, and of a value that a node makes. */
static void test_axes(void **state)
{
    (void)state;
    struct test_case *test =
        case_of_text("g (float[2,3] x, int64[1] a) => (float[2,1] y) { n = Neg(x) y = ReduceSum(n, a) }", 1);
    assert_int_equal(test->inputs[1].tensors[0].count, 1);
    tensor_set(&test->inputs[1].tensors[0], 0, -1);
    struct test_case *forward = changed_axes_forward(test);
    assert_right(forward, "Neg", 2);
    assert_true(tensor_get(&forward->inputs[1].tensors[0], 0) == 1);
    assert_true(tensor_get(&test->inputs[1].tensors[0], 0) == -1); /* the case itself stays */
    test_case_free(forward);
    test_case_free(test);
}

/* Lists as columns, with which some cases cannot be computed; and a fault that has nothing to do with lists.
 */
static void test_columns(void **state)
{
    (void)state;
    bool computed;
    struct test_case *test =
        case_of_text("g (float[1,3] x, float[3] v) => (float[1,3] y) { y = Add(x, v) }", 1);
    struct test_case *columns = lists_as_columns(test, LISTS_CONSTANTS, &computed);
    assert_true(computed);
    assert_right(columns, "Add", 1);
    assert_int_equal(columns->inputs[1].tensors[0].shape.rank, 2);
    assert_int_equal(columns->inputs[1].tensors[0].shape.dims[1], 1);
    test_case_free(columns);
    test_case_free(test);
    test = case_of_text("g (float[2,3] x) => (float[2] y) <float[3] v = {1, 2, 3}> "
                        "{ y = Einsum<equation = \"ij,j->i\">(x, v) }",
                        1);
    columns = lists_as_columns(test, LISTS_CONSTANTS, &computed);
    assert_non_null(columns);
    assert_false(computed);
    test_case_free(columns);
    struct test_case *rows = lists_as_rows(test);
    assert_right(rows, "Einsum", 1);
    test_case_free(rows);
    test_case_free(test);
    struct scene scene;
    scene_open(&scene, LABELS(padded));
    struct trial_done done =
        try_on(&scene, "g (float[6] x) => (float[4] y) <int64[2] p = {-1, -1}> { y = Pad(x, p) }");
    assert_false(lists_taken_for_columns(&(struct experiment){.panel = &scene.panel, .done = &done}));
    trial_done_release(&done);
    scene_close(&scene);
}

/* Lists that a node makes, in another form; where another node needs them as they are, there is none. */
static void test_made_lists(void **state)
{
    (void)state;
    struct test_case *test = case_of_text("g (float[2,3] x, float s) => (float[6] y) <int64[1] d = {6}> "
                                          "{ l = Reshape(x, d) y = Mul(l, s) }",
                                          1);
    struct node_values *values = node_values_new(test);
    for (enum made_form form = MADE_ROWS; form <= MADE_LISTS; form++) {
        struct test_case *made = lists_made_as(values, MADE_BY_ALL, form);
        assert_right(made, "Reshape", 3);
        assert_int_equal(test_case_model(made, NULL)->graph->output[0]->type->tensor_type->shape->n_dim,
                         form == MADE_LISTS ? 1 : 2);
        test_case_free(made);
    }
    assert_null(lists_made_as(values, 1, MADE_ROWS)); /* nothing takes what it makes */
    node_values_free(values);
    test_case_free(test);
    test = case_of_text("g (float[2,3] x) => (float[12] y) <int64[1] d = {6}, int64[1] t = {2}> "
                        "{ l = Reshape(x, d) y = Tile(l, t) }",
                        1);
    values = node_values_new(test);
    assert_null(lists_made_as(values, MADE_BY_ALL, MADE_ROWS));
    node_values_free(values);
    test_case_free(test);
}

/* All data with a dimension more: operands meet as before, and what would mean something else is not made. */
static void test_deeper(void **state)
{
    (void)state;
    struct test_case *test =
        case_of_text("g (float[2,3] x, float[3] v, float s) => (float[2,3] y) { y = Sum(x, v, s) }", 1);
    for (int first = 0; first < 2; first++) {
        struct test_case *deeper = lists_deeper(test, first, false);
        assert_right(deeper, "Sum", 1);
        assert_int_equal(deeper->inputs[0].tensors[0].shape.rank, 3);
        assert_int_equal(deeper->inputs[1].tensors[0].shape.rank, 2);
        assert_int_equal(deeper->inputs[2].tensors[0].shape.rank, 0);
        test_case_free(deeper);
    }
    test_case_free(test);
    test = case_of_text("g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }", 1);
    assert_null(lists_deeper(test, true, false)); /* it has no list */
    test_case_free(test);
    test = case_of_text("g (float[3] x) => (float[6] y) <int64[1] r = {2}> { y = Tile(x, r) }", 1);
    assert_null(lists_deeper(test, true, false)); /* the repeats are for one dimension */
    test_case_free(test);
}

/* Results that a node can do without. */
static void test_fewer_outputs(void **state)
{
    (void)state;
    struct test_case *test =
        case_of_text("g (float[2,3] x) => (float[2,3] y, bool[2,3] m) { y, m = Dropout(x) }", 1);
    struct test_case *fewer = changed_fewer_outputs(test);
    assert_right(fewer, "Dropout", 1);
    assert_int_equal(test_case_model(fewer, NULL)->graph->n_output, 1);
    assert_null(changed_fewer_outputs(fewer));
    test_case_free(fewer);
    test_case_free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_death),       cmocka_unit_test(test_parts),
        cmocka_unit_test(test_found),       cmocka_unit_test(test_none),
        cmocka_unit_test(test_other_forms), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_axes),        cmocka_unit_test(test_deeper),
        cmocka_unit_test(test_made_lists),  cmocka_unit_test(test_fewer_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
