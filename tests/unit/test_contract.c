#include "base/wide.h"
#include "base/random.h"
#include "bounds/contract.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

struct sums {
    struct number *at;
    size_t columns;
};

static void keep(void *context, size_t i, size_t j, struct number sum)
{
    struct sums *s = context;
    s->at[i * s->columns + j] = sum;
}

static struct bounded make(int64_t rows, int64_t cols, enum dtype type)
{
    struct bounded b;
    struct shape shape = {.rank = 2, .dims = {rows, cols}};
    assert_int_equal(bounded_alloc(&b, type, &shape, false, NULL), 0);
    return b;
}

static struct bounded make_random(int64_t rows, int64_t cols, uint64_t seed, bool integers, long double hard)
{
    struct bounded b = make(rows, cols, DTYPE_FLOAT);
    struct rng rng = rng_seed(seed);
    for (size_t i = 0; i < b.count; i++)
        bounded_put(&b, i, integers ? (float)rng_range(&rng, -4, 4) : (float)rng_normal(&rng), hard,
                    hard / 3);
    return b;
}

/* The product of two matrices: m*n sums, to be freed. */
static struct number *multiply(const struct bounded *a, const struct bounded *b, const struct epilogue *then,
                               bool unbounded)
{
    size_t m = (size_t)a->shape.dims[0], k = (size_t)a->shape.dims[1], n = (size_t)b->shape.dims[1];
    struct operand left = operand_of(a), right = operand_of(b);
    size_t *rows = offsets_linear(m, k, NULL), *inner = offsets_linear(k, 1, NULL);
    size_t *inner_b = offsets_linear(k, n, NULL), *cols = offsets_linear(n, 1, NULL);
    struct sums sums = {calloc(m * n + 1, sizeof *sums.at), n};
    assert_non_null(sums.at);
    struct contraction c = {.type = a->type, .m = m, .n = n, .k = k, .roundings = (double)k};
    c.a = (struct view){&left, 0, rows, inner};
    c.b = (struct view){&right, 0, inner_b, cols};
    c.then = then;
    c.unbounded = unbounded;
    c.sink = keep;
    c.context = &sums;
    assert_int_equal(contract(&c, NULL), 0);
    free(rows);
    free(inner);
    free(inner_b);
    free(cols);
    return sums.at;
}

static struct number *product(const struct bounded *a, const struct bounded *b, const struct epilogue *then)
{
    return multiply(a, b, then, false);
}

static struct number naive(const struct bounded *a, const struct bounded *b, size_t i, size_t j)
{
    size_t k = (size_t)a->shape.dims[1], n = (size_t)b->shape.dims[1];
    long double u = unit_of(a->type), size = 0, squares = 0, inherited = 0, variance = 0, value = 0;
    for (size_t t = 0; t < k; t++) {
        struct number x = number_of(a, i * k + t), y = number_of(b, t * n + j);
        value += x.v * y.v;
        size += fabsl(x.v * y.v);
        squares += x.v * x.v * y.v * y.v;
        inherited += fabsl(x.v) * y.h + x.h * fabsl(y.v) + x.h * y.h;
        variance += x.v * x.v * y.l * y.l + x.l * x.l * y.v * y.v + x.l * x.l * y.l * y.l;
    }
    long double steps = (long double)k;
    return (struct number){value, inherited + (steps - 1) * u * (size + inherited),
                           sqrtl(variance + steps * u * u * (squares + value * value / 9))};
}

static void compare_with_naive(int64_t m, int64_t k, int64_t n, long double hard_a, long double hard_b)
{
    struct bounded a = make_random(m, k, 1, false, hard_a), b = make_random(k, n, 2, false, hard_b);
    struct number *sums = product(&a, &b, NULL);
    for (size_t i = 0; i < (size_t)(m * n); i++) {
        struct number want = naive(&a, &b, i / (size_t)n, i % (size_t)n);
        assert_true(fabsl(sums[i].v - want.v) <= 1e-9L * want.h + 1e-13L);
        assert_true(fabsl(sums[i].h - want.h) <= 1e-5L * want.h);
        assert_true(fabsl(sums[i].l - want.l) <= 1e-5L * want.l);
    }
    free(sums);
    bounded_release(&a);
    bounded_release(&b);
}

