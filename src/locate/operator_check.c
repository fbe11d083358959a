#include "locate/operator_check.h"

#include "base/str.h"
#include "locate/blame_check.h"
#include "locate/named_states.h"
#include "locate/node_verdict.h"
#include "locate/stretches.h"
#include "model/build.h"
#include "ops/op.h"

#include <math.h>
#include <string.h>

/* How many nodes are checked by a model that ends with them: each costs a run of the engine and one of the
 * reference. */
enum { MAX_ENDS = 4 };

/* An engine that shows no values gets every node of a model up to this size by itself. */
enum { ALONE_NODES = 200, ALONE_BYTES = 64 << 20 };

struct checking {
    struct operator_check *check;
    struct fault_search search;
    enum operator_fusions fusions;
    uint64_t *shown; /* by value: the hash of what the engine showed */
    bool *judged, *covered;
    double *lowered;
    size_t ends;          /* models tried that end with a node */
    size_t suspect;       /* the first node far beyond its likely bound; n_nodes: none */
    enum outcome outcome; /* of the run with all values exposed */
};

static void note_verdict(struct checking *checking, size_t number, const struct verdict *verdict)
{
    struct checked_node *node = &checking->check->nodes[number];
    node->error = verdict->error > node->error ? verdict->error : node->error;
    node->visible = verdict->visible > node->visible ? verdict->visible : node->visible;
    node->elements = verdict->total;
    node->left = verdict->total - verdict->judged;
    node->vague = verdict->vague;
    if (verdict_is_earned(verdict)) {
        node->checked = CHECKED_NODE;
        checking->judged[number] = true;
    } else if (verdict->vague && verdict->vague == verdict->judged) {
        node->why = "its error bound is as large as its result";
    } else {
        static const char head[] = "not judged: ";
        node->why = arena_strdup(&checking->check->arena,
                                 verdict->text + (text_starts(verdict->text, head) ? strlen(head) : 0));
    }
}

static void note_hashes(struct checking *checking, size_t number)
{
    struct fault_search *search = &checking->search;
    const Onnx__NodeProto *node = search->test.model->graph->node[number];
    for (size_t i = 0; i < node->n_output; i++) {
        size_t made;
        const struct tensor *tensor = NULL;
        if (*node->output[i] && map_get(&search->test.index.names, node->output[i], &made))
            tensor = search->record.values.known[made];
        if (tensor && tensor->type != DTYPE_STRING)
            checking->shown[made] = stretches_hash(tensor);
    }
}

/* A node that is outside its bound on the values shown, and right by itself. */
static bool accuse_at_end(struct checking *checking, size_t number)
{
    struct verdict verdict;
    if (checking->ends++ >= MAX_ENDS || !blame_wrong_at_end(&checking->search.record, number, &verdict))
        return false;
    settlement_blame(&checking->check->found, &verdict, &number, 1);
    return true;
}

static int visit(void *context, struct recording *record, const struct memory_group *group)
{
    struct checking *checking = context;
    fault_search_group(&checking->search, group);
    for (size_t p = group->first; p < group->first + group->count; p++) {
        size_t number = record->test->index.order[p];
        struct verdict verdict;
        exercise_note(&checking->check->nodes[number].exercise, record, number);
        note_hashes(checking, number);
        fault_search_node(&checking->search, number, &verdict);
        note_verdict(checking, number, &verdict);
        if (verdict_is(verdict.kind, CLASS_SUSPECT) && checking->suspect == checking->check->n_nodes)
            checking->suspect = number;
        if (!verdict_is_finding(verdict.kind))
            continue;
        if (fault_search_accuse(&checking->search, &checking->check->found, &verdict, number) ||
            accuse_at_end(checking, number))
            return 1;
        /* The node is right alone, or it is not certain that the engine had these values: it is neither to
         * blame nor cleared. */
        checking->check->nodes[number].why = "it is outside its bound on the values shown, and right alone";
    }
    return 0;
}

/* The first node that is wrong by itself, on the reference's values. */
static int check_alone(struct checking *checking)
{
    struct fault_search *search = &checking->search;
    struct held_values *values = &search->record.values;
    const size_t *order = search->test.index.order;
    size_t count, n = checking->check->n_nodes;
    if (n > ALONE_NODES || memory_groups_bytes(values) > ALONE_BYTES)
        return 0;
    const char **names = held_values_made(values, &count);
    if (held_values_compute(values, names, count))
        return -1;
    for (size_t p = 0; p < n && !checking->check->found.count; p++) {
        struct verdict verdict;
        part_judge(&search->record, NULL, &order[p], 1, false, &verdict);
        if (verdict_is_finding(verdict.kind))
            settlement_blame(&checking->check->found, &verdict, &order[p], 1);
        else if (verdict_is_earned(&verdict) && verdict.judged)
            checking->check->nodes[order[p]].checked = CHECKED_ALONE;
    }
    return 0;
}

/* A node whose value the engine replaced by a constant is right when the nodes that use the value are: they
 * were judged on the value that it should have. */
static bool users_are_checked(const struct checking *checking, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const struct index_value *value =
            *node->output[i] ? model_index_find(&checking->search.test.index, node->output[i]) : NULL;
        for (size_t k = 0; value && k < value->consumers; k++)
            if (checking->check->nodes[value->consumer[k]].checked == CHECKED_NOT)
                return false;
    }
    return true;
}

