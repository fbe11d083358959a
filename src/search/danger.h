/*
 * How near the values inside a model come to what breaks it: overflow, a division by zero, the root of a
 * negative number. The reference evaluates every node, so it sees what no engine shows.
 *
 * A distance is between 0, which means reached, and 1, which means far. It is logarithmic: 1e30 is nearer to
 * an overflow than 1e3. Distances of one kind can be compared with each other and fall steadily on the way;
 * those of two kinds cannot. What is dangerous for an operator is said by its row (struct op_danger); a value
 * that overflows, and a sum of large terms of both signs, is dangerous anywhere.
 */
#ifndef SEARCH_DANGER_H
#define SEARCH_DANGER_H

#include "eval/evaluate.h"

enum danger_kind {
    NEAR_OVERFLOW, /* a result, or what is computed on the way, against the largest number of its type */
    NEAR_DIVISION, /* a division by zero, the logarithm of zero and the like */
    NEAR_DOMAIN,   /* the root or logarithm of a negative number and the like */
    NEAR_EXP,      /* an exponential that overflows */
    NEAR_OPPOSITE, /* a sum of opposite infinities: the smaller of its largest terms of either sign */
    NEAR_KINDS
};

/* The nearest that elements come to one kind of danger. */
struct danger_place {
    double distance; /* 1 unless an element is nearer */
    size_t node;     /* number of the node among those of the meter (danger_node) */
    size_t element;  /* of the input or output of the node that is near */
    /* How far the element is, with a sign, in its own unit: what is left to a pole or to the nearer end of a
     * domain. 0 for kinds that have no such number. */
    double margin;
};

struct danger {
    struct danger_place nearest[NEAR_KINDS];
    size_t nans, infinities; /* elements of results that are so, of all nodes, before the run ended */
    size_t first_strange;    /* the node that made the first of them, if there are any */
};

/* A model prepared for measuring; it is borrowed. Fails as evaluator_new does. */
struct danger_meter;
int danger_meter_new(struct danger_meter **meter, const struct model *model, struct error *err);
void danger_meter_free(struct danger_meter *meter);

/* Runs the model on inputs, as evaluator_run takes them, and says how near it came. Fails when the reference
 * cannot evaluate the model on them. */
int danger_measure(struct danger_meter *meter, const struct value *inputs, size_t n_inputs,
                   struct danger *danger, struct error *err);

/* The nodes that the last runs came by, those of bodies and functions included, and the nearest that one of
 * them came in the last run. */
size_t danger_nodes(const struct danger_meter *meter);
const Onnx__NodeProto *danger_node(const struct danger_meter *meter, size_t node);
const struct danger_place *danger_of_node(const struct danger_meter *meter, size_t node,
                                          enum danger_kind kind);

/* What one call of a kernel that has run comes near to: `nearest` has NEAR_KINDS places, whose elements and
 * distances are replaced by nearer ones. */
void danger_of_call(const struct op_call *call, struct danger_place *nearest);

#endif
