/* What moves elements: layout, slices, joining, padding. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

static const char *shape_list(struct emit *e, const struct shape *shape)
{
    return emit_ints(e, shape->dims, (size_t)shape->rank);
}

static int64_t count_of(const struct shape *shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= shape->dims[i];
    return count;
}

static int write_concat(struct emit *e)
{
    int64_t axis;
    if (emit_axis(e, emit_attr(e, "axis", e->opset < 4 ? 1 : 0), emit_shape(e, 0)->rank, &axis) < 0)
        return -1;
    struct str list;
    str_init(&list);
    for (size_t i = 0; i < e->n_inputs; i++)
        str_printf(&list, "%s%s", i ? ", " : "", emit_in(e, i));
    emit_out(e, 0, "torch.cat([%s], %" PRId64 ")", list.data, axis);
    str_release(&list);
    return 0;
}

static int write_expand(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t wanted[TENSOR_MAX_RANK];
    size_t count;
    if (emit_list(e, 1, wanted, TENSOR_MAX_RANK, &count) < 0)
        return -1;
    struct shape shape = {.rank = (int)count > x->rank ? (int)count : x->rank};
    for (int i = 1; i <= shape.rank; i++) {
        int64_t a = i <= x->rank ? x->dims[x->rank - i] : 1, b = i <= (int)count ? wanted[(int)count - i] : 1;
        if (a != b && a != 1 && b != 1)
            return emit_invalid(e, "%" PRId64 " to %" PRId64, a, b);
        shape.dims[shape.rank - i] = a == 1 ? b : a;
    }
    return emit_out(e, 0, "%s.expand(%s)", emit_in(e, 0), shape_list(e, &shape));
}

static int write_flatten(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t axis = emit_attr(e, "axis", 1), dims[2] = {1, 1};
    if (axis != x->rank && emit_axis(e, axis, x->rank, &axis) < 0)
        return -1;
    for (int i = 0; i < x->rank; i++)
        dims[i >= axis] *= x->dims[i];
    return emit_out(e, 0, "torch.reshape(%s, %s)", emit_in(e, 0), emit_ints(e, dims, 2));
}

static int write_reshape(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0);
    const int64_t *given;
    int64_t dims[TENSOR_MAX_RANK], known = 1;
    size_t count;
    int open = -1;
    bool keep_zero = emit_attr(e, "allowzero", 0) != 0;
    if (node_ints(e->node, "shape", &given, &count) && count <= TENSOR_MAX_RANK)
        memcpy(dims, given, count * sizeof *dims);
    else if (emit_list(e, 1, dims, TENSOR_MAX_RANK, &count) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (dims[i] == 0 && !keep_zero) {
            if ((int)i >= x->rank)
                return emit_invalid(e, "0 beyond the input's rank");
            dims[i] = x->dims[i];
        }
        if (dims[i] == -1)
            open = (int)i;
        else
            known *= dims[i];
    }
    if (open >= 0) {
        if (known == 0)
            return emit_invalid(e, "-1 beside 0");
        dims[open] = count_of(x) / known;
    }
    return emit_out(e, 0, "torch.reshape(%s, %s)", emit_in(e, 0), emit_ints(e, dims, count));
}

static int write_squeeze(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0);
    int64_t axes[TENSOR_MAX_RANK];
    size_t count;
    if (emit_axes(e, 1, x->rank, axes, &count) < 0)
        return -1;
    for (int i = 0; i < x->rank && !emit_has(e, 1) && !node_attribute(e->node, "axes"); i++)
        if (x->dims[i] == 1)
            axes[count++] = i;
    const char *result = emit_in(e, 0);
    for (size_t i = count; i-- > 0;) {
        if (x->dims[axes[i]] != 1)
            return emit_invalid(e, "a dim of %" PRId64, x->dims[axes[i]]);
        result = emit_let(e, "torch.squeeze(%s, %" PRId64 ")", result, axes[i]);
    }
    return emit_out(e, 0, "%s", result);
}

static int write_unsqueeze(struct emit *e)
{
    int64_t axes[TENSOR_MAX_RANK];
    size_t count;
    const int64_t *given;
    int64_t raw[TENSOR_MAX_RANK];
    if (!node_ints(e->node, "axes", &given, &count) && emit_list(e, 1, raw, TENSOR_MAX_RANK, &count) < 0)
        return -1;
    if (emit_axes(e, 1, emit_shape(e, 0)->rank + (int)count, axes, &count) < 0)
        return -1;
    const char *result = emit_in(e, 0);
    for (size_t i = 0; i < count; i++)
        result = emit_let(e, "torch.unsqueeze(%s, %" PRId64 ")", result, axes[i]);
    return emit_out(e, 0, "%s", result);
}

static int write_tile(struct emit *e)
{
    int64_t repeats[TENSOR_MAX_RANK];
    size_t count;
    if (emit_list(e, 1, repeats, TENSOR_MAX_RANK, &count) < 0)
        return -1;
    if ((int)count != emit_shape(e, 0)->rank)
        return emit_invalid(e, "%zu repeats", count);
    return emit_out(e, 0, "%s.repeat(%s)", emit_in(e, 0), emit_ints(e, repeats, count));
}

static int write_transpose(struct emit *e)
{
    int rank = emit_shape(e, 0)->rank;
    int64_t perm[TENSOR_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = rank - 1 - i;
    if (emit_attr_list(e, "perm", perm, (size_t)rank) < 0)
        return -1;
    return emit_out(e, 0, "%s.permute(%s)", emit_in(e, 0), emit_ints(e, perm, (size_t)rank));
}

static int write_trilu(struct emit *e)
{
    long double k = 0;
    if (emit_has(e, 1) && emit_scalar_value(e, 1, &k) < 0)
        return -1;
    return emit_out(e, 0, "torch.%s(%s, %" PRId64 ")", emit_attr(e, "upper", 1) ? "triu" : "tril",
                    emit_in(e, 0), (int64_t)k);
}

/* ---- Slice ---- */

