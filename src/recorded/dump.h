/*
 * Values of a model that were recorded elsewhere: on a device, or in the framework that the model was
 * exported from. They lie in a .npz file, each called as a value or node of the model, or in a .npy or .pb
 * file, which holds the first output.
 *
 * Names that the model does not have are looked for in this order:
 *
 * - in the map: a file of lines RECORDED = VALUE, with # before a remark;
 * - output_0, output_1 and so on: the model's outputs;
 * - the name of a node: its first output;
 * - the path of a module (layer1.0.conv1) whose nodes torch.onnx.export called /layer1/layer1.0/conv1/Conv:
 * the output of the last one of them.
 */
#ifndef RECORDED_DUMP_H
#define RECORDED_DUMP_H

#include "model/index.h"

struct recorded_value {
    const char *name;  /* in the recording */
    const char *value; /* in the model; of an input as well */
    bool input;
    size_t node;         /* that gives it */
    struct tensor array; /* of all samples */
};

struct dump {
    struct arena arena;
    const char *path;
    size_t count, n_unused;
    struct recorded_value *values; /* inputs first, then in the order in which the model computes them */
    const char **unused;           /* arrays that are no value of the model, by name */
};

/* map: a path, or NULL. Fails when the recording has nothing of the model, and when the map names what
 * neither has. Release it also after a failure. */
int dump_open(struct dump *recording, const struct model *model, const char *path, const char *map,
              struct error *err);
/* The same of values at hand, of one sample, which are copied. */
int dump_of_values(struct dump *recording, const struct model *model, const struct value *values,
                   size_t count, struct error *err);
void dump_close(struct dump *recording);

/* Copies what was recorded of one of `samples` samples, of which the model has `count` elements. False when
 * the array does not hold as many. The caller releases the tensor. */
bool dump_sample(const struct recorded_value *value, size_t sample, size_t samples, size_t count,
                 struct tensor *tensor);

#endif
