/* Cases of a small random graph, drawn node by node (generate_graph of operator_case.h). */
#include "generate/case_maker.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"
#include "generate/recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits. A value is small because the reference computes it while the graph is made. */
enum { GRAPH_ELEMENTS = 1000, GRAPH_OUTPUTS = 64, TRIES_PER_NODE = 60 };

struct graph_maker {
    struct maker m;
    const struct generate_options *options;
    const struct op **ops; /* the operators that the options allow */
    size_t n_ops;
    enum fill fill;
    struct rng offers; /* choices made by the callbacks of a draw */
    struct str skip;   /* the tries left out, for the recipe */
};

static bool offered(const struct maker_value *value)
{
    return !value->constant && value->value.count > 0;
}

static const char *offer(void *context, enum dtype type, const struct shape *shape)
{
    struct graph_maker *g = context;
    const char *chosen = NULL;
    uint64_t seen = 0;
    for (size_t i = 0; i < g->m.n_values; i++) {
        const struct maker_value *v = &g->m.values[i];
        if (offered(v) && v->value.type == type && shape_equal(&v->value.shape, shape) &&
            rng_below(&g->offers, ++seen) == 0)
            chosen = v->name;
    }
    return chosen;
}

/*
 * Floats are preferred, as most operators take them; mostly the newest result, so that chains grow, else any
 * result, seldom a graph input.
 */
static const struct maker_value *choose_value(struct graph_maker *g, struct rng *rng)
{
    const struct maker_value *chosen = NULL;
    uint64_t seen = 0;
    bool want_float = rng_chance(rng, 0.8), newest = rng_chance(rng, 0.6), made = rng_chance(rng, 0.8);
    for (size_t i = 0; i < g->m.n_values; i++) {
        const struct maker_value *v = &g->m.values[i];
        bool fits = offered(v) && (!want_float || dtype_is_float(v->value.type)) && (!made || v->made);
        if (fits && (newest || rng_below(rng, ++seen) == 0))
            chosen = v;
    }
    return chosen;
}

static bool pick(void *context, struct drawn *value)
{
    struct graph_maker *g = context;
    const struct maker_value *v = choose_value(g, &g->offers);
    if (!v)
        return false;
    *value = (struct drawn){
        .source = DRAWN_EXISTING, .type = v->value.type, .shape = v->value.shape, .existing = v->name};
    return true;
}

/*
 * Whether a result is useful for further nodes: finite, of moderate size, and mostly judged. Numbers that
 * grow or become NaN early would hide errors in everything after them. A few are kept all the same, because
 * they are cases too.
 */
static bool worth_keeping(const struct bounded *b, struct rng *rng)
{
    long double most = b->type == DTYPE_FLOAT16 ? 100 : 1e4L;
    size_t wild = 0, open = 0;
    if (b->count > GRAPH_ELEMENTS || b->shape.rank > 6 || !b->value)
        return false;
    for (size_t i = 0; i < b->count; i++) {
        wild += !(fabsl(b->value[i]) <= most);
        open += isinf(bounded_hard(b, i)) ? 1 : 0;
    }
    if (b->count == 0)
        return rng_chance(rng, 0.1);
    return !(wild || 4 * open > b->count) || rng_chance(rng, 0.01);
}

static const struct op *choose_op(struct graph_maker *g, struct rng *rng, const struct maker_value *given)
{
    const struct op *op = g->ops[rng_below(rng, g->n_ops)];
    dtype_set set = options_types(g->options, op, g->m.opset);
    bool first = op->data == DATA_NONE;
    if (!set || (first && op->work != WORK_BODIES && rng_chance(rng, 0.8)))
        return NULL;
    if (first)
        return op;
    if (!given)
        return g->options->types && !(set & g->options->types) ? NULL : op;
    int rank = given->value.shape.rank;
    return dtype_in(given->value.type, set) && rank >= op->ranks.least && rank <= op->ranks.most ? op : NULL;
}

/* Whether the node is left out because the recipe says so or because the engine under test lacks it; the new
 * recipe then says so. */
static bool left_out(struct graph_maker *g, const struct op *op, enum dtype type, size_t number)
{
    const struct generate_options *o = g->options;
    if (!recipe_skips(o->skip, number) && !(o->lacks && o->lacks(o->lacks_context, op, type, g->m.opset)))
        return false;
    str_printf(&g->skip, "%s%zu", g->skip.length ? "," : "", number);
    return true;
}

