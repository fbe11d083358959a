/*
 * The gradient of every operator that has one, on nodes that its sampler draws:
 *
 * - it agrees with central differences of the kernel itself, whose values are long double;
 * - where the derivatives from the left and from the right differ, it is undecided;
 * - its value rounded to its type is within its bound, and the bounds are sane;
 * - when inputs and upstream are known only up to a bound, the gradient at any numbers within these bounds is
 *   within the bound of the gradient.
 *
 *     test_gradients [OPERATOR [COUNT]]
 */
#include "drawn_node.h"
#include "base/arena.h"
#include "base/memory.h"
#include "ops/draw.h"
#include "ops/gradient.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPERATORS = 80, /* at least so many operators have a gradient */
    OPSET_FIRST = 11,
    OPSET_LAST = 21,
    SLOTS = 64,    /* most inputs or outputs of a node here */
    ELEMENTS = 6,  /* of each input, compared with differences */
    LARGEST = 4000 /* elements of an input, beyond which the node is left out to save time */
};

struct tried {
    size_t drawn, unsupported, elements, undecided, compared, rough, kinks, inherited;
};

/* A node with inputs, outputs, derivatives by the outputs and, after differentiate, by the inputs. */
struct subject {
    const struct draw *draw;
    size_t n_inputs, n_outputs;
    struct bounded inputs[SLOTS], outputs[SLOTS], upstream[SLOTS], slopes[SLOTS];
    struct error err;
};

static void clear(struct bounded *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bounded_release(&list[i]);
        bounded_init(&list[i]);
    }
}

static void subject_release(struct subject *s)
{
    clear(s->inputs, SLOTS);
    clear(s->outputs, SLOTS);
    clear(s->upstream, SLOTS);
    clear(s->slopes, SLOTS);
}

static bool present(const struct bounded *b)
{
    return b->type != DTYPE_NONE;
}

static void views(const struct bounded *list, size_t count, const struct bounded **to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = present(&list[i]) ? &list[i] : NULL;
}

static struct op_call call_of(struct subject *s, const struct bounded **inputs)
{
    views(s->inputs, s->n_inputs, inputs);
    return (struct op_call){.op = s->draw->op,
                            .node = s->draw->node,
                            .opset = s->draw->opset,
                            .n_inputs = s->n_inputs,
                            .inputs = inputs,
                            .n_outputs = s->n_outputs,
                            .outputs = s->outputs,
                            .err = &s->err};
}

static int evaluate(struct subject *s)
{
    const struct bounded *inputs[SLOTS];
    struct op_call call = call_of(s, inputs);
    clear(s->outputs, SLOTS);
    return s->draw->op->eval(&call);
}

static int differentiate(struct subject *s)
{
    const struct bounded *inputs[SLOTS], *upstream[SLOTS];
    bool wanted[SLOTS];
    struct op_call call = call_of(s, inputs);
    views(s->upstream, s->n_outputs, upstream);
    for (size_t i = 0; i < s->n_inputs; i++)
        wanted[i] = inputs[i] && dtype_is_float(inputs[i]->type);
    clear(s->slopes, SLOTS);
    struct op_gradient g = {.call = &call, .upstream = upstream, .wanted = wanted, .slopes = s->slopes};
    return s->draw->op->gradient(&g);
}

static int copy(struct subject *to, const struct subject *from)
{
    *to = (struct subject){.draw = from->draw, .n_inputs = from->n_inputs, .n_outputs = from->n_outputs};
    int result = 0;
    for (size_t i = 0; i < SLOTS && !result; i++)
        if (present(&from->inputs[i]))
            result = bounded_copy(&to->inputs[i], &from->inputs[i], &to->err);
    for (size_t i = 0; i < SLOTS && !result; i++)
        if (present(&from->upstream[i]))
            result = bounded_copy(&to->upstream[i], &from->upstream[i], &to->err);
    return result;
}

