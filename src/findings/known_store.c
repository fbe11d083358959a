/* Known issues and the findings of a store. */
#include "findings/known_issues.h"

#include "base/clean.h"
#include "base/memory.h"
#include "engine/label.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MUTE_NODES = 12, MUTE_MESSAGE = 120 };

static void key_of(struct str *key, const char *signature)
{
    str_init(key);
    str_printf(key, STORE_FACTS_KEY "%s", signature);
}

static int mark(struct store *store, const char *signature, const struct known_issue *issue,
                struct error *err)
{
    if (!issue)
        return 0;
    struct settled known = {.state = STATE_KNOWN, .detail = known_document(issue)};
    return store_settle(store, signature, &known, err);
}

int known_mark(const struct known_issues *known, struct store *store, const char *signature,
               const struct finding_facts *facts, struct error *err)
{
    struct str key, text;
    str_init(&text);
    key_of(&key, signature);
    facts_write(&text, facts);
    int status = store_set(store, key.data, text.data, err);
    if (!status)
        status = mark(store, signature, known_find(known, facts), err);
    str_release(&key);
    str_release(&text);
    return status;
}

int known_facts(struct finding_facts *facts, struct store *store, const char *signature, struct error *err)
{
    struct str key, text;
    bool found = false;
    str_init(&text);
    key_of(&key, signature);
    int status = store_get(store, key.data, &text, &found, err);
    if (!status && !found)
        status = error_set(err, ERROR_NOT_FOUND, "the campaign has no facts of %.200s", signature);
    if (!status && facts_read(facts, text.data, text.length, err)) {
        facts_release(facts);
        status = -1;
    }
    str_release(&key);
    str_release(&text);
    return status;
}

/* Signatures of findings that are not known, read before any of them changes. */
struct unknown {
    size_t count, capacity;
    char **signatures;
};

static int note_finding(void *context, const struct stored *stored, struct error *err)
{
    struct unknown *unknown = context;
    (void)err;
    if (stored->state == STATE_KNOWN)
        return 0;
    unknown->signatures =
        memory_grow(unknown->signatures, &unknown->capacity, unknown->count + 1, sizeof *unknown->signatures);
    unknown->signatures[unknown->count++] = memory_strdup(stored->signature);
    return 0;
}

static int look_again(const struct known_issues *known, struct store *store, const char *signature,
                      struct error *err)
{
    struct finding_facts facts;
    struct error why = {0};
    /* Facts that are damaged must not keep a campaign, or all workers of a shared one, from going on. */
    if (known_facts(&facts, store, signature, &why))
        return why.code == ERROR_NOT_FOUND || why.code == ERROR_FORMAT
                   ? 0
                   : error_set(err, why.code, "%s", why.message);
    int status = mark(store, signature, known_find(known, &facts), err);
    facts_release(&facts);
    return status;
}

int known_again(const struct known_issues *known, struct store *store, struct error *err)
{
    struct unknown unknown = {0};
    if (!known->count)
        return 0;
    int status = store_list(store, &(struct store_filter){0}, note_finding, &unknown, err);
    for (size_t i = 0; i < unknown.count; i++) {
        if (!status)
            status = look_again(known, store, unknown.signatures[i], err);
        free(unknown.signatures[i]);
    }
    free(unknown.signatures);
    return status ? -1 : known_in_time(known, err);
}

/* Words of an engine's message that the next case has, too: numbers become *. */
static void write_message(struct str *out, const char *message)
{
    size_t start = out->length;
    for (const char *c = message; *c && *c != '\n' && out->length - start < MUTE_MESSAGE; c++) {
        bool plain = isprint((unsigned char)*c) && !isdigit((unsigned char)*c) && !strchr("|;*", *c);
        if (plain)
            str_append(out, c, 1);
        else if (out->length == start || out->data[out->length - 1] != '*')
            str_add(out, "*");
    }
}