/* Tries once to add a node; each try has a number. */
static int try_node(struct graph_maker *g, struct rng rng, size_t number)
{
    const struct maker_value *value = choose_value(g, &rng);
    const struct op *op = choose_op(g, &rng, value);
    if (!op)
        return -1;
    dtype_set set = op_drawn_types(op, g->m.opset, g->options->types);
    bool first = !value || op->data == DATA_NONE;
    struct drawn given = {0};
    struct draw d;
    draw_init(&d, &g->m.model->arena, op, g->m.opset,
              draw_primary_type(&rng, set ? set : op_types_at(op, g->m.opset)), g->fill, rng_split(&rng, 2));
    g->offers = rng_split(&rng, 3);
    d.narrow = g->options->types & op_narrow_at(op, g->m.opset);
    d.offer = offer;
    d.pick = pick;
    d.context = g;
    if (!first) {
        given =
            (struct drawn){DRAWN_EXISTING, value->value.type, value->value.shape, false, value->name, {0}};
        d.given = &given;
        d.type = given.type;
    }
    struct bounded outputs[GRAPH_OUTPUTS] = {0};
    int result = left_out(g, op, d.type, number) || draw_node(&d) || d.n_outputs > GRAPH_OUTPUTS ? -1 : 0;
    struct error err;
    if (!result)
        result = maker_try(&g->m, &d, KNOW_ALL, outputs, &err);
    for (size_t i = 0; !result && i < d.n_outputs; i++)
        result = worth_keeping(&outputs[i], &rng) ? 0 : -1;
    if (!result)
        maker_keep(&g->m, &d, outputs);
    for (size_t i = 0; i < GRAPH_OUTPUTS; i++)
        bounded_release(&outputs[i]);
    draw_release(&d);
    return result;
}

static void collect_ops(struct graph_maker *g)
{
    g->ops = memory_zeroed(op_count() + 1, sizeof(struct op *));
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        if (options_allow(g->options, op) && op_types_at(op, g->m.opset))
            g->ops[g->n_ops++] = op;
}

static void grow(struct graph_maker *g, size_t wanted, const struct rng *rng)
{
    size_t tries = 0, most = wanted * TRIES_PER_NODE;
    for (; g->m.model->graph->n_node < wanted && tries < most; tries++)
        try_node(g, rng_split(rng, 100 + tries), tries);
}

int generate_graph(uint64_t seed, uint64_t index, const struct generate_options *options,
                   struct test_case **out, struct error *err)
{
    static const struct generate_options everything;
    /* A random stream different from that of one-operator cases. */
    struct rng root = rng_seed(hash_combine(seed, hash_text("graph"))), rng = rng_split(&root, index);
    struct graph_maker g = {.options = options ? options : &everything};
    options = g.options;
    *out = NULL;
    int low = options->min_nodes ? options->min_nodes : 2,
        high = options->max_nodes ? options->max_nodes : 20;
    size_t wanted = (size_t)rng_range(&rng, low, high < low ? low : high);
    maker_init(&g.m, draw_opset(&rng, options, OPSET_FIRST), rng);
    g.m.record = options->record;
    g.fill = options->fill            ? (enum fill)(options->fill - 1)
             : rng_chance(&rng, 0.02) ? FILL_SPECIAL
             : rng_chance(&rng, 0.1)  ? FILL_EXACT
                                      : FILL_NORMAL;
    str_init(&g.skip);
    collect_ops(&g);
    int result = 0;
    if (g.n_ops)
        grow(&g, wanted, &rng);
    if (g.m.model->graph->n_node < (size_t)low)
        result = error_set(err, ERROR_NOT_FOUND, "no graph of %d nodes can be drawn with these options", low);
    if (!result) {
        struct generate_options made = *options;
        made.skip = g.skip.data;
        *out = maker_finish(&g.m, false, options->show);
        free((*out)->recipe);
        (*out)->recipe = recipe_text("graph", seed, index, &made);
        result = maker_ask(out, seed, index, options, err);
    }
    free(g.ops);
    str_release(&g.skip);
    maker_release(&g.m);
    return result;
}
