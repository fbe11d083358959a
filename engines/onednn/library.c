#include "library_run.h"

#include "base/memory.h"

#include <oneapi/dnnl/dnnl_debug.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int library_check(dnnl_status_t status, const char *what, struct error *err)
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
    if (strcmp(isa, "all") == 0)
        return 0;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        if (strcmp(isas[i].name, isa) == 0)
            return library_check(dnnl_set_max_cpu_isa(isas[i].isa), "instruction set", err);
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
    if (limit_isa(isa, err) || library_check(dnnl_set_primitive_cache_capacity(0), "primitive cache", err))
        return -1;
    if (library_check(dnnl_engine_create(&lib->engine, dnnl_cpu, 0), "engine", err))
        return -1;
    return library_check(dnnl_stream_create(&lib->stream, lib->engine, dnnl_stream_default_flags), "stream",
                         err);
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

/* Descriptions live until the call's end; what the library refuses to describe it is not given, and says so
 * then. */
static const struct md *keep(struct library *lib, dnnl_status_t status, struct md *md)
{
    if (status != dnnl_success || lib->n_descriptions == MAX_DESCRIPTIONS) {
        md_free(md);
        return NULL;
    }
    lib->descriptions[lib->n_descriptions++] = md;
    return md;
}

const struct md *library_describe(struct library *lib, const struct view *view)
{
    struct md *md = NULL;
    if (!view)
        return NULL;
    dnnl_status_t status = md_strided(&md, view->rank, view->dims, view->type, view->strides);
    return keep(lib, status, md);
}

const struct md *library_describe_free(struct library *lib, const struct view *view)
{
    struct md *md = NULL;
    if (!view || lib->layout != LAYOUT_ANY)
        return library_describe(lib, view);
    dnnl_status_t status = md_any(&md, view->rank, view->dims, view->type);
    return keep(lib, status, md);
}

const struct md *library_describe_channels(struct library *lib, const struct view *view)
{
    if (lib->layout != LAYOUT_NHWC || view->rank < 3)
        return library_describe(lib, view);
    struct view last = *view;
    dnnl_dim_t stride = last.dims[1];
    last.strides[1] = 1;
    for (int i = view->rank; i-- > 2; stride *= view->dims[i])
        last.strides[i] = stride;
    last.strides[0] = stride;
    return library_describe(lib, &last);
}

const struct md *library_describe_image(struct library *lib, const struct view *view)
{
    return lib->layout == LAYOUT_NHWC ? library_describe_channels(lib, view)
                                      : library_describe_free(lib, view);
}

void library_tell(struct library *lib, library_teller *tell, void *context)
{
    lib->tell = tell;
    lib->tell_context = context;
}

static void tell_primitive(const struct library *lib, const_dnnl_primitive_desc_t pd)
{
    char kernel[200];
    const char *name = NULL;
    dnnl_primitive_kind_t kind;
    if (!lib->tell || dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind) ||
        dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) || !name)
        return;
    snprintf(kernel, sizeof kernel, "%s %s", dnnl_prim_kind2str(kind), name);
    lib->tell(lib->tell_context, kernel);
}

static int run_primitive(struct library *lib, dnnl_primitive_desc_t pd, int count,
                         const dnnl_exec_arg_t *args, struct error *err)
{
    dnnl_primitive_t primitive;
    if (library_check(dnnl_primitive_create(&primitive, pd), "primitive", err))
        return -1;
    tell_primitive(lib, pd);
    int result = library_check(dnnl_primitive_execute(primitive, lib->stream, count, args), "execution", err);
    if (!result)
        result = library_check(dnnl_stream_wait(lib->stream), "execution", err);
    dnnl_primitive_destroy(primitive);
    return result;
}

static int reorder_memory(struct library *lib, dnnl_memory_t from, dnnl_memory_t to, struct error *err)
{
    struct pick pick = {0};
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    int result = library_check(api_reorder(&pick, lib->engine, md_of(from), md_of(to)), "reorder", err);
    if (!result)
        result = run_primitive(lib, pick.pd, 2, args, err);
    pick_release(&pick);
    return result;
}

