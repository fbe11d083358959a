/* Matrix products: MatMul, Gemm, MatMulInteger. Bounds: contract.h. */
#include "ops/matmul.h"

#include "bounds/contract.h"
#include "ops/draw.h"
#include "ops/gradient.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A batch of matrix products as NumPy's matmul defines it. */
struct product {
    size_t m, n, k;
    struct shape a, b;   /* of rank >= 2: 1-D operands get a 1 put before (a) or behind (b) */
    struct shape batch;  /* common leading dims */
    struct shape result; /* without the 1s that were put in */
    bool unbounded;      /* as in struct op_call */
};

static int product_shapes(struct op_call *call, const struct shape *a, const struct shape *b,
                          struct product *p)
{
    if (a->rank < 1 || b->rank < 1)
        return call_invalid(call, "an operand is a scalar");
    p->a = *a;
    p->b = *b;
    if (a->rank == 1)
        p->a = (struct shape){.rank = 2, .dims = {1, a->dims[0]}};
    if (b->rank == 1)
        p->b = (struct shape){.rank = 2, .dims = {b->dims[0], 1}};
    int ra = p->a.rank, rb = p->b.rank;
    int64_t m = p->a.dims[ra - 2], k = p->a.dims[ra - 1], n = p->b.dims[rb - 1];
    if (k != p->b.dims[rb - 2])
        return call_invalid(call, "inner dimensions %" PRId64 " and %" PRId64 " differ", k,
                            p->b.dims[rb - 2]);
    struct shape lead_a = shape_make(ra - 2, p->a.dims), lead_b = shape_make(rb - 2, p->b.dims);
    if (call_broadcast(call, &lead_a, &lead_b, &p->batch))
        return -1;
    p->m = (size_t)m;
    p->n = (size_t)n;
    p->k = (size_t)k;
    p->unbounded = call->unbounded;
    p->result = p->batch;
    if (a->rank > 1)
        p->result.dims[p->result.rank++] = m;
    if (b->rank > 1)
        p->result.dims[p->result.rank++] = n;
    return 0;
}

struct target {
    struct bounded *out;
    size_t base, columns;
};

static void put_sum(void *context, size_t i, size_t j, struct number sum)
{
    struct target *t = context;
    number_put(t->out, t->base + i * t->columns + j, sum);
}

static void put_sums(void *context, size_t i, size_t j, const struct bounded_row *sums)
{
    struct target *t = context;
    bounded_put_row(t->out, t->base + i * t->columns + j, sums);
}

/* Offsets of the batch's matrices in an operand whose own leading dims broadcast to it. */
static struct strides batch_strides(const struct shape *operand, const struct shape *batch)
{
    struct shape lead = shape_make(operand->rank - 2, operand->dims);
    struct strides strides = strides_broadcast(&lead, batch);
    size_t matrix = shape_span(operand, operand->rank - 2, operand->rank);
    for (int i = 0; i < batch->rank; i++)
        strides.of[i] *= matrix;
    return strides;
}

static int product_of(const struct product *p, const struct bounded *a, const struct bounded *b,
                      const struct epilogue *then, struct bounded *out, struct error *err)
{
    struct operand left = operand_of(a), right = operand_of(b);
    struct target target = {out, 0, p->n};
    struct strides at_a = batch_strides(&p->a, &p->batch), at_b = batch_strides(&p->b, &p->batch);
    size_t *rows = offsets_linear(p->m, p->k, err), *inner = offsets_linear(p->k, 1, err);
    size_t *inner_b = offsets_linear(p->k, p->n, err), *cols = offsets_linear(p->n, 1, err);
    int result = rows && inner && inner_b && cols ? 0 : -1;
    int64_t index[TENSOR_MAX_RANK] = {0};
    bool more = out->count > 0;
    while (result == 0 && more) {
        struct contraction c = {.type = out->type, .m = p->m, .n = p->n, .k = p->k};
        c.a = (struct view){&left, strides_at(&at_a, p->batch.rank, index), rows, inner};
        c.b = (struct view){&right, strides_at(&at_b, p->batch.rank, index), inner_b, cols};
        c.roundings = (double)p->k;
        c.unbounded = p->unbounded;
        c.then = then;
        c.sink = put_sum;
        c.row = put_sums;
        c.context = &target;
        result = contract(&c, err);
        target.base += p->m * p->n;
        more = odometer_next(index, &p->batch);
    }
    free(rows);
    free(inner);
    free(inner_b);
    free(cols);
    return result;
}

