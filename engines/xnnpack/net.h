/*
 * One small XNNPACK subgraph: defined, run once, freed. Values are float32. Inputs are copied into memory
 * with the XNN_EXTRA_BYTES that kernels may read behind it; images go in and out as NHWC, whatever their
 * rank: a signal [N, C, W] is an image of height 1.
 *
 *     struct net net;
 *     if (net_init(&net, call))
 *         return -1;
 *     uint32_t x = net_input(&net, tensor), y = net_output(&net, &call->outputs[0]);
 *     return net_finish(&net, xnn_define_abs(net.graph, x, y, 0));
 *
 * A value that cannot be made has the id XNN_INVALID_VALUE_ID and net_finish fails; so nothing in between
 * needs a check.
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
    /* The output: its memory here, and how it becomes the tensor. */
    float *result;
    struct tensor *target;
    bool image;
};

int net_init(struct net *net, struct walk_call *call);

/* Runs and frees it; `defined` is what the last xnn_define_ call said. */
int net_finish(struct net *net, enum xnn_status defined);

/* Frees it and says that the combination is unsupported; returns -1. */
int net_refuse(struct net *net, const char *why);

/* A scalar counts as rank 1. net_input_as sees the elements in another shape. */
uint32_t net_input(struct net *net, const struct tensor *tensor);
uint32_t net_input_as(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims);
uint32_t net_image(struct net *net, const struct tensor *tensor);
uint32_t net_output(struct net *net, struct tensor *tensor);
uint32_t net_output_as(struct net *net, struct tensor *tensor, int rank, const int64_t *dims);
uint32_t net_output_image(struct net *net, struct tensor *tensor);
uint32_t net_inner(struct net *net, int rank, const int64_t *dims); /* between two operators */

/* Static values: copied elements, or memory for the caller to fill in. */
uint32_t net_static(struct net *net, const struct tensor *tensor);
uint32_t net_number(struct net *net, float value);
uint32_t net_weights(struct net *net, int rank, const int64_t *dims, float **data);

/* Elements of a dense array with its dims in another order. */
void net_permute(const float *from, float *to, int rank, const int64_t *dims, const int *order);

#endif
