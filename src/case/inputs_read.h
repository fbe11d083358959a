/*
 * Inputs and labels from a folder.
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
#ifndef CASE_INPUTS_READ_H
#define CASE_INPUTS_READ_H

#include "case/inputs_wanted.h"

int inputs_read(struct inputs *inputs, const struct model *model, const char *folder, struct error *err);

/* Reads the labels anew from a file of any of these kinds. */
int inputs_labels(struct inputs *inputs, const char *path, struct error *err);

/* The values input_K.pb, input_K.npy, NAME.pb or NAME.npy of one folder. */
int inputs_folder(const struct inputs *inputs, const char *folder, struct value *values, struct error *err);

/* One input of one sample of inputs that are arrays. */
int inputs_slice(const struct inputs_slot *slot, size_t samples, size_t sample, struct tensor *tensor,
                 struct error *err);

#endif
