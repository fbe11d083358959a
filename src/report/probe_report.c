#include "report/probe_report.h"

#include "base/output.h"
#include "probe/probe_file.h"
#include "report/page.h"
#include "report/text_table.h"

#include <string.h>

enum { SHOWN_FINDINGS = 20 };

/* The order of a cell's letters: frequent types first. */
static const enum dtype type_order[] = {
    DTYPE_FLOAT,
    DTYPE_DOUBLE,
    DTYPE_FLOAT16,
    DTYPE_BFLOAT16,
    DTYPE_INT8,
    DTYPE_INT16,
    DTYPE_INT32,
    DTYPE_INT64,
    DTYPE_UINT8,
    DTYPE_UINT16,
    DTYPE_UINT32,
    DTYPE_UINT64,
    DTYPE_BOOL,
    /* these stand only where an operator was asked for them */
    DTYPE_FLOAT8E4M3FN,
    DTYPE_FLOAT8E4M3FNUZ,
    DTYPE_FLOAT8E5M2,
    DTYPE_FLOAT8E5M2FNUZ,
    DTYPE_FLOAT8E8M0,
    DTYPE_FLOAT4E2M1,
    DTYPE_INT4,
    DTYPE_UINT4,
    DTYPE_INT2,
    DTYPE_UINT2,
};
enum { TYPES = sizeof type_order / sizeof *type_order, USUAL_TYPES = 13 };

static bool has_narrow(const struct probe_op *op)
{
    for (size_t i = 0; i < op->n_rows; i++)
        if (dtype_is_narrow(op->rows[i].type))
            return true;
    return false;
}

/* How many of the types have letters. */
static size_t types_shown(const struct probe_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < results[i].n_ops; k++)
            if (has_narrow(&results[i].ops[k]))
                return TYPES;
    return USUAL_TYPES;
}

/*
 * The letter of one element type: that of the answer which sums its cases up, but '+' where some cases are ok
 * and the rest unsupported or unsure.
 */
static char type_letter(const struct probe_op *op, enum dtype type)
{
    struct probe_counts counts = probe_count(op, type);
    enum probe_answer answer = probe_sum_up(&counts);
    return answer == PROBE_OK && counts.of[PROBE_OK] < counts.total ? '+' : probe_letter(answer);
}

static enum style answer_style(enum probe_answer answer)
{
    if (probe_is_finding(answer))
        return STYLE_BAD;
    return answer == PROBE_OK ? STYLE_GOOD : answer == PROBE_UNSUPPORTED ? STYLE_DIM : STYLE_PLAIN;
}

static const struct probe_op *op_in(const struct probe_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_ops; i++)
        if (strcmp(result->ops[i].name, name) == 0)
            return &result->ops[i];
    return NULL;
}

static void add_cells(struct table *table, const struct probe_op *op, size_t types)
{
    char letters[TYPES + 1] = "";
    struct probe_counts counts = op ? probe_count(op, DTYPE_NONE) : (struct probe_counts){0};
    enum style style = answer_style(probe_sum_up(&counts));
    for (size_t i = 0; op && i < types; i++)
        letters[i] = type_letter(op, type_order[i]);
    table_add(table, style, "%s", letters);
    if (counts.total)
        table_add(table, style, "%.0f %%", 100.0 * (double)counts.of[PROBE_OK] / (double)counts.total);
    else
        table_add(table, style, "-");
}

static void print_matrix(const struct probe_result *results, size_t count, struct str *out, bool colour)
{
    struct str align, head;
    struct table table;
    size_t types = types_shown(results, count);
    str_init(&align);
    str_init(&head);
    str_add(&align, "l");
    str_add(&head, "operator");
    for (size_t i = 0; i < count; i++) {
        str_add(&align, "lr");
        str_printf(&head, "|%s|ok", results[i].engine);
    }
    table_init(&table, align.data);
    table_head(&table, head.data);
    for (size_t op = 0; count && op < results[0].n_ops; op++) {
        table_add(&table, STYLE_PLAIN, "%s", results[0].ops[op].name);
        for (size_t i = 0; i < count; i++)
            add_cells(&table, op_in(&results[i], results[0].ops[op].name), types);
    }
    table_print(&table, out, colour, 0);
    table_release(&table);
    str_release(&align);
    str_release(&head);
    str_add(out, "\none letter for each type:");
    for (size_t i = 0; i < types; i++)
        str_printf(out, " %s", dtype_name(type_order[i]));
    str_add(out, "\no ok, + ok in part, ? the answer proves nothing, u unsupported, r rejected, w wrong, c "
                 "crash, h hang, "
                 ". no such type\n\n");
}

