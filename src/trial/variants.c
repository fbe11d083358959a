#include "trial/variants.h"

#include "base/memory.h"
#include "base/str.h"
#include "engine/knobs.h"

#include <stdlib.h>

struct variants {
    const struct panel *panel;
    struct registry *registry;
    struct variant *first;
    uint64_t clock;
};

struct variants *variants_new(const struct panel *panel, struct registry *registry)
{
    struct variants *variants = memory_zeroed(1, sizeof *variants);
    variants->panel = panel;
    variants->registry = registry;
    return variants;
}

void variants_free(struct variants *variants)
{
    if (!variants)
        return;
    while (variants->first) {
        struct variant *variant = variants->first;
        variants->first = variant->next;
        for (size_t i = 0; i < variants->panel->count; i++)
            free(variant->why[i]);
        free(variant->why);
        free(variant->engines);
        free(variant->knobs);
        free(variant);
    }
    free(variants);
}

/* The number of an engine with further knobs, -1 when it cannot have them. */
static int add_engine(const struct variants *variants, struct pool *pool, int engine, const char *knobs,
                      struct error *err)
{
    const struct engine_spec *spec;
    if (!variants->registry)
        return error_set(err, ERROR_NOT_FOUND, "other settings of the engine cannot be had here");
    if (pool_starts(pool, engine, err))
        return -1;
    const struct engine_info *info = pool_engine(pool, engine);
    const struct given_label *label =
        given_with(registry_arena(variants->registry), info->spec->given, knobs, "the rewriting", err);
    if (!label || registry_find(variants->registry, label, &spec, err) ||
        knobs_check(spec, info->welcome, err))
        return -1;
    return pool_add(pool, spec);
}

static void choose_engines(const struct variants *variants, struct variant *variant)
{
    const struct panel *panel = variants->panel;
    for (size_t i = 0; i < panel->count; i++) {
        struct error err = {0};
        variant->engines[i] = panel->engines[i];
        if (!variant->pool)
            variant->engines[i] = error_set(&err, ERROR_NOT_FOUND, "there are no fresh workers");
        else if (*variant->knobs)
            variant->engines[i] =
                add_engine(variants, variant->pool, panel->engines[i], variant->knobs, &err);
        if (variant->engines[i] < 0)
            variant->why[i] = memory_strdup(err.message);
    }
}

/* Whether it has engines of its own, with jobs under way. */
static bool is_busy(const struct variants *variants, const struct variant *variant)
{
    for (size_t i = 0; *variant->knobs && i < variants->panel->count; i++)
        if (variant->engines[i] >= 0 && pool_pending(variant->pool, variant->engines[i]))
            return true;
    return false;
}

bool variants_room(const struct variants *variants)
{
    size_t busy = 0;
    for (const struct variant *at = variants->first; at; at = at->next)
        busy += is_busy(variants, at);
    return busy < VARIANTS_AWAKE;
}

/* Ends the workers of the variant that was asked for longest ago, when too many are awake. */
static void let_one_rest(const struct variants *variants)
{
    struct variant *oldest = NULL;
    size_t awake = 0;
    for (struct variant *at = variants->first; at; at = at->next) {
        if (!*at->knobs || at->resting)
            continue;
        awake++;
        if ((!oldest || at->used < oldest->used) && !is_busy(variants, at))
            oldest = at;
    }
    if (!oldest || awake <= VARIANTS_AWAKE)
        return;
    oldest->resting = true;
    for (size_t i = 0; i < variants->panel->count; i++)
        if (oldest->engines[i] >= 0)
            pool_rest(oldest->pool, oldest->engines[i]);
}

static struct variant *make_variant(struct variants *variants, const char *knobs, bool fresh)
{
    struct variant *variant = memory_zeroed(1, sizeof *variant);
    size_t count = variants->panel->count;
    variant->knobs = memory_strdup(knobs);
    variant->fresh = fresh;
    variant->pool = fresh ? variants->panel->fresh : variants->panel->pool;
    variant->engines = memory_zeroed(count, sizeof *variant->engines);
    variant->why = memory_zeroed(count, sizeof *variant->why);
    choose_engines(variants, variant);
    variant->next = variants->first;
    variants->first = variant;
    return variant;
}

const struct variant *variants_find(struct variants *variants, const char *knobs, bool fresh)
{
    struct variant *variant = variants->first;
    while (variant && !(variant->fresh == fresh && text_equal(variant->knobs, knobs)))
        variant = variant->next;
    if (!variant)
        variant = make_variant(variants, knobs, fresh);
    variant->used = ++variants->clock;
    variant->resting = false;
    let_one_rest(variants);
    return variant;
}