/* Of many small products each would read all of a weight as it is stored. */
static int product_run(const struct product *p, const struct bounded *a, const struct bounded *b,
                       const struct epilogue *then, struct bounded *out, struct error *err)
{
    struct bounded left, right;
    bounded_init(&left);
    bounded_init(&right);
    int result = 0;
    if (a->floats && a->shape.rank > 2)
        result = bounded_copy(&left, a, err);
    if (!result && b->floats && b->shape.rank > 2)
        result = bounded_copy(&right, b, err);
    if (!result)
        result = product_of(p, left.value ? &left : a, right.value ? &right : b, then, out, err);
    bounded_release(&left);
    bounded_release(&right);
    return result;
}

int matmul_scaled(struct op_call *call, const struct bounded *a, const struct bounded *b, double alpha)
{
    struct product p;
    struct epilogue then = {.alpha = alpha, .beta = 1};
    if (product_shapes(call, &a->shape, &b->shape, &p))
        return -1;
    if (a->type != b->type)
        return call_invalid(call, "the operands have different types");
    struct bounded *out = call_output(call, 0, a->type, &p.result);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    return product_run(&p, a, b, alpha == 1 ? NULL : &then, out, call->err);
}

static int eval_matmul(struct op_call *call)
{
    const struct bounded *a = call_need(call, 0), *b = call_need(call, 1);
    return a && b ? matmul_scaled(call, a, b, 1) : -1;
}

/* The batches that share one matrix of an operand, which its derivatives are summed over: [shared ...,
 * width], and the others. */
struct sharing {
    struct shape shared, kept;
};

static struct sharing find_sharing(const struct product *p, const struct strides *operand, size_t width)
{
    struct sharing s = {p->batch, p->batch};
    for (int i = 0; i < p->batch.rank; i++)
        (operand->of[i] == 0 ? &s.kept : &s.shared)->dims[i] = 1;
    s.shared.dims[s.shared.rank++] = (int64_t)width;
    return s;
}

/* Offsets of the matrices of the result, and with them those of `step` elements inside each. */
static struct strides with_step(struct strides strides, int rank, size_t step)
{
    strides.of[rank] = step;
    return strides;
}

static struct strides result_strides(const struct product *p)
{
    struct strides strides = strides_dense(&p->batch);
    for (int i = 0; i < p->batch.rank; i++)
        strides.of[i] *= p->m * p->n;
    return strides;
}

/*
 * One factor's derivatives: dA = G B' (or dB = A' G), summed over the batches that share a matrix. `left`
 * and `right` are G and B, or A and G; a view's rows and columns are `step` apart.
 */
struct factor_gradient {
    const struct operand *left, *right;
    struct strides at_left, at_right, at_slope; /* of the batches */
    size_t rows, inner, cols;
    size_t row_step, inner_left, inner_right, col_step;
};

