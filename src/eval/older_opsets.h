/*
 * Nodes of opsets before OP_OLDEST, whose operators took as attributes what later ones take as inputs (Clip,
 * Pad, Slice, TopK). The kernels know the later form alone; here the attributes become inputs. Operators
 * whose meaning changed are refused as unsupported, among them all that broadcast otherwise before opset 7.
 */
#ifndef EVAL_OLDER_OPSETS_H
#define EVAL_OLDER_OPSETS_H

#include "ops/op.h"

enum { OLDER_INPUTS = 1 + OP_FORMER };

struct older {
    struct bounded made[OLDER_INPUTS];
    const struct bounded *inputs[OLDER_INPUTS];
};

/* Points call->inputs to the later form where there is one to make. Released after the call in any case. */
int older_adapt(struct older *older, struct op_call *call);
void older_release(struct older *older);

#endif
