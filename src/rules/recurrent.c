/* Rule 10 of EAGLE and its relatives: recurrent operators in another layout, direction or number of nodes. */
#include "rules/recurrent.h"
#include "rules/rule.h"

#include "base/str.h"

static bool read_kind(struct recurrent *r)
{
    const char *name = r->node->op_type;
    r->gates = text_equal(name, "LSTM") ? 4 : text_equal(name, "GRU") ? 3 : text_equal(name, "RNN") ? 1 : 0;
    r->states = r->gates == 4 ? 2 : 1;
    return r->gates && (!r->node->domain || !*r->node->domain || text_equal(r->node->domain, "ai.onnx"));
}

static bool read_direction(struct recurrent *r)
{
    const char *direction = rewrite_string(r->rewrite, r->node, "direction", "forward");
    r->directions = text_equal(direction, "bidirectional") ? 2 : 1;
    r->reverse = text_equal(direction, "reverse");
    return r->directions == 2 || r->reverse || text_equal(direction, "forward");
}

bool recurrent_read(struct recurrent *r, struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    *r = (struct recurrent){.rewrite = rewrite, .node = node};
    const struct bounded *x = rewrite_input(rewrite, node, RECURRENT_X),
                         *recurrence = rewrite_input(rewrite, node, RECURRENT_R);
    int64_t layout = node_int(node, "layout", 0);
    if (!read_kind(r) || !read_direction(r) || !x || !recurrence || x->shape.rank != 3 ||
        recurrence->shape.rank != 3 || x->count == 0 || recurrence->count == 0 ||
        rewrite_opset(rewrite) < 11 || layout < 0 || layout > 1)
        return false;
    r->type = x->type;
    r->batch_first = layout == 1;
    r->steps = x->shape.dims[layout];
    r->batch = x->shape.dims[1 - layout];
    r->input = x->shape.dims[2];
    r->hidden = recurrence->shape.dims[2];
    return recurrence->shape.dims[0] == r->directions;
}

bool recurrent_wants(const struct recurrent *r, size_t output)
{
    return output < r->node->n_output && *r->node->output[output];
}

int64_t recurrent_time(const struct recurrent *r)
{
    return r->batch_first ? 1 : 0;
}

int64_t recurrent_directions_of_y(const struct recurrent *r)
{
    return r->batch_first ? 2 : 1;
}

int64_t recurrent_directions_of_state(const struct recurrent *r)
{
    return r->batch_first ? 1 : 0;
}

Onnx__NodeProto *recurrent_copy(const struct recurrent *r, bool states,
                                const char *outputs[RECURRENT_OUTPUTS])
{
    Onnx__NodeProto *copy = rewrite_copy_node(r->rewrite, r->node);
    struct arena *arena = &r->rewrite->model->arena;
    copy->output = arena_array(arena, RECURRENT_OUTPUTS, sizeof *copy->output);
    copy->n_output = 0;
    for (size_t i = 0; i < RECURRENT_OUTPUTS; i++) {
        bool made = recurrent_wants(r, i) || (states && i > 0 && i <= r->states);
        outputs[i] = made ? rewrite_name(r->rewrite, r->node->op_type) : NULL;
        copy->output[i] = arena_strdup(arena, made ? outputs[i] : "");
        copy->n_output = made ? i + 1 : copy->n_output;
    }
    return copy;
}

/* --- The other layout --- */

static void exchange_first_axes(const struct recurrent *r, Onnx__NodeProto *node, size_t input)
{
    static const int64_t order[] = {1, 0, 2};
    if (rewrite_has_input(node, input))
        rewrite_set_input(r->rewrite, node, input,
                          rewrite_transpose(r->rewrite, node->input[input], order, 3));
}

static int layout(struct rewrite *rewrite, const struct rule_site *site)
{
    static const int64_t state[] = {1, 0, 2}, to_batch_first[] = {2, 0, 1, 3}, to_time_first[] = {1, 2, 0, 3};
    const char *outputs[RECURRENT_OUTPUTS];
    struct recurrent r;
    if (!recurrent_read(&r, rewrite, site->node) || rewrite_opset(rewrite) < 14)
        return 0;
    Onnx__NodeProto *copy = recurrent_copy(&r, false, outputs);
    node_set_int(&rewrite->model->arena, copy, "layout", !r.batch_first);
    exchange_first_axes(&r, copy, RECURRENT_X);
    exchange_first_axes(&r, copy, RECURRENT_INITIAL_H);
    if (r.states == 2)
        exchange_first_axes(&r, copy, RECURRENT_INITIAL_C);
    for (size_t i = 0; i < RECURRENT_OUTPUTS; i++) {
        const int64_t *order = i ? state : r.batch_first ? to_batch_first : to_time_first;
        if (outputs[i])
            rewrite_result(rewrite, rewrite_transpose(rewrite, outputs[i], order, i ? 3 : 4),
                           site->node->output[i]);
    }
    rewrite_remove(rewrite, site->node);
    return 1;
}