static int factor_run(const struct product *p, const struct factor_gradient *f, struct bounded *slope,
                      struct error *err)
{
    struct sharing s = find_sharing(p, &f->at_slope, f->inner);
    int rank = p->batch.rank;
    struct strides left = with_step(f->at_left, rank, f->inner_left),
                   right = with_step(f->at_right, rank, f->inner_right);
    size_t *tables[] = {offsets_linear(f->rows, f->row_step, err), offsets_of(&s.shared, &left, err),
                        offsets_of(&s.shared, &right, err),        offsets_linear(f->cols, f->col_step, err),
                        offsets_linear(f->rows, f->cols, err),     offsets_linear(f->cols, 1, err)};
    int result = 0;
    for (int i = 0; i < 6; i++)
        result = tables[i] ? result : -1;
    struct gradient_target target = {slope, 0, tables[4], tables[5]};
    int64_t index[TENSOR_MAX_RANK] = {0};
    bool more = slope->count > 0 && shape_span(&s.kept, 0, rank) > 0;
    while (result == 0 && more) {
        struct contraction c = {.type = slope->type, .m = f->rows, .n = f->cols};
        c.k = shape_span(&s.shared, 0, s.shared.rank);
        c.a = (struct view){f->left, strides_at(&f->at_left, rank, index), tables[0], tables[1]};
        c.b = (struct view){f->right, strides_at(&f->at_right, rank, index), tables[2], tables[3]};
        c.roundings = (double)c.k;
        c.sink = gradient_put;
        c.context = &target;
        target.base = strides_at(&f->at_slope, rank, index);
        result = contract(&c, err);
        more = odometer_next(index, &s.kept);
    }
    for (int i = 0; i < 6; i++)
        free(tables[i]);
    return result;
}

static int gradient_matmul(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *a = call->inputs[0], *b = call->inputs[1];
    struct product p;
    if (!g->upstream[0] || product_shapes(call, &a->shape, &b->shape, &p))
        return g->upstream[0] ? -1 : 0;
    struct operand left = operand_of(a), right = operand_of(b), up = operand_of(g->upstream[0]);
    struct strides at_a = batch_strides(&p.a, &p.batch), at_b = batch_strides(&p.b, &p.batch),
                   at_y = result_strides(&p);
    const struct factor_gradient factors[2] = {
        {&up, &right, at_y, at_b, at_a, p.m, p.n, p.k, p.n, 1, 1, p.n},
        {&left, &up, at_a, at_y, at_b, p.k, p.m, p.n, 1, p.k, p.n, 1},
    };
    for (size_t i = 0; i < 2; i++) {
        struct bounded *slope = gradient_make(g, i);
        if ((!slope && g->wanted[i]) || (slope && factor_run(&p, &factors[i], slope, call->err)))
            return -1;
    }
    return 0;
}

/* x - zero point, as int32; `zero` broadcasts to x (a 1-D one of A's is per row). */
static int subtract_zero(struct op_call *call, const struct bounded *x, const struct bounded *zero,
                         bool per_row, struct bounded *out)
{
    if (bounded_alloc(out, DTYPE_INT32, &x->shape, false, call->err))
        return -1;
    struct shape shape = zero ? zero->shape : (struct shape){.rank = 0};
    if (zero && per_row && shape.rank == 1 && shape.dims[0] != 1)
        shape = (struct shape){.rank = 2, .dims = {zero->shape.dims[0], 1}};
    struct shape common;
    if (zero && zero->count == 1)
        shape = (struct shape){.rank = 0};
    if (call_broadcast(call, &x->shape, &shape, &common) || !shape_equal(&common, &x->shape))
        return call_invalid(call, "the shape of a zero point does not match its tensor");
    struct strides strides = strides_broadcast(&shape, &x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < x->count; i++) {
        struct number n = number_of(x, i);
        if (zero)
            n = number_sub(n, number_of(zero, strides_at(&strides, x->shape.rank, index)), 0);
        number_put(out, i, n);
        odometer_next(index, &x->shape);
    }
    return 0;
}

static int check_zero(struct op_call *call, const struct bounded *x, size_t input)
{
    const struct bounded *zero = call_input(call, input);
    if (!dtype_in(x->type, DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8)))
        return call_invalid(call, "the operands must be int8 or uint8");
    if (zero && zero->type != x->type)
        return call_invalid(call, "a zero point has another type than its tensor");
    return 0;
}

