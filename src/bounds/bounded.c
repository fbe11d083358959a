#include "bounds/bounded.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/wide.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The largest finite bound. Deep graphs have huge bounds that mean nothing, but they must stay apart from
 * infinity, which means "not judged". A float64 of 9e307 may have an honest bound of 8e307. */
static const double largest_bound = DBL_MAX;

/* The error of rounding to nearest is uniform over an ulp: its standard deviation is half an ulp over
 * sqrt(3). */
static const double uniform_deviation = 0.57735026918962576;

void bounded_init(struct bounded *b)
{
    *b = (struct bounded){.type = DTYPE_NONE};
}

void bounded_release(struct bounded *b)
{
    for (size_t i = 0; i < b->n_items; i++)
        bounded_release(&b->items[i]);
    free(b->items);
    free(b->value);
    free(b->hard);
    free(b->beyond);
    bounded_init(b);
}

enum elements { ELEMENTS_NONE, ELEMENTS_ZERO, ELEMENTS_UNSET };

static int make(struct bounded *b, enum dtype type, const struct shape *shape, enum elements elements,
                struct error *err)
{
    bounded_init(b);
    size_t count;
    if (dtype_check(type, err) || shape_count(shape, &count, err))
        return -1;
    if (!dtype_is_real(type))
        return error_set(err, ERROR_UNSUPPORTED, "the reference does not support %s", dtype_name(type));
    if (count > BOUNDED_LIMIT)
        return error_set(err, ERROR_LIMIT, "a value of %zu elements is larger than the reference supports",
                         count);
    if (elements != ELEMENTS_NONE && limits_room(count, sizeof *b->value + 2 * sizeof *b->hard, err))
        return -1;
    if (elements == ELEMENTS_ZERO)
        b->value = calloc(count ? count : 1, sizeof *b->value);
    if (elements == ELEMENTS_UNSET)
        b->value = malloc((count ? count : 1) * sizeof *b->value);
    if (elements != ELEMENTS_NONE && !b->value)
        return error_set(err, ERROR_MEMORY, "no memory for a value of %zu elements", count);
    b->type = type;
    b->shape = *shape;
    b->count = count;
    return 0;
}

int bounded_alloc(struct bounded *b, enum dtype type, const struct shape *shape, bool shape_only,
                  struct error *err)
{
    return make(b, type, shape, shape_only ? ELEMENTS_NONE : ELEMENTS_ZERO, err);
}

int bounded_alloc_unset(struct bounded *b, enum dtype type, const struct shape *shape, struct error *err)
{
    return make(b, type, shape, ELEMENTS_UNSET, err);
}

/* One allocation holds both bounds: `likely` points behind `hard`. */
static void add_bounds(struct bounded *b)
{
    if (b->hard)
        return;
    b->hard = calloc(b->count ? b->count * 2 : 1, sizeof *b->hard);
    if (!b->hard)
        memory_exhausted(b->count * 2 * sizeof *b->hard);
    b->likely = b->hard + b->count;
}

int bounded_sequence(struct bounded *b, enum dtype type, size_t count, struct error *err)
{
    bounded_init(b);
    if (count > SEQUENCE_LIMIT)
        return error_set(err, ERROR_LIMIT, "a sequence of %zu items is longer than the reference supports",
                         count);
    *b = (struct bounded){.type = type, .shape = {.rank = 1}, .kind = BOUNDED_SEQUENCE, .n_items = count};
    b->items = memory_zeroed(count ? count : 1, sizeof *b->items);
    return 0;
}

void bounded_absent(struct bounded *b, enum dtype type)
{
    *b = (struct bounded){.type = type, .shape = {.rank = 1}, .kind = BOUNDED_ABSENT};
}

int bounded_from_value(struct bounded *b, const struct value *value, struct error *err)
{
    if (value->kind == VALUE_TENSOR)
        return bounded_from_tensor(b, &value->tensors[0], err);
    if (value->kind == VALUE_NONE) {
        bounded_absent(b, DTYPE_FLOAT);
        return 0;
    }
    if (bounded_sequence(b, value->count ? value->tensors[0].type : DTYPE_FLOAT, value->count, err))
        return -1;
    for (size_t i = 0; i < value->count; i++)
        if (bounded_from_tensor(&b->items[i], &value->tensors[i], err)) {
            bounded_release(b);
            return -1;
        }
    return 0;
}

