/*
 * The operator table: one row an operator, in its family's file.
 *
 * A row owns all that is known of the operator: what exists (opsets, arities, element types, parameters), how
 * a valid node is drawn (`sample`, draw.h), what it means (`eval`), and the answers to what other folders
 * want to know. They ask the row, and have no lists of operators' names of their own: an operator missing
 * from such a list would silently be treated as another kind.
 *
 * In the enums of answers 0 means "not answered". tests/unit/test_table.c walks the table and fails for a row
 * without data, range, factors, result, work or slope, or without a history that it needs; it also holds what
 * rows say of factors against the kernels, as test_draws does with results.
 *
 * The kernel and the shape rule are one function: eval first checks the node and fixes its outputs with
 * call_output, and stops there when only shapes are asked for; so the two cannot disagree.
 */
#ifndef OPS_OP_H
#define OPS_OP_H

#include "bounds/bounded.h"
#include "bounds/strides.h"
#include "model/build.h"

struct op_call;
struct draw;

/*
 * A parameter that mutation and causal search may turn: an attribute, or an input that acts as one. `legal`
 * and `illegal` are '|'-separated values in text ("0|1", "SAME_UPPER|VALID", "1,1|2,3"; "low..high" is a
 * range); illegal ones are crafty: an implementation must refuse them, not crash.
 */
enum param_kind {
    PARAM_INT,
    PARAM_FLOAT,
    PARAM_STRING,
    PARAM_INTS,
    PARAM_FLOATS,
    PARAM_TENSOR,
    PARAM_GRAPH,
    PARAM_INPUT
};

struct op_param {
    const char *name; /* of the attribute or of the formal input; NULL ends the list */
    enum param_kind kind;
    size_t input;                          /* which one, for PARAM_INPUT */
    int since, until;                      /* opsets that have it, both included; 0: no limit */
    const char *legal, *illegal, *initial; /* initial: the default, NULL when it must be given */
};

/* Element types of the operator's main type variable, from an opset on. */
struct op_types {
    int since;
    dtype_set set;
};

enum {
    OP_OLDEST = 11,     /* the oldest opset with its own meaning here; what older ones have otherwise:
                           eval/older_opsets.h */
    OP_FORMER = 3,      /* attributes that became inputs, at the most */
    OP_VARIADIC = 1000, /* as the most inputs or outputs */
};

/* Flags: what single operators are to the rest. */
enum {
    OP_DATA_SHAPE = 1,          /* output shapes depend on data (NonZero) */
    OP_BRANCHES = 2,            /* runs one of its bodies (If) */
    OP_LOOPS = 4,               /* runs its body again and again (Loop) */
    OP_SCANS = 8,               /* runs its body on slices of its last inputs (Scan) */
    OP_RANDOM = 16,             /* draws its numbers: no two runs need agree */
    OP_RANDOM_IN_TRAINING = 32, /* does so when told to train (Dropout) */
    OP_CASTS = 64,              /* changes the element type alone (Cast) */
    OP_SUBTRACTS = 128,         /* first input less the second, which may be expanded when it is squared */
    OP_MULTIPLIES = 256,        /* with both inputs the same: a square */
    OP_RAISES = 512,            /* with an exponent of 2: a square */
    OP_CONVOLVES = 1024,        /* input 1 is a kernel, whose spatial sizes attributes may repeat */
};

/* How many there may be, both included. */
struct op_limits {
    int least, most;
};

/* Which inputs are data, that an edge of a graph may bring; the others are parameters or weights. */
enum op_data {
    DATA_FIRST = 1,
    DATA_ALL, /* edges can meet in it (Add, Concat, MatMul ...) */
    DATA_NONE /* the first is a parameter (Range), or there is none (Constant): it cannot extend a graph */
};

/* How an operator's numbers follow from those of its inputs. */
enum op_range_rule {
    RANGE_LIKE_INPUTS = 1, /* about as large as the largest input */
    RANGE_MOVE,            /* elements of the first input, or 0 */
    RANGE_FIXED,           /* within `gives` whatever comes in */
    RANGE_ADD,             /* sums of all inputs */
    RANGE_MUL,
    RANGE_DIV,
    RANGE_EXP,
    RANGE_SQUARE,
    RANGE_SQRT,
    RANGE_POWER,
    RANGE_LOG,
    RANGE_RELU,    /* no longer negative */
    RANGE_REDUCE,  /* sums over the elements that disappear */
    RANGE_PRODUCT, /* products over them */
    RANGE_DOT,     /* sums of products */
};