static int eval_matmul_integer(struct op_call *call)
{
    const struct bounded *a = call_need(call, 0), *b = call_need(call, 1);
    struct product p;
    if (!a || !b || check_zero(call, a, 2) || check_zero(call, b, 3) ||
        product_shapes(call, &a->shape, &b->shape, &p))
        return -1;
    struct bounded *out = call_output(call, 0, DTYPE_INT32, &p.result);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    struct bounded left, right;
    bounded_init(&left);
    bounded_init(&right);
    int result = -1;
    if (subtract_zero(call, a, call_input(call, 2), true, &left) ||
        subtract_zero(call, b, call_input(call, 3), false, &right))
        goto out;
    result = product_run(&p, &left, &right, NULL, out, call->err);
out:
    bounded_release(&left);
    bounded_release(&right);
    return result;
}

/* Integers scaled by a fraction: ONNX does not say how they are rounded. */
static void put_gemm(void *context, size_t i, size_t j, struct number sum)
{
    struct target *t = context;
    size_t at = i * t->columns + j;
    if (!dtype_is_float(t->out->type) && (!isfinite(sum.v) || sum.v != rintl(sum.v)))
        bounded_put_open(t->out, at);
    else
        number_put(t->out, at, sum);
}

enum { A_ROWS, A_INNER, B_INNER, B_COLS, C_ROWS, C_COLS, GEMM_TABLES };

/* Y = alpha A' B' + beta C. */
static int gemm_run(struct op_call *call, struct bounded *out, size_t k)
{
    const struct bounded *a = call_input(call, 0), *b = call_input(call, 1), *add = call_input(call, 2);
    bool ta = call_int(call, "transA", 0) != 0, tb = call_int(call, "transB", 0) != 0;
    size_t m = (size_t)out->shape.dims[0], n = (size_t)out->shape.dims[1];
    struct strides at = {{0}};
    if (add)
        at = strides_broadcast(&add->shape, &out->shape);
    const size_t count[GEMM_TABLES] = {m, k, k, n, m, n};
    const size_t step[GEMM_TABLES] = {ta ? 1 : k, ta ? m : 1, tb ? 1 : n, tb ? k : 1, at.of[0], at.of[1]};
    size_t *tables[GEMM_TABLES] = {NULL};
    int result = 0;
    for (int i = 0; i < GEMM_TABLES; i++)
        if (!(tables[i] = offsets_linear(count[i], step[i], call->err)))
            result = -1;
    if (result == 0) {
        struct operand left = operand_of(a), right = operand_of(b);
        struct target target = {out, 0, n};
        struct epilogue then = {call_float(call, "alpha", 1), call_float(call, "beta", 1), add,
                                tables[C_ROWS], tables[C_COLS]};
        struct contraction c = {.type = out->type, .m = m, .n = n, .k = k, .roundings = (double)k};
        c.unbounded = call->unbounded;
        c.a = (struct view){&left, 0, tables[A_ROWS], tables[A_INNER]};
        c.b = (struct view){&right, 0, tables[B_INNER], tables[B_COLS]};
        c.then = &then;
        c.sink = put_gemm;
        c.row = put_sums;
        c.context = &target;
        result = contract(&c, call->err);
    }
    for (int i = 0; i < GEMM_TABLES; i++)
        free(tables[i]);
    return result;
}

