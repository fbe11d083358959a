/* The named values of a graph, or of a body in it, while the evaluator runs. */
#ifndef EVAL_SCOPE_H
#define EVAL_SCOPE_H

#include "base/arena.h"
#include "base/map.h"
#include "eval/evaluate.h"
#include "eval/expanded_squares.h"
#include "eval/factor_order.h"

/* One named value: its own storage, or a view of another value (the input of a body). */
struct slot {
    struct bounded own;
    const struct bounded *view; /* NULL: not computed yet, or dropped */
    struct bounded wide;        /* as other nodes may read it, where that differs (evaluate_pass_on) */
    size_t uses_left;           /* top graph only */
    size_t stored; /* bytes of the file that `own` borrows, whose pages are given back with it; 0: none */
    bool from_node;
    bool lost;              /* its bounds were dropped (lost_bounds.h) */
    struct parts parts;     /* of a difference; only with options->loose */
    struct factors factors; /* of a product; only with options->loose */
    struct codes codes;     /* of weights; only with options->lowered */
};

struct scope {
    struct scope *parent;
    struct arena arena;
    struct map names; /* -> number in slots */
    struct slot **slots;
    size_t count, capacity;
    int opset, depth;
    bool shapes_only;
    bool may_lose;   /* bounds that tell nothing are dropped */
    size_t elements; /* that nodes read and made so far */
    const struct evaluate_options *options;
};

/* parent: the graph around a body, or NULL. */
void scope_init(struct scope *scope, struct scope *parent);
void scope_release(struct scope *scope);

struct slot *scope_add(struct scope *scope, const char *name);
/* Looks in the graphs around a body too; NULL when there is no such value. */
struct slot *scope_find(const struct scope *scope, const char *name);

/* Frees the value; the name stays. */
void slot_drop(struct slot *slot);

#endif
