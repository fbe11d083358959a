/*
 * An adversary for the bounds: implementations of operators as textbooks and engines have them, and a search
 * for the inputs on which they err most. See adversary.c.
 *
 * An implementation computes in a machine: numbers of one floating-point type, kept in doubles and rounded
 * after every operation. Double has more than twice the digits of float32, so nothing is rounded twice.
 */
#ifndef ADVERSARY_H
#define ADVERSARY_H

#include "model/build.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

enum { TRIAL_INPUTS = 7, TRIAL_SIZES = 3 };

struct machine {
    enum dtype type;
    bool flush; /* subnormal numbers become 0; never in float16 */
};

double rounded(struct machine m, double x);

static inline double add(struct machine m, double a, double b)
{
    return rounded(m, a + b);
}
static inline double sub(struct machine m, double a, double b)
{
    return rounded(m, a - b);
}
static inline double mul(struct machine m, double a, double b)
{
    return rounded(m, a * b);
}
static inline double quotient(struct machine m, double a, double b)
{
    return rounded(m, a / b);
}
double fused(struct machine m, double a, double b, double c); /* a b + c, rounded once */
double root(struct machine m, double a);

/* How the terms of a sum are added. All of them are in use: one after the other from either end, in halves,
 * in eight lanes that are then added in pairs, in blocks of four, even and odd ones apart. */
enum order { FORWARD, BACKWARD, PAIRWISE, LANES, BLOCKS, EVEN_ODD, ORDERS };
double total(struct machine m, enum order order, const double *terms, size_t count);
/* The same of products; with `fuse` each product is added unrounded (only FORWARD). */
double inner(struct machine m, enum order order, bool fuse, const double *a, size_t a_step, const double *b,
             size_t b_step, size_t count);

/* Functions as vector libraries compute them, in float32 (adversary_functions.c). */
double library_exp(struct machine m, double x);
double library_log(struct machine m, double x);
double rational_tanh(struct machine m, double x);
double rational_sigmoid(struct machine m, double x);

/* An input while it is searched for. */
struct field {
    enum dtype type;
    struct shape shape;
    size_t count, room;
    double *at;
    double low, high; /* its elements stay within */
    bool fixed;       /* set by lay_out, not searched for */
};

struct trial {
    const struct implementation *is;
    struct machine machine;
    int64_t size[TRIAL_SIZES];
    size_t n_inputs;
    struct field in[TRIAL_INPUTS];
};

/* Makes the next input of a trial, with elements in [low, high]; one that is kept, when it has the same
 * number of elements. */
struct field *trial_input(struct trial *t, int rank, const int64_t *dims, double low, double high);
/* One that is given: a list of whole numbers or of floats. */
void trial_constant(struct trial *t, enum dtype type, int64_t count, const double *values);

struct implementation {
    const char *op, *name;
    int variant; /* what `compute` distinguishes by */
    struct {
        int64_t low, high;
    } size[TRIAL_SIZES];              /* searched for */
    void (*lay_out)(struct trial *t); /* calls trial_input for each input */
    void (*attributes)(struct arena *arena, Onnx__NodeProto *node, const struct trial *t);
    void (*compute)(const struct trial *t, double *y); /* output 0 */
    double (*formula)(struct machine m, double x);     /* of a function of one variable, and its arguments */
    double low, high;
    int opset;       /* 0: 20 */
    bool only_float; /* computed in float32 alone */
    bool scans;      /* elements do not depend on each other */
    double effort;   /* share of the time, when it is not 1 */
    bool refused;    /* the bounds do not admit it: shown, not counted */
};

/* A family of implementations; one without a name ends it. */
extern const struct implementation contractions[], sums[], statistics[], functions[], cells[], samplings[];

#endif
