/*
 * The part of ggml's C interface that the adapter calls, declared here because the packages have no headers.
 * All of it is the same in every release from llama.cpp b3889 to v0.5.0, or is missing in the older ones;
 * structures of the library are never looked into. Functions are found by name when the library is opened.
 */
#ifndef GGML_API_H
#define GGML_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggml_tensor;
struct ggml_context;
struct ggml_cgraph;
struct ggml_backend;
struct ggml_backend_buffer;

struct ggml_init_params {
    size_t mem_size;
    void *mem_buffer;
    bool no_alloc;
};

/* Numbers of element types, which also stand in files and therefore stay; library_open asks for their names.
 */
enum {
    TYPE_F32 = 0,
    TYPE_F16 = 1,
    TYPE_Q4_0 = 2,
    TYPE_Q5_0 = 6,
    TYPE_Q8_0 = 8,
    TYPE_I32 = 26,
    TYPE_BF16 = 30
};
enum { POOL_MAX = 0, POOL_AVERAGE = 1 };
enum { SORT_ASCENDING = 0, SORT_DESCENDING = 1 };
enum { TRI_UPPER_DIAG = 0, TRI_UPPER = 1, TRI_LOWER_DIAG = 2, TRI_LOWER = 3 };
enum { SCALE_NEAREST = 0, SCALE_BILINEAR = 1, SCALE_BICUBIC = 2, SCALE_ALIGN_CORNERS = 256 };

/* Builders of one operand and of two: api.c has their names in this order. */
enum unary {
    UNARY_ABS,
    UNARY_CEIL,
    UNARY_COS,
    UNARY_ELU,
    UNARY_EXP,
    UNARY_FLOOR,
    UNARY_GELU,
    UNARY_GELU_ERF,
    UNARY_HARDSIGMOID,
    UNARY_HARDSWISH,
    UNARY_LOG,
    UNARY_NEG,
    UNARY_RELU,
    UNARY_SGN,
    UNARY_SIGMOID,
    UNARY_SILU,
    UNARY_SIN,
    UNARY_SOFTPLUS,
    UNARY_SQR,
    UNARY_SQRT,
    UNARY_TANH,
    UNARIES
};
enum binary { BINARY_ADD, BINARY_DIV, BINARY_MUL, BINARY_SUB, BINARIES };

