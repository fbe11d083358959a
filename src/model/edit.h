/*
 * Changes to a model that keep it valid, and cuts that make a part of it a model of its own. The functions
 * that return a model make a new one and leave the given one unchanged.
 */
#ifndef MODEL_EDIT_H
#define MODEL_EDIT_H

#include "model/index.h"

/*
 * Makes values graph outputs as well; those that already are stay in place. Type and shape come from
 * value_info where they are known, so infer shapes first for engines that need them.
 */
int model_expose(struct model *model, const char *const *names, size_t count, struct error *err);

/* Keeps exactly these outputs, in this order. Nodes that no output needs stay. */
int model_set_outputs(struct model *model, const char *const *names, size_t count, struct error *err);

/*
 * Makes a model of the nodes with the given numbers. A value that they use and none of them makes becomes an
 * input, or stays an initialiser. A value that they make and that other nodes use, or that is a graph output,
 * becomes an output; if there is none, every value that they make and do not use themselves does. Types and
 * shapes come from `types` where it has the name, else from value_info; an input of unknown type is refused
 * with ERROR_NOT_FOUND (infer shapes first). The cost depends on the size of the part, not of the model.
 */
struct edit_types {
    size_t count;
    const char *const *names;
    const struct tensor *const *tensors; /* type and shape are used */
};
int model_cut(struct model **part, const struct model_index *index, const size_t *nodes, size_t count,
              const struct edit_types *types, struct error *err);

/*
 * model_cut between values: the nodes needed to compute `to` from `from`. The outputs are exactly `to`, in
 * that order. Graph inputs that are also needed become inputs too, and so does an initialiser in `from`.
 */
int model_cut_between(struct model **part, const struct model_index *index, const char *const *from,
                      size_t n_from, const char *const *to, size_t n_to, const struct edit_types *types,
                      struct error *err);

/* Sorts the nodes so that each comes after those it depends on, as ONNX requires; to be called after nodes
 * were appended. */
int model_sort_nodes(struct model *model, struct error *err);

/* Makes every node of the graph, and of the bodies of its nodes, that uses value `from` use value `to`
 * instead. The outputs of the graph keep their names; those of bodies change. */
void graph_redirect(struct arena *arena, Onnx__GraphProto *graph, const char *from, const char *to);

/* Replaces the initialiser's value, its type and shape included; it must exist. */
int model_replace_initializer(struct model *model, const char *name, const struct tensor *tensor,
                              struct error *err);

/* Turns an input into an initialiser with the given value. Before IR version 4, which requires initialisers
 * to be inputs too, it stays an input as well. */
int model_freeze_input(struct model *model, const char *name, const struct tensor *tensor, struct error *err);

#endif
