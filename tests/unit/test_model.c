#include "own_folder.h"
#include "base/file.h"
#include "base/str.h"
#include "model/build.h"
#include "model/model.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

static const struct shape scalar = {0, {0}};

static struct tensor tensor_of(enum dtype type, struct shape shape)
{
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, type, &shape, 0, NULL), 0);
    return tensor;
}

/* x -> Add(x, w) -> y, with w of n floats. */
static struct model *sample(int64_t n)
{
    struct model *model = model_new(13);
    struct shape shape = {1, {n}};
    struct tensor w = tensor_of(DTYPE_FLOAT, shape);
    for (int64_t i = 0; i < n; i++)
        tensor_set(&w, (size_t)i, (long double)i);
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    model_add_initializer(model, "w", &w);
    Onnx__NodeProto *node =
        model_add_node(model, "Add", NULL, 2, (const char *[]){"x", "w"}, 1, (const char *[]){"y"});
    node_set_int(&model->arena, node, "axis", -3);
    model_add_output(model, "y", DTYPE_FLOAT, &shape);
    tensor_release(&w);
    return model;
}

static void built_models_pack_and_parse(void **state)
{
    (void)state;
    struct model *model = sample(4), *again;
    uint8_t *data;
    size_t size;
    struct error err = {0};
    assert_int_equal(model_pack(model, &data, &size, &err), 0);
    assert_int_equal(model_parse(&again, data, size, &err), 0);
    free(data);
    assert_int_equal(model_opset(again), 13);
    assert_int_equal(again->graph->n_node, 1);
    assert_string_equal(again->graph->node[0]->op_type, "Add");
    assert_string_equal(again->graph->node[0]->name, "Add_0");
    assert_int_equal(node_int(again->graph->node[0], "axis", 0), -3);
    struct tensor w;
    assert_int_equal(model_weight(again, 0, &w, &err), 0);
    assert_int_equal(w.count, 4);
    assert_true(tensor_get(&w, 3) == 3);
    tensor_release(&w);
    assert_int_equal(model_weight(again, 1, &w, &err), -1);
    model_free(again);
    model_free(model);
    model_free(NULL);
}

static void attributes_are_replaced_and_read_back(void **state)
{
    (void)state;
    struct model *model = model_new(21);
    struct arena *arena = &model->arena;
    Onnx__NodeProto *node = model_add_node(model, "Op", "n", 0, NULL, 0, NULL);
    assert_int_equal(model->proto->ir_version, 10);
    assert_int_equal(node_int(node, "a", 7), 7);
    node_set_float(arena, node, "a", 2.5f);
    assert_true(node_float(node, "a", 0) == 2.5f);
    assert_int_equal(node_int(node, "a", 7), 7);
    node_set_int(arena, node, "a", 5);
    assert_int_equal(node_int(node, "a", 7), 5);
    assert_true(node_float(node, "a", 1) == 1);
    assert_int_equal(node->n_attribute, 1);
    node_set_ints(arena, node, "b", (int64_t[]){1, 2, 3}, 3);
    node_set_floats(arena, node, "c", (float[]){1, 2}, 2);
    node_set_string(arena, node, "d", "text");
    struct tensor tensor = tensor_of(DTYPE_INT8, scalar);
    node_set_tensor(arena, node, "e", &tensor);
    node_set_graph(arena, node, "f", graph_new(arena, "body"));
    const int64_t *ints;
    const float *floats;
    const char *text;
    size_t count;
    assert_true(node_ints(node, "b", &ints, &count) && count == 3 && ints[2] == 3);
    assert_true(node_floats(node, "c", &floats, &count) && count == 2 && floats[1] == 2);
    assert_true(node_string(node, "d", &text, &count) && count == 4 && memcmp(text, "text", 4) == 0);
    assert_int_equal(node_tensor(node, "e")->data_type, DTYPE_INT8);
    assert_string_equal(node_graph(node, "f")->name, "body");
    assert_false(node_ints(node, "c", &ints, &count));
    node_remove_attribute(node, "b");
    assert_null(node_attribute(node, "b"));
    assert_int_equal(node->n_attribute, 5);
    tensor_release(&tensor);
    model_free(model);
}

