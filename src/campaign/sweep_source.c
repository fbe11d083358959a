#include "campaign/sweep_source.h"

#include "base/memory.h"
#include "campaign/fuzz.h"

#include <stdlib.h>

struct sweep_source {
    struct sweep_list list;
    size_t first, step;
};

static void plan(void *raw, struct case_range *range)
{
    (void)raw;
    *range = (struct case_range){.count = FUZZ_RANGE};
}

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

static int end(void *raw, const char *marks, size_t count, struct error *err)
{
    (void)raw, (void)marks, (void)count, (void)err;
    return 0;
}

static int write_nothing(void *raw, struct str *out, struct error *err)
{
    (void)raw, (void)out, (void)err;
    return 0;
}

static int read_nothing(void *raw, const char *text, struct error *err)
{
    (void)raw;
    return *text ? error_set(err, ERROR_FORMAT, "the snapshot of a sweep says more than a sweep has") : 0;
}

static void learn_nothing(void *raw)
{
    (void)raw;
}

static void tell_nothing(const void *raw, struct str *out)
{
    (void)raw, (void)out;
}

static void no_figures(const void *raw, struct fuzz_status *status)
{
    (void)raw, (void)status;
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
    static const struct case_source_kind kind = {
        .command = "fuzz",
        .plan = plan,
        .make = make,
        .end = end,
        .write = write_nothing,
        .read = read_nothing,
        .mark = learn_nothing,
        .difference = tell_nothing,
        .whole = tell_nothing,
        .fold = read_nothing,
        .clear = learn_nothing,
        .figures = no_figures,
        .free = release,
    };
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
    *out = (struct case_source){&kind, source};
    return 0;
}
