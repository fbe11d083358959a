/* By index: gather, scatter, one-hot, non-zero. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

static int read_axis(struct emit *e, int64_t *axis)
{
    return emit_axis(e, emit_attr(e, "axis", 0), emit_shape(e, 0)->rank, axis);
}

static int write_gather(struct emit *e)
{
    const struct shape *x = emit_shape(e, 0), *index = emit_shape(e, 1);
    int64_t axis, dims[2 * TENSOR_MAX_RANK];
    size_t rank = 0;
    if (read_axis(e, &axis) < 0)
        return -1;
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            dims[rank++] = x->dims[i];
        for (int k = 0; i == axis && k < index->rank; k++)
            dims[rank++] = index->dims[k];
    }
    const char *flat = emit_let(e, "torch.reshape(%s, [-1])", emit_index(e, 1, x->dims[axis]));
    return emit_out(e, 0, "torch.reshape(torch.index_select(%s, %" PRId64 ", %s), %s)", emit_in(e, 0), axis,
                    flat, emit_ints(e, dims, rank));
}

static int write_gather_elements(struct emit *e)
{
    int64_t axis;
    if (read_axis(e, &axis) < 0)
        return -1;
    return emit_out(e, 0, "torch.gather(%s, %" PRId64 ", %s)", emit_in(e, 0), axis,
                    emit_index(e, 1, emit_shape(e, 0)->dims[axis]));
}

/* The last axis of the index tensor, cut up: one tensor for each axis of x, those of the batch first. */
static const char *index_list(struct emit *e, size_t input, int64_t batch)
{
    const struct shape *index = emit_shape(e, input);
    int64_t depth = index->dims[index->rank - 1], dims[TENSOR_MAX_RANK];
    const char *whole = emit_let(e, "torch.to(%s, %d)", emit_in(e, input), face_scalar_type(DTYPE_INT64));
    struct str list;
    str_init(&list);
    for (int64_t b = 0; b < batch; b++) {
        for (int i = 0; i < index->rank - 1; i++)
            dims[i] = i == b ? index->dims[i] : 1;
        str_printf(&list, "%storch.reshape(torch.arange(%" PRId64 "), %s)", b ? ", " : "", index->dims[b],
                   emit_ints(e, dims, (size_t)index->rank - 1));
    }
    for (int64_t i = 0; i < depth; i++)
        str_printf(&list, "%storch.select(%s, -1, %" PRId64 ")", batch + i ? ", " : "", whole, i);
    const char *text = emit_text(e, "t%zu_list", e->number);
    emit_line(e, "%s : List[Optional[Tensor]] = [%s]", text, list.data);
    str_release(&list);
    return text;
}

static int check_nd(struct emit *e, int64_t batch)
{
    const struct shape *x = emit_shape(e, 0), *index = emit_shape(e, 1);
    if (index->rank < 1 || batch < 0 || batch >= index->rank || batch >= x->rank)
        return emit_invalid(e, "batch_dims %" PRId64, batch);
    int64_t depth = index->dims[index->rank - 1];
    if (depth < 1 || depth + batch > x->rank)
        return emit_invalid(e, "indices of depth %" PRId64, depth);
    return 0;
}

static int write_gather_nd(struct emit *e)
{
    int64_t batch = emit_attr(e, "batch_dims", 0);
    if (check_nd(e, batch) < 0)
        return -1;
    return emit_out(e, 0, "torch.index(%s, %s)", emit_in(e, 0), index_list(e, 1, batch));
}

static int write_scatter_elements(struct emit *e)
{
    int64_t axis;
    if (read_axis(e, &axis) < 0)
        return -1;
    const char *index = emit_index(e, 1, emit_shape(e, 0)->dims[axis]), *x = emit_in(e, 0),
               *u = emit_in(e, 2);
    if (emit_word(e, "reduction", "none", "none"))
        return emit_out(e, 0, "torch.scatter(%s, %" PRId64 ", %s, %s)", x, axis, index, u);
    if (emit_word(e, "reduction", "add", "none"))
        return emit_out(e, 0, "torch.scatter_add(%s, %" PRId64 ", %s, %s)", x, axis, index, u);
    if (emit_word(e, "reduction", "mul", "none"))
        return emit_out(e, 0, "torch.scatter(%s, %" PRId64 ", %s, %s, reduce='multiply')", x, axis, index, u);
    bool max = emit_word(e, "reduction", "max", "none");
    if (max || emit_word(e, "reduction", "min", "none"))
        return emit_out(e, 0, "torch.scatter_reduce(%s, %" PRId64 ", %s, %s, 'a%s')", x, axis, index, u,
                        max ? "max" : "min");
    return emit_invalid(e, "an unknown reduction");
}

static int write_scatter_nd(struct emit *e)
{
    bool add = emit_word(e, "reduction", "add", "none");
    if (!add && !emit_word(e, "reduction", "none", "none"))
        return emit_unsupported(e, "this reduction");
    if (check_nd(e, 0) < 0)
        return -1;
    return emit_out(e, 0, "torch.index_put(%s, %s, %s, %s)", emit_in(e, 0), index_list(e, 1, 0),
                    emit_in(e, 2), add ? "True" : "False");
}

/* Indices outside of [-depth, depth) are at no place: all off. */
static int write_one_hot(struct emit *e)
{
    long double depth_value;
    int64_t axis;
    int rank = emit_shape(e, 0)->rank + 1;
    if (emit_scalar_value(e, 1, &depth_value) < 0 || emit_axis(e, emit_attr(e, "axis", -1), rank, &axis) < 0)
        return -1;
    int64_t depth = (int64_t)depth_value, dims[TENSOR_MAX_RANK];
    if (rank > TENSOR_MAX_RANK || depth < 0 || depth > 1 << 24)
        return emit_unsupported(e, "depth %" PRId64, depth);
    for (int i = 0; i < rank; i++)
        dims[i] = i == axis ? depth : 1;
    const char *index = emit_let(e, "torch.unsqueeze(%s, %" PRId64 ")", emit_index(e, 0, depth), axis);
    const char *on = emit_let(e, "torch.eq(%s, torch.reshape(torch.arange(%" PRId64 "), %s))", index, depth,
                              emit_ints(e, dims, (size_t)rank));
    return emit_out(e, 0, "torch.where(%s, torch.select(%s, 0, 1), torch.select(%s, 0, 0))", on,
                    emit_in(e, 2), emit_in(e, 2));
}

const struct emit_op emit_gather[] = {
    {.name = "Gather", .write = write_gather},
    {.name = "GatherElements", .write = write_gather_elements},
    {.name = "GatherND", .write = write_gather_nd},
    {.name = "NonZero", .form = "torch.transpose(torch.nonzero($0), 0, 1)", .flags = EMIT_DATA_SHAPE},
    {.name = "OneHot", .write = write_one_hot},
    {.name = "ScatterElements", .write = write_scatter_elements},
    {.name = "ScatterND", .write = write_scatter_nd},
    {.name = NULL},
};