static void many_additions_keep_their_order(void **state)
{
    (void)state;
    struct model *model = model_new(13);
    struct tensor one = tensor_of(DTYPE_FLOAT, scalar);
    for (int i = 0; i < 1000; i++) {
        char name[20];
        snprintf(name, sizeof name, "v%d", i);
        model_add_node(model, "Relu", NULL, 1, (const char *[]){"x"}, 1, (const char *[]){name});
        model_add_initializer(model, name, &one);
        model_add_input(model, name, DTYPE_FLOAT, NULL);
        model_add_output(model, name, DTYPE_FLOAT, &(struct shape){2, {-1, 3}});
    }
    for (int i = 0; i < 1000; i++) {
        char name[20];
        snprintf(name, sizeof name, "v%d", i);
        assert_string_equal(model->graph->node[i]->output[0], name);
        assert_string_equal(model->graph->initializer[i]->name, name);
        assert_string_equal(model->graph->input[i]->name, name);
        assert_string_equal(model->graph->output[i]->name, name);
    }
    assert_true(model->arena.total < 2 << 20);
    tensor_release(&one);
    model_free(model);
}

static void all_types_round_trip(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (int type = 1; type < DTYPE_COUNT; type++) {
        struct tensor tensor, again;
        if (type == DTYPE_STRING) {
            static const char bytes[] = "\3\0\0\0abc\0\0\0\0\2\0\0\0\0z";
            assert_int_equal(tensor_from_bytes(&tensor, DTYPE_STRING, &(struct shape){1, {3}}, bytes,
                                               sizeof bytes - 1, NULL),
                             0);
        } else {
            tensor = tensor_of((enum dtype)type, (struct shape){2, {2, 3}});
            bool few = dtype_in((enum dtype)type, DTYPES_PACKED | DTYPE_BIT(DTYPE_BOOL)); /* bits */
            for (size_t i = 0; i < tensor.size; i++)
                ((uint8_t *)tensor.data)[i] = (uint8_t)(few ? i & 1 : i * 37 + 11);
        }
        Onnx__TensorProto *proto = model_tensor_write(&arena, "t", &tensor);
        assert_int_equal(model_tensor_read(proto, &again, NULL), 0);
        assert_true(tensor_identical(&tensor, &again));
        tensor_release(&again);
        tensor_release(&tensor);
    }
    arena_release(&arena);
}

static void read_and_expect(const Onnx__TensorProto *proto, const long double *values, size_t count)
{
    struct tensor tensor;
    struct error err = {0};
    if (model_tensor_read(proto, &tensor, &err))
        fail_msg("%s", err.message);
    assert_int_equal(tensor.count, count);
    for (size_t i = 0; i < count; i++)
        assert_true(tensor_get(&tensor, i) == values[i]);
    tensor_release(&tensor);
}

static Onnx__TensorProto typed(enum dtype type, int64_t *dims)
{
    Onnx__TensorProto proto = ONNX__TENSOR_PROTO__INIT;
    proto.has_data_type = true;
    proto.data_type = type;
    proto.n_dims = 1;
    proto.dims = dims;
    return proto;
}

