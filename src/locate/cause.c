#include "locate/cause.h"

#include "base/clock.h"
#include "base/ddmin.h"
#include "base/memory.h"
#include "base/str.h"
#include "locate/expected.h"
#include "locate/param_change.h"
#include "locate/similar_data.h"
#include "model/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_SHAPE 2.0 /* the difference of two answers of different types or shapes */

/* Sets of data: the one at hand, two in which the elements change places, one of other elements. */
enum { SETS = 4 };

/* What is known of a parameter from its changes. */
struct weighed {
    size_t node;
    const struct op_param *param;
    size_t cures, keeps;
    double differs;  /* the smallest share of the answer that a cure changes; 0: none; OTHER_SHAPE */
    bool by_default; /* cured by its default, which it has not */
    bool same_shape; /* some cure leaves the shape of the answer as it is */
    size_t best;     /* the change that cures with the smallest `differs` */
    bool plain;      /* its present value is the default */
    const char *present;
};

struct examination {
    struct cause *cause;
    struct under_test *test;
    struct test_case *sets[SETS];
    struct param_changes changes;
    enum cause_end *ends;
    double *differs;
    size_t n_weighed;
    struct weighed *weighed;
    struct expected expected; /* of the part as it is, on the data at hand */
    struct verdict verdict;   /* on it */
    enum outcome outcome;
    double until; /* INFINITY: no limit */
    const struct cause_options *options;
    struct arena *arena;
    struct error *err;
    bool size_matters; /* data of another size is computed right */
    size_t n_params;   /* changes of parameters; those of type and size follow */
    bool broken;       /* the engine cannot be run any more */
};

static bool is_late(const struct examination *look)
{
    return clock_seconds() > look->until;
}

/* --- One changed model on one set of data --- */

struct attempt {
    enum cause_end end;
    bool answered;            /* expected is known */
    struct expected expected; /* the right answer */
};

static bool is_right(const struct verdict *verdict)
{
    return verdict_is(verdict->kind, CLASS_AGREES) && verdict->judged > 0 && !verdict->blank;
}

/* A wrong answer is kept by a wrong answer, a crash by a crash, a refusal by a refusal. */
static enum cause_end end_of(const struct examination *look, const struct result *result,
                             const struct verdict *verdict)
{
    if (result->outcome == OUTCOME_OK)
        return is_right(verdict)                    ? CHANGE_CURES
               : !verdict_is_finding(verdict->kind) ? CHANGE_UNCLEAR
               : look->outcome == OUTCOME_OK        ? CHANGE_KEEPS
                                                    : CHANGE_UNCLEAR;
    bool refusals = (result->outcome == OUTCOME_REJECTED || result->outcome == OUTCOME_FAILED) &&
                    (look->outcome == OUTCOME_REJECTED || look->outcome == OUTCOME_FAILED);
    return refusals || result->outcome == look->outcome ? CHANGE_KEEPS : CHANGE_UNCLEAR;
}

/* declare: the outputs of the model have no types yet. */
static void run_attempt(struct examination *look, struct test_case *changed, bool declare,
                        struct attempt *attempt)
{
    const struct model *model = test_case_model(changed, NULL);
    struct result result;
    struct verdict verdict = {0};
    *attempt = (struct attempt){0};
    if (!model || expected_compute(&attempt->expected, model, model->graph->n_node > 1, changed->inputs,
                                   changed->n_inputs))
        return;
    attempt->answered = true;
    if (declare)
        param_change_declare(changed, attempt->expected.values, attempt->expected.count);
    result_init(&result);
    if (under_test_run(look->test, model, changed->inputs, changed->n_inputs, 0, &result)) {
        look->broken = true;
    } else {
        if (result.outcome == OUTCOME_OK)
            expected_judge(&attempt->expected, model, &result, &verdict);
        attempt->end = end_of(look, &result, &verdict);
    }
    look->cause->runs++;
    result_release(&result);
}

