#include "scramble/vocabulary.h"

#include "base/str.h"
#include "model/onnx.h"
#include "ops/op.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_or_lies_in(const char *domain, const char *public)
{
    size_t length = strlen(public);
    return strncmp(domain, public, length) == 0 && (!domain[length] || domain[length] == '.');
}

bool is_public_domain(const char *domain)
{
    return !*domain || is_or_lies_in(domain, "ai.onnx") || is_or_lies_in(domain, DOMAIN_MICROSOFT);
}

static int version_of(const struct model *model, const char *domain)
{
    for (size_t i = 0; i < model->proto->n_opset_import; i++)
        if (text_equal(model->proto->opset_import[i]->domain, domain))
            return (int)model->proto->opset_import[i]->version;
    return *domain ? 1 : model_opset(model);
}

/* libonnx's own name of the default domain is "". */
static const char *schema_domain(const char *domain)
{
    return text_equal(domain, "ai.onnx") ? "" : domain;
}

static bool has_schema(const char *domain, const char *type, int version)
{
    struct onnx_schema schema;
    int most = onnx_max_opset();
    return onnx_schema(schema_domain(domain), type, !*domain && version > most ? most : version, &schema,
                       NULL) == 0;
}

bool is_public_name(const char *name)
{
    return op_find(name) || has_schema("", name, onnx_max_opset());
}

static bool is_function(const struct model *model, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < model->proto->n_functions; i++)
        if (text_equal(model->proto->functions[i]->name, node->op_type) &&
            text_equal(model->proto->functions[i]->domain, node->domain))
            return true;
    return false;
}

bool is_public_operator(const struct model *model, const Onnx__NodeProto *node)
{
    if (is_function(model, node) || !is_public_domain(node->domain))
        return false;
    return is_or_lies_in(node->domain, DOMAIN_MICROSOFT) || op_of(node) ||
           has_schema(node->domain, node->op_type, version_of(model, node->domain));
}

/* Whether the words of a text have this one; '|' parts those of the operator table. */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; length && (at = strstr(at, word)); at++) {
        char before = at == text ? ' ' : at[-1], after = at[length];
        if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) &&
            after != '_')
            return true;
    }
    return false;
}

static bool in_table(const Onnx__NodeProto *node, const char *attribute, const char *text)
{
    const struct op *op = op_of(node);
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (text_equal(param->name, attribute) && ((param->legal && has_word(param->legal, text)) ||
                                                   (param->initial && has_word(param->initial, text))))
            return true;
    return false;
}

static bool in_schema(const struct model *model, const Onnx__NodeProto *node, const char *attribute,
                      const char *text)
{
    int version = version_of(model, node->domain), most = onnx_max_opset();
    const char *parts[] = {attribute, ""};
    bool found = false;
    for (size_t i = 0; i < 2 && !found; i++) {
        char *words = NULL;
        if (!onnx_schema_text(schema_domain(node->domain), node->op_type,
                              !*node->domain && version > most ? most : version, parts[i], &words, NULL))
            found = has_word(words, text);
        free(words);
    }
    return found;
}

bool is_public_text(const struct model *model, const Onnx__NodeProto *node, const char *attribute,
                    const char *text)
{
    if (!is_public_operator(model, node))
        return false;
    return !*text || text_equal(attribute, "equation") || in_table(node, attribute, text) ||
           in_schema(model, node, attribute, text) || is_public_name(text);
}
