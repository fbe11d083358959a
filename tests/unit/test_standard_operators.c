/* Operators that ONNX has had for long and the table for short, on numbers that anyone can check by hand.
 * ONNX's own cases are in test_reference. */
#include "body.h"
#include "node_scene.h"

#define LIST(...) ((const double[]){__VA_ARGS__})

static void give_list(struct scene *scene, enum dtype type, int64_t count, const double *values)
{
    give(scene, type, (struct shape){1, {count}}, values);
}

static void give_number(struct scene *scene, enum dtype type, double value)
{
    give(scene, type, (struct shape){0}, &value);
}

static void set_ints(struct scene *scene, const char *name, const int64_t *values, size_t count)
{
    node_set_ints(&scene->model->arena, scene->node, name, values, count);
}

/* 1, -i, -1, i: a signal of one turn, whose transform has one element. */
static void dft(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "DFT", 1);
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 4, 2}}, LIST(1, 0, 0, -1, -1, 0, 0, 1));
    end(&scene, LIST(0, 0, 0, 0, 0, 0, 4, 0), 8);
    begin(&scene, "DFT", 1);
    set_int(&scene, "inverse", 1);
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 2, 1}}, LIST(6, 2));
    end(&scene, LIST(4, 0, 2, 0), 4);
}

/* Columns of deviation 1 and 2 about their means 2 and 6, and the whole about 4. */
static void mean_variance(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "MeanVarianceNormalization", 1);
    set_ints(&scene, "axes", (const int64_t[]){0}, 1);
    give(&scene, DTYPE_FLOAT, (struct shape){2, {2, 2}}, LIST(1, 4, 3, 8));
    end(&scene, LIST(-1, -1, 1, 1), 4);
    begin(&scene, "MeanVarianceNormalization", 1);
    give(&scene, DTYPE_FLOAT, (struct shape){4, {1, 2, 1, 2}}, LIST(1, 3, 4, 8));
    end(&scene, LIST(-1, 1, -1, 1), 4);
    begin(&scene, "MeanVarianceNormalization", 1);
    set_ints(&scene, "axes", (const int64_t[]){0, 1}, 2);
    give(&scene, DTYPE_FLOAT, (struct shape){2, {2, 2}}, LIST(1, 1, 7, 7));
    end(&scene, LIST(-1, -1, 1, 1), 4);
}

/* Sums of the columns from the last to the first, each a column of the result. */
static void scan(void **state)
{
    static const char body[] =
        "x = Constant<value = float[2,3] {1, 2, 3, 4, 5, 6}>() s = Constant<value = float[2] {0, 0}>() "
        "f, y = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], "
        "scan_output_axes = [-1], "
        "scan_output_directions = [%d], body = b (float[2] a, float[2] e) => (float[2] n, float[2] o) "
        "{ n = Add(a, e) o = Identity(n) }>(s, x)";
    static const double forward[] = {3, 5, 6, 6, 11, 15}, backward[] = {6, 5, 3, 15, 11, 6};
    (void)state;
    for (int direction = 0; direction < 2; direction++) {
        struct bounded result;
        struct error err = {0};
        char text[sizeof body];
        snprintf(text, sizeof text, body, direction);
        if (run_body(13, text, NULL, &result, &err))
            fail_msg("%s", err.message);
        assert_true(shape_equal(&result.shape, &(struct shape){2, {2, 3}}));
        for (size_t i = 0; i < 6; i++)
            assert_true(result.value[i] == (direction ? backward : forward)[i]);
        bounded_release(&result);
    }
}

static void stft(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "STFT", 3);
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 4, 1}}, LIST(1, 2, 3, 4));
    give_number(&scene, DTYPE_INT64, 2);
    give_list(&scene, DTYPE_FLOAT, 2, LIST(1, 2));
    end(&scene, LIST(5, 0, -3, 0, 11, 0, -5, 0), 8);
}

static void windows(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "HannWindow", 1);
    give_number(&scene, DTYPE_INT64, 4);
    end(&scene, LIST(0, 0.5, 1, 0.5), 4);
    begin(&scene, "BlackmanWindow", 1);
    set_int(&scene, "periodic", 0);
    give_number(&scene, DTYPE_INT64, 3);
    end(&scene, LIST(0, 1, 0), 3);
    begin(&scene, "HammingWindow", 1);
    set_int(&scene, "periodic", 0);
    give_number(&scene, DTYPE_INT64, 1);
    end(&scene, LIST(NAN), 1);
}

