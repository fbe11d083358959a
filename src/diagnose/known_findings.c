#include "diagnose/known_findings.h"

#include "base/clean.h"
#include "base/memory.h"
#include "diagnose/table.h"
#include "engine/label.h"
#include "findings/known_witness.h"

#include <stdlib.h>
#include <string.h>

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

/* The name of the finding and its cause, as far as the store knows it. */
static int identify(struct finding_facts *facts, struct store *store, const char *text, struct error *err)
{
    struct signature signature;
    struct finding_evidence evidence;
    struct str key, cause, crash, place;
    if (!signature_parse(&signature, text)) /* of another version */
        return 0;
    str_init(&key);
    str_init(&cause);
    str_init(&crash);
    str_init(&place);
    int status = evidence_load(&evidence, store, text, err);
    if (!status) {
        cause_key(&key, &signature, &evidence, NULL);
        cause_file(&place, &signature, &evidence);
        cause_crash_key(&crash, &signature, &evidence);
    }
    known_cause_text(&cause, key.data);
    facts->crash = arena_strdup(&facts->arena, crash.data);
    facts->place = arena_strdup(&facts->arena, place.data);
    facts->name = arena_strdup(&facts->arena, signature.name);
    facts->cause = arena_strdup(&facts->arena, cause.data);
    facts->parameter = arena_strdup(&facts->arena, evidence.parameter);
    facts->needed = arena_strdup(&facts->arena, evidence.needed);
    facts->undiagnosed = !(evidence.shown & EVIDENCE(DIAGNOSED));
    evidence_release(&evidence);
    str_release(&key);
    str_release(&cause);
    str_release(&crash);
    str_release(&place);
    return status;
}

