#include "search/refit.h"

#include "base/memory.h"
#include "eval/evaluate.h"
#include "model/edit.h"
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIT_PLACES = 14,     /* sizes that may change at one node */
    FIT_CHOICES = 12,    /* new sizes for one of them */
    FIT_RATIOS = 12,     /* proportions that are tried */
    FIT_TRIES = 20000,   /* questions to the shape rule of one node */
    FIT_LIST = 8,        /* numbers of a constant list that may be changed */
    FIT_WEIGHT = 1 << 22 /* elements of a new weight */
};

struct ratio {
    int64_t from, to;
};

/* A size of a weight, or a number of a constant list. */
struct place {
    size_t input;
    int axis;
    bool in_list;
    int64_t was;
    size_t n_choices;
    int64_t choices[FIT_CHOICES];
};

/* A node that does not take its inputs, and the sizes that are tried. */
struct fit {
    const struct rewrite *work;
    const Onnx__NodeProto *node;
    const struct value_types *before;
    size_t n_inputs;
    const struct bounded **inputs;
    struct bounded *copies; /* of the constant inputs: what is tried; the others are not set */
    size_t n_places, n_ratios, tries;
    struct place places[FIT_PLACES];
    struct ratio ratios[FIT_RATIOS];
    int best; /* the lower the better; -1: nothing fits yet */
    int64_t chosen[FIT_PLACES];
};

/* --- What is known of the model --- */

static bool is_known(const struct bounded *type)
{
    return type && type->type != DTYPE_NONE && type->shape.rank >= 0;
}

static void describe(struct rewrite *work)
{
    value_types_init_for(&work->types, work->model, work->inputs, work->n_inputs);
}

int refit_refresh(struct rewrite *work, struct error *err)
{
    struct model_index index;
    if (model_index_init(&index, work->model, err))
        return -1;
    model_index_release(&work->index);
    value_types_release(&work->types);
    work->index = index;
    describe(work);
    return 0;
}

void refit_forget_shapes(struct model *model)
{
    model->graph->n_value_info = 0;
    for (size_t i = 0; i < model->graph->n_output; i++) {
        const Onnx__TypeProto *type = model->graph->output[i]->type;
        bool tensor = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        const Onnx__TensorShapeProto *shape = tensor ? type->tensor_type->shape : NULL;
        for (size_t k = 0; shape && k < shape->n_dim; k++)
            onnx__tensor_shape_proto__dimension__init(shape->dim[k]);
    }
    model->path = NULL;
}

static bool has_body(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            return true;
    return false;
}

/* --- Asking the shape rule --- */

/* 0, or -1 and why not. *same: the outputs are as they were in the original. */
static int ask(const struct fit *fit, bool *same, struct error *err)
{
    size_t count = fit->node->n_output;
    struct bounded *outputs = memory_zeroed(count + 1, sizeof *outputs);
    for (size_t i = 0; i < count; i++)
        bounded_init(&outputs[i]);
    int result =
        infer_node(rewrite_opset(fit->work), fit->node, fit->inputs, fit->n_inputs, outputs, count, err);
    *same = result == 0;
    for (size_t i = 0; i < count; i++) {
        const struct bounded *old = value_types_find(fit->before, fit->node->output[i]);
        *same = *same && (!is_known(old) || shape_equal(&old->shape, &outputs[i].shape));
        bounded_release(&outputs[i]);
    }
    free(outputs);
    return result;
}

/* Puts a number at a place of what is tried; false when the weight becomes too large. */
static bool put(struct fit *fit, size_t number, int64_t value)
{
    const struct place *place = &fit->places[number];
    struct bounded *copy = &fit->copies[place->input];
    if (place->in_list) {
        copy->value[place->axis] = (long double)value;
        return true;
    }
    copy->shape.dims[place->axis] = value;
    return shape_count(&copy->shape, &copy->count, NULL) == 0 && copy->count <= FIT_WEIGHT;
}

/* Tries `values` and keeps them when they fit better than all before: first comes that the outputs keep their
 * shapes, then that few sizes change. */
