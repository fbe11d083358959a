#include "locate/part.h"

#include "base/memory.h"
#include "base/str.h"
#include "judge/message.h"
#include "locate/expected.h"

#include <stdlib.h>
#include <string.h>

/* Nodes: a larger part that is refused is not computed to see that it is valid. */
enum { TRUSTED = 64 };

void part_release(struct part *part)
{
    free(part->inputs);
    model_free(part->model);
}

bool part_cut(struct part *part, struct recording *record, const size_t *nodes, size_t size)
{
    struct arena arena;
    *part = (struct part){0};
    arena_init(&arena);
    struct edit_types types = held_values_types(&record->values, &arena);
    int status = model_cut(&part->model, &record->test->index, nodes, size, &types, NULL);
    arena_release(&arena);
    if (status)
        return false;
    const Onnx__GraphProto *graph = part->model->graph;
    part->n_inputs = graph->n_input;
    part->inputs = memory_zeroed(graph->n_input, sizeof *part->inputs);
    const char **missing = memory_zeroed(graph->n_input, sizeof *missing);
    size_t n_missing = 0;
    for (size_t i = 0; i < graph->n_input; i++)
        missing[n_missing++] = graph->input[i]->name;
    bool found = !recording_fetch(record, missing, n_missing);
    free(missing);
    for (size_t i = 0; i < graph->n_input && found; i++) {
        const struct tensor *tensor = held_values_find(&record->values, graph->input[i]->name);
        found = tensor != NULL;
        part->inputs[i] = value_view(graph->input[i]->name, tensor);
    }
    return found;
}

int part_freeze(struct part *part, size_t i)
{
    if (model_freeze_input(part->model, part->inputs[i].name, &part->inputs[i].tensors[0], NULL))
        return -1;
    part->n_inputs--;
    memmove(&part->inputs[i], &part->inputs[i + 1], (part->n_inputs - i) * sizeof *part->inputs);
    return 0;
}

/* Whether the message is that of the whole, at least its first `enough` letters (0: all). */
static bool says_the_same(const struct refused *refused, const struct under_test *test,
                          const struct model *part, const char *message, size_t enough)
{
    struct str whole, here;
    str_init(&whole);
    str_init(&here);
    const struct engine_profile *profile = pool_engine(test->which->pool, test->which->engine)->profile;
    message_normalise(&whole, refused->ended->message ? refused->ended->message : "", test->model, profile);
    message_normalise(&here, message ? message : "", part, profile);
    bool same = enough ? strncmp(whole.data, here.data, enough) == 0 : text_equal(whole.data, here.data);
    str_release(&whole);
    str_release(&here);
    return same;
}

static bool names_operator(const struct model *part, const char *message)
{
    for (size_t i = 0; i < part->graph->n_node && message; i++)
        if (strstr(message, part->graph->node[i]->op_type))
            return true;
    return false;
}

/* Refused when it is loaded or when it runs: where an engine notices depends on what is around the part. */
static bool ends_alike(const struct refused *refused, const struct under_test *test, const struct model *part,
                       const struct result *result)
{
    enum outcome a = result->outcome, b = refused->ended->outcome;
    bool refusals =
        (a == OUTCOME_REJECTED || a == OUTCOME_FAILED) && (b == OUTCOME_REJECTED || b == OUTCOME_FAILED);
    if (refusals && refused->message == MESSAGE_SAME)
        return says_the_same(refused, test, part, result->message, 0);
    if (refusals && refused->message == MESSAGE_OWN)
        return says_the_same(refused, test, part, result->message, 16) ||
               names_operator(part, result->message);
    return a == b || refusals;
}

/* Nodes that an engine can compute as one. */
static bool is_group(const Onnx__GraphProto *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        count += graph->node[i]->n_input > 0;
    return count > 1;
}

void part_judge(struct recording *record, const struct refused *refused, const size_t *nodes, size_t size,
                bool mistrusting, struct verdict *verdict)
{
    *verdict = verdict_begin(false);
    struct part part;
    struct result result;
    struct expected expected = {0};
    bool cut = part_cut(&part, record, nodes, size);
    size_t n_inputs = part.n_inputs;
    result_init(&result);
    if (!cut || under_test_run(record->test, part.model, part.inputs, n_inputs, 0, &result))
        goto out;
    bool wanted =
        refused ? ends_alike(refused, record->test, part.model, &result) : result.outcome == OUTCOME_OK;
    const struct arithmetic *fusing =
        is_group(part.model->graph) ? &record->test->fusing : &record->test->alone;
    if (wanted && refused) {
        if (size > TRUSTED || !expected_compute(&expected, part.model, fusing, part.inputs, n_inputs))
            *verdict = *refused->verdict;
    } else if (wanted) {
        expected_judge_fused(&expected, part.model, fusing, part.inputs, n_inputs, &result, verdict);
        if (verdict_is(verdict->kind, CLASS_NOTHING))
            *verdict = verdict_begin(false);
    }
    if (wanted && mistrusting && !refused && !verdict->lowered && !verdict_is_finding(verdict->kind) &&
        expected_by_fusing(part.model, &record->test->alone, part.inputs, n_inputs, &result))
        verdict_doubt(verdict);
out:
    expected_release(&expected);
    result_release(&result);
    part_release(&part);
}
