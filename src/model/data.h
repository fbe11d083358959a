/*
 * Inputs and outputs of cases on disk: .npy files, and .pb files as in the ONNX backend tests, which hold a
 * TensorProto, a SequenceProto or an OptionalProto. A .pb file does not say which of the three it holds: the
 * type of the model's input or output does.
 */
#ifndef MODEL_DATA_H
#define MODEL_DATA_H

#include "base/folder.h"
#include "base/str.h"
#include "onnx.pb-c.h"
#include "tensor/tensor.h"

/*
 * Reads a file of the format that the suffix of its name tells. type NULL: a tensor is expected. The value
 * gets the name that stands in the file, if any. Where the type says bfloat16, uint16 elements are taken as
 * its bits, because the official tests store it so.
 */
int data_read(const struct folder *in, const char *name, const Onnx__TypeProto *type, struct value *value,
              struct error *err);

/* A tensor is written as a TensorProto, a sequence as a SequenceProto, an absent one as an empty
 * OptionalProto. */
int data_write(const struct folder *in, const char *name, const struct value *value, struct error *err);

/* data_write in the form that data_read with this type expects: a present optional value is wrapped in an
 * OptionalProto. */
int data_write_typed(const struct folder *in, const char *name, const Onnx__TypeProto *type,
                     const struct value *value, struct error *err);

/* The .pb format in memory; data_pack appends. */
int data_pack(const Onnx__TypeProto *type, const struct value *value, struct str *out, struct error *err);
int data_parse(const uint8_t *data, size_t size, const Onnx__TypeProto *type, struct value *value,
               struct error *err);

#endif