const struct rule rule_rnn_layout = {
    .name = "rnn-layout",
    .respells = true,
    .paper = 10,
    .summary = "a recurrent operator in the other layout, batch or time first, between Transposes",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LSTM|GRU|RNN",
    .apply = layout,
};

/* --- Two directions by two nodes --- */

/* Functions with parameters are left alone: which of them belong to which direction follows from names. */
static bool split_activations(const struct recurrent *r, Onnx__NodeProto *node, size_t direction)
{
    Onnx__AttributeProto *names = (Onnx__AttributeProto *)node_attribute(node, "activations");
    size_t functions = r->gates == 4 ? 3 : r->gates == 3 ? 2 : 1;
    if (node_attribute(node, "activation_alpha") || node_attribute(node, "activation_beta"))
        return false;
    if (!names || names->n_strings == 0)
        return true;
    if (names->n_strings != 2 * functions)
        return false;
    names->strings += direction * functions;
    names->n_strings = functions;
    return true;
}

static void take_direction(const struct recurrent *r, Onnx__NodeProto *node, size_t input, int64_t axis,
                           int64_t direction)
{
    if (rewrite_has_input(node, input))
        rewrite_set_input(r->rewrite, node, input,
                          rewrite_slice(r->rewrite, node->input[input], axis, direction, direction + 1));
}

static bool one_direction(const struct recurrent *r, size_t direction, const char *outputs[RECURRENT_OUTPUTS])
{
    Onnx__NodeProto *copy = recurrent_copy(r, false, outputs);
    int64_t number = (int64_t)direction, axis = recurrent_directions_of_state(r);
    node_set_string(&r->rewrite->model->arena, copy, "direction", direction ? "reverse" : "forward");
    take_direction(r, copy, RECURRENT_W, 0, number);
    take_direction(r, copy, RECURRENT_R, 0, number);
    take_direction(r, copy, RECURRENT_B, 0, number);
    take_direction(r, copy, RECURRENT_INITIAL_H, axis, number);
    if (r->states == 2) {
        take_direction(r, copy, RECURRENT_INITIAL_C, axis, number);
        take_direction(r, copy, RECURRENT_P, 0, number);
    }
    return split_activations(r, copy, direction);
}

static int directions(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *outputs[2][RECURRENT_OUTPUTS];
    struct recurrent r;
    if (!recurrent_read(&r, rewrite, site->node) || r.directions != 2 || !one_direction(&r, 0, outputs[0]) ||
        !one_direction(&r, 1, outputs[1]))
        return 0;
    for (size_t i = 0; i < RECURRENT_OUTPUTS; i++) {
        int64_t axis = i ? recurrent_directions_of_state(&r) : recurrent_directions_of_y(&r);
        const char *both[] = {outputs[0][i], outputs[1][i]};
        if (both[0])
            rewrite_result(rewrite, rewrite_concat(rewrite, axis, both, 2), site->node->output[i]);
    }
    rewrite_remove(rewrite, site->node);
    return 1;
}

const struct rule rule_rnn_directions = {
    .name = "rnn-directions",
    .paper = 10,
    .summary = "a bidirectional recurrent operator by a forward and a reverse one",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LSTM|GRU|RNN",
    .apply = directions,
};

/* --- The other direction --- */

