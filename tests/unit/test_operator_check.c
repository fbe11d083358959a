/* Every operator of a model is checked, whatever the outputs show. */
#include "scene.h"

#include "base/side_by_side.h"
#include "engine/handover.h"
#include "locate/operator_check.h"

#include <math.h>

/* The fault of Concat (its third input becomes zeros) is where ArgMax does not look. */
#define JOINED_AND_HIDDEN                                                                               \
    "g (float[4] x) => (int64[1] y) { r = Relu(x) a = Abs(x) b = Neg(a) c = Concat<axis = 0>(a, r, b) " \
    "y = ArgMax<axis = 0>(c) }"

/* A product, what an engine fuses with it, and what hides the size of the result. */
#define FUSED_AND_HIDDEN                                                                     \
    "g (float[2,3] x) => (int64[2,1] y) <float[3,2] w = {1.0, -2.0, 3.0, 4.0, 5.0, 6.0}> { " \
    "m = MatMul(x, w) r = Relu(m) y = ArgMax<axis = 1>(r) }"

static void check(struct operator_check *found, const char *label, const char *text, long double first)
{
    struct scene scene;
    struct test_case *test = case_of_text(text, first);
    struct result answer;
    struct handover handover;
    struct error err = {0};
    scene_open(&scene, LABELS(label));
    struct job job = {.engine = scene.panel.engines[0], .n_inputs = test->n_inputs, .inputs = test->inputs};
    struct settle_case which = {.pool = scene.panel.pool, .engine = scene.panel.engines[0], .test = test};
    result_init(&answer);
    assert_int_equal(handover_open_case(&handover, scene.panel.pool, test, &err), 0);
    handover_give(&handover, &job);
    assert_int_equal(pool_run_one(scene.panel.pool, &job, &answer, &err), 0);
    assert_int_equal(answer.outcome, OUTCOME_OK);
    if (operator_check(found, &which, &answer, FUSIONS_OF_TWO_PRODUCTS, &err))
        fail_msg("%s", err.message);
    result_release(&answer);
    handover_close(&handover);
    test_case_free(test);
    scene_close(&scene);
}

static void what_the_last_operator_hides_is_found(void **state)
{
    (void)state;
    struct operator_check found;
    check(&found, "reference:fault=concat-three,round=on", JOINED_AND_HIDDEN, -2);
    assert_int_equal(found.found.count, 1);
    assert_int_equal(found.found.nodes[0], 3);
    assert_int_equal(found.found.kind, VERDICT_WRONG);
    assert_non_null(strstr(found.found.text, "Concat (node c)"));
    operator_check_release(&found);
}

static void a_healthy_engine_has_every_operator_checked(void **state)
{
    (void)state;
    static const char *const texts[] = {JOINED_AND_HIDDEN, FUSED_AND_HIDDEN};
    for (size_t i = 0; i < 2; i++) {
        struct operator_check found;
        check(&found, "reference:round=on", texts[i], -2);
        assert_int_equal(found.found.count, 0);
        assert_int_equal(found.n_checked, found.n_nodes);
        for (size_t k = 0; k < found.n_nodes; k++) {
            assert_int_equal(found.nodes[k].checked, CHECKED_NODE);
            assert_null(found.nodes[k].why);
            assert_true(found.nodes[k].error <= found.nodes[k].visible);
        }
        operator_check_release(&found);
    }
}

/* The same on one core and on several, whether or not something is wrong. Large enough to be worth a fork. */
static void every_number_of_processes_tells_the_same(void **state)
{
    (void)state;
    static const char *const labels[] = {"reference:round=on", "reference:fault=concat-three,round=on",
                                         "reference:fault=fused-tail,round=on"};
    static const char *const texts[] = {
        "g (float[100000] x) => (int64[1] y) { r = Relu(x) a = Abs(x) b = Neg(a) e = Exp(b) "
        "c = Concat<axis = 0>(a, r, e) y = ArgMax<axis = 0>(c) }",
        "g (float[200000,2] x) => (int64[200000,1] y) <float[2,2] w = {1.0, -2.0, 3.0, 4.0}> { "
        "m = MatMul(x, w) r = Relu(m) s = MatMul(r, w) t = Relu(s) y = ArgMax<axis = 1>(t) }"};
    for (size_t i = 0; i < 6; i++) {
        struct operator_check one, several;
        side_by_side_use(1);
        check(&one, labels[i % 3], texts[i / 3], -2);
        side_by_side_use(3);
        check(&several, labels[i % 3], texts[i / 3], -2);
        side_by_side_use(1);
        assert_int_equal(one.found.count, several.found.count);
        assert_int_equal(one.found.kind, several.found.kind);
        assert_string_equal(one.found.text, several.found.text);
        assert_int_equal(one.n_checked, several.n_checked);
        assert_int_equal(one.right, several.right);
        assert_int_equal(one.within_types, several.within_types);
        for (size_t k = 0; k < one.n_nodes; k++) {
            const struct checked_node *a = &one.nodes[k], *b = &several.nodes[k];
            assert_int_equal(a->checked, b->checked);
            assert_true(a->error == b->error && a->visible == b->visible);
            assert_true(a->elements == b->elements && a->left == b->left && a->vague == b->vague);
        }
        operator_check_release(&one);
        operator_check_release(&several);
    }
}

