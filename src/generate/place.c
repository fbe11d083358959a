/* Places an operator of a plan on the values that the edges bring (place_operator of planner.h). */
#include "generate/planner.h"

/* Attempts to draw a block on what the edges bring, before one on new inputs alone. */
enum { PLACE_ATTEMPTS = 4 };

/* What one attempt needs in addition to the planner. */
struct placing {
    struct planner *g;
    struct rng offers;
};

static bool offerable(const struct maker_value *v)
{
    return !v->constant && v->value.count > 0;
}

/* Now and then returns an existing value of exactly this type and shape, so that values get several users. */
static const char *offer_again(struct placing *p, enum dtype type, const struct shape *shape)
{
    const char *chosen = NULL;
    uint64_t seen = 0;
    for (size_t i = 0; i < p->g->m.n_values; i++) {
        const struct maker_value *v = &p->g->m.values[i];
        if (v->value.type == type && offerable(v) && shape_equal(&v->value.shape, shape) && !range_wild(v) &&
            rng_below(&p->offers, ++seen) == 0)
            chosen = v->name;
    }
    return chosen;
}

/* The value that the next edge brings, adapted; else an existing value; else nothing. */
static const char *offer(void *context, enum dtype type, const struct shape *shape)
{
    struct placing *p = context;
    struct planner *g = p->g;
    while (g->used_feeds < g->n_feeds && rng_chance(&p->offers, 0.9)) {
        size_t fit, value = g->feeds[g->used_feeds++];
        if (range_wild(planner_value(g, value)) && !adapt_range(g, value, -100, 100, &value))
            continue;
        if (adapt(g, value, type, shape, &fit))
            return planner_value(g, fit)->name;
    }
    return rng_chance(&p->offers, 0.3) ? offer_again(p, type, shape) : NULL;
}

static bool pick(void *context, struct drawn *value)
{
    struct placing *p = context;
    struct planner *g = p->g;
    if (g->used_feeds >= g->n_feeds)
        return false;
    const struct maker_value *v = planner_value(g, g->feeds[g->used_feeds++]);
    *value = (struct drawn){
        .source = DRAWN_EXISTING, .type = v->value.type, .shape = v->value.shape, .existing = v->name};
    return true;
}

/* Adapts the primary input to a type, rank and range that the operator takes. */
static bool adapt_primary(struct planner *g, const struct op *op, size_t value, struct rng *rng, size_t *out)
{
    dtype_set set = options_types(g->options, op, g->m.opset);
    double low, high;
    enum dtype type = planner_value(g, value)->value.type;
    *out = value;
    if (!dtype_in(type, set) && !adapt_type(g, value, draw_primary_type(rng, set), out))
        return false;
    int rank = planner_value(g, *out)->value.shape.rank;
    if (rank < op->ranks.least || rank > op->ranks.most)
        rank = (int)rng_range(rng, op->ranks.least, op->ranks.most < 5 ? op->ranks.most : 5);
    if (!adapt_rank(g, *out, rank, out))
        return false;
    bool wanted = range_wanted(op, &low, &high) && dtype_is_float(planner_value(g, *out)->value.type);
    if (wanted && rng_chance(rng, 0.95))
        return adapt_range(g, *out, low, high, out);
    if (range_wild(planner_value(g, *out)) && rng_chance(rng, 0.98))
        adapt_range(g, *out, -100, 100, out);
    return true;
}

/* Adapts a value to a shape that most operators can use: no dimension of 0, none very large. */
static bool adapt_comfortable(struct planner *g, size_t value, struct rng *rng, size_t *out)
{
    struct shape shape = planner_value(g, value)->value.shape;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = i == 0 ? rng_range(rng, 1, 2) : rng_range(rng, 2, 6);
    return adapt_shape(g, value, &shape, out);
}

static bool outputs_fit(const struct bounded *outputs, size_t count, struct rng *rng)
{
    for (size_t i = 0; i < count; i++)
        if (outputs[i].count > PLAN_ELEMENTS || outputs[i].shape.rank > 6 ||
            (outputs[i].count == 0 && !rng_chance(rng, 0.7)))
            return false;
    return true;
}

/* Adds the drawn node to the model; the ranges of new data are found before the model takes over its payload.
 */
