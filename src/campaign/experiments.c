#include "campaign/experiments.h"

#include "base/clock.h"
#include "base/memory.h"
#include "campaign/as_columns.h"
#include "campaign/constant_nodes.h"
#include "campaign/elsewhere.h"
#include "campaign/experiment_trial.h"
#include "campaign/integer_constants.h"
#include "campaign/made_lists.h"
#include "campaign/node_alone.h"
#include "campaign/other_data.h"
#include "campaign/stand_in.h"
#include "engine/label.h"
#include "findings/signature.h"
#include "judge/message.h"
#include "locate/localize.h"
#include "ops/op.h"
#include "releases/bisect.h"
#include "rules/rewriting.h"

#include <stdlib.h>
#include <string.h>

enum {
    CAUSE_SECONDS = 60, /* for a machine that has much else to do */
    FORM_SECONDS = 60,
    LARGE = 16, /* nodes: what cures a larger model need not be about its cause */
};

/* Rules whose cure names a class of inputs or nodes that the failure needs, not merely another operator. */
static const char form_rules[] = "initializer-as-input,other-type";

/* Other data, and what it is called as a cure (findings/evidence.h). */
static const struct {
    const char *cure;
    struct test_case *(*make)(const struct test_case *test);
    bool other_failure; /* of no answer, another failure is a cure, too: that of another bug */
    bool same_meaning;  /* of an engine that ends, any other failure is a cure: it lives */
    bool formal;        /* of wrong numbers, zeros that agree are a cure, too: the wrong ones are left out */
    struct test_case *(*also)(const struct test_case *test); /* must cure as well, where it can be made */
} data[] = {
    {"axes-forward", other_data_axes_forward, .same_meaning = true},
    {"axes-sorted", other_data_axes_sorted, .same_meaning = true},
    {"steps-forward", other_data_steps_forward, .other_failure = true},
    {"expanded", other_data_expanded},
    {"finite", other_data_finite},
    /* -infinity is lower than the lowest; but that a number is so large may be what matters */
    {"above-lowest", other_data_above_lowest, .also = other_data_largest},
    {"moderate", other_data_moderate},
    {"filled", other_data_filled},
    {"ranked", other_data_ranked},
    {"two-dims", other_data_two_dims},
    {"two-dims", other_data_all_two_dims},
    {"letters-kept", other_data_letters_kept},
    {"fewer-outputs", other_data_fewer_outputs, .other_failure = true, .formal = true},
};

#define CURE_SIZE "another-size"
#define CURE_CAST "constant-by-cast"
#define CURE_FED "fed"
#define CURE_COLUMNS "as-columns"
#define CURE_MADE "made-two-dims"
#define CURE_DEEPER "deeper"

/* Classes of inputs that may be at fault whatever the operator, and the cure that names them. */
static const struct {
    const char *name, *cure;
} classes[ELSEWHERE_CLASSES] = {
    [ELSEWHERE_CONSTANTS] = {"constants", CURE_FED},
    [ELSEWHERE_LISTS] = {"lists", "two-dims"},
};

static const struct verdict *verdict_of(const struct trial_done *done)
{
    return &done->judgement.verdicts[0];
}

static void join(struct str *out, const char *word)
{
    str_printf(out, "%s%s", out->length ? "+" : "", word);
}

enum answer {
    ANSWER_UNKNOWN, /* not asked, or it cannot be judged, or the engine says that it lacks something */
    ANSWER_SAME,    /* refused, or the engine ended, as on the case itself */
    ANSWER_FAILURE, /* the same in another way */
    ANSWER_WRONG,
    ANSWER_RIGHT
};

/* The message of a case without an answer, as in its signature; "" when there is an answer. */
static void message_of(const struct experiments *how, const struct trial_done *done,
                       struct signature *signature)
{
    const struct engine_info *info = panel_engine(how->panel, 0);
    if (!verdict_is(verdict_of(done)->kind, CLASS_NO_ANSWER) ||
        !signature_of_trial(signature, info->label, info->profile, done, 0))
        signature->message[0] = '\0';
}

