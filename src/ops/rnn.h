/*
 * What LSTM, GRU and RNN share: sizes, layouts, activations, and the two matrix products of every step.
 *
 * The state passes from step to step as values with bounds in the type of the tensor, so both bounds grow
 * over time. The input of a gate is  x W' + h R' + biases (+ peepholes): input_size + hidden_size + a few
 * roundings in any order.
 */
#ifndef OPS_RNN_H
#define OPS_RNN_H

#include "bounds/contract.h"
#include "ops/op.h"

/* The activation functions that ONNX lists for these operators. */
enum activation_kind {
    ACT_RELU,
    ACT_TANH,
    ACT_SIGMOID,
    ACT_AFFINE,
    ACT_LEAKY_RELU,
    ACT_THRESHOLDED_RELU,
    ACT_SCALED_TANH,
    ACT_HARD_SIGMOID,
    ACT_ELU,
    ACT_SOFTSIGN,
    ACT_SOFTPLUS,
    ACT_COUNT
};

struct activation {
    enum activation_kind kind;
    long double alpha, beta;
};

/*
 * Reads `count` functions from activations, activation_alpha and activation_beta; where the attribute is
 * absent, the `period` functions of `defaults` are repeated. The alpha and beta values go in order to the
 * functions that have these parameters.
 */
int activations_read(struct op_call *call, size_t count, const enum activation_kind *defaults, size_t period,
                     struct activation *activations);
struct number activation_apply(const struct activation *a, struct number x, long double u);
/* Its derivative at x, where it has the value y; undecided at kinks. */
struct number activation_slope(const struct activation *a, struct number x, struct number y, long double u);
const char *activation_name(enum activation_kind kind);
bool activation_has_alpha(enum activation_kind kind);
bool activation_has_beta(enum activation_kind kind);

enum { RNN_ACTIVATIONS = 3, RNN_DIRECTIONS = 2 };

/*
 * What a run records for the gradient: for each time step, sequence of the batch and unit, a number of slots
 * that the operators name in recurrent.h. One direction at a time.
 */
struct rnn_tape {
    size_t slots;
    struct number *at;
};

struct rnn {
    struct op_call *call;
    enum dtype type;
    size_t gates, directions, steps, batch, input, hidden;
    bool batch_first; /* layout 1 */
    bool reverse;     /* there is one direction, and it runs backwards */
    long double clip; /* infinite: none */
    long double u, roundings;
    size_t per_direction; /* activations */
    struct activation activations[RNN_DIRECTIONS * RNN_ACTIVATIONS];
    struct operand x, w, r;
    const struct bounded *bias, *lengths; /* may be NULL */
    struct bounded *y, *last;             /* outputs Y and Y_h */
    /* Of the current direction: */
    size_t direction;
    struct bounded state;      /* [batch, hidden] */
    struct number *input_part; /* [step][batch][gate][hidden]: x W' */
    struct number *state_part; /* [batch][gate][hidden]: h R' */
    struct rnn_tape *tape;     /* NULL: nothing is recorded */
};

/*
 * Checks inputs and attributes and makes Y and Y_h (in a shapes-only call, nothing more). `activations` is
 * their number per direction.
 */
int rnn_begin(struct rnn *rnn, struct op_call *call, size_t gates, const enum activation_kind *defaults,
              size_t activations);
void rnn_end(struct rnn *rnn);

/* The shape of a state tensor (initial_h, Y_h and the like), an element of it, and the check of an optional
 * input of that shape. */
struct shape rnn_state_shape(const struct rnn *rnn);
size_t rnn_state_at(const struct rnn *rnn, size_t batch, size_t unit); /* of the current direction */
int rnn_state_check(const struct rnn *rnn, size_t input);

/* Before step n: the states become those that the engine had after the step before, where it showed them. */
void rnn_follow(struct rnn *rnn, size_t n);

/*
 * A priori ranges. Where all activations are bounded, no implementation's states leave a range that does not
 * depend on error bounds, which grow from step to step until they say nothing.
 */
