/* The narrow element types: every bit pattern, every boundary of rounding, packing, tensors in models. */
#include "model/model.h"
#include "tensor/narrow.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* What ONNX's page on float8 and float4 says of a type: the widths, the bias and the special bit patterns.
 * The page's sums are followed bit by bit, unlike the code. */
struct page {
    enum dtype type;
    int bits, exponent_bits, mantissa_bits, bias;
    bool single_zero;
    int infinity, first_nan; /* without the sign; -1: none */
    double highest, lowest_positive;
};

static const struct page pages[] = {
    {DTYPE_FLOAT8E4M3FN, 8, 4, 3, 7, false, -1, 0x7f, 448, 0x1p-9},
    {DTYPE_FLOAT8E4M3FNUZ, 8, 4, 3, 8, true, -1, -1, 240, 0x1p-10},
    {DTYPE_FLOAT8E5M2, 8, 5, 2, 15, false, 0x7c, 0x7d, 57344, 0x1p-16},
    {DTYPE_FLOAT8E5M2FNUZ, 8, 5, 2, 16, true, -1, -1, 57344, 0x1p-17},
    {DTYPE_FLOAT4E2M1, 4, 2, 1, 1, false, -1, -1, 6, 0.5},
};
enum { PAGES = sizeof pages / sizeof *pages };

static double by_the_page(const struct page *p, int code)
{
    int sign = code >> (p->bits - 1) & 1, rest = code & ((1 << (p->bits - 1)) - 1);
    if (p->single_zero && sign && rest == 0)
        return NAN;
    if (p->first_nan >= 0 && rest >= p->first_nan)
        return NAN;
    if (rest == p->infinity)
        return sign ? -INFINITY : INFINITY;
    double fraction = 0, power = 0;
    for (int i = 0; i < p->mantissa_bits; i++)
        fraction += (rest >> i & 1) * pow(2, i - p->mantissa_bits);
    for (int i = 0; i < p->exponent_bits; i++)
        power += (rest >> (p->mantissa_bits + i) & 1) * pow(2, i);
    double size = power == 0 ? pow(2, 1 - p->bias) * fraction : pow(2, power - p->bias) * (1 + fraction);
    return sign ? -size : size;
}

static void same_number(long double got, double wanted)
{
    if (isnan(wanted))
        assert_true(isnan(got));
    else
        assert_true(got == wanted && !signbit(got) == !signbit(wanted));
}

static void test_decode(void **state)
{
    (void)state;
    for (size_t t = 0; t < PAGES; t++) {
        const struct page *p = &pages[t];
        for (int code = 0; code < 1 << p->bits; code++)
            same_number(narrow_decode(p->type, (uint8_t)code), by_the_page(p, code));
        assert_true(dtype_highest(p->type) == p->highest && dtype_lowest(p->type) == -p->highest);
        assert_true(dtype_precision(p->type).smallest == p->lowest_positive);
    }
    for (int code = 0; code < 255; code++)
        same_number(narrow_decode(DTYPE_FLOAT8E8M0, (uint8_t)code), pow(2, code - 127));
    assert_true(isnan(narrow_decode(DTYPE_FLOAT8E8M0, 255)));
    for (int code = 0; code < 256; code++) { /* only the low bits count */
        assert_true(narrow_decode(DTYPE_UINT4, (uint8_t)code) == code % 16);
        assert_true(narrow_decode(DTYPE_INT4, (uint8_t)code) == (code % 16 + 8) % 16 - 8);
        assert_true(narrow_decode(DTYPE_UINT2, (uint8_t)code) == code % 4);
        assert_true(narrow_decode(DTYPE_INT2, (uint8_t)code) == (code % 4 + 2) % 4 - 2);
        same_number(narrow_decode(DTYPE_FLOAT4E2M1, (uint8_t)code), by_the_page(&pages[4], code % 16));
    }
}

/* Every finite number is encoded as itself; so is NaN, whatever its bits. */
static void test_encode_exact(void **state)
{
    (void)state;
    for (size_t t = 0; t < PAGES; t++)
        for (int code = 0; code < 1 << pages[t].bits; code++) {
            long double value = narrow_decode(pages[t].type, (uint8_t)code);
            for (int saturate = 0; saturate < 2; saturate++) {
                uint8_t back = narrow_encode(pages[t].type, value, saturate);
                if (isfinite(value))
                    assert_int_equal(back, code);
                else if (isnan(value))
                    assert_true(isnan(narrow_decode(pages[t].type, back)));
            }
        }
    for (int code = 0; code < 255; code++)
        for (int rounding = NARROW_UP; rounding <= NARROW_NEAREST; rounding++)
            assert_int_equal(narrow_encode_power(narrow_decode(DTYPE_FLOAT8E8M0, (uint8_t)code),
                                                 (enum narrow_rounding)rounding, code % 2),
                             code);
}

