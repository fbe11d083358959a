/* Operators on the narrow element types: what becomes of numbers by ONNX's tables, what is open, and what is
 * refused. ONNX's own cases are in test_reference --cases. */
#include "node_scene.h"

#include <string.h>

/* In `wanted`: the element is open. Finite, because NaN and infinities are answers. */
static const double OPEN = 12345.678;

/* The values, exactly: a bound would let a neighbour pass. */
static void expect(struct scene *scene, enum dtype type, const double *wanted, size_t count)
{
    struct bounded y;
    struct error err = {0};
    if (run(scene, &y, &err))
        fail_msg("%s", err.message);
    assert_int_equal(y.type, type);
    assert_int_equal(y.count, count);
    for (size_t i = 0; i < count; i++) {
        bool open = isinf(bounded_hard(&y, i)) && isinf(bounded_likely(&y, i));
        bool same = isnan(wanted[i]) ? isnan(y.value[i]) : y.value[i] == wanted[i];
        if (wanted[i] == OPEN ? !open : !(same && bounded_hard(&y, i) == 0))
            fail_msg("%s, element %zu: %Lg +- %g, expected %g", dtype_name(type), i, y.value[i],
                     bounded_hard(&y, i), wanted[i]);
    }
    bounded_release(&y);
}

static void expect_invalid(struct scene *scene, const char *why)
{
    struct bounded y;
    struct error err = {0};
    assert_int_equal(run(scene, &y, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    if (!strstr(err.message, why))
        fail_msg("'%s' instead of '%s'", err.message, why);
}

static void cast(int opset, enum dtype from, enum dtype to, int saturate, const char *mode, size_t count,
                 const double *x, const double *wanted)
{
    struct scene scene;
    begin_at(&scene, opset, "Cast", 1);
    give(&scene, from, (struct shape){1, {(int64_t)count}}, x);
    set_int(&scene, "to", to);
    if (saturate >= 0)
        set_int(&scene, "saturate", saturate);
    if (mode)
        node_set_string(&scene.model->arena, scene.node, "round_mode", mode);
    expect(&scene, to, wanted, count);
}

static void casts_follow_the_tables(void **state)
{
    (void)state;
    const double x[] = {0.47892547, 1e6, -1e6, NAN, INFINITY, -INFINITY, 464, 0x1p-30, 1.0625};
    enum { N = sizeof x / sizeof *x };
    cast(21, DTYPE_FLOAT, DTYPE_FLOAT8E4M3FN, -1, NULL, N, x,
         (const double[]){0.46875, 448, -448, NAN, 448, -448, 448, 0, 1});
    cast(21, DTYPE_FLOAT, DTYPE_FLOAT8E4M3FN, 0, NULL, N, x,
         (const double[]){0.46875, NAN, NAN, NAN, NAN, NAN, 448, 0, 1});
    cast(25, DTYPE_FLOAT, DTYPE_FLOAT8E4M3FNUZ, 1, NULL, N, x,
         (const double[]){0.46875, 240, -240, NAN, 240, -240, 240, 0, 1});
    cast(21, DTYPE_FLOAT, DTYPE_FLOAT8E4M3FNUZ, 1, NULL, N, x,
         (const double[]){0.46875, 240, -240, NAN, OPEN, OPEN, 240, 0, 1});
    cast(21, DTYPE_FLOAT, DTYPE_FLOAT8E4M3FNUZ, 0, NULL, N, x,
         (const double[]){0.46875, NAN, NAN, NAN, NAN, NAN, NAN, 0, 1});
    cast(21, DTYPE_FLOAT, DTYPE_FLOAT8E5M2, 1, NULL, N, x,
         (const double[]){0.5, 57344, -57344, NAN, 57344, -57344, 448, 0, 1});
    cast(21, DTYPE_FLOAT, DTYPE_FLOAT8E5M2, 0, NULL, N, x,
         (const double[]){0.5, INFINITY, -INFINITY, NAN, INFINITY, -INFINITY, 448, 0, 1});
    cast(24, DTYPE_FLOAT16, DTYPE_FLOAT8E5M2FNUZ, 0, NULL, 3, (const double[]){0.5, 65504, -INFINITY},
         (const double[]){0.5, NAN, NAN});
    cast(23, DTYPE_FLOAT, DTYPE_FLOAT4E2M1, -1, NULL, N, x,
         (const double[]){0.5, 6, -6, OPEN, 6, -6, 6, 0, 1});
    cast(23, DTYPE_FLOAT, DTYPE_FLOAT4E2M1, -1, NULL, 7,
         (const double[]){0.25, 0.75, 1.25, -2.5, 3.5, 5, 0.7500001}, (const double[]){0, 1, 1, -2, 4, 4, 1});
}

static void casts_to_powers(void **state)
{
    (void)state;
    const double x[] = {1.1, 2, 3, 2.9, -1, -0.0, NAN};
    cast(24, DTYPE_FLOAT, DTYPE_FLOAT8E8M0, -1, NULL, 7, x, (const double[]){2, 2, 4, 4, OPEN, OPEN, NAN});
    cast(24, DTYPE_FLOAT, DTYPE_FLOAT8E8M0, 1, "down", 7, x, (const double[]){1, 2, 2, 2, OPEN, OPEN, NAN});
    cast(24, DTYPE_FLOAT, DTYPE_FLOAT8E8M0, 0, "nearest", 7, x,
         (const double[]){1, 2, 4, 2, OPEN, OPEN, NAN});
    cast(24, DTYPE_FLOAT, DTYPE_FLOAT8E8M0, 1, "up", 3, (const double[]){0, 0x1.8p127, INFINITY},
         (const double[]){0x1p-127, 0x1p127, OPEN});
    cast(24, DTYPE_FLOAT, DTYPE_FLOAT8E8M0, 0, "nearest", 2, (const double[]){0, 0x1.8p127},
         (const double[]){OPEN, OPEN});
    struct scene scene;
    begin_at(&scene, 24, "Cast", 1);
    give(&scene, DTYPE_FLOAT, (struct shape){1, {1}}, x);
    set_int(&scene, "to", DTYPE_FLOAT8E8M0);
    node_set_string(&scene.model->arena, scene.node, "round_mode", "even");
    expect_invalid(&scene, "round_mode 'even'");
}

/* ONNX's text of CastLike has round_mode, and the function body that defines it passes none on to Cast. */
static void cast_like_may_leave_round_mode_out(void **state)
{
    (void)state;
    struct scene scene;
    begin_at(&scene, 24, "CastLike", 2);
    give(&scene, DTYPE_FLOAT, (struct shape){1, {4}}, (const double[]){0.7, 2, 3, NAN});
    give(&scene, DTYPE_FLOAT8E8M0, (struct shape){1, {1}}, (const double[]){1});
    node_set_string(&scene.model->arena, scene.node, "round_mode", "nearest");
    expect(&scene, DTYPE_FLOAT8E8M0, (const double[]){OPEN, 2, 4, NAN}, 4);
}

static void casts_to_few_bits(void **state)
{
    (void)state;
    cast(21, DTYPE_FLOAT, DTYPE_INT4, -1, NULL, 5, (const double[]){-8, 7, 0, -9, 8},
         (const double[]){-8, 7, 0, OPEN, OPEN});
    cast(21, DTYPE_INT32, DTYPE_INT4, -1, NULL, 4, (const double[]){-8, 200, 8, -9},
         (const double[]){-8, -8, -8, 7});
    cast(25, DTYPE_INT64, DTYPE_UINT2, -1, NULL, 3, (const double[]){3, 4, -1}, (const double[]){3, 0, 3});
    cast(25, DTYPE_INT2, DTYPE_FLOAT, -1, NULL, 4, (const double[]){-2, -1, 0, 1},
         (const double[]){-2, -1, 0, 1});
    cast(21, DTYPE_UINT4, DTYPE_BOOL, -1, NULL, 2, (const double[]){0, 15}, (const double[]){0, 1});
    cast(24, DTYPE_FLOAT8E8M0, DTYPE_FLOAT16, -1, NULL, 2, (const double[]){0x1p16, 8},
         (const double[]){INFINITY, 8});
    /* 2.5 may be truncated, or rounded to 2; 3.5 become 3 or 4. */
    struct scene scene;
    struct bounded y;
    begin_at(&scene, 21, "Cast", 1);
    give(&scene, DTYPE_FLOAT, (struct shape){1, {2}}, (const double[]){2.5, 3.5});
    set_int(&scene, "to", DTYPE_UINT4);
    assert_int_equal(run(&scene, &y, NULL), 0);
    assert_true(y.value[0] == 2 && bounded_hard(&y, 0) == 0);
    assert_true(fabsl(y.value[1] - 3) <= bounded_hard(&y, 1) && fabsl(y.value[1] - 4) <= bounded_hard(&y, 1));
    bounded_release(&y);
}

static void numbers_are_quantized(void **state)
{
    (void)state;
    const double x[] = {0, 3, -5, 1000, -1000, 1}, scale = 2;
    const struct shape six = {1, {6}}, one = {0};
    static const struct {
        int opset;
        enum dtype type;
        double zero, wanted[6];
    } rows[] = {
        {21, DTYPE_INT4, 1, {1, 3, -1, 7, -8, 1}},
        {21, DTYPE_UINT4, 8, {8, 10, 6, 15, 0, 8}},
        {25, DTYPE_INT2, 0, {0, 1, -2, 1, -2, 0}},
        {25, DTYPE_UINT2, 1, {1, 3, 0, 3, 0, 1}},
        {19, DTYPE_FLOAT8E4M3FN, 0, {0, 1.5, -2.5, 448, -448, 0.5}},
        {23, DTYPE_FLOAT4E2M1, 0, {0, 1.5, -2, 6, -6, 0.5}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        begin_at(&scene, rows[i].opset, "QuantizeLinear", 3);
        give(&scene, DTYPE_FLOAT, six, x);
        give(&scene, DTYPE_FLOAT, one, &scale);
        give(&scene, rows[i].type, one, &rows[i].zero);
        expect(&scene, rows[i].type, rows[i].wanted, 6);
    }
    struct scene scene;
    begin_at(&scene, 24, "QuantizeLinear", 2);
    give(&scene, DTYPE_FLOAT, six, x);
    give(&scene, DTYPE_FLOAT8E8M0, one, &scale);
    set_int(&scene, "output_dtype", DTYPE_FLOAT8E5M2);
    set_int(&scene, "precision", DTYPE_FLOAT);
    expect(&scene, DTYPE_FLOAT8E5M2, (const double[]){0, 1.5, -2.5, 512, -512, 0.5}, 6);
}

/* The quotient is rounded in the type that precision names: in half precision no whole number near 1499 is
 * certain. */
static void precision_widens_the_bound(void **state)
{
    (void)state;
    const double x = 1500.5, scale = 1.0009765625; /* 1499.036 */
    for (int half = 0; half < 2; half++) {
        struct scene scene;
        struct bounded y;
        begin_at(&scene, 23, "QuantizeLinear", 2);
        give(&scene, DTYPE_FLOAT, (struct shape){1, {1}}, &x);
        give(&scene, DTYPE_FLOAT, (struct shape){0}, &scale);
        set_int(&scene, "output_dtype", DTYPE_INT16);
        set_int(&scene, "precision", half ? DTYPE_FLOAT16 : DTYPE_FLOAT);
        assert_int_equal(run(&scene, &y, NULL), 0);
        assert_true(y.value[0] == 1499 && (half ? bounded_hard(&y, 0) >= 1 : bounded_hard(&y, 0) == 0));
        bounded_release(&y);
    }
    struct scene scene;
    begin_at(&scene, 23, "QuantizeLinear", 2);
    give(&scene, DTYPE_FLOAT, (struct shape){1, {1}}, &x);
    give(&scene, DTYPE_FLOAT, (struct shape){0}, &scale);
    set_int(&scene, "precision", DTYPE_INT32);
    expect_invalid(&scene, "precision 6 is no float");
}

static void numbers_are_dequantized(void **state)
{
    (void)state;
    struct scene scene;
    const double scale = 0.5, zero = 2, none = 0;
    begin_at(&scene, 21, "DequantizeLinear", 3);
    give(&scene, DTYPE_INT4, (struct shape){1, {4}}, (const double[]){-8, 7, 2, 0});
    give(&scene, DTYPE_FLOAT, (struct shape){0}, &scale);
    give(&scene, DTYPE_INT4, (struct shape){0}, &zero);
    expect(&scene, DTYPE_FLOAT, (const double[]){-5, 2.5, 0, -1}, 4);
    begin_at(&scene, 19, "DequantizeLinear", 3);
    give(&scene, DTYPE_FLOAT8E5M2, (struct shape){1, {4}}, (const double[]){57344, -0.5, NAN, 1.75});
    give(&scene, DTYPE_FLOAT, (struct shape){0}, &scale);
    give(&scene, DTYPE_FLOAT8E5M2, (struct shape){0}, &none);
    expect(&scene, DTYPE_FLOAT, (const double[]){28672, -0.25, NAN, 0.875}, 4);
    begin_at(&scene, 24, "DequantizeLinear", 2);
    give(&scene, DTYPE_INT8, (struct shape){1, {1}}, &zero);
    give(&scene, DTYPE_FLOAT8E8M0, (struct shape){0}, &scale);
    expect_invalid(&scene, "output_dtype must be set");
}

static void others_move_or_refuse(void **state)
{
    (void)state;
    const double x[] = {1, -2, 3, -4};
    const struct shape square = {2, {2, 2}};
    struct scene scene;
    begin_at(&scene, 21, "Transpose", 1);
    give(&scene, DTYPE_INT4, square, x);
    expect(&scene, DTYPE_INT4, (const double[]){1, 3, -2, -4}, 4);
    begin_at(&scene, 20, "Transpose", 1);
    give(&scene, DTYPE_INT4, square, x);
    expect_invalid(&scene, "input 0 is int4, which it does not take in opset 20");
    begin_at(&scene, 25, "Add", 2);
    give(&scene, DTYPE_FLOAT8E4M3FN, square, x);
    give(&scene, DTYPE_FLOAT8E4M3FN, square, x);
    expect_invalid(&scene, "float8e4m3fn");
    begin_at(&scene, 25, "EyeLike", 1);
    give(&scene, DTYPE_FLOAT, square, x);
    set_int(&scene, "dtype", DTYPE_INT4);
    expect_invalid(&scene, "its output cannot be int4");
    begin_at(&scene, 20, "IsNaN", 1);
    give(&scene, DTYPE_FLOAT8E4M3FNUZ, (struct shape){1, {2}}, (const double[]){NAN, 1});
    expect(&scene, DTYPE_BOOL, (const double[]){1, 0}, 2);
    begin_at(&scene, 19, "Cast", 1);
    give(&scene, DTYPE_FLOAT, square, x);
    set_int(&scene, "to", DTYPE_INT4);
    expect_invalid(&scene, "its output cannot be int4 in opset 19");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_follow_the_tables),
        cmocka_unit_test(casts_to_powers),
        cmocka_unit_test(cast_like_may_leave_round_mode_out),
        cmocka_unit_test(casts_to_few_bits),
        cmocka_unit_test(numbers_are_quantized),
        cmocka_unit_test(precision_widens_the_bound),
        cmocka_unit_test(numbers_are_dequantized),
        cmocka_unit_test(others_move_or_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
