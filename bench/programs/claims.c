/*
 * Whether what `compare` claims is true.
 *
 *     bench_claims SEED COUNT NODES
 *
 * "An error above X would have been seen in any operator" is what is said of each of COUNT generated graphs
 * of that many nodes, which the reference, rounding as engines do, computes. An element of one of its
 * operators, drawn at random, is then moved by a quarter more than X, and by a tenth of X. A line for each
 * that is not seen; then
 *
 *     nodes N graphs N claims N seen N named N, at a tenth N
 *
 * claims: graphs of which such an X is told, and in which the element is off by more than that once it is
 * rounded; seen: those in which the engine is called wrong or imprecise; named: at that node.
 */
#include "judged_sample.h"
#include "planted.h"

#include "base/str.h"
#include "generate/operator_case.h"
#include "model/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLAIM_DRAWS = 40 }; /* of an operator, until one is hit that the claim is about */

/* What the engine does to the model: one element of a node is moved by a share of the largest value. */
static struct test_case *move(const struct test_case *base, const char *node, uint64_t element, double share)
{
    struct error err = {0};
    struct model *model;
    if (model_clone(&model, test_case_model(base, NULL), &err))
        planted_die("model", &err);
    Onnx__StringStringEntryProto *entry = arena_alloc(&model->arena, sizeof *entry);
    onnx__string_string_entry_proto__init(entry);
    entry->key = arena_strdup(&model->arena, "disturb");
    entry->value = arena_printf(&model->arena, "%s@%u*%.17g", node, (unsigned)element, share);
    model->proto->metadata_props = arena_array(&model->arena, 1, sizeof entry);
    model->proto->metadata_props[0] = entry;
    model->proto->n_metadata_props = 1;
    struct test_case *test = test_case_new(model);
    if (test_case_add_inputs(test, base->inputs, base->n_inputs, &err))
        planted_die("inputs", &err);
    return test;
}

enum noticed { NOTICED_NOT, NOTICED_NOTHING, NOTICED_SOMEWHERE, NOTICED_NODE };

/* Of an engine that was not called wrong: how far off the node was. */
static double error_of(const struct operator_evidence *evidence, const char *node)
{
    for (size_t i = 0; i < evidence->n_nodes; i++)
        if (text_equal(evidence->nodes[i].name, node))
            return evidence->nodes[i].error;
    return INFINITY;
}

/* A case that was judged, of one engine. */
struct judged {
    struct arena arena;
    struct sample_verdicts verdicts;
};

static const struct engine_verdict *judge(struct judged *judged, const struct panel *panel,
                                          const struct test_case *test)
{
    bool hidden;
    arena_init(&judged->arena);
    sample_verdicts_init(&judged->verdicts, &judged->arena, panel);
    judge_sample(&judged->verdicts, panel, test, &hidden);
    return &judged->verdicts.engine[0];
}

static void judged_release(struct judged *judged)
{
    sample_verdicts_release(&judged->verdicts);
    arena_release(&judged->arena);
}

/* Whether it is noticed that an element is moved: that, and the node; that something is wrong; nothing, as
 * nothing is: the element is NaN, or the move was lost in rounding, and no error is above `least`; or not. */
static enum noticed notices(const struct panel *panel, const struct test_case *base, const char *node,
                            uint64_t element, double share, double least)
{
    struct test_case *test = move(base, node, element, share);
    struct judged judged;
    const struct engine_verdict *overall = judge(&judged, panel, test);
    bool seen = verdict_is_finding(overall->verdict.kind) ||
                verdict_is(overall->verdict.kind, CLASS_IMPRECISE | CLASS_SUSPECT);
    enum noticed noticed = seen                                          ? NOTICED_SOMEWHERE
                           : error_of(&overall->evidence, node) <= least ? NOTICED_NOTHING
                                                                         : NOTICED_NOT;
    for (size_t i = 0; seen && i < overall->n_nodes; i++)
        if (text_equal(overall->nodes[i], node))
            noticed = NOTICED_NODE;
    judged_release(&judged);
    test_case_free(test);
    return noticed;
}

struct claims {
    size_t graphs, claims, seen, named, tenth;
};

/* An operator of floating-point type that the claim is about, drawn at random; NULL when none was hit. */
static const struct node_evidence *draw_operator(const struct operator_evidence *evidence, struct rng *rng)
{
    for (int tries = 0; tries < CLAIM_DRAWS && evidence->n_nodes; tries++) {
        const struct node_evidence *node = &evidence->nodes[rng_below(rng, evidence->n_nodes)];
        if (node->judged && node->elements && !node->left && !node->vague && node->visible > 0)
            return node;
    }
    return NULL;
}

static void try_claim(struct claims *claims, const struct panel *panel, const struct test_case *test,
                      struct rng *rng)
{
    struct judged judged;
    const struct engine_verdict *overall = judge(&judged, panel, test);
    const struct operator_evidence *evidence = &overall->evidence;
    const struct node_evidence *weakest = operator_evidence_weakest(evidence);
    const struct node_evidence *drawn = evidence->complete && weakest ? draw_operator(evidence, rng) : NULL;
    claims->graphs++;
    if (drawn && verdict_is(overall->verdict.kind, CLASS_AGREES)) {
        uint64_t element = rng_below(rng, drawn->elements);
        double least = weakest->visible;
        enum noticed noticed = notices(panel, test, drawn->name, element, 1.25 * least, least);
        claims->claims += noticed != NOTICED_NOTHING;
        claims->seen += noticed == NOTICED_SOMEWHERE || noticed == NOTICED_NODE;
        claims->named += noticed == NOTICED_NODE;
        if (noticed == NOTICED_NOT)
            printf("  %s %s: an error of %g in element %u is not seen, claimed is %g: %s\n", drawn->operator,
                   drawn->name, 1.25 * least, (unsigned)element, least, test->recipe);
        if (noticed != NOTICED_NOTHING)
            claims->tenth += notices(panel, test, drawn->name, element, 0.1 * least, least) > NOTICED_NOTHING;
    }
    judged_release(&judged);
}

static int check_claims(uint64_t seed, size_t count, int nodes)
{
    struct registry *registry;
    struct panel panel;
    struct claims claims = {0};
    struct error err = {0};
    const char *label = "reference:round=on,disturb=on";
    if (registry_open(&registry, NULL, 0, &err) ||
        panel_open(&panel, registry, given_all_typed(registry_arena(registry), &label, 1),
                   &(struct pool_options){.deadline = 60}, &err) ||
        panel_add_reference(&panel, registry, &err))
        planted_die("engines", &err);
    struct generate_options options = {
        .min_nodes = nodes, .max_nodes = nodes, .types = DTYPE_BIT(DTYPE_FLOAT), .fill = FILL_NORMAL + 1};
    struct rng rng = rng_seed(seed);
    for (uint64_t index = 0; index < count; index++) {
        struct test_case *test;
        if (generate_graph(seed, index, &options, &test, &err))
            planted_die("graph", &err);
        try_claim(&claims, &panel, test, &rng);
        test_case_free(test);
    }
    printf("nodes %d graphs %zu claims %zu seen %zu named %zu, at a tenth %zu\n", nodes, claims.graphs,
           claims.claims, claims.seen, claims.named, claims.tenth);
    panel_close(&panel);
    registry_free(registry);
    return claims.claims && claims.seen == claims.claims ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4)
        return check_claims(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), atoi(argv[3]));
    fprintf(stderr, "usage: bench_claims SEED COUNT NODES\n");
    return 2;
}
