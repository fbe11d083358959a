#include "diagnose/single_node.h"

#include "base/clock.h"
#include "base/memory.h"
#include "diagnose/changed_case.h"
#include "diagnose/constants.h"
#include "findings/signature.h"
#include "locate/expected.h"
#include "model/edit.h"
#include "ops/op.h"

#include <stdlib.h>

enum { SECONDS = 120, MOST_NODES = 64 };

struct node_values {
    const struct test_case *test;
    struct model_index index;
    bool *constant; /* for each node */
    size_t count;
    const char **names;
    struct tensor *tensors;
    const struct tensor **types; /* the names of the same values, for model_cut */
};

static const Onnx__GraphProto *graph_of(const struct node_values *values)
{
    return values->index.model->graph;
}

static void list_names(struct node_values *values)
{
    size_t capacity = 0;
    const Onnx__GraphProto *graph = graph_of(values);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            if (!*graph->node[i]->output[k])
                continue;
            values->names = memory_grow(values->names, &capacity, values->count + 1, sizeof *values->names);
            values->names[values->count++] = graph->node[i]->output[k];
        }
}

static int compute(struct node_values *values)
{
    struct model *model;
    struct expected expected;
    if (!values->count || model_clone(&model, values->index.model, NULL))
        return -1;
    int status = model_set_outputs(model, values->names, values->count, NULL) ||
                 expected_compute(&expected, model, NULL, values->test->inputs, values->test->n_inputs);
    if (!status) {
        for (size_t i = 0; i < values->count && !status; i++)
            status = bounded_to_tensor(&expected.values[i], &values->tensors[i], NULL);
        expected_release(&expected);
    }
    model_free(model);
    return status;
}

struct node_values *node_values_new(const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct node_values *values = memory_zeroed(1, sizeof *values);
    values->test = test;
    if (!model || model_index_init(&values->index, model, NULL)) {
        free(values);
        return NULL;
    }
    list_names(values);
    values->constant = constants_find(&values->index);
    values->tensors = memory_zeroed(values->count + 1, sizeof *values->tensors);
    values->types = memory_zeroed(values->count + 1, sizeof *values->types);
    for (size_t i = 0; i < values->count; i++)
        values->types[i] = &values->tensors[i];
    if (!compute(values))
        return values;
    node_values_free(values);
    return NULL;
}

void node_values_free(struct node_values *values)
{
    if (!values)
        return;
    for (size_t i = 0; i < values->count; i++)
        tensor_release(&values->tensors[i]);
    free(values->tensors);
    free(values->types);
    free(values->names);
    free(values->constant);
    model_index_release(&values->index);
    free(values);
}

size_t node_values_at(const struct node_values *values, size_t place)
{
    return values->index.order[place];
}

bool node_values_constant(const struct node_values *values, size_t node)
{
    return values->constant[node];
}

const struct test_case *node_values_case(const struct node_values *values)
{
    return values->test;
}

static struct tensor *find(const struct node_values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (text_equal(values->names[i], name))
            return &values->tensors[i];
    return NULL;
}

const struct tensor *node_values_find(const struct node_values *values, const char *name)
{
    return find(values, name);
}

static bool is_constant(const struct node_values *values, const char *name)
{
    const struct index_value *value = model_index_find(&values->index, name);
    return value && value->source == SOURCE_NODE && values->constant[value->number];
}

/* Gives an input of the part its value. */
static int give(const struct node_values *values, struct test_case *part, char *name)
{
    struct tensor *tensor = find(values, name);
    if (tensor)
        return changed_feed(part, name, tensor);
    for (size_t i = 0; i < values->test->n_inputs; i++)
        if (text_equal(values->test->inputs[i].name, name))
            return test_case_add_inputs(part, &values->test->inputs[i], 1, NULL);
    return -1;
}

static struct test_case *with_inputs(const struct node_values *values, struct model *model)
{
    struct test_case *part = test_case_new(model);
    int status = 0;
    for (size_t i = 0; i < model->graph->n_input && !status; i++)
        status = give(values, part, model->graph->input[i]->name);
    if (!status)
        return changed_finish(part, true);
    test_case_free(part);
    return NULL;
}

/* Makes an input of the part a constant if it was one in the whole. */
static int freeze_one(const struct node_values *values, struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        if (text_equal(model->graph->input[i]->name, name))
            return model_freeze_input(model, name, find(values, name), NULL);
    return 0;
}

