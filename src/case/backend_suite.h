/*
 * Test cases on disk in ONNX's backend-test layout: a folder with model.onnx and test_data_set_K/input_K.pb
 * and output_K.pb. Only names are kept here; suite_load reads one case when its turn comes.
 */
#ifndef CASE_BACKEND_SUITE_H
#define CASE_BACKEND_SUITE_H

#include "base/arena.h"
#include "model/model.h"

enum { SUITE_MAX_DEPTH = 16 };

struct suite_case {
    const char *name; /* path below the folder it was found in; the folder's own name for a single case */
    const char *folder;
    size_t sets;
    const char **set; /* folders of data sets */
};

struct suite {
    struct arena arena;
    size_t count, capacity;
    struct suite_case *cases;
};

/*
 * All cases in and below the given folders, in order of their names. A pattern (may be NULL) keeps only the
 * cases whose name matches it as a shell does. Fails when a folder has no case at all, so that a mistyped
 * path cannot pass for success.
 */
int suite_open(struct suite *suite, const char *const *folders, size_t count, const char *pattern,
               struct error *err);
void suite_release(struct suite *suite); /* also after a failure */

/* One data set, ready to run. */
struct suite_data {
    size_t n_inputs, n_outputs;
    struct value *inputs, *outputs; /* outputs may be fewer than the model's, or none */
};

/* A case in memory. */
struct suite_loaded {
    char *path; /* absolute */
    struct model *model;
    char *misfit; /* how a data set's inputs are not what the model wants (case/inputs.h); or NULL */
    bool random; /* draws random numbers: only types and shapes of its outputs can be held against anything */
    size_t sets;
    struct suite_data *data;
    size_t size; /* bytes of model and data, roughly */
};
int suite_load(const struct suite_case *entry, struct suite_loaded *loaded, struct error *err);
void suite_unload(struct suite_loaded *loaded); /* also after a failure */

#endif