static void selection(void **state)
{
    struct scene scene;
    struct shape matrix = {2, {2, 3}};
    (void)state;
    begin(&scene, "Compress", 2);
    set_int(&scene, "axis", 1);
    give(&scene, DTYPE_INT32, matrix, LIST(1, 2, 3, 4, 5, 6));
    give_list(&scene, DTYPE_BOOL, 3, LIST(1, 0, 1));
    end(&scene, LIST(1, 3, 4, 6), 4);
    begin(&scene, "Unique", 1);
    set_int(&scene, "sorted", 0);
    give_list(&scene, DTYPE_FLOAT, 5, LIST(3, 1, 3, 2, 1));
    end(&scene, LIST(3, 1, 2), 3);
    begin(&scene, "ReverseSequence", 2);
    set_int(&scene, "batch_axis", 0);
    set_int(&scene, "time_axis", 1);
    give(&scene, DTYPE_INT32, matrix, LIST(1, 2, 3, 4, 5, 6));
    give_list(&scene, DTYPE_INT64, 2, LIST(2, 3));
    end(&scene, LIST(2, 1, 3, 6, 5, 4), 6);
    begin(&scene, "CenterCropPad", 2);
    give(&scene, DTYPE_INT32, matrix, LIST(1, 2, 3, 4, 5, 6));
    give_list(&scene, DTYPE_INT64, 2, LIST(3, 2));
    end(&scene, LIST(1, 2, 4, 5, 0, 0), 6);
}

/* Windows of two over three pixels share the one in the middle. */
static void unfold(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "Col2Im", 3);
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 2, 2}}, LIST(1, 2, 3, 4));
    give_list(&scene, DTYPE_INT64, 1, LIST(3));
    give_list(&scene, DTYPE_INT64, 1, LIST(2));
    end(&scene, LIST(1, 5, 4), 3);
    begin(&scene, "MaxUnpool", 2);
    set_ints(&scene, "kernel_shape", (const int64_t[]){2}, 1);
    set_ints(&scene, "strides", (const int64_t[]){2}, 1);
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 1, 2}}, LIST(7, 8));
    give(&scene, DTYPE_INT64, (struct shape){3, {1, 1, 2}}, LIST(1, 2));
    end(&scene, LIST(0, 7, 8, 0), 4);
}

static void determinant(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "Det", 1);
    give(&scene, DTYPE_FLOAT, (struct shape){3, {2, 2, 2}}, LIST(0, 2, 3, 4, 1, 2, 2, 4));
    end(&scene, LIST(-6, 0), 2);
}

static void quantized(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "QLinearMatMul", 8);
    give(&scene, DTYPE_UINT8, (struct shape){2, {1, 2}}, LIST(3, 200));
    give_number(&scene, DTYPE_FLOAT, 0.5);
    give_number(&scene, DTYPE_UINT8, 1);
    give(&scene, DTYPE_INT8, (struct shape){2, {2, 2}}, LIST(4, 0, 0, -100));
    give_number(&scene, DTYPE_FLOAT, 0.5);
    give_number(&scene, DTYPE_INT8, 0);
    give_number(&scene, DTYPE_FLOAT, 1);
    give_number(&scene, DTYPE_INT8, 5);
    end(&scene, LIST(7, -128), 2); /* 8 / 4 + 5, and far below what int8 holds */
    begin(&scene, "DynamicQuantizeLinear", 1);
    give_list(&scene, DTYPE_FLOAT, 3, LIST(0, 51, 255));
    end(&scene, LIST(0, 51, 255), 3);
}

