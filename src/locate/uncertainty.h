/*
 * Where an answer becomes uncertain: the node at which the error bound of an output's element begins to be
 * large, though every engine that stays inside the bounds is right.
 *
 * The reference evaluates the model node by node and looks for results whose relative bound is far larger
 * than those of the node's inputs: nearly equal numbers were subtracted, an error was enlarged, a bound
 * reaches across a jump, or ONNX leaves the result unspecified. Such results also occur where they do no
 * harm, so a node is named only if it matters: with the results of the nodes up to it taken as certain, the
 * bound of the output's element is at most half of what it was. The first such node in the order of
 * evaluation is named.
 *
 * This explains differences that were judged already; it never judges.
 */
#ifndef LOCATE_UNCERTAINTY_H
#define LOCATE_UNCERTAINTY_H

#include "case/test_case.h"
#include "locate/type_limits.h"

enum uncertainty_kind {
    UNCERTAIN_NOWHERE = 0,  /* no node stands out: the rounding errors of many add up */
    UNCERTAIN_CANCELLATION, /* a sum whose terms cancel each other */
    UNCERTAIN_ENLARGEMENT,  /* the relative error of the inputs is enlarged */
    UNCERTAIN_JUMP,  /* rounding decides on which side of a jump, or which of two near values, is taken */
    UNCERTAIN_OPEN,  /* ONNX leaves the result unspecified */
    UNCERTAIN_TIE,   /* the two largest elements of the output are nearer than their bounds */
    UNCERTAIN_LIMIT, /* numbers that their type cannot hold decide the answer (locate/type_limits.h) */
};

struct uncertainty {
    enum uncertainty_kind kind;
    size_t node;    /* its number in graph->node; SIZE_MAX: none, or inside a function of the model */
    double factor;  /* how many times larger the relative bound becomes there; 0 where it has no meaning */
    char text[240]; /* "Sub (node diff) cancels 7 digits" */
    struct type_limit limit; /* of UNCERTAIN_LIMIT */
};

/* As `element`: the first one that is not judged, else the one with the largest relative bound. */
#define UNCERTAIN_ANY ((size_t)-1)

/*
 * Finds where element `element` of output `output` becomes uncertain. It evaluates the model some ten times,
 * and only once when that takes long: then the kind is UNCERTAIN_NOWHERE and the text says so. Fails when the
 * reference cannot evaluate the case or there is no such output.
 */
int uncertainty_find(struct uncertainty *uncertainty, const struct test_case *test, size_t output,
                     size_t element, struct error *err);

/*
 * For an output of confidences, on whose largest element engines do not agree: the kind is UNCERTAIN_TIE when
 * the bounds of the two largest elements overlap, else UNCERTAIN_NOWHERE.
 */
int uncertainty_tie(struct uncertainty *uncertainty, const struct test_case *test, size_t output,
                    struct error *err);

/* For a case in which ONNX leaves some value unspecified, whether or not an output shows it: the first node
 * at which that happens; UNCERTAIN_NOWHERE when there is none. */
int uncertainty_open(struct uncertainty *uncertainty, const struct test_case *test, struct error *err);

#endif