struct cut {
    size_t count;
    int64_t start[TENSOR_MAX_RANK], end[TENSOR_MAX_RANK], axis[TENSOR_MAX_RANK], step[TENSOR_MAX_RANK];
};

static int read_part(struct emit *e, size_t input, const char *name, int64_t *values, size_t *count)
{
    const int64_t *given;
    *count = 0;
    if (emit_has(e, input))
        return emit_list(e, input, values, TENSOR_MAX_RANK, count);
    if (node_ints(e->node, name, &given, count)) {
        if (*count > TENSOR_MAX_RANK)
            return emit_invalid(e, "%zu %s", *count, name);
        memcpy(values, given, *count * sizeof *given);
    }
    return 0;
}

static int read_cut(struct emit *e, struct cut *c)
{
    int rank = emit_shape(e, 0)->rank;
    size_t ends, axes, steps;
    if (read_part(e, 1, "starts", c->start, &c->count) < 0 || read_part(e, 2, "ends", c->end, &ends) < 0 ||
        read_part(e, 3, "axes", c->axis, &axes) < 0 || read_part(e, 4, "steps", c->step, &steps) < 0)
        return -1;
    if (ends != c->count || (axes && axes != c->count) || (steps && steps != c->count) ||
        c->count > (size_t)rank)
        return emit_invalid(e, "lists of different lengths");
    for (size_t i = 0; i < c->count; i++) {
        if (emit_axis(e, axes ? c->axis[i] : (int64_t)i, rank, &c->axis[i]) < 0)
            return -1;
        if (!steps)
            c->step[i] = 1;
        if (c->step[i] == 0)
            return emit_invalid(e, "a step of 0");
    }
    return 0;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static int64_t from_end(int64_t value, int64_t size)
{
    return value < 0 ? value + size : value;
}

/* Backwards the library cannot slice: by an index. */
static const char *slice_back(struct emit *e, const char *x, int64_t axis, int64_t size, int64_t start,
                              int64_t end, int64_t step)
{
    start = clamp(from_end(start, size), 0, size - 1);
    end = clamp(from_end(end, size), -1, size - 1);
    int64_t limit = size ? size : 1;
    if (step < -limit)
        step = -limit;
    int64_t count = start > end && size > 0 ? (start - end - step - 1) / -step : 0;
    const char *index = emit_let(
        e, "torch.add(torch.mul(torch.arange(%" PRId64 "), %" PRId64 "), %" PRId64 ")", count, step, start);
    return emit_let(e, "torch.index_select(%s, %" PRId64 ", %s)", x, axis, index);
}

static int write_slice(struct emit *e)
{
    struct cut c;
    const char *x = emit_in(e, 0);
    if (read_cut(e, &c) < 0)
        return -1;
    for (size_t i = 0; i < c.count; i++) {
        int64_t size = emit_shape(e, 0)->dims[c.axis[i]];
        if (c.step[i] < 0) {
            x = slice_back(e, x, c.axis[i], size, c.start[i], c.end[i], c.step[i]);
            continue;
        }
        int64_t start = clamp(from_end(c.start[i], size), 0, size);
        int64_t end = clamp(from_end(c.end[i], size), 0, size);
        x = emit_let(e, "torch.slice(%s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ")", x, c.axis[i],
                     start, end, c.step[i]);
    }
    return emit_out(e, 0, "%s", x);
}

