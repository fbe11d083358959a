/* Text and JSON of `assay localize` (localize.h). */
#include "base/json.h"
#include "base/memory.h"
#include "cli/localize.h"
#include "locate/traced_case.h"
#include "ops/op.h"
#include "report/answer.h"
#include "report/text_table.h"
#include "report/verdict_json.h"

#include <math.h>
#include <stdlib.h>

enum {
    LISTED = 4,    /* further wrong nodes named in the text */
    LEAD = 3,      /* of a long path: nodes shown at its beginning */
    LONG_PATH = 16 /* and how many in all */
};

static const Onnx__NodeProto *node_at(const struct localize_report *report, size_t number)
{
    return report->model->graph->node[number];
}

static void number_cell(struct table *table, enum style style, double value)
{
    if (isnan(value))
        table_add(table, STYLE_DIM, "-");
    else
        table_add(table, style, "%.3g", value);
}

static void form_cell(struct table *table, const struct localized_node *node)
{
    char shape[SHAPE_TEXT_SIZE];
    if (!node->n_outputs || node->outputs[0].type == DTYPE_NONE)
        table_add(table, STYLE_DIM, "-");
    else
        table_add(table, STYLE_PLAIN, "%s %s", dtype_name(node->outputs[0].type),
                  shape_text(&node->outputs[0].shape, shape));
}

static void node_row(struct table *table, const struct localize_report *report, size_t number)
{
    const struct localization *found = report->found;
    const struct localized_node *node = &found->nodes[number];
    table_add(table, STYLE_BAD, "%s", node->culprit ? "*" : "");
    table_add(table, STYLE_PLAIN, "%s", op_title(node_at(report, number)));
    table_add(table, STYLE_PLAIN, "%s", model_node_name(node_at(report, number)));
    form_cell(table, node);
    if (found->local) {
        table_add(table, verdict_style(node->verdict), "%s", verdict_name(node->verdict));
        number_cell(table, verdict_style(node->verdict), node->factor);
    }
    if (found->rate) {
        number_cell(table, STYLE_PLAIN, node->delta);
        number_cell(table, node->highlighted ? STYLE_WARN : STYLE_PLAIN, node->rate);
        table_add(table, STYLE_WARN, "%s", node->highlighted ? "high" : "");
    }
}

