/* A job is a case for one engine: a model and its inputs, as they are given to a pool (engine/pool.h). */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include "tensor/tensor.h"

/* What a job that asks for gradients needs besides the inputs, as in engine.proto. */
struct job_gradient {
    size_t n_upstream;
    const struct value *upstream; /* derivatives by outputs, named as these are; those not named are 0 */
    size_t n_wanted;              /* inputs and initialisers; 0: all of floating-point type */
    const char *const *wanted;
};

struct job_set {
    size_t n_inputs;
    const struct value *inputs;
    const struct job_gradient *gradient; /* the gradients at these inputs are asked for; NULL: the outputs */
};

/* Model and inputs are borrowed until the job's last result arrives. engine/handover.h fills in the model. */
struct job {
    int engine;        /* number from pool_add */
    const void *model; /* the serialised model, or NULL when `path` is set */
    size_t model_size;
    const char *path; /* the model's file, or NULL */
    size_t n_outputs; /* wanted outputs; 0: all */
    const char *const *outputs;
    size_t n_inputs;
    const struct value *inputs;
    const struct job_gradient *gradient; /* as in job_set, for a single set */
    size_t n_sets; /* sets of inputs to run on the model, which is loaded once; 0: one set, `inputs` */
    const struct job_set *sets;
    size_t set;  /* filled in by pool_next: the set to which the result belongs; ignored by pool_submit */
    bool bounds; /* ask for error bounds */
    bool narrow; /* ... which do not allow for every algorithm, and say so (struct wire_bounds) */
    bool only_judged; /* ... in which elements that cannot be judged may have any number */
    bool trace;       /* ask what the engine does (result.trace), which takes time; not with `stay` */
    int repeat; /* further runs, whose outputs are compared bit by bit with those of the first; see pool_next
                 */
    bool keep_other; /* where some of them differ, the first that does is the result, not the first run */
    /* Not 0: the model stays loaded, and the next job with this number, which has the same model and outputs,
     * finds it so, unless the worker has loaded another one or has ended meanwhile. */
    size_t stay;
    double deadline; /* seconds for each request; 0: the pool's deadline */
    void *user;      /* the caller's own; comes back with the result */
};

#endif
