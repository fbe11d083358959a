/*
 * What libonnx does better than we should by hand, behind one extern "C" file (onnx_shim.cc). Models go in
 * and out as serialised bytes; results are heap memory the caller frees.
 *
 * Debian 12's libonnx is 1.12: it knows opsets up to onnx_max_opset(). A model of a newer opset is "not
 * checkable here": the functions then return ONNX_UNCHECKABLE, which is not an error. An IR version newer
 * than libonnx's own is lowered for the check alone.
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

/* 0 valid, -1 invalid (why is in err), ONNX_UNCHECKABLE. */
int onnx_check(const uint8_t *model, size_t size, struct error *err);

/* A copy with value_info filled in. strict: contradictions are errors. */
int onnx_infer_shapes(const uint8_t *model, size_t size, int strict, uint8_t **out, size_t *out_size,
                      struct error *err);

/*
 * ONNX text form: a whole model. The printer of 1.12 writes for people: it leaves out initialisers and names
 * of nodes, and what it writes cannot always be read back (a float attribute of 1 prints as the integer 1, an
 * omitted first output as nothing). Models are kept as bytes.
 */
int onnx_parse_text(const char *text, uint8_t **model, size_t *size, struct error *err);
int onnx_print_text(const uint8_t *model, size_t size, char **text, struct error *err);
int onnx_convert_opset(const uint8_t *model, size_t size, int opset, uint8_t **out, size_t *out_size,
                       struct error *err);

/* One operator's schema at an opset, as libonnx has it. */
struct onnx_schema {
    int since;
    int min_inputs, max_inputs, min_outputs, max_outputs; /* max INT_MAX: variadic */
    int has_function_body; /* also one that depends on the node, which onnx_function_body cannot give */
    int deprecated;
};
/* 0 found, -1 no such operator (err says so). domain "" is the default one. */
int onnx_schema(const char *domain, const char *op_type, int opset, struct onnx_schema *schema,
                struct error *err);

/* The function body of an operator as a serialised FunctionProto; -1 when it has none. */
int onnx_function_body(const char *domain, const char *op_type, int opset, uint8_t **function, size_t *size,
                       struct error *err);

#ifdef __cplusplus
}
#endif
#endif
