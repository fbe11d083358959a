/*
 * The parts of libonnx that Assay uses (checker, shape inference, text form, version converter, schemas),
 * behind one extern "C" file (onnx_shim.cc). Models go in and out as serialised bytes; results are heap
 * memory that the caller frees.
 *
 * libonnx knows opsets up to onnx_max_opset(); Debian 12 has version 1.12. For a model of a newer opset the
 * functions return ONNX_UNCHECKABLE, which is not an error. An IR version newer than libonnx's own is lowered
 * for the check only.
 */
#ifndef MODEL_ONNX_H
#define MODEL_ONNX_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ONNX_UNCHECKABLE = 1 };

int onnx_max_opset(void);

/* Fills libonnx's table of schemas, which it otherwise does when it first needs one. That takes 15 ms, so who
 * calls libonnx in a fork for every model does this before. Cheap when it is done already. */
void onnx_prepare(void);

/* Checks a model: 0 valid, -1 invalid (err says why), or ONNX_UNCHECKABLE. */
int onnx_check(const uint8_t *model, size_t size, struct error *err);

/* A copy with value_info filled in. With `strict`, contradictions are errors. */
int onnx_infer_shapes(const uint8_t *model, size_t size, int strict, uint8_t **out, size_t *out_size,
                      struct error *err);

/*
 * The text form of a whole model, read and written. The printer of 1.12 writes for people: it leaves out
 * initialisers and the names of nodes, and its output cannot always be read back (a float attribute of 1 is
 * printed as the integer 1, an omitted first output as nothing). So models are stored as bytes.
 */
int onnx_parse_text(const char *text, uint8_t **model, size_t *size, struct error *err);
int onnx_print_text(const uint8_t *model, size_t size, char **text, struct error *err);

/* The model converted to another opset by the version converter. */
int onnx_convert_opset(const uint8_t *model, size_t size, int opset, uint8_t **out, size_t *out_size,
                       struct error *err);

/* An operator's schema at an opset, as libonnx has it. */
struct onnx_schema {
    int since;
    int min_inputs, max_inputs, min_outputs, max_outputs; /* max INT_MAX: variadic */
    int has_function_body; /* also when it depends on the node; onnx_function_body cannot give that one */
    int deprecated;
};
/* Returns 0, or -1 and an error when there is no such operator. domain "" is the default one. */
int onnx_schema(const char *domain, const char *op_type, int opset, struct onnx_schema *schema,
                struct error *err);

/* What ONNX's text says of an operator, or of the attribute, input or output `part` of it; "" where it has no
 * such part. The caller frees it. -1 as above. */
int onnx_schema_text(const char *domain, const char *op_type, int opset, const char *part, char **text,
                     struct error *err);

/* The function body of an operator as a serialised FunctionProto; -1 when it has none. */
int onnx_function_body(const char *domain, const char *op_type, int opset, uint8_t **function, size_t *size,
                       struct error *err);

/*
 * The function body of one node, given as a serialised NodeProto: the operator's own, or the one that its
 * schema builds for this node. `types` are the element types of the node's inputs (0: omitted or not known).
 * -1 when it has none.
 */
int onnx_function_body_for(const uint8_t *node, size_t node_size, int opset, const int *types, size_t n_types,
                           uint8_t **function, size_t *size, struct error *err);

/* The default values of an operator's attributes, as a serialised NodeProto with these attributes. */
int onnx_attribute_defaults(const char *domain, const char *op_type, int opset, uint8_t **node, size_t *size,
                            struct error *err);

#ifdef __cplusplus
}
#endif
#endif
