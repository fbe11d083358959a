#include "own_folder.h"
#include "corpus.h"
#include "model/data.h"
#include "model/model.h"
#include "tensor/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct tensor filled(enum dtype type, struct shape shape)
{
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, type, &shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.size; i++)
        ((uint8_t *)tensor.data)[i] = (uint8_t)(type == DTYPE_BOOL ? i & 1 : i * 41 + 7);
    return tensor;
}

static struct tensor words(void)
{
    static const char bytes[] = "\3\0\0\0abc\0\0\0\0\2\0\0\0\0z";
    struct tensor tensor;
    struct shape shape = {1, {3}};
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_STRING, &shape, bytes, sizeof bytes - 1, NULL), 0);
    return tensor;
}

static void numbers_round_trip(void **state)
{
    static const struct shape shapes[] = {{0, {0}},    {1, {5}},       {2, {2, 3}},
                                          {2, {0, 3}}, {3, {1, 2, 2}}, {16, {1, 1, 1, 1, 1, 1, 1, 2}}};
    char *path = file_join(*state, "t.npy");
    for (int type = 1; type < DTYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            if (type == DTYPE_STRING)
                continue;
            struct shape shape = shapes[i];
            for (int k = 8; k < shape.rank; k++)
                shape.dims[k] = 1;
            struct tensor tensor = filled((enum dtype)type, shape), again;
            struct error err = {0};
            if (npy_write(USERS_PATH, path, &tensor, &err) || npy_read(USERS_PATH, path, &again, &err))
                fail_msg("%s", err.message);
            if (dtype_is_narrow((enum dtype)type)) { /* as bytes: the reader must know what they are */
                assert_true(again.type == DTYPE_INT8 || again.type == DTYPE_UINT8);
                again.type = (enum dtype)type;
            }
            assert_true(tensor_identical(&tensor, &again));
            tensor_release(&tensor);
            tensor_release(&again);
        }
    struct tensor text = words();
    struct error err = {0};
    assert_int_equal(npy_write(USERS_PATH, path, &text, &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    tensor_release(&text);
    free(path);
}

static void the_header_is_numpys(void **state)
{
    (void)state;
    struct tensor tensor = filled(DTYPE_FLOAT, (struct shape){1, {3}});
    struct str header;
    str_init(&header);
    assert_int_equal(npy_header(&tensor, &header, NULL), 0);
    assert_int_equal(header.length, 128);
    assert_memory_equal(header.data,
                        "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 67);
    assert_int_equal(header.data[127], '\n');
    str_release(&header);
    tensor_release(&tensor);
}

/* A file of format `major` with the given header and payload; its exact size on the heap, so that reading
 * beyond it is seen. */
static int parse(unsigned char major, const char *header, const void *payload, size_t size,
                 struct tensor *tensor, struct error *err)
{
    struct str file;
    size_t length = strlen(header);
    str_init(&file);
    str_append(&file, "\x93NUMPY", 6);
    str_append(&file, &(char[]){(char)major, 0}, 2);
    for (int i = 0; i < (major == 1 ? 2 : 4); i++)
        str_append(&file, &(char[]){(char)(length >> 8 * i)}, 1);
    str_append(&file, header, length);
    str_append(&file, payload, size);
    void *exact = malloc(file.length);
    memcpy(exact, file.data, file.length);
    int result = npy_parse(exact, file.length, tensor, err);
    free(exact);
    str_release(&file);
    return result;
}

static void foreign_layouts_are_understood(void **state)
{
    (void)state;
    struct tensor tensor;
    struct error err = {0};
    static const uint8_t six[] = {1, 4, 2, 5, 3, 6};
    assert_int_equal(
        parse(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }\n", six, 6, &tensor, &err), 0);
    for (size_t i = 0; i < 6; i++)
        assert_true(tensor_get(&tensor, i) == (long double)(i + 1));
    tensor_release(&tensor);
    static const uint8_t cube[] = {0, 4, 2, 6, 1, 5, 3, 7};
    assert_int_equal(
        parse(2, "{\"shape\": (2,2,2), 'fortran_order':True, 'descr': 'u1'}", cube, 8, &tensor, &err), 0);
    for (size_t i = 0; i < 8; i++)
        assert_true(tensor_get(&tensor, i) == (long double)i);
    tensor_release(&tensor);
    assert_int_equal(
        parse(3, "{'descr': '>i4', 'fortran_order': False, 'shape': ()}", "\0\0\1\2", 4, &tensor, &err), 0);
    assert_true(tensor_get(&tensor, 0) == 258);
    tensor_release(&tensor);
    assert_int_equal(parse(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1L,)}",
                           "\x3f\x80\0\0\x40\0\0\0", 8, &tensor, &err),
                     0);
    assert_true(((float *)tensor.data)[0] == 1 && ((float *)tensor.data)[1] == 2);
    tensor_release(&tensor);
    assert_int_equal(
        parse(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\0\1\7", 3, &tensor, &err), 0);
    assert_memory_equal(tensor.data, "\0\1\1", 3);
    tensor_release(&tensor);
}

static void hostile_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *why;
    } cases[] = {
        {"", "dictionary"},
        {"{", "quoted string"},
        {"{'descr': '<f4', 'fortran_order': False}", "descr, fortran_order and shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (10737418240,)}", "needs 10737418240 elements"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "larger than 2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9000000000000000000, 9000000000000000000)}",
         "2^60"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "dimension"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "end of the tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
         "more than 16"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} import os", "continues"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "key 'x'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "structured"},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (1,)}", "type '<U5'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "type '|O'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,)}", "type ''"},
        {"{'descr': '<f4", "quoted"},
        {"{'descr': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "quoted"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "but there are 4 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tensor tensor;
        struct error err = {0};
        assert_int_equal(parse(1, cases[i].header, "1234", 4, &tensor, &err), -1);
        if (!strstr(err.message, cases[i].why))
            fail_msg("%s: '%s' does not say '%s'", cases[i].header, err.message, cases[i].why);
    }
    struct tensor tensor;
    struct error err = {0};
    assert_int_equal(npy_parse("", 0, &tensor, &err), -1);
    assert_int_equal(npy_parse("\x93NUMPY\1\0\xff\xff", 10, &tensor, &err), -1);
    assert_non_null(strstr(err.message, "should have 65535 bytes, but only 0 follow"));
    assert_int_equal(npy_parse("\x93NUMPY\4\0\0\0", 10, &tensor, &err), -1);
    assert_int_equal(npy_parse("\x93NUMPY\2\0\0\0", 10, &tensor, &err), -1);
}

