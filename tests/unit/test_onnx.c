#include "base/limits.h"
#include "base/memory.h"
#include "corpus.h"
#include "model/build.h"
#include "model/index.h"
#include "model/isolated.h"
#include "model/onnx.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NAMES(...) ((const char *[]){__VA_ARGS__})

/* y = Relu(MatMul(x, w)) */
static struct model *sample(int opset)
{
    struct model *model = model_new(opset);
    struct shape x = {2, {2, 3}}, w = {2, {3, 4}}, y = {2, {2, 4}};
    struct tensor weight;
    assert_int_equal(tensor_alloc(&weight, DTYPE_FLOAT, &w, 0, NULL), 0);
    model_add_input(model, "x", DTYPE_FLOAT, &x);
    model_add_initializer(model, "w", &weight);
    model_add_node(model, "MatMul", NULL, 2, NAMES("x", "w"), 1, NAMES("h"));
    model_add_node(model, "Relu", NULL, 1, NAMES("h"), 1, NAMES("y"));
    model_add_output(model, "y", DTYPE_FLOAT, &y);
    tensor_release(&weight);
    return model;
}

struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes pack(struct model *model)
{
    struct bytes bytes;
    assert_int_equal(model_pack(model, &bytes.data, &bytes.size, NULL), 0);
    model_free(model);
    return bytes;
}

static void valid_invalid_and_newer_models(void **state)
{
    (void)state;
    struct error err = {0};
    struct bytes good = pack(sample(13));
    assert_int_equal(onnx_check(good.data, good.size, &err), 0);
    free(good.data);
    struct bytes newer = pack(sample(onnx_max_opset() + 1));
    assert_int_equal(onnx_check(newer.data, newer.size, &err), ONNX_UNCHECKABLE);
    free(newer.data);
    struct model *model = sample(13);
    model_add_node(model, "NoSuchOperator", NULL, 1, NAMES("y"), 1, NAMES("z"));
    struct bytes bad = pack(model);
    assert_int_equal(onnx_check(bad.data, bad.size, &err), -1);
    assert_non_null(strstr(err.message, "NoSuchOperator"));
    assert_null(strchr(err.message, '\n'));
    free(bad.data);
    assert_int_equal(onnx_check((const uint8_t *)"\x3a\x05", 2, &err), -1);
    assert_int_equal(err.code, ERROR_FORMAT);
}

/* An IR version that libonnx does not know is no reason to let everything pass. */
static void newer_ir_versions_are_checked(void **state)
{
    (void)state;
    struct error err = {0};
    struct bytes out;
    struct model *inferred, *model = sample(13);
    model->proto->ir_version = 10;
    struct bytes good = pack(model);
    assert_int_equal(onnx_check(good.data, good.size, &err), 0);
    assert_int_equal(onnx_infer_shapes(good.data, good.size, 1, &out.data, &out.size, &err), 0);
    assert_int_equal(model_parse(&inferred, out.data, out.size, &err), 0);
    assert_int_equal(inferred->proto->ir_version, 10);
    model_free(inferred);
    free(out.data);
    free(good.data);
    model = sample(13);
    model->proto->ir_version = 10;
    model_add_node(model, "NoSuchOperator", NULL, 1, NAMES("y"), 1, NAMES("z"));
    struct bytes bad = pack(model);
    assert_int_equal(onnx_check(bad.data, bad.size, &err), -1);
    free(bad.data);
}

static void external_paths_never_reach_libonnx(void **state)
{
    (void)state;
    struct model *model = sample(13);
    Onnx__TensorProto *w = model->graph->initializer[0];
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT, *entries[] = {&entry};
    entry.key = (char *)(uintptr_t) "location";
    entry.value = (char *)(uintptr_t) "/etc/passwd";
    w->has_raw_data = false;
    w->has_data_location = true;
    w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    w->n_external_data = 1;
    w->external_data = entries;
    struct bytes bytes = pack(model);
    struct error err = {0};
    assert_int_equal(onnx_check(bytes.data, bytes.size, &err), -1);
    assert_non_null(strstr(err.message, "external data must be inlined"));
    free(bytes.data);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    struct bytes bytes = pack(sample(13)), out;
    struct error err = {0};
    struct model *model;
    assert_int_equal(onnx_infer_shapes(bytes.data, bytes.size, 1, &out.data, &out.size, &err), 0);
    assert_int_equal(model_parse(&model, out.data, out.size, &err), 0);
    assert_int_equal(model->graph->n_value_info, 1);
    assert_string_equal(model->graph->value_info[0]->name, "h");
    assert_int_equal(model->graph->value_info[0]->type->tensor_type->shape->dim[1]->dim_value, 4);
    free(out.data);
    model->graph->output[0]->type = type_make(&model->arena, DTYPE_FLOAT, &(struct shape){1, {5}});
    free(bytes.data);
    bytes = pack(model);
    assert_int_equal(onnx_infer_shapes(bytes.data, bytes.size, 1, &out.data, &out.size, &err), -1);
    assert_null(out.data);
    free(bytes.data);
}

