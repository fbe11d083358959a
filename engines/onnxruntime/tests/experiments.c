/* What experiments tell of failures of ONNX Runtime. Skipped where its releases were not fetched. */
#include "unit/evidence_of.h"

#include <math.h>

enum { MESON_SKIP = 77 };

#define OLD "onnxruntime@1.12.0:opt=none"
#define NEW "onnxruntime@1.30.0:opt=none"

static struct test_case *case_of(const char *text, const long double *x, size_t count)
{
    struct test_case *test = case_of_text(text, 0);
    for (size_t i = 0; i < test->inputs[0].tensors[0].count; i++)
        tensor_set(&test->inputs[0].tensors[0], i, i < count ? x[i] : 0);
    return test;
}

/* The quotient of two sizes is rounded: which words of Resize bring that out is chance. Reduced data is zeros
 * but for one element, which shows it in one place only. */
static void test_some_sizes(void **state)
{
    (void)state;
    long double x[30] = {[15] = 1};
    struct scene scene;
    struct finding_evidence evidence;
    scene_open(&scene, LABELS(NEW));
    evidence_of_case(&scene,
                     case_of("g (float[1,1,1,30] x) => (float[1,2,3,4] y) <int64[4] s = {1, 2, 3, 4}> "
                             "{ y = Resize<coordinate_transformation_mode = \"asymmetric\", "
                             "nearest_mode = \"floor\">(x, , , s) }",
                             x, 30),
                     &evidence);
    assert_true(shows(&evidence, CURED_SIZE));
    assert_string_not_equal(evidence.parameter, "");
    evidence_release(&evidence);
    scene_close(&scene);
}

/* -infinity is below the lowest finite number, from which the largest is looked for. */
static void test_below_the_lowest(void **state)
{
    (void)state;
    const long double x[] = {0, -INFINITY};
    struct scene scene;
    struct finding_evidence evidence;
    scene_open(&scene, LABELS(OLD));
    evidence_of_case(&scene,
                     case_of("g (float[1,1,1,1,2] x) => (float[1,1,1,1,1] y) { y = MaxPool<kernel_shape = "
                             "[2, 1, 2], dilations = [1, 1, 2], pads = [0, 0, 1, 1, 0, 0]>(x) }",
                             x, 2),
                     &evidence);
    assert_true(shows(&evidence, CURED_ABOVE_LOWEST));
    evidence_release(&evidence);
    scene_close(&scene);
}

/* A sum within the only operand is refused; with the letter in the result there is none. */
static void test_letters(void **state)
{
    (void)state;
    const long double x[] = {1};
    struct scene scene;
    struct finding_evidence evidence;
    scene_open(&scene, LABELS(OLD));
    evidence_of_case(
        &scene,
        case_of("g (float[1,1,1,2] x) => (float[1,2,1] y) { y = Einsum<equation = \" t ras->tsr\">(x) }", x,
                1),
        &evidence);
    assert_true(shows(&evidence, CURED_LETTERS_KEPT));
    evidence_release(&evidence);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_some_sizes),
                                       cmocka_unit_test(test_below_the_lowest),
                                       cmocka_unit_test(test_letters)};
    const struct engine_spec *spec;
    struct registry *registry = open_registry();
    bool there = registry_find(registry, given_typed(registry_arena(registry), OLD), &spec, NULL) == 0 &&
                 registry_find(registry, given_typed(registry_arena(registry), NEW), &spec, NULL) == 0;
    registry_free(registry);
    return there ? cmocka_run_group_tests(tests, NULL, NULL) : MESON_SKIP;
}
