/* Abs of Abs is Abs. */
#include "rules/rule.h"

static int abs_twice(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    const struct index_value *value = model_index_find(&rewrite->index, site->node->output[0]);
    rewrite_intercept(rewrite, value, &before, &after);
    rewrite_op_to(rewrite, after, "Abs", before, NULL);
    return 1;
}

const struct rule rule_abs_twice = {
    .name = "abs-twice",
    .summary = "Abs applied once against twice",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Abs",
    .apply = abs_twice,
};
