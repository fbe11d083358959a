#include "cli/check_determinism.h"

#include "base/file.h"
#include "report/answer.h"
#include "report/text_table.h"

static size_t count_compared(const struct determinism_engine *engine)
{
    size_t count = 0;
    for (int i = AXIS_NONE + 1; i < AXIS_COUNT; i++)
        count += determinism_compared(engine->axes[i].answer);
    return count;
}

static size_t count_runs(const struct determinism_engine *engine)
{
    size_t count = 0;
    for (int i = AXIS_NONE + 1; i < AXIS_COUNT; i++)
        count += engine->axes[i].runs;
    return count;
}

void determinism_stand(const struct determinism_entry *entry, const char *const *labels,
                       struct standing *standing)
{
    for (size_t i = 0; i < entry->found->n_engines; i++) {
        const struct determinism_engine *engine = &entry->found->engines[i];
        if (determinism_cause(engine) != AXIS_NONE || verdict_is_finding(engine->origin.kind))
            standing_finding(standing);
        else if (!count_compared(engine))
            standing_trouble(standing, "%s: no two answers to %s could be compared%s%s", labels[i],
                             file_base(entry->path), *engine->origin.text ? ": " : "", engine->origin.text);
    }
}

/* --- Text --- */

/* "changes with another number of threads, within rounding, first at MatMul m". */
static void add_change(const struct determinism_engine *engine, enum rule_axis cause, struct str *out)
{
    const struct determinism_axis *axis = &engine->axes[cause];
    if (determinism_unwritten(axis))
        str_add(out, "reads memory that it has not written: the answer changes");
    else
        str_add(out, axis->answer == DETERMINISM_ENDED ? "gives no answer" : "changes");
    str_printf(out, " %s", rule_axis_row(cause)->differs);
    if (axis->answer != DETERMINISM_ENDED)
        str_add(out, axis->answer == DETERMINISM_ROUNDING ? ", within rounding"
                     : axis->answer == DETERMINISM_BEYOND ? ", and no rounding explains it"
                                                          : "");
    if (axis->located) {
        str_add(out, ", first at ");
        text_print(out, axis->node, 0);
    }
}

/* The respects that hang on nothing else that was found. */
static void add_engine(const struct determinism_engine *engine, const char *label, struct str *out)
{
    enum rule_axis cause = determinism_cause(engine);
    size_t others = 0;
    text_print(out, label, 0);
    if (cause == AXIS_NONE) {
        size_t compared = count_compared(engine);
        if (compared)
            str_printf(out, " gives the same bytes in all %zu respects that could be asked about", compared);
        else
            str_add(out, " gives no two answers to compare");
        return;
    }
    str_add(out, " ");
    add_change(engine, cause, out);
    for (int i = AXIS_NONE + 1; i < AXIS_COUNT; i++)
        others += i != (int)cause && determinism_differs(engine->axes[i].answer);
    if (others)
        str_printf(out, " (and in %zu more respect%s)", others, others == 1 ? "" : "s");
}

void determinism_answer_add(const struct determinism_entry *entry, const char *const *labels,
                            const char *between, struct str *out)
{
    struct standing standing = {0};
    struct str said, evidence;
    size_t runs = 0;
    str_init(&said);
    str_init(&evidence);
    text_print(&said, entry->path, 0);
    for (size_t i = 0; i < entry->found->n_engines; i++) {
        str_add(&said, i ? "; " : ": ");
        add_engine(&entry->found->engines[i], labels[i], &said);
        runs += count_runs(&entry->found->engines[i]);
    }
    str_add(&said, ".");
    determinism_stand(entry, labels, &standing);
    text_print(&evidence, entry->described, 0);
    str_printf(&evidence, ", %zu further run%s, every byte of all outputs compared", runs,
               runs == 1 ? "" : "s");
    answer_add(out,
               &(struct answer){.what = entry->path,
                                .said = said.data,
                                .evidence = evidence.data,
                                .standing = &standing,
                                .unjudging = true},
               between);
    str_release(&said);
    str_release(&evidence);
}

