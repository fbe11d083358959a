/*
 * RNN, GRU and LSTM. The library has the gates in another order (LSTM: i f c o, where ONNX has i o f c), the
 * weights as [layer, direction, input, gate, hidden] and one bias where ONNX has two, which its own addition
 * makes one.
 */
#include "onednn.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct sizes {
    int64_t time, batch, input, hidden, directions, gates;
};

/* ONNX's gate for each of the library's. */
static const int lstm_gates[] = {0, 2, 3, 1}, plain_gates[] = {0, 1, 2, 3};

static size_t product(int64_t a, int64_t b, int64_t c)
{
    return (size_t)(a * b * c);
}

/* [D, G * H, K] to [D, K, G, H]. */
static float *turn_weights(const struct tensor *from, const struct sizes *s, int64_t columns,
                           const int *order)
{
    float *to = memory_zeroed(from->count, sizeof *to);
    const float *data = from->data;
    size_t g_n = (size_t)s->gates, h_n = (size_t)s->hidden, k_n = (size_t)columns;
    for (size_t d = 0; d < (size_t)s->directions; d++)
        for (size_t g = 0; g < g_n; g++)
            for (size_t h = 0; h < h_n; h++)
                for (size_t k = 0; k < k_n; k++)
                    to[((d * k_n + k) * g_n + g) * h_n + h] =
                        data[((d * g_n + (size_t)order[g]) * h_n + h) * k_n + k];
    return to;
}

/* One half of B, [D, 2 * G * H], in the library's order of gates; zeros without B. */
static float *half_bias(const struct tensor *bias, const struct sizes *s, int half, const int *order)
{
    size_t g_n = (size_t)s->gates, h_n = (size_t)s->hidden;
    float *to = memory_zeroed(product(s->directions, s->gates, s->hidden), sizeof *to);
    for (size_t d = 0; bias && d < (size_t)s->directions; d++)
        for (size_t g = 0; g < g_n; g++)
            memcpy(to + (d * g_n + g) * h_n,
                   (const float *)bias->data + ((d * 2 + (size_t)half) * g_n + (size_t)order[g]) * h_n,
                   h_n * sizeof *to);
    return to;
}

static int join_biases(struct walk_call *call, const struct sizes *s, const int *order, float **joined)
{
    float *w = half_bias(walk_input(call, 3), s, 0, order), *r = half_bias(walk_input(call, 3), s, 1, order);
    int64_t count = s->directions * s->gates * s->hidden;
    struct view vw = view_floats(w, 1, &count), vr = view_floats(r, 1, &count);
    int result = library_binary(call->engine, dnnl_binary_add, &vw, &vr, &vw, call->err);
    free(r);
    *joined = w;
    return result;
}

/* With linear_before_reset the candidate's two biases stay apart: u, r, c, c of the recurrence. */
static void lbr_bias(const struct tensor *bias, const struct sizes *s, const float *joined, float *to)
{
    size_t h = (size_t)s->hidden;
    for (size_t d = 0; d < (size_t)s->directions; d++) {
        memcpy(to + d * 4 * h, joined + d * 3 * h, 2 * h * sizeof *to);
        if (!bias)
            continue;
        const float *own = (const float *)bias->data + d * 6 * h;
        memcpy(to + (d * 4 + 2) * h, own + 2 * h, h * sizeof *to);
        memcpy(to + (d * 4 + 3) * h, own + 5 * h, h * sizeof *to);
    }
}

/* P is i, o, f; the library has i, f, o. */
static float *turn_peephole(const struct tensor *peephole, const struct sizes *s)
{
    static const int order[] = {0, 2, 1};
    size_t h = (size_t)s->hidden;
    float *to = memory_zeroed(product(s->directions, 3, s->hidden), sizeof *to);
    for (size_t d = 0; d < (size_t)s->directions; d++)
        for (size_t g = 0; g < 3; g++)
            memcpy(to + (d * 3 + g) * h, (const float *)peephole->data + (d * 3 + (size_t)order[g]) * h,
                   h * sizeof *to);
    return to;
}

