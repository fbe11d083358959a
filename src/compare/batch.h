/*
 * Samples that an engine answers in one run: stacked along the first axis of every input, and the answer cut
 * apart again.
 *
 * A model whose inputs all leave their first dimension open may be run so, if its samples do not mix; that is
 * tried (group_separable). An engine that fails on a stack, or answers in another shape, is asked for each
 * sample alone.
 */
#ifndef COMPARE_BATCH_H
#define COMPARE_BATCH_H

#include "case/inputs.h"
#include "engine/pool.h"
#include "judge/metrics.h"

/* One engine's answer to a group: one result for all samples, or one for each. */
struct group_answer {
    bool alone; /* one for each */
    struct result *results;
};

struct group {
    size_t first, count; /* samples */
    size_t n_inputs;
    struct value *inputs; /* stacked */
    uint64_t hash;        /* of the inputs; see answers.h */
    size_t engines;
    struct group_answer *answers;
    struct value *views; /* of each sample's inputs; made by group_views */
};

/* Makes the inputs of samples first ... first + count - 1. */
int group_init(struct group *group, const struct inputs *inputs, size_t first, size_t count, size_t engines,
               struct error *err);
void group_release(struct group *group);
size_t group_size(const struct group *group); /* bytes of the inputs */

/* The inputs of sample number k of the group; they live as long as the group and are not to be released. */
const struct value *group_views(struct group *group, size_t k);

/* Room for an engine's results: one, or one a sample. What was there is released. */
void group_answer_reset(struct group *group, size_t engine, bool alone);

/* Whether an answer to the stack can be told apart into samples, or holds for all of them. False: the samples
 * should be run alone. */
bool group_answer_usable(const struct group *group, const struct result *result);

/*
 * One sample of the answers of all engines, as shallow copies that share everything with the group and are
 * not to be released. Times are counted with the group's first sample.
 */
struct group_row {
    size_t engines, capacity; /* of values and tensors, for each engine */
    struct result *results;
    struct value **values;
    struct tensor **tensors;
    size_t *sizes;
};
void group_row_init(struct group_row *row, size_t engines);
void group_row_release(struct group_row *row);
void group_row_fill(struct group_row *row, const struct group *group, size_t k);

/* Whether the model's inputs all leave their first dimension open and the data set's samples have 1 there. */
bool group_possible(const struct inputs *inputs);

/*
 * Whether the first two samples, stacked, give what they give alone, on `engine` of the pool. `job` has the
 * model.
 */
bool group_separable(struct pool *pool, int engine, const struct job *job, const struct inputs *inputs,
                     const struct metrics_tolerance *tolerance);

#endif