/* Past the marks that tell, once each, that a message was passed on. */
static const char *skip_marks(const char *message)
{
    return message + strspn(message, "> ");
}

/* Of messages that are cut off, what is there of both counts. */
static bool same_words(const char *a, const char *b)
{
    const char *first = skip_marks(a), *second = skip_marks(b);
    while (*first && *first == *second) {
        first = skip_marks(first + 1);
        second = skip_marks(second + 1);
    }
    return (!*first || !*second) && (*first == *second || strlen(*first ? b : a) + 1 >= MESSAGE_LIMIT);
}

static enum answer answer_of(const struct experiments *how, const struct trial_done *done)
{
    enum verdict_kind kind = verdict_of(done)->kind;
    struct signature signature;
    /* Zeros alone, or elements of which ONNX says nothing, are no evidence of right numbers, but of an
     * answer, and of its shape. */
    bool formal = !how->of_numbers && ((kind == VERDICT_MISTRUSTED && verdict_of(done)->no_evidence) ||
                                       (verdict_is(kind, CLASS_UNJUDGED) && experiment_right_form(done)));
    if (verdict_is(kind, CLASS_AGREES) || formal || (!how->of_type && experiment_right_but_for_type(done)))
        return ANSWER_RIGHT;
    if (verdict_is(kind, CLASS_DEVIATES))
        return ANSWER_WRONG;
    if (how->deadly && verdict_is(kind, CLASS_OPEN) && !experiment_answered(done))
        return experiment_died(done) ? ANSWER_UNKNOWN : ANSWER_FAILURE; /* refused, as it may be */
    if (!how->message)
        return ANSWER_UNKNOWN;
    if (experiment_answered(done)) /* which cannot be judged; any is more than none */
        return ANSWER_WRONG;
    message_of(how, done, &signature);
    if (!*signature.message)
        return ANSWER_UNKNOWN;
    return same_words(signature.message, how->message) ? ANSWER_SAME : ANSWER_FAILURE;
}

/* What the engine makes of the case. Gives up the case. */
static enum answer answer_to(const struct experiments *how, struct test_case *test)
{
    struct trial_done done;
    enum answer answer = ANSWER_UNKNOWN;
    if (experiment_try(how, test, false, &done)) {
        answer = answer_of(how, &done);
        trial_done_release(&done);
    }
    return answer;
}

static bool is_right(const struct experiments *how, struct test_case *test)
{
    return answer_to(how, test) == ANSWER_RIGHT;
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
    evidence->owner = arena_strdup(&evidence->arena, op_title(model->graph->node[first->node]));
    str_release(&names);
}

