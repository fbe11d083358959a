#include "engine/profile.h"

#include "base/str.h"

#include <string.h>

const char profile_keys[] =
    "knob.NAME, signature-without, float64, made-by-several, reads-model, convolves, second-opinion, "
    "message.around, message.reason, "
    "message.name, message.no-kernel, message.operator, message.operator.NAME "
    "departs.NAME and lowers.KNOB";

bool profile_lists(const char *list, const char *word, size_t length)
{
    for (const char *at = list; at && *(at += strspn(at, " \t")); at += strcspn(at, " \t"))
        if (strcspn(at, " \t") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

/* The part of *at before the next separator, without blanks around it. */
static const char *next_part(struct arena *arena, const char **at, const char *separator)
{
    const char *start = *at + strspn(*at, " \t");
    size_t whole = strcspn(start, separator), length = whole;
    while (length && (start[length - 1] == ' ' || start[length - 1] == '\t'))
        length--;
    *at = start[whole] ? start + whole + 1 : start + whole;
    return arena_printf(arena, "%.*s", (int)length, start);
}

static int add_departure(struct engine_profile *profile, struct arena *arena, const char *name,
                         const char *value, struct error *err)
{
    struct departure **last = &profile->departures;
    struct departure *one = arena_array(arena, 1, sizeof *one);
    *one = (struct departure){.name = arena_strdup(arena, name)};
    one->value = next_part(arena, &value, "|");
    one->library = next_part(arena, &value, "|");
    one->because = next_part(arena, &value, "|");
    if (!*one->value || !*one->library || !*one->because || *value)
        return error_set(err, ERROR_USAGE,
                         "departs.%s needs three parts: what Assay does | what the library does | why", name);
    while (*last)
        last = &(*last)->next;
    *last = one;
    return 0;
}

static int add_lowering(struct engine_profile *profile, struct arena *arena, const char *knob,
                        const char *value, struct error *err)
{
    struct lowering *one = arena_array(arena, 1, sizeof *one);
    *one = (struct lowering){.knob = arena_strdup(arena, knob), .next = profile->lowerings};
    one->values = next_part(arena, &value, ";");
    one->products.makers = next_part(arena, &value, ";");
    one->products.products = next_part(arena, &value, ";");
    one->words = next_part(arena, &value, ";");
    if (!*one->products.makers || !*one->products.products || !*one->words || *value)
        return error_set(err, ERROR_USAGE,
                         "lowers.%s needs four parts: values of the knob; operators that make weights; "
                         "products with these; what is computed how",
                         knob);
    profile->lowerings = one;
    return 0;
}

static int set_reader(struct engine_profile *profile, const char *value, struct error *err)
{
    profile->adapter_reads = text_equal(value, "adapter");
    profile->no_onnx = text_equal(value, "nobody");
    if (!profile->adapter_reads && !profile->no_onnx && !text_equal(value, "library"))
        return error_set(err, ERROR_USAGE, "reads-model is adapter, library or nobody, not '%.60s'", value);
    return 0;
}

int profile_set(struct engine_profile *profile, struct arena *arena, const char *key, const char *value,
                struct error *err)
{
    static const char inserted[] = "message.operator.", knob[] = "knob.", departs[] = "departs.",
                      lowers[] = "lowers.";
    const struct {
        const char *key;
        struct message_pattern **list;
        enum pattern_use use;
    } patterns[] = {
        {"message.around", &profile->around, PATTERN_CUT},
        {"message.reason", &profile->reason, PATTERN_CUT},
        {"message.name", &profile->names, PATTERN_NAME},
        {"message.no-kernel", &profile->no_kernel, PATTERN_OPERATOR},
        {"message.operator", &profile->operators, PATTERN_OPERATOR},
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (text_equal(key, patterns[i].key))
            return pattern_add(patterns[i].list, arena, patterns[i].use, value, NULL, err);
    if (text_starts(key, inserted) && key[sizeof inserted - 1])
        return pattern_add(&profile->inserted, arena, PATTERN_TEXT, value, key + sizeof inserted - 1, err);
    if (text_starts(key, departs) && key[sizeof departs - 1])
        return add_departure(profile, arena, key + sizeof departs - 1, value, err);
    if (text_starts(key, lowers) && key[sizeof lowers - 1])
        return add_lowering(profile, arena, key + sizeof lowers - 1, value, err);
    if (text_starts(key, knob))
        return declared_knobs_add(&profile->knobs, arena, key + sizeof knob - 1, value, err);
    if (text_equal(key, "signature-without"))
        profile->signature_without = arena_strdup(arena, value);
    else if (text_equal(key, "float64"))
        profile->float64_knob = arena_strdup(arena, value);
    else if (text_equal(key, "made-by-several"))
        profile->made_by_several = arena_strdup(arena, value);
    else if (text_equal(key, "reads-model"))
        return set_reader(profile, value, err);
    else if (text_equal(key, "convolves") && !text_equal(value, "directly") && !text_equal(value, "anyhow"))
        return error_set(err, ERROR_USAGE, "convolves is directly or anyhow, not '%.60s'", value);
    else if (text_equal(key, "convolves"))
        profile->convolves_directly = text_equal(value, "directly");
    else if (text_equal(key, "second-opinion"))
        profile->second_opinion = text_equal(value, "yes");
    else
        return 1;
    return 0;
}
