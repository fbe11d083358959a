#include "locate/cause_text.h"

#include "base/str.h"

#include <string.h>

static void put_value(struct str *out, const char *parameter, const char *value)
{
    if (text_equal(value, "left out"))
        str_printf(out, "%s left out", parameter);
    else
        str_printf(out, "%s=%s", parameter, value);
}

/* A node, as "Cast `z`". Names come from the model. */
static void put_node(struct str *out, const Onnx__NodeProto *node)
{
    str_printf(out, "%s `", op_title(node));
    size_t name = out->length;
    str_printf(out, "%.80s", model_node_name(node));
    for (size_t i = name; i < out->length; i++)
        if (out->data[i] == '`')
            out->data[i] = '?';
    str_add(out, "`");
}

/* The node of the part that has this number in the network; NULL: there is none. */
static const Onnx__NodeProto *node_numbered(const struct examination *look, size_t number)
{
    const struct model *model = test_case_model(look->sets[0], NULL);
    const size_t *nodes = look->options->nodes;
    for (size_t i = 0; i < model->graph->n_node; i++)
        if ((nodes ? nodes[i] : i) == number)
            return model->graph->node[i];
    return NULL;
}

/* The node of the first parameter that is to blame, in the part. */
static const Onnx__NodeProto *node_to_blame(const struct examination *look)
{
    const struct cause *cause = look->cause;
    const Onnx__NodeProto *node = cause->n_parameters ? node_numbered(look, cause->parameters[0].node) : NULL;
    return node ? node : test_case_model(look->sets[0], NULL)->graph->node[0];
}

/* A parameter of that node of the part, which is named where the sentence is about another one. */
static void put_parameter(const struct examination *look, struct str *out, const Onnx__NodeProto *node,
                          const char *parameter, const char *value)
{
    put_value(out, parameter, value);
    if (node && node != node_to_blame(look)) {
        str_add(out, " of ");
        put_node(out, node);
    }
}

/* Adds conditions that differ from the default, at most two; JSON has all of them. */
static void put_conditions(const struct examination *look, const struct params_evidence *evidence,
                           struct str *out)
{
    enum { SHOWN = 2 };
    size_t shown = 0;
    for (size_t i = 0; i < evidence->count && shown < SHOWN; i++) {
        const struct param_evidence *one = &evidence->items[i];
        const Onnx__NodeProto *node = test_case_model(look->sets[0], NULL)->graph->node[one->node];
        bool named =
            node == node_to_blame(look) && text_equal(one->param->name, look->cause->parameters[0].parameter);
        if (!one->cures || one->plain || one->param->kind == PARAM_INPUT || named)
            continue;
        str_add(out, shown++ ? " and " : " with ");
        put_parameter(look, out, node, one->param->name, one->present);
    }
}

static void put_operator(const struct examination *look, struct str *out)
{
    size_t keeps = 0, unclear = 0;
    for (size_t i = 0; i < look->n_params; i++) {
        keeps += look->ends[i] == CHANGE_KEEPS;
        unclear += look->ends[i] == CHANGE_UNCLEAR;
    }
    if (keeps && unclear)
        str_printf(out, "whatever its parameters (%zu other values keep it, %zu tell nothing)", keeps,
                   unclear);
    else if (keeps)
        str_printf(out, "whatever its parameters (%zu other values keep it)", keeps);
    else if (unclear)
        str_printf(out, "none of %zu other values of its parameters tells anything", unclear);
    else
        str_add(out, "it has no parameters that could be changed");
    if (look->cause->form)
        str_printf(out, "; cured by %s", look->cause->form);
}

static void put_rest(const struct examination *look, const struct params_evidence *evidence, struct str *out)
{
    const struct cause *cause = look->cause;
    if (cause->kind == CAUSE_PARAMETER) {
        put_value(out, cause->parameters[0].parameter, cause->parameters[0].value);
        put_conditions(look, evidence, out);
        str_printf(out, "; cured by %s%s", cause->cure,
                   cause->same_meaning ? ", which means the same and is computed otherwise" : "");
    } else if (cause->kind == CAUSE_SET) {
        for (size_t i = 0; i < cause->n_parameters; i++) {
            str_add(out, i ? " and " : "");
            const struct cause_value *one = &cause->parameters[i];
            put_parameter(look, out, node_numbered(look, one->node), one->parameter, one->value);
        }
        str_printf(out, "; cured only together, by %s", cause->cure);
    } else {
        put_operator(look, out);
    }
    if (cause->by_data)
        str_add(out, "; other data of the same kind does not show it");
}

void cause_describe(struct examination *look, const struct params_evidence *evidence)
{
    struct str text;
    if (look->cause->kind == CAUSE_UNKNOWN)
        return;
    str_init(&text);
    put_node(&text, node_to_blame(look));
    str_add(&text, ": ");
    put_rest(look, evidence, &text);
    for (size_t i = 0; i < text.length; i++) /* names and values come from the model */
        if ((unsigned char)text.data[i] < ' ')
            text.data[i] = '?';
    look->cause->text = arena_strdup(look->arena, text.data);
    str_release(&text);
}
