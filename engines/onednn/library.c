#include "library.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct library {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    enum layout layout;
    char *impl;    /* part of an implementation's name, or NULL */
    long long nth; /* or its number */
    char nothing;  /* see bind */
};

struct argument {
    int arg;
    const struct view *view; /* NULL: left out */
    bool output;
};

enum { MAX_ARGUMENTS = 16 };

static int check(dnnl_status_t status, const char *what, struct error *err)
{
    switch (status) {
    case dnnl_success:
        return 0;
    case dnnl_unimplemented:
        return error_set(err, ERROR_UNSUPPORTED, "oneDNN does not implement this %s", what);
    case dnnl_invalid_arguments:
        return error_set(err, ERROR_INVALID, "oneDNN calls the arguments of this %s invalid", what);
    case dnnl_out_of_memory:
        return error_set(err, ERROR_MEMORY, "oneDNN has no memory for this %s", what);
    default:
        return error_set(err, ERROR_IO, "oneDNN: status %d from %s", (int)status, what);
    }
}

static const struct {
    const char *name;
    dnnl_cpu_isa_t isa;
} isas[] = {
    {"all", dnnl_cpu_isa_all},
    {"sse41", dnnl_cpu_isa_sse41},
    {"avx", dnnl_cpu_isa_avx},
    {"avx2", dnnl_cpu_isa_avx2},
    {"avx2_vnni", dnnl_cpu_isa_avx2_vnni},
    {"avx512_core", dnnl_cpu_isa_avx512_core},
    {"avx512_core_vnni", dnnl_cpu_isa_avx512_core_vnni},
    {"avx512_core_bf16", dnnl_cpu_isa_avx512_core_bf16},
    {"avx512_core_amx", dnnl_cpu_isa_avx512_core_amx},
};

static int limit_isa(const char *isa, struct error *err)
{
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        if (strcmp(isas[i].name, isa) == 0)
            return i == 0 ? 0 : check(dnnl_set_max_cpu_isa(isas[i].isa), "instruction set", err);
    return error_set(err, ERROR_USAGE, "no instruction set is called %s", isa);
}

int library_open(struct library **library, const char *isa, const char *impl, enum layout layout,
                 struct str *version, struct error *err)
{
    const dnnl_version_t *v = dnnl_version();
    str_printf(version, "%d.%d.%d", v->major, v->minor, v->patch);
    struct library *lib = memory_zeroed(1, sizeof *lib);
    *library = lib;
    lib->layout = layout;
    if (!text_int64(impl, &lib->nth))
        lib->impl = memory_strdup(impl);
    /* Nothing of one case is left to the next. */
    if (limit_isa(isa, err) || check(dnnl_set_primitive_cache_capacity(0), "primitive cache", err))
        return -1;
    if (check(dnnl_engine_create(&lib->engine, dnnl_cpu, 0), "engine", err))
        return -1;
    return check(dnnl_stream_create(&lib->stream, lib->engine, dnnl_stream_default_flags), "stream", err);
}

void library_close(struct library *lib)
{
    if (!lib)
        return;
    dnnl_stream_destroy(lib->stream);
    dnnl_engine_destroy(lib->engine);
    free(lib->impl);
    free(lib);
}

dnnl_data_type_t library_type(enum dtype type)
{
    switch (type) {
    case DTYPE_FLOAT:
        return dnnl_f32;
    case DTYPE_BFLOAT16:
        return dnnl_bf16;
    case DTYPE_FLOAT16:
        return dnnl_f16;
    case DTYPE_INT32:
        return dnnl_s32;
    case DTYPE_INT8:
        return dnnl_s8;
    case DTYPE_UINT8:
    case DTYPE_BOOL:
        return dnnl_u8;
    default:
        return dnnl_data_type_undef;
    }
}

static void dense_strides(struct view *view)
{
    dnnl_dim_t stride = 1;
    for (int i = view->rank; i-- > 0; stride *= view->dims[i] ? view->dims[i] : 1)
        view->strides[i] = stride;
}

struct view view_as(const struct tensor *tensor, int rank, const int64_t *dims)
{
    struct view view = {.type = library_type(tensor->type), .rank = rank ? rank : 1, .data = tensor->data};
    view.dims[0] = 1;
    for (int i = 0; i < rank; i++)
        view.dims[i] = dims[i];
    dense_strides(&view);
    return view;
}

