/*
 * One small model of TensorFlow Lite, which is written, loaded, run once and freed: a few tensors and
 * operators. Images are converted to NHWC and back, whatever their rank: a signal [N, C, W] is an image of
 * height 1.
 *
 *     struct net net;
 *     net_init(&net, call);
 *     int x = net_input(&net, tensor), y = net_output(&net, &call->outputs[0]);
 *     net_op(&net, OP_ABS, x, NONE, NONE, y, NULL);
 *     return net_finish(&net);
 *
 * When something cannot be made, net_finish says so, and the calls in between need no checks.
 */
#ifndef TFLITE_NET_H
#define TFLITE_NET_H

#include "flat.h"
#include "walker.h"

enum { NET_TENSORS = 64, NET_OPS = 16, NET_SLOTS = 34, NET_MAX_RANK = 8, NONE = -1 };

/* BuiltinOperator of the schema. */
#define LITE_OPS(F)                     \
    F(ADD, 0)                           \
    F(AVERAGE_POOL_2D, 1)               \
    F(CONCATENATION, 2)                 \
    F(CONV_2D, 3)                       \
    F(DEPTHWISE_CONV_2D, 4)             \
    F(DEPTH_TO_SPACE, 5)                \
    F(DEQUANTIZE, 6)                    \
    F(FLOOR, 8)                         \
    F(FULLY_CONNECTED, 9)               \
    F(LOCAL_RESPONSE_NORMALIZATION, 13) \
    F(LOGISTIC, 14)                     \
    F(MAX_POOL_2D, 17)                  \
    F(MUL, 18)                          \
    F(RELU, 19)                         \
    F(RELU_N1_TO_1, 20)                 \
    F(RELU6, 21)                        \
    F(RESHAPE, 22)                      \
    F(RESIZE_BILINEAR, 23)              \
    F(SOFTMAX, 25)                      \
    F(SPACE_TO_DEPTH, 26)               \
    F(TANH, 28)                         \
    F(GATHER, 36)                       \
    F(TRANSPOSE, 39)                    \
    F(MEAN, 40)                         \
    F(SUB, 41)                          \
    F(DIV, 42)                          \
    F(STRIDED_SLICE, 45)                \
    F(EXP, 47)                          \
    F(TOPK_V2, 48)                      \
    F(LOG_SOFTMAX, 50)                  \
    F(CAST, 53)                         \
    F(PRELU, 54)                        \
    F(MAXIMUM, 55)                      \
    F(ARG_MAX, 56)                      \
    F(MINIMUM, 57)                      \
    F(LESS, 58)                         \
    F(NEG, 59)                          \
    F(PAD, 34)                          \
    F(PADV2, 60)                        \
    F(GREATER, 61)                      \
    F(GREATER_EQUAL, 62)                \
    F(LESS_EQUAL, 63)                   \
    F(SLICE, 65)                        \
    F(SIN, 66)                          \
    F(TRANSPOSE_CONV, 67)               \
    F(TILE, 69)                         \
    F(EQUAL, 71)                        \
    F(NOT_EQUAL, 72)                    \
    F(LOG, 73)                          \
    F(SUM, 74)                          \
    F(SQRT, 75)                         \
    F(POW, 78)                          \
    F(ARG_MIN, 79)                      \
    F(REDUCE_PROD, 81)                  \
    F(REDUCE_MAX, 82)                   \
    F(LOGICAL_OR, 84)                   \
    F(ONE_HOT, 85)                      \
    F(LOGICAL_AND, 86)                  \
    F(LOGICAL_NOT, 87)                  \
    F(REDUCE_MIN, 89)                   \
    F(SQUARE, 92)                       \
    F(FLOOR_MOD, 95)                    \
    F(RESIZE_NEAREST_NEIGHBOR, 97)      \
    F(LEAKY_RELU, 98)                   \
    F(MIRROR_PAD, 100)                  \
    F(ABS, 101)                         \
    F(SPLIT_V, 102)                     \
    F(CEIL, 104)                        \
    F(GATHER_ND, 107)                   \
    F(COS, 108)                         \
    F(ELU, 111)                         \
    F(REVERSE_SEQUENCE, 112)            \
    F(QUANTIZE, 114)                    \
    F(ROUND, 116)                       \
    F(HARD_SWISH, 117)                  \
    F(SELECT_V2, 123)                   \
    F(BATCH_MATMUL, 126)                \
    F(CUMSUM, 128)                      \
    F(BROADCAST_TO, 130)                \
    F(CONV_3D, 132)                     \
    F(GELU, 150)                        \
    F(SIGN, 158)                        \
    F(BITCAST, 159)                     \
    F(BITWISE_XOR, 160)
#define LITE_OP_NUMBER(name, number) OP_##name = number,
enum lite_op { LITE_OPS(LITE_OP_NUMBER) };
#undef LITE_OP_NUMBER

/* The table of an operator's options, as the schema numbers them and their fields. Fields that are left out
 * have the schema's default. */
struct net_options {
    int type;
    size_t count;
    struct flat_field fields[FLAT_MAX_FIELDS];
};

