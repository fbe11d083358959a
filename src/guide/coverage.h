/*
 * Operator-level coverage of a set of models (Luo et al., "Graph-based Fuzz Testing for Deep Learning
 * Inference Engines"), and coverage of pairs of attribute values.
 *
 * The corpus is the list of operators that count, each with its allowed in- and out-degrees; nodes of other
 * operators are ignored. For an operator c of the corpus, with n operators in all:
 *     OTC  1 when c occurs
 *     IDC  different in-degrees seen / allowed ones
 *     ODC  different out-degrees seen / allowed ones
 *     SEC  different operators that results of c flow into / n
 *     SPC  distinct vectors of shapes and parameters / n_max, at most 1
 *     OLC  weighted mean of the five
 * For the set each figure is the mean over all operators, and OLC the weighted mean of the five.
 *     PAIR pairs of values of two parameters seen / pairs there are, over the rows of the operator table
 *          (coverage_param.h says what counts as a value); not part of OLC
 */
#ifndef GUIDE_COVERAGE_H
#define GUIDE_COVERAGE_H

#include "base/str.h"
#include "guide/coverage_record.h"

enum { COVERAGE_DEGREES = 32 };

struct coverage;

struct coverage_options {
    size_t n_max;      /* vectors of an operator that count as full coverage; 0: 200 */
    double weights[5]; /* of OTC, IDC, ODC, SEC, SPC; all 0: 1 each */
};

struct coverage *coverage_new(const struct coverage_options *options); /* NULL: the defaults */
void coverage_free(struct coverage *coverage);

/*
 * Adds an operator to the corpus; bit i of a set stands for degree i. Only before the first model. False when
 * it is already there.
 */
bool coverage_add_op(struct coverage *coverage, const char *name, uint32_t in_degrees, uint32_t out_degrees);

/*
 * Adds a row of the operator table. Its in-degrees are 1 (0 when it needs no input) to its largest number of
 * inputs, or to 5 when that is unlimited; its out-degrees are 0 to 5, as in the paper.
 */
bool coverage_add_row(struct coverage *coverage, const struct op *op);

size_t coverage_ops(const struct coverage *coverage);
const char *coverage_op_name(const struct coverage *coverage, size_t op);
bool coverage_find(const struct coverage *coverage, const char *name, size_t *op);

/* What a model adds: the number of new items of each kind. */
struct coverage_gain {
    size_t types, in_degrees, out_degrees, edges, vectors; /* the items that OLC counts */
    size_t pairs;
    double olc; /* the increase of the OLC of the set */
};
bool coverage_grows(const struct coverage_gain *gain); /* has a new item that OLC counts */

struct coverage_gain coverage_add(struct coverage *coverage, const struct coverage_record *record);

/* What a model would add, without adding it; pairs are not counted. */
struct coverage_gain coverage_peek(struct coverage *coverage, const struct coverage_record *record);

struct coverage_figures {
    double otc, idc, odc, sec, spc, olc, pairs; /* 0 to 1 */
};
struct coverage_figures coverage_of(const struct coverage *coverage, size_t op);
struct coverage_figures coverage_total(const struct coverage *coverage);
double coverage_olc(const struct coverage *coverage, size_t op); /* coverage_of().olc, cheaply */
double coverage_spc(const struct coverage *coverage, size_t op); /* coverage_of().spc, cheaply */

/* Writes the coverage as text, and reads it into a coverage of the same corpus (else ERROR_FORMAT). */
void coverage_write(const struct coverage *coverage, struct str *out);
int coverage_read(struct coverage *coverage, const char *text, struct error *err);

/*
 * What `coverage` has that `before` lacks, as short text (base/packed.h); NULL: all that it has.
 * coverage_fold adds such a difference to a coverage of the same corpus, and goes past it: a union, in which
 * each operator keeps the first vectors up to n_max. It trusts nothing.
 */
void coverage_difference(const struct coverage *coverage, const struct coverage *before, struct str *out);
int coverage_fold(struct coverage *coverage, const char **text, struct error *err);

void coverage_clear(struct coverage *coverage);

/* Makes `coverage` a copy of another of the same corpus. */
void coverage_copy(struct coverage *coverage, const struct coverage *other);

#endif
