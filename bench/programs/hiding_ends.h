/*
 * Ends of models that leave nothing of an error in what they are given: a saturated Softmax, an ArgMax, a
 * comparison with a number that is far away.
 */
#ifndef BENCH_HIDING_ENDS_H
#define BENCH_HIDING_ENDS_H

#include "model/model.h"
#include "tensor/dtype.h"

struct hiding_end {
    const char *name;
    enum dtype type; /* of the result */
    /* Makes `to` of `from`, which is float32 of the shape [1,count]. */
    void (*add)(struct model *model, const char *from, const char *to, int64_t count);
};

enum { HIDING_ENDS = 12 };
extern const struct hiding_end hiding_ends[HIDING_ENDS];

#endif
