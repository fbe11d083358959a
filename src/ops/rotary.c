/* RotaryEmbedding: pairs of elements turned by an angle that belongs to their position. */
#include "bounds/contract.h"
#include "ops/heads.h"

#include <inttypes.h>
#include <math.h>

struct rotary {
    const struct bounded *x, *cos, *sin, *ids;
    int64_t batch, heads, rows, size, turned;
    bool interleaved;
};

static int take_rotary(struct op_call *call, struct rotary *r)
{
    struct heads x;
    r->x = call_need(call, 0);
    r->cos = call_need(call, 1);
    r->sin = call_need(call, 2);
    r->ids = call_input(call, 3);
    if (!r->x || !r->cos || !r->sin || heads_take(call, 0, "num_heads", &x))
        return -1;
    r->batch = x.batch;
    r->heads = x.heads;
    r->rows = x.rows;
    r->size = x.size;
    r->turned = call_int(call, "rotary_embedding_dim", 0);
    r->turned = r->turned ? r->turned : r->size;
    r->interleaved = call_int(call, "interleaved", 0) != 0;
    if (r->turned < 0 || r->turned > r->size || r->turned % 2)
        return call_invalid(call, "%" PRId64 " of %" PRId64 " elements cannot be turned", r->turned, r->size);
    struct shape wanted = {3, {r->batch, r->rows, r->turned / 2}};
    if (r->ids)
        wanted = (struct shape){2, {r->cos->shape.rank ? r->cos->shape.dims[0] : 0, r->turned / 2}};
    struct shape ids = {2, {r->batch, r->rows}};
    if (!shape_equal(&r->cos->shape, &wanted) || !shape_equal(&r->sin->shape, &wanted))
        return call_invalid(call, "cos_cache and sin_cache do not fit the input");
    if (r->ids && !shape_equal(&r->ids->shape, &ids))
        return call_invalid(call, "position_ids do not fit the input");
    return 0;
}

/* a b + sign c d: three roundings, and what underflow loses. */
static struct number turn(struct number a, struct number b, struct number c, struct number d, int sign,
                          enum dtype type)
{
    double unit = unit_of(type);
    struct number first = number_mul(a, b, unit), second = number_mul(c, d, unit);
    struct number y = sign < 0 ? number_sub(first, second, unit) : number_add(first, second, unit);
    y = number_loosen(y, 2 * contract_underflow(type), contract_underflow(type));
    if (!isfinite(y.v) || !(number_most(first) < dtype_highest(type)) ||
        !(number_most(second) < dtype_highest(type)))
        return (struct number){isfinite(y.v) ? y.v : 0, INFINITY, 0};
    return y;
}

/* The vector of one head at one position; `anywhere`: which position is not certain. */
static void turn_vector(const struct rotary *r, struct bounded *out, size_t at, size_t angles, bool anywhere)
{
    size_t half = (size_t)r->turned / 2, step = r->interleaved ? 2 : 1, apart = r->interleaved ? 1 : half;
    for (size_t i = 0; i < half; i++) {
        size_t first = at + i * step, second = first + apart;
        struct number c = number_of(r->cos, angles + i), s = number_of(r->sin, angles + i);
        struct number x = number_of(r->x, first), y = number_of(r->x, second);
        struct number real = turn(c, x, s, y, -1, out->type), imaginary = turn(s, x, c, y, 1, out->type);
        if (anywhere) {
            bounded_put_open(out, first);
            bounded_put_open(out, second);
            continue;
        }
        number_put(out, first, real);
        number_put(out, second, imaginary);
    }
    for (size_t i = (size_t)r->turned; i < (size_t)r->size; i++)
        bounded_move(out, at + i, r->x, at + i);
}