static bool values_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!tensor_identical(&a->tensors[i], &b->tensors[i]))
            return false;
    return true;
}

static void write_and_read(const char *path, const Onnx__TypeProto *type, const struct value *value)
{
    struct value again;
    struct error err = {0};
    if (data_write_typed(USERS_PATH, path, type, value, &err) ||
        data_read(USERS_PATH, path, type, &again, &err))
        fail_msg("%s", err.message);
    assert_true(values_equal(value, &again));
    if (value->name)
        assert_string_equal(again.name, value->name);
    value_release(&again);
}

static void values_round_trip(void **state)
{
    char *pb = file_join(*state, "v.pb"), *npy = file_join(*state, "v.npy"),
         *other = file_join(*state, "v.x");
    Onnx__TypeProto plain = ONNX__TYPE_PROTO__INIT, sequence = plain, optional = plain;
    plain.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    sequence.value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
    optional.value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
    struct error err = {0};
    struct value value;
    value_init(&value);
    value_set_name(&value, "input_0");
    write_and_read(pb, &optional, &value);
    value.kind = VALUE_SEQUENCE;
    write_and_read(pb, &sequence, &value);
    write_and_read(pb, &optional, &value);
    value.tensors = memory_zeroed(3, sizeof *value.tensors);
    value.tensors[0] = words();
    value.tensors[1] = filled(DTYPE_BFLOAT16, (struct shape){2, {2, 2}});
    value.tensors[2] = filled(DTYPE_INT64, (struct shape){1, {0}});
    value.count = 3;
    write_and_read(pb, &sequence, &value);
    write_and_read(pb, &optional, &value);
    assert_int_equal(data_write(USERS_PATH, npy, &value, &err), -1);
    struct value one;
    value_init(&one);
    value_set_name(&one, "x");
    value_set_tensor(&one, &value.tensors[1]);
    write_and_read(pb, &plain, &one);
    write_and_read(pb, NULL, &one);
    write_and_read(pb, &optional, &one);
    value_set_name(&one, NULL);
    write_and_read(npy, NULL, &one);
    assert_int_equal(data_write(USERS_PATH, other, &one, &err), -1);
    value_release(&one);
    assert_int_equal(data_read(USERS_PATH, other, NULL, &one, &err), -1);
    value_release(&value);
    free(pb), free(npy), free(other);
}

