/*
 * Inputs for a given model: drawn at random, or read from a folder.
 *
 * A sample is one value for each input the model really has (initialisers that older files list among the
 * inputs are left out). Samples are made one at a time by inputs_get, so that a data set of any length needs
 * the memory of one sample (and of its arrays, which are read once).
 *
 * A folder is one of
 *   - input_0.pb, input_1.npy ... in the order of the model's inputs, or NAME.pb, NAME.npy: one sample;
 *   - test_data_set_0/, test_data_set_1/ ... each of the above: one sample each (ONNX's own layout);
 *   - samples.npy (several inputs: samples_0.npy, samples_1.npy ...) whose first axis counts the samples; any
 *     other name will do when it is the only .npy beside the labels.
 *   - MNIST's own files: NAME-images-idx3-ubyte; t10k's where the training set lies beside it. Grey values
 * are divided by 255 for an input of floats. Labels are optional: labels.npy or labels.txt (one line a
 * sample), or NAME-labels-idx1-ubyte. Whole numbers are classes; anything else is the true output vector of
 * each sample.
 */
#ifndef CASE_INPUTS_H
#define CASE_INPUTS_H

#include "model/model.h"

enum inputs_kind { INPUTS_RANDOM, INPUTS_FOLDERS, INPUTS_ARRAYS };

/* One input of the model. */
struct inputs_slot {
    const char *name;
    const Onnx__TypeProto *type;
    enum dtype dtype;     /* random only */
    struct shape shape;   /* random only: symbols replaced by sizes */
    struct tensor array;  /* arrays only */
    struct shape element; /* arrays only: of one sample */
};

struct inputs {
    struct arena arena;
    const struct model *model; /* borrowed */
    enum inputs_kind kind;
    size_t samples;
    size_t count; /* inputs of the model */
    struct inputs_slot *slots;
    uint64_t seed;
    const char **folders; /* one a sample */

    /* Ground truth, at most one of the two; NULL when there is none. */
    size_t *classes;
    double *truth; /* truth_size numbers a sample */
    size_t truth_size;
};

/*
 * Floats are normal(0, 1), integers 0 to 9, bools either; each element a function of (seed, sample, input,
 * index) alone. Dimensions with the same symbol get the same size: 1, or what a "NAME=SIZE" in dims says. The
 * model must outlive *inputs.
 */
int inputs_random(struct inputs *inputs, const struct model *model, size_t samples, uint64_t seed,
                  const char *const *dims, size_t n_dims, struct error *err);
int inputs_read(struct inputs *inputs, const struct model *model, const char *folder, struct error *err);
void inputs_release(struct inputs *inputs); /* also after a failed init */

/* Reads the labels anew from a file of any of these kinds. */
int inputs_labels(struct inputs *inputs, const char *path, struct error *err);

/* The values of one sample: inputs->count of them, to be freed with values_free. Fails, as inputs_fit does,
 * when the model wants others. */
int inputs_get(const struct inputs *inputs, size_t sample, struct value **values, struct error *err);

/* Whether inputs_get would work, for every sample that may differ from the first in type or shape: what is
 * wrong with the inputs is said before any engine starts. */
int inputs_check(const struct inputs *inputs, struct error *err);

/*
 * Holds values against what the model says of its inputs. Each that has no initialiser must be there, and no
 * others; kinds, element types, ranks and dimensions are as declared, and a symbol has one size in all of
 * them. Fails with ERROR_INVALID: "your input x is float32 [2,1,28,28], the model wants float32
 * [batch,3,32,32]".
 */
int inputs_fit(const struct model *model, const struct value *values, size_t count, struct error *err);

/* The reference calls a sample invalid: what to say, and what to do about it. Fails always. */
int inputs_invalid(const struct inputs *inputs, size_t sample, const char *why, struct error *err);

/* Fails when the file at `path`, read as the input `wanted`, says that it holds another input of the model.
 */
int inputs_name_fits(const struct model *model, const char *path, const char *said, const char *wanted,
                     struct error *err);

/* The inputs a caller must give, as slots in inputs->arena; shared by all ways of making them. */
int inputs_plan(struct inputs *inputs, const struct model *model, struct error *err);

/* The values input_K.pb, input_K.npy, NAME.pb or NAME.npy of one folder. */
int inputs_folder(const struct inputs *inputs, const char *folder, struct value *values, struct error *err);

#endif
