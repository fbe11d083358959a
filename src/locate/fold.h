/*
 * What an engine that fuses nodes may do to a sum: (x + b) * w becomes x * w + b * w, as a normalisation is
 * folded into a convolution. The rounding of the parts is then as large as they are, where they cancel, too.
 */
#ifndef LOCATE_FOLD_H
#define LOCATE_FOLD_H

#include "model/model.h"
#include "ops/op.h"

/*
 * A hook of the evaluator, its context the model (const struct model *): the kernel, and where it is an Add
 * or a Sub that a Mul or a Div reads, bounds that allow for it.
 */
int fold_hook(void *context, struct op_call *call);

#endif