/* The share of elements in which two right answers differ by more than their bounds; or OTHER_SHAPE. */
static double difference(const struct expected *a, const struct expected *b)
{
    size_t apart = 0, all = 0;
    if (a->count != b->count)
        return OTHER_SHAPE;
    for (size_t o = 0; o < a->count; o++) {
        const struct bounded *x = &a->values[o], *y = &b->values[o];
        if (x->type != y->type || !shape_equal(&x->shape, &y->shape) || !x->value || !y->value)
            return OTHER_SHAPE;
        for (size_t i = 0; i < x->count; i++, all++) {
            bool same = x->value[i] == y->value[i] || (isnan(x->value[i]) && isnan(y->value[i])) ||
                        fabsl(x->value[i] - y->value[i]) <=
                            (long double)bounded_hard(x, i) + (long double)bounded_hard(y, i);
            apart += !same;
        }
    }
    return all ? (double)apart / (double)all : 1;
}

/* Tries changes on all sets of data. *differs: how much of the right answer they change. */
static enum cause_end try_changes(struct examination *look, const struct param_change *const *changes,
                                  size_t count, double *differs)
{
    enum cause_end end = CHANGE_INVALID;
    struct expected first = {0};
    bool depends = false, respelled = count == 1 && changes[0]->way == WAY_RESPELLED;
    for (size_t set = 0; set < SETS && !look->broken; set++) {
        struct test_case *changed;
        struct attempt attempt = {0};
        if (param_change_apply(&changed, look->sets[set], changes, count, NULL)) {
            end = set ? CHANGE_UNCLEAR : end;
            break;
        }
        run_attempt(look, changed, !respelled, &attempt);
        test_case_free(changed);
        end = attempt.answered ? attempt.end : set ? CHANGE_UNCLEAR : CHANGE_INVALID;
        if (set == 0) {
            first = attempt.expected;
            *differs = attempt.answered ? difference(&look->expected, &first) : OTHER_SHAPE;
        } else {
            depends = depends || (attempt.answered && difference(&first, &attempt.expected) > 0);
            expected_release(&attempt.expected);
        }
        if (end != CHANGE_CURES)
            break;
    }
    expected_release(&first);
    return end == CHANGE_CURES && !depends ? CHANGE_UNCLEAR : end;
}

/* --- Weighing the parameters --- */

static struct weighed *weighed_of(struct examination *look, const struct param_change *change)
{
    for (size_t i = 0; i < look->n_weighed; i++)
        if (look->weighed[i].node == change->node && look->weighed[i].param == change->param)
            return &look->weighed[i];
    struct weighed *one = &look->weighed[look->n_weighed++];
    *one = (struct weighed){.node = change->node, .param = change->param, .differs = INFINITY};
    one->present = param_present(look->sets[0], change->node, change->param, look->arena, &one->plain);
    return one;
}

static void weigh_change(struct examination *look, size_t number)
{
    const struct param_change *change = &look->changes.items[number];
    struct weighed *one = weighed_of(look, change);
    if (look->ends[number] == CHANGE_KEEPS)
        one->keeps++;
    if (look->ends[number] != CHANGE_CURES)
        return;
    one->cures++;
    one->by_default = one->by_default || (change->plain && !one->plain);
    one->same_shape = one->same_shape || look->differs[number] < OTHER_SHAPE;
    bool nearer = look->differs[number] < one->differs;
    bool plainer =
        look->differs[number] <= one->differs && change->alone && !look->changes.items[one->best].alone;
    if (nearer || plainer) {
        one->differs = look->differs[number];
        one->best = number;
    }
}

/* The failure comes and goes with the parameter: every other value cures, the default among them. */
static bool is_switch(const struct weighed *one)
{
    return !one->plain && !one->keeps && one->by_default;
}

static int expect_changed(struct examination *look, const struct param_change *const *changes, size_t count,
                          struct expected *expected)
{
    struct test_case *changed;
    *expected = (struct expected){0};
    if (param_change_apply(&changed, look->sets[0], changes, count, NULL))
        return -1;
    const struct model *model = test_case_model(changed, NULL);
    int status = model ? expected_compute(expected, model, model->graph->n_node > 1, changed->inputs,
                                          changed->n_inputs)
                       : -1;
    test_case_free(changed);
    return status;
}