static int eval_rotary(struct op_call *call)
{
    struct rotary r = {0};
    if (take_rotary(call, &r))
        return -1;
    struct bounded *out = call_output(call, 0, r.x->type, &r.x->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    struct heads x;
    heads_take(call, 0, "num_heads", &x);
    size_t half = (size_t)r.turned / 2;
    for (int64_t batch = 0; batch < r.batch; batch++)
        for (int64_t row = 0; row < r.rows; row++) {
            size_t place = (size_t)(batch * r.rows + row);
            long double id = r.ids ? r.ids->value[place] : (long double)place;
            bool inside = !r.ids || (id >= 0 && id < (long double)r.cos->shape.dims[0]);
            bool unsure = r.ids && (!inside || bounded_hard(r.ids, place) > 0);
            call->open |= !inside;
            for (int64_t head = 0; head < r.heads; head++)
                turn_vector(&r, out, heads_at(&x, batch, head, row, 0), (inside ? (size_t)id : 0) * half,
                            unsure);
        }
    return 0;
}

/* A new input has vectors of an even size; of a given one, which may not, the node is given up. */
static struct drawn draw_vectors(struct draw *d)
{
    bool flat = d->rank ? d->rank - 1 == 3 : draw_chance(d, 0.5);
    struct shape shape = {4, {draw_between(d, 1, 3), draw_between(d, 1, 4), draw_between(d, 1, 5), 0}};
    shape.dims[3] = 2 * draw_between(d, 1, 4);
    if (flat)
        shape = (struct shape){3, {shape.dims[0], shape.dims[2], shape.dims[1] * shape.dims[3]}};
    if (d->given)
        return draw_primary(d);
    draw_data(d, d->type, &shape);
    return d->inputs[0];
}

static int sample_rotary(struct draw *d)
{
    struct drawn x = draw_vectors(d);
    bool flat = x.shape.rank == 3;
    int64_t last = x.shape.dims[x.shape.rank - 1], rows = x.shape.dims[flat ? 1 : 2];
    if (shape_span(&x.shape, 0, x.shape.rank) == 0 || last % 2)
        return -1;
    int64_t heads = flat ? heads_draw(d, last / 2) : 1, size = last / heads;
    int64_t turned = size;
    if (flat)
        draw_int(d, "num_heads", heads);
    if (size > 2 && draw_chance(d, 0.3)) {
        turned = 2 * draw_between(d, 1, size / 2);
        draw_int(d, "rotary_embedding_dim", turned);
        /* ONNX Runtime wants to know the heads even of four dimensions then. */
        if (!flat)
            draw_int(d, "num_heads", x.shape.dims[1]);
    }
    bool ids = draw_chance(d, 0.5);
    /* ONNX Runtime wants caches as long as the sequence. */
    int64_t positions = rows + draw_between(d, 0, 4);
    struct shape cache = {3, {x.shape.dims[0], rows, turned / 2}};
    if (ids)
        cache = (struct shape){2, {positions, turned / 2}};
    draw_range(d, x.type, &cache, -1, 1);
    draw_range(d, x.type, &cache, -1, 1);
    struct shape places = {2, {x.shape.dims[0], rows}};
    if (ids)
        draw_range(d, DTYPE_INT64, &places, 0, (double)(positions - 1));
    if (draw_chance(d, 0.6))
        draw_int(d, "interleaved", draw_between(d, 0, 1));
    return 0;
}

static const struct op_param rotary_params[] = {
    {"interleaved", PARAM_INT, .legal = "0|1", .illegal = "2|-1", .initial = "0"},
    {"num_heads", PARAM_INT, .legal = "1|2", .illegal = "-1|99", .initial = "0"},
    {"rotary_embedding_dim", PARAM_INT, .legal = "0|2|4", .illegal = "-2|3|99", .initial = "0"},
    {"position_ids", PARAM_INPUT, .input = 3, .legal = "0|1", .initial = "0"},
    {0},
};

enum { ROTARY_TYPES = DTYPES_FLOAT & ~(1 << DTYPE_DOUBLE) };

const struct op ops_rotary[] = {
    {OP("RotaryEmbedding", 23), .inputs = {3, 4}, .outputs = {1, 1}, .ranks = {3, 4},
     .types = {{23, ROTARY_TYPES}}, .params = rotary_params, .index = {.input = 3, .of = 1},
     .eval = eval_rotary, .sample = sample_rotary, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_PRODUCT, .powers = {1}}, .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