static int write_split(struct emit *e)
{
    int64_t axis, sizes[256];
    size_t count = 0;
    const int64_t *given;
    if (emit_axis(e, emit_attr(e, "axis", 0), emit_shape(e, 0)->rank, &axis) < 0)
        return -1;
    int64_t size = emit_shape(e, 0)->dims[axis];
    if (emit_has(e, 1)) {
        if (emit_list(e, 1, sizes, 256, &count) < 0)
            return -1;
    } else if (node_ints(e->node, "split", &given, &count)) {
        if (count > 256)
            return emit_unsupported(e, "%zu parts", count);
        memcpy(sizes, given, count * sizeof *sizes);
    }
    if (count == 0) { /* all alike, the last one perhaps smaller */
        count = e->n_outputs;
        if (count == 0 || count > 256)
            return emit_unsupported(e, "%zu parts", count);
        int64_t n = (int64_t)count, part = (size + n - 1) / n;
        for (size_t i = 0; i < count; i++)
            sizes[i] = clamp(size - part * (int64_t)i, 0, part);
    }
    const char *parts = emit_let(e, "torch.split_with_sizes(%s, %s, %" PRId64 ")", emit_in(e, 0),
                                 emit_ints(e, sizes, count), axis);
    if (count != e->n_outputs)
        return emit_invalid(e, "%zu parts for %zu outputs", count, e->n_outputs);
    for (size_t i = 0; i < count; i++)
        emit_out(e, i, "%s[%zu]", parts, i);
    return 0;
}

/* ---- blocks of pixels ---- */

static int read_block(struct emit *e, int64_t *block)
{
    *block = emit_attr(e, "blocksize", 0);
    if (emit_shape(e, 0)->rank != 4 || *block < 1)
        return emit_invalid(e, "blocks of %" PRId64 ", rank %d", *block, emit_shape(e, 0)->rank);
    return 0;
}

