/*
 * Values of parameters as the operator table writes them (ops/op.h): "0|1" is a choice of two, "1..6" a
 * range, "1,2" a list.
 */
#ifndef OPS_PARAM_VALUE_H
#define OPS_PARAM_VALUE_H

#include "base/random.h"
#include "base/str.h"
#include "ops/op.h"

enum {
    PARAM_LIST = 64,  /* the most numbers in a list */
    PARAM_WORD = 200, /* room for one value */
};

/* Whether the operator has the parameter at an opset. */
bool param_exists(const struct op_param *param, int opset);

/* The parameter behind `after` (NULL: the first) that the node takes from the value of this name; NULL when
 * there is none left. */
const struct op_param *param_taken(const Onnx__NodeProto *node, const char *name,
                                   const struct op_param *after);

/* The operator's first parameter of this name; NULL when it has none, or op is NULL. */
const struct op_param *param_named(const struct op *op, const char *name);

/* The name of the value that the node takes as the parameter of this name; NULL when it takes none. */
const char *param_input(const Onnx__NodeProto *node, const char *name);

/* Whether some node of the graph takes the value as a parameter, such as pads or a shape. */
bool param_is_value(const Onnx__GraphProto *graph, const char *name);

/*
 * Calls `give` for each legal value that the table has for the parameter, and its default: words as they
 * stand, of a range the ends, the middle and the whole numbers of a short one.
 */
void param_legal(const struct op_param *param, void (*give)(void *context, const char *value), void *context);

/* Whether two values are the same, as texts or as lists of numbers; "1" is the same as "1,1". */
bool param_same(const char *a, const char *b);

/* Draws one of `values`; a range of whole numbers gives whole numbers, unless `fractions`. False when there
 * are none. The text "" is a value like any other. */
bool param_draw(struct rng *rng, const char *values, bool fractions, char word[PARAM_WORD]);

/* The numbers of a list; 0 when the text is no list of at most PARAM_LIST numbers of that kind. */
size_t param_ints(const char *text, int64_t values[PARAM_LIST]);
size_t param_numbers(const char *text, long double values[PARAM_LIST]);

/* Appends "1,2.5". */
void param_list_text(struct str *out, const long double *numbers, size_t count);

/*
 * The length that a list attribute of the node has or, where it is left out, would have: one number for each
 * spatial axis of an input of that rank, two for pads.
 */
size_t param_list_length(const Onnx__NodeProto *node, const char *name, int rank);

/*
 * A list of that length with values[0] at one place, now and then at all, and what the attribute has (or,
 * where it is left out, 0 for pads, else 1) at the others. Returns the length; 1, with the list unchanged,
 * when the length is 0 or too large.
 */
size_t param_spread(struct rng *rng, const Onnx__NodeProto *node, const char *name, int rank,
                    int64_t values[PARAM_LIST]);

/*
 * Sets an attribute that is a parameter to a value in the table's form. `rank` is that of the node's first
 * input. One number for a list is spread by the random generator (param_spread), and a list of another length
 * than that of the attribute is cut or repeated, unless `as_it_is`; with rng NULL the list is the text's.
 * Fails when the text is no value of this kind, and for parameters that are no attributes.
 */
int param_set(struct arena *arena, Onnx__NodeProto *node, const struct op_param *param, int rank,
              bool as_it_is, struct rng *rng, const char *text);

/* The value of an attribute in the table's form: "2,2", "SAME_UPPER", "0.01". Tensors and graphs: "...". */
void param_text(struct str *out, const Onnx__AttributeProto *attribute);

#endif
