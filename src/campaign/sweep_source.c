#include "campaign/sweep_source.h"

#include "base/memory.h"
#include "campaign/listed_source.h"

#include <stdlib.h>

struct sweep_source {
    struct case_source_kind kind;
    struct sweep_list list;
    size_t first, step;
};

/* What a sampler does not find at this number is left out; any other reason would be one for the whole list.
 */
static int make(void *raw, uint64_t index, size_t number, struct test_case **out, struct error *err)
{
    struct sweep_source *source = raw;
    struct error why = {0};
    (void)number;
    if (index >= source->list.count || source->first + index * source->step >= source->list.count)
        return error_set(err, ERROR_NOT_FOUND, "the list ends before case %llu", (unsigned long long)index);
    if (sweep_make(&source->list.items[source->first + index * source->step], out, &why) == 0)
        return 0;
    bool invalid = why.code == ERROR_INVALID || why.code == ERROR_UNSUPPORTED;
    return error_set(err, invalid ? ERROR_NOT_FOUND : why.code, "%s", why.message);
}

static void release(void *raw)
{
    struct sweep_source *source = raw;
    sweep_list_release(&source->list);
    free(source);
}

int sweep_source_new(struct case_source *out, const struct sweep_options *options, uint64_t seed,
                     const struct generate_options *generate, uint64_t *count, struct error *err)
{
    struct sweep_source *source = memory_zeroed(1, sizeof *source);
    source->first = options->of ? options->shard - 1 : 0;
    source->step = options->of ? options->of : 1;
    sweep_list_init(&source->list, seed, generate);
    size_t all = source->list.count;
    *count = all > source->first ? (all - source->first + source->step - 1) / source->step : 0;
    if (!*count) {
        release(source);
        return error_set(err, ERROR_NOT_FOUND,
                         "there is nothing to sweep: none of these operators and types, at this opset, is "
                         "computed element by element and known to an engine");
    }
    source->kind = listed_source_kind();
    source->kind.make = make;
    source->kind.free = release;
    *out = (struct case_source){&source->kind, source};
    return 0;
}
