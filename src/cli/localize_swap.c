/* How `assay localize --method swap` writes its result. */
#include "cli/localize.h"

#include "base/memory.h"
#include "ops/op.h"
#include "report/text_table.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 10 /* nodes in the table, unless more are suspects */ };

struct ranked {
    double excess;
    size_t number;
};

static int by_excess(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->excess != b->excess)
        return a->excess > b->excess ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static void delta_cell(struct table *table, double delta, double threshold)
{
    if (isnan(delta))
        table_add(table, STYLE_DIM, "-");
    else
        table_add(table, delta > threshold ? STYLE_WARN : STYLE_PLAIN, "%.3g", delta);
}

static void engine_cell(struct table *table, const struct swapped *swapped, const struct swapped_node *node,
                        int engine)
{
    if (node->judged && !verdict_is(node->verdicts[engine], CLASS_NOTHING))
        table_add(table, verdict_style(node->verdicts[engine]), "%s", verdict_name(node->verdicts[engine]));
    else if (node->made.died[engine])
        table_add(table, STYLE_BAD, "dies");
    else if (node->made.lacks[engine])
        table_add(table, STYLE_DIM, "lacks it");
    else if (swapped->gradients && node->made.lacks_gradient[engine] && node->made.differentiated)
        table_add(table, STYLE_DIM, "no gradient");
    else
        table_add(table, STYLE_DIM, "%s", "");
}

static void text_nodes(const struct localize_report *report, bool colour, struct str *out)
{
    const struct swapped *swapped = &report->found->swapped;
    struct ranked *ranked = memory_zeroed(swapped->n_nodes, sizeof *ranked);
    for (size_t i = 0; i < swapped->n_nodes; i++)
        ranked[i] = (struct ranked){swap_excess(swapped, i), i};
    qsort(ranked, swapped->n_nodes, sizeof *ranked, by_excess);
    struct table table;
    struct str head;
    str_init(&head);
    str_printf(&head, "|operator|node|delta_C|delta_G|%s|%s", swapped->engines[0], swapped->engines[1]);
    table_init(&table, "lllrrll");
    table_head(&table, head.data);
    for (size_t i = 0; i < swapped->n_nodes && (i < SHOWN || i < swapped->n_suspects); i++) {
        const struct swapped_node *node = &swapped->nodes[ranked[i].number];
        const Onnx__NodeProto *proto = report->model->graph->node[ranked[i].number];
        table_add(&table, STYLE_BAD, "%s", node->suspect ? "*" : "");
        table_add(&table, STYLE_PLAIN, "%s", op_title(proto));
        table_add(&table, STYLE_PLAIN, "%s", model_node_name(proto));
        delta_cell(&table, node->delta_c, swapped->t_c);
        delta_cell(&table, node->delta_g, swapped->t_g);
        engine_cell(&table, swapped, node, 0);
        engine_cell(&table, swapped, node, 1);
    }
    str_add(out, "\n");
    table_print(&table, out, colour, 2);
    if (swapped->n_nodes > SHOWN && swapped->n_nodes > swapped->n_suspects)
        str_printf(out, "  and %zu nodes whose swap changes less\n",
                   swapped->n_nodes - (swapped->n_suspects > SHOWN ? swapped->n_suspects : SHOWN));
    table_release(&table);
    str_release(&head);
    free(ranked);
}

/* What the reference says of the first suspect. */
static void text_judged(const struct localize_report *report, struct str *out)
{
    const struct swapped *swapped = &report->found->swapped;
    const struct swapped_node *node = &swapped->nodes[swapped->suspects[0]];
    for (int e = 0; e < 2 && node->judged; e++) {
        if (!verdict_is_finding(node->verdicts[e]))
            continue;
        str_printf(out, "by the reference %s is %s: ", swapped->engines[e], verdict_name(node->verdicts[e]));
        text_print(out, node->texts[e], 0);
        str_add(out, "\n");
    }
}

