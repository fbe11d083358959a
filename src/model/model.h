/*
 * ONNX models.
 *
 * A model is the protobuf-c message tree of onnx.proto, allocated as a whole in one arena: pointers into it
 * stay valid until model_free, edits allocate in the same arena, and no part of it is freed alone. Never call
 * protobuf-c's free_unpacked.
 *
 * Large weights are not copied. The raw_data of a top-level initialiser of more than MODEL_INLINE_LIMIT bytes
 * points into the mapped model file, and external data, anywhere in the tree, into its own mapped file. To
 * readers all of it is raw_data, which must not be written to. So a model of several GB costs only the memory
 * of the pages that are read.
 *
 * Everything read is checked: wire format, nesting depth, sizes before allocation, every tensor's dims
 * against its data, and external-data paths (which must stay in the model's folder: no "..", no absolute
 * path, no symbolic link). Names that the file leaves out (of values, nodes, operators, domains, attributes)
 * are "", never NULL; other texts may be NULL.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/folder.h"
#include "onnx.pb-c.h"
#include "tensor/tensor.h"

enum {
    MODEL_INLINE_LIMIT = 64 * 1024,
    MODEL_MAX_DEPTH = 32,          /* of nested bodies */
    MODEL_IR_FREE_INITIALIZERS = 4 /* the first IR version in which initialisers need not be inputs as well */
};

struct model_file; /* a mapped file: the model itself or one of external data */

/* The capacity of a growing array of the graph. It is valid only as long as the array is the one in `items`.
 */
struct model_room {
    const void *items;
    size_t capacity;
};

struct model {
    struct arena arena;
    Onnx__ModelProto *proto;
    Onnx__GraphProto *graph;     /* proto->graph, never NULL */
    const char *folder;          /* of its file; NULL for models from memory */
    const struct folder *beside; /* while it is loaded: the same, open, where external data is looked for */
    const char *path;            /* of a file with the same content; NULL: from memory, a copy, or edited */
    struct model_file *files;    /* the files that the tree points into; the model's own first */
    struct model_room nodes, inputs, outputs, initializers, value_infos;
};

struct model *model_new(int opset); /* an empty model of IR version 8 (10 from opset 20 on), for building */
int model_load(struct model **model, const char *path, struct error *err); /* by a path of the user's */
int model_load_in(struct model **model, const struct folder *in, const char *name, struct error *err);
int model_parse(struct model **model, const void *data, size_t size, struct error *err);
void model_free(struct model *model);

/* Whether data lies in files beside the model's own, or did before edits. */
bool model_is_external(const struct model *model);

/* Where the file of external data with this number, from 0, lies below the model's folder; NULL: there is
 * none. */
const char *model_external_file(const struct model *model, size_t number);

/* The bytes of the model's own file if they are the whole model: no external data, not edited. Else NULL. */
const uint8_t *model_own_bytes(const struct model *model, size_t *size);

/* The hash of the model's file and of the name and bytes of each file of external data. Only for a model that
 * was just loaded. */
uint64_t model_hash(const struct model *model);

/* A deep copy for editing. Mapped files are shared and live as long as their last user. Code that changes the
 * tree directly does so in a copy, or sets `path` to NULL. */
int model_clone(struct model **copy, const struct model *model, struct error *err);

/*
 * Serialising.
 * - model_pack gives heap bytes with external data inlined; it refuses with ERROR_LIMIT what would exceed 2
 *   GB, the limit of protobuf.
 * - model_to_bytes does the same, but copies the bytes of the model's own file when they are the whole model.
 * - model_pack_thin leaves out weights of more than MODEL_INLINE_LIMIT, which become inputs: for shape
 *   inference.
 * - model_save streams to a file. If the model is too large for one file, its large weights go to
 *   "<name>.data" beside it.
 * - model_save_external puts the large weights of any model there.
 * - model_save_apart does so too, and with small weights of floating-point types as well. Small integers
 * stay, because they may be shapes, which many readers want in the model itself.
 * - model_save_linked does so too, but makes hard links ("<name>.data1" ...) to existing files of external
 *   data where the file system can, instead of writing their bytes again.
 * Files appear whole or not at all.
 */
size_t model_size(const struct model *model); /* serialised, external data inlined */
int model_pack(const struct model *model, uint8_t **data, size_t *size, struct error *err);
int model_pack_thin(const struct model *model, uint8_t **data, size_t *size, struct error *err);
int model_to_bytes(const struct model *model, uint8_t **data, size_t *size, struct error *err);
int model_save(const struct model *model, const struct folder *in, const char *name, struct error *err);
int model_save_external(const struct model *model, const struct folder *in, const char *name,
                        struct error *err);
int model_save_apart(const struct model *model, const struct folder *in, const char *name, struct error *err);
int model_save_linked(const struct model *model, const struct folder *in, const char *name,
                      struct error *err);

/* The version of the default operator set ("" or "ai.onnx"); 0 when the model imports none. */
int model_opset(const struct model *model);

/*
 * Initialiser `index` of the top graph as a tensor that the caller owns. Sparse initialisers are numbered
 * after the others and are made dense.
 */
int model_weight(const struct model *model, size_t index, struct tensor *tensor, struct error *err);

/*
 * The same without a copy: false when the bytes are not stored as in a tensor (then use model_weight). The
 * view lives as long as the model and must be neither changed nor released.
 */
bool model_weight_view(const struct model *model, size_t index, struct tensor *view);

/*
 * Sparse tensors as dense ones and back. Zeros are left out, except negative ones; `linear`: each index is
 * one number instead of one for each dimension. A tensor of rank 0, without elements or of strings has no
 * sparse form: NULL.
 */
int model_sparse_read(const Onnx__SparseTensorProto *sparse, struct tensor *dense, struct error *err);
Onnx__SparseTensorProto *model_sparse_write(struct arena *arena, const char *name, const struct tensor *dense,
                                            bool linear);

/* A TensorProto inside the tree (an attribute, a subgraph's initialiser, an input_0.pb) as a tensor and back.
 */
int model_tensor_read(const Onnx__TensorProto *proto, struct tensor *tensor, struct error *err);
int model_tensor_check(const Onnx__TensorProto *proto, struct error *err); /* would model_tensor_read work? */
Onnx__TensorProto *model_tensor_write(struct arena *arena, const char *name, const struct tensor *tensor);

/* model_tensor_write puts numbers into raw_data; this one into the field for their type, such as float_data.
 * model_tensor_is_raw tells the two apart. */
Onnx__TensorProto *model_tensor_write_typed(struct arena *arena, const char *name,
                                            const struct tensor *tensor);
bool model_tensor_is_raw(const Onnx__TensorProto *proto);

#endif