/* One argument's memories: the caller's, and the library's own where its layout differs. */
struct binding {
    dnnl_memory_t user, own;
};

static int bind(struct library *lib, const struct pick *pick, const struct argument *argument,
                struct binding *binding, struct error *err)
{
    const struct md *user = library_describe(lib, argument->view),
                    *wanted = pick_argument(pick, argument->arg);
    /* Tensors without elements have no memory, but the library wants an address. */
    void *data = argument->view->data ? argument->view->data : &lib->nothing;
    if (library_check(api_memory(&binding->user, user, lib->engine, data), "memory", err))
        return -1;
    if (md_is_nothing(wanted) || md_equal(user, wanted))
        return 0;
    if (library_check(api_memory(&binding->own, wanted, lib->engine, DNNL_MEMORY_ALLOCATE), "memory", err))
        return -1;
    return argument->output ? 0 : reorder_memory(lib, binding->user, binding->own, err);
}

int library_execute(struct library *lib, const struct pick *pick, dnnl_memory_t workspace, size_t count,
                    const struct argument *arguments, struct error *err)
{
    struct binding bindings[MAX_ARGUMENTS] = {{0}};
    dnnl_exec_arg_t args[MAX_ARGUMENTS + 1];
    int n = 0, result = 0;
    if (workspace)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, workspace};
    for (size_t i = 0; !result && i < count; i++) {
        if (!arguments[i].view)
            continue;
        result = bind(lib, pick, &arguments[i], &bindings[i], err);
        args[n++] = (dnnl_exec_arg_t){arguments[i].arg, bindings[i].own ? bindings[i].own : bindings[i].user};
    }
    if (!result)
        result = run_primitive(lib, pick->pd, n, args, err);
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

int library_choose(const struct library *lib, struct pick *pick, const char *what, struct error *err)
{
    long long number = 0;
    do {
        if (name_fits(lib, pick->pd) && number++ == (lib->impl ? 0 : lib->nth))
            return 0;
    } while (pick_next(pick));
    return no_implementation(lib, what, err);
}

void library_end(struct library *lib)
{
    while (lib->n_descriptions)
        md_free(lib->descriptions[--lib->n_descriptions]);
}

/* Runs what was picked, if picking it went well, and ends the call. */
static int run(struct library *lib, struct pick *pick, dnnl_status_t picked, const char *what, size_t count,
               const struct argument *arguments, struct error *err)
{
    int result = library_check(picked, what, err);
    if (!result)
        result = library_choose(lib, pick, what, err);
    if (!result)
        result = library_execute(lib, pick, NULL, count, arguments, err);
    pick_release(pick);
    library_end(lib);
    return result;
}

int library_eltwise(struct library *lib, dnnl_alg_kind_t kind, const struct view *src, const struct view *dst,
                    float alpha, float beta, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    dnnl_status_t status = api_eltwise(&pick, lib->engine, kind, library_describe(lib, src), alpha, beta);
    return run(lib, &pick, status, "eltwise", COUNT(args), args, err);
}

int library_binary(struct library *lib, dnnl_alg_kind_t kind, const struct view *a, const struct view *b,
                   const struct view *dst, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {
        {DNNL_ARG_SRC_0, a, false}, {DNNL_ARG_SRC_1, b, false}, {DNNL_ARG_DST, dst, true}};
    dnnl_status_t status = api_binary(&pick, lib->engine, kind, library_describe(lib, a),
                                      library_describe(lib, b), library_describe(lib, dst));
    return run(lib, &pick, status, "binary", COUNT(args), args, err);
}

struct api_window library_window(const struct window *window, int n)
{
    struct api_window w = {.kernel = {0}};
    for (int i = 0; i < n; i++) {
        w.kernel[i] = window->kernel[i];
        w.strides[i] = window->strides[i];
        w.dilations[i] = window->dilations[i] - 1;
        w.before[i] = window->before[i];
        w.after[i] = window->after[i];
    }
    return w;
}

