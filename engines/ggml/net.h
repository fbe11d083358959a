/*
 * One node as a graph of ggml: inputs and the builders' tensors live in a context, their elements in a buffer
 * of the processor's backend, which is all ones (NaN) before the inputs are copied in, so that what a kernel
 * does not write shows. ggml counts dims from the last one: ne[0] is ONNX's last.
 */
#ifndef GGML_NET_H
#define GGML_NET_H

#include "library.h"
#include "walker.h"

enum { NET_MAX_INPUTS = 32, NET_MAX_TENSORS = 256, NET_MAX_CHECKS = 4, NET_RANK = 4 };

struct net {
    struct walk_call *call;
    const struct library *library;
    const struct api *api;
    struct ggml_context *context;
    struct ggml_cgraph *graph;
    struct ggml_backend_buffer *buffer;
    size_t n_inputs, n_checks;
    struct net_input {
        struct ggml_tensor *tensor;
        const void *data;
        void *owned; /* `data`, where it was converted */
    } inputs[NET_MAX_INPUTS];
    struct net_check {
        struct ggml_tensor *values, *rounded;
    } checks[NET_MAX_CHECKS];
};

/* Fails, as all here do, with the error of the call set: for tensors that are empty, for one. */
int net_init(struct net *net, struct walk_call *call);
int net_init_of(struct net *net, struct walk_call *call, size_t n_inputs); /* only these may not be empty */
void net_release(struct net *net); /* after net_init, when nothing is run */

/* An input: with its own dims; with others, of ONNX's order, of as many elements. int64 becomes int32. NULL
 * where there are too many dims or inputs. */
struct ggml_tensor *net_input(struct net *net, const struct tensor *tensor);
struct ggml_tensor *net_input_as(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims);
/* An input that the adapter computed, whose heap memory it takes over. */
struct ggml_tensor *net_computed(struct net *net, int type, void *data, int rank, const int64_t *dims);
/* A tensor without elements, for builders that want a shape. */
struct ggml_tensor *net_shape(struct net *net, const struct shape *shape);

/* Rounds rows of so many elements to another type and back when the graph runs: the run is unsupported when
 * that changes an element. */
int net_check(struct net *net, struct ggml_tensor *values, int type, int64_t row);

/*
 * `count` axes from `first` on as rows, for builders that work on rows: ne is {their elements, what is behind
 * them, what is before them}. net_columns turns such a tensor's first two dims back.
 */
struct net_rows {
    int64_t outer, count, inner;
};
struct net_rows net_rows_of(const struct tensor *tensor, int first, int count);
struct ggml_tensor *net_rows(struct net *net, const struct tensor *tensor, const struct net_rows *rows);
struct ggml_tensor *net_columns(struct net *net, struct ggml_tensor *rows);

/* t as large as the output, by ggml_repeat, unless it is already. */
struct ggml_tensor *net_repeat(struct net *net, struct ggml_tensor *t, const struct shape *from,
                               const struct shape *to);

/* Runs the graph that ends in t (and, before that, in others); net_give copies what it computed to an output.
 */
int net_run(struct net *net, struct ggml_tensor *const *ends, size_t count);
int net_give(struct net *net, const struct ggml_tensor *t, struct tensor *output);

/* All of it for one output: runs, gives, releases. */
int net_finish(struct net *net, struct ggml_tensor *t);
/* Releases, and is unsupported. */
int net_refuse(struct net *net, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
