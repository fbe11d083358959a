/*
 * The operator table: one row for each operator, in the file of its family.
 *
 * A row holds everything that is known of the operator: where it exists (opsets, numbers of inputs and
 * outputs, element types, parameters), how a valid node is drawn (`sample`, draw.h), what it computes
 * (`eval`), and the answers to the questions of other folders. They ask the row and keep no lists of operator
 * names of their own: an operator missing from such a list would silently be treated as another kind.
 *
 * In the enums of these answers 0 means "not answered". tests/unit/test_table.c walks the table and fails for
 * a row without data, range, factors, result, work, slope or dangers, or without a history that it needs; it
 * also compares what rows say of factors and dangers with the kernels, as test_draws does with results.
 *
 * The kernel and the shape rule are one function: eval first checks the node and fixes its outputs with
 * call_output, and stops there when only shapes are asked for. So the two cannot disagree.
 */
#ifndef OPS_OP_H
#define OPS_OP_H

#include "bounds/bounded.h"
#include "bounds/strides.h"
#include "model/build.h"

struct op_call;
struct op_gradient;
struct draw;

/*
 * A parameter that can be varied: an attribute, or an input that acts as one. `legal` and `illegal` are
 * values in text, separated by '|' ("0|1", "SAME_UPPER|VALID", "1,1|2,3"; "low..high" is a range). An
 * implementation must refuse the illegal ones and must not crash on them.
 */
enum param_kind {
    PARAM_INT,
    PARAM_FLOAT,
    PARAM_STRING,
    PARAM_INTS,
    PARAM_FLOATS,
    PARAM_TENSOR,
    PARAM_GRAPH,
    PARAM_INPUT,
    PARAM_STRINGS
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
    OP_OLDEST = 11,     /* the oldest opset that kernels implement; for older ones see eval/older_opsets.h */
    OP_FORMER = 3,      /* the most attributes of an operator that became inputs */
    OP_VARIADIC = 1000, /* as op_limits.most: any number */
};

/* Flags: properties of a few operators that other code must know. */
enum {
    OP_DATA_SHAPE = 1,          /* output shapes depend on data (NonZero) */
    OP_BRANCHES = 2,            /* runs one of its bodies (If) */
    OP_LOOPS = 4,               /* runs its body again and again (Loop) */
    OP_SCANS = 8,               /* runs its body on slices of its last inputs (Scan) */
    OP_RANDOM = 16,             /* its result is random: two runs need not agree */
    OP_RANDOM_IN_TRAINING = 32, /* its result is random in training mode (Dropout) */
    OP_CASTS = 64,              /* changes only the element type (Cast) */
    OP_SUBTRACTS = 128,         /* first input minus the second; its square may be expanded */
    OP_MULTIPLIES = 256,        /* a square when both inputs are the same */
    OP_RAISES = 512,            /* a square when the exponent is 2 */
    OP_CONVOLVES = 1024,        /* input 1 is a kernel; the attribute kernel_shape may repeat its sizes */
    OP_ON_REQUEST = 2048,       /* drawn only where it, or an opset beyond 21, is asked for: it came into the
                                   table after recipes that choose among all operators had been written */
    OP_CONTAINERS = 4096,       /* takes sequences and absent optionals, which others refuse */
    OP_MAKES_NARROW = 8192, /* makes narrow elements of others (Cast), by its other inputs or attributes */
    OP_FIRST_NOT_NARROW = 16384, /* its first input is none of the types in `narrow` */
    OP_LEVELS_OFF = 32768,       /* large inputs all give its least or its largest result (Sigmoid, Clip) */
    OP_CHOOSES = 65536, /* takes each element from one of its inputs, by a condition, the first (Where) */
    OP_STATES =
        131072, /* its first output has the state after every step, from which the next goes on (GRU) */
    OP_VECTORS =
        262144, /* an operand of one dimension is a vector, which has a meaning of its own (MatMul) */
    OP_RESHAPES = 1 << 19, /* gives the elements in the same order, in another shape (Reshape, Squeeze) */
    OP_PERMUTES = 1 << 20, /* puts the axes into another order (Transpose) */
    OP_UNDOES_ITSELF =
        1 << 21, /* applied twice, it gives what it was given (Neg); Abs does for numbers without a sign */
    OP_SPECIMEN = 1 << 22,        /* shows whether an engine fails whatever the operator: no two of them have
                                     anything in common but that they can work along the last axis */
    OP_SPECIMEN_OF_NAN = 1 << 23, /* the same where NaN is asked for, which it keeps by its formula */
    OP_QUANTIZES = 1 << 24,       /* gives levels: the first input divided by a scale, the second, plus a zero
                                     point, the third (QuantizeLinear) */
    OP_DEQUANTIZES = 1 << 25,     /* the other way round (DequantizeLinear) */
    OP_NAN_UNSAID =
        1 << 26, /* the greatest or least of elements, where ONNX does not say what becomes of NaN:
                    it wins, as in NumPy, unless the call leaves it out (op_call.nans_left_out) */
};

