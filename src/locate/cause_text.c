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

/* Adds conditions that differ from the default, at most two; JSON has all of them. */
static void put_conditions(const struct examination *look, const struct params_evidence *evidence,
                           struct str *out)
{
    enum { SHOWN = 2 };
    size_t shown = 0;
    for (size_t i = 0; i < evidence->count && shown < SHOWN; i++) {
        const struct param_evidence *one = &evidence->items[i];
        if (!one->cures || one->plain || one->param->kind == PARAM_INPUT ||
            text_equal(one->param->name, look->cause->parameters[0].parameter))
            continue;
        str_add(out, shown++ ? " and " : " with ");
        put_value(out, one->param->name, one->present);
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
            put_value(out, cause->parameters[i].parameter, cause->parameters[i].value);
        }
        str_printf(out, "; cured only together, by %s", cause->cure);
    } else {
        put_operator(look, out);
    }
    if (cause->by_data)
        str_add(out, "; other data of the same kind does not show it");
}

/* The node of the first parameter that is to blame, in the part. */
static const Onnx__NodeProto *node_to_blame(const struct examination *look)
{
    const struct model *model = test_case_model(look->sets[0], NULL);
    const size_t *nodes = look->options->nodes;
    for (size_t i = 0; i < model->graph->n_node && look->cause->n_parameters; i++)
        if ((nodes ? nodes[i] : i) == look->cause->parameters[0].node)
            return model->graph->node[i];
    return model->graph->node[0];
}

void cause_describe(struct examination *look, const struct params_evidence *evidence)
{
    struct str text;
    if (look->cause->kind == CAUSE_UNKNOWN)
        return;
    str_init(&text);
    const Onnx__NodeProto *node = node_to_blame(look);
    str_printf(&text, "%s `%.80s`: ", op_title(node), model_node_name(node));
    size_t head = text.length - strlen("`: ");
    put_rest(look, evidence, &text);
    for (size_t i = 0; i < text.length; i++) { /* names and values come from the model */
        bool inner = i > strlen(op_title(node)) + 1 && i < head;
        if ((unsigned char)text.data[i] < ' ' || (inner && text.data[i] == '`'))
            text.data[i] = '?';
    }
    look->cause->text = arena_strdup(look->arena, text.data);
    str_release(&text);
}
