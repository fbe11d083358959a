#include "locate/gradient_node.h"

#include "base/memory.h"
#include "base/str.h"
#include "case/case_gradient.h"
#include "engine/handover.h"
#include "eval/gradient.h"
#include "locate/expected.h"
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

struct gradient_search {
    const struct settle_case *which;
    const struct model *model;
    struct model_index index;
    struct settlement *settlement;
    const struct verdict
        *refused; /* the node that ends like `ended` is wanted; NULL: one whose gradient is wrong */
    const struct result *ended;
    bool same_message;
    size_t visited;  /* nodes that take part */
    size_t answered; /* those that the engine differentiated */
    size_t agreed;   /* those whose gradient could be judged and is right */
    bool found;      /* the node whose gradient is wrong */
};

static void had_release(struct had *had)
{
    values_free(had->inputs, had->n_inputs);
    values_free(had->upstream, had->n_upstream);
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

static int keep_node(const struct op_gradient *g, struct had *had, struct error *err)
{
    const Onnx__NodeProto *node = g->call->node;
    had->inputs = memory_zeroed(node->n_input, sizeof *had->inputs);
    had->upstream = memory_zeroed(node->n_output, sizeof *had->upstream);
    for (size_t i = 0; i < node->n_input; i++)
        if (*node->input[i] && g->call->inputs[i] &&
            keep_value(had->inputs, &had->n_inputs, node->input[i], g->call->inputs[i], err))
            return -1;
    for (size_t o = 0; o < node->n_output; o++)
        if (*node->output[o] && g->upstream[o] &&
            keep_value(had->upstream, &had->n_upstream, node->output[o], g->upstream[o], err))
            return -1;
    return 0;
}

/* The node as a model of its own. */
static int cut_node(const struct gradient_search *search, const struct had *had, struct model **part,
                    struct error *err)
{
    const char **names = memory_zeroed(had->n_inputs, sizeof *names);
    const struct tensor **tensors = memory_zeroed(had->n_inputs, sizeof(struct tensor *));
    for (size_t i = 0; i < had->n_inputs; i++) {
        names[i] = had->inputs[i].name;
        tensors[i] = &had->inputs[i].tensors[0];
    }
    struct edit_types types = {.count = had->n_inputs, .names = names, .tensors = tensors};
    int result = model_cut(part, &search->index, &had->node, 1, &types, err);
    free(names);
    free(tensors);
    return result;
}

static int ask_engine(const struct gradient_search *search, const struct had *had, const struct model *part,
                      const struct gradient_request *asked, struct result *result, struct error *err)
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
    int status = handover_open(&handover, search->which->pool, part, err);
    if (!status) {
        handover_give(&handover, &job);
        status = pool_run_one(search->which->pool, &job, result, err);
    }
    handover_close(&handover);
    return status;
}

/* The engine's gradient of one node, in *result, and the verdict on it: untested when the engine does not
 * differentiate it. */
static int judge_node(const struct gradient_search *search, const struct had *had, struct result *result,
                      struct verdict *verdict, struct error *err)
{
    struct model *part = NULL;
    struct evaluator *evaluator = NULL;
    struct gradient *expected = NULL;
    size_t count = 0;
    struct arena arena;
    *verdict = (struct verdict){0};
    arena_init(&arena);
    int status = cut_node(search, had, &part, err);
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
            status = ask_engine(search, had, part, &asked, result, err);
        if (!status && result->outcome == OUTCOME_OK)
            expected_judge_gradients(expected, count, result, verdict);
    }
    gradients_free(expected, count);
    evaluator_free(evaluator);
    model_free(part);
    arena_release(&arena);
    return status;
}

/* Goes on with what the engine gave, which is right as far as can be told. Of an input that the node reads
 * twice the engine gives one gradient, which counts for the first. */
static int take_slopes(struct op_gradient *g, const struct result *result)
{
    const Onnx__NodeProto *node = g->call->node;
    for (size_t k = 0; k < result->count; k++)
        for (size_t i = 0; i < node->n_input; i++) {
            if (!text_equal(node->input[i], result->outputs[k].name))
                continue;
            if (g->wanted[i] && g->slopes[i].type == DTYPE_NONE &&
                bounded_from_tensor(&g->slopes[i], &result->outputs[k].tensors[0], g->call->err))
                return -1;
            break;
        }
    return 0;
}