static int write_depth_to_space(struct emit *e)
{
    int64_t b, area;
    const struct shape *x = emit_shape(e, 0);
    if (read_block(e, &b) < 0)
        return -1;
    if (emit_word(e, "mode", "CRD", "DCR"))
        return emit_out(e, 0, "torch.pixel_shuffle(%s, %" PRId64 ")", emit_in(e, 0), b);
    if (__builtin_mul_overflow(b, b, &area) || x->dims[1] % area)
        return emit_invalid(e, "%" PRId64 " channels in blocks of %" PRId64, x->dims[1], b);
    int64_t n = x->dims[0], c = x->dims[1] / area, h = x->dims[2], w = x->dims[3];
    int64_t split[6] = {n, b, b, c, h, w}, joined[4] = {n, c, h * b, w * b};
    return emit_out(e, 0, "torch.reshape(torch.reshape(%s, %s).permute([0, 3, 4, 1, 5, 2]), %s)",
                    emit_in(e, 0), emit_ints(e, split, 6), emit_ints(e, joined, 4));
}

static int write_space_to_depth(struct emit *e)
{
    int64_t b;
    const struct shape *x = emit_shape(e, 0);
    if (read_block(e, &b) < 0)
        return -1;
    if (b > 1 << 20 || x->dims[2] % b || x->dims[3] % b)
        return emit_invalid(e, "%" PRId64 " x %" PRId64 " pixels in blocks of %" PRId64, x->dims[2],
                            x->dims[3], b);
    int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2] / b, w = x->dims[3] / b;
    int64_t split[6] = {n, c, h, b, w, b}, joined[4] = {n, c * b * b, h, w};
    return emit_out(e, 0, "torch.reshape(torch.reshape(%s, %s).permute([0, 3, 5, 1, 2, 4]), %s)",
                    emit_in(e, 0), emit_ints(e, split, 6), emit_ints(e, joined, 4));
}

/* ---- Pad ---- */

struct padding {
    int rank;
    int64_t begin[TENSOR_MAX_RANK], end[TENSOR_MAX_RANK];
};

static int read_padding(struct emit *e, struct padding *p)
{
    const int64_t *given;
    int64_t pads[2 * TENSOR_MAX_RANK], axes[TENSOR_MAX_RANK];
    size_t count, n_axes = 0;
    *p = (struct padding){.rank = emit_shape(e, 0)->rank};
    if (node_ints(e->node, "pads", &given, &count) && count <= 2 * TENSOR_MAX_RANK)
        memcpy(pads, given, count * sizeof *pads);
    else if (emit_list(e, 1, pads, 2 * TENSOR_MAX_RANK, &count) < 0)
        return -1;
    if (emit_has(e, 3)) {
        if (emit_list(e, 3, axes, TENSOR_MAX_RANK, &n_axes) < 0)
            return -1;
    } else {
        for (n_axes = 0; n_axes < (size_t)p->rank; n_axes++)
            axes[n_axes] = (int64_t)n_axes;
    }
    if (count != 2 * n_axes)
        return emit_invalid(e, "%zu pads", count);
    for (size_t i = 0; i < n_axes; i++) {
        int64_t axis;
        if (emit_axis(e, axes[i], p->rank, &axis) < 0)
            return -1;
        p->begin[axis] = pads[i];
        p->end[axis] = pads[i + n_axes];
    }
    return 0;
}

/* The library counts from the last axis. */
static const char *reversed(struct emit *e, const struct padding *p, int axes)
{
    int64_t list[2 * TENSOR_MAX_RANK];
    for (int i = 0; i < axes; i++) {
        list[2 * i] = p->begin[p->rank - 1 - i];
        list[2 * i + 1] = p->end[p->rank - 1 - i];
    }
    return emit_ints(e, list, (size_t)axes * 2);
}

static int pad_constant(struct emit *e, const struct padding *p)
{
    long double value = (long double)node_float(e->node, "value", 0);
    if (emit_has(e, 2) && emit_scalar_value(e, 2, &value) < 0)
        return -1;
    return emit_out(e, 0, "torch.constant_pad_nd(%s, %s, %s)", emit_in(e, 0), reversed(e, p, p->rank),
                    emit_number(e, emit_type(e, 0), value));
}

