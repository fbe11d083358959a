#include "campaign/fuzz_state.h"

#include "base/memory.h"
#include "base/packed.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char snapshot_key[] = "fuzz-snapshot", progress_key[] = "fuzz-progress";

/* What a campaign can reach; a database that says more is damaged. */
static const uint64_t MOST_CASES = UINT64_C(1) << 50;
static const double most_seconds = 1e12;

void fuzz_state_clear(struct fuzz_state *state)
{
    memset(state->marks, MARK_TODO, RANGE_MOST);
    state->marks[RANGE_MOST] = '\0';
}

void fuzz_state_init(struct fuzz_state *state, struct fuzz_status *status)
{
    *state = (struct fuzz_state){.status = status};
    fuzz_state_clear(state);
}

void fuzz_state_release(struct fuzz_state *state)
{
    free(state->known);
}

static size_t place_of(const struct fuzz_state *state, uint64_t signature)
{
    size_t low = 0, high = state->n_known;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (state->known[middle] < signature)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool fuzz_state_knows(const struct fuzz_state *state, uint64_t signature)
{
    size_t at = place_of(state, signature);
    return at < state->n_known && state->known[at] == signature;
}

void fuzz_state_learn(struct fuzz_state *state, uint64_t signature)
{
    size_t at = place_of(state, signature);
    if (at < state->n_known && state->known[at] == signature)
        return;
    state->known =
        memory_grow(state->known, &state->known_capacity, state->n_known + 1, sizeof *state->known);
    memmove(&state->known[at + 1], &state->known[at], (state->n_known - at) * sizeof *state->known);
    state->known[at] = signature;
    state->n_known++;
}

void fuzz_counters_write(const struct fuzz_status *status, struct str *out)
{
    str_printf(out, "cases %" PRIu64 "\nelapsed %a\nnew %a\n", status->cases, status->elapsed,
               status->last_new);
    for (size_t i = 0; i < status->n_engines; i++) {
        const struct fuzz_engine *engine = &status->engines[i];
        str_printf(out, "engine %a", engine->busy);
        for (enum verdict_kind k = 0; verdict_exists(k); k++)
            str_printf(out, " %" PRIu64, engine->verdicts[k]);
        for (int k = 0; k < PAPER_COUNT; k++)
            str_printf(out, " %" PRIu64, engine->paper[k]);
        str_add(out, "\n");
    }
}

/* Whether the text continues with this word; if so, skips it. */
static bool take_word(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

static bool take_count(const char **text, uint64_t *value)
{
    char *end;
    *value = strtoull(*text, &end, 10);
    bool good = end != *text;
    *text = end;
    return good;
}

/* A number of cases, which has room for more: sums of some must not overflow. */
static bool take_cases(const char **text, uint64_t *value)
{
    return take_count(text, value) && *value <= MOST_CASES;
}

static bool take_real(const char **text, double *value)
{
    char *end;
    *value = strtod(*text, &end);
    bool good = end != *text && isfinite(*value);
    *text = end;
    return good;
}

static bool read_engine(struct fuzz_engine *engine, const char **text)
{
    bool good = take_word(text, "engine ") && take_real(text, &engine->busy);
    for (enum verdict_kind k = 0; verdict_exists(k) && good; k++)
        good = take_cases(text, &engine->verdicts[k]);
    for (int k = 0; k < PAPER_COUNT && good; k++)
        good = take_cases(text, &engine->paper[k]);
    return good && take_word(text, "\n");
}

static bool read_counters(struct fuzz_status *status, const char **text)
{
    bool good = take_word(text, "cases ") && take_cases(text, &status->cases) &&
                take_word(text, "\nelapsed ") && take_real(text, &status->elapsed) &&
                fabs(status->elapsed) <= most_seconds && take_word(text, "\nnew ") &&
                take_real(text, &status->last_new) && fabs(status->last_new) <= most_seconds &&
                take_word(text, "\n");
    for (size_t i = 0; i < status->n_engines && good; i++)
        good = read_engine(&status->engines[i], text);
    return good;
}

int fuzz_state_begin(struct fuzz_state *state, struct store *store, const struct case_source *source,
                     struct error *err)
{
    struct str text;
    str_init(&text);
    fuzz_state_clear(state);
    str_printf(&text, "first %" PRIu64 "\n", state->first);
    fuzz_counters_write(state->status, &text);
    str_printf(&text, "known %zu\n", state->n_known);
    for (size_t i = 0; i < state->n_known; i++)
        str_printf(&text, "%" PRIu64 "\n", state->known[i]);
    int status = source->kind->write(source->self, &text, err);
    if (!status)
        status = store_set(store, snapshot_key, text.data, err);
    str_release(&text);
    return status;
}

int fuzz_state_keep(const struct fuzz_state *state, struct store *store, struct error *err)
{
    struct str text;
    str_init(&text);
    str_printf(&text, "first %" PRIu64 "\n", state->first);
    fuzz_counters_write(state->status, &text);
    str_printf(&text, "marks %.*s\n", FUZZ_RANGE, state->marks);
    int status = store_set(store, progress_key, text.data, err);
    str_release(&text);
    return status;
}

static bool read_known(struct fuzz_state *state, const char **text)
{
    uint64_t count, signature;
    bool good = take_word(text, "known ") && take_count(text, &count) && take_word(text, "\n");
    state->n_known = 0;
    for (uint64_t i = 0; good && i < count; i++) {
        good = take_count(text, &signature) && take_word(text, "\n");
        if (good)
            fuzz_state_learn(state, signature);
    }
    return good;
}

static int read_snapshot(struct fuzz_state *state, const struct case_source *source, const char *text,
                         struct error *err)
{
    bool good = take_word(&text, "first ") && take_cases(&text, &state->first) && take_word(&text, "\n") &&
                read_counters(state->status, &text) && read_known(state, &text);
    if (!good)
        return error_set(err, ERROR_FORMAT, "the campaign's snapshot is damaged");
    return source->kind->read(source->self, text, err);
}

/* Of another range, it is from before the snapshot and says nothing. */
static int read_progress(struct fuzz_state *state, const char *text, struct error *err)
{
    uint64_t first;
    bool good = take_word(&text, "first ") && take_count(&text, &first) && take_word(&text, "\n");
    if (good && first != state->first)
        return 0;
    good = good && read_counters(state->status, &text) && take_word(&text, "marks ") &&
           strlen(text) == FUZZ_RANGE + 1 && strspn(text, ".dln") == FUZZ_RANGE;
    if (!good)
        return error_set(err, ERROR_FORMAT, "the campaign's progress is damaged");
    memcpy(state->marks, text, FUZZ_RANGE);
    return 0;
}

int fuzz_state_load(struct fuzz_state *state, struct store *store, const struct case_source *source,
                    bool *found, struct error *err)
{
    struct str text;
    str_init(&text);
    int status = store_get(store, snapshot_key, &text, found, err);
    if (!status && *found)
        status = read_snapshot(state, source, text.data, err);
    bool progress = false;
    str_clear(&text);
    if (!status && *found && !source->kind->bred)
        status = store_get(store, progress_key, &text, &progress, err);
    if (!status && progress)
        status = read_progress(state, text.data, err);
    str_release(&text);
    return status;
}

int fuzz_counters_add(struct fuzz_status *status, const char *text, struct error *err)
{
    struct fuzz_status range = {.n_engines = status->n_engines};
    range.engines = memory_zeroed(status->n_engines + 1, sizeof *range.engines);
    bool good = read_counters(&range, &text) && !*text;
    status->cases += range.cases;
    for (size_t i = 0; i < status->n_engines && good; i++) {
        for (enum verdict_kind k = 0; verdict_exists(k); k++)
            status->engines[i].verdicts[k] += range.engines[i].verdicts[k];
        for (int k = 0; k < PAPER_COUNT; k++)
            status->engines[i].paper[k] += range.engines[i].paper[k];
    }
    free(range.engines);
    return good ? 0 : error_set(err, ERROR_FORMAT, "the counters of a range are damaged");
}

/* Hashes of signatures, behind their number. */
static void pack_signatures(const uint64_t *signatures, size_t count, struct str *out)
{
    packed_add(out, count);
    for (size_t i = 0; i < count; i++)
        packed_add(out, signatures[i]);
}

static bool learn_packed(struct fuzz_state *state, const char **text)
{
    uint64_t count, signature;
    bool good = packed_take(text, strlen(*text), &count);
    for (uint64_t i = 0; i < count && good; i++) {
        good = packed_take(text, UINT64_MAX, &signature);
        if (good)
            fuzz_state_learn(state, signature);
    }
    return good;
}

void fuzz_state_write(const struct fuzz_state *state, const struct case_source *source, struct str *out)
{
    fuzz_counters_write(state->status, out);
    pack_signatures(state->known, state->n_known, out);
    source->kind->whole(source->self, out);
}

static void clear_counters(struct fuzz_status *status)
{
    status->cases = 0;
    status->elapsed = 0;
    status->last_new = -1;
    memset(status->engines, 0, status->n_engines * sizeof *status->engines);
}

int fuzz_state_read(struct fuzz_state *state, const struct case_source *source, const char *text,
                    struct error *err)
{
    state->n_known = 0;
    clear_counters(state->status);
    source->kind->clear(source->self);
    if (!*text)
        return 0;
    if (!read_counters(state->status, &text) || !learn_packed(state, &text))
        return error_set(err, ERROR_FORMAT, "the snapshot of a generation is damaged");
    return source->kind->fold(source->self, text, err);
}

void fuzz_result_write(const uint64_t *signatures, size_t count, const struct case_source *source,
                       struct str *out)
{
    pack_signatures(signatures, count, out);
    source->kind->difference(source->self, out);
}

int fuzz_state_fold(struct fuzz_state *state, const struct case_source *source, const char *text,
                    struct error *err)
{
    if (!learn_packed(state, &text))
        return error_set(err, ERROR_FORMAT, "the result of a range is damaged");
    return source->kind->fold(source->self, text, err);
}

int fuzz_island_write(const struct fuzz_state *state, const struct case_source *source, struct str *out,
                      struct error *err)
{
    pack_signatures(state->known, state->n_known, out);
    str_add(out, "\n");
    return source->kind->island_write(source->self, out, err);
}

int fuzz_island_read(struct fuzz_state *state, const struct case_source *source, uint64_t island,
                     const char *text, struct error *err)
{
    state->n_known = 0;
    if (*text && (!learn_packed(state, &text) || !take_word(&text, "\n")))
        return error_set(err, ERROR_FORMAT, "the result of a range is damaged");
    return source->kind->settle(source->self, island, text, err);
}
