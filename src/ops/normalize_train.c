/* BatchNormalization in training. Bounds: docs/bounds/normalize.md. */
#include "ops/normalize.h"

/* The channel's elements of all images, one behind the other. */
static void gather(struct bounded *lane, const struct bounded *x, size_t c, size_t channels, size_t inner)
{
    for (size_t k = 0; k < lane->count; k++)
        bounded_move(lane, k, x, (k / inner * channels + c) * inner + k % inner);
}

/* running * momentum + current * (1 - momentum): two products, a sum, and the rounding of 1 - momentum. */
static void put_running(struct bounded *out, size_t c, struct number running, struct number current,
                        double momentum, double unit)
{
    struct number kept = number_mul(running, number_exact(momentum), unit),
                  moved =
                      number_mul(current, (struct number){1 - (long double)momentum, unit, unit / 2}, unit);
    number_put(out, c, number_add(kept, moved, unit));
}

static int train_channel(struct op_call *call, const struct bounded *const in[5], size_t c,
                         struct bounded *lane, struct bounded *normal)
{
    const struct bounded *x = in[0];
    size_t channels = (size_t)x->shape.dims[1], inner = shape_span(&x->shape, 2, x->shape.rank);
    double epsilon = call_float(call, "epsilon", (double)1e-5f),
           momentum = call_float(call, "momentum", (double)0.9f);
    double unit =
        normalize_coarser(normalize_coarser(unit_of(x->type), unit_of(in[1]->type)), unit_of(in[3]->type));
    gather(lane, x, c, channels, inner);
    struct moments m = moments_of(lane, 0, lane->count, epsilon, unit, x->type);
    for (size_t k = 0; k < lane->count; k++) {
        normalize_put(normal, k, lane, &m, number_of(in[1], c), number_of(in[2], c), unit, x->type);
        bounded_move(&call->outputs[0], (k / inner * channels + c) * inner + k % inner, normal, k);
    }
    for (size_t i = 1; i < 3 && i < call->n_outputs; i++) {
        if (m.nan || m.undecided)
            bounded_put_undecided(&call->outputs[i], c, 0);
        else
            put_running(&call->outputs[i], c, number_of(in[i + 2], c), i == 1 ? m.mean : m.variance, momentum,
                        unit);
    }
    return 0;
}

int normalize_train(struct op_call *call, const struct bounded *x, const struct bounded *scale,
                    const struct bounded *bias, const struct bounded *mean, const struct bounded *variance)
{
    const struct bounded *const in[5] = {x, scale, bias, mean, variance};
    if (call->n_outputs > 3)
        return call_invalid(call, "there are three outputs in training");
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    for (size_t i = 1; out && i < call->n_outputs; i++)
        if (!call_output(call, i, in[i + 2]->type, &in[i + 2]->shape))
            return -1;
    if (!out || call->shapes_only || !x->count)
        return out ? 0 : -1;
    size_t channels = (size_t)x->shape.dims[1];
    struct shape flat = {1, {(int64_t)(x->count / channels)}};
    struct bounded lane, normal;
    bounded_init(&lane);
    bounded_init(&normal);
    int result = bounded_alloc(&lane, x->type, &flat, false, call->err) ||
                         bounded_alloc(&normal, x->type, &flat, false, call->err)
                     ? -1
                     : 0;
    for (size_t c = 0; !result && c < channels; c++)
        result = train_channel(call, in, c, &lane, &normal);
    bounded_release(&lane);
    bounded_release(&normal);
    return result;
}
