#include "trial/operator_evidence.h"

#include "model/index.h"
#include "ops/op.h"

enum { TOLD = 3 }; /* operators that are named, of more */

static void begin(struct operator_evidence *evidence, struct arena *arena, const struct model *model)
{
    evidence->n_nodes = model->graph->n_node;
    evidence->nodes = arena_array(arena, evidence->n_nodes, sizeof *evidence->nodes);
    for (size_t i = 0; i < evidence->n_nodes; i++) {
        evidence->nodes[i].operator= arena_strdup(arena, op_title(model->graph->node[i]));
        evidence->nodes[i].name = arena_strdup(arena, model_node_name(model->graph->node[i]));
    }
}

void operator_evidence_add(struct operator_evidence *evidence, struct arena *arena, const struct model *model,
                           const struct operator_check *check)
{
    if (!evidence->nodes)
        begin(evidence, arena, model);
    evidence->samples++;
    if (check->n_lowered && !evidence->lowering)
        evidence->lowering = arena_strdup(arena, check->lowering);
    evidence->complete += check->n_checked == check->n_nodes;
    evidence->most = check->n_checked > evidence->most ? check->n_checked : evidence->most;
    for (size_t i = 0; i < evidence->n_nodes && i < check->n_nodes; i++) {
        const struct checked_node *from = &check->nodes[i];
        struct node_evidence *node = &evidence->nodes[i];
        node->judged += from->checked != CHECKED_NOT;
        if (from->checked != CHECKED_NOT && from->left + from->vague >= node->left + node->vague) {
            node->elements = from->elements;
            node->left = from->left;
            node->vague = from->vague;
        }
        node->borrowed |= from->checked == CHECKED_BORROWED;
        node->lowered |= from->lowered;
        if (from->why && !node->why)
            node->why = arena_strdup(arena, from->why);
        node->error = from->error > node->error ? from->error : node->error;
        node->visible = from->visible > node->visible ? from->visible : node->visible;
        node->exercise.has |= from->exercise.has;
        node->exercise.done |= from->exercise.done;
    }
}

void operator_evidence_fail(struct operator_evidence *evidence, struct arena *arena, const char *why)
{
    if (!evidence->failed++)
        evidence->failure = arena_strdup(arena, why);
}

const struct node_evidence *operator_evidence_unjudged(const struct operator_evidence *evidence)
{
    for (size_t i = 0; i < evidence->n_nodes; i++)
        if (!evidence->nodes[i].judged)
            return &evidence->nodes[i];
    return NULL;
}

const struct node_evidence *operator_evidence_partial(const struct operator_evidence *evidence)
{
    for (size_t i = 0; i < evidence->n_nodes; i++)
        if (evidence->nodes[i].left)
            return &evidence->nodes[i];
    return NULL;
}

const struct node_evidence *operator_evidence_weakest(const struct operator_evidence *evidence)
{
    const struct node_evidence *weakest = NULL;
    for (size_t i = 0; i < evidence->n_nodes; i++) {
        const struct node_evidence *node = &evidence->nodes[i];
        if (node->judged && !node->borrowed && !node->vague && (!weakest || node->visible > weakest->visible))
            weakest = node;
    }
    return weakest;
}

const struct node_evidence *operator_evidence_vague(const struct operator_evidence *evidence, size_t *count)
{
    const struct node_evidence *first = NULL;
    *count = 0;
    for (size_t i = 0; i < evidence->n_nodes; i++) {
        if (!evidence->nodes[i].vague)
            continue;
        first = first ? first : &evidence->nodes[i];
        ++*count;
    }
    return first;
}

/* "Softmax sm, Gelu g and 3 more" of nodes in the order of the graph. */
static void add_named(const struct node_evidence *node, size_t count, struct str *out)
{
    if (count <= TOLD)
        str_printf(out, "%s%s %s", count > 1 ? ", " : "", node->operator, node->name);
}

static void add_rest(size_t count, struct str *out)
{
    if (count > TOLD)
        str_printf(out, " and %zu more", count - TOLD);
}

void operator_evidence_borrowed(const struct operator_evidence *evidence, struct str *out)
{
    size_t count = 0;
    for (size_t i = 0; i < evidence->n_nodes; i++)
        if (evidence->nodes[i].borrowed)
            add_named(&evidence->nodes[i], ++count, out);
    add_rest(count, out);
}

void operator_evidence_lowered(const struct operator_evidence *evidence, struct str *out)
{
    size_t count = 0;
    for (size_t i = 0; i < evidence->n_nodes; i++)
        if (evidence->nodes[i].lowered)
            add_named(&evidence->nodes[i], ++count, out);
    add_rest(count, out);
    if (evidence->lowering)
        str_printf(out, "%s%s", count ? ": " : "", evidence->lowering);
}

double operator_evidence_error(const struct operator_evidence *evidence)
{
    double error = 0;
    for (size_t i = 0; i < evidence->n_nodes; i++)
        error = evidence->nodes[i].error > error ? evidence->nodes[i].error : error;
    return error;
}

const char *operator_evidence_missing(const struct operator_evidence *evidence, size_t number)
{
    return evidence->wrong ? NULL : exercise_missing(&evidence->nodes[number].exercise);
}

void operator_evidence_idle(const struct operator_evidence *evidence, struct str *out)
{
    size_t count = 0;
    for (size_t i = 0; i < evidence->n_nodes; i++) {
        const struct node_evidence *node = &evidence->nodes[i];
        const char *missing = operator_evidence_missing(evidence, i);
        if (missing && count++ < TOLD)
            str_printf(out, "%s%s %s: %s", count > 1 ? "; " : "", node->operator, node->name, missing);
    }
    if (count > TOLD)
        str_printf(out, "; and %zu more", count - TOLD);
}