int library_convolution(struct library *lib, bool transposed, const struct view *src,
                        const struct view *weights, const struct view *bias, const struct view *dst,
                        const struct window *w, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false},
                              {DNNL_ARG_WEIGHTS, weights, false},
                              {DNNL_ARG_BIAS, bias, false},
                              {DNNL_ARG_DST, dst, true}};
    struct api_window window = library_window(w, src->rank - 2);
    dnnl_status_t status = api_convolution(&pick, lib->engine, transposed, library_describe_image(lib, src),
                                           library_describe_free(lib, weights), library_describe(lib, bias),
                                           library_describe_image(lib, dst), &window);
    return run(lib, &pick, status, "convolution", COUNT(args), args, err);
}

int library_matmul(struct library *lib, const struct view *a, const struct view *b, const struct view *bias,
                   const struct view *dst, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, a, false},
                              {DNNL_ARG_WEIGHTS, b, false},
                              {DNNL_ARG_BIAS, bias, false},
                              {DNNL_ARG_DST, dst, true}};
    dnnl_status_t status =
        api_matmul(&pick, lib->engine, library_describe(lib, a), library_describe_free(lib, b),
                   library_describe(lib, bias), library_describe(lib, dst));
    return run(lib, &pick, status, "matmul", COUNT(args), args, err);
}

int library_softmax(struct library *lib, bool logarithm, const struct view *src, const struct view *dst,
                    int axis, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    dnnl_status_t status =
        api_softmax(&pick, lib->engine, logarithm ? dnnl_softmax_log : dnnl_softmax_accurate,
                    library_describe(lib, src), library_describe(lib, dst), axis);
    return run(lib, &pick, status, "softmax", COUNT(args), args, err);
}

int library_pool(struct library *lib, dnnl_alg_kind_t kind, const struct view *src, const struct view *dst,
                 const struct window *w, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    struct api_window window = library_window(w, src->rank - 2);
    dnnl_status_t status = api_pool(&pick, lib->engine, kind, library_describe_channels(lib, src),
                                    library_describe_channels(lib, dst), &window);
    return run(lib, &pick, status, "pooling", COUNT(args), args, err);
}

int library_lrn(struct library *lib, const struct view *src, const struct view *dst, int64_t size,
                float alpha, float beta, float k, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    dnnl_status_t status =
        api_lrn(&pick, lib->engine, library_describe_channels(lib, src), size, alpha, beta, k);
    return run(lib, &pick, status, "lrn", COUNT(args), args, err);
}

int library_batchnorm(struct library *lib, const struct view *src, const struct view *dst,
                      const struct view *scale, const struct view *shift, const struct view *mean,
                      const struct view *variance, float epsilon, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false},           {DNNL_ARG_SCALE, scale, false},
                              {DNNL_ARG_SHIFT, shift, false},       {DNNL_ARG_MEAN, mean, false},
                              {DNNL_ARG_VARIANCE, variance, false}, {DNNL_ARG_DST, dst, true}};
    unsigned flags = LIBRARY_SCALE_SHIFT | (mean ? dnnl_use_global_stats : 0U);
    dnnl_status_t status =
        api_batchnorm(&pick, lib->engine, library_describe_channels(lib, src), epsilon, flags);
    return run(lib, &pick, status, "batch normalization", COUNT(args), args, err);
}

int library_layernorm(struct library *lib, const struct view *src, const struct view *dst,
                      const struct view *scale, const struct view *shift, const struct view *mean,
                      const struct view *variance, float epsilon, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false},          {DNNL_ARG_SCALE, scale, false},
                              {DNNL_ARG_SHIFT, shift, false},      {DNNL_ARG_MEAN, mean, true},
                              {DNNL_ARG_VARIANCE, variance, true}, {DNNL_ARG_DST, dst, true}};
    unsigned flags = dnnl_use_scale | (shift ? dnnl_use_shift : 0U);
    dnnl_status_t status = api_layernorm(&pick, lib->engine, library_describe(lib, src),
                                         library_describe(lib, mean), epsilon, flags);
    return run(lib, &pick, status, "layer normalization", COUNT(args), args, err);
}

int library_reduction(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                      const struct view *dst, float p, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    dnnl_status_t status =
        api_reduction(&pick, lib->engine, kind, library_describe(lib, src), library_describe(lib, dst), p);
    return run(lib, &pick, status, "reduction", COUNT(args), args, err);
}

