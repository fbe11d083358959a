#include "report/engine_settings.h"

#include "base/memory.h"
#include "engine/label.h"
#include "engine/settings.h"
#include "report/text_table.h"

#include <stdlib.h>

struct settings_of_engine {
    const char *label, *version;
    const char *title; /* "onnxruntime 1.30.0" */
    const char *words; /* "threads=1, otherwise as the library comes" */
    size_t count;
    struct setting *list;
};

void engine_settings_init(struct engine_settings *settings)
{
    *settings = (struct engine_settings){0};
    arena_init(&settings->arena);
}

void engine_settings_release(struct engine_settings *settings)
{
    free(settings->engines);
    arena_release(&settings->arena);
    *settings = (struct engine_settings){0};
}

static const char *title_of(struct arena *arena, const struct engine_info *engine)
{
    struct label label = label_parse(engine->label);
    const char *version = engine->version ? engine->version : "";
    return arena_printf(arena, "%.*s%s%s", (int)label.name.length, label.name.text, *version ? " " : "",
                        version);
}

static const char *words_of(struct arena *arena, const struct setting *list, size_t count)
{
    const char *words = "";
    for (size_t i = 0; i < count; i++)
        words = arena_printf(arena, "%s%s=%s, ", words, list[i].name, list[i].value);
    return arena_printf(arena, "%s%sas the library comes", words, count ? "otherwise " : "");
}

/* A departure lives in the registry. */
static struct setting copy(struct arena *arena, const struct setting *setting)
{
    struct setting made = {.name = arena_strdup(arena, setting->name),
                           .value = arena_strdup(arena, setting->value)};
    if (setting->departure) {
        struct departure *departure = arena_array(arena, 1, sizeof *departure);
        *departure = (struct departure){.library = arena_strdup(arena, setting->departure->library),
                                        .because = arena_strdup(arena, setting->departure->because)};
        made.departure = departure;
    }
    return made;
}

static void take(struct engine_settings *settings, const struct engine_info *engine)
{
    struct arena *arena = &settings->arena;
    if (!engine->welcome)
        return;
    for (size_t i = 0; i < settings->count; i++)
        if (text_equal(settings->engines[i].label, engine->label))
            return;
    settings->engines =
        memory_grow(settings->engines, &settings->capacity, settings->count + 1, sizeof *settings->engines);
    struct settings_of_engine *made = &settings->engines[settings->count++];
    *made = (struct settings_of_engine){.label = arena_strdup(arena, engine->label)};
    made->version = engine->version ? arena_strdup(arena, engine->version) : NULL;
    made->title = title_of(arena, engine);
    made->count = settings_of(engine, arena, &made->list);
    for (size_t i = 0; i < made->count; i++)
        made->list[i] = copy(arena, &made->list[i]);
    made->words = words_of(arena, made->list, made->count);
}

void engine_settings_take(struct engine_settings *settings, const struct panel *panel)
{
    for (size_t i = 0; i < panel->count; i++)
        take(settings, panel_engine(panel, i));
}

/* --- Words --- */

static bool is_alike(const struct engine_settings *settings, size_t a, size_t b)
{
    return text_equal(settings->engines[a].words, settings->engines[b].words);
}

static bool was_said(const struct engine_settings *settings, size_t engine)
{
    for (size_t i = 0; i < engine; i++)
        if (is_alike(settings, i, engine))
            return true;
    return false;
}

/* "A, B and C", the engines whose settings read the same as those of the first. */
static void add_alike(const struct engine_settings *settings, size_t first, struct str *out)
{
    size_t left = 0, named = 0;
    for (size_t i = first; i < settings->count; i++)
        left += is_alike(settings, first, i);
    for (size_t i = first; i < settings->count; i++) {
        if (!is_alike(settings, first, i))
            continue;
        left--;
        str_add(out, !named++ ? "" : left ? ", " : " and ");
        text_print(out, settings->engines[i].title, 0);
    }
}

/* Without "Settings: ". */
static void add_line(const struct engine_settings *settings, struct str *out)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (was_said(settings, i))
            continue;
        str_add(out, i ? "; " : "");
        add_alike(settings, i, out);
        str_add(out, ": ");
        text_print(out, settings->engines[i].words, 0);
    }
}

void engine_settings_print(const struct engine_settings *settings, struct str *out)
{
    if (!settings->count)
        return;
    str_add(out, "\nSettings: ");
    add_line(settings, out);
    str_add(out, ".\n");
}

void engine_settings_junit(const struct engine_settings *settings, struct junit *junit)
{
    struct str line;
    str_init(&line);
    add_line(settings, &line);
    junit_settings(junit, line.data);
    str_release(&line);
}

static void json_engine(struct json *json, const struct settings_of_engine *engine)
{
    json_object(json, NULL);
    json_string(json, "engine", engine->label);
    json_string(json, "version", engine->version);
    json_string(json, "text", engine->words);
    json_array(json, "set");
    for (size_t i = 0; i < engine->count; i++) {
        const struct setting *setting = &engine->list[i];
        json_object(json, NULL);
        json_string(json, "name", setting->name);
        json_string(json, "value", setting->value);
        json_string(json, "library", setting->departure ? setting->departure->library : NULL);
        json_string(json, "because", setting->departure ? setting->departure->because : NULL);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

void engine_settings_json(const struct engine_settings *settings, struct json *json)
{
    json_array(json, "engine_settings");
    for (size_t i = 0; i < settings->count; i++)
        json_engine(json, &settings->engines[i]);
    json_end(json);
}