struct view view_of(const struct tensor *tensor)
{
    return view_as(tensor, tensor->shape.rank, tensor->shape.dims);
}

struct view view_floats(float *data, int rank, const int64_t *dims)
{
    struct view view = {.type = dnnl_f32, .rank = rank, .data = data};
    for (int i = 0; i < rank; i++)
        view.dims[i] = dims[i];
    dense_strides(&view);
    return view;
}

struct view view_transposed(const struct view *view, const int64_t *permutation)
{
    struct view turned = *view;
    for (int i = 0; i < view->rank; i++) {
        turned.dims[i] = view->dims[permutation[i]];
        turned.strides[i] = view->strides[permutation[i]];
    }
    return turned;
}

/* --- below: what 3.x does in another way --- */

static dnnl_memory_desc_t describe(const struct view *view)
{
    dnnl_memory_desc_t md = {0};
    if (view)
        dnnl_memory_desc_init_by_strides(&md, view->rank, view->dims, view->type, view->strides);
    return md;
}

/* For what the library may arrange as it likes. */
static dnnl_memory_desc_t describe_free(const struct library *lib, const struct view *view)
{
    dnnl_memory_desc_t md = {0};
    if (!view || lib->layout != LAYOUT_ANY)
        return describe(view);
    dnnl_memory_desc_init_by_tag(&md, view->rank, view->dims, view->type, dnnl_format_tag_any);
    return md;
}

/* Data with channels as dimension 1. */
static dnnl_memory_desc_t describe_channels(const struct library *lib, const struct view *view)
{
    if (lib->layout != LAYOUT_NHWC || view->rank < 3)
        return describe(view);
    struct view last = *view;
    dnnl_dim_t stride = last.dims[1];
    last.strides[1] = 1;
    for (int i = view->rank; i-- > 2; stride *= view->dims[i])
        last.strides[i] = stride;
    last.strides[0] = stride;
    return describe(&last);
}

static dnnl_memory_desc_t describe_image(const struct library *lib, const struct view *view)
{
    return lib->layout == LAYOUT_NHWC ? describe_channels(lib, view) : describe_free(lib, view);
}

static int run_primitive(struct library *lib, dnnl_primitive_desc_t pd, int count,
                         const dnnl_exec_arg_t *args, struct error *err)
{
    dnnl_primitive_t primitive;
    if (check(dnnl_primitive_create(&primitive, pd), "primitive", err))
        return -1;
    int result = check(dnnl_primitive_execute(primitive, lib->stream, count, args), "execution", err);
    if (!result)
        result = check(dnnl_stream_wait(lib->stream), "execution", err);
    dnnl_primitive_destroy(primitive);
    return result;
}

static int reorder_memory(struct library *lib, dnnl_memory_t from, dnnl_memory_t to, struct error *err)
{
    const dnnl_memory_desc_t *from_md, *to_md;
    dnnl_memory_get_memory_desc(from, &from_md);
    dnnl_memory_get_memory_desc(to, &to_md);
    dnnl_primitive_desc_t pd;
    if (check(dnnl_reorder_primitive_desc_create(&pd, from_md, lib->engine, to_md, lib->engine, NULL),
              "reorder", err))
        return -1;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    int result = run_primitive(lib, pd, 2, args, err);
    dnnl_primitive_desc_destroy(pd);
    return result;
}

/* One argument's memories: the caller's, and the library's own where its layout differs. */
struct binding {
    dnnl_memory_t user, own;
};

static int bind(struct library *lib, dnnl_primitive_desc_t pd, const struct argument *argument,
                struct binding *binding, struct error *err)
{
    dnnl_memory_desc_t user = describe(argument->view);
    const dnnl_memory_desc_t *wanted =
        dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, argument->arg);
    /* Tensors without elements have no memory, but the library wants an address. */
    void *data = argument->view->data ? argument->view->data : &lib->nothing;
    if (check(dnnl_memory_create(&binding->user, &user, lib->engine, data), "memory", err))
        return -1;
    if (!wanted || wanted->ndims == 0 || dnnl_memory_desc_equal(&user, wanted))
        return 0;
    if (check(dnnl_memory_create(&binding->own, wanted, lib->engine, DNNL_MEMORY_ALLOCATE), "memory", err))
        return -1;
    return argument->output ? 0 : reorder_memory(lib, binding->user, binding->own, err);
}