static void try_values(struct fit *fit, const int64_t *values)
{
    int changed = 0;
    bool same, small = true;
    fit->tries++;
    for (size_t i = 0; i < fit->n_places; i++) {
        small = put(fit, i, values[i]) && small;
        changed += values[i] != fit->places[i].was;
    }
    if (!small || (fit->best >= 0 && fit->best <= changed) || ask(fit, &same, NULL))
        return;
    int score = changed + (same ? 0 : FIT_PLACES + 1);
    if (fit->best >= 0 && fit->best <= score)
        return;
    fit->best = score;
    memcpy(fit->chosen, values, fit->n_places * sizeof *values);
}

static bool spent(const struct fit *fit)
{
    return fit->tries >= FIT_TRIES;
}

/* --- What to try --- */

static void add_ratio(struct fit *fit, int64_t from, int64_t to)
{
    if (from <= 0 || to <= 0 || from == to)
        return;
    for (size_t i = 0; i < fit->n_ratios; i++)
        if (fit->ratios[i].from == from && fit->ratios[i].to == to)
            return;
    if (fit->n_ratios < FIT_RATIOS)
        fit->ratios[fit->n_ratios++] = (struct ratio){from, to};
}

/* How the inputs that nodes make have changed. */
static void compare_inputs(struct fit *fit)
{
    for (size_t i = 0; i < fit->n_inputs; i++) {
        const struct bounded *old = value_types_find(fit->before, fit->node->input[i]), *now = fit->inputs[i];
        if (!is_known(old) || !now)
            continue;
        for (int k = 0; k < old->shape.rank && k < now->shape.rank; k++)
            add_ratio(fit, old->shape.dims[k], now->shape.dims[k]);
        if (old->count != now->count)
            add_ratio(fit, (int64_t)old->count, (int64_t)now->count);
    }
}

static int64_t int_at(const Onnx__AttributeProto *attribute, size_t i)
{
    bool list = attribute->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    return !list ? attribute->i : i < attribute->n_ints ? attribute->ints[i] : 0;
}

/* How its attributes have changed; and in both directions, since weights are divided among groups. */
static void compare_attributes(struct fit *fit, const Onnx__NodeProto *old)
{
    for (size_t i = 0; i < fit->node->n_attribute; i++) {
        const Onnx__AttributeProto *now = fit->node->attribute[i], *was = node_attribute(old, now->name);
        size_t count = now->n_ints ? now->n_ints : 1;
        for (size_t k = 0; k < count; k++) {
            int64_t from = was && was->type == now->type ? int_at(was, k) : 1, to = int_at(now, k);
            add_ratio(fit, from, to);
            add_ratio(fit, to, from);
        }
    }
}

static void add_choice(struct place *place, int64_t value)
{
    if (value <= 0 || place->n_choices == FIT_CHOICES)
        return;
    for (size_t i = 0; i < place->n_choices; i++)
        if (place->choices[i] == value)
            return;
    place->choices[place->n_choices++] = value;
}

static bool scaled(int64_t value, const struct ratio *ratio, int64_t *result)
{
    int64_t product;
    if (value <= 0 || __builtin_mul_overflow(value, ratio->to, &product) || product % ratio->from)
        return false;
    *result = product / ratio->from;
    return true;
}

/* Sizes that a place may take by itself: in proportion, or those of the other sizes at this node. */
static void choose_sizes(struct fit *fit)
{
    for (size_t i = 0; i < fit->n_places; i++) {
        struct place *place = &fit->places[i];
        int64_t value;
        for (size_t k = 0; k < fit->n_ratios; k++)
            if (scaled(place->was, &fit->ratios[k], &value))
                add_choice(place, value);
        for (size_t k = 0; k < fit->n_inputs; k++)
            for (int axis = 0; fit->inputs[k] && axis < fit->inputs[k]->shape.rank; axis++)
                add_choice(place, fit->inputs[k]->shape.dims[axis]);
    }
}

/* One proportion for any subset of the places. */
static void try_ratio(struct fit *fit, const struct ratio *ratio)
{
    int64_t values[FIT_PLACES], value;
    for (uint32_t subset = 1; subset < (uint32_t)1 << fit->n_places && !spent(fit); subset++) {
        bool whole = true;
        for (size_t i = 0; i < fit->n_places; i++) {
            values[i] = fit->places[i].was;
            if (!(subset >> i & 1))
                continue;
            whole = whole && scaled(values[i], ratio, &value);
            values[i] = whole ? value : values[i];
        }
        if (whole)
            try_values(fit, values);
    }
}

