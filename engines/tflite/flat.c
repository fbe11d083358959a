#include "flat.h"

#include "base/memory.h"

#include <string.h>

/* Appends zeros. Returns where they begin. */
static size_t append(struct flat *flat, size_t size)
{
    size_t at = flat->size;
    flat->data = memory_grow(flat->data, &flat->capacity, at + size, 1);
    memset(flat->data + at, 0, size);
    flat->size = at + size;
    return at;
}

/* Appends zeros until what follows `ahead` bytes later is aligned. */
static void align(struct flat *flat, size_t ahead, size_t alignment)
{
    append(flat, (alignment - (flat->size + ahead) % alignment) % alignment);
}

static void put(struct flat *flat, size_t at, uint64_t bits, size_t size)
{
    memcpy(flat->data + at, &bits, size); /* little-endian, as this processor is (tensor/tensor.h) */
}

static uint64_t get(const struct flat *flat, size_t at, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, flat->data + at, size);
    return bits;
}

static void refer(struct flat *flat, size_t place, size_t target)
{
    put(flat, place, target - place, 4);
}

size_t flat_start(struct flat *flat, const char identifier[4])
{
    size_t place = append(flat, 4);
    memcpy(flat->data + append(flat, 4), identifier, 4);
    return place;
}

static size_t bytes_of(const struct flat_field *field)
{
    return field->size == FLAT_REFERENCE ? 4 : (size_t)field->size;
}

/* A table's vtable has two bytes for each number: where the field is in the table, 0 for one that is not. It
 * stands before its table, which begins with how far back. Fields follow by falling size, without gaps. */
size_t flat_table(struct flat *flat, size_t place, size_t count, const struct flat_field *fields)
{
    int highest = -1;
    for (size_t i = 0; i < count; i++)
        highest = fields[i].number > highest ? fields[i].number : highest;
    size_t vtable_size = 4 + 2 * (size_t)(highest + 1);
    align(flat, 0, 2);
    size_t vtable = append(flat, vtable_size);
    align(flat, 4, 8); /* so that fields of 8 bytes come first */
    size_t table = append(flat, 4);
    refer(flat, place, table);
    put(flat, table, table - vtable, 4);
    for (size_t size = 8; size; size /= 2)
        for (size_t i = 0; i < count; i++) {
            if (bytes_of(&fields[i]) != size)
                continue;
            size_t at = append(flat, size);
            put(flat, at, fields[i].value, size);
            put(flat, vtable + 4 + 2 * (size_t)fields[i].number, at - table, 2);
        }
    put(flat, vtable, vtable_size, 2);
    put(flat, vtable + 2, flat->size - table, 2);
    return table;
}

size_t flat_place(const struct flat *flat, size_t table, int number)
{
    size_t vtable = table - get(flat, table, 4);
    return table + get(flat, vtable + 4 + 2 * (size_t)number, 2);
}

size_t flat_vector(struct flat *flat, size_t place, size_t element, size_t count, const void *data,
                   size_t alignment)
{
    align(flat, 4, alignment > 4 ? alignment : 4);
    size_t at = append(flat, 4 + element * count);
    refer(flat, place, at);
    put(flat, at, count, 4);
    if (data && count)
        memcpy(flat->data + at + 4, data, element * count);
    return at + 4;
}

void flat_string(struct flat *flat, size_t place, const char *text)
{
    flat_vector(flat, place, 1, strlen(text), text, 1);
    append(flat, 1); /* the byte behind it is 0 */
}
