/* Whether a finding is of a known issue. */
#include "findings/known_issues.h"

#include "base/clock.h"
#include "base/glob.h"
#include "base/limits.h"
#include "engine/label.h"
#include "ops/op.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether one of the patterns, with | between, fits the whole text. */
static bool one_fits(const char *patterns, const char *text)
{
    for (const char *at = patterns; *at;) {
        size_t length = strcspn(at, "|");
        if (length < KNOWN_PATTERN_SIZE && !limits_late(length * strlen(text)) && glob_fits(at, length, text))
            return true;
        at += length + (at[length] == '|');
    }
    return false;
}

/* Runs of digits as numbers, in order: "1.9.1" is before "1.10". */
static int compare_releases(const char *a, const char *b)
{
    for (;;) {
        a += strcspn(a, "0123456789");
        b += strcspn(b, "0123456789");
        if (!*a || !*b)
            return !*a && !*b ? 0 : *a ? 1 : -1;
        char *a_end, *b_end;
        unsigned long long x = strtoull(a, &a_end, 10), y = strtoull(b, &b_end, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = a_end;
        b = b_end;
    }
}

/* Up to the precision of the limit: until 1.16 takes in 1.16.3. */
static bool is_until(const char *version, const char *limit)
{
    size_t length = strlen(limit);
    bool inside = strncmp(version, limit, length) == 0 && !isdigit((unsigned char)version[length]);
    return inside || compare_releases(version, limit) <= 0;
}

/* knob: "opt=all". */
static bool has_knob(const char *engine, const char *knob)
{
    struct label label = label_parse(engine);
    struct label_part rest = label_part(knob);
    struct label_knob wanted;
    if (label_next_knob(&rest, &wanted) != 1)
        return false;
    while (label.knobs.text) {
        struct label_knob have;
        if (label_next_knob(&label.knobs, &have) != 1)
            return false;
        if (label_part_equal(have.name, wanted.name))
            return label_part_equal(have.value, wanted.value);
    }
    return false;
}

static bool engine_fits(const struct known_issue *issue, const struct finding_facts *facts)
{
    if (!label_names(facts->engine, issue->engine) && !text_equal(facts->like, issue->engine))
        return false;
    for (size_t i = 0; i < issue->n_knobs; i++) {
        bool not = *issue->knobs[i] == '!';
        if (has_knob(facts->engine, issue->knobs[i] + not ) == not )
            return false;
    }
    return (!*issue->from || compare_releases(facts->version, issue->from) >= 0) &&
           (!*issue->until || is_until(facts->version, issue->until));
}

bool known_is_about(const struct known_issue *issue, const struct engine_info *engine)
{
    const char *like = engine->profile ? engine->profile->like : NULL;
    return engine_fits(issue, &(struct finding_facts){.engine = engine->label,
                                                      .like = like ? like : "",
                                                      .version = engine->version ? engine->version : ""});
}

/*
 * An issue that does not say what it is about is about outputs. An engine that refuses or dies may do so on
 * the way to a gradient as well, which leads through the outputs.
 */
static bool question_fits(const struct known_issue *issue, const struct finding_facts *facts)
{
    bool no_answer = verdict_is(symptom_verdict(facts->symptom), CLASS_NO_ANSWER);
    unsigned asked = issue->asked ? issue->asked : KNOWN_OUTPUTS | (no_answer ? KNOWN_GRADIENTS : 0);
    return asked & (facts->gradient ? KNOWN_GRADIENTS : KNOWN_OUTPUTS);
}

static bool is_listed(const char *const *list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(list[i], word))
            return true;
    return count == 0;
}

/* The parts between the stars occur in their order. */
static bool message_has(const char *message, const char *mark)
{
    char part[200];
    for (const char *at = mark; *at;) {
        size_t length = strcspn(at, "*");
        if (length >= sizeof part)
            return false;
        memcpy(part, at, length);
        part[length] = '\0';
        const char *found = strstr(message, part);
        if (!found)
            return false;
        message = found + length;
        at += length + (at[length] == '*');
    }
    return true;
}

