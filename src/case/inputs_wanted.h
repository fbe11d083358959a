/*
 * The inputs of a model, one slot each, and where the samples for them come from. Initialisers that older
 * models list among their inputs get no slot.
 */
#ifndef CASE_INPUTS_WANTED_H
#define CASE_INPUTS_WANTED_H

#include "model/model.h"

enum inputs_kind { INPUTS_RANDOM, INPUTS_FOLDERS, INPUTS_ARRAYS };

enum { INPUTS_ROWS = 5 };

/* An open dimension of random inputs, and the sizes it has (inputs_sizes.h). */
struct inputs_size {
    const char *name; /* its symbol; of one without a name, "axis 0" and so on */
    bool first;       /* it is the first dimension of an input */
    int64_t drawn[INPUTS_ROWS], rows[INPUTS_ROWS];
};

/* The whole numbers that a random input may have (inputs_ranges.h); both 0: any. */
struct inputs_range {
    int64_t low, high;
    bool limited; /* the model allows no others */
    bool truth;   /* they mean no and yes */
};

/* One input of the model. */
struct inputs_slot {
    const char *name;
    const Onnx__TypeProto *type;
    enum dtype dtype;             /* random only */
    struct shape shape;           /* random only: symbols replaced by sizes, open ones by 1 */
    size_t open[TENSOR_MAX_RANK]; /* random only: for each open dimension its number in `sizes`, from 1 */
    struct inputs_range ranges[INPUTS_ROWS]; /* random only: one for each row of sizes */
    struct tensor array;                     /* arrays only */
    struct shape element;                    /* arrays only: the shape of one sample */
};

/* One output of the model of which arrays say what is expected (inputs_expected.h). */
struct inputs_output {
    const char *name;
    const Onnx__TypeProto *type;
    size_t place; /* its number among the outputs */
    struct tensor array;
    struct shape element; /* of one sample */
};

struct inputs {
    struct arena arena;
    const struct model *model; /* borrowed */
    enum inputs_kind kind;
    size_t samples;
    size_t count; /* inputs of the model */
    struct inputs_slot *slots;
    uint64_t seed;
    const char **folders; /* INPUTS_FOLDERS: one for each sample */
    const char *from;     /* the folder or file that they were read from; NULL: random */
    size_t n_sizes;       /* open dimensions */
    struct inputs_size *sizes;
    size_t rows; /* sample i has the sizes of row i % rows; 0: they are not drawn, and all are 1 */

    /* Arrays only: the outputs that are expected. Those of folders are read sample by sample. */
    size_t n_outputs;
    struct inputs_output *outputs;
    /* Arrays and files of data that belong to no input, no output and no label, by name. */
    size_t n_unused, unused_capacity;
    const char **unused;

    /* The labels: classes, or true output vectors, or neither (then both are NULL). */
    size_t *classes;
    double *truth; /* truth_size numbers for each sample */
    size_t truth_size;
};

/* Makes the slots. The model must outlive *inputs; the caller releases *inputs, also after a failure. */
int inputs_init(struct inputs *inputs, const struct model *model, struct error *err);
void inputs_release(struct inputs *inputs);

#endif
