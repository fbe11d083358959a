#include "ops/draw.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *fill_name(enum fill fill)
{
    static const char *const names[FILL_COUNT] = {"normal", "exact", "special"};
    return (unsigned)fill < FILL_COUNT ? names[fill] : "unknown";
}

const char *sizes_name(enum draw_sizes sizes)
{
    static const char *const names[SIZES_COUNT] = {"plain", "empty", "ones", "odd"};
    return (unsigned)sizes < SIZES_COUNT ? names[sizes] : "unknown";
}

const char *constants_name(enum draw_constants constants)
{
    static const char *const names[CONSTANTS_COUNT] = {"some", "all", "none"};
    return (unsigned)constants < CONSTANTS_COUNT ? names[constants] : "unknown";
}

/* Values for which implementations differ, for float types; integers get the ends of their range. */
static long double special_value(enum dtype type, struct rng *rng)
{
    struct dtype_precision p = dtype_precision(type);
    switch (rng_below(rng, 14)) {
    case 0:
        return NAN;
    case 1:
        return INFINITY;
    case 2:
        return -INFINITY;
    case 3:
        return -0.0L;
    case 4:
        return p.smallest * (long double)rng_range(rng, 1, 100);
    case 5:
        return -p.tiny;
    case 6:
        return dtype_highest(type);
    case 7:
        return dtype_lowest(type);
    case 8:
        return 0;
    case 9:
        return ldexpl(1, (int)rng_range(rng, 20, 70)) * (rng_chance(rng, 0.5) ? 1 : -1);
    case 10:
        return (long double)rng_range(rng, -4, 4) + 0.5L;
    case 11:
        return (long double)rng_range(rng, -100, 100);
    case 12:
        return rng_uniform(rng, -1, 1);
    default:
        return 1;
    }
}

static long double special_integer(enum dtype type, struct rng *rng)
{
    switch (rng_below(rng, 5)) {
    case 0:
        return dtype_highest(type);
    case 1:
        return dtype_lowest(type);
    case 2:
        return 0;
    case 3:
        return dtype_is_signed(type) ? -1 : 1;
    default:
        return (long double)rng_range(rng, 0, 127);
    }
}

static long double plain_value(enum dtype type, enum fill fill, struct rng *rng)
{
    if (type == DTYPE_BOOL)
        return (long double)rng_below(rng, 2);
    if (dtype_is_float(type))
        return fill == FILL_EXACT ? (long double)rng_range(rng, -4, 4) : (long double)rng_normal(rng);
    return (long double)rng_range(rng, dtype_is_signed(type) ? -9 : 0, 9);
}

void fill_tensor(struct tensor *tensor, enum fill fill, struct rng rng)
{
    for (size_t i = 0; i < tensor->count; i++) {
        long double value;
        if (fill == FILL_SPECIAL && dtype_is_float(tensor->type) && rng_chance(&rng, 0.3))
            value = special_value(tensor->type, &rng);
        else if (fill == FILL_SPECIAL && dtype_is_integer(tensor->type) && rng_chance(&rng, 0.2))
            value = special_integer(tensor->type, &rng);
        else
            value = plain_value(tensor->type, fill, &rng);
        tensor_set(tensor, i, value);
    }
}

static void fill_range(struct tensor *tensor, double low, double high, struct rng rng)
{
    for (size_t i = 0; i < tensor->count; i++) {
        if (dtype_is_float(tensor->type))
            tensor_set(tensor, i, rng_uniform(&rng, low, high));
        else
            tensor_set(tensor, i, (long double)rng_range(&rng, (int64_t)low, (int64_t)high));
    }
}

void draw_init(struct draw *d, struct arena *arena, const struct op *op, int opset, enum dtype type,
               enum fill fill, struct rng rng)
{
    *d = (struct draw){.rng = rng, .op = op, .opset = opset, .type = type, .fill = fill, .arena = arena};
    d->node = arena_alloc(arena, sizeof *d->node);
    onnx__node_proto__init(d->node);
    d->node->op_type = arena_strdup(arena, op->type);
    d->node->domain = arena_strdup(arena, op->domain);
    d->n_outputs = op->outputs.least > 1 ? (size_t)op->outputs.least : 1;
}

void draw_release(struct draw *d)
{
    for (size_t i = 0; i < d->n_inputs; i++)
        if (d->inputs[i].source == DRAWN_NEW)
            tensor_release(&d->inputs[i].data);
    for (size_t i = 0; i < d->n_captured; i++)
        if (d->captured[i].source == DRAWN_NEW)
            tensor_release(&d->captured[i].data);
    free(d->inputs);
    free(d->captured);
    d->inputs = d->captured = NULL;
    d->n_inputs = d->capacity = d->n_captured = d->captured_capacity = 0;
}

int draw_node(struct draw *d)
{
    if (!d->op->sample || d->op->sample(d))
        return -1;
    while (d->n_inputs && d->inputs[d->n_inputs - 1].source == DRAWN_OMITTED)
        d->n_inputs--;
    return d->n_inputs >= (size_t)d->op->inputs.least && d->n_inputs <= (size_t)d->op->inputs.most ? 0 : -1;
}

