/* Inputs drawn at random and read from folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/str.h"
#include "case/inputs.h"
#include "model/build.h"
#include "model/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    char folder[64];
    struct model *model;
};

/* x: float32 [batch, 3], mask: bool [batch], index: int64 [2]; w is an initialiser listed as an input. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->folder, sizeof f->folder, "/tmp/assay-inputs-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    f->model = model_new(17);
    struct shape x = shape_make(2, (int64_t[]){-1, 3}), mask = shape_make(1, (int64_t[]){-1});
    struct shape two = shape_make(1, (int64_t[]){2});
    Onnx__ValueInfoProto *infos[] = {model_add_input(f->model, "x", DTYPE_FLOAT, &x),
                                     model_add_input(f->model, "mask", DTYPE_BOOL, &mask)};
    model_add_input(f->model, "w", DTYPE_FLOAT, &two);
    model_add_input(f->model, "index", DTYPE_INT64, &two);
    for (size_t i = 0; i < 2; i++) {
        Onnx__TensorShapeProto__Dimension *dim = infos[i]->type->tensor_type->shape->dim[0];
        dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        dim->dim_param = arena_strdup(&f->model->arena, "batch");
    }
    struct tensor w;
    assert_int_equal(tensor_alloc(&w, DTYPE_FLOAT, &two, 0, NULL), 0);
    model_add_initializer(f->model, "w", &w);
    tensor_release(&w);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    file_remove_tree(f->folder, NULL);
    model_free(f->model);
    free(f);
    return 0;
}

static void test_random(void **state)
{
    struct fixture *f = *state;
    struct inputs inputs;
    struct error err;
    const char *dims[] = {"batch=4"};
    assert_int_equal(inputs_random(&inputs, f->model, 3, 7, dims, 1, &err), 0);
    assert_int_equal(inputs.count, 3);
    struct value *first, *again, *other;
    assert_int_equal(inputs_get(&inputs, 0, &first, &err), 0);
    assert_int_equal(inputs_get(&inputs, 1, &other, &err), 0);
    assert_int_equal(inputs_get(&inputs, 0, &again, &err), 0);
    const char *names[] = {"x", "mask", "index"};
    const size_t counts[] = {12, 4, 2};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(first[i].name, names[i]);
        assert_int_equal(first[i].tensors[0].count, counts[i]);
        assert_true(tensor_identical(&first[i].tensors[0], &again[i].tensors[0]));
    }
    assert_false(tensor_identical(&first[0].tensors[0], &other[0].tensors[0]));
    for (size_t i = 0; i < 2; i++)
        assert_true(tensor_get(&first[2].tensors[0], i) >= 0 && tensor_get(&first[2].tensors[0], i) < 10);
    values_free(first, 3);
    values_free(again, 3);
    values_free(other, 3);
    inputs_release(&inputs);
}

static void test_dims(void **state)
{
    struct fixture *f = *state;
    struct inputs inputs;
    struct error err;
    assert_int_equal(inputs_random(&inputs, f->model, 1, 7, NULL, 0, &err), 0);
    assert_int_equal(inputs.slots[0].shape.dims[0], 1);
    inputs_release(&inputs);
    const char *bad[] = {"batch", "=3", "batch=-1", "time=3"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(inputs_random(&inputs, f->model, 1, 7, &bad[i], 1, &err), -1);
        assert_int_equal(err.code, ERROR_USAGE);
        inputs_release(&inputs);
    }
}

/* Five samples have all five sizes, the same for one name, and the same again for the same seed. */
static void test_sizes(void **state)
{
    struct fixture *f = *state;
    struct inputs inputs, again;
    struct str text;
    int64_t sum = 0;
    str_init(&text);
    assert_int_equal(inputs_random(&inputs, f->model, 12, 7, NULL, 0, NULL), 0);
    assert_int_equal(inputs_random(&again, f->model, 12, 7, NULL, 0, NULL), 0);
    inputs_draw_sizes(&inputs, false);
    inputs_draw_sizes(&again, false);
    assert_true(inputs_sizes_vary(&inputs));
    for (size_t i = 0; i < 12; i++) {
        struct shape x = inputs_shape(&inputs, &inputs.slots[0], i);
        struct shape mask = inputs_shape(&inputs, &inputs.slots[1], i);
        struct shape same = inputs_shape(&again, &again.slots[0], i);
        assert_true(x.dims[0] == mask.dims[0] && shape_equal(&x, &same) && x.dims[1] == 3);
        assert_true(x.dims[0] == inputs_shape(&inputs, &inputs.slots[0], i % 5).dims[0]);
        sum += i < 5 ? x.dims[0] : 0;
    }
    assert_int_equal(sum, 1 + 2 + 3 + 7 + 16);
    inputs_describe(&inputs, &text);
    assert_string_equal(
        text.data, "12 random samples of x batch x 3, mask batch, index 2 with batch = 1, 2, 3, 7 and 16");
    inputs_release(&inputs);
    inputs_release(&again);
    assert_int_equal(inputs_random(&inputs, f->model, 12, 7, NULL, 0, NULL), 0);
    inputs_draw_sizes(&inputs, true);
    assert_false(inputs_sizes_vary(&inputs));
    assert_int_equal(inputs_shape(&inputs, &inputs.slots[0], 3).dims[0], 1);
    inputs_release(&inputs);
    str_release(&text);
}

