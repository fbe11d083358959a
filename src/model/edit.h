/*
 * Cuts and changes that keep a model valid. The functions that return a model make a new one and leave theirs
 * alone.
 */
#ifndef MODEL_EDIT_H
#define MODEL_EDIT_H

#include "model/index.h"

/*
 * Makes values graph outputs too (those that already are stay where they are). Type and shape come from
 * value_info where known (infer shapes first for engines that need them).
 */
int model_expose(struct model *model, const char *const *names, size_t count, struct error *err);

/* Keeps exactly these outputs, in this order. Nodes that no output needs stay. */
int model_set_outputs(struct model *model, const char *const *names, size_t count, struct error *err);

/*
 * The nodes with the given numbers as a model of their own: what they use and nobody among them makes becomes
 * an input (or stays an initialiser), what they make and somebody else uses, or is a graph output, becomes an
 * output; when that is nothing, all that they make and do not use themselves. Types and shapes come from
 * `types` where it knows the name, else from value_info; an input of unknown type is refused with
 * ERROR_NOT_FOUND (infer shapes first). The cost is that of the part, not of the model.
 */
struct edit_types {
    size_t count;
    const char *const *names;
    const struct tensor *const *tensors; /* type and shape are used */
};
int model_cut(struct model **part, const struct model_index *index, const size_t *nodes, size_t count,
              const struct edit_types *types, struct error *err);

/*
 * model_cut between values: the nodes needed to compute `to` from `from`; the outputs are exactly `to`, in
 * that order. Graph inputs that are needed besides become inputs too; an initialiser in `from` becomes one.
 */
int model_cut_between(struct model **part, const struct model_index *index, const char *const *from,
                      size_t n_from, const char *const *to, size_t n_to, const struct edit_types *types,
                      struct error *err);

/* Puts the nodes into an order in which they can be computed, as ONNX wants it; for what was appended. */
int model_sort_nodes(struct model *model, struct error *err);

/* Replaces the initialiser's value, its type and shape included; it must exist. */
int model_replace_initializer(struct model *model, const char *name, const struct tensor *tensor,
                              struct error *err);

/* An input becomes an initialiser of the given value (before IR version 4, where initialisers must be inputs
 * too, it stays an input as well). */
int model_freeze_input(struct model *model, const char *name, const struct tensor *tensor, struct error *err);

#endif
