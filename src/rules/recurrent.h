/* An LSTM, GRU or RNN node as rules about recurrent operators see it. */
#ifndef RULES_RECURRENT_H
#define RULES_RECURRENT_H

#include "rules/rewrite.h"

/* Numbers of inputs and outputs. */
enum {
    RECURRENT_X,
    RECURRENT_W,
    RECURRENT_R,
    RECURRENT_B,
    RECURRENT_LENGTHS,
    RECURRENT_INITIAL_H,
    RECURRENT_INITIAL_C, /* LSTM */
    RECURRENT_P,         /* LSTM */
    RECURRENT_Y = 0,
    RECURRENT_Y_H,
    RECURRENT_Y_C, /* LSTM */
    RECURRENT_OUTPUTS,
};

struct recurrent {
    struct rewrite *rewrite;
    const Onnx__NodeProto *node;
    enum dtype type;
    size_t gates;  /* 1: RNN, 3: GRU, 4: LSTM */
    size_t states; /* 1, or 2 with the cell of LSTM */
    int64_t directions, steps, batch, input, hidden;
    bool reverse;     /* there is one direction, and it runs backwards */
    bool batch_first; /* layout 1: the batch is the first axis of X, Y and the states */
};

/* False when something is not known or not valid, or when there is nothing to compute. */
bool recurrent_read(struct recurrent *r, struct rewrite *rewrite, const Onnx__NodeProto *node);

bool recurrent_wants(const struct recurrent *r, size_t output);

/* The axes of X that are time and batch, and those of Y and of the states that are directions. */
int64_t recurrent_time(const struct recurrent *r);
int64_t recurrent_directions_of_y(const struct recurrent *r);
int64_t recurrent_directions_of_state(const struct recurrent *r);

/* A node with the same operator, attributes and inputs. *outputs gets a new name for each output that the
 * original has, and for the states too when `states` is set; NULL for the others. */
Onnx__NodeProto *recurrent_copy(const struct recurrent *r, bool states,
                                const char *outputs[RECURRENT_OUTPUTS]);

#endif