static bool is_change_of(const struct examination *look, size_t number, const struct weighed *one)
{
    const struct param_change *change = &look->changes.items[number];
    return change->param == one->param && change->node == one->node && change->way != WAY_RESPELLED &&
           look->ends[number] != CHANGE_INVALID;
}

/* Whether, after this change, every value of a gives the same answer. */
static bool is_idle_after(struct examination *look, const struct param_change *change,
                          const struct weighed *a)
{
    const struct param_change *both[2] = {change};
    struct expected one, two;
    size_t same = 0, other = 0;
    if (expect_changed(look, both, 1, &one))
        return false;
    for (size_t i = 0; i < look->n_params && !other; i++) {
        both[1] = &look->changes.items[i];
        if (!is_change_of(look, i, a) || expect_changed(look, both, 2, &two))
            continue;
        if (difference(&one, &two) > 0)
            other++;
        else
            same++;
        expected_release(&two);
    }
    expected_release(&one);
    return same && !other;
}

/*
 * Whether a means something only for the present value of b: whenever b is cured, no value of a changes the
 * answer (nearest_mode without mode=nearest, dilations of a kernel of size 1). Then a says more of the
 * failure.
 */
static bool is_inside(struct examination *look, const struct weighed *a, const struct weighed *b)
{
    size_t cures = 0;
    for (size_t i = 0; i < look->n_params && a->node == b->node && a->differs > 0; i++) {
        if (!is_change_of(look, i, b) || look->ends[i] != CHANGE_CURES)
            continue;
        if (!is_idle_after(look, &look->changes.items[i], a))
            return false;
        cures++;
    }
    return cures > 0;
}

/* The marks by which the cause is chosen among parameters with a cure, most important first. */
enum { MARKS = 7 };

static void marks_of(const struct examination *look, const struct weighed *one, bool marks[MARKS])
{
    bool respelled = !(one->differs > 0);
    const bool all[MARKS] = {
        respelled && look->changes.items[one->best].alone, /* the same node, spelled otherwise, cures */
        is_switch(one),
        respelled, /* the same by other nodes */
        one->by_default,
        !one->keeps && one->same_shape, /* every other value cures */
        one->same_shape,
        !one->plain,
    };
    memcpy(marks, all, sizeof all);
}

/* Whether a is more to blame than b; both have a cure. */
static bool outweighs(struct examination *look, const struct weighed *a, const struct weighed *b)
{
    enum { EVERY = 1000 };
    bool x[MARKS], y[MARKS];
    marks_of(look, a, x);
    marks_of(look, b, y);
    if (x[0] != y[0])
        return x[0];
    bool inside = is_inside(look, a, b);
    if (inside != is_inside(look, b, a))
        return inside;
    for (size_t i = 1; i < MARKS; i++)
        if (x[i] != y[i])
            return x[i];
    if (fabs(a->differs - b->differs) > 0.05)
        return a->differs < b->differs;
    return a->cures * EVERY / (a->cures + a->keeps) > b->cures * EVERY / (b->cures + b->keeps);
}

static struct cause_value value_of(const struct examination *look, const struct weighed *one)
{
    const size_t *nodes = look->options->nodes;
    return (struct cause_value){nodes ? nodes[one->node] : one->node, one->param->name, one->present};
}

static void name_cure(struct examination *look, const struct param_change *change)
{
    if (change->way == WAY_RESPELLED)
        look->cause->cure = arena_strdup(look->arena, change->value);
    else if (change->way == WAY_LEFT_OUT)
        look->cause->cure = arena_printf(look->arena, "leaving %s out", change->param->name);
    else
        look->cause->cure = arena_printf(look->arena, "%s=%s", change->param->name, change->value);
}

/*
 * A change that gives the answer another shape may cure because of the shape alone. Where data of another
 * size cures as well, such a change is believed only of a parameter with no value that keeps the failure,
 * when the default cures.
 */