/* Small sizes are loops, larger ones matrix products: the same numbers must come out. */
static void both_forms_follow_the_definition(void **state)
{
    (void)state;
    compare_with_naive(3, 7, 5, 0, 0);
    compare_with_naive(3, 7, 5, 1e-5L, 1e-6L);
    compare_with_naive(3, 7, 5, 1e-5L, 0);
    compare_with_naive(3, 7, 5, 0, 1e-6L);
    compare_with_naive(40, 30, 50, 0, 0);
    compare_with_naive(40, 30, 50, 0, 1e-6L);
    compare_with_naive(40, 30, 50, 1e-5L, 1e-6L);
    compare_with_naive(1, 3000, 20, 1e-5L, 0);
}

/* The values do not depend on whether bounds are wanted, also not where some are infinite. */
static void values_without_bounds_are_the_same(void **state)
{
    (void)state;
    struct bounded a = make_random(40, 30, 1, false, 0), b = make_random(30, 50, 2, false, 1e-6L);
    b.value[7] = INFINITY;
    struct number *bounded = product(&a, &b, NULL), *plain = multiply(&a, &b, NULL, true);
    for (size_t i = 0; i < 40 * 50; i++) {
        assert_true(bounded[i].v == plain[i].v);
        assert_true(bounded[i].h > 0 || isinf(bounded[i].v));
        assert_true(plain[i].h == 0);
    }
    free(bounded);
    free(plain);
    bounded_release(&a);
    bounded_release(&b);
}

/* The likely errors of B add up beyond a double, though none of them is infinite; then a hard one is. */
static void large_errors_are_not_infinite(void **state)
{
    (void)state;
    struct bounded a = make_random(1, 4, 1, false, 0), b = make(4, 1, DTYPE_FLOAT);
    for (size_t i = 0; i < b.count; i++)
        bounded_set(&b, i, 1, 1, 1e308);
    struct number *sums = product(&a, &b, NULL), want = naive(&a, &b, 0, 0);
    assert_true(fabsl(sums->h - want.h) <= 1e-5L * want.h);
    assert_true(fabsl(sums->l - want.l) <= 1e-5L * want.l);
    free(sums);
    bounded_set(&b, 2, 1, INFINITY, 1);
    sums = product(&a, &b, NULL);
    assert_true(isinf(sums->h));
    free(sums);
    bounded_release(&a);
    bounded_release(&b);
}

static void integers_are_exact(void **state)
{
    (void)state;
    for (int64_t size = 4; size <= 64; size *= 4) {
        struct bounded a = make_random(size, size, 3, true, 0), b = make_random(size, size, 4, true, 0);
        struct number *sums = product(&a, &b, NULL);
        for (size_t i = 0; i < a.count; i++) {
            struct number want = naive(&a, &b, i / (size_t)size, i % (size_t)size);
            assert_true(sums[i].v == want.v && sums[i].h == 0 && sums[i].l == 0);
        }
        free(sums);
        bounded_release(&a);
        bounded_release(&b);
    }
}

