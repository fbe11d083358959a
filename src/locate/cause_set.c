#include "locate/cause_set.h"

#include "base/ddmin.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* How many times other values are tried when the chosen ones do not cure together. */
enum { ROUNDS = 8, PAIRS = 400 };

/* One change a parameter. */
struct several {
    struct examination *look;
    const struct params_evidence *evidence;
    size_t count;
    const struct param_change **changes;
};

static bool cure_together(const struct several *several, const struct param_change *const *changes,
                          size_t count)
{
    double apart;
    return examination_try(several->look, changes, count, &apart) == CHANGE_CURES &&
           (apart <= 1 || !several->evidence->size_matters);
}

static long first_cure(void *context, const bool *const *candidates, size_t count)
{
    struct several *several = context;
    const struct param_change **chosen = memory_zeroed(several->count, sizeof *chosen);
    long found = (long)count;
    for (size_t c = 0; c < count && found == (long)count; c++) {
        size_t n = 0;
        for (size_t i = 0; i < several->count; i++)
            if (candidates[c][i])
                chosen[n++] = several->changes[i];
        if (n && cure_together(several, chosen, n))
            found = (long)c;
        if (several->look->broken || examination_is_late(several->look))
            found = -1;
    }
    free(chosen);
    return found;
}

/* Whether a change gives its parameter another meaning. */
static bool is_other_value(const struct examination *look, size_t number, const struct param_evidence *one)
{
    const struct param_change *change = &look->changes.items[number];
    return change->node == one->node && change->param == one->param && change->way != WAY_RESPELLED &&
           !change->synonym && look->ends[number] != CHANGE_INVALID;
}

/* The default, where the parameter has another value; otherwise value number `round`, over and over again. */
static const struct param_change *choose_value(const struct examination *look,
                                               const struct param_evidence *one, size_t round)
{
    const struct param_change *chosen = NULL;
    size_t count = 0;
    for (size_t i = 0; i < look->n_params; i++) {
        if (!is_other_value(look, i, one))
            continue;
        if (look->changes.items[i].plain && !one->plain)
            return &look->changes.items[i];
        count++;
    }
    for (size_t i = 0, place = count ? round % count : 0; i < look->n_params && count && !chosen; i++)
        if (is_other_value(look, i, one) && place-- == 0)
            chosen = &look->changes.items[i];
    return chosen;
}

static void choose_values(struct several *several, size_t round)
{
    several->count = 0;
    for (size_t i = 0; i < several->evidence->count; i++) {
        const struct param_change *change = choose_value(several->look, &several->evidence->items[i], round);
        if (change)
            several->changes[several->count++] = change;
    }
}

/* From all parameters changed at once down to those that are needed. */
static bool narrow(struct several *several)
{
    bool *kept = memory_zeroed(several->count + 1, sizeof *kept);
    memset(kept, true, several->count * sizeof *kept);
    const bool *all = kept;
    bool found = several->count > 1 && first_cure(several, &all, 1) == 0 &&
                 ddmin(kept, several->count, first_cure, several) == 0;
    size_t n = 0;
    for (size_t i = 0; i < several->count && found; i++)
        if (kept[i])
            several->changes[n++] = several->changes[i];
    several->count = found ? n : 0;
    free(kept);
    return found;
}

/* Tries two changes at a time, where all at once never cure, perhaps because they cannot all be made. */
static bool pair(struct several *several)
{
    const struct examination *look = several->look;
    size_t tried = 0;
    for (size_t i = 0; i < look->n_params; i++)
        for (size_t k = i + 1; k < look->n_params && tried < PAIRS; k++) {
            const struct param_change *two[2] = {&look->changes.items[i], &look->changes.items[k]};
            const struct param_evidence *a = params_evidence_of(several->evidence, two[0]),
                                        *b = params_evidence_of(several->evidence, two[1]);
            if (a == b || !is_other_value(look, i, a) || !is_other_value(look, k, b))
                continue;
            if (look->broken || examination_is_late(look))
                return false;
            tried++;
            if (cure_together(several, two, 2)) {
                memcpy(several->changes, two, sizeof two);
                several->count = 2;
                return true;
            }
        }
    return false;
}

void cause_set_find(struct cause_set *set, struct examination *look, const struct params_evidence *evidence)
{
    struct several several = {.look = look, .evidence = evidence};
    bool found = false;
    several.changes = memory_zeroed(evidence->count + 1, sizeof *several.changes);
    for (size_t round = 0; round < ROUNDS && !found && evidence->count > 1; round++) {
        if (look->broken || examination_is_late(look))
            break;
        choose_values(&several, round);
        found = narrow(&several);
    }
    if (!found && evidence->count > 1)
        found = pair(&several);
    *set = (struct cause_set){.count = found ? several.count : 0, .changes = several.changes};
}

void cause_set_release(struct cause_set *set)
{
    free(set->changes);
}