/* libonnx takes a weight of another rank for one it can index; what it dies of must not be our end. */
static void inference_may_die(void **state)
{
    (void)state;
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 13]>\n"
        "g (float[1,2,1] x) => (float[a,b,c] y) <float[1,2,1,1] w = {1, 1}> { y = Conv (x, w) }";
    struct bytes bytes, out;
    struct error err = {0};
    assert_int_equal(onnx_parse_text(text, &bytes.data, &bytes.size, &err), 0);
    int result = onnx_infer_shapes(bytes.data, bytes.size, 0, &out.data, &out.size, &err);
    assert_true(result == 0 || (!out.data && err.message[0]));
    free(out.data);
    free(bytes.data);
}

enum { LARGE = 1 << 20 }; /* more than a pipe holds */

static int give(void *context, uint8_t **out, size_t *size, struct error *err)
{
    const char *what = context;
    if (*what == 'd')
        raise(SIGSEGV);
    if (*what == 'e')
        return error_set(err, ERROR_LIMIT, "too much");
    if (*what == 'u')
        return ONNX_UNCHECKABLE;
    *out = memory_zeroed(LARGE, 1);
    memset(*out, *what, LARGE);
    *size = LARGE;
    return 0;
}

static void work_apart(void **state)
{
    (void)state;
    struct error err = {0};
    uint8_t *out;
    size_t size;
    assert_int_equal(isolated_run("libonnx", give, "x", &out, &size, &err), 0);
    assert_int_equal(size, LARGE);
    assert_true(out[0] == 'x' && out[LARGE - 1] == 'x');
    free(out);
    assert_int_equal(isolated_run("libonnx", give, "error", &out, &size, &err), -1);
    assert_true(!out && err.code == ERROR_LIMIT && strcmp(err.message, "too much") == 0);
    assert_int_equal(isolated_run("libonnx", give, "unknown", &out, &size, &err), ONNX_UNCHECKABLE);
    assert_int_equal(isolated_run("libonnx", give, "die", &out, &size, &err), -1);
    assert_true(!out && err.code == ERROR_IO && strstr(err.message, "signal 11"));
}

/* By number 0 the id of the process that answers; 1: it dies; 2: it does not end; 3: an error. */
static int tell(const uint8_t *data, size_t size, int number, uint8_t **out, size_t *out_size,
                struct error *err)
{
    if (number == 1)
        raise(SIGSEGV);
    while (number == 2)
        pause();
    if (number == 3)
        return error_set(err, ERROR_LIMIT, "too much");
    pid_t pid = getpid();
    *out = memory_zeroed(size + sizeof pid, 1);
    memcpy(*out, &pid, sizeof pid);
    if (size)
        memcpy(*out + sizeof pid, data, size);
    *out_size = size + sizeof pid;
    return 0;
}

