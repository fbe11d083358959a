#include "generate/planner.h"

#include "base/hash.h"
#include "base/memory.h"
#include "generate/recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool planner_lacks(struct planner *g, const struct op *op, enum dtype type)
{
    const struct generate_options *o = g->options;
    size_t number = g->questions++;
    if (!recipe_skips(o->skip, number) && !(o->lacks && o->lacks(o->lacks_context, op, type, g->m.opset)))
        return false;
    str_printf(&g->skip, "%s%zu", g->skip.length ? "," : "", number);
    return true;
}

/* A hash of rates and topology, so that different plans have different parameters. */
static uint64_t plan_hash(const struct plan *plan)
{
    uint64_t hash = hash_combine(plan->n_blocks, (uint64_t)plan->topology);
    hash = hash_combine(hash, (uint64_t)plan->k);
    for (size_t i = 0; i < plan->n_blocks; i++)
        hash = hash_combine(hash, hash_text(plan->blocks[i]->name));
    return hash;
}

/* Chooses an opset at which the blocks exist, if there is one for all of them. */
static int choose_opset(const struct plan *plan, const struct generate_options *options, struct rng *rng)
{
    int low = OPSET_FIRST, high = options->max_opset ? options->max_opset : OPSET_LAST;
    if (plan->opset)
        return plan->opset;
    if (options->opset)
        return options->opset;
    /* Plans of newer operators alone, which someone asked for. */
    for (size_t i = 0; i < plan->n_blocks && !options->max_opset; i++)
        high = plan->blocks[i]->since > high ? OPSET_NEWEST : high;
    for (size_t i = 0; i < plan->n_blocks; i++) {
        const struct block *b = plan->blocks[i];
        if (b->since > low && b->since <= high)
            low = b->since;
        if (b->until < high && b->until >= low)
            high = b->until;
    }
    return (int)rng_range(rng, low, high);
}

static enum fill choose_fill(const struct plan *plan, const struct generate_options *options, struct rng *rng)
{
    int fill = plan->fill ? plan->fill : options->fill;
    if (fill)
        return (enum fill)(fill - 1);
    return rng_chance(rng, 0.03) ? FILL_SPECIAL : rng_chance(rng, 0.15) ? FILL_EXACT : FILL_NORMAL;
}

/*
 * Assigns the blocks to the nodes. On a line they keep the order of the plan; otherwise blocks with more
 * inputs go where more edges end: one pass of exchanges between neighbours, starting from a random order.
 */
static void assign_blocks(const struct plan *plan, const struct digraph *graph, struct rng rng, size_t *block)
{
    size_t n = plan->n_blocks;
    for (size_t i = 0; i < n; i++)
        block[i] = i;
    if (plan->topology == TOPOLOGY_LINE)
        return;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(&rng, i), kept = block[i - 1];
        block[i - 1] = block[j];
        block[j] = kept;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int in_i = __builtin_popcountll(digraph_from(graph, i)),
                in_j = __builtin_popcountll(digraph_from(graph, j));
            if (in_i > in_j && plan->blocks[block[i]]->inputs < plan->blocks[block[j]]->inputs) {
                size_t kept = block[i];
                block[i] = block[j];
                block[j] = kept;
            }
        }
}

/* What has become of a node of the topology. */
struct placed {
    size_t outputs[PLAN_OUTPUTS], n_outputs;
};

/* Collects one output of each block that feeds node i; when the block cannot take them all, some are joined
 * or dropped. */
static void collect_feeds(struct planner *g, const struct digraph *graph, const struct placed *placed,
                          size_t node, const struct block *block)
{
    uint64_t from = digraph_from(graph, node);
    g->n_feeds = g->used_feeds = 0;
    for (size_t i = 0; i < node; i++)
        if (from >> i & 1 && placed[i].n_outputs)
            g->feeds[g->n_feeds++] = placed[i].outputs[rng_below(&g->rng, placed[i].n_outputs)];
    for (size_t i = g->n_feeds; i > 1; i--) {
        size_t j = (size_t)rng_below(&g->rng, i), kept = g->feeds[i - 1];
        g->feeds[i - 1] = g->feeds[j];
        g->feeds[j] = kept;
    }
    size_t joined;
    if (g->n_feeds > block->inputs && block->inputs == 1 && rng_chance(&g->rng, 0.5) &&
        adapt_join(g, g->feeds, g->n_feeds, &joined)) {
        g->feeds[0] = joined;
        g->n_feeds = 1;
    }
}

static int place_block(struct planner *g, const struct block *block, struct rng shapes, struct rng params,
                       struct rng changes, struct placed *placed)
{
    struct error err;
    if (block->op)
        return place_operator(g, block->op, shapes, params, placed->outputs, &placed->n_outputs);
    return place_subgraph(g, block->graph, shapes, params, changes, placed->outputs, &placed->n_outputs,
                          &err);
}

