#include "scramble/stand_in.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COARSE = 11, /* significant bits of a value whose last binary digit is kept by CLOSE_CLASS */
    DIGITS = 64,
};

const char *closeness_text(enum closeness closeness)
{
    static const char *const texts[] = {
        [CLOSE_LIKE] = "its scale and sign",
        [CLOSE_CLASS] = "its range, the sign and kind of each value",
        [CLOSE_ORDER] = "its range, the sign and order of its values",
        [CLOSE_NEAR] = "the sign and power of two of each value",
        [CLOSE_ORIGINAL] = "every value",
    };
    return texts[closeness];
}

/* What a tensor's values have in common. */
struct character {
    long double least, most; /* magnitudes of finite values other than 0; 0: there is none */
    double scale;            /* a power of two about as large as they are */
    bool negative, zero, positive, whole;
    bool equal; /* all are the same */
};

static struct character character_of(const struct tensor *tensor)
{
    struct character all = {.whole = true, .equal = true};
    long double squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        long double value = tensor_get(tensor, i), size = fabsl(value);
        all.equal = all.equal && value == tensor_get(tensor, 0);
        if (!isfinite(value))
            continue;
        all.zero |= value == 0;
        all.negative |= value < 0;
        all.positive |= value > 0;
        all.whole = all.whole && value == truncl(value);
        if (value == 0)
            continue;
        all.least = count == 0 || size < all.least ? size : all.least;
        all.most = size > all.most ? size : all.most;
        squares += size * size;
        count++;
    }
    all.scale = count ? (double)exp2l(roundl(log2l(sqrtl(squares / (long double)count)))) : 1;
    return all;
}

static bool is_special(const struct tensor *tensor, long double value)
{
    return value == 0 || !isfinite(value) || value == dtype_highest(tensor->type) ||
           value == dtype_lowest(tensor->type);
}

static long double fitting(const struct tensor *tensor, long double value)
{
    long double low = dtype_lowest(tensor->type), high = dtype_highest(tensor->type);
    return value < low ? low : value > high ? high : value;
}

/* Uniform between two magnitudes; whole: among the whole numbers, of which there may be none but `low`. */
static long double between(long double low, long double high, bool whole, struct rng *rng)
{
    if (whole) {
        long double span = high > low ? floorl(high - low) + 1 : 1;
        uint64_t draw = span >= 0x1p63L ? rng_u64(rng) >> 1 : rng_below(rng, (uint64_t)span);
        return low + (long double)draw;
    }
    return low + (high - low) * (long double)rng_unit(rng);
}

/* The range that magnitudes are drawn from; where there is but one, the range around it. */
static void range_of(const struct character *all, long double *low, long double *high)
{
    *low = all->least;
    *high = all->most;
    if (*low == *high) {
        *low = all->whole ? ceill(*low / 2) : *low / 2;
        *high = all->whole ? *high * 2 - 1 : *high * 2;
    }
}

static long double like(const struct tensor *tensor, const struct character *all, struct rng *rng)
{
    long double low, high;
    if (tensor->type == DTYPE_BOOL)
        return all->equal ? tensor_get(tensor, 0) : (long double)rng_below(rng, 2);
    if (dtype_is_integer(tensor->type) || (all->whole && all->most > 0)) {
        range_of(all, &low, &high);
        if (all->zero)
            low = 0;
        long double size = between(low, high, true, rng);
        return all->negative && (!all->positive || rng_chance(rng, 0.5)) ? -size : size;
    }
    long double size = all->negative && all->positive ? (long double)rng_normal(rng)
                                                      : (long double)rng_uniform(rng, 0.5, 1.5);
    return all->scale * (all->negative && !all->positive ? -size : size);
}

/* The significant binary digits of a finite value other than 0, the last of them 1, and what to multiply
 * with. */
static uint64_t digits_of(long double value, int *exponent)
{
    int power;
    uint64_t digits = (uint64_t)ldexpl(frexpl(fabsl(value), &power), DIGITS);
    int zeros = __builtin_ctzll(digits);
    *exponent = power - DIGITS + zeros;
    return digits >> zeros;
}

