#include "scramble/names.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/newer_fields.h"
#include "model/tree.h"
#include "scramble/vocabulary.h"

#include <stdlib.h>
#include <string.h>

enum { FRESH_MOST = 64 };

static const char letters[] = "bcdfghjklmnpqrstvwxz";

void names_init(struct names *names)
{
    *names = (struct names){0};
    arena_init(&names->arena);
    map_init(&names->numbers);
}

void names_release(struct names *names)
{
    map_release(&names->numbers);
    arena_release(&names->arena);
    free(names->fresh);
    *names = (struct names){0};
}

const char *names_fresh(const struct names *names, const char *old)
{
    size_t number;
    return old && map_get(&names->numbers, old, &number) ? names->fresh[number] : old;
}

/* --- Which names there are --- */

struct work {
    struct names *names;
    const struct names_kept *kept;
    struct model *model;
    struct map *values, *operators; /* what is called so */
    int status;
    struct error *err;
};

static void note(struct work *work, const char *name)
{
    struct names *names = work->names;
    if (!name || !*name || map_has(&names->numbers, name))
        return;
    map_set(&names->numbers, arena_strdup(&names->arena, name), names->count);
    names->fresh = memory_grow(names->fresh, &names->capacity, names->count + 1, sizeof *names->fresh);
    names->fresh[names->count++] = NULL;
}

static void note_all(struct work *work, char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        note(work, names[i]);
}

static void note_node(struct work *work, const Onnx__NodeProto *node)
{
    note(work, node->name);
    note_all(work, node->input, node->n_input);
    note_all(work, node->output, node->n_output);
    for (size_t i = 0; i < node->n_attribute; i++) {
        note(work, node->attribute[i]->ref_attr_name);
        if (!is_public_operator(work->model, node))
            note(work, node->attribute[i]->name);
    }
    if (is_public_operator(work->model, node))
        return;
    note(work, node->op_type);
    if (!is_public_domain(node->domain))
        note(work, node->domain);
}

static void note_function(struct work *work, const Onnx__FunctionProto *function)
{
    note(work, function->name);
    if (!is_public_domain(function->domain))
        note(work, function->domain);
    note_all(work, function->input, function->n_input);
    note_all(work, function->output, function->n_output);
    note_all(work, function->attribute, function->n_attribute);
}

static int note_message(void *context, ProtobufCMessage *message)
{
    struct work *work = context;
    const ProtobufCMessageDescriptor *type = message->descriptor;
    if (type == &onnx__node_proto__descriptor) {
        note_node(work, (const Onnx__NodeProto *)message);
    } else if (type == &onnx__value_info_proto__descriptor) {
        note(work, ((const Onnx__ValueInfoProto *)message)->name);
    } else if (type == &onnx__tensor_proto__descriptor) {
        note(work, ((const Onnx__TensorProto *)message)->name);
    } else if (type == &onnx__graph_proto__descriptor) {
        note(work, ((const Onnx__GraphProto *)message)->name);
    } else if (type == &onnx__function_proto__descriptor) {
        note_function(work, (const Onnx__FunctionProto *)message);
    } else if (type == &onnx__operator_set_id_proto__descriptor) {
        const char *domain = ((const Onnx__OperatorSetIdProto *)message)->domain;
        if (domain && !is_public_domain(domain))
            note(work, domain);
    } else if (type == &onnx__tensor_shape_proto__dimension__descriptor) {
        const Onnx__TensorShapeProto__Dimension *dim = (const Onnx__TensorShapeProto__Dimension *)message;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            note(work, dim->dim_param);
    }
    return 0;
}

/* --- New names --- */

/* Whether the name is an old one, or has one of 4 letters and more inside. */
static bool has_old_name(const struct names *names, const char *name)
{
    size_t length = strlen(name);
    char part[FRESH_MOST + 1];
    if (map_has(&names->numbers, name))
        return true;
    for (size_t from = 0; from < length; from++)
        for (size_t size = LEAK_TEXT_LEAST; from + size <= length && size < sizeof part; size++) {
            memcpy(part, name + from, size);
            part[size] = '\0';
            if (map_has(&names->numbers, part))
                return true;
        }
    return false;
}