static void add_cure(struct finding_evidence *evidence, const char *cure)
{
    const char *before = evidence->cures;
    evidence->cures = arena_printf(&evidence->arena, "%s%s%s", before, *before ? "+" : "", cure);
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
        if (cause->of_sizes)
            add_cure(evidence, CURE_SIZE);
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

/* The same with a rule about one value. */
static struct test_case *rewritten_at(struct test_case *test, const char *rule, const char *value)
{
    struct str step;
    str_init(&step);
    str_printf(&step, "%s@%s", rule, value);
    struct test_case *alone = rewritten_alone(test, step.data);
    str_release(&step);
    return alone;
}

/* The element type of the constant that a step "initializer-as-input@NAME" makes an input; "" of others. */
static const char *constant_type(const struct test_case *test, const char *step)
{
    static const char rule[] = "initializer-as-input@";
    const struct model *model = test_case_model(test, NULL);
    for (size_t i = 0; strncmp(step, rule, sizeof rule - 1) == 0 && i < model->graph->n_initializer; i++)
        if (text_equal(model->graph->initializer[i]->name, step + sizeof rule - 1))
            return dtype_name((enum dtype)model->graph->initializer[i]->data_type);
    return "";
}

static void try_rules(const struct experiments *how, struct test_case *test, struct str *cures,
                      struct finding_evidence *evidence)
{
    struct rewriting_steps steps = {0};
    struct rule_choice choice = {.rules = form_rules, .no_runs = true};
    double start = clock_seconds();
    const struct rule *last = NULL; /* the steps of a rule stand together; one cure of it is enough */
    if (rewriting_steps(&steps, test, &choice, NULL) == 0)
        for (size_t i = 0; i < steps.count && clock_seconds() - start < FORM_SECONDS; i++) {
            if (steps.rules[i] == last || !is_right(how, rewritten_alone(test, steps.steps[i])))
                continue;
            join(cures, steps.rules[i]->name);
            if (!*evidence->constant)
                evidence->constant = constant_type(test, steps.steps[i]);
            last = steps.rules[i];
        }
    rewriting_steps_free(&steps);
}

/* Whether all that the first node of the case lacks is a variable: it is right with one in the place of its
 * first constant. Where rows in the place of lists are right, these are what matters. */
static bool lacks_variable(const struct experiments *how, const struct test_case *alone)
{
    return (is_right(how, constant_nodes_fed(alone, 0, false)) ||
            is_right(how, constant_nodes_fed(alone, 0, true))) &&
           !is_right(how, other_data_rows(alone));
}

/* Whether the node gives no answer on constants alone, even where they are right, for lack of a variable. */
static bool fails_on_constants(const struct experiments *how, const struct node_values *values, size_t node)
{
    struct test_case *alone = node_alone(values, node, false);
    enum answer answer = alone ? answer_to(how, test_case_share(alone)) : ANSWER_UNKNOWN;
    bool fails = (answer == ANSWER_SAME || answer == ANSWER_FAILURE) && lacks_variable(how, alone);
    test_case_free(alone);
    return fails;
}

/* Whether the node is wrong on constants alone, or fails in another way than the case and not for lack of a
 * variable. */
static bool folds_wrong_alone(const struct experiments *how, const struct node_values *values, size_t node)
{
    struct test_case *alone = node_alone(values, node, false);
    enum answer answer = alone ? answer_to(how, test_case_share(alone)) : ANSWER_UNKNOWN;
    bool wrong = answer == ANSWER_WRONG || (answer == ANSWER_FAILURE && !lacks_variable(how, alone));
    test_case_free(alone);
    return wrong;
}

/* Whether some node does: then it is no variable that lacks, and a node behind it that is fed only does
 * without it. */
static bool folds_wrong(const struct experiments *how, const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    double start = clock_seconds();
    bool wrong = false;
    struct node_values *values = model->graph->n_node > 1 ? node_values_new(test) : NULL;
    for (size_t i = 0; values && !wrong && i < model->graph->n_node && clock_seconds() - start < FORM_SECONDS;
         i++) {
        if (!node_values_constant(values, i) || constant_nodes_is_added(model->graph->node[i]))
            continue;
        wrong = folds_wrong_alone(how, values, i);
    }
    node_values_free(values);
    return wrong;
}

/* Of no answer, any answer is the cure, and so is another failure: they are other bugs. *proved: the node
 * that is fed fails on constants alone by itself, whatever those in front of it make. */
static bool is_cured_by_feeding(const struct experiments *how, const struct test_case *test, bool *proved)
{
    const struct model *model = test_case_model(test, NULL);
    double start = clock_seconds();
    bool cured = false;
    struct node_values *values = model->graph->n_node > 1 ? node_values_new(test) : NULL;
    for (size_t i = 0; !*proved && i < model->graph->n_node && clock_seconds() - start < FORM_SECONDS; i++) {
        bool fed = false;
        for (int cast = 0; cast < 2 && !fed; cast++) /* the engine may have no inputs of that type */
            fed = answer_to(how, constant_nodes_fed(test, i, cast)) >= ANSWER_FAILURE;
        cured |= fed;
        *proved = fed && values && fails_on_constants(how, values, i);
    }
    node_values_free(values);
    return cured;
}

static struct test_case *try_constants_of(const struct experiments *how, struct test_case *test,
                                          struct str *cures)
{
    struct test_case *with = constant_nodes_with_variables(test);
    enum answer answer = with ? answer_to(how, test_case_share(with)) : ANSWER_UNKNOWN;
    if (constant_nodes_alone(test) && (answer == ANSWER_WRONG || answer == ANSWER_RIGHT)) {
        test_case_free(with); /* that it computes constants alone is all there is to say */
        return NULL;
    }
    bool proved = false, fed = is_cured_by_feeding(how, test, &proved) ||
                               (answer == ANSWER_SAME && is_cured_by_feeding(how, with, &proved));
    /* Behind constants a node on variables may fail for what they are. */
    if (fed && (proved || (constant_nodes_alone(test) && !folds_wrong(how, test))))
        join(cures, CURE_FED);
    if (answer == ANSWER_SAME && !test->n_inputs)
        return with;
    test_case_free(with);
    return test_case_share(test);
}

/*
 * Without an answer, constants are looked into: they may be all that the model computes, or that a node does.
 * A model whose failure is that of any constant is of the first kind. Returns the case for further
 * experiments, a share that the caller gives up; NULL when none is needed.
 */
static struct test_case *try_constants(const struct experiments *how, struct test_case *test,
                                       struct str *cures)
{
    if (!how->message || answer_to(how, elsewhere_constant()) == ANSWER_SAME)
        return test_case_share(test);
    struct test_case *filled = constant_nodes_alone(test) ? other_data_filled(test) : NULL;
    if (filled &&
        answer_to(how, test_case_share(filled)) == ANSWER_SAME) { /* that it is empty is no matter */
        struct test_case *base = try_constants_of(how, filled, cures);
        test_case_free(filled);
        return base;
    }
    test_case_free(filled);
    return try_constants_of(how, test, cures);
}

/* Whether rows or columns in the place of lists that nodes make are the cure, and not the node that makes
 * rows or columns of them. */
static bool is_cured_of_lists(const struct experiments *how, const struct node_values *values, size_t node)
{
    if (!is_right(how, made_lists_as(values, node, MADE_ROWS)) &&
        !is_right(how, made_lists_as(values, node, MADE_COLUMNS)))
        return false;
    enum answer control = answer_to(how, made_lists_as(values, node, MADE_LISTS));
    return control != ANSWER_UNKNOWN && control != ANSWER_RIGHT;
}

/* All lists that nodes make, or those of one node where the others must stay as they are. */
static bool tells_of_made_lists(const struct experiments *how, const struct test_case *test)
{
    size_t nodes = test_case_model(test, NULL)->graph->n_node;
    double start = clock_seconds();
    struct node_values *values = nodes > 1 ? node_values_new(test) : NULL;
    bool cured = values && (is_cured_of_lists(how, values, MADE_OR_GIVEN) ||
                            is_cured_of_lists(how, values, MADE_BY_ALL));
    for (size_t i = 0; values && !cured && i < nodes && clock_seconds() - start < FORM_SECONDS; i++)
        cured = is_cured_of_lists(how, values, i);
    node_values_free(values);
    return cured;
}

/* Where a constant cannot be an input, other forms tell whether it is read wrong. */
static void try_integers(const struct experiments *how, const struct trial_done *done, struct str *cures,
                         struct finding_evidence *evidence)
{
    const char *type = *evidence->constant ? NULL : integer_constants_misread(how, done);
    if (!type)
        return;
    join(cures, CURE_CAST);
    evidence->constant = type;
}

static bool is_cured_by_data(const struct experiments *how, const struct test_case *base, size_t number)
{
    bool failure = (data[number].other_failure && how->message) || (data[number].same_meaning && how->deadly);
    struct experiments own = *how;
    own.of_numbers &= !data[number].formal;
    if (answer_to(&own, data[number].make(base)) < (failure ? ANSWER_FAILURE : ANSWER_RIGHT))
        return false;
    struct test_case *other = data[number].also ? data[number].also(base) : NULL;
    return !other || is_right(how, other);
}

static bool is_given(const struct test_case *test, const char *name)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (text_equal(test->inputs[i].name, name))
            return true;
    return false;
}