static int complain(const struct subject *s, size_t input, size_t i, const char *wrong)
{
    const struct bounded *slope = &s->slopes[input];
    printf("%s: input %zu, element %zu: %s\n", s->draw->op->name, input, i, wrong);
    if (present(slope) && i < slope->count)
        printf("  gradient %.20Lg, hard bound %g, deviation %g, at %.20Lg\n", slope->value[i],
               bounded_hard(slope, i), bounded_likely(slope, i), s->inputs[input].value[i]);
    drawn_describe(s->draw);
    return -1;
}

/* The derivatives by the outputs: random numbers, or none for a part of several outputs. */
static int draw_upstream(struct subject *s, struct rng *rng)
{
    size_t only = s->n_outputs > 1 && rng_chance(rng, 0.3) ? rng_below(rng, s->n_outputs) : s->n_outputs;
    for (size_t o = 0; o < s->n_outputs; o++) {
        const struct bounded *out = &s->outputs[o];
        if (!present(out) || !dtype_is_float(out->type) || (only < s->n_outputs && o != only))
            continue;
        if (bounded_alloc(&s->upstream[o], out->type, &out->shape, false, &s->err))
            return -1;
        for (size_t i = 0; i < out->count; i++)
            s->upstream[o].value[i] = rng_normal(rng);
        bounded_round(&s->upstream[o]);
    }
    return 0;
}

/* The scalar that is differentiated, and the sum of the sizes of its terms. NaN: the outputs are others, or
 * one is not judged, and its value says nothing. */
static long double scalar(const struct subject *s, long double *magnitude)
{
    long double sum = 0;
    *magnitude = 0;
    for (size_t o = 0; o < s->n_outputs; o++) {
        const struct bounded *up = &s->upstream[o], *out = &s->outputs[o];
        if (!present(up))
            continue;
        if (up->count != out->count)
            return NAN;
        for (size_t i = 0; i < out->count; i++) {
            if (isinf(bounded_hard(out, i)))
                return NAN;
            long double term = up->value[i] * out->value[i];
            sum += term;
            *magnitude += fabsl(term);
        }
    }
    return sum;
}

/* Differences at one element: of sixth order, from the right and from the left, and what they are worth. */
struct differences {
    bool usable; /* all numbers were finite */
    long double middle, error, noise;
    long double left, right;
    bool left_smooth, right_smooth;
};

/* From values at 0, a, 2a and 4a, where the step a may be negative. */
static long double one_sided(const long double f[4], long double a, long double noise, bool *smooth)
{
    long double third = (-21 * f[0] + 32 * f[1] - 12 * f[2] + f[3]) / (12 * a);
    long double second = (-3 * f[0] + 4 * f[1] - f[2]) / (2 * a);
    *smooth = fabsl(third - second) <= 1e-4L * fabsl(third) + noise;
    return third;
}

static struct differences take_differences(struct subject *at, size_t input, size_t element)
{
    struct bounded *in = &at->inputs[input];
    long double x = in->value[element], size = fabsl(x) > 0.01L ? fabsl(x) : 0.01L;
    long double a = ldexpl(size, -11); /* truncation near 1e-15, cancellation near 1e-14 of a scalar near 1 */
    static const int steps[] = {-4, -2, -1, 0, 1, 2, 4};
    long double f[7], largest = 0;
    struct differences d = {.usable = true};
    for (size_t k = 0; k < 7 && d.usable; k++) {
        long double magnitude;
        in->value[element] = x + steps[k] * a;
        if (evaluate(at))
            d.usable = false;
        else
            f[k] = scalar(at, &magnitude);
        d.usable = d.usable && isfinite(f[k]);
        largest = d.usable ? fmaxl(largest, magnitude) : largest;
    }
    in->value[element] = x;
    if (!d.usable)
        return d;
    /* Long sums of products are computed in double (contract.h). */
    d.noise = (at->draw->op->work == WORK_PRODUCTS ? 0x1p-49L : 0x1p-58L) * largest / a;
    long double wide = (8 * (f[5] - f[1]) - (f[6] - f[0])) / (24 * a);
    long double near = (8 * (f[4] - f[2]) - (f[5] - f[1])) / (12 * a);
    d.middle = (16 * near - wide) / 15;
    d.error = fabsl(d.middle - near);
    d.right = one_sided((long double[]){f[3], f[4], f[5], f[6]}, a, d.noise, &d.right_smooth);
    d.left = one_sided((long double[]){f[3], f[2], f[1], f[0]}, -a, d.noise, &d.left_smooth);
    return d;
}