/* Between two neighbours: the middle goes to the even code, what is a little beside it to the nearer one. */
static void test_encode_boundaries(void **state)
{
    (void)state;
    for (size_t t = 0; t < PAGES; t++)
        for (int code = 0; code < 1 << (pages[t].bits - 1); code++) {
            enum dtype type = pages[t].type;
            double low = by_the_page(&pages[t], code), high = by_the_page(&pages[t], code + 1);
            if (!isfinite(low) || !(high > low) || isinf(high))
                continue;
            long double middle = (low + (long double)high) / 2, little = (high - low) * 0x1p-50L;
            for (int sign = -1; sign <= 1; sign += 2)
                for (int saturate = 0; saturate < 2; saturate++) {
                    int bit = sign < 0 ? 1 << (pages[t].bits - 1) : 0;
                    int below = code == 0 && pages[t].single_zero ? 0 : code | bit;
                    assert_int_equal(narrow_encode(type, sign * (middle - little), saturate), below);
                    assert_int_equal(narrow_encode(type, sign * (middle + little), saturate),
                                     (code + 1) | bit);
                    assert_int_equal(narrow_encode(type, sign * middle, saturate),
                                     code % 2 ? (code + 1) | bit : below);
                }
        }
}

/* Beyond the largest number: ONNX's two tables. */
static void test_overflow(void **state)
{
    (void)state;
    static const struct {
        enum dtype type;
        long double last, first; /* the last that rounds to the largest number, the first that does not */
        uint8_t highest, plus, minus, nan;
    } rows[] = {
        {DTYPE_FLOAT8E4M3FN, 464, 464.001L, 0x7e, 0x7f, 0xff, 0x7f},
        {DTYPE_FLOAT8E4M3FNUZ, 247.999L, 248, 0x7f, 0x80, 0x80, 0x80},
        {DTYPE_FLOAT8E5M2, 61439.999L, 61440, 0x7b, 0x7c, 0xfc, 0x7e},
        {DTYPE_FLOAT8E5M2FNUZ, 61439.999L, 61440, 0x7f, 0x80, 0x80, 0x80},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const long double beyond[] = {rows[i].first, 1e6L, 0x1p100L, 0x1p10000L, INFINITY};
        uint8_t minus = rows[i].highest | 0x80;
        assert_int_equal(narrow_encode(rows[i].type, rows[i].last, false), rows[i].highest);
        assert_int_equal(narrow_encode(rows[i].type, -rows[i].last, false), minus);
        for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
            assert_int_equal(narrow_encode(rows[i].type, beyond[k], true), rows[i].highest);
            assert_int_equal(narrow_encode(rows[i].type, -beyond[k], true), minus);
            assert_int_equal(narrow_encode(rows[i].type, beyond[k], false), rows[i].plus);
            assert_int_equal(narrow_encode(rows[i].type, -beyond[k], false), rows[i].minus);
        }
        assert_int_equal(narrow_encode(rows[i].type, NAN, true), rows[i].nan);
        assert_int_equal(narrow_encode(rows[i].type, NAN, false), rows[i].nan);
        assert_int_equal(narrow_encode(rows[i].type, 1e-30L, true), 0);
    }
    for (int saturate = 0; saturate < 2; saturate++) {
        assert_int_equal(narrow_encode(DTYPE_FLOAT4E2M1, 1e9L, saturate), 7);
        assert_int_equal(narrow_encode(DTYPE_FLOAT4E2M1, -INFINITY, saturate), 15);
        assert_int_equal(narrow_encode(DTYPE_FLOAT4E2M1, NAN, saturate), 7);
        assert_int_equal(narrow_encode(DTYPE_FLOAT4E2M1, -0.0L, saturate), 8);
    }
    assert_int_equal(narrow_encode(DTYPE_FLOAT8E4M3FN, -0.0L, true), 0x80);
    assert_int_equal(narrow_encode(DTYPE_FLOAT8E4M3FNUZ, -0.0L, true), 0);
    assert_int_equal(narrow_encode(DTYPE_FLOAT8E5M2FNUZ, -1e-9L, true), 0);
}

static void test_powers(void **state)
{
    (void)state;
    for (int code = 0; code < 254; code++) {
        long double low = ldexpl(1, code - 127), little = low * 0x1p-50L;
        for (int saturate = 0; saturate < 2; saturate++) {
            assert_int_equal(narrow_encode_power(low + little, NARROW_UP, saturate), code + 1);
            assert_int_equal(narrow_encode_power(2 * low - little, NARROW_DOWN, saturate), code);
            assert_int_equal(narrow_encode_power(1.5L * low - little, NARROW_NEAREST, saturate), code);
            assert_int_equal(narrow_encode_power(1.5L * low, NARROW_NEAREST, saturate), code + 1);
        }
    }
    const long double above[] = {0x1.8p127L, 0x1p128L, INFINITY}, below[] = {0, 0x1p-128L, 0x1p-149L};
    for (int i = 0; i < 3; i++)
        for (int rounding = NARROW_UP; rounding <= NARROW_NEAREST; rounding++) {
            enum narrow_rounding how = (enum narrow_rounding)rounding;
            assert_int_equal(narrow_encode_power(above[i], how, true), 254);
            assert_int_equal(narrow_encode_power(above[i], how, false), 255);
            assert_int_equal(narrow_encode_power(below[i], how, true), 0);
            assert_int_equal(narrow_encode_power(below[i], how, false), 255);
            assert_int_equal(narrow_encode_power(NAN, how, i % 2), 255);
        }
}