/*
 * Which input of a node must be a constant, where its data is none: "frozen-1" of weights. Other constants
 * among its inputs, its data say, may hide that: a form in which nothing but the data is given.
 */
static void freeze_inputs(const struct experiments *how, struct test_case *test, struct str *cures)
{
    const struct model *model = test_case_model(test, NULL);
    const Onnx__NodeProto *node = model->graph->n_node == 1 ? model->graph->node[0] : NULL;
    if (!node || !how->message || node->n_input < 2)
        return;
    struct test_case *base = is_given(test, node->input[0])
                                 ? test_case_share(test)
                                 : rewritten_at(test, "initializer-as-input", node->input[0]);
    bool found = !base || is_right(how, test_case_share(base));
    for (size_t i = 1; i < node->n_input && !found; i++) {
        if (!is_given(base, node->input[i]) || text_equal(node->input[i], node->input[0]))
            continue;
        found = is_right(how, rewritten_at(base, "input-as-initializer", node->input[i]));
        if (found)
            str_printf(cures, "%sfrozen-%zu", cures->length ? "+" : "", i);
    }
    test_case_free(base);
}

/* The case with inputs that are parameters, such as indices, as constants, where it fails alike: an engine
 * may have no inputs of their type, which is another matter. */
static struct test_case *without_given_parameters(const struct experiments *how, struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct test_case *base = test_case_share(test);
    for (size_t i = 0; i < test->n_inputs; i++) {
        if (!other_data_is_parameter(model, test->inputs[i].name))
            continue;
        struct test_case *other = rewritten_at(base, "input-as-initializer", test->inputs[i].name);
        if (other && answer_to(how, test_case_share(other)) == ANSWER_SAME) {
            test_case_free(base);
            base = other;
        } else
            test_case_free(other);
    }
    return base;
}

