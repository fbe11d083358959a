#include "locate/gradient_node.h"

#include "base/memory.h"
#include "base/str.h"
#include "case/case_gradient.h"
#include "engine/handover.h"
#include "eval/gradient.h"
#include "model/edit.h"
#include "ops/gradient.h"

#include <stdlib.h>
#include <string.h>

/* What a node had when the reference differentiated it: one value for each of its inputs and outputs. */
struct had {
    size_t node;
    size_t n_inputs, n_upstream;
    struct value *inputs, *upstream;
};

struct search {
    const struct settle_case *which;
    const struct model *model;
    struct model_index index;
    struct had *had; /* in the order of differentiation: the last node first */
    size_t count, capacity;
    size_t answered; /* nodes that the engine differentiated */
    struct error *err;
};

static void search_release(struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        values_free(search->had[i].inputs, search->had[i].n_inputs);
        values_free(search->had[i].upstream, search->had[i].n_upstream);
    }
    free(search->had);
    model_index_release(&search->index);
}

static int keep_value(struct value *list, size_t *count, const char *name, const struct bounded *b,
                      struct error *err)
{
    struct tensor tensor;
    for (size_t i = 0; i < *count; i++)
        if (text_equal(list[i].name, name))
            return 0;
    if (bounded_to_tensor(b, &tensor, err))
        return -1;
    value_init(&list[*count]);
    value_set_name(&list[*count], name);
    value_set_tensor(&list[(*count)++], &tensor);
    return 0;
}

static int keep_node(struct search *search, const struct op_gradient *g, struct had *had)
{
    const Onnx__NodeProto *node = g->call->node;
    had->inputs = memory_zeroed(node->n_input, sizeof *had->inputs);
    had->upstream = memory_zeroed(node->n_output, sizeof *had->upstream);
    for (size_t i = 0; i < node->n_input; i++)
        if (*node->input[i] && g->call->inputs[i] &&
            keep_value(had->inputs, &had->n_inputs, node->input[i], g->call->inputs[i], search->err))
            return -1;
    for (size_t o = 0; o < node->n_output; o++)
        if (*node->output[o] && g->upstream[o] &&
            keep_value(had->upstream, &had->n_upstream, node->output[o], g->upstream[o], search->err))
            return -1;
    return 0;
}

/* The evaluator's hook: keeps what the node has, and differentiates it. */
static int keep_hook(void *context, struct op_gradient *g)
{
    struct search *search = context;
    const Onnx__GraphProto *graph = search->model->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        if (graph->node[i] != g->call->node)
            continue;
        search->had = memory_grow(search->had, &search->capacity, search->count + 1, sizeof *search->had);
        struct had *had = &search->had[search->count++];
        *had = (struct had){.node = i};
        if (keep_node(search, g, had))
            return -1;
    }
    return g->call->op->gradient(g);
}

static int differentiate(struct search *search)
{
    const struct test_case *test = search->which->test;
    struct gradient_request request = {
        .inputs = test->inputs,
        .n_inputs = test->n_inputs,
        .upstream = test->gradient->upstream,
        .n_upstream = test->gradient->n_upstream,
        .wanted = test->gradient->wanted,
        .n_wanted = test->gradient->n_wanted,
    };
    struct evaluate_options options = {.round = true, .gradient_hook = keep_hook, .context = search};
    struct evaluator *evaluator;
    struct gradient *gradients;
    size_t count;
    if (evaluator_new(&evaluator, search->model, &options, search->err))
        return -1;
    int result = evaluator_gradient(evaluator, &request, &gradients, &count, search->err);
    if (!result)
        gradients_free(gradients, count);
    evaluator_free(evaluator);
    return result;
}

/* The node as a model of its own. */
static int cut_node(struct search *search, const struct had *had, struct model **part)
{
    const char **names = memory_zeroed(had->n_inputs, sizeof *names);
    const struct tensor **tensors = memory_zeroed(had->n_inputs, sizeof(struct tensor *));
    for (size_t i = 0; i < had->n_inputs; i++) {
        names[i] = had->inputs[i].name;
        tensors[i] = &had->inputs[i].tensors[0];
    }
    struct edit_types types = {.count = had->n_inputs, .names = names, .tensors = tensors};
    int result = model_cut(part, &search->index, &had->node, 1, &types, search->err);
    free(names);
    free(tensors);
    return result;
}

