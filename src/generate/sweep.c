#include "generate/sweep.h"

#include "base/hash.h"
#include "base/memory.h"
#include "generate/case_maker.h"
#include "generate/sweep_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many elements a product adds up: alone, a product may not reach where sums of two or four saturate. */
enum { INNER = 4, MOST_OUTPUTS = 8 };

const char *sweep_form_name(enum sweep_form form)
{
    static const char *const names[SWEEP_FORMS] = {"run", "image", "turned", "tails"};
    return (unsigned)form < SWEEP_FORMS ? names[form] : "unknown";
}

char *sweep_recipe(const struct sweep *sweep)
{
    struct str text;
    str_init(&text);
    str_printf(&text, "sweep seed=%" PRIu64 " index=%" PRIu64 " ops=%s opset=%d types=%s form=%s",
               sweep->seed, sweep->index, sweep->op->name, sweep->opset, dtype_name(sweep->type),
               sweep_form_name(sweep->form));
    if (sweep->scale)
        str_printf(&text, " scale=%d", sweep->scale);
    if (sweep->zero)
        str_printf(&text, " zero=%d", sweep->zero - 1);
    if (sweep->offset)
        str_printf(&text, " offset=%d", sweep->offset);
    char *recipe = str_detach(&text);
    str_release(&text);
    return recipe;
}

static int read_number(const char *text, long most, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0 || value > most)
        return -1;
    *number = (int)value;
    return 0;
}

int sweep_parse_word(struct sweep *sweep, const char *word, const char *value)
{
    if (!value)
        return -1;
    if (strcmp(word, "scale") == 0)
        return read_number(value, SWEEP_SCALES, &sweep->scale);
    if (strcmp(word, "offset") == 0)
        return read_number(value, SWEEP_LAST_OFFSET, &sweep->offset);
    if (strcmp(word, "zero") == 0) {
        int status = read_number(value, SWEEP_VALUES - 1, &sweep->zero);
        sweep->zero += !status;
        return status;
    }
    if (strcmp(word, "form") != 0)
        return -1;
    for (sweep->form = SWEEP_RUN; sweep->form < SWEEP_FORMS; sweep->form++)
        if (strcmp(value, sweep_form_name(sweep->form)) == 0)
            return 0;
    return -1;
}

/* ---- Shapes ---- */

/* The first axis where values of an image change: as many channels as there are rows in half a column. */
static struct shape image_shape(size_t count)
{
    int64_t channels = 1, height = 1;
    while (channels * channels * 16 < (int64_t)count)
        channels *= 2;
    while (channels * height * height < (int64_t)count)
        height *= 2;
    return (struct shape){4, {1, channels, height, (int64_t)count / channels / height}};
}

static size_t run_length(const struct sweep *sweep)
{
    return sweep->op->each.rule == EACH_PAIR ? SWEEP_VALUES : sweep_count(sweep->type);
}

static struct shape operand_shape(const struct sweep *sweep, int64_t length)
{
    if (sweep->op->each.rule == EACH_PRODUCT)
        return (struct shape){2, {SWEEP_SAMPLES, sweep->index % 2 ? INNER : 1}};
    if (sweep->form == SWEEP_TAILS)
        return (struct shape){1, {length}};
    size_t count = run_length(sweep);
    return sweep->form == SWEEP_RUN ? (struct shape){1, {(int64_t)count}} : image_shape(count);
}

/* ---- Values ---- */

/* Every second case leaves out divisors that end processes: 0, and -1 of integers. */
static void avoid_poles(const struct sweep *sweep, struct tensor *tensor)
{
    const struct op_danger *danger = &sweep->op->dangers[0];
    bool divisor = danger->kind == DANGER_POLE && danger->input == sweep->op->each.second;
    for (size_t i = 0; divisor && sweep->index % 2 == 0 && i < tensor->count; i++) {
        long double value = tensor_get(tensor, i);
        if (value == (long double)danger->at || (dtype_is_integer(tensor->type) && value == -1))
            tensor_set(tensor, i, 1);
    }
}

