/*
 * Gradients of a whole model by reverse differentiation: the derivatives, by inputs and initialisers, of one
 * scalar, the sum of all outputs' elements, each times its element in `upstream`.
 *
 * The model is evaluated first; then each node, from the last to the first, turns the derivatives by its
 * outputs into those by its inputs (ops/gradient.h). A value that several nodes read gets the sum of what
 * they give. Everything has bounds, as values have: they hold for an engine that keeps the derivative by each
 * value of the graph, in the type of that value. With evaluate_options.round everything is rounded and has no
 * bounds, as in an engine.
 *
 * Nodes that no wanted value reaches, and nodes that reach no output with a derivative, take no part. An
 * operator whose derivative is 0 almost everywhere (Floor, comparisons) passes zeros on. If, Loop and Scan
 * are not supported, nor are operators without a gradient in the table: ERROR_UNSUPPORTED names them.
 */
#ifndef EVAL_GRADIENT_H
#define EVAL_GRADIENT_H

#include "base/arena.h"
#include "eval/evaluate.h"

struct gradient_request {
    const struct value *inputs;
    size_t n_inputs;
    const struct value
        *upstream; /* by the name of the output, in its type and shape; those not named are 0 */
    size_t n_upstream;
    const char *const *wanted; /* inputs and initialisers; n_wanted 0: all of floating-point type */
    size_t n_wanted;
};

struct gradient {
    const char *name; /* of the input or initialiser; borrowed from the evaluator's model */
    struct bounded slope;
};

/* *gradients is a heap array of *count gradients, in the order of `wanted`, or inputs first; free it with
 * gradients_free. */
int evaluator_gradient(struct evaluator *evaluator, const struct gradient_request *request,
                       struct gradient **gradients, size_t *count, struct error *err);
void gradients_free(struct gradient *gradients, size_t count);

/*
 * The inputs and initialisers of floating-point type by which it makes sense to differentiate: those that
 * some node reads as data, not as a parameter (the scales of Resize, the limits of Clip). As names in the
 * arena.
 */
const char **gradient_wanted(const struct model *model, struct arena *arena, size_t *count);

#endif
