/* Classes of inputs that OpenCV fails on, as experiments find them. */
#include "unit/evidence_of.h"

static void look(struct scene *scene, const char *text, struct finding_evidence *evidence)
{
    evidence_of_case(scene, case_of_text(text, 1), evidence);
}

static void test_lists(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    scene_open(&scene, LABELS("opencv"));
    look(&scene, "g (float[3] x) => (float[3] y) { y = Softmax<axis = -1>(x) }", &evidence);
    assert_true(shows(&evidence, CURED_TWO_DIMS));
    assert_true(shows(&evidence, CURED_COLUMNS));
    assert_true(shows(&evidence, FAILS_ON_LISTS));
    evidence_release(&evidence);
    scene_close(&scene);
}

/* A row cures these, too, but what they give is then no scalar any more: that may be the cure. */
static void test_scalars(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "g (float[1] x) => (float y) <int64[1] a = {0}> { y = Squeeze(x, a) }",
        "g (float[1] x, float[1] z) => (float y) { y = MatMul(x, z) }",
    };
    struct scene scene;
    size_t cured = 0;
    scene_open(&scene, LABELS("opencv"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct finding_evidence evidence;
        look(&scene, texts[i], &evidence);
        cured += shows(&evidence, CURED_TWO_DIMS);
        assert_false(shows(&evidence, FAILS_ON_LISTS));
        evidence_release(&evidence);
    }
    assert_true(cured > 0); /* else nothing was shown */
    scene_close(&scene);
}

/* A list that a node makes: as a row it is no fault any more, and with a node more it still is. */
static void test_made_lists(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    scene_open(&scene, LABELS("opencv"));
    look(&scene,
         "g (float[1] x, float[1] z) => (float[2] y) <int64[1] d = {1}> "
         "{ l = Reshape(x, d) y = Concat<axis = 0>(z, l) }",
         &evidence);
    assert_true(shows(&evidence, CURED_MADE_LISTS));
    assert_true(shows(&evidence, FAILS_ON_LISTS));
    evidence_release(&evidence);
    scene_close(&scene);
}

static const char release[] = "opencv@4.10.0"; /* those before lack Range, or do not fail */

static bool has_release(void)
{
    const struct engine_spec *spec;
    struct registry *registry = open_registry();
    bool there = registry_find(registry, given_typed(registry_arena(registry), release), &spec, NULL) == 0;
    registry_free(registry);
    return there;
}

/* Indices that must be lists as the data is, in a release that has the operator. */
static void test_lists_of_indices(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    if (!has_release())
        skip();
    scene_open(&scene, LABELS(release));
    look(&scene, "g (float[3] x) => (float[2] y) <int64[2] i = {2, 0}> { y = GatherElements(x, i) }",
         &evidence);
    assert_true(shows(&evidence, CURED_COLUMNS));
    assert_true(shows(&evidence, FAILS_ON_LISTS));
    evidence_release(&evidence);
    scene_close(&scene);
}

/* What is brought together with a list is right with a dimension more of all; that indices are an input of a
 * type that the engine has none of does not matter. */
static void test_a_dimension_more(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    if (!has_release())
        skip();
    struct test_case *test = case_of_text(
        "g (float[2,2] x, int64[1,2] i) => (float[2,2] y) <float[1] u = {5}> { y = ScatterND(x, i, u) }", 1);
    for (size_t i = 0; i < test->inputs[1].tensors[0].count; i++)
        tensor_set(&test->inputs[1].tensors[0], i, 1);
    scene_open(&scene, LABELS(release));
    evidence_of_case(&scene, test, &evidence);
    assert_true(shows(&evidence, CURED_DEEPER));
    assert_true(shows(&evidence, FAILS_ON_LISTS));
    evidence_release(&evidence);
    scene_close(&scene);
}

/* A result that is never right: what is left without it is right, if only of zeros. */
static void test_fewer_outputs(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    if (!has_release())
        skip();
    struct test_case *test =
        case_of_text("g (float[3,1,3,1] x) => (float[3,1,3,1] y, bool[3,1,3,1] m) { y, m = Dropout(x) }", 1);
    for (size_t i = 0; i < test->inputs[0].tensors[0].count; i++)
        tensor_set(&test->inputs[0].tensors[0], i, 0);
    scene_open(&scene, LABELS(release));
    evidence_of_case(&scene, test, &evidence);
    assert_true(shows(&evidence, CURED_FEWER_OUTPUTS));
    evidence_release(&evidence);
    scene_close(&scene);
}

/* A constant of integers that is read wrong, in a place where it cannot be an input. */
static void test_integers(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    scene_open(&scene, LABELS("opencv"));
    look(
        &scene,
        "g (uint8[1,2] x) => (float[1,2] y) <float s = {1}, uint8 z = {0}> { y = DequantizeLinear(x, s, z) }",
        &evidence);
    assert_true(shows(&evidence, CURED_CAST));
    assert_string_equal(evidence.constant, "uint8");
    evidence_release(&evidence);
    scene_close(&scene);
}

static void look_at_constants(struct scene *scene, const char *text)
{
    struct finding_evidence evidence;
    look(scene, text, &evidence);
    assert_true(shows(&evidence, FAILS_ON_CONSTANTS));
    evidence_release(&evidence);
}