/* Whether a single node that is refused is right with a dimension more of all its data. Of answers, and of
 * several nodes, that proves too little: broadcasting and fusing hang on the number of dimensions, too. */
static bool is_cured_by_a_dimension(const struct experiments *how, const struct trial_done *done)
{
    struct test_case *test = done->test;
    if (!how->message || how->deadly || test_case_model(test, NULL)->graph->n_node != 1 ||
        experiment_gives_scalar(done))
        return false;
    struct test_case *base = without_given_parameters(how, test);
    bool cured = false;
    for (int way = 0; way < 4 && !cured; way++)
        cured = is_right(how, other_data_deeper(base, way % 2, way / 2));
    test_case_free(base);
    return cured;
}

static void try_forms(const struct experiments *how, const struct trial_done *done,
                      struct finding_evidence *evidence)
{
    struct test_case *test = done->test;
    struct str cures;
    str_init(&cures);
    struct test_case *base = try_constants(how, test, &cures);
    if (base)
        try_rules(how, base, &cures, evidence);
    try_integers(how, done, &cures, evidence);
    for (size_t i = 0; base && i < sizeof data / sizeof *data; i++)
        if (!evidence_has_word(cures.data, data[i].cure) && is_cured_by_data(how, base, i))
            join(&cures, data[i].cure);
    if (base)
        freeze_inputs(how, base, &cures);
    if (as_columns(how, done))
        join(&cures, CURE_COLUMNS);
    if (tells_of_made_lists(how, test))
        join(&cures, CURE_MADE);
    if (!cures.length && is_cured_by_a_dimension(how, done)) /* nothing narrower is */
        join(&cures, CURE_DEEPER);
    evidence->cures = arena_strdup(&evidence->arena, cures.data);
    test_case_free(base);
    str_release(&cures);
}

