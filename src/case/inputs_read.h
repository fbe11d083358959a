/*
 * Reads inputs and labels from a folder or a file.
 *
 * A folder has one of these layouts:
 *
 * - input_0.pb, input_1.npy and so on, in the order of the model's inputs, or NAME.pb and NAME.npy by the
 *   names of the inputs: one sample.
 * - test_data_set_0, test_data_set_1 and so on, each a folder with such files: one sample each.
 * - samples.npy, or samples_0.npy, samples_1.npy and so on for several inputs: the first axis counts the
 *   samples. A single .npy file beside the labels may have any name.
 * - NAME-images-idx3-ubyte, as MNIST is published. Where both the training set and the test set are there,
 *   the test set (t10k) is read. For an input of floats the grey values are divided by 255.
 *
 * A file is one of these:
 *
 * - FILE.npz, with an array for each input: called as the input, or input_0, input_1 and so on, or arr_0,
 * arr_1 as NumPy's savez calls them. To a model of one input a single array of any name will do.
 * - FILE.npy, for a model of one input. Where it has one axis more than the input, or the first dimension of
 *   the input is open or 1, the first axis counts the samples; so do those of the arrays of a .npz file, when
 *   all have as many.
 * - FILE.pb, one sample for a model of one input.
 *
 * inputs_expected.h tells where the outputs are that the data expects.
 *
 * Labels are optional: labels.npy, labels.txt with one line for each sample, NAME-labels-idx1-ubyte, or the
 * array labels of a .npz file. Whole numbers are classes; anything else is the true output vector of each
 * sample.
 */
#ifndef CASE_INPUTS_READ_H
#define CASE_INPUTS_READ_H

#include "case/inputs_wanted.h"

/* Finds the samples of a folder or file. The model must outlive *inputs; release *inputs also after a
 * failure. */
int inputs_read(struct inputs *inputs, const struct model *model, const char *folder, struct error *err);

/* One sample of values at hand, found by their names, or by position where they have none; they are copied.
 * The model must outlive *inputs; release *inputs also after a failure. */
int inputs_of_values(struct inputs *inputs, const struct model *model, const struct value *values,
                     size_t count, struct error *err);

/* Replaces the labels by those of a file in any of these formats. */
int inputs_labels(struct inputs *inputs, const char *path, struct error *err);

/*
 * Reads one sample from a folder of the first layout into inputs->count values, which must be empty. The
 * caller frees them, also after a failure.
 */
int inputs_folder(const struct inputs *inputs, const char *folder, struct value *values, struct error *err);

/* Copies one input of one sample out of an array of samples; the caller releases the tensor. */
int inputs_slice(const struct inputs_slot *slot, size_t samples, size_t sample, struct tensor *tensor,
                 struct error *err);

#endif