/* [T, N, D * H] to [T, D, N, H]. */
static void turn_output(const float *from, const struct sizes *s, float *to)
{
    size_t d_n = (size_t)s->directions, n_n = (size_t)s->batch, h = (size_t)s->hidden;
    for (size_t t = 0; t < (size_t)s->time; t++)
        for (size_t n = 0; n < n_n; n++)
            for (size_t d = 0; d < d_n; d++)
                memcpy(to + ((t * d_n + d) * n_n + n) * h, from + ((t * n_n + n) * d_n + d) * h,
                       h * sizeof *to);
}

static bool whole_sequences(const struct tensor *lengths, int64_t time)
{
    for (size_t i = 0; lengths && i < lengths->count; i++)
        if (tensor_get(lengths, i) != (long double)time)
            return false;
    return true;
}

static dnnl_alg_kind_t activation_of(const char *name)
{
    static const struct {
        const char *name;
        dnnl_alg_kind_t kind;
    } known[] = {
        {"Tanh", dnnl_eltwise_tanh}, {"Relu", dnnl_eltwise_relu}, {"Sigmoid", dnnl_eltwise_logistic}};
    for (size_t i = 0; i < 3; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].kind;
    return dnnl_alg_kind_undef;
}

/* RNN takes one of three; GRU and LSTM have theirs built in. All directions alike. */
static int read_activation(struct walk_call *call, const struct sizes *s, dnnl_alg_kind_t *kind)
{
    static const char *const built_in[] = {"Sigmoid", "Tanh", "Tanh"};
    const Onnx__AttributeProto *given = node_attribute(call->node, "activations");
    size_t each = call->row->kind == dnnl_vanilla_rnn ? 1 : call->row->kind == dnnl_vanilla_lstm ? 3 : 2;
    *kind = dnnl_eltwise_tanh;
    if (node_attribute(call->node, "activation_alpha") || node_attribute(call->node, "activation_beta"))
        return walk_unsupported(call, "with parameters of activations");
    if (!given || given->n_strings == 0)
        return 0;
    if (given->n_strings != each * (size_t)s->directions)
        return walk_unsupported(call, "with %zu activations", given->n_strings);
    for (size_t i = 0; i < given->n_strings; i++) {
        char name[16] = "";
        if (given->strings[i].len < sizeof name)
            memcpy(name, given->strings[i].data, given->strings[i].len);
        dnnl_alg_kind_t one = activation_of(name);
        bool fits = each == 1 ? one != dnnl_alg_kind_undef && (i == 0 || one == *kind)
                              : strcmp(name, built_in[i % each]) == 0;
        if (!fits)
            return walk_unsupported(call, "with activation %s", name);
        if (each == 1)
            *kind = one;
    }
    return 0;
}

static int read_sizes(struct walk_call *call, struct sizes *s)
{
    const struct shape *x = &call->inputs[0]->shape, *r = &call->inputs[2]->shape;
    if (node_int(call->node, "layout", 0))
        return walk_unsupported(call, "with layout 1");
    if (node_attribute(call->node, "clip") || node_int(call->node, "input_forget", 0))
        return walk_unsupported(call, "with clip or input_forget");
    if (!whole_sequences(walk_input(call, 4), x->dims[0]))
        return walk_unsupported(call, "with sequences of different lengths");
    *s = (struct sizes){x->dims[0], x->dims[1], x->dims[2], r->dims[2], r->dims[0], 0};
    s->gates = s->hidden ? r->dims[1] / s->hidden : 0;
    return 0;
}

static dnnl_rnn_direction_t direction_of(const struct walk_call *call, const struct sizes *s)
{
    if (s->directions == 2)
        return dnnl_bidirectional_concat;
    return walk_text_is(call, "direction", "forward", "reverse") ? dnnl_unidirectional_right2left
                                                                 : dnnl_unidirectional_left2right;
}

/* Everything a layer needs in the library's shapes; freed by release. */
struct buffers {
    float *weights, *recurrence, *bias, *peephole, *h, *c, *y, *y_h, *y_c;
};

static void release(struct buffers *b)
{
    free(b->weights);
    free(b->recurrence);
    free(b->bias);
    free(b->peephole);
    free(b->h);
    free(b->c);
    free(b->y);
    free(b->y_h);
    free(b->y_c);
}

