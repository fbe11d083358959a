/*
 * Reads and writes test cases in ONNX's backend-test layout: a folder with model.onnx, and in each of its
 * folders test_data_set_K the files input_0.pb, output_0.pb and so on. Where some elements of an output are
 * not to be compared, as ONNX or rounding leaves them undecided, mask_0.pb and so on say by false which;
 * other runners do not read these. Of a model that ONNX forbids (test_case.forbidden), forbidden.txt says who
 * forbids it (checker, inference or reference) and, in its second line, why. Of a case about gradients
 * case/gradient_files.h tells what there is in place of outputs.
 *
 * A suite is the list of all cases in and below some folders. It holds only names, so that a tree of any size
 * fits into memory; suite_load reads one case when it is needed.
 */
#ifndef CASE_BACKEND_SUITE_H
#define CASE_BACKEND_SUITE_H

#include "base/arena.h"
#include "base/folder.h"
#include "case/test_case.h"

enum { SUITE_MAX_DEPTH = 16 };

struct suite_case {
    const char *name; /* the path below the folder that was searched; for a single case, that folder's name */
    const char *folder;        /* for messages */
    const char *root, *within; /* the folder that was searched, and the path of the case in it, or "" */
    size_t sets;
    const char **set; /* the name of each data set's folder, in that of the case */
};

struct suite {
    struct arena arena;
    size_t count, capacity;
    struct suite_case *cases;
};

/*
 * Finds all cases in and below the given folders, ordered by name. Links inside them are not followed
 * (base/folder.h). If a shell pattern is given (it may be
 * NULL), only the cases whose name matches it are kept. Fails when a folder contains no case at all, so that
 * a mistyped path cannot pass for success, and when no case matches. The caller releases *suite, also after a
 * failure.
 */
int suite_open(struct suite *suite, const char *const *folders, size_t count, const char *pattern,
               struct error *err);
void suite_release(struct suite *suite);

/* A case of a suite in memory. */
struct suite_loaded {
    size_t sets;
    struct test_case **tests; /* one for each data set; all share one model, mapped from its file */
    char *misfit;             /* why inputs do not fit the model (case/inputs_fit.h), or NULL */
    size_t size;              /* of model and data, in bytes, roughly */
};

/* Opens the folder of a case. The caller closes it, also after a failure. */
int suite_case_open(struct folder *folder, const struct suite_case *entry, struct error *err);

/* Reads all data sets of a case. The caller unloads *loaded, also after a failure. */
int suite_load(const struct suite_case *entry, struct suite_loaded *loaded, struct error *err);
void suite_unload(struct suite_loaded *loaded);

/*
 * Reads the only case in or below a folder, with the inputs of its first data set. The caller frees *test.
 * Fails when there is more than one case, or when the inputs do not fit the model.
 */
int suite_load_one(const char *folder, struct test_case **test, struct error *err);

/* The same for a case whose folder is inside another. */
int suite_load_in(const struct folder *in, const char *name, struct test_case **test, struct error *err);

/* Writes model.onnx, test_data_set_0 with inputs and expected outputs, and what else the case has, into a
 * folder. */
int suite_write(const struct folder *folder, const struct test_case *test, struct error *err);

/* The same to a folder that the user names, which is made. */
int suite_write_path(const char *path, const struct test_case *test, struct error *err);

/*
 * Writes output_0.pb and so on into a folder of a folder, which is created if it does not exist. Values
 * beyond the number of the model's outputs are not written.
 */
int suite_write_outputs(const struct folder *in, const char *name, const struct model *model,
                        const struct value *outputs, size_t count, struct error *err);

/* Reads the expected outputs, with their masks, from the folder of a data set into a case without any. */
int suite_read_outputs(const struct folder *set, const struct model *model, struct test_case *test,
                       struct error *err);

/*
 * Writes a value to NAME/STEM_NUMBER.pb, where there is a folder NAME. `type` is the declared type, or NULL;
 * a value of another type is written with the type it has.
 */
int suite_write_value(const struct folder *in, const char *name, const char *stem, size_t number,
                      const Onnx__TypeProto *type, const struct value *value, struct error *err);

#endif
