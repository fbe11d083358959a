/* assay rules: lists the equivalence rules. */
#include "base/markup.h"
#include "base/json.h"
#include "base/output.h"
#include "base/wrap.h"
#include "case/backend_suite.h"
#include "cli/casefile.h"
#include "findings/bundle.h"
#include "report/text_table.h"
#include "rules/rewriting.h"

#include <stdio.h>

struct settings {
    struct common common;
    struct input_settings inputs;
    const char *apply;
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
        str_add(out, "| ");
        markdown_code(out, rule->name);
        str_add(out, " | ");
        if (rule->paper)
            str_printf(out, "%d", rule->paper);
        str_printf(out, " | %s | %s | %s |\n", scope_name(rule->scope), relation_name(rule->relation),
                   rule->summary);
    }
}

static void write_json(struct str *out)
{
    struct json json;
    output_json(&json, out, true);
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

/* --- One rewriting, written down --- */

static int write_case(const struct settings *settings, const struct test_case *test, struct error *err)
{
    struct output_folder folder;
    int status = output_folder_begin(&folder, USERS_PATH, settings->common.output, &bundle_layout,
                                     settings->common.force, err);
    if (!status)
        status = suite_write(&folder.part, test, err);
    if (!status)
        status = output_folder_put(&folder, err);
    output_folder_release(&folder);
    return status;
}

static int apply(const struct settings *settings, const struct cli_list *words, struct error *err)
{
    struct test_case *test = NULL, *rewritten = NULL;
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "name the one model that --apply rewrites");
    if (!settings->common.output)
        return error_set(err, ERROR_USAGE, "name the folder for the rewritten model with -o");
    const char *const inputs[] = {words->items[0], settings->inputs.data};
    if (output_check_bundle(&settings->common, inputs, 2, err) ||
        casefile_open(&test, words->items[0], &settings->inputs, err))
        return -1;
    int made = rewriting_apply(test, settings->apply, &rewritten, err);
    int status = made == 1 ? write_case(settings, rewritten, err) : -1;
    if (status == 0)
        wrap_printf(stdout, "%s: %s, rewritten by %s\n", settings->common.output, words->items[0],
                    settings->apply);
    test_case_free(rewritten);
    test_case_free(test);
    return status;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    if (settings->apply)
        return apply(settings, words, err);
    if (words->count)
        return error_set(err, ERROR_USAGE, "'%.60s' is given, but only --apply takes a model",
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
    {0, "apply", OPTION_TEXT, "REWRITING", offsetof(struct settings, apply),
     "rewrite MODEL, and write it with its inputs to the folder of -o, as a case"},
    COMMON_INPUTS_ONE(struct settings),
    COMMON_OUTPUT(struct settings, "text|json|markdown"),
};

static const struct settings defaults = {.common = {.format = AS_TEXT}, .inputs = {.seed = 1}};

const struct command command_rules = {
    .name = "rules",
    .summary = "list the equivalence rules, or apply one to a model",
    .usage = "[OPTION...] | --apply REWRITING MODEL -o DIR",
    .about = "A rule rewrites a model, its inputs or the way in which it is run into a form that must give "
             "the same answer\n"
             "on the same engine. 'assay check' applies the rules to a model, 'assay fuzz --rules' to "
             "generated cases;\n"
             "docs/rules.md explains them. EAGLE: the number of the rule in the paper of that name.\n"
             "\n"
             "With --apply, writes one rewritten form of a model, as 'assay check' names it.\n",
    .examples = "  assay rules\n"
                "  assay rules --format json\n"
                "  assay rules --apply auto-pad@conv1_out model.onnx -o rewritten/\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