static int eval_gemm(struct op_call *call)
{
    const struct bounded *a = call_need(call, 0), *b = call_need(call, 1), *c = call_input(call, 2);
    if (!a || !b)
        return -1;
    if (a->shape.rank != 2 || b->shape.rank != 2)
        return call_invalid(call, "A and B must be matrices");
    if (a->type != b->type || (c && c->type != a->type))
        return call_invalid(call, "the operands have different types");
    int ta = call_int(call, "transA", 0) != 0, tb = call_int(call, "transB", 0) != 0;
    int64_t m = a->shape.dims[ta], k = a->shape.dims[!ta], n = b->shape.dims[!tb];
    if (b->shape.dims[tb] != k)
        return call_invalid(call, "inner dimensions %" PRId64 " and %" PRId64 " differ", k,
                            b->shape.dims[tb]);
    struct shape shape = {.rank = 2, .dims = {m, n}}, common;
    if (c && (call_broadcast(call, &c->shape, &shape, &common) || !shape_equal(&common, &shape)))
        return call_invalid(call, "C does not broadcast to the product");
    struct bounded *out = call_output(call, 0, a->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    return gemm_run(call, out, (size_t)k);
}

/* One factor's derivatives: alpha G B or alpha A' G, and the transposes of them, as `steps` says. */
struct gemm_factor {
    size_t rows, inner, cols;
    /* Distances of rows, columns: of the left factor, of the right one, of the slope. */
    size_t left[2], right[2], slope[2];
};

static int gemm_factor_run(struct op_call *call, const struct gemm_factor *f, const struct operand *left,
                           const struct operand *right, struct bounded *slope)
{
    const size_t count[] = {f->rows, f->inner, f->inner, f->cols, f->rows, f->cols};
    const size_t step[] = {f->left[0], f->left[1], f->right[0], f->right[1], f->slope[0], f->slope[1]};
    size_t *tables[GEMM_TABLES] = {NULL};
    int result = 0;
    for (int i = 0; i < GEMM_TABLES; i++)
        if (!(tables[i] = offsets_linear(count[i], step[i], call->err)))
            result = -1;
    struct gradient_target target = {slope, 0, tables[4], tables[5]};
    struct epilogue then = {.alpha = call_float(call, "alpha", 1), .beta = 1};
    struct contraction c = {.type = slope->type, .m = f->rows, .n = f->cols, .k = f->inner};
    c.a = (struct view){left, 0, tables[0], tables[1]};
    c.b = (struct view){right, 0, tables[2], tables[3]};
    c.roundings = (double)f->inner;
    c.then = &then;
    c.sink = gradient_put;
    c.context = &target;
    if (result == 0)
        result = contract(&c, call->err);
    for (int i = 0; i < GEMM_TABLES; i++)
        free(tables[i]);
    return result;
}

/* beta times the sum of G over what C was broadcast to. */
static int gradient_gemm_c(struct op_gradient *g)
{
    const struct bounded *up = g->upstream[0];
    struct bounded *slope = gradient_make(g, 2);
    struct gradient_sums sums;
    if (!slope || gradient_sums_init(&sums, slope, g->call->err))
        return -1;
    long double beta = call_float(g->call, "beta", 1);
    struct strides at = strides_broadcast(&slope->shape, &up->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < up->count; i++) {
        struct number term = number_of(up, i);
        if (beta != 1)
            term = number_mul(term, number_exact(beta), unit_of(slope->type));
        if (isfinite(term.v))
            gradient_sums_add(&sums, strides_at(&at, up->shape.rank, index), term);
        else
            gradient_sums_undecided(&sums, strides_at(&at, up->shape.rank, index));
        odometer_next(index, &up->shape);
    }
    gradient_sums_store(&sums);
    return 0;
}

static int gradient_gemm(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *a = call->inputs[0], *b = call->inputs[1], *up = g->upstream[0];
    if (!up)
        return 0;
    bool ta = call_int(call, "transA", 0) != 0, tb = call_int(call, "transB", 0) != 0;
    size_t m = (size_t)up->shape.dims[0], n = (size_t)up->shape.dims[1], k = (size_t)a->shape.dims[!ta];
    struct operand left = operand_of(a), right = operand_of(b), down = operand_of(up);
    const struct gemm_factor by_a = {m, n, k, {n, 1}, {tb ? k : 1, tb ? 1 : n}, {ta ? 1 : k, ta ? m : 1}},
                             by_b = {k, m, n, {ta ? m : 1, ta ? 1 : k}, {n, 1}, {tb ? 1 : n, tb ? k : 1}};
    struct bounded *slope = gradient_make(g, 0);
    if ((!slope && g->wanted[0]) || (slope && gemm_factor_run(call, &by_a, &down, &right, slope)))
        return -1;
    slope = gradient_make(g, 1);
    if ((!slope && g->wanted[1]) || (slope && gemm_factor_run(call, &by_b, &left, &down, slope)))
        return -1;
    return call_input(call, 2) && g->wanted[2] ? gradient_gemm_c(g) : 0;
}

/* Contractions are usually drawn short; a long sum only now and then. */
static int64_t draw_size(struct draw *d)
{
    return draw_chance(d, 0.02) ? draw_between(d, 30, 300) : draw_chance(d, 0.15) ? 1 : draw_dim(d);
}

/* The second operand of MatMul for a first one of shape a. */
static struct shape draw_right(struct draw *d, const struct shape *a)
{
    int64_t k = a->dims[a->rank - 1];
    if (draw_chance(d, 0.15))
        return (struct shape){.rank = 1, .dims = {k}};
    struct shape b = {.rank = 0};
    if (a->rank > 2 && draw_chance(d, 0.7)) {
        struct shape lead = shape_make(a->rank - 2, a->dims);
        b = draw_broadcastable(d, &lead);
    } else if (a->rank <= 2 && draw_chance(d, 0.25)) {
        b = (struct shape){.rank = 1, .dims = {draw_between(d, 1, 3)}};
    }
    b.dims[b.rank++] = k;
    b.dims[b.rank++] = draw_size(d);
    return b;
}

static int sample_matmul(struct draw *d)
{
    struct drawn a = draw_primary(d);
    if (a.shape.rank < 1)
        return -1;
    struct shape b = draw_right(d, &a.shape);
    draw_data(d, a.type, &b);
    return 0;
}

static void draw_zero(struct draw *d, enum dtype type, const struct shape *shape)
{
    draw_range(d, type, shape, type == DTYPE_UINT8 ? 0 : -20, type == DTYPE_UINT8 ? 255 : 20);
}

static int sample_matmul_integer(struct draw *d)
{
    struct drawn a = draw_primary_ranked(d, 2, 4);
    if (a.shape.rank < 2)
        return -1;
    enum dtype type = draw_type(d, DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8));
    struct shape b = draw_right(d, &a.shape);
    if (b.rank < 2)
        b.dims[b.rank++] = 1;
    draw_data(d, type, &b);
    if (draw_chance(d, 0.3))
        return 0;
    struct shape scalar = {.rank = 0}, rows = {.rank = 1, .dims = {a.shape.dims[a.shape.rank - 2]}};
    struct shape columns = {.rank = 1, .dims = {b.dims[b.rank - 1]}};
    if (draw_chance(d, 0.2))
        draw_omit(d);
    else
        draw_zero(d, a.type, a.shape.rank == 2 && draw_chance(d, 0.3) ? &rows : &scalar);
    if (draw_chance(d, 0.7))
        draw_zero(d, type, b.rank == 2 && draw_chance(d, 0.3) ? &columns : &scalar);
    return 0;
}

