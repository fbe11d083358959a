/* All changes of the parameters of a node (param_change.h). */
#include "base/memory.h"
#include "locate/param_change.h"
#include "locate/param_read.h"
#include "ops/param_value.h"
#include "rules/rewriting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct listing {
    struct param_changes *changes;
    struct test_case *test;
    size_t node;
    const Onnx__NodeProto *proto;
    const struct op *op;
    const struct op_param *param;
    const char *present; /* of the parameter at hand */
};

/* What is known of a change besides its value: members of struct param_change. */
enum { PLAIN = 1, WITH_OTHERS = 2, SYNONYM = 4 };

static void add_change(struct listing *listing, enum param_way way, const char *text, const char *value,
                       unsigned what)
{
    struct param_changes *changes = listing->changes;
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].param == listing->param && changes->items[i].node == listing->node &&
            text_equal(changes->items[i].value, value))
            return;
    if (changes->count >= PARAM_CHANGES)
        return;
    changes->items =
        memory_grow(changes->items, &changes->capacity, changes->count + 1, sizeof *changes->items);
    changes->items[changes->count++] = (struct param_change){
        .node = listing->node,
        .param = listing->param,
        .way = way,
        .text = arena_strdup(&changes->arena, text),
        .value = arena_strdup(&changes->arena, value),
        .plain = what & PLAIN,
        .alone = !(what & WITH_OTHERS),
        .synonym = what & SYNONYM,
    };
}

static bool is_initial(const struct listing *listing, const char *text)
{
    return listing->param->initial && param_same(text, listing->param->initial);
}

static void add_value(struct listing *listing, enum param_way way, const char *text)
{
    bool same = param_same(text, listing->present);
    /* The default may also be written down where it is left out. */
    bool spelled = text_equal(listing->present, PARAM_LEFT_OUT) && is_initial(listing, text);
    if (!same || spelled)
        add_change(listing, way, text, text,
                   (is_initial(listing, text) ? PLAIN : 0) | (spelled ? SYNONYM : 0));
}

/* How long a list of this node should be: as long as the present one; otherwise one value, for pads two, for
 * each spatial axis. */
static size_t list_length(const struct listing *listing)
{
    long double numbers[PARAM_LIST];
    struct tensor x;
    size_t present = param_numbers(listing->present, numbers), spatial = 0;
    if (present || !listing->proto->n_input)
        return present;
    const struct model *model = test_case_model(listing->test, NULL);
    if (!param_read(listing->test, model, listing->proto->input[0], &x, NULL)) {
        spatial = x.shape.rank > 2 ? (size_t)x.shape.rank - 2 : 0;
        tensor_release(&x);
    }
    return text_equal(listing->param->name, "pads") ? 2 * spatial : spatial;
}

/* A list as it stands and, where that has another length, spread over the wanted one. */
static void give_list(void *context, const char *value)
{
    struct listing *listing = context;
    long double numbers[PARAM_LIST], spread[PARAM_LIST];
    size_t count = param_numbers(value, numbers), length = list_length(listing);
    struct str text;
    if (!count)
        return;
    str_init(&text);
    for (size_t i = 0; i < length && i < PARAM_LIST; i++)
        spread[i] = numbers[i % count];
    param_list_text(&text, spread, length < PARAM_LIST ? length : 0);
    if (text.length)
        add_value(listing, WAY_ATTRIBUTE, text.data);
    if (length != count)
        add_value(listing, WAY_ATTRIBUTE, value);
    str_release(&text);
}

static void give_attribute(void *context, const char *value)
{
    add_value(context, WAY_ATTRIBUTE, value);
}

static void give_input(void *context, const char *value)
{
    struct listing *listing = context;
    long double numbers[PARAM_LIST];
    size_t count = param_numbers(value, numbers);
    if (!count)
        return;
    add_value(listing, WAY_INPUT, value);
    if (count != param_numbers(listing->present, numbers)) {
        struct str text;
        str_init(&text);
        str_printf(&text, "%s throughout", value);
        add_change(listing, WAY_SPREAD, value, text.data, 0);
        str_release(&text);
    }
}

