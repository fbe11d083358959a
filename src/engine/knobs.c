#include "engine/knobs.h"

#include "base/str.h"
#include "engine/everyones_knobs.h"
#include "engine/label.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const Assay__KnobInfo *find_info(const Assay__Welcome *welcome, const char *name)
{
    for (size_t i = 0; i < welcome->n_knobs; i++)
        if (text_equal(welcome->knobs[i]->name, name))
            return welcome->knobs[i];
    return NULL;
}

static bool is_graph(const Assay__KnobInfo *info)
{
    return info && info->kind == ASSAY__KNOB_INFO__KIND__GRAPH;
}

static bool selects_kernels(const Assay__KnobInfo *info)
{
    return !is_graph(info) && !(info && info->kind == ASSAY__KNOB_INFO__KIND__SCHEDULE);
}

const char *knobs_value(const struct engine_spec *spec, const Assay__KnobInfo *info)
{
    for (size_t i = spec->knobs; i-- > 0;)
        if (text_equal(spec->knob_names[i], info->name))
            return spec->knob_values[i];
    return info->default_value;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether a knob given at `number` is given again behind it, where it counts. */
static bool is_overruled(const struct engine_spec *spec, size_t number)
{
    for (size_t i = number + 1; i < spec->knobs; i++)
        if (text_equal(spec->knob_names[i], spec->knob_names[number]))
            return true;
    return false;
}

char *knobs_kernels(struct arena *arena, const struct engine_spec *spec, const Assay__Welcome *welcome)
{
    size_t count = 0, n_hidden = 0;
    while (spec->hidden_knobs && spec->hidden_knobs[n_hidden])
        n_hidden++;
    char **texts = arena_array(arena, spec->knobs + n_hidden, sizeof *texts);
    for (size_t i = 0; i < spec->knobs; i++) {
        const Assay__KnobInfo *info = find_info(welcome, spec->knob_names[i]);
        if (selects_kernels(info) && !is_overruled(spec, i) &&
            !(info && text_equal(spec->knob_values[i], info->default_value)))
            texts[count++] = arena_printf(arena, "%s=%s", spec->knob_names[i], spec->knob_values[i]);
    }
    for (size_t i = 0; i < n_hidden; i++)
        if (!knob_is_everyones(spec->hidden_knobs[i], strcspn(spec->hidden_knobs[i], "=")))
            texts[count++] = arena_strdup(arena, spec->hidden_knobs[i]);
    qsort(texts, count, sizeof *texts, compare_texts);
    struct str all;
    str_init(&all);
    for (size_t i = 0; i < count; i++)
        str_printf(&all, "%s%s", i ? "," : "", texts[i]);
    char *kernels = arena_strdup(arena, all.data);
    str_release(&all);
    return kernels;
}

bool knobs_are_plain(const struct engine_spec *spec, const Assay__Welcome *welcome)
{
    for (size_t i = 0; i < welcome->n_knobs; i++)
        if (is_graph(welcome->knobs[i]) &&
            !text_equal(knobs_value(spec, welcome->knobs[i]), welcome->knobs[i]->plain))
            return false;
    return true;
}

bool knobs_stands_for_text(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isupper((unsigned char)text[i]))
            return false;
    return length > 0;
}

/* Whether one of the values is this text; the values are divided by the separator. */
static bool is_member(const char *values, char separator, const char *text, size_t length)
{
    for (const char *at = values;;) {
        const char *end = strchr(at, separator);
        size_t size = end ? (size_t)(end - at) : strlen(at);
        if ((separator == '|' && knobs_stands_for_text(at, size)) ||
            (size == length && strncmp(at, text, length) == 0))
            return true;
        if (!end)
            return false;
        at = end + 1;
    }
}

/* See KnobInfo in engine.proto for how values are listed. */
static bool lists_value(const char *values, const char *value)
{
    if (strchr(values, '|'))
        return is_member(values, '|', value, strlen(value));
    if (!strchr(values, '+'))
        return true;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, "+");
        if (!is_member(values, '+', at, length))
            return false;
        at += length;
        if (!*at)
            return true;
    }
}

static int no_knob(const struct engine_spec *spec, const Assay__Welcome *welcome, const char *name,
                   struct error *err)
{
    struct str known;
    str_init(&known);
    for (size_t i = 0; i < welcome->n_knobs; i++)
        str_printf(&known, "%s%s", i ? ", " : "", welcome->knobs[i]->name);
    int result = error_set(err, ERROR_NOT_FOUND, "%s has no knob '%.60s'; there %s%s", spec->name, name,
                           known.length ? "are: " : "are none", known.data);
    str_release(&known);
    return result;
}

int knobs_check(const struct engine_spec *spec, const Assay__Welcome *welcome, struct error *err)
{
    for (size_t i = 0; i < spec->knobs; i++) {
        const Assay__KnobInfo *info = find_info(welcome, spec->knob_names[i]);
        if (!info)
            return no_knob(spec, welcome, spec->knob_names[i], err);
        if (!lists_value(info->values, spec->knob_values[i]) &&
            !text_equal(info->default_value, spec->knob_values[i]))
            return error_set(err, ERROR_NOT_FOUND,
                             "the knob %.60s of %s has no value '%.60s'; its values: %.300s", info->name,
                             spec->name, spec->knob_values[i], info->values);
    }
    return 0;
}

static char *label_of(struct arena *arena, const struct engine_spec *spec)
{
    struct str label;
    str_init(&label);
    struct label own = label_parse(spec->label);
    struct label_knob knob;
    own.knobs = (struct label_part){0};
    label_print(&label, &own);
    for (size_t i = 0; spec->hidden_knobs && spec->hidden_knobs[i]; i++) {
        struct label_part hidden = label_part(spec->hidden_knobs[i]);
        if (label_next_knob(&hidden, &knob) > 0)
            label_add_knob(&label, knob.name, knob.value);
    }
    for (size_t i = 0; i < spec->knobs; i++)
        label_add_knob(&label, label_part(spec->knob_names[i]), label_part(spec->knob_values[i]));
    char *text = arena_strdup(arena, label.data);
    str_release(&label);
    return text;
}

const struct engine_spec *knobs_plain(struct arena *arena, const struct engine_spec *spec,
                                      const Assay__Welcome *welcome)
{
    struct engine_spec *plain = arena_copy(arena, spec, sizeof *spec);
    const char **names = arena_array(arena, spec->knobs + welcome->n_knobs, sizeof *names);
    const char **values = arena_array(arena, spec->knobs + welcome->n_knobs, sizeof *values);
    plain->knobs = 0;
    for (size_t i = 0; i < spec->knobs; i++) {
        if (!selects_kernels(find_info(welcome, spec->knob_names[i])))
            continue;
        names[plain->knobs] = spec->knob_names[i];
        values[plain->knobs++] = spec->knob_values[i];
    }
    for (size_t i = 0; i < welcome->n_knobs; i++) {
        const Assay__KnobInfo *info = welcome->knobs[i];
        if (!is_graph(info) || text_equal(info->plain, info->default_value))
            continue;
        names[plain->knobs] = arena_strdup(arena, info->name);
        values[plain->knobs++] = arena_strdup(arena, info->plain);
    }
    plain->knob_names = names;
    plain->knob_values = values;
    plain->label = label_of(arena, plain);
    return plain;
}
