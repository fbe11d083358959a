/* A case for one engine: what a pool is given (engine/pool.h). */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include "tensor/tensor.h"

struct job_set {
    size_t n_inputs;
    const struct value *inputs;
};

/* Model and inputs are borrowed until the job's last result arrives. engine/handover.h fills in the model. */
struct job {
    int engine;        /* number from pool_add */
    const void *model; /* serialised, or */
    size_t model_size;
    const char *path; /* a file */
    size_t n_outputs; /* wanted outputs; 0: all */
    const char *const *outputs;
    size_t n_inputs;
    const struct value *inputs;
    size_t n_sets; /* of inputs, on a model loaded once, instead of `inputs`; 0: one set, `inputs` */
    const struct job_set *sets;
    size_t set;      /* from pool_next: which set the result is of; ignored by pool_submit */
    bool bounds;     /* ask for error bounds */
    int repeat;      /* further runs, whose outputs are compared bit by bit with the first; see pool_next */
    double deadline; /* 0: the pool's */
    void *user;
};

#endif
