/*
 * The mapped files a model's tree points into. A file lives as long as its last model.
 */
#ifndef MODEL_FILE_H
#define MODEL_FILE_H

#include "model/model.h"

/* Maps the model file itself, or takes a copy of bytes from memory; NULL on failure. */
struct model_file *model_file_map(struct model *model, const char *path, struct error *err);
struct model_file *model_file_copy(struct model *model, const void *data, size_t size, struct error *err);
const uint8_t *model_file_data(const struct model_file *file, size_t *size);

/*
 * Where bytes of the tree lie in a file of external data: its number (stable in a model and its copies) and
 * the offset in it; false for what lies elsewhere.
 */
bool model_file_place(const struct model *model, const ProtobufCBinaryData *bytes, size_t *number,
                      size_t *offset);
/* Makes a second name of the file of external data with this number. -1 where the file system has none, or
 * when another file is there by now. */
int model_file_link(const struct model *model, size_t number, const char *path);

/* `to` uses the files of `from` too. */
void model_file_share(struct model *to, const struct model *from);
void model_files_release(struct model *model);

/* Do these bytes lie in one of the model's files? A share callback of tree_copy. */
bool model_file_holds(const void *model, const ProtobufCBinaryData *bytes);

/*
 * Turns a tensor with external data into one whose raw_data points into the mapped file. The location must
 * name a regular file below the model's folder, reached without "..", absolute paths and symbolic links.
 */
int model_file_resolve(struct model *model, Onnx__TensorProto *tensor, struct error *err);

#endif
