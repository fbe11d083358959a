/* Mutations that go where it is dangerous, and models that stay finite whatever they are fed. */
#include "danger_scene.h"

#include "search/danger_climb.h"
#include "search/stays_finite.h"

#include <float.h>
#include <math.h>

enum { GENES = 8 };

static struct scene make(const char *nodes, const char *z)
{
    return scene_make("float[8] x", nodes, z);
}

static int measure(void *context, const float *genes, struct danger *danger)
{
    struct scene *scene = context;
    struct value x = scene_input("x", genes, GENES);
    scene->measured++;
    int status = danger_measure(scene->meter, &x, 1, danger, NULL);
    value_release(&x);
    return status;
}

/* How near the nearest elements are to the dangers that lead to NaN, summed: higher is nearer. */
static double nearness(const struct danger *danger)
{
    double sum = 0;
    for (size_t kind = 0; kind < NEAR_KINDS; kind++)
        sum += 1 - danger->nearest[kind].distance;
    return sum;
}

/* How many mutations of a genome of small numbers it takes until a value inside is no number; `most` at most.
 */
static size_t mutations_until_strange(struct scene *scene, double leaps, float limit, size_t most)
{
    struct gene_stretch stretch = {.count = GENES, .low = -limit, .high = limit, .scale = 1};
    struct danger_climb climb = {.measure = measure,
                                 .context = scene,
                                 .meter = scene->meter,
                                 .n_stretches = 1,
                                 .stretches = &stretch,
                                 .leaps = leaps};
    struct rng rng = rng_seed(5);
    struct danger danger = {0};
    float child[GENES], best[GENES];
    double fittest = -1;
    for (size_t i = 0; i < GENES; i++)
        best[i] = 0.25F * (float)i - 0.9F;
    for (size_t n = 1; n <= most; n++) {
        danger_climb_mutate(&climb, &rng, best, child, GENES);
        for (size_t i = 0; i < GENES; i++)
            assert_true(fabsf(child[i]) <= limit);
        assert_int_equal(measure(scene, child, &danger), 0);
        if (danger.nans + danger.infinities)
            return n;
        if (nearness(&danger) > fittest) {
            fittest = nearness(&danger);
            memcpy(best, child, sizeof best);
        }
    }
    return most + 1;
}

/* Each model breaks somewhere that noise on the seed does not reach. */
static void test_reaches(void **state)
{
    (void)state;
    static const struct {
        const char *nodes;
        double leaps;
        float limit;
    } cases[] = {
        {"z = Mul(x, x)", 1, FLT_MAX},
        {"a = Mul(x, x)\nz = Exp(a)", -1, FLT_MAX},
        {"c = Constant<value_float = 1000.0>()\na = Add(x, c)\nz = Sqrt(a)", -1, FLT_MAX},
        {"c = Constant<value_float = 77.5>()\na = Sub(x, c)\nz = Reciprocal(a)", -1, 1e4F},
        {"s = ReduceSum(x)\nc = Constant<value_float = 300.0>()\na = Sub(c, s)\nz = Log(a)", -1, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene = make(cases[i].nodes, i == 4 ? "float[1]" : "float[8]");
        size_t taken = mutations_until_strange(&scene, cases[i].leaps, cases[i].limit, 60);
        if (taken > 60)
            fail_msg("%s: not reached", cases[i].nodes);
        scene_drop(&scene);
    }
}

/* A leap measures nothing; a climb measures no more often than it may. */
static void test_cost(void **state)
{
    (void)state;
    struct scene scene = make("a = Tanh(x)\nz = Sqrt(a)", "float[8]");
    struct gene_stretch stretch = {.count = GENES, .low = -1, .high = 1, .scale = 1};
    struct danger_climb climb = {.measure = measure,
                                 .context = &scene,
                                 .meter = scene.meter,
                                 .n_stretches = 1,
                                 .stretches = &stretch,
                                 .measures = 4,
                                 .leaps = 1};
    float parent[GENES] = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F}, child[GENES], again[GENES];
    struct rng rng = rng_seed(1), same;
    danger_climb_mutate(&climb, &rng, parent, child, GENES);
    assert_int_equal(scene.measured, 0);
    climb.leaps = -1;
    same = rng;
    danger_climb_mutate(&climb, &rng, parent, child, GENES);
    assert_in_range(scene.measured, 1, 4);
    danger_climb_mutate(&climb, &same, parent, again, GENES);
    assert_memory_equal(child, again, sizeof child);
    scene_drop(&scene);
}

static bool keeps_finite(const char *nodes)
{
    struct scene scene = make(nodes, "float[8]");
    float genes[GENES] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct value x = scene_input("x", genes, GENES);
    struct error err = {0};
    bool stays;
    if (stays_finite(scene.model, &x, 1, &stays, &err))
        fail_msg("%s", err.message);
    value_release(&x);
    scene_drop(&scene);
    return stays;
}

static void test_stays_finite(void **state)
{
    (void)state;
    assert_true(keeps_finite("a = Sigmoid(x)\nb = Add(a, a)\nz = Mul(b, b)"));
    assert_true(keeps_finite("a = Mul(x, x)\nz = Sigmoid(a)"));
    assert_true(keeps_finite("a = Add(x, x)\nb = Relu(a)\nz = Tanh(b)"));
    assert_true(keeps_finite("a = Relu(x)\nz = Softmax(a)"));
    assert_true(keeps_finite("a = Shape(x)\nb = Cast<to = 1>(a)\nc = Tanh(x)\nd = Div(b, b)\nz = Add(c, d)"));
    assert_false(keeps_finite("z = Add(x, x)"));
    assert_false(keeps_finite("a = Tanh(x)\nz = Sqrt(a)"));
    assert_false(keeps_finite("a = Tanh(x)\nz = Div(x, a)"));
    assert_false(keeps_finite("z = LogSoftmax(x)"));
    assert_false(keeps_finite("a = Mul(x, x)\nz = Sin(a)")); /* the sine of an infinity is none */
    assert_false(keeps_finite("a = Mul(x, x)\nb = Sub(a, a)\nz = Tanh(b)")); /* nor is this difference */
    assert_false(keeps_finite("a = Mul(x, x)\nz = Softmax(a)"));
    assert_false(keeps_finite("z = Neg(x)")); /* it does, but nothing says so */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reaches),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_stays_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