/*
 * Which elements an element of the first output is computed from, besides parameters: what a sweep over all
 * values (generate/sweep.h) may put side by side in one tensor.
 */
enum op_each_rule {
    EACH_OTHER,   /* others than the ones below, or nobody has said: it is not swept */
    EACH_ALONE,   /* the one at its place in input 0 */
    EACH_PAIR,    /* those at its place in input 0 and in input `second` */
    EACH_PRODUCT, /* a row of input 0 and a column of input `second` */
};

struct op_each {
    enum op_each_rule rule;
    size_t second;
};

/* How many there may be, both included. */
struct op_limits {
    int least, most;
};

/* Which inputs are data, which other nodes of a graph can feed; the others are parameters or weights. */
enum op_data {
    DATA_FIRST = 1,
    DATA_ALL, /* several edges can end here (Add, Concat, MatMul ...) */
    DATA_NONE /* the first is a parameter (Range), or there is none (Constant): it cannot extend a graph */
};

/* How the range of an operator's results follows from the ranges of its inputs. */
enum op_range_rule {
    RANGE_LIKE_INPUTS = 1, /* about as large as the largest input */
    RANGE_MOVE,            /* elements of the first input, or 0 */
    RANGE_FIXED,           /* within `gives` for any input */
    RANGE_ADD,             /* sums of all inputs */
    RANGE_MUL,
    RANGE_DIV,
    RANGE_EXP,
    RANGE_SQUARE,
    RANGE_SQRT,
    RANGE_POWER,
    RANGE_LOG,
    RANGE_RELU,    /* negative numbers become 0 */
    RANGE_REDUCE,  /* sums over the reduced dimensions */
    RANGE_PRODUCT, /* products over the reduced dimensions */
    RANGE_DOT,     /* sums of products */
};

struct op_interval {
    double low, high;
};

/* The range of numbers that an operator needs, and the range of its results. */
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

/* Where the outputs can be differentiated by the data inputs of floating-point type. */
enum op_slope {
    SLOPE_EVERYWHERE = 1,    /* where the function is defined */
    SLOPE_ALMOST_EVERYWHERE, /* except at kinks and jumps (Relu, MaxPool, Where) */
    SLOPE_NOWHERE            /* no derivative, or 0 (Floor, ArgMax, Shape) */
};

/*
 * Where a result becomes infinite, NaN or another one all at once, besides an overflow of the result itself,
 * which any operator can have. A search steers values there (search/danger.h).
 */
enum op_danger_kind {
    DANGER_NONE = 1, /* nowhere */
    DANGER_DOMAIN,   /* where the input is outside `inside`: the root of a negative number */
    DANGER_POLE,     /* where the input is `at`: a divisor of 0, the logarithm of 0 */
    DANGER_POWER,    /* input 0 to the power of input 1: a root of a negative number, a division by 0 */
    DANGER_EXP,      /* where the exponential of `power` times the input overflows on the way; power 0: the
                        exponential of its absolute value */
    DANGER_INNER,    /* where a sum of elements to the power of `power` overflows on the way */
    DANGER_STEP,     /* jumps at every whole number, shifted by `at` */
    DANGER_JUMP,     /* jumps where the input is `at` */
    DANGER_COMPARE,  /* jumps where inputs 0 and 1 are equal */
    DANGER_TIE,      /* jumps where the first two in order along the attribute axis are equal */
};

enum { OP_DANGERS = 3 };

struct op_danger {
    enum op_danger_kind kind;
    size_t input;
    struct op_interval inside;
    double at, power;
    /* An attribute of type float and its default: it is added to an input that has a domain or a pole, and is
     * the size of the input at which it jumps. NULL: none. */
    const char *attribute;
    double otherwise;
};