/* Operand 0 or 1. Of pairs the first changes with every row of samples, the second with every element. */
static void fill_operand(const struct sweep *sweep, int operand, struct tensor *tensor)
{
    enum op_each_rule rule = sweep->op->each.rule;
    uint64_t salt = hash_combine(sweep->index, (uint64_t)operand);
    for (size_t i = 0; i < tensor->count; i++) {
        if (rule == EACH_PRODUCT)
            sweep_set_sample(tensor, i, operand ? i % SWEEP_SAMPLES : i / (size_t)tensor->shape.dims[1],
                             salt);
        else if (sweep->form == SWEEP_TAILS)
            sweep_set_sample(tensor, i, hash_combine(tensor->count, i) >> 8 * operand, salt);
        else if (rule == EACH_PAIR)
            sweep_set_sample(tensor, i, operand ? i % SWEEP_SAMPLES : i / SWEEP_SAMPLES, salt);
        else
            sweep_set_value(tensor, i, i, sweep->index);
    }
    if (operand)
        avoid_poles(sweep, tensor);
}

/* A class of scales: 1, a power of two, others, the ends of the type. */
static long double scale_of(enum dtype type, int class)
{
    struct dtype_precision p = dtype_precision(type);
    const long double scales[SWEEP_SCALES] = {1,
                                              0.125L,
                                              0.3L,
                                              1 / 255.0L,
                                              1000.1L,
                                              (long double)p.tiny,
                                              (long double)p.smallest * 3,
                                              dtype_highest(type) / 4};
    return scales[class % SWEEP_SCALES];
}

static void set_scales(const struct sweep *sweep, struct draw *d)
{
    struct drawn *scale = d->n_inputs > 1 ? &d->inputs[1] : NULL,
                 *zero = d->n_inputs > 2 ? &d->inputs[2] : NULL;
    for (size_t i = 0; sweep->scale && scale && scale->source == DRAWN_NEW && i < scale->data.count; i++)
        tensor_set(&scale->data, i, scale_of(scale->type, sweep->scale - 1 + (int)(i % SWEEP_SCALES)));
    for (size_t i = 0; sweep->zero && zero && zero->source == DRAWN_NEW && i < zero->data.count; i++)
        sweep_set_value(&zero->data, i, (uint64_t)(sweep->zero - 1) + i, 0);
}

/* ---- Nodes ---- */

static const struct op *turning_row(void)
{
    const struct op *op = op_after(NULL);
    while (op && !(op->flags & OP_PERMUTES))
        op = op_after(op);
    return op;
}

static struct drawn new_drawn(enum dtype type, const struct shape *shape)
{
    struct drawn drawn = {.source = DRAWN_NEW, .type = type, .shape = *shape};
    if (tensor_alloc(&drawn.data, type, shape, 0, NULL))
        memory_exhausted(0);
    return drawn;
}

static int keep_node(struct maker *m, struct draw *d, struct error *err)
{
    struct bounded outputs[MOST_OUTPUTS] = {0};
    int status = d->n_outputs <= MOST_OUTPUTS ? maker_try(m, d, KNOW_SMALL, outputs, err)
                                              : error_set(err, ERROR_NOT_FOUND, "too many outputs");
    if (status && err->code == ERROR_UNSUPPORTED)
        status = maker_try(m, d, KNOW_ALL, outputs, err);
    if (!status)
        maker_keep(m, d, outputs);
    for (size_t i = 0; i < MOST_OUTPUTS; i++)
        bounded_release(&outputs[i]);
    return status;
}

/* A node that is no part of what is swept: it has `first` as its first input, which is used up, and *first
 * becomes its output. */
static int put_before(struct maker *m, const struct sweep *sweep, struct draw *d, struct drawn *first,
                      const struct shape *shape, struct error *err)
{
    struct drawn kept = *first;
    d->inputs[0] = kept;
    int status = keep_node(m, d, err);
    *first = (struct drawn){.source = DRAWN_EXISTING, .type = sweep->type, .shape = *shape};
    first->type = kept.type;
    first->existing = status ? NULL : d->node->output[0];
    draw_release(d);
    return status;
}

static void begin_node(struct draw *d, struct maker *m, const struct op *op, const struct drawn *first)
{
    draw_init(d, &m->model->arena, op, m->opset, first->type, FILL_NORMAL, m->rng);
    d->constants = CONSTANTS_ALL;
    draw_omit(d); /* the place of the first input */
}

/* An image is fed with its channels last, and turned. */
static int turn(struct maker *m, const struct sweep *sweep, struct drawn *first, struct error *err)
{
    static const int64_t order[] = {0, 3, 1, 2};
    const int64_t *dims = first->shape.dims;
    struct shape shape = first->shape, fed = {4, {dims[0], dims[2], dims[3], dims[1]}};
    struct draw d;
    first->shape = first->data.shape = fed;
    begin_node(&d, m, turning_row(), first);
    draw_ints(&d, "perm", order, 4);
    return put_before(m, sweep, &d, first, &shape, err);
}

