/*
 * Which values of a graph have rows: places along the first axis that no other row has an influence on, as
 * the samples of a batch.
 *
 * Rows start at inputs of the case and are followed through the operators that are known to keep them apart.
 * At any other operator that they reach the question is given up, and so it is where a size that the model
 * fixes would have to change.
 */
#ifndef RULES_ROW_WISE_H
#define RULES_ROW_WISE_H

#include "rules/rewrite.h"

struct row_wise {
    struct rewrite *rewrite;
    int64_t rows;  /* how many there are */
    bool *batched; /* owned; for each value of the rewrite's index, whether it has the rows of the inputs */
};

/* Chooses inputs of the case and follows their rows to the outputs. False when that fails for every choice,
 * or no output has rows; there is nothing to release then. */
bool row_wise_init(struct row_wise *row_wise, struct rewrite *rewrite);
void row_wise_release(struct row_wise *row_wise);

bool row_wise_is(const struct row_wise *row_wise, const char *name);

#endif