/* float32 sums in four orders stay inside; a quarter of the bound would not do for all sizes. */
static void float_sums_stay_inside(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct bounded a = make_random(1, 200, seed, false, 0),
                       b = make_random(200, 1, seed + 1000, false, 0);
        struct number *sum = product(&a, &b, NULL);
        float forward = 0, backward = 0, fused = 0, lanes[4] = {0};
        for (size_t i = 0; i < 200; i++) {
            float x = (float)a.value[i], y = (float)b.value[i];
            forward += x * y;
            fused = fmaf(x, y, fused);
            lanes[i % 4] += x * y;
            backward += (float)a.value[199 - i] * (float)b.value[199 - i];
        }
        float blocked = lanes[0] + lanes[1] + (lanes[2] + lanes[3]);
        long double most = sum->h + (long double)unit_of(DTYPE_FLOAT) * fabsl(sum->v);
        assert_true(fabsl(forward - sum->v) <= most && fabsl(backward - sum->v) <= most);
        assert_true(fabsl(fused - sum->v) <= most && fabsl(blocked - sum->v) <= most);
        assert_true(fabsl(forward - sum->v) <= 8 * sum->l);
        free(sum);
        bounded_release(&a);
        bounded_release(&b);
    }
}

static struct number dot(const long double *x, const long double *y, int64_t count, const long double *added)
{
    struct bounded a = make(1, count, DTYPE_FLOAT), b = make(count, 1, DTYPE_FLOAT),
                   c = make(1, 1, DTYPE_FLOAT);
    const size_t zero = 0;
    struct epilogue then = {1, 1, &c, &zero, &zero};
    for (int64_t i = 0; i < count; i++) {
        a.value[i] = x[i];
        b.value[i] = y[i];
    }
    c.value[0] = added ? *added : 0;
    struct number *sum = product(&a, &b, added ? &then : NULL);
    struct number result = *sum;
    free(sum);
    bounded_release(&a);
    bounded_release(&b);
    bounded_release(&c);
    return result;
}

static void overflow_is_undecided_unless_sure(void **state)
{
    (void)state;
    const long double most = dtype_highest(DTYPE_FLOAT), ones[] = {1, 1, 1};
    /* The order decides whether the partial sum overflows. */
    assert_true(isinf(dot((const long double[]){most, most, -most}, ones, 3, NULL).h));
    /* One sign only, and surely beyond. */
    struct number sum = dot((const long double[]){most, most, -1}, ones, 3, NULL);
    assert_true(isfinite(sum.h) && sum.v > 1.5L * most);
    /* Both signs overflow although the difference of magnitudes hides the smaller one. */
    sum = dot((const long double[]){most, -most, 2}, (const long double[]){most, 1.5L, 1}, 3, NULL);
    assert_true(isinf(sum.h));
    /* A bias counts as a term. */
    long double bias = -most;
    assert_true(isinf(dot((const long double[]){most, most, 1}, ones, 3, &bias).h));
    bias = 1;
    assert_true(isfinite(dot(ones, ones, 3, &bias).h));
}

/* alpha may be multiplied with either matrix first. */
static void a_factor_that_overflows_an_element_is_undecided(void **state)
{
    (void)state;
    struct bounded a = make(2, 1, DTYPE_FLOAT), b = make(1, 2, DTYPE_FLOAT);
    const float largest[] = {3e38F, 1e38F}, small[] = {0.25F, -0.25F};
    for (size_t i = 0; i < 2; i++) {
        bounded_put(&a, i, largest[i], 0, 0);
        bounded_put(&b, i, small[i], 0, 0);
    }
    struct epilogue twice = {.alpha = 2, .beta = 0}, once = {.alpha = 1, .beta = 0};
    struct number *y = product(&a, &b, &twice), *plain = product(&a, &b, &once);
    assert_true(isinf(y[0].h) && isinf(y[1].h));
    assert_true(isfinite(y[2].h) && isfinite(y[3].h));
    assert_true(isfinite(plain[0].h) && isfinite(plain[1].h));
    free(y);
    free(plain);
    y = product(&b, &a, &twice); /* B's elements, too */
    assert_true(isinf(y[0].h));
    free(y);
    bounded_release(&a);
    bounded_release(&b);
}

