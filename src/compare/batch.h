/*
 * Samples that an engine answers in one run: stacked along the first axis of every input, and the answer cut
 * apart again.
 *
 * A model whose inputs all leave their first dimension open may be run so, if its samples do not mix; that is
 * tried (batch_separable). An engine that fails on a stack, or answers in another shape, is asked for each
 * sample alone.
 */
#ifndef COMPARE_BATCH_H
#define COMPARE_BATCH_H

#include "case/inputs.h"
#include "engine/pool.h"
#include "judge/metrics.h"

/* One engine's answer to a batch: one result for all samples, or one for each. */
struct batch_answer {
    bool alone; /* one for each */
    struct result *results;
};

struct batch {
    size_t first, count; /* samples */
    size_t n_inputs;
    struct value *inputs; /* stacked */
    uint64_t hash;        /* of the inputs; see answer_cache.h */
    size_t engines;
    struct batch_answer *answers;
    struct value *views; /* of each sample's inputs; made by batch_views */
};

/* Makes the inputs of samples first ... first + count - 1. */
int batch_init(struct batch *batch, const struct inputs *inputs, size_t first, size_t count, size_t engines,
               struct error *err);
void batch_release(struct batch *batch);
size_t batch_size(const struct batch *batch); /* bytes of the inputs */

/* The inputs of sample number k of the batch; they live as long as the batch and are not to be released. */
const struct value *batch_views(struct batch *batch, size_t k);

/* Room for an engine's results: one, or one a sample. What was there is released. */
void batch_answer_reset(struct batch *batch, size_t engine, bool alone);

/* Whether an answer to the stack can be told apart into samples, or holds for all of them. False: the samples
 * should be run alone. */
bool batch_answer_usable(const struct batch *batch, const struct result *result);

/*
 * One sample of the answers of all engines, as shallow copies that share everything with the batch and are
 * not to be released. Times are counted with the batch's first sample.
 */
struct batch_row {
    size_t engines, capacity; /* of values and tensors, for each engine */
    struct result *results;
    struct value **values;
    struct tensor **tensors;
    size_t *sizes;
};
void batch_row_init(struct batch_row *row, size_t engines);
void batch_row_release(struct batch_row *row);
void batch_row_fill(struct batch_row *row, const struct batch *batch, size_t k);

/* Whether the model's inputs all leave their first dimension open and the data set's samples have 1 there. */
bool batch_possible(const struct inputs *inputs);

/*
 * Whether the first two samples, stacked, give what they give alone, on `engine` of the pool. `job` has the
 * model.
 */
bool batch_separable(struct pool *pool, int engine, const struct job *job, const struct inputs *inputs,
                     const struct metrics_tolerance *tolerance);

#endif
