#include "locate/settle.h"

#include "locate/gradient_node.h"
#include "locate/fault_search.h"
#include "locate/format_loss.h"
#include "locate/node_verdict.h"
#include "locate/other_reading.h"

#include <stdio.h>
#include <string.h>

struct settling {
    struct fault_search search;
    struct settlement *settlement;
    struct { /* the first node that reads otherwise what ONNX does not say (other_reading.h) */
        bool found;
        size_t number;
        struct verdict verdict;
    } unsaid;
};

/* Such a node is to blame only where no other is. */
static bool is_left_unsaid(struct settling *settling, size_t number, const struct verdict *verdict)
{
    struct under_test *test = &settling->search.test;
    if (!node_reads_otherwise(&settling->search.record, number, verdict) ||
        !other_reading_is_habit(test->which, test->model, test->model->graph->node[number]))
        return false;
    if (!settling->unsaid.found) {
        settling->unsaid.number = number;
        settling->unsaid.verdict = *verdict;
        verdict_leave_unsaid(&settling->unsaid.verdict);
    }
    settling->unsaid.found = true;
    return true;
}

/* The first node of the group that is outside its hard bound, and that matters, ends the search. */
static int visit_group(void *context, struct recording *record, const struct memory_group *group)
{
    struct settling *settling = context;
    struct fault_search *search = &settling->search;
    for (size_t p = group->first; p < group->first + group->count; p++) {
        size_t number = record->test->index.order[p];
        struct verdict verdict;
        fault_search_node(search, number, &verdict);
        if (verdict_is_finding(verdict.kind) && !is_left_unsaid(settling, number, &verdict) &&
            fault_search_accuse(search, settling->settlement, &verdict, number))
            return 1;
    }
    return 0;
}

static int settle_answer(struct settling *settling)
{
    struct fault_search *search = &settling->search;
    struct settlement *settlement = settling->settlement;
    enum outcome outcome;
    if (whole_answer_run(&search->whole))
        return -1;
    if (search->whole.answer.outcome != OUTCOME_OK)
        return error_set(search->test.err, ERROR_UNSUPPORTED, "the engine no longer answers the case");
    if (recording_run(&search->record, visit_group, settling, &outcome))
        return -1;
    if (outcome != OUTCOME_OK)
        return fault_search_hidden(search, settlement);
    if (settlement->count || (search->record.changed && fused_group_find(&search->groups, settlement)))
        return 0;
    if (settling->unsaid.found && !search->spare.nodes && !search->record.changed) {
        settlement_blame(settlement, &settling->unsaid.verdict, &settling->unsaid.number, 1);
        return 0;
    }
    if (search->spare.nodes)
        fault_search_blame_spare(search, settlement);
    return search->spare.nodes ? 0 : fault_search_whole(search, settlement);
}

static int settle_outputs(struct settlement *settlement, const struct settle_case *which, struct error *err)
{
    struct settling settling = {.settlement = settlement};
    *settlement = (struct settlement){0};
    int status = fault_search_init(&settling.search, which, err);
    if (!status)
        status = settle_answer(&settling);
    if (!status)
        settlement_describe(settlement, settling.search.test.model);
    fault_search_release(&settling.search);
    return status;
}

/* Where the gradient of every node alone is right, what the nodes computed on the way there may be wrong. */
static int settle_both(struct settlement *settlement, const struct settle_case *which, struct error *err)
{
    struct settlement found;
    struct error why = {0};
    if (settle_gradient(settlement, which, err))
        return -1;
    if (settlement->count)
        return 0;
    const struct test_case *test = which->test;
    const struct model *model = test_case_model(test, err);
    struct settle_case forward = *which;
    struct test_case *view = test_case_view(model, test->inputs, test->n_inputs);
    forward.test = view;
    if (!settle_outputs(&found, &forward, &why) && found.count && verdict_is_finding(found.kind))
        *settlement = found;
    else
        settlement_release(&found);
    test_case_free(view);
    return 0;
}

int settle(struct settlement *settlement, const struct settle_case *which, struct error *err)
{
    return which->test->gradient ? settle_both(settlement, which, err)
                                 : settle_outputs(settlement, which, err);
}

int settle_refusal(struct settlement *settlement, const struct settle_case *which,
                   const struct verdict *verdict, const struct result *ended, struct error *err)
{
    struct fault_search search;
    if (which->test->gradient)
        return settle_gradient_refusal(settlement, which, verdict, ended, err);
    *settlement = (struct settlement){0};
    int status = fault_search_init(&search, which, err);
    if (!status)
        status = fault_search_refused(&search, verdict, ended, settlement);
    if (!status)
        settlement_describe(settlement, search.test.model);
    fault_search_release(&search);
    return status;
}

bool settle_end(const struct settle_case *which, const struct verdict *verdict, const struct result *ended,
                struct settlement *settlement)
{
    struct settlement found;
    struct error err = {0};
    const struct model *model = test_case_model(which->test, NULL);
    if (!model || model->graph->n_node < 2 || !verdict_row(verdict->kind)->narrowed)
        return false;
    if (settle_refusal(&found, which, verdict, ended, &err)) {
        settlement_release(&found);
        return false;
    }
    *settlement = found;
    return true;
}

bool settle_wanted(const struct verdict *verdict)
{
    return verdict_is(verdict->kind, CLASS_DEVIATES) && !verdict->by_vote;
}

bool settle_verdict(const struct settle_case *which, struct verdict *verdict, struct settlement *settlement)
{
    struct error err = {0};
    struct settlement found;
    if (!settle_wanted(verdict))
        return false;
    if (format_loss_explains(which, verdict)) {
        *settlement = (struct settlement){.kind = verdict->kind, .verdict = *verdict};
        snprintf(settlement->text, sizeof settlement->text, "%s", verdict->text);
        return true;
    }
    if (settle(&found, which, &err)) {
        settlement_release(&found);
        return false;
    }
    if (verdict_is(verdict->kind, CLASS_SUSPECT) || verdict_is(found.kind, CLASS_DOUBT))
        verdict->kind = found.kind;
    if (found.verdict.lowered && !found.count)
        *verdict = found.verdict;
    if (verdict_is(found.kind, CLASS_UNSAID))
        verdict_leave_unsaid(verdict);
    if (verdict_is(found.kind, CLASS_DOUBT))
        memcpy(verdict->text, found.verdict.text, sizeof verdict->text);
    *settlement = found;
    return true;
}