static void test_store(void **state)
{
    (void)state;
    static const enum dtype integers[] = {DTYPE_UINT4, DTYPE_INT4, DTYPE_UINT2, DTYPE_INT2};
    static const int low[] = {0, -8, 0, -2}, high[] = {15, 7, 3, 1};
    for (size_t t = 0; t < 4; t++) {
        assert_true(dtype_is_integer(integers[t]) && !dtype_is_float(integers[t]));
        assert_true(dtype_lowest(integers[t]) == low[t] && dtype_highest(integers[t]) == high[t]);
        for (int value = -20; value <= 20; value++) {
            int kept = value < low[t] ? low[t] : value > high[t] ? high[t] : value;
            assert_true(dtype_round(integers[t], value) == kept);
        }
    }
    assert_true(dtype_round(DTYPE_FLOAT8E5M2, 1e9L) == 57344);
    assert_true(isinf(dtype_round(DTYPE_FLOAT8E5M2, -INFINITY)) &&
                isnan(dtype_round(DTYPE_FLOAT8E4M3FN, INFINITY)));
    assert_true(dtype_round(DTYPE_FLOAT8E8M0, 3) == 4 && dtype_round(DTYPE_FLOAT8E8M0, 2.9L) == 2);
    assert_true(dtype_is_signed(DTYPE_INT2) && !dtype_is_signed(DTYPE_UINT4) &&
                !dtype_is_signed(DTYPE_FLOAT8E8M0));
    assert_int_equal(dtype_from_name("FLOAT8E4M3FN"), 17);
    assert_string_equal(dtype_name(DTYPE_INT2), "int2");
}

/* The first element in the lowest bits; the rest of the last byte is 0. */
static void test_pack(void **state)
{
    (void)state;
    const int8_t fours[] = {1, -8, 7, -1, 3}, twos[] = {1, -2, -1, 0, 1, -1};
    uint8_t packed[3] = {0xff, 0xff, 0xff};
    int8_t back[6];
    narrow_pack(DTYPE_INT4, fours, 5, packed);
    assert_memory_equal(packed, ((uint8_t[]){0x81, 0xf7, 0x03}), 3);
    narrow_unpack(DTYPE_INT4, packed, 5, back);
    assert_memory_equal(back, fours, 5);
    narrow_unpack(DTYPE_UINT4, packed, 4, back);
    assert_memory_equal(back, ((uint8_t[]){1, 8, 7, 15}), 4);
    narrow_pack(DTYPE_INT2, twos, 6, packed);
    assert_memory_equal(packed, ((uint8_t[]){0x39, 0x0d}), 2);
    narrow_unpack(DTYPE_INT2, packed, 6, back);
    assert_memory_equal(back, twos, 6);
    assert_int_equal(narrow_packed_size(DTYPE_UINT4, 5), 3);
    assert_int_equal(narrow_packed_size(DTYPE_UINT2, 9), 3);
    assert_int_equal(narrow_packed_size(DTYPE_FLOAT4E2M1, 0), 0);
    assert_int_equal(narrow_packed_size(DTYPE_FLOAT8E8M0, 9), 9);
    assert_int_equal(narrow_packed_size(DTYPE_DOUBLE, 2), 16);
}

/* Into a TensorProto, raw or in int32_data, and back; a wrong number of bytes is refused. */
static void test_models(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (int type = DTYPE_FLOAT8E4M3FN; type <= DTYPE_INT2; type++)
        for (int64_t count = 0; count < 10; count++) {
            struct shape shape = {.rank = 1, .dims = {count}};
            struct tensor tensor, back;
            assert_int_equal(tensor_alloc(&tensor, (enum dtype)type, &shape, 0, NULL), 0);
            for (size_t i = 0; i < tensor.count; i++)
                tensor_set(&tensor, i, (long double)i - 4);
            Onnx__TensorProto *raw = model_tensor_write(&arena, "t", &tensor);
            Onnx__TensorProto *typed = model_tensor_write_typed(&arena, "t", &tensor);
            assert_int_equal(raw->raw_data.len, narrow_packed_size((enum dtype)type, tensor.count));
            assert_int_equal(typed->n_int32_data, raw->raw_data.len);
            assert_int_equal(model_tensor_read(raw, &back, NULL), 0);
            assert_true(tensor_identical(&tensor, &back));
            tensor_release(&back);
            assert_int_equal(model_tensor_read(typed, &back, NULL), 0);
            assert_true(tensor_identical(&tensor, &back));
            tensor_release(&back);
            struct error err = {0};
            raw->raw_data.len++;
            typed->n_int32_data--;
            assert_int_not_equal(model_tensor_check(raw, &err), 0);
            assert_true(count == 0 || model_tensor_check(typed, &err) != 0);
            tensor_release(&tensor);
        }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_encode_exact),
        cmocka_unit_test(test_encode_boundaries),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