static int ascending(const void *a, const void *b)
{
    long double x = *(const long double *)a, y = *(const long double *)b;
    return (x > y) - (x < y);
}

/* The present list in reverse and in ascending order: asymmetric pads stay asymmetric, a permutation becomes
 * none. */
static void vary_list(struct listing *listing, enum param_way way)
{
    long double numbers[PARAM_LIST], other[PARAM_LIST];
    size_t count = param_numbers(listing->present, numbers);
    if (count < 2)
        return;
    for (int k = 0; k < 2; k++) {
        struct str text;
        str_init(&text);
        for (size_t i = 0; i < count; i++)
            other[i] = numbers[count - 1 - i];
        if (k)
            qsort(other, count, sizeof *other, ascending);
        param_list_text(&text, other, count);
        add_value(listing, way, text.data);
        str_release(&text);
    }
}

/* Axes counted from the other end, which means the same. */
static void vary_axes(struct listing *listing, enum param_way way)
{
    long double numbers[PARAM_LIST];
    size_t count = param_numbers(listing->present, numbers);
    const struct model *model = test_case_model(listing->test, NULL);
    struct tensor x;
    if (!count || !text_starts(listing->param->name, "ax") || !listing->proto->n_input ||
        param_read(listing->test, model, listing->proto->input[0], &x, NULL))
        return;
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < count; i++)
        numbers[i] += numbers[i] < 0 ? x.shape.rank : -x.shape.rank;
    param_list_text(&text, numbers, count);
    add_change(listing, way, text.data, text.data, SYNONYM | (is_initial(listing, text.data) ? PLAIN : 0));
    str_release(&text);
    tensor_release(&x);
}

static void list_attribute(struct listing *listing)
{
    bool lists = listing->param->kind == PARAM_INTS || listing->param->kind == PARAM_FLOATS;
    double present;
    if (listing->param->kind == PARAM_TENSOR || listing->param->kind == PARAM_GRAPH)
        return;
    vary_axes(listing, WAY_ATTRIBUTE); /* first: they may be legal values, too */
    param_legal(listing->param, lists ? give_list : give_attribute, listing);
    if (listing->op->others)
        listing->op->others(listing->proto, listing->param, give_attribute, listing);
    if (lists)
        vary_list(listing, WAY_ATTRIBUTE);
    /* A count such as group: half of it. */
    if (listing->param->kind == PARAM_INT &&
        !strchr(listing->param->legal ? listing->param->legal : "|", '|') &&
        text_double(listing->present, &present) && present >= 4 && (long)present % 2 == 0) {
        char half[40];
        snprintf(half, sizeof half, "%ld", (long)present / 2);
        add_value(listing, WAY_ATTRIBUTE, half);
    }
    bool optional = listing->param->initial || !listing->param->legal;
    if (optional && !text_equal(listing->present, PARAM_LEFT_OUT))
        add_change(listing, WAY_LEFT_OUT, "", PARAM_LEFT_OUT,
                   PLAIN | (is_initial(listing, listing->present) ? SYNONYM : 0));
}

static void list_kernel(struct listing *listing)
{
    static const char *const sizes[] = {"1", "2", "3", "5"};
    char value[40];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(value, sizeof value, "a kernel of size %s", sizes[i]);
        add_change(listing, WAY_KERNEL, sizes[i], value, 0);
    }
    add_change(listing, WAY_SYMMETRIC, "", "symmetric planes", 0);
}

static void list_input(struct listing *listing)
{
    bool optional = listing->param->input >= (size_t)listing->op->inputs.least;
    bool kernel = listing->op->flags & OP_CONVOLVES && listing->param->input == 1;
    if (text_equal(listing->present, PARAM_LEFT_OUT))
        return;
    if (kernel)
        list_kernel(listing);
    vary_axes(listing, WAY_INPUT);
    param_legal(listing->param, give_input, listing);
    if (listing->param->legal)
        vary_list(listing, WAY_INPUT);
    if (optional) {
        add_change(listing, WAY_SPREAD, "0", "zeros", 0);
        add_change(listing, WAY_LEFT_OUT, "", PARAM_LEFT_OUT, PLAIN);
    }
}

