/*
 * A node changed a little: what most faults are. The original node and inputs stay as they are; the kernel's
 * outputs go where the original call's would.
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
    struct bounded own; /* a changed input */
};

/* Nodes with more inputs than PATCH_INPUTS cannot be patched: false. */
bool patch_init(struct patch *patch, struct op_call *call);
void patch_int(struct patch *patch, const char *name, int64_t value);
void patch_float(struct patch *patch, const char *name, float value);
void patch_string(struct patch *patch, const char *name, const char *value);
void patch_ints(struct patch *patch, const char *name, const int64_t *values, size_t count);
void patch_drop(struct patch *patch, const char *name);

/* A copy of input `index` to change in place, used instead of it. NULL when it cannot be copied. */
struct bounded *patch_input(struct patch *patch, size_t index);

/* Runs the kernel on what was changed, and releases the patch. */
int patch_eval(struct patch *patch);
void patch_release(struct patch *patch);

/* The kernel on an unchanged node with one integer attribute replaced. */
int eval_with_int(struct op_call *call, const char *name, int64_t value);

#endif
