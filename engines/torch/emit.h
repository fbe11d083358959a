/*
 * Translates ONNX nodes to lines of TorchScript.
 *
 * Every operator has one row: a form such as `torch.tanh($0)`, or a function that writes lines. A row writes
 * exactly what ONNX defines or fails with emit_unsupported; it never writes an approximation. The types,
 * shapes and values of the inputs are known when a row runs (program.h), so what ONNX passes in tensors and
 * the library takes as arguments (axes, pads, shapes) is written as numbers.
 *
 * Forms: $N is input N, {f:NAME=DEFAULT} a float attribute, {i:NAME=DEFAULT} an int attribute.
 */
#ifndef TORCH_EMIT_H
#define TORCH_EMIT_H

#include "base/arena.h"
#include "base/str.h"
#include "model/build.h"
#include "torch_face.h"

struct emit_value {
    const char *name; /* the variable's name; NULL: the input is omitted */
    enum dtype type;
    struct shape shape;
    bool fixed; /* depends on weights and input shapes only, not on what the inputs hold */
    const struct face_tensor *tensor;
};

struct emit {
    const Onnx__NodeProto *node;
    int opset;
    size_t number; /* the node's number, which makes the names of temporaries unique */
    int temporaries;
    size_t n_inputs;
    const struct emit_value *inputs;
    size_t n_outputs;
    const char *const *outputs; /* names of variables; NULL: not wanted */
    struct str *text;
    struct arena *arena; /* the program's arena, for the texts that the functions below return */
    bool reads_data;     /* set by rows: a value that is not fixed has been written into the text */
    uint64_t as_numbers; /* set by rows: inputs (one bit each) whose values have been written into the text */
    struct error *err;
    /* Makes a variable for a constant tensor, which it takes over. */
    const char *(*constant)(void *context, struct tensor *tensor, struct error *err);
    void *context;
};

enum { EMIT_DATA_SHAPE = 1 /* the shape of the result depends on the input's values */ };

struct emit_op {
    const char *name;
    const char *form; /* or NULL when `write` is set */
    int (*write)(struct emit *e);
    dtype_set types; /* of input 0; 0: any */
    unsigned flags;
};

/* The row of an operator; NULL when there is none. */
const struct emit_op *emit_find(const char *name);
size_t emit_count(void);
const struct emit_op *emit_at(size_t number);

/* Writes the node's lines. */
int emit_node(struct emit *e);

/* Fail with ERROR_UNSUPPORTED or ERROR_INVALID; both return -1. */
int emit_unsupported(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
int emit_invalid(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes one line of the body. */
void emit_line(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Formats a text in the program's arena. */
const char *emit_text(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a line that assigns this expression to a new variable, and returns the variable's name. */
const char *emit_let(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a line that assigns this expression to output i, unless the output is not wanted. Returns 0. */
int emit_out(struct emit *e, size_t i, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool emit_wants(const struct emit *e, size_t i);

bool emit_has(const struct emit *e, size_t i);
const char *emit_in(const struct emit *e, size_t i); /* the variable, "None" when omitted */
const struct shape *emit_shape(const struct emit *e, size_t i);
enum dtype emit_type(const struct emit *e, size_t i);
bool emit_is_float(const struct emit *e, size_t i);
/* Gives the library's number for a type; fails when it has none. */
int emit_scalar(struct emit *e, enum dtype type, int *number);

/* emit_ints gives "[1, 2]", emit_float a number that reads back as the same double (also "float('inf')" and
 * the like). */
const char *emit_ints(struct emit *e, const int64_t *values, size_t count);
const char *emit_float(struct emit *e, double value);
/* A scalar of this type: a float for floating-point types, else an int (also for bool). */
const char *emit_number(struct emit *e, enum dtype type, long double value);

/* Attributes of the node; `otherwise` is the value when the attribute is absent. */
int64_t emit_attr(const struct emit *e, const char *name, int64_t otherwise);
const char *emit_attr_float(struct emit *e, const char *name, double otherwise);
bool emit_word(const struct emit *e, const char *name, const char *word, const char *otherwise);
/* Reads exactly `count` ints into `values` when the attribute is present; fails when it has another number of
 * them. */
int emit_attr_list(struct emit *e, const char *name, int64_t *values, size_t count);

/* Reads the value of an input, which then belongs to the text; the caller releases it. Sets as_numbers, and
 * reads_data when the input is not fixed. */
int emit_read(struct emit *e, size_t i, struct tensor *tensor);
/* Reads the elements of an input, at most `max`. */
int emit_list(struct emit *e, size_t i, int64_t *values, size_t max, size_t *count);
int emit_scalar_value(struct emit *e, size_t i, long double *value); /* its only element */

/* Reads axes from an attribute, or from input `input` (0: there is no such input), as ascending numbers in
 * [0, rank), each once. */
int emit_axes(struct emit *e, size_t input, int rank, int64_t *axes, size_t *count);
int emit_axis(struct emit *e, int64_t axis, int rank, int64_t *normal);

/* An expression for an index tensor as int64, in which negative elements are counted from the end of a
 * dimension of this size. */
const char *emit_index(struct emit *e, size_t i, int64_t size);

/* The tables of operators, one for each emit_*.c; each ends with a NULL name. */
extern const struct emit_op emit_math[], emit_reduce[], emit_move[], emit_window[], emit_normal[],
    emit_gather[], emit_create[], emit_product[], emit_recurrent[], emit_resize[];

#endif
