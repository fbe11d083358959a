/* What flat.c writes is read back by a reader that checks every offset and alignment: fixed and random
 * tables. */
#include "../flat.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* size bytes at a place that must be inside of the buffer and aligned to them. */
static uint64_t read_at(const struct flat *flat, size_t at, size_t size)
{
    uint64_t bits = 0;
    assert_true(at <= flat->size && size <= flat->size - at);
    assert_int_equal(at % size, 0);
    memcpy(&bits, flat->data + at, size);
    return bits;
}

static size_t follow(const struct flat *flat, size_t place)
{
    uint64_t offset = read_at(flat, place, 4);
    assert_true(offset > 0);
    return place + (size_t)offset;
}

/* Where a field is; 0 when the table has none with this number. */
static size_t field_at(const struct flat *flat, size_t table, int number)
{
    size_t vtable = table - (size_t)read_at(flat, table, 4);
    size_t size = (size_t)read_at(flat, vtable, 2), table_size = (size_t)read_at(flat, vtable + 2, 2);
    size_t entry = 4 + 2 * (size_t)number;
    assert_true(vtable < table && vtable + size <= table && table + table_size <= flat->size);
    if (entry + 2 > size)
        return 0;
    size_t offset = (size_t)read_at(flat, vtable + entry, 2);
    assert_true(offset == 0 || (offset >= 4 && offset < table_size));
    return offset ? table + offset : 0;
}

static void head(void **state)
{
    struct flat flat = {0};
    size_t place = flat_start(&flat, "TFL3");
    size_t table = flat_table(&flat, place, 0, NULL);
    assert_memory_equal(flat.data + 4, "TFL3", 4);
    assert_int_equal(follow(&flat, place), table);
    assert_int_equal(field_at(&flat, table, 0), 0);
    free(flat.data);
    (void)state;
}

static void vectors(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3};
    struct flat flat = {0};
    const struct flat_field fields[] = {{1, FLAT_REFERENCE, 0}, {3, 1, 7}, {4, FLAT_REFERENCE, 0}};
    size_t table = flat_table(&flat, flat_start(&flat, "TFL3"), 3, fields);
    size_t first = flat_vector(&flat, flat_place(&flat, table, 1), 1, 3, bytes, 16);
    size_t empty = flat_vector(&flat, flat_place(&flat, table, 4), 8, 0, NULL, 8);
    assert_int_equal(follow(&flat, field_at(&flat, table, 1)), first - 4);
    assert_int_equal(read_at(&flat, first - 4, 4), 3);
    assert_int_equal(first % 16, 0);
    assert_memory_equal(flat.data + first, bytes, 3);
    assert_int_equal(read_at(&flat, field_at(&flat, table, 3), 1), 7);
    assert_int_equal(read_at(&flat, follow(&flat, field_at(&flat, table, 4)), 4), 0);
    assert_int_equal(empty % 8, 0);
    free(flat.data);
    (void)state;
}

/* The values that a random table was written with, by number; size 0: it has none. */
struct wanted {
    int size;
    uint64_t value;
};

static size_t random_fields(struct flat_field *fields, struct wanted *wanted)
{
    static const int sizes[] = {1, 2, 4, 8};
    size_t count = 0;
    for (int number = FLAT_MAX_FIELDS; number-- > 0;) {
        wanted[number] = (struct wanted){0};
        if (rand() % 3 == 0)
            continue;
        int size = sizes[rand() % 4];
        uint64_t value = (uint64_t)rand() << 32 ^ (uint64_t)rand() * 2654435761U;
        value &= size == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * size)) - 1;
        fields[count++] = (struct flat_field){number, size, value};
        wanted[number] = (struct wanted){size, value};
    }
    return count;
}

static void strings(void **state)
{
    struct flat flat = {0};
    flat_string(&flat, flat_start(&flat, "TFL3"), "t07");
    size_t at = follow(&flat, 0);
    assert_int_equal(read_at(&flat, at, 4), 3);
    assert_int_equal(at + 8, flat.size);
    assert_memory_equal(flat.data + at + 4, "t07", 4);
    free(flat.data);
    (void)state;
}

static void check_table(const struct flat *flat, size_t table, const struct wanted *wanted)
{
    for (int number = 0; number < FLAT_MAX_FIELDS; number++) {
        size_t at = field_at(flat, table, number);
        assert_int_equal(at != 0, wanted[number].size != 0);
        if (at)
            assert_true(read_at(flat, at, (size_t)wanted[number].size) == wanted[number].value);
    }
}

static void random_tables(void **state)
{
    enum { TABLES = 20 };
    struct wanted wanted[TABLES][FLAT_MAX_FIELDS];
    srand(1);
    for (int round = 0; round < 2000; round++) {
        struct flat flat = {0};
        struct flat_field fields[FLAT_MAX_FIELDS];
        size_t tables = 1 + (size_t)rand() % TABLES;
        size_t list = flat_vector(&flat, flat_start(&flat, "TFL3"), 4, tables, NULL, 4);
        for (size_t i = 0; i < tables; i++)
            flat_table(&flat, list + 4 * i, random_fields(fields, wanted[i]), fields);
        assert_int_equal(read_at(&flat, follow(&flat, 0), 4), tables);
        for (size_t i = 0; i < tables; i++)
            check_table(&flat, follow(&flat, list + 4 * i), wanted[i]);
        free(flat.data);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head),
        cmocka_unit_test(vectors),
        cmocka_unit_test(strings),
        cmocka_unit_test(random_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
