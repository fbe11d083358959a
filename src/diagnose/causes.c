#include "diagnose/causes.h"

#include "base/memory.h"
#include "diagnose/table.h"

#include <stdlib.h>
#include <string.h>

bool cause_is_apart(const struct finding_cause *cause)
{
    bool apart = true;
    for (const struct cause_variant *one = cause->first; one; one = one->next)
        apart &= finding_is_apart(one->stored.class);
    return apart;
}

void causes_init(struct finding_causes *causes)
{
    *causes = (struct finding_causes){0};
    arena_init(&causes->arena);
}

void causes_release(struct finding_causes *causes)
{
    free(causes->items);
    arena_release(&causes->arena);
}

int causes_key(struct str *out, struct store *store, const struct stored *stored, const char *document,
               struct error *err)
{
    struct signature signature;
    struct finding_evidence evidence;
    if (document) {
        str_printf(out, "known %s", document);
        return 0;
    }
    const char *text = *stored->same_as ? stored->same_as : stored->signature;
    if (!signature_parse(&signature,
                         text)) { /* the signature is of another version: the finding is a cause of its own */
        str_add(out, text);
        return 0;
    }
    int status = evidence_load(&evidence, store, text, err);
    if (!status)
        cause_key(out, &signature, &evidence, NULL);
    evidence_release(&evidence);
    return status;
}

static struct stored copy_stored(struct arena *arena, const struct stored *from)
{
    struct stored copy = *from;
    const char **texts[] = {&copy.signature, &copy.name,   &copy.kind,   &copy.engine, &copy.version,
                            &copy.operators, &copy.title,  &copy.recipe, &copy.bundle, &copy.same_as,
                            &copy.class,     &copy.status, &copy.detail};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = arena_strdup(arena, *texts[i]);
    return copy;
}

static struct finding_cause *find_cause(struct finding_causes *causes, const char *key)
{
    for (size_t i = 0; i < causes->count; i++)
        if (text_equal(causes->items[i].key, key))
            return &causes->items[i];
    causes->items = memory_grow(causes->items, &causes->capacity, causes->count + 1, sizeof *causes->items);
    struct finding_cause *cause = &causes->items[causes->count++];
    *cause = (struct finding_cause){.key = arena_strdup(&causes->arena, key)};
    return cause;
}

int causes_add(struct finding_causes *causes, struct store *store, const struct stored *stored,
               const char *document, struct error *err)
{
    struct str key;
    str_init(&key);
    int status = causes_key(&key, store, stored, document, err);
    if (!status) {
        struct finding_cause *cause = find_cause(causes, key.data);
        struct cause_variant *variant = arena_array(&causes->arena, 1, sizeof *variant);
        *variant = (struct cause_variant){.stored = copy_stored(&causes->arena, stored)};
        *(cause->last ? &cause->last->next : &cause->first) = variant;
        cause->last = variant;
        if (!cause->lead || stored->nodes < cause->lead->stored.nodes)
            cause->lead = variant;
        cause->count++;
        cause->seen += stored->count;
        causes->n_findings++;
    }
    str_release(&key);
    return status;
}