int library_resampling(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                       const struct view *dst, const float *factors, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, dst, true}};
    dnnl_status_t status =
        api_resampling(&pick, lib->engine, kind, factors, library_describe_channels(lib, src),
                       library_describe_channels(lib, dst));
    return run(lib, &pick, status, "resampling", COUNT(args), args, err);
}

int library_prelu(struct library *lib, const struct view *src, const struct view *slope,
                  const struct view *dst, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {
        {DNNL_ARG_SRC, src, false}, {DNNL_ARG_WEIGHTS, slope, false}, {DNNL_ARG_DST, dst, true}};
    dnnl_status_t status =
        api_prelu(&pick, lib->engine, library_describe(lib, src), library_describe(lib, slope));
    return run(lib, &pick, status, "prelu", COUNT(args), args, err);
}

int library_reorder(struct library *lib, const struct view *src, const struct view *dst, struct error *err)
{
    struct pick pick = {0};
    struct argument args[] = {{DNNL_ARG_FROM, src, false}, {DNNL_ARG_TO, dst, true}};
    dnnl_status_t status =
        api_reorder(&pick, lib->engine, library_describe(lib, src), library_describe(lib, dst));
    return run(lib, &pick, status, "reorder", COUNT(args), args, err);
}

/* Descriptions and arguments of a primitive with any number of sources, the last argument being the result.
 */
static int many(struct library *lib, size_t count, const struct view *srcs, const struct view *dst,
                const struct md **mds, struct argument *args, struct error *err)
{
    if (count >= MAX_ARGUMENTS)
        return error_set(err, ERROR_UNSUPPORTED, "more than %d operands", MAX_ARGUMENTS - 1);
    for (size_t i = 0; i < count; i++) {
        mds[i] = library_describe(lib, &srcs[i]);
        args[i] = (struct argument){DNNL_ARG_MULTIPLE_SRC + (int)i, &srcs[i], false};
    }
    args[count] = (struct argument){DNNL_ARG_DST, dst, true};
    return 0;
}

int library_concat(struct library *lib, size_t count, const struct view *srcs, int axis,
                   const struct view *dst, struct error *err)
{
    const struct md *mds[MAX_ARGUMENTS];
    struct argument args[MAX_ARGUMENTS];
    struct pick pick = {0};
    if (many(lib, count, srcs, dst, mds, args, err))
        return -1;
    dnnl_status_t status = api_concat(&pick, lib->engine, (int)count, axis, mds, library_describe(lib, dst));
    return run(lib, &pick, status, "concat", count + 1, args, err);
}

int library_sum(struct library *lib, size_t count, const struct view *srcs, const float *scales,
                const struct view *dst, struct error *err)
{
    const struct md *mds[MAX_ARGUMENTS];
    struct argument args[MAX_ARGUMENTS];
    struct pick pick = {0};
    if (many(lib, count, srcs, dst, mds, args, err))
        return -1;
    dnnl_status_t status = api_sum(&pick, lib->engine, (int)count, scales, mds, library_describe(lib, dst));
    return run(lib, &pick, status, "sum", count + 1, args, err);
}

int library_recurrent(struct library *lib, const struct recurrent *r, struct error *err)
{
    struct pick pick = {0};
    struct api_recurrent layer = {.cell = r->cell,
                                  .activation = r->activation,
                                  .direction = r->direction,
                                  .src = library_describe(lib, r->src),
                                  .src_h = library_describe(lib, r->src_h),
                                  .src_c = library_describe(lib, r->src_c),
                                  .weights = library_describe_free(lib, r->weights),
                                  .recurrence = library_describe_free(lib, r->recurrence),
                                  .peephole = library_describe(lib, r->peephole),
                                  .bias = library_describe(lib, r->bias),
                                  .dst = library_describe(lib, r->dst),
                                  .dst_h = library_describe(lib, r->dst_h),
                                  .dst_c = library_describe(lib, r->dst_c)};
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
    return run(lib, &pick, api_recurrent(&pick, lib->engine, &layer), "recurrent layer", COUNT(args), args,
               err);
}
