/*
 * What LSTM, GRU and RNN share: sizes, layouts, activations, the two products of every step.
 *
 * The state goes from step to step as values with bounds in the tensor's type, so both bounds travel through
 * time. A gate's input is  x W' + h R' + biases (+ peepholes): input_size + hidden_size + a few roundings in
 * any order.
 */
#ifndef OPS_RNN_H
#define OPS_RNN_H

#include "bounds/contract.h"
#include "ops/op.h"

/* Activation functions of the operators' text. */
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
 * Reads activations, activation_alpha and activation_beta: `count` functions, `defaults` repeated where the
 * attribute is absent. Values are taken by the functions that have them, in order.
 */
int activations_read(struct op_call *call, size_t count, const enum activation_kind *defaults, size_t period,
                     struct activation *activations);
struct number activation_apply(const struct activation *a, struct number x, long double u);
const char *activation_name(enum activation_kind kind);
bool activation_has_alpha(enum activation_kind kind);
bool activation_has_beta(enum activation_kind kind);

enum { RNN_ACTIVATIONS = 3, RNN_DIRECTIONS = 2 };

struct rnn {
    struct op_call *call;
    enum dtype type;
    size_t gates, directions, steps, batch, input, hidden;
    bool batch_first; /* layout 1 */
    bool reverse;     /* the only direction runs backwards */
    long double clip; /* infinite: none */
    long double u, roundings;
    size_t per_direction; /* activations */
    struct activation activations[RNN_DIRECTIONS * RNN_ACTIVATIONS];
    struct operand x, w, r;
    const struct bounded *bias, *lengths; /* may be NULL */
    struct bounded *y, *last;             /* outputs Y and Y_h */
    /* Of the direction at hand: */
    size_t direction;
    struct bounded state;      /* [batch, hidden] */
    struct number *input_part; /* [step][batch][gate][hidden]: x W' */
    struct number *state_part; /* [batch][gate][hidden]: h R' */
};

/*
 * Checks inputs and attributes and fixes Y and Y_h (with a shapes-only call, nothing more). `activations` per
 * direction with their defaults.
 */
int rnn_begin(struct rnn *rnn, struct op_call *call, size_t gates, const enum activation_kind *defaults,
              size_t activations);
void rnn_end(struct rnn *rnn);

/* Shape of a state tensor (initial_h, Y_h and their like). */
struct shape rnn_state_shape(const struct rnn *rnn);
size_t rnn_state_at(const struct rnn *rnn, size_t batch, size_t unit); /* of the direction at hand */
int rnn_state_check(const struct rnn *rnn, size_t input);              /* an optional input of that shape */

/* Takes an initial state (input `input`, or zeros) into a [batch, hidden] value. */
int rnn_state_load(const struct rnn *rnn, size_t input, struct bounded *state);

/* Starts a direction: initial h, and x W' of all steps. */
int rnn_direction(struct rnn *rnn, size_t direction);

/* `from` [batch, hidden] times R' of `gates` gates from `first` on, into state_part. */
int rnn_recur(struct rnn *rnn, const struct bounded *from, size_t first, size_t gates);

size_t rnn_length(const struct rnn *rnn, size_t batch);
/* Place in time of the n-th step of a sequence. */
size_t rnn_time(const struct rnn *rnn, size_t batch, size_t n);

/* x W' + W bias, and h R' + R bias, of one unit of a gate; rnn_add adds one more term of the same sum. */
struct number rnn_from_input(const struct rnn *rnn, size_t time, size_t batch, size_t gate, size_t unit);
struct number rnn_from_state(const struct rnn *rnn, size_t batch, size_t gate, size_t unit);
struct number rnn_add(const struct rnn *rnn, struct number sum, struct number term);

/* Clips and applies the direction's activation number `which`. */
struct number rnn_activate(const struct rnn *rnn, size_t which, struct number x);
struct number rnn_activate_unclipped(const struct rnn *rnn, size_t which, struct number x);

/* A state this large comes from parts that may have overflowed on the way, depending on how they are combined
 * (an infinity less another): undecided. */
struct number rnn_state(const struct rnn *rnn, struct number state);

/* The new h of one unit: goes to Y and, later, Y_h. */
void rnn_emit(struct rnn *rnn, size_t time, size_t batch, size_t unit, struct number h);

/* Ends a direction: Y_h, and the steps beyond a sequence's length, which the text leaves open. */
void rnn_finish(struct rnn *rnn);

/* Stores a final state into its output; open for a sequence of length 0. */
void rnn_store(const struct rnn *rnn, const struct bounded *state, struct bounded *out);

#endif
