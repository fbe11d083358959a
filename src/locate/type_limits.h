/*
 * Numbers that their type cannot hold: the node of a case at which float16, bfloat16, an 8-bit or any other
 * type overflows, or at which numbers are so small that they become 0, where that decides the answer.
 *
 * The reference evaluates the model without rounding, and looks at what it puts beyond the range of each
 * node's type (bounded_note_beyond). Many of these do no harm, as a mask of minus infinity does; a node is
 * named only if the answer with everything kept as it is becomes another one when the type limits the results
 * of this node alone, and the first such node is. What an engine did about them follows from which of three
 * answers its own is like: the one with infinities, the one that saturates, the one that keeps them wide.
 *
 * This explains what was judged already; it never judges.
 */
#ifndef LOCATE_TYPE_LIMITS_H
#define LOCATE_TYPE_LIMITS_H

#include "base/str.h"
#include "case/test_case.h"
#include "ops/op.h"

enum limit_kind { LIMIT_NONE = 0, LIMIT_OVERFLOW, LIMIT_UNDERFLOW };

/* What an engine made of the numbers. */
enum limit_handling {
    HANDLED_UNKNOWN = 0, /* its answer is like none of them, or these are too alike */
    HANDLED_BY_TYPE,     /* infinities, or zeros */
    HANDLED_SATURATED,   /* the largest number of the type */
    HANDLED_WRAPPED,     /* whole numbers only: their low bits */
    HANDLED_WIDE,        /* kept: it computes with a wider type than the model says */
};

struct type_limit {
    enum limit_kind kind;
    size_t node; /* its number in graph->node */
    enum dtype type;
    size_t elements, total; /* of its first output that has such elements */
    double farthest;        /* the largest of them; of underflow the largest that becomes 0 */
    double limit;           /* where the type ends, or its smallest number */
};

/* Whether a node that was just evaluated, with or without rounding, has such results. */
bool type_limit_touched(const struct bounded *outputs, size_t count);

/*
 * Whether all that such a value is beyond its type are elements that become 0 beside a large one in their
 * row, as the probability of a place that is masked does. In a sum of products nobody can tell these from 0.
 */
bool type_limit_drowns(const struct bounded *output);

/* Fails when the reference cannot evaluate the case. Evaluates the model some times, once where that takes
 * long: then nothing is found. */
int type_limit_find(struct type_limit *limit, const struct test_case *test, struct error *err);

/* What the engine that answered with these outputs did about `limit`, which type_limit_find has found. */
enum limit_handling type_limit_handling(const struct type_limit *limit, const struct test_case *test,
                                        const struct value *outputs, size_t count);

/* Appends "Pow (node p) overflows float16: 221 of 768 elements, up to 520196 where the type ends at 65504".
 */
void type_limit_text(struct str *out, const struct type_limit *limit, const struct model *model);

/* "keeps them wide", "gives infinity", "saturates"; NULL: nothing is known. */
const char *type_limit_word(const struct type_limit *limit, enum limit_handling handling);

#endif