static bool has_bodies(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            return true;
    return false;
}

static void list_node(struct param_changes *changes, struct test_case *test, const struct model *model,
                      size_t number)
{
    struct listing listing = {.changes = changes, .test = test, .node = number};
    listing.proto = model->graph->node[number];
    listing.op = param_row(listing.proto);
    for (size_t i = 0; listing.op && (listing.param = param_at(listing.op, i)) != NULL; i++) {
        bool plain, repeats = listing.op->flags & OP_CONVOLVES && listing.param->kind == PARAM_INTS &&
                              text_equal(listing.param->name, "kernel_shape");
        if (!param_exists(listing.param, model_opset(model)) || repeats)
            continue;
        listing.present = param_present(test, number, listing.param, &changes->arena, &plain);
        if (listing.param->kind == PARAM_INPUT)
            list_input(&listing);
        else
            list_attribute(&listing);
    }
}

/* A parameter's value as far as a respelling can change it. */
static void form_text(struct str *out, const struct model *model, const Onnx__NodeProto *node,
                      const struct op_param *param)
{
    str_clear(out);
    const Onnx__AttributeProto *attribute =
        param->kind == PARAM_INPUT ? NULL : node_attribute(node, param->name);
    const char *name = param->kind == PARAM_INPUT ? param_input_name(node, param) : NULL;
    if (attribute)
        param_text(out, attribute);
    else if (name)
        str_add(out, param_initializer(model, name) >= 0 ? "a constant" : "an input");
    else
        str_add(out, PARAM_LEFT_OUT);
}

static const Onnx__NodeProto *only_node(const struct model *model, const char *op_type)
{
    const Onnx__NodeProto *found = NULL;
    for (size_t i = 0; i < model->graph->n_node; i++)
        if (text_equal(model->graph->node[i]->op_type, op_type)) {
            if (found)
                return NULL;
            found = model->graph->node[i];
        }
    return found;
}

/* What a respelling changed: one parameter alone, or one that became the default while others made up for
 * it. */
struct respelling {
    const struct op_param *param;
    size_t changed, to_plain;
    struct str words;
};

static void compare_param(struct respelling *found, const struct op_param *param, const char *before,
                          const char *after)
{
    bool was_plain =
        text_equal(before, PARAM_LEFT_OUT) || (param->initial && param_same(before, param->initial));
    bool is_plain =
        text_equal(after, PARAM_LEFT_OUT) || (param->initial && param_same(after, param->initial));
    if (text_equal(before, after))
        return;
    bool restored = !was_plain && is_plain;
    if (restored || (!found->to_plain && !found->changed))
        found->param = param;
    found->changed++;
    found->to_plain += restored;
    if (param->kind != PARAM_INPUT && !is_plain)
        str_printf(&found->words, "%s%s=%s", found->words.length ? ", " : "", param->name, after);
}

static void phrase_respelling(struct str *out, const struct respelling *found, const char *now, bool alone)
{
    const char *name = found->param->name;
    str_clear(out);
    if (found->param->kind == PARAM_INPUT && !text_equal(now, PARAM_LEFT_OUT))
        str_printf(out, "%s given as %s", name, now);
    else if (found->words.length && !text_starts(found->words.data, name))
        str_printf(out, "%s in place of %s", found->words.data, name);
    else if (found->words.length)
        str_printf(out, "%s with the same meaning", found->words.data);
    else if (!text_equal(now, PARAM_LEFT_OUT))
        str_printf(out, "%s=%s written down", name, now);
    else
        str_printf(out, alone ? "leaving %s out, with the same meaning" : "other nodes in place of %s", name);
}

