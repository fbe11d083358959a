/* How near values come to overflow, zero divisors, and the ends of domains: each kind on a small model.
 */
#include "danger_scene.h"

#include "search/danger_distance.h"

#include <float.h>
#include <math.h>

static struct scene make(const char *nodes, const char *z)
{
    return scene_make("float[4] x, float[4] y", nodes, z);
}

static struct danger measure(struct scene *scene, const float *x, const float *y)
{
    struct danger danger;
    struct error err = {0};
    struct value inputs[2] = {scene_input("x", x, 4), scene_input("y", y, 4)};
    if (danger_measure(scene->meter, inputs, 2, &danger, &err))
        fail_msg("%s", err.message);
    for (size_t k = 0; k < 2; k++)
        value_release(&inputs[k]);
    return danger;
}

static const float small[4] = {1, 2, 3, 4.25F};

static void test_distances(void **state)
{
    (void)state;
    double far = distance_to_overflow(DTYPE_FLOAT, 1e3, 1), near = distance_to_overflow(DTYPE_FLOAT, 1e30, 1);
    assert_true(0 < near && near < far && far < 1);
    assert_true(distance_to_overflow(DTYPE_FLOAT, FLT_MAX, 1) < 1e-9);
    assert_true(distance_to_overflow(DTYPE_FLOAT, 1e20, 2) == 0);
    assert_true(distance_to_overflow(DTYPE_FLOAT16, 1e3, 1) < far);
    assert_true(distance_to_overflow(DTYPE_FLOAT, NAN, 1) == 0);
    assert_true(distance_to_pole(DTYPE_FLOAT, 0) == 0 && distance_to_pole(DTYPE_FLOAT, -1e-30) > 0);
    assert_true(distance_to_pole(DTYPE_FLOAT, 1e-30) < distance_to_pole(DTYPE_FLOAT, 1e-3));
    assert_true(distance_to_edge(DTYPE_FLOAT, -1) == 0 && distance_to_edge(DTYPE_FLOAT, 0) > 0);
    assert_true(distance_to_exp_overflow(DTYPE_FLOAT, 89) == 0 &&
                distance_to_exp_overflow(DTYPE_FLOAT, 44) > 0.4);
}

static void test_overflow(void **state)
{
    (void)state;
    struct scene scene = make("a = Neg(x)\nb = Mul(a, y)\nz = Sigmoid(b)", "float[4]");
    struct danger before = measure(&scene, small, small);
    struct danger after = measure(&scene, (float[4]){1, 1e18F, 1, 1}, (float[4]){1, 1e19F, 1, 1});
    assert_true(after.nearest[NEAR_OVERFLOW].distance < before.nearest[NEAR_OVERFLOW].distance);
    assert_true(after.nearest[NEAR_OVERFLOW].distance > 0);
    assert_int_equal(after.nearest[NEAR_OVERFLOW].element, 1);
    assert_string_equal(danger_node(scene.meter, after.nearest[NEAR_OVERFLOW].node)->op_type, "Mul");
    assert_int_equal(after.nans + after.infinities, 0);
    after = measure(&scene, (float[4]){1, 1e18F, 1e30F, 1}, (float[4]){1, 1, 1e19F, 1});
    assert_true(after.nearest[NEAR_OVERFLOW].distance == 0 && after.infinities == 1 && after.nans == 0);
    assert_string_equal(danger_node(scene.meter, after.first_strange)->op_type, "Mul");
    before = measure(&scene, small, small); /* nothing is left of the run before */
    assert_true(before.nearest[NEAR_OVERFLOW].distance > 0.9 && before.infinities == 0);
    scene_drop(&scene);
}

static void test_division(void **state)
{
    (void)state;
    struct scene scene = make("a = Sub(x, y)\nz = Div(x, a)", "float[4]");
    struct danger one = measure(&scene, small, (float[4]){0, 0, 1, 0});
    struct danger two = measure(&scene, small, (float[4]){0, 0, 3.0001F, 0});
    assert_true(two.nearest[NEAR_DIVISION].distance < one.nearest[NEAR_DIVISION].distance);
    assert_int_equal(two.nearest[NEAR_DIVISION].element, 2);
    assert_true(two.nearest[NEAR_DIVISION].margin < 0 && one.nearest[NEAR_DIVISION].margin > 0);
    assert_true(measure(&scene, small, small).nearest[NEAR_DIVISION].distance == 0);
    scene_drop(&scene);
}

