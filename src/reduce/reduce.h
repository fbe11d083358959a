/*
 * Makes a failing case small, by delta debugging that keeps the failure's signature.
 *
 * First the nodes that settling blames are cut out with the values they had. Then nodes are removed in chunks
 * (halves, then quarters, then single nodes), and their outputs become inputs. Nodes are bypassed or replaced
 * by constants, If, Loop and Scan by their bodies, and nodes that are not to blame by plainer operators.
 * Outputs and optional inputs are dropped; dimensions, ranks, kernels and element types become smaller;
 * attributes become their defaults, and values zeros, ones and small numbers; the opset is lowered. The same
 * is done inside bodies. All this is repeated until no further edit keeps the failure.
 *
 * The expected answer is computed again for every candidate, so that every verdict is a true one (oracle.h).
 * The result is deterministic as far as the engine is.
 */
#ifndef REDUCE_REDUCE_H
#define REDUCE_REDUCE_H

#include "case/test_case.h"
#include "engine/panel.h"
#include "findings/signature.h"

struct reduce_options {
    struct pool *pool; /* no other jobs may be in it meanwhile */
    int engine;
    /* Another setting of the same release and kernels in the pool (opt=none), or -1. The engine may not call
     * unsupported what this one runs. It is only asked when the engine says so. */
    int companion;
    const char *label;            /* of the engine, for the signature; NULL: as in the pool */
    const struct signature *keep; /* the failure to keep; NULL: the one that the case shows */
    /* For rewritten cases: a panel with the engine first, whose reference judges both forms, and the registry
     * for other settings. NULL: a rewritten case is reduced as it is, without its original. */
    const struct panel *panel;
    struct registry *registry;
    double seconds;  /* time limit, after which the smallest case so far is the result; 0: none */
    size_t most;     /* limit of candidates, which does not depend on the machine's speed; 0: none */
    double deadline; /* for each request; 0: derived from how long the case itself takes */
    size_t ahead;    /* candidates under way; 0: 8 */
    bool progress;
    void (*alive)(void *context); /* called between runs of the engine; may be NULL */
    void *context;
};

struct reduce_stats {
    size_t nodes_before, nodes_after, elements_before, elements_after;
    /* Candidates made; those not valid; engine runs; candidates that kept the failure. */
    size_t made, invalid, runs, held;
    double seconds;
    bool complete; /* nothing more could go; false: a limit was reached */
    struct signature first, last;
    struct verdict verdict;
    char text[VERDICT_LINE]; /* what is wrong with the result, one line */
};

/*
 * Fails with ERROR_NOT_FOUND when the engine shows no failure on the case, or not the one to keep;
 * ERROR_UNSUPPORTED when the reference cannot evaluate it. The caller frees *smaller, which is NULL after a
 * failure. A rewritten case gives a rewritten case: its original is what was made small, and steps of the
 * rewriting that were not needed are left out.
 */
int reduce_case(struct test_case **smaller, const struct test_case *from,
                const struct reduce_options *options, struct reduce_stats *stats, struct error *err);

#endif