/* Nodes that are refused on constants alone, in other words behind another one than by themselves. */
static void test_constants(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "g () => (float[1,1,1,1] y) <int64[4] s = {1,1,1,1}, float c = {0}> "
        "{ a = Reshape(c, s) y = DepthToSpace<blocksize = 1>(a) }",
        "g (float[1,1,1,1,1] x) => (int64[1,5,1,1] y) <int64[4] s = {1,5,1,1}> "
        "{ n = Shape(x) a = Reshape(n, s) y = DepthToSpace<blocksize = 1>(a) }",
    };
    struct scene scene;
    scene_open(&scene, LABELS("opencv"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        look_at_constants(&scene, texts[i]);
    scene_close(&scene);
}

/* And behind one that is wrong, which does not matter. */
static void test_constants_behind(void **state)
{
    (void)state;
    struct scene scene;
    if (!has_release())
        skip();
    scene_open(&scene, LABELS(release));
    look_at_constants(&scene, "g () => (int64[2] y) <int64 b = {12}, int64 e = {-43}, int64 d = {-5}, "
                              "int64[3] n = {2,5,4}> { r = Range(b, e, d) y, v, w = Split(r, n) }");
    scene_close(&scene);
}

#define INDICES "s = Shape(x) n = Gather(s, i) r = Range(z, n, i) g = Gather<axis = 1>(x, r)"

/* Indices that the engine has to compute, in a model without inputs and in a large one. */
static void test_computed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "g () => (float[1,2] g) <int64 z = {0}, int64 i = {1}, float[1,2] w = {0,0}, int64[1] b = {0}, "
        "int64[1] e = {1}> { x = Slice(w, b, e) " INDICES " }",
        "g (float[1,2] x) => (float[1,2] y) <int64 z = {0}, int64 i = {1}> { " INDICES
        " a = Neg(g) b = Neg(a) c = Neg(b) d = Neg(c) e = Neg(d) f = Neg(e) h = Neg(f) j = Neg(h) k = Neg(j)"
        " l = Neg(k) m = Neg(l) o = Neg(m) p = Neg(o) y = Neg(p) }",
    };
    if (!has_release())
        skip();
    struct scene scene;
    scene_open(&scene, LABELS(release));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct finding_evidence evidence;
        look(&scene, texts[i], &evidence);
        assert_string_equal(evidence.computed, "Gather");
        evidence_release(&evidence);
    }
    scene_close(&scene);
}

/* Pads at fault, on data of zeros: every answer is zeros, and that it has the right shape is enough. Another
 * value of ceil_mode, which is left out, makes the wrong shape of a pool the right one. */
static void test_shape_of_zeros(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "g (float[1,1,1] x, float[1,1,1] w) => (float[1,1,2] y) "
        "{ y = Conv<kernel_shape = [1], pads = [0, 1]>(x, w) }",
        "g (float[1,1,1] x) => (float[1,1,2] y) { y = AveragePool<kernel_shape = [1], pads = [0, 1]>(x) }",
    };
    struct scene scene;
    scene_open(&scene, LABELS("opencv"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct finding_evidence evidence;
        evidence_of_case(&scene, case_of_text(texts[i], 0), &evidence);
        assert_string_equal(evidence.parameter, "pads");
        evidence_release(&evidence);
    }
    scene_close(&scene);
}

/* Weights must be a constant, and that the data is one hides it. */
static void test_variable_weights(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence evidence;
    scene_open(&scene, LABELS("opencv"));
    look(&scene,
         "g (float[1,2,1,1,1] w) => (float[1,1,1,1,1] y) <float[1,2,1,1,1] x = {0, 0}, float[1] b = {0}> "
         "{ y = Conv<kernel_shape = [1, 1, 1]>(x, w, b) }",
         &evidence);
    assert_true(shows(&evidence, CURED_FROZEN));
    evidence_release(&evidence);
    scene_close(&scene);
}

/* A write beyond its memory, which is noticed here or there: no place in the code is told. */
static void test_damaged_heap(void **state)
{
    (void)state;
    struct scene scene;
    struct finding_evidence alone, among;
    scene_open(&scene, LABELS("opencv"));
    look(&scene, "g (float[0,1] x) => (float[0] y) <int32 i = {0}> { y = Gather<axis = -1>(x, i) }", &alone);
    look(&scene,
         "g (float[0,1] x, float[1,1,1,1] z) => (float[0] y, float[1,1,1,1] p) <int32 i = {0}> "
         "{ y = Gather<axis = -1>(x, i) p = AveragePool<kernel_shape = [1, 1]>(z) }",
         &among);
    bool crashes = *alone.stack; /* releases after 4.6.0 do not */
    if (crashes) {
        assert_string_not_equal(among.alone, "");
        assert_string_equal(alone.stack, EVIDENCE_HEAP);
        assert_string_equal(among.stack, EVIDENCE_HEAP);
    }
    evidence_release(&alone);
    evidence_release(&among);
    scene_close(&scene);
    if (!crashes)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shape_of_zeros),
                                       cmocka_unit_test(test_variable_weights),
                                       cmocka_unit_test(test_constants),
                                       cmocka_unit_test(test_constants_behind),
                                       cmocka_unit_test(test_computed),
                                       cmocka_unit_test(test_integers),
                                       cmocka_unit_test(test_lists),
                                       cmocka_unit_test(test_damaged_heap),
                                       cmocka_unit_test(test_scalars),
                                       cmocka_unit_test(test_made_lists),
                                       cmocka_unit_test(test_lists_of_indices),
                                       cmocka_unit_test(test_a_dimension_more),
                                       cmocka_unit_test(test_fewer_outputs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
