#include "base/wide.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1024, SHOWN = 5 };

static struct tally rows[ROWS];
static size_t n_rows;
char truth_place[256];

struct tally *tally_of(const char *name, enum dtype type)
{
    for (size_t i = 0; i < n_rows; i++)
        if (rows[i].type == type && strcmp(rows[i].name, name) == 0)
            return &rows[i];
    if (n_rows == ROWS)
        abort();
    rows[n_rows].type = type;
    snprintf(rows[n_rows].name, sizeof rows->name, "%s", name);
    return &rows[n_rows++];
}

static int by_name(const void *a, const void *b)
{
    const struct tally *p = a, *q = b;
    int order = strcmp(p->name, q->name);
    return order ? order : (int)p->type - (int)q->type;
}

size_t tally_print(void)
{
    size_t outside = 0;
    qsort(rows, n_rows, sizeof *rows, by_name);
    printf("%-24s %-9s %10s %11s %8s %10s %8s\n", "operator", "type", "elements", "not judged", "ulp",
           "of bound", "outside");
    for (size_t i = 0; i < n_rows; i++) {
        const struct tally *t = &rows[i];
        printf("%-24s %-9s %10zu %10.1f%% %8.3g %10.2g %8zu\n", t->name, dtype_name(t->type), t->elements,
               t->elements ? 100.0 * (double)t->unjudged / (double)t->elements : 0, t->ulps, t->share,
               t->outside);
        outside += t->outside;
    }
    return outside;
}

struct reals reals_make(enum dtype type, const struct shape *shape)
{
    struct reals r = {.type = type, .shape = *shape, .count = 1};
    for (int i = 0; i < shape->rank; i++)
        r.count *= (size_t)shape->dims[i];
    r.at = calloc(r.count ? r.count : 1, sizeof *r.at);
    if (!r.at)
        abort();
    for (size_t i = 0; i < r.count; i++) {
        mpfr_init(r.at[i]);
        mpfr_set_zero(r.at[i], 1);
    }
    return r;
}

struct reals reals_of(const struct bounded *b)
{
    struct reals r = reals_make(b->type, &b->shape);
    for (size_t i = 0; i < r.count; i++)
        mpfr_set_ld(r.at[i], b->value[i], MPFR_RNDN);
    return r;
}

void reals_free(struct reals *r)
{
    for (size_t i = 0; i < r->count; i++)
        mpfr_clear(r->at[i]);
    free(r->at);
    *r = (struct reals){0};
}

/* Exponent of the smallest number that a float type has, as mpfr_get_exp counts. */
static mpfr_exp_t lowest_exponent(enum dtype type)
{
    int exponent;
    frexp(dtype_precision(type).smallest, &exponent);
    return exponent;
}

static mpfr_prec_t bits_of(enum dtype type)
{
    int exponent;
    frexp(dtype_precision(type).unit, &exponent);
    return 1 - exponent;
}

/* Integers keep their low bits; where a signed result overflows ONNX mostly leaves it open, and nothing is
 * judged. */
static void wrap(mpfr_t value, enum dtype type)
{
    if (!mpfr_number_p(value) || !dtype_in(type, DTYPES_INTEGER))
        return;
    mpfr_t span;
    mpfr_init2(span, PRECISION_EXACT);
    mpfr_set_ui_2exp(span, 1, 8 * (mpfr_exp_t)dtype_size(type), MPFR_RNDN);
    mpfr_fmod(value, value, span, MPFR_RNDN);
    if (mpfr_cmp_ld(value, dtype_lowest(type)) < 0)
        mpfr_add(value, value, span, MPFR_RNDN);
    if (mpfr_cmp_ld(value, dtype_highest(type)) > 0)
        mpfr_sub(value, value, span, MPFR_RNDN);
    mpfr_clear(span);
}

