/*
 * Which kind of case to draw next, by what the kinds found so far for what they cost.
 *
 * A case is a choice of one arm of each factor: of how many blocks it consists (a single operator, a small
 * graph, a large one) and, of a single operator, which one it is, from which opsets, of which element types,
 * how its shapes lie to the boundaries of past causes, what is constant, and the fill. The factors are taken
 * as independent. Each arm gets a share of the work that grows with its yield, the findings that it was the
 * first to meet for each unit of work, and never less than a small share: what yields nothing now may be all
 * that is left when the others are exhausted. Findings of one operator are often one bug in several forms, so
 * each tells less of the other factors than the one before. What all engines turned out to lack, an operator
 * with types or at opsets of an arm, is not drawn again. The cost of a case is counted in blocks, not in
 * seconds, so that the same findings lead to the same choices on any machine.
 */
#ifndef GUIDE_YIELD_H
#define GUIDE_YIELD_H

#include "base/error.h"
#include "base/random.h"
#include "base/str.h"

#include <stddef.h>

enum yield_factor {
    YIELD_KIND,
    YIELD_OPSET,
    YIELD_TYPES,
    YIELD_SIZES,
    YIELD_CONSTANTS,
    YIELD_FILL,
    YIELD_OPERATOR, /* the last, as there are as many arms as operators */
    YIELD_FACTORS
};

/* Arms of the factors that are named; those of the others are the values of an enum or rows of the table. */
enum { KIND_SINGLE, KIND_SMALL, KIND_LARGE, YIELD_KINDS };
enum { OPSETS_OLD, OPSETS_MIDDLE, OPSETS_LAST, OPSETS_NEWER, YIELD_OPSETS };
enum { TYPES_USUAL, TYPES_HALF, TYPES_DOUBLE, TYPES_BYTES, TYPES_WORDS, TYPES_NARROW, YIELD_TYPES_ARMS };

enum { YIELD_OPERATORS = 320, YIELD_ARMS = YIELD_KINDS + YIELD_OPSETS + YIELD_TYPES_ARMS + 4 + 3 + 3 };

enum { YIELD_FULL = 60, YIELD_PAIRS = YIELD_OPERATORS * (YIELD_TYPES_ARMS + YIELD_OPSETS) };

struct yield {
    uint64_t cost[YIELD_ARMS + YIELD_OPERATORS];
    uint64_t found[YIELD_ARMS + YIELD_OPERATORS]; /* a finding is YIELD_FULL */
    /* Of each operator and arm of types, and arm of opsets: cases that no engine took, and others. */
    uint64_t lacked[YIELD_PAIRS], taken[YIELD_PAIRS];
};

struct yield_choice {
    size_t arm[YIELD_FACTORS];
};

size_t yield_arms(enum yield_factor factor);

/* Draws an arm of the factor. allowed: for each arm whether it can be drawn at all, one of them at least. */
size_t yield_choose(const struct yield *yield, enum yield_factor factor, const bool *allowed,
                    struct rng *rng);

/* How many blocks a case of that kind is to have; 0: it is a single operator. */
size_t yield_blocks(size_t kind, struct rng *rng);

/* A case of these arms was made, and it found something; of graphs only the kind counts. */
void yield_add_case(struct yield *yield, const struct yield_choice *choice, size_t blocks);
void yield_add_found(struct yield *yield, const struct yield_choice *choice);

/* Whether engines took it; and whether the arm of types or of opsets is worth drawing for the operator. */
void yield_add_answer(struct yield *yield, const struct yield_choice *choice, bool taken);
bool yield_is_there(const struct yield *yield, size_t operator, enum yield_factor factor, size_t arm);

/* What was added since `before` (all zero: everything), as short text; yield_fold goes past it, and adds it.
 */
void yield_write(const struct yield *yield, const struct yield *before, struct str *out);
int yield_fold(struct yield *yield, const char **text, struct error *err);

#endif
