/*
 * Elementwise functions as vector libraries and function bodies compute them. Library functions work in
 * float32 for all types, as engines do; the formulas around them are rounded in the machine of the trial.
 */
#include "adversary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A polynomial in float32, highest coefficient first. */
static float horner(float x, const float *coefficients, size_t count)
{
    float y = coefficients[0];
    for (size_t i = 1; i < count; i++)
        y = y * x + coefficients[i];
    return y;
}

static const float exp_polynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                       4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

/* Neither infinity nor 0. NaN passes on. */
static bool exp_is_finite(float x)
{
    return !(x > 88.72283f) && !(x < -103.9f);
}

/* Cephes: the argument reduced by two constants, a polynomial of degree 5. */
static float cephes_exp(float x)
{
    if (!exp_is_finite(x))
        return x > 0 ? INFINITY : 0;
    float n = floorf(x * 1.44269504088896341f + 0.5f);
    x -= n * 0.693359375f;
    x -= n * -2.12194440e-4f;
    return ldexpf(horner(x, exp_polynomial, 6) * x * x + x + 1, (int)n);
}

/* The reduction by one fused product with a rounded ln 2. */
static float short_exp(float x)
{
    if (!exp_is_finite(x))
        return x > 0 ? INFINITY : 0;
    float n = rintf(x * 1.44269504088896341f);
    x = fmaf(n, -0.693147180559945309f, x);
    return ldexpf(horner(x, exp_polynomial, 6) * x * x + x + 1, (int)n);
}

/* A table of the powers 2^(i/16) and a short polynomial. */
static float table_exp(float x)
{
    if (!exp_is_finite(x))
        return x > 0 ? INFINITY : 0;
    float n = rintf(x * 23.083120654f), whole = floorf(n / 16);
    float r = fmaf(n, -0x1.62e4p-5f, x);
    r = fmaf(n, -0x1.7f7d1cp-24f, r);
    float power = (float)exp2((double)(n - 16 * whole) / 16);
    float tail = r * (1 + r * (0.5f + r * (1.0f / 6)));
    return ldexpf(fmaf(power, tail, power), (int)whole);
}

static float cephes_log(float x)
{
    static const float p[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                              -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                              2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    int exponent;
    if (x == 0)
        return -INFINITY;
    x = frexpf(x, &exponent);
    if (x < 0.707106781186547524f) {
        exponent--;
        x += x;
    }
    x -= 1;
    float z = x * x, e = (float)exponent, y = horner(x, p, 9) * x * z;
    y += e * -2.12194440e-4f;
    y += -0.5f * z;
    return x + y + e * 0.693359375f;
}

/* Eigen's and MLAS's quotient of polynomials. */
static float quotient_tanh(float x)
{
    static const float p[] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                              5.12229709037114e-08f,  1.48572235717979e-05f, 6.37261928875436e-04f,
                              4.89352455891786e-03f};
    static const float q[] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                              4.89352518554385e-03f};
    x = fmaxf(-9, fminf(9, x));
    return x * horner(x * x, p, 7) / horner(x * x, q, 4);
}

static float quotient_sigmoid(float x)
{
    static const float p[] = {4.37031012579801e-11f, 1.15627324459942e-07f, 6.08574864600143e-05f,
                              8.51377133304701e-03f, 2.48287947061529e-01f};
    static const float q[] = {6.10247389755681e-13f, 5.76102136993427e-09f, 6.29106785017040e-06f,
                              1.70198817374094e-03f, 1.16817656904453e-01f, 9.93151921023180e-01f};
    x = fmaxf(-18, fminf(18, x));
    return fmaxf(0, x * horner(x * x, p, 5) / horner(x * x, q, 6) + 0.5f);
}

/* MLAS: a polynomial for small arguments, the exponential of one for large ones. */
static float split_erf(float x)
{
    static const float small[] = {-5.99104969e-4f, 4.99339588e-3f,  -2.67667342e-2f,
                                  1.12818025e-1f,  -3.76124859e-1f, 1.28379151e-1f};
    static const float big[] = {1.72948930e-5f, -3.83208680e-4f, 3.88393435e-3f, -2.42545605e-2f,
                                1.06777847e-1f, 6.34846687e-1f,  1.28717512e-1f};
    float a = fminf(fabsf(x), 3.925f);
    if (a <= 0.921875f)
        return x + x * horner(x * x, small, 6);
    return copysignf(1 - cephes_exp(-a - a * horner(a, big, 7)), x);
}

