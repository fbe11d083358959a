/*
 * The settings that the engines of a result ran with (engine/settings.h): a line of every result, a member of
 * its JSON and a property of its JUnit suites. They are copied, so that they outlive the engines.
 *
 *     Settings: onnxruntime 1.30.0 and torch 1.13.0: threads=1, otherwise as the library comes; onnxruntime
 *     1.30.0: opt=none, threads=1, otherwise as the library comes.
 */
#ifndef REPORT_ENGINE_SETTINGS_H
#define REPORT_ENGINE_SETTINGS_H

#include "base/json.h"
#include "engine/panel.h"
#include "report/junit.h"

struct settings_of_engine;

struct engine_settings {
    struct arena arena;
    size_t count, capacity;
    struct settings_of_engine *engines;
};
void engine_settings_init(struct engine_settings *settings);
void engine_settings_release(struct engine_settings *settings);

/* Adds the engines of a panel that started, each label once. */
void engine_settings_take(struct engine_settings *settings, const struct panel *panel);

/* Appends an empty line and the line "Settings: ...", with its end; nothing when there is no engine. */
void engine_settings_print(const struct engine_settings *settings, struct str *out);

/* The member "engine_settings": a list with one object for each engine. */
void engine_settings_json(const struct engine_settings *settings, struct json *json);

/* The property "settings" of all suites. */
void engine_settings_junit(const struct engine_settings *settings, struct junit *junit);

#endif
