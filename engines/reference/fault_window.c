#include "fault_window.h"

#include <string.h>

static int64_t at_or(const int64_t *values, size_t count, size_t index, int64_t otherwise)
{
    return index < count ? values[index] : otherwise;
}

int windows_of(const struct op_call *call, struct window windows[TENSOR_MAX_RANK])
{
    const struct bounded *x = call_input(call, 0), *w = call_input(call, 1);
    if (!x || x->shape.rank < 3)
        return 0;
    int spatial = x->shape.rank - 2;
    size_t n_kernel, n_strides, n_dilations, n_pads;
    const int64_t *kernel = call_ints(call, "kernel_shape", &n_kernel),
                  *strides = call_ints(call, "strides", &n_strides),
                  *dilations = call_ints(call, "dilations", &n_dilations),
                  *pads = call_ints(call, "pads", &n_pads);
    for (int i = 0; i < spatial; i++) {
        size_t n = (size_t)i;
        int64_t from_weights = w && w->shape.rank == x->shape.rank ? w->shape.dims[i + 2] : 1;
        windows[i] = (struct window){
            .input = x->shape.dims[i + 2],
            .kernel = at_or(kernel, n_kernel, n, from_weights),
            .stride = at_or(strides, n_strides, n, 1),
            .dilation = at_or(dilations, n_dilations, n, 1),
            .pad_low = at_or(pads, n_pads, n, 0),
            .pad_high = at_or(pads, n_pads, n + (size_t)spatial, 0),
        };
    }
    return spatial;
}

int64_t window_same_total(const struct window *window)
{
    if (window->stride < 1)
        return 0;
    int64_t out = (window->input + window->stride - 1) / window->stride;
    int64_t total = (out - 1) * window->stride + (window->kernel - 1) * window->dilation + 1 - window->input;
    return total > 0 ? total : 0;
}
