#include "base/str.h"
#include "search/ascent.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GENES = 12 };

static const struct gene_stretch two_stretches[] = {
    {.count = 5, .low = -10, .high = 10, .scale = 0.5f},
    {.count = GENES - 5, .low = 0, .high = 1, .scale = 0.1f},
};

static struct genetic *some_population(const struct genetic_settings *settings)
{
    static const float zeros[GENES];
    const float *const seeds[] = {zeros};
    struct genetic *genetic;
    struct error err = {0};
    if (genetic_new(&genetic, settings, 2, two_stretches, 1, seeds, &err))
        fail_msg("%s", err.message);
    return genetic;
}

/* Highest, 0, at 3 in the first stretch and at 0.25 in the second. */
static double hill(const float *genes)
{
    double sum = 0;
    for (size_t i = 0; i < GENES; i++)
        sum -= fabs((double)genes[i] - (i < 5 ? 3 : 0.25));
    return sum;
}

/* Highest in the corner where the limits are. */
static double corner(const float *genes)
{
    double sum = 0;
    for (size_t i = 0; i < GENES; i++)
        sum += (double)genes[i];
    return sum;
}

static void rate_new(struct genetic *genetic, double (*fitness)(const float *genes))
{
    for (size_t i = genetic_first_new(genetic); i < genetic_population(genetic); i++)
        genetic_rate(genetic, i, fitness(genetic_genome(genetic, i)));
}

static double climb(const struct genetic_settings *settings, double (*fitness)(const float *genes),
                    size_t rounds, bool fresh)
{
    struct genetic *genetic = some_population(settings);
    double best = -INFINITY;
    for (size_t i = 0; i < rounds; i++) {
        rate_new(genetic, fitness);
        best = fmax(best, genetic_fitness(genetic, genetic_best(genetic)));
        if (fresh)
            genetic_restart(genetic);
        else
            genetic_next(genetic);
    }
    genetic_free(genetic);
    return best;
}

static void test_finds_the_maximum(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct genetic_settings settings = {.seed = seed};
        double bred = climb(&settings, hill, 300, false), random = climb(&settings, hill, 300, true);
        assert_true(bred > -0.2);
        assert_true(bred > random + 1);
        assert_true(climb(&settings, corner, 300, false) > 50 + (GENES - 5) - 0.2);
    }
}

static bool within_limits(const struct genetic *genetic)
{
    for (size_t i = 0; i < genetic_population(genetic); i++)
        for (size_t k = 0; k < GENES; k++) {
            float gene = genetic_genome(genetic, i)[k];
            const struct gene_stretch *limits = &two_stretches[k >= 5];
            if (!(gene >= limits->low && gene <= limits->high))
                return false;
        }
    return true;
}

/* The worst that a caller's function may write. */
static void spoil(void *context, struct rng *rng, const float *parent, float *child, size_t n)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    size_t *calls = context;
    assert_memory_equal(parent, child, n * sizeof *child);
    ++*calls;
    for (size_t i = 0; i < n; i++)
        child[i] = bad[rng_below(rng, 4)];
}

static void test_limits_hold(void **state)
{
    size_t calls = 0;
    struct genetic_settings settings = {.seed = 3, .mutation = 1, .guided = spoil, .context = &calls};
    struct genetic *genetic = some_population(&settings);
    (void)state;
    assert_true(within_limits(genetic));
    for (int i = 0; i < 50; i++) {
        rate_new(genetic, corner);
        genetic_next(genetic);
        assert_true(within_limits(genetic));
    }
    assert_true(calls > 100);
    genetic_free(genetic);
}

static void assert_same(const struct genetic *a, const struct genetic *b)
{
    assert_int_equal(genetic_first_new(a), genetic_first_new(b));
    assert_int_equal(genetic_round(a), genetic_round(b));
    for (size_t i = 0; i < genetic_population(a); i++)
        assert_memory_equal(genetic_genome(a, i), genetic_genome(b, i), GENES * sizeof(float));
}

static void test_same_seed_same_genomes(void **state)
{
    struct genetic_settings settings = {.seed = 7}, other = {.seed = 8};
    struct genetic *a = some_population(&settings), *b = some_population(&settings),
                   *c = some_population(&other);
    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_same(a, b);
        assert_memory_not_equal(genetic_genome(a, 20), genetic_genome(c, 20), GENES * sizeof(float));
        struct genetic *const all[] = {a, b, c};
        for (size_t k = 0; k < 3; k++) {
            rate_new(all[k], hill);
            genetic_next(all[k]);
        }
    }
    genetic_free(a);
    genetic_free(b);
    genetic_free(c);
}

