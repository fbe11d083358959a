/*
 * Checks of the protobuf wire format before protobuf-c unpacks it.
 *
 * protobuf-c recurses as deep as its input says, allocates as much as it says, and answers a bad message with
 * NULL. So every message from outside goes through scan_check first. Afterwards each length fits, nesting is
 * bounded, each known field has the right wire type, strings contain no NUL, and unpacking allocates less
 * than SCAN_MEMORY_LIMIT.
 */
#ifndef MODEL_SCAN_H
#define MODEL_SCAN_H

#include "base/error.h"
#include "base/str.h"

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#define SCAN_MEMORY_LIMIT ((size_t)3 << 30)

/* Where the raw_data of top-level initialiser `initializer` lies, which is too large to be unpacked. */
struct scan_weight {
    size_t initializer;
    const uint8_t *data;
    size_t size;
};

/*
 * Checks a message of the given type; the error says where it is wrong and how. *detached, unless NULL,
 * becomes the number of raw_data fields that scan_skeleton would leave out (0 unless it is a ModelProto);
 * their bytes then do not count towards the limit.
 */
int scan_check(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, size_t *detached,
               struct error *err);

/*
 * Copies a ModelProto that passed scan_check, but without the raw_data of large top-level initialisers, and
 * lists where those lie. The caller frees the array of weights.
 */
void scan_skeleton(const uint8_t *data, size_t size, struct str *skeleton, struct scan_weight **weights,
                   size_t *count);

/* One field of a message, for the few formats that are decoded without protobuf-c. */
struct scan_field {
    uint32_t number;
    int wire;             /* 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes */
    const uint8_t *start; /* its key */
    const uint8_t *data;  /* its payload */
    size_t size;
    uint64_t value; /* of a varint */
};

/* Reads the field at *at and moves *at behind it; the error says what is wrong. */
int scan_next(const uint8_t **at, const uint8_t *end, struct scan_field *field, struct error *err);

/* Append a number, and a length-delimited field, in wire format. */
void scan_put_varint(struct str *out, uint64_t value);
void scan_put_bytes(struct str *out, uint32_t number, const void *data, size_t size);

#endif
