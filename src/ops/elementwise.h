/*
 * Real functions of one variable, element by element: what the families of elementwise functions share.
 *
 * A row says what the function is, how wrong a correct implementation may be, and where it turns or ends;
 * how an input's bound becomes the output's follows: the farthest of f(x-h), f(x+h) and the turning points
 * between them, and undecided where the interval leaves the domain.
 */
#ifndef OPS_ELEMENTWISE_H
#define OPS_ELEMENTWISE_H

#include "ops/draw.h"
#include "ops/op.h"

enum { ELEMENTWISE_PARAMS = 2 };

/* One element on its way: attributes, argument, result, and the type it is computed in. */
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
     * The largest error of a correct implementation at this point, without the last rounding; infinite:
     * undecided; NaN: open. NULL: correctly rounded, 0.
     */
    long double (*error)(const struct elementwise_point *point);
    double low, high; /* outside the function is NaN; both 0: no limits */
    int n_turns;
    double turns[2]; /* where it is not monotone */
    /* How far f can get from y = f(x) within [x-h, x+h], h finite and not 0; NULL: by ends and turns. */
    long double (*reach)(const double *p, long double x, long double y, long double h);
    double draw_low, draw_high;             /* range of ordinary test data; both 0: the fill policy's */
    const char *params[ELEMENTWISE_PARAMS]; /* names of float attributes, with defaults */
    float defaults[ELEMENTWISE_PARAMS];
};

/*
 * The share of the largest error that is one standard deviation of it: a bound of 8 units in the last place
 * stands for functions that err by about 1.
 */
#define ELEMENTWISE_DEVIATION 0.125L

const struct elementwise *elementwise_find(const struct elementwise *table, const char *name);

/* Fills p from the node's attributes. */
void elementwise_params(const struct op_call *call, const struct elementwise *function,
                        double p[ELEMENTWISE_PARAMS]);

/* The whole kernel: output 0 like input 0. */
int elementwise_eval(struct op_call *call, const struct elementwise *function, const double *p);

/* Draws the primary input in the function's range, and each attribute or not. */
int elementwise_sample(struct draw *d, const struct elementwise *function);

#endif
