/*
 * ONNX models.
 *
 * A model is the protobuf-c message tree of onnx.proto, allocated whole in one arena: pointers into it stay
 * valid until model_free, edits allocate in the same arena, nothing in it is freed singly. Never call
 * protobuf-c's free_unpacked.
 *
 * Large weights are not in the tree. The loader leaves the raw_data of a top-level initialiser of more than
 * MODEL_INLINE_LIMIT bytes in the mapped file, and external data in its own mapped file; model_weight gives
 * the bytes wherever they are. So a model of several GB costs the memory of the pages that are looked at.
 *
 * Everything read is checked: wire format, UTF-8-free names, dims against data, external-data paths (which
 * may not leave the model's folder: no "..", no absolute path, no symbolic link), nesting depth, sizes before
 * allocation.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/arena.h"
#include "base/error.h"
#include "onnx.pb-c.h"
#include "tensor/tensor.h"

enum { MODEL_INLINE_LIMIT = 64 * 1024, MODEL_MAX_DEPTH = 32 };

struct model_file; /* a mapped file: the model itself or one of external data */

/* Bytes that live outside the tree, for graph->initializer[i]; data NULL: look in the tree. */
struct model_weight {
    const uint8_t *data;
    size_t size;
};

struct model {
    struct arena arena;
    Onnx__ModelProto *proto;
    Onnx__GraphProto *graph;      /* proto->graph, never NULL */
    struct model_weight *weights; /* one for each graph->initializer */
    char *folder;                 /* where external data is looked for; NULL for models from memory */
    struct model_file *files;
};

struct model *model_new(int opset); /* an empty model of IR version 8 (10 from opset 20 on), for building */
int model_load(struct model **model, const char *path, struct error *err);
int model_parse(struct model **model, const void *data, size_t size, struct error *err);
void model_free(struct model *model);

/* A deep copy; large weights are shared with the mapped file, which lives as long as its last user. */
int model_clone(struct model **copy, const struct model *model, struct error *err);

/*
 * Serialising. model_pack gives heap bytes and refuses with ERROR_LIMIT what would exceed 2 GB, protobuf's
 * own limit. model_save streams to a file; a model too large for one file gets its large weights in
 * "<name>.data" beside it.
 */
int model_pack(const struct model *model, uint8_t **data, size_t *size, struct error *err);
int model_save(const struct model *model, const char *path, struct error *err);

/* The version of the default operator set ("" or "ai.onnx"); 0 when the model imports none. */
int model_opset(const struct model *model);

/* Initialiser i of the top graph as a tensor of its own (owned by the caller). */
int model_weight(const struct model *model, size_t index, struct tensor *tensor, struct error *err);

/* A TensorProto inside the tree (an attribute, a subgraph's initialiser, an input_0.pb) as a tensor and back.
 */
int model_tensor_read(const Onnx__TensorProto *proto, struct tensor *tensor, struct error *err);
Onnx__TensorProto *model_tensor_write(struct arena *arena, const char *name, const struct tensor *tensor);

#endif
