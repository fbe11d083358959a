/*
 * Nodes of opsets before OP_OLDEST, where some operators (Clip, Pad, Slice, TopK) had attributes that are
 * inputs today. The kernels know only the later form; here the attributes become inputs. Operators whose
 * meaning has changed are refused as unsupported, among them all that had another rule for broadcasting
 * before opset 7.
 */
#ifndef EVAL_OLDER_OPSETS_H
#define EVAL_OLDER_OPSETS_H

#include "ops/op.h"

enum { OLDER_INPUTS = 1 + OP_FORMER };

/* The inputs of the later form, and those among them that were made from attributes. */
struct older {
    struct bounded made[OLDER_INPUTS];
    const struct bounded *inputs[OLDER_INPUTS];
};

/* Sets call->inputs to the later form where the node has the earlier one. Call older_release after the call
 * in any case. */
int older_adapt(struct older *older, struct op_call *call);
void older_release(struct older *older);

#endif
