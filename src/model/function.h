/*
 * Functions: operators that are defined by nodes, in a model's own list of functions or in ONNX's schemas,
 * and calls of them replaced by these nodes.
 */
#ifndef MODEL_FUNCTION_H
#define MODEL_FUNCTION_H

#include "model/model.h"

/* The function of the model that a node calls; NULL when it calls none. */
const Onnx__FunctionProto *model_function(const struct model *model, const Onnx__NodeProto *node);

enum { FUNCTION_MAX_NODES = 30000 };

/*
 * Fails with ERROR_LIMIT when calls of functions stand for more than FUNCTION_MAX_NODES nodes, as 15
 * functions that each call the one before twice do; and when a function calls itself, directly or through
 * others: "One FunctionProto can reference other FunctionProto in the model, however, recursive reference is
 * not allowed" (onnx.proto, ModelProto.functions). model_load and model_parse call it, so that whoever
 * follows calls comes to an end.
 */
int functions_check(const struct model *model, struct error *err);

/* The version of an operator set that a function, or a model, imports; 0 when it imports none. "ai.onnx" is
 * the same as "". */
int64_t function_opset(const Onnx__FunctionProto *function, const char *domain);
int64_t model_opset_of(const struct model *model, const char *domain);

/* Makes a name that nothing in the model has; `stem` may be part of it. */
typedef const char *function_namer(void *context, const char *stem);

/*
 * Replaces a node of the top graph by the nodes of a function's body, which are appended. Attributes that the
 * body refers to are those of the call or, where it lacks them, those of `defaults` (NULL: the function's own
 * defaults); an attribute that neither has is left out. An input that the call omits is omitted in the body.
 */
void function_inline(struct model *model, const Onnx__NodeProto *call, const Onnx__FunctionProto *function,
                     const Onnx__NodeProto *defaults, function_namer *namer, void *context);

/*
 * Inlines all calls of the model's own functions in the top graph, also those that functions make, if the
 * function imports the default operator set at the model's version; other calls stay. Fails as
 * functions_check does.
 */
int model_inline_functions(struct model *model, struct error *err);

#endif