static void typed_fields_are_read(void **state)
{
    (void)state;
    int64_t two[] = {2}, three[] = {3};
    static const enum dtype small[] = {DTYPE_INT8, DTYPE_INT16, DTYPE_INT32};
    for (int i = 0; i < 3; i++) {
        Onnx__TensorProto proto = typed(small[i], two);
        proto.n_int32_data = 2;
        proto.int32_data = (int32_t[]){-5, 100};
        read_and_expect(&proto, (long double[]){-5, 100}, 2);
    }
    static const enum dtype counts[] = {DTYPE_UINT8, DTYPE_UINT16};
    for (int i = 0; i < 2; i++) {
        Onnx__TensorProto proto = typed(counts[i], two);
        proto.n_int32_data = 2;
        proto.int32_data = (int32_t[]){250, 3};
        read_and_expect(&proto, (long double[]){250, 3}, 2);
    }
    Onnx__TensorProto truth = typed(DTYPE_BOOL, three);
    truth.n_int32_data = 3;
    truth.int32_data = (int32_t[]){0, 1, 256};
    read_and_expect(&truth, (long double[]){0, 1, 1}, 3);
    Onnx__TensorProto half = typed(DTYPE_FLOAT16, two);
    half.n_int32_data = 2;
    half.int32_data = (int32_t[]){0x3c00, 0xc000};
    read_and_expect(&half, (long double[]){1, -2}, 2);
    Onnx__TensorProto brain = typed(DTYPE_BFLOAT16, two);
    brain.n_int32_data = 2;
    brain.int32_data = (int32_t[]){0x3f80, 0xc000};
    read_and_expect(&brain, (long double[]){1, -2}, 2);
    Onnx__TensorProto floats = typed(DTYPE_FLOAT, two);
    floats.n_float_data = 2;
    floats.float_data = (float[]){0.5f, -1};
    read_and_expect(&floats, (long double[]){0.5L, -1}, 2);
    Onnx__TensorProto doubles = typed(DTYPE_DOUBLE, two);
    doubles.n_double_data = 2;
    doubles.double_data = (double[]){0.1, -1};
    read_and_expect(&doubles, (long double[]){(long double)0.1, -1}, 2);
    Onnx__TensorProto longs = typed(DTYPE_INT64, two);
    longs.n_int64_data = 2;
    longs.int64_data = (int64_t[]){INT64_MIN, 4};
    read_and_expect(&longs, (long double[]){(long double)INT64_MIN, 4}, 2);
    Onnx__TensorProto wide = typed(DTYPE_UINT64, two), narrow = typed(DTYPE_UINT32, two);
    wide.n_uint64_data = narrow.n_uint64_data = 2;
    wide.uint64_data = (uint64_t[]){UINT64_MAX, 4};
    narrow.uint64_data = (uint64_t[]){UINT32_MAX, 4};
    read_and_expect(&wide, (long double[]){(long double)UINT64_MAX, 4}, 2);
    read_and_expect(&narrow, (long double[]){UINT32_MAX, 4}, 2);
    Onnx__TensorProto complex = typed(DTYPE_COMPLEX64, two);
    complex.n_float_data = 4;
    complex.float_data = (float[]){1, 2, 3, 4};
    struct tensor tensor;
    assert_int_equal(model_tensor_read(&complex, &tensor, NULL), 0);
    assert_memory_equal(tensor.data, complex.float_data, 16);
    tensor_release(&tensor);
}

static void typed_fields_are_written(void **state)
{
    static const long double numbers[] = {-2.5L, 1, 200, (long double)NAN, 1e300L, 0};
    struct shape shape = shape_make(2, (const int64_t[]){2, 3});
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (int type = DTYPE_FLOAT; type < DTYPE_COUNT; type++) {
        struct tensor tensor, back;
        assert_int_equal(tensor_alloc(&tensor, (enum dtype)type, &shape, 0, NULL), 0);
        for (size_t i = 0; i < tensor.count; i++)
            tensor_set(&tensor, i, numbers[i]);
        Onnx__TensorProto *proto = model_tensor_write_typed(&arena, "t", &tensor);
        assert_false(model_tensor_is_raw(proto));
        assert_int_equal(model_tensor_read(proto, &back, NULL), 0);
        assert_true(tensor_identical(&tensor, &back));
        tensor_release(&tensor);
        tensor_release(&back);
    }
    arena_release(&arena);
}

static void sparse_tensors_are_written(void **state)
{
    static const float numbers[] = {0, 1, -0.0f, 0, 0, NAN};
    struct shape shape = shape_make(2, (const int64_t[]){2, 3});
    struct tensor tensor, back;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_FLOAT, &shape, numbers, sizeof numbers, NULL), 0);
    for (int linear = 0; linear < 2; linear++) {
        Onnx__SparseTensorProto *sparse = model_sparse_write(&arena, "t", &tensor, linear);
        assert_int_equal(sparse->values->dims[0], 3);
        assert_int_equal(sparse->indices->n_dims, linear ? 1 : 2);
        assert_int_equal(model_sparse_read(sparse, &back, NULL), 0);
        assert_true(tensor_identical(&tensor, &back));
        tensor_release(&back);
    }
    tensor.shape.rank = 0;
    assert_null(model_sparse_write(&arena, "t", &tensor, true));
    tensor_release(&tensor);
    arena_release(&arena);
}