/* Whether all sequences are known to have a length, which ReverseSequence may want. */
static bool lengths_known(const struct recurrent *r)
{
    int64_t lengths[256];
    size_t count;
    if (!rewrite_constant_ints(r->rewrite, r->node->input[RECURRENT_LENGTHS], lengths, 256, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (lengths[i] < 1 || lengths[i] > r->steps)
            return false;
    return true;
}

/* A value of rank 3 or 4 turned round in time; sequences shorter than others stay at the front. */
static const char *reversed(const struct recurrent *r, const char *value, int64_t time, int64_t batch,
                            const char *lengths)
{
    struct rewrite *rewrite = r->rewrite;
    Onnx__NodeProto *node;
    if (!lengths) {
        const char *first = rewrite_ints(rewrite, (const int64_t[]){-1}, 1),
                   *last = rewrite_ints(rewrite, (const int64_t[]){-r->steps - 1}, 1),
                   *axis = rewrite_ints(rewrite, &time, 1);
        return rewrite_op(rewrite, "Slice", NULL, value, first, last, axis, first, NULL);
    }
    const char *result = rewrite_op(rewrite, "ReverseSequence", &node, value, lengths, NULL);
    node_set_int(&rewrite->model->arena, node, "time_axis", time);
    node_set_int(&rewrite->model->arena, node, "batch_axis", batch);
    return result;
}

static int other_direction(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *outputs[RECURRENT_OUTPUTS], *lengths = NULL;
    struct recurrent r;
    if (!recurrent_read(&r, rewrite, site->node) || r.directions != 1)
        return 0;
    if (rewrite_has_input(site->node, RECURRENT_LENGTHS)) {
        if (!lengths_known(&r))
            return 0;
        lengths = rewrite_cast(rewrite, site->node->input[RECURRENT_LENGTHS], DTYPE_INT64);
    }
    int64_t time = recurrent_time(&r), batch = 1 - time;
    Onnx__NodeProto *copy = recurrent_copy(&r, false, outputs);
    node_set_string(&rewrite->model->arena, copy, "direction", r.reverse ? "forward" : "reverse");
    rewrite_set_input(rewrite, copy, RECURRENT_X,
                      reversed(&r, site->node->input[RECURRENT_X], time, batch, lengths));
    if (outputs[RECURRENT_Y]) {
        /* Without the axis of directions batch and time are the first two, as ReverseSequence wants. */
        const char *flat = rewrite_squeeze(rewrite, outputs[RECURRENT_Y], recurrent_directions_of_y(&r));
        const char *turned = reversed(&r, flat, time, batch, lengths);
        rewrite_result(rewrite, rewrite_unsqueeze(rewrite, turned, recurrent_directions_of_y(&r)),
                       site->node->output[RECURRENT_Y]);
    }
    for (size_t i = 1; i < RECURRENT_OUTPUTS; i++)
        if (outputs[i])
            rewrite_result(rewrite, outputs[i], site->node->output[i]);
    rewrite_remove(rewrite, site->node);
    return 1;
}

const struct rule rule_rnn_reverse = {
    .name = "rnn-reverse",
    .respells = true,
    .paper = 10,
    .summary = "a recurrent operator in the other direction, on input and output turned round in time",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LSTM|GRU|RNN",
    .apply = other_direction,
};

/* --- One node by two, one after the other --- */

static void hand_over(const struct recurrent *r, Onnx__NodeProto *node, const char *const *outputs)
{
    rewrite_set_input(r->rewrite, node, RECURRENT_INITIAL_H, outputs[RECURRENT_Y_H]);
    if (r->states == 2)
        rewrite_set_input(r->rewrite, node, RECURRENT_INITIAL_C, outputs[RECURRENT_Y_C]);
}

static int steps(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *outputs[2][RECURRENT_OUTPUTS], *parts[2];
    struct recurrent r;
    if (!recurrent_read(&r, rewrite, site->node) || r.directions != 1 || r.steps < 2 ||
        rewrite_has_input(site->node, RECURRENT_LENGTHS))
        return 0;
    int64_t cut = 1 + (int64_t)rng_below(&rewrite->rng, (uint64_t)r.steps - 1), time = recurrent_time(&r);
    const char *x = site->node->input[RECURRENT_X];
    parts[0] = rewrite_slice(rewrite, x, time, 0, cut);
    parts[1] = rewrite_slice(rewrite, x, time, cut, r.steps);
    size_t first = r.reverse ? 1 : 0, second = 1 - first;
    Onnx__NodeProto *before = recurrent_copy(&r, true, outputs[first]),
                    *after = recurrent_copy(&r, false, outputs[second]);
    rewrite_set_input(rewrite, before, RECURRENT_X, parts[first]);
    rewrite_set_input(rewrite, after, RECURRENT_X, parts[second]);
    hand_over(&r, after, outputs[first]);
    if (outputs[0][RECURRENT_Y])
        rewrite_result(rewrite,
                       rewrite_concat(rewrite, time,
                                      (const char *const[]){outputs[0][RECURRENT_Y], outputs[1][RECURRENT_Y]},
                                      2),
                       site->node->output[RECURRENT_Y]);
    for (size_t i = 1; i < RECURRENT_OUTPUTS; i++)
        if (outputs[second][i])
            rewrite_result(rewrite, outputs[second][i], site->node->output[i]);
    rewrite_remove(rewrite, site->node);
    return 1;
}

const struct rule rule_rnn_steps = {
    .name = "rnn-steps",
    .paper = 10,
    .summary = "a recurrent operator by two, the second starting in the state that the first ends in",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LSTM|GRU|RNN",
    .apply = steps,
};
