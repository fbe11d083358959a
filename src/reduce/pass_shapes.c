/* Passes over dimensions and ranks. */
#include "base/memory.h"
#include "base/str.h"
#include "reduce/pass.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_AXES = 12, SHAPE_ELEMENTS = 16 };

int pass_slice(struct tensor *part, const struct tensor *from, int axis, int64_t start, int64_t size)
{
    struct shape shape = from->shape;
    size_t element = dtype_size(from->type), outer = 1, inner = 1;
    if (!element)
        return -1;
    for (int i = 0; i < axis; i++)
        outer *= (size_t)shape.dims[i];
    for (int i = axis + 1; i < shape.rank; i++)
        inner *= (size_t)shape.dims[i];
    size_t row = inner * element, whole = row * (size_t)shape.dims[axis];
    shape.dims[axis] = size;
    if (tensor_alloc(part, from->type, &shape, 0, NULL))
        return -1;
    for (size_t i = 0; i < outer && row; i++)
        memcpy((uint8_t *)part->data + i * row * (size_t)size,
               (const uint8_t *)from->data + i * whole + row * (size_t)start, row * (size_t)size);
    return 0;
}

/*
 * Shrinking. ALL: every axis of that size, and every number in small integer leaves and list attributes that
 * is that size (the target of a Reshape, a kernel); AXES: the axes alone; PAIR and ONE: two axes, one axis.
 * `c` tells from which end is kept.
 */
enum { SHRINK_ALL, SHRINK_AXES, SHRINK_PAIR, SHRINK_ONE };

struct axis {
    size_t leaf;
    int axis;
    int64_t size;
};

static size_t list_axes(const struct subject *subject, struct axis **axes)
{
    size_t count = 0, capacity = 0;
    *axes = NULL;
    for (size_t i = 0; i < subject_leaves(subject); i++) {
        struct tensor tensor;
        if (subject_leaf(subject, i, &tensor))
            continue;
        for (int k = 0; k < tensor.shape.rank; k++) {
            if (tensor.shape.dims[k] < 2)
                continue;
            *axes = memory_grow(*axes, &capacity, count + 1, sizeof **axes);
            (*axes)[count++] = (struct axis){i, k, tensor.shape.dims[k]};
        }
        tensor_release(&tensor);
    }
    return count;
}

static size_t targets_of(int64_t size, int64_t targets[4])
{
    const int64_t wanted[4] = {1, 2, (size + 1) / 2, size - 1};
    size_t count = 0;
    for (int i = 0; i < 4; i++)
        if (wanted[i] < size && (!count || wanted[i] > targets[count - 1]))
            targets[count++] = wanted[i];
    return count;
}

static void add_ends(struct edits *edits, struct edit edit)
{
    edit.c = 0;
    edits_add(edits, edit);
    edit.c = 1;
    edits_add(edits, edit);
}

/* a and b: numbers in the list of axes. */
static void list_together(struct edits *edits, const struct axis *axes, size_t count, size_t i)
{
    int64_t targets[4];
    size_t n = targets_of(axes[i].size, targets);
    bool first = true;
    for (size_t k = 0; k < i; k++)
        first = first && axes[k].size != axes[i].size;
    for (size_t t = 0; t < n && first; t++)
        for (int kind = SHRINK_ALL; kind <= SHRINK_AXES; kind++)
            add_ends(edits, (struct edit){.kind = kind, .from = axes[i].size, .to = targets[t]});
    for (size_t t = 0; t < n && count <= FEW_AXES; t++)
        for (size_t k = i + 1; k < count; k++)
            if (axes[k].size == axes[i].size)
                add_ends(edits,
                         (struct edit){
                             .kind = SHRINK_PAIR, .a = i, .b = k, .from = axes[i].size, .to = targets[t]});
}

static void list_shrink(const struct subject *subject, const struct record *record, struct edits *edits)
{
    struct axis *axes;
    size_t count = list_axes(subject, &axes);
    (void)record;
    for (size_t i = 0; i < count; i++)
        list_together(edits, axes, count, i);
    for (size_t i = 0; i < count; i++) {
        int64_t targets[4];
        size_t n = targets_of(axes[i].size, targets);
        for (size_t t = 0; t < n; t++)
            add_ends(edits,
                     (struct edit){.kind = SHRINK_ONE, .a = i, .from = axes[i].size, .to = targets[t]});
    }
    free(axes);
}

static int shrink_axis(struct subject *copy, size_t leaf, int axis, const struct edit *edit)
{
    struct tensor whole, part;
    if (subject_leaf(copy, leaf, &whole))
        return 1;
    int status = axis < whole.shape.rank && whole.shape.dims[axis] == edit->from
                     ? pass_slice(&part, &whole, axis, edit->c ? edit->from - edit->to : 0, edit->to)
                     : -1;
    tensor_release(&whole);
    if (status)
        return 1;
    subject_set_leaf(copy, leaf, &part);
    tensor_release(&part);
    return 0;
}

