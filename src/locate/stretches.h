/*
 * Judges operators as the engine fuses them.
 *
 * An engine that must show every value cannot compute several nodes as one, so what is judged node by node is
 * not quite what runs when nobody looks. The model is therefore run again with only some of its values
 * exposed. What lies between these, a stretch, is the engine's to fuse; it is evaluated on the values that
 * the engine gave it and judged by bounds that allow for another formula (evaluate_options.loose). A stretch
 * whose values are bit for bit those of an earlier run, with all values exposed or other ones, was judged
 * there already.
 *
 * Three choices of values leave room for the fusions that engines make, with bounds that are still narrow:
 * what feeds products (Conv, MatMul ...) and operators that hide errors (op_hides), so that each stretch has
 * one product and what follows it; and what feeds every second product, the even and the odd ones, so that
 * stretches have two, as attention has. Values that are only moved or widened on their way to a product are
 * not exposed, as engines take products of narrow values.
 *
 * A stretch outside its bound is blamed only if it is also wrong as a model of its own.
 */
#ifndef LOCATE_STRETCHES_H
#define LOCATE_STRETCHES_H

#include "locate/fault_search.h"

enum { STRETCHES_ALL = 3 };

struct stretches {
    struct fault_search *search;
    size_t rounds;         /* how many of these choices are tried, the first first */
    const uint64_t *shown; /* by value number: the hash of what the engine showed with all values exposed; 0:
                              it did not show it */
    const bool *judged;    /* by node number: nodes that were judged there, each alone */
    bool *covered;         /* by node number: set for nodes of a stretch that was judged */
    double *lowered;       /* by node number, of products that are computed in fewer bits: what was visible
                              (struct verdict); 0 of all others */
    size_t count, right;   /* stretches looked at; those whose end was judged to be within its bound */
    struct telling *telling; /* what the runs so far told; stretches_judge sets it */
};

/* The hash of a tensor's bytes, which is never 0. */
uint64_t stretches_hash(const struct tensor *tensor);

/* Judges all stretches. The settlement blames the first that is wrong, if any. Fails only when this machine
 * does (no memory, no pool); an engine that does not show the values leaves its stretches uncovered. */
int stretches_judge(struct stretches *stretches, struct settlement *settlement);

#endif