/* Number `number` in letters, at least `least` of them behind the first. */
static const char *spell(struct names *names, size_t number, size_t least)
{
    char text[FRESH_MOST];
    size_t length = 0, base = sizeof letters - 1;
    text[length++] = 'v';
    do {
        text[length++] = letters[number % base];
        number /= base;
    } while ((number || length < least) && length < sizeof text - 1);
    text[length] = '\0';
    return arena_strdup(&names->arena, text);
}

static void choose(struct names *names, const struct names_kept *kept)
{
    size_t next = 0;
    for (size_t i = 0; i < names->numbers.capacity; i++) {
        const struct map_slot *slot = &names->numbers.slots[i];
        if (slot->key)
            names->fresh[slot->value] = slot->key;
    }
    for (size_t i = 0; i < names->count; i++) {
        size_t length = strlen(names->fresh[i]);
        if (kept->lengths && length < LEAK_TEXT_LEAST)
            continue;
        const char *fresh;
        do
            fresh = spell(names, next++, kept->lengths ? length : 0);
        while (has_old_name(names, fresh));
        names->fresh[i] = fresh;
    }
}

/* --- Putting them in --- */

static void replace(struct work *work, char **name)
{
    if (*name)
        *name = arena_strdup(&work->model->arena, names_fresh(work->names, *name));
}

static void replace_all(struct work *work, char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        replace(work, &names[i]);
}

static bool keeps_operator(const struct work *work, const char *name)
{
    return work->kept->functions || (work->kept->public_functions && is_public_name(name));
}

static void replace_node(struct work *work, Onnx__NodeProto *node)
{
    bool public = is_public_operator(work->model, node);
    if (!work->kept->values) {
        replace(work, &node->name);
        replace_all(work, node->input, node->n_input);
        replace_all(work, node->output, node->n_output);
    }
    for (size_t i = 0; i < node->n_attribute && !work->kept->functions; i++) {
        replace(work, &node->attribute[i]->ref_attr_name);
        if (!public)
            replace(work, &node->attribute[i]->name);
    }
    if (public)
        return;
    if (!keeps_operator(work, node->op_type))
        replace(work, &node->op_type);
    if (!work->kept->functions && !is_public_domain(node->domain))
        replace(work, &node->domain);
}

/* The defaults of attributes are read by nobody else; those that hold data would have to be replaced as well.
 */
static int replace_defaults(struct work *work, Onnx__FunctionProto *function)
{
    struct arena *arena = &work->model->arena;
    size_t count, unknown = 0;
    Onnx__AttributeProto **defaults = function_defaults(function, arena, &count);
    for (size_t i = 0; i < count; i++) {
        if (defaults[i]->t || defaults[i]->g || defaults[i]->sparse_tensor || defaults[i]->has_s ||
            defaults[i]->n_strings || defaults[i]->n_floats || defaults[i]->n_tensors ||
            defaults[i]->n_graphs)
            return error_set(
                work->err, ERROR_UNSUPPORTED,
                "the function '%.100s' has an attribute whose default holds data, which cannot be "
                "replaced; write the attribute where the function is called",
                function->name);
        if (!work->kept->functions)
            replace(work, &defaults[i]->name);
        defaults[i]->doc_string = NULL;
    }
    if (!function->base.n_unknown_fields)
        return 0; /* they were changed where they stand */
    ProtobufCMessageUnknownField *fields = arena_array(arena, count, sizeof *fields);
    for (; unknown < count; unknown++) {
        size_t size = protobuf_c_message_get_packed_size(&defaults[unknown]->base), head = 0;
        uint8_t *data = arena_alloc(arena, size + 16);
        for (size_t left = size;; left >>= 7) {
            data[head++] = (uint8_t)((left & 127) | (left > 127 ? 128 : 0));
            if (left <= 127)
                break;
        }
        protobuf_c_message_pack(&defaults[unknown]->base, data + head);
        fields[unknown] = (ProtobufCMessageUnknownField){
            .tag = 11, .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, .len = head + size, .data = data};
    }
    function->base.unknown_fields = fields;
    function->base.n_unknown_fields = (unsigned)count;
    return 0;
}