/* Whether the failure is gone when constants that the engine has to compute are given. Those that nodes of
 * one operator take tell most; in a large model, they alone do. */
static bool fold_constants_of(const struct experiments *how, const struct test_case *test,
                              struct finding_evidence *evidence)
{
    const Onnx__GraphProto *graph = test_case_model(test, NULL)->graph;
    const char *taker = NULL, *last = NULL;
    double start = clock_seconds();
    bool found = false;
    for (size_t i = 0;
         graph->n_node > 1 && !found && i < graph->n_node && clock_seconds() - start < FORM_SECONDS; i++) {
        const char *title = op_title(graph->node[i]);
        if (last && text_equal(title, last))
            continue;
        last = title;
        found = is_right(how, constant_nodes_folded(test, title, &taker));
    }
    if (!found && graph->n_node > 1 && graph->n_node <= LARGE)
        found = is_right(how, constant_nodes_folded(test, NULL, &taker));
    if (found)
        evidence->computed = arena_strdup(&evidence->arena, taker);
    return found;
}

/* A model without inputs is the same with them where it fails alike; then there are nodes that take
 * constants and compute something else. */
static void fold_constants(const struct experiments *how, const struct test_case *test,
                           struct finding_evidence *evidence)
{
    if (fold_constants_of(how, test, evidence) || !how->message)
        return;
    struct test_case *opened = constant_nodes_opened(test);
    if (opened && answer_to(how, test_case_share(opened)) == ANSWER_SAME)
        fold_constants_of(how, opened, evidence);
    test_case_free(opened);
}

static bool fails_elsewhere(const struct experiments *how, enum elsewhere_class class)
{
    struct experiments own = *how;
    size_t failing = 0;
    own.deadly = true; /* some operators may die of what others refuse */
    own.of_numbers = true;
    for (size_t i = 0; i < ELSEWHERE_OPERATORS && failing < ELSEWHERE_ENOUGH; i++)
        failing += is_right(&own, elsewhere_case(class, i, false)) &&
                   !is_right(&own, elsewhere_case(class, i, true));
    return failing == ELSEWHERE_ENOUGH;
}

/* Whether a cure by matrices of one row is about the lists. In a model of several nodes, none of which fails
 * by itself, another node's list may be what was changed; what gives a scalar gives none with a row, which
 * may be the cure: Squeeze of a list of one, or the product of two vectors; and the result must be the same.
 */
static bool tells_of_lists(const struct trial_done *done, const struct model *model)
{
    if (model->graph->n_node != 1 || experiment_gives_scalar(done))
        return false;
    struct test_case *rows = other_data_rows(done->test);
    bool same = rows && other_data_same_elements(done->test, rows);
    test_case_free(rows);
    return same;
}

/* Which classes of inputs, of those whose lack cures the case, or columns explain, other operators fail on as
 * well. */
static void look_elsewhere(const struct experiments *how, bool lists, struct finding_evidence *evidence)
{
    struct str general;
    str_init(&general);
    for (size_t i = 0; i < ELSEWHERE_CLASSES; i++) {
        bool columns = i == ELSEWHERE_LISTS &&
                       (evidence_has_cure(evidence, CURE_COLUMNS) || evidence_has_cure(evidence, CURE_MADE) ||
                        evidence_has_cure(evidence, CURE_DEEPER));
        bool cured = evidence_has_cure(evidence, classes[i].cure) && (i != ELSEWHERE_LISTS || lists);
        if ((columns || cured) && fails_elsewhere(how, (enum elsewhere_class)i))
            join(&general, classes[i].name);
    }
    evidence->general = arena_strdup(&evidence->arena, general.data);
    str_release(&general);
}