static float *state(const struct tensor *given, size_t count)
{
    float *values = memory_zeroed(count, sizeof *values);
    if (given && given->size)
        memcpy(values, given->data, given->size);
    return values;
}

static int prepare(struct walk_call *call, const struct sizes *s, struct buffers *b)
{
    const int *order = call->row->kind == dnnl_vanilla_lstm ? lstm_gates : plain_gates;
    size_t states = product(s->directions, s->batch, s->hidden);
    b->weights = turn_weights(call->inputs[1], s, s->input, order);
    b->recurrence = turn_weights(call->inputs[2], s, s->hidden, order);
    b->h = state(walk_input(call, 5), states);
    b->c = state(walk_input(call, 6), states);
    b->y = memory_zeroed(states * (size_t)s->time, sizeof *b->y);
    b->y_h = memory_zeroed(states, sizeof *b->y_h);
    b->y_c = memory_zeroed(states, sizeof *b->y_c);
    if (walk_input(call, 7))
        b->peephole = turn_peephole(call->inputs[7], s);
    return join_biases(call, s, order, &b->bias);
}

static int run_layer(struct walk_call *call, const struct sizes *s, dnnl_alg_kind_t activation,
                     struct buffers *b)
{
    bool lstm = call->row->kind == dnnl_vanilla_lstm;
    bool lbr = call->row->kind == dnnl_vanilla_gru && node_int(call->node, "linear_before_reset", 0);
    int64_t w[] = {1, s->directions, s->input, s->gates, s->hidden};
    int64_t u[] = {1, s->directions, s->hidden, s->gates, s->hidden};
    int64_t p[] = {1, s->directions, 3, s->hidden}, g[] = {1, s->directions, s->gates, s->hidden};
    int64_t h[] = {1, s->directions, s->batch, s->hidden},
            y[] = {s->time, s->batch, s->directions * s->hidden};
    float *four = NULL;
    if (lbr) {
        four = memory_zeroed(product(s->directions, 4, s->hidden), sizeof *four);
        lbr_bias(walk_input(call, 3), s, b->bias, four);
        g[2] = 4;
    }
    struct view x = view_of(call->inputs[0]), vh = view_floats(b->h, 4, h), vc = view_floats(b->c, 4, h);
    struct view vw = view_floats(b->weights, 5, w), vu = view_floats(b->recurrence, 5, u);
    struct view vp = view_floats(b->peephole, 4, p), vb = view_floats(lbr ? four : b->bias, 4, g);
    struct view vy = view_floats(b->y, 3, y), vyh = view_floats(b->y_h, 4, h),
                vyc = view_floats(b->y_c, 4, h);
    struct recurrent layer = {.cell = lbr ? dnnl_lbr_gru : (dnnl_alg_kind_t)call->row->kind,
                              .activation = activation,
                              .direction = direction_of(call, s),
                              .src = &x,
                              .src_h = &vh,
                              .src_c = lstm ? &vc : NULL,
                              .weights = &vw,
                              .recurrence = &vu,
                              .peephole = b->peephole ? &vp : NULL,
                              .bias = &vb,
                              .dst = &vy,
                              .dst_h = &vyh,
                              .dst_c = lstm ? &vyc : NULL};
    int result = library_recurrent(call->engine, &layer, call->err);
    free(four);
    return result;
}

int run_recurrent(struct walk_call *call)
{
    struct sizes s;
    struct buffers b = {0};
    dnnl_alg_kind_t activation;
    if (read_sizes(call, &s) || read_activation(call, &s, &activation))
        return -1;
    int result = prepare(call, &s, &b);
    if (!result)
        result = run_layer(call, &s, activation, &b);
    const float *states[] = {NULL, b.y_h, b.y_c};
    if (!result && walk_wants(call, 0) && call->outputs[0].size)
        turn_output(b.y, &s, call->outputs[0].data);
    for (size_t i = 1; !result && i < 3; i++)
        if (walk_wants(call, i) && call->outputs[i].size)
            memcpy(call->outputs[i].data, states[i], call->outputs[i].size);
    release(&b);
    return result;
}
