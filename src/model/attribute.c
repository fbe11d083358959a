/* Attributes of nodes: setting and reading them (build.h). */
#include "model/build.h"

#include "base/str.h"

#include <string.h>

static Onnx__AttributeProto *find(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (text_equal(node->attribute[i]->name, name))
            return node->attribute[i];
    return NULL;
}

/* An empty attribute of this name, which replaces an older one or is appended. */
static Onnx__AttributeProto *renew(struct arena *arena, Onnx__NodeProto *node, const char *name,
                                   Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *attribute = find(node, name);
    if (!attribute) {
        attribute = arena_alloc(arena, sizeof *attribute);
        Onnx__AttributeProto **moved = arena_array(arena, node->n_attribute + 1, sizeof *moved);
        if (node->n_attribute)
            memcpy(moved, node->attribute, node->n_attribute * sizeof *moved);
        moved[node->n_attribute++] = attribute;
        node->attribute = moved;
    }
    onnx__attribute_proto__init(attribute);
    attribute->name = arena_strdup(arena, name);
    attribute->has_type = true;
    attribute->type = type;
    return attribute;
}

void node_set_int(struct arena *arena, Onnx__NodeProto *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *attribute = renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    attribute->has_i = true;
    attribute->i = value;
}

void node_set_float(struct arena *arena, Onnx__NodeProto *node, const char *name, float value)
{
    Onnx__AttributeProto *attribute = renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    attribute->has_f = true;
    attribute->f = value;
}

void node_set_string(struct arena *arena, Onnx__NodeProto *node, const char *name, const char *value)
{
    Onnx__AttributeProto *attribute = renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    attribute->has_s = true;
    attribute->s.len = strlen(value);
    attribute->s.data = arena_copy(arena, value, attribute->s.len);
}

void node_set_ints(struct arena *arena, Onnx__NodeProto *node, const char *name, const int64_t *values,
                   size_t count)
{
    Onnx__AttributeProto *attribute = renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    attribute->n_ints = count;
    attribute->ints = arena_copy(arena, values, count * sizeof *values);
}

void node_set_floats(struct arena *arena, Onnx__NodeProto *node, const char *name, const float *values,
                     size_t count)
{
    Onnx__AttributeProto *attribute = renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    attribute->n_floats = count;
    attribute->floats = arena_copy(arena, values, count * sizeof *values);
}

void node_set_strings(struct arena *arena, Onnx__NodeProto *node, const char *name, const char *const *values,
                      size_t count)
{
    Onnx__AttributeProto *attribute =
        renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
    attribute->n_strings = count;
    attribute->strings = arena_array(arena, count, sizeof *attribute->strings);
    for (size_t i = 0; i < count; i++) {
        attribute->strings[i].len = strlen(values[i]);
        attribute->strings[i].data = (uint8_t *)arena_strdup(arena, values[i]);
    }
}

void node_set_tensor(struct arena *arena, Onnx__NodeProto *node, const char *name,
                     const struct tensor *tensor)
{
    Onnx__AttributeProto *attribute = renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    attribute->t = model_tensor_write(arena, name, tensor);
}

void node_set_sparse(struct arena *arena, Onnx__NodeProto *node, const char *name,
                     Onnx__SparseTensorProto *sparse)
{
    Onnx__AttributeProto *attribute =
        renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR);
    attribute->sparse_tensor = sparse;
}

void node_set_graph(struct arena *arena, Onnx__NodeProto *node, const char *name, Onnx__GraphProto *graph)
{
    Onnx__AttributeProto *attribute = renew(arena, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
    attribute->g = graph;
}

void node_remove_attribute(Onnx__NodeProto *node, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (!text_equal(node->attribute[i]->name, name))
            node->attribute[kept++] = node->attribute[i];
    node->n_attribute = kept;
}

const Onnx__AttributeProto *node_attribute(const Onnx__NodeProto *node, const char *name)
{
    return find(node, name);
}

/* Models of IR version 1 have no type field: there an attribute may be of any kind. */
static const Onnx__AttributeProto *of_kind(const Onnx__NodeProto *node, const char *name,
                                           Onnx__AttributeProto__AttributeType type)
{
    const Onnx__AttributeProto *attribute = find(node, name);
    return attribute && (!attribute->has_type || attribute->type == type) ? attribute : NULL;
}

int64_t node_int(const Onnx__NodeProto *node, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *attribute = of_kind(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (!attribute || (!attribute->has_type && !attribute->has_i))
        return otherwise;
    return attribute->i;
}

float node_float(const Onnx__NodeProto *node, const char *name, float otherwise)
{
    const Onnx__AttributeProto *attribute = of_kind(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    if (!attribute || (!attribute->has_type && !attribute->has_f))
        return otherwise;
    return attribute->f;
}

bool node_string(const Onnx__NodeProto *node, const char *name, const char **text, size_t *size)
{
    const Onnx__AttributeProto *attribute =
        of_kind(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    if (!attribute || (!attribute->has_type && !attribute->has_s))
        return false;
    *text = attribute->s.len ? (const char *)attribute->s.data : "";
    *size = attribute->s.len;
    return true;
}

bool node_ints(const Onnx__NodeProto *node, const char *name, const int64_t **values, size_t *count)
{
    const Onnx__AttributeProto *attribute = of_kind(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    if (!attribute || (!attribute->has_type && !attribute->n_ints))
        return false;
    *values = attribute->ints;
    *count = attribute->n_ints;
    return true;
}

bool node_floats(const Onnx__NodeProto *node, const char *name, const float **values, size_t *count)
{
    const Onnx__AttributeProto *attribute =
        of_kind(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    if (!attribute || (!attribute->has_type && !attribute->n_floats))
        return false;
    *values = attribute->floats;
    *count = attribute->n_floats;
    return true;
}

const Onnx__TensorProto *node_tensor(const Onnx__NodeProto *node, const char *name)
{
    const Onnx__AttributeProto *attribute =
        of_kind(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    return attribute ? attribute->t : NULL;
}

Onnx__GraphProto *node_graph(const Onnx__NodeProto *node, const char *name)
{
    const Onnx__AttributeProto *attribute = of_kind(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH);
    return attribute ? attribute->g : NULL;
}
