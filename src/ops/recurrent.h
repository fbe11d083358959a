/*
 * The equations of LSTM, GRU and RNN (recurrent.c), and what they record for their gradients
 * (recurrent_gradient.c). A gate has two slots: its value, and the derivative of its activation.
 */
#ifndef OPS_RECURRENT_H
#define OPS_RECURRENT_H

#include "ops/rnn.h"

enum simple_slot { SIMPLE_BEFORE, SIMPLE_GATE, SIMPLE_SLOTS = SIMPLE_GATE + 2 };

enum gru_gate { GRU_Z, GRU_R, GRU_H, GRU_GATES };
enum gru_slot {
    GRU_BEFORE,
    GRU_PART, /* h R' of the hidden gate, with linear_before_reset */
    GRU_FIRST,
    GRU_SLOTS = GRU_FIRST + 2 * GRU_GATES
};

enum lstm_gate { LSTM_I, LSTM_O, LSTM_F, LSTM_C, LSTM_GATES };
enum lstm_slot {
    LSTM_BEFORE,
    LSTM_CELL_BEFORE,
    LSTM_CELL,
    LSTM_SQUASHED, /* h(C), a gate like the others */
    LSTM_FIRST = LSTM_SQUASHED + 2,
    LSTM_SLOTS = LSTM_FIRST + 2 * LSTM_GATES
};

struct lstm {
    struct rnn *rnn;
    struct bounded cell;
    const struct bounded *peepholes;
    bool coupled; /* input_forget */
};

/* rnn_begin for each of them, and all steps of the current direction. */
int simple_begin(struct rnn *rnn, struct op_call *call);
int simple_run(struct rnn *rnn);
int gru_begin(struct rnn *rnn, struct op_call *call);
int gru_run(struct rnn *rnn);
int lstm_begin(struct lstm *l, struct rnn *rnn, struct op_call *call);
int lstm_run(struct lstm *l);

/* The gradients of the rows. */
int recurrent_gradient_rnn(struct op_gradient *g);
int recurrent_gradient_gru(struct op_gradient *g);
int recurrent_gradient_lstm(struct op_gradient *g);

#endif