static void replace_function(struct work *work, Onnx__FunctionProto *function)
{
    work->status = work->status || replace_defaults(work, function) ? -1 : 0;
    if (!keeps_operator(work, function->name))
        replace(work, &function->name);
    if (!work->kept->functions) {
        replace_all(work, function->attribute, function->n_attribute);
        if (!is_public_domain(function->domain))
            replace(work, &function->domain);
    }
    if (!work->kept->values) {
        replace_all(work, function->input, function->n_input);
        replace_all(work, function->output, function->n_output);
    }
}

static void replace_annotations(struct work *work, Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_quantization_annotation && !work->kept->values; i++) {
        Onnx__TensorAnnotation *annotation = graph->quantization_annotation[i];
        replace(work, &annotation->tensor_name);
        for (size_t k = 0; k < annotation->n_quant_parameter_tensor_names; k++)
            replace(work, &annotation->quant_parameter_tensor_names[k]->value);
    }
}

/* What says nothing about the computation goes, by the names that these fields have in any release's
 * onnx.proto. */
static void clear_notes(ProtobufCMessage *message)
{
    static const char *const notes[] = {"doc_string",    "metadata_props",  "denotation",
                                        "producer_name", "training_info",   "device_configurations",
                                        "configuration", "producer_version"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(message->descriptor, notes[i]);
        if (!field)
            continue;
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            memset((char *)message + field->quantifier_offset, 0, sizeof(size_t));
        else
            memset((char *)message + field->offset, 0, sizeof(void *)); /* a text or a message */
    }
    if (message->descriptor != &onnx__function_proto__descriptor)
        message->n_unknown_fields = 0;
}

static int replace_message(void *context, ProtobufCMessage *message)
{
    struct work *work = context;
    const ProtobufCMessageDescriptor *type = message->descriptor;
    bool values = !work->kept->values;
    clear_notes(message);
    if (type == &onnx__node_proto__descriptor) {
        replace_node(work, (Onnx__NodeProto *)message);
    } else if (type == &onnx__value_info_proto__descriptor && values) {
        replace(work, &((Onnx__ValueInfoProto *)message)->name);
    } else if (type == &onnx__tensor_proto__descriptor && values) {
        replace(work, &((Onnx__TensorProto *)message)->name);
    } else if (type == &onnx__graph_proto__descriptor) {
        replace(work, &((Onnx__GraphProto *)message)->name);
        replace_annotations(work, (Onnx__GraphProto *)message);
    } else if (type == &onnx__operator_set_id_proto__descriptor && !work->kept->functions) {
        Onnx__OperatorSetIdProto *import = (Onnx__OperatorSetIdProto *)message;
        if (import->domain && !is_public_domain(import->domain))
            replace(work, &import->domain);
    } else if (type == &onnx__tensor_shape_proto__dimension__descriptor) {
        Onnx__TensorShapeProto__Dimension *dim = (Onnx__TensorShapeProto__Dimension *)message;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            replace(work, &dim->dim_param);
    }
    return 0;
}

/* Functions come last: nodes are told apart by what they call. */
static void replace_functions(struct work *work)
{
    for (size_t i = 0; i < work->model->proto->n_functions; i++)
        replace_function(work, work->model->proto->functions[i]);
}

int names_replace(struct subject *subject, const struct names_kept *kept, struct names *names,
                  struct error *err)
{
    struct model *model = subject->model;
    struct work work = {.names = names, .kept = kept, .model = model, .err = err};
    tree_each(&model->proto->base, note_message, &work);
    choose(names, kept);
    tree_each(&model->proto->base, replace_message, &work);
    replace_functions(&work);
    model->proto->domain = NULL;
    model->proto->has_model_version = false;
    model->path = NULL;
    for (size_t i = 0; i < subject->n_inputs && !kept->values; i++)
        value_set_name(&subject->inputs[i], model->graph->input[i]->name);
    return work.status;
}

/* --- What is looked for --- */

static int forbid(void *context, const char *field, const char *text)
{
    (void)field;
    leak_forbid_text(context, text, strlen(text));
    return 0;
}

