/*
 * Fields of onnx.proto that are newer than ONNX 1.12, the oldest release that Assay builds with. Whether the
 * onnx.proto of the build declares them or not, a model that has them is read alike: those that do not change
 * what a model computes (notes, hints about devices) are kept and passed on, the others are understood or
 * refused by name. A field that even the newest release here does not have is refused by its number.
 */
#ifndef MODEL_NEWER_FIELDS_H
#define MODEL_NEWER_FIELDS_H

#include "base/arena.h"
#include "base/error.h"
#include "model/model.h"
#include "model/scan.h"

/* The newest ONNX release whose fields are known. */
#define NEWEST_ONNX "1.20"

struct newer_field {
    const ProtobufCMessageDescriptor *message;
    uint32_t number;
    const char *name;
    const ProtobufCMessageDescriptor *holds; /* messages that Assay reads; NULL: it does not look inside */
    bool refused;                            /* unless it is empty */
};

/* NULL when the field is none of these. */
const struct newer_field *newer_field_find(const ProtobufCMessageDescriptor *message, uint32_t number);

/* Fails with ERROR_UNSUPPORTED when the field would change what the model means in a way that Assay does not
 * know. Messages of other protocols pass. */
int newer_field_check(const ProtobufCMessageDescriptor *message, const struct scan_field *field,
                      struct error *err);

/* The attributes of a function that have a default (field attribute_proto), *count of them, in the arena. */
Onnx__AttributeProto **function_defaults(const Onnx__FunctionProto *function, struct arena *arena,
                                         size_t *count);

#endif
