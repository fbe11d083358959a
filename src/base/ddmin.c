#include "base/ddmin.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t count_kept(const bool *kept, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += kept[i];
    return count;
}

/* `kept` without its items number first ... first + size - 1. */
static bool *without(const bool *kept, size_t n, size_t first, size_t size)
{
    bool *candidate = memory_zeroed(n, sizeof *candidate);
    size_t number = 0;
    for (size_t i = 0; i < n; i++) {
        if (!kept[i])
            continue;
        candidate[i] = number < first || number >= first + size;
        number++;
    }
    return candidate;
}

/* One pass over all chunks of a size from *first on: 1 when one could go, 0 when none, -1 to stop. */
static int leave_out(bool *kept, size_t n, size_t size, size_t *first, ddmin_test test, void *context)
{
    size_t total = count_kept(kept, n), count = 0;
    bool **candidates = memory_zeroed(total + 1, sizeof *candidates);
    for (size_t at = *first; at < total; at += size)
        candidates[count++] = without(kept, n, at, size);
    long found = count ? test(context, (const bool *const *)candidates, count) : 0;
    bool success = found >= 0 && (size_t)found < count;
    if (success) {
        memcpy(kept, candidates[found], n * sizeof *kept);
        *first += (size_t)found * size; /* what came before was tried and must stay */
    }
    for (size_t i = 0; i < count; i++)
        free(candidates[i]);
    free(candidates);
    return found < 0 ? -1 : success;
}

/* All chunks of one size; *any is set when something could go. */
static int pass(bool *kept, size_t n, size_t size, ddmin_test test, void *context, bool *any)
{
    size_t first = 0;
    int status;
    while ((status = leave_out(kept, n, size, &first, test, context)) > 0)
        *any = true;
    return status;
}

int ddmin(bool *kept, size_t n, ddmin_test test, void *context)
{
    bool any = false;
    for (size_t size = (count_kept(kept, n) + 1) / 2; size > 1; size = (size + 1) / 2)
        if (pass(kept, n, size, test, context, &any) < 0)
            return -1;
    do {
        any = false;
        if (pass(kept, n, 1, test, context, &any) < 0)
            return -1;
    } while (any);
    return 0;
}