static enum style style_of(enum determinism_answer answer)
{
    return answer == DETERMINISM_SAME                                       ? STYLE_GOOD
           : answer == DETERMINISM_UNASKED                                  ? STYLE_DIM
           : answer == DETERMINISM_ROUNDING || !determinism_differs(answer) ? STYLE_WARN
                                                                            : STYLE_BAD;
}

void determinism_print(const struct determinism_entry *entry, const char *const *labels, struct str *out,
                       bool colour)
{
    for (size_t i = 0; i < entry->found->n_engines; i++) {
        const struct determinism_engine *engine = &entry->found->engines[i];
        struct table table;
        str_printf(out, "%s: ", file_base(entry->path));
        text_print(out, labels[i], 0);
        str_add(out, "\n");
        table_init(&table, "lrlll");
        table_head(&table, "respect|runs|answer|first at|what differs");
        for (int k = AXIS_NONE + 1; k < AXIS_COUNT; k++) {
            const struct determinism_axis *axis = &engine->axes[k];
            table_add(&table, STYLE_PLAIN, "%s", rule_axis_row((enum rule_axis)k)->word);
            table_add(&table, STYLE_PLAIN, "%zu", axis->runs);
            table_add(&table, style_of(axis->answer), "%s",
                      determinism_unwritten(axis) ? "unwritten memory" : determinism_word(axis->answer));
            table_add(&table, STYLE_PLAIN, "%s", axis->located ? axis->node : "");
            table_add(&table, STYLE_PLAIN, "%s",
                      determinism_differs(axis->answer) || axis->why ? axis->text : "");
        }
        table_print(&table, out, colour, 2);
        table_release(&table);
        enum rule_axis cause = determinism_cause(engine);
        if (cause != AXIS_NONE)
            str_printf(out, "  It hangs on %s; the rewriting that shows it: %s\n",
                       rule_axis_row(cause)->hangs_on, engine->axes[cause].rewriting);
    }
}

/* --- JSON --- */

static void json_axis(const struct determinism_axis *axis, enum rule_axis number, struct json *json)
{
    bool differs = determinism_differs(axis->answer);
    json_object(json, NULL);
    json_string(json, "respect", rule_axis_row(number)->word);
    json_string(json, "answer", determinism_word(axis->answer));
    json_int(json, "runs", (int64_t)axis->runs);
    json_int(json, "differ", (int64_t)axis->differ);
    json_string(json, "verdict", differs ? verdict_name(axis->verdict.kind) : NULL);
    json_string(json, "rewriting", axis->rewriting);
    json_string(json, "node", axis->located ? axis->node : NULL);
    json_string(json, "value", axis->located ? axis->value : NULL);
    json_int(json, "elements", (int64_t)axis->elements);
    json_string(json, "text", differs || axis->why ? axis->text : NULL);
    json_end(json);
}

void determinism_json(const struct determinism_entry *entry, const char *const *labels, struct json *json)
{
    json_int(json, "samples", (int64_t)entry->found->samples);
    json_array(json, "engines");
    for (size_t i = 0; i < entry->found->n_engines; i++) {
        const struct determinism_engine *engine = &entry->found->engines[i];
        enum rule_axis cause = determinism_cause(engine);
        json_object(json, NULL);
        json_string(json, "engine", labels[i]);
        json_string(json, "original", verdict_name(engine->origin.kind));
        json_bool(json, "same_bytes", cause == AXIS_NONE && count_compared(engine) > 0);
        json_string(json, "cause", cause == AXIS_NONE ? NULL : rule_axis_row(cause)->word);
        json_string(json, "hangs_on", cause == AXIS_NONE ? NULL : rule_axis_row(cause)->hangs_on);
        json_array(json, "respects");
        for (int k = AXIS_NONE + 1; k < AXIS_COUNT; k++)
            json_axis(&engine->axes[k], (enum rule_axis)k, json);
        json_end(json);
        json_end(json);
    }
    json_end(json);
}
