#include "locate/cause.h"

#include "base/memory.h"
#include "base/str.h"
#include "locate/cause_set.h"
#include "locate/cause_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cause_value value_of(const struct examination *look, const struct param_evidence *one)
{
    const size_t *nodes = look->options->nodes;
    return (struct cause_value){nodes ? nodes[one->node] : one->node, one->param->name, one->present};
}

static const char *cure_text(struct examination *look, const struct param_change *change)
{
    if (change->way == WAY_RESPELLED)
        return arena_strdup(look->arena, change->value);
    if (change->way == WAY_LEFT_OUT)
        return arena_printf(look->arena, "leaving %s out", change->param->name);
    return arena_printf(look->arena, "%s=%s", change->param->name, change->value);
}

/* Whether the change only gives an input other elements, which is other data. Where several nodes fail
 * together, that may depend on their values (a tie, for example), so such a cure proves little. */
static bool is_other_data(const struct examination *look, const struct param_change *change)
{
    const struct model *part = test_case_model(look->sets[0], NULL);
    return part && part->graph->n_node > 1 && (change->way == WAY_INPUT || change->way == WAY_SPREAD);
}

static void name_parameter(struct examination *look, const struct params_evidence *evidence,
                           const struct param_evidence *chosen)
{
    struct cause *cause = look->cause;
    const struct param_change *best = &look->changes.items[chosen->best];
    cause->kind = CAUSE_PARAMETER;
    cause->n_parameters = 1;
    cause->parameters = arena_array(look->arena, 1, sizeof *cause->parameters);
    cause->parameters[0] = value_of(look, chosen);
    cause->conditions = arena_array(look->arena, evidence->count, sizeof *cause->conditions);
    for (size_t i = 0; i < evidence->count; i++)
        if (evidence->items[i].cures && &evidence->items[i] != chosen)
            cause->conditions[cause->n_conditions++] = value_of(look, &evidence->items[i]);
    cause->cure = cure_text(look, best);
    cause->same_meaning = best->synonym && best->way != WAY_RESPELLED;
    cause->certain = (!cause->by_data || chosen->apart <= 0) && !is_other_data(look, best);
}

static void name_set(struct examination *look, const struct params_evidence *evidence,
                     const struct cause_set *set)
{
    struct cause *cause = look->cause;
    cause->kind = CAUSE_SET;
    cause->certain = !cause->by_data;
    cause->parameters = arena_array(look->arena, set->count, sizeof *cause->parameters);
    for (size_t i = 0; i < set->count; i++) {
        const char *cure = cure_text(look, set->changes[i]);
        cause->parameters[cause->n_parameters++] =
            value_of(look, params_evidence_of(evidence, set->changes[i]));
        cause->cure = i ? arena_printf(look->arena, "%s and %s", cause->cure, cure) : cure;
    }
}

/* --- The whole network with the cure --- */

/* False when the changes do not fit into the network. */
static bool fix_network(struct examination *look, const struct param_change *const *changes, size_t count)
{
    const size_t *nodes = look->options->nodes;
    struct param_change *there = memory_zeroed(count, sizeof *there);
    const struct param_change **list = memory_zeroed(count, sizeof *list);
    struct test_case *fixed = NULL;
    struct expected expected;
    for (size_t i = 0; i < count; i++) {
        there[i] = *changes[i];
        there[i].node = nodes ? nodes[changes[i]->node] : changes[i]->node;
        list[i] = &there[i];
    }
    bool fits = !param_change_apply(&fixed, look->options->whole, list, count, NULL);
    const struct model *model = fits ? test_case_model(fixed, NULL) : NULL;
    fits = model && !expected_compute(&expected, model, NULL, fixed->inputs, fixed->n_inputs);
    if (fits && changes[0]->way != WAY_RESPELLED)
        param_change_declare(fixed, expected.values, expected.count);
    if (fits)
        expected_release(&expected);
    else
        test_case_free(fixed);
    look->cause->fixed = fits ? fixed : NULL;
    free(there);
    free(list);
    return fits;
}

/* Changes the network by the cure that is named or, if that does not fit into it, by another cure of the same
 * parameter that keeps the shape of the answer. */
static void fix_parameter(struct examination *look, const struct param_evidence *chosen)
{
    const struct param_change *change = &look->changes.items[chosen->best];
    bool fixed = fix_network(look, &change, 1);
    for (size_t i = 0; i < look->n_params && !fixed; i++) {
        change = &look->changes.items[i];
        if (change->node == chosen->node && change->param == chosen->param && i != chosen->best &&
            look->ends[i] == CHANGE_CURES && look->apart[i] <= 1)
            fixed = fix_network(look, &change, 1);
    }
}

/* Whether no parameter that was tried matters. If all answers were unclear, that is not known. */
static void name_operator(struct examination *look)
{
    size_t keeps = 0, unclear = 0;
    for (size_t i = 0; i < look->n_params; i++) {
        keeps += look->ends[i] == CHANGE_KEEPS;
        unclear += look->ends[i] == CHANGE_UNCLEAR;
    }
    look->cause->kind = CAUSE_OPERATOR;
    look->cause->certain = keeps || !unclear;
}

/* With a size of 1 most faults cannot show. */
static bool is_size_one(const struct param_change *change)
{
    const char *comma = strchr(change->text, ',');
    return comma && strcmp(comma, ",1") == 0;
}