static void infinities_and_nan_decide(void **state)
{
    (void)state;
    const long double inf = INFINITY;
    struct number sum = dot((const long double[]){inf, 1}, (const long double[]){2, 3}, 2, NULL);
    assert_true(isinf(sum.v) && sum.v > 0 && sum.h == 0);
    sum = dot((const long double[]){inf, 1}, (const long double[]){0, 3}, 2, NULL);
    assert_true(isnan(sum.v) && sum.h == 0);
    long double bias = -inf;
    sum = dot((const long double[]){inf, 1}, (const long double[]){1, 1}, 2, &bias);
    assert_true(isnan(sum.v) && sum.h == 0);
}

/* An infinity times a number that may be 0, or of either sign, may be anything, beside another infinity too.
 */
static void an_infinity_times_what_may_be_zero_is_undecided(void **state)
{
    (void)state;
    struct bounded a = make(1, 2, DTYPE_FLOAT), b = make(2, 1, DTYPE_FLOAT);
    for (size_t i = 0; i < 2; i++) {
        bounded_put(&a, i, INFINITY, 0, 0);
        bounded_put(&b, i, 1, i ? 0 : 2, i ? 0 : 1);
    }
    struct number *unsure = product(&a, &b, NULL);
    bounded_put(&b, 0, 1, 0.5L, 0.1L);
    struct number *sure = product(&a, &b, NULL);
    assert_true(isinf(unsure->h));
    assert_true(isinf(sure->v) && sure->h == 0);
    free(unsure);
    free(sure);
    bounded_release(&a);
    bounded_release(&b);
}

/* Whether a row of two elements, or a column, may add up to more than the type holds. */
static bool strays(long double row, long double hard, long double column)
{
    struct bounded a = make(1, 2, DTYPE_FLOAT), b = make(2, 1, DTYPE_FLOAT);
    for (size_t i = 0; i < 2; i++) {
        bounded_put(&a, i, i ? row : -row, hard, hard / 3);
        bounded_put(&b, i, column, 0, 0);
    }
    struct operand left = operand_of(&a), right = operand_of(&b);
    const size_t only[] = {0}, both[] = {0, 1};
    struct contraction c = {.type = DTYPE_FLOAT, .m = 1, .n = 1, .k = 2, .roundings = 2};
    c.a = (struct view){&left, 0, only, both};
    c.b = (struct view){&right, 0, both, only};
    bool result = contract_strays(&c, 0, 0);
    bounded_release(&a);
    bounded_release(&b);
    return result;
}

static void sums_of_one_operand_may_overflow(void **state)
{
    (void)state;
    const long double most = dtype_highest(DTYPE_FLOAT);
    assert_false(strays(most / 4, 0, most / 4));
    assert_true(strays(most / 1.5L, 0, 0));
    assert_true(strays(0, 0, most / 1.5L));
    assert_true(strays(0, most / 1.5L, 0));
}

static void put_row(void *context, size_t i, size_t j, const struct bounded_row *sums)
{
    struct bounded *out = context;
    bounded_put_row(out, i * (size_t)out->shape.dims[1] + j, sums);
}

static void put_one(void *context, size_t i, size_t j, struct number sum)
{
    struct bounded *out = context;
    number_put(out, i * (size_t)out->shape.dims[1] + j, sum);
}

/* A product of random matrices, and a row and a column with numbers that are out of the ordinary. */
static struct bounded stored(struct bounded *a, struct bounded *b, const struct bounded *bias, bool rows)
{
    size_t m = (size_t)a->shape.dims[0], k = (size_t)a->shape.dims[1], n = (size_t)b->shape.dims[1];
    struct bounded out = make((int64_t)m, (int64_t)n, a->type);
    struct operand left = operand_of(a), right = operand_of(b);
    size_t *by_k = offsets_linear(m > k ? m : k, k, NULL), *by_n = offsets_linear(k > m ? k : m, n, NULL);
    size_t *ones = offsets_linear(k > n ? k : n, 1, NULL), *zeros = offsets_linear(m, 0, NULL);
    struct epilogue then = {1, 1, bias, zeros, ones};
    struct contraction c = {.type = a->type, .m = m, .n = n, .k = k, .roundings = (double)k, .then = &then};
    c.a = (struct view){&left, 0, by_k, ones};
    c.b = (struct view){&right, 0, by_n, ones};
    c.sink = put_one;
    c.row = rows ? put_row : NULL;
    c.context = &out;
    assert_int_equal(contract(&c, NULL), 0);
    free(by_k);
    free(by_n);
    free(ones);
    free(zeros);
    return out;
}