static int execute(struct library *lib, dnnl_primitive_desc_t pd, size_t count,
                   const struct argument *arguments, struct error *err)
{
    struct binding bindings[MAX_ARGUMENTS] = {{0}};
    dnnl_exec_arg_t args[MAX_ARGUMENTS];
    int n = 0, result = 0;
    for (size_t i = 0; !result && i < count; i++) {
        if (!arguments[i].view)
            continue;
        result = bind(lib, pd, &arguments[i], &bindings[i], err);
        args[n++] = (dnnl_exec_arg_t){arguments[i].arg, bindings[i].own ? bindings[i].own : bindings[i].user};
    }
    if (!result)
        result = run_primitive(lib, pd, n, args, err);
    for (size_t i = 0; i < count; i++) {
        if (!result && arguments[i].output && bindings[i].own)
            result = reorder_memory(lib, bindings[i].own, bindings[i].user, err);
        dnnl_memory_destroy(bindings[i].own);
        dnnl_memory_destroy(bindings[i].user);
    }
    return result;
}

static bool name_fits(const struct library *lib, const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    return !lib->impl || (!dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) && name &&
                          strstr(name, lib->impl));
}

static int no_implementation(const struct library *lib, const char *what, struct error *err)
{
    return lib->impl ? error_set(err, ERROR_UNSUPPORTED, "no implementation %s of this %s", lib->impl, what)
                     : error_set(err, ERROR_UNSUPPORTED, "no implementation %lld of this %s", lib->nth, what);
}

/* Walks the implementations to the one that was asked for. */
static int choose(const struct library *lib, const_dnnl_op_desc_t op, const char *what,
                  dnnl_primitive_desc_t *chosen, struct error *err)
{
    dnnl_primitive_desc_iterator_t it;
    if (check(dnnl_primitive_desc_iterator_create(&it, op, NULL, lib->engine, NULL), what, err))
        return -1;
    *chosen = NULL;
    long long number = 0;
    do {
        dnnl_primitive_desc_t pd = dnnl_primitive_desc_iterator_fetch(it);
        if (pd && name_fits(lib, pd) && number++ == (lib->impl ? 0 : lib->nth))
            *chosen = pd;
        else
            dnnl_primitive_desc_destroy(pd);
    } while (!*chosen && dnnl_primitive_desc_iterator_next(it) == dnnl_success);
    dnnl_primitive_desc_iterator_destroy(it);
    return *chosen ? 0 : no_implementation(lib, what, err);
}

static int run_op(struct library *lib, const_dnnl_op_desc_t op, const char *what, size_t count,
                  const struct argument *arguments, struct error *err)
{
    dnnl_primitive_desc_t pd;
    if (choose(lib, op, what, &pd, err))
        return -1;
    int result = execute(lib, pd, count, arguments, err);
    dnnl_primitive_desc_destroy(pd);
    return result;
}