/* Abramowitz and Stegun 7.1.26, which oneDNN and TensorFlow.js use: an error of 1.5e-7. */
static float handbook_erf(float x)
{
    static const float p[] = {1.061405429f, -1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f};
    float a = fabsf(x), t = 1 / (1 + 0.3275911f * a);
    return copysignf(1 - horner(t, p, 5) * t * cephes_exp(-a * a), x);
}

/* Cephes: the argument reduced by three parts of pi/4, up to 8192. */
static float cephes_wave(float x, bool cosine)
{
    static const float s[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
    static const float c[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
    float a = fabsf(x), sign = !cosine && x < 0 ? -1 : 1;
    uint32_t octant = (uint32_t)(a * 1.27323954473516f);
    octant += octant & 1;
    float n = (float)octant;
    a = ((a - n * 0.78515625f) - n * 2.4187564849853515625e-4f) - n * 3.77489497744594108e-8f;
    uint32_t quarter = octant / 2 % 4 + (cosine ? 1 : 0);
    float z = a * a;
    float y = quarter % 2 ? horner(z, c, 3) * z * z - 0.5f * z + 1 : horner(z, s, 3) * z * a + a;
    return quarter % 4 >= 2 ? -sign * y : sign * y;
}

static float plain_sin(float x)
{
    return cephes_wave(x, false);
}

static float plain_cos(float x)
{
    return cephes_wave(x, true);
}

/* An estimate of 12 bits and one step of Newton's method, as rcpps and rsqrtps are used. */
static float estimate(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x400) & 0xfffff800;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float newton_reciprocal(float x)
{
    float r = estimate(1 / x);
    return r * (2 - x * r);
}

static float newton_root(float x)
{
    float r = estimate(1 / sqrtf(x));
    r = r * (1.5f - 0.5f * x * r * r);
    return x == 0 ? 0 : x * r;
}

/* A result in float32 as a number of the machine. */
static double as_float(struct machine m, float y)
{
    return rounded(m, (double)y);
}

double library_exp(struct machine m, double x)
{
    return as_float(m, cephes_exp((float)x));
}

double library_log(struct machine m, double x)
{
    return as_float(m, cephes_log((float)x));
}

double rational_tanh(struct machine m, double x)
{
    return as_float(m, quotient_tanh((float)x));
}

double rational_sigmoid(struct machine m, double x)
{
    return as_float(m, quotient_sigmoid((float)x));
}

/* Everything below is a formula of one variable. */
#define LIBRARY(name)                                  \
    static double f_##name(struct machine m, double x) \
    {                                                  \
        return as_float(m, name((float)x));            \
    }
LIBRARY(cephes_exp)
LIBRARY(short_exp)
LIBRARY(table_exp)
LIBRARY(cephes_log)
LIBRARY(quotient_tanh)
LIBRARY(quotient_sigmoid)
LIBRARY(split_erf)
LIBRARY(handbook_erf)
LIBRARY(plain_sin)
LIBRARY(plain_cos)
LIBRARY(newton_reciprocal)
LIBRARY(newton_root)
LIBRARY(atanf)

static double scaled_exp(struct machine m, double x)
{
    return rounded(m, exp2(mul(m, x, rounded(m, 1.44269504088896341))));
}

static double tanh_of_exp(struct machine m, double x)
{
    double e = library_exp(m, mul(m, -2, fabs(x)));
    return copysign(quotient(m, sub(m, 1, e), add(m, 1, e)), x);
}

static double tanh_of_one(struct machine m, double x)
{
    double e = library_exp(m, mul(m, 2, x));
    return sub(m, 1, quotient(m, 2, add(m, e, 1)));
}

static double sigmoid_of_exp(struct machine m, double x)
{
    return quotient(m, 1, add(m, 1, library_exp(m, -x)));
}

static double sigmoid_of_side(struct machine m, double x)
{
    double e = library_exp(m, -fabs(x)), y = quotient(m, e, add(m, 1, e));
    return x < 0 ? y : sub(m, 1, y);
}

static double sigmoid_of_tanh(struct machine m, double x)
{
    return add(m, mul(m, 0.5, rational_tanh(m, mul(m, 0.5, x))), 0.5);
}

static double softplus_plain(struct machine m, double x)
{
    return library_log(m, add(m, library_exp(m, x), 1));
}

static double softplus_shifted(struct machine m, double x)
{
    return add(m, fmax(x, 0), library_log(m, add(m, 1, library_exp(m, -fabs(x)))));
}

static double softplus_exact(struct machine m, double x)
{
    return add(m, fmax(x, 0), rounded(m, log1p(library_exp(m, -fabs(x)))));
}

static double elu_plain(struct machine m, double x)
{
    return x > 0 ? x : sub(m, library_exp(m, x), 1);
}

/* ONNX's body: alpha * Elu(x / alpha), with alpha 0.7. */
static double celu_body(struct machine m, double x)
{
    double alpha = rounded(m, (double)0.7f), t = quotient(m, x, alpha);
    return mul(m, alpha, t > 0 ? t : sub(m, library_exp(m, t), 1));
}

static double celu_inverse(struct machine m, double x)
{
    double alpha = rounded(m, (double)0.7f), t = mul(m, x, quotient(m, 1, alpha));
    return x > 0 ? x : sub(m, mul(m, alpha, library_exp(m, t)), alpha);
}

static double selu_body(struct machine m, double x)
{
    double alpha = rounded(m, (double)1.67326319217681884765625f),
           gamma = rounded(m, (double)1.05070102214813232421875f);
    return x > 0 ? mul(m, gamma, x) : mul(m, gamma, sub(m, mul(m, alpha, library_exp(m, x)), alpha));
}

static double selu_joined(struct machine m, double x)
{
    double alpha = rounded(m, (double)1.67326319217681884765625f),
           gamma = rounded(m, (double)1.05070102214813232421875f), both = mul(m, alpha, gamma);
    return x > 0 ? mul(m, gamma, x) : fused(m, both, library_exp(m, x), -both);
}

static double gelu_body_of(struct machine m, double x, double (*erf_of)(struct machine m, double x))
{
    double t = mul(m, x, rounded(m, 0.70710678118654752));
    return mul(m, mul(m, 0.5, x), add(m, 1, erf_of(m, t)));
}

static double gelu_split(struct machine m, double x)
{
    return gelu_body_of(m, x, f_split_erf);
}

static double gelu_handbook(struct machine m, double x)
{
    return gelu_body_of(m, x, f_handbook_erf);
}

static double gelu_divided(struct machine m, double x)
{
    double t = quotient(m, x, rounded(m, 1.41421356237309505));
    return mul(m, 0.5, mul(m, x, add(m, 1, f_split_erf(m, t))));
}

static double gelu_cubic(struct machine m, double x)
{
    double cube = mul(m, mul(m, x, x), x);
    return mul(m, rounded(m, 0.7978845608028654), add(m, x, mul(m, rounded(m, 0.044715), cube)));
}

static double gelu_factored(struct machine m, double x)
{
    double inside = fused(m, mul(m, rounded(m, 0.044715), x), x, 1);
    return mul(m, mul(m, rounded(m, 0.7978845608028654), x), inside);
}

static double gelu_tanh_body(struct machine m, double x)
{
    return mul(m, mul(m, 0.5, x), add(m, 1, rational_tanh(m, gelu_cubic(m, x))));
}

static double gelu_tanh_factored(struct machine m, double x)
{
    return mul(m, mul(m, 0.5, x), add(m, 1, rational_tanh(m, gelu_factored(m, x))));
}

static double gelu_tanh_sigmoid(struct machine m, double x)
{
    return mul(m, x, sigmoid_of_exp(m, mul(m, 2, gelu_cubic(m, x))));
}

static double mish_body(struct machine m, double x)
{
    return mul(m, x, rational_tanh(m, softplus_plain(m, x)));
}

static double mish_shifted(struct machine m, double x)
{
    return mul(m, x, tanh_of_exp(m, softplus_shifted(m, x)));
}

static double mish_quotient(struct machine m, double x)
{
    if (x > (m.type == DTYPE_FLOAT16 ? 5 : 20)) /* before a square overflows */
        return x;
    double e = library_exp(m, x), n = mul(m, e, add(m, e, 2));
    return mul(m, x, quotient(m, n, add(m, n, 2)));
}

static double mish_square(struct machine m, double x)
{
    if (x > (m.type == DTYPE_FLOAT16 ? 5 : 20)) /* before a square overflows */
        return x;
    double e = add(m, 1, library_exp(m, x)), s = mul(m, e, e);
    return mul(m, x, quotient(m, sub(m, s, 1), add(m, s, 1)));
}

static double hard_sigmoid(struct machine m, double x)
{
    double y = add(m, mul(m, rounded(m, (double)0.2f), x), 0.5);
    return fmax(0, fmin(1, y));
}

static double hard_sigmoid_fused(struct machine m, double x)
{
    double y = fused(m, rounded(m, (double)0.2f), x, 0.5);
    return fmax(0, fmin(1, y));
}

static double hard_swish_body(struct machine m, double x)
{
    double y = add(m, mul(m, rounded(m, 1.0 / 6), x), 0.5);
    return mul(m, x, fmax(0, fmin(1, y)));
}

static double hard_swish_relu6(struct machine m, double x)
{
    double r = fmax(0, fmin(6, add(m, x, 3)));
    return quotient(m, mul(m, x, r), 6);
}

static double hard_swish_inverse(struct machine m, double x)
{
    double r = fmax(0, fmin(6, add(m, x, 3)));
    return mul(m, mul(m, x, r), rounded(m, 1.0 / 6));
}

static double softsign_plain(struct machine m, double x)
{
    return quotient(m, x, add(m, 1, fabs(x)));
}

static double softsign_inverse(struct machine m, double x)
{
    return mul(m, x, quotient(m, 1, add(m, 1, fabs(x))));
}

static double sinh_of_exp(struct machine m, double x)
{
    double e = library_exp(m, x);
    return mul(m, 0.5, sub(m, e, quotient(m, 1, e)));
}

static double cosh_of_exp(struct machine m, double x)
{
    double e = library_exp(m, fabs(x));
    return mul(m, 0.5, add(m, e, quotient(m, 1, e)));
}

static double cosh_of_halves(struct machine m, double x)
{
    double e = library_exp(m, mul(m, 0.5, fabs(x)));
    return add(m, mul(m, mul(m, 0.5, e), e), quotient(m, quotient(m, 0.5, e), e));
}

static double tan_of_quotient(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    return rounded(m, quotient(wide, f_plain_sin(wide, x), f_plain_cos(wide, x)));
}

static double acos_of_atan(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    double r = root(wide, mul(wide, sub(wide, 1, x), add(wide, 1, x)));
    return rounded(m, rounded(wide, atan2(r, x)));
}

static double asin_of_atan(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    double r = root(wide, mul(wide, sub(wide, 1, x), add(wide, 1, x)));
    return rounded(m, rounded(wide, atan2(x, r)));
}

static double acosh_of_log(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    double r = root(wide, sub(wide, mul(wide, x, x), 1));
    return rounded(m, library_log(wide, add(wide, x, r)));
}

static double acosh_of_product(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    double r = root(wide, mul(wide, sub(wide, x, 1), add(wide, x, 1)));
    return rounded(m, library_log(wide, add(wide, x, r)));
}

static double asinh_of_log(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    double a = fabs(x), r = root(wide, add(wide, mul(wide, a, a), 1));
    return copysign(rounded(m, library_log(wide, add(wide, a, r))), x);
}

static double asinh_of_log1p(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    double a = fabs(x), square = mul(wide, a, a), r = add(wide, 1, root(wide, add(wide, square, 1)));
    return copysign(rounded(m, rounded(wide, log1p(add(wide, a, quotient(wide, square, r))))), x);
}

static double atanh_of_log(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    return rounded(m, mul(wide, 0.5, library_log(wide, quotient(wide, add(wide, 1, x), sub(wide, 1, x)))));
}

static double atanh_of_log1p(struct machine m, double x)
{
    struct machine wide = {DTYPE_FLOAT, m.flush};
    double a = fabs(x), t = quotient(wide, mul(wide, 2, a), sub(wide, 1, a));
    return copysign(rounded(m, mul(wide, 0.5, rounded(wide, log1p(t)))), x);
}

static void one_input(struct trial *t)
{
    double highest = t->machine.type == DTYPE_FLOAT16 ? 6e4 : 1e38;
    trial_input(t, 1, (const int64_t[]){32}, fmax(t->is->low, -highest), fmin(t->is->high, highest));
}

static void compute_formula(const struct trial *t, double *y)
{
    for (size_t i = 0; i < t->in[0].count; i++)
        y[i] = t->is->formula(t->machine, t->in[0].at[i]);
}

static void celu_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    (void)t;
    node_set_float(arena, node, "alpha", 0.7f);
}

static void gelu_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    (void)t;
    node_set_string(arena, node, "approximate", "tanh");
}