static void keep(struct planner *g, struct draw *d, struct bounded *outputs, size_t *numbers)
{
    struct maker_value noted[PLAN_OUTPUTS];
    size_t n = 0, first = g->m.n_values;
    for (size_t i = 0; i < d->n_inputs + d->n_captured; i++) {
        const struct drawn *used = i < d->n_inputs ? &d->inputs[i] : &d->captured[i - d->n_inputs];
        if (used->source == DRAWN_NEW && n < PLAN_OUTPUTS)
            range_of_data(&noted[n++], &used->data);
    }
    maker_keep(&g->m, d, outputs);
    for (size_t i = 0; i < n; i++) {
        planner_value(g, first + i)->low = noted[i].low;
        planner_value(g, first + i)->high = noted[i].high;
    }
    const Onnx__NodeProto *node = g->m.model->graph->node[g->m.model->graph->n_node - 1];
    for (size_t i = 0; i < d->n_outputs; i++) {
        numbers[i] = g->m.n_values - d->n_outputs + i;
        range_of_output(g, d->op, node, planner_value(g, numbers[i]));
    }
}

/* Draws the node with the given value as primary input, or a new one, and adds it. */
static int draw_upon(struct planner *g, const struct op *op, const size_t *given, struct rng rng,
                     struct rng *choices, size_t *outputs, size_t *n_outputs)
{
    struct placing p = {.g = g, .offers = rng_split(&rng, 3)};
    dtype_set set = op_types_at(op, g->m.opset), wanted = op_drawn_types(op, g->m.opset, g->options->types);
    struct drawn primary = {0};
    struct draw d;
    draw_init(&d, &g->m.model->arena, op, g->m.opset, draw_primary_type(choices, wanted ? wanted : set),
              g->fill, rng_split(&rng, 2));
    d.narrow = g->options->types & op_narrow_at(op, g->m.opset);
    d.offer = offer;
    d.pick = pick;
    d.eager = true;
    d.context = &p;
    if (given) {
        const struct maker_value *v = planner_value(g, *given);
        primary = (struct drawn){
            .source = DRAWN_EXISTING, .type = v->value.type, .shape = v->value.shape, .existing = v->name};
        d.given = &primary;
        d.type = primary.type;
    }
    struct bounded results[PLAN_OUTPUTS];
    struct error err = {0};
    int result = planner_lacks(g, op, d.type) || draw_node(&d) || d.n_outputs > PLAN_OUTPUTS ? -1 : 0;
    size_t n_results = result ? 0 : d.n_outputs;
    for (size_t i = 0; i < n_results; i++)
        bounded_init(&results[i]);
    if (!result)
        result = maker_try(&g->m, &d, KNOW_SMALL, results, &err);
    if (result && err.code == ERROR_UNSUPPORTED && !given)
        result = maker_try(&g->m, &d, KNOW_ALL, results, &err);
    if (!result && !outputs_fit(results, d.n_outputs, choices))
        result = -1;
    if (!result) {
        keep(g, &d, results, outputs);
        *n_outputs = d.n_outputs;
    }
    for (size_t i = 0; i < n_results; i++)
        bounded_release(&results[i]);
    draw_release(&d);
    return result;
}

int place_operator(struct planner *g, const struct op *op, struct rng shapes, struct rng params,
                   size_t *outputs, size_t *n_outputs)
{
    bool takes = g->n_feeds && op->data != DATA_NONE;
    const struct maker_mark mark = maker_mark(&g->m);
    if (!op_types_at(op, g->m.opset))
        return -1;
    for (uint64_t i = 0; i < PLACE_ATTEMPTS; i++) {
        struct rng choices = rng_split(&params, 100 + i);
        size_t given = 0;
        bool fed = takes && i < PLACE_ATTEMPTS - 1;
        g->used_feeds = fed ? 1 : 0;
        bool fits = !fed || adapt_primary(g, op, g->feeds[0], &choices, &given);
        if (fits && fed && i > 0)
            fits = adapt_comfortable(g, given, &choices, &given);
        if (fits && fed && op->flags & OP_DATA_SHAPE)
            fits = planner_know(g, given);
        if (fits && !draw_upon(g, op, fed ? &given : NULL, rng_split(fed ? &params : &shapes, i), &choices,
                               outputs, n_outputs))
            return 0;
        maker_rollback(&g->m, &mark);
    }
    return -1;
}
