/*
 * Whether an engine takes lists, tensors of one dimension, for matrices of one column. It then computes what
 * is right for columns, which for lists is another result, or none.
 *
 * That is proved when columns in the place of the lists get the same answer and it is right for them; when
 * they cannot be computed, and the engine refuses them as it does lists (in a model of one node, in whatever
 * words), but rows not in that way; and when it refuses lists, and of columns, with which the result has the
 * same elements, makes what is right.
 */
#ifndef CAMPAIGN_AS_COLUMNS_H
#define CAMPAIGN_AS_COLUMNS_H

#include "campaign/experiments.h"

bool as_columns(const struct experiments *how, const struct trial_done *done);

#endif