/* Any choices for one or two places. */
static void try_pairs(struct fit *fit)
{
    int64_t values[FIT_PLACES];
    for (size_t i = 0; i < fit->n_places; i++)
        values[i] = fit->places[i].was;
    for (size_t a = 0; a < fit->n_places; a++)
        for (size_t i = 0; i < fit->places[a].n_choices; i++) {
            values[a] = fit->places[a].choices[i];
            try_values(fit, values);
            for (size_t b = a + 1; b < fit->n_places; b++) {
                for (size_t k = 0; k < fit->places[b].n_choices && !spent(fit); k++) {
                    values[b] = fit->places[b].choices[k];
                    try_values(fit, values);
                }
                values[b] = fit->places[b].was;
            }
            values[a] = fit->places[a].was;
        }
}

/* --- Setting up --- */

static bool is_weight(const struct rewrite *work, const char *name)
{
    const struct index_value *value = *name ? model_index_find(&work->index, name) : NULL;
    return value && value->source == SOURCE_INITIALIZER && !rewrite_given(work, name);
}

static void add_place(struct fit *fit, size_t input, int axis, bool in_list, int64_t was)
{
    if (fit->n_places < FIT_PLACES)
        fit->places[fit->n_places++] =
            (struct place){.input = input, .axis = axis, .in_list = in_list, .was = was};
}

static int add_weight(struct fit *fit, size_t input, struct error *err)
{
    const struct bounded *type = fit->inputs[input];
    struct bounded *copy = &fit->copies[input];
    bool list = type->type == DTYPE_INT64 && type->shape.rank == 1 && type->value && type->count <= FIT_LIST;
    if (list ? bounded_copy(copy, type, err) : bounded_alloc(copy, type->type, &type->shape, true, err))
        return -1;
    fit->inputs[input] = copy;
    for (int axis = 0; !list && axis < type->shape.rank; axis++)
        add_place(fit, input, axis, false, type->shape.dims[axis]);
    for (size_t i = 0; list && i < type->count; i++)
        add_place(fit, input, (int)i, true, (int64_t)type->value[i]);
    return 0;
}

static void fit_release(struct fit *fit)
{
    for (size_t i = 0; i < fit->n_inputs; i++)
        bounded_release(&fit->copies[i]);
    free(fit->copies);
    free(fit->inputs);
}

/* 1 when the inputs of the node are known; 0 when not. */
static int fit_init(struct fit *fit, const struct rewrite *work, const Onnx__NodeProto *node,
                    const struct value_types *before)
{
    *fit = (struct fit){.work = work, .node = node, .before = before, .n_inputs = node->n_input, .best = -1};
    fit->inputs = memory_zeroed(node->n_input + 1, sizeof *fit->inputs);
    fit->copies = memory_zeroed(node->n_input + 1, sizeof *fit->copies);
    for (size_t i = 0; i < node->n_input; i++)
        bounded_init(&fit->copies[i]);
    for (size_t i = 0; i < node->n_input; i++) {
        fit->inputs[i] = value_types_find(&work->types, node->input[i]);
        if (*node->input[i] && !is_known(fit->inputs[i]))
            return 0;
    }
    return 1;
}

/* --- Applying --- */

/* The element of the old tensor that stands at a place of the new one: each axis is cut or starts again. */
static size_t source_of(size_t place, const struct shape *to, const struct shape *from)
{
    size_t result = 0, step = 1;
    for (int axis = to->rank - 1; axis >= 0; axis--) {
        size_t at = place % (size_t)to->dims[axis];
        place /= (size_t)to->dims[axis];
        result += at % (size_t)from->dims[axis] * step;
        step *= (size_t)from->dims[axis];
    }
    return result;
}

