/*
 * Runs a kernel on a changed copy of a node, which is how most faults work. The original node and its inputs
 * stay as they are; the outputs go where those of the original call would.
 */
#ifndef REFERENCE_PATCH_H
#define REFERENCE_PATCH_H

#include "ops/op.h"

enum { PATCH_INPUTS = 64 };

struct patch {
    struct arena arena;
    Onnx__NodeProto node;
    struct op_call call;
    const struct bounded *inputs[PATCH_INPUTS];
    struct bounded own; /* the changed input, when there is one */
};

/* Starts a patch of the call's node. False when the node has more than PATCH_INPUTS inputs. */
bool patch_init(struct patch *patch, struct op_call *call);
/* These set an attribute of the changed node; patch_drop removes one. */
void patch_int(struct patch *patch, const char *name, int64_t value);
void patch_float(struct patch *patch, const char *name, float value);
void patch_string(struct patch *patch, const char *name, const char *value);
void patch_ints(struct patch *patch, const char *name, const int64_t *values, size_t count);
void patch_drop(struct patch *patch, const char *name);

/* A copy of input `index`, to be changed in place; it replaces the input. NULL when it cannot be copied. */
struct bounded *patch_input(struct patch *patch, size_t index);

/* Runs the kernel on the changed node and inputs, and releases the patch. */
int patch_eval(struct patch *patch);
void patch_release(struct patch *patch);

/* Runs the kernel with one attribute replaced. */
int eval_with_int(struct op_call *call, const char *name, int64_t value);
int eval_with_float(struct op_call *call, const char *name, float value);
int eval_with_string(struct op_call *call, const char *name, const char *value);

/* Runs the kernel with the elements of one input changed by `change`, where it is given. */
int eval_with_input(struct op_call *call, size_t index,
                    void (*change)(const struct op_call *call, struct bounded *input));

/* A change: every element becomes 0. */
void zero_input(const struct op_call *call, struct bounded *input);

/* Runs the kernel without an optional input. */
int eval_without_input(struct op_call *call, size_t index);

/* Runs the kernel: the first output once it has been computed; NULL when it was not, or only its shape. */
struct bounded *eval_computed(struct op_call *call, int *result);

#endif
