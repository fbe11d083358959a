#include "engine/given_label.h"

#include "base/str.h"
#include "engine/label.h"

#include <stdlib.h>
#include <string.h>

/* Letters of the knobs that are added: a text of others may have megabytes. */
enum { MOST_ADDED = 4000 };

struct given_label {
    const char *text;
    const char *typed;  /* the label as the user typed it; NULL: it is foreign */
    const char *source; /* of everything that is not typed; NULL: all of it is */
    /* What Assay itself set, a knob by which a file is written; both NULL: nothing. */
    const char *written_knob, *written_path;
};

static const char *copy_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static struct given_label *copy(struct arena *arena, const struct given_label *label)
{
    struct given_label *made = arena_alloc(arena, sizeof *made);
    *made = (struct given_label){
        .text = copy_text(arena, label->text),
        .typed = copy_text(arena, label->typed),
        .source = copy_text(arena, label->source),
        .written_knob = copy_text(arena, label->written_knob),
        .written_path = copy_text(arena, label->written_path),
    };
    return made;
}

const struct given_label *given_copy(struct arena *arena, const struct given_label *label)
{
    return copy(arena, label);
}

const struct given_label *given_typed(struct arena *arena, const char *text)
{
    return copy(arena, &(struct given_label){.text = text, .typed = text});
}

const struct given_label *given_foreign(struct arena *arena, const char *text, const char *source)
{
    return copy(arena, &(struct given_label){.text = text, .source = source});
}

const char *given_text(const struct given_label *label)
{
    return label->text;
}

/* Whether the user typed this setting, be it the last one of its knob or not. */
static bool is_typed(const struct given_label *label, const char *name, const char *value)
{
    struct label_part rest = label->typed ? label_parse(label->typed).knobs : (struct label_part){0};
    struct label_knob knob;
    while (label_next_knob(&rest, &knob) > 0)
        if (label_part_is(knob.name, name) && label_part_is(knob.value, value))
            return true;
    return false;
}

const char *given_source(const struct given_label *label, const char *knob, const char *value)
{
    bool written = label->written_knob && text_equal(label->written_knob, knob) &&
                   text_equal(label->written_path, value);
    return written || is_typed(label, knob, value) ? NULL : label->source ? label->source : "another text";
}

/* Takes a text of the heap as the label's. */
static void set_text(struct arena *arena, struct given_label *label, char *text)
{
    label->text = arena_strdup(arena, text);
    free(text);
}

const struct given_label *given_at(struct arena *arena, const struct given_label *label, const char *version)
{
    struct given_label *made = copy(arena, label);
    set_text(arena, made, label_at(label->text, version));
    return made;
}

const struct given_label *given_with(struct arena *arena, const struct given_label *label, const char *knobs,
                                     const char *source, struct error *err)
{
    struct given_label *made = copy(arena, label);
    struct label_part rest = label_part(knobs);
    struct label_knob knob;
    int status = 0;
    if (rest.length > MOST_ADDED) {
        error_set(err, ERROR_LIMIT,
                  "%s has a setting of %zu letters, more than any that there is: '%.60s ...'", source,
                  rest.length, knobs);
        return NULL;
    }
    while ((status = label_next_knob(&rest, &knob)) > 0) {
        char *name = arena_copy(arena, knob.name.text, knob.name.length);
        char *value = arena_copy(arena, knob.value.text, knob.value.length);
        set_text(arena, made, label_with(made->text, name, value));
    }
    if (status < 0) {
        error_set(err, ERROR_USAGE, "a knob must read name=value: '%.100s'", knobs);
        return NULL;
    }
    made->source = made->source ? made->source : arena_strdup(arena, source);
    return made;
}

const struct given_label *given_writing(struct arena *arena, const struct given_label *label,
                                        const char *knob, const char *path)
{
    struct given_label *made = copy(arena, label);
    set_text(arena, made, label_with(label->text, knob, path));
    made->written_knob = arena_strdup(arena, knob);
    made->written_path = arena_strdup(arena, path);
    return made;
}

void given_add(struct arena *arena, struct given_labels *labels, const struct given_label *label)
{
    /* Command lines are short: growing by one copy each keeps the list a plain array. */
    const struct given_label **items = arena_array(arena, labels->count + 1, sizeof *items);
    if (labels->count)
        memcpy(items, labels->items, labels->count * sizeof *items);
    items[labels->count++] = label;
    labels->items = items;
}

const struct given_labels *given_all_typed(struct arena *arena, const char *const *texts, size_t count)
{
    struct given_labels *labels = arena_alloc(arena, sizeof *labels);
    *labels = (struct given_labels){count, arena_array(arena, count, sizeof *labels->items)};
    for (size_t i = 0; i < count; i++)
        labels->items[i] = given_typed(arena, texts[i]);
    return labels;
}

void given_vouched(struct given_labels *labels, const struct given_labels *typed)
{
    for (size_t i = 0; i < labels->count; i++)
        for (size_t k = 0; k < typed->count; k++)
            if (text_equal(labels->items[i]->text, typed->items[k]->text))
                labels->items[i] = typed->items[k];
}
