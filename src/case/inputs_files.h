/* The files of a data set: found by their names, read as tensors, compared with what a model declares. */
#ifndef CASE_INPUTS_FILES_H
#define CASE_INPUTS_FILES_H

#include "model/model.h"

/* FOLDER/STEM.pb or FOLDER/STEM.npy on the heap, or NULL when there is neither or the stem is no file name.
 */
char *inputs_find_file(const char *folder, const char *stem);

/* Reads a .npy or .pb file that holds a tensor, which the caller releases. */
int inputs_read_tensor(const char *path, struct tensor *tensor, struct error *err);

/* The rank that the model declares for a tensor, or -1. */
int inputs_declared_rank(const Onnx__TypeProto *type);

#endif