static void add_respelling(struct listing *listing, const char *step, const struct test_case *rewritten)
{
    const struct model *before = test_case_model(listing->test, NULL),
                       *after = test_case_model(rewritten, NULL);
    const Onnx__NodeProto *now = after ? only_node(after, listing->proto->op_type) : NULL;
    struct respelling found = {0};
    struct str old, new;
    str_init(&old);
    str_init(&new);
    str_init(&found.words);
    const struct op_param *param;
    for (size_t i = 0; now && (param = param_at(listing->op, i)) != NULL; i++) {
        if (!param_exists(param, model_opset(before)))
            continue;
        form_text(&old, before, listing->proto, param);
        form_text(&new, after, now, param);
        compare_param(&found, param, old.data, new.data);
    }
    if (found.changed && (found.changed == 1 || found.to_plain == 1)) {
        listing->param = found.param;
        form_text(&new, after, now, found.param);
        bool alone = after->graph->n_node == 1;
        phrase_respelling(&old, &found, new.data, alone);
        add_change(listing, WAY_RESPELLED, step, old.data,
                   SYNONYM | (found.to_plain == 1 ? PLAIN : 0) | (alone ? 0 : WITH_OTHERS));
    }
    str_release(&found.words);
    str_release(&old);
    str_release(&new);
}

/* Rules that choose among operands or attributes choose others in other variations. */
enum { VARIATIONS = 3 };

static void try_respelling(struct listing *listing, const char *step, int variation)
{
    struct test_case *rewritten = NULL;
    struct str text;
    str_init(&text);
    str_add(&text, step);
    if (variation)
        str_printf(&text, "#%d", variation);
    if (rewriting_apply(listing->test, text.data, &rewritten, NULL) == 1)
        add_respelling(listing, text.data, rewritten);
    test_case_free(rewritten);
    str_release(&text);
}

static void list_respellings(struct param_changes *changes, struct test_case *test, const struct model *model)
{
    struct rewriting_steps steps = {0};
    struct listing listing = {.changes = changes, .test = test, .proto = model->graph->node[0]};
    listing.op = param_row(listing.proto);
    if (!listing.op || rewriting_steps(&steps, test, &(struct rule_choice){.no_runs = true}, NULL))
        return;
    for (size_t i = 0; i < steps.count; i++) {
        for (int k = 0; k < VARIATIONS && steps.rules[i]->respells; k++)
            try_respelling(&listing, steps.steps[i], k);
    }
    rewriting_steps_free(&steps);
}

void param_changes_init(struct param_changes *changes, struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    *changes = (struct param_changes){0};
    arena_init(&changes->arena);
    for (size_t i = 0; model && i < model->graph->n_node; i++)
        list_node(changes, test, model, i);
    if (model && model->graph->n_node == 1 && !has_bodies(model->graph->node[0]))
        list_respellings(changes, test, model);
}

void param_changes_release(struct param_changes *changes)
{
    free(changes->items);
    arena_release(&changes->arena);
}

void param_changes_of_form(struct param_changes *changes, const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct listing listing = {.changes = changes};
    char text[40], value[80];
    if (!model || !model->graph->n_node || !test->n_inputs || test->inputs[0].kind != VALUE_TENSOR)
        return;
    const struct op *op = param_row(model->graph->node[0]);
    const struct tensor *x = &test->inputs[0].tensors[0];
    static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_DOUBLE, DTYPE_INT32, DTYPE_INT64};
    for (size_t i = 0; op && i < sizeof types / sizeof *types; i++)
        if (types[i] != x->type && dtype_is_float(types[i]) == dtype_is_float(x->type) &&
            dtype_in(types[i], op_types_at(op, model_opset(model))))
            add_change(&listing, WAY_TYPE, dtype_name(types[i]), dtype_name(types[i]), 0);
    for (int axis = 0; axis < x->shape.rank; axis++) {
        int64_t size = x->shape.dims[axis];
        const int64_t sizes[] = {1, size - 1, size + 1, 2 * size};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && size > 0; i++) {
            if (sizes[i] == size || sizes[i] < 1)
                continue;
            snprintf(text, sizeof text, "%d,%lld", axis, (long long)sizes[i]);
            snprintf(value, sizeof value, "size %lld along axis %d of the first input", (long long)sizes[i],
                     axis);
            add_change(&listing, WAY_SIZE, text, value, 0);
        }
    }
}