static void place_all(struct planner *g, const struct digraph *graph, const size_t *block, struct rng base,
                      struct rng drawn)
{
    const struct plan *plan = g->plan;
    struct placed *placed = memory_zeroed(plan->n_blocks, sizeof *placed);
    for (size_t i = 0; i < graph->nodes; i++) {
        const struct block *b = plan->blocks[block[i]];
        struct rng shapes = rng_split(plan->reshape ? &drawn : &base, 1000 + i),
                   params = rng_split(plan->reparam ? &drawn : &base, 2000 + i);
        if (g->m.opset < b->since || g->m.opset > b->until)
            continue;
        const struct maker_mark mark = maker_mark(&g->m);
        collect_feeds(g, graph, placed, i, b);
        if (place_block(g, b, shapes, params, rng_split(&drawn, 3000 + i), &placed[i])) {
            placed[i].n_outputs = 0;
            maker_rollback(&g->m, &mark);
        }
    }
    free(placed);
}

static char *plan_recipe(const struct planner *g, uint64_t seed, uint64_t index)
{
    struct plan plan = *g->plan;
    struct generate_options options = {
        .ops = g->options->ops,
        .types = g->options->types,
        .gradients = g->options->gradients,
        .show = g->options->show,
        .skip = g->skip.data,
    };
    struct str text;
    plan.fill = (int)g->fill + 1;
    plan.opset = g->m.opset;
    str_init(&text);
    char *head = recipe_text("plan", seed, index, &options);
    str_add(&text, head);
    plan_print(&plan, &text);
    free(head);
    char *recipe = str_detach(&text);
    str_release(&text);
    return recipe;
}

int generate_plan(uint64_t seed, uint64_t index, const struct plan *plan,
                  const struct generate_options *options, struct test_case **out, struct error *err)
{
    static const struct generate_options everything;
    struct rng root = rng_seed(hash_combine(seed, hash_text("plan"))), rng = rng_split(&root, index),
               base = rng_seed(plan_hash(plan)), choices = rng_split(&rng, 1);
    struct planner g = {.plan = plan, .options = options ? options : &everything};
    struct digraph graph;
    size_t block[DIGRAPH_NODES];
    int result = 0;
    *out = NULL;
    maker_init(&g.m, choose_opset(plan, g.options, &choices), rng);
    choices = rng_split(&rng, 2);
    g.m.sparing = true;
    g.m.record = g.options->record;
    g.fill = choose_fill(plan, g.options, &choices);
    g.rng = rng_split(&rng, 3);
    str_init(&g.skip);
    topology_make(&graph, plan->topology, plan->n_blocks, plan->k, plan->p, rng_split(&rng, 4));
    struct rng edges = rng_split(&rng, 5);
    mutate_topology(&graph, plan->rates, &edges);
    assign_blocks(plan, &graph, rng_split(&rng, 6), block);
    place_all(&g, &graph, block, base, rng_split(&rng, 7));
    if (g.m.model->graph->n_node == 0)
        result =
            error_set(err, ERROR_NOT_FOUND, "none of the plan's blocks can be placed at opset %d", g.m.opset);
    if (!result) {
        *out = maker_finish(&g.m, false, g.options->show);
        free((*out)->recipe);
        (*out)->recipe = plan_recipe(&g, seed, index);
        result = maker_ask(out, seed, index, g.options, err);
    }
    str_release(&g.skip);
    maker_release(&g.m);
    return result;
}

static bool block_allowed(const struct block *block, const struct generate_options *options)
{
    int opset = options->opset, most = options->max_opset ? options->max_opset : OPSET_NEWEST;
    if (opset ? opset < block->since || opset > block->until : block->since > most)
        return false;
    for (size_t i = 0; i < block->n_ops; i++)
        if (!options_allow(options, block->ops[i]))
            return false;
    return true;
}

static double draw_rate(struct rng *rng)
{
    return (double)rng_below(rng, 3) / 10;
}

int plan_random(struct plan *plan, const struct blocks *blocks, struct rng *rng, size_t n_blocks,
                const struct generate_options *options, struct error *err)
{
    static const struct generate_options everything;
    size_t count = blocks_count(blocks), allowed = 0;
    const struct block **list = memory_zeroed(count, sizeof(struct block *));
    options = options ? options : &everything;
    *plan = (struct plan){.n_blocks = n_blocks < PLAN_BLOCKS ? n_blocks : PLAN_BLOCKS};
    for (size_t i = 0; i < count; i++)
        if (block_allowed(blocks_at(blocks, i), options))
            list[allowed++] = blocks_at(blocks, i);
    for (size_t i = 0; allowed && i < plan->n_blocks; i++)
        plan->blocks[i] = list[rng_below(rng, allowed)];
    free(list);
    if (!allowed)
        return error_set(err, ERROR_NOT_FOUND, "no block can be used with these options");
    plan->topology = (enum topology)rng_below(rng, TOPOLOGY_COUNT);
    plan->k = 2 * (int)rng_range(rng, 1, 3);
    plan->p = plan->topology == TOPOLOGY_RN ? 0.9 : 0.5;
    for (size_t i = 0; mutations[i].name; i++)
        plan->rates[i] = draw_rate(rng);
    plan->reshape = plan->reparam = true;
    plan->fill = options->fill;
    plan->opset = options->opset;
    return 0;
}
