/* What experiments tell of failures of XNNPACK. */
#include "unit/evidence_of.h"

#include <math.h>

/* Every result is clamped, which makes a number of NaN: whatever the operator. */
static void test_nan(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    struct test_case *test =
        case_of_text("g (float[1,1,1,3] x, float[1,1,1,3] z) => (float[1,1,1,3] y) { y = Sub(x, z) }", 1);
    tensor_set(&test->inputs[0].tensors[0], 1, NAN);
    scene_open(&scene, LABELS("xnnpack"));
    evidence_of_case(&scene, test, &evidence);
    assert_true(shows(&evidence, CURED_FINITE));
    assert_true(shows(&evidence, FAILS_ON_NAN));
    assert_string_equal(evidence.kernel, "subtract");
    evidence_release(&evidence);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