static bool within(long double value, long double other, long double bound)
{
    return fabsl(value - other) <= bound;
}

static int compare_element(const struct subject *s, struct subject *at, size_t input, size_t i,
                           struct tried *t)
{
    const struct bounded *slope = &s->slopes[input];
    long double value = present(slope) ? slope->value[i] : 0;
    double hard = present(slope) ? bounded_hard(slope, i) : 0;
    if (isinf(hard))
        return 0;
    if (isinf(s->inputs[input].value[i]) || isnan(s->inputs[input].value[i]))
        return 0;
    struct differences d = take_differences(at, input, i);
    if (!d.usable) {
        t->rough++;
        return 0;
    }
    long double apart = fabsl(d.left - d.right);
    if (d.left_smooth && d.right_smooth &&
        apart > 1e-4L * (fabsl(d.left) + fabsl(d.right)) + 1e3L * d.noise) {
        t->kinks++;
        if (within(value, d.left, hard + 1e-9L) && within(value, d.right, hard + 1e-9L))
            return 0;
        return complain(s, input, i, "there is a kink, which must be undecided");
    }
    if (d.error > 1e-6L * fabsl(d.middle) + d.noise) {
        t->rough++;
        return 0;
    }
    t->compared++;
    if (isinf(value) && value * d.middle > 0 && fabsl(d.middle) > dtype_highest(slope->type))
        return 0;
    /* A subnormal input may be read as 0: its bound is part of the gradient's. */
    if (within(value, d.middle, 1e-9L * fabsl(d.middle) + 8 * d.error + d.noise))
        return 0;
    /* Where the second derivative jumps at this very element, only differences to one side are precise. */
    if (d.left_smooth && d.right_smooth && within(value, d.left, 1e-8L * fabsl(d.left) + d.noise) &&
        within(value, d.right, 1e-8L * fabsl(d.right) + d.noise))
        return 0;
    printf("  central difference %.20Lg, its error about %Lg\n", d.middle, d.error + d.noise);
    return complain(s, input, i, "the gradient is not that of the kernel");
}

static int compare_with_differences(const struct subject *s, struct rng *rng, struct tried *t)
{
    struct subject at;
    int result = copy(&at, s);
    for (size_t k = 0; k < s->n_inputs && !result; k++) {
        const struct bounded *in = &s->inputs[k];
        if (!present(in) || !dtype_is_float(in->type) || !in->count)
            continue;
        for (size_t n = 0; n < ELEMENTS && n < in->count && !result; n++)
            result = compare_element(s, &at, k, in->count <= ELEMENTS ? n : rng_below(rng, in->count), t);
    }
    subject_release(&at);
    return result;
}

