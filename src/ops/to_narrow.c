#include "ops/to_narrow.h"

#include "base/str.h"

#include <math.h>

int to_narrow_read(struct op_call *call, struct to_narrow *how)
{
    const char *mode = call->opset >= 24 ? call_string(call, "round_mode", "up") : "up";
    *how = (struct to_narrow){.opset = call->opset, .saturate = call_int(call, "saturate", 1) != 0};
    if (text_equal(mode, "down"))
        how->rounding = NARROW_DOWN;
    else if (text_equal(mode, "nearest"))
        how->rounding = NARROW_NEAREST;
    else if (!text_equal(mode, "up"))
        return call_invalid(call, "round_mode '%s' is none of up, down and nearest", mode);
    return 0;
}

static long double convert(const struct to_narrow *how, enum dtype type, long double x)
{
    if (type == DTYPE_FLOAT8E8M0)
        return narrow_decode(type, narrow_encode_power(x, how->rounding, how->saturate));
    return narrow_decode(type, narrow_encode(type, x, how->saturate));
}

/*
 * Whether what becomes of x is specified. Since opset 24 the text lets infinities saturate in all types;
 * before it they became NaN in the types with a single zero, but the official cases had them saturate. The
 * page on float4 turns NaN into 6, and the official case into -0.
 */
static bool is_specified(const struct to_narrow *how, enum dtype type, long double x)
{
    bool single_zero = type == DTYPE_FLOAT8E4M3FNUZ || type == DTYPE_FLOAT8E5M2FNUZ;
    if (isinf(x) && how->saturate && single_zero)
        return how->opset >= 24;
    return !isnan(x) || type != DTYPE_FLOAT4E2M1;
}

/*
 * To a power of two. ONNX does not specify negative numbers. Numbers out of range it specifies in two cases
 * only: when rounding up with saturation, where its two texts differ about infinity, and when rounding to
 * nearest without saturation, where they differ about everything.
 */
static bool is_specified_power(const struct to_narrow *how, long double low, long double high)
{
    const long double least = 0x1p-127L, most = 0x1p127L;
    if (signbit(low) || isinf(high))
        return false;
    return (low >= least && high <= most) || (how->saturate && how->rounding == NARROW_UP);
}

static bool rounds_up_alike(const struct to_narrow *how, enum dtype type, long double low, long double high)
{
    struct to_narrow up = *how;
    up.rounding = NARROW_UP;
    return convert(&up, type, low) == convert(how, type, low) &&
           convert(&up, type, high) == convert(how, type, high);
}

static void put_power(const struct to_narrow *how, struct bounded *out, size_t i, long double x,
                      long double hard)
{
    /* Flushing gives 0, and rounding cannot make a negative number of a positive one. */
    long double low = x >= 0 && x < hard ? 0 : x - hard, high = x + hard;
    if (isnan(x) && !isinf(hard)) {
        bounded_put(out, i, x, 0, 0);
        return;
    }
    if (!is_specified_power(how, low, high) || (how->or_up && !rounds_up_alike(how, out->type, low, high))) {
        bounded_put_open(out, i);
        return;
    }
    long double least = convert(how, out->type, low), most = convert(how, out->type, high);
    /* ONNX's conversion looks at the bits of a float32, whose subnormals it rounds differently. */
    if (low < 0x1p-126L && low > 0) {
        least = 0x1p-127L;
        most = fmaxl(most, 0x1p-126L);
    }
    bounded_put_range(out, i, convert(how, out->type, x), least, most);
}

void to_narrow_put(const struct to_narrow *how, struct bounded *out, size_t i, long double x,
                   long double hard)
{
    if (out->type == DTYPE_FLOAT8E8M0) {
        put_power(how, out, i, x, hard);
        return;
    }
    if (!is_specified(how, out->type, x)) {
        bounded_put_open(out, i);
        return;
    }
    long double value = convert(how, out->type, x);
    long double low = hard > 0 ? convert(how, out->type, x - hard) : value;
    long double high = hard > 0 ? convert(how, out->type, x + hard) : value;
    if (isnan(x) || isinf(x) ? !isinf(hard) : !isfinite(value) && low == high)
        bounded_put(out, i, value, 0, 0);
    else if (!isfinite(value) && isnan(low) && isnan(high) && fabsl(x) > hard)
        bounded_put(out, i, value, 0, 0);
    else if (isfinite(value) && isfinite(low) && isfinite(high))
        bounded_put_range(out, i, value, low, high);
    else
        bounded_put_undecided(out, i, isfinite(value) ? value : 0);
    bounded_note_beyond(out, i, x);
}
