/*
 * ONNX nodes to lines of TorchScript.
 *
 * Every operator is one row: a form, `torch.tanh($0)`, or a function that writes lines. A row says exactly
 * what ONNX means or fails with emit_unsupported; it never writes something that is only nearly it. Shapes
 * and types of the inputs are known when a row runs, and so are their values (program.h): what ONNX keeps in
 * tensors and the library in arguments (axes, pads, shapes) is written as numbers.
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
    const char *name; /* the variable; NULL: omitted */
    enum dtype type;
    struct shape shape;
    bool fixed; /* depends on weights and input shapes only, not on what the inputs hold */
    const struct face_tensor *tensor;
};

struct emit {
    const Onnx__NodeProto *node;
    int opset;
    size_t number; /* of the node: makes temporaries unique */
    int temporaries;
    size_t n_inputs;
    const struct emit_value *inputs;
    size_t n_outputs;
    const char *const *outputs; /* variables; NULL: not wanted */
    struct str *text;
    struct arena *arena; /* of the program: texts handed out by the functions below */
    bool reads_data;     /* out: a value that is not fixed has been written into the text */
    struct error *err;
    /* A constant tensor as a variable; the tensor is taken over. */
    const char *(*constant)(void *context, struct tensor *tensor, struct error *err);
    void *context;
};

enum { EMIT_DATA_SHAPE = 1 /* the shape of the result depends on what the input holds */ };

struct emit_op {
    const char *name;
    const char *form; /* or: */
    int (*write)(struct emit *e);
    dtype_set types; /* of input 0; 0: any */
    unsigned flags;
};

/* NULL when there is none. */
const struct emit_op *emit_find(const char *name);
size_t emit_count(void);
const struct emit_op *emit_at(size_t number);

/* Writes the node's lines. */
int emit_node(struct emit *e);

/* Both return -1. */
int emit_unsupported(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
int emit_invalid(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line of the body. */
void emit_line(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text of the program's arena. */
const char *emit_text(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A new variable with this expression as its value. */
const char *emit_let(struct emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Output number i is this expression; nothing when it is not wanted. Returns 0. */
int emit_out(struct emit *e, size_t i, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool emit_wants(const struct emit *e, size_t i);

bool emit_has(const struct emit *e, size_t i);
const char *emit_in(const struct emit *e, size_t i); /* the variable, "None" when omitted */
const struct shape *emit_shape(const struct emit *e, size_t i);
enum dtype emit_type(const struct emit *e, size_t i);
bool emit_is_float(const struct emit *e, size_t i);
/* The library's number of a type. */
int emit_scalar(struct emit *e, enum dtype type, int *number);

/* "[1, 2]", and a number that reads back as the same double ("float('inf')" and the like included). */
const char *emit_ints(struct emit *e, const int64_t *values, size_t count);
const char *emit_float(struct emit *e, double value);
/* A scalar of this type: a float for floats, else an int (bool, too). */
const char *emit_number(struct emit *e, enum dtype type, long double value);

/* Attributes. */
int64_t emit_attr(const struct emit *e, const char *name, int64_t otherwise);
const char *emit_attr_float(struct emit *e, const char *name, double otherwise);
bool emit_word(const struct emit *e, const char *name, const char *word, const char *otherwise);
/* Exactly `count` ints into values, when the attribute is there; fails on another number. */
int emit_attr_list(struct emit *e, const char *name, int64_t *values, size_t count);

/* The elements of an input as numbers: at most max. Marks the program when they are not fixed. */
int emit_list(struct emit *e, size_t i, int64_t *values, size_t max, size_t *count);
int emit_scalar_value(struct emit *e, size_t i, long double *value); /* its only element */

/* Axes in [0, rank), ascending and each once, from an attribute or from input `input` (0: no such input). */
int emit_axes(struct emit *e, size_t input, int rank, int64_t *axes, size_t *count);
int emit_axis(struct emit *e, int64_t axis, int rank, int64_t *normal);

/* An index tensor with its negative elements counted from the end of a dimension of this size, as int64. */
const char *emit_index(struct emit *e, size_t i, int64_t size);

/* Tables of the families, each ended by a NULL name. */
extern const struct emit_op emit_math[], emit_reduce[], emit_move[], emit_window[], emit_normal[],
    emit_gather[], emit_create[], emit_product[], emit_recurrent[], emit_resize[];

#endif