static int length_of(uint64_t digits)
{
    return DIGITS - __builtin_clzll(digits);
}

/* A value of the range with the sign of the original and, where that is coarse, with its last digit. */
static long double of_class(const struct tensor *tensor, const struct character *all, long double value,
                            struct rng *rng)
{
    int exponent;
    long double low, high, size;
    if (is_special(tensor, value) || tensor->type == DTYPE_BOOL)
        return value;
    uint64_t digits = digits_of(value, &exponent);
    bool whole = dtype_is_integer(tensor->type);
    range_of(all, &low, &high);
    if (!whole && length_of(digits) <= COARSE) {
        long double unit = ldexpl(1, exponent), first = ceill(low / unit), last = floorl(high / unit);
        size = between(first, last, true, rng);
        size = fmodl(size, 2) != 0 ? size : size < last ? size + 1 : size - 1;
        size = size > 0 ? size * unit : fabsl(value);
    } else {
        size = between(low, high, whole || (all->whole && fabsl(value) < 0x1p24L), rng);
    }
    return value < 0 ? -size : size;
}

/* Sign, power of two, the run of equal digits behind the first, and the last digit stay; between them all is
 * drawn. */
static long double near(const struct tensor *tensor, long double value, uint64_t seed)
{
    int exponent;
    if (is_special(tensor, value) || tensor->type == DTYPE_BOOL)
        return value;
    uint64_t digits = digits_of(value, &exponent);
    int length = length_of(digits), run = 1;
    if (dtype_is_integer(tensor->type)) { /* whose last digit means nothing */
        digits <<= exponent > 0 ? exponent : 0;
        length = length_of(digits);
        exponent = 0;
    }
    while (run < length - 1 && (digits >> (length - 1 - run) & 1) == (digits >> (length - 2) & 1))
        run++;
    int kept = run + 1 < length ? run + 1 : length, drawn = length - kept - !dtype_is_integer(tensor->type);
    if (drawn > 0) {
        uint64_t mask = (((uint64_t)1 << drawn) - 1) << (length - kept - drawn);
        digits = (digits & ~mask) | (hash_combine(seed, hash_combine(digits, (uint64_t)exponent)) & mask);
    }
    long double size = ldexpl((long double)digits, exponent);
    return value < 0 ? -size : size;
}

static int compare_numbers(const void *a, const void *b)
{
    long double x = *(const long double *)a, y = *(const long double *)b;
    return x < y ? -1 : x > y;
}

/* The values that are drawn for the distinct magnitudes of one sign, in the same order. */
struct ladder {
    size_t count;
    long double *from, *to;
};

static struct ladder ladder_make(const struct tensor *tensor, const struct character *all, bool negative,
                                 struct rng *rng)
{
    struct ladder ladder = {.from = memory_zeroed(tensor->count + 1, sizeof(long double)),
                            .to = memory_zeroed(tensor->count + 1, sizeof(long double))};
    size_t distinct = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        long double value = tensor_get(tensor, i);
        if (!is_special(tensor, value) && (value < 0) == negative)
            ladder.from[ladder.count++] = fabsl(value);
    }
    qsort(ladder.from, ladder.count, sizeof(long double), compare_numbers);
    for (size_t i = 0; i < ladder.count; i++)
        if (i == 0 || ladder.from[i] != ladder.from[i - 1])
            ladder.from[distinct++] = ladder.from[i];
    ladder.count = distinct;
    for (size_t i = 0; i < distinct; i++)
        ladder.to[i] = of_class(tensor, all, ladder.from[i], rng);
    qsort(ladder.to, distinct, sizeof(long double), compare_numbers);
    for (size_t i = 0; i < distinct; i++) /* what was drawn twice would join what differs */
        if (i && ladder.to[i] <= ladder.to[i - 1])
            memcpy(ladder.to, ladder.from, distinct * sizeof(long double));
    return ladder;
}

