/* A small case with another equation, for experiments (changed_case.h). */
#include "diagnose/changed_case.h"

#include "base/str.h"
#include "model/build.h"
#include "model/edit.h"

#include <ctype.h>
#include <string.h>

/* How many of the terms of "ij,jk" have the letter. */
static size_t count_terms(const char *terms, size_t length, char letter)
{
    size_t count = 0;
    bool here = false;
    for (size_t i = 0; i <= length; i++) {
        bool ends = i == length || terms[i] == ',';
        here |= !ends && terms[i] == letter;
        count += ends && here;
        here = here && !ends;
    }
    return count;
}

/* Adds to the result the letters that are summed within one operand. False when there are none, or when the
 * result is a scalar, as that may be what the failure needs. */
static bool keep_letters(struct str *equation)
{
    const char *arrow = strstr(equation->data, "->");
    size_t length = arrow ? (size_t)(arrow - equation->data) : 0, before = equation->length;
    if (!arrow || !arrow[2] || strchr(equation->data, '.'))
        return false;
    for (size_t i = 0; i < length; i++) {
        char letter = equation->data[i];
        if (isalpha((unsigned char)letter) && count_terms(equation->data, length, letter) == 1 &&
            !strchr(equation->data + length, letter))
            str_append(equation, &letter, 1);
    }
    return equation->length > before;
}

struct test_case *changed_letters_kept(const struct test_case *test)
{
    struct model *model;
    struct str equation;
    struct test_case *other = changed_begin(test, &model);
    Onnx__NodeProto *node = other && model->graph->n_node == 1 ? model->graph->node[0] : NULL;
    const Onnx__AttributeProto *attribute = node ? node_attribute(node, "equation") : NULL;
    str_init(&equation);
    for (size_t i = 0; attribute && i < attribute->s.len; i++)
        if (!isspace(attribute->s.data[i]))
            str_append(&equation, (const char *)&attribute->s.data[i], 1);
    bool changed = keep_letters(&equation);
    if (changed)
        node_set_string(&model->arena, node, "equation", equation.data);
    str_release(&equation);
    return other ? changed_finish(other, changed) : NULL;
}

/* Whether the value was a list and is now a matrix of one row. */
static bool is_row(const struct test_case *test, const struct test_case *other, const char *name)
{
    return changed_rank_of(test, name) == 1 && changed_rank_of(other, name) == 2;
}

static char unused_letter(const char *equation)
{
    for (char letter = 'a'; letter <= 'z'; letter++)
        if (!strchr(equation, letter))
            return letter;
    return '\0';
}

static void name_dimensions(const struct test_case *test, const struct test_case *other, struct model *model,
                            Onnx__NodeProto *node)
{
    const Onnx__AttributeProto *attribute = node_attribute(node, "equation");
    if (!attribute)
        return;
    char *left = arena_printf(&model->arena, "%.*s", (int)attribute->s.len, (const char *)attribute->s.data);
    char *right = strstr(left, "->");
    struct str equation, letters;
    str_init(&equation);
    str_init(&letters);
    str_add(&letters, left);
    size_t all = letters.length, operand = 0;
    if (right)
        *right = '\0';
    for (char *term = left; term && operand < node->n_input; operand++) {
        char *comma = strchr(term, ','), letter = unused_letter(letters.data);
        if (comma)
            *comma = '\0';
        str_add(&equation, operand ? "," : "");
        if (letter && !strchr(term, '.') && is_row(test, other, node->input[operand])) {
            str_append(&equation, &letter, 1);
            str_append(&letters, &letter, 1);
        }
        str_add(&equation, term);
        term = comma ? comma + 1 : NULL;
    }
    if (right)
        str_printf(&equation, "->%s%s", letters.data + all, right + 2);
    node_set_string(&model->arena, node, "equation", arena_strdup(&model->arena, equation.data));
    str_release(&letters);
    str_release(&equation);
}

void changed_name_rows(const struct test_case *test, const struct test_case *changed, struct model *model)
{
    for (size_t i = 0; i < model->graph->n_node; i++)
        name_dimensions(test, changed, model, model->graph->node[i]);
}