static void draw_scale(struct draw *d, const char *name)
{
    static const float values[] = {0, 1, 2, -1, 0.5f, 0.25f, -0.3f, 1.7f};
    if (draw_chance(d, 0.5))
        return;
    bool whole = !dtype_is_float(d->type);
    draw_float(d, name, values[draw_between(d, 0, whole ? 3 : 7)]);
}

static void draw_gemm_c(struct draw *d, enum dtype type, int64_t m, int64_t n)
{
    struct shape shape = {.rank = 2, .dims = {m, n}};
    switch (draw_between(d, 0, 6)) {
    case 0:
        return;
    case 1:
        shape = (struct shape){.rank = 0};
        break;
    case 2:
        shape = (struct shape){.rank = 1, .dims = {1}};
        break;
    case 3:
        shape = (struct shape){.rank = 1, .dims = {n}};
        break;
    case 4:
        shape.dims[1] = 1;
        break;
    case 5:
        shape.dims[0] = 1;
        break;
    default:
        break;
    }
    draw_data(d, type, &shape);
}

static int sample_gemm(struct draw *d)
{
    struct drawn a = draw_primary(d);
    if (a.shape.rank != 2)
        return -1;
    int64_t ta = draw_between(d, 0, 1), tb = draw_between(d, 0, 1);
    int64_t m = a.shape.dims[ta], k = a.shape.dims[1 - ta], n = draw_size(d);
    struct shape b = {.rank = 2, .dims = {tb ? n : k, tb ? k : n}};
    if (ta || draw_chance(d, 0.3))
        draw_int(d, "transA", ta);
    if (tb || draw_chance(d, 0.3))
        draw_int(d, "transB", tb);
    draw_scale(d, "alpha");
    draw_scale(d, "beta");
    draw_data(d, a.type, &b);
    draw_gemm_c(d, a.type, m, n);
    return 0;
}