static bool message_fits(const struct known_issue *issue, const struct finding_facts *facts)
{
    for (size_t i = 0; i < issue->n_messages; i++)
        if (message_has(facts->message, issue->messages[i]))
            return true;
    return issue->n_messages == 0;
}

static bool in_range(const struct known_range *range, double value)
{
    return value >= range->low && value <= range->high;
}

static bool element_fits(const struct known_element *element, bool compared, double value)
{
    if (!element->asked)
        return true;
    if (!compared || isnan(value))
        return compared && element->nan;
    for (size_t i = 0; i < element->n_ranges; i++)
        if (in_range(&element->ranges[i], value))
            return true;
    return false;
}

static bool compares(enum known_compare compare, double value, double number)
{
    switch (compare) {
    case COMPARE_EQUAL:
        return value == number;
    case COMPARE_NOT:
        return value != number;
    case COMPARE_LESS:
        return value < number;
    case COMPARE_UP_TO:
        return value <= number;
    case COMPARE_FROM:
        return value >= number;
    case COMPARE_MORE:
        return value > number;
    case COMPARE_NONE:
        break;
    }
    return false;
}

/* The attribute's text, its default where it is not given; NULL when there is neither. */
static const char *attribute_text(const struct fact_node *node, int opset, const char *name, bool *given)
{
    *given = true;
    for (size_t i = 0; i < node->n_attributes; i++)
        if (text_equal(node->attributes[i].name, name))
            return node->attributes[i].text;
    *given = false;
    const struct op *op = op_find(node->op);
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (text_equal(param->name, name) && opset >= param->since &&
            (!param->until || opset <= param->until))
            return param->initial;
    return NULL;
}

/* Whether some number of a list "1,-1" compares. */
static bool some_number(const char *text, enum known_compare compare, double number)
{
    while (*text) {
        char *end;
        double value = strtod(text, &end);
        if (end != text && compares(compare, value, number))
            return true;
        text = end + strcspn(end, ",");
        text += *text == ',';
    }
    return false;
}

static bool attribute_fits(const struct known_word *word, const struct fact_node *node, int opset)
{
    bool given;
    const char *text = attribute_text(node, opset, word->name, &given);
    bool absent = text_equal(word->text, "-"), equal = word->compare == COMPARE_EQUAL;
    if (absent)
        return given != equal;
    if (equal || word->compare == COMPARE_NOT)
        return (text && one_fits(word->text, text)) == equal;
    return text && some_number(text, word->compare, word->number);
}

static size_t elements_of(const struct shape *shape)
{
    size_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= (size_t)shape->dims[i];
    return count;
}

static bool dim_fits(const struct known_word *word, const struct shape *shape)
{
    int index = word->index < 0 ? shape->rank + word->index : word->index;
    return index >= 0 && index < shape->rank &&
           compares(word->compare, (double)shape->dims[index], word->number);
}

static bool some_fits(const struct known_word *word, const struct fact_value *value)
{
    return compares(word->compare, value->least, word->number) ||
           compares(word->compare, value->most, word->number);
}

static bool word_fits(const struct known_word *word, const struct fact_value *value)
{
    bool shaped = value->shape.rank >= 0;
    switch (word->subject) {
    case KNOWN_TYPE:
        return value->type != DTYPE_NONE && one_fits(word->text, dtype_name(value->type));
    case KNOWN_CONSTANT:
        return value->constant;
    case KNOWN_GIVEN:
        return value->type != DTYPE_NONE;
    case KNOWN_MARK:
        return value->marks & word->mark;
    case KNOWN_SOME:
        return some_fits(word, value);
    case KNOWN_MAGNITUDE:
        return compares(word->compare, fmax(fabs(value->least), fabs(value->most)), word->number);
    case KNOWN_RANK:
        return shaped && compares(word->compare, value->shape.rank, word->number);
    case KNOWN_ELEMENTS:
        return shaped && compares(word->compare, (double)elements_of(&value->shape), word->number);
    case KNOWN_DIM:
        return shaped && dim_fits(word, &value->shape);
    case KNOWN_ATTRIBUTE:
        break;
    }
    return false;
}

