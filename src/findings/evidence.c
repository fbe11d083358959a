#include "findings/evidence.h"

#include "base/json.h"
#include "base/json_read.h"

#include <string.h>

/* The evidence of a finding is text under this key and its signature. */
#define EVIDENCE_KEY "evidence "

void evidence_init(struct finding_evidence *evidence)
{
    *evidence = (struct finding_evidence){.passes = "",
                                          .parameter = "",
                                          .value = "",
                                          .owner = "",
                                          .cures = "",
                                          .constant = "",
                                          .general = "",
                                          .computed = "",
                                          .wanted = "",
                                          .made = "",
                                          .alone = "",
                                          .main = "",
                                          .element = ""};
    arena_init(&evidence->arena);
}

void evidence_release(struct finding_evidence *evidence)
{
    arena_release(&evidence->arena);
}

bool evidence_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == '+') && (at[length] == '+' || !at[length]))
            return true;
    return false;
}

bool evidence_has_cure(const struct finding_evidence *evidence, const char *cure)
{
    return evidence_has_word(evidence->cures, cure);
}

void evidence_write(struct str *out, const struct finding_evidence *evidence)
{
    struct json json;
    json_init(&json, out, false);
    json_object(&json, NULL);
    json_string(&json, "passes", evidence->passes);
    json_string(&json, "parameter", evidence->parameter);
    json_string(&json, "value", evidence->value);
    json_string(&json, "owner", evidence->owner);
    json_string(&json, "cures", evidence->cures);
    json_string(&json, "constant", evidence->constant);
    json_string(&json, "general", evidence->general);
    json_string(&json, "computed", evidence->computed);
    json_string(&json, "wanted", evidence->wanted);
    json_string(&json, "made", evidence->made);
    json_string(&json, "alone", evidence->alone);
    json_string(&json, "main", evidence->main);
    json_string(&json, "element", evidence->element);
    json_bool(&json, "by_operator", evidence->by_operator);
    json_bool(&json, "no_inputs", evidence->no_inputs);
    json_bool(&json, "empty", evidence->empty);
    json_bool(&json, "scalar", evidence->scalar);
    json_end(&json);
}

int evidence_store(struct store *store, const char *signature, const struct finding_evidence *evidence,
                   struct error *err)
{
    struct str key, text;
    str_init(&key);
    str_init(&text);
    str_printf(&key, EVIDENCE_KEY "%s", signature);
    evidence_write(&text, evidence);
    int status = store_set(store, key.data, text.data, err);
    str_release(&key);
    str_release(&text);
    return status;
}

static const char *read_text(struct arena *arena, const struct json_value *object, const char *name)
{
    const char *text = json_text_of(object, name);
    return text ? arena_strdup(arena, text) : "";
}

static bool read_bool(const struct json_value *object, const char *name)
{
    const struct json_value *value = json_member(object, name);
    return value && value->kind == JSON_BOOL && value->truth;
}

void evidence_read(struct finding_evidence *evidence, const char *text, size_t size)
{
    struct arena arena;
    const struct json_value *top;
    arena_init(&arena);
    if (json_read(&arena, text, size, &top, NULL) == 0) {
        evidence->passes = read_text(&evidence->arena, top, "passes");
        evidence->parameter = read_text(&evidence->arena, top, "parameter");
        evidence->value = read_text(&evidence->arena, top, "value");
        evidence->owner = read_text(&evidence->arena, top, "owner");
        evidence->cures = read_text(&evidence->arena, top, "cures");
        evidence->constant = read_text(&evidence->arena, top, "constant");
        evidence->general = read_text(&evidence->arena, top, "general");
        evidence->computed = read_text(&evidence->arena, top, "computed");
        evidence->wanted = read_text(&evidence->arena, top, "wanted");
        evidence->made = read_text(&evidence->arena, top, "made");
        evidence->alone = read_text(&evidence->arena, top, "alone");
        evidence->main = read_text(&evidence->arena, top, "main");
        evidence->element = read_text(&evidence->arena, top, "element");
        evidence->by_operator = read_bool(top, "by_operator");
        evidence->no_inputs = read_bool(top, "no_inputs");
        evidence->empty = read_bool(top, "empty");
        evidence->scalar = read_bool(top, "scalar");
    }
    arena_release(&arena);
}

int evidence_load(struct finding_evidence *evidence, struct store *store, const char *signature,
                  struct error *err)
{
    struct str key, text;
    bool found;
    evidence_init(evidence);
    str_init(&key);
    str_init(&text);
    str_printf(&key, EVIDENCE_KEY "%s", signature);
    int status = store_get(store, key.data, &text, &found, err);
    if (!status && found)
        evidence_read(evidence, text.data, text.length);
    str_release(&key);
    str_release(&text);
    return status;
}