static int make_weight(const struct fit *fit, size_t input, const struct tensor *old, struct tensor *made,
                       struct error *err)
{
    const struct bounded *copy = &fit->copies[input];
    if (old->count == 0 || old->type == DTYPE_STRING)
        return error_set(err, ERROR_NOT_FOUND, "a weight without numbers cannot be made larger");
    if (tensor_alloc(made, old->type, &copy->shape, 0, err))
        return -1;
    for (size_t i = 0; i < made->count; i++)
        tensor_set(made, i,
                   copy->value ? copy->value[i] : tensor_get(old, source_of(i, &copy->shape, &old->shape)));
    return 0;
}

static bool input_changed(const struct fit *fit, size_t input)
{
    for (size_t i = 0; i < fit->n_places; i++)
        if (fit->places[i].input == input && fit->chosen[i] != fit->places[i].was)
            return true;
    return false;
}

static int apply(struct fit *fit, struct rewrite *work, Onnx__NodeProto *node, struct error *err)
{
    for (size_t i = 0; i < fit->n_places; i++)
        put(fit, i, fit->chosen[i]);
    for (size_t i = 0; i < fit->n_inputs; i++) {
        struct tensor old, made;
        if (!input_changed(fit, i))
            continue;
        if (rewrite_constant(work, node->input[i], &old, err) != 1)
            return -1;
        int result = make_weight(fit, i, &old, &made, err);
        tensor_release(&old);
        if (result)
            return -1;
        rewrite_set_input(work, node, i, rewrite_tensor(work, &made));
        tensor_release(&made);
    }
    return 0;
}

/* Makes the weights of one node fit. Whether it was refused as invalid is asked first: what depends on data
 * is left alone. Returns 1 when something was changed, 0 when there is nothing to do. */
static int refit_node(struct rewrite *work, Onnx__NodeProto *node, const Onnx__NodeProto *old,
                      const struct value_types *before, struct error *err)
{
    struct fit fit;
    struct error why = {0};
    bool same;
    int result = 0;
    if (!fit_init(&fit, work, node, before) || ask(&fit, &same, &why) == 0 || why.code != ERROR_INVALID)
        goto out;
    result = -1;
    compare_attributes(&fit, old);
    compare_inputs(&fit);
    add_ratio(&fit, 1, 2);
    add_ratio(&fit, 2, 1);
    for (size_t i = 0; i < fit.n_inputs; i++)
        if (is_weight(work, node->input[i]) && add_weight(&fit, i, err))
            goto out;
    for (size_t i = 0; i < fit.n_ratios; i++)
        try_ratio(&fit, &fit.ratios[i]);
    choose_sizes(&fit);
    if (fit.best < 0)
        try_pairs(&fit);
    if (fit.best < 0)
        error_set(err, ERROR_NOT_FOUND, "no weights fit %s: %.300s", op_title(node), why.message);
    else
        result = apply(&fit, work, node, err) ? -1 : 1;
out:
    fit_release(&fit);
    return result;
}

/* --- The whole model --- */

static bool outputs_known(const struct rewrite *work, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i] && !rewrite_type(work, node->output[i]))
            return false;
    return true;
}

/* Initialisers that no node and no output uses any longer are dropped. */
static int drop_unused(struct rewrite *work, const struct model *origin, struct error *err)
{
    struct model_index old;
    if (model_index_init(&old, origin, err))
        return -1;
    for (size_t i = work->model->graph->n_initializer; i-- > 0;) {
        const char *name = work->model->graph->initializer[i]->name;
        const struct index_value *value = model_index_find(&work->index, name);
        const struct index_value *was = model_index_find(&old, name);
        if (value && !value->consumers && !value->is_output && was && was->consumers &&
            !rewrite_is_input(work, name))
            rewrite_drop_initializer(work, i);
    }
    model_index_release(&old);
    return refit_refresh(work, err);
}

