/* Cases that a rule can rewrite, for the benches about rules. */
#ifndef BENCH_RULE_CASES_H
#define BENCH_RULE_CASES_H

#include "ops/draw.h"
#include "rules/rewriting.h"

struct rule_case_options {
    const struct rule *rule;
    const char *operators; /* "Conv|MaxPool", operators that the cases should have; "any" or NULL: all */
    int fill;              /* FILL_... + 1; 0: any */
    dtype_set types;       /* of primary inputs; 0: all */
    uint64_t seed;
    /* The settings of the engine that the rule about settings is applied to. */
    size_t n_knobs;
    const char *const *knobs;
};

/*
 * Draws a case and rewrites it at a site where the rule applies. By turns the case has one operator of
 * `operators`, one of the rule's own, a small graph of both, or the first with its inputs as weights; now and
 * then it is one of the small models made by hand. Returns 1 with *rewritten; 0 when nothing applied; -1 when
 * something failed.
 */
int rule_case_draw(const struct rule_case_options *options, uint64_t index, struct test_case **rewritten,
                   struct error *err);

#endif