static void write_attributes(struct str *out, const char *prefix, const struct fact_node *node)
{
    if (!node->n_attributes)
        return;
    str_printf(out, "%sattribute =", prefix);
    for (size_t i = 0; i < node->n_attributes; i++) {
        const struct fact_attribute *attribute = &node->attributes[i];
        str_printf(out, " %s=", attribute->name);
        for (const char *c = attribute->text; *c; c++)
            str_append(out, isgraph((unsigned char)*c) && !strchr("|;[?", *c) ? c : "?", 1);
        str_add(out, *attribute->text ? "" : "*");
    }
    str_add(out, "\n");
}

static void write_inputs(struct str *out, const char *prefix, const struct fact_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct fact_value *value = &node->inputs[i];
        if (value->type == DTYPE_NONE)
            continue;
        str_printf(out, "%sinput.%zu = %s%s", prefix, i, dtype_name(value->type),
                   value->constant ? " const" : "");
        if (value->shape.rank >= 0)
            str_printf(out, " rank=%d", value->shape.rank);
        for (int d = 0; d < value->shape.rank; d++)
            if (value->shape.dims[d] == 0) {
                str_add(out, " empty");
                break;
            }
        for (int k = 0; k < FACT_MARKS; k++)
            if (value->marks & (1U << k) & (FACT_NAN | FACT_PLUS_INFINITY | FACT_MINUS_INFINITY))
                str_printf(out, " %s", fact_mark_names[k]);
        str_add(out, "\n");
    }
}

/* Conditions on each node, by its number among those of its operator. */
static void write_nodes(struct str *out, const struct finding_facts *facts)
{
    for (size_t i = 0; i < facts->n_nodes && facts->n_nodes <= MUTE_NODES; i++) {
        struct str prefix;
        size_t number = 1;
        for (size_t k = 0; k < i; k++)
            number += text_equal(facts->nodes[k].op, facts->nodes[i].op);
        str_init(&prefix);
        if (facts->n_nodes > 1)
            str_printf(&prefix, "%s#%zu.", facts->nodes[i].op, number);
        write_attributes(out, prefix.data, &facts->nodes[i]);
        write_inputs(out, prefix.data, &facts->nodes[i]);
        str_release(&prefix);
    }
}

void known_write(struct str *out, const char *name, const char *because, const char *document,
                 const struct finding_facts *facts)
{
    struct label_part engine = label_parse(facts->engine).name;
    str_printf(out, "[%s]\nengine = %.*s\n", name, (int)engine.length, engine.text);
    if (facts->version[strcspn(facts->version, "0123456789")])
        str_printf(out, "from = %s\n", facts->version);
    str_printf(out, "symptom = %s\n", symptom_word(facts->symptom));
    if (facts->gradient)
        str_add(out, "asked = gradients\n");
    if (*facts->stage)
        str_printf(out, "stage = %s\n", facts->stage);
    if (facts->signal)
        str_printf(out, "signal = %d\n", facts->signal);
    str_add(out, "operators =");
    for (size_t i = 0; i < facts->n_nodes && i < MUTE_NODES; i++)
        str_printf(out, " %s", facts->nodes[i].op);
    str_printf(out, "%s\nopset = %d\n", facts->n_nodes > MUTE_NODES ? " *" : "", facts->opset);
    write_nodes(out, facts);
    if (facts->message[strspn(facts->message, " *|;0123456789")]) {
        str_add(out, "message = ");
        write_message(out, facts->message);
        str_add(out, "\n");
    }
    str_add(out, "cause = ");
    for (const char *c = because; *c;) { /* one line, in which nothing hides */
        size_t blank = strspn(c, "\n\t");
        str_add(out, blank ? " " : "");
        c += blank ? blank : clean_add_character(out, c, "?");
    }
    str_add(out, "\n");
    if (*document)
        str_printf(out, "case = %s\n", document);
}