static long double climb(const struct ladder *ladder, long double value)
{
    long double size = fabsl(value);
    const long double *at = bsearch(&size, ladder->from, ladder->count, sizeof(long double), compare_numbers);
    long double stands = at ? ladder->to[at - ladder->from] : size;
    return value < 0 ? -stands : stands;
}

static void in_order(struct tensor *tensor, const struct character *all, struct rng *rng)
{
    struct ladder ladders[2];
    for (int negative = 0; negative < 2; negative++)
        ladders[negative] = ladder_make(tensor, all, negative != 0, rng);
    for (size_t i = 0; i < tensor->count; i++) {
        long double value = tensor_get(tensor, i);
        if (!is_special(tensor, value))
            tensor_set(tensor, i, fitting(tensor, climb(&ladders[value < 0], value)));
    }
    for (int negative = 0; negative < 2; negative++) {
        free(ladders[negative].from);
        free(ladders[negative].to);
    }
}

static void numbers(struct tensor *tensor, enum closeness closeness, uint64_t seed)
{
    struct character all = character_of(tensor);
    struct rng rng = rng_seed(seed);
    if (closeness == CLOSE_ORDER) {
        in_order(tensor, &all, &rng);
        return;
    }
    for (size_t i = 0; i < tensor->count; i++) {
        long double value = tensor_get(tensor, i);
        if (closeness == CLOSE_NEAR)
            value = near(tensor, value, seed);
        else if (closeness == CLOSE_CLASS)
            value = of_class(tensor, &all, value, &rng);
        else
            value = like(tensor, &all, &rng);
        tensor_set(tensor, i, isfinite(value) ? fitting(tensor, value) : value);
    }
}

static char drawn_letter(char original, enum closeness closeness, struct rng *rng)
{
    static const char consonants[] = "bcdfghjklmnpqrstvwxz";
    unsigned char byte = (unsigned char)original;
    if (closeness == CLOSE_LIKE || (byte >= 'a' && byte <= 'z'))
        return consonants[rng_below(rng, sizeof consonants - 1)];
    if (byte >= 'A' && byte <= 'Z')
        return (char)(consonants[rng_below(rng, sizeof consonants - 1)] - 'a' + 'A');
    if (byte >= '0' && byte <= '9')
        return (char)('0' + rng_below(rng, 10));
    return original;
}

void stand_in_text(char *text, size_t length, const char *original, size_t original_length,
                   enum closeness closeness, uint64_t seed)
{
    struct rng rng = rng_seed(hash_bytes(seed, original, original_length));
    for (size_t i = 0; i < length; i++)
        text[i] = drawn_letter(i < original_length ? original[i] : 'a', closeness, &rng);
}

/* Each text is behind its length; lengths stay. */
static void texts(struct tensor *tensor, enum closeness closeness, uint64_t seed)
{
    uint8_t *at = tensor->data;
    for (size_t i = 0; i < tensor->count; i++) {
        size_t length = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        char *text = memory_zeroed(length + 1, 1);
        stand_in_text(text, length, (const char *)at + 4, length, closeness, seed);
        memcpy(at + 4, text, length);
        free(text);
        at += 4 + length;
    }
}

int stand_in(struct tensor *tensor, enum closeness closeness, uint64_t seed, struct error *err)
{
    struct tensor halves = *tensor; /* of complex numbers: their parts */
    if (closeness == CLOSE_ORIGINAL)
        return 0;
    if (tensor->type == DTYPE_STRING) {
        texts(tensor, closeness, seed);
        return 0;
    }
    if (tensor->type == DTYPE_COMPLEX64 || tensor->type == DTYPE_COMPLEX128) {
        halves.type = tensor->type == DTYPE_COMPLEX64 ? DTYPE_FLOAT : DTYPE_DOUBLE;
        halves.count *= 2;
    } else if (!dtype_is_real(tensor->type)) {
        return error_set(err, ERROR_UNSUPPORTED, "values of the type %s cannot be replaced",
                         dtype_name(tensor->type));
    }
    numbers(&halves, closeness, seed);
    return 0;
}
