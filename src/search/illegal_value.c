#include "search/illegal_value.h"

#include "base/memory.h"
#include "eval/evaluate.h"
#include "model/valid.h"
#include "search/forbidden.h"

#include <stdlib.h>
#include <string.h>

struct illegal_draw {
    struct rewrite *work;
    Onnx__NodeProto *node;
    const struct op_param *param;
    struct rng *rng;
    struct str *text;
    struct error *err;
};

static int does_not_apply(struct illegal_draw *c)
{
    return error_set(c->err, ERROR_NOT_FOUND, "no such value for %s of this %s", c->param->name,
                     op_title(c->node));
}

static const Onnx__AttributeProto *attribute_of(const struct illegal_draw *c)
{
    return c->param->kind == PARAM_INPUT ? NULL : node_attribute(c->node, c->param->name);
}

/* --- Numbers and words --- */

/* A number for a list is spread; the text shows the whole. */
static int set_word(struct illegal_draw *c, const char *word)
{
    if (set_param(c->work, c->node, c->param, true, c->rng, word, c->err))
        return -1;
    if (*word)
        show_param(c->work, c->node, c->param, c->text);
    else
        str_add(c->text, "\"\"");
    return 0;
}

/* Of a switch, any number but 0 may be taken for 1: such a value is odd, but not certainly illegal. */
static bool is_switch(const struct op_param *param)
{
    return param->kind == PARAM_INT && param->legal && strcmp(param->legal, "0|1") == 0;
}

static int from_table(struct illegal_draw *c)
{
    char word[PARAM_WORD];
    bool drawn = !is_switch(c->param) && param_draw(c->rng, c->param->illegal, false, word);
    return drawn ? set_word(c, word) : does_not_apply(c);
}

/* 4294967297 is 1, and 4294967296 is 0, to who reads 32 bits only. */
static int extreme_number(struct illegal_draw *c)
{
    static const char numbers[] = "0|-1|-2|1000|2147483647|2147483648|-2147483648|4294967296|4294967297|"
                                  "9223372036854775807|-9223372036854775808";
    char word[PARAM_WORD];
    enum param_kind kind = c->param->kind;
    const struct bounded *type =
        kind == PARAM_INPUT ? rewrite_input(c->work, c->node, c->param->input) : NULL;
    if (is_switch(c->param))
        return does_not_apply(c);
    if (kind != PARAM_INT && kind != PARAM_INTS && !(type && dtype_is_integer(type->type)))
        return does_not_apply(c);
    return param_draw(c->rng, numbers, false, word) ? set_word(c, word) : does_not_apply(c);
}

static int other_word(struct illegal_draw *c)
{
    char word[PARAM_WORD];
    if (c->param->kind != PARAM_STRING)
        return does_not_apply(c);
    return param_draw(c->rng, "|none|SAME|%s%s%n|\xc3\x28", false, word) ? set_word(c, word)
                                                                         : does_not_apply(c);
}

/* --- Lists --- */

static size_t draw_length(struct illegal_draw *c, size_t old)
{
    size_t lengths[] = {0, old ? old - 1 : 1, old + 1, 2 * old, 33};
    return lengths[rng_below(c->rng, sizeof lengths / sizeof *lengths)];
}

static int attribute_of_length(struct illegal_draw *c)
{
    const struct bounded *first = rewrite_input(c->work, c->node, 0);
    int64_t values[PARAM_LIST];
    const Onnx__AttributeProto *old = attribute_of(c);
    size_t length = param_list_length(c->node, c->param->name, first ? first->shape.rank : 0);
    size_t count = draw_length(c, length);
    if (count == length || count == 0 || count > PARAM_LIST)
        return does_not_apply(c);
    for (size_t i = 0; i < count; i++)
        values[i] = old && old->n_ints ? old->ints[i % old->n_ints] : 1;
    node_set_ints(&c->work->model->arena, c->node, c->param->name, values, count);
    c->work->model->path = NULL;
    str_printf(c->text, "%zu numbers", count);
    return 0;
}

static int set_shape(struct illegal_draw *c, enum dtype type, const struct shape *shape)
{
    struct tensor old, tensor;
    if (rewrite_known(c->work, c->node->input[c->param->input], &old, c->err) != 1)
        return does_not_apply(c);
    if (tensor_alloc(&tensor, type, shape, 0, c->err)) {
        tensor_release(&old);
        return -1;
    }
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, old.count ? tensor_get(&old, i % old.count) : 1);
    tensor_release(&old);
    return set_input_tensor(c->work, c->node, c->param->input, &tensor, c->err);
}

static int other_length(struct illegal_draw *c)
{
    if (c->param->kind == PARAM_INTS)
        return attribute_of_length(c);
    const struct bounded *type =
        c->param->kind == PARAM_INPUT ? rewrite_input(c->work, c->node, c->param->input) : NULL;
    if (!type || type->shape.rank != 1)
        return does_not_apply(c);
    struct shape shape = shape_make(1, (const int64_t[]){(int64_t)draw_length(c, type->count)});
    if (shape.dims[0] == (int64_t)type->count)
        return does_not_apply(c);
    enum dtype kept = type->type;
    str_printf(c->text, "%lld numbers", (long long)shape.dims[0]);
    return set_shape(c, kept, &shape);
}

/* --- Left out, of another type, of another rank --- */