enum rnn_kind { RNN_SIMPLE, RNN_GRU, RNN_LSTM };
struct rnn_range {
    long double out, cell; /* largest magnitude of Y and of Y_c; infinite: not known */
    long double h, gate;   /* of all hidden states, the first one included; of the gates */
};
struct rnn_range rnn_range_of(const struct rnn *rnn, enum rnn_kind kind, bool coupled);

/* Whether it holds for a sequence of the batch: all its inputs are known, and its sums are far from overflow.
 */
bool rnn_range_holds(const struct rnn *rnn, const struct rnn_range *range, size_t batch);

/*
 * Cuts the bound of an output element that is as wide as the range or not known: to three times the range,
 * because a result anywhere in it may have a bound of its own that is nearly as wide.
 */
void rnn_range_apply(struct bounded *out, size_t i, long double most);

/* Copies an initial state (input `input`, or zeros) into a [batch, hidden] value. */
int rnn_state_load(const struct rnn *rnn, size_t input, struct bounded *state);

/* Starts a direction: loads the initial h and computes x W' of all steps. */
int rnn_direction(struct rnn *rnn, size_t direction);

/* Computes `from` [batch, hidden] times R' of `gates` gates from number `first` on, into state_part. */
int rnn_recur(struct rnn *rnn, const struct bounded *from, size_t first, size_t gates);

/* The length of a sequence of the batch. */
size_t rnn_length(const struct rnn *rnn, size_t batch);
/* The time step that step n of a sequence reads, in the current direction. */
size_t rnn_time(const struct rnn *rnn, size_t batch, size_t n);

/* x W' + W bias, and h R' + R bias, for one unit of a gate; rnn_add adds another term to the same sum. */
struct number rnn_from_input(const struct rnn *rnn, size_t time, size_t batch, size_t gate, size_t unit);
struct number rnn_from_state(const struct rnn *rnn, size_t batch, size_t gate, size_t unit);
struct number rnn_add(const struct rnn *rnn, struct number sum, struct number term);

/* Clips and applies the direction's activation number `which`. */
struct number rnn_activate(const struct rnn *rnn, size_t which, struct number x);
struct number rnn_activate_unclipped(const struct rnn *rnn, size_t which, struct number x);

/* The derivative of rnn_activate by x. */
struct number rnn_slope(const struct rnn *rnn, size_t which, struct number x, struct number y);

/* Makes a tape for all time steps, or fails; and releases it. */
int rnn_tape_start(struct rnn *rnn, struct rnn_tape *tape, size_t slots);
void rnn_tape_release(struct rnn_tape *tape);
void rnn_record(const struct rnn *rnn, size_t slot, size_t time, size_t batch, size_t unit, struct number n);
struct number rnn_recorded(const struct rnn *rnn, size_t slot, size_t time, size_t batch, size_t unit);

/* rnn_activate, whose result and derivative are recorded in `slot` and the one behind it. */
struct number rnn_gate(const struct rnn *rnn, size_t which, size_t slot, size_t time, size_t batch,
                       size_t unit, struct number x);

/* Where Y has the state of one unit after a time step. */
size_t rnn_output_at(const struct rnn *rnn, size_t time, size_t batch, size_t unit);

/* Makes a state undecided when it is so large that its parts may have overflowed, depending on the order in
 * which they are combined (an infinity minus another). */
struct number rnn_state(const struct rnn *rnn, struct number state);

/* Stores the new h of one unit in Y and in the state, which later becomes Y_h. */
void rnn_emit(struct rnn *rnn, size_t time, size_t batch, size_t unit, struct number h);

/* Cuts the bounds of the outputs of the current direction to their range, where it holds; after rnn_finish.
 * cells: Y_c, or NULL. */
void rnn_cut(struct rnn *rnn, const struct rnn_range *range, struct bounded *cells);

/* Ends a direction: stores Y_h, and fills the steps beyond the length of each sequence, which ONNX leaves
 * unspecified. */
void rnn_finish(struct rnn *rnn);

/* Stores a final state in its output; ONNX leaves it unspecified for a sequence of length 0. */
void rnn_store(const struct rnn *rnn, const struct bounded *state, struct bounded *out);

#endif