static void test_domain(void **state)
{
    (void)state;
    struct scene scene = make("a = Sqrt(x)\nb = Asin(y)\nz = Add(a, b)", "float[4]");
    float inside[4] = {0, 0.5F, 0.25F, 0};
    struct danger danger = measure(&scene, small, inside);
    assert_true(danger.nearest[NEAR_DOMAIN].distance > 0 && danger.nearest[NEAR_DOMAIN].element == 1);
    assert_string_equal(danger_node(scene.meter, danger.nearest[NEAR_DOMAIN].node)->op_type, "Asin");
    danger = measure(&scene, (float[4]){1, 1, 1, -1}, inside);
    assert_true(danger.nearest[NEAR_DOMAIN].distance == 0 && danger.nans == 2);
    assert_true(danger_of_node(scene.meter, 1, NEAR_DOMAIN)->distance > 0);
    assert_true(measure(&scene, small, small).nearest[NEAR_DOMAIN].distance == 0);
    scene_drop(&scene);
}

static void test_power(void **state)
{
    (void)state;
    struct scene scene = make("z = Pow(x, y)", "float[4]");
    struct danger whole = measure(&scene, (float[4]){-1, 1, 1, 1}, (float[4]){2, 2, 2, 2});
    struct danger root = measure(&scene, (float[4]){-1, 1, 1, 1}, (float[4]){0.5F, 2, 2, 2});
    struct danger inverse = measure(&scene, (float[4]){1, 1, 0, 1}, (float[4]){2, 2, -1, 2});
    assert_true(whole.nearest[NEAR_DOMAIN].distance == 1 && whole.nearest[NEAR_DIVISION].distance == 1);
    assert_true(root.nearest[NEAR_DOMAIN].distance == 0 && root.nans == 1);
    assert_true(inverse.nearest[NEAR_DIVISION].distance == 0 && inverse.infinities == 1);
    scene_drop(&scene);
}

static void test_exp(void **state)
{
    (void)state;
    struct scene scene = make("z = Softmax(x)", "float[4]");
    struct danger danger = measure(&scene, (float[4]){1, 2, 80, -500}, small);
    assert_true(danger.nearest[NEAR_EXP].distance > 0 && danger.nearest[NEAR_EXP].distance < 0.15);
    assert_int_equal(danger.nearest[NEAR_EXP].element, 2);
    danger = measure(&scene, (float[4]){1, 2, 90, 1}, small);
    assert_true(danger.nearest[NEAR_EXP].distance == 0 && danger.nans == 0);
    scene_drop(&scene);
}

/* What is squared on the way overflows although the result does not. */
static void test_inner(void **state)
{
    (void)state;
    struct scene scene = make("z = ReduceL2(x)", "float[1]");
    struct danger danger = measure(&scene, (float[4]){1e30F, 1, 1, 1}, small);
    assert_true(danger.nearest[NEAR_OVERFLOW].distance == 0 && danger.infinities == 0);
    scene_drop(&scene);
}

static void test_opposite(void **state)
{
    (void)state;
    struct scene scene = make("z = ReduceSum(x)", "float[1]");
    struct danger one = measure(&scene, (float[4]){1e30F, 1e30F, 1, -1}, small);
    struct danger both = measure(&scene, (float[4]){1e30F, -1e30F, 1, -1}, small);
    assert_true(both.nearest[NEAR_OPPOSITE].distance < one.nearest[NEAR_OPPOSITE].distance);
    assert_true(both.nearest[NEAR_OPPOSITE].distance < 0.25);
    scene_drop(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances), cmocka_unit_test(test_overflow), cmocka_unit_test(test_division),
        cmocka_unit_test(test_domain),    cmocka_unit_test(test_power),    cmocka_unit_test(test_exp),
        cmocka_unit_test(test_inner),     cmocka_unit_test(test_opposite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