/* The kind of work that an operator does, which determines its running time. */
enum op_work {
    WORK_SHAPE = 1, /* none: it reads only the shape of its input */
    WORK_CREATES,   /* makes elements from parameters */
    WORK_MOVES,     /* copies elements of any type unchanged */
    WORK_ELEMENTS,  /* some operations for each element */
    WORK_REDUCES,   /* each output depends on many elements */
    WORK_PRODUCTS,  /* sums of products: one more loop than there are dimensions */
    WORK_BODIES     /* the work of its bodies */
};

/*
 * What becomes of a factor of an input in the output: f(c * x) = c^power * f(x), for c > 0. Engines that
 * compute several nodes as one multiply such factors in any order (eval/factor_order.h).
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

/* An input of whole numbers that count along an axis of another input: which numbers may be drawn for it. */
struct op_index {
    size_t input;     /* 0: there is none */
    size_t of;        /* the input whose axis it is */
    const char *axis; /* the attribute that names the axis, 0 by default; NULL: `at` is the axis */
    int at;
    bool any;     /* it may be any axis: the smallest counts */
    bool lengths; /* from 1 to the size, instead of from 0 to below it */
};

/* What the operator was like in older opsets. */
struct op_history {
    /* The first opset in which it means what `eval` computes; older nodes are refused as unsupported.
     * Required when the operator is older than OP_OLDEST. */
    int same_since;
    /* The last opset that made the earlier form of the node invalid; 0: none. */
    int reformed;
    /* The attributes that inputs 1, 2 ... replaced in opset `reformed`, if eval reads only the inputs. A
     * number becomes a tensor of the first input's type (PARAM_FLOAT) or a list of one. */
    struct {
        const char *name;
        enum param_kind kind; /* PARAM_FLOAT, PARAM_INT or PARAM_INTS */
    } attributes[OP_FORMER];
};

/* A row. It starts with OP(name, opset), or OP_MICROSOFT(name). flags, params, extras, open, index, fit,
 * others, each and gradient may be left out; so may history unless the operator is older than OP_OLDEST. */
struct op {
    const char *name;   /* as people and files write it: "Gelu", "com.microsoft::Gelu" */
    const char *type;   /* the op_type of its nodes */
    const char *domain; /* of its nodes; "": ONNX's own */
    const char *owner;  /* the domain whose list has it, which may be another than that of its nodes */
    int since;          /* first opset of its domain that has it, in any form */
    struct op_limits inputs, outputs;
    struct op_limits ranks; /* of the primary input that the sampler can work with */
    unsigned flags;
    struct op_types types[5]; /* of input 0, ascending; the last that applies wins; ends with set 0 */
    struct op_types narrow;   /* narrow types (tensor/narrow.h) that its inputs and outputs may have from an
                                 opset on, as far as ONNX has them there; drawn only where they are asked
                                 for. Set 0: none */
    unsigned reads_floats; /* a bit for each input that the kernel reads as it is stored, too (bounded.h) */
    const struct op_param *params; /* NULL: none */
    const struct op_param *extras; /* optional inputs that hold data (a bias, an initial state) and are no
                                      parameters, but a node can do without them; NULL: none is listed */
    int (*eval)(struct op_call *call);
    int (*sample)(struct draw *draw);
    enum op_data data;
    struct op_range range;
    struct op_factors factors;
    struct op_history history;
    enum op_result result;
    enum op_work work;
    enum op_slope slope;
    /* What of it ONNX leaves unspecified, for people who wonder about an open result: "the sign of NaN".
     * NULL: nothing, or no more than that integers overflow. */
    const char *open;
    struct op_index index;
    struct op_danger dangers[OP_DANGERS]; /* the first that is not set ends them */
    /* Changes *shape, the present shape of input `input`, into the one that the node's attributes ask for,
     * given the shape of the first input: weights after a change of group or direction. NULL: no attribute
     * decides the shape of an input, or only in ways that nobody needs. */
    void (*fit)(const struct op_call *call, size_t input, struct shape *shape);
    /* Of a product of levels: the operator that it is on the numbers that they stand for. Its inputs are the
     * levels, scale and zero point of the first operand and of the second, scale and zero point of the
     * result, and levels of a bias, whose scale is the product of both. */
    struct {
        const char *type;   /* NULL: it is none */
        bool channels_last; /* the second operand's last axis counts the channels of the result, else the
                               first */
    } on_levels;
    struct op_each each;
    /* Calls `give` for legal values of an attribute that follow from the node itself (the equation of an
     * Einsum), besides those in the table. NULL: there are none. */
    void (*others)(const Onnx__NodeProto *node, const struct op_param *param,
                   void (*give)(void *context, const char *value), void *context);
    /* From the derivatives by the outputs those by the inputs, see gradient.h. NULL: not implemented, or
     * there are none (SLOPE_NOWHERE). Fails like eval. */
    int (*gradient)(struct op_gradient *gradient);
};

