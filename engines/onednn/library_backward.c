/* The library's backward primitives. Each takes the forward one as a hint, and some a workspace that it left.
 */
#include "library_run.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The forward primitive in training, for the hint. */
static int hint(struct library *lib, struct pick *forward, dnnl_status_t picked, const char *what,
                struct error *err)
{
    return library_check(picked, what, err) || library_choose(lib, forward, what, err) ? -1 : 0;
}

/* A view like this one, with elements of its own, which are the caller's. */
static struct view scratch(const struct view *like)
{
    struct view view = *like;
    size_t count = 1;
    for (int i = 0; i < view.rank; i++)
        count *= (size_t)view.dims[i];
    view.data = memory_zeroed(count + 1, sizeof(float));
    return view;
}

/* Lets the forward primitive fill its workspace, if it has one. */
static int fill_workspace(struct library *lib, const struct pick *forward, const struct view *src,
                          const struct view *dst, dnnl_memory_t *workspace, struct error *err)
{
    const struct md *md = pick_workspace(forward);
    if (md_is_nothing(md))
        return 0;
    if (library_check(api_memory(workspace, md, lib->engine, DNNL_MEMORY_ALLOCATE), "workspace", err))
        return -1;
    struct view out = scratch(dst);
    struct argument args[] = {{DNNL_ARG_SRC, src, false}, {DNNL_ARG_DST, &out, true}};
    int result = library_execute(lib, forward, *workspace, COUNT(args), args, err);
    free(out.data);
    return result;
}

/* Runs the backward primitive, if everything went well so far, and ends the call. */
static int finish(struct library *lib, struct pick *forward, struct pick *pick, dnnl_memory_t workspace,
                  const char *what, size_t count, const struct argument *arguments, int result,
                  struct error *err)
{
    if (!result)
        result = library_choose(lib, pick, what, err);
    if (!result)
        result = library_execute(lib, pick, workspace, count, arguments, err);
    dnnl_memory_destroy(workspace);
    pick_release(pick);
    pick_release(forward);
    library_end(lib);
    return result;
}

int library_eltwise_backward(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                             const struct view *diff_dst, const struct view *diff_src, float alpha,
                             float beta, struct error *err)
{
    static const char what[] = "gradient of eltwise";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false},
                              {DNNL_ARG_DIFF_DST, diff_dst, false},
                              {DNNL_ARG_DIFF_SRC, diff_src, true}};
    const struct md *data = library_describe(lib, src), *diff = library_describe(lib, diff_src);
    int result = hint(lib, &forward, api_eltwise(&forward, lib->engine, kind, data, alpha, beta), what, err);
    if (!result)
        result = library_check(
            api_eltwise_backward(&pick, lib->engine, &forward, kind, diff, data, alpha, beta), what, err);
    return finish(lib, &forward, &pick, NULL, what, COUNT(args), args, result, err);
}

static int backward_data(struct library *lib, bool transposed, const struct view *src,
                         const struct view *weights, const struct view *diff_dst, const struct view *diff_src,
                         const struct api_window *window, struct error *err)
{
    static const char what[] = "gradient of convolution by data";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[] = {{DNNL_ARG_DIFF_DST, diff_dst, false},
                              {DNNL_ARG_WEIGHTS, weights, false},
                              {DNNL_ARG_DIFF_SRC, diff_src, true}};
    const struct md *x = library_describe_image(lib, src), *w = library_describe_free(lib, weights);
    const struct md *y = library_describe_image(lib, diff_dst);
    int result = hint(lib, &forward,
                      api_convolution(&forward, lib->engine, transposed, x, w, NULL, y, window), what, err);
    if (!result)
        result = library_check(
            api_convolution_backward_data(&pick, lib->engine, &forward, transposed, x, w, y, window), what,
            err);
    return finish(lib, &forward, &pick, NULL, what, COUNT(args), args, result, err);
}

static int backward_weights(struct library *lib, bool transposed, const struct view *src,
                            const struct view *diff_dst, const struct view *diff_weights,
                            const struct view *diff_bias, const struct api_window *window, struct error *err)
{
    static const char what[] = "gradient of convolution by weights";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false},
                              {DNNL_ARG_DIFF_DST, diff_dst, false},
                              {DNNL_ARG_DIFF_WEIGHTS, diff_weights, true},
                              {DNNL_ARG_DIFF_BIAS, diff_bias, true}};
    const struct md *x = library_describe_image(lib, src), *w = library_describe_free(lib, diff_weights);
    const struct md *y = library_describe_image(lib, diff_dst), *b = library_describe(lib, diff_bias);
    int result = hint(lib, &forward, api_convolution(&forward, lib->engine, transposed, x, w, b, y, window),
                      what, err);
    if (!result)
        result = library_check(
            api_convolution_backward_weights(&pick, lib->engine, &forward, transposed, x, w, b, y, window),
            what, err);
    return finish(lib, &forward, &pick, NULL, what, COUNT(args), args, result, err);
}