/* Whether every result is within its type shows where every node is judged by itself. */
static void results_beyond_their_type_are_noted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long double first;
        bool within;
    } cases[] = {
        {JOINED_AND_HIDDEN, -2, true},
        {"g (float[4] x) => (int64[1] y) { e = Exp(x) y = ArgMax<axis = 0>(e) }", 2, true},
        {"g (float[4] x) => (int64[1] y) { e = Exp(x) y = ArgMax<axis = 0>(e) }", 100, false},
        {"g (float[4] x) => (int64[1] y) { e = Exp(x) y = ArgMax<axis = 0>(e) }", -200, false},
        /* A probability that becomes 0 and is only multiplied and added up. */
        {"g (float[1,4] x) => (float[1,1] y) <float[4] m = {0, -1000, 0, 0}, float[4,1] w = {1, 2, 3, 4}> { "
         "a = Add(x, m) s = Softmax<axis = 1>(a) y = MatMul(s, w) }",
         1, true},
        {"g (float[1,4] x) => (float[1,4] y) <float[4] m = {0, -1000, 0, 0}> { "
         "a = Add(x, m) s = Softmax<axis = 1>(a) y = Log(s) }",
         1, false},
        {"g (float[4] x) => (float[4] y) <bool c = {1}> { y = If (c) <"
         "then_branch = t () => (float[4] a) { a = Neg(x) }, else_branch = e () => (float[4] b) { b = Abs(x) "
         "}> }",
         2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct operator_check found;
        check(&found, "reference:round=on", cases[i].text, cases[i].first);
        assert_int_equal(found.within_types, cases[i].within);
        operator_check_release(&found);
    }
}

/* The fault is gone as soon as the value between is exposed. */
static void what_goes_wrong_only_when_fused_is_found(void **state)
{
    (void)state;
    struct operator_check found;
    check(&found, "reference:fault=fused-tail,round=on", FUSED_AND_HIDDEN, 1);
    assert_int_equal(found.found.count, 2);
    assert_true(found.found.fused);
    assert_int_equal(found.found.nodes[0], 0);
    assert_int_equal(found.found.nodes[1], 1);
    operator_check_release(&found);
}

/* An engine whose values change as soon as they are exposed is not blamed. Values that it shows without
 * harm still clear operators: those before the last one. */
static void values_that_are_not_the_engines_own_blame_nobody(void **state)
{
    (void)state;
    struct operator_check found;
    check(&found, "reference:fault=output-moved,round=on", FUSED_AND_HIDDEN, 1);
    assert_int_equal(found.found.count, 0);
    assert_int_equal(found.n_checked, 2);
    assert_int_equal(found.nodes[0].checked, CHECKED_NODE);
    assert_int_equal(found.nodes[1].checked, CHECKED_GROUP);
    assert_int_equal(found.nodes[2].checked, CHECKED_NOT);
    assert_non_null(found.nodes[2].why);
    operator_check_release(&found);
}

static void idle(const char *text, long double first, size_t node, const char *words)
{
    struct operator_check found;
    check(&found, "reference:round=on", text, first);
    const char *missing = exercise_missing(&found.nodes[node].exercise);
    assert_non_null(missing);
    assert_string_equal(missing, words);
    operator_check_release(&found);
}

static void what_a_sample_does_not_exercise_is_told(void **state)
{
    (void)state;
    idle("g (float[4] x) => (float[4] y) { y = Sigmoid(x) }", 900, 0,
         "its result is nothing but the ends of its range");
    idle("g (float[4] x) => (float[4] y) { y = Relu(x) }", -20, 0, "all elements of its result are the same");
    idle("g (float[4] x) => (float[4] y) <float z = {0.0}> { c = Less(x, z) y = Where(c, x, z) }", 5, 1,
         "its condition is never true");
    idle("g (float[4] x) => (float[4] y) <float z = {0.0}> { c = Less(x, z) y = Where(c, z, x) }", -9, 1,
         "its condition is always true");
    struct operator_check found;
    check(&found, "reference:round=on", "g (float[4] x) => (float[4] y) { y = Sigmoid(x) }", -2);
    assert_null(exercise_missing(&found.nodes[0].exercise));
    operator_check_release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_last_operator_hides_is_found),
        cmocka_unit_test(a_healthy_engine_has_every_operator_checked),
        cmocka_unit_test(every_number_of_processes_tells_the_same),
        cmocka_unit_test(results_beyond_their_type_are_noted),
        cmocka_unit_test(what_goes_wrong_only_when_fused_is_found),
        cmocka_unit_test(values_that_are_not_the_engines_own_blame_nobody),
        cmocka_unit_test(what_a_sample_does_not_exercise_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
