/* Rules about who makes and who uses a value: further outputs, copies, consumers and dead ends. */
#include "rules/rule.h"

#include "model/edit.h"

#include "base/str.h"
#include "ops/op.h"

static int exposed(struct rewrite *rewrite, const struct rule_site *site)
{
    const struct index_value *value = site->value;
    const struct bounded *type = rewrite_type(rewrite, value->name);
    if (!type || value->source != SOURCE_NODE || value->is_output)
        return 0;
    rewrite_expose(rewrite, value->name, type);
    return 1;
}

const struct rule rule_exposed = {
    .name = "exposed",
    .summary = "an intermediate value made a graph output as well",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .nothing_new = true,
    .apply = exposed,
};

static bool is_named(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(names[i], name))
            return true;
    return false;
}

/* The outputs come in the order of the nodes, so that the first that differs is where a difference begins. */
static int all_exposed(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    size_t count = 0, room = graph->n_output, before = graph->n_output;
    (void)site;
    for (size_t i = 0; i < graph->n_node; i++)
        room += graph->node[i]->n_output;
    const char **names = arena_array(&rewrite->model->arena, room, sizeof *names);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            const char *name = graph->node[i]->output[k];
            const struct index_value *value = *name ? model_index_find(&rewrite->index, name) : NULL;
            const struct bounded *type = value ? rewrite_type(rewrite, name) : NULL;
            if (!value || (!value->is_output && !type))
                continue;
            if (!value->is_output)
                rewrite_expose(rewrite, name, type);
            names[count++] = name;
        }
    for (size_t i = 0; i < before; i++) /* an input or a constant may be an output as well */
        if (!is_named(graph->output[i]->name, names, count))
            names[count++] = graph->output[i]->name;
    return model_set_outputs(rewrite->model, names, count, rewrite->err) ? -1 : graph->n_output > before;
}

const struct rule rule_all_exposed = {
    .name = "all-exposed",
    .summary = "every intermediate value made a graph output as well, in the order of the nodes",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .nothing_new = true,
    .on_request = true,
    .apply = all_exposed,
};

/* Whether the node may give another result each time, itself or in a body. */
static int is_random(void *context, Onnx__NodeProto *node)
{
    (void)context;
    /* What operators of other domains do is not known. */
    if (*node->domain && !text_equal(node->domain, "ai.onnx"))
        return 1;
    return op_has(node, OP_RANDOM) || (op_has(node, OP_RANDOM_IN_TRAINING) && node->n_input > 1);
}

static bool is_deterministic(Onnx__NodeProto *node)
{
    if (is_random(NULL, node))
        return false;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g && model_each_node(node->attribute[i]->g, is_random, NULL))
            return false;
    return true;
}

/* Lets about half of the uses of `from` by nodes of the top graph be uses of `to`, at least one and, unless
 * `all` is allowed, not all of them. Returns how many. */
static size_t redirect_some(struct rewrite *rewrite, const char *from, const char *to, size_t total, bool all)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    size_t moved = 0, seen = 0, most = all ? total : total - 1;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++) {
            if (!text_equal(graph->node[i]->input[k], from))
                continue;
            bool last = ++seen == total && moved == 0;
            if (moved < most && (last || rng_chance(&rewrite->rng, 0.5))) {
                rewrite_set_input(rewrite, graph->node[i], k, to);
                moved++;
            }
        }
    return moved;
}

/* How often nodes of the top graph use the value; uses in bodies are not counted. */
static size_t count_uses(const struct rewrite *rewrite, const char *name)
{
    const Onnx__GraphProto *graph = rewrite->model->graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++)
            count += text_equal(graph->node[i]->input[k], name);
    return count;
}

/* Gives the uses of one output to its copy. A value with a single use is not shared out: its copy becomes a
 * graph output. */
static void share_output(struct rewrite *rewrite, const char *original, const char *copy)
{
    const struct index_value *value = model_index_find(&rewrite->index, original);
    const struct bounded *type = rewrite_type(rewrite, original);
    size_t uses = count_uses(rewrite, original);
    if (uses > 0 && uses + value->is_output > 1)
        redirect_some(rewrite, original, copy, uses, value->is_output);
    else if (type)
        rewrite_expose(rewrite, copy, type);
}

enum { MAX_OUTPUTS = 64 };

static int duplicated(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *names[MAX_OUTPUTS];
    Onnx__NodeProto *node = site->node;
    if (!is_deterministic(node) || node->n_output > MAX_OUTPUTS)
        return 0;
    Onnx__NodeProto *copy = rewrite_copy_node(rewrite, node);
    for (size_t i = 0; i < node->n_output; i++) {
        names[i] = *node->output[i] ? rewrite_name(rewrite, "copy") : "";
        copy->output[i] = arena_strdup(&rewrite->model->arena, names[i]);
    }
    for (size_t i = 0; i < node->n_output; i++)
        if (*names[i])
            share_output(rewrite, node->output[i], names[i]);
    return 1;
}

const struct rule rule_duplicated = {
    .name = "duplicated",
    .summary = "a node computed twice, each result used by a part of the consumers",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .nothing_new = true,
    .apply = duplicated,
};

/* A dead branch may compute anything that cannot fail. */
static const char *dead_node(struct rewrite *rewrite, const char *value, enum dtype type)
{
    static const char *const operators[] = {"Relu",    "Exp",      "Neg", "Abs",
                                            "Sigmoid", "Identity", "Not", "Shape"};
    enum { COUNT = sizeof operators / sizeof *operators };
    size_t first = (size_t)rng_below(&rewrite->rng, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        if (rewrite_takes(rewrite, operators[(first + i) % COUNT], type))
            return rewrite_op(rewrite, operators[(first + i) % COUNT], NULL, value, NULL);
    return NULL;
}

/* The value times its transpose, where it is a matrix of moderate size. */
static const char *dead_product(struct rewrite *rewrite, const char *value, const struct bounded *type)
{
    const int64_t turned[2] = {1, 0};
    const struct shape *shape = &type->shape;
    if (shape->rank != 2 || shape->dims[0] > 256 || shape->dims[1] > 4096 || type->count == 0 ||
        !rewrite_takes(rewrite, "MatMul", type->type))
        return NULL;
    return rewrite_op(rewrite, "MatMul", NULL, value, rewrite_transpose(rewrite, value, turned, 2), NULL);
}

static int dead_branch(struct rewrite *rewrite, const struct rule_site *site)
{
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    if (!type)
        return 0;
    const char *made = rng_chance(&rewrite->rng, 0.3) ? dead_product(rewrite, site->value->name, type) : NULL;
    if (!made)
        made = dead_node(rewrite, site->value->name, type->type);
    if (made && rng_chance(&rewrite->rng, 0.5))
        rewrite_op(rewrite, "Identity", NULL, made, NULL);
    return made != NULL;
}

const struct rule rule_dead_branch = {
    .name = "dead-branch",
    .summary = "nodes added that use a value and whose results nothing uses",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = dead_branch,
};

static int one_consumer(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    const char *name = site->value->name;
    size_t nodes = graph->n_node;
    if (!rewrite_type(rewrite, name) || count_uses(rewrite, name) + site->value->is_output < 2)
        return 0;
    for (size_t i = 0; i < nodes; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++)
            if (text_equal(graph->node[i]->input[k], name)) {
                const char *copy = rewrite_op(rewrite, "Identity", NULL, name, NULL);
                rewrite_set_input(rewrite, graph->node[i], k, copy);
            }
    return 1;
}

const struct rule rule_one_consumer = {
    .name = "one-consumer",
    .summary = "a value with several uses copied by an Identity for each of them",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = one_consumer,
};