#define OP(op_name, first_opset) \
    .name = op_name, .type = op_name, .domain = "", .owner = "", .since = first_opset

/*
 * ONNX Runtime's own domain, of which there is one version. Its operators do not depend on the opset of the
 * model, and are drawn only where they, or the domain, are named.
 */
#define DOMAIN_MICROSOFT "com.microsoft"
#define OP_MICROSOFT(op_name) OP_MICROSOFT_IN(DOMAIN_MICROSOFT, op_name)

/* The same, for one whose nodes stand in another domain. */
#define OP_MICROSOFT_IN(node_domain, op_name)                                      \
    .name = DOMAIN_MICROSOFT "::" op_name, .type = op_name, .domain = node_domain, \
    .owner = DOMAIN_MICROSOFT, .since = 1, .history = {.same_since = 1}

/* A family file exports `const struct op ops_FAMILY[]`, which a row without a name ends; src/ops/meson.build
 * lists the families. */

/* The row with this name, or of a node's operator: that of its domain and type. NULL when the table has no
 * such operator. */
const struct op *op_find(const char *name);
const struct op *op_of(const Onnx__NodeProto *node);

/* Whether the node's operator is known to have the flag. */
bool op_has(const Onnx__NodeProto *node, unsigned flag);

/* Whether an error of its inputs may leave the outputs as they are: it jumps from result to result (ArgMax,
 * Less), or levels off. What is in front of such an operator must be looked at in front of it. */
bool op_hides(const struct op *op);

/* What people call the node's operator: the name of its row, otherwise its type. */
const char *op_title(const Onnx__NodeProto *node);

/* Whether a comma-separated list has the operator, by its name or its domain; and the opset from which on,
 * which an entry "Softmax@13" says, or 0. */
bool op_list_has(const char *names, const struct op *op);
int op_list_since(const char *names, const struct op *op);

/* Whether the node reads the value as data by some input, not as a parameter (the limits of Clip) or as the
 * statistics of BatchNormalization. Operators that are not known read all inputs as data. */
bool op_reads_as_data(const Onnx__NodeProto *node, const char *name);

/* Checks a comma-separated list of operator names given by the user. Fails with ERROR_NOT_FOUND, and suggests
 * a similar name, unless cases can be drawn of each of them. NULL: nothing was named, which is fine. */
int op_check_names(const char *names, struct error *err);

/* All rows in table order. */
size_t op_count(void);
const struct op *op_at(size_t index);
const struct op *op_after(const struct op *op); /* the next row; NULL: the first, or behind the last */

/* The family whose file has the row: "activation", "conv" ... */
const char *op_family(const struct op *op);

/* Types of input 0 at an opset, without the narrow ones; empty before `since`. */
dtype_set op_types_at(const struct op *op, int opset);

/* Narrow types that inputs and outputs may have at an opset. */
dtype_set op_narrow_at(const struct op *op, int opset);

/* Types of input 0 for cases in which `asked` are wanted; 0: the usual ones, of which none is narrow. Where
 * only narrow ones are asked for, an operator that makes them may take any other type. */
dtype_set op_drawn_types(const struct op *op, int opset, dtype_set asked);

/* The first opset at which cases are drawn: that of the operator or, where ONNX has withdrawn the earlier
 * forms, that of its first types. */
int op_drawn_since(const struct op *op);

/*
 * One evaluation of one node. Inputs are borrowed. The kernel makes the outputs one by one with call_output;
 * an output that the node does not name may still be made and is dropped.
 */