static int ask_engine(struct search *search, const struct had *had, const struct model *part,
                      const struct gradient_request *asked, struct result *result)
{
    struct handover handover;
    struct job_gradient gradient = {
        .n_upstream = asked->n_upstream,
        .upstream = asked->upstream,
        .n_wanted = asked->n_wanted,
        .wanted = asked->wanted,
    };
    struct job job = {.engine = search->which->engine,
                      .n_inputs = had->n_inputs,
                      .inputs = had->inputs,
                      .gradient = &gradient};
    int status = handover_open(&handover, search->which->pool, part, search->err);
    if (!status) {
        handover_give(&handover, &job);
        status = pool_run_one(search->which->pool, &job, result, search->err);
    }
    handover_close(&handover);
    return status;
}

static void judge_gradients(const struct gradient *expected, size_t count, const struct result *result,
                            struct verdict *verdict)
{
    *verdict = (struct verdict){.kind = VERDICT_AGREES, .gradient = true};
    if (verdict_count(verdict, count, result->count))
        return;
    for (size_t i = 0; i < count; i++)
        verdict_output(verdict, i, &expected[i].slope, &result->outputs[i]);
    verdict_finish(verdict, count ? expected[verdict->output].name : NULL);
}

/* The engine's gradient of one node. The verdict stays untested when the engine does not differentiate it. */
static int judge_node(struct search *search, const struct had *had, struct verdict *verdict)
{
    struct model *part = NULL;
    struct evaluator *evaluator = NULL;
    struct gradient *expected = NULL;
    size_t count = 0;
    struct result result;
    struct arena arena;
    struct error *err = search->err;
    *verdict = (struct verdict){0};
    result_init(&result);
    arena_init(&arena);
    int status = cut_node(search, had, &part);
    struct gradient_request asked = {.inputs = had->inputs,
                                     .n_inputs = had->n_inputs,
                                     .upstream = had->upstream,
                                     .n_upstream = had->n_upstream};
    if (!status)
        asked.wanted = gradient_wanted(part, &arena, &asked.n_wanted);
    if (!status && asked.n_wanted) {
        status = evaluator_new(&evaluator, part, NULL, err);
        if (!status)
            status = evaluator_gradient(evaluator, &asked, &expected, &count, err);
        if (!status)
            status = ask_engine(search, had, part, &asked, &result);
        if (!status && result.outcome == OUTCOME_OK)
            judge_gradients(expected, count, &result, verdict);
    }
    search->answered += verdict->kind != VERDICT_UNTESTED;
    gradients_free(expected, count);
    evaluator_free(evaluator);
    result_release(&result);
    model_free(part);
    arena_release(&arena);
    return status;
}

static int find_node(struct search *search, struct settlement *settlement)
{
    for (size_t i = 0; i < search->count; i++) {
        struct verdict verdict;
        struct error err = {0};
        search->err = &err; /* a node that cannot be asked alone says nothing of the others */
        if (judge_node(search, &search->had[i], &verdict) == 0 &&
            verdict_is(verdict.kind, CLASS_WRONG_ANSWER)) {
            settlement_blame(settlement, &verdict, &search->had[i].node, 1);
            settlement_describe(settlement, search->model);
            return 0;
        }
    }
    return -1;
}

int settle_gradient(struct settlement *settlement, const struct settle_case *which, struct error *err)
{
    struct search search = {.which = which, .err = err};
    *settlement = (struct settlement){0};
    search.model = test_case_model(which->test, err);
    if (!search.model || model_index_init(&search.index, search.model, err))
        return -1;
    int status = differentiate(&search);
    if (!status && find_node(&search, settlement)) {
        search.err = err;
        if (!search.answered)
            status = error_set(err, ERROR_UNSUPPORTED, "the engine differentiates no node alone");
        else
            *settlement = (struct settlement){
                .kind = VERDICT_IMPRECISE,
                .verdict = {.kind = VERDICT_IMPRECISE, .gradient = true},
                .text = "the gradient of every node alone is within its bounds",
            };
    }
    search_release(&search);
    return status;
}
