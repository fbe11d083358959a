/* The contributions of layers (against.h): OTHER is evaluated again behind each of them. */
#include "against/work.h"
#include "base/clock.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRONT_STEPS = 4, /* operators at the end that hide what is in front of them */
    AGAIN = 12,      /* layers that are weighed on further samples: those that cost most on the first */
};

bool against_spent(const struct work *work, double part)
{
    return clock_seconds() - work->start > work->seconds * part;
}

const struct tensor *against_base(const struct work *work, size_t layer)
{
    const struct match_layer *at = &work->match.layers[layer];
    const struct tensor *base = &work->other.taken[at->other];
    return base->data && (at->made != NO_VALUE || at->passed != NO_VALUE) ? base : NULL;
}

/* OTHER's numbers for a layer with the errors of MODEL's added. */
static int spoil(const struct work *work, size_t number, struct tensor *spoiled, struct error *err)
{
    const struct match_layer *at = &work->match.layers[number];
    const struct tensor *base = against_base(work, number);
    const struct tensor *made = at->made != NO_VALUE ? &work->local.taken[at->made] : NULL;
    const struct tensor *end = at->passed != NO_VALUE ? &work->local.taken[at->passed] : NULL;
    if (tensor_copy(spoiled, base, err))
        return -1;
    for (size_t i = 0; i < base->count; i++) {
        long double x = tensor_get(base, i), y = x;
        if (made && made->data && made->count == base->count)
            y += tensor_get(made, i) - x;
        if (end && end->data && end->count == base->count)
            y += tensor_get(end, i) - x;
        tensor_set(spoiled, i, y);
    }
    return 0;
}

/* Marks the values that depend on one. */
static void mark_behind(const struct model_index *index, size_t value, bool *behind)
{
    memset(behind, 0, index->count * sizeof *behind);
    behind[value] = true;
    for (size_t i = 0; i < index->model->graph->n_node; i++) {
        size_t node = index->order[i], number;
        bool reads = false;
        for (size_t k = 0; k < index->n_uses[node] && !reads; k++)
            reads = behind[index->uses[node][k]];
        const Onnx__NodeProto *at = index->model->graph->node[node];
        for (size_t k = 0; k < at->n_output && reads; k++)
            if (*at->output[k] && map_get(&index->names, at->output[k], &number))
                behind[number] = true;
    }
}

/* The value that an output is made of, in front of operators that hide what they are given. */
static size_t front_of(const struct pass *pass, size_t value)
{
    const Onnx__NodeProto *node = match_maker(pass->index, value);
    const struct op *op = node ? op_of(node) : NULL;
    size_t before;
    for (int steps = 0; op && op_hides(op) && steps < FRONT_STEPS; steps++) {
        if (!node->n_input || !pass_value(pass, node->input[0], &before) || !pass->taken[before].data ||
            !dtype_is_float(pass->taken[before].type))
            break;
        value = before;
        node = match_maker(pass->index, value);
        op = node ? op_of(node) : NULL;
    }
    return value;
}

void against_find_fronts(struct work *work)
{
    const Onnx__GraphProto *graph = work->other.index->model->graph;
    work->fronts = memory_zeroed(graph->n_output + 1, sizeof *work->fronts);
    for (size_t i = 0; i < graph->n_output; i++) {
        size_t value, front;
        if (!pass_value(&work->other, graph->output[i]->name, &value))
            continue;
        front = front_of(&work->other, value);
        if (work->other.taken[front].data && dtype_is_float(work->other.taken[front].type))
            work->fronts[work->n_fronts++] = front;
    }
}

static double away(const struct work *work, const struct tensor *made, const struct tensor *base)
{
    double sum = 0;
    for (size_t i = 0; i < work->n_fronts; i++) {
        struct loss loss = {0};
        size_t front = work->fronts[i];
        if (!made[front].data || !base[front].data)
            continue;
        loss_add(&loss, &made[front], &base[front], 0);
        sum += loss_share(&loss) * loss_share(&loss);
    }
    return work->n_fronts ? sum / (double)work->n_fronts : 0;
}