static void text_nodes(const struct localize_report *report, const size_t *numbers, size_t count, bool colour,
                       struct str *out)
{
    const struct localization *found = report->found;
    struct table table;
    table_init(&table, found->local && found->rate ? "llllrrrrl" : found->rate ? "llllrrl" : "llllrr");
    table_head(&table, found->local && found->rate ? "|operator|node|makes|local|error/bound|delta|R|"
                       : found->rate               ? "|operator|node|makes|delta|R|"
                                                   : "|operator|node|makes|local|error/bound");
    for (size_t i = 0; i < count; i++) {
        bool left_out = count > LONG_PATH && i >= LEAD && i + LONG_PATH - LEAD < count;
        if (left_out && i > LEAD)
            continue;
        if (!left_out)
            node_row(&table, report, numbers[i]);
        for (size_t k = 0; left_out && k < table.columns; k++)
            table_add(&table, STYLE_DIM, "%s", k == 1 ? "..." : "");
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
}

static void text_path(const struct localize_report *report, bool colour, struct str *out)
{
    const struct localization *found = report->found;
    if (!found->n_path)
        return;
    str_printf(out, "\nfrom the inputs to the %s\n", found->n_culprits > 1 ? "fused nodes" : "culprit");
    if (found->n_culprits == 1) {
        text_nodes(report, found->path, found->n_path, colour, out);
        return;
    }
    text_nodes(report, found->path, found->n_path - 1, colour, out);
    str_add(out, "fused\n");
    text_nodes(report, found->culprits, found->n_culprits, colour, out);
}

static void text_others(const struct localize_report *report, struct str *out)
{
    const struct localization *found = report->found;
    size_t listed = 0, others = found->n_wrong > 1 ? found->n_wrong - 1 : 0;
    if (!others)
        return;
    str_printf(out, "\nalso wrong on the inputs they had: %zu node%s:", others, others == 1 ? "" : "s");
    for (size_t i = 0; i < found->n_nodes && listed < LISTED; i++) {
        if (found->nodes[i].culprit || !verdict_is_finding(found->nodes[i].verdict))
            continue;
        str_printf(out, "%s %s (", listed++ ? "," : "", op_title(node_at(report, i)));
        text_print(out, model_node_name(node_at(report, i)), 80);
        str_add(out, ")");
    }
    str_add(out, others > listed ? " ...\n" : "\n");
}

/* The values tried for each parameter: "keeps: strides=1,1 2,2". */
static void text_tries(const struct cause *cause, enum cause_end end, struct str *out)
{
    const char *last = NULL;
    bool any = false;
    for (size_t i = 0; i < cause->n_tries; i++) {
        const struct cause_value *to = &cause->tries[i].to;
        bool phrase = !to->parameter || cause->tries[i].rule; /* the value names what it is about */
        if (cause->tries[i].end != end || (!to->parameter && end == CHANGE_KEEPS))
            continue;
        if (!any)
            str_printf(out, "  %s:", cause_end_name(end));
        if (phrase)
            str_add(out, any ? "; " : " ");
        else if (last && text_equal(last, to->parameter))
            str_add(out, " | ");
        else
            str_printf(out, "%s %s = ", any ? ";" : "", to->parameter);
        text_print(out, to->value, 80);
        last = phrase ? NULL : to->parameter;
        any = true;
    }
    str_add(out, any ? "\n" : "");
}

static void text_cause(const struct localize_report *report, struct str *out)
{
    const struct cause *cause = &report->found->cause;
    if (!cause->text || !*cause->text)
        return;
    str_add(out, cause->kind == CAUSE_UNKNOWN ? "\ncause: not found: "
                 : cause->certain             ? "\ncause: "
                                              : "\nlikely cause: ");
    text_print(out, cause->text, 0);
    str_add(out, "\n");
    text_tries(cause, CHANGE_CURES, out);
    text_tries(cause, CHANGE_KEEPS, out);
}

static void text_pair(const struct localize_report *report, const struct causal_pair *pair, struct str *out)
{
    str_printf(out, "%s (", op_title(node_at(report, pair->node)));
    text_print(out, model_node_name(node_at(report, pair->node)), 80);
    if (pair->instead)
        str_printf(out, ") %s: %s with ", pair->parameter, pair->instead);
    else
        str_printf(out, ") %s: R %.2g with ", pair->parameter, pair->rate);
    text_print(out, pair->tried, 80);
}

/* By Audee's algorithm 2: causes, then values that end an engine or make a NaN. */
static void text_pairs(const struct localize_report *report, struct str *out)
{
    const struct causal_pairs *pairs = &report->found->pairs;
    static const char *const heads[] = {"by Audee's algorithm 2: ", "values that an engine cannot compute: "};
    for (int instead = 0; instead < 2; instead++) {
        size_t shown = 0;
        for (size_t i = 0; i < pairs->count; i++) {
            if ((pairs->items[i].instead != NULL) != instead)
                continue;
            str_add(out, shown++ ? "; " : heads[instead]);
            text_pair(report, &pairs->items[i], out);
        }
        str_add(out, shown ? "\n" : "");
    }
}

static void json_pairs(struct json *json, const struct causal_pairs *pairs)
{
    json_array(json, "pairs");
    for (size_t i = 0; i < pairs->count; i++) {
        const struct causal_pair *pair = &pairs->items[i];
        json_object(json, NULL);
        json_int(json, "node", (int64_t)pair->node);
        json_string(json, "parameter", pair->parameter);
        json_string(json, "value", pair->value);
        json_string(json, "tried", pair->tried);
        json_double(json, "rate", pair->rate);
        json_string(json, "instead", pair->instead);
        json_end(json);
    }
    json_end(json);
}

static void text_rate(const struct localize_report *report, bool colour, struct str *out)
{
    const struct localization *found = report->found;
    if (!found->rate)
        return;
    str_printf(out, "\nrate against %s: %zu of %zu nodes above the third quartile of R (%.3g)", found->second,
               found->n_highlighted, found->n_nodes, found->quartile);
    if (found->first_highlighted < found->n_nodes) {
        str_printf(out, ", first %s (node ", op_title(node_at(report, found->first_highlighted)));
        text_print(out, model_node_name(node_at(report, found->first_highlighted)), 80);
        str_add(out, ")");
    }
    if (found->n_culprits)
        str_printf(out, "; the culprit is %s them",
                   found->nodes[found->culprits[0]].highlighted ? "among" : "not among");
    str_add(out, "\n");
    if (found->local)
        return;
    size_t *numbers = memory_zeroed(found->n_nodes, sizeof *numbers);
    size_t count = 0;
    for (size_t i = 0; i < found->n_nodes; i++)
        if (found->nodes[i].highlighted)
            numbers[count++] = i;
    if (count)
        text_nodes(report, numbers, count, colour, out);
    free(numbers);
}

/* What the columns of CRADLE's rate mean. */
static void text_legend(const struct localize_report *report, struct str *out)
{
    if (report->found->rate)
        str_add(
            out,
            "  delta  mean absolute difference between the two engines' results of a node\n"
            "  R      CRADLE's rate of change: how much delta grows from the node's inputs to its result\n"
            "  high   R is above the third quartile of all nodes\n");
}

static void text_class(const struct localize_report *report, struct str *out)
{
    struct str text;
    str_init(&text);
    classification_text(&text, report->class);
    if (!text.length && report->class->limit.kind) {
        str_add(&text, "beyond its type: ");
        classification_limit(&text, report->class, report->model);
    }
    text_print(out, text.data, 0);
    str_add(out, text.length ? "\n" : "");
    str_release(&text);
}

/* What the engine says of the culprits. */
static void add_computed(const struct localize_report *report, struct str *out)
{
    const struct localization *found = report->found;
    traced_words(report->trace, report->model, found->culprits, found->n_culprits, out);
}

static void text_computed(const struct localize_report *report, struct str *out)
{
    struct str words;
    str_init(&words);
    add_computed(report, &words);
    text_print(out, words.data, 0);
    str_add(out, words.length ? "\n" : "");
    str_release(&words);
}

static void json_computed(const struct localize_report *report, struct json *json)
{
    struct str words;
    str_init(&words);
    add_computed(report, &words);
    json_string(json, "computed", words.length ? words.data : NULL);
    trace_json(report->trace, json, "trace");
    str_release(&words);
}

static double largest_factor(const struct localization *found)
{
    double largest = 0;
    for (size_t i = 0; i < found->n_nodes; i++)
        largest = found->nodes[i].factor > largest ? found->nodes[i].factor : largest;
    return largest;
}

/* On what the answer stands: the sample, and how many nodes were judged. */
static void add_evidence(const struct localize_report *report, struct str *out)
{
    const struct localization *found = report->found;
    bool agrees = verdict_is(found->kind, CLASS_AGREES);
    if (report->samples > 1)
        str_printf(out, "sample %zu of %s", report->sample, report->described);
    else
        str_add(out, report->described);
    str_printf(out, ", %zu node%s", found->n_nodes, found->n_nodes == 1 ? "" : "s");
    if (!found->local || verdict_is(found->kind, CLASS_NO_ANSWER))
        return;
    if (found->n_judged == found->n_nodes)
        str_add(out, found->n_nodes == 1 ? ", judged on the inputs it had"
                                         : ", all judged, each on the inputs it had");
    else
        str_printf(out, ", %zu of them judged on the inputs they had", found->n_judged);
    if (agrees && found->n_judged && largest_factor(found) > 0)
        str_printf(out, ", largest error %.2g of what rounding explains", largest_factor(found));
    else if (agrees && found->n_judged)
        str_add(out, ", without any error");
}

/* The first node that could not be judged, and why. */
static void add_unjudged(const struct localize_report *report, struct str *out)
{
    const struct localization *found = report->found;
    bool judging = found->local && !verdict_is(found->kind, CLASS_NO_ANSWER);
    for (size_t i = 0; judging && !out->length && i < found->n_nodes; i++) {
        const struct localized_node *node = &found->nodes[i];
        if (!verdict_is(node->verdict, CLASS_NOTHING | CLASS_UNJUDGED))
            continue;
        str_printf(out, "%s %s", op_title(node_at(report, i)), model_node_name(node_at(report, i)));
        str_printf(out, node->text && *node->text ? ": %s" : "; why is not known", node->text);
    }
}

/* What swapping told, and of the first suspect what the reference says. */
static void add_swapped(const struct localize_report *report, struct str *out)
{
    const struct swapped *swapped = &report->found->swapped;
    text_print(out, report->path, 0);
    str_add(out, ": ");
    text_print(out, swapped->text, 0);
    const struct swapped_node *first = swapped->n_suspects ? &swapped->nodes[swapped->suspects[0]] : NULL;
    for (int e = 0; first && first->judged && e < 2; e++)
        if (verdict_is_finding(first->verdicts[e]))
            str_printf(out, "; by the reference, %s is %s there", swapped->engines[e],
                       verdict_name(first->verdicts[e]));
}

/* "Relu r1, only behind Conv c1", in the words that other commands use. */
static void add_place(const struct localize_report *report, struct str *out)
{
    const struct localization *found = report->found;
    size_t count = found->n_culprits + found->n_behind;
    const char **operators = memory_zeroed(count, sizeof *operators);
    const char **names = memory_zeroed(count, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        size_t number = i < found->n_culprits ? found->culprits[i] : found->behind[i - found->n_culprits];
        operators[i] = op_title(node_at(report, number));
        names[i] = model_node_name(node_at(report, number));
    }
    answer_add_nodes(out, operators, names, count, found->n_behind > 0);
    free(operators);
    free(names);
}

void localize_answer(const struct localize_report *report, const char *between, struct str *out)
{
    const struct localization *found = report->found;
    struct str where, evidence, unjudged, path, said;
    struct answer_part part = {.engine = found->engine, .kind = found->kind};
    struct answer answer = {.count = 1, .parts = &part, .standing = report->standing};
    str_init(&where);
    str_init(&evidence);
    str_init(&unjudged);
    str_init(&path);
    str_init(&said);
    add_place(report, &where);
    text_print(&path, report->path, 0);
    add_evidence(report, &evidence);
    add_unjudged(report, &unjudged);
    part.where = where.data;
    if (found->n_judged < found->n_nodes)
        answer.agrees = "is answered within its error bounds by";
    answer.what = path.data;
    answer.evidence = evidence.data;
    answer.not_judged = unjudged.length ? unjudged.data : NULL;
    answer.lowered = found->lowering;
    if (found->swap) {
        add_swapped(report, &said);
        answer.said = said.data;
    } else if (!found->local)
        answer.said = "Nothing was judged: only CRADLE's rate between two engines was asked for";
    answer_add(out, &answer, between);
    str_release(&where);
    str_release(&evidence);
    str_release(&unjudged);
    str_release(&path);
    str_release(&said);
}

void localize_write_text(const struct localize_report *report, bool colour, struct str *out)
{
    const struct localization *found = report->found;
    localize_answer(report, "\n", out);
    str_add(out, "\n\n");
    text_print(out, report->path, 0);
    str_printf(out, " on %s, sample %zu of %zu, %zu nodes\n", found->engine, report->sample, report->samples,
               found->n_nodes);
    if (found->local) {
        style_print(out, colour, verdict_style(found->kind), "%s", verdict_name(found->kind));
        if (*found->text) {
            str_add(out, ": ");
            text_print(out, found->text, 0);
        } else if (verdict_is(found->kind, CLASS_AGREES) && found->n_judged == found->n_nodes) {
            str_add(out, ": every node is within its bound on the inputs it had, and so is the whole model");
        } else if (verdict_is(found->kind, CLASS_AGREES)) {
            str_printf(out,
                       ": the whole model is within its bound, and so are the %zu nodes that can be judged",
                       found->n_judged);
        }
        str_add(out, "\n");
        text_class(report, out);
        text_computed(report, out);
        if (found->unshown) {
            str_add(out, "the engine's intermediate values could not be recorded: ");
            text_print(out, found->unshown, 0);
            str_add(out, "\n");
        }
        text_path(report, colour, out);
        text_others(report, out);
        text_cause(report, out);
    }
    if (found->swap)
        localize_write_swap_text(report, colour, out);
    text_rate(report, colour, out);
    text_legend(report, out);
    text_pairs(report, out);
}

static void json_forms(struct json *json, const struct localized_node *node)
{
    json_array(json, "outputs");
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct localized_value *value = &node->outputs[i];
        json_object(json, NULL);
        json_string(json, "name", value->name);
        json_string(json, "dtype", value->type == DTYPE_NONE ? NULL : dtype_name(value->type));
        json_array(json, "shape");
        for (int k = 0; value->type != DTYPE_NONE && k < value->shape.rank; k++)
            json_int(json, NULL, value->shape.dims[k]);
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

static void json_node(struct json *json, const struct localize_report *report, size_t number)
{
    const struct localization *found = report->found;
    const struct localized_node *node = &found->nodes[number];
    json_object(json, NULL);
    json_int(json, "number", (int64_t)number);
    json_string(json, "node", model_node_name(node_at(report, number)));
    json_string(json, "operator", op_title(node_at(report, number)));
    json_bool(json, "culprit", node->culprit);
    if (found->local) {
        json_string(json, "verdict", verdict_name(node->verdict));
        json_double(json, "factor", node->factor);
        json_double(json, "deviations", node->deviations);
        json_int(json, "wrong", (int64_t)node->wrong);
        json_int(json, "total", (int64_t)node->total);
        json_string(json, "text", node->text);
    }
    if (found->rate) {
        json_double(json, "delta", node->delta);
        json_double(json, "rate", node->rate);
        json_bool(json, "highlighted", node->highlighted);
    }
    json_forms(json, node);
    json_end(json);
}

static void json_numbers(struct json *json, const char *name, const size_t *numbers, size_t count)
{
    json_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_int(json, NULL, (int64_t)numbers[i]);
    json_end(json);
}

static void json_names(struct json *json, const char *name, const struct localize_report *report,
                       bool operators)
{
    const struct localization *found = report->found;
    json_array(json, name);
    for (size_t i = 0; i < found->n_culprits; i++) {
        const Onnx__NodeProto *node = node_at(report, found->culprits[i]);
        json_string(json, NULL, operators ? op_title(node) : model_node_name(node));
    }
    json_end(json);
}

static void json_local(struct json *json, const struct localize_report *report)
{
    const struct localization *found = report->found;
    json_object(json, "local");
    json_string(json, "verdict", verdict_name(found->kind));
    json_bool(json, "finding", verdict_is_finding(found->kind));
    json_string(json, "text", found->text);
    classification_json(json, report->class);
    json_numbers(json, "culprits", found->culprits, found->n_culprits);
    json_numbers(json, "behind", found->behind, found->n_behind);
    json_names(json, "operators", report, true);
    json_names(json, "nodes", report, false);
    json_bool(json, "fused", found->fused);
    json_numbers(json, "path", found->path, found->n_path);
    json_int(json, "wrong_nodes", (int64_t)found->n_wrong);
    json_int(json, "judged_nodes", (int64_t)found->n_judged);
    json_string(json, "unshown", found->unshown);
    json_computed(report, json);
    json_end(json);
}

static void json_rate(struct json *json, const struct localize_report *report)
{
    const struct localization *found = report->found;
    json_object(json, "rate");
    json_string(json, "second", found->second);
    json_double(json, "quartile", found->quartile);
    json_int(json, "highlighted", (int64_t)found->n_highlighted);
    if (found->first_highlighted < found->n_nodes)
        json_int(json, "first", (int64_t)found->first_highlighted);
    else
        json_string(json, "first", NULL);
    json_end(json);
}

void localize_write_json(const struct localize_report *report, struct str *out)
{
    const struct localization *found = report->found;
    struct json json;
    struct str answer;
    str_init(&answer);
    localize_answer(report, " ", &answer);
    output_json(&json, out, true);
    json_string(&json, "answer", answer.data);
    str_release(&answer);
    standing_json(report->standing, &json);
    json_string(&json, "model", report->path);
    json_string(&json, "engine", found->engine);
    json_int(&json, "sample", (int64_t)report->sample);
    json_int(&json, "samples", (int64_t)report->samples);
    json_string(&json, "lowered", found->lowering);
    engine_settings_json(report->settings, &json);
    if (found->local)
        json_local(&json, report);
    if (found->rate)
        json_rate(&json, report);
    if (found->swap)
        localize_write_swap_json(report, &json);
    if (found->cause.text && *found->cause.text)
        cause_json(&found->cause, &json);
    if (found->pairs.count)
        json_pairs(&json, &found->pairs);
    json_object(&json, "values");
    json_int(&json, "groups", (int64_t)found->groups);
    json_int(&json, "bytes", (int64_t)found->wanted);
    json_int(&json, "largest_group", (int64_t)found->largest);
    json_int(&json, "runs", (int64_t)found->runs);
    json_end(&json);
    json_array(&json, "nodes");
    for (size_t i = 0; i < found->n_nodes; i++)
        json_node(&json, report, i);
    json_end(&json);
    json_end(&json);
}