#define NET_OPTIONS(type, ...)    \
    (&(const struct net_options){ \
        (type), sizeof((struct flat_field[]){__VA_ARGS__}) / sizeof(struct flat_field), {__VA_ARGS__}})
uint64_t net_float(float value); /* its bits, for a field */

/* How an integer tensor stands for real numbers: one scale, or one for each index of `axis`. */
struct net_scale {
    size_t count;
    const float *scales;
    const int64_t *zeros;
    int axis;
};

struct net_tensor {
    enum dtype type;
    int rank;
    int64_t dims[NET_MAX_RANK];
    size_t size;
    void *data;            /* a constant's, or what the model gets as this input; NULL: computed */
    bool runtime;          /* an input of the model */
    struct tensor *target; /* an output of the model; NULL: none */
    bool image;            /* the target is an image */
    enum dtype
        stands_for; /* the target's type, when it is another one: its elements are cast, or their bits */
    struct net_scale scale;
    /* A scale of one tensor lies here. */
    float one_scale;
    int64_t one_zero;
};

struct net_op {
    enum lite_op code;
    int version;
    size_t n_inputs, n_outputs;
    int inputs[NET_SLOTS], outputs[NET_SLOTS];
    struct net_options options;
};

struct net;

/* What the translation knows of an engine, whose own struct begins with it: the walker's engine points here.
 */
struct lite {
    bool fixed;       /* QLinearConv and QLinearMatMul are computed */
    dtype_set takes;  /* types of a model's inputs and outputs; 0: any */
    const char *save; /* where models are written; "" for nowhere */
    struct str said;  /* what the library says about a net */
    /* Loads the model that was written, computes it once and gives its outputs to net_take. */
    int (*compute)(const struct net *net, const struct flat *file);
};

struct net {
    struct walk_call *call;
    struct lite *lite;
    const char *refused; /* why it cannot be made; NULL: it can */
    size_t n_tensors, n_ops;
    struct net_tensor *tensors;
    struct net_op *ops;
};

void net_init(struct net *net, struct walk_call *call);

/* The model as a file of TensorFlow Lite: net_write.c. */
void net_write(const struct net *net, struct flat *file);

/* TensorType of the schema; -1: it has no such type. */
int net_type(enum dtype type);

/* Makes inputs and outputs of the types that the library takes: net_ends.c. */
void net_ends(struct net *net);

/* Writes, loads, runs and frees the model, and fills in the outputs. */
int net_finish(struct net *net);

/* For `compute`. What the library refuses before it computes is a limit of its own: the adapter wrote the
 * model. What fails later is unsupported where the library says so, in `said`, and else failed. Return -1. */
int net_refused(const struct net *net, const char *stage);
int net_failed(const struct net *net);

/* The elements of one output, `size` bytes: net_ends.c. */
int net_take(const struct net *net, const struct net_tensor *t, const void *data, size_t size);

/* Frees it and fails as unsupported with this text. Returns -1. */
int net_refuse(struct net *net, const char *why);

/* These make tensors and return their numbers. The _as functions give the elements another shape; image
 * functions convert to and from NHWC. */
int net_input(struct net *net, const struct tensor *tensor);
int net_input_as(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims);
int net_image(struct net *net, const struct tensor *tensor);
int net_output(struct net *net, struct tensor *tensor);
int net_output_as(struct net *net, struct tensor *tensor, int rank, const int64_t *dims);
int net_output_image(struct net *net, struct tensor *tensor);
int net_inner(struct net *net, enum dtype type, int rank, const int64_t *dims);
int net_inner_like(struct net *net, const struct tensor *tensor);

/* Constants. */
int net_const(struct net *net, const struct tensor *tensor);
int net_const_as(struct net *net, enum dtype type, const void *data, int rank, const int64_t *dims);
int net_turned(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims, const int *order);
int net_ints(struct net *net, size_t count, const int64_t *values);  /* int32, of rank 1 */
int net_int(struct net *net, int64_t value);                         /* int32, a scalar */
int net_number(struct net *net, enum dtype type, long double value); /* a scalar */

/* The tensor stands for real numbers by one scale, or by one for each index of an axis; what is pointed to
 * must stay. */
void net_scale(struct net *net, int tensor, float scale, int64_t zero);
void net_scales(struct net *net, int tensor, struct net_scale scale);

/* Appends an operator with up to three inputs (NONE: no more) and one output; options may be NULL. It can be
 * changed until the next call. */
struct net_op *net_op(struct net *net, enum lite_op code, int a, int b, int c, int y,
                      const struct net_options *options);
void net_op_input(struct net *net, struct net_op *op, int tensor);
void net_op_output(struct net *net, struct net_op *op, int tensor);

/* The dims of an image as the library has it, [N, H, W, C] or [N, D, H, W, C]. Returns how many. */
int net_nhwc(const struct shape *nchw, int64_t *dims);

/* The library's image as a tensor in NCHW. */
void net_from_nhwc(const void *data, struct tensor *target);

void net_release(struct net *net);

#endif
