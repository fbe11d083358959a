/* RNN, GRU and LSTM: one layer with the library's own activations, no clipping, no peepholes. */
#include "emit.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_GATES = 4 };

struct cell {
    const char *function;
    int gates;
    int order[MAX_GATES]; /* the library's gate i is ONNX's gate order[i] */
    const char *activations;
};

struct layer {
    int64_t length, batch, hidden;
    int directions;
    bool reverse;
};

static int read_layer(struct emit *e, struct layer *l)
{
    const struct shape *x = emit_shape(e, 0);
    l->reverse = emit_word(e, "direction", "reverse", "forward");
    l->directions = emit_word(e, "direction", "bidirectional", "forward") ? 2 : 1;
    l->hidden = emit_attr(e, "hidden_size", 0);
    if (x->rank != 3 || emit_shape(e, 2)->rank != 3)
        return emit_invalid(e, "rank %d", x->rank);
    if (l->hidden == 0)
        l->hidden = emit_shape(e, 2)->dims[2];
    l->length = x->dims[0];
    l->batch = x->dims[1];
    if (emit_shape(e, 1)->rank != 3 || emit_shape(e, 2)->dims[2] != l->hidden ||
        emit_shape(e, 2)->dims[0] != l->directions)
        return emit_invalid(e, "weights of another shape");
    return 0;
}

/* Only sequences of full length: the library would want them packed. */
static int check_lengths(struct emit *e, const struct layer *l)
{
    int64_t lengths[1024];
    size_t count;
    if (!emit_has(e, 4))
        return 0;
    if (emit_list(e, 4, lengths, 1024, &count) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (lengths[i] != l->length)
            return emit_unsupported(e, "sequences of different lengths");
    return 0;
}

static int check_attributes(struct emit *e, const struct cell *cell)
{
    const Onnx__AttributeProto *given = node_attribute(e->node, "activations");
    struct str names;
    str_init(&names);
    for (size_t i = 0; given && i < given->n_strings; i++) {
        str_add(&names, names.length ? "," : "");
        str_append(&names, given->strings[i].data, given->strings[i].len);
    }
    size_t length = strlen(cell->activations);
    bool same = names.length == 0 || strcmp(names.data, cell->activations) == 0 ||
                (names.length == 2 * length + 1 && strncmp(names.data, cell->activations, length) == 0 &&
                 strcmp(names.data + length + 1, cell->activations) == 0);
    str_release(&names);
    if (!same)
        return emit_unsupported(e, "these activations");
    if (node_attribute(e->node, "clip") || emit_attr(e, "layout", 0) != 0 ||
        emit_attr(e, "input_forget", 0) != 0)
        return emit_unsupported(e, "clip, layout or input_forget");
    return emit_has(e, 7) ? emit_unsupported(e, "peepholes") : 0;
}

/* One direction of W, R or a half of B, gates in the library's order: `from` is where the gates begin. */
static const char *gates(struct emit *e, const struct cell *cell, const struct layer *l, size_t input,
                         int direction, int64_t from)
{
    const char *one = emit_let(e, "torch.select(%s, 0, %d)", emit_in(e, input), direction);
    struct str parts;
    str_init(&parts);
    for (int i = 0; i < cell->gates; i++)
        str_printf(&parts, "%storch.narrow(%s, 0, %" PRId64 ", %" PRId64 ")", i ? ", " : "", one,
                   from + cell->order[i] * l->hidden, l->hidden);
    const char *all = emit_let(e, "torch.cat([%s], 0)", parts.data);
    str_release(&parts);
    return all;
}

static const char *weights(struct emit *e, const struct cell *cell, const struct layer *l)
{
    struct str list;
    str_init(&list);
    for (int d = 0; d < l->directions; d++) {
        str_printf(&list, "%s%s", d ? ", " : "", gates(e, cell, l, 1, d, 0));
        str_printf(&list, ", %s", gates(e, cell, l, 2, d, 0));
        for (int half = 0; half < 2 && emit_has(e, 3); half++)
            str_printf(&list, ", %s", gates(e, cell, l, 3, d, half * cell->gates * l->hidden));
    }
    const char *text = emit_let(e, "[%s]", list.data);
    str_release(&list);
    return text;
}

static const char *state(struct emit *e, const struct layer *l, size_t input)
{
    int64_t dims[3] = {l->directions, l->batch, l->hidden};
    if (emit_has(e, input))
        return emit_in(e, input);
    return emit_let(e, "torch.zeros(%s, dtype=%d)", emit_ints(e, dims, 3), face_scalar_type(emit_type(e, 0)));
}

static int write_cell(struct emit *e, const struct cell *cell)
{
    struct layer l;
    bool lstm = cell->gates == 4;
    if (read_layer(e, &l) < 0 || check_attributes(e, cell) < 0 || check_lengths(e, &l) < 0)
        return -1;
    const char *x = emit_in(e, 0), *start = state(e, &l, 5);
    if (l.reverse)
        x = emit_let(e, "torch.flip(%s, [0])", x);
    if (lstm)
        start = emit_let(e, "[%s, %s]", start, state(e, &l, 6));
    const char *all = emit_let(e, "torch.%s(%s, %s, %s, %s, 1, 0., False, %s, False)", cell->function, x,
                               start, weights(e, cell, &l), emit_has(e, 3) ? "True" : "False",
                               l.directions == 2 ? "True" : "False");
    int64_t dims[4] = {l.length, l.batch, l.directions, l.hidden};
    const char *y = emit_let(e, "torch.reshape(%s[0], %s).permute([0, 2, 1, 3])", all, emit_ints(e, dims, 4));
    if (l.reverse)
        y = emit_let(e, "torch.flip(%s, [0])", y);
    emit_out(e, 0, "%s", y);
    emit_out(e, 1, "%s[1]", all);
    return lstm ? emit_out(e, 2, "%s[2]", all) : 0;
}

static int write_rnn(struct emit *e)
{
    static const struct cell tanh = {"rnn_tanh", 1, {0}, "Tanh"}, relu = {"rnn_relu", 1, {0}, "Relu"};
    const Onnx__AttributeProto *given = node_attribute(e->node, "activations");
    bool is_relu = given && given->n_strings && given->strings[0].len == 4 &&
                   memcmp(given->strings[0].data, "Relu", 4) == 0;
    return write_cell(e, is_relu ? &relu : &tanh);
}

/* The library resets behind the matrix product. */
static int write_gru(struct emit *e)
{
    static const struct cell gru = {"gru", 3, {1, 0, 2}, "Sigmoid,Tanh"};
    if (emit_attr(e, "linear_before_reset", 0) == 0)
        return emit_unsupported(e, "linear_before_reset of 0");
    return write_cell(e, &gru);
}

static int write_lstm(struct emit *e)
{
    static const struct cell lstm = {"lstm", 4, {0, 2, 3, 1}, "Sigmoid,Tanh,Tanh"};
    return write_cell(e, &lstm);
}

const struct emit_op emit_recurrent[] = {
    {.name = "GRU", .write = write_gru},
    {.name = "LSTM", .write = write_lstm},
    {.name = "RNN", .write = write_rnn},
    {.name = NULL},
};