/* F(name without ggml_, result, parameters) */
#define API_NEEDED(F)                                                                            \
    F(init, CONTEXT, (struct ggml_init_params))                                                  \
    F(free, void, (CONTEXT))                                                                     \
    F(type_name, const char *, (int))                                                            \
    F(tensor_overhead, size_t, (void))                                                           \
    F(graph_overhead_custom, size_t, (size_t, bool))                                             \
    F(new_graph_custom, struct ggml_cgraph *, (CONTEXT, size_t, bool))                           \
    F(build_forward_expand, void, (struct ggml_cgraph *, TENSOR))                                \
    F(graph_n_nodes, int, (struct ggml_cgraph *))                                                \
    F(graph_node, TENSOR, (struct ggml_cgraph *, int))                                           \
    F(op_desc, const char *, (const struct ggml_tensor *))                                       \
    F(nbytes, size_t, (const struct ggml_tensor *))                                              \
    F(backend_cpu_init, struct ggml_backend *, (void))                                           \
    F(backend_cpu_set_n_threads, void, (struct ggml_backend *, int))                             \
    F(backend_free, void, (struct ggml_backend *))                                               \
    F(backend_supports_op, bool, (struct ggml_backend *, const struct ggml_tensor *))            \
    F(backend_alloc_ctx_tensors, struct ggml_backend_buffer *, (CONTEXT, struct ggml_backend *)) \
    F(backend_buffer_clear, void, (struct ggml_backend_buffer *, uint8_t))                       \
    F(backend_buffer_free, void, (struct ggml_backend_buffer *))                                 \
    F(backend_tensor_set, void, (TENSOR, const void *, size_t, size_t))                          \
    F(backend_tensor_get, void, (const struct ggml_tensor *, void *, size_t, size_t))            \
    F(backend_graph_compute, int, (struct ggml_backend *, struct ggml_cgraph *))                 \
    F(new_tensor, TENSOR, (CONTEXT, int, int, const int64_t *))                                  \
    F(cast, TENSOR, (CONTEXT, TENSOR, int))                                                      \
    F(cont, TENSOR, (CONTEXT, TENSOR))                                                           \
    F(permute, TENSOR, (CONTEXT, TENSOR, int, int, int, int))                                    \
    F(repeat, TENSOR, (CONTEXT, TENSOR, TENSOR))                                                 \
    F(reshape_2d, TENSOR, (CONTEXT, TENSOR, int64_t, int64_t))                                   \
    F(reshape_3d, TENSOR, (CONTEXT, TENSOR, int64_t, int64_t, int64_t))                          \
    F(reshape_4d, TENSOR, (CONTEXT, TENSOR, int64_t, int64_t, int64_t, int64_t))                 \
    F(view_4d, TENSOR,                                                                           \
      (CONTEXT, TENSOR, int64_t, int64_t, int64_t, int64_t, size_t, size_t, size_t, size_t))     \
    F(argmax, TENSOR, (CONTEXT, TENSOR))                                                         \
    F(argsort, TENSOR, (CONTEXT, TENSOR, int))                                                   \
    F(clamp, TENSOR, (CONTEXT, TENSOR, float, float))                                            \
    F(concat, TENSOR, (CONTEXT, TENSOR, TENSOR, int))                                            \
    F(conv_2d, TENSOR, (CONTEXT, TENSOR, TENSOR, int, int, int, int, int, int))                  \
    F(conv_transpose_1d, TENSOR, (CONTEXT, TENSOR, TENSOR, int, int, int))                       \
    F(conv_transpose_2d_p0, TENSOR, (CONTEXT, TENSOR, TENSOR, int))                              \
    F(diag_mask_zero, TENSOR, (CONTEXT, TENSOR, int))                                            \
    F(flash_attn_ext, TENSOR, (CONTEXT, TENSOR, TENSOR, TENSOR, TENSOR, float, float, float))    \
    F(get_rows, TENSOR, (CONTEXT, TENSOR, TENSOR))                                               \
    F(group_norm, TENSOR, (CONTEXT, TENSOR, int, float))                                         \
    F(im2col, TENSOR, (CONTEXT, TENSOR, TENSOR, int, int, int, int, int, int, bool, int))        \
    F(leaky_relu, TENSOR, (CONTEXT, TENSOR, float, bool))                                        \
    F(mean, TENSOR, (CONTEXT, TENSOR))                                                           \
    F(mul_mat, TENSOR, (CONTEXT, TENSOR, TENSOR))                                                \
    F(norm, TENSOR, (CONTEXT, TENSOR, float))                                                    \
    F(pad, TENSOR, (CONTEXT, TENSOR, int, int, int, int))                                        \
    F(pool_1d, TENSOR, (CONTEXT, TENSOR, int, int, int, int))                                    \
    F(pool_2d, TENSOR, (CONTEXT, TENSOR, int, int, int, int, int, float, float))                 \
    F(rms_norm, TENSOR, (CONTEXT, TENSOR, float))                                                \
    F(scale, TENSOR, (CONTEXT, TENSOR, float))                                                   \
    F(soft_max, TENSOR, (CONTEXT, TENSOR))                                                       \
    F(sum_rows, TENSOR, (CONTEXT, TENSOR))                                                       \
    F(upscale_ext, TENSOR, (CONTEXT, TENSOR, int, int, int, int, int)) /* the mode is ignored before 3.9 */

/* What came later: NULL where the release lacks it. */
#define API_OPTIONAL(F)                                                                     \
    F(conv_2d_direct, TENSOR, (CONTEXT, TENSOR, TENSOR, int, int, int, int, int, int))      \
    F(conv_2d_dw_direct, TENSOR, (CONTEXT, TENSOR, TENSOR, int, int, int, int, int, int))   \
    F(cumsum, TENSOR, (CONTEXT, TENSOR))                                                    \
    F(interpolate, TENSOR, (CONTEXT, TENSOR, int64_t, int64_t, int64_t, int64_t, uint32_t)) \
    F(l2_norm, TENSOR, (CONTEXT, TENSOR, float))                                            \
    F(pad_ext, TENSOR, (CONTEXT, TENSOR, int, int, int, int, int, int, int, int))           \
    F(pad_reflect_1d, TENSOR, (CONTEXT, TENSOR, int, int))                                  \
    F(tri, TENSOR, (CONTEXT, TENSOR, int))

#define CONTEXT struct ggml_context *
#define TENSOR struct ggml_tensor *
struct api {
#define MEMBER(name, result, parameters) result(*name) parameters;
    API_NEEDED(MEMBER)
    API_OPTIONAL(MEMBER)
#undef MEMBER
    TENSOR (*unary[UNARIES])(CONTEXT, TENSOR);
    TENSOR (*binary[BINARIES])(CONTEXT, TENSOR, TENSOR);
};
#undef CONTEXT
#undef TENSOR

extern const char *const unary_names[UNARIES], *const binary_names[BINARIES];

/* Finds all functions in an opened library and those that it needs. Returns NULL, or the name of one that is
 * needed and is not there. */
const char *api_find(struct api *api, void *library);

#endif
