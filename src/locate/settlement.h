/*
 * The input and the result of settling: a case on an engine, and the verdict with the nodes to blame.
 */
#ifndef LOCATE_SETTLEMENT_H
#define LOCATE_SETTLEMENT_H

#include "engine/pool.h"
#include "judge/verdict.h"
#include "case/test_case.h"

struct settle_case {
    struct pool *pool; /* NULL: the engine is not run, only its answer is judged */
    int engine;
    const struct test_case *test;
    size_t max_group; /* size of the largest fused group that is searched for, in nodes; 0: 12 */
};

struct settlement {
    enum verdict_kind kind; /* wrong, nan, shape, dtype, imprecise, agrees; or how a run ended (crash ...) */
    size_t count;           /* nodes to blame: 1, or a fused group; 0 when there are none */
    size_t *nodes;          /* numbers in graph->node, ascending */
    bool fused;             /* the nodes are wrong only together */
    bool behind; /* ... and also where the values between them are exposed: node `at` goes wrong, but
                    only behind the others. Otherwise the fault vanishes there. */
    size_t at;   /* with behind: the number of that node */
    struct verdict verdict;  /* on that node or group, with its recorded inputs */
    char text[VERDICT_LINE]; /* one line: "Softmax (node sm3): output y[7] is ..." */
    bool every_node; /* every node is inside its hard bound on the inputs it had, and exposing values changed
                        the answer by no more than the published tolerance */
};
void settlement_release(struct settlement *settlement);

/* Sets the verdict and the nodes to blame, which are copied; there must be none yet. */
void settlement_blame(struct settlement *settlement, const struct verdict *verdict, const size_t *nodes,
                      size_t count);

/* The judgement cannot be relied on. */
void settlement_doubt(struct settlement *settlement);

/* Writes `text` from the other members. */
void settlement_describe(struct settlement *settlement, const struct model *model);

#endif
