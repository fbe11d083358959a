#include "engine/panel.h"

#include "base/memory.h"
#include "base/str.h"

#include <stdlib.h>

#define REFERENCE "reference"

int panel_open(struct panel *panel, struct registry *registry, const struct given_labels *labels,
               const struct pool_options *limits, struct error *err)
{
    struct pool_options options = limits ? *limits : (struct pool_options){0};
    options.registry = registry;
    *panel = (struct panel){.pool = pool_new(&options), .reference = -1};
    for (size_t i = 0; i < labels->count; i++)
        if (panel_add(panel, registry, labels->items[i], err) < 0)
            return -1;
    return 0;
}

void panel_close(struct panel *panel)
{
    pool_free(panel->fresh);
    pool_free(panel->pool);
    free(panel->engines);
    *panel = (struct panel){.reference = -1};
}

long panel_add(struct panel *panel, struct registry *registry, const struct given_label *label,
               struct error *err)
{
    const struct engine_spec *spec;
    size_t capacity = panel->count;
    if (registry_find(registry, label, &spec, err))
        return -1;
    panel->engines = memory_grow(panel->engines, &capacity, panel->count + 1, sizeof *panel->engines);
    panel->engines[panel->count] = pool_add(panel->pool, spec);
    return (long)panel->count++;
}

int panel_add_reference(struct panel *panel, struct registry *registry, struct error *err)
{
    const struct engine_spec *spec;
    if (registry_find(registry, given_typed(registry_arena(registry), REFERENCE), &spec, err))
        return -1;
    panel->reference = pool_add(panel->pool, spec);
    return 0;
}

int panel_add_second_opinion(struct panel *panel, struct registry *registry, struct error *err)
{
    const struct engine_spec *spec;
    const char *name = registry_second_opinion(registry);
    if (!name)
        return error_set(err, ERROR_NOT_FOUND, "no engine is installed that gives second opinions");
    if (registry_find(registry, given_typed(registry_arena(registry), name), &spec, err))
        return -1;
    panel->second_opinion = pool_add(panel->pool, spec) + 1;
    return 0;
}

struct others {
    struct panel *panel;
    const struct panel *beside;
    struct registry *registry;
};

static bool has_name(const struct panel *panel, const char *name)
{
    for (size_t i = 0; i < panel->count; i++)
        if (text_equal(panel_engine(panel, i)->spec->name, name))
            return true;
    return false;
}

static int add_other(void *context, const char *name, const char *version, const char *path)
{
    const struct others *others = context;
    const struct engine_spec *spec;
    const struct given_label *label = given_typed(registry_arena(others->registry), name);
    (void)version;
    (void)path;
    if (!has_name(others->beside, name) && !has_name(others->panel, name) && !text_equal(name, REFERENCE) &&
        registry_find(others->registry, label, &spec, NULL) == 0 && spec->profile && spec->profile->knobs)
        panel_add(others->panel, others->registry, label, NULL);
    return 0;
}

int panel_open_others(struct panel *others, struct registry *registry, const struct panel *panel,
                      struct error *err)
{
    *others = (struct panel){.pool = pool_new(&(struct pool_options){0}), .reference = -1};
    registry_each(registry, add_other, &(struct others){others, panel, registry});
    return panel_add_reference(others, registry, err);
}

void panel_add_fresh(struct panel *panel)
{
    if (!panel->fresh)
        panel->fresh = pool_fresh(panel->pool);
}

struct pool *panel_fresh(const struct panel *panel)
{
    return panel->fresh ? panel->fresh : panel->pool;
}

size_t panel_mishaps(const struct panel *panel)
{
    return pool_mishaps(panel->pool) + (panel->fresh ? pool_mishaps(panel->fresh) : 0);
}

const struct engine_info *panel_engine(const struct panel *panel, size_t place)
{
    return pool_engine(panel->pool, panel->engines[place]);
}

long panel_find(const struct panel *panel, const char *label)
{
    for (size_t i = 0; i < panel->count; i++)
        if (text_equal(panel_engine(panel, i)->label, label))
            return (long)i;
    return -1;
}