static int left_out(struct illegal_draw *c)
{
    str_add(c->text, "left out");
    if (c->param->kind == PARAM_INPUT) {
        if (c->param->initial || rewrite_given(c->work, c->node->input[c->param->input]))
            return does_not_apply(c);
        rewrite_set_input(c->work, c->node, c->param->input, "");
        c->work->model->path = NULL;
        return 0;
    }
    if (!attribute_of(c))
        return does_not_apply(c);
    node_remove_attribute(c->node, c->param->name);
    c->work->model->path = NULL;
    return 0;
}

static int attribute_of_type(struct illegal_draw *c)
{
    struct arena *arena = &c->work->model->arena;
    const char *name = c->param->name;
    int64_t ints[] = {1, 1};
    enum param_kind kinds[] = {PARAM_INT, PARAM_FLOAT, PARAM_STRING, PARAM_INTS},
                    kind = kinds[rng_below(c->rng, 4)];
    if (kind == c->param->kind)
        return does_not_apply(c);
    if (kind == PARAM_INT)
        node_set_int(arena, c->node, name, 1);
    else if (kind == PARAM_FLOAT)
        node_set_float(arena, c->node, name, 1);
    else if (kind == PARAM_STRING)
        node_set_string(arena, c->node, name, "1");
    else
        node_set_ints(arena, c->node, name, ints, 2);
    static const char *const words[] = {[PARAM_INT] = "the integer 1",
                                        [PARAM_FLOAT] = "the float 1",
                                        [PARAM_STRING] = "the string 1",
                                        [PARAM_INTS] = "the integers 1,1"};
    str_add(c->text, words[kind]);
    c->work->model->path = NULL;
    return 0;
}

static int other_type(struct illegal_draw *c)
{
    if (c->param->kind != PARAM_INPUT)
        return attribute_of_type(c);
    const struct bounded *type = rewrite_input(c->work, c->node, c->param->input);
    enum dtype types[] = {DTYPE_FLOAT, DTYPE_INT8, DTYPE_UINT64, DTYPE_BOOL},
               other = types[rng_below(c->rng, 4)];
    if (!type || type->type == other)
        return does_not_apply(c);
    struct shape shape = type->shape;
    str_printf(c->text, "of type %s", dtype_name(other));
    return set_shape(c, other, &shape);
}

static int other_rank(struct illegal_draw *c)
{
    const struct bounded *type =
        c->param->kind == PARAM_INPUT ? rewrite_input(c->work, c->node, c->param->input) : NULL;
    if (!type)
        return does_not_apply(c);
    struct shape shape = {.rank = 3, .dims = {1, 1, (int64_t)type->count}};
    enum dtype kept = type->type;
    if (type->shape.rank == 3)
        shape.rank = 0;
    str_printf(c->text, "of rank %d", shape.rank);
    return set_shape(c, kept, &shape);
}

/* The same words more often are drawn more often. */
static int (*const draws[])(struct illegal_draw *) = {
    from_table, from_table,   from_table, extreme_number, extreme_number,
    other_word, other_length, left_out,   other_type,     other_rank};

int illegal_value_apply(struct rewrite *work, Onnx__NodeProto *node, const struct op_param *param,
                        struct rng *rng, struct str *text, struct error *err)
{
    struct illegal_draw draw = {work, node, param, rng, text, err};
    return draws[rng_below(rng, sizeof draws / sizeof *draws)](&draw);
}

/* --- Proof --- */

enum { MOST_TO_RUN = 1 << 14 };

/* *elements: how many the outputs have together, as far as they can be inferred. */
static bool node_is_invalid(const struct rewrite *work, const Onnx__NodeProto *node, size_t *elements,
                            struct error *why)
{
    const struct bounded **inputs = memory_zeroed(node->n_input + 1, sizeof *inputs);
    struct bounded *outputs = memory_zeroed(node->n_output + 1, sizeof *outputs);
    bool known = true;
    int result = 0;
    for (size_t i = 0; i < node->n_input; i++) {
        inputs[i] = rewrite_input(work, node, i);
        known = known && (inputs[i] || !*node->input[i]);
    }
    for (size_t i = 0; i < node->n_output; i++)
        bounded_init(&outputs[i]);
    if (known)
        result = infer_node(rewrite_opset(work), node, inputs, node->n_input, outputs, node->n_output, why);
    *elements = 0;
    for (size_t i = 0; i < node->n_output; i++) {
        *elements += outputs[i].count;
        bounded_release(&outputs[i]);
    }
    free(outputs);
    free(inputs);
    return result && why->code == ERROR_INVALID;
}

enum forbidden_by illegal_value_proof(const struct rewrite *work, const Onnx__NodeProto *node,
                                      struct error *why)
{
    *why = (struct error){0};
    if (model_valid(work->model, why))
        return FORBIDDEN_BY_CHECKER;
    *why = (struct error){0};
    size_t elements;
    if (!node_is_invalid(work, node, &elements, why)) {
        *why = (struct error){0};
        /* What depends on data (indices) only a run shows. With a single node it is clear whose fault it is.
         * An output that became large by a legal value (pads of 1000) is not worth the time. */
        if (work->model->graph->n_node != 1 || elements > MOST_TO_RUN ||
            !forbidden_by_run(work->model, work->inputs, work->n_inputs, why))
            return FORBIDDEN_BY_NOBODY;
    }
    return forbidden_by_inference(work->model, why) ? FORBIDDEN_BY_INFERENCE : FORBIDDEN_BY_REFERENCE;
}
