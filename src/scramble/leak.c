#include "scramble/leak.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_DIGITS = 4, NARROW_BITS = 8 };

/* Bytes that must not be there, found by their first ones. */
struct needle {
    const uint8_t *bytes; /* NULL: the place is free */
    size_t length;
    const char *what;
};

/* An open-addressing table; needles with the same first bytes stand one behind the other. */
struct needles {
    size_t start; /* how many first bytes */
    size_t count, capacity;
    struct needle *items;
};

struct leak_search {
    struct arena arena;
    struct needles texts, runs;
    size_t n_words, words_capacity;
    const char **words; /* that may be there */
    struct str allowed; /* data that may be there */
};

struct leak_search *leak_search_new(void)
{
    struct leak_search *search = memory_zeroed(1, sizeof *search);
    arena_init(&search->arena);
    search->texts.start = LEAK_TEXT_LEAST;
    search->runs.start = LEAK_RUN_LEAST;
    str_init(&search->allowed);
    return search;
}

void leak_search_free(struct leak_search *search)
{
    if (!search)
        return;
    free(search->texts.items);
    free(search->runs.items);
    free(search->words);
    str_release(&search->allowed);
    arena_release(&search->arena);
    free(search);
}

static bool holds(const void *bytes, size_t size, const void *part, size_t length)
{
    const uint8_t *at = bytes, *end = at + size;
    while (length <= (size_t)(end - at) && (at = memchr(at, *(const uint8_t *)part, (size_t)(end - at)))) {
        if (length <= (size_t)(end - at) && memcmp(at, part, length) == 0)
            return true;
        at++;
    }
    return false;
}

static size_t place_of(const struct needles *needles, const uint8_t *bytes)
{
    uint64_t first = 0;
    memcpy(&first, bytes, needles->start);
    return hash_mix(first) & (needles->capacity - 1);
}

static void put(struct needles *needles, const struct needle *needle)
{
    size_t at = place_of(needles, needle->bytes);
    for (; needles->items[at].bytes; at = (at + 1) & (needles->capacity - 1)) {
        const struct needle *other = &needles->items[at];
        if (other->length == needle->length && memcmp(other->bytes, needle->bytes, needle->length) == 0)
            return;
    }
    needles->items[at] = *needle;
    needles->count++;
}

static void add(struct needles *needles, const uint8_t *bytes, size_t length, const char *what)
{
    if (needles->count * 2 >= needles->capacity) {
        struct needles larger = {.start = needles->start,
                                 .capacity = needles->capacity ? needles->capacity * 4 : 64};
        larger.items = memory_zeroed(larger.capacity, sizeof *larger.items);
        for (size_t i = 0; i < needles->capacity; i++)
            if (needles->items[i].bytes)
                put(&larger, &needles->items[i]);
        free(needles->items);
        *needles = larger;
    }
    put(needles, &(struct needle){bytes, length, what});
}

void leak_forbid_text(struct leak_search *search, const char *text, size_t length)
{
    if (length < LEAK_TEXT_LEAST)
        return;
    const char *copy = arena_copy(&search->arena, text, length);
    add(&search->texts, (const uint8_t *)copy, length, copy);
}

void leak_allow_text(struct leak_search *search, const char *word)
{
    search->words =
        memory_grow(search->words, &search->words_capacity, search->n_words + 1, sizeof *search->words);
    search->words[search->n_words++] = arena_strdup(&search->arena, word);
}

/* The number of binary digits from the first 1 to the last. */
static int significant_in(long double value)
{
    int exponent;
    if (value == 0 || !isfinite(value))
        return 0;
    return 64 - __builtin_ctzll((uint64_t)ldexpl(frexpl(fabsl(value), &exponent), 64));
}

/* The same, but of integers to the end. */
static int digits_in(enum dtype type, long double value)
{
    int exponent = 0;
    if (!dtype_is_integer(type) || value == 0)
        return significant_in(value);
    frexpl(value, &exponent);
    return exponent;
}

static bool is_plain(enum dtype type, long double value)
{
    if (value == 0 || !isfinite(value) || type == DTYPE_BOOL || value == dtype_highest(type) ||
        value == dtype_lowest(type))
        return true;
    bool narrow = dtype_size(type) * 8 <= NARROW_BITS;
    return narrow ? fabsl(value) == 1 : significant_in(value) <= PLAIN_DIGITS;
}

/* The parts of a complex number as numbers of their own. */
static struct tensor as_reals(const struct tensor *tensor)
{
    struct tensor reals = *tensor;
    if (tensor->type == DTYPE_COMPLEX64 || tensor->type == DTYPE_COMPLEX128) {
        reals.type = tensor->type == DTYPE_COMPLEX64 ? DTYPE_FLOAT : DTYPE_DOUBLE;
        reals.count *= 2;
    }
    return reals;
}

