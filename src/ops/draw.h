/*
 * Drawing a valid node: the functions that a sampler calls.
 *
 * A sampler chooses the parameters and inputs of a node, one after the other, such that the node is valid by
 * construction. It first asks for the primary input (draw_primary), whose type and shape are either given (a
 * value that is already in a graph) or new; the rest follows from it. The one-operator generator gives
 * nothing and gets a one-node case; the graph generator gives existing values. Every random choice comes from
 * draw->rng.
 *
 *     static int sample_softmax(struct draw *d)
 *     {
 *         struct drawn x = draw_primary(d);
 *         draw_int(d, "axis", draw_between(d, -x.shape.rank, x.shape.rank - 1));
 *         return 0;
 *     }
 *
 * draw_primary respects the types and ranks of the row. A sampler that cannot use what it got (a dimension is
 * 0) returns -1, and the node is given up.
 */
#ifndef OPS_DRAW_H
#define OPS_DRAW_H

#include "base/random.h"
#include "ops/op.h"

/* How tensors are filled with numbers. The name of the fill is part of the recipe. */
enum fill {
    FILL_NORMAL,  /* normal(0,1) floats, small integers */
    FILL_EXACT,   /* small integers, also in float tensors: contractions are exact */
    FILL_SPECIAL, /* normal numbers with NaN, infinities, -0, subnormals, huge and tiny numbers and ties */
    FILL_COUNT
};
const char *fill_name(enum fill fill);

/* Boundaries at which past causes lay, for shapes and for what is known before a model runs. Their names are
 * part of the recipe. */
enum draw_sizes {
    SIZES_PLAIN,
    SIZES_EMPTY, /* new shapes often have a dimension of 0 */
    SIZES_ONES,  /* most dimensions are 1, and ranks are the least */
    SIZES_ODD,   /* dimensions next to multiples of vector widths: 7, 9, 15, 17, 31, 33 ... */
    SIZES_COUNT
};
enum draw_constants {
    CONSTANTS_SOME,
    CONSTANTS_ALL, /* every new input is an initialiser, so that an engine may compute the node beforehand */
    CONSTANTS_NONE,
    CONSTANTS_COUNT
};
const char *sizes_name(enum draw_sizes sizes);
const char *constants_name(enum draw_constants constants);

enum drawn_source { DRAWN_NEW, DRAWN_EXISTING, DRAWN_OMITTED };

struct drawn {
    enum drawn_source source;
    enum dtype type;
    struct shape shape;
    bool constant;        /* an initialiser rather than a graph input */
    const char *existing; /* name of the graph's value */
    struct tensor data;   /* of a new one; owned by the draw */
};

struct draw {
    struct rng rng;
    const struct op *op;
    int opset;
    enum dtype type;  /* of the primary input */
    dtype_set narrow; /* narrow types that are asked for and that the operator has at the opset */
    enum fill fill;
    int rank; /* of a new primary input, plus 1; 0: any */
    enum draw_sizes sizes;
    enum draw_constants constants;
    const struct drawn *given; /* primary input from a graph, or NULL */
    /* Returns the name of an existing value of exactly this type and shape, or NULL; may itself be NULL. */
    const char *(*offer)(void *context, enum dtype type, const struct shape *shape);
    bool eager; /* ask for an offer every time, not every other time */
    /* Gives any existing value, false when there is none; may itself be NULL. */
    bool (*pick)(void *context, struct drawn *value);
    void *context;
    /* The result: a node without names, its inputs, and how many outputs it has. */
    struct arena *arena;
    Onnx__NodeProto *node;
    size_t n_inputs, capacity;
    struct drawn *inputs;
    size_t n_outputs;
    /* Values that the bodies of the node use by name (drawn.existing): values that exist, or new ones with
     * that name. */
    size_t n_captured, captured_capacity;
    struct drawn *captured;
};

/* Attributes. */
void draw_int(struct draw *d, const char *name, int64_t value);
void draw_float(struct draw *d, const char *name, float value);
void draw_string(struct draw *d, const char *name, const char *value);
void draw_ints(struct draw *d, const char *name, const int64_t *values, size_t count);

/* Choices. */
int64_t draw_between(struct draw *d, int64_t low, int64_t high); /* both included */
bool draw_chance(struct draw *d, double probability);
enum dtype draw_type(struct draw *d, dtype_set set); /* one of the set */
/* One of the set or, mostly, a narrow one where such are asked for. */
enum dtype draw_type_or_narrow(struct draw *d, dtype_set set);
const char *draw_word(struct draw *d, const char *words); /* one of "A|B|C", in the arena */
int64_t draw_dim(struct draw *d);                         /* mostly 1 to 6, seldom larger; never 0 */
struct shape draw_shape(struct draw *d, int min_rank, int max_rank);     /* may have a 0 dim, seldom */
struct shape draw_broadcastable(struct draw *d, const struct shape *to); /* a shape that broadcasts to `to` */

/* The primary input, which becomes input 0. Its rank and type follow the row. */
struct drawn draw_primary(struct draw *d);

/* The same with narrower limits for a new one, for spatial operators for example. A given one is taken as it
 * is. */
struct drawn draw_primary_ranked(struct draw *d, int min_rank, int max_rank);

/*
 * Each adds the next input:
 * - draw_data fills it as d->fill says;
 * - draw_range fills it uniformly in [low, high], both included for integers;
 * - draw_int_input and draw_int_typed hold the given integers: as int64 of shape [count], or of the given
 *   type and shape; constant most of the time;
 * - draw_omit leaves an optional input out.
 */
void draw_data(struct draw *d, enum dtype type, const struct shape *shape);
void draw_range(struct draw *d, enum dtype type, const struct shape *shape, double low, double high);
void draw_int_input(struct draw *d, const int64_t *values, size_t count);
void draw_int_typed(struct draw *d, enum dtype type, const struct shape *shape, const int64_t *values);
void draw_scalar(struct draw *d, enum dtype type, double value); /* rank 0, constant most of the time */
void draw_omit(struct draw *d);

/* Fills the primary input again, if it is new, with numbers in [low, high] (a domain such as [-1, 1] for
 * Acos). */
void draw_primary_range(struct draw *d, double low, double high);

/*
 * draw_pick gives an existing value most of the time, when there is one; draw_existing makes it the next
 * input. For operators whose data is not the primary input (Loop).
 */
bool draw_pick(struct draw *d, struct drawn *value);
void draw_existing(struct draw *d, const struct drawn *value);

/* A value that the bodies can use by name, new or existing; returns its name in the graph. */
const char *draw_capture(struct draw *d, enum dtype type, const struct shape *shape);
const char *draw_capture_existing(struct draw *d, const struct drawn *value);

/* Sets the number of outputs of the node; the default is outputs.least, at least 1. */
void draw_outputs(struct draw *d, size_t count);

/* For generators: init, run the sampler of the row, take the result, release (which frees the new tensors).
 */
void draw_init(struct draw *d, struct arena *arena, const struct op *op, int opset, enum dtype type,
               enum fill fill, struct rng rng);
int draw_node(struct draw *d); /* 0, or -1: given up */
void draw_release(struct draw *d);

/* Fills a tensor; also used for the inputs of whole models. */
void fill_tensor(struct tensor *tensor, enum fill fill, struct rng rng);

#endif
