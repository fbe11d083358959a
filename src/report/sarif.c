#include "report/sarif.h"

#include "base/clean.h"
#include "base/json.h"
#include "base/memory.h"
#include "config.h"

#include <assert.h>
#include <stdlib.h>

static const char *const level_words[] = {
    [SARIF_ERROR] = "error", [SARIF_WARNING] = "warning", [SARIF_NOTE] = "note"};

void sarif_init(struct sarif *sarif)
{
    *sarif = (struct sarif){0};
    arena_init(&sarif->arena);
}

void sarif_release(struct sarif *sarif)
{
    free(sarif->rules);
    free(sarif->results);
    arena_release(&sarif->arena);
}

static const char *copy_clean(struct sarif *sarif, const char *text)
{
    struct str clean;
    str_init(&clean);
    clean_add(&clean, text);
    const char *copy = arena_strdup(&sarif->arena, clean.data);
    str_release(&clean);
    return copy;
}

/* A path as the reference of a URI: everything but letters, digits and -._~/ by its code. */
static const char *copy_path(struct sarif *sarif, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    struct str uri;
    str_init(&uri);
    for (const char *at = path; *at; at++) {
        bool is_plain = false;
        for (const char *c = plain; *c && !is_plain; c++)
            is_plain = *c == *at;
        if (is_plain)
            str_append(&uri, at, 1);
        else
            str_printf(&uri, "%%%02X", (unsigned)(unsigned char)*at);
    }
    const char *copy = arena_strdup(&sarif->arena, uri.data);
    str_release(&uri);
    return copy;
}

static size_t rule_number(const struct sarif *sarif, const char *id)
{
    size_t i = 0;
    while (i < sarif->n_rules && !text_equal(sarif->rules[i].id, id))
        i++;
    return i;
}

void sarif_rule(struct sarif *sarif, const char *id, const char *text)
{
    if (rule_number(sarif, id) < sarif->n_rules)
        return;
    sarif->rules =
        memory_grow(sarif->rules, &sarif->rules_capacity, sarif->n_rules + 1, sizeof *sarif->rules);
    sarif->rules[sarif->n_rules++] = (struct sarif_rule){copy_clean(sarif, id), copy_clean(sarif, text)};
}

void sarif_add(struct sarif *sarif, const struct sarif_result *result)
{
    sarif->results = memory_grow(sarif->results, &sarif->capacity, sarif->count + 1, sizeof *sarif->results);
    sarif->results[sarif->count++] = (struct sarif_result){
        .rule = copy_clean(sarif, result->rule),
        .level = result->level,
        .message = copy_clean(sarif, result->message),
        .path = copy_path(sarif, result->path),
        .engine = copy_clean(sarif, result->engine),
        .operators = copy_clean(sarif, result->operators),
        .fingerprint = copy_clean(sarif, result->fingerprint),
        .accepted = result->accepted ? copy_clean(sarif, result->accepted) : NULL,
    };
}

/* {"text": ...}, as SARIF has every text for people. */
static void write_message(struct json *json, const char *name, const char *text)
{
    json_object(json, name);
    json_string(json, "text", text);
    json_end(json);
}

static void write_tool(struct json *json, const struct sarif *sarif)
{
    json_object(json, "tool");
    json_object(json, "driver");
    json_string(json, "name", "assay");
    json_string(json, "version", ASSAY_VERSION);
    json_array(json, "rules");
    for (size_t i = 0; i < sarif->n_rules; i++) {
        json_object(json, NULL);
        json_string(json, "id", sarif->rules[i].id);
        write_message(json, "shortDescription", sarif->rules[i].text);
        json_end(json);
    }
    json_end(json);
    json_end(json);
    json_end(json);
}

/* The file that shows it, and the engine and operators at fault. */
static void write_place(struct json *json, const struct sarif_result *result)
{
    json_array(json, "locations");
    json_object(json, NULL);
    json_object(json, "physicalLocation");
    json_object(json, "artifactLocation");
    json_string(json, "uri", result->path);
    json_end(json);
    json_end(json);
    json_array(json, "logicalLocations");
    json_object(json, NULL);
    json_string(json, "name", *result->operators ? result->operators : result->engine);
    json_string(json, "fullyQualifiedName", result->engine);
    json_end(json);
    json_end(json);
    json_end(json);
    json_end(json);
}

static void write_result(struct json *json, const struct sarif *sarif, const struct sarif_result *result)
{
    size_t rule = rule_number(sarif, result->rule);
    assert(rule < sarif->n_rules);
    json_object(json, NULL);
    json_string(json, "ruleId", result->rule);
    json_int(json, "ruleIndex", (int64_t)rule);
    json_string(json, "level", level_words[result->level]);
    write_message(json, "message", result->message);
    write_place(json, result);
    json_object(json, "partialFingerprints");
    json_string(json, "assaySignature/v1", result->fingerprint);
    json_end(json);
    if (result->accepted) {
        json_array(json, "suppressions");
        json_object(json, NULL);
        json_string(json, "kind", "external");
        json_string(json, "justification", result->accepted);
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

static void write_invocation(struct json *json, const char *trouble)
{
    json_array(json, "invocations");
    json_object(json, NULL);
    json_bool(json, "executionSuccessful", !*trouble);
    if (*trouble) {
        json_array(json, "toolExecutionNotifications");
        json_object(json, NULL);
        json_string(json, "level", "error");
        write_message(json, "message", trouble);
        json_end(json);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

void sarif_write(const struct sarif *sarif, const char *trouble, struct str *out)
{
    struct json json;
    struct str clean;
    str_init(&clean);
    clean_add(&clean, trouble);
    json_init(&json, out, true);
    json_object(&json, NULL);
    json_string(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_string(&json, "version", "2.1.0");
    json_array(&json, "runs");
    json_object(&json, NULL);
    write_tool(&json, sarif);
    write_invocation(&json, clean.data);
    json_array(&json, "results");
    for (size_t i = 0; i < sarif->count; i++)
        write_result(&json, sarif, &sarif->results[i]);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    json_end(&json);
    str_release(&clean);
}