static void regions(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "NonMaxSuppression", 4);
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 3, 4}}, LIST(0, 0, 2, 2, 0, 0, 2, 1.9, 5, 5, 6, 6));
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 1, 3}}, LIST(0.5, 0.9, 0.1));
    give_number(&scene, DTYPE_INT64, 9);
    give_number(&scene, DTYPE_FLOAT, 0.5);
    end(&scene, LIST(0, 0, 1, 0, 0, 2), 6); /* box 0 is nearly box 1 */
    begin(&scene, "RoiAlign", 3);
    set_int(&scene, "sampling_ratio", 1);
    give(&scene, DTYPE_FLOAT, (struct shape){4, {1, 1, 2, 2}}, LIST(1, 2, 3, 4));
    give(&scene, DTYPE_FLOAT, (struct shape){2, {1, 4}}, LIST(0, 0, 2, 2));
    give_list(&scene, DTYPE_INT64, 1, LIST(0));
    end(&scene, LIST(2.5), 1);
    begin(&scene, "RoiAlign", 3);
    give(&scene, DTYPE_FLOAT, (struct shape){4, {1, 1, 1, 1}}, LIST(1));
    give(&scene, DTYPE_FLOAT, (struct shape){2, {2, 4}}, LIST(0.5, 2, 0, 0, 0, 0, 0.8, 0.8));
    give_list(&scene, DTYPE_INT64, 2, LIST(0, 0));
    end(&scene, LIST(NAN, 1), 2); /* the first region ends before it begins: how many samples has it? */
}

static void places(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "AffineGrid", 2);
    give(&scene, DTYPE_FLOAT, (struct shape){3, {1, 2, 3}}, LIST(1, 0, 0, 0, 2, 1));
    give_list(&scene, DTYPE_INT64, 4, LIST(1, 1, 1, 2));
    end(&scene, LIST(-0.5, 1, 0.5, 1), 4);
    begin(&scene, "DeformConv", 3);
    give(&scene, DTYPE_FLOAT, (struct shape){4, {1, 1, 1, 2}}, LIST(2, 4));
    give(&scene, DTYPE_FLOAT, (struct shape){4, {1, 1, 1, 1}}, LIST(3));
    give(&scene, DTYPE_FLOAT, (struct shape){4, {1, 2, 1, 2}}, LIST(0, 0, 0.5, 0.5));
    end(&scene, LIST(9, 6), 2); /* half a pixel to the right: 3 between 2 and 4, and 2 beside nothing */
}

/* Pairs 1 2 with up to one number between them. */
static void ngrams(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, "TfIdfVectorizer", 1);
    set_ints(&scene, "pool_int64s", (const int64_t[]){1, 1, 2}, 3);
    set_ints(&scene, "ngram_counts", (const int64_t[]){0, 1}, 2);
    set_ints(&scene, "ngram_indexes", (const int64_t[]){1, 0}, 2);
    set_int(&scene, "min_gram_length", 1);
    set_int(&scene, "max_gram_length", 2);
    set_int(&scene, "max_skip_count", 1);
    node_set_string(&scene.model->arena, scene.node, "mode", "TF");
    give_list(&scene, DTYPE_INT64, 4, LIST(1, 2, 1, 2));
    end(&scene, LIST(2, 2), 2);
}

/* The bound of a determinant leaves out what a wrong sign gives. */
static void wrong_sign(void **state)
{
    struct scene scene;
    struct bounded y;
    (void)state;
    begin(&scene, "Det", 1);
    give(&scene, DTYPE_FLOAT, (struct shape){2, {2, 2}}, LIST(1, 2, 3, 4));
    assert_int_equal(evaluate_node(scene.model, scene.node, scene.given, NULL, 0, NULL, NULL, &y, 1, NULL),
                     0);
    assert_true(fabsl(y.value[0] - 2) > bounded_hard(&y, 0)); /* the permanent is 10, the sign matters */
    bounded_release(&y);
    tensor_release(&scene.tensors[0]);
    model_free(scene.model);
}

/* A sequence cannot leave the evaluator as if it were a tensor. */
static void sequences_are_refused(void **state)
{
    struct scene scene;
    struct bounded y;
    struct error err = {0};
    (void)state;
    begin(&scene, "SequenceConstruct", 1);
    give_list(&scene, DTYPE_FLOAT, 1, LIST(1));
    assert_int_equal(evaluate_node(scene.model, scene.node, scene.given, NULL, 0, NULL, NULL, &y, 1, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    tensor_release(&scene.tensors[0]);
    model_free(scene.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dft),        cmocka_unit_test(mean_variance),
        cmocka_unit_test(scan),       cmocka_unit_test(stft),
        cmocka_unit_test(windows),    cmocka_unit_test(selection),
        cmocka_unit_test(unfold),     cmocka_unit_test(determinant),
        cmocka_unit_test(quantized),  cmocka_unit_test(regions),
        cmocka_unit_test(places),     cmocka_unit_test(ngrams),
        cmocka_unit_test(wrong_sign), cmocka_unit_test(sequences_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