/* Reorder, concat and sum have no iterator: the library offers one implementation. */
static int run_only(struct library *lib, dnnl_primitive_desc_t pd, const char *what, size_t count,
                    const struct argument *arguments, struct error *err)
{
    int result = name_fits(lib, pd) && (lib->impl || lib->nth == 0) ? execute(lib, pd, count, arguments, err)
                                                                    : no_implementation(lib, what, err);
    dnnl_primitive_desc_destroy(pd);
    return result;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

int library_eltwise(struct library *lib, dnnl_alg_kind_t kind, const struct view *src, const struct view *dst,
                    float alpha, float beta, struct error *err)
{
    dnnl_memory_desc_t md = describe(src);
    dnnl_eltwise_desc_t op;
    if (check(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, kind, &md, alpha, beta), "eltwise",
              err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "eltwise", COUNT(args), args, err);
}

int library_binary(struct library *lib, dnnl_alg_kind_t kind, const struct view *a, const struct view *b,
                   const struct view *dst, struct error *err)
{
    dnnl_memory_desc_t a_md = describe(a), b_md = describe(b), dst_md = describe(dst);
    dnnl_binary_desc_t op;
    if (check(dnnl_binary_desc_init(&op, kind, &a_md, &b_md, &dst_md), "binary", err))
        return -1;
    struct argument args[] = {
        {DNNL_ARG_SRC_0, a, false}, {DNNL_ARG_SRC_1, b, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "binary", COUNT(args), args, err);
}

/* The library counts dilations from 0. */
static void dilations_from_zero(const struct window *window, int n, dnnl_dims_t dilations)
{
    for (int i = 0; i < n; i++)
        dilations[i] = window->dilations[i] - 1;
}

int library_convolution(struct library *lib, bool transposed, const struct view *src,
                        const struct view *weights, const struct view *bias, const struct view *dst,
                        const struct window *w, struct error *err)
{
    dnnl_memory_desc_t src_md = describe_image(lib, src), weights_md = describe_free(lib, weights);
    dnnl_memory_desc_t bias_md = describe(bias), dst_md = describe_image(lib, dst);
    dnnl_dims_t dilations;
    dilations_from_zero(w, src->rank - 2, dilations);
    dnnl_convolution_desc_t op;
    dnnl_status_t status =
        transposed
            ? dnnl_dilated_deconvolution_forward_desc_init(
                  &op, dnnl_forward_inference, dnnl_deconvolution_direct, &src_md, &weights_md,
                  bias ? &bias_md : NULL, &dst_md, w->strides, dilations, w->before, w->after)
            : dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_auto,
                                                         &src_md, &weights_md, bias ? &bias_md : NULL,
                                                         &dst_md, w->strides, dilations, w->before, w->after);
    if (check(status, "convolution", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false},
                              {DNNL_ARG_WEIGHTS, weights, false},
                              {DNNL_ARG_BIAS, bias, false},
                              {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "convolution", COUNT(args), args, err);
}

int library_matmul(struct library *lib, const struct view *a, const struct view *b, const struct view *bias,
                   const struct view *dst, struct error *err)
{
    dnnl_memory_desc_t a_md = describe(a), b_md = describe_free(lib, b);
    dnnl_memory_desc_t bias_md = describe(bias), dst_md = describe(dst);
    dnnl_matmul_desc_t op;
    if (check(dnnl_matmul_desc_init(&op, &a_md, &b_md, bias ? &bias_md : NULL, &dst_md), "matmul", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, a, false},
                              {DNNL_ARG_WEIGHTS, b, false},
                              {DNNL_ARG_BIAS, bias, false},
                              {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "matmul", COUNT(args), args, err);
}

int library_softmax(struct library *lib, bool logarithm, const struct view *src, const struct view *dst,
                    int axis, struct error *err)
{
    dnnl_memory_desc_t src_md = describe(src), dst_md = describe(dst);
    dnnl_softmax_v2_desc_t op;
    if (check(dnnl_softmax_v2_forward_desc_init(&op, dnnl_forward_inference,
                                                logarithm ? dnnl_softmax_log : dnnl_softmax_accurate, &src_md,
                                                &dst_md, axis),
              "softmax", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "softmax", COUNT(args), args, err);
}

int library_pool(struct library *lib, dnnl_alg_kind_t kind, const struct view *src, const struct view *dst,
                 const struct window *w, struct error *err)
{
    dnnl_memory_desc_t src_md = describe_channels(lib, src), dst_md = describe_channels(lib, dst);
    dnnl_dims_t dilations;
    dilations_from_zero(w, src->rank - 2, dilations);
    dnnl_pooling_v2_desc_t op;
    if (check(dnnl_pooling_v2_forward_desc_init(&op, dnnl_forward_inference, kind, &src_md, &dst_md,
                                                w->strides, w->kernel, dilations, w->before, w->after),
              "pooling", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "pooling", COUNT(args), args, err);
}

int library_lrn(struct library *lib, const struct view *src, const struct view *dst, int64_t size,
                float alpha, float beta, float k, struct error *err)
{
    dnnl_memory_desc_t md = describe_channels(lib, src);
    dnnl_lrn_desc_t op;
    if (check(dnnl_lrn_forward_desc_init(&op, dnnl_forward_inference, dnnl_lrn_across_channels, &md, size,
                                         alpha, beta, k),
              "lrn", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "lrn", COUNT(args), args, err);
}

int library_batchnorm(struct library *lib, const struct view *src, const struct view *dst,
                      const struct view *scale, const struct view *shift, const struct view *mean,
                      const struct view *variance, float epsilon, struct error *err)
{
    dnnl_memory_desc_t md = describe_channels(lib, src);
    unsigned flags = dnnl_use_scale | dnnl_use_shift | (mean ? dnnl_use_global_stats : 0U);
    dnnl_batch_normalization_desc_t op;
    if (check(dnnl_batch_normalization_forward_desc_init(&op, dnnl_forward_inference, &md, epsilon, flags),
              "batch normalization", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false},           {DNNL_ARG_SCALE, scale, false},
                              {DNNL_ARG_SHIFT, shift, false},       {DNNL_ARG_MEAN, mean, false},
                              {DNNL_ARG_VARIANCE, variance, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "batch normalization", COUNT(args), args, err);
}

int library_layernorm(struct library *lib, const struct view *src, const struct view *dst,
                      const struct view *scale, const struct view *shift, const struct view *mean,
                      const struct view *variance, float epsilon, struct error *err)
{
    dnnl_memory_desc_t md = describe(src), stat_md = describe(mean);
    unsigned flags = dnnl_use_scale | (shift ? dnnl_use_shift : 0U);
    dnnl_layer_normalization_desc_t op;
    if (check(dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_training, &md, &stat_md, epsilon,
                                                         flags),
              "layer normalization", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false},          {DNNL_ARG_SCALE, scale, false},
                              {DNNL_ARG_SHIFT, shift, false},      {DNNL_ARG_MEAN, mean, true},
                              {DNNL_ARG_VARIANCE, variance, true}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "layer normalization", COUNT(args), args, err);
}

int library_reduction(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                      const struct view *dst, float p, struct error *err)
{
    dnnl_memory_desc_t src_md = describe(src), dst_md = describe(dst);
    dnnl_reduction_desc_t op;
    if (check(dnnl_reduction_desc_init(&op, kind, &src_md, &dst_md, p, 0), "reduction", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "reduction", COUNT(args), args, err);
}

int library_resampling(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                       const struct view *dst, const float *factors, struct error *err)
{
    dnnl_memory_desc_t src_md = describe_channels(lib, src), dst_md = describe_channels(lib, dst);
    dnnl_resampling_desc_t op;
    if (check(dnnl_resampling_forward_desc_init(&op, dnnl_forward_inference, kind, factors, &src_md, &dst_md),
              "resampling", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "resampling", COUNT(args), args, err);
}

int library_prelu(struct library *lib, const struct view *src, const struct view *slope,
                  const struct view *dst, struct error *err)
{
    dnnl_memory_desc_t md = describe(src), slope_md = describe(slope);
    dnnl_prelu_desc_t op;
    if (check(dnnl_prelu_forward_desc_init(&op, dnnl_forward_inference, &md, &slope_md), "prelu", err))
        return -1;
    struct argument args[] = {
        {DNNL_ARG_SRC, src, false}, {DNNL_ARG_WEIGHTS, slope, false}, {DNNL_ARG_DST, dst, true}};
    return run_op(lib, &op, "prelu", COUNT(args), args, err);
}

int library_reorder(struct library *lib, const struct view *src, const struct view *dst, struct error *err)
{
    dnnl_memory_desc_t src_md = describe(src), dst_md = describe(dst);
    dnnl_primitive_desc_t pd;
    if (check(dnnl_reorder_primitive_desc_create(&pd, &src_md, lib->engine, &dst_md, lib->engine, NULL),
              "reorder", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_FROM, src, false}, {DNNL_ARG_TO, dst, true}};
    return run_only(lib, pd, "reorder", COUNT(args), args, err);
}

/* Descriptors and arguments of a primitive with any number of sources, the last argument being the result. */
static int many(size_t count, const struct view *srcs, const struct view *dst, dnnl_memory_desc_t *mds,
                struct argument *args, struct error *err)
{
    if (count >= MAX_ARGUMENTS)
        return error_set(err, ERROR_UNSUPPORTED, "more than %d operands", MAX_ARGUMENTS - 1);
    for (size_t i = 0; i < count; i++) {
        mds[i] = describe(&srcs[i]);
        args[i] = (struct argument){DNNL_ARG_MULTIPLE_SRC + (int)i, &srcs[i], false};
    }
    args[count] = (struct argument){DNNL_ARG_DST, dst, true};
    return 0;
}

int library_concat(struct library *lib, size_t count, const struct view *srcs, int axis,
                   const struct view *dst, struct error *err)
{
    dnnl_memory_desc_t mds[MAX_ARGUMENTS], dst_md = describe(dst);
    struct argument args[MAX_ARGUMENTS];
    dnnl_primitive_desc_t pd;
    if (many(count, srcs, dst, mds, args, err) ||
        check(dnnl_concat_primitive_desc_create(&pd, &dst_md, (int)count, axis, mds, NULL, lib->engine),
              "concat", err))
        return -1;
    return run_only(lib, pd, "concat", count + 1, args, err);
}

int library_sum(struct library *lib, size_t count, const struct view *srcs, const float *scales,
                const struct view *dst, struct error *err)
{
    dnnl_memory_desc_t mds[MAX_ARGUMENTS], dst_md = describe(dst);
    struct argument args[MAX_ARGUMENTS];
    dnnl_primitive_desc_t pd;
    if (many(count, srcs, dst, mds, args, err) ||
        check(dnnl_sum_primitive_desc_create(&pd, &dst_md, (int)count, scales, mds, NULL, lib->engine), "sum",
              err))
        return -1;
    return run_only(lib, pd, "sum", count + 1, args, err);
}

int library_recurrent(struct library *lib, const struct recurrent *r, struct error *err)
{
    dnnl_memory_desc_t x = describe(r->src), h = describe(r->src_h), c = describe(r->src_c);
    dnnl_memory_desc_t w = describe_free(lib, r->weights), u = describe_free(lib, r->recurrence);
    dnnl_memory_desc_t p = describe(r->peephole), b = describe(r->bias), y = describe(r->dst);
    dnnl_memory_desc_t y_h = describe(r->dst_h), y_c = describe(r->dst_c);
    const dnnl_prop_kind_t forward = dnnl_forward_inference;
    dnnl_rnn_desc_t op;
    dnnl_status_t status;
    if (r->cell == dnnl_vanilla_lstm)
        status = dnnl_lstm_forward_desc_init_v2(&op, forward, r->direction, &x, &h, &c, &w, &u,
                                                r->peephole ? &p : NULL, &b, &y, &y_h, &y_c, 0);
    else if (r->cell == dnnl_vanilla_gru)
        status = dnnl_gru_forward_desc_init(&op, forward, r->direction, &x, &h, &w, &u, &b, &y, &y_h, 0);
    else if (r->cell == dnnl_lbr_gru)
        status = dnnl_lbr_gru_forward_desc_init(&op, forward, r->direction, &x, &h, &w, &u, &b, &y, &y_h, 0);
    else
        status = dnnl_vanilla_rnn_forward_desc_init(&op, forward, r->activation, r->direction, &x, &h, &w, &u,
                                                    &b, &y, &y_h, 0, 0, 0);
    if (check(status, "recurrent layer", err))
        return -1;
    struct argument args[] = {{DNNL_ARG_SRC_LAYER, r->src, false},
                              {DNNL_ARG_SRC_ITER, r->src_h, false},
                              {DNNL_ARG_SRC_ITER_C, r->src_c, false},
                              {DNNL_ARG_WEIGHTS_LAYER, r->weights, false},
                              {DNNL_ARG_WEIGHTS_ITER, r->recurrence, false},
                              {DNNL_ARG_WEIGHTS_PEEPHOLE, r->peephole, false},
                              {DNNL_ARG_BIAS, r->bias, false},
                              {DNNL_ARG_DST_LAYER, r->dst, true},
                              {DNNL_ARG_DST_ITER, r->dst_h, true},
                              {DNNL_ARG_DST_ITER_C, r->dst_c, true}};
    return run_op(lib, &op, "recurrent layer", COUNT(args), args, err);
}
