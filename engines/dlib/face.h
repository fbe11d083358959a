/*
 * dlib's tensor operators (C++, float32, four dimensions) as one C function.
 *
 * Debian's dlib is built without assertions: a call that breaks an operator's documented conditions reads
 * memory that it should not. So the caller must check them all. Exceptions of dlib are returned as a message.
 */
#ifndef DLIB_FACE_H
#define DLIB_FACE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Which function of dlib::tt to call. The comments list its inputs and what it reads from `numbers` and
 * `window`. */
enum face_op {
    FACE_RELU,
    FACE_SIGMOID,
    FACE_TANH,
    FACE_EXP,
    FACE_LOG,
    FACE_MISH,
    FACE_LEAKY_RELU,     /* numbers: alpha */
    FACE_ELU,            /* numbers: alpha */
    FACE_CLIPPED_RELU,   /* numbers: ceiling */
    FACE_PRELU,          /* source, slope (one element) */
    FACE_AFFINE,         /* numbers: a, b; a * source + b */
    FACE_BLEND,          /* two sources of one shape; numbers: a, b; a * first + b * second */
    FACE_ADD_TO,         /* what to add, repeated to the output's shape; numbers: its factor. Adds to out */
    FACE_MULTIPLY,       /* two sources of one shape but for the second's n, which may be 1 */
    FACE_MULTIPLY_CONV,  /* source, one factor for each k; or two of one shape, summed into each k */
    FACE_SCALE_CHANNELS, /* source, one factor for each n and k */
    FACE_SOFTMAX,        /* along k */
    FACE_GEMM,           /* left, right, each n by the rest; numbers: alpha, beta; window: transposes. Adds */
    FACE_CONV,           /* data, filters, perhaps biases [1,k]; window: strides, paddings */
    FACE_CONV_TRANSPOSED, /* data, filters; window: strides, paddings */
    FACE_MAX_POOL,        /* window: size, strides, paddings */
    FACE_AVERAGE_POOL,    /* window: size, strides, paddings */
    FACE_BATCH_NORMALIZE, /* source, gamma, beta, means, variances [1,k]; numbers: epsilon */
    FACE_REORG,           /* window: block */
    FACE_REORG_BACK,      /* window: block */
    /* Gradients, from the derivatives by the result to those by the source. The order of inputs is:
     * derivatives, then what is named. */
    FACE_RELU_GRADIENT,         /* result */
    FACE_SIGMOID_GRADIENT,      /* result */
    FACE_TANH_GRADIENT,         /* result */
    FACE_MISH_GRADIENT,         /* source */
    FACE_LEAKY_RELU_GRADIENT,   /* result; numbers: alpha */
    FACE_ELU_GRADIENT,          /* result; numbers: alpha */
    FACE_CLIPPED_RELU_GRADIENT, /* result; numbers: ceiling */
    FACE_PRELU_GRADIENT,        /* source, slope */
    FACE_PRELU_SLOPE_GRADIENT,  /* source, slope; the derivative by the slope */
    FACE_SOFTMAX_GRADIENT,      /* result */
    FACE_BIAS_GRADIENT,         /* the derivatives by what was added to each k */
    FACE_CONV_FILTERS_GRADIENT, /* data; by the filters; window: strides, paddings */
    FACE_MAX_POOL_GRADIENT,     /* result, source; window: size, strides, paddings */
    FACE_AVERAGE_POOL_GRADIENT, /* result, source; window: size, strides, paddings */
};

struct face_array {
    float *data;
    long long n, k, nr, nc;
};

enum { FACE_INPUTS = 5, FACE_MESSAGE = 300 };

struct face_call {
    enum face_op op;
    int n_inputs;
    struct face_array inputs[FACE_INPUTS]; /* only read */
    struct face_array out;
    float numbers[2];
    int window[6];
    char message[FACE_MESSAGE]; /* when it failed */
};

int face_run(struct face_call *call); /* 0, or -1 with a message */
const char *face_version(void);

#ifdef __cplusplus
}
#endif
#endif
