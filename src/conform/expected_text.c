/* The text of a list of expected failures after an update (expected_failures.h). */
#include "conform/expected_list.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WHY = 120 };

static bool goes(const struct entry *entry)
{
    return entry->holds && !entry->lenient && entry->passed;
}

static void add_span(const struct expected_failures *list, struct span span, struct str *out)
{
    str_append(out, list->text + span.begin, span.end - span.begin);
}

/* An entry of this name, as the form has it; of an expression, whole names. */
static void add_name(const struct expected_failures *list, const char *name, const char *like,
                     struct str *out)
{
    if (list->form == FILTERS)
        str_printf(out, "\"^%s" LIST_DEVICE "\"", name);
    else if (list->form == SUITES) /* in the folder of the others */
        str_printf(out, "\"%.*s%s\"", (int)(like ? expected_last_part(like) - like : 0), like ? like : "",
                   name);
    else
        str_printf(out, "%s\n", name);
}

/* What a list of JSON holds, put together again: items, with commas between. */
struct writer {
    const struct expected_failures *list;
    struct str *out;
    struct str tail; /* of the last item, which comes behind its comma */
    bool any;
};

static void next_item(struct writer *writer)
{
    if (writer->any)
        str_add(writer->out, ",");
    str_append(writer->out, writer->tail.data, writer->tail.length);
    writer->any = true;
    str_clear(&writer->tail);
}

/* Comments on lines of their own before an item that goes; all but the blanks before the item. */
static void keep_comments(const struct expected_failures *list, struct span lead, struct writer *writer)
{
    size_t end = lead.end;
    while (end > lead.begin && (list->text[end - 1] == ' ' || list->text[end - 1] == '\t'))
        end--;
    end -= end > lead.begin && list->text[end - 1] == '\n';
    for (size_t i = lead.begin; i < end; i++)
        if (list->text[i] == '/') {
            str_append(&writer->tail, list->text + lead.begin, end - lead.begin);
            return;
        }
}

static void write_names_of(struct writer *writer, const struct entry *entry, const char *indent)
{
    for (size_t at = 0; at < entry->names.length; at += strlen(entry->names.data + at) + 1) {
        next_item(writer);
        str_add(writer->out, indent);
        add_name(writer->list, entry->names.data + at, entry->text, writer->out);
        str_append(&writer->tail, writer->list->text + entry->tail.begin,
                   entry->tail.end - entry->tail.begin);
    }
}

/* The list in which an added case stands: the first that holds or, in a suite, that of the stage, if there is
 * one. The number of lists: there is none. */
static size_t home(const struct expected_failures *list, bool at_load)
{
    size_t found = list->n_groups;
    for (size_t i = list->n_groups; i-- > 0;) {
        const char *name = list->groups[i].name;
        bool of_stage = text_equal(name, at_load ? "expected_compile_failures" : "expected_run_failures");
        if (list->groups[i].holds && list->form == SUITES && of_stage)
            return i;
        if (list->groups[i].holds && !(list->form == SUITES && text_starts(name, "skip_")))
            found = i;
    }
    return found;
}

static void write_added(struct writer *writer, const struct group *group, const char *indent)
{
    const struct expected_failures *list = writer->list;
    const char *like = group->count ? list->entries[group->first].text : NULL;
    for (size_t i = 0; i < list->n_added; i++) {
        const struct added *added = &list->added[i];
        if (home(list, added->at_load) != (size_t)(group - list->groups))
            continue;
        next_item(writer);
        str_add(writer->out, indent);
        add_name(list, added->name, like, writer->out);
        if (list->comments) {
            str_add(&writer->tail, " // ");
            for (size_t at = 0; added->why[at] && at < MAX_WHY; at++)
                str_append(&writer->tail, isprint((unsigned char)added->why[at]) ? &added->why[at] : "?", 1);
        }
    }
}

static void write_group(const struct expected_failures *list, const struct group *group, struct str *out)
{
    struct writer writer = {.list = list, .out = out};
    char indent[64] = "\n        ";
    str_init(&writer.tail);
    if (group->count) { /* as the first item has it */
        struct span lead = list->entries[group->first].lead;
        size_t begin = lead.end;
        while (begin > lead.begin && list->text[begin - 1] != '\n' && lead.end - begin < sizeof indent - 2)
            begin--;
        bool own_line = begin > lead.begin && list->text[begin - 1] == '\n';
        snprintf(indent, sizeof indent, "%s%.*s", own_line ? "\n" : " ",
                 (int)(own_line ? lead.end - begin : 0), list->text + begin);
    }
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const struct entry *entry = &list->entries[i];
        if (goes(entry)) {
            keep_comments(list, entry->lead, &writer);
            write_names_of(&writer, entry, indent);
            continue;
        }
        next_item(&writer);
        add_span(list, entry->lead, out);
        add_span(list, entry->item, out);
        str_append(&writer.tail, list->text + entry->tail.begin, entry->tail.end - entry->tail.begin);
    }
    write_added(&writer, group, indent);
    str_append(out, writer.tail.data, writer.tail.length);
    if (!group->count) {
        add_span(list, (struct span){group->inside, group->end}, out);
        str_add(out, writer.any ? "\n    " : "");
    }
    str_release(&writer.tail);
}

static bool changes(const struct expected_failures *list, const struct group *group)
{
    for (size_t i = group->first; i < group->first + group->count; i++)
        if (goes(&list->entries[i]))
            return true;
    for (size_t i = 0; i < list->n_added; i++)
        if (home(list, list->added[i].at_load) == (size_t)(group - list->groups))
            return true;
    return false;
}

static void text_of_lists(const struct expected_failures *list, struct str *out)
{
    size_t at = 0;
    for (size_t i = 0; i < list->n_groups; i++) {
        const struct group *group = &list->groups[i];
        if (!changes(list, group))
            continue;
        add_span(list, (struct span){at, group->inside}, out);
        write_group(list, group, out);
        at = group->end;
    }
    add_span(list, (struct span){at, list->size}, out);
}

static void text_of_names(const struct expected_failures *list, struct str *out)
{
    size_t at = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!goes(&list->entries[i]))
            continue;
        add_span(list, (struct span){at, list->entries[i].item.begin}, out);
        at = list->entries[i].item.end;
    }
    add_span(list, (struct span){at, list->size}, out);
    if (list->n_added && out->length && out->data[out->length - 1] != '\n')
        str_add(out, "\n");
    for (size_t i = 0; i < list->n_added; i++)
        add_name(list, list->added[i].name, NULL, out);
}

int expected_failures_text(const struct expected_failures *list, struct str *out, struct error *err)
{
    for (size_t i = 0; i < list->n_added && list->form != NAMES; i++)
        if (home(list, list->added[i].at_load) == list->n_groups)
            return error_set(err, ERROR_USAGE, "it has no list that %.200s could be added to",
                             list->added[i].name);
    if (list->form == NAMES)
        text_of_names(list, out);
    else
        text_of_lists(list, out);
    return 0;
}
