#include "campaign/search_snapshot.h"

#include "base/hash.h"
#include "campaign/search_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_figures(const struct searched *m, struct str *out)
{
    const struct search_figures *f = &m->figures;
    str_printf(out,
               "model %a %a %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %a %s\n",
               m->local_best, f->best, m->idle, m->stuck, m->due, f->generations, f->restarts, f->genomes,
               f->inconsistent, f->strange, f->strange_judged, f->strange_expected, f->findings, f->reached,
               f->first_genome, f->first_seconds, *f->kept ? f->kept : "-");
}

static bool read_figures(struct searched *m, const char **text)
{
    struct search_figures f = m->figures;
    int reached, taken = 0;
    char line[400], kept[sizeof f.kept];
    size_t length = strcspn(*text, "\n");
    if (length >= sizeof line || (*text)[length] != '\n')
        return false;
    memcpy(line, *text, length);
    line[length] = '\0';
    if (sscanf(line,
               "model %la %la %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %d %" SCNu64 " %la %119s%n",
               &m->local_best, &f.best, &m->idle, &m->stuck, &m->due, &f.generations, &f.restarts, &f.genomes,
               &f.inconsistent, &f.strange, &f.strange_judged, &f.strange_expected, &f.findings, &reached,
               &f.first_genome, &f.first_seconds, kept, &taken) != 17 ||
        (size_t)taken != length || isnan(f.best) || isnan(m->local_best) || isnan(f.first_seconds))
        return false;
    f.reached = reached == 1;
    snprintf(f.kept, sizeof f.kept, "%s", strcmp(kept, "-") ? kept : "");
    m->figures = f;
    *text += length + 1;
    return true;
}

/* The file of a turn. */
static const char *const files[] = {"populations.0", "populations.1"};

static void write_populations(const struct search_source *source, struct str *out)
{
    for (size_t i = 0; i < source->n_models; i++) {
        const struct searched *m = &source->models[i];
        search_secant_write(&m->secant, out);
        genetic_write(m->genetic, out);
    }
}

static void write_search(const struct search_source *source, struct str *out)
{
    str_printf(out, "search %zu %" PRIu64 " %zu\n", source->turn, source->clock, source->futile);
    for (size_t i = 0; i < source->n_models; i++)
        write_figures(&source->models[i], out);
}

int search_snapshot_write(void *raw, struct str *out, struct error *err)
{
    struct search_source *source = raw;
    write_search(source, out);
    if (source->options.network)
        return 0;
    unsigned turn = source->snapshots++ % 2;
    struct str populations;
    str_init(&populations);
    write_populations(source, &populations);
    str_printf(out, "populations %u %016" PRIx64 "\n", turn,
               hash_bytes(0, populations.data, populations.length));
    int status = folder_write(source->folder, files[turn], populations.data, populations.length, err);
    str_release(&populations);
    return status;
}

static bool read_search(struct search_source *source, const char **text)
{
    size_t turn, futile;
    uint64_t clock;
    int taken = 0;
    bool good = sscanf(*text, "search %zu %" SCNu64 " %zu%n", &turn, &clock, &futile, &taken) == 3 && taken &&
                (*text)[taken] == '\n' && turn < source->n_models;
    *text += good ? taken + 1 : 0;
    for (size_t i = 0; i < source->n_models && good; i++)
        good = read_figures(&source->models[i], text);
    if (good) {
        source->turn = turn;
        source->clock = clock;
        source->futile = futile;
    }
    return good;
}

static int read_populations(struct search_source *source, const char *text, struct error *err)
{
    for (size_t i = 0; i < source->n_models; i++) {
        struct searched *m = &source->models[i];
        if (!search_secant_read(&m->secant, &text))
            return error_set(err, ERROR_FORMAT, "the logits are damaged");
        if (genetic_read(m->genetic, &text, err))
            return -1;
    }
    return 0;
}

/* The file of the turn that the text names, if it is the one that was written. */
static int open_populations(struct search_source *source, unsigned turn, uint64_t hash, struct error *err)
{
    size_t size, limit = source->n_models * GENETIC_MOST_GENES * 9; /* eight digits a gene, and the logits */
    char *data = NULL;
    int status = folder_read(source->folder, files[turn], limit, &data, &size, err);
    if (!status && hash_bytes(0, data, size) != hash)
        status = error_set(err, ERROR_FORMAT, "%s/%s is not the file that the search wrote",
                           source->folder->path, files[turn]);
    else if (!status && read_populations(source, data, err))
        status = folder_prefix(source->folder, files[turn], err);
    free(data);
    return status;
}

int search_snapshot_read(void *raw, const char *text, struct error *err)
{
    struct search_source *source = raw;
    unsigned turn = 0;
    uint64_t hash = 0;
    if (!read_search(source, &text) ||
        (!source->options.network &&
         (sscanf(text, "populations %u %" SCNx64, &turn, &hash) != 2 || turn > 1)))
        return error_set(err, ERROR_FORMAT, "the snapshot of the search is damaged");
    source->snapshots = turn + 1; /* the other file is written next */
    return source->options.network ? 0 : open_populations(source, turn, hash, err);
}

enum { MOST_ISLAND = 12 << 20 };

int search_island_write(const void *raw, struct str *out, struct error *err)
{
    const struct search_source *source = raw;
    write_search(source, out);
    if (!source->options.network)
        write_populations(source, out);
    return out->length <= MOST_ISLAND
               ? 0
               : error_set(
                     err, ERROR_LIMIT,
                     "the populations of these models take %zu MB, and a shared search keeps up to %d: give "
                     "fewer models, a smaller --population, or use a folder",
                     out->length >> 20, MOST_ISLAND >> 20);
}

int search_island_read(void *raw, const char *text, struct error *err)
{
    struct search_source *source = raw;
    if (!read_search(source, &text))
        return error_set(err, ERROR_FORMAT, "the snapshot of the search is damaged");
    return source->options.network ? 0 : read_populations(source, text, err);
}