/* Pow by exp and log, and by products. */
static void pow_inputs(struct trial *t)
{
    trial_input(t, 1, (const int64_t[]){t->size[0]}, t->is->variant ? -100 : 1e-3, 100);
    trial_input(t, 1, (const int64_t[]){t->size[0]}, t->is->variant ? 3 : -8, t->is->variant ? 3 : 8);
}

static void power(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    for (size_t i = 0; i < t->in[0].count; i++) {
        double x = t->in[0].at[i], p = t->in[1].at[i];
        y[i] = t->is->variant ? mul(m, mul(m, x, x), x) : library_exp(m, mul(m, p, library_log(m, x)));
    }
}

static void quotient_inputs(struct trial *t)
{
    trial_input(t, 1, (const int64_t[]){t->size[0]}, -1000, 1000);
    trial_input(t, 1, (const int64_t[]){t->size[0]}, 1e-3, 1000);
}

static void divide(const struct trial *t, double *y)
{
    struct machine m = t->machine, wide = {DTYPE_FLOAT, m.flush};
    for (size_t i = 0; i < t->in[0].count; i++) {
        double x = t->in[0].at[i], by = t->in[1].at[i];
        double inverse = t->is->variant ? f_newton_reciprocal(wide, by) : quotient(m, 1, by);
        y[i] = t->is->variant ? rounded(m, mul(wide, x, inverse)) : mul(m, x, inverse);
    }
}

