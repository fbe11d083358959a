/*
 * Any message tree of protobuf-c, walked and copied by its descriptors.
 */
#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include "base/arena.h"
#include "base/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

/* Unpacks a message, scan_check included, into the arena. NULL with a message when it is bad. */
ProtobufCMessage *tree_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size,
                              struct arena *arena, struct error *err);

/* tree_unpack of bytes that have already passed scan_check. */
ProtobufCMessage *tree_unpack_checked(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                                      size_t size, struct arena *arena, struct error *err);

/* Visits a message, then all below it; stops at the first non-zero result and returns it. */
int tree_each(ProtobufCMessage *message, int (*visit)(void *context, ProtobufCMessage *message),
              void *context);

/*
 * A deep copy. Byte fields for which share says so are not copied but pointed to (share may be NULL).
 */
ProtobufCMessage *tree_copy(const ProtobufCMessage *message, struct arena *arena,
                            bool (*share)(const void *context, const ProtobufCBinaryData *bytes),
                            const void *context);

#endif
