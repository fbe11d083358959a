/* The cause of what a comparison found: which parameter makes an engine fail (locate/cause.h). */
#ifndef COMPARE_COMPARE_CAUSE_H
#define COMPARE_COMPARE_CAUSE_H

#include "compare/compare.h"

/* Fills in `cause` of the engines whose verdict is a finding with a node to blame, where the cause is
 * certain. Looks for a few seconds each, and not in models of thousands of nodes. */
void compare_causes(struct compare *compare, const struct model *model, const struct inputs *inputs,
                    const struct panel *panel);

#endif
