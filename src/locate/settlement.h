/*
 * What settling is asked and what it answers: a case on an engine in, a verdict and the nodes to blame out.
 */
#ifndef LOCATE_SETTLEMENT_H
#define LOCATE_SETTLEMENT_H

#include "engine/pool.h"
#include "judge/verdict.h"
#include "case/test_case.h"

struct settle_case {
    struct pool *pool;
    int engine;
    const struct test_case *test;
    size_t max_group; /* nodes of the largest fused group looked for; 0: 12 */
};

struct settlement {
    enum verdict_kind
        kind;      /* wrong, nan, shape, dtype, imprecise, agrees; or what ended an attempt (crash ...) */
    size_t count;  /* nodes to blame: 1, or a fused group; 0 when nobody is */
    size_t *nodes; /* numbers in graph->node, ascending */
    bool fused;    /* vanishes when the values between are exposed */
    struct verdict verdict; /* of that node or group on its recorded inputs */
    char text[320];         /* one line: "Softmax (node sm3): output y[7] is ..." */
    bool every_node; /* each is inside its hard bound on the inputs it had, and showing them changed nothing,
                        or no more than the published tolerance */
};
void settlement_release(struct settlement *settlement);

/* Sets the verdict and the nodes to blame, which are copied; there must be none yet. */
void settlement_blame(struct settlement *settlement, const struct verdict *verdict, const size_t *nodes,
                      size_t count);

/* Writes the line of text from the rest. */
void settlement_describe(struct settlement *settlement, const struct model *model);

#endif