/* A version 1.0 .npy file of little-endian numbers. */
static void write_npy(const char *folder, const char *name, const char *descr, const char *shape,
                      const void *data, size_t size)
{
    struct str text, header;
    str_init(&text);
    str_init(&header);
    str_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    while ((header.length + 11) % 64)
        str_add(&header, " ");
    str_add(&header, "\n");
    const unsigned char length[2] = {(unsigned char)(header.length & 255),
                                     (unsigned char)(header.length >> 8)};
    str_append(&text, "\x93NUMPY\1\0", 8);
    str_append(&text, length, 2);
    str_append(&text, header.data, header.length);
    str_append(&text, data, size);
    char *path = file_join(folder, name);
    assert_int_equal(file_write(path, text.data, text.length, NULL), 0);
    free(path);
    str_release(&text);
    str_release(&header);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char *path = file_join(folder, name);
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    free(path);
}

static struct model *one_input(void)
{
    struct model *model = model_new(17);
    struct shape shape = shape_make(2, (int64_t[]){-1, 2});
    model_add_input(model, "x", DTYPE_FLOAT, &shape);
    return model;
}

static void test_samples(void **state)
{
    struct fixture *f = *state;
    struct inputs inputs;
    struct error err;
    struct value *values;
    const float data[] = {1, 2, 3, 4, 5, 6};
    struct model *model = one_input();
    write_npy(f->folder, "pictures.npy", "<f4", "3, 2", data, sizeof data);
    write_text(f->folder, "labels.txt", "0\n1\n0\n");
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), 0);
    assert_int_equal(inputs.samples, 3);
    assert_non_null(inputs.classes);
    assert_int_equal(inputs.classes[1], 1);
    assert_int_equal(inputs_get(&inputs, 2, &values, &err), 0);
    assert_int_equal(values[0].tensors[0].shape.rank, 2);
    assert_int_equal(values[0].tensors[0].shape.dims[0], 1);
    assert_true(tensor_get(&values[0].tensors[0], 1) == 6);
    values_free(values, 1);
    inputs_release(&inputs);

    write_text(f->folder, "labels.txt", "0.5 1\n1 0\n2 3\n");
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), 0);
    assert_null(inputs.classes);
    assert_int_equal(inputs.truth_size, 2);
    assert_true(inputs.truth[0] == 0.5 && inputs.truth[5] == 3);
    inputs_release(&inputs);

    write_text(f->folder, "labels.txt", "0 1\n");
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), -1);
    inputs_release(&inputs);
    write_text(f->folder, "labels.txt", "0 cat 1\n");
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), -1);
    assert_non_null(strstr(err.message, "cat"));
    inputs_release(&inputs);
    model_free(model);
}