/* By its type, with or without the domain before it. */
static bool is_borrowed(const struct result *answer, const Onnx__NodeProto *node)
{
    for (size_t i = 0; answer->borrowed && answer->borrowed[i]; i++)
        if (text_equal(answer->borrowed[i], node->op_type) || text_equal(answer->borrowed[i], op_title(node)))
            return true;
    return false;
}

/* What happens in a body is not seen. */
static bool shows_its_results(const struct checked_node *node, const Onnx__NodeProto *proto)
{
    const struct op *op = op_of(proto);
    return node->checked == CHECKED_TRIVIAL ||
           (node->checked == CHECKED_NODE && op && op->work != WORK_BODIES);
}

static void conclude(struct checking *checking)
{
    struct operator_check *check = checking->check;
    const struct model_index *index = &checking->search.test.index;
    check->within_types = !checking->search.record.limits;
    for (size_t p = check->n_nodes; p-- > 0;) {
        size_t number = index->order[p];
        struct checked_node *node = &check->nodes[number];
        const Onnx__NodeProto *proto = index->model->graph->node[number];
        if (node_is_constant(proto))
            node->checked = CHECKED_TRIVIAL;
        else if (is_borrowed(&checking->search.whole.answer, proto))
            node->checked = CHECKED_BORROWED;
        else if (node->checked == CHECKED_NOT && checking->covered[number])
            node->checked = CHECKED_GROUP;
        else if (node->checked == CHECKED_NOT && node_is_folded(&checking->search.record, number) &&
                 users_are_checked(checking, proto))
            node->checked = CHECKED_FOLDED;
        if (node->checked != CHECKED_NOT)
            node->why = NULL;
        else if (!node->why)
            node->why = "the engine does not show its values";
        node->lowered = checking->lowered[number] > 0;
        node->visible = fmax(node->visible, checking->lowered[number]);
        check->n_lowered += node->lowered;
        check->n_checked += node->checked != CHECKED_NOT;
        check->within_types &= shows_its_results(node, proto);
        check->partial |= node->checked != CHECKED_NOT && node->left;
    }
}

static int examine(struct checking *checking)
{
    struct fault_search *search = &checking->search;
    struct operator_check *check = checking->check;
    if (recording_run(&search->record, visit, checking, &checking->outcome))
        return -1;
    if (!check->found.count && search->spare.nodes)
        fault_search_blame_spare(search, &check->found);
    if (check->found.count)
        return 0;
    struct stretches stretches = {.search = search,
                                  .rounds = checking->fusions == FUSIONS_OF_ONE_PRODUCT ? 1 : STRETCHES_ALL,
                                  .shown = checking->shown,
                                  .judged = checking->judged,
                                  .covered = checking->covered,
                                  .lowered = checking->lowered};
    if (stretches_judge(&stretches, &check->found))
        return -1;
    if (!check->found.count && checking->suspect < check->n_nodes)
        fault_search_blame_suspect(search, &check->found, checking->suspect);
    check->stretches = stretches.count;
    check->right = stretches.right;
    return check->found.count || checking->outcome == OUTCOME_OK ? 0 : check_alone(checking);
}

static int prepare(struct checking *checking, const struct settle_case *which, struct error *err)
{
    struct operator_check *check = checking->check;
    *check = (struct operator_check){0};
    arena_init(&check->arena);
    if (fault_search_init(&checking->search, which, err))
        return -1;
    struct under_test *test = &checking->search.test;
    check->n_nodes = test->model->graph->n_node;
    check->nodes = arena_array(&check->arena, check->n_nodes, sizeof *check->nodes);
    checking->shown = arena_array(&test->arena, test->index.count, sizeof *checking->shown);
    checking->judged = arena_array(&test->arena, check->n_nodes, sizeof *checking->judged);
    check->lowering = test->lowering;
    checking->suspect = check->n_nodes;
    checking->covered = arena_array(&test->arena, check->n_nodes, sizeof *checking->covered);
    checking->lowered = arena_array(&test->arena, check->n_nodes, sizeof *checking->lowered);
    return 0;
}

/* *shown: the engine ran with all values exposed. */
static int check_case(struct operator_check *check, const struct settle_case *which,
                      const struct result *answer, enum operator_fusions fusions, bool *shown,
                      struct error *err)
{
    struct checking checking = {.check = check, .fusions = fusions};
    int status = prepare(&checking, which, err);
    if (!status) {
        checking.search.whole.answer = *answer;
        status = examine(&checking);
        if (!status)
            conclude(&checking);
        result_init(&checking.search.whole.answer); /* it is the caller's */
        check->runs = checking.search.test.runs;
    }
    if (!status)
        settlement_describe(&check->found, checking.search.test.model);
    *shown = !status && checking.outcome == OUTCOME_OK;
    fault_search_release(&checking.search);
    return status;
}

int operator_check(struct operator_check *check, const struct settle_case *which, const struct result *answer,
                   enum operator_fusions fusions, struct error *err)
{
    struct settle_case stepwise = *which;
    struct test_case *named = named_states(which->test);
    bool shown = false;
    stepwise.test = named;
    int status = named ? check_case(check, &stepwise, answer, fusions, &shown, NULL) : 0;
    if (!shown) { /* also where the engine cannot show the states */
        if (named)
            operator_check_release(check);
        status = check_case(check, which, answer, fusions, &shown, err);
    }
    test_case_free(named);
    return status;
}

void operator_check_release(struct operator_check *check)
{
    settlement_release(&check->found);
    arena_release(&check->arena);
}
