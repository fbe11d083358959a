#include "engine/label.h"

#include <string.h>

struct label_part label_part(const char *text)
{
    return (struct label_part){text, text ? strlen(text) : 0};
}

bool label_part_equal(struct label_part a, struct label_part b)
{
    if (!a.text || !b.text)
        return !a.text && !b.text;
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

bool label_part_is(struct label_part part, const char *text)
{
    return label_part_equal(part, label_part(text));
}

struct label label_parse(const char *text)
{
    struct label label = {.name = {text, strcspn(text, "@:")}};
    const char *at = text + label.name.length;
    if (*at == '@') {
        label.version = (struct label_part){at + 1, strcspn(at + 1, ":")};
        at = label.version.text + label.version.length;
    }
    if (*at == ':')
        label.knobs = label_part(at + 1);
    return label;
}

/* Letters up to the first `letter`, or all. */
static size_t length_before(const char *text, size_t length, char letter)
{
    const char *found = length ? memchr(text, letter, length) : NULL;
    return found ? (size_t)(found - text) : length;
}

int label_next_knob(struct label_part *knobs, struct label_knob *knob)
{
    const char *text = knobs->text;
    size_t all = knobs->length;
    if (!all)
        return 0;
    size_t end = length_before(text, all, ','), name = length_before(text, end, '=');
    if (name == 0 || name == end)
        return -1;
    while (end < all) {
        size_t next = length_before(text + end + 1, all - end - 1, ',');
        if (length_before(text + end + 1, next, '=') < next)
            break;
        end += 1 + next;
    }
    *knob = (struct label_knob){.name = {text, name}, .value = {text + name + 1, end - name - 1}};
    size_t taken = end < all ? end + 1 : end;
    *knobs = (struct label_part){text + taken, all - taken};
    return 1;
}

bool label_names(const char *text, const char *name)
{
    return label_part_is(label_parse(text).name, name);
}

bool label_same_release(const char *a, const char *b)
{
    struct label x = label_parse(a), y = label_parse(b);
    return label_part_equal(x.name, y.name) && label_part_equal(x.version, y.version);
}

static void print_part(struct str *out, const char *before, struct label_part part)
{
    if (!part.text)
        return;
    str_add(out, before);
    str_append(out, part.text, part.length);
}

void label_print(struct str *out, const struct label *label)
{
    print_part(out, "", label->name);
    print_part(out, "@", label->version);
    print_part(out, ":", label->knobs);
}

void label_add_knob(struct str *label, struct label_part knob, struct label_part value)
{
    print_part(label, strchr(label->data, ':') ? "," : ":", knob);
    print_part(label, "=", value);
}

char *label_at(const char *text, const char *version)
{
    struct label label = label_parse(text);
    struct str out;
    str_init(&out);
    label.version = label_part(version);
    label_print(&out, &label);
    char *detached = str_detach(&out);
    str_release(&out);
    return detached;
}

char *label_with(const char *text, const char *knob, const char *value)
{
    struct label label = label_parse(text);
    struct label_part rest = label.knobs;
    struct label_knob other;
    struct str out;
    str_init(&out);
    label.knobs = (struct label_part){0};
    label_print(&out, &label);
    while (label_next_knob(&rest, &other) > 0)
        if (!label_part_is(other.name, knob))
            label_add_knob(&out, other.name, other.value);
    label_add_knob(&out, label_part(knob), label_part(value));
    char *detached = str_detach(&out);
    str_release(&out);
    return detached;
}