static bool is_believed(const struct examination *look, const struct weighed *one)
{
    return one->cures && (!look->size_matters || one->same_shape || (!one->keeps && one->by_default));
}

/*
 * Other elements of an input are other data. Where several nodes fail together, which depends on what their
 * values happen to be (a tie, say), a cure by such elements proves little.
 */
static bool is_other_data(const struct examination *look, const struct param_change *change)
{
    const struct model *part = test_case_model(look->sets[0], NULL);
    return part && part->graph->n_node > 1 && (change->way == WAY_INPUT || change->way == WAY_SPREAD);
}

static void name_parameter(struct examination *look)
{
    struct cause *cause = look->cause;
    const struct weighed *chosen = NULL;
    for (size_t i = 0; i < look->n_weighed; i++)
        if (is_believed(look, &look->weighed[i]) && (!chosen || outweighs(look, &look->weighed[i], chosen)))
            chosen = &look->weighed[i];
    if (!chosen)
        return;
    cause->kind = CAUSE_PARAMETER;
    cause->n_parameters = 1;
    cause->parameters = arena_array(look->arena, 1, sizeof *cause->parameters);
    cause->parameters[0] = value_of(look, chosen);
    cause->conditions = arena_array(look->arena, look->n_weighed, sizeof *cause->conditions);
    for (size_t i = 0; i < look->n_weighed; i++)
        if (look->weighed[i].cures && &look->weighed[i] != chosen)
            cause->conditions[cause->n_conditions++] = value_of(look, &look->weighed[i]);
    name_cure(look, &look->changes.items[chosen->best]);
    cause->certain =
        (!cause->by_data || chosen->differs <= 0) && !is_other_data(look, &look->changes.items[chosen->best]);
}

/* --- Several parameters together --- */

/* One change a parameter: the default where there is one, otherwise the first that is valid. */
struct several {
    struct examination *look;
    size_t count;
    const struct param_change **changes;
};

static long first_cure(void *context, const bool *const *candidates, size_t count)
{
    struct several *several = context;
    const struct param_change **chosen = memory_zeroed(several->count, sizeof *chosen);
    long found = (long)count;
    for (size_t c = 0; c < count && found == (long)count; c++) {
        size_t n = 0;
        double differs;
        for (size_t i = 0; i < several->count; i++)
            if (candidates[c][i])
                chosen[n++] = several->changes[i];
        if (n && try_changes(several->look, chosen, n, &differs) == CHANGE_CURES)
            found = (long)c;
        if (several->look->broken || is_late(several->look))
            found = -1;
    }
    free(chosen);
    return found;
}

static void choose_several(struct several *several)
{
    struct examination *look = several->look;
    for (size_t w = 0; w < look->n_weighed; w++) {
        const struct param_change *chosen = NULL;
        for (size_t i = 0; i < look->n_params; i++) {
            const struct param_change *change = &look->changes.items[i];
            if (change->node != look->weighed[w].node || change->param != look->weighed[w].param ||
                change->way == WAY_RESPELLED || look->ends[i] == CHANGE_INVALID)
                continue;
            if (!chosen || (change->plain && !chosen->plain))
                chosen = change;
        }
        if (chosen)
            several->changes[several->count++] = chosen;
    }
}

static void name_set(struct examination *look)
{
    struct several several = {.look = look};
    struct cause *cause = look->cause;
    several.changes = memory_zeroed(look->n_weighed, sizeof *several.changes);
    choose_several(&several);
    bool *kept = memory_zeroed(several.count + 1, sizeof *kept);
    memset(kept, true, several.count * sizeof *kept);
    const bool *all = kept;
    if (several.count > 1 && first_cure(&several, &all, 1) == 0 &&
        ddmin(kept, several.count, first_cure, &several) == 0) {
        cause->kind = CAUSE_SET;
        cause->certain = !cause->by_data;
        cause->parameters = arena_array(look->arena, several.count, sizeof *cause->parameters);
        for (size_t i = 0; i < several.count; i++)
            if (kept[i])
                cause->parameters[cause->n_parameters++] =
                    value_of(look, weighed_of(look, several.changes[i]));
    }
    free(kept);
    free(several.changes);
}