int library_convolution_backward(struct library *lib, bool transposed, const struct view *src,
                                 const struct view *weights, const struct view *diff_dst,
                                 const struct view *diff_src, const struct view *diff_weights,
                                 const struct view *diff_bias, const struct window *w, struct error *err)
{
    struct api_window window = library_window(w, src->rank - 2);
    struct view unasked = {0};
    if (diff_src && backward_data(lib, transposed, src, weights, diff_dst, diff_src, &window, err))
        return -1;
    if (!diff_weights && !diff_bias)
        return 0;
    if (!diff_weights) { /* the library has no gradient of the bias alone */
        unasked = scratch(weights);
        diff_weights = &unasked;
    }
    int result = backward_weights(lib, transposed, src, diff_dst, diff_weights, diff_bias, &window, err);
    free(unasked.data);
    return result;
}

int library_softmax_backward(struct library *lib, bool logarithm, const struct view *dst,
                             const struct view *diff_dst, const struct view *diff_src, int axis,
                             struct error *err)
{
    static const char what[] = "gradient of softmax";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[] = {{DNNL_ARG_DST, dst, false},
                              {DNNL_ARG_DIFF_DST, diff_dst, false},
                              {DNNL_ARG_DIFF_SRC, diff_src, true}};
    dnnl_alg_kind_t kind = logarithm ? dnnl_softmax_log : dnnl_softmax_accurate;
    const struct md *md = library_describe(lib, dst), *diff = library_describe(lib, diff_src);
    int result = hint(lib, &forward, api_softmax(&forward, lib->engine, kind, md, md, axis), what, err);
    if (!result)
        result = library_check(api_softmax_backward(&pick, lib->engine, &forward, kind, diff, diff, md, axis),
                               what, err);
    return finish(lib, &forward, &pick, NULL, what, COUNT(args), args, result, err);
}

int library_pool_backward(struct library *lib, dnnl_alg_kind_t kind, const struct view *src,
                          const struct view *diff_dst, const struct view *diff_src, const struct window *w,
                          struct error *err)
{
    static const char what[] = "gradient of pooling";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[] = {{DNNL_ARG_DIFF_DST, diff_dst, false}, {DNNL_ARG_DIFF_SRC, diff_src, true}};
    struct api_window window = library_window(w, src->rank - 2);
    const struct md *x = library_describe_channels(lib, src), *y = library_describe_channels(lib, diff_dst);
    dnnl_memory_t workspace = NULL;
    int result = hint(lib, &forward, api_pool(&forward, lib->engine, kind, x, y, &window), what, err);
    if (!result)
        result =
            library_check(api_pool_backward(&pick, lib->engine, &forward, kind, x, y, &window), what, err);
    if (!result)
        result = fill_workspace(lib, &forward, src, diff_dst, &workspace, err);
    return finish(lib, &forward, &pick, workspace, what, COUNT(args), args, result, err);
}

int library_lrn_backward(struct library *lib, const struct view *src, const struct view *diff_dst,
                         const struct view *diff_src, int64_t size, float alpha, float beta, float k,
                         struct error *err)
{
    static const char what[] = "gradient of lrn";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false},
                              {DNNL_ARG_DIFF_DST, diff_dst, false},
                              {DNNL_ARG_DIFF_SRC, diff_src, true}};
    const struct md *data = library_describe_channels(lib, src);
    dnnl_memory_t workspace = NULL;
    int result = hint(lib, &forward, api_lrn(&forward, lib->engine, data, size, alpha, beta, k), what, err);
    if (!result)
        result = library_check(
            api_lrn_backward(&pick, lib->engine, &forward, data, data, size, alpha, beta, k), what, err);
    if (!result)
        result = fill_workspace(lib, &forward, src, diff_dst, &workspace, err);
    return finish(lib, &forward, &pick, workspace, what, COUNT(args), args, result, err);
}

enum { NORMALIZATION_ARGUMENTS = 9 };

static void normalization_arguments(const struct normalization *n, struct argument *args)
{
    const struct argument all[NORMALIZATION_ARGUMENTS] = {{DNNL_ARG_SRC, n->src, false},
                                                          {DNNL_ARG_MEAN, n->mean, false},
                                                          {DNNL_ARG_VARIANCE, n->variance, false},
                                                          {DNNL_ARG_SCALE, n->scale, false},
                                                          {DNNL_ARG_SHIFT, n->shift, false},
                                                          {DNNL_ARG_DIFF_DST, n->diff_dst, false},
                                                          {DNNL_ARG_DIFF_SRC, n->diff_src, true},
                                                          {DNNL_ARG_DIFF_SCALE, n->diff_scale, true},
                                                          {DNNL_ARG_DIFF_SHIFT, n->diff_shift, true}};
    memcpy(args, all, sizeof all);
}