/* The names of the passes that the engine can leave out, "A+B"; NULL when it has none. */
static const char *passes_of(const struct experiments *how)
{
    const Assay__Welcome *welcome = panel_engine(how->panel, 0)->welcome;
    for (size_t i = 0; welcome && i < welcome->n_knobs; i++)
        if (strchr(welcome->knobs[i]->values, '+')) /* releases/bisect.h */
            return welcome->knobs[i]->values;
    return NULL;
}

/* The pass that the engine itself names as the place where it failed, as in "FuseReluClip::Apply"; NULL when
 * it names none. A pass in front may be all that brings the nodes together. */
static const char *named_pass(const struct experiments *how, const char *message, struct arena *arena)
{
    char *names = arena_strdup(arena, passes_of(how)), *save = NULL;
    for (char *name = strtok_r(names, "+|", &save); name; name = strtok_r(NULL, "+|", &save))
        if (message && strstr(message, arena_printf(arena, "::%s::", name)))
            return name;
    return NULL;
}

/* Which optimiser passes must be switched off, on the release of the campaign. */
static void leave_out_passes(const struct experiments *how, const struct trial_done *done,
                             struct finding_evidence *evidence)
{
    struct bisect bisect;
    struct bisect_options options = {
        .registry = how->registry, .engine = panel_engine(how->panel, 0)->spec->given, .passes_only = true};
    if (!how->registry || !label_parse(given_text(options.engine)).version.text || !passes_of(how))
        return;
    if (bisect_run(&bisect, done->test, &options, NULL) == 0) {
        struct str passes;
        str_init(&passes);
        const char *named =
            bisect.n_blamed ? named_pass(how, done->results[0].message, &evidence->arena) : NULL;
        if (named)
            join(&passes, named);
        for (size_t i = 0; !named && i < bisect.n_blamed; i++)
            join(&passes, bisect.blamed[i]);
        evidence->passes = arena_strdup(&evidence->arena, passes.data);
        str_release(&passes);
    }
    bisect_release(&bisect);
}

/* The first output of a wrong element type: which was wanted, and which came. */
static void note_types(const struct trial_done *done, struct finding_evidence *evidence)
{
    const struct result *result = &done->results[0], *reference = &done->reference;
    for (size_t i = 0; i < result->count && i < reference->count; i++) {
        const struct value *got = &result->outputs[i], *right = &reference->outputs[i];
        if (got->kind != VALUE_TENSOR || right->kind != VALUE_TENSOR ||
            got->tensors[0].type == right->tensors[0].type)
            continue;
        evidence->wanted = dtype_name(right->tensors[0].type);
        evidence->made = dtype_name(got->tensors[0].type);
        return;
    }
}

static int work_of(const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    return op ? (int)op->work : WORK_ELEMENTS;
}

/* The operators that do most of the work. What a pass fuses with them, or moves across them, varies. */
static void note_main(const struct model *model, struct finding_evidence *evidence)
{
    const Onnx__GraphProto *graph = model->graph;
    struct str main;
    int most = 0;
    str_init(&main);
    for (size_t i = 0; i < graph->n_node; i++)
        if (!constant_nodes_is_added(graph->node[i]))
            most = work_of(graph->node[i]) > most ? work_of(graph->node[i]) : most;
    for (size_t i = 0; i < graph->n_node; i++)
        if (work_of(graph->node[i]) == most && !constant_nodes_is_added(graph->node[i]) &&
            !evidence_has_word(main.data, op_title(graph->node[i])))
            join(&main, op_title(graph->node[i]));
    evidence->main = arena_strdup(&evidence->arena, main.data);
    str_release(&main);
}

static bool is_empty(const struct value *value)
{
    return value->kind == VALUE_TENSOR && !value->tensors[0].count;
}