struct op_interval {
    double low, high;
};

/* What the generator must feed, and what comes out then. */
struct op_range {
    enum op_range_rule rule;
    struct op_interval gives; /* of the output, for RANGE_FIXED */
    struct op_interval wants; /* of the first input; both 0: anything */
    size_t never_negative;    /* an input that holds variances; 0: none does */
};

/* Type and shape of the first output. */
enum op_result {
    RESULT_LIKE_INPUT = 1, /* both are the first input's, always */
    RESULT_TYPE,           /* the type is the first input's */
    RESULT_OTHER
};

/* Whether the outputs have slopes by the data inputs of floating-point type. */
enum op_slope {
    SLOPE_EVERYWHERE = 1,    /* where the function is defined */
    SLOPE_ALMOST_EVERYWHERE, /* but for kinks and jumps (Relu, MaxPool, Where) */
    SLOPE_NOWHERE            /* none, or none but 0 (Floor, ArgMax, Shape) */
};

/* What is done to elements, which is what its time goes with. */
enum op_work {
    WORK_SHAPE = 1, /* nothing: it looks at its input's shape alone */
    WORK_CREATES,   /* makes elements from parameters */
    WORK_MOVES,     /* copies elements, whatever their type, or puts in others unchanged */
    WORK_ELEMENTS,  /* some operations for each element */
    WORK_REDUCES,   /* each output is of many elements */
    WORK_PRODUCTS,  /* sums of products: a loop more than there are dimensions */
    WORK_BODIES     /* that of its bodies */
};

/*
 * What a factor of an input is to the output: f(c * x) = c^power * f(x), for c > 0. Engines that compute
 * several nodes as one multiply such factors in any order (eval/factor_order.h).
 */
enum op_factor_rule {
    FACTORS_NONE = 1,       /* no factor of an input is one of the output */
    FACTORS_SUM,            /* each factor of an input is one of the output, but not all at once */
    FACTORS_PRODUCT,        /* all at once: what `powers` says */
    FACTORS_PRODUCT_OF_ALL, /* the same with power 1 for all inputs, however many */
};

struct op_factors {
    enum op_factor_rule rule;
    double powers[5]; /* of inputs 0, 1 ...; 0: has no factor to give */
    unsigned added;   /* bit i: input i is added to the product */
};

/* How older opsets had the operator. */
struct op_history {
    /* The first opset in which it means what `eval` computes; older nodes are refused as unsupported. Needed
     * when the operator is older than OP_OLDEST. */
    int same_since;
    /* The last opset that made nodes as they were written before invalid; 0: none. */
    int reformed;
    /* The attributes that were before `reformed` what inputs 1, 2 ... are now, where eval knows the inputs
     * alone. A number becomes a tensor of the first input's type (PARAM_FLOAT) or a list of one. */
    struct {
        const char *name;
        enum param_kind kind; /* PARAM_FLOAT, PARAM_INT or PARAM_INTS */
    } attributes[OP_FORMER];
};

/* A row. Its first members are written with OP; flags, params and gradient may be left out, and history by an
 * operator that is not older than OP_OLDEST. */
struct op {
    const char *name;
    int since; /* first opset of the default domain that has it, in whatever form */
    struct op_limits inputs, outputs;
    struct op_limits ranks; /* of the primary input that the sampler can work with */
    unsigned flags;
    struct op_types types[5];      /* of input 0, ascending; the last that applies wins; ends with set 0 */
    const struct op_param *params; /* NULL: none */
    int (*eval)(struct op_call *call);
    int (*sample)(struct draw *draw);
    enum op_data data;
    struct op_range range;
    struct op_factors factors;
    struct op_history history;
    enum op_result result;
    enum op_work work;
    enum op_slope slope;
    /* Adds to slopes[i], in the shape of input i, the slope of the sum over all outputs of weights[o] *
     * outputs[o] by that input. NULL: not written yet. */
    int (*gradient)(struct op_call *call, const struct bounded *weights, struct bounded *slopes);
};

#define OP(op_name, first_opset) .name = op_name, .since = first_opset

/* A family file exports `const struct op ops_FAMILY[]`, ended by a NULL name; src/ops/meson.build lists the
 * families. */

/* NULL when the table has no such operator. */
const struct op *op_find(const char *name);