/* What matters besides parameters: an element type or a size. */
static void look_at_form(struct examination *look, struct params_evidence *evidence)
{
    examination_try_each(look, look->n_params, look->changes.count);
    for (size_t i = look->n_params; i < look->changes.count; i++) {
        const struct param_change *change = &look->changes.items[i];
        if (look->ends[i] != CHANGE_CURES)
            continue;
        evidence->size_matters |= change->way == WAY_SIZE && !is_size_one(change);
        if (!look->cause->form)
            look->cause->form = arena_strdup(look->arena, change->value);
    }
}

static void keep_tries(struct examination *look)
{
    struct cause *cause = look->cause;
    const size_t *nodes = look->options->nodes;
    cause->n_tries = 0;
    cause->tries = arena_array(look->arena, look->changes.count, sizeof *cause->tries);
    for (size_t i = 0; i < look->changes.count; i++) {
        const struct param_change *change = &look->changes.items[i];
        if (look->ends[i] == CHANGE_INVALID)
            continue;
        cause->tries[cause->n_tries++] = (struct cause_try){
            .to = {nodes ? nodes[change->node] : change->node, change->param ? change->param->name : NULL,
                   arena_strdup(look->arena, change->value)},
            .end = look->ends[i],
            .equivalent = look->apart[i] <= 0,
            .rule = change->way == WAY_RESPELLED ? arena_strdup(look->arena, change->text) : NULL,
        };
    }
}

/* How many of the sizes next to that of the first input along an axis cure. */
static size_t cures_beside(struct examination *look, int axis, int64_t size)
{
    static const int64_t steps[] = {-2, -1, 1, 2};
    size_t cures = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char text[40];
        double apart;
        struct param_change change = {.way = WAY_SIZE, .text = text, .value = text, .alone = true};
        const struct param_change *only = &change;
        if (size + steps[i] < 2 || look->broken ||
            examination_is_late(look)) /* of 1 most faults do not show */
            continue;
        snprintf(text, sizeof text, "%d,%lld", axis, (long long)(size + steps[i]));
        cures += examination_try(look, &only, 1, &apart) == CHANGE_CURES;
    }
    return cures;
}

/* Whether numbers are wrong with certain sizes only, as where a quotient of sizes is rounded: then which
 * parameters they are wrong with is a matter of chance. That only even sizes fail is not enough, and data
 * that hardly shows the failure proves nothing. */
static bool needs_its_sizes(struct examination *look)
{
    enum { ENOUGH = 3 };
    if (!look->numbers || look->cause->by_data || !look->sets[0]->n_inputs ||
        look->sets[0]->inputs[0].kind != VALUE_TENSOR)
        return false;
    const struct shape shape = look->sets[0]->inputs[0].tensors[0].shape;
    bool needs = false;
    for (int axis = 0; axis < shape.rank && !needs; axis++)
        needs = cures_beside(look, axis, shape.dims[axis]) >= ENOUGH;
    return needs;
}

static void try_everything(struct examination *look, struct params_evidence *evidence)
{
    param_changes_init(&look->changes, look->sets[0]);
    look->n_params = look->changes.count;
    param_changes_of_form(&look->changes, look->sets[0]);
    look->ends = memory_zeroed(look->changes.count + 1, sizeof *look->ends);
    look->apart = memory_zeroed(look->changes.count + 1, sizeof *look->apart);
    examination_try_each(look, 0, look->n_params);
    params_evidence_init(evidence, look);
    bool sure = false;
    for (size_t i = 0; i < evidence->count; i++)
        sure = sure || (evidence->items[i].cures && !(evidence->items[i].apart > 0));
    if (!sure) /* then no size can be the reason */
        look_at_form(look, evidence);
}

static void search_cause(struct examination *look, struct params_evidence *evidence)
{
    struct cause *cause = look->cause;
    struct cause_set set = {0};
    if (!examination_start(look)) {
        cause->text = "the node does not fail by itself, on the inputs it had";
        return;
    }
    try_everything(look, evidence);
    if (look->broken || examination_is_late(look)) {
        cause->text = "there was not enough time to try all values";
        return;
    }
    const struct param_evidence *chosen = param_to_blame(evidence, look);
    bool any = false;
    for (size_t i = 0; i < evidence->count; i++)
        any |= evidence->items[i].cures > 0;
    if (!any)
        cause_set_find(&set, look, evidence);
    if (chosen)
        name_parameter(look, evidence, chosen);
    else if (set.count)
        name_set(look, evidence, &set);
    else if (!examination_is_late(look))
        name_operator(look);
    if (chosen && look->options->whole)
        fix_parameter(look, chosen);
    else if (set.count && look->options->whole)
        fix_network(look, set.changes, set.count);
    cause_set_release(&set);
    cause->of_sizes = needs_its_sizes(look);
    keep_tries(look);
    cause_describe(look, evidence);
}

int cause_find(struct cause *cause, struct under_test *test, struct test_case *part,
               const struct cause_options *options, struct arena *arena, struct error *err)
{
    struct examination look = {.cause = cause, .options = options, .arena = arena, .err = err};
    struct params_evidence evidence = {0};
    *cause = (struct cause){.text = ""};
    int status = examination_init(&look, test, part);
    if (!status)
        search_cause(&look, &evidence);
    params_evidence_release(&evidence);
    status = status || look.broken ? -1 : 0;
    examination_release(&look);
    return status;
}