void draw_int(struct draw *d, const char *name, int64_t value)
{
    node_set_int(d->arena, d->node, name, value);
}

void draw_float(struct draw *d, const char *name, float value)
{
    node_set_float(d->arena, d->node, name, value);
}

void draw_string(struct draw *d, const char *name, const char *value)
{
    node_set_string(d->arena, d->node, name, value);
}

void draw_ints(struct draw *d, const char *name, const int64_t *values, size_t count)
{
    node_set_ints(d->arena, d->node, name, values, count);
}

int64_t draw_between(struct draw *d, int64_t low, int64_t high)
{
    return rng_range(&d->rng, low, high < low ? low : high);
}

bool draw_chance(struct draw *d, double probability)
{
    return rng_chance(&d->rng, probability);
}

enum dtype draw_type(struct draw *d, dtype_set set)
{
    int members = __builtin_popcount(set);
    if (!members)
        return DTYPE_NONE;
    uint64_t skip = rng_below(&d->rng, (uint64_t)members);
    for (int type = 1; type < DTYPE_COUNT; type++)
        if (dtype_in((enum dtype)type, set) && skip-- == 0)
            return (enum dtype)type;
    return DTYPE_NONE;
}

enum dtype draw_type_or_narrow(struct draw *d, dtype_set set)
{
    return draw_type(d, d->narrow && draw_chance(d, 0.8) ? d->narrow : set);
}

const char *draw_word(struct draw *d, const char *words)
{
    uint64_t count = 1;
    for (const char *at = words; *at; at++)
        count += *at == '|';
    uint64_t skip = rng_below(&d->rng, count);
    const char *at = words;
    while (skip--)
        at = strchr(at, '|') + 1;
    size_t length = strcspn(at, "|");
    char *word = arena_alloc(d->arena, length + 1);
    memcpy(word, at, length);
    return word;
}

/* A dimension next to a multiple of a vector's width: loops over vectors have tails there. */
static int64_t odd_dim(struct draw *d)
{
    int64_t width = (int64_t)4 << rng_below(&d->rng, 4);
    return width + rng_range(&d->rng, -1, 1);
}

int64_t draw_dim(struct draw *d)
{
    if (d->sizes == SIZES_ONES && rng_chance(&d->rng, 0.7))
        return 1;
    if (d->sizes == SIZES_ODD && rng_chance(&d->rng, 0.4))
        return odd_dim(d);
    uint64_t kind = rng_below(&d->rng, 20);
    /* Now and then a long dimension: vectorised loops have tails, and coordinates are rounded. */
    if (kind == 0)
        return rng_chance(&d->rng, 0.2) ? rng_range(&d->rng, 21, 100) : rng_range(&d->rng, 7, 20);
    return kind < 4 ? 1 : rng_range(&d->rng, 2, 6);
}

/* Elements a drawn tensor may have: a case should run in microseconds. */
enum { DRAW_ELEMENTS = 2000 };

struct shape draw_shape(struct draw *d, int min_rank, int max_rank)
{
    if (max_rank > 6)
        max_rank = 6;
    if (d->sizes == SIZES_ONES && rng_chance(&d->rng, 0.5))
        max_rank = min_rank;
    uint64_t of = d->sizes == SIZES_EMPTY ? 2 : 60; /* one of so many shapes has a dimension of 0 */
    struct shape shape = {.rank =
                              (int)rng_range(&d->rng, min_rank, max_rank < min_rank ? min_rank : max_rank)};
    size_t product = 1;
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = draw_dim(d);
        while (product * (size_t)shape.dims[i] > DRAW_ELEMENTS)
            shape.dims[i] = (shape.dims[i] + 1) / 2;
        product *= (size_t)shape.dims[i];
    }
    if (shape.rank && rng_below(&d->rng, of) == 0)
        shape.dims[rng_below(&d->rng, (uint64_t)shape.rank)] = 0;
    return shape;
}

struct shape draw_broadcastable(struct draw *d, const struct shape *to)
{
    uint64_t kind = rng_below(&d->rng, 4);
    if (kind == 0)
        return *to;
    int drop = (int)rng_below(&d->rng, (uint64_t)to->rank + 1);
    struct shape shape = shape_make(to->rank - drop, to->dims + drop);
    for (int i = 0; i < shape.rank; i++)
        if (rng_chance(&d->rng, 0.3))
            shape.dims[i] = 1;
    return shape;
}

static struct drawn *next_input(struct draw *d)
{
    d->inputs = memory_grow(d->inputs, &d->capacity, d->n_inputs + 1, sizeof *d->inputs);
    struct drawn *input = &d->inputs[d->n_inputs++];
    memset(input, 0, sizeof *input);
    return input;
}

/* A new tensor as the next input. Drawn shapes are small, so its allocation can only fail when memory is
 * gone. */
static struct drawn *new_input(struct draw *d, enum dtype type, const struct shape *shape)
{
    struct drawn *input = next_input(d);
    input->source = DRAWN_NEW;
    input->type = type;
    input->shape = *shape;
    if (tensor_alloc(&input->data, type, shape, 0, NULL))
        memory_exhausted(0);
    return input;
}