static void assert_near(double x, double y)
{
    assert_true(x == y || fabs(x - y) <= 0x1p-40 * fmax(fabs(x), fabs(y)));
}

static void rows_are_stored_as_single_sums_are(void **state)
{
    (void)state;
    static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_FLOAT16};
    for (int round = 0; round < 8; round++) {
        struct bounded a = make_random(37, 70, 11, round & 1, round & 2 ? 1e-3L : 0);
        struct bounded b = make_random(70, 300, 12, round & 1, 0),
                       bias = make_random(1, 300, 13, false, 1e-6L);
        a.type = b.type = bias.type = types[round >> 2];
        bounded_put(&a, 0, 0x1p120L, 0, 0);
        bounded_put(&a, 70, 0x1p-130L, 0, 0);
        bounded_put(&b, 5, NAN, 0, 0);
        bounded_put(&b, 7, INFINITY, 0, 0);
        struct bounded one = stored(&a, &b, &bias, false), row = stored(&a, &b, &bias, true);
        for (size_t i = 0; i < one.count; i++) {
            assert_true(isnan(one.value[i]) ? isnan(row.value[i])
                        : isfinite(one.value[i])
                            ? !(fabsl(one.value[i] - row.value[i]) > 0x1p-20L * bounded_hard(&one, i))
                            : one.value[i] == row.value[i]);
            assert_near(bounded_hard(&one, i), bounded_hard(&row, i));
            assert_true(bounded_hard(&row, i) >= bounded_hard(&one, i) * (1 - 0x1p-48));
            assert_near(bounded_likely(&one, i), bounded_likely(&row, i));
        }
        bounded_release(&one);
        bounded_release(&row);
        bounded_release(&a);
        bounded_release(&b);
        bounded_release(&bias);
    }
}

/* A weight that is left as it is stored, in products of many and of few rows, and in one that loops compute.
 */
static void stored_weights_are_read_as_numbers(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{200, 80, 90}, {3, 200, 301}, {1, 4096, 1}, {70, 64, 70}};
    for (size_t round = 0; round < 8; round++) {
        const int64_t *size = sizes[round / 2];
        bool integers = round & 1;
        struct bounded a = make_random(size[0], size[1], 21, integers, integers ? 0 : 1e-3L),
                       b = make_random(size[1], size[2], 22, integers, 0), view;
        struct tensor tensor;
        b.value[5] = 0;
        assert_int_equal(bounded_to_tensor(&b, &tensor, NULL), 0);
        assert_true(bounded_view_floats(&view, &tensor));
        assert_null(view.value);
        struct operand seen = operand_of(&view), read = operand_of(&b);
        assert_true(seen.largest == read.largest && seen.integral == read.integral && seen.finite);
        struct number *expected = product(&a, &b, NULL), *sums = product(&a, &view, NULL);
        for (size_t i = 0; i < (size_t)(size[0] * size[2]); i++)
            assert_true(sums[i].v == expected[i].v && sums[i].h == expected[i].h &&
                        sums[i].l == expected[i].l);
        assert_int_equal(bounded_read_floats(&view, NULL), 0);
        for (size_t i = 0; i < b.count; i++)
            assert_true(view.value[i] == b.value[i]);
        free(expected);
        free(sums);
        bounded_release(&view);
        tensor_release(&tensor);
        bounded_release(&a);
        bounded_release(&b);
    }
}