void truth_round(mpfr_t rounded, enum dtype type, mpfr_srcptr truth)
{
    if (type == DTYPE_BOOL) { /* an extrapolation value of 10 is true */
        mpfr_set_ui(rounded, mpfr_zero_p(truth) ? 0 : 1, MPFR_RNDN);
        return;
    }
    if (!dtype_is_float(type)) {
        mpfr_rint(rounded, truth, MPFR_RNDZ);
        wrap(rounded, type);
        return;
    }
    mpfr_set(rounded, truth, MPFR_RNDN);
    if (!mpfr_regular_p(truth))
        return;
    mpfr_exp_t quantum = mpfr_get_exp(truth) - bits_of(type);
    if (quantum < lowest_exponent(type) - 1)
        quantum = lowest_exponent(type) - 1;
    mpfr_mul_2si(rounded, rounded, -quantum, MPFR_RNDN);
    mpfr_rint(rounded, rounded, MPFR_RNDN);
    mpfr_mul_2si(rounded, rounded, quantum, MPFR_RNDN);
    if (mpfr_cmpabs_ui(rounded, 0) != 0) {
        mpfr_t highest;
        mpfr_init2(highest, 64);
        mpfr_set_ld(highest, dtype_highest(type), MPFR_RNDN);
        if (mpfr_cmpabs(rounded, highest) > 0)
            mpfr_set_inf(rounded, mpfr_sgn(rounded));
        mpfr_clear(highest);
    }
}

/* |a - b| as a long double, with at most one rounding. */
static long double distance(mpfr_srcptr a, long double b)
{
    mpfr_t d, other;
    mpfr_inits2(PRECISION_EXACT, d, other, (mpfr_ptr)0);
    mpfr_set_ld(other, b, MPFR_RNDN);
    mpfr_sub(d, a, other, MPFR_RNDN);
    long double result = fabsl(mpfr_get_ld(d, MPFR_RNDN));
    mpfr_clears(d, other, (mpfr_ptr)0);
    return result;
}

static void complain(struct tally *tally, const struct bounded *out, size_t i, mpfr_srcptr truth,
                     const char *what)
{
    if (++tally->outside > SHOWN)
        return;
    mpfr_fprintf(stderr, "%s %s: %s: reference %.21Lg, bound %.17g, truth %.25Rg (%s, element %zu)\n",
                 tally->name, dtype_name(tally->type), what, out->value[i], bounded_hard(out, i), truth,
                 truth_place, i);
}

static void measure(struct tally *tally, long double error, double hard, mpfr_srcptr truth)
{
    if (mpfr_regular_p(truth) && error > 0) {
        long exponent = mpfr_get_exp(truth) - WIDE_BITS;
        long double ulps =
            error / ldexpl(1, exponent < WIDE_LOWEST_EXPONENT ? WIDE_LOWEST_EXPONENT : (int)exponent);
        tally->ulps = fmax(tally->ulps, (double)ulps);
    }
    if (hard > 0)
        tally->share = fmax(tally->share, (double)(error / hard));
}

void truth_check(struct tally *tally, const struct bounded *out, size_t i, mpfr_srcptr truth)
{
    /* Bounds are doubles that were themselves rounded on the way: as in judge/verdict.c. */
    const long double rounding_of_bounds = 1 + 0x1p-40L;
    long double v = out->value[i];
    double hard = bounded_hard(out, i);
    tally->elements++;
    if (isinf(hard)) {
        tally->unjudged++;
        return;
    }
    if (mpfr_nan_p(truth) || isnan(v)) {
        if (!mpfr_nan_p(truth) || !isnan(v))
            complain(tally, out, i, truth, "NaN");
        return;
    }
    mpfr_t rounded;
    mpfr_init2(rounded, mpfr_get_prec(truth));
    truth_round(rounded, out->type, truth);
    long double best = mpfr_get_ld(rounded, MPFR_RNDN);
    mpfr_clear(rounded);
    if (isinf(v) || isinf(best)) {
        if (v != best)
            complain(tally, out, i, truth, "an infinity");
        return;
    }
    if (!(fabsl(v - best) <= hard * rounding_of_bounds)) {
        complain(tally, out, i, truth, "rounded outside");
        return;
    }
    if (!dtype_is_float(out->type))
        return;
    long double error = distance(truth, v);
    if (hard > 0 && !(error <= hard * rounding_of_bounds))
        complain(tally, out, i, truth, "outside");
    measure(tally, error, hard, truth);
}

void truth_input(struct bounded *b, enum dtype type, const long double *values, size_t count)
{
    struct shape shape = {1, {(int64_t)count}};
    struct tensor tensor;
    struct error err = {0};
    if (tensor_alloc(&tensor, type, &shape, 0, &err))
        abort();
    for (size_t i = 0; i < count; i++)
        tensor_set(&tensor, i, values[i]);
    if (bounded_from_tensor(b, &tensor, &err))
        abort();
    tensor_release(&tensor);
}

