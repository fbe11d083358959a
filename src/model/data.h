/*
 * Inputs and outputs of cases on disk: .npy files, and .pb files as the ONNX backend tests have them, which
 * hold a TensorProto, a SequenceProto or an OptionalProto. Nothing in a .pb file says which of the three it
 * is: the type of the model's input or output does.
 */
#ifndef MODEL_DATA_H
#define MODEL_DATA_H

#include "base/str.h"
#include "onnx.pb-c.h"
#include "tensor/tensor.h"

/*
 * By the path's suffix. type NULL: a tensor. The value's name is the one in the file, if it has one. uint16
 * elements where the type says bfloat16 are taken as its bits: the official tests keep them so.
 */
int data_read(const char *path, const Onnx__TypeProto *type, struct value *value, struct error *err);

/* A tensor is written as a TensorProto, a sequence as a SequenceProto, an absent one as an empty
 * OptionalProto. */
int data_write(const char *path, const struct value *value, struct error *err);

/* data_write such that data_read with this type understands it: present optionals are wrapped. */
int data_write_typed(const char *path, const Onnx__TypeProto *type, const struct value *value,
                     struct error *err);

/* The .pb format in memory; data_pack appends. */
int data_pack(const Onnx__TypeProto *type, const struct value *value, struct str *out, struct error *err);
int data_parse(const uint8_t *data, size_t size, const Onnx__TypeProto *type, struct value *value,
               struct error *err);

#endif
