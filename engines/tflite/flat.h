/*
 * Writes FlatBuffers, front to back: a table or vector is appended, and the place that refers to it, which
 * was written before, is made to point there. Places are positions in the buffer, which stay valid while it
 * grows. Everything is aligned to its own size, counted from the start of the buffer.
 *
 *     struct flat flat = {0};
 *     size_t root = flat_start(&flat, "TFL3");
 *     size_t model = flat_table(&flat, root, 2, (struct flat_field[]){{0, 4, 3}, {1, FLAT_REFERENCE, 0}});
 *     flat_vector(&flat, flat_place(&flat, model, 1), 4, 3, shape, 4);
 *     ...
 *     free(flat.data);
 */
#ifndef TFLITE_FLAT_H
#define TFLITE_FLAT_H

#include <stddef.h>
#include <stdint.h>

struct flat {
    uint8_t *data;
    size_t size, capacity;
};

/* A field of a table: its number in the schema, and a scalar of 1, 2, 4 or 8 bytes, or what is set later. */
enum { FLAT_REFERENCE = 0, FLAT_MAX_FIELDS = 16 };
struct flat_field {
    int number;
    int size;
    uint64_t value; /* the scalar's bits */
};

/* The head of the file. Returns the place that refers to the root table. */
size_t flat_start(struct flat *flat, const char identifier[4]);

/* Appends a table, to which the place then refers. Returns its position. */
size_t flat_table(struct flat *flat, size_t place, size_t count, const struct flat_field *fields);

/* The place of a field that the table has: of a reference, which is 0 until it is set. */
size_t flat_place(const struct flat *flat, size_t table, int number);

/* Appends a vector, to which the place then refers, with the first element aligned to `alignment`. Elements
 * are zero when `data` is NULL. Returns the position of the first element: where elements are references,
 * their places follow one another from there, 4 bytes each. */
size_t flat_vector(struct flat *flat, size_t place, size_t element, size_t count, const void *data,
                   size_t alignment);

/* Appends a string, to which the place then refers. */
void flat_string(struct flat *flat, size_t place, const char *text);

#endif