/* Small tensors, other types and numbers that are out of the ordinary are read one by one. */
static void only_ordinary_weights_stay_stored(void **state)
{
    (void)state;
    static const float strange[] = {NAN, INFINITY, -INFINITY, 1e-39F};
    struct bounded b = make_random(64, 67, 23, false, 0), view;
    struct tensor tensor;
    assert_int_equal(bounded_to_tensor(&b, &tensor, NULL), 0);
    float *floats = tensor.data;
    for (size_t at = 0; at < b.count; at += b.count - 1)
        for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
            float kept = floats[at];
            floats[at] = strange[i];
            assert_false(bounded_view_floats(&view, &tensor));
            floats[at] = kept;
        }
    assert_true(bounded_view_floats(&view, &tensor));
    tensor.count = 100;
    assert_false(bounded_view_floats(&view, &tensor));
    tensor_release(&tensor);
    bounded_release(&b);
}

static void empty_sums_are_zero(void **state)
{
    (void)state;
    struct number sum = dot(NULL, NULL, 0, NULL);
    assert_true(sum.v == 0 && sum.h == 0);
}

/* What replaces sums of long double where these are slow: as exact, on every processor. */
static void pairs_are_finer(void **state)
{
    (void)state;
    struct rng rng = rng_seed(8);
    for (int trial = 0; trial < 200; trial++) {
        struct wide_pair sum = {0};
        long double expected = 0, size = 0;
        size_t count = 1 + (size_t)rng_below(&rng, 500);
        for (size_t k = 0; k < count; k++) {
            long double a = rng_normal(&rng) + rng_normal(&rng) * 0x1p-50L, b = rng_normal(&rng) / 3;
            wide_pair_add(&sum, wide_pair_product(wide_split(a), wide_split(b)));
            expected += a * b;
            size += fabsl(a * b);
        }
        assert_true(fabsl(wide_join(sum) - expected) <= 2 * (long double)count * WIDE_UNIT * size);
    }
    /* Whole numbers of 63 bits, and what is left of large terms that cancel. */
    struct wide_pair sum = {0};
    const long double large = 4611686018427387905.0L,
                      terms[][2] = {{large, 1},    {3037000499.0L, 3037000499.0L}, {-large, 1},
                                    {0x1p100L, 1}, {0x1p-60L, 0x1p-10L},           {-0x1p100L, 1}};
    for (size_t k = 0; k < 3; k++)
        wide_pair_add(&sum, wide_pair_product(wide_split(terms[k][0]), wide_split(terms[k][1])));
    assert_true(wide_join(sum) == 9223372030926249001.0L);
    sum = (struct wide_pair){0};
    for (size_t k = 3; k < 6; k++)
        wide_pair_add(&sum, wide_pair_product(wide_split(terms[k][0]), wide_split(terms[k][1])));
    assert_true(wide_join(sum) == 0x1p-70L);
    assert_true(wide_pair_holds(0) && wide_pair_holds(-0x1p200L) && wide_pair_holds(0x1p-200L));
    assert_false(wide_pair_holds(NAN) || wide_pair_holds(INFINITY) || wide_pair_holds(0x1p201L) ||
                 wide_pair_holds(0x1p-201L));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_finer),
        cmocka_unit_test(both_forms_follow_the_definition),
        cmocka_unit_test(values_without_bounds_are_the_same),
        cmocka_unit_test(large_errors_are_not_infinite),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(float_sums_stay_inside),
        cmocka_unit_test(overflow_is_undecided_unless_sure),
        cmocka_unit_test(a_factor_that_overflows_an_element_is_undecided),
        cmocka_unit_test(infinities_and_nan_decide),
        cmocka_unit_test(an_infinity_times_what_may_be_zero_is_undecided),
        cmocka_unit_test(sums_of_one_operand_may_overflow),
        cmocka_unit_test(rows_are_stored_as_single_sums_are),
        cmocka_unit_test(stored_weights_are_read_as_numbers),
        cmocka_unit_test(only_ordinary_weights_stay_stored),
        cmocka_unit_test(empty_sums_are_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
