#include "campaign/experiments.h"

#include "base/clock.h"
#include "base/memory.h"
#include "campaign/other_data.h"
#include "engine/label.h"
#include "locate/localize.h"
#include "releases/bisect.h"
#include "rules/rewriting.h"

#include <stdlib.h>
#include <string.h>

enum {
    CAUSE_SECONDS = 10,
    FORM_SECONDS = 5,
    LARGE = 16, /* nodes: what cures a larger model need not be about its cause */
};

/* Rules whose cure names a class of inputs or nodes that the failure needs, not merely another operator. */
static const char form_rules[] = "initializer-as-input,input-as-initializer,inputs-as-initializers,"
                                 "broadcast-expanded,pairwise,other-type,defaults,value-info,identity";

/* Other data, and what it is called as a cure (findings/evidence.h). */
static const struct {
    const char *cure;
    struct test_case *(*make)(const struct test_case *test);
} data[] = {
    {"axes-sorted", other_data_axes_sorted}, {"expanded", other_data_expanded},
    {"finite", other_data_finite},           {"above-lowest", other_data_above_lowest},
    {"filled", other_data_filled},           {"ranked", other_data_ranked},
    {"two-dims", other_data_two_dims},
};

#define CURE_TYPE "another-type"

static const struct verdict *verdict_of(const struct trial_done *done)
{
    return &done->judgement.verdicts[0];
}

static void join(struct str *out, const char *word)
{
    str_printf(out, "%s%s", out->length ? "+" : "", word);
}

/* Whether the engine computes the case right. Gives up the case. */
static bool is_right(const struct experiments *how, struct test_case *test)
{
    struct panel alone = *how->panel;
    struct trial_done done;
    if (!test)
        return false;
    alone.count = 1;
    /* What ends an engine may have spoilt its memory for the next case. */
    struct trials *trials = trials_new(&(struct trial_options){.panel = &alone, .fresh = how->deadly});
    bool right = trials_submit(trials, test, NULL, NULL) == 0 && trials_next(trials, &done, NULL) == 1;
    if (right) {
        right = verdict_is(verdict_of(&done)->kind, CLASS_AGREES);
        trial_done_release(&done);
    }
    trials_free(trials);
    return right;
}

/* The words of a list, such as activations, each of which must be there for the failure; "" when it is no
 * list of words, or none is to blame by itself. */
static const char *words_to_blame(const struct experiments *how, const struct test_case *test,
                                  const struct cause_value *list, struct arena *arena)
{
    static const char *const plain[] = {"Tanh", "Sigmoid"}; /* recurrent operators alone have such lists */
    struct str words;
    char *text = arena_strdup(arena, list->value), *save = NULL;
    size_t index = 0;
    str_init(&words);
    for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save), index++)
        if (!strstr(words.data, word) &&
            is_right(how, other_data_word(test, list->node, list->parameter, index, plain[0])) &&
            is_right(how, other_data_word(test, list->node, list->parameter, index, plain[1])))
            join(&words, word);
    const char *blamed = arena_strdup(arena, words.data);
    str_release(&words);
    return blamed;
}

/* Where other data does not show the failure, a parameter is not certain, but single words of a list are: the
 * others keep it. */
static void note_parameters(const struct experiments *how, const struct test_case *test,
                            const struct cause *cause, struct finding_evidence *evidence)
{
    const struct model *model = test_case_model(test, NULL);
    const struct cause_value *first = cause->parameters;
    if (!cause->n_parameters || first->node >= model->graph->n_node)
        return;
    const char *words = words_to_blame(how, test, first, &evidence->arena);
    if (!cause->certain && (!*words || strchr(words, '+')))
        return;
    struct str names;
    str_init(&names);
    for (size_t i = 0; i < cause->n_parameters; i++)
        join(&names, cause->parameters[i].parameter);
    evidence->parameter = arena_strdup(&evidence->arena, names.data);
    evidence->value = *words ? words : arena_strdup(&evidence->arena, first->value);
    evidence->owner = arena_strdup(&evidence->arena, model->graph->node[first->node]->op_type);
    str_release(&names);
}

/* The parameter that makes the case fail. */
static char *vary_parameters(const struct experiments *how, const struct test_case *test,
                             struct finding_evidence *evidence)
{
    struct localization found = {0};
    struct localize_case where = {.pool = how->panel->pool,
                                  .engine = how->panel->engines[0],
                                  .test = test,
                                  .method = LOCALIZE_LOCAL | LOCALIZE_CAUSE,
                                  .cause_seconds = CAUSE_SECONDS};
    char *text = NULL;
    if (!localize(&found, &where, NULL)) {
        const struct cause *cause = &found.cause;
        evidence->by_operator = cause->certain && cause->kind == CAUSE_OPERATOR;
        if (cause->form && dtype_from_name(cause->form) != DTYPE_NONE)
            evidence->cures = *evidence->cures
                                  ? arena_printf(&evidence->arena, "%s+" CURE_TYPE, evidence->cures)
                                  : CURE_TYPE;
        note_parameters(how, test, cause, evidence);
        if (cause->certain && cause->n_parameters)
            text = memory_strdup(cause->text);
    }
    localization_release(&found);
    return text;
}