static bool value_fits(const struct known_condition *condition, const struct fact_value *value)
{
    for (size_t i = 0; i < condition->n_words; i++)
        if (word_fits(&condition->words[i], value) == condition->words[i].negated)
            return false;
    return true;
}

/* Whether some value fits, or the one with the index. An input that the node does not have counts as left
 * out. */
static bool values_fit(const struct known_condition *condition, const struct fact_value *values, size_t count)
{
    static const struct fact_value none = {.shape = {.rank = -1}};
    if (condition->index >= 0)
        return value_fits(condition, (size_t)condition->index < count ? &values[condition->index] : &none);
    for (size_t i = 0; i < count; i++)
        if (value_fits(condition, &values[i]))
            return true;
    return false;
}

static bool inputs_differ(const struct fact_node *node, bool ranks_only)
{
    const struct shape *first = NULL;
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct shape *shape = &node->inputs[i].shape;
        if (node->inputs[i].type == DTYPE_NONE || shape->rank < 0)
            continue;
        if (first && (ranks_only ? shape->rank != first->rank : !shape_equal(shape, first)))
            return true;
        first = first ? first : shape;
    }
    return false;
}

static bool condition_fits(const struct known_condition *condition, const struct fact_node *node, int opset)
{
    switch (condition->place) {
    case KNOWN_NODE:
        for (size_t i = 0; i < condition->n_words; i++)
            if (!attribute_fits(&condition->words[i], node, opset))
                return false;
        return true;
    case KNOWN_INPUT:
        return values_fit(condition, node->inputs, node->n_inputs);
    case KNOWN_OUTPUT:
        return values_fit(condition, node->outputs, node->n_outputs);
    case KNOWN_INPUT_COUNT:
        return in_range(&condition->count, (double)node->n_inputs);
    case KNOWN_SHAPES:
        return inputs_differ(node, false) != condition->same;
    case KNOWN_RANKS:
        return inputs_differ(node, true) != condition->same;
    }
    return false;
}

/* A group of operators: words in order, * for any nodes between. */
struct group {
    size_t count;
    char words[KNOWN_GROUP_WORDS][KNOWN_WORD_SIZE];
};

static bool group_read(struct group *group, const char *text)
{
    group->count = 0;
    for (const char *at = text + strspn(text, " \t"); *at; at += strspn(at, " \t")) {
        size_t length = strcspn(at, " \t");
        if (group->count == KNOWN_GROUP_WORDS || length >= KNOWN_WORD_SIZE)
            return false;
        memcpy(group->words[group->count], at, length);
        group->words[group->count++][length] = '\0';
        at += length;
    }
    return true;
}

static bool is_star(const struct group *group, size_t word)
{
    return word < group->count && text_equal(group->words[word], "*");
}

/* As glob_fits: only the last star is tried again, so the time is at most words times nodes. */
static bool sequence_fits(const struct group *group, const struct finding_facts *facts)
{
    size_t word = 0, node = 0, behind_star = 0, resume = 0; /* no star yet: 0 */
    while (node < facts->n_nodes && !limits_late(1)) {
        if (is_star(group, word)) {
            behind_star = ++word;
            resume = node;
        } else if (word < group->count && one_fits(group->words[word], facts->nodes[node].op)) {
            word++;
            node++;
        } else if (behind_star) {
            word = behind_star;
            node = ++resume;
        } else {
            return false;
        }
    }
    while (is_star(group, word))
        word++;
    return node == facts->n_nodes && word == group->count;
}

static bool is_named(const struct group *group, const char *op)
{
    for (size_t i = 0; i < group->count; i++)
        if (!text_equal(group->words[i], "*") && one_fits(group->words[i], op))
            return true;
    return group->count == 0;
}

