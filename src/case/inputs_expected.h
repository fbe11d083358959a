/*
 * The outputs that a data set expects of the model, beside the inputs (inputs_read.h). They are found by the
 * names of the model's outputs or by their numbers; none need be there:
 *
 * - in a .npz file: arrays called as the outputs, or output_0, output_1 and so on;
 * - in a folder with samples.npy: NAME.npy or output_0.npy, whose first axis counts the samples;
 * - in the folder of one sample: output_0.pb, NAME.npy and so on.
 *
 * What is called like an input is that input.
 */
#ifndef CASE_INPUTS_EXPECTED_H
#define CASE_INPUTS_EXPECTED_H

#include "base/map.h"
#include "case/inputs_wanted.h"
#include "model/npz.h"

/* The names by which outputs may go, each with the number of its output. */
struct output_names {
    struct arena arena;
    struct map map;
};
void output_names_init(struct output_names *names, const struct inputs *inputs);
void output_names_release(struct output_names *names);

/* Read arrays of expected outputs, after the inputs: their samples must be as many. used: for each array of
 * the file, whether it was read; those of outputs are set. */
int inputs_expect_npz(struct inputs *inputs, const struct npz *npz, const char *path, bool *used,
                      struct error *err);
int inputs_expect_files(struct inputs *inputs, const char *folder, struct error *err);

/* Notes an array or file that belongs to nothing in inputs->unused. */
void inputs_unused(struct inputs *inputs, const char *name);

/* The same for the files of data in a folder that belong neither to outputs nor to `used`, whose keys are
 * names of files; those of outputs are added to it. */
void inputs_unused_files(struct inputs *inputs, const char *folder, struct map *used);

/* What is expected of one sample. */
struct inputs_expected {
    size_t count;
    struct value *values;
    size_t *places; /* the number of each among the model's outputs */
};
/* The caller releases it, also after a failure. */
int inputs_expected(const struct inputs *inputs, size_t sample, struct inputs_expected *expected,
                    struct error *err);
void inputs_expected_release(struct inputs_expected *expected);

#endif
