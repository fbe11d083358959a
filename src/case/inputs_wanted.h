/*
 * The inputs that a model wants, one slot each, and what is known of the samples for them. Initialisers that
 * older files list among the inputs are left out.
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

/* Makes the slots, in inputs->arena. The model must outlive *inputs. */
int inputs_init(struct inputs *inputs, const struct model *model, struct error *err);
void inputs_release(struct inputs *inputs); /* also after a failed inputs_init */

#endif