/* The same, but also finds operators that have no kernel and are never drawn, of which only `flags` and
 * `work` are known (Scan, RandomNormal ...): for questions about the nodes of any model. */
const struct op *op_known(const char *name);

/* Whether the operator is known to have the flag. */
bool op_has(const char *name, unsigned flag);

/* Fails with ERROR_NOT_FOUND, and the name that was meant where one is near, unless each of the names, with
 * commas between, is an operator of which cases can be drawn. NULL: nothing was named. */
int op_check_names(const char *names, struct error *err);

/* All rows in table order. */
size_t op_count(void);
const struct op *op_at(size_t index);
const struct op *op_after(const struct op *op); /* the next row; NULL: the first, or behind the last */

/* The family whose file has the row: "activation", "conv" ... */
const char *op_family(const struct op *op);

/* Types of input 0 at an opset; empty before `since`. */
dtype_set op_types_at(const struct op *op, int opset);

/* The first opset of cases that are drawn: the operator's own, or that of its first types where ONNX has
 * withdrawn what was before them. */
int op_drawn_since(const struct op *op);

/*
 * One evaluation of one node. Inputs are borrowed; outputs are the kernel's to fix, one by one, with
 * call_output; an output that the node leaves unnamed may still be made, and is dropped.
 */
struct op_call {
    const struct op *op;
    const Onnx__NodeProto *node;
    int opset;
    bool shapes_only; /* stop after fixing outputs; inputs may have no values */
    size_t n_inputs;
    const struct bounded *const *inputs; /* NULL: omitted */
    size_t n_outputs; /* room in outputs: the node's own number, at least max(outputs.least, 1) */
    struct bounded *outputs;
    /* Bodies: evaluates a subgraph attribute (evaluate.h sets it; NULL where there is none). */
    int (*body)(struct op_call *call, const Onnx__GraphProto *graph, size_t n_inputs,
                const struct bounded *const *inputs, size_t n_outputs, struct bounded *outputs);
    void *scope;
    bool open; /* set by a kernel: what it does is open though no element of an output shows it */
    struct error *err;
};

/*
 * What a kernel says when it cannot: ERROR_INVALID when the node breaks ONNX's rules (an engine is right to
 * refuse it), ERROR_UNSUPPORTED when the reference lacks it. Both return -1. The operator's name is put
 * before the text.
 */
int call_invalid(struct op_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
int call_unsupported(struct op_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Attributes with their defaults. */
int64_t call_int(const struct op_call *call, const char *name, int64_t otherwise);
double call_float(const struct op_call *call, const char *name, double otherwise);
const char *call_string(const struct op_call *call, const char *name, const char *otherwise);
bool call_has(const struct op_call *call, const char *name);

/* The ints of an attribute: points into the node, *count 0 when absent. */
const int64_t *call_ints(const struct op_call *call, const char *name, size_t *count);

/* NULL when omitted or not there. */
const struct bounded *call_input(const struct op_call *call, size_t index);

/* Input that must be there: NULL and an error otherwise. */
const struct bounded *call_need(struct op_call *call, size_t index);

/*
 * An integer input as a list (shapes, axes, pads), which has one dim: at most `max` values into *values.
 * Fails with ERROR_UNSUPPORTED "depends on data" when only shapes are asked for and the value is not known.
 */
int call_int_list(struct op_call *call, size_t index, int64_t *values, size_t max, size_t *count);

/* An integer input of a single value, whatever its rank: engines and models differ on "0-D". */
int call_int_single(struct op_call *call, size_t index, int64_t *value);

/* Fixes output `index`. NULL and an error when it is too large. In a shapes-only call its value stays NULL.
 */
struct bounded *call_output(struct op_call *call, size_t index, enum dtype type, const struct shape *shape);

/* The same with a value even in a shapes-only call: for results that do not depend on data (Shape, Constant).
 */
struct bounded *call_output_known(struct op_call *call, size_t index, enum dtype type,
                                  const struct shape *shape);

/* Brings an axis in [-rank, rank-1] (or [-rank, rank] with end) into [0, rank]; fails when it is out of
 * range. */
int call_axis(struct op_call *call, int64_t axis, int rank, int *normal);

/* Fails with ERROR_INVALID unless a and b broadcast together; *out is the common shape. */
int call_broadcast(struct op_call *call, const struct shape *a, const struct shape *b, struct shape *out);

#endif