static bool same_node(const struct known_condition *a, const struct known_condition *b)
{
    return a->which == b->which && (a->op == b->op || (a->op && b->op && text_equal(a->op, b->op)));
}

/* Whether no earlier condition is about the same node. If one is, both were checked together. */
static bool is_first_of_node(const struct known_issue *issue, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (same_node(&issue->conditions[i], &issue->conditions[number]))
            return false;
    return true;
}

/* All conditions on the node that `first` speaks of hold for one and the same node. */
static bool conditions_fit(const struct known_issue *issue, const struct known_condition *first,
                           const struct group *group, const struct finding_facts *facts)
{
    int seen = 0;
    for (size_t n = 0; n < facts->n_nodes && !limits_late(1); n++) {
        const struct fact_node *node = &facts->nodes[n];
        bool fits = first->op ? one_fits(first->op, node->op) : is_named(group, node->op);
        if (!fits || (first->which && ++seen != first->which))
            continue;
        for (size_t i = 0; i < issue->n_conditions && fits; i++)
            if (same_node(first, &issue->conditions[i]))
                fits = condition_fits(&issue->conditions[i], node, facts->opset);
        if (fits)
            return true;
    }
    return false;
}

static bool group_fits(const struct known_issue *issue, const char *text, const struct finding_facts *facts)
{
    struct group group;
    if (!group_read(&group, text) || (group.count && !sequence_fits(&group, facts)))
        return false;
    for (size_t i = 0; i < issue->n_conditions; i++)
        if (is_first_of_node(issue, i) && !conditions_fit(issue, &issue->conditions[i], &group, facts))
            return false;
    return true;
}

/* Whether one of the issue's parameters is among the words of the text. */
static bool is_parameter_in(const struct known_issue *issue, const char *words)
{
    for (size_t i = 0; i < issue->n_parameters; i++) {
        size_t length = strlen(issue->parameters[i]);
        for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
            if (strcspn(at, " ") == length && memcmp(at, issue->parameters[i], length) == 0)
                return true;
    }
    return false;
}

/* Two bugs of an operator may have the same name, or come under one cause. Where a parameter is to blame for
 * the muted one, a finding is another bug if another parameter is to blame; until experiments have told, its
 * name alone does not match. Of several parameters that each cure one is to blame, which may be this one
 * today and that one tomorrow: a finding that needs the parameter is none of another. A cause alone does not
 * match where the engine fails at another place. */
static bool is_named_finding(const struct known_issue *issue, const struct finding_facts *facts)
{
    bool listed = issue->n_names && is_listed(issue->names, issue->n_names, facts->name);
    bool other = !is_listed(issue->parameters, issue->n_parameters, facts->parameter) &&
                 !is_parameter_in(issue, facts->needed) && (*facts->parameter || facts->undiagnosed);
    bool caused = ((*issue->same_cause && text_equal(issue->same_cause, facts->cause)) ||
                   (*issue->crash && text_equal(issue->crash, facts->crash))) &&
                  (!*facts->place || is_listed(issue->places, issue->n_places, facts->place));
    return !other && (listed || caused);
}

static bool groups_fit(const struct known_issue *issue, const struct finding_facts *facts)
{
    for (size_t i = 0; i < issue->n_groups; i++)
        if (group_fits(issue, issue->groups[i], facts))
            return true;
    return issue->n_groups == 0 && group_fits(issue, "", facts);
}

/* What is wrong with the witness on the finding's engine; NULL: it fails there, or nobody asks. */
static const char *witness_misfit(const struct known_issue *issue, const char *engine)
{
    static const char *const misfits[WITNESS_STATES] = {
        [WITNESS_UNTRIED] =
            "witness, which was not run on this engine; 'assay report' with this file runs it",
        [WITNESS_OTHERWISE] = "witness, which now fails in another way",
        [WITNESS_AGREES] = "witness, which no longer fails",
        [WITNESS_NOT_JUDGED] = "witness, which cannot be judged on this engine",
    };
    enum witness_state state = WITNESS_UNTRIED;
    for (size_t i = 0; i < issue->n_tried; i++) {
        if (!*issue->tried[i].engine && state == WITNESS_UNTRIED)
            state = issue->tried[i].state;
        if (text_equal(issue->tried[i].engine, engine))
            state = issue->tried[i].state;
    }
    return misfits[state];
}