static void refuse_tensor(const Onnx__TensorProto *proto, const char *why)
{
    struct tensor tensor;
    struct error err = {0};
    assert_int_equal(model_tensor_read(proto, &tensor, &err), -1);
    if (!strstr(err.message, why))
        fail_msg("'%s' does not say '%s'", err.message, why);
}

static void dims_are_held_against_data(void **state)
{
    (void)state;
    int64_t huge[] = {2684354560}, negative[] = {-1}, one[] = {1}, two[] = {2};
    Onnx__TensorProto proto = typed(DTYPE_FLOAT, huge);
    refuse_tensor(&proto, "needs 2684354560 elements, but there are 0");
    proto.has_raw_data = true;
    proto.raw_data = (ProtobufCBinaryData){8, (uint8_t *)(uintptr_t) "12345678"};
    refuse_tensor(&proto, "needs 2684354560 elements of 4 bytes, but there are 8 bytes");
    proto.dims = negative;
    refuse_tensor(&proto, "negative");
    proto.dims = one;
    refuse_tensor(&proto, "but there are 8 bytes");
    proto.data_type = DTYPE_FLOAT8E4M3FN;
    refuse_tensor(&proto, "float8e4m3fn");
    proto.data_type = DTYPE_INT4;
    refuse_tensor(&proto, "bytes of packed elements, but there are 8");
    proto.data_type = 27;
    refuse_tensor(&proto, "no element type");
    proto.data_type = 0;
    refuse_tensor(&proto, "no element type");
    proto.data_type = DTYPE_STRING;
    refuse_tensor(&proto, "raw_data");
    proto.data_type = DTYPE_COMPLEX64;
    proto.has_raw_data = false;
    proto.n_float_data = 3;
    proto.float_data = (float[]){1, 2, 3};
    refuse_tensor(&proto, "needs 1 elements");
    proto.dims = two;
    proto.data_type = DTYPE_INT64;
    refuse_tensor(&proto, "needs 2 elements, but there are 0");
    int64_t many[17] = {0};
    proto.n_dims = 17;
    proto.dims = many;
    refuse_tensor(&proto, "rank 17");
    Onnx__TensorProto outside = typed(DTYPE_FLOAT, one);
    outside.has_data_location = true;
    outside.data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    refuse_tensor(&outside, "external");
}

static void large_weights_stay_in_the_file(void **state)
{
    char *path = file_join(*state, "m.onnx");
    struct model *model = sample(1 << 20), *loaded, *copy, *parsed;
    struct error err = {0};
    assert_int_equal(model_save(model, USERS_PATH, path, &err), 0);
    model_free(model);
    assert_int_equal(model_load(&loaded, path, &err), 0);
    assert_true(loaded->arena.total < 100000);
    assert_int_equal(model_clone(&copy, loaded, &err), 0);
    uint8_t *data;
    size_t size;
    assert_int_equal(model_pack(loaded, &data, &size, &err), 0);
    model_free(loaded);
    assert_true(copy->arena.total < 100000);
    assert_int_equal(model_parse(&parsed, data, size, &err), 0);
    memset(data, 0, size);
    free(data);
    struct model *both[] = {copy, parsed};
    for (int i = 0; i < 2; i++) {
        struct tensor w;
        assert_int_equal(model_weight(both[i], 0, &w, &err), 0);
        assert_int_equal(w.count, 1 << 20);
        assert_true(tensor_get(&w, 123456) == 123456);
        tensor_release(&w);
        model_free(both[i]);
    }
    free(path);
}

static void external_data_goes_out_and_comes_back(void **state)
{
    char *path = file_join(*state, "m.onnx"), *data = file_join(*state, "m.onnx.data");
    struct model *model = sample(100000), *loaded;
    struct error err = {0};
    struct tensor w;
    assert_int_equal(model_save_external(model, USERS_PATH, path, &err), 0);
    model_free(model);
    assert_true(file_exists(data));
    assert_int_equal(model_load(&loaded, path, &err), 0);
    assert_int_equal(model_weight(loaded, 0, &w, &err), 0);
    assert_true(tensor_get(&w, 99999) == 99999);
    tensor_release(&w);
    assert_int_equal(model_save(loaded, USERS_PATH, path, &err), 0);
    model_free(loaded);
    assert_int_equal(unlink(data), 0);
    assert_int_equal(model_load(&loaded, path, &err), 0);
    model_free(loaded);
    free(path);
    free(data);
}