/* Several nodes may be refused, each for a reason of its own. */
static bool ends_alike(const struct gradient_search *search, const struct result *result)
{
    const char *due = search->ended->message ? search->ended->message : "",
               *said = result->message ? result->message : "";
    return result->outcome == search->ended->outcome && (!search->same_message || text_equal(said, due));
}

/* The evaluator's hook: the engine differentiates the node, and is judged. */
static int engine_hook(void *context, struct op_gradient *g)
{
    struct gradient_search *search = context;
    const Onnx__GraphProto *graph = search->model->graph;
    struct had had = {.node = 0};
    struct verdict verdict = {0};
    struct result result;
    struct error err = {0}; /* a node that cannot be asked alone says nothing of the others */
    result_init(&result);
    while (had.node < graph->n_node && graph->node[had.node] != g->call->node)
        had.node++;
    int status = had.node < graph->n_node ? keep_node(g, &had, &err) : -1;
    if (!status)
        status = judge_node(search, &had, &result, &verdict, &err);
    bool answered = !status && !verdict_is(verdict.kind, CLASS_NOTHING);
    search->visited++;
    search->answered += answered;
    search->agreed += answered && verdict_is(verdict.kind, CLASS_AGREES) && !verdict.blank;
    search->found = search->refused ? !status && ends_alike(search, &result)
                                    : answered && verdict_is(verdict.kind, CLASS_WRONG_ANSWER);
    if (search->found) {
        settlement_blame(search->settlement, search->refused ? search->refused : &verdict, &had.node, 1);
        settlement_describe(search->settlement, search->model);
        status = error_set(g->call->err, ERROR_NOT_FOUND, "the node is found");
    } else {
        status = answered ? take_slopes(g, &result) : g->call->op->gradient(g);
    }
    result_release(&result);
    had_release(&had);
    return status;
}

static int differentiate(struct gradient_search *search, struct error *err)
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
    struct evaluate_options options = {.round = true, .gradient_hook = engine_hook, .context = search};
    struct evaluator *evaluator;
    struct gradient *gradients;
    size_t count;
    if (evaluator_new(&evaluator, search->model, &options, err))
        return -1;
    int result = evaluator_gradient(evaluator, &request, &gradients, &count, err);
    if (!result)
        gradients_free(gradients, count);
    evaluator_free(evaluator);
    return search->found ? 0 : result;
}

static int search_run(struct gradient_search *search, struct error *err)
{
    *search->settlement = (struct settlement){0};
    search->model = test_case_model(search->which->test, err);
    if (!search->model || model_index_init(&search->index, search->model, err))
        return -1;
    int status = differentiate(search, err);
    model_index_release(&search->index);
    return status;
}

int settle_gradient(struct settlement *settlement, const struct settle_case *which, struct error *err)
{
    struct gradient_search search = {.which = which, .settlement = settlement};
    int status = search_run(&search, err);
    if (!status && !search.answered)
        status = error_set(err, ERROR_UNSUPPORTED, "the engine differentiates no node alone");
    else if (!status && !search.found)
        *settlement = (struct settlement){
            .kind = VERDICT_IMPRECISE,
            .verdict = {.kind = VERDICT_IMPRECISE, .gradient = true},
            .text = "the gradient of every node alone is within its bounds",
            .every_node = search.agreed == search.visited,
        };
    return status;
}

int settle_gradient_refusal(struct settlement *settlement, const struct settle_case *which,
                            const struct verdict *verdict, const struct result *ended, struct error *err)
{
    struct gradient_search search = {
        .which = which, .settlement = settlement, .refused = verdict, .ended = ended, .same_message = true};
    int status = search_run(&search, err);
    if (!status && !search.found) {
        search.same_message = false;
        status = search_run(&search, err);
    }
    if (!status && !search.found)
        return error_set(err, ERROR_NOT_FOUND, "the gradient of no node alone is refused");
    return status;
}
