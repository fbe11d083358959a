/*
 * Real functions of one variable, element by element: what the families of elementwise functions share.
 *
 * A row of a family's table gives the function, the largest error of a correct implementation, its turning
 * points and its domain. From these follows how the bound of the input becomes that of the output: the
 * farthest of f(x-h), f(x+h) and the turning points between them, and undecided where the interval leaves the
 * domain.
 *
 * The derivative of a function is described in the same way, in a table of its own. Its error is that of the
 * least precise formula in use, from the argument or from the result of the function, which has errors of its
 * own: 1 - y^2 of a tanh near 1 errs by some units of 1, however small it is. The error is infinite at
 * kinks.
 */
#ifndef OPS_ELEMENTWISE_H
#define OPS_ELEMENTWISE_H

#include "ops/draw.h"
#include "ops/gradient.h"

enum { ELEMENTWISE_PARAMS = 2 };

/* One element while it is computed: attributes, argument, result, and the type that it is computed in. */
struct elementwise_point {
    const double *p;
    long double x, y;
    double unit; /* half an ulp of 1 */
    enum dtype type;
};

struct elementwise {
    const char *name; /* the operator's; NULL ends a table */
    long double (*value)(const double *p, long double x);
    /*
     * The largest error of a correct implementation at this point, without the last rounding; infinite: the
     * result is undecided; NaN: ONNX leaves it unspecified. NULL: correctly rounded, so the error is 0.
     */
    long double (*error)(const struct elementwise_point *point);
    double low, high; /* the domain: outside, the result is NaN; both 0: no limits */
    int n_turns;
    double turns[2]; /* where it is not monotone */
    /* How far f can get from y = f(x) within [x-h, x+h], where h is finite and not 0; NULL: found from the
     * ends and turns. */
    long double (*reach)(const double *p, long double x, long double y, long double h);
    /* Of a derivative: a larger number that a usual formula multiplies with on the way; NULL: none. */
    long double (*on_the_way)(const double *p, long double x);
    double draw_low, draw_high;             /* range of ordinary test data; both 0: as the fill says */
    const char *params[ELEMENTWISE_PARAMS]; /* names of float attributes, with defaults */
    float defaults[ELEMENTWISE_PARAMS];
};

/*
 * One standard deviation as a share of the largest error: a bound of 8 units in the last place is meant for
 * functions with an error of about 1.
 */
#define ELEMENTWISE_DEVIATION 0.125L

const struct elementwise *elementwise_find(const struct elementwise *table, const char *name);

/* Fills p from the node's attributes. */
void elementwise_params(const struct op_call *call, const struct elementwise *function,
                        double p[ELEMENTWISE_PARAMS]);

/* The whole kernel: output 0 has the type and shape of input 0. */
int elementwise_eval(struct op_call *call, const struct elementwise *function, const double *p);

/* The whole gradient, from the description of the derivative. */
int elementwise_gradient(struct op_gradient *g, const struct elementwise *derivative, const double *p);

/* Draws the primary input in the range of the function, and sets each attribute or leaves it out. */
int elementwise_sample(struct draw *d, const struct elementwise *function);

#endif
