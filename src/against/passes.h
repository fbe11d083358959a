/*
 * Evaluations of a model by the reference in which some values are not what its nodes compute: nodes read
 * given numbers in their place, and values are taken as they come.
 */
#ifndef AGAINST_PASSES_H
#define AGAINST_PASSES_H

#include "eval/evaluate.h"

/* One model, and what happens in its evaluations. Arrays have an entry for each value of the index. */
struct pass {
    struct evaluator *evaluator;
    const struct model_index *index;
    /* Numbers that nodes read in place of a value, which is still computed; NULL: none. */
    const struct tensor **forced;
    /* Numbers with which a value is given without computing its node, where all of its outputs are; NULL:
     * none. */
    const struct tensor **given;
    struct tensor *taken; /* what was computed; data is NULL where nothing was, or it is no tensor */
    bool *wanted;         /* which values are taken; NULL: all */
    bool exact;           /* forced numbers are not rounded to the type of the value that they stand for */
    /* Called for each node of the top graph that was computed; may be NULL. */
    void (*seen)(void *context, const struct op_call *call);
    void *context;
    int depth; /* of bodies, during an evaluation */
};

/* round: values are those of an engine, rounded to their types; else they are exact and have bounds. Release
 * the pass also after a failure. */
int pass_init(struct pass *pass, const struct model *model, bool round, struct error *err);
void pass_release(struct pass *pass);
void pass_forget(struct pass *pass); /* what was taken */

/* Evaluates the model. *outputs has the graph's outputs, rounded to their types, in their order; the caller
 * releases them with pass_outputs_free. */
int pass_run(struct pass *pass, const struct value *inputs, size_t n_inputs, struct tensor **outputs,
             size_t *count, struct error *err);
void pass_outputs_free(struct tensor *outputs, size_t count);

/* The number of the value; false when the model has none of this name. */
bool pass_value(const struct pass *pass, const char *name, size_t *number);

#endif
