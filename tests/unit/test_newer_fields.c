/* Fields of models that are newer than the onnx.proto of the build: kept, understood or refused by name. */
#define _GNU_SOURCE /* memmem */
#include "base/str.h"
#include "eval/evaluate.h"
#include "model/build.h"
#include "model/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MESSAGE_SIZE = sizeof(((struct error *)0)->message) };
enum { MODEL_GRAPH = 7, MODEL_FUNCTIONS = 25, GRAPH_NODE = 1, FUNCTION_DEFAULTS = 11 };

static void add_packed(struct str *out, uint32_t number, const ProtobufCMessage *message,
                       const struct str *more)
{
    struct str bytes;
    str_init(&bytes);
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = malloc(size + 1);
    protobuf_c_message_pack(message, packed);
    str_append(&bytes, packed, size);
    if (more)
        str_append(&bytes, more->data, more->length);
    scan_put_bytes(out, number, bytes.data, bytes.length);
    free(packed);
    str_release(&bytes);
}

/* y = Call(x), where Call is an operator of the domain "local"; `more` are further fields of the node. */
static void call_model(struct str *bytes, const struct str *more)
{
    struct model *model = model_new(16);
    struct arena *arena = &model->arena;
    struct shape shape = {1, {2}};
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    model_add_output(model, "y", DTYPE_FLOAT, &shape);
    Onnx__NodeProto *node =
        model_add_node(model, "Call", "call", 1, (const char *[]){"x"}, 1, (const char *[]){"y"});
    node->domain = arena_strdup(arena, "local");
    struct str extra;
    str_init(&extra);
    add_packed(&extra, GRAPH_NODE, &node->base, more);
    model->graph->n_node = 0;
    Onnx__GraphProto *graph = model->proto->graph;
    model->proto->graph = NULL;
    size_t size = protobuf_c_message_get_packed_size(&model->proto->base);
    uint8_t *packed = malloc(size + 1);
    protobuf_c_message_pack(&model->proto->base, packed);
    str_append(bytes, packed, size);
    free(packed);
    add_packed(bytes, MODEL_GRAPH, &graph->base, &extra);
    model->proto->graph = graph;
    str_release(&extra);
    model_free(model);
}

/* The function Call(x) = LeakyRelu(x) whose attribute alpha is the call's, or 0.5. */
static void add_function(struct str *bytes)
{
    Onnx__OperatorSetIdProto set, *sets[] = {&set};
    onnx__operator_set_id_proto__init(&set);
    set.domain = (char *)(uintptr_t) "";
    set.has_version = 1;
    set.version = 16;
    Onnx__AttributeProto refers, *attributes[] = {&refers}, initial;
    onnx__attribute_proto__init(&refers);
    refers.name = refers.ref_attr_name = (char *)(uintptr_t) "alpha";
    refers.has_type = 1;
    refers.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
    initial = refers;
    initial.ref_attr_name = NULL;
    initial.has_f = 1;
    initial.f = 0.5f;
    char *inputs[] = {(char *)(uintptr_t) "a"}, *outputs[] = {(char *)(uintptr_t) "b"};
    Onnx__NodeProto node, *nodes[] = {&node};
    onnx__node_proto__init(&node);
    node.op_type = (char *)(uintptr_t) "LeakyRelu";
    node.n_input = node.n_output = node.n_attribute = 1;
    node.input = inputs;
    node.output = outputs;
    node.attribute = attributes;
    Onnx__FunctionProto function;
    onnx__function_proto__init(&function);
    function.name = (char *)(uintptr_t) "Call";
    function.domain = (char *)(uintptr_t) "local";
    function.n_input = function.n_output = function.n_node = function.n_opset_import = 1;
    function.input = inputs;
    function.output = outputs;
    function.node = nodes;
    function.opset_import = sets;
    struct str defaults;
    str_init(&defaults);
    add_packed(&defaults, FUNCTION_DEFAULTS, &initial.base, NULL);
    add_packed(bytes, MODEL_FUNCTIONS, &function.base, &defaults);
    str_release(&defaults);
}

static void a_function_has_defaults(void **state)
{
    (void)state;
    struct str bytes;
    str_init(&bytes);
    call_model(&bytes, NULL);
    add_function(&bytes);
    struct model *model;
    struct evaluator *evaluator;
    struct error err = {0};
    if (model_parse(&model, (const uint8_t *)bytes.data, bytes.length, &err) ||
        evaluator_new(&evaluator, model, NULL, &err))
        fail_msg("%s", err.message);
    struct shape shape = {1, {2}};
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, NULL), 0);
    tensor_set(&tensor, 0, -4);
    tensor_set(&tensor, 1, 3);
    struct value x = value_view("x", &tensor);
    struct bounded *results;
    size_t count;
    if (evaluator_run(evaluator, &x, 1, NULL, 0, &results, &count, &err))
        fail_msg("%s", err.message);
    assert_int_equal(count, 1);
    assert_true(results[0].value[0] == -2 && results[0].value[1] == 3);
    bounded_release(&results[0]);
    free(results);
    tensor_release(&tensor);
    evaluator_free(evaluator);
    model_free(model);
    str_release(&bytes);
}

/* Loads a model whose node has one more field of text; the message when it is refused. */
static enum error_code load_with(uint32_t number, const char *text, char message[MESSAGE_SIZE])
{
    struct str bytes, more;
    struct model *model = NULL;
    struct error err = {0};
    str_init(&bytes);
    str_init(&more);
    scan_put_bytes(&more, number, text, strlen(text));
    call_model(&bytes, &more);
    int result = model_parse(&model, (const uint8_t *)bytes.data, bytes.length, &err);
    if (!result) {
        /* Nothing of it is lost on the way to an engine. */
        uint8_t *packed;
        size_t size;
        assert_int_equal(model_pack(model, &packed, &size, &err), 0);
        assert_non_null(memmem(packed, size, more.data, more.length));
        free(packed);
    }
    snprintf(message, MESSAGE_SIZE, "%s", result ? err.message : "");
    model_free(model);
    str_release(&bytes);
    str_release(&more);
    return result ? err.code : ERROR_NONE;
}

static void notes_are_kept_and_the_rest_refused(void **state)
{
    char message[MESSAGE_SIZE];
    (void)state;
    assert_int_equal(load_with(9, "\n\001a\022\001b", message), ERROR_NONE); /* metadata_props: a = b */
    assert_int_equal(load_with(8, "", message), ERROR_NONE);                 /* no overload */
    assert_int_equal(load_with(8, "other", message), ERROR_UNSUPPORTED);
    assert_non_null(strstr(message, "overload"));
    assert_int_equal(load_with(77, "x", message), ERROR_UNSUPPORTED);
    assert_non_null(strstr(message, "the field 77 of NodeProto is newer than ONNX"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_has_defaults),
        cmocka_unit_test(notes_are_kept_and_the_rest_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