struct op_call truth_call(const struct op *op, const Onnx__NodeProto *node, size_t n_inputs,
                          const struct bounded *const *inputs, struct bounded *out, struct error *err)
{
    return (struct op_call){.op = op,
                            .node = node,
                            .opset = 21,
                            .n_inputs = n_inputs,
                            .inputs = inputs,
                            .n_outputs = 1,
                            .outputs = out,
                            .err = err};
}

bool truth_run(struct op_call *call)
{
    for (size_t o = 0; o < call->n_outputs; o++)
        bounded_init(&call->outputs[o]);
    if (call->op->eval(call) == 0)
        return true;
    if (call->err->code != ERROR_UNSUPPORTED) {
        fprintf(stderr, "%s: %s\n", call->op->name, call->err->message);
        abort();
    }
    for (size_t o = 0; o < call->n_outputs; o++)
        bounded_release(&call->outputs[o]);
    return false;
}

size_t points_special(enum dtype type, long double *points, size_t room)
{
    static const long double common[] = {0, 1, 2, 3, 4, 6, 7, 9, 10, 100};
    static const long double real[] = {-0.0L,
                                       INFINITY,
                                       NAN,
                                       0.5L,
                                       1.5L,
                                       0.25L,
                                       0.1L,
                                       1.1924312145L,
                                       0.7517915L,
                                       1.570796326794896619L,
                                       3.14159265358979323846L,
                                       17.5L,
                                       18,
                                       40.5L,
                                       88.5L,
                                       88.8L,
                                       103.9L,
                                       709.7L,
                                       709.8L,
                                       745.1L,
                                       11356.5L,
                                       65504,
                                       3.3L,
                                       1e5L,
                                       1e10L};
    long double all[200];
    size_t n = 0;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        all[n++] = common[i];
    all[n++] = dtype_highest(type);
    all[n++] = dtype_lowest(type);
    if (dtype_is_float(type)) {
        struct dtype_precision p = dtype_precision(type);
        for (size_t i = 0; i < sizeof real / sizeof *real; i++)
            all[n++] = dtype_round(type, real[i]);
        all[n++] = p.smallest;
        all[n++] = (long double)p.tiny - p.smallest;
        all[n++] = p.tiny;
        all[n++] = 1 - (long double)p.unit;
        all[n++] = 1 + 2 * (long double)p.unit;
        all[n++] = sqrtl(dtype_highest(type)) - 0;
        all[n++] = sqrtl(p.tiny);
    } else {
        all[n++] = dtype_highest(type) - 1;
        all[n++] = dtype_lowest(type) + 1;
    }
    size_t positive = n;
    for (size_t i = 0; i < positive && dtype_is_signed(type); i++)
        if (-all[i] >= dtype_lowest(type) || dtype_is_float(type))
            all[n++] = -all[i];
    for (size_t i = 0; i < n && i < room; i++)
        points[i] = dtype_round(type, all[i]);
    return n < room ? n : room;
}

/* Any bit pattern of the type. */
static long double random_bits(enum dtype type, uint64_t bits)
{
    return dtype_load(type, &bits, 0); /* the low bytes, as this is little-endian */
}

size_t points_share(size_t count, enum dtype type)
{
    const size_t patterns = 66000; /* those of a half, and the specials again */
    size_t half = count / 4 < patterns ? count / 4 : patterns;
    if (!dtype_is_float(type))
        return count / 64 + 200;
    return dtype_size(type) == 2 ? half : (count - 2 * half) / 2;
}

void points_fill(enum dtype type, long double *points, size_t count, double low, double high, struct rng *rng)
{
    enum { PATTERNS = 1 << 16 };
    size_t n = points_special(type, points, count), special = n;
    bool half = dtype_size(type) == 2;
    for (uint64_t bits = 0; half && n + PATTERNS <= count && bits < PATTERNS; bits++)
        points[special + bits] = random_bits(type, bits);
    if (half && n + PATTERNS <= count)
        n += PATTERNS;
    for (; n < count; n++) {
        switch (rng_below(rng, 4)) {
        case 0:
            points[n] = random_bits(type, rng_u64(rng));
            break;
        case 1:
            points[n] = points[rng_below(rng, special)];
            points[n] = dtype_round(
                type, points[n] * (1 + (long double)rng_range(rng, -9, 9) * dtype_precision(type).unit));
            break;
        case 2: /* of any size, with either sign */
            points[n] = dtype_round(type, exp(rng_uniform(rng, -30, 12)) * (rng_chance(rng, 0.5) ? 1 : -1));
            break;
        default:
            points[n] = dtype_round(type, rng_uniform(rng, low, high));
        }
    }
}
