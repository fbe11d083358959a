/*
 * Building models: inputs, outputs, initialisers, nodes and attributes. Everything is allocated in the
 * model's arena, or in the arena that is passed; names are copied.
 */
#ifndef MODEL_BUILD_H
#define MODEL_BUILD_H

#include "model/model.h"

/* Adds a graph input or output. shape NULL: of unknown shape; a dim of -1 is symbolic. */
Onnx__ValueInfoProto *model_add_input(struct model *model, const char *name, enum dtype type,
                                      const struct shape *shape);
Onnx__ValueInfoProto *model_add_output(struct model *model, const char *name, enum dtype type,
                                       const struct shape *shape);
void model_add_initializer(struct model *model, const char *name, const struct tensor *tensor);

/* Appends a node. An input named "" is an omitted optional one. A unique name is made when `name` is NULL. */
Onnx__NodeProto *model_add_node(struct model *model, const char *op_type, const char *name, size_t inputs,
                                const char *const *input, size_t outputs, const char *const *output);

/* Puts a node into a domain other than ONNX's own, which the model then imports in its first version. */
void model_set_domain(struct model *model, Onnx__NodeProto *node, const char *domain);

/* The same for graphs that are not the top graph: the bodies of If, Loop and Scan. graph_new gives an empty
 * one. */
Onnx__GraphProto *graph_new(struct arena *arena, const char *name);
Onnx__NodeProto *graph_add_node(struct arena *arena, Onnx__GraphProto *graph, const char *op_type,
                                const char *name, size_t inputs, const char *const *input, size_t outputs,
                                const char *const *output);
void graph_add_input(struct arena *arena, Onnx__GraphProto *graph, Onnx__ValueInfoProto *info);
void graph_add_output(struct arena *arena, Onnx__GraphProto *graph, Onnx__ValueInfoProto *info);
void graph_add_initializer(struct arena *arena, Onnx__GraphProto *graph, Onnx__TensorProto *tensor);

/* Attributes; setting one again replaces it. */
void node_set_int(struct arena *arena, Onnx__NodeProto *node, const char *name, int64_t value);
void node_set_float(struct arena *arena, Onnx__NodeProto *node, const char *name, float value);
void node_set_string(struct arena *arena, Onnx__NodeProto *node, const char *name, const char *value);
void node_set_ints(struct arena *arena, Onnx__NodeProto *node, const char *name, const int64_t *values,
                   size_t count);
void node_set_floats(struct arena *arena, Onnx__NodeProto *node, const char *name, const float *values,
                     size_t count);
void node_set_strings(struct arena *arena, Onnx__NodeProto *node, const char *name, const char *const *values,
                      size_t count);
void node_set_tensor(struct arena *arena, Onnx__NodeProto *node, const char *name,
                     const struct tensor *tensor);
void node_set_sparse(struct arena *arena, Onnx__NodeProto *node, const char *name,
                     Onnx__SparseTensorProto *sparse);
void node_set_graph(struct arena *arena, Onnx__NodeProto *node, const char *name, Onnx__GraphProto *graph);
void node_remove_attribute(Onnx__NodeProto *node, const char *name);

/* NULL when absent. */
const Onnx__AttributeProto *node_attribute(const Onnx__NodeProto *node, const char *name);

/* The value, or `otherwise` when the attribute is absent or of another kind. */
int64_t node_int(const Onnx__NodeProto *node, const char *name, int64_t otherwise);
float node_float(const Onnx__NodeProto *node, const char *name, float otherwise);

/* False when the attribute is absent or of another kind. The text may hold NUL bytes. */
bool node_string(const Onnx__NodeProto *node, const char *name, const char **text, size_t *size);
bool node_ints(const Onnx__NodeProto *node, const char *name, const int64_t **values, size_t *count);
bool node_floats(const Onnx__NodeProto *node, const char *name, const float **values, size_t *count);
const Onnx__TensorProto *node_tensor(const Onnx__NodeProto *node, const char *name); /* or NULL */
Onnx__GraphProto *node_graph(const Onnx__NodeProto *node, const char *name);         /* or NULL */

/* Whether the node is a Constant: its value is given in the model, not computed. */
bool node_is_constant(const Onnx__NodeProto *node);

/* A tensor's ValueInfoProto or TypeProto on its own; shape NULL: unknown, a dim of -1: symbolic. */
Onnx__TypeProto *type_make(struct arena *arena, enum dtype type, const struct shape *shape);
Onnx__ValueInfoProto *value_info_make(struct arena *arena, const char *name, Onnx__TypeProto *type);

#endif
