/*
 * A failing case made small: true delta debugging that keeps the signature.
 *
 * First the nodes that settling blames are cut out with the values they had. Then nodes go in chunks, halves
 * before quarters before single ones, what they made becoming inputs; nodes are bypassed and folded, bodies
 * of If, Loop and Scan put in their place, bystanders replaced by the plainest operators; outputs and
 * optional inputs are dropped; dimensions, ranks, kernels and element types shrink, attributes go to their
 * defaults and values to zeros, ones and small numbers, the operator set down; bodies are worked on as well.
 * That is repeated until nothing more holds.
 *
 * The expected answer is computed anew for every candidate and the verdict must stay true (oracle.h).
 * Deterministic, as far as the engine is.
 */
#ifndef REDUCE_REDUCE_H
#define REDUCE_REDUCE_H

#include "case/test_case.h"
#include "engine/pool.h"
#include "findings/signature.h"

struct reduce_options {
    struct pool *pool; /* nobody else's jobs may be in it meanwhile */
    int engine;
    /* Another setting of the same release and kernels in the pool (opt=none), or -1: what it runs, the engine
     * may not call unsupported. Only asked when the engine does. */
    int companion;
    const char *label;            /* of the engine, for the signature; NULL: as in the pool */
    const struct signature *keep; /* NULL: the one the case itself has */
    double seconds;               /* at most, 0: no limit; the best so far is the result then */
    double deadline;              /* of each request; 0: from how long the case itself takes */
    size_t ahead;                 /* candidates under way; 0: 8 */
    bool progress;
};

struct reduce_stats {
    size_t nodes_before, nodes_after, elements_before, elements_after;
    size_t made, invalid, runs, held; /* candidates: made, not valid; engine runs; candidates taken */
    double seconds;
    bool complete; /* nothing more could go; false: time was up */
    struct signature first, last;
    struct verdict verdict;
    char text[320]; /* what is wrong with the result, one line */
};

/*
 * Fails with ERROR_NOT_FOUND when the engine shows no failure on the case, or not the one to keep;
 * ERROR_UNSUPPORTED when the reference cannot evaluate it. *smaller is the caller's to free, NULL
 * after a failure.
 */
int reduce_case(struct test_case **smaller, const struct test_case *from,
                const struct reduce_options *options, struct reduce_stats *stats, struct error *err);

#endif