static int check_slopes(struct subject *s, struct tried *t)
{
    for (size_t k = 0; k < s->n_inputs; k++) {
        const struct bounded *slope = &s->slopes[k], *in = &s->inputs[k];
        if (!present(slope))
            continue;
        if (!present(in) || !dtype_is_float(in->type))
            return complain(s, k, SIZE_MAX, "a gradient of what has none");
        if (slope->type != in->type || !shape_equal(&slope->shape, &in->shape))
            return complain(s, k, SIZE_MAX, "the gradient has not the type and shape of its input");
        for (size_t i = 0; i < slope->count; i++) {
            double hard = bounded_hard(slope, i), likely = bounded_likely(slope, i);
            t->elements++;
            t->undecided += isinf(hard) ? 1 : 0;
            if (!(hard >= 0) || !(likely >= 0))
                return complain(s, k, i, "a bound is negative or NaN");
            if (isinf(hard) || !isfinite(slope->value[i]))
                continue;
            if (likely > hard + 2 * dtype_precision(slope->type).tiny)
                return complain(s, k, i, "the deviation is above the hard bound");
            long double stored = dtype_round(slope->type, slope->value[i]);
            if (!within(stored, slope->value[i], hard))
                return complain(s, k, i, "the bound is below the rounding of the value itself");
        }
    }
    return 0;
}

/* Inputs and upstream that are known up to a few roundings. */
static void loosen(struct bounded *b)
{
    if (!present(b) || !dtype_is_float(b->type))
        return;
    for (size_t i = 0; i < b->count; i++) {
        double hard = (double)fabsl(b->value[i]) * 4 * unit_of(b->type);
        if (isfinite(b->value[i]))
            bounded_set(b, i, b->value[i], hard, hard / 4);
    }
}

/* Another number within the bounds of each element, exactly known; at an end half the time. */
static void choose_within(struct bounded *b, const struct bounded *of, struct rng *rng)
{
    if (!present(of) || !of->hard)
        return;
    for (size_t i = 0; i < b->count; i++) {
        double part = rng_chance(rng, 0.5) ? (rng_chance(rng, 0.5) ? -1 : 1) : rng_uniform(rng, -1, 1);
        if (isfinite(of->value[i]) && isfinite(bounded_hard(of, i)))
            bounded_set(b, i, of->value[i] + (long double)part * bounded_hard(of, i), 0, 0);
    }
}

static int check_inherited(const struct subject *s, const struct subject *center, struct rng *rng,
                           struct tried *t)
{
    struct subject at;
    int result = copy(&at, s);
    for (size_t i = 0; i < SLOTS; i++) {
        choose_within(&at.inputs[i], &center->inputs[i], rng);
        choose_within(&at.upstream[i], &center->upstream[i], rng);
    }
    if (!result && (evaluate(&at) || differentiate(&at)))
        result = complain(center, 0, SIZE_MAX, at.err.message);
    for (size_t k = 0; k < s->n_inputs && !result; k++) {
        const struct bounded *slope = &center->slopes[k], *other = &at.slopes[k];
        for (size_t i = 0; present(slope) && i < slope->count && !result; i++) {
            double hard = bounded_hard(slope, i);
            if (isinf(hard) || !isfinite(slope->value[i]) || isinf(bounded_hard(other, i)))
                continue;
            t->inherited++;
            if (within(other->value[i], slope->value[i], hard * (1 + 0x1p-40L)))
                continue;
            printf("  with other inputs within their bounds it is %.20Lg, which is %Lg off\n",
                   other->value[i], fabsl(other->value[i] - slope->value[i]));
            result = complain(center, k, i, "the bound does not cover what the inputs' bounds allow");
        }
    }
    subject_release(&at);
    return result;
}

static int try_uncertain(const struct subject *s, struct rng *rng, struct tried *t)
{
    struct subject center;
    int result = copy(&center, s);
    for (size_t i = 0; i < SLOTS; i++) {
        loosen(&center.inputs[i]);
        loosen(&center.upstream[i]);
    }
    /* A kernel may refuse inputs that are not certain, such as sizes. */
    bool possible = !result && evaluate(&center) == 0;
    if (possible && differentiate(&center))
        result =
            center.err.code == ERROR_UNSUPPORTED ? 0 : complain(&center, 0, SIZE_MAX, center.err.message);
    else if (possible)
        for (int n = 0; n < 3 && !result; n++)
            result = check_inherited(s, &center, rng, t);
    subject_release(&center);
    return result;
}

