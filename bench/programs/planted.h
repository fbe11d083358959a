/*
 * Planted faults in the models of the zoo: which node is at fault, found out without any method of
 * localisation. The healthy and the faulty reference run the model with all values shown, and the first node
 * in the order of computation whose value is not bit for bit the same has had the same inputs on both, so the
 * fault is in it. Where the fault ends the engine, it is the last node of the shortest beginning of the model
 * on which the faulty one ends and the healthy one does not.
 */
#ifndef BENCH_PLANTED_H
#define BENCH_PLANTED_H

#include "engine/pool.h"
#include "model/index.h"

enum { HEALTHY, FAULTY, SECOND, OTHER, ENGINES, MAX_SETS = 64, NOBODY = -1 };

/* The inputs, and the pool of one fault. */
struct planted {
    struct registry *registry;
    struct pool *pool;     /* of the fault at hand */
    const char *operators; /* those of the fault at hand */
    struct tensor sets[MAX_SETS];
    size_t n_sets;
};

struct subject {
    char *name;
    struct model *model, *shown; /* shown: every value is an output */
    struct model_index index;
    bool rounded;                    /* the fault at hand changes roundings alone */
    struct result healthy[MAX_SETS]; /* of the shown model on each set, when first asked for */
};

/* A row of the reference's knob; strings point into a text that lives as long as the program. */
struct planted_row {
    char *name, *paper, *operators, *parameter, *tied, *summary;
};

__attribute__((noreturn)) void planted_die(const char *what, const struct error *err);

/* Reads the samples, single ones and then pairs; the models; all faults that show in outputs (the caller
 * frees the rows). */
void planted_samples(struct planted *planted, const char *path);
void planted_models(struct subject *subjects, char **paths, size_t count);
struct planted_row *planted_rows(struct planted *planted, size_t *count);

/* The same with those of newer operators, which the zoo does not have. */
struct planted_row *planted_all_rows(struct planted *planted, size_t *count);

/* Opens the pool for a fault: HEALTHY, FAULTY, SECOND (the reference) and, unless NULL, OTHER. */
void planted_open(struct planted *planted, const struct planted_row *row, const char *other);
void planted_close(struct planted *planted);

void planted_run(struct planted *planted, int engine, const struct model *model, const struct value *inputs,
                 size_t n_inputs, struct result *result);

/* Whether the operator is one of the fault's, "Conv|MaxPool". */
bool planted_is_among(const char *type, const char *operators);

/* Whether the node is of an operator that the fault at hand is in. */
bool planted_is_faulty(const struct planted *planted, const struct subject *subject, size_t node);

/* Whether the model has one of the operators "Conv|MaxPool". */
bool planted_concerns(const struct subject *subject, const char *operators);

/* The node at fault on set number `set`; NOBODY when the fault does not show. *input views the set. */
long planted_truth(struct planted *planted, struct subject *subject, size_t set, struct value *input);

void subject_release(struct subject *subject);

#endif
