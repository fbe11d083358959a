#include "rules/knob_settings.h"

#include "base/str.h"
#include "engine/label.h"

#include <string.h>

enum { SETTINGS = 512 }; /* at most; an engine may declare anything */

struct setting {
    const Assay__KnobInfo *info;
    const char *text;
};

struct settings {
    struct arena *arena;
    const struct engine_spec *spec;
    size_t count;
    struct setting *items;
};

static void add(struct settings *all, const Assay__KnobInfo *info, const char *value)
{
    if (all->count == SETTINGS || text_equal(value, knobs_value(all->spec, info)))
        return;
    all->items[all->count++] = (struct setting){info, arena_printf(all->arena, "%s=%s", info->name, value)};
}

static void add_numbers(struct settings *all, const Assay__KnobInfo *info)
{
    static const struct {
        long long number;
        const char *text;
    } tried[] = {{1, "1"}, {4, "4"}};
    long long low = 1, high = 4;
    const char *dots = strstr(info->values, "..");
    if (dots) {
        const char *first = arena_printf(all->arena, "%.*s", (int)(dots - info->values), info->values);
        if (!text_int64(first, &low) || !text_int64(dots + 2, &high))
            return;
    }
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        if (tried[i].number >= low && tried[i].number <= high)
            add(all, info, tried[i].text);
}

/* The members of a list; those of a set ("A+B") are values, however they are written. */
static void add_members(struct settings *all, const Assay__KnobInfo *info, const char *separator)
{
    for (const char *at = info->values; *at;) {
        size_t length = strcspn(at, separator);
        if (length > 0 && (*separator == '+' || !knobs_stands_for_text(at, length)))
            add(all, info, arena_printf(all->arena, "%.*s", (int)length, at));
        at += length;
        at += *at == *separator;
    }
}

static void add_knob(struct settings *all, const Assay__KnobInfo *info)
{
    if (strchr(info->values, '|'))
        add_members(all, info, "|");
    else if (strchr(info->values, '+'))
        add_members(all, info, "+");
    else if (text_equal(info->values, "N") || strstr(info->values, ".."))
        add_numbers(all, info);
}

static bool is_pair(const struct setting *a, const struct setting *b)
{
    return a->info != b->info;
}

static size_t count_pairs(const struct settings *all)
{
    size_t pairs = 0;
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = i + 1; k < all->count; k++)
            pairs += is_pair(&all->items[i], &all->items[k]);
    return pairs;
}

/* Where there are too many pairs, those at even distances in the list of all. */
static size_t add_pairs(const struct settings *all, const char **texts)
{
    size_t pairs = count_pairs(all), taken = pairs < KNOB_PAIRS ? pairs : KNOB_PAIRS, number = 0, count = 0;
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = i + 1; k < all->count; k++) {
            if (!is_pair(&all->items[i], &all->items[k]))
                continue;
            if (count < taken && number++ == count * pairs / taken)
                texts[count++] = arena_printf(all->arena, "%s,%s", all->items[i].text, all->items[k].text);
        }
    return count;
}

static bool is_set(const Assay__KnobInfo *info)
{
    return !strchr(info->values, '|') && strchr(info->values, '+');
}

static void add_knobs(struct settings *all, const Assay__Welcome *welcome, bool kernels, bool sets)
{
    for (size_t i = 0; i < welcome->n_knobs; i++)
        if ((welcome->knobs[i]->kind == ASSAY__KNOB_INFO__KIND__KERNELS) == kernels &&
            is_set(welcome->knobs[i]) == sets)
            add_knob(all, welcome->knobs[i]);
}

/* What differs most comes first: single knobs, then pairs, then the many members of sets. */
static size_t collect(struct settings *all, const Assay__Welcome *welcome, bool kernels, const char **texts)
{
    size_t count = 0;
    all->count = 0;
    add_knobs(all, welcome, kernels, false);
    for (; count < all->count; count++)
        texts[count] = all->items[count].text;
    if (!kernels)
        count += add_pairs(all, texts + count);
    size_t singles = all->count;
    add_knobs(all, welcome, kernels, true);
    for (size_t i = singles; i < all->count; i++)
        texts[count++] = all->items[i].text;
    return count;
}

struct knob_settings knob_settings(struct arena *arena, const struct engine_spec *spec,
                                   const Assay__Welcome *welcome)
{
    struct settings all = {.arena = arena, .spec = spec};
    const char **settings = arena_array(arena, SETTINGS + KNOB_PAIRS, sizeof *settings);
    const char **kernels = arena_array(arena, SETTINGS, sizeof *kernels);
    all.items = arena_array(arena, SETTINGS, sizeof *all.items);
    struct knob_settings result = {.settings = settings, .kernels = kernels};
    result.count = collect(&all, welcome, false, settings);
    result.n_kernels = collect(&all, welcome, true, kernels);
    return result;
}

static bool is_listed(const char *const *texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(texts[i], text))
            return true;
    return false;
}

static bool has_two_knobs(const char *setting)
{
    struct label_part rest = label_part(setting);
    struct label_knob knob;
    return label_next_knob(&rest, &knob) > 0 && label_next_knob(&rest, &knob) > 0;
}

size_t knob_settings_of_panel(struct arena *arena, const struct panel *panel, bool kernels, bool pairs,
                              const char *const **settings)
{
    size_t room = panel->count * (2 * SETTINGS + KNOB_PAIRS), count = 0;
    const char **texts = arena_array(arena, room, sizeof *texts);
    for (size_t i = 0; i < panel->count; i++) {
        const struct engine_info *engine = panel_engine(panel, i);
        if (!engine->welcome)
            continue;
        struct knob_settings own = knob_settings(arena, engine->spec, engine->welcome);
        for (size_t k = 0; k < own.count; k++)
            if (!is_listed(texts, count, own.settings[k]) && (pairs || !has_two_knobs(own.settings[k])))
                texts[count++] = own.settings[k];
        for (size_t k = 0; kernels && k < own.n_kernels; k++)
            if (!is_listed(texts, count, own.kernels[k]))
                texts[count++] = own.kernels[k];
    }
    *settings = texts;
    return count;
}