/* --- The whole search --- */

static void try_all(struct examination *look, size_t from, size_t to)
{
    for (size_t i = from; i < to && !look->broken && !is_late(look); i++) {
        const struct param_change *change = &look->changes.items[i];
        look->ends[i] = try_changes(look, &change, 1, &look->differs[i]);
    }
}

/* With a size of 1 most faults cannot show. */
static bool is_size_one(const struct param_change *change)
{
    const char *comma = strchr(change->text, ',');
    return comma && strcmp(comma, ",1") == 0;
}

/* What matters besides parameters: an element type or a size. */
static void look_at_form(struct examination *look)
{
    try_all(look, look->n_params, look->changes.count);
    for (size_t i = look->n_params; i < look->changes.count; i++) {
        const struct param_change *change = &look->changes.items[i];
        if (look->ends[i] != CHANGE_CURES)
            continue;
        look->size_matters = look->size_matters || (change->way == WAY_SIZE && !is_size_one(change));
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
            .equivalent = look->differs[i] <= 0,
            .rule = change->way == WAY_RESPELLED ? arena_strdup(look->arena, change->text) : NULL,
        };
    }
}

/* The part as it is. False when it does not fail by itself. */
static bool look_at_part(struct examination *look)
{
    struct attempt attempt;
    const struct test_case *part = look->sets[0];
    const struct model *model = test_case_model(part, NULL);
    struct result result;
    bool fused = model->graph->n_node > 1, fails = false;
    result_init(&result);
    if (!expected_compute(&look->expected, model, fused, part->inputs, part->n_inputs) &&
        !under_test_run(look->test, model, part->inputs, part->n_inputs, 0, &result)) {
        look->outcome = result.outcome;
        if (result.outcome == OUTCOME_OK)
            expected_judge(&look->expected, model, &result, &look->verdict);
        else
            look->verdict.kind = verdict_of_outcome(result.outcome);
        fails = verdict_is_finding(look->verdict.kind) && !verdict_row(look->verdict.kind)->to_deadline;
    }
    result_release(&result);
    size_t failing = 0;
    for (size_t set = 1; set < SETS && fails; set++) {
        run_attempt(look, look->sets[set], false, &attempt);
        failing += attempt.end == CHANGE_KEEPS;
        expected_release(&attempt.expected);
    }
    look->cause->by_data = !failing;
    return fails;
}

static void search_cause(struct examination *look)
{
    struct cause *cause = look->cause;
    if (!look_at_part(look)) {
        cause->text = "the node does not fail by itself, on the inputs it had";
        return;
    }
    param_changes_init(&look->changes, look->sets[0]);
    look->n_params = look->changes.count;
    param_changes_of_form(&look->changes, look->sets[0]);
    look->ends = memory_zeroed(look->changes.count + 1, sizeof *look->ends);
    look->differs = memory_zeroed(look->changes.count + 1, sizeof *look->differs);
    look->weighed = memory_zeroed(look->changes.count + 1, sizeof *look->weighed);
    try_all(look, 0, look->n_params);
    for (size_t i = 0; i < look->n_params; i++)
        weigh_change(look, i);
    bool sure = false;
    for (size_t i = 0; i < look->n_weighed; i++)
        sure = sure || (look->weighed[i].cures && !(look->weighed[i].differs > 0));
    if (!sure) /* then no size can be the reason */
        look_at_form(look);
    if (look->broken || is_late(look)) {
        cause->text = "there was not enough time to try all values";
        return;
    }
    name_parameter(look);
    bool any = false;
    for (size_t i = 0; i < look->n_weighed; i++)
        any = any || look->weighed[i].cures;
    if (!any)
        name_set(look);
    if (cause->kind == CAUSE_UNKNOWN && !is_late(look)) {
        cause->kind = CAUSE_OPERATOR;
        cause->certain = true;
    }
    keep_tries(look);
}

