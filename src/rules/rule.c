#include "rules/rule.h"

#include <string.h>

#define RULE(name) extern const struct rule rule_##name;
#include "rules/rules.inc"
#undef RULE

const struct rule *const rules_all[] = {
#define RULE(name) &rule_##name,
#include "rules/rules.inc"
#undef RULE
};
const size_t rules_count = sizeof rules_all / sizeof *rules_all;

static const struct axis_row axes[AXIS_COUNT] = {
    [AXIS_NONE] = {"none", "", ""},
    [AXIS_RUNS] = {"runs", "from run to run in one session", "earlier runs in the session, or chance"},
    [AXIS_SESSIONS] = {"sessions", "when the process loads the model again", "earlier loads of the model"},
    [AXIS_OTHER_MODELS] = {"other models", "after other models", "the models that the process ran before"},
    [AXIS_PROCESSES] = {"processes", "from process to process",
                        "the process: its addresses, its memory, or what it ran before"},
    [AXIS_MEMORY] = {"memory", "with other contents of new memory", "memory that nobody wrote"},
    [AXIS_BUFFERS] =
        {"buffers", "when memory ends where inputs, outputs and weights end",
         "what lies behind an input, an output or a weight in memory, or the address at which it begins"},
    [AXIS_THREADS] = {"threads", "with another number of threads", "the number of threads"},
    [AXIS_THREAD_ORDER] = {"order of threads", "from run to run with several threads",
                           "the order in which threads finish"},
    [AXIS_BATCH_SIZE] = {"batch size", "with another number of rows in the batch",
                         "the number of rows in the batch"},
    [AXIS_BATCH_POSITION] = {"batch position", "at another place in a batch",
                             "the place in the batch, its size, or the rows beside it"},
};

const struct axis_row *rule_axis_row(enum rule_axis axis)
{
    return &axes[(unsigned)axis < AXIS_COUNT ? axis : AXIS_NONE];
}

const struct rule *rule_named(const char *name, size_t length)
{
    for (size_t i = 0; i < rules_count; i++)
        if (strlen(rules_all[i]->name) == length && memcmp(rules_all[i]->name, name, length) == 0)
            return rules_all[i];
    return NULL;
}

bool rule_list_has(const char *list, char separator, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, separator), at = at ? at + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == separator || !at[length]))
            return true;
    return false;
}

bool rule_is_listed(const char *list, const struct rule *rule)
{
    return rule_list_has(list, ',', rule->name) ||
           (rule->axis != AXIS_NONE && rule_list_has(list, ',', rule_axis_row(rule->axis)->word));
}

bool rule_takes(const struct rule *rule, const char *op_type)
{
    return !rule->operators || rule_list_has(rule->operators, '|', op_type);
}
