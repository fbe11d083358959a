#include "engine/settings.h"

#include "engine/knobs.h"

#include <string.h>

/* Those that go into the environment are one text each: "cpu=avx2". */
static size_t take_hidden(const char *const *hidden, struct arena *arena, struct setting *list)
{
    size_t count = 0;
    for (; hidden && hidden[count]; count++) {
        size_t length = strcspn(hidden[count], "=");
        const char *value = hidden[count] + length;
        list[count] = (struct setting){.name = arena_printf(arena, "%.*s", (int)length, hidden[count]),
                                       .value = *value ? value + 1 : value};
    }
    return count;
}

static bool is_given(const struct setting *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(list[i].name, name))
            return true;
    return false;
}

static size_t count_all(const struct engine_info *engine)
{
    size_t count = engine->spec->knobs;
    for (const char *const *hidden = engine->spec->hidden_knobs; hidden && *hidden; hidden++)
        count++;
    for (const struct departure *one = engine->profile ? engine->profile->departures : NULL; one;
         one = one->next)
        count++;
    return count;
}

size_t settings_of(const struct engine_info *engine, struct arena *arena, struct setting **settings)
{
    const struct engine_spec *spec = engine->spec;
    struct setting *list = arena_array(arena, count_all(engine) + 1, sizeof *list);
    size_t count = 0;
    for (; count < spec->knobs; count++)
        list[count] = (struct setting){.name = spec->knob_names[count], .value = spec->knob_values[count]};
    count += take_hidden(spec->hidden_knobs, arena, &list[count]);
    size_t given = count;
    for (const struct departure *one = engine->profile ? engine->profile->departures : NULL; one;
         one = one->next)
        if (!is_given(list, given, one->name))
            list[count++] = (struct setting){.name = one->name, .value = one->value, .departure = one};
    *settings = list;
    return count;
}

static bool has_value(const struct engine_info *engine, const struct lowering *lowering)
{
    for (size_t i = 0; i < engine->welcome->n_knobs; i++) {
        const Assay__KnobInfo *knob = engine->welcome->knobs[i];
        if (text_equal(knob->name, lowering->knob))
            return lowered_lists(lowering->values, knobs_value(engine->spec, knob));
    }
    return false;
}

const struct lowering *settings_lowering(const struct engine_info *engine)
{
    const struct lowering *one = engine->profile && engine->welcome ? engine->profile->lowerings : NULL;
    while (one && !has_value(engine, one))
        one = one->next;
    return one;
}
