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
    if (origin->back)
        trial_done_release(&origin->done);
    free(origin);
}

void origin_set(struct origin *origin, const struct trial_done *done)
{
    origin->done = *done;
    origin->back = true;
    for (size_t i = 0; i < done->n_engines; i++)
        origin->size += values_size(done->results[i].outputs, done->results[i].count);
    /* The reference sends each value, its exact form in two parts and two bounds. */
    origin->size += 5 * values_size(done->reference.outputs, done->reference.count);
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