static void test_folder(void **state)
{
    struct fixture *f = *state;
    struct inputs inputs;
    struct error err;
    struct value *values;
    const float data[] = {1, 2};
    struct model *model = one_input();
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), 0);
    assert_int_equal(inputs_get(&inputs, 0, &values, &err), -1);
    assert_non_null(strstr(err.message, "input_0"));
    inputs_release(&inputs);
    write_npy(f->folder, "x.npy", "<f4", "1, 2", data, sizeof data);
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), 0);
    assert_int_equal(inputs.samples, 1);
    assert_int_equal(inputs_get(&inputs, 0, &values, &err), 0);
    assert_true(tensor_get(&values[0].tensors[0], 1) == 2);
    values_free(values, 1);
    inputs_release(&inputs);
    model_free(model);
}

/* Expected outputs beside the inputs: by name and by number, in arrays of samples and in folders of one. */
static void test_expected(void **state)
{
    struct fixture *f = *state;
    struct inputs inputs;
    struct inputs_expected expected;
    struct error err = {0};
    const float data[] = {1, 2, 3, 4, 5, 6};
    struct model *model = one_input();
    struct shape open = shape_make(2, (int64_t[]){-1, 2}), scalar = shape_make(0, NULL);
    model_add_output(model, "y", DTYPE_FLOAT, &open);
    model_add_output(model, "loss", DTYPE_FLOAT, &scalar);
    /* Beside an expected output the one other array is the input. */
    write_npy(f->folder, "pictures.npy", "<f4", "3, 2", data, sizeof data);
    write_npy(f->folder, "y.npy", "<f4", "3, 2", data, sizeof data);
    write_npy(f->folder, "output_1.npy", "<f4", "3,", data, 3 * sizeof *data);
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), 0);
    assert_int_equal(inputs.samples, 3);
    assert_int_equal(inputs.n_unused, 0);
    assert_int_equal(inputs_expected(&inputs, 2, &expected, &err), 0);
    assert_int_equal(expected.count, 2);
    assert_string_equal(expected.values[0].name, "y");
    assert_int_equal(expected.values[0].tensors[0].shape.rank, 2);
    assert_true(tensor_get(&expected.values[0].tensors[0], 1) == 6);
    assert_int_equal(expected.places[1], 1);
    assert_int_equal(expected.values[1].tensors[0].shape.rank, 0);
    assert_true(tensor_get(&expected.values[1].tensors[0], 0) == 3);
    inputs_expected_release(&expected);
    inputs_release(&inputs);
    /* Fewer of them than there are samples are a mistake; what belongs to nothing is named. */
    write_npy(f->folder, "y.npy", "<f4", "2, 2", data, 4 * sizeof *data);
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), -1);
    assert_non_null(strstr(err.message, "the expected output y has 2 along its first axis, and there are 3"));
    inputs_release(&inputs);
    write_npy(f->folder, "x.npy", "<f4", "1, 2", data, 2 * sizeof *data);
    write_npy(f->folder, "y.npy", "<f4", "1, 2", data + 1, 2 * sizeof *data);
    char *path = file_join(f->folder, "output_1.npy");
    remove(path);
    free(path);
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), 0);
    assert_int_equal(inputs.kind, INPUTS_FOLDERS);
    assert_int_equal(inputs.n_unused, 1);
    assert_string_equal(inputs.unused[0], "pictures.npy");
    assert_int_equal(inputs_expected(&inputs, 0, &expected, &err), 0);
    assert_int_equal(expected.count, 1);
    assert_true(tensor_get(&expected.values[0].tensors[0], 0) == 2);
    inputs_expected_release(&expected);
    inputs_release(&inputs);
    write_npy(f->folder, "output_2.npy", "<f4", "1, 2", data, 2 * sizeof *data);
    assert_int_equal(inputs_read(&inputs, model, f->folder, &err), 0);
    assert_int_equal(inputs_check(&inputs, &err), -1);
    assert_non_null(strstr(err.message, "the model has only 2 outputs"));
    inputs_release(&inputs);
    model_free(model);
}

