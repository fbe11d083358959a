/*
 * Message trees of protobuf-c (any type, not only ONNX's): unpacking into an arena, walking and deep copies,
 * all driven by the descriptors that protobuf-c generates for each message type. Nothing in a tree is freed
 * alone: it lives as long as its arena.
 */
#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include "base/arena.h"
#include "base/error.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

/* Checks the bytes (scan_check, scan.h) and unpacks them into the arena, copying all of them. NULL and an
 * error when the message is bad. */
ProtobufCMessage *tree_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size,
                              struct arena *arena, struct error *err);

/* tree_unpack without the check, for bytes that have already passed scan_check. */
ProtobufCMessage *tree_unpack_checked(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                                      size_t size, struct arena *arena, struct error *err);

/* Visits a message and then all messages below it, a parent before its children; stops at the first non-zero
 * result and returns it. The visitor may change the message. */
int tree_each(ProtobufCMessage *message, int (*visit)(void *context, ProtobufCMessage *message),
              void *context);

/* Visits the texts of a message, without those of the messages below it, each with the name of its field;
 * stops like tree_each. */
int tree_texts(const ProtobufCMessage *message,
               int (*visit)(void *context, const char *field, const char *text), void *context);

/*
 * A deep copy. Of a bytes field for which `share` returns true only the pointer is copied, so its bytes must
 * outlive the copy. share NULL: everything is copied.
 */
ProtobufCMessage *tree_copy(const ProtobufCMessage *message, struct arena *arena,
                            bool (*share)(const void *context, const ProtobufCBinaryData *bytes),
                            const void *context);

#endif