/* Whether a new input is an initialiser, which is drawn in any case. */
static bool is_constant(struct draw *d, double probability)
{
    bool drawn = draw_chance(d, probability);
    return d->constants == CONSTANTS_SOME ? drawn : d->constants == CONSTANTS_ALL;
}

static struct rng data_stream(struct draw *d)
{
    return rng_split(&d->rng, d->n_inputs);
}

struct drawn draw_primary(struct draw *d)
{
    return draw_primary_ranked(d, d->op->ranks.least, d->op->ranks.most);
}

struct drawn draw_primary_ranked(struct draw *d, int min_rank, int max_rank)
{
    if (d->given) {
        struct drawn *input = next_input(d);
        *input = *d->given;
        input->source = DRAWN_EXISTING;
        return *input;
    }
    int wanted = d->rank - 1;
    if (wanted >= min_rank && wanted <= max_rank)
        min_rank = max_rank = wanted;
    struct shape shape = draw_shape(d, min_rank, max_rank);
    struct drawn *input = new_input(d, d->type, &shape);
    input->constant = is_constant(d, 0.06);
    fill_tensor(&input->data, d->fill, data_stream(d));
    return *input;
}

void draw_primary_range(struct draw *d, double low, double high)
{
    struct drawn *input = &d->inputs[0];
    bool keep_special = d->fill == FILL_SPECIAL && draw_chance(d, 0.5);
    if (input->source == DRAWN_NEW && !keep_special)
        fill_range(&input->data, low, high, data_stream(d));
}

static bool take_offer(struct draw *d, enum dtype type, const struct shape *shape)
{
    const char *name =
        d->offer && (d->eager || draw_chance(d, 0.5)) ? d->offer(d->context, type, shape) : NULL;
    if (!name)
        return false;
    struct drawn *input = next_input(d);
    input->source = DRAWN_EXISTING;
    input->type = type;
    input->shape = *shape;
    input->existing = name;
    return true;
}

void draw_data(struct draw *d, enum dtype type, const struct shape *shape)
{
    if (take_offer(d, type, shape))
        return;
    bool constant = is_constant(d, 0.5);
    struct drawn *input = new_input(d, type, shape);
    input->constant = constant;
    fill_tensor(&input->data, d->fill, data_stream(d));
}

void draw_range(struct draw *d, enum dtype type, const struct shape *shape, double low, double high)
{
    bool constant = is_constant(d, 0.5);
    struct drawn *input = new_input(d, type, shape);
    input->constant = constant;
    fill_range(&input->data, low, high, data_stream(d));
}

void draw_int_typed(struct draw *d, enum dtype type, const struct shape *shape, const int64_t *values)
{
    bool constant = is_constant(d, 0.85);
    struct drawn *input = new_input(d, type, shape);
    input->constant = constant;
    for (size_t i = 0; i < input->data.count; i++)
        tensor_set(&input->data, i, (long double)values[i]);
}

void draw_int_input(struct draw *d, const int64_t *values, size_t count)
{
    struct shape shape = {1, {(int64_t)count}};
    draw_int_typed(d, DTYPE_INT64, &shape, values);
}

void draw_scalar(struct draw *d, enum dtype type, double value)
{
    struct shape shape = {.rank = 0};
    bool constant = is_constant(d, 0.85);
    struct drawn *input = new_input(d, type, &shape);
    input->constant = constant;
    tensor_set(&input->data, 0, value);
}

void draw_omit(struct draw *d)
{
    next_input(d)->source = DRAWN_OMITTED;
}

bool draw_pick(struct draw *d, struct drawn *value)
{
    return d->pick && draw_chance(d, 0.8) && d->pick(d->context, value);
}

void draw_existing(struct draw *d, const struct drawn *value)
{
    struct drawn *input = next_input(d);
    *input = *value;
    input->source = DRAWN_EXISTING;
}

static struct drawn *next_captured(struct draw *d)
{
    d->captured = memory_grow(d->captured, &d->captured_capacity, d->n_captured + 1, sizeof *d->captured);
    struct drawn *captured = &d->captured[d->n_captured++];
    memset(captured, 0, sizeof *captured);
    return captured;
}

const char *draw_capture(struct draw *d, enum dtype type, const struct shape *shape)
{
    struct drawn *captured = next_captured(d);
    captured->type = type;
    captured->shape = *shape;
    captured->constant = is_constant(d, 0.2);
    captured->existing = arena_printf(d->arena, "c%08llx", (unsigned long long)rng_u64(&d->rng) >> 32);
    if (tensor_alloc(&captured->data, type, shape, 0, NULL))
        memory_exhausted(0);
    fill_tensor(&captured->data, d->fill, rng_split(&d->rng, d->n_captured));
    return captured->existing;
}

const char *draw_capture_existing(struct draw *d, const struct drawn *value)
{
    struct drawn *captured = next_captured(d);
    *captured = *value;
    captured->source = DRAWN_EXISTING;
    return captured->existing;
}

void draw_outputs(struct draw *d, size_t count)
{
    d->n_outputs = count;
}
