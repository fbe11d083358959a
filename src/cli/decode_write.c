/* Text and JSON of `assay decode`. */
#include "base/json.h"
#include "cli/decode.h"
#include "report/answer.h"
#include "report/standing.h"
#include "report/text_table.h"

#include <inttypes.h>
#include <math.h>

enum { SHOWN_TOKENS = 12 };

static void add_count(struct str *out, size_t count, const char *word)
{
    str_printf(out, "%zu %s%s", count, word, count == 1 ? "" : "s");
}

static bool any_part(const struct decode *decode)
{
    for (size_t e = 1; e < decode->engines; e++)
        if (decode->pairs[e].kind != PARTING_NONE)
            return true;
    return false;
}

static void add_step(size_t step, struct str *out)
{
    if (step)
        str_printf(out, "step %zu", step);
    else
        str_add(out, "the prompt");
}

/* "in layer 3, head 5 of 8", as far as it is known. */
static void add_place(const struct decode_fault *fault, struct str *out)
{
    if (fault->layer >= 0)
        str_printf(out, " in layer %d", fault->layer);
    if (!fault->n_wrong)
        return;
    if (fault->n_wrong == (size_t)fault->heads && fault->heads > 1) {
        str_printf(out, ", all %" PRId64 " heads", fault->heads);
        return;
    }
    str_printf(out, ", head%s", fault->n_wrong == 1 ? "" : "s");
    for (size_t i = 0; i < fault->n_wrong; i++)
        str_printf(out, "%s%" PRId64,
                   i == 0                    ? " "
                   : i + 1 == fault->n_wrong ? " and "
                                             : ", ",
                   fault->wrong[i]);
    str_printf(out, " of %" PRId64, fault->heads);
}

static void add_fault(const struct decode_fault *fault, const char *label, struct str *out)
{
    str_printf(out, "%s %s", label, verdict_row(fault->kind)->sentence);
    if (*fault->node) {
        str_printf(out, " at %s ", fault->operator);
        text_print(out, fault->node, 0);
    }
    add_place(fault, out);
    str_add(out, ", first seen at ");
    add_step(fault->step, out);
}

static void add_parting(const struct decode_report *report, size_t engine, struct str *out)
{
    const struct decode_pair *pair = &report->decode->pairs[engine];
    str_printf(out, "%s parts from %s at ", report->labels[engine], report->labels[0]);
    add_step(pair->step, out);
    str_printf(out, " by %s",
               pair->kind == PARTING_ROUNDING  ? "rounding"
               : pair->kind == PARTING_LOWERED ? "fewer bits"
               : pair->kind == PARTING_TIE     ? "a near tie"
               : pair->kind == PARTING_FAULT   ? "a fault"
                                               : "what was not judged");
    str_printf(out, ": token %" PRId64 ", not %" PRId64, pair->tokens[1], pair->tokens[0]);
}

static void add_labels(const struct decode_report *report, struct str *out)
{
    for (size_t e = 0; e < report->decode->engines; e++)
        str_printf(out, "%s%s",
                   e == 0                             ? ""
                   : e + 1 == report->decode->engines ? " and "
                                                      : ", ",
                   report->labels[e]);
}

static void add_said(const struct decode_report *report, struct str *out)
{
    const struct decode *decode = report->decode;
    bool first = true;
    for (size_t e = 0; e < decode->engines; e++) {
        const struct decode_course *course = &decode->courses[e];
        if (course->fault.found) {
            str_add(out, first ? "" : "; ");
            add_fault(&course->fault, report->labels[e], out);
            first = false;
        } else if (course->ended != OUTCOME_OK) {
            str_printf(out, "%s%s ends at step %zu", first ? "" : "; ", report->labels[e], course->count);
            first = false;
        }
        if (decode->pairs[e].kind != PARTING_NONE) {
            str_add(out, first ? "" : "; ");
            add_parting(report, e, out);
            first = false;
        }
    }
    if (!first)
        return;
    add_labels(report, out);
    str_printf(out, decode->engines > 1 ? " choose the same %zu tokens" : " chooses %zu tokens",
               decode->courses[0].count);
}