/* Declares the outputs as they are; fails when the values are too many. */
static int declare(struct rewrite *work, bool *complete, struct error *err)
{
    Onnx__GraphProto *graph = work->model->graph;
    size_t elements = 0;
    *complete = true;
    for (size_t i = 0; i < graph->n_node; i++) {
        *complete = *complete && outputs_known(work, graph->node[i]);
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            const struct bounded *type = rewrite_type(work, graph->node[i]->output[k]);
            elements += type && type->count < REFIT_ELEMENTS ? type->count : type ? REFIT_ELEMENTS : 0;
        }
    }
    if (elements >= REFIT_ELEMENTS)
        return error_set(err, ERROR_NOT_FOUND, "the values of the variant are too large");
    for (size_t i = 0; i < graph->n_output; i++) {
        const struct bounded *type = rewrite_type(work, graph->output[i]->name);
        Onnx__TypeProto *declared = graph->output[i]->type;
        if (type)
            graph->output[i]->type = rewrite_info(work, graph->output[i]->name, type)->type;
        else if (declared && declared->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            declared->tensor_type->shape = NULL;
    }
    return 0;
}

/* --- Former shapes --- */

/* Cuts what is longer than it was and pads what is shorter. */
static const char *cut_and_pad(struct rewrite *work, const char *value, const struct shape *from,
                               const struct shape *to)
{
    int64_t pads[2 * TENSOR_MAX_RANK] = {0};
    bool padded = false;
    for (int axis = 0; axis < to->rank; axis++) {
        if (from->dims[axis] > to->dims[axis])
            value = rewrite_slice(work, value, axis, 0, to->dims[axis]);
        if (from->dims[axis] < to->dims[axis])
            pads[to->rank + axis] = to->dims[axis] - from->dims[axis];
        padded = padded || pads[to->rank + axis];
    }
    if (padded)
        value = rewrite_op(work, "Pad", NULL, value, rewrite_ints(work, pads, 2 * (size_t)to->rank), NULL);
    return value;
}

static int restore_value(struct rewrite *work, const char *name, const struct bounded *old, struct error *err)
{
    const struct index_value *value = model_index_find(&work->index, name);
    const struct bounded *now = rewrite_type(work, name);
    const char *inner, *outer;
    if (!value || !now || !is_known(old) || shape_equal(&now->shape, &old->shape))
        return 0;
    bool same_rank = now->shape.rank == old->shape.rank;
    if (rewrite_opset(work) < OP_OLDEST || (!same_rank && now->count != old->count))
        return error_set(err, ERROR_NOT_FOUND, "'%.100s' cannot be given its former shape", name);
    rewrite_intercept(work, value, &inner, &outer);
    rewrite_result(work,
                   same_rank ? cut_and_pad(work, inner, &now->shape, &old->shape)
                             : rewrite_reshape(work, inner, &old->shape),
                   outer);
    return 0;
}

static int restore_outputs(struct rewrite *work, const Onnx__NodeProto *node,
                           const struct value_types *before, struct error *err)
{
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i] &&
            restore_value(work, node->output[i], value_types_find(before, node->output[i]), err))
            return -1;
    return refit_refresh(work, err);
}

/* --- The whole model, node by node --- */

static int refit_nodes(struct rewrite *work, const struct model *origin, const struct value_types *before,
                       bool *restored, struct error *err)
{
    const Onnx__GraphProto *graph = work->model->graph;
    for (size_t at = 0; at < graph->n_node; at++) {
        size_t number = work->index.order[at];
        Onnx__NodeProto *node = graph->node[number];
        bool old = number < origin->graph->n_node;
        if (!has_body(node) && !outputs_known(work, node)) {
            int changed = old ? refit_node(work, node, origin->graph->node[number], before, err) : 0;
            if (changed < 0 || (changed && refit_refresh(work, err)))
                return -1;
        }
        if (!old || !restored[number])
            continue;
        restored[number] = false;
        if (restore_outputs(work, node, before, err))
            return -1;
        at = (size_t)-1; /* the order has changed */
    }
    return 0;
}

int refit(struct rewrite *work, const struct model *origin, const struct value_types *before,
          const bool *restored, bool *complete, struct error *err)
{
    bool *left = memory_zeroed(origin->graph->n_node + 1, sizeof *left);
    if (restored)
        memcpy(left, restored, origin->graph->n_node * sizeof *left);
    refit_forget_shapes(work->model);
    int result = refit_refresh(work, err) || refit_nodes(work, origin, before, left, err) ||
                 model_sort_nodes(work->model, err) || refit_refresh(work, err) ||
                 drop_unused(work, origin, err) || declare(work, complete, err);
    free(left);
    return result ? -1 : 0;
}
