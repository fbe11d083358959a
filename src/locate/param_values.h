/*
 * Values of parameters as text: what is tried in place of a value, and how text becomes numbers again.
 */
#ifndef LOCATE_PARAM_VALUES_H
#define LOCATE_PARAM_VALUES_H

#include "base/str.h"
#include "ops/op.h"

enum { PARAM_NUMBERS = 64 };

/* The numbers of a list "1,2.5"; 0 when it is none or has more than PARAM_NUMBERS. */
size_t param_list_read(const char *text, double *numbers);

/* Appends "1,2.5". */
void param_list_text(struct str *out, const double *numbers, size_t count);

/* An attribute's value as text: "SAME_UPPER", "1,1", "0.5". Appends nothing for other kinds. */
void param_attribute_text(struct str *out, const Onnx__AttributeProto *attribute);

/* Whether two values are the same, as texts or as lists of numbers; "1" is the same as "1,1". */
bool param_same(const char *a, const char *b);

/*
 * Calls `give` for each value that the table has for the parameter, and its default: words as they stand, of
 * a range the ends, the middle and the whole numbers of a short one.
 */
void param_legal(const struct op_param *param, void (*give)(void *context, const char *value), void *context);

/* Sets an attribute of the parameter's kind. False when the text is no such value. */
bool param_put(struct arena *arena, Onnx__NodeProto *node, const struct op_param *param, const char *text);

#endif
