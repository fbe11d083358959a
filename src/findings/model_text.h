/*
 * A model as ONNX text, complete: libonnx's printer leaves out initialisers, and prints a float of 1 so that
 * it reads back as an integer. What is printed reads back with onnx.parser where all names are identifiers
 * and all constants are small; of a large one only type and shape stand there, with a comment.
 */
#ifndef FINDINGS_MODEL_TEXT_H
#define FINDINGS_MODEL_TEXT_H

#include "base/str.h"
#include "model/model.h"

enum { MODEL_TEXT_ELEMENTS = 64 }; /* of a constant that is printed whole */

/* Appends it. limit: bytes after which it is cut with a comment; 0: none. */
void model_text(struct str *out, const struct model *model, size_t limit);

/* Appends "1, 2.5, nan": at most `most` elements and then "...". Strings are quoted. */
void model_text_elements(struct str *out, const struct tensor *tensor, size_t most);

/* "float", "int64", "float16": as ONNX text has them. */
const char *model_text_type(int type);

#endif