static int forbid_message(void *context, ProtobufCMessage *message)
{
    if (message->descriptor == &onnx__attribute_proto__descriptor) {
        const Onnx__AttributeProto *attribute = (const Onnx__AttributeProto *)message;
        if (attribute->has_s)
            leak_forbid_text(context, (const char *)attribute->s.data, attribute->s.len);
        for (size_t i = 0; i < attribute->n_strings; i++)
            leak_forbid_text(context, (const char *)attribute->strings[i].data, attribute->strings[i].len);
    }
    return tree_texts(message, forbid, context);
}

void names_forbid(struct leak_search *search, const struct model *model)
{
    tree_each(&model->proto->base, forbid_message, search);
}

struct allow {
    struct leak_search *search;
    const struct model *model;
    const struct names_kept *kept;
};

static void allow_node(const struct allow *allow, const Onnx__NodeProto *node)
{
    bool public = is_public_operator(allow->model, node) || allow->kept->functions;
    if (public || (allow->kept->public_functions && is_public_name(node->op_type)))
        leak_allow_text(allow->search, node->op_type);
    if (public)
        leak_allow_text(allow->search, node->domain);
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (public)
            leak_allow_text(allow->search, attribute->name);
        if (attribute->has_s &&
            is_public_text(allow->model, node, attribute->name, (const char *)attribute->s.data))
            leak_allow_text(allow->search, (const char *)attribute->s.data);
        for (size_t k = 0; k < attribute->n_strings; k++)
            if (is_public_text(allow->model, node, attribute->name, (const char *)attribute->strings[k].data))
                leak_allow_text(allow->search, (const char *)attribute->strings[k].data);
    }
    if (allow->kept->values) {
        leak_allow_text(allow->search, node->name);
        for (size_t i = 0; i < node->n_input; i++)
            leak_allow_text(allow->search, node->input[i]);
        for (size_t i = 0; i < node->n_output; i++)
            leak_allow_text(allow->search, node->output[i]);
    }
}

static int allow_message(void *context, ProtobufCMessage *message)
{
    const struct allow *allow = context;
    if (message->descriptor == &onnx__node_proto__descriptor) {
        allow_node(allow, (const Onnx__NodeProto *)message);
    } else if (message->descriptor == &onnx__operator_set_id_proto__descriptor) {
        const char *domain = ((const Onnx__OperatorSetIdProto *)message)->domain;
        if (domain && is_public_domain(domain))
            leak_allow_text(allow->search, domain);
    } else if (message->descriptor == &onnx__tensor_annotation__descriptor) {
        const Onnx__TensorAnnotation *annotation = (const Onnx__TensorAnnotation *)message;
        for (size_t i = 0; i < annotation->n_quant_parameter_tensor_names; i++)
            leak_allow_text(allow->search, annotation->quant_parameter_tensor_names[i]->key);
    } else if (message->descriptor == &onnx__value_info_proto__descriptor && allow->kept->values) {
        leak_allow_text(allow->search, ((const Onnx__ValueInfoProto *)message)->name);
    }
    return 0;
}

void names_allow(struct leak_search *search, const struct model *model, const struct names_kept *kept)
{
    struct allow allow = {search, model, kept};
    tree_each(&model->proto->base, allow_message, &allow);
}

struct private_list {
    const struct model *model;
    struct str *out;
    struct map seen;
};

static int add_private(void *context, ProtobufCMessage *message)
{
    struct private_list *list = context;
    const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
    if (message->descriptor != &onnx__node_proto__descriptor || is_public_operator(list->model, node) ||
        map_has(&list->seen, node->op_type))
        return 0;
    map_set(&list->seen, node->op_type, 0);
    str_printf(list->out, "%s%s%s%s", list->out->length ? ", " : "", node->domain, *node->domain ? "::" : "",
               node->op_type);
    return 0;
}

void names_private(const struct model *model, struct str *out)
{
    struct private_list list = {.model = model, .out = out};
    map_init(&list.seen);
    tree_each(&model->proto->base, add_private, &list);
    map_release(&list.seen);
}
