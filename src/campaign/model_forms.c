#include "campaign/model_forms.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "engine/paths.h"

#include <stdlib.h>
#include <string.h>

struct forms {
    const Onnx__NodeProto *node;
    const char *parameter;
    size_t models, with; /* read; that have the operator */
    size_t nodes, alike; /* with the operator; and the same value of the parameter */
};

static const Onnx__AttributeProto *attribute_of(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (text_equal(node->attribute[i]->name, name))
            return node->attribute[i];
    return NULL;
}

static bool is_equal(const Onnx__AttributeProto *a, const Onnx__AttributeProto *b)
{
    if (!a || !b)
        return a == b;
    size_t size = onnx__attribute_proto__get_packed_size(a);
    if (size != onnx__attribute_proto__get_packed_size(b))
        return false;
    uint8_t *bytes = memory_zeroed(2 * size + 1, 1);
    onnx__attribute_proto__pack(a, bytes);
    onnx__attribute_proto__pack(b, bytes + size);
    bool equal = memcmp(bytes, bytes + size, size) == 0;
    free(bytes);
    return equal;
}

static void count_in(struct forms *forms, const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        if (!text_equal(node->op_type, forms->node->op_type) ||
            !text_equal(node->domain, forms->node->domain))
            continue;
        forms->nodes++;
        forms->alike +=
            is_equal(attribute_of(node, forms->parameter), attribute_of(forms->node, forms->parameter));
    }
}

static void count_folder(struct forms *forms, const char *folder)
{
    char **names;
    size_t count;
    if (file_list(folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]), before = forms->nodes;
        struct model *model;
        char *path = file_join(folder, names[i]);
        if (length > 5 && text_equal(names[i] + length - 5, ".onnx") && model_load(&model, path, NULL) == 0) {
            count_in(forms, model->graph);
            forms->models++;
            forms->with += forms->nodes > before;
            model_free(model);
        }
        free(path);
    }
    file_names_free(names, count);
}

char *model_forms_count(const Onnx__NodeProto *node, const char *parameter)
{
    struct forms forms = {.node = node, .parameter = parameter};
    char *data = paths_data(), *models = file_join(data, "models"), **names;
    size_t count;
    struct str text;
    str_init(&text);
    if (file_list(models, &names, &count, NULL) == 0) {
        for (size_t i = 0; i < count; i++) {
            char *folder = file_join(models, names[i]);
            count_folder(&forms, folder);
            free(folder);
        }
        file_names_free(names, count);
    }
    free(models);
    free(data);
    if (forms.models)
        str_printf(&text, "Of %zu models at hand %zu %s %s, %zu times", forms.models, forms.with,
                   forms.with == 1 ? "has" : "have", node->op_type, forms.nodes);
    if (forms.models && forms.nodes && *parameter)
        str_printf(&text, "; %zu times with %s as here", forms.alike, parameter);
    return forms.models ? str_detach(&text) : NULL;
}
