/* The state of a campaign: counters, snapshots and results of ranges, refused or added. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "campaign/fuzz_state.h"

/* Of a source that keeps nothing: what is read here is the state around it. */
static void clear(void *source)
{
    (void)source;
}

static int fold(void *source, const char *text, struct error *err)
{
    (void)source, (void)text, (void)err;
    return 0;
}

static int settle_island(void *source, uint64_t island, const char *text, struct error *err)
{
    (void)island;
    return fold(source, text, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct case_source_kind kind = {
        .command = "fuzz", .clear = clear, .fold = fold, .read = fold, .settle = settle_island};
    if (!size)
        return 0;
    char *text = fuzz_text(data + 1, size - 1);
    struct fuzz_engine engines[2] = {0};
    struct fuzz_status status = {.n_engines = 2, .judged_engines = 1, .engines = engines};
    struct case_source source = {&kind, NULL};
    struct fuzz_state state;
    struct error err = {0};
    fuzz_state_init(&state, &status);
    int result = data[0] % 4 == 0   ? fuzz_state_read(&state, &source, text, &err)
                 : data[0] % 4 == 1 ? fuzz_state_fold(&state, &source, text, &err)
                 : data[0] % 4 == 2 ? fuzz_island_read(&state, &source, 1, text, &err)
                                    : fuzz_counters_add(&status, text, &err);
    require(result == 0 || err.message[0] != '\0');
    for (size_t i = 1; i < state.n_known; i++)
        require(state.known[i - 1] < state.known[i]);
    fuzz_state_release(&state);
    free(text);
    return 0;
}
