/*
 * The mapped files that a model's tree points into (model.h): its own file and those of external data. A file
 * is unmapped when the last model that uses it is freed. Only the files of this folder use this header.
 */
#ifndef MODEL_FILE_H
#define MODEL_FILE_H

#include "model/model.h"

/* Maps the model's own file, or copies bytes from memory, and adds the result to the model; NULL with a
 * message on failure. model_file_data gives the bytes and their number. */
struct model_file *model_file_map(struct model *model, const struct folder *in, const char *name,
                                  struct error *err);
struct model_file *model_file_copy(struct model *model, const void *data, size_t size, struct error *err);
const uint8_t *model_file_data(const struct model_file *file, size_t *size);

/*
 * Finds where bytes of the tree lie in a file of external data: the file's number, which is the same in a
 * model and its copies, and the offset in the file. False for bytes that lie elsewhere.
 */
bool model_file_place(const struct model *model, const ProtobufCBinaryData *bytes, size_t *number,
                      size_t *offset);
/* Makes a hard link to the file of external data with this number. Returns -1, without a
 * message, when the file system cannot do so, or when the file was replaced since it was mapped; the caller
 * then writes the bytes. */
int model_file_link(const struct model *model, size_t number, const struct folder *in, const char *name);

/* Lets `to`, a copy of `from`, use the same files. model_files_release ends the use of all files of a model.
 */
void model_file_share(struct model *to, const struct model *from);
void model_files_release(struct model *model);

/* Whether these bytes lie in one of the model's files, so that a copy of the tree may point to them: the
 * `share` callback of tree_copy, with the model as its context. */
bool model_file_holds(const void *model, const ProtobufCBinaryData *bytes);

/*
 * Makes raw_data of a tensor with external data point into the mapped file. The location must name a regular
 * file below the model's folder; "..", absolute paths and symbolic links are refused.
 */
int model_file_resolve(struct model *model, Onnx__TensorProto *tensor, struct error *err);

#endif