/* What the answer of OTHER loses when one value is another. */
static int contribution(struct work *work, size_t value, const struct tensor *spoiled,
                        const struct value *inputs, double *loss, struct error *err)
{
    struct pass *pass = &work->other;
    bool *behind = memory_zeroed(pass->index->count + 1, sizeof *behind);
    struct tensor *outputs;
    size_t count;
    struct tensor *taken = pass->taken;
    pass->taken = memory_zeroed(pass->index->count + 1, sizeof *taken);
    pass->wanted = memory_zeroed(pass->index->count + 1, sizeof(bool));
    mark_behind(pass->index, value, behind);
    for (size_t i = 0; i < pass->index->count; i++)
        pass->given[i] = !behind[i] && taken[i].data ? &taken[i] : NULL;
    pass->given[value] = &taken[value];
    pass->forced[value] = spoiled;
    for (size_t i = 0; i < work->n_fronts; i++)
        pass->wanted[work->fronts[i]] = behind[work->fronts[i]] && work->fronts[i] != value;
    int status = pass_run(pass, inputs, work->inputs->count, &outputs, &count, err);
    pass_outputs_free(outputs, count);
    struct tensor own = pass->taken[value];
    pass->taken[value] = *spoiled;
    if (status == 0)
        *loss = away(work, pass->taken, taken);
    pass->taken[value] = own;
    pass_forget(pass);
    pass->forced[value] = NULL;
    memset(pass->given, 0, pass->index->count * sizeof *pass->given);
    free(pass->taken);
    free(pass->wanted);
    pass->taken = taken;
    pass->wanted = NULL;
    free(behind);
    return status;
}

/* How large the errors of a layer are by itself, beside its numbers. */
static double own_share(const struct against_layer *layer)
{
    struct loss both = layer->local.elements ? layer->local : layer->passed;
    both.error2 = layer->local.error2 + layer->passed.error2;
    both.broken = layer->local.broken + layer->passed.broken;
    return loss_share(&both);
}

/* Of layers that were tried their contribution, which is known to be large or not, but for errors that came
 * with later samples, as what is clipped on some of them alone; others come first, those with large errors.
 */
static double interest(const struct work *work, size_t number)
{
    const struct against_layer *layer = &work->layers[number];
    double own = own_share(layer), grown = fmax(1, own / work->weighed[number]);
    return layer->tried ? work->contributions[number] / (double)layer->tried * grown * grown : 1 + own;
}

static size_t next_layer(const struct work *work, const bool *done)
{
    size_t best = NO_VALUE;
    for (size_t i = 0; i < work->match.n_layers; i++)
        if (!done[i] && against_base(work, i) && own_share(&work->layers[i]) > 0 &&
            (best == NO_VALUE || interest(work, i) > interest(work, best)))
            best = i;
    return best;
}

static int weigh_layer(struct work *work, size_t number, const struct value *inputs, struct error *err)
{
    struct tensor spoiled;
    double loss = 0;
    if (spoil(work, number, &spoiled, err))
        return -1;
    int status = contribution(work, work->match.layers[number].other, &spoiled, inputs, &loss, err);
    tensor_release(&spoiled);
    work->contributions[number] += isnan(loss) ? INFINITY : loss;
    work->layers[number].tried++;
    work->weighed[number] = own_share(&work->layers[number]);
    return status;
}

int against_weigh(struct work *work, const struct value *inputs, struct error *err)
{
    bool *done = memory_zeroed(work->match.n_layers + 1, sizeof *done);
    size_t number, count = 0;
    int status = 0;
    while (status == 0 && (number = next_layer(work, done)) != NO_VALUE) {
        bool first = !work->layers[number].tried;
        if (against_spent(work, first ? 3 : 1) || (!first && count >= AGAIN))
            break;
        status = weigh_layer(work, number, inputs, err);
        done[number] = true;
        count++;
    }
    free(done);
    return status;
}
