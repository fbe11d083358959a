/*
 * One small XNNPACK subgraph, which is defined, run once and freed. Values are float32. Inputs are copied
 * into memory that has the XNN_EXTRA_BYTES which kernels may read beyond the end. Images are converted to
 * NHWC and back, whatever their rank: a signal [N, C, W] is an image of height 1.
 *
 *     struct net net;
 *     if (net_init(&net, call))
 *         return -1;
 *     uint32_t x = net_input(&net, tensor), y = net_output(&net, &call->outputs[0]);
 *     return net_finish(&net, NET_DEFINE(&net, xnn_define_abs)(net.graph, x, y, 0));
 *
 * When a value cannot be made, its id is XNN_INVALID_VALUE_ID and net_finish fails, so the calls in between
 * need no checks.
 */
#ifndef XNNPACK_NET_H
#define XNNPACK_NET_H

#include "walker.h"

#include <xnnpack.h>

enum { NET_MAX_VALUES = 32 };

struct net {
    struct walk_call *call;
    xnn_subgraph_t graph;
    size_t n_buffers, n_external;
    float *buffers[NET_MAX_VALUES];
    struct xnn_external_value external[NET_MAX_VALUES];
    bool failed; /* a value could not be made */
    size_t n_defined;
    const char *defined[NET_MAX_VALUES]; /* the library's functions that defined its operators */
    /* The output: its memory in the library's layout, the tensor to fill in, and whether it is an image. */
    float *result;
    struct tensor *target;
    bool image;
};

int net_init(struct net *net, struct walk_call *call);

/* The library's function, whose name is noted for a trace. */
#define NET_DEFINE(net, function) (net_note(net, #function), function)
void net_note(struct net *net, const char *function);

/* Runs and frees the subgraph; `defined` is what the last xnn_define_ call returned. */
int net_finish(struct net *net, enum xnn_status defined);

/* Frees the subgraph and fails as unsupported with this text. Returns -1. */
int net_refuse(struct net *net, const char *why);

/* These define values of the subgraph and return their ids. A scalar becomes a tensor of rank 1. The _as
 * functions give the elements another shape; the image functions convert to or from NHWC. */
uint32_t net_input(struct net *net, const struct tensor *tensor);
uint32_t net_input_as(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims);
uint32_t net_image(struct net *net, const struct tensor *tensor);
uint32_t net_output(struct net *net, struct tensor *tensor);
uint32_t net_output_as(struct net *net, struct tensor *tensor, int rank, const int64_t *dims);
uint32_t net_output_image(struct net *net, struct tensor *tensor);
uint32_t net_inner(struct net *net, int rank, const int64_t *dims); /* a value between two operators */

/* Static values: net_static and net_number copy elements, net_weights gives memory for the caller to fill in.
 */
uint32_t net_static(struct net *net, const struct tensor *tensor);
uint32_t net_number(struct net *net, float value);
uint32_t net_weights(struct net *net, int rank, const int64_t *dims, float **data);

/* Copies the elements of a dense array with its dimensions in another order. */
void net_permute(const float *from, float *to, int rank, const int64_t *dims, const int *order);

#endif
