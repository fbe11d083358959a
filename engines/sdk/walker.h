/*
 * The graph walker: makes an engine from a library that has only single operators.
 *
 * Such an adapter is a table with one row for each ONNX operator, and one call of walker_main. The walker
 * parses the model, calls the row of each node in topological order and frees values after their last use.
 * Output types and shapes come from the shape rules in src/ops, which also reject invalid nodes; a row only
 * computes elements.
 *
 * Operators that only rename or reshape data, or make constants (walker.c lists them), are computed by the
 * walker itself unless the table has a row for them with that type. A model with any other operator is
 * unsupported; with the knob borrow=on the reference computes such operators instead, and they are listed in
 * Loaded.borrowed.
 *
 * Traces: a row tells the kernels that the library uses by adapter_trace_kernel(call->adapter, ...); of a row
 * that tells none the operator's name is told. What the walker or the reference computes has that as device.
 *
 * Gradients: the walker goes backwards by the chain rule, with the slopes that rows give for single nodes. A
 * node on the way whose row has no gradient, or that is borrowed, makes the gradient unsupported.
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
    void *engine;                 /* what `start` of the library returned */
    struct adapter_call *adapter; /* for adapter_trace_kernel, to which the walker adds the node's outputs */
    const struct walk_row *row;
    const Onnx__NodeProto *node;
    int opset;
    size_t n_inputs;
    const struct tensor *const *inputs; /* NULL entries are omitted inputs */
    size_t n_outputs;
    struct tensor *outputs; /* allocated with the right type and shape; elements that a row does not write
                               stay NaN or 0xA5 */
    struct error *err;
};

/* Fails with ERROR_UNSUPPORTED and a message that is the operator's name and the text. Returns -1. */
int walk_unsupported(struct walk_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

const struct tensor *walk_input(const struct walk_call *call, size_t index); /* NULL when omitted */

/* Whether the node has an output with this number that is not omitted. */
bool walk_wants(const struct walk_call *call, size_t index);

/* Whether a string attribute equals `text`; `otherwise` is its value when it is absent. */
bool walk_text_is(const struct walk_call *call, const char *name, const char *otherwise, const char *text);

/* Brings an axis into [0, rank); the shape rule has checked its range. */
int walk_axis(int64_t axis, int rank);

/* The number of axes in the second input or, when there is none, in the attribute "axes". */
size_t walk_axes(const struct walk_call *call, const int64_t **axes);

/*
 * The window of a convolution or pooling, from the attributes and the shapes of input and output 0. `kernel`
 * is the shape of the weights, NULL for pooling. before and after are the padding as ONNX defines it;
 * `beyond` is how far the last window reaches beyond the padding (ceil_mode).
 */
struct walk_window {
    int rank; /* of the spatial dims */
    int64_t kernel[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], dilation[TENSOR_MAX_RANK];
    int64_t before[TENSOR_MAX_RANK], after[TENSOR_MAX_RANK], beyond[TENSOR_MAX_RANK];
};
struct walk_window walk_window(const struct walk_call *call, const struct shape *kernel);

/* The same for ConvTranspose: before and after are what is cut off the output; after is negative where
 * output_padding adds to it. */
struct walk_window walk_window_transposed(const struct walk_call *call, const struct shape *kernel);

/* Copies the elements, each of `size` bytes, of a dense array with its dimensions in another order: dimension
 * i of the copy is dimension order[i]. */
void walk_permute(const void *from, void *to, size_t size, int rank, const int64_t *dims, const int *order);

/* Whether a Resize, from opset 11 on, is one of height and width of an image by the ratio of sizes, and uses
 * no later attribute: a scale that is not exactly that ratio has no counterpart in libraries that take sizes.
 */
bool walk_resizes_plane(const struct walk_call *call);

/* The shape of a Softmax's input as a matrix [rows, columns], columns being what is summed over. False when
 * that is not the end of the shape: from opset 13 on, an axis other than the last. */
bool walk_softmax_matrix(const struct walk_call *call, int64_t dims[2]);

/* The gradient of one node, from the derivatives of some scalar by its first output. */
struct walk_gradient {
    struct walk_call *call;        /* computed: its outputs have their values, and are only read */
    const struct tensor *upstream; /* the derivatives by output 0, in its type and shape */
    const bool *wanted;            /* for each input, whether the derivatives by it are asked for */
    struct tensor *slopes; /* for each wanted input, allocated in its type and shape; the row writes them */
};

struct walk_row {
    const char *name; /* ONNX operator; NULL ends the table */
    /* Computes the node. Returns 0, or -1 with call->err set. ERROR_UNSUPPORTED (walk_unsupported) is
     * reported as unsupported, ERROR_INVALID as rejected, any other error as failed. */
    int (*run)(struct walk_call *call);
    /* Types and ranks of input 0 that the row takes. The other inputs may have any type that ONNX allows
     * beside it, and every tensor may be empty; the row must call unsupported what the library cannot do. */
    dtype_set types;
    int min_rank, max_rank;
    int kind; /* an argument for `run`, usually the library's own constant for the operation */
    /* Writes the slopes that are wanted. Fails as `run` does. NULL: the library has no gradient of it. */
    int (*gradient)(struct walk_gradient *gradient);
};

struct walk_library {
    const char *name;
    const struct walk_row *rows;
    /* Ends with a NULL name; may be NULL; the walker adds the knob borrow. */
    const struct adapter_knob *knobs;
    int (*start)(struct adapter_call *call, void **engine, struct str *version);
    void (*stop)(void *engine);
};

int walker_main(const struct walk_library *library, int argc, char **argv);

#endif
