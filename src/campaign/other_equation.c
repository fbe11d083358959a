/* An Einsum that sums nothing within one operand, for experiments (other_data.h). */
#include "base/str.h"
#include "campaign/other_data.h"
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

/* Adds to the result the letters that are summed within one operand; false when there are none, or it is a
 * scalar, which may be what matters. */
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

struct test_case *other_data_letters_kept(const struct test_case *test)
{
    struct model *model;
    struct str equation;
    struct test_case *other = other_data_begin(test, &model);
    Onnx__NodeProto *node = other && model->graph->n_node == 1 ? model->graph->node[0] : NULL;
    const Onnx__AttributeProto *attribute =
        node && text_equal(node->op_type, "Einsum") ? node_attribute(node, "equation") : NULL;
    str_init(&equation);
    for (size_t i = 0; attribute && i < attribute->s.len; i++)
        if (!isspace(attribute->s.data[i]))
            str_append(&equation, (const char *)&attribute->s.data[i], 1);
    bool changed = keep_letters(&equation);
    if (changed)
        node_set_string(&model->arena, node, "equation", equation.data);
    str_release(&equation);
    return other ? other_data_finish(other, model, changed) : NULL;
}