/* The case in an equivalent form, as if it had never been another; NULL when the rule does not apply. */
static struct test_case *rewritten_alone(struct test_case *test, const char *step)
{
    struct test_case *rewritten = NULL, *alone = NULL;
    if (rewriting_apply(test, step, &rewritten, NULL) == 1) {
        alone = test_case_same_model(rewritten);
        if (test_case_add_inputs(alone, rewritten->inputs, rewritten->n_inputs, NULL)) {
            test_case_free(alone);
            alone = NULL;
        }
        test_case_free(rewritten);
    }
    return alone;
}

static void try_forms(const struct experiments *how, struct test_case *test,
                      struct finding_evidence *evidence)
{
    struct rewriting_steps steps = {0};
    struct rule_choice choice = {.rules = form_rules, .no_runs = true};
    struct str cures;
    double start = clock_seconds();
    const struct rule *last = NULL; /* the steps of a rule stand together; one cure of it is enough */
    str_init(&cures);
    if (rewriting_steps(&steps, test, &choice, NULL) == 0)
        for (size_t i = 0; i < steps.count && clock_seconds() - start < FORM_SECONDS; i++) {
            if (steps.rules[i] == last || !is_right(how, rewritten_alone(test, steps.steps[i])))
                continue;
            join(&cures, steps.rules[i]->name);
            last = steps.rules[i];
        }
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        if (is_right(how, data[i].make(test)))
            join(&cures, data[i].cure);
    evidence->cures = arena_strdup(&evidence->arena, cures.data);
    rewriting_steps_free(&steps);
    str_release(&cures);
}

static bool has_passes(const struct experiments *how)
{
    const Assay__Welcome *welcome = panel_engine(how->panel, 0)->welcome;
    for (size_t i = 0; welcome && i < welcome->n_knobs; i++)
        if (strchr(welcome->knobs[i]->values, '+')) /* releases/bisect.h */
            return true;
    return false;
}

/* Which optimiser passes must be switched off, on the release of the campaign. */
static void leave_out_passes(const struct experiments *how, struct test_case *test,
                             struct finding_evidence *evidence)
{
    struct bisect bisect;
    struct bisect_options options = {
        .registry = how->registry, .engine = panel_engine(how->panel, 0)->label, .passes_only = true};
    if (!how->registry || !label_parse(options.engine).version.text || !has_passes(how))
        return;
    if (bisect_run(&bisect, test, &options, NULL) == 0) {
        struct str passes;
        str_init(&passes);
        for (size_t i = 0; i < bisect.n_blamed; i++)
            join(&passes, bisect.blamed[i]);
        evidence->passes = arena_strdup(&evidence->arena, passes.data);
        str_release(&passes);
    }
    bisect_release(&bisect);
}

/* The first output of a wrong element type, as it came. */
static const char *type_made(const struct trial_done *done)
{
    const struct result *result = &done->results[0], *reference = &done->reference;
    for (size_t i = 0; i < result->count && i < reference->count; i++) {
        const struct value *got = &result->outputs[i], *right = &reference->outputs[i];
        if (got->kind == VALUE_TENSOR && right->kind == VALUE_TENSOR &&
            got->tensors[0].type != right->tensors[0].type)
            return dtype_name(got->tensors[0].type);
    }
    return "";
}

char *experiments_run(const struct experiments *how, const struct trial_done *done,
                      struct finding_evidence *evidence)
{
    const struct verdict *verdict = verdict_of(done);
    const struct test_case *subject = trial_done_subject(done, 0);
    const struct model *model = test_case_model(subject, NULL);
    if (!model || model->graph->n_node > LARGE || done->test->equivalence || subject->gradient ||
        !verdict_is(verdict->kind, CLASS_WRONG_ANSWER | CLASS_NO_ANSWER) ||
        verdict_row(verdict->kind)->to_deadline)
        return NULL;
    struct experiments own = *how;
    own.deadly = verdict_is(verdict->kind, CLASS_DEATH);
    evidence->no_inputs = subject->n_inputs == 0;
    evidence->made = type_made(done);
    leave_out_passes(&own, done->test, evidence);
    try_forms(&own, done->test, evidence);
    return vary_parameters(&own, subject, evidence);
}