/* What is read back goes on as if nothing had happened; damage is told. */
static void test_written_and_read(void **state)
{
    struct genetic_settings settings = {.seed = 7};
    struct genetic *a = some_population(&settings), *b = some_population(&settings);
    struct error err = {0};
    struct str text;
    (void)state;
    str_init(&text);
    for (int i = 0; i < 5; i++) {
        str_clear(&text);
        genetic_write(a, &text);
        const char *at = text.data;
        assert_int_equal(genetic_read(b, &at, &err), 0);
        assert_int_equal(*at, '\0');
        assert_same(a, b);
        rate_new(a, hill);
        genetic_next(a);
    }
    for (size_t cut = 0; cut < text.length; cut++) {
        char *part = strndup(text.data, cut);
        const char *at = part;
        assert_int_equal(genetic_read(b, &at, &err), -1);
        assert_true(within_limits(b));
        free(part);
    }
    str_release(&text);
    genetic_free(a);
    genetic_free(b);
}

/* A genome without a fitness, or with NaN, is never kept before one that has one. */
static void test_unrated_are_worst(void **state)
{
    struct genetic_settings settings = {.seed = 7, .population = 6, .kept = 2};
    struct genetic *genetic = some_population(&settings);
    (void)state;
    genetic_rate(genetic, 1, NAN);
    genetic_rate(genetic, 3, -5);
    genetic_rate(genetic, 4, INFINITY);
    genetic_next(genetic);
    assert_true(genetic_fitness(genetic, 0) > 0 && isinf(genetic_fitness(genetic, 0)));
    assert_float_equal(genetic_fitness(genetic, 1), -5, 0);
    assert_true(genetic_fitness(genetic, 2) < 0 && isinf(genetic_fitness(genetic, 2)));
    genetic_free(genetic);
}

static void test_refuses(void **state)
{
    static const float gene[1];
    const float *const seeds[] = {gene};
    const struct gene_stretch turned = {.count = 1, .low = 1, .high = 0},
                              endless = {.count = 1, .low = 0, .high = INFINITY},
                              many = {.count = SIZE_MAX, .low = 0, .high = 1},
                              fine = {.count = 1, .low = 0, .high = 1};
    const struct genetic_settings usual = {0}, greedy = {.population = 4, .kept = 4},
                                  crowd = {.population = 1000000};
    struct genetic *genetic;
    struct error err = {0};
    (void)state;
    assert_int_equal(genetic_new(&genetic, &usual, 1, &turned, 1, seeds, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    assert_int_equal(genetic_new(&genetic, &usual, 1, &endless, 1, seeds, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    assert_int_equal(genetic_new(&genetic, &usual, 1, &many, 1, seeds, &err), -1);
    assert_int_equal(err.code, ERROR_LIMIT);
    assert_int_equal(genetic_new(&genetic, &greedy, 1, &fine, 1, seeds, &err), -1);
    assert_int_equal(genetic_new(&genetic, &crowd, 1, &fine, 1, seeds, &err), -1);
    assert_null(genetic);
}

/* Highest, 0, at a place that is the better seen the nearer it is. */
static double funnel(const float *genes, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum -= log1p(fabs((double)genes[i] - 37));
    return sum;
}

/* Rises without end where genes are large and have the signs of their factors. */
static double slope(const float *genes, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)genes[i] * (double)((int)(i * 7 % 5) - 2);
    return log1p(fabs(sum));
}

/* The sum of what ten searches of 40 rounds reach. */
static double ascend(gene_mutation *guided, double (*fitness)(const float *genes, size_t n))
{
    enum { MANY = 48 };
    static const float zeros[MANY];
    static const struct gene_stretch stretch = {.count = MANY, .low = -1e6f, .high = 1e6f, .scale = 1};
    const float *const seeds[] = {zeros};
    double sum = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct ascent ascent = {.space = {1, &stretch, MANY}};
        struct genetic_settings settings = {.seed = seed, .guided = guided, .context = &ascent};
        struct genetic *genetic;
        struct error err = {0};
        if (genetic_new(&genetic, &settings, 1, &stretch, 1, seeds, &err))
            fail_msg("%s", err.message);
        ascent.genetic = genetic;
        for (size_t round = 0; round < 40; round++) {
            for (size_t i = genetic_first_new(genetic); i < genetic_population(genetic); i++)
                genetic_rate(genetic, i, fitness(genetic_genome(genetic, i), MANY));
            genetic_next(genetic);
        }
        sum += genetic_fitness(genetic, 0);
        genetic_free(genetic);
    }
    return sum;
}

/* Going on where the fitness rose gets farther than noise alone. */
static void test_ascends(void **state)
{
    (void)state;
    assert_true(ascend(ascent_mutate, funnel) > ascend(NULL, funnel) + 50);
    assert_true(ascend(ascent_mutate, slope) > ascend(NULL, slope) + 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_maximum),
        cmocka_unit_test(test_limits_hold),
        cmocka_unit_test(test_same_seed_same_genomes),
        cmocka_unit_test(test_written_and_read),
        cmocka_unit_test(test_unrated_are_worst),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_ascends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
