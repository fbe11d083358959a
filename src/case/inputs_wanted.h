/*
 * The inputs of a model, one slot each, and where the samples for them come from. Initialisers that older
 * models list among their inputs get no slot.
 */
#ifndef CASE_INPUTS_WANTED_H
#define CASE_INPUTS_WANTED_H

#include "model/model.h"

enum inputs_kind { INPUTS_RANDOM, INPUTS_FOLDERS, INPUTS_ARRAYS };

/* One input of the model. */
struct inputs_slot {
    const char *name;
    const Onnx__TypeProto *type;
    enum dtype dtype;     /* random only */
    struct shape shape;   /* random only: symbols replaced by sizes */
    struct tensor array;  /* arrays only */
    struct shape element; /* arrays only: the shape of one sample */
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

    /* The labels: classes, or true output vectors, or neither (then both are NULL). */
    size_t *classes;
    double *truth; /* truth_size numbers for each sample */
    size_t truth_size;
};

/* Makes the slots. The model must outlive *inputs; the caller releases *inputs, also after a failure. */
int inputs_init(struct inputs *inputs, const struct model *model, struct error *err);
void inputs_release(struct inputs *inputs);

#endif