static pid_t who_answers(size_t size)
{
    uint8_t *data = memory_zeroed(size + 1, 1), *out;
    size_t out_size;
    pid_t pid;
    struct error err = {0};
    memset(data, 7, size);
    assert_int_equal(isolated_ask("libonnx", tell, data, size, 0, &out, &out_size, &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(out_size, size + sizeof pid);
    assert_memory_equal(out + sizeof pid, data, size);
    memcpy(&pid, out, sizeof pid);
    free(out);
    free(data);
    return pid;
}

static void one_process_is_kept(void **state)
{
    (void)state;
    struct error err = {0};
    uint8_t *out;
    size_t size;
    pid_t first = who_answers(3);
    assert_true(first != getpid());
    assert_int_equal(who_answers(LARGE), first);
    assert_int_equal(isolated_ask("libonnx", tell, NULL, 0, 3, &out, &size, &err), -1);
    assert_true(!out && err.code == ERROR_LIMIT && strcmp(err.message, "too much") == 0);
    assert_int_equal(who_answers(0), first);
    assert_int_equal(isolated_ask("libonnx", tell, NULL, 0, 1, &out, &size, &err), -1);
    assert_true(!out && err.code == ERROR_IO && strstr(err.message, "signal 11"));
    pid_t second = who_answers(1);
    assert_int_not_equal(second, first);
    /* Somebody else ends it between two tasks. */
    kill(second, SIGKILL);
    while (kill(second, 0) == 0 && waitid(P_PID, (id_t)second, &(siginfo_t){0}, WEXITED | WNOWAIT))
        ;
    pid_t third = who_answers(1);
    assert_int_not_equal(third, second);
    /* One that does not end is ended. */
    struct limits before = limits_get(), short_time = before;
    short_time.seconds = 0.3;
    limits_set(short_time);
    assert_int_equal(isolated_ask("libonnx", tell, NULL, 0, 2, &out, &size, &err), -1);
    assert_true(err.code == ERROR_LIMIT && strstr(err.message, "--deadline"));
    limits_set(before);
    assert_int_not_equal(who_answers(1), third);
}

/* A fork must not take the answers of its parent's. */
static void a_fork_has_its_own(void **state)
{
    (void)state;
    pid_t ours = who_answers(1), child = fork();
    int status;
    if (child == 0)
        _exit(who_answers(1) == ours || who_answers(2) == ours);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(who_answers(1), ours);
}

static void text_goes_in_and_out(void **state)
{
    (void)state;
    static const char text[] = "<ir_version: 8, opset_import: [\"\" : 13]>\n"
                               "agraph (float[2,3] x) => (float[2,3] y) {\n"
                               "  h = LeakyRelu <alpha = 0.25> (x)\n"
                               "  y = Neg (h)\n"
                               "}";
    struct bytes bytes, again;
    struct error err = {0};
    char *printed;
    if (onnx_parse_text(text, &bytes.data, &bytes.size, &err))
        fail_msg("%s", err.message);
    assert_int_equal(onnx_check(bytes.data, bytes.size, &err), 0);
    assert_int_equal(onnx_print_text(bytes.data, bytes.size, &printed, &err), 0);
    assert_non_null(strstr(printed, "LeakyRelu"));
    if (onnx_parse_text(printed, &again.data, &again.size, &err))
        fail_msg("%s in\n%s", err.message, printed);
    struct model *model;
    assert_int_equal(model_parse(&model, again.data, again.size, &err), 0);
    assert_int_equal(model->graph->n_node, 2);
    assert_true(node_float(model->graph->node[0], "alpha", 0) == 0.25f);
    assert_int_equal(model_opset(model), 13);
    model_free(model);
    free(printed);
    free(again.data);
    free(bytes.data);
    assert_int_equal(onnx_parse_text("agraph (", &bytes.data, &bytes.size, &err), -1);
    assert_true(err.message[0] != '\0');
}

static void opsets_are_converted(void **state)
{
    (void)state;
    struct bytes bytes = pack(sample(11)), out;
    struct error err = {0};
    struct model *model;
    if (onnx_convert_opset(bytes.data, bytes.size, 16, &out.data, &out.size, &err))
        fail_msg("%s", err.message);
    assert_int_equal(model_parse(&model, out.data, out.size, &err), 0);
    assert_int_equal(model_opset(model), 16);
    model_free(model);
    free(out.data);
    assert_int_equal(
        onnx_convert_opset(bytes.data, bytes.size, onnx_max_opset() + 1, &out.data, &out.size, &err),
        ONNX_UNCHECKABLE);
    free(bytes.data);
}

static void schemas_and_functions(void **state)
{
    (void)state;
    struct onnx_schema schema;
    struct error err = {0};
    assert_int_equal(onnx_schema("", "Clip", 12, &schema, &err), 0);
    assert_int_equal(schema.since, 12);
    assert_int_equal(schema.min_inputs, 1);
    assert_int_equal(schema.max_inputs, 3);
    assert_int_equal(onnx_schema("ai.onnx", "Concat", 13, &schema, &err), 0);
    assert_int_equal(schema.max_inputs, INT_MAX);
    assert_int_equal(onnx_schema("", "Upsample", 13, &schema, &err), 0);
    assert_true(schema.deprecated);
    assert_int_equal(onnx_schema("", "Gelu", 17, &schema, &err), -1);
    assert_non_null(strstr(err.message, "Gelu"));
    uint8_t *function;
    size_t size;
    assert_int_equal(onnx_schema("", "HardSwish", 14, &schema, &err), 0);
    assert_true(schema.has_function_body);
    assert_int_equal(onnx_function_body("", "HardSwish", 14, &function, &size, &err), 0);
    Onnx__FunctionProto *proto = onnx__function_proto__unpack(NULL, size, function);
    assert_non_null(proto);
    assert_int_equal(proto->n_node, 2);
    onnx__function_proto__free_unpacked(proto, NULL);
    free(function);
    assert_int_equal(onnx_function_body("", "Conv", 14, &function, &size, &err), -1);
    assert_int_equal(onnx_function_body("", "Nothing", 14, &function, &size, &err), -1);
}

/* The body of Softmax depends on the node; its axis has a default value. */
static void functions_of_a_node(void **state)
{
    (void)state;
    struct error err = {0};
    struct model *model = model_new(13);
    Onnx__NodeProto *node = model_add_node(model, "Softmax", NULL, 1, NAMES("x"), 1, NAMES("y"));
    size_t size = onnx__node_proto__get_packed_size(node), length;
    uint8_t *bytes = memory_zeroed(size + 1, 1), *function, *defaults;
    onnx__node_proto__pack(node, bytes);
    assert_int_equal(
        onnx_function_body_for(bytes, size, 13, (int[]){DTYPE_FLOAT}, 1, &function, &length, &err), 0);
    Onnx__FunctionProto *proto = onnx__function_proto__unpack(NULL, length, function);
    assert_true(proto->n_node > 3);
    onnx__function_proto__free_unpacked(proto, NULL);
    free(function);
    assert_int_equal(onnx_function_body_for(bytes, size, 12, NULL, 0, &function, &length, &err), -1);
    free(bytes);
    assert_int_equal(onnx_attribute_defaults("", "Softmax", 13, &defaults, &length, &err), 0);
    Onnx__NodeProto *values = onnx__node_proto__unpack(NULL, length, defaults);
    assert_int_equal(node_int(values, "axis", 0), -1);
    onnx__node_proto__free_unpacked(values, NULL);
    free(defaults);
    model_free(model);
}

static void repack(const char *path, size_t *checked)
{
    struct model *model, *again;
    struct model_index index;
    struct error err = {0};
    struct bytes first, second;
    if (model_load(&model, path, &err) || model_index_init(&index, model, &err))
        fail_msg("%s", err.message);
    model_index_release(&index);
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        struct tensor tensor;
        if (model_weight(model, i, &tensor, &err))
            fail_msg("%s: %s", path, err.message);
        tensor_release(&tensor);
    }
    first = pack(model);
    int result = onnx_check(first.data, first.size, &err);
    if (result < 0)
        fail_msg("%s: %s", path, err.message);
    *checked += result == 0;
    if (model_parse(&again, first.data, first.size, &err) || model_clone(&model, again, &err))
        fail_msg("%s: %s", path, err.message);
    model_free(again);
    second = pack(model);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    char *text;
    if (onnx_print_text(first.data, first.size, &text, &err))
        fail_msg("%s: %s", path, err.message);
    free(text);
    free(first.data);
    free(second.data);
}

static void all_official_models_survive_repacking(void **state)
{
    (void)state;
    struct corpus corpus;
    size_t checked = 0;
    corpus_open(&corpus);
    if (!corpus.count)
        skip();
    for (size_t i = 0; i < corpus.count; i++)
        repack(corpus.paths[i], &checked);
    print_message("%zu models packed again, %zu of them checked\n", corpus.count, checked);
    assert_true(checked * 100 >= corpus.count * 99);
    corpus_close(&corpus);
}

/* The official cases show the newest operators of the libonnx that they come with. */
static void the_newest_opset_is_that_of_the_official_models(void **state)
{
    (void)state;
    struct corpus corpus;
    int newest = 0;
    corpus_open(&corpus);
    if (!corpus.count)
        skip();
    for (size_t i = 0; i < corpus.count; i++) {
        struct model *model;
        assert_int_equal(model_load(&model, corpus.paths[i], NULL), 0);
        newest = model_opset(model) > newest ? model_opset(model) : newest;
        model_free(model);
    }
    corpus_close(&corpus);
    assert_int_equal(onnx_max_opset(), newest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_invalid_and_newer_models),
        cmocka_unit_test(newer_ir_versions_are_checked),
        cmocka_unit_test(external_paths_never_reach_libonnx),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(inference_may_die),
        cmocka_unit_test(work_apart),
        cmocka_unit_test(one_process_is_kept),
        cmocka_unit_test(a_fork_has_its_own),
        cmocka_unit_test(text_goes_in_and_out),
        cmocka_unit_test(opsets_are_converted),
        cmocka_unit_test(schemas_and_functions),
        cmocka_unit_test(functions_of_a_node),
        cmocka_unit_test(all_official_models_survive_repacking),
        cmocka_unit_test(the_newest_opset_is_that_of_the_official_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