static int copy_items(struct bounded *to, const struct bounded *from, struct error *err)
{
    if (bounded_sequence(to, from->type, from->n_items, err))
        return -1;
    for (size_t i = 0; i < from->n_items; i++)
        if (bounded_copy(&to->items[i], &from->items[i], err)) {
            bounded_release(to);
            return -1;
        }
    return 0;
}

int bounded_copy(struct bounded *to, const struct bounded *from, struct error *err)
{
    if (from->kind == BOUNDED_SEQUENCE)
        return copy_items(to, from, err);
    if (from->kind == BOUNDED_ABSENT) {
        bounded_absent(to, from->type);
        return 0;
    }
    if (from->floats) {
        *to = *from;
        return bounded_read_floats(to, err);
    }
    if (make(to, from->type, &from->shape, from->value ? ELEMENTS_UNSET : ELEMENTS_NONE, err))
        return -1;
    if (from->value && from->count)
        memcpy(to->value, from->value, from->count * sizeof *to->value);
    if (from->hard) {
        add_bounds(to);
        if (from->count)
            memcpy(to->hard, from->hard, 2 * from->count * sizeof *to->hard);
    }
    to->opened = from->opened;
    return 0;
}

int bounded_to_tensor(const struct bounded *b, struct tensor *tensor, struct error *err)
{
    if (tensor_alloc(tensor, b->type, &b->shape, 0, err))
        return -1;
    for (size_t i = 0; i < b->count; i++)
        dtype_store(b->type, tensor->data, i, b->value[i]);
    return 0;
}

bool bounded_has_infinity(const struct bounded *b)
{
    for (size_t i = 0; b->value && i < b->count; i++)
        if (isinf(b->value[i]))
            return true;
    return false;
}

void bounded_round(struct bounded *b)
{
    for (size_t i = 0; b->value && i < b->count; i++)
        b->value[i] = dtype_round(b->type, b->value[i]);
    free(b->hard);
    b->hard = b->likely = NULL;
}

double bounded_unit(const struct bounded *b)
{
    return dtype_precision(b->type).unit;
}

long double likely_add(long double a, long double b)
{
    if (isinf(a) || isinf(b)) /* the arithmetic below takes a hundred times as long then */
        return INFINITY;
    if (a == 0 || b == 0)
        return fabsl(a + b);
    if (fabsl(a) > 0x1p-400L && fabsl(a) < 0x1p400L && fabsl(b) > 0x1p-400L && fabsl(b) < 0x1p400L) {
        double x = (double)a, y = (double)b;
        return sqrt(x * x + y * y); /* a tenth of the time, and the last bits of a deviation say nothing */
    }
    /* The square of a double fits into a long double, so hypotl is not needed. */
    long double squares = a * a + b * b;
    if (squares > 0x1p-16000L && squares < 0x1p16000L)
        return sqrtl(squares);
    return hypotl(a, b);
}

static double as_bound(long double bound)
{
    if (bound > largest_bound)
        return isinf(bound) ? (double)INFINITY : largest_bound;
    return (double)bound;
}

/* The next double above one that is positive or 0: the bits of such doubles, as integers, are in their order.
 */
