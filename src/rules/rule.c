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

bool rule_takes(const struct rule *rule, const char *op_type)
{
    return !rule->operators || rule_list_has(rule->operators, '|', op_type);
}
