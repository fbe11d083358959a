#include "campaign/stand_in.h"

#include "base/clock.h"
#include "campaign/experiment_trial.h"
#include "campaign/node_alone.h"
#include "campaign/other_data.h"
#include "findings/signature.h"
#include "ops/op.h"

enum { SECONDS = 120, MOST_NODES = 64 };

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

/*
 * Whether the node fails as it may have failed in the whole: what was answered there is answered alone. A
 * node on constants alone is run with a variable added, which may be refused for that. Another element type
 * than the right one, of which some engines have few, is a fault only where it is the one in question, or the
 * numbers are wrong as well.
 */
static bool is_fault(const struct trial_done *whole, const struct trial_done *alone, bool added)
{
    if (!verdict_is(kind_of(alone), CLASS_WRONG_ANSWER | CLASS_NO_ANSWER) ||
        !verdict_is_finding(kind_of(alone)) || is_type_alone(whole, alone) ||
        (experiment_died(alone) && !experiment_died(whole))) /* it would have died there, too */
        return false;
    return experiment_answered(alone) ||
           (!experiment_answered(whole) && (!added || same_message(whole, alone)));
}

/* An engine that died may as well have given an answer, by chance. One that is wrong without this node, too,
 * tells of another node. */
static bool is_death_of_wrong(const struct trial_done *whole, const struct trial_done *alone)
{
    return verdict_is(kind_of(whole), CLASS_DEATH) && experiment_answered(alone);
}

/*
 * Whether the rest of the model does not fail as the whole does: other failures are other bugs. Of a rest
 * without an answer one does not know what it would be, so it counts where node and whole fail alike: both
 * without an answer, or both with answers that are wrong in the same way.
 */
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

/* As inputs the node's results may be of a type that the engine has no inputs of; then they are constants. */
static bool is_cured_without(const struct experiments *how, const struct trial_done *whole,
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

/* Whether it is the node that is blamed, and not what was added to it. */
static bool is_blamed(const struct experiments *how, const struct trial_done *whole,
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
static bool fails(const struct experiments *how, const struct trial_done *whole, struct test_case *test,
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

/* A reduced case has zeros wherever that was possible, with which many faults do not show. That constants are
 * empty need not matter, and then experiments tell more without that. */
static bool fails_alone(const struct experiments *how, const struct trial_done *whole,
                        const struct node_values *values, size_t node, struct trial_done *alone)
{
    if (node_values_constant(values, node) && fails(how, whole, node_alone(values, node, true), alone))
        return true;
    struct test_case *test = node_alone(values, node, false);
    bool found = test && (fails(how, whole, test_case_share(test), alone) ||
                          fails(how, whole, other_data_counted(test), alone));
    test_case_free(test);
    return found;
}

bool stand_in_find(const struct experiments *how, const struct trial_done *whole, struct trial_done *alone)
{
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