/* What depends on constants alone becomes a constant. */
static int freeze(const struct node_values *values, struct model *model)
{
    for (size_t i = model->graph->n_input; i-- > 0;) {
        const char *name = model->graph->input[i]->name;
        if (is_constant(values, name) && freeze_one(values, model, name))
            return -1;
    }
    return 0;
}

struct test_case *node_alone(const struct node_values *values, size_t node, bool filled)
{
    struct edit_types types = {values->count, values->names, values->types};
    struct model *model;
    if (model_cut(&model, &values->index, &node, 1, &types, NULL))
        return NULL;
    if (freeze(values, model)) {
        model_free(model);
        return NULL;
    }
    struct test_case *alone = with_inputs(values, model);
    if (filled && alone) {
        struct test_case *whole = changed_filled(alone);
        test_case_free(alone);
        alone = whole;
    }
    if (!alone || !constants_alone(alone))
        return alone;
    struct test_case *with = constants_with_variables(alone);
    test_case_free(alone);
    return with;
}

struct test_case *node_replaced(const struct node_values *values, size_t node, bool constant, bool *nothing)
{
    const Onnx__GraphProto *graph = graph_of(values);
    const Onnx__NodeProto *gone = graph->node[node];
    struct edit_types types = {values->count, values->names, values->types};
    const char **from = memory_zeroed(gone->n_output + 1, sizeof *from),
               **to = memory_zeroed(graph->n_output + 1, sizeof *to);
    size_t n_from = 0, n_to = 0;
    struct model *model = NULL;
    for (size_t i = 0; i < gone->n_output; i++)
        if (*gone->output[i])
            from[n_from++] = gone->output[i];
    for (size_t i = 0; i < graph->n_output; i++) {
        const struct index_value *value = model_index_find(&values->index, graph->output[i]->name);
        if (value && value->source == SOURCE_NODE && value->number != node)
            to[n_to++] = graph->output[i]->name;
    }
    *nothing = !n_to;
    int status = n_to ? model_cut_between(&model, &values->index, from, n_from, to, n_to, &types, NULL) : -1;
    for (size_t i = 0; constant && i < n_from && !status; i++)
        status = freeze_one(values, model, from[i]);
    free(from);
    free(to);
    if (!status)
        return with_inputs(values, model);
    model_free(model);
    return NULL;
}

static enum verdict_kind kind_of(const struct trial_done *done)
{
    return done->judgement.verdicts[0].kind;
}

static enum kin kin_of(const struct trial_done *done)
{
    return verdict_row(kind_of(done))->kin;
}

static bool same_message(const struct trial_done *a, const struct trial_done *b)
{
    const char *first = a->results[0].message, *second = b->results[0].message;
    return kind_of(a) == kind_of(b) && text_equal(first ? first : "", second ? second : "");
}

static bool is_type_alone(const struct trial_done *whole, const struct trial_done *alone)
{
    return kin_of(alone) == KIN_TYPE && kin_of(whole) != KIN_TYPE && experiment_right_but_for_type(alone);
}

/* Whether the node alone fails in a way in which it can have failed within the whole: where the whole got an
 * answer, the node must get one too. A node on constants alone is run with a variable added, and an engine
 * may refuse it just for that. A wrong element type, as some engines have few types, is a fault only if the
 * finding is about it, or if the numbers are wrong as well. */
static bool is_fault(const struct trial_done *whole, const struct trial_done *alone, bool added)
{
    if (!verdict_is(kind_of(alone), CLASS_WRONG_ANSWER | CLASS_NO_ANSWER) ||
        !verdict_is_finding(kind_of(alone)) || is_type_alone(whole, alone) ||
        (experiment_died(alone) &&
         !experiment_died(whole))) /* it would have ended the engine there as well */
        return false;
    return experiment_answered(alone) ||
           (!experiment_answered(whole) && (!added || same_message(whole, alone)));
}

/* Whether the engine ended on the whole but answers the node alone: a fault that ends an engine may as well
 * give wrong numbers. A rest that is wrong without this node tells of another node. */
static bool is_death_of_wrong(const struct trial_done *whole, const struct trial_done *alone)
{
    return verdict_is(kind_of(whole), CLASS_DEATH) && experiment_answered(alone);
}

/* Whether the rest of the model does not fail as the whole does; if it fails in another way, that is another
 * bug. Where the rest gets no answer it is not known what the answer would be: then the node is to blame if
 * it fails as the whole does, both without an answer or both wrong in the same way. */
