/*
 * The wire format, looked at before protobuf-c unpacks it.
 *
 * protobuf-c recurses as deep as its input says, allocates as much as it says, and answers a bad message with
 * NULL. So every message from outside goes through scan_check first: afterwards each length fits, nesting is
 * bounded, each known field has the wire type it must have, strings have no NUL inside, and what unpacking
 * will allocate is below SCAN_MEMORY_LIMIT.
 */
#ifndef MODEL_SCAN_H
#define MODEL_SCAN_H

#include "base/error.h"
#include "base/str.h"

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#define SCAN_MEMORY_LIMIT ((size_t)3 << 30)

/* The raw_data of top-level initialiser `initializer`, too large for the tree. */
struct scan_weight {
    size_t initializer;
    const uint8_t *data;
    size_t size;
};

/*
 * *detached, when asked for, is the number of raw_data fields that scan_skeleton would leave out (it counts
 * only in a ModelProto); their bytes do not count towards the limit then.
 */
int scan_check(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, size_t *detached,
               struct error *err);

/*
 * A ModelProto that passed scan_check, without the raw_data of large top-level initialisers, and where those
 * are. The weights array is the caller's to free.
 */
void scan_skeleton(const uint8_t *data, size_t size, struct str *skeleton, struct scan_weight **weights,
                   size_t *count);

/* One field of a message, for the few formats that are decoded by hand. */
struct scan_field {
    uint32_t number;
    int wire;             /* 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes */
    const uint8_t *start; /* its key */
    const uint8_t *data;  /* its payload */
    size_t size;
    uint64_t value; /* of a varint */
};

/* Reads the field at *at and moves behind it; the message says what is wrong. */
int scan_next(const uint8_t **at, const uint8_t *end, struct scan_field *field, struct error *err);

/* And written by hand. */
void scan_put_varint(struct str *out, uint64_t value);
void scan_put_bytes(struct str *out, uint32_t number, const void *data, size_t size);

#endif