/* Elements that share bytes in a file are looked for as they lie there. */
static struct tensor as_stored(const struct tensor *tensor, struct arena *arena)
{
    if (!dtype_in(tensor->type, DTYPES_PACKED))
        return as_reals(tensor);
    const Onnx__TensorProto *proto = model_tensor_write(arena, "", tensor);
    size_t size = proto->raw_data.len;
    return (struct tensor){.type = DTYPE_UINT8, .count = size, .size = size, .data = proto->raw_data.data};
}

/* How many elements a run has that counts; 0: the tensor is too small for one. */
static size_t run_of(const struct tensor *tensor)
{
    size_t size = dtype_size(tensor->type), bits = 1;
    for (size_t i = 0; i < tensor->count; i++) {
        size_t digits = (size_t)digits_in(tensor->type, tensor_get(tensor, i)) + 1;
        bits = digits > bits ? digits : bits;
    }
    size_t least = (LEAK_RUN_LEAST + size - 1) / size, wanted = (LEAK_RUN_BITS + bits - 1) / bits;
    least = wanted > least ? wanted : least;
    if (least > tensor->count)
        least = tensor->count;
    return least * size >= LEAK_RUN_LEAST ? least : 0;
}

static void texts_of(struct leak_search *search, const struct tensor *tensor)
{
    const uint8_t *at = tensor->data;
    for (size_t i = 0; i < tensor->count; i++) {
        size_t length = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        leak_forbid_text(search, (const char *)at + 4, length);
        at += 4 + length;
    }
}

void leak_forbid_tensor(struct leak_search *search, const struct tensor *tensor, const char *what)
{
    if (tensor->type == DTYPE_STRING) {
        texts_of(search, tensor);
        return;
    }
    struct tensor stored = as_stored(tensor, &search->arena);
    size_t run = run_of(&stored), size = dtype_size(stored.type), plain = 0;
    if (!run)
        return;
    const char *name = arena_strdup(&search->arena, what);
    const uint8_t *copy = arena_copy(&search->arena, stored.data, stored.size);
    for (size_t i = 0; i < stored.count; i++) {
        plain = is_plain(stored.type, tensor_get(&stored, i)) ? plain + 1 : 0;
        const uint8_t *start = copy + (i + 1 - run) * size;
        if (i + 1 < run || plain >= run ||
            holds(search->allowed.data, search->allowed.length, start, run * size))
            continue;
        add(&search->runs, start, run * size, name);
    }
}

void leak_allow_tensor(struct leak_search *search, const struct tensor *tensor)
{
    struct tensor stored = as_stored(tensor, &search->arena);
    str_append(&search->allowed, stored.data, stored.size);
}

void leak_counts(const struct leak_search *search, size_t *texts, size_t *runs)
{
    *texts = search->texts.count;
    *runs = search->runs.count;
}

static bool is_allowed(const struct leak_search *search, const struct needle *needle)
{
    for (size_t i = 0; i < search->n_words; i++)
        if (holds(search->words[i], strlen(search->words[i]), needle->bytes, needle->length))
            return true;
    return false;
}

/* The needle that stands at this place, or NULL. */
static const struct needle *at_place(const struct leak_search *search, const struct needles *needles,
                                     const uint8_t *bytes, size_t left)
{
    if (!needles->count || left < needles->start)
        return NULL;
    for (size_t at = place_of(needles, bytes); needles->items[at].bytes;
         at = (at + 1) & (needles->capacity - 1)) {
        const struct needle *needle = &needles->items[at];
        if (needle->length <= left && memcmp(needle->bytes, bytes, needle->length) == 0 &&
            !(needles == &search->texts && is_allowed(search, needle)))
            return needle;
    }
    return NULL;
}

bool leak_found(const struct leak_search *search, const void *bytes, size_t size, const char **what)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) {
        const struct needle *needle = at_place(search, &search->texts, at + i, size - i);
        if (!needle)
            needle = at_place(search, &search->runs, at + i, size - i);
        if (needle) {
            *what = needle->what;
            return true;
        }
    }
    return false;
}

bool leak_in_tensor(const struct leak_search *search, const struct tensor *tensor, const char **what)
{
    struct arena arena;
    arena_init(&arena);
    struct tensor stored = as_stored(tensor, &arena);
    bool found = leak_found(search, stored.data, stored.size, what);
    arena_release(&arena);
    return found;
}
