#include "campaign/listed_source.h"

#include "campaign/fuzz.h"

static void plan(void *raw, struct case_range *range)
{
    (void)raw;
    *range = (struct case_range){.count = FUZZ_RANGE};
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
    return *text ? error_set(err, ERROR_FORMAT, "the snapshot of a list of cases says more than it has") : 0;
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

struct case_source_kind listed_source_kind(void)
{
    return (struct case_source_kind){
        .command = "fuzz",
        .plan = plan,
        .end = end,
        .write = write_nothing,
        .read = read_nothing,
        .mark = learn_nothing,
        .difference = tell_nothing,
        .whole = tell_nothing,
        .fold = read_nothing,
        .clear = learn_nothing,
        .figures = no_figures,
    };
}