/* The numbers in a small integer leaf that are this size. */
static void replace_numbers(struct subject *copy, size_t leaf, const struct edit *edit)
{
    struct tensor tensor;
    if (subject_leaf(copy, leaf, &tensor))
        return;
    if ((tensor.type == DTYPE_INT64 || tensor.type == DTYPE_INT32) && tensor.shape.rank <= 1 &&
        tensor.count <= SHAPE_ELEMENTS) {
        for (size_t i = 0; i < tensor.count; i++)
            if (tensor_get(&tensor, i) == (long double)edit->from)
                tensor_set(&tensor, i, (long double)edit->to);
        subject_set_leaf(copy, leaf, &tensor);
    }
    tensor_release(&tensor);
}

static int replace_ints(void *context, Onnx__NodeProto *node)
{
    const struct edit *edit = context;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const char *name = node->attribute[i]->name;
        bool sizes = text_equal(name, "kernel_shape") || text_equal(name, "shape") ||
                     text_equal(name, "output_shape") || text_equal(name, "split") ||
                     text_equal(name, "value_ints") || text_equal(name, "hidden_size") ||
                     text_equal(name, "group");
        for (size_t k = 0; sizes && k < node->attribute[i]->n_ints; k++)
            if (node->attribute[i]->ints[k] == edit->from)
                node->attribute[i]->ints[k] = edit->to;
        if (sizes && node->attribute[i]->i == edit->from)
            node->attribute[i]->i = edit->to;
    }
    return 0;
}

/* A kernel follows its weights: kernel_shape[axis - 2] of nodes that use the leaf second. */
static void follow_kernel(struct subject *copy, const char *name, int axis, const struct edit *edit)
{
    const Onnx__GraphProto *graph = copy->model->graph;
    for (size_t n = 0; n < graph->n_node; n++) {
        Onnx__NodeProto *node = graph->node[n];
        if (node->n_input < 2 || !text_equal(node->input[1], name))
            continue;
        for (size_t i = 0; i < node->n_attribute; i++)
            if (text_equal(node->attribute[i]->name, "kernel_shape") && axis >= 2 &&
                (size_t)(axis - 2) < node->attribute[i]->n_ints)
                node->attribute[i]->ints[axis - 2] = edit->to;
    }
}

static int shrink_some(struct subject *copy, const struct axis *axes, size_t count, const struct edit *edit)
{
    if (edit->a >= count || edit->b >= count)
        return 1;
    for (int i = 0; i < (edit->kind == SHRINK_PAIR ? 2 : 1); i++) {
        const struct axis *axis = &axes[i ? edit->b : edit->a];
        if (shrink_axis(copy, axis->leaf, axis->axis, edit))
            return 1;
        follow_kernel(copy, subject_leaf_name(copy, axis->leaf), axis->axis, edit);
    }
    return 0;
}

static int apply_shrink(struct subject *copy, const struct record *record, const struct edit *edit)
{
    struct axis *axes;
    size_t count = list_axes(copy, &axes);
    int status = 0;
    (void)record;
    if (edit->kind >= SHRINK_PAIR) {
        status = shrink_some(copy, axes, count, edit);
    } else {
        for (size_t i = 0; i < count && !status; i++)
            if (axes[i].size == edit->from)
                status = shrink_axis(copy, axes[i].leaf, axes[i].axis, edit);
        for (size_t i = 0; i < subject_leaves(copy) && edit->kind == SHRINK_ALL; i++)
            replace_numbers(copy, i, edit);
        if (edit->kind == SHRINK_ALL)
            model_each_node(copy->model->graph, replace_ints, (void *)(uintptr_t)edit);
    }
    free(axes);
    return status;
}

const struct pass pass_shrink = {"shrink", list_shrink, apply_shrink};

/* Axes of size 1: of all leaves of one rank, or of one leaf. */
enum { RANK_ALL, RANK_ONE };

static void list_rank(const struct subject *subject, const struct record *record, struct edits *edits)
{
    (void)record;
    for (int kind = RANK_ALL; kind <= RANK_ONE; kind++)
        for (size_t i = 0; i < subject_leaves(subject); i++) {
            struct tensor tensor;
            if (subject_leaf(subject, i, &tensor))
                continue;
            for (int k = 0; k < tensor.shape.rank; k++)
                if (tensor.shape.dims[k] == 1)
                    edits_add(edits,
                              (struct edit){.kind = kind, .a = i, .b = (size_t)k, .from = tensor.shape.rank});
            tensor_release(&tensor);
        }
}

static bool drop_axis(struct subject *copy, size_t leaf, int axis, int rank)
{
    struct tensor tensor;
    if (subject_leaf(copy, leaf, &tensor))
        return false;
    bool fits = tensor.shape.rank == rank && axis < rank && tensor.shape.dims[axis] == 1;
    if (fits) {
        tensor.shape.rank--;
        memmove(tensor.shape.dims + axis, tensor.shape.dims + axis + 1,
                (size_t)(rank - 1 - axis) * sizeof *tensor.shape.dims);
        subject_set_leaf(copy, leaf, &tensor);
    }
    tensor_release(&tensor);
    return fits;
}

static int apply_rank(struct subject *copy, const struct record *record, const struct edit *edit)
{
    (void)record;
    bool any = false;
    for (size_t i = 0; i < subject_leaves(copy); i++)
        if (edit->kind == RANK_ALL || i == edit->a)
            any |= drop_axis(copy, i, (int)edit->b, (int)edit->from);
    return any ? 0 : 1;
}

const struct pass pass_rank = {"rank", list_rank, apply_rank};