int library_batchnorm_backward(struct library *lib, const struct normalization *n, struct error *err)
{
    static const char what[] = "gradient of batch normalization";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[NORMALIZATION_ARGUMENTS];
    normalization_arguments(n, args);
    unsigned flags = LIBRARY_SCALE_SHIFT | (n->given ? dnnl_use_global_stats : 0U);
    const struct md *data = library_describe_channels(lib, n->src);
    int result =
        hint(lib, &forward, api_batchnorm(&forward, lib->engine, data, n->epsilon, flags), what, err);
    if (!result)
        result = library_check(
            api_batchnorm_backward(&pick, lib->engine, &forward, data, data, n->epsilon, flags), what, err);
    return finish(lib, &forward, &pick, NULL, what, COUNT(args), args, result, err);
}

int library_layernorm_backward(struct library *lib, const struct normalization *n, struct error *err)
{
    static const char what[] = "gradient of layer normalization";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[NORMALIZATION_ARGUMENTS];
    normalization_arguments(n, args);
    const struct md *data = library_describe(lib, n->src), *statistics = library_describe(lib, n->mean);
    int result = hint(lib, &forward,
                      api_layernorm(&forward, lib->engine, data, statistics, n->epsilon, LIBRARY_SCALE_SHIFT),
                      what, err);
    if (!result)
        result = library_check(api_layernorm_backward(&pick, lib->engine, &forward, data, data, statistics,
                                                      n->epsilon, LIBRARY_SCALE_SHIFT),
                               what, err);
    return finish(lib, &forward, &pick, NULL, what, COUNT(args), args, result, err);
}

int library_statistics(struct library *lib, const struct normalization *n, struct error *err)
{
    static const char what[] = "batch normalization";
    struct pick forward = {.training = true}, none = {0};
    struct view out = scratch(n->src);
    struct argument args[] = {{DNNL_ARG_SRC, n->src, false},          {DNNL_ARG_SCALE, n->scale, false},
                              {DNNL_ARG_SHIFT, n->shift, false},      {DNNL_ARG_MEAN, n->mean, true},
                              {DNNL_ARG_VARIANCE, n->variance, true}, {DNNL_ARG_DST, &out, true}};
    int result = library_check(api_batchnorm(&forward, lib->engine, library_describe_channels(lib, n->src),
                                             n->epsilon, LIBRARY_SCALE_SHIFT),
                               what, err);
    result = finish(lib, &none, &forward, NULL, what, COUNT(args), args, result, err);
    free(out.data);
    return result;
}

int library_resampling_backward(struct library *lib, dnnl_alg_kind_t kind, const struct view *diff_dst,
                                const struct view *diff_src, struct error *err)
{
    static const char what[] = "gradient of resampling";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[] = {{DNNL_ARG_DIFF_DST, diff_dst, false}, {DNNL_ARG_DIFF_SRC, diff_src, true}};
    const struct md *x = library_describe_channels(lib, diff_src),
                    *y = library_describe_channels(lib, diff_dst);
    int result = hint(lib, &forward, api_resampling(&forward, lib->engine, kind, NULL, x, y), what, err);
    if (!result)
        result = library_check(api_resampling_backward(&pick, lib->engine, &forward, kind, x, y), what, err);
    return finish(lib, &forward, &pick, NULL, what, COUNT(args), args, result, err);
}

int library_prelu_backward(struct library *lib, const struct view *src, const struct view *slope,
                           const struct view *diff_dst, const struct view *diff_src,
                           const struct view *diff_slope, struct error *err)
{
    static const char what[] = "gradient of prelu";
    struct pick forward = {.training = true}, pick = {0};
    struct argument args[] = {{DNNL_ARG_SRC, src, false},
                              {DNNL_ARG_WEIGHTS, slope, false},
                              {DNNL_ARG_DIFF_DST, diff_dst, false},
                              {DNNL_ARG_DIFF_SRC, diff_src, true},
                              {DNNL_ARG_DIFF_WEIGHTS, diff_slope, true}};
    const struct md *data = library_describe(lib, src), *weights = library_describe(lib, slope);
    int result = hint(lib, &forward, api_prelu(&forward, lib->engine, data, weights), what, err);
    if (!result)
        result = library_check(api_prelu_backward(&pick, lib->engine, &forward, data, weights, data, weights),
                               what, err);
    return finish(lib, &forward, &pick, NULL, what, COUNT(args), args, result, err);
}
