#include "findings/engine_deaths.h"

#include "base/str.h"
#include "findings/database.h"
#include "findings/store.h"
#include "judge/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The lines of a range's counters (campaign/fuzz_state.h) that tell of engines begin with this word and the
 * time that the engine took; the verdicts' counts follow. */
enum { FIRST_COUNT = 3, MOST_ENGINES = 64 };

/* The next verdict after `kind` by which an engine was lost; VERDICT_COUNT: there is none. */
static int next_kind(int kind)
{
    while (++kind < VERDICT_COUNT && !verdict_is(kind, CLASS_DEATH | CLASS_TROUBLE))
        ;
    return kind;
}

struct reading {
    const char *words; /* what is left of the campaign's options, one a line */
    int (*visit)(void *context, const struct engine_deaths *deaths, struct error *err);
    void *context;
};

/* The next engine that the options name; after them comes the reference. */
static void next_label(struct reading *reading, char label[DEATH_LABEL])
{
    static const char option[] = "--engine=";
    while (*reading->words) {
        const char *line = reading->words;
        size_t length = strcspn(line, "\n");
        reading->words += length + (line[length] == '\n');
        if (text_starts(line, option)) {
            snprintf(label, DEATH_LABEL, "%.*s", (int)(length - strlen(option)), line + strlen(option));
            return;
        }
    }
    snprintf(label, DEATH_LABEL, "reference");
}

static int engine_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reading *reading = context;
    struct engine_deaths deaths = {0};
    (void)err;
    next_label(reading, deaths.engine);
    for (int kind = next_kind(-1); kind < VERDICT_COUNT && deaths.count < DEATH_KINDS;
         kind = next_kind(kind)) {
        double value = deaths.count + 1 < count ? cell_as_real(&cells[deaths.count + 1]) : 0;
        deaths.kinds[deaths.count++] =
            (struct death_count){verdict_name(kind), isfinite(value) && value > 0 ? value : 0};
    }
    return reading->visit(reading->context, &deaths, err);
}

/* What is no number of up to 15 digits counts as none. */
static void add_sum(struct str *sql, int kind)
{
    str_printf(sql,
               ", CAST(sum(CASE WHEN split_part(l.line, ' ', %d) ~ '^[0-9]+$' AND length(split_part(l.line, "
               "' ', %d)) <= 15 "
               "THEN CAST(split_part(l.line, ' ', %d) AS BIGINT) ELSE 0 END) AS DOUBLE PRECISION)",
               FIRST_COUNT + kind, FIRST_COUNT + kind, FIRST_COUNT + kind);
}

static int add_up(struct database *database, struct reading *reading, struct error *err)
{
    struct str sql;
    str_init(&sql);
    str_add(&sql, "SELECT l.place");
    for (int kind = next_kind(-1); kind < VERDICT_COUNT; kind = next_kind(kind))
        add_sum(&sql, kind);
    str_printf(&sql,
               " FROM @leases, unnest(string_to_array(substr(CAST(counters AS TEXT), 1, 100000), chr(10))) "
               "WITH ORDINALITY AS l(line, place) WHERE finished > 0 AND l.line LIKE 'engine %%' "
               "GROUP BY l.place ORDER BY l.place LIMIT %d",
               MOST_ENGINES);
    int status = database_run(database, sql.data, NULL, 0, engine_row, reading, err);
    str_release(&sql);
    return status;
}

int engine_deaths_visit(const char *url, const char *campaign,
                        int (*visit)(void *context, const struct engine_deaths *deaths, struct error *err),
                        void *context, struct error *err)
{
    struct store *store;
    struct str words;
    if (store_open_campaign(&store, url, campaign, STORE_READ, err))
        return -1;
    struct database *database = store_database(store);
    str_init(&words);
    int status =
        database->version < 2
            ? 0
            : database_run(
                  database,
                  "SELECT substr(CAST(value AS TEXT), 1, 100000) FROM @state WHERE name = 'fuzz-words'", NULL,
                  0, row_text, &words, err);
    struct reading reading = {words.data, visit, context};
    if (!status && database->version >= 2)
        status = add_up(database, &reading, err);
    str_release(&words);
    store_close(store);
    return status;
}