static void add_answer(const struct decode_report *report, const char *between, struct str *out)
{
    const struct decode *decode = report->decode;
    size_t judged = 0, right = 0;
    for (size_t e = 0; e < decode->engines; e++) {
        judged += decode->courses[e].judged;
        right += decode->courses[e].right;
    }
    str_printf(out, "%s: ", report->path);
    add_said(report, out);
    str_printf(out, ".%sEvidence: a prompt of ", between);
    add_count(out, report->options->n_prompt, "token");
    str_add(out, " and ");
    add_count(out, report->options->steps, "step");
    str_add(out, ", ");
    add_count(out, judged, "answer");
    str_add(out, " judged operator by operator, ");
    if (right == judged && judged)
        str_add(out, "every operator within its bounds.");
    else
        str_printf(out, "in %zu of them every operator within its bounds.", right);
    for (size_t e = 0; e < decode->engines; e++)
        if (decode->courses[e].lowering)
            str_printf(out, "%sComputed in fewer bits than its type has by %s: %s.", between,
                       report->labels[e], decode->courses[e].lowering);
    if (report->standing->troubles) {
        str_printf(out, "%sNot everything was judged: ", between);
        text_print(out, report->standing->reason, 0);
        str_add(out, ".");
    }
}

static void text_courses(const struct decode_report *report, bool colour, struct str *out)
{
    struct table table;
    table_init(&table, "lrrl");
    table_head(&table, "engine|tokens|judged|tokens chosen");
    for (size_t e = 0; e < report->decode->engines; e++) {
        const struct decode_course *course = &report->decode->courses[e];
        struct str tokens;
        str_init(&tokens);
        for (size_t i = 0; i < course->count && i < SHOWN_TOKENS; i++)
            str_printf(&tokens, "%s%" PRId64, i ? " " : "", course->tokens[i]);
        str_add(&tokens, course->count > SHOWN_TOKENS ? " ..." : "");
        table_add(&table, course->fault.found ? STYLE_BAD : STYLE_PLAIN, "%s", report->labels[e]);
        table_add(&table, STYLE_PLAIN, "%zu", course->count);
        table_add(&table, STYLE_PLAIN, "%zu", course->judged);
        table_add(&table, STYLE_PLAIN, "%s", tokens.data);
        str_release(&tokens);
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
}

static void text_details(const struct decode_report *report, size_t engine, struct str *out)
{
    const struct decode_course *course = &report->decode->courses[engine];
    const struct decode_pair *pair = &report->decode->pairs[engine];
    if (course->fault.found) {
        str_printf(out, "  %s: ", report->labels[engine]);
        text_print(out, course->fault.text, 0);
        str_add(out, "\n");
    }
    if (course->ended != OUTCOME_OK) {
        str_printf(out, "  %s ended at step %zu: ", report->labels[engine], course->count);
        text_print(out, course->why, 0);
        str_add(out, "\n");
    }
    if (pair->kind == PARTING_NONE)
        return;
    str_printf(out, "  %s and %s at ", report->labels[0], report->labels[engine]);
    add_step(pair->step, out);
    str_add(out, ":");
    if (!isnan(pair->gap))
        str_printf(
            out,
            " the logits of the two tokens are %.3g apart, of which the last operator alone explains %.3g;",
            pair->gap, pair->bound);
    const struct decode_apart *apart = &pair->apart;
    if (apart->differ)
        str_printf(out,
                   " their caches differ most in layer %d, head %" PRId64
                   ", at position %zu (%s), by %.2g of its "
                   "largest value, and first in layer %d, head %" PRId64 ", at position %zu\n",
                   apart->layer, apart->head, apart->position, apart->name, apart->share, apart->first_layer,
                   apart->first_head, apart->first_position);
    else
        str_add(out, " their caches are the same, bit by bit\n");
}

void decode_write_text(const struct decode_report *report, bool colour, struct str *out)
{
    const struct decode *decode = report->decode;
    bool details = any_part(decode);
    add_answer(report, "\n", out);
    str_add(out, "\n\n");
    text_courses(report, colour, out);
    for (size_t e = 0; e < decode->engines; e++)
        details |= decode->courses[e].fault.found || decode->courses[e].ended != OUTCOME_OK;
    if (details)
        str_add(out, "\n");
    for (size_t e = 0; e < decode->engines; e++)
        text_details(report, e, out);
}

static void json_fault(struct json *json, const struct decode_fault *fault)
{
    json_object(json, "fault");
    json_int(json, "step", (int64_t)fault->step);
    json_string(json, "verdict", verdict_name(fault->kind));
    json_string(json, "operator", *fault->operator? fault->operator: NULL);
    json_string(json, "node", *fault->node ? fault->node : NULL);
    if (fault->layer >= 0)
        json_int(json, "layer", fault->layer);
    json_int(json, "heads", fault->heads);
    json_array(json, "wrong_heads");
    for (size_t i = 0; i < fault->n_wrong; i++)
        json_int(json, NULL, fault->wrong[i]);
    json_end(json);
    json_string(json, "text", fault->text);
    json_end(json);
}

static void json_parting(struct json *json, const struct decode_pair *pair, const char *first)
{
    const struct decode_apart *apart = &pair->apart;
    json_object(json, "parts");
    json_string(json, "from", first);
    json_string(json, "by", parting_word(pair->kind));
    json_int(json, "step", (int64_t)pair->step);
    json_int(json, "token", pair->tokens[1]);
    json_int(json, "token_of_first", pair->tokens[0]);
    json_double(json, "gap", pair->gap);
    json_double(json, "bound", pair->bound);
    if (apart->differ) {
        json_object(json, "caches");
        json_int(json, "layer", apart->layer);
        json_int(json, "head", apart->head);
        json_int(json, "position", (int64_t)apart->position);
        json_string(json, "output", apart->name);
        json_double(json, "share", apart->share);
        json_int(json, "first_layer", apart->first_layer);
        json_int(json, "first_head", apart->first_head);
        json_int(json, "first_position", (int64_t)apart->first_position);
        json_end(json);
    }
    json_end(json);
}

static void json_course(struct json *json, const struct decode_report *report, size_t engine)
{
    const struct decode_course *course = &report->decode->courses[engine];
    json_object(json, NULL);
    json_string(json, "engine", report->labels[engine]);
    json_array(json, "tokens");
    for (size_t i = 0; i < course->count; i++)
        json_int(json, NULL, course->tokens[i]);
    json_end(json);
    json_int(json, "judged", (int64_t)course->judged);
    json_int(json, "right", (int64_t)course->right);
    json_string(json, "lowered", course->lowering);
    json_string(json, "ended", course->ended == OUTCOME_OK ? NULL : course->why);
    if (course->fault.found)
        json_fault(json, &course->fault);
    if (report->decode->pairs[engine].kind != PARTING_NONE)
        json_parting(json, &report->decode->pairs[engine], report->labels[0]);
    json_int(json, "load_ns", course->load_ns);
    json_int(json, "run_ns", course->run_ns);
    json_end(json);
}

void decode_write_json(const struct decode_report *report, struct str *out)
{
    struct json json;
    struct str answer;
    str_init(&answer);
    add_answer(report, " ", &answer);
    output_answer(&json, answer.data, report->standing, report->settings, report->path, out);
    str_release(&answer);
    json_array(&json, "prompt");
    for (size_t i = 0; i < report->options->n_prompt; i++)
        json_int(&json, NULL, report->options->prompt[i]);
    json_end(&json);
    json_int(&json, "steps", (int64_t)report->options->steps);
    json_array(&json, "engines");
    for (size_t e = 0; e < report->decode->engines; e++)
        json_course(&json, report, e);
    json_end(&json);
    json_end(&json);
}
