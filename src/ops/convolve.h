/*
 * The computation that Conv, ConvInteger and ConvTranspose share.
 *
 * All three slide a window over an image. Element i of an input axis is at position lead + i * step of the
 * image, and all other positions are zero. Conv pads its input (step 1); ConvTranspose spreads its input by
 * the stride and slides a flipped kernel.
 */
#ifndef OPS_CONVOLVE_H
#define OPS_CONVOLVE_H

#include "bounds/contract.h"
#include "ops/gradient.h"
#include "ops/op.h"

enum { SPATIAL_MAX = TENSOR_MAX_RANK - 2 };

/* The attributes that Conv and ConvTranspose share, with defaults filled in and checked. */
enum auto_pad { PAD_NOTSET, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID };
struct conv_attributes {
    int rank; /* spatial axes */
    int64_t kernel[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX];
    int64_t begin[SPATIAL_MAX], end[SPATIAL_MAX]; /* the attribute pads; 0 unless PAD_NOTSET */
    enum auto_pad auto_pad;
    int64_t groups;
    /* A stride or dilation that ONNX allows is larger than is computed, and was cut: where the window does
     * not fit, the whole one does not either, and anything else must not be claimed. */
    bool cut;
};
int conv_attributes_read(struct op_call *call, const struct shape *x, const struct shape *weights,
                         struct conv_attributes *w);

/* The attributes of Conv, for the rows of those that share them. */
#define CONV_ATTRIBUTES                                                                          \
    {"auto_pad", PARAM_STRING, .legal = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .illegal = "SAME", \
     .initial = "NOTSET"},                                                                       \
        {"dilations", PARAM_INTS, .legal = "1|2", .illegal = "0|-1", .initial = "1"},            \
        {"group", PARAM_INT, .legal = "1|2|4", .illegal = "0|-1|7", .initial = "1"},             \
        {"kernel_shape", PARAM_INTS, .illegal = "0|-1"},                                         \
        {"pads", PARAM_INTS, .legal = "0|1|2", .illegal = "-1", .initial = "0"},                 \
    {                                                                                            \
        "strides", PARAM_INTS, .legal = "1|2|3", .illegal = "0|-1", .initial = "1"               \
    }

/* Gives the spatial dimensions of weights the sizes that kernel_shape names, if the node has it. */
void conv_fit_kernel(const struct op_call *call, struct shape *weights);

/* (kernel - 1) * dilation + 1 */
int64_t conv_extent(const struct conv_attributes *w, int axis);

struct convolution {
    const struct bounded *x, *weights, *bias; /* bias may be NULL */
    struct bounded *out;                      /* [N, M, ...] */
    int rank;
    int64_t lead[SPATIAL_MAX], step[SPATIAL_MAX], size[SPATIAL_MAX]; /* of the image */
    int64_t kernel[SPATIAL_MAX], dilation[SPATIAL_MAX], stride[SPATIAL_MAX];
    size_t groups;
    bool transposed;        /* weights are [C, M/group, ...] and flipped */
    double roundings;       /* terms of one sum */
    bool unbounded, direct; /* as in struct op_call */
};

/*
 * The convolution of Conv: windows over x, which is padded to `size` from `begin` on; and that of
 * ConvTranspose, whose output is cut to `size` from `begin` on. Each is the gradient of the other by its
 * input. `out` and `bias` remain to be set.
 */
struct convolution convolution_plain(const struct conv_attributes *w, const int64_t *begin,
                                     const int64_t *size, const struct bounded *x,
                                     const struct bounded *weights);
struct convolution convolution_transposed(const struct conv_attributes *w, const int64_t *begin,
                                          const int64_t *size, const struct bounded *x,
                                          const struct bounded *weights);

/* Computes every element of c->out, which has its type and shape already. */
int convolve(const struct convolution *c, struct error *err);

/*
 * The derivatives by the weights [R, C/group, ...]: for each tap the sum, over all samples and windows, of
 * what `windows` [N, R, ...] has for a window times the element of c's image under the tap. For Conv, the
 * image is x and `windows` arrives from the output; for ConvTranspose it is the other way round.
 */
int convolve_weights_gradient(const struct convolution *c, const struct bounded *windows,
                              struct bounded *slope, struct error *err);

/* The derivatives by input 2, the bias: sums over all but the channels of what arrives at the output. */
int convolve_bias_gradient(struct op_gradient *g);

#endif
