/*
 * A model made whole again after the parameters of some nodes were changed.
 *
 * The shapes of all values are inferred again. Where a node no longer takes what it gets, its weights are cut
 * or tiled until it does: which of their sizes have to change, and to what, is found by asking the node's own
 * shape rule (eval/evaluate.h) about sizes that changed in proportion to its inputs or attributes. Constant
 * lists of numbers (the target of a Reshape) are changed in the same way. Nothing is known of operators here.
 */
#ifndef SEARCH_REFIT_H
#define SEARCH_REFIT_H

#include "rules/rewrite.h"

/* Values of more elements than this in all are refused: a variant should run as fast as its seed. */
#define REFIT_ELEMENTS ((size_t)1 << 25)

/* Brings index and types of a working copy up to date; they must have been set up before. */
int refit_refresh(struct rewrite *work, struct error *err);

/* Forgets what the model declares of values that nodes make: it holds no longer. Outputs keep their types and
 * ranks: there are engines that refuse an output without a shape. */
void refit_forget_shapes(struct model *model);

/*
 * Makes the changed copy `work` of `origin` fit; nodes must have the same numbers in both. `before` are the
 * types of the original. `restored`, unless NULL, says of each node whether what it makes is cut, padded or
 * reshaped to the shape that it had, so that nothing behind the node has to change.
 *
 * Afterwards index and types are those of the result, and its outputs are declared as they are. *complete:
 * the shape of every value is known, so no data decides whether the model is valid. Fails with
 * ERROR_NOT_FOUND when a node cannot be made to fit, which does not mean that the change is illegal.
 */
int refit(struct rewrite *work, const struct model *origin, const struct value_types *before,
          const bool *restored, bool *complete, struct error *err);

#endif