/* Conditions are tried in the order of the keys in a file, except that those which look at all nodes come
 * last, and behind them what was run. */
const char *known_misfit(const struct known_issues *known, const struct known_issue *issue,
                         const struct finding_facts *facts)
{
    const struct {
        bool fits;
        const char *key;
    } checks[] = {
        {!issue->symptoms || (issue->symptoms & UINT32_C(1) << facts->symptom), "symptom"},
        {known_is_of_findings(issue) || question_fits(issue, facts), "asked"},
        {is_listed(issue->stages, issue->n_stages, facts->stage), "stage"},
        {!issue->signal || issue->signal == facts->signal, "signal"},
        {in_range(&issue->opset, facts->opset), "opset"},
        {in_range(&issue->factor, facts->factor), "factor"},
        {element_fits(&issue->expected, facts->compared, facts->expected), "expected"},
        {element_fits(&issue->got, facts->compared, facts->got), "got"},
    };
    if (!engine_fits(issue, facts))
        return "engine, from, until or knobs";
    if (known_is_of_findings(issue) && !is_named_finding(issue, facts))
        return "finding and same-cause, with their parameter and place";
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!checks[i].fits)
            return checks[i].key;
    if (!message_fits(issue, facts))
        return "message";
    if (!groups_fit(issue, facts))
        return "operators, or a condition on attributes, inputs and outputs";
    return *issue->witness && known->asks_witnesses ? witness_misfit(issue, facts->engine) : NULL;
}

/* "wrong-resize-3fa9c2d1b0e4" without the number. */
static bool same_words(const char *name, const char *other)
{
    const char *end = strrchr(name, '-');
    return end && strncmp(name, other, (size_t)(end - name) + 1) == 0;
}

bool known_is_near(const struct known_issue *issue, const struct finding_facts *facts)
{
    if (!engine_fits(issue, facts))
        return false;
    for (size_t i = 0; i < issue->n_names; i++)
        if (same_words(issue->names[i], facts->name))
            return true;
    if (*issue->same_cause && text_equal(issue->same_cause, facts->cause))
        return true;
    for (size_t i = 0; i < issue->n_groups; i++) {
        struct group group;
        if (group_read(&group, issue->groups[i]) && sequence_fits(&group, facts))
            return true;
    }
    return issue->n_messages && message_fits(issue, facts);
}

static double seconds_allowed(void)
{
    double seconds = limits_get().seconds;
    return seconds > 0 ? seconds : 30;
}

/* An issue that a campaign brings: all of them together get the time of one piece of work (base/limits.h). */
static bool foreign_matches(const struct known_issues *known, const struct known_issue *issue,
                            const struct finding_facts *facts)
{
    if (*known->foreign_seconds > seconds_allowed())
        return false;
    double begin = clock_seconds();
    limits_begin();
    bool matches = !known_misfit(known, issue, facts);
    limits_end();
    *known->foreign_seconds += clock_seconds() - begin;
    return matches;
}

struct known_issue *known_find(const struct known_issues *known, const struct finding_facts *facts)
{
    for (size_t i = 0; i < known->count; i++) {
        struct known_issue *issue = &known->items[i];
        if (issue->foreign ? foreign_matches(known, issue, facts) : !known_misfit(known, issue, facts))
            return issue;
    }
    return NULL;
}

int known_in_time(const struct known_issues *known, struct error *err)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].foreign && *known->foreign_seconds > seconds_allowed())
            return error_set(err, ERROR_LIMIT,
                             "comparing the issues of %s with the findings takes longer than %.3g s; remove "
                             "that file, or the issues in it that you do not need",
                             known->items[i].file, seconds_allowed());
    return 0;
}