/* The vector is what is behind the offset in a longer one. */
static int cut(struct maker *m, const struct sweep *sweep, struct drawn *first, struct error *err)
{
    struct shape shape = {1, {first->shape.dims[0] - sweep->offset}};
    int64_t start = sweep->offset, end = first->shape.dims[0];
    struct draw d;
    begin_node(&d, m, op_find("Slice"), first);
    draw_int_input(&d, &start, 1);
    draw_int_input(&d, &end, 1);
    return put_before(m, sweep, &d, first, &shape, err);
}

/* An operand of the swept node: a graph input, or what a node makes of one. */
static int operand(struct maker *m, const struct sweep *sweep, int number, enum dtype type,
                   const struct shape *shape, struct drawn *out, struct error *err)
{
    struct shape fed = *shape;
    fed.dims[0] += sweep->form == SWEEP_TAILS ? sweep->offset : 0;
    *out = new_drawn(type, &fed);
    fill_operand(sweep, number, &out->data);
    if (sweep->form == SWEEP_TURNED)
        return turn(m, sweep, out, err);
    return sweep->form == SWEEP_TAILS && sweep->offset ? cut(m, sweep, out, err) : 0;
}

int sweep_draw(struct draw *d, struct arena *arena, const struct sweep *sweep, const struct drawn *given)
{
    struct rng root = rng_seed(hash_combine(sweep->seed, hash_text(sweep->op->name)));
    draw_init(d, arena, sweep->op, sweep->opset, sweep->type, FILL_NORMAL, rng_split(&root, sweep->index));
    d->given = given;
    d->narrow = sweep->index % 2 ? op_narrow_at(sweep->op, sweep->opset) : 0;
    size_t second = sweep->op->each.second;
    if (draw_node(d) || d->n_inputs <= second || (second && d->inputs[second].source != DRAWN_NEW))
        return -1;
    if (sweep->op->inputs.most >= OP_VARIADIC)
        while (d->n_inputs > second + 1)
            tensor_release(&d->inputs[--d->n_inputs].data);
    return 0;
}

/* The node with its operands in the model. */
static int sweep_node(struct maker *m, const struct sweep *sweep, int64_t length, struct error *err)
{
    struct shape shape = operand_shape(sweep, length), other = shape;
    struct drawn given = {.source = DRAWN_EXISTING, .type = sweep->type, .shape = shape}, *second = NULL;
    struct draw d;
    if (sweep->op->each.rule == EACH_PRODUCT)
        other = (struct shape){2, {shape.dims[1], shape.dims[0]}};
    if (sweep_draw(&d, &m->model->arena, sweep, &given)) {
        draw_release(&d);
        return error_set(err, ERROR_NOT_FOUND, "%s: the sampler found no such node", sweep->op->name);
    }
    set_scales(sweep, &d);
    int status = operand(m, sweep, 0, sweep->type, &shape, &d.inputs[0], err);
    if (!status && sweep->op->each.second) {
        second = &d.inputs[sweep->op->each.second];
        tensor_release(&second->data);
        status = operand(m, sweep, 1, second->type, &other, second, err);
    }
    if (!status)
        status = keep_node(m, &d, err);
    draw_release(&d);
    return status;
}

int sweep_make(const struct sweep *sweep, struct test_case **out, struct error *err)
{
    bool tails = sweep->form == SWEEP_TAILS;
    struct maker m;
    *out = NULL;
    if (sweep->op->each.rule == EACH_PRODUCT && sweep->form != SWEEP_RUN)
        return error_set(err, ERROR_NOT_FOUND, "products are swept in a run only");
    int status = 0;
    maker_init(&m, sweep->opset, rng_seed(sweep->seed));
    m.sparing = true;
    for (int64_t i = SWEEP_FIRST_LENGTH; !status && i <= (tails ? SWEEP_LAST_LENGTH : SWEEP_FIRST_LENGTH);
         i++)
        status = sweep_node(&m, sweep, i, err);
    if (!status) {
        *out = maker_finish(&m, false, false);
        free((*out)->recipe);
        (*out)->recipe = sweep_recipe(sweep);
    }
    maker_release(&m);
    return status;
}
