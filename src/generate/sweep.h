/*
 * Sweeps: cases that hold every value of a type side by side in one tensor, for the operators of which the
 * table says that each element of the result follows from one element, or from two (struct op_each).
 *
 * A case has one operator, one element type and one class of attributes, as the operator's sampler draws
 * them. Types of up to 16 bits are there with all their bit patterns, wider floats with all exponents and
 * some mantissas of each, wider integers around all powers of two and at random. Two operands of up to 8 bits
 * are there with all pairs, wider ones with all pairs of 256 numbers.
 */
#ifndef GENERATE_SWEEP_H
#define GENERATE_SWEEP_H

#include "generate/operator_case.h"

/* How the elements lie: kernels have loops of their own for each. Their names are part of the recipe. */
enum sweep_form {
    SWEEP_RUN,    /* one dimension, all values; of products a row and a column */
    SWEEP_IMAGE,  /* the same in [1, channels, height, width] */
    SWEEP_TURNED, /* an image that a node before has turned from [1, height, width, channels] */
    SWEEP_TAILS,  /* vectors of SWEEP_FIRST_LENGTH to SWEEP_LAST_LENGTH elements, each with a node of its own;
                     with an offset, they are parts of longer ones, which begin there */
    SWEEP_FORMS
};
enum { SWEEP_FIRST_LENGTH = 1, SWEEP_LAST_LENGTH = 67, SWEEP_LAST_OFFSET = 16 };
const char *sweep_form_name(enum sweep_form form);

/* Classes of scales for operators that quantize; a zero point is a bit pattern of its type. */
enum { SWEEP_SCALES = 8 };

struct sweep {
    const struct op *op;
    enum dtype type; /* of the first operand */
    int opset;
    enum sweep_form form;
    uint64_t seed, index; /* of the sampler */
    int scale;            /* a class, plus 1; 0: as it is drawn */
    int zero;             /* of the zero point, plus 1; 0: as it is drawn */
    int offset;           /* of SWEEP_TAILS */
    int phase;            /* the order of a list; no part of the recipe */
};

struct sweep_list {
    size_t count, capacity;
    struct sweep *items;
};

/*
 * All cases that the options allow (ops, opset, types, lacks), in an order that makes the best of limited
 * time: one case of each operator and type first. Without an opset, each operator and type comes at the
 * newest opset up to OPSET_LAST that `lacks` leaves, else at the oldest one after that.
 */
void sweep_list_init(struct sweep_list *list, uint64_t seed, const struct generate_options *options);
void sweep_list_release(struct sweep_list *list);

/* The recipe, as a heap string: "sweep seed=1 index=0 ops=Sqrt opset=21 types=float16 form=run". */
char *sweep_recipe(const struct sweep *sweep);

/* Takes one of the words of a recipe that only sweeps have; -1 when it is none. */
int sweep_parse_word(struct sweep *sweep, const char *word, const char *value);

/* The sampler's draw of number sweep->index for a first operand of the type and shape of `given`; -1 when
 * there is none. draw_release is to be called in any case. */
int sweep_draw(struct draw *d, struct arena *arena, const struct sweep *sweep, const struct drawn *given);

/* Makes the case; fails with ERROR_NOT_FOUND when the sampler finds no such node. */
int sweep_make(const struct sweep *sweep, struct test_case **out, struct error *err);

#endif