static void small_weights_go_apart_as_well(void **state)
{
    char *path = file_join(*state, "m.onnx");
    struct error err = {0};
    struct model *model = sample(4), *loaded;
    struct tensor shape, w;
    assert_int_equal(tensor_from_bytes(&shape, DTYPE_INT64, &(struct shape){.rank = 1, .dims = {1}},
                                       &(int64_t){4}, 8, &err),
                     0);
    model_add_initializer(model, "shape", &shape);
    tensor_release(&shape);
    assert_int_equal(model_save_apart(model, USERS_PATH, path, &err), 0);
    model_free(model);
    assert_int_equal(model_load(&loaded, path, &err), 0);
    assert_true(model_is_external(loaded));
    assert_int_equal(model_weight(loaded, 0, &w, &err), 0);
    assert_true(tensor_get(&w, 3) == 3);
    tensor_release(&w);
    model_free(loaded);
    /* Without the other file the weight is gone, but not the shape. */
    char *data = file_join(*state, "m.onnx.data"), *bytes;
    size_t size;
    assert_int_equal(file_read(data, 1 << 20, &bytes, &size, &err), 0);
    assert_int_equal(size, 16);
    free(bytes);
    free(data);
    free(path);
}

/* A model whose only weight claims to lie at the location. */
static void save_pointing_to(const char *path, const char *location, const char *offset, const char *length)
{
    struct model *model = sample(4);
    Onnx__TensorProto *w = model->graph->initializer[0];
    const char *pairs[3][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    Onnx__StringStringEntryProto entries[3], *pointers[3];
    for (int i = 0; i < 3; i++) {
        onnx__string_string_entry_proto__init(&entries[i]);
        entries[i].key = (char *)(uintptr_t)pairs[i][0];
        entries[i].value = (char *)(uintptr_t)pairs[i][1];
        pointers[i] = &entries[i];
    }
    w->has_raw_data = false;
    w->has_data_location = true;
    w->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    w->n_external_data = 3;
    w->external_data = pointers;
    struct error err = {0};
    if (model_save(model, USERS_PATH, path, &err))
        fail_msg("%s", err.message);
    model_free(model);
}

static void expect_external(const char *folder, const char *location, const char *offset, const char *length,
                            const char *refusal)
{
    char *path = file_join(folder, "inner/m.onnx");
    struct model *model;
    struct error err = {0};
    save_pointing_to(path, location, offset, length);
    int result = model_load(&model, path, &err);
    if (!refusal && result)
        fail_msg("%s: %s", location, err.message);
    if (refusal && (!result || !strstr(err.message, refusal)))
        fail_msg("%s %s %s: '%s' does not say '%s'", location, offset, length, err.message, refusal);
    model_free(model);
    free(path);
}

static void external_paths_stay_in_the_folder(void **state)
{
    const char *folder = *state;
    char *inner = file_join(folder, "inner/sub"), *secret = file_join(folder, "secret"),
         *good = file_join(folder, "inner/sub/w"), *link = file_join(folder, "inner/link"),
         *folder_link = file_join(folder, "inner/away");
    struct error err = {0};
    static const char bytes[64];
    assert_int_equal(file_make_folders(inner, &err), 0);
    assert_int_equal(file_write(secret, bytes, sizeof bytes, &err), 0);
    assert_int_equal(file_write(good, bytes, sizeof bytes, &err), 0);
    assert_int_equal(symlink("../secret", link), 0);
    assert_int_equal(symlink("..", folder_link), 0);
    expect_external(folder, "sub/w", "0", "16", NULL);
    expect_external(folder, "sub/w", "48", "16", NULL);
    expect_external(folder, "../secret", "0", "16", "must not be at");
    expect_external(folder, "sub/../../secret", "0", "16", "must not be at");
    expect_external(folder, secret, "0", "16", "must not be at");
    expect_external(folder, "", "0", "16", "must not be at");
    expect_external(folder, "link", "0", "16", "symbolic link");
    expect_external(folder, "away/secret", "0", "16", "symbolic link");
    expect_external(folder, "sub", "0", "16", "Is a directory");
    expect_external(folder, "nowhere", "0", "16", "does not exist");
    expect_external(folder, "sub/w", "49", "16", "needs 16 bytes from offset 49 of 'sub/w', which has 64");
    expect_external(folder, "sub/w", "0", "10737418240", "needs 10737418240 bytes");
    expect_external(folder, "sub/w", "-1", "16", "offset '-1'");
    expect_external(folder, "sub/w", "0", "99999999999999999999", "length");
    expect_external(folder, "sub/w", "0", "12", "needs 4 elements of 4 bytes, but there are 12 bytes");
    free(inner), free(secret), free(good), free(link), free(folder_link);
}

static void refuse_model(const void *data, size_t size, const char *why)
{
    struct model *model;
    struct error err = {0};
    assert_int_equal(model_parse(&model, data, size, &err), -1);
    assert_null(model);
    if (!strstr(err.message, why))
        fail_msg("'%s' does not say '%s'", err.message, why);
}

static void broken_models_are_refused_with_the_reason(void **state)
{
    (void)state;
    refuse_model("", 0, "no graph");
    refuse_model("\x3a\x80\x80\x80\x80\x28", 6, "graph at byte 0: needs 10737418240 bytes, but 0 are left");
    refuse_model("\x3a\x09\x2a\x07\x4a\x80\x80\x80\x80\x28z", 11,
                 "graph.initializer.raw_data at byte 4: needs 10737418240 bytes, but 1 are left");
    refuse_model("\x3a\x02\x0a", 3, "needs 2 bytes, but 1 are left");
    refuse_model("\x38\x01", 2, "wire type 0 instead of 2");
    refuse_model("\x3b", 1, "wire type 3");
    refuse_model("\x3a\0\x3a\0", 4, "graph at byte 2: occurs twice");
    refuse_model("\x3a\x0a\x0a\x08\x2a\x06\x2a\0\x0a\0\x2a\0", 12,
                 "graph.node.attribute.t at byte 10: occurs twice");
    refuse_model("\x3a\x04\x12\x02z\0", 6, "NUL");
    refuse_model("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "key is cut off");
    refuse_model("\0\0", 2, "not a field number");
}

static void every_truncation_and_bit_flip_is_survived(void **state)
{
    (void)state;
    struct model *model = sample(4), *other;
    uint8_t *data;
    size_t size, refused = 0;
    assert_int_equal(model_pack(model, &data, &size, NULL), 0);
    for (size_t cut = 1; cut < size; cut++) {
        struct error err = {0};
        uint8_t *exact = malloc(cut); /* so that reading beyond it is seen */
        memcpy(exact, data, cut);
        if (model_parse(&other, exact, cut, &err)) {
            assert_true(err.message[0] != '\0');
            refused++;
        }
        model_free(other);
        free(exact);
    }
    assert_true(refused > size * 3 / 4);
    refused = 0;
    for (size_t bit = 0; bit < size * 8; bit++) {
        struct error err = {0};
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (model_parse(&other, data, size, &err)) {
            assert_true(err.message[0] != '\0');
            refused++;
        }
        model_free(other);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > size);
    free(data);
    model_free(model);
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    for (int depth = 25; depth <= 100; depth += 75) {
        struct model *model = model_new(13), *other;
        Onnx__GraphProto *graph = model->graph;
        for (int i = 0; i < depth; i++) {
            Onnx__GraphProto *body = graph_new(&model->arena, "body");
            Onnx__NodeProto *node = graph_add_node(&model->arena, graph, "If", NULL, 0, NULL, 0, NULL);
            node_set_graph(&model->arena, node, "then_branch", body);
            graph = body;
        }
        uint8_t *data;
        size_t size;
        struct error err = {0};
        assert_int_equal(model_pack(model, &data, &size, &err), 0);
        assert_int_equal(model_parse(&other, data, size, &err), depth == 25 ? 0 : -1);
        if (depth == 100)
            assert_non_null(strstr(err.message, "nested deeper"));
        model_free(other);
        free(data);
        model_free(model);
    }
}

static void amplification_is_refused(void **state)
{
    (void)state;
    /* 48 MB of empty nodes would unpack to several GB. */
    size_t inner = 48 << 20;
    struct str text;
    str_init(&text);
    str_append(&text, "\x3a\x80\x80\x80\x18", 5);
    for (size_t i = 0; i < inner / 2; i++)
        str_append(&text, "\x0a\0", 2);
    refuse_model(text.data, text.length, "unpacking would take more");
    str_release(&text);
}

/* Functions f0, f1 and so on; calls[i]: the digits of those that function i calls, the last one from the body
 * of an If. NULL when the model is taken, else what is said. */
static const char *load_calling(size_t count, const char *const *calls, struct error *err)
{
    struct model *model = sample(1), *again;
    Onnx__ModelProto *proto = model->proto;
    proto->functions = arena_array(&model->arena, count, sizeof *proto->functions);
    proto->n_functions = count;
    for (size_t i = 0; i < count; i++) {
        Onnx__FunctionProto *function = arena_alloc(&model->arena, sizeof *function);
        onnx__function_proto__init(function);
        function->name = arena_printf(&model->arena, "f%zu", i);
        function->domain = arena_strdup(&model->arena, "own");
        Onnx__GraphProto *body = graph_new(&model->arena, "body"), *inner = graph_new(&model->arena, "inner");
        for (const char *digit = calls[i]; *digit; digit++) {
            Onnx__NodeProto *call =
                graph_add_node(&model->arena, digit[1] ? body : inner,
                               arena_printf(&model->arena, "f%c", *digit), NULL, 0, NULL, 0, NULL);
            call->domain = arena_strdup(&model->arena, "own");
        }
        Onnx__NodeProto *branch = graph_add_node(&model->arena, body, "If", NULL, 0, NULL, 0, NULL);
        node_set_graph(&model->arena, branch, "then_branch", inner);
        function->node = body->node;
        function->n_node = body->n_node;
        proto->functions[i] = function;
    }
    uint8_t *data;
    size_t size;
    assert_int_equal(model_pack(model, &data, &size, err), 0);
    int result = model_parse(&again, data, size, err);
    free(data);
    model_free(model);
    model_free(again);
    return result ? err->message : NULL;
}

static void recursive_functions_are_refused(void **state)
{
    (void)state;
    struct error err = {0};
    static const char said[] = "calls itself, or others that call it; ONNX allows no recursion";
    assert_null(load_calling(1, (const char *[]){""}, &err));
    assert_null(load_calling(4, (const char *[]){"11", "23", "33", ""}, &err));
    assert_null(load_calling(3, (const char *[]){"", "00", "10"}, &err));
    assert_non_null(strstr(load_calling(1, (const char *[]){"0"}, &err), said));
    assert_non_null(strstr(load_calling(2, (const char *[]){"1", "0"}, &err), said));
    assert_non_null(strstr(load_calling(5, (const char *[]){"14", "2", "3", "41", ""}, &err), "'f1'"));
    assert_non_null(strstr(load_calling(3, (const char *[]){"", "0", "02"}, &err), "'f2'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_models_pack_and_parse),
        cmocka_unit_test(attributes_are_replaced_and_read_back),
        cmocka_unit_test(many_additions_keep_their_order),
        cmocka_unit_test(all_types_round_trip),
        cmocka_unit_test(typed_fields_are_read),
        cmocka_unit_test(typed_fields_are_written),
        cmocka_unit_test(sparse_tensors_are_written),
        cmocka_unit_test(dims_are_held_against_data),
        cmocka_unit_test_setup_teardown(large_weights_stay_in_the_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(external_data_goes_out_and_comes_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(small_weights_go_apart_as_well, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(external_paths_stay_in_the_folder, make_folder, remove_folder),
        cmocka_unit_test(broken_models_are_refused_with_the_reason),
        cmocka_unit_test(every_truncation_and_bit_flip_is_survived),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(amplification_is_refused),
        cmocka_unit_test(recursive_functions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
