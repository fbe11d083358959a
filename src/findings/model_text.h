/*
 * Prints a model as complete ONNX text. (libonnx's printer leaves out initialisers, and prints the float 1 so
 * that it is read back as an integer.) onnx.parser can read the text if all names are identifiers and all
 * constants are small; of a large constant only type and shape are printed, with a comment.
 */
#ifndef FINDINGS_MODEL_TEXT_H
#define FINDINGS_MODEL_TEXT_H

#include "base/str.h"
#include "model/model.h"

enum { MODEL_TEXT_ELEMENTS = 64 }; /* a constant with more elements is large */

/* Appends the text. After `limit` bytes it is cut off, with a comment; 0 means no limit. */
void model_text(struct str *out, const struct model *model, size_t limit);

/*
 * Appends the text if onnx.parser makes the same model of it, which is tried: the text of what libonnx's
 * parser makes of it is the same again. False, with nothing appended, when not, or where the text does not
 * say everything: functions, sparse constants, values without a shape, empty lists.
 */
bool model_text_parsed(struct str *out, const struct model *model);

/* Appends the elements as "1, 2.5, nan": at most `most` of them, then "...". Strings are quoted. One whose
 * hard bound is infinite is "?"; `hard` may be NULL. */
void model_text_elements(struct str *out, const struct tensor *tensor, const struct tensor *hard,
                         size_t most);

/* Returns the name of an ONNX element type in ONNX text: "float", "int64", "float16". */
const char *model_text_type(int type);

#endif
