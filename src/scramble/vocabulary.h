/*
 * What in a model are words of ONNX and of ONNX Runtime, and not of whoever made the model: operators, their
 * attributes, and the texts that these may be set to.
 */
#ifndef SCRAMBLE_VOCABULARY_H
#define SCRAMBLE_VOCABULARY_H

#include "model/model.h"

/* Whether the domain is ONNX's or ONNX Runtime's: "", ai.onnx, ai.onnx.ml, com.microsoft ... */
bool is_public_domain(const char *domain);

/* Whether an operator of this name, in whatever domain, is one of ONNX's. */
bool is_public_name(const char *name);

/* Whether the node's operator is public: one that libonnx or the operator table has, or any of com.microsoft,
 * and not a function of the model. */
bool is_public_operator(const struct model *model, const Onnx__NodeProto *node);

/* Whether a text of an attribute is one that the operator's own text has ("SAME_UPPER"), or what ONNX gives a
 * grammar to (the equation of an Einsum), so that it is the operator's setting and no word of the model's. */
bool is_public_text(const struct model *model, const Onnx__NodeProto *node, const char *attribute,
                    const char *text);

#endif