#define FORMULA(operator, what, function, from, to)                                                   \
    .op = operator, .name = what, .formula = function, .low = from, .high = to, .lay_out = one_input, \
    .compute = compute_formula, .scans = true

const struct implementation functions[] = {
    {FORMULA("Exp", "Cephes", f_cephes_exp, -110, 88.7)},
    {FORMULA("Exp", "one rounded ln 2, fused", f_short_exp, -110, 88.7)},
    {FORMULA("Exp", "table of 16", f_table_exp, -110, 88.7)},
    {FORMULA("Exp", "2^(x log2 e), product rounded", scaled_exp, -100, 88)},
    {FORMULA("Log", "Cephes", f_cephes_log, 1e-30, 1e30)},
    {FORMULA("Tanh", "quotient of polynomials, clamped", f_quotient_tanh, -12, 12)},
    {FORMULA("Tanh", "(1-e)/(1+e)", tanh_of_exp, -12, 12)},
    {FORMULA("Tanh", "1 - 2/(e+1)", tanh_of_one, -12, 12)},
    {FORMULA("Erf", "two polynomials", f_split_erf, -6, 6)},
    {FORMULA("Erf", "Abramowitz and Stegun 7.1.26", f_handbook_erf, -6, 6)},
    {FORMULA("Sin", "Cephes", f_plain_sin, -8000, 8000)},
    {FORMULA("Cos", "Cephes", f_plain_cos, -8000, 8000)},
    {FORMULA("Atan", "C library", f_atanf, -1e6, 1e6)},
    {FORMULA("Sqrt", "x rsqrt(x), one Newton step", f_newton_root, 1e-30, 1e30)},
    {FORMULA("Reciprocal", "estimate, one Newton step", f_newton_reciprocal, 1e-30, 1e30)},
    {FORMULA("Sigmoid", "quotient of polynomials, clamped", f_quotient_sigmoid, -40, 40)},
    {FORMULA("Sigmoid", "1/(1+exp(-x))", sigmoid_of_exp, -100, 100)},
    {FORMULA("Sigmoid", "by the side of 0", sigmoid_of_side, -100, 100)},
    {FORMULA("Sigmoid", "tanh(x/2)/2 + 1/2", sigmoid_of_tanh, -40, 40)},
    {FORMULA("Softplus", "log(exp(x)+1)", softplus_plain, -100, 88)},
    {FORMULA("Softplus", "max(x,0) + log(1+exp(-abs(x)))", softplus_shifted, -100, 88)},
    {FORMULA("Softplus", "max(x,0) + log1p(exp(-abs(x)))", softplus_exact, -100, 88)},
    {FORMULA("Elu", "exp(x) - 1", elu_plain, -100, 10)},
    {FORMULA("Celu", "alpha Elu(x/alpha)", celu_body, -60, 10), .attributes = celu_attributes},
    {FORMULA("Celu", "alpha exp(x (1/alpha)) - alpha", celu_inverse, -60, 10), .attributes = celu_attributes},
    {FORMULA("Selu", "ONNX's body", selu_body, -100, 10)},
    {FORMULA("Selu", "one factor, fused", selu_joined, -100, 10)},
    {FORMULA("Gelu", "1 + erf, two polynomials", gelu_split, -10, 10)},
    {FORMULA("Gelu", "1 + erf, handbook", gelu_handbook, -10, 10)},
    {FORMULA("Gelu", "x divided by sqrt 2", gelu_divided, -10, 10)},
    {FORMULA("Gelu", "tanh: ONNX's body", gelu_tanh_body, -10, 10), .attributes = gelu_attributes},
    {FORMULA("Gelu", "tanh: argument factored", gelu_tanh_factored, -10, 10), .attributes = gelu_attributes},
    {FORMULA("Gelu", "tanh: x sigmoid(2t)", gelu_tanh_sigmoid, -5, 10), .attributes = gelu_attributes},
    {FORMULA("Mish", "ONNX's body", mish_body, -60, 40)},
    {FORMULA("Mish", "stable softplus", mish_shifted, -60, 40)},
    {FORMULA("Mish", "n/(n+2)", mish_quotient, -60, 40)},
    {FORMULA("Mish", "((1+e)^2-1)/((1+e)^2+1)", mish_square, -60, 40)},
    {FORMULA("HardSigmoid", "product and sum", hard_sigmoid, -6, 6)},
    {FORMULA("HardSigmoid", "fused", hard_sigmoid_fused, -6, 6)},
    {FORMULA("HardSwish", "ONNX's body", hard_swish_body, -6, 6)},
    {FORMULA("HardSwish", "x relu6(x+3)/6", hard_swish_relu6, -6, 60)},
    {FORMULA("HardSwish", "x relu6(x+3) (1/6)", hard_swish_inverse, -6, 60)},
    {FORMULA("Softsign", "quotient", softsign_plain, -1e4, 1e4)},
    {FORMULA("Softsign", "reciprocal", softsign_inverse, -1e4, 1e4)},
    {FORMULA("Sinh", "(e - 1/e)/2", sinh_of_exp, -80, 80), .refused = true},
    {FORMULA("Cosh", "(e + 1/e)/2", cosh_of_exp, -89.4, 89.4)},
    {FORMULA("Cosh", "exp of x/2", cosh_of_halves, -89.4, 89.4)},
    {FORMULA("Tan", "sin/cos", tan_of_quotient, -100, 100)},
    {FORMULA("Acos", "atan2", acos_of_atan, -1, 1)},
    {FORMULA("Asin", "atan2", asin_of_atan, -1, 1)},
    {FORMULA("Acosh", "log(x + sqrt(x^2-1))", acosh_of_log, 1, 1e8)},
    {FORMULA("Acosh", "log(x + sqrt((x-1)(x+1)))", acosh_of_product, 1, 1e8)},
    {FORMULA("Asinh", "log(abs(x) + sqrt(x^2+1))", asinh_of_log, -1e8, 1e8), .refused = true},
    {FORMULA("Asinh", "log1p", asinh_of_log1p, -1e8, 1e8)},
    {FORMULA("Atanh", "log((1+x)/(1-x))/2", atanh_of_log, -0.999, 0.999), .refused = true},
    {FORMULA("Atanh", "log1p", atanh_of_log1p, -0.999, 0.999)},
    {"Pow", "exp(y log x)", 0, .size = {{1, 8}}, .lay_out = pow_inputs, .compute = power},
    {"Pow", "x x x", 1, .size = {{1, 8}}, .lay_out = pow_inputs, .compute = power},
    {"Div", "product with the reciprocal", 0, .size = {{1, 8}}, .lay_out = quotient_inputs,
     .compute = divide},
    {"Div", "reciprocal by one Newton step", 1, .size = {{1, 8}}, .lay_out = quotient_inputs,
     .compute = divide, .refused = true},
    {0},
};