int known_mark(const struct known_issues *known, struct store *store, const char *signature,
               struct finding_facts *facts, struct error *err)
{
    struct str key, text;
    str_init(&text);
    key_of(&key, signature);
    facts_write(&text, facts);
    int status = store_set(store, key.data, text.data, err);
    if (!status)
        status = identify(facts, store, signature, err);
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
    if (!status &&
        (facts_read(facts, text.data, text.length, err) || identify(facts, store, signature, err))) {
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

static int look_again(const struct known_issues *known, struct store *store, const char *signature, bool last,
                      struct error *err)
{
    struct finding_facts facts;
    struct error why = {0};
    /* Facts that are damaged must not keep a campaign, or all workers of a shared one, from going on. */
    if (known_facts(&facts, store, signature, &why))
        return why.code == ERROR_NOT_FOUND || why.code == ERROR_FORMAT
                   ? 0
                   : error_set(err, why.code, "%s", why.message);
    facts.undiagnosed &= !last;
    int status = mark(store, signature, known_find(known, &facts), err);
    facts_release(&facts);
    return status;
}

int known_again(const struct known_issues *known, struct store *store, bool last, struct error *err)
{
    struct unknown unknown = {0};
    if (!known->count)
        return 0;
    int status = store_list(store, &(struct store_filter){0}, note_finding, &unknown, err);
    for (size_t i = 0; i < unknown.count; i++) {
        if (!status)
            status = look_again(known, store, unknown.signatures[i], last, err);
        free(unknown.signatures[i]);
    }
    free(unknown.signatures);
    return status ? -1 : known_in_time(known, err);
}

void known_cause_text(struct str *out, const char *key)
{
    for (const char *c = key; *c;) { /* on one line, and without what begins a comment */
        size_t blank = strspn(c, " \n\t;");
        str_add(out, blank && c != key && c[blank] ? " " : "");
        c += blank ? blank : clean_add_character(out, c, "?");
    }
}

/* The names of all findings of one cause, and of those that were merged into them. */
struct cause_names {
    struct store *store;
    const char *key, *first; /* first: the finding that was named already */
    struct str *out;
    unsigned kins;         /* how the findings fail, 1 << KIN_NUMBERS ... */
    struct str parameters; /* those to blame, each after a blank */
    struct str places;     /* files of the engine's source, likewise */
    struct str crash;      /* the key of a crash whatever its stack, or "" */
};

/* Adds a word to a list of words, each after a blank, that does not have it. */
static void note_word(struct str *list, const char *text)
{
    struct str word, words;
    str_init(&word);
    str_init(&words);
    str_add(&word, " ");
    known_cause_text(&word, text);
    str_printf(&words, "%s ", list->data);
    str_add(&word, " ");
    if (*text && !strstr(words.data, word.data))
        str_append(list, word.data, word.length - 1);
    str_release(&word);
    str_release(&words);
}

static void note_facts(struct cause_names *names, const char *signature)
{
    struct finding_facts facts;
    if (known_facts(&facts, names->store, signature, NULL))
        return;
    names->kins |= 1U << verdict_row(symptom_verdict(facts.symptom))->kin;
    note_word(&names->parameters, facts.parameter);
    note_word(&names->places, facts.place);
    if (!names->crash.length)
        known_cause_text(&names->crash, facts.crash);
    facts_release(&facts);
}

static int add_name(void *context, const struct stored *stored, struct error *err)
{
    struct cause_names *names = context;
    struct str key;
    str_init(&key);
    int status = causes_key(&key, names->store, stored, NULL, err);
    bool of_cause = !status && text_equal(key.data, names->key);
    if (of_cause)
        note_facts(names, stored->signature);
    if (of_cause && !text_equal(stored->name, names->first))
        str_printf(names->out, " %s", stored->name);
    str_release(&key);
    return status;
}

/* Where the key does not tell how the engine fails, the entry does: as the findings did that were muted. */
static void write_symptoms(struct str *out, const char *key, unsigned kins)
{
    if (!kins || !cause_is_of_any_symptom(key))
        return;
    str_add(out, "symptom =");
    for (int i = 0; i < SYMPTOM_COUNT; i++)
        if (verdict_is_finding(symptom_verdict((enum symptom)i)) &&
            (kins >> verdict_row(symptom_verdict((enum symptom)i))->kin & 1))
            str_printf(out, " %s", symptom_word((enum symptom)i));
    str_add(out, "\n");
}

static void write_witness(struct str *out, const struct folder *campaign, const struct stored *stored)
{
    struct str witness;
    str_init(&witness);
    witness_write(&witness, campaign, stored);
    if (witness.length) {
        str_add(out, "witness = ");
        known_cause_text(out, witness.data);
        str_add(out, "\n");
    }
    str_release(&witness);
}

int known_write(struct str *out, struct store *store, const struct folder *campaign,
                const struct stored *stored, const char *because, struct error *err)
{
    struct label_part engine = label_parse(stored->engine).name;
    struct str key;
    str_init(&key);
    int status = causes_key(&key, store, stored, NULL, err);
    struct cause_names names = {.store = store, .key = key.data, .first = stored->name, .out = out};
    str_init(&names.parameters);
    str_init(&names.places);
    str_init(&names.crash);
    str_printf(out, "[%s]\nengine = %.*s\nfinding = %s", stored->name, (int)engine.length, engine.text,
               stored->name);
    if (!status)
        status =
            store_list(store, &(struct store_filter){.merged = true, .gone = true}, add_name, &names, err);
    str_add(out, "\nsame-cause = ");
    known_cause_text(out, key.data);
    str_add(out, "\n");
    write_symptoms(out, key.data, names.kins);
    if (names.crash.length)
        str_printf(out, "crash = %s\n", names.crash.data);
    if (names.parameters.length)
        str_printf(out, "parameter =%s\n", names.parameters.data);
    if (names.places.length)
        str_printf(out, "place =%s\n", names.places.data);
    str_release(&names.parameters);
    str_release(&names.places);
    str_release(&names.crash);
    str_add(out, "cause = ");
    known_cause_text(out, because);
    str_add(out, "\n");
    if (*stored->bundle)
        str_printf(out, "case = %s\n", stored->bundle);
    write_witness(out, campaign, stored);
    str_release(&key);
    return status;
}

const char *known_now(const struct known_issues *known, struct store *store, struct stored *stored,
                      struct str *status)
{
    struct finding_facts facts;
    if (stored->state == STATE_KNOWN)
        return stored->detail;
    if (known_facts(&facts, store, stored->signature, NULL))
        return NULL;
    facts.undiagnosed = false; /* as far as it is known now */
    const struct known_issue *issue = known_find(known, &facts);
    facts_release(&facts);
    if (!issue)
        return NULL;
    finding_status_write(status, STATE_KNOWN, known_document(issue));
    stored->status = status->data;
    stored->state = STATE_KNOWN;
    stored->detail = known_document(issue);
    return known_document(issue);
}

struct causes_reading {
    struct store *store;
    const struct known_issues *known;
    struct finding_causes *causes;
};

static int add_cause(void *context, const struct stored *stored, struct error *err)
{
    const struct causes_reading *reading = context;
    struct stored now = *stored;
    struct str status;
    str_init(&status);
    const char *document = known_now(reading->known, reading->store, &now, &status);
    int result = causes_add(reading->causes, reading->store, &now, document, err);
    str_release(&status);
    return result;
}

int known_causes(struct finding_causes *causes, struct store *store, const struct folder *campaign,
                 const struct known_files *files, const struct store_filter *filter, struct error *err)
{
    struct known_issues known;
    struct causes_reading reading = {store, &known, causes};
    int status = known_open(&known, files, err);
    if (status == 0)
        status = witnesses_load(&known, store, campaign, err);
    if (status == 0)
        status = store_list(store, filter, add_cause, &reading, err);
    if (status == 0)
        status = known_in_time(&known, err);
    known_release(&known);
    return status;
}