enum {
    PLAIN_FLOAT = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16,
    WIDE_INTEGER = 1 << DTYPE_INT32 | 1 << DTYPE_INT64 | 1 << DTYPE_UINT32 | 1 << DTYPE_UINT64,
    BYTES = 1 << DTYPE_INT8 | 1 << DTYPE_UINT8,
};

static const struct op_param gemm_params[] = {
    {"transA", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"transB", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"alpha", PARAM_FLOAT, .legal = "0|1|0.5|-2", .initial = "1"},
    {"beta", PARAM_FLOAT, .legal = "0|1|0.5|-2", .initial = "1"},
    {0},
};

/* B [K, N], or [N, K] with transB: the dimension that is no K is N. */
static void fit_gemm(const struct op_call *call, size_t input, struct shape *shape)
{
    const struct bounded *a = call_input(call, 0);
    if (input != 1 || !a || a->shape.rank != 2 || shape->rank != 2)
        return;
    int64_t k = a->shape.dims[call_int(call, "transA", 0) ? 0 : 1];
    int64_t n = shape->dims[0] == k ? shape->dims[1] : shape->dims[0];
    bool transposed = call_int(call, "transB", 0) != 0;
    shape->dims[0] = transposed ? n : k;
    shape->dims[1] = transposed ? k : n;
}

static const struct op_param gemm_extras[] = {{"C", PARAM_INPUT, .input = 2}, {0}};

#define PRODUCT_TYPES                       \
    {                                       \
        {9, PLAIN_FLOAT | WIDE_INTEGER},    \
        {                                   \
            13, DTYPES_FLOAT | WIDE_INTEGER \
        }                                   \
    }

const struct op ops_matmul[] = {
    {OP("Gemm", 1),
     .open = "how integers that were scaled by a fraction are rounded",
     .inputs = {2, 3},
     .outputs = {1, 1},
     .ranks = {2, 2},
     .types = PRODUCT_TYPES,
     .params = gemm_params,
     .extras = gemm_extras,
     .fit = fit_gemm,
     .reads_floats = 3,
     .eval = eval_gemm,
     .gradient = gradient_gemm,
     .sample = sample_gemm,
     .data = DATA_ALL,
     .range = {RANGE_DOT},
     .factors = {FACTORS_PRODUCT, .powers = {1, 1}, .added = 1 << 2},
     .history = {.same_since = 7},
     .result = RESULT_TYPE,
     .work = WORK_PRODUCTS,
     .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("MatMul", 1), .flags = OP_VECTORS, .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {1, 5},
     .types = PRODUCT_TYPES, .reads_floats = 3, .eval = eval_matmul, .gradient = gradient_matmul,
     .sample = sample_matmul, .data = DATA_ALL, .range = {RANGE_DOT},
     .factors = {FACTORS_PRODUCT, .powers = {1, 1}}, .history = {.same_since = 1}, .result = RESULT_TYPE,
     .work = WORK_PRODUCTS, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("MatMulInteger", 10), .each = {EACH_PRODUCT, .second = 1}, .inputs = {2, 4}, .outputs = {1, 1},
     .ranks = {2, 4}, .types = {{10, BYTES}}, .eval = eval_matmul_integer, .sample = sample_matmul_integer,
     .data = DATA_FIRST, .range = {RANGE_DOT}, .factors = {FACTORS_NONE}, .history = {.same_since = 10},
     .result = RESULT_OTHER, .work = WORK_PRODUCTS, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