static void set(struct value *value, const char *name, enum dtype type, struct shape shape)
{
    struct tensor tensor;
    assert_int_equal(tensor_alloc(&tensor, type, &shape, 0, NULL), 0);
    value_release(value);
    value_init(value);
    value_set_tensor(value, &tensor);
    value_set_name(value, name);
}

/* Fits at first; then one thing at a time is wrong, and the message says which. */
static void test_fit(void **state)
{
    struct fixture *f = *state;
    struct error err;
    struct value *values = calloc(3, sizeof *values);
    struct shape x = shape_make(2, (int64_t[]){5, 3}), one = shape_make(1, (int64_t[]){5});
    struct shape two = shape_make(1, (int64_t[]){2}), flat = shape_make(1, (int64_t[]){15});
    struct shape wide = shape_make(2, (int64_t[]){5, 4}), other = shape_make(1, (int64_t[]){4});
    const struct {
        size_t number;
        const char *name;
        enum dtype type;
        struct shape shape;
        const char *says;
    } rows[] = {
        {0, "x", DTYPE_FLOAT, wide, "your input x is float32 [5,4], the model wants float32 [batch,3]"},
        {0, "x", DTYPE_DOUBLE, x, "your input x is float64 [5,3], the model wants float32 [batch,3]"},
        {0, "x", DTYPE_FLOAT, flat, "your input x is float32 [15], the model wants float32 [batch,3]"},
        {1, "mask", DTYPE_BOOL, other,
         "the model wants one size for its dimension batch: it is 5 in your input x and 4 in your input "
         "mask"},
        {2, "index", DTYPE_INT32, two, "your input index is int32 [2], the model wants int64 [2]"},
        {2, "indices", DTYPE_INT64, two, "the model has no input indices; its inputs are x, mask, w, index"},
    };
    for (size_t i = 0; i < 3; i++)
        value_init(&values[i]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set(&values[0], "x", DTYPE_FLOAT, x);
        set(&values[1], "mask", DTYPE_BOOL, one);
        set(&values[2], "index", DTYPE_INT64, two);
        assert_int_equal(inputs_fit(f->model, values, 3, &err), 0);
        set(&values[rows[i].number], rows[i].name, rows[i].type, rows[i].shape);
        assert_int_equal(inputs_fit(f->model, values, 3, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, rows[i].says);
    }
    set(&values[2], "index", DTYPE_INT64, two);
    assert_int_equal(inputs_fit(f->model, values, 2, &err), -1);
    assert_string_equal(err.message, "input index is not given; the model wants int64 [2]");
    values[0].kind = VALUE_SEQUENCE;
    assert_int_equal(inputs_fit(f->model, values, 3, &err), -1);
    assert_non_null(strstr(err.message, "your input x is a sequence of 1 tensors"));
    values[0].kind = VALUE_TENSOR;
    values_free(values, 3);
}

static struct model *model_of(const char *text)
{
    struct error err = {0};
    struct model *model;
    uint8_t *bytes;
    size_t size;
    if (onnx_parse_text(text, &bytes, &size, &err) || model_parse(&model, bytes, size, &err))
        fail_msg("%s: %s", text, err.message);
    free(bytes);
    return model;
}

#define GRAPH "<ir_version: 8, opset_import: [\"\": 17]> g (int64[n] x) => (float[m] y) "

/* What the graph allows as x, which has 200 elements; 0 to 9 where it says nothing. */
static const struct {
    const char *text;
    int low, high;
} graphs[] = {
    {GRAPH "{ y = Cast<to = 1>(x) }", 0, 9},
    {GRAPH "<float[5] t = {1, 2, 3, 4, 5}> { y = Gather(t, x) }", 0, 4},
    {GRAPH "<float[2, 3] t = {1, 2, 3, 4, 5, 6}> { y = Gather<axis = 1>(t, x) }", 0, 2},
    {GRAPH "<float[2, 3] t = {1, 2, 3, 4, 5, 6}> { y = Gather<axis = -2>(t, x) }", 0, 1},
    /* Through what passes elements on, and by the smaller of two tables. */
    {GRAPH "<float[5] t = {1, 2, 3, 4, 5}, int64[1] zero = {0}>"
           "{ u = Unsqueeze(x, zero) i = Cast<to = 6>(u) j = Identity(i) y = Gather(t, j) }",
     0, 4},
    {GRAPH "<float[5] t = {1, 2, 3, 4, 5}, float[3] s = {1, 2, 3}>"
           "{ a = Gather(t, x) b = Gather(s, x) y = Add(a, b) }",
     0, 2},
    /* Shifted, as tables of positions are that begin with a few rows of their own. */
    {GRAPH "<float[5] t = {1, 2, 3, 4, 5}, int64 two = {2}> { p = Add(x, two) y = Gather(t, p) }", 0, 2},
    {GRAPH "<float[5] t = {1, 2, 3, 4, 5}, int64 two = {2}> { p = Sub(x, two) y = Gather(t, p) }", 2, 6},
    /* A table that is computed, and one of a size that nobody knows. */
    {GRAPH "<float[5] t = {1, 2, 3, 4, 5}> { c = Concat<axis = 0>(t, t) y = Gather(c, x) }", 0, 9},
    {"<ir_version: 8, opset_import: [\"\": 17]> g (int64[n] x, float[n] z) => (float[m] y)"
     "{ p = NonZero(z) f = Cast<to = 1>(p) y = Gather<axis = 1>(f, x) }",
     0, 0},
    /* Masks: of a Where, compared, and taken from 1. An index that is compared with 0 stays one. */
    {GRAPH "<float a = {1}, float b = {2}> { c = Cast<to = 9>(x) y = Where(c, a, b) }", 0, 1},
    {GRAPH "<int64 zero = {0}> { c = Equal(x, zero) y = Cast<to = 1>(c) }", 0, 1},
    {GRAPH "<float one = {1}> { f = Cast<to = 1>(x) y = Sub(one, f) }", 0, 1},
    {GRAPH "<float two = {2}> { f = Cast<to = 1>(x) y = Sub(two, f) }", 0, 9},
    {GRAPH "<float[5] t = {1, 2, 3, 4, 5}, int64 zero = {0}> { c = Equal(x, zero) y = Gather(t, x) }", 0, 4},
    /* Inside of a body, and what only the sizes tell. */
    {"<ir_version: 8, opset_import: [\"\": 17]> g (int64[n] x, bool c) => (float[m] y)"
     "<float[5] t = {1, 2, 3, 4, 5}> { y = If (c) <then_branch = a () => (float[m] p) { p = Gather(t, x) },"
     "else_branch = b () => (float[m] q) { q = Cast<to = 1>(x) }> }",
     0, 4},
    {"<ir_version: 8, opset_import: [\"\": 17]> g (int64[n] x, float[n] t) => (float[m] y)"
     "{ y = Gather(t, x) }",
     0, 199},
};

/* Every number that is allowed is drawn, and no other. */
static void test_ranges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct model *model = model_of(graphs[i].text);
        struct inputs inputs;
        struct error err = {0};
        assert_int_equal(inputs_random(&inputs, model, 20, 7, (const char *const[]){"n=200"}, 1, &err), 0);
        long double low = 1000, high = -1;
        for (size_t sample = 0; sample < 20; sample++) {
            struct value *values;
            assert_int_equal(inputs_get(&inputs, sample, &values, &err), 0);
            for (size_t k = 0; k < values[0].tensors[0].count; k++) {
                long double x = tensor_get(&values[0].tensors[0], k);
                low = x < low ? x : low;
                high = x > high ? x : high;
            }
            values_free(values, inputs.count);
        }
        if (low != graphs[i].low || high != graphs[i].high)
            fail_msg("%s: drawn from %Lg to %Lg", graphs[i].text, low, high);
        inputs_release(&inputs);
        model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dims, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_samples, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expected, setup, teardown),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
