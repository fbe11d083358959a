#include "diagnose/evidence.h"

#include "base/json.h"
#include "base/json_read.h"

#include <string.h>

/* The evidence of a finding is text under this key and its signature. */
#define EVIDENCE_KEY "evidence "

static const char *const bit_names[EVIDENCE_BITS] = {
    [CURED_AXES_FORWARD] = "axes-forward",
    [CURED_AXES_SORTED] = "axes-sorted",
    [CURED_STEPS_FORWARD] = "steps-forward",
    [CURED_EXPANDED] = "expanded",
    [CURED_FINITE] = "finite",
    [CURED_ABOVE_LOWEST] = "above-lowest",
    [CURED_MODERATE] = "moderate",
    [CURED_FILLED] = "filled",
    [CURED_RANKED] = "ranked",
    [CURED_TWO_DIMS] = "two-dims",
    [CURED_LETTERS_KEPT] = "letters-kept",
    [CURED_FEWER_OUTPUTS] = "fewer-outputs",
    [CURED_VARIABLE] = "initializer-as-input",
    [CURED_OTHER_TYPE] = "other-type",
    [CURED_CAST] = "constant-by-cast",
    [CURED_FROZEN] = "frozen-1",
    [CURED_COPIED] = "copied",
    [CURED_COLUMNS] = "as-columns",
    [CURED_MADE_LISTS] = "made-two-dims",
    [CURED_DEEPER] = "deeper",
    [CURED_COMPUTED] = "computed",
    [CURED_SIZE] = "another-size",
    [DIAGNOSED] = "diagnosed",
    [FAILS_ON_LISTS] = "lists",
    [FAILS_ON_CONSTANTS] = "constants",
    [FAILS_ON_NAN] = "nan",
    [FAILS_NARROWER] = "narrower",
    [FAILS_ALWAYS] = "by_operator",
    [FAILS_TOGETHER] = "together",
    [GIVES_CONSTANTS] = "no_inputs",
    [GIVES_EMPTY] = "empty",
    [GIVES_SCALAR] = "scalar",
    [COUNTS_MATES] = "mates",
};

/* The texts of evidence, by their names in JSON. */
static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    {"kernel", offsetof(struct finding_evidence, kernel)},
    {"made_by", offsetof(struct finding_evidence, made_by)},
    {"parameter", offsetof(struct finding_evidence, parameter)},
    {"needed", offsetof(struct finding_evidence, needed)},
    {"value", offsetof(struct finding_evidence, value)},
    {"owner", offsetof(struct finding_evidence, owner)},
    {"constant", offsetof(struct finding_evidence, constant)},
    {"computed", offsetof(struct finding_evidence, computed)},
    {"spoiler", offsetof(struct finding_evidence, spoiler)},
    {"wanted", offsetof(struct finding_evidence, wanted)},
    {"made", offsetof(struct finding_evidence, made)},
    {"stack", offsetof(struct finding_evidence, stack)},
    {"alone", offsetof(struct finding_evidence, alone)},
    {"main", offsetof(struct finding_evidence, main)},
    {"shared", offsetof(struct finding_evidence, shared)},
};
enum { TEXTS = sizeof texts / sizeof *texts };

static const char **text_at(struct finding_evidence *evidence, size_t number)
{
    return (const char **)(void *)((char *)evidence + texts[number].offset);
}

void evidence_init(struct finding_evidence *evidence)
{
    *evidence = (struct finding_evidence){0};
    for (size_t i = 0; i < TEXTS; i++)
        *text_at(evidence, i) = "";
    arena_init(&evidence->arena);
}

void evidence_release(struct finding_evidence *evidence)
{
    arena_release(&evidence->arena);
}

const char *evidence_bit_name(enum evidence_bit bit)
{
    return bit_names[bit];
}

void evidence_write(struct str *out, const struct finding_evidence *evidence)
{
    struct json json;
    json_init(&json, out, false);
    json_object(&json, NULL);
    json_array(&json, "shown");
    for (int i = 0; i < EVIDENCE_BITS; i++)
        if (evidence->shown & EVIDENCE(i))
            json_string(&json, NULL, bit_names[i]);
    json_end(&json);
    json_array(&json, "passes");
    for (size_t i = 0; i < evidence->n_passes; i++)
        json_string(&json, NULL, evidence->passes[i]);
    json_end(&json);
    for (size_t i = 0; i < TEXTS; i++)
        json_string(&json, texts[i].name, *text_at((struct finding_evidence *)(uintptr_t)evidence, i));
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

static void show(struct finding_evidence *evidence, const char *name)
{
    for (int i = 0; i < EVIDENCE_BITS; i++)
        if (text_equal(bit_names[i], name))
            evidence->shown |= EVIDENCE(i);
}

/* In campaigns from before 2026-11-18 lists are text with '+' between the words, and some bits are members of
 * their own. */
static void read_former(struct finding_evidence *evidence, const struct json_value *top)
{
    static const char *const lists[] = {"cures", "general"};
    for (const struct json_value *member = top->first; member; member = member->next)
        if (member->kind == JSON_BOOL && member->truth)
            show(evidence, member->name);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *list = json_text_of(top, lists[i]);
        char *save = NULL, *words = arena_strdup(&evidence->arena, list ? list : "");
        for (char *word = strtok_r(words, "+", &save); word; word = strtok_r(NULL, "+", &save))
            show(evidence, word);
    }
    if (*evidence->computed)
        evidence->shown |= EVIDENCE(CURED_COMPUTED);
    if (*evidence->main)
        evidence->shown |= EVIDENCE(DIAGNOSED);
    if (strchr(evidence->main, '+'))
        evidence->main = "";
    if (strchr(evidence->parameter, '+'))
        evidence->shown |= EVIDENCE(FAILS_TOGETHER);
    evidence->parameter =
        arena_copy(&evidence->arena, evidence->parameter, strcspn(evidence->parameter, "+"));
}

static void read_passes(struct finding_evidence *evidence, const struct json_value *top)
{
    const struct json_value *list = json_member(top, "passes");
    const char *former = json_text_of(top, "passes");
    size_t count = list && list->kind == JSON_ARRAY ? list->count : former && *former;
    evidence->passes = arena_array(&evidence->arena, count + 1, sizeof *evidence->passes);
    if (former && *former)
        evidence->passes[evidence->n_passes++] = arena_strdup(&evidence->arena, former);
    for (const struct json_value *pass = former || !count ? NULL : list->first; pass; pass = pass->next)
        if (pass->kind == JSON_STRING)
            evidence->passes[evidence->n_passes++] = arena_strdup(&evidence->arena, pass->text);
}

void evidence_read(struct finding_evidence *evidence, const char *text, size_t size)
{
    struct arena arena;
    const struct json_value *top;
    arena_init(&arena);
    if (json_read(&arena, text, size, &top, NULL) == 0 && top->kind == JSON_OBJECT) {
        for (size_t i = 0; i < TEXTS; i++) {
            const char *found = json_text_of(top, texts[i].name);
            *text_at(evidence, i) = found ? arena_strdup(&evidence->arena, found) : "";
        }
        const struct json_value *shown = json_member(top, "shown");
        for (const struct json_value *one = shown ? shown->first : NULL; one; one = one->next)
            if (one->kind == JSON_STRING)
                show(evidence, one->text);
        read_passes(evidence, top);
        if (!shown)
            read_former(evidence, top);
        if (!json_member(top, "shared"))
            evidence->shown |= EVIDENCE(COUNTS_MATES);
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
