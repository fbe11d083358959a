#include "trial/origin.h"

#include "base/memory.h"

#include <stdlib.h>

/* Of the results of all kept origins; beyond that the oldest go. */
static const size_t most_bytes = (size_t)256 << 20;

void origin_release(struct origin *origin)
{
    if (!origin)
        return;
    if (origin->shares) {
        origin->shares--;
        return;
    }
    test_case_free(origin->test);
    run_free(origin->run);
    result_release(&origin->reference);
    judgement_release(&origin->judgement);
    free(origin);
}

void origin_set(struct origin *origin, struct run *run, const struct panel *panel)
{
    size_t n = run->n_engines;
    struct judge_entry *entries = memory_zeroed(n, sizeof *entries);
    origin->run = run;
    origin->asked = run->asked;
    origin->reference = run_take(run, 0, n);
    for (size_t i = 0; i < n; i++) {
        const struct result *result = run_result(run, 0, i);
        entries[i] = judge_entry_of(panel_engine(panel, i), result, run->repeats_differ[i]);
        origin->size += values_size(result->outputs, result->count);
    }
    /* The reference sends each value, its exact form in two parts and two bounds. */
    origin->size += 5 * values_size(origin->reference.outputs, origin->reference.count);
    judge_case(&origin->judgement, origin->asked ? &origin->reference : NULL, entries, n);
    origin->back = true;
    free(entries);
}

static struct origin *take_out(struct origins *origins, size_t place)
{
    struct origin *origin = origins->kept[place];
    origins->kept[place] = origins->kept[--origins->count];
    return origin;
}

void origins_release(struct origins *origins)
{
    while (origins->count)
        origin_release(take_out(origins, origins->count - 1));
}

static size_t oldest(const struct origins *origins)
{
    size_t place = 0;
    for (size_t i = 1; i < origins->count; i++)
        if (origins->kept[i]->used < origins->kept[place]->used)
            place = i;
    return place;
}

static size_t total_size(const struct origins *origins)
{
    size_t size = 0;
    for (size_t i = 0; i < origins->count; i++)
        size += origins->kept[i]->size;
    return size;
}

/* One that goes is still there for those who have a share. */
static void make_room(struct origins *origins)
{
    while (origins->count == ORIGINS_KEPT || (origins->count && total_size(origins) > most_bytes))
        origin_release(take_out(origins, oldest(origins)));
}

struct origin *origins_find(struct origins *origins, struct test_case *test, bool *is_new)
{
    struct origin *origin = NULL;
    for (size_t i = 0; i < origins->count && !origin; i++)
        if (origins->kept[i]->test == test)
            origin = origins->kept[i];
    *is_new = !origin;
    if (!origin) {
        make_room(origins);
        origin = memory_zeroed(1, sizeof *origin);
        origin->test = test_case_share(test);
        result_init(&origin->reference);
        origins->kept[origins->count++] = origin;
    }
    origin->shares++;
    origin->used = ++origins->clock;
    return origin;
}

void origins_forget(struct origins *origins, const struct origin *origin)
{
    for (size_t i = 0; i < origins->count; i++)
        if (origins->kept[i] == origin) {
            origin_release(take_out(origins, i));
            return;
        }
}
