/*
 * Test cases on disk in ONNX's backend-test layout: a folder with model.onnx and test_data_set_K/input_K.pb
 * and output_K.pb. A suite keeps only names; suite_load reads one case when its turn comes. Writing one is
 * here, too.
 */
#ifndef CASE_BACKEND_SUITE_H
#define CASE_BACKEND_SUITE_H

#include "base/arena.h"
#include "case/test_case.h"

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

/* An entry of a suite in memory. */
struct suite_loaded {
    size_t sets;
    struct test_case **tests; /* one a data set; they have one model, mapped from its file */
    char *misfit; /* how a data set's inputs are not what the model wants (case/inputs.h); or NULL */
    size_t size;  /* bytes of model and data, roughly */
};
int suite_load(const struct suite_case *entry, struct suite_loaded *loaded, struct error *err);
void suite_unload(struct suite_loaded *loaded); /* also after a failure */

/* The only case in or below a folder, on its first data set, as the caller's own. Fails when there are
 * several, and when the inputs are not what the model wants. */
int suite_load_one(const char *folder, struct test_case **test, struct error *err);

/* Writes model.onnx, and test_data_set_0 with inputs and expected outputs, into a folder that exists. */
int suite_write(const char *folder, const struct test_case *test, struct error *err);

/* Writes output_0.pb ... into a folder, which is made where it is not there; no more than the model has. */
int suite_write_outputs(const char *folder, const struct model *model, const struct value *outputs,
                        size_t count, struct error *err);

/* Writes STEM_NUMBER.pb. A value of another type than the declared one (NULL: none is declared) is written as
 * what it is. */
int suite_write_value(const char *folder, const char *stem, size_t number, const Onnx__TypeProto *type,
                      const struct value *value, struct error *err);

#endif