static bool is_too_large(const struct draw *d)
{
    bool large = d->n_inputs > SLOTS || d->n_outputs > SLOTS;
    for (size_t i = 0; i < d->n_inputs && !large; i++)
        large = d->inputs[i].source != DRAWN_OMITTED && d->inputs[i].data.count > LARGEST;
    return large;
}

static int try_drawn(const struct draw *d, struct rng *rng, struct tried *t)
{
    struct subject *s = memory_zeroed(1, sizeof *s);
    *s = (struct subject){.draw = d, .n_inputs = d->n_inputs, .n_outputs = d->n_outputs ? d->n_outputs : 1};
    int result = 0;
    for (size_t i = 0; i < d->n_inputs && !result; i++)
        if (d->inputs[i].source != DRAWN_OMITTED)
            result = bounded_from_tensor(&s->inputs[i], &d->inputs[i].data, &s->err);
    if (!result)
        result = evaluate(s);
    if (!result)
        result = draw_upstream(s, rng);
    if (!result)
        result = differentiate(s);
    if (result && s->err.code == ERROR_UNSUPPORTED) {
        t->unsupported++;
        result = 0;
    } else if (result) {
        complain(s, 0, SIZE_MAX, s->err.message);
    } else if (!(result = check_slopes(s, t)) && !(result = compare_with_differences(s, rng, t))) {
        result = try_uncertain(s, rng, t);
    }
    subject_release(s);
    free(s);
    return result;
}

static enum dtype pick_type(struct rng *rng, dtype_set set)
{
    dtype_set floats = set & (dtype_set)DTYPES_FLOAT;
    return drawn_type(rng, floats ? floats : set);
}

static int try_operator(const struct op *op, size_t count)
{
    struct tried t = {0};
    struct rng root = rng_seed(17);
    int result = 0;
    for (size_t n = 0; n < count && result == 0; n++) {
        struct rng rng = rng_split(&root, n);
        int first = op_drawn_since(op) > OPSET_FIRST ? op_drawn_since(op) : OPSET_FIRST;
        int opset = (int)rng_range(&rng, first, OPSET_LAST);
        enum fill fill = rng_chance(&rng, 0.6) ? FILL_NORMAL : (enum fill)rng_below(&rng, FILL_COUNT);
        struct arena arena;
        struct draw d;
        arena_init(&arena);
        draw_init(&d, &arena, op, opset, pick_type(&rng, op_types_at(op, opset)), fill, rng);
        if (draw_node(&d) == 0 && !is_too_large(&d)) {
            t.drawn++;
            rng = rng_split(&root, count + n);
            result = try_drawn(&d, &rng, &t);
        }
        draw_release(&d);
        arena_release(&arena);
    }
    printf("%-22s %4zu drawn %3zu unsupported %7zu elements %3.0f%% undecided %5zu compared %4zu rough "
           "%4zu kinks %7zu inherited\n",
           op->name, t.drawn, t.unsupported, t.elements,
           t.elements ? 100.0 * (double)t.undecided / (double)t.elements : 0.0, t.compared, t.rough, t.kinks,
           t.inherited);
    if (result == 0 &&
        (t.drawn < count / 3 || t.unsupported > t.drawn / 2 || t.compared < count / 4 ||
         (t.inherited < count / 4 && t.elements > count) || /* OneHot has two elements a case */
         t.undecided > t.elements / 2 + t.elements / 4)) {
        printf("%s: too few gradients were compared\n", op->name);
        return -1;
    }
    return result;
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 24, tried = 0;
    int failed = 0;
    for (size_t i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        if (!op->gradient || (*only && strcmp(op->name, only) != 0))
            continue;
        tried++;
        failed += try_operator(op, count) != 0;
    }
    printf("%zu operators with a gradient\n", tried);
    if (!*only && (int)tried < OPERATORS) {
        printf("there must be at least %d\n", OPERATORS);
        failed++;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