static void refuse(const char *data, size_t size, Onnx__TypeProto__ValueCase kind, const char *why)
{
    Onnx__TypeProto type = ONNX__TYPE_PROTO__INIT;
    struct value value;
    struct error err = {0};
    type.value_case = kind;
    assert_int_equal(data_parse((const uint8_t *)data, size, &type, &value, &err), -1);
    if (!strstr(err.message, why))
        fail_msg("'%s' does not say '%s'", err.message, why);
}

static void hostile_protos_are_refused(void **state)
{
    (void)state;
    refuse("\x08\x01\x10\x01\x4a\x80\x80\x80\x80\x28", 10, ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE,
           "raw_data at byte 4: needs 10737418240 bytes, but 0 are left");
    refuse("\x08\x80\x80\x80\x80\x28\x10\x01", 8, ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE,
           "needs 10737418240 elements, but there are 0");
    refuse("\x1a\x05", 2, ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE, "needs 5 bytes, but 0 are left");
    refuse("\x1a\x00", 2, ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE, "element 0");
    refuse("\x2a\x00", 2, ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE, "only tensors");
    refuse("\x2a\x00\x2a\x00", 4, ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE, "only tensors");
    refuse("", 0, ONNX__TYPE_PROTO__VALUE_MAP_TYPE, "maps");
}

static const Onnx__TypeProto *type_of(const struct model *model, const char *file)
{
    bool input = text_starts(file, "input_");
    size_t number = (size_t)strtoul(strchr(file, '_') + 1, NULL, 10);
    assert_true(number < (input ? model->graph->n_input : model->graph->n_output));
    return input ? model->graph->input[number]->type : model->graph->output[number]->type;
}

static size_t read_data_set(const char *folder, const struct model *model, const char *scratch)
{
    char **names;
    size_t count, read = 0;
    assert_int_equal(file_list(folder, &names, &count, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        struct value value;
        struct error err = {0};
        char *path = file_join(folder, names[i]);
        const Onnx__TypeProto *type = type_of(model, names[i]);
        if (data_read(USERS_PATH, path, type, &value, &err))
            fail_msg("%s: %s", path, err.message);
        if (type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            assert_int_equal(value.tensors[0].type, type->tensor_type->elem_type);
        if (type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
            write_and_read(scratch, type, &value);
        value_release(&value);
        free(path);
        read++;
    }
    file_names_free(names, count);
    return read;
}

static void all_official_data_is_read(void **state)
{
    char *scratch = file_join(*state, "v.pb");
    struct corpus corpus;
    size_t files = 0;
    corpus_open(&corpus);
    for (size_t i = 0; i < corpus.count; i++) {
        struct model *model;
        struct error err = {0};
        if (model_load(&model, corpus.paths[i], &err))
            fail_msg("%s", err.message);
        for (int set = 0;; set++) {
            char name[100];
            snprintf(name, sizeof name, "test_data_set_%d", set);
            char *parent = strdup(corpus.paths[i]);
            *strrchr(parent, '/') = '\0';
            char *folder = file_join(parent, name);
            bool there = file_is_folder(folder);
            if (there)
                files += read_data_set(folder, model, scratch);
            free(folder);
            free(parent);
            if (!there)
                break;
        }
        model_free(model);
    }
    free(scratch);
    print_message("%zu files of %zu cases\n", files, corpus.count);
    size_t count = corpus.count;
    corpus_close(&corpus);
    if (!count)
        skip();
    assert_true(files >= 2 * count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_round_trip, make_folder, remove_folder),
        cmocka_unit_test(the_header_is_numpys),
        cmocka_unit_test(foreign_layouts_are_understood),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test_setup_teardown(values_round_trip, make_folder, remove_folder),
        cmocka_unit_test(hostile_protos_are_refused),
        cmocka_unit_test_setup_teardown(all_official_data_is_read, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