/* Where the library has a kernel: the last 1 to 3 axes of a tensor with two more. */
static bool has_kernel(const struct emit *e, const struct padding *p)
{
    int axes = p->rank - 2;
    if (axes < 1 || axes > 3 || !emit_is_float(e, 0))
        return false;
    for (int i = 0; i < p->rank; i++)
        if (p->begin[i] < 0 || p->end[i] < 0 || (i < 2 && (p->begin[i] || p->end[i])))
            return false;
    return true;
}

enum { PAD_EDGE, PAD_REFLECT, PAD_WRAP };

static int64_t source_of(int64_t at, int64_t size, int mode)
{
    int64_t period = size > 1 ? 2 * size - 2 : 1;
    if (mode == PAD_EDGE)
        return clamp(at, 0, size - 1);
    if (mode == PAD_WRAP)
        return (at % size + size) % size;
    at = (at % period + period) % period;
    return at < size ? at : period - at;
}

static int pad_index(struct emit *e, const struct padding *p, int mode)
{
    const char *x = emit_in(e, 0);
    for (int i = 0; i < p->rank; i++) {
        int64_t size = emit_shape(e, 0)->dims[i], count = size + p->begin[i] + p->end[i];
        struct tensor index;
        struct shape shape = {1, {count}};
        if (p->begin[i] == 0 && p->end[i] == 0)
            continue;
        /* Negative pads cut before the rest is reflected or continued: said nowhere. */
        if (p->begin[i] < 0 || p->end[i] < 0)
            return emit_unsupported(e, "negative pads");
        if (size == 0 || (mode == PAD_REFLECT && (p->begin[i] >= size || p->end[i] >= size)))
            return emit_unsupported(e, "pads beyond the input");
        if (tensor_alloc(&index, DTYPE_INT64, &shape, (size_t)1 << 28, e->err) < 0)
            return -1;
        for (int64_t k = 0; k < count; k++)
            ((int64_t *)index.data)[k] = source_of(k - p->begin[i], size, mode);
        const char *name = e->constant(e->context, &index, e->err);
        if (!name)
            return -1;
        x = emit_let(e, "torch.index_select(%s, %d, %s)", x, i, name);
    }
    return emit_out(e, 0, "%s", x);
}

static int write_pad(struct emit *e)
{
    struct padding p;
    if (read_padding(e, &p) < 0)
        return -1;
    if (emit_word(e, "mode", "constant", "constant"))
        return pad_constant(e, &p);
    bool edge = emit_word(e, "mode", "edge", ""), reflect = emit_word(e, "mode", "reflect", "");
    if ((edge || reflect) && has_kernel(e, &p))
        return emit_out(e, 0, "torch.%s_pad%dd(%s, %s)", edge ? "replication" : "reflection", p.rank - 2,
                        emit_in(e, 0), reversed(e, &p, p.rank - 2));
    if (edge || reflect || emit_word(e, "mode", "wrap", ""))
        return pad_index(e, &p, edge ? PAD_EDGE : reflect ? PAD_REFLECT : PAD_WRAP);
    return emit_invalid(e, "an unknown mode");
}

const struct emit_op emit_move[] = {
    {.name = "Concat", .write = write_concat},
    {.name = "DepthToSpace", .write = write_depth_to_space},
    {.name = "Expand", .write = write_expand},
    {.name = "Flatten", .write = write_flatten},
    {.name = "Pad", .write = write_pad},
    {.name = "Reshape", .write = write_reshape},
    {.name = "Slice", .write = write_slice},
    {.name = "SpaceToDepth", .write = write_space_to_depth},
    {.name = "Split", .write = write_split},
    {.name = "Squeeze", .write = write_squeeze},
    {.name = "Tile", .write = write_tile},
    {.name = "Transpose", .write = write_transpose},
    {.name = "Trilu", .write = write_trilu},
    {.name = "Unsqueeze", .write = write_unsqueeze},
    {.name = NULL},
};
