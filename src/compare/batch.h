/*
 * A batch: samples that an engine answers in one run. They are stacked along the first axis of every input,
 * and the answer is cut into samples again.
 *
 * This is possible for a model whose inputs all leave their first dimension open, and right if samples do not
 * influence each other, which is tried out (batch_separable). An engine that fails on a batch, or answers in
 * another shape, has to run each sample alone.
 */
#ifndef COMPARE_BATCH_H
#define COMPARE_BATCH_H

#include "case/inputs.h"
#include "engine/pool.h"
#include "judge/metrics.h"

/* One engine's answer to a batch: one result for all samples, or one for each. */
struct batch_answer {
    bool alone; /* results has one for each sample; else a single one */
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

/* Stacks the inputs of samples first ... first + count - 1. Fails when these differ in type or shape. */
int batch_init(struct batch *batch, const struct inputs *inputs, size_t first, size_t count, size_t engines,
               struct error *err);
void batch_release(struct batch *batch);
size_t batch_size(const struct batch *batch); /* bytes of the inputs */

/* The inputs of the batch's k-th sample. They belong to the batch; do not release them. */
const struct value *batch_views(struct batch *batch, size_t k);

/* Makes room for an engine's results, one for each sample or a single one; releases earlier ones. */
void batch_answer_reset(struct batch *batch, size_t engine, bool alone);

/*
 * Whether an answer to the batch can be cut into samples, or holds for all of them (such as a missing
 * operator). When false, the samples should be run alone.
 */
bool batch_answer_usable(const struct batch *batch, const struct result *result);

/*
 * The answers of all engines to one sample of a batch. They are shallow copies that share their data with the
 * batch; do not release them one by one. The time of the whole batch is counted with its first sample.
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

/* Whether all inputs of the model leave their first dimension open, and the samples have size 1 there. */
bool batch_possible(const struct inputs *inputs);

/*
 * Whether the first two samples give the same in one batch as alone, on engine number `engine` of the pool.
 * `job` has the model.
 */
bool batch_separable(struct pool *pool, int engine, const struct job *job, const struct inputs *inputs,
                     const struct metrics_tolerance *tolerance);

#endif
