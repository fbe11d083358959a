/* assay rules: lists the equivalence rules. */
#include "base/json.h"
#include "cli/common.h"
#include "report/text_table.h"
#include "rules/rule.h"

struct settings {
    struct common common;
};

enum { AS_TEXT, AS_JSON, AS_MARKDOWN };

static const char *scope_name(enum rule_scope scope)
{
    switch (scope) {
    case RULE_NODE:
        return "node";
    case RULE_VALUE:
        return "value";
    case RULE_MODEL:
        return "model";
    case RULE_RUN:
        return "run";
    }
    return "";
}

static const char *relation_name(enum relation relation)
{
    return relation == RELATION_BITS ? "bits" : "bounds";
}

static void write_text(struct str *out, bool colour)
{
    struct table table;
    table_init(&table, "lrlll");
    table_head(&table, "rule|EAGLE|applies to|must agree|what is written instead of what");
    for (size_t i = 0; i < rules_count; i++) {
        const struct rule *rule = rules_all[i];
        table_add(&table, STYLE_HEAD, "%s", rule->name);
        if (rule->paper)
            table_add(&table, STYLE_PLAIN, "%d", rule->paper);
        else
            table_add(&table, STYLE_DIM, "-");
        table_add(&table, STYLE_PLAIN, "%s", scope_name(rule->scope));
        table_add(&table, STYLE_PLAIN, "%s", relation_name(rule->relation));
        table_add(&table, STYLE_PLAIN, "%s", rule->summary);
    }
    table_print(&table, out, colour, 0);
    table_release(&table);
}

static void write_markdown(struct str *out)
{
    str_add(out, "| rule | EAGLE | applies to | must agree | what is written instead of what "
                 "|\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < rules_count; i++) {
        const struct rule *rule = rules_all[i];
        str_printf(out, "| `%s` | ", rule->name);
        if (rule->paper)
            str_printf(out, "%d", rule->paper);
        str_printf(out, " | %s | %s | %s |\n", scope_name(rule->scope), relation_name(rule->relation),
                   rule->summary);
    }
}

static void write_json(struct str *out)
{
    struct json json;
    json_init(&json, out, true);
    json_object(&json, NULL);
    json_array(&json, "rules");
    for (size_t i = 0; i < rules_count; i++) {
        const struct rule *rule = rules_all[i];
        json_object(&json, NULL);
        json_string(&json, "name", rule->name);
        if (rule->paper)
            json_int(&json, "eagle", rule->paper);
        json_string(&json, "scope", scope_name(rule->scope));
        json_string(&json, "relation", relation_name(rule->relation));
        json_string(&json, "summary", rule->summary);
        if (rule->operators)
            json_string(&json, "operators", rule->operators);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (words->count)
        return error_set(err, ERROR_USAGE, "assay rules takes no words, but '%.60s' is given",
                         words->items[0]);
    if (output_check(&settings->common, err))
        return -1;
    struct str out;
    str_init(&out);
    if (settings->common.format == AS_JSON)
        write_json(&out);
    else if (settings->common.format == AS_MARKDOWN)
        write_markdown(&out);
    else
        write_text(&out, output_colour(&settings->common));
    int status = settings->common.format == AS_TEXT ? output_write(&settings->common, &out, err)
                                                    : output_write_plain(&settings->common, &out, err);
    str_release(&out);
    return status;
}

static const struct cli_option options[] = {
    COMMON_OUTPUT(struct settings, "text|json|markdown"),
};

static const struct settings defaults = {.common = {.format = AS_TEXT}};

const struct command command_rules = {
    .name = "rules",
    .summary = "list the equivalence rules",
    .usage = "[OPTION...]",
    .about = "A rule rewrites a model, its inputs or the way in which it is run into a form that must give "
             "the same answer\n"
             "on the same engine. 'assay check' applies the rules to a model, 'assay fuzz --rules' to "
             "generated cases;\n"
             "docs/rules.md explains them. EAGLE: the number of the rule in the paper of that name.\n",
    .examples = "  assay rules\n"
                "  assay rules --format json\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
