/*
 * ONNX models.
 *
 * A model is the protobuf-c message tree of onnx.proto, allocated whole in one arena: pointers into it stay
 * valid until model_free, edits allocate in the same arena, nothing in it is freed singly. Never call
 * protobuf-c's free_unpacked.
 *
 * Large weights are not copied. The raw_data of a top-level initialiser of more than MODEL_INLINE_LIMIT bytes
 * points into the mapped model file, and external data, at any place, into its own mapped file: to the reader
 * all of it is raw_data, which must not be written to. So a model of several GB costs the memory of the pages
 * that are looked at.
 *
 * Everything read is checked: wire format, nesting depth, sizes before allocation, every tensor's dims
 * against its data, external-data paths (which may not leave the model's folder: no "..", no absolute path,
 * no symbolic link). Names that the file leaves out (of values, nodes, operators, domains, attributes) are
 * "", never NULL; other texts may be NULL.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/arena.h"
#include "base/error.h"
#include "onnx.pb-c.h"
#include "tensor/tensor.h"

enum {
    MODEL_INLINE_LIMIT = 64 * 1024,
    MODEL_MAX_DEPTH = 32,          /* of bodies within bodies */
    MODEL_IR_FREE_INITIALIZERS = 4 /* the first IR version whose initialisers need not be inputs too */
};

struct model_file; /* a mapped file: the model itself or one of external data */

/* Room behind a growing array of the graph, known only while the array is still the one we made. */
struct model_room {
    const void *items;
    size_t capacity;
};

struct model {
    struct arena arena;
    Onnx__ModelProto *proto;
    Onnx__GraphProto *graph;  /* proto->graph, never NULL */
    const char *folder;       /* where external data is looked for; NULL for models from memory */
    const char *path;         /* of the file that says the same; NULL: from memory, a copy, or edited */
    struct model_file *files; /* what the tree points into; the model's own first */
    struct model_room nodes, inputs, outputs, initializers, value_infos;
};

struct model *model_new(int opset); /* an empty model of IR version 8 (10 from opset 20 on), for building */
int model_load(struct model **model, const char *path, struct error *err);
int model_parse(struct model **model, const void *data, size_t size, struct error *err);
void model_free(struct model *model);

/* Whether data lies (or lay, before edits) in files beside the model's own. */
bool model_is_external(const struct model *model);

/* The bytes of the model's own file as long as they are all of the model: no external data, not edited. Else
 * NULL. */
const uint8_t *model_own_bytes(const struct model *model, size_t *size);

/* Of a model just loaded: the hash of its file, and of the name and bytes of each file of external data. */
uint64_t model_hash(const struct model *model);

/* A deep copy, to be edited; what lies in mapped files is shared with them, and they live as long as their
 * last user. Who changes the tree by hand does so in a copy, or forgets `path`. */
int model_clone(struct model **copy, const struct model *model, struct error *err);

/*
 * Serialising. model_pack gives heap bytes, external data inlined, and refuses with ERROR_LIMIT what would
 * exceed 2 GB, protobuf's own limit; model_to_bytes does so too, but gives the bytes of the model's own file
 * where they are all of it. model_pack_thin leaves out weights of more than MODEL_INLINE_LIMIT, which become
 * inputs: for shape inference. model_save streams to a file; a model too large for one file gets its large
 * weights in "<name>.data" beside it, which model_save_external does for any model; model_save_linked gives
 * files that hold external data a second name there ("<name>.data1" ...) where it can, instead of writing
 * their bytes again. Files appear whole or not at all.
 */
size_t model_size(const struct model *model); /* serialised, external data inlined */
int model_pack(const struct model *model, uint8_t **data, size_t *size, struct error *err);
int model_pack_thin(const struct model *model, uint8_t **data, size_t *size, struct error *err);
int model_to_bytes(const struct model *model, uint8_t **data, size_t *size, struct error *err);
int model_save(const struct model *model, const char *path, struct error *err);
int model_save_external(const struct model *model, const char *path, struct error *err);
int model_save_linked(const struct model *model, const char *path, struct error *err);

/* The version of the default operator set ("" or "ai.onnx"); 0 when the model imports none. */
int model_opset(const struct model *model);

/*
 * Initialiser i of the top graph as a tensor of its own (owned by the caller). Sparse initialisers count on
 * behind the others and come dense.
 */
int model_weight(const struct model *model, size_t index, struct tensor *tensor, struct error *err);

/*
 * The same without a copy: false where its bytes do not lie as a tensor's do (model_weight has it then). The
 * view lives as long as the model, and is neither changed nor released.
 */
bool model_weight_view(const struct model *model, size_t index, struct tensor *view);

int model_sparse_read(const Onnx__SparseTensorProto *sparse, struct tensor *dense, struct error *err);

/* A TensorProto inside the tree (an attribute, a subgraph's initialiser, an input_0.pb) as a tensor and back.
 */
int model_tensor_read(const Onnx__TensorProto *proto, struct tensor *tensor, struct error *err);
int model_tensor_check(const Onnx__TensorProto *proto, struct error *err); /* would model_tensor_read work? */
Onnx__TensorProto *model_tensor_write(struct arena *arena, const char *name, const struct tensor *tensor);

#endif
