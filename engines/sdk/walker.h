/*
 * The graph walker: makes an engine of a library that has operators only.
 *
 * Such an adapter is a table, one row an ONNX operator, and one call of walker_main. The walker parses the
 * model, follows its order, calls the row of each node and drops values after their last use. Output types
 * and shapes come from the operator table's own shape rule, which also rejects invalid nodes; a row computes
 * nothing but elements.
 *
 * Operators that only rename or reshape data, or make constants (walker.c lists them), are done by the walker
 * itself unless a row claims them for the type. A model with any other operator is unsupported; with knob
 * borrow=on such operators are computed by the reference instead, and named in Loaded.borrowed.
 */
#ifndef SDK_WALKER_H
#define SDK_WALKER_H

#include "adapter.h"
#include "base/error.h"
#include "model/build.h"
#include "tensor/tensor.h"

struct walk_row;

/* One node to compute. */
struct walk_call {
    void *engine; /* what start made */
    const struct walk_row *row;
    const Onnx__NodeProto *node;
    int opset;
    size_t n_inputs;
    const struct tensor *const *inputs; /* NULL: omitted */
    size_t n_outputs;
    struct tensor *outputs; /* of the right type and shape; what a row leaves unwritten stays NaN or 0xA5 */
    struct error *err;
};

/* Fails with ERROR_UNSUPPORTED, the operator's name before the text; returns -1. */
int walk_unsupported(struct walk_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

const struct tensor *walk_input(const struct walk_call *call, size_t index); /* NULL when omitted */

/* Whether the node has an output of this number that somebody may read. */
bool walk_wants(const struct walk_call *call, size_t index);

/* An attribute that is a text, compared; `otherwise` counts when it is absent. */
bool walk_text_is(const struct walk_call *call, const char *name, const char *otherwise, const char *text);

/* Brings an axis into [0, rank); the shape rule has checked its range. */
int walk_axis(int64_t axis, int rank);

/*
 * The window of a convolution or pooling, from the attributes and the shapes of input and output 0. `kernel`
 * is the weights' shape, NULL for pooling. before and after are the padding that ONNX means; `beyond` is how
 * far the last window reaches out of it (ceil_mode).
 */
struct walk_window {
    int rank; /* of the spatial dims */
    int64_t kernel[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], dilation[TENSOR_MAX_RANK];
    int64_t before[TENSOR_MAX_RANK], after[TENSOR_MAX_RANK], beyond[TENSOR_MAX_RANK];
};
struct walk_window walk_window(const struct walk_call *call, const struct shape *kernel);

/* The same for ConvTranspose: before and after are what is cut off; after is negative where output_padding
 * adds. */
struct walk_window walk_window_transposed(const struct walk_call *call, const struct shape *kernel);

struct walk_row {
    const char *name; /* ONNX operator; NULL ends the table */
    /* 0, or -1 with call->err set. ERROR_UNSUPPORTED (walk_unsupported) and ERROR_INVALID become their own
     * classes, everything else means that the library failed. */
    int (*run)(struct walk_call *call);
    /* Of input 0, as are the ranks. The others may have any type that ONNX allows beside it, and every tensor
     * may be empty: what the library is not made for is the row's to call unsupported. */
    dtype_set types;
    int min_rank, max_rank;
    int kind; /* for the row's function: usually the library's own number */
};

struct walk_library {
    const char *name;
    const struct walk_row *rows;
    const struct adapter_knob *knobs; /* ends with a NULL name, may be NULL; the walker adds borrow */
    int (*start)(struct adapter_call *call, void **engine, struct str *version);
    void (*stop)(void *engine);
};

int walker_main(const struct walk_library *library, int argc, char **argv);

#endif