/* Of what kind inputs and results are. Where an input alone is empty, that need not be what matters. */
static void note_data(const struct trial_done *done, const struct test_case *subject,
                      struct finding_evidence *evidence)
{
    for (size_t i = 0; i < subject->n_inputs; i++)
        if (!*evidence->element && subject->inputs[i].kind == VALUE_TENSOR)
            evidence->element = dtype_name(subject->inputs[i].tensors[0].type);
    for (size_t i = 0; i < done->reference.count; i++)
        evidence->empty |= is_empty(&done->reference.outputs[i]);
    evidence->scalar = experiment_gives_scalar(done);
}

/* What the case is about; the message lives in *signature. */
static struct experiments prepared(const struct experiments *how, const struct trial_done *done,
                                   struct signature *signature)
{
    struct experiments own = *how;
    own.deadly = verdict_is(verdict_of(done)->kind, CLASS_DEATH);
    message_of(&own, done, signature);
    own.message = *signature->message ? signature->message : NULL;
    own.of_numbers = verdict_is(verdict_of(done)->kind, CLASS_NUMBERS);
    own.of_type = verdict_row(verdict_of(done)->kind)->kin == KIN_TYPE;
    return own;
}

/* Everything but the passes, which concern the whole model. */
static char *run_on(const struct experiments *how, const struct trial_done *done,
                    struct finding_evidence *evidence)
{
    const struct test_case *subject = trial_done_subject(done, 0);
    const struct model *model = test_case_model(subject, NULL);
    struct signature signature;
    struct experiments own = prepared(how, done, &signature);
    evidence->no_inputs = constant_nodes_alone(subject);
    note_types(done, evidence);
    note_data(done, subject, evidence);
    note_main(model, evidence);
    try_forms(&own, done, evidence);
    fold_constants(&own, subject, evidence);
    look_elsewhere(&own, tells_of_lists(done, model), evidence);
    return vary_parameters(&own, subject, evidence);
}

/* What tells of the cause of a large model, too. */
static void run_on_large(const struct experiments *how, const struct trial_done *done,
                         struct finding_evidence *evidence)
{
    struct signature signature;
    struct experiments own = prepared(how, done, &signature);
    fold_constants(&own, trial_done_subject(done, 0), evidence);
}

/* The same on the node that is at fault by itself. False when there is none. */
static bool run_on_stand_in(const struct experiments *how, const struct trial_done *whole,
                            struct finding_evidence *evidence, char **text)
{
    struct trial_done alone;
    struct signature signature;
    const struct engine_info *info = panel_engine(how->panel, 0);
    if (*evidence->passes || !stand_in_find(how, whole, &alone))
        return false;
    bool found = signature_of_trial(&signature, info->label, info->profile, &alone, 0);
    if (found) {
        evidence->alone = arena_strdup(&evidence->arena, signature.text);
        *text = run_on(how, &alone, evidence);
    }
    trial_done_release(&alone);
    return found;
}

char *experiments_run(const struct experiments *how, const struct trial_done *done,
                      struct finding_evidence *evidence)
{
    const struct verdict *verdict = verdict_of(done);
    const struct test_case *subject = trial_done_subject(done, 0);
    const struct model *model = test_case_model(subject, NULL);
    struct experiments own = *how;
    char *text = NULL;
    if (!model || done->test->equivalence || subject->gradient ||
        !verdict_is(verdict->kind, CLASS_WRONG_ANSWER | CLASS_NO_ANSWER) ||
        verdict_row(verdict->kind)->to_deadline)
        return NULL;
    own.deadly = verdict_is(verdict->kind, CLASS_DEATH);
    if (model->graph->n_node <= LARGE)
        leave_out_passes(&own, done, evidence);
    if (run_on_stand_in(&own, done, evidence, &text))
        return text;
    if (model->graph->n_node <= LARGE)
        return run_on(&own, done, evidence);
    run_on_large(&own, done, evidence);
    return NULL;
}