static bool is_cured(const struct trial_done *whole, const struct trial_done *alone,
                     const struct trial_done *rest)
{
    if (verdict_is(kind_of(rest), CLASS_AGREES))
        return true;
    if (is_death_of_wrong(whole, alone))
        return experiment_right_but_for_type(rest);
    if (kin_of(rest) == KIN_TYPE && kin_of(whole) != KIN_TYPE)
        return true;
    if (verdict_is(kind_of(whole), CLASS_NO_ANSWER))
        return experiment_answered(rest) || (verdict_is(kind_of(rest), CLASS_NO_ANSWER) &&
                                             !experiment_answered(alone) && !same_message(whole, rest));
    return verdict_is(kind_of(rest), CLASS_NO_ANSWER) && kin_of(alone) == kin_of(whole);
}

/* The node's results become inputs or, where the engine has no inputs of their type, constants. */
static bool is_cured_without(const struct experiment *how, const struct trial_done *whole,
                             const struct trial_done *alone, const struct node_values *values, size_t node)
{
    bool nothing = false, cured = false, lacks = true;
    for (int constant = 0; constant < 2 && lacks; constant++) {
        struct trial_done done;
        struct test_case *rest = node_replaced(values, node, constant, &nothing);
        if (nothing)
            return !is_death_of_wrong(whole, alone);
        if (!rest || !experiment_try(how, rest, false, &done))
            return false;
        lacks = verdict_is(kind_of(&done), CLASS_LACK);
        cured = is_cured(whole, alone, &done);
        trial_done_release(&done);
    }
    return cured;
}

/* Whether the node itself is blamed, and not what was added to it. */
static bool is_blamed(const struct experiment *how, const struct trial_done *whole,
                      const struct trial_done *alone, bool added)
{
    const struct engine_info *info = panel_engine(how->panel, 0);
    struct signature signature;
    if (!signature_of_trial(&signature, info->label, info->profile, alone, 0))
        return false;
    enum kin kin = verdict_row(symptom_verdict(signature.symptom))->kin;
    const char *node = op_title(test_case_model(alone->test, NULL)->graph->node[0]);
    return (kin != KIN_TYPE || kin == kin_of(whole) || kin == kin_of(alone)) &&
           (!added || signature.blame != BLAME_OPERATORS || text_equal(signature.operators, node));
}

/* Gives up the case. */
static bool fails(const struct experiment *how, const struct trial_done *whole, struct test_case *test,
                  struct trial_done *alone)
{
    bool added = test && test_case_model(test, NULL)->graph->n_node > 1;
    if (!test || !experiment_try(how, test, true, alone))
        return false;
    if (is_fault(whole, alone, added) && is_blamed(how, whole, alone, added))
        return true;
    trial_done_release(alone);
    return false;
}

/* A reduced case has zeros wherever possible, with which many faults do not show, so other numbers are tried
 * too. Empty constants are filled if the node fails with elements as well, because experiments then tell
 * more. */
static bool fails_alone(const struct experiment *how, const struct trial_done *whole,
                        const struct node_values *values, size_t node, struct trial_done *alone)
{
    if (node_values_constant(values, node) && fails(how, whole, node_alone(values, node, true), alone))
        return true;
    struct test_case *test = node_alone(values, node, false);
    bool found = test && (fails(how, whole, test_case_share(test), alone) ||
                          fails(how, whole, changed_counted(test), alone));
    test_case_free(test);
    return found;
}

bool node_at_fault(const struct experiment *how, struct trial_done *alone)
{
    const struct trial_done *whole = how->done;
    const struct test_case *subject = trial_done_subject(whole, 0);
    const struct model *model = test_case_model(subject, NULL);
    double start = clock_seconds();
    bool found = false;
    if (!model || model->graph->n_node < 2 || model->graph->n_node > MOST_NODES)
        return false;
    struct node_values *values = node_values_new(subject);
    for (size_t i = 0; values && !found && i < model->graph->n_node && clock_seconds() - start < SECONDS;
         i++) {
        size_t node = node_values_at(values, i);
        if (!fails_alone(how, whole, values, node, alone))
            continue;
        found = is_cured_without(how, whole, alone, values, node);
        if (!found)
            trial_done_release(alone);
    }
    node_values_free(values);
    return found;
}
