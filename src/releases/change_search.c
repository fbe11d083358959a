#include "releases/change_search.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The places in the middle between two known neighbours whose states differ. */
static size_t middles(const uint64_t *states, const bool *known, size_t n, size_t *places)
{
    size_t count = 0, left = 0;
    for (size_t right = 1; right < n; right++) {
        if (!known[right])
            continue;
        if (states[left] != states[right] && right - left > 1)
            places[count++] = left + (right - left) / 2;
        left = right;
    }
    return count;
}

static size_t grid(size_t n, size_t step, size_t *places)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i += step)
        places[count++] = i;
    if (n && (n - 1) % step)
        places[count++] = n - 1;
    return count;
}

int change_search(uint64_t *states, bool *looked, size_t n, size_t step, change_look look, void *context)
{
    size_t *places = memory_zeroed(n + 1, sizeof *places);
    bool *known = memory_zeroed(n + 1, sizeof *known);
    int status = 0;
    for (size_t count = grid(n, step ? step : 1, places); count && !status;) {
        status = look(context, places, count, states);
        for (size_t i = 0; i < count; i++)
            known[places[i]] = true;
        count = middles(states, known, n, places);
    }
    for (size_t i = 1; i < n && !status; i++)
        if (!known[i])
            states[i] = states[i - 1];
    if (looked)
        memcpy(looked, known, n * sizeof *known);
    free(known);
    free(places);
    return status;
}
