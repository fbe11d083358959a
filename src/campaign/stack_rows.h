/*
 * A finished case that is a stack of samples, cut into its samples again, each with the verdicts on it. They
 * are those of a first look, without settling: what looks like a finding has to be judged alone.
 */
#ifndef CAMPAIGN_STACK_ROWS_H
#define CAMPAIGN_STACK_ROWS_H

#include "compare/batch.h"
#include "trial/trial.h"

struct stack_rows {
    const struct trial_done *whole;
    size_t count;
    struct batch batch; /* the answers of the engines and, behind them, of the reference; borrowed */
    struct batch_row row;
    size_t n_expected;
    struct bounded *expected; /* the reference's outputs of the whole stack */
    struct trial_done done;   /* the sample at hand */
};

/*
 * Fails, without a message, when an engine's answer cannot be cut: it ended in the run, or the answer has
 * another shape. Then the samples have to be run alone. Close the rows also after a failure.
 */
int stack_rows_open(struct stack_rows *rows, const struct trial_done *whole, size_t count);
void stack_rows_close(struct stack_rows *rows);

/* The answers and verdicts of one sample, until the next call. */
const struct trial_done *stack_rows_at(struct stack_rows *rows, size_t sample);

#endif
