/*
 * Holds one engine's answers to two equivalent cases against each other: the original and a rewritten form of
 * it (rules/rule.h).
 *
 * Outputs of the original are found among those of the rewritten model by their names; it may have more.
 * Where the reference computed both forms, two answers may be as far apart as the hard bounds of both
 * together, and what is farther apart is *inconsistent*, a finding. Elements whose bound is infinite in
 * either form count as judged when they are alike by the tolerance of ONNX's own test cases, and are never a
 * finding, unless the relation is RELATION_BITS: the engine was given the same work, so even what ONNX leaves
 * open must come out the same.
 *
 * The bytes of both answers are compared as well, and the verdict tells how many elements differ in them
 * (other_bytes), which is no finding by itself. Where the pair asks for it (bytes) with RELATION_BITS, an
 * answer that differs within rounding is nondeterministic, and one that differs is so without any reference.
 *
 * First the reference is held against itself: when its own exact values for the two forms are farther apart
 * than their bounds, the rewriting is at fault and nothing is judged (bad_rewriting).
 *
 * Without the reference for one of the forms a tolerance decides, EAGLE's or a looser one of the element type
 * unless the pair has its own, and answers that are farther apart are only *suspect*.
 */
#ifndef JUDGE_PAIR_H
#define JUDGE_PAIR_H

#include "case/test_case.h"
#include "judge/metrics.h"
#include "judge/verdict.h"

/* What must hold between the two answers. pair_open fills it in; tests may do so by hand. */
struct pair {
    enum relation relation;
    enum rows rows;
    int64_t rows_before, rows_after; /* of the inputs, where `rows` chooses some */
    bool bytes;                      /* every byte counts, see struct equivalence */
    bool random;                     /* answers differ from run to run: nothing is judged */
    bool invalid;                    /* the reference calls the original invalid: neither is anything then */
    bool nothing_new;                /* an engine that answers the original may not refuse the other form */
    size_t n_outputs;
    const char **outputs; /* names of the original's outputs; owned array, borrowed names */
    const struct metrics_tolerance *tolerance; /* without the reference; NULL: as above; borrowed */
    size_t *places; /* where the rewritten model has them among its outputs; owned */
    /* From the references, for each output: */
    bool by_reference; /* the reference computed both forms */
    bool bad_rewriting;
    char reason[200]; /* of a bad rewriting: what differs */
    struct pair_bounds *bounds;
};

/*
 * Describes the pair of `rewritten` and its original. Both references are results with bounds, or NULL or
 * without an answer where the reference was not asked or does not know. The case must outlive the pair.
 * Release it with pair_close.
 */
int pair_open(struct pair *pair, const struct test_case *rewritten, const struct result *original_reference,
              const struct result *rewritten_reference, struct error *err);

/* The second half of pair_open, for a pair filled in by hand. */
void pair_set_references(struct pair *pair, const struct result *original_reference,
                         const struct result *rewritten_reference);
void pair_close(struct pair *pair);

/*
 * Judges one engine's answers. The verdict is agrees, inconsistent or suspect; without a reference also
 * rejected or failed, when one form is refused and the other answered though nothing in it is new. It is
 * undecided when no element could be judged, and untested when there is nothing to hold against each other,
 * as one of the forms has no answer; the text says why. In the verdict `expected` is the original's element
 * and `got` that of the rewritten form.
 */
void pair_judge(const struct pair *pair, const struct result *original, const struct result *rewritten,
                struct verdict *verdict);

#endif