static void print_finds(const struct probe_result *results, size_t count, struct str *out, bool colour)
{
    struct table table;
    size_t shown = 0, all = 0;
    table_init(&table, "lllrll");
    table_head(&table, "engine|operator|verdict|cases|recipe of the first|message of the first");
    for (size_t i = 0; i < count; i++)
        for (size_t op = 0; op < results[i].n_ops; op++)
            for (size_t k = 0; k < results[i].ops[op].n_finds; k++) {
                const struct probe_find *find = &results[i].ops[op].finds[k];
                if (verdict_is(find->verdict, CLASS_LACK) || all++ >= SHOWN_FINDINGS)
                    continue;
                table_add(&table, STYLE_PLAIN, "%s", results[i].engine);
                table_add(&table, STYLE_PLAIN, "%s", results[i].ops[op].name);
                table_add(&table, STYLE_BAD, "%s", verdict_name(find->verdict));
                table_add(&table, STYLE_PLAIN, "%zu", find->count);
                table_add(&table, STYLE_PLAIN, "%s", find->recipe);
                table_add(&table, STYLE_PLAIN, "%s", find->message);
                shown++;
            }
    if (shown) {
        table_print(&table, out, colour, 0);
        if (all > shown)
            str_printf(out, "... and %zu more; --format json or html has them all\n", all - shown);
        str_add(out, "\n");
    }
    table_release(&table);
}

static void print_sums(const struct probe_result *results, size_t count, struct str *out, bool colour)
{
    struct table table;
    table_init(&table, "lrrrrrrrr");
    table_head(&table, "engine|cases|ok|unsure|unsupported|rejected|wrong|crash|hang");
    for (size_t i = 0; i < count; i++) {
        struct probe_counts counts = probe_count_all(&results[i]);
        table_add(&table, STYLE_PLAIN, "%s", results[i].engine);
        table_add(&table, STYLE_PLAIN, "%zu", counts.total);
        for (int answer = PROBE_OK; answer < PROBE_ANSWERS; answer++)
            table_add(&table, counts.of[answer] ? answer_style((enum probe_answer)answer) : STYLE_DIM, "%zu",
                      counts.of[answer]);
    }
    table_print(&table, out, colour, 0);
    table_release(&table);
}

/* How much of an engine was reached, and by which operator. */
static void print_names(const struct probe_result *results, size_t count, struct str *out, bool colour)
{
    struct table table;
    size_t rows = 0;
    table_init(&table, "llrl");
    table_head(&table, "engine|operator|reached|kernels and passes");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < results[i].n_ops; k++) {
            const struct probe_op *op = &results[i].ops[k];
            struct str names;
            str_init(&names);
            for (size_t n = 0; n < op->n_names; n++)
                str_printf(&names, "%s%s", n ? ", " : "", op->names[n]);
            if (op->n_names) {
                table_add(&table, STYLE_PLAIN, "%s", results[i].engine);
                table_add(&table, STYLE_PLAIN, "%s", op->name);
                table_add(&table, STYLE_PLAIN, "%zu", op->n_names);
                table_add(&table, STYLE_PLAIN, "%s", names.data);
                rows++;
            }
            str_release(&names);
        }
    if (rows) {
        str_add(out, "\n");
        table_print(&table, out, colour, 0);
    }
    table_release(&table);
}

void probe_text(const struct probe_result *results, size_t count, struct str *out, bool colour)
{
    print_matrix(results, count, out, colour);
    print_finds(results, count, out, colour);
    print_sums(results, count, out, colour);
    print_names(results, count, out, colour);
}

void probe_json(const struct probe_result *results, size_t count, struct str *out, bool indent)
{
    struct json json;
    output_json(&json, out, indent);
    json_array(&json, "engines");
    for (size_t i = 0; i < count; i++)
        probe_write(&results[i], &json, NULL);
    json_end(&json);
    json_end(&json);
}

/* The page, with a mark where the data goes: probe_page.html. */
static const char page[] =
#include "report/probe_page.inc"
    ;

void probe_html(const struct probe_result *results, size_t count, struct str *out)
{
    struct str data;
    str_init(&data);
    probe_json(results, count, &data, false);
    page_fill(out, page, data.data);
    str_release(&data);
}