struct op_call {
    const struct op *op;
    const Onnx__NodeProto *node;
    int opset;          /* of ONNX's own domain */
    bool shapes_only;   /* stop after fixing outputs; inputs may have no values */
    bool unbounded;     /* nobody looks at the error bounds: what is costly to bound may be left out */
    bool direct;        /* convolutions are sums of products, never computed by Winograd's algorithm */
    bool nans_left_out; /* OP_NAN_UNSAID: the other reading, by which the numbers beside a NaN count alone */
    size_t n_inputs;
    const struct bounded *const *inputs; /* NULL: omitted */
    size_t n_outputs; /* room in outputs: the node's own number, at least max(outputs.least, 1) */
    struct bounded *outputs;
    /* Evaluates a subgraph attribute. The evaluator sets it; NULL where bodies cannot be run. */
    int (*body)(struct op_call *call, const Onnx__GraphProto *graph, size_t n_inputs,
                const struct bounded *const *inputs, size_t n_outputs, struct bounded *outputs);
    void *scope;
    bool open; /* set by a kernel: the result is unspecified though no element is marked open */
    /* What an engine gave as output 0; NULL: nothing is known. An operator with OP_STATES goes on from the
     * state that stands there for the step before. */
    const struct tensor *shown;
    struct error *err;
};

/*
 * How a kernel fails: with ERROR_INVALID when the node breaks the rules of ONNX (an engine is right to refuse
 * it), with ERROR_UNSUPPORTED when the reference does not support it. Both return -1, and put the name of the
 * operator before the text.
 */
int call_invalid(struct op_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
int call_unsupported(struct op_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails with ERROR_INVALID when an attribute is not of the type that the table declares for the opset. The
 * evaluator calls it before the kernel: the functions below would take such an attribute for one that is left
 * out. */
int call_check_attributes(struct op_call *call);

/* Attributes with their defaults. */
int64_t call_int(const struct op_call *call, const char *name, int64_t otherwise);
double call_float(const struct op_call *call, const char *name, double otherwise);
const char *call_string(const struct op_call *call, const char *name, const char *otherwise);
bool call_has(const struct op_call *call, const char *name);

/* The ints of an attribute: points into the node, *count 0 when absent. */
const int64_t *call_ints(const struct op_call *call, const char *name, size_t *count);

/* An input; NULL when it is omitted. */
const struct bounded *call_input(const struct op_call *call, size_t index);

/* A required input; NULL and ERROR_INVALID when it is omitted. */
const struct bounded *call_need(struct op_call *call, size_t index);

/*
 * Reads an integer input as a list (shapes, axes, pads), which must have rank 1, of at most `max` values.
 * Fails with ERROR_UNSUPPORTED "depends on data" when only shapes are computed and the value is not known.
 */
int call_int_list(struct op_call *call, size_t index, int64_t *values, size_t max, size_t *count);

/* Reads an integer input of one element, of any rank: engines and models disagree on whether it has rank 0 or
 * 1. */
int call_int_single(struct op_call *call, size_t index, int64_t *value);

/* Makes output `index` with its type and shape. NULL and an error when it is too large. In a shapes-only call
 * its value stays NULL. */
struct bounded *call_output(struct op_call *call, size_t index, enum dtype type, const struct shape *shape);

/* The same with elements that are not set: for kernels that store each before they read any. */
struct bounded *call_output_unset(struct op_call *call, size_t index, enum dtype type,
                                  const struct shape *shape);

/* Makes output `index` a sequence of `count` items, which the kernel sets. NULL and an error when it is too
 * long. */
struct bounded *call_sequence(struct op_call *call, size_t index, enum dtype type, size_t count);

/* The same with a value even in a shapes-only call: for results that do not depend on data (Shape, Constant).
 */
struct bounded *call_output_known(struct op_call *call, size_t index, enum dtype type,
                                  const struct shape *shape);

/* Normalises an axis in [-rank, rank-1] to [0, rank-1]; fails with ERROR_INVALID when it is out of range. */
int call_axis(struct op_call *call, int64_t axis, int rank, int *normal);

/* Marks the axes of a list, each normalised; fails with ERROR_INVALID when one is out of range or given
 * twice.
 */
int call_mark_axes(struct op_call *call, const int64_t *axes, size_t count, int rank,
                   bool marked[TENSOR_MAX_RANK]);

/* Fails with ERROR_INVALID unless a and b broadcast together; *out is the common shape. */
int call_broadcast(struct op_call *call, const struct shape *a, const struct shape *b, struct shape *out);

#endif