static void text_verified(const struct swapped *swapped, struct str *out)
{
    str_printf(out, "%s: with %s on %s and everything else on %s, the outputs differ by %.3g",
               swapped->confirmed ? "confirmed" : "not confirmed",
               swapped->n_suspects > 1 ? "the suspects" : "it", swapped->engines[0], swapped->engines[1],
               swapped->verify_c);
    if (swapped->gradients && !isnan(swapped->verify_g))
        str_printf(out, " and the gradients by %.3g", swapped->verify_g);
    str_printf(out, " from those of %s alone\n", swapped->engines[0]);
}

/* Nodes at which the way back ends, because no engine has their gradient. */
static void text_way_back(const struct localize_report *report, struct str *out)
{
    const struct swapped *swapped = &report->found->swapped;
    size_t count = 0, first = 0;
    for (size_t i = swapped->n_nodes; i-- > 0 && swapped->gradients;) {
        const struct swap_node *made = &swapped->nodes[i].made;
        if (!made->differentiated || !made->lacks_gradient[0] || !made->lacks_gradient[1])
            continue;
        first = count++ ? first : i;
    }
    if (!count)
        return;
    str_printf(out, "gradients go no further than %s (node ", op_title(report->model->graph->node[first]));
    text_print(out, model_node_name(report->model->graph->node[first]), 80);
    str_add(out, count > 1 ? ") and other nodes" : ")");
    str_add(out, ", which neither engine differentiates\n");
}

void localize_write_swap_text(const struct localize_report *report, bool colour, struct str *out)
{
    const struct swapped *swapped = &report->found->swapped;
    if (swapped->n_suspects) {
        text_verified(swapped, out);
        text_judged(report, out);
    }
    text_nodes(report, colour, out);
    str_printf(out, "\n%zu of %zu nodes run on both engines", swapped->n_swapped, swapped->n_nodes);
    if (swapped->gradients)
        str_printf(out, ", the gradients of %zu too; %zu parameters", swapped->n_gradients,
                   swapped->n_parameters);
    else
        str_add(out, "; gradients were not compared, because not both engines have them");
    str_printf(out, "; %zu runs of single nodes\n", swapped->runs);
    text_way_back(report, out);
}

static void json_node(struct json *json, const struct localize_report *report, size_t number)
{
    const struct swapped *swapped = &report->found->swapped;
    const struct swapped_node *node = &swapped->nodes[number];
    json_object(json, NULL);
    json_int(json, "number", (int64_t)number);
    json_string(json, "node", model_node_name(report->model->graph->node[number]));
    json_string(json, "operator", op_title(report->model->graph->node[number]));
    json_double(json, "delta_C", node->delta_c);
    json_double(json, "delta_G", node->delta_g);
    json_bool(json, "suspect", node->suspect);
    json_array(json, "engines");
    for (int e = 0; e < 2; e++) {
        json_object(json, NULL);
        json_bool(json, "runs", !node->made.lacks[e]);
        json_bool(json, "gradient", node->made.differentiated && !node->made.lacks_gradient[e]);
        json_string(json, "said", node->made.why[e]);
        json_string(json, "verdict", node->judged ? verdict_name(node->verdicts[e]) : NULL);
        json_string(json, "text", node->judged ? node->texts[e] : NULL);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

void localize_write_swap_json(const struct localize_report *report, struct json *json)
{
    const struct swapped *swapped = &report->found->swapped;
    json_object(json, "swap");
    json_string(json, "text", swapped->text);
    json_array(json, "engines");
    for (int e = 0; e < 2; e++)
        json_string(json, NULL, swapped->engines[e]);
    json_end(json);
    json_double(json, "T_C", swapped->t_c);
    json_double(json, "T_G", swapped->t_g);
    json_bool(json, "gradients", swapped->gradients);
    json_int(json, "swapped", (int64_t)swapped->n_swapped);
    json_array(json, "suspects");
    for (size_t i = 0; i < swapped->n_suspects; i++)
        json_int(json, NULL, (int64_t)swapped->suspects[i]);
    json_end(json);
    if (swapped->verified) {
        json_object(json, "verification");
        json_double(json, "delta_C", swapped->verify_c);
        json_double(json, "delta_G", swapped->verify_g);
        json_bool(json, "confirmed", swapped->confirmed);
        json_end(json);
    }
    json_array(json, "nodes");
    for (size_t i = 0; i < swapped->n_nodes; i++)
        json_node(json, report, i);
    json_end(json);
    json_end(json);
}