/* --- Words --- */

static void put_value(struct str *out, const struct cause_value *value)
{
    if (text_equal(value->value, "left out"))
        str_printf(out, "%s left out", value->parameter);
    else
        str_printf(out, "%s=%s", value->parameter, value->value);
}

/* The conditions that are not the default, at most two: the others are in the JSON. */
static void put_conditions(const struct examination *look, struct str *out)
{
    enum { SHOWN = 2 };
    size_t shown = 0;
    for (size_t i = 0; i < look->n_weighed && shown < SHOWN; i++) {
        const struct weighed *one = &look->weighed[i];
        struct cause_value value = value_of(look, one);
        if (!one->cures || one->plain || one->param->kind == PARAM_INPUT ||
            text_equal(value.parameter, look->cause->parameters[0].parameter))
            continue;
        str_add(out, shown++ ? " and " : " with ");
        put_value(out, &value);
    }
}

static void put_rest(const struct examination *look, struct str *out)
{
    const struct cause *cause = look->cause;
    if (cause->kind == CAUSE_PARAMETER) {
        put_value(out, &cause->parameters[0]);
        put_conditions(look, out);
        str_printf(out, "; cured by %s", cause->cure);
    } else if (cause->kind == CAUSE_SET) {
        for (size_t i = 0; i < cause->n_parameters; i++) {
            str_add(out, i ? " together with " : "");
            put_value(out, &cause->parameters[i]);
        }
        str_add(out, "; cured only by changing all of them");
    } else {
        size_t tried = 0;
        for (size_t i = 0; i < look->n_params; i++)
            tried += look->ends[i] == CHANGE_KEEPS;
        if (tried)
            str_printf(out, "whatever its parameters (%zu other values keep it)", tried);
        else
            str_add(out, "it has no parameters that could be changed");
        if (cause->form)
            str_printf(out, "; cured by %s", cause->form);
    }
    if (cause->by_data)
        str_add(out, "; other data of the same kind does not show it");
}

static void describe(struct examination *look)
{
    const struct model *model = test_case_model(look->sets[0], NULL);
    struct str text;
    if (look->cause->kind == CAUSE_UNKNOWN)
        return;
    str_init(&text);
    const Onnx__NodeProto *node = model->graph->node[0];
    for (size_t i = 0; i < look->n_weighed && look->cause->n_parameters; i++)
        if (value_of(look, &look->weighed[i]).node == look->cause->parameters[0].node)
            node = model->graph->node[look->weighed[i].node];
    str_printf(&text, "%s `%.80s`: ", node->op_type, model_node_name(node));
    size_t head = text.length - strlen("`: ");
    put_rest(look, &text);
    for (size_t i = 0; i < text.length; i++) { /* names and values come from the model */
        bool inner = i > strlen(node->op_type) + 1 && i < head;
        if ((unsigned char)text.data[i] < ' ' || (inner && text.data[i] == '`'))
            text.data[i] = '?';
    }
    look->cause->text = arena_strdup(look->arena, text.data);
    str_release(&text);
}

int cause_find(struct cause *cause, struct under_test *test, struct test_case *part,
               const struct cause_options *options, struct arena *arena, struct error *err)
{
    struct examination look = {.cause = cause, .test = test, .options = options, .arena = arena, .err = err};
    *cause = (struct cause){.text = ""};
    look.until = options->seconds > 0 ? clock_seconds() + options->seconds : INFINITY;
    look.sets[0] = test_case_share(part);
    int status = test_case_model(part, err) ? 0 : -1;
    for (size_t set = 1; set < SETS && !status; set++)
        status = similar_data(&look.sets[set], part, set, err);
    if (!status)
        search_cause(&look);
    if (!status)
        describe(&look);
    for (size_t set = 0; set < SETS; set++)
        test_case_free(look.sets[set]);
    expected_release(&look.expected);
    param_changes_release(&look.changes);
    free(look.ends);
    free(look.differs);
    free(look.weighed);
    return status || look.broken ? -1 : 0;
}