static double next_above(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits++;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Every way to store an element ends here. */
static void set_bounds(struct bounded *b, size_t i, long double hard, long double likely)
{
    if (b->beyond)
        b->beyond[i] = NAN; /* what was noted of an earlier result is no more */
    if (!b->hard) {
        if (hard == 0 && likely == 0)
            return;
        add_bounds(b);
    }
    double bound = as_bound(hard);
    /* Rounding a bound down would make it a little too small. */
    b->hard[i] = bound < hard && bound < largest_bound ? next_above(bound) : bound;
    b->likely[i] = as_bound(likely);
}

static bool is_open(const struct bounded *b, size_t i)
{
    return isinf(bounded_hard(b, i)) && isinf(bounded_likely(b, i));
}

/*
 * Gives subnormal inputs a bound that includes 0. Hardware may read subnormals as zero (denormals-are-zero;
 * some processors have no other mode), and ONNX does not forbid it. Halves and narrower floats are converted
 * when they are read, which keeps their subnormals.
 */
static bool may_flush(enum dtype type)
{
    return dtype_in(type, DTYPES_FLOAT & ~(1 << DTYPE_FLOAT16));
}

static void allow_flushing(struct bounded *b)
{
    double tiny = dtype_precision(b->type).tiny;
    if (!may_flush(b->type))
        return;
    for (size_t i = 0; i < b->count; i++) {
        long double magnitude = fabsl(b->value[i]);
        if (magnitude > 0 && magnitude < tiny)
            set_bounds(b, i, magnitude, magnitude);
    }
}

enum { FLOATS_LEAST = 1 << 12, LANES = 4 };

typedef int32_t lanes_t __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Of some numbers: the bits of the largest magnitude, and whether one is subnormal. The bits of magnitudes,
 * as integers, are in their order. */
struct scan {
    lanes_t most, small;
};

static inline void scan_lanes(struct scan *scan, const void *floats)
{
    lanes_t bits;
    memcpy(&bits, floats, sizeof bits);
    bits &= 0x7fffffff;
    lanes_t larger = bits > scan->most;
    scan->most = (bits & larger) | (scan->most & ~larger);
    scan->small |= (bits != 0) & (bits < 0x00800000);
}

static int32_t scan_floats(const float *floats, size_t count, bool *subnormal)
{
    struct scan scan = {{0}, {0}};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        scan_lanes(&scan, floats + i);
    float rest[LANES] = {0};
    memcpy(rest, floats + i, (count - i) * sizeof *rest);
    scan_lanes(&scan, rest);
    int32_t largest = 0;
    for (int lane = 0; lane < LANES; lane++) {
        largest = scan.most[lane] > largest ? scan.most[lane] : largest;
        *subnormal |= scan.small[lane] != 0;
    }
    return largest;
}

bool bounded_view_floats(struct bounded *b, const struct tensor *tensor)
{
    const int32_t infinity = 0x7f800000;
    bool subnormal = false;
    if (tensor->type != DTYPE_FLOAT || tensor->count < FLOATS_LEAST || tensor->count > BOUNDED_LIMIT ||
        (uintptr_t)tensor->data % sizeof(float))
        return false;
    int32_t largest = scan_floats(tensor->data, tensor->count, &subnormal);
    if (subnormal || largest >= infinity)
        return false;
    bounded_init(b);
    b->type = tensor->type;
    b->shape = tensor->shape;
    b->count = tensor->count;
    b->floats = tensor->data;
    b->given = true;
    memcpy(&b->largest, &largest, sizeof largest);
    return true;
}

int bounded_read_floats(struct bounded *b, struct error *err)
{
    struct bounded read;
    if (make(&read, b->type, &b->shape, ELEMENTS_UNSET, err))
        return -1;
    for (size_t i = 0; i < b->count; i++)
        read.value[i] = b->floats[i];
    read.given = b->given;
    *b = read;
    return 0;
}

/* Reads float32; true when some are subnormal. */
static bool read_floats(struct bounded *b, const struct tensor *tensor)
{
    const char *from = tensor->data;
    bool subnormal = false;
    for (size_t i = 0; i < b->count; i++) {
        float value;
        memcpy(&value, from + i * sizeof value, sizeof value); /* in a file it may be anywhere */
        subnormal |= value != 0 && fabsf(value) < FLT_MIN;
        b->value[i] = value;
    }
    return subnormal;
}

int bounded_from_tensor(struct bounded *b, const struct tensor *tensor, struct error *err)
{
    if (make(b, tensor->type, &tensor->shape, ELEMENTS_UNSET, err))
        return -1;
    b->given = true;
    if (tensor->type == DTYPE_FLOAT && !read_floats(b, tensor))
        return 0;
    for (size_t i = 0; i < b->count; i++)
        b->value[i] = dtype_load(tensor->type, tensor->data, i);
    allow_flushing(b);
    return 0;
}

static void put_integer(struct bounded *b, size_t i, long double value, long double hard, long double likely)
{
    long double low = dtype_lowest(b->type), high = dtype_highest(b->type);
    if (value >= low && value <= high) {
        b->value[i] = value + 0.0L; /* integers have no -0 */
        /* A value that may be out of range may have wrapped to the other end. */
        bool inside = value - hard >= low && value + hard <= high;
        set_bounds(b, i, inside ? hard : INFINITY, likely);
        return;
    }
    long double span = high - low + 1;
    long double wrapped = value - floorl((value - low) / span) * span;
    /* Beyond 2^64 a product is not exact in long double, and neither is the wrapped result. */
    if (dtype_is_signed(b->type) || hard > 0 || !(fabsl(value) < 0x1p64L)) {
        bounded_put_open(b, i);
        return;
    }
    b->value[i] = wrapped;
    set_bounds(b, i, 0, 0);
}

void bounded_note_beyond(struct bounded *b, size_t i, long double value)
{
    if (!isfinite(value) || (value >= dtype_lowest(b->type) && value <= dtype_highest(b->type)))
        return;
    if (!b->beyond) {
        b->beyond = memory_zeroed(b->count, sizeof *b->beyond);
        for (size_t k = 0; k < b->count; k++)
            b->beyond[k] = NAN;
    }
    b->beyond[i] = value;
}

/* The error of rounding a result near zero, which is lost where subnormals are flushed. */
static double underflow_error(enum dtype type, const struct dtype_precision *p)
{
    return may_flush(type) ? p->tiny : p->smallest;
}

long double bounded_reference_share(enum dtype type)
{
    return 8 * WIDE_UNIT / dtype_precision(type).unit;
}

/* The bounds of a number with a finite error before it was rounded. */
static void put_rounded(struct bounded *b, size_t i, long double value, long double hard, long double spread)
{
    struct dtype_precision p = dtype_precision(b->type);
    long double magnitude = fabsl(value), highest = dtype_highest(b->type);
    long double reach = hard + p.unit * (magnitude + hard);
    if (magnitude - hard < p.tiny)
        reach += underflow_error(b->type, &p);
    reach *= 1 + bounded_reference_share(b->type);
    /* Rounding to nearest gives infinity from half an ulp above the largest number on. */
    long double top = highest * (1 + (long double)p.unit / 2); /* in float64 the sum would be 1 */
    if (dtype_is_narrow(b->type) && magnitude + hard >= highest) {
        set_bounds(b, i, INFINITY, spread); /* the kernels that round to them know what overflows */
    } else if (magnitude - hard > top) {
        b->value[i] = value < 0 ? -INFINITY : INFINITY;
        set_bounds(b, i, 0, 0);
    } else if (magnitude + hard >= highest) {
        set_bounds(b, i, INFINITY, spread);
    } else {
        set_bounds(b, i, reach, spread);
    }
}

static void put_float(struct bounded *b, size_t i, long double value, long double hard, long double likely)
{
    struct dtype_precision p = dtype_precision(b->type);
    long double magnitude = fabsl(value);
    bool exact = hard == 0 && dtype_round(b->type, value) == value && (magnitude >= p.tiny || value == 0);
    b->value[i] = value;
    if (exact || isinf(value)) {
        set_bounds(b, i, isinf(hard) ? hard : 0, isinf(hard) ? likely : 0);
        return;
    }
    long double spread = likely_add(likely, uniform_deviation * (p.unit * magnitude + p.smallest));
    if (magnitude < p.tiny && may_flush(b->type)) /* when it is flushed, the error is its whole size */
        spread = likely_add(spread, magnitude);
    if (isinf(hard)) /* arithmetic with infinities in long double takes a hundred times as long */
        set_bounds(b, i, INFINITY, spread);
    else
        put_rounded(b, i, value, hard, spread);
    /* What rounds to the largest number is held by the type: a mask of -FLT_MAX plus something small is. */
    if (magnitude > dtype_highest(b->type) &&
        (dtype_is_narrow(b->type) || isinf(dtype_round(b->type, value))))
        bounded_note_beyond(b, i, value);
}

/*
 * What put_float does for most elements of float32, in double, which takes a tenth of the time. False for
 * those that overflow, may do so, are no numbers, or so small that they may be flushed to 0. Bounds may be
 * rounded down on the way, a few times by 2^-53 of them: more is added at the end.
 */
static inline bool put_ordinary(struct bounded *b, size_t i, long double value, double hard, double likely)
{
    const double unit = 0x1p-24, smallest = 0x1p-149, more = (1 + 0x1p-37) * (1 + 0x1p-49);
    double v = (double)value, magnitude = fabs(v), own = uniform_deviation * (unit * magnitude + smallest);
    if (!(magnitude + hard < FLT_MAX && hard >= 0 && likely >= 0 && likely < FLT_MAX) ||
        (magnitude < FLT_MIN && value != 0))
        return false;
    bool exact = hard == 0 && (long double)(float)v == value;
    b->value[i] = value;
    if (exact && !b->hard)
        return true;
    add_bounds(b);
    double reach = hard + unit * (magnitude + hard) + (magnitude - hard < FLT_MIN ? FLT_MIN : 0);
    b->hard[i] = exact ? 0 : reach * more;
    b->likely[i] = exact ? 0 : sqrt(likely * likely + own * own);
    return true;
}

/* The same for ordinary numbers of which nobody knows how far they are off: behind a quotient whose divisor
 * may be 0 all elements are. */
static inline bool put_unknown(struct bounded *b, size_t i, long double value, long double known)
{
    double v = (double)value, magnitude = fabs(v), own = uniform_deviation * 0x1p-24 * magnitude,
           likely = (double)known;
    if (!(magnitude >= FLT_MIN && magnitude <= FLT_MAX / 2 && likely >= 0 &&
          (known < 0x1p500L || isinf(known))))
        return false;
    add_bounds(b);
    b->value[i] = value;
    b->hard[i] = INFINITY;
    b->likely[i] = sqrt(likely * likely + own * own);
    return true;
}

void bounded_put(struct bounded *b, size_t i, long double value, long double hard, long double likely)
{
    if (b->type == DTYPE_FLOAT && !b->beyond && isinf(hard) && put_unknown(b, i, value, likely))
        return;
    /* A bound that is too small for a double is none that put_ordinary may take for 0. */
    if (b->type == DTYPE_FLOAT && !b->beyond && (hard == 0 || hard > 0x1p-1000L) &&
        put_ordinary(b, i, value, (double)hard, (double)likely))
        return;
    if (!(hard >= 0))
        hard = INFINITY;
    if (!(likely >= 0))
        likely = INFINITY;
    if (isnan(value)) {
        b->value[i] = value;
        set_bounds(b, i, isinf(hard) ? hard : 0, isinf(hard) ? likely : 0);
    } else if (dtype_is_float(b->type)) {
        put_float(b, i, value, hard, likely);
    } else if (b->type == DTYPE_BOOL) {
        b->value[i] = value != 0;
        set_bounds(b, i, hard, likely);
    } else {
        put_integer(b, i, value, hard, likely);
    }
}

/* Some results at a time, of which what is behind the last is 0: loops of a known length are computed several
 * elements at once. */
struct block {
    double value[BOUNDED_BLOCK], hard[BOUNDED_BLOCK], likely[BOUNDED_BLOCK];
    double lost[BOUNDED_BLOCK]; /* what `value` lacks of the result */
};

static void read_block(struct block *block, const struct bounded_row *row)
{
    memset(block->lost, 0, sizeof block->lost);
    if (row->count < BOUNDED_BLOCK || !row->hard)
        *block = (struct block){{0}};
    for (size_t i = 0; i < row->count && row->wide; i++) {
        block->value[i] = (double)row->wide[i];
        block->lost[i] = (double)(row->wide[i] - block->value[i]);
    }
    if (!row->wide)
        memcpy(block->value, row->value, row->count * sizeof *block->value);
    if (!row->hard)
        return;
    memcpy(block->hard, row->hard, row->count * sizeof *block->hard);
    memcpy(block->likely, row->likely, row->count * sizeof *block->likely);
}

/* What put_ordinary does, for a block. False, with no use for what the block holds then, unless all are
 * ordinary; *exact: no element has a bound. */
static inline __attribute__((always_inline)) bool round_lanes(struct block *block, bool *exact)
{
    const double unit = 0x1p-24, smallest = 0x1p-149, more = (1 + 0x1p-37) * (1 + 0x1p-49);
    int64_t strange = 0, inexact = 0;
    for (size_t i = 0; i < BOUNDED_BLOCK; i++) {
        double v = block->value[i], h = block->hard[i], l = block->likely[i], magnitude = fabs(v),
               own = uniform_deviation * (unit * magnitude + smallest);
        bool rounds = (h != 0) | ((double)(float)v != v) | (block->lost[i] != 0);
        strange |= !(magnitude + h < FLT_MAX) | !(h >= 0) | !(l >= 0) | !(l < FLT_MAX);
        strange |= (magnitude < FLT_MIN) & ((v != 0) | (block->lost[i] != 0));
        inexact |= rounds;
        double reach = h + unit * (magnitude + h) + (magnitude - h < FLT_MIN ? FLT_MIN : 0);
        block->hard[i] = rounds ? reach * more : 0;
        block->likely[i] = rounds ? sqrt(l * l + own * own) : 0;
    }
    *exact = !inexact;
    return !strange;
}

static bool round_plain(struct block *block, bool *exact)
{
    return round_lanes(block, exact);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static bool round_wide(struct block *block, bool *exact)
{
    return round_lanes(block, exact);
}
#endif

/* In the widest registers of this processor: the results are the same, bit for bit. */
static bool round_block(struct block *block, bool *exact)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return round_wide(block, exact);
#endif
    return round_plain(block, exact);
}

bool bounded_put_ordinary(struct bounded *b, size_t first, const struct bounded_row *row)
{
    struct block block;
    bool exact;
    if (b->type != DTYPE_FLOAT || b->beyond)
        return false;
    read_block(&block, row);
    if (!round_block(&block, &exact))
        return false;
    if (row->wide)
        memcpy(b->value + first, row->wide, row->count * sizeof *row->wide);
    for (size_t i = 0; i < row->count && !row->wide; i++)
        b->value[first + i] = block.value[i];
    if (exact && !b->hard)
        return true;
    add_bounds(b);
    memcpy(b->hard + first, block.hard, row->count * sizeof *block.hard);
    memcpy(b->likely + first, block.likely, row->count * sizeof *block.likely);
    return true;
}

/* Results that are exact, or whose bounds nobody looks at; false where some are no numbers of the type. */
static bool put_exact(struct bounded *b, size_t first, const struct bounded_row *row)
{
    bool inside = b->type == DTYPE_FLOAT && !b->beyond && row->value && !row->hard;
    for (size_t i = 0; i < row->count && inside; i++)
        inside = fabs(row->value[i]) <= FLT_MAX;
    for (size_t i = 0; i < row->count && inside; i++)
        b->value[first + i] = row->value[i];
    return inside;
}

static struct bounded_row part_of(const struct bounded_row *row, size_t at)
{
    struct bounded_row part = *row;
    part.count = row->count - at < BOUNDED_BLOCK ? row->count - at : BOUNDED_BLOCK;
    part.value = row->value ? row->value + at : NULL;
    part.wide = row->wide ? row->wide + at : NULL;
    part.hard = row->hard ? row->hard + at : NULL;
    part.likely = row->likely ? row->likely + at : NULL;
    return part;
}

void bounded_put_row(struct bounded *b, size_t first, const struct bounded_row *row)
{
    for (size_t at = 0; at < row->count; at += BOUNDED_BLOCK) {
        struct bounded_row part = part_of(row, at);
        if (put_exact(b, first + at, &part) || bounded_put_ordinary(b, first + at, &part))
            continue;
        for (size_t i = 0; i < part.count; i++)
            bounded_put(b, first + at + i, part.wide ? part.wide[i] : (long double)part.value[i],
                        part.hard ? part.hard[i] : 0, part.likely ? part.likely[i] : 0);
    }
}

void bounded_put_range(struct bounded *b, size_t i, long double value, long double low, long double high)
{
    long double reach = fmaxl(value - low, high - value);
    if (!(reach >= 0 && reach < largest_bound))
        reach = INFINITY;
    /* The ends of the range and their distance are rounded sums: the bound is widened so that an element at
     * an end is inside. */
    if (reach > 0 && dtype_is_float(b->type))
        reach = (double)(reach * (1 + 0x1p-52L) + 8 * WIDE_UNIT * fabsl(value));
    b->value[i] = dtype_is_float(b->type) ? value : value + 0.0L; /* integers have no -0 */
    set_bounds(b, i, reach, isinf(reach) ? 0 : reach);
}

void bounded_put_undecided(struct bounded *b, size_t i, long double value)
{
    b->value[i] = value;
    set_bounds(b, i, INFINITY, 0);
}

void bounded_doubt(struct bounded *b, size_t i)
{
    long double beyond = b->beyond ? b->beyond[i] : NAN;
    bounded_put_undecided(b, i, isnan(beyond) ? b->value[i] : beyond);
    bounded_note_beyond(b, i, beyond);
}

/* A standard deviation that no computation has: far below the error of any number other than 0. */
static const double some_number = 0x1.0a55a1p-1021;

void bounded_put_some_number(struct bounded *b, size_t i, long double value)
{
    b->value[i] = value;
    set_bounds(b, i, INFINITY, some_number);
}

bool bound_is_some_number(double hard, double likely)
{
    return isinf(hard) && likely == some_number;
}

void bounded_put_open(struct bounded *b, size_t i)
{
    b->value[i] = 0;
    b->opened = true;
    set_bounds(b, i, INFINITY, INFINITY);
}

void bounded_set(struct bounded *b, size_t i, long double value, double hard, double likely)
{
    b->value[i] = value;
    set_bounds(b, i, hard >= 0 ? hard : INFINITY, likely >= 0 ? likely : INFINITY);
    b->opened = b->opened || is_open(b, i);
}

void bounded_move(struct bounded *b, size_t i, const struct bounded *from, size_t j)
{
    b->value[i] = bounded_value(from, j);
    if (b->beyond)
        b->beyond[i] = NAN;
    if (!b->hard && !from->hard)
        return;
    add_bounds(b);
    b->hard[i] = bounded_hard(from, j);
    b->likely[i] = bounded_likely(from, j);
    b->opened = b->opened || (from->opened && is_open(b, i));
}

void bounded_move_row(struct bounded *b, size_t i, const struct bounded *from, size_t j, size_t count)
{
    if (from->floats || from->opened || b->beyond || (b->hard && !from->hard)) {
        for (size_t k = 0; k < count; k++)
            bounded_move(b, i + k, from, j + k);
        return;
    }
    memcpy(b->value + i, from->value + j, count * sizeof *b->value);
    if (!from->hard)
        return;
    add_bounds(b);
    memcpy(b->hard + i, from->hard + j, count * sizeof *b->hard);
    memcpy(b->likely + i, from->likely + j, count * sizeof *b->likely);
}

bool bounded_may_be_strange(const struct bounded *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (!isfinite(b->value[i]) || isinf(bounded_hard(b, i)))
            return true;
    return false;
}

enum { LOOSER_BY = 8 }; /* roundings */

static void loosen_one(struct bounded *b, size_t i, double unit)
{
    double one = unit * fabs((double)b->value[i]), hard = bounded_hard(b, i) + LOOSER_BY * one;
    if (!(one > 0 && one < INFINITY))
        return;
    add_bounds(b);
    if (isfinite(b->hard[i]))
        b->hard[i] = hard < largest_bound ? next_above(hard) : largest_bound;
    b->likely[i] = as_bound(likely_add(b->likely[i], one));
}

/* The same for a block of elements with bounds; false, with nothing changed, unless all are ordinary. */
static inline __attribute__((always_inline)) bool loosen_lanes(const double *value, double *hard,
                                                               double *likely, double unit)
{
    double wider[BOUNDED_BLOCK], farther[BOUNDED_BLOCK];
    int64_t strange = 0;
    for (size_t i = 0; i < BOUNDED_BLOCK; i++) {
        double one = unit * fabs(value[i]), h = hard[i] + LOOSER_BY * one, l = likely[i];
        strange |= !(h < 0x1p400) | !(l < 0x1p400) | ((l != 0) & (l <= 0x1p-400));
        strange |= (one <= 0x1p-400) & (one != 0);
        uint64_t bits;
        memcpy(&bits, &h, sizeof bits);
        bits += one > 0;
        memcpy(&wider[i], &bits, sizeof bits);
        double root = sqrt(l * l + one * one);
        farther[i] = one > 0 ? (l != 0 ? root : one) : l;
    }
    if (strange)
        return false;
    memcpy(hard, wider, sizeof wider);
    memcpy(likely, farther, sizeof farther);
    return true;
}

static bool loosen_plain(const double *value, double *hard, double *likely, double unit)
{
    return loosen_lanes(value, hard, likely, unit);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static bool loosen_wide(const double *value, double *hard, double *likely,
                                                        double unit)
{
    return loosen_lanes(value, hard, likely, unit);
}
#endif

static bool loosen_block(const double *value, double *hard, double *likely, double unit)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return loosen_wide(value, hard, likely, unit);
#endif
    return loosen_plain(value, hard, likely, unit);
}

void bounded_loosen(struct bounded *b)
{
    double unit = bounded_unit(b), value[BOUNDED_BLOCK];
    size_t i = 0;
    if (!(unit > 0) || !b->value)
        return;
    if (b->count >= BOUNDED_BLOCK)
        add_bounds(b);
    for (; i + BOUNDED_BLOCK <= b->count; i += BOUNDED_BLOCK) {
        for (size_t k = 0; k < BOUNDED_BLOCK; k++)
            value[k] = (double)b->value[i + k];
        if (!loosen_block(value, b->hard + i, b->likely + i, unit))
            for (size_t k = 0; k < BOUNDED_BLOCK; k++)
                loosen_one(b, i + k, unit);
    }
    for (; i < b->count; i++)
        loosen_one(b, i, unit);
}

/* Whether some element is not judged. */
static bool has_unjudged(const struct bounded *b)
{
    bool found = false;
    for (size_t i = 0; b->hard && i < b->count; i++)
        found |= b->hard[i] == INFINITY;
    return found;
}

void bounded_settle(struct bounded *b, bool *open)
{
    if (!has_unjudged(b))
        return;
    for (size_t i = 0; i < b->count; i++) {
        if (isinf(b->hard[i]) && !isfinite(b->value[i]))
            b->value[i] = 0;
        if (open && is_open(b, i))
            *open = true;
    }
}

bool bounded_is_open(const struct bounded *b)
{
    for (size_t i = 0; b->hard && i < b->count; i++)
        if (is_open(b, i))
            return true;
    return false;
}

void bounded_close(struct bounded *b)
{
    for (size_t i = 0; b->hard && i < b->count; i++)
        if (is_open(b, i))
            set_bounds(b, i, INFINITY, largest_bound);
}

void bounded_widen(struct bounded *b)
{
    for (size_t i = 0; b->value && i < b->count; i++)
        if (isinf(b->value[i]))
            bounded_put_undecided(b, i, 0);
}

double unit_of(enum dtype type)
{
    return dtype_precision(dtype_is_float(type) ? type : DTYPE_FLOAT).unit;
}
