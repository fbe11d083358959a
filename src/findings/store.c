#include "findings/store.h"

#include "base/file.h"
#include "base/memory.h"
#include "findings/database.h"
#include "locate/classify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct store {
    struct database *database;
};

int store_check_folder(const char *folder, struct error *err)
{
    char **names;
    size_t count, foreign = 0;
    bool ours = false;
    if (!*folder)
        return error_set(err, ERROR_USAGE, "the name of the campaign's folder is empty");
    if (!file_exists(folder))
        return 0;
    if (!file_is_folder(folder))
        return error_set(err, ERROR_IO, "%s exists and is not a folder; name a new folder", folder);
    if (file_list(folder, &names, &count, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        ours |= text_equal(names[i], STORE_FILE);
        foreign += !text_equal(names[i], "lock"); /* the first thing that a campaign makes */
    }
    file_names_free(names, count);
    return ours || !foreign
               ? 0
               : error_set(err, ERROR_IO,
                           "%s is not empty and not the folder of a campaign (it has no assay.db); "
                           "name a new folder",
                           folder);
}

static enum database_mode database_mode_of(enum store_mode mode)
{
    return mode == STORE_CREATE ? DATABASE_CREATE : mode == STORE_WRITE ? DATABASE_WRITE : DATABASE_READ;
}

static struct store *store_of(struct database *database)
{
    struct store *store = memory_zeroed(1, sizeof *store);
    store->database = database;
    return store;
}

static int no_store(const char *folder, struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND,
                     "%s/%s: there is no such file; 'assay fuzz -o DIR' makes a campaign", folder,
                     STORE_FILE);
}

int store_open(struct store **store, const char *folder, enum store_mode mode, struct error *err)
{
    struct database *database = NULL;
    struct folder place;
    *store = NULL;
    bool create = mode == STORE_CREATE;
    if (!create && !file_exists(folder))
        return no_store(folder, err);
    int status =
        create ? folder_make(&place, USERS_PATH, folder, err) : folder_open(&place, USERS_PATH, folder, err);
    if (!status && !create && !folder_has(&place, STORE_FILE))
        status = no_store(folder, err);
    if (!status)
        status = database_open_sqlite(&database, &place, STORE_FILE, database_mode_of(mode), err);
    folder_close(&place);
    if (!status)
        *store = store_of(database);
    return status;
}

int store_open_campaign(struct store **store, const char *url, const char *campaign, enum store_mode mode,
                        struct error *err)
{
    struct database *database;
    *store = NULL;
    if (database_open_postgres(&database, url, campaign, database_mode_of(mode), err))
        return -1;
    *store = store_of(database);
    return 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    store->database->driver->close(store->database);
    free(store);
}

struct database *store_database(struct store *store)
{
    return store->database;
}

int store_run(struct store *store, const char *sql, const struct cell *params, size_t count,
              database_row *row, void *context, struct error *err)
{
    return database_run(store->database, sql, params, count, row, context, err);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static const char *const state_words[STATE_COUNT] = {
    [STATE_UNCHANGED] = "",    [STATE_NEW] = "new",     [STATE_BUNDLED] = "bundled",
    [STATE_FAILED] = "failed", [STATE_KNOWN] = "known", [STATE_GONE] = "gone",
};
static const char detail_mark[] = ": ";

const char *finding_state_word(enum finding_state state)
{
    return state_words[state];
}

void finding_status_write(struct str *out, enum finding_state state, const char *detail)
{
    bool more = detail && *detail;
    str_printf(out, "%s%s%s", state_words[state], more ? detail_mark : "", more ? detail : "");
}

/* The database's clock, as what happens on many machines is put in order by it. */
#define SECONDS_NOW "CAST({now} AS BIGINT)"

/* `number` of its case; -1: of none. */
static int insert_occurrence(struct store *store, const struct finding *f, int64_t number, struct error *err)
{
    return store_run(
        store,
        "INSERT INTO @occurrences (signature, engine, recipe, version, title, factor, seen, number) "
        "VALUES ($1, $2, $3, $4, $5, $6, " SECONDS_NOW
        ", $7) ON CONFLICT (signature, engine, recipe) DO UPDATE SET number = excluded.number "
        "WHERE occurrences.number = -1",
        CELLS(cell_text(f->signature), cell_text(or_empty(f->engine)), cell_text(or_empty(f->recipe)),
              cell_text(or_empty(f->version)), cell_text(or_empty(f->title)), cell_real(f->factor),
              cell_int(number)),
        NULL, NULL, err);
}

static int insert_finding(struct store *store, const struct finding *f, bool *is_new, struct error *err)
{
    struct str state;
    str_init(&state);
    finding_status_write(&state, f->known ? STATE_KNOWN : STATE_NEW, f->known);
    int status = store_run(
        store,
        "INSERT INTO @findings (signature, name, kind, engine, version, operators, title, recipe, "
        "status, bundle, same_as, factor, nodes, first_seen) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
        "$9, '', '', $10, $11, " SECONDS_NOW ") ON CONFLICT (signature) DO NOTHING RETURNING signature",
        CELLS(cell_text(f->signature), cell_text(or_empty(f->name)), cell_text(or_empty(f->kind)),
              cell_text(or_empty(f->engine)), cell_text(or_empty(f->version)),
              cell_text(or_empty(f->operators)), cell_text(or_empty(f->title)),
              cell_text(or_empty(f->recipe)), cell_text(state.data), cell_real(f->factor),
              cell_int(f->nodes)),
        row_noted, is_new, err);
    str_release(&state);
    return status;
}

/* The class is kept beside the facts, under a key: the tables are those of every version, so that older and
 * newer versions of this program read each other's campaigns. */
#define CLASS_KEY "class "

/* Stores a text about a finding under a key, in place of the one that is there; NULL: leaves it as it is. */
static int set_note(struct store *store, const char *prefix, const char *signature, const char *value,
                    struct error *err)
{
    if (!value)
        return 0;
    struct str key;
    str_init(&key);
    str_printf(&key, "%s%s", prefix, signature);
    int status = store_set(store, key.data, value, err);
    str_release(&key);
    return status;
}

int store_describe(struct store *store, const char *signature, const char *class, const char *facts,
                   struct error *err)
{
    return set_note(store, CLASS_KEY, signature, class, err) ||
                   set_note(store, STORE_FACTS_KEY, signature, facts, err)
               ? -1
               : 0;
}

/* The finding itself, when it is not there yet. */
static int add_finding(struct store *store, const struct finding *finding, bool *is_new, struct error *err)
{
    *is_new = false;
    if (!finding->signature || !*finding->signature)
        return error_set(err, ERROR_USAGE, "a finding needs a signature");
    if (insert_finding(store, finding, is_new, err))
        return -1;
    return *is_new ? store_describe(store, finding->signature, finding->class, finding->facts, err) : 0;
}

int store_add_inside(struct store *store, const struct finding *finding, bool *is_new, struct error *err)
{
    return add_finding(store, finding, is_new, err) || insert_occurrence(store, finding, -1, err) ? -1 : 0;
}

/* The occurrences of a finding in ranges. */
struct numbered {
    int64_t count, lowest, highest;
};

static int take_numbered(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct numbered *numbered = context;
    if (count != 3)
        return error_set(err, ERROR_FORMAT, "occurrences have %zu columns", count);
    *numbered = (struct numbered){cell_as_int(&cells[0]), cell_as_int(&cells[1]), cell_as_int(&cells[2])};
    return 0;
}

/* Describes the finding by a case with a lower number. If others were reduced to it before it was met itself,
 * their bundle stays, unless it turns out to be written up. */
static int lower_finding(struct store *store, const struct finding *f, struct error *err)
{
    struct str state;
    bool lowered = false;
    str_init(&state);
    finding_status_write(&state, f->known ? STATE_KNOWN : STATE_NEW, f->known);
    int status = store_run(
        store,
        "UPDATE @findings SET kind = $1, engine = $2, version = $3, operators = $4, recipe = $5, factor = "
        "$6, status = $7, title = CASE WHEN bundle = '' OR $8 = 1 THEN $9 ELSE title END, nodes = CASE "
        "WHEN bundle = '' OR $8 = 1 THEN $10 ELSE nodes END, bundle = CASE WHEN $8 = 1 THEN '' ELSE "
        "bundle END WHERE signature = $11 AND NOT EXISTS (SELECT 1 FROM @follow_ups u WHERE u.signature "
        "= $11 AND u.finished > 0) RETURNING signature",
        CELLS(cell_text(or_empty(f->kind)), cell_text(or_empty(f->engine)), cell_text(or_empty(f->version)),
              cell_text(or_empty(f->operators)), cell_text(or_empty(f->recipe)), cell_real(f->factor),
              cell_text(state.data), cell_int(f->known != NULL), cell_text(or_empty(f->title)),
              cell_int(f->nodes), cell_text(f->signature)),
        row_noted, &lowered, err);
    str_release(&state);
    if (status || !lowered)
        return status;
    if (f->known && (store_run(store, "DELETE FROM @files WHERE signature = $1",
                               CELLS(cell_text(f->signature)), NULL, NULL, err) ||
                     store_run(store, "DELETE FROM @history WHERE signature = $1",
                               CELLS(cell_text(f->signature)), NULL, NULL, err)))
        return -1;
    return store_describe(store, f->signature, f->class, f->facts, err);
}

int store_add_case(struct store *store, const struct finding *finding, int64_t most, bool *is_new,
                   struct error *err)
{
    struct numbered numbered = {0};
    if (database_lock(store->database, finding->signature, err) || add_finding(store, finding, is_new, err))
        return -1;
    if (store_run(
            store,
            "SELECT count(*), min(number), max(number) FROM @occurrences WHERE signature = $1 AND number <> "
            "-1",
            CELLS(cell_text(finding->signature)), take_numbered, &numbered, err))
        return -1;
    if (!*is_new && (!numbered.count || finding->number < numbered.lowest) &&
        lower_finding(store, finding, err))
        return -1;
    if (numbered.count >= most && finding->number >= numbered.highest)
        return 0;
    if (numbered.count >= most &&
        store_run(store, "DELETE FROM @occurrences WHERE signature = $1 AND number = $2",
                  CELLS(cell_text(finding->signature), cell_int(numbered.highest)), NULL, NULL, err))
        return -1;
    return insert_occurrence(store, finding, finding->number, err);
}

struct adding {
    struct store *store;
    const struct finding *finding;
    bool is_new;
};

static int add_all(void *context, struct error *err)
{
    struct adding *adding = context;
    return store_add_inside(adding->store, adding->finding, &adding->is_new, err);
}

int store_add(struct store *store, const struct finding *finding, bool *is_new, struct error *err)
{
    struct adding adding = {store, finding, false};
    int status = database_transact(store->database, add_all, &adding, err);
    if (is_new)
        *is_new = adding.is_new;
    return status;
}

/* A state that is not known is shown as it is: it is one of another version of this program. */
static void read_status(struct stored *stored)
{
    size_t length = strcspn(stored->status, detail_mark);
    stored->state = STATE_UNCHANGED;
    stored->detail = "";
    for (int i = STATE_NEW; i < STATE_COUNT; i++)
        if (strlen(state_words[i]) == length && strncmp(state_words[i], stored->status, length) == 0)
            stored->state = (enum finding_state)i;
    if (text_starts(stored->status + length, detail_mark))
        stored->detail = stored->status + length + strlen(detail_mark);
}

int store_settle(struct store *store, const char *signature, const struct settled *settled, struct error *err)
{
    struct str text;
    str_init(&text);
    finding_status_write(&text, settled->state, settled->detail);
    int status =
        store_run(store,
                  "UPDATE @findings SET status = COALESCE($1, status), bundle = COALESCE($2, bundle), "
                  "title = COALESCE($3, title), recipe = COALESCE($4, recipe), "
                  "nodes = COALESCE($5, nodes) WHERE signature = $6",
                  CELLS(cell_text(settled->state ? text.data : NULL), cell_text(settled->bundle),
                        cell_text(settled->title), cell_text(settled->recipe),
                        settled->nodes ? cell_int(settled->nodes) : (struct cell){0}, cell_text(signature)),
                  NULL, NULL, err);
    str_release(&text);
    return status;
}

int store_merge(struct store *store, const char *signature, const char *same_as, struct error *err)
{
    bool done = false;
    if (strcmp(signature, same_as) == 0)
        return 0;
    /* Findings that were merged into it before are moved along, so that no chain is longer than one. */
    if (store_run(
            store,
            "UPDATE @findings SET same_as = $1 WHERE (signature = $2 OR same_as = $2) AND signature <> $1 "
            "AND "
            "EXISTS (SELECT 1 FROM @findings f WHERE f.signature = $1 AND f.same_as = '') RETURNING "
            "signature",
            CELLS(cell_text(same_as), cell_text(signature)), row_noted, &done, err))
        return -1;
    return done ? 0
                : error_set(err, ERROR_NOT_FOUND, "the store does not hold the two findings to be merged");
}

int store_history(struct store *store, const char *signature, const char *engine, const char *verdict,
                  struct error *err)
{
    return store_run(store,
                     "INSERT INTO @history (signature, engine, verdict) VALUES ($1, $2, $3) "
                     "ON CONFLICT (signature, engine) DO UPDATE SET verdict = excluded.verdict",
                     CELLS(cell_text(signature), cell_text(engine), cell_text(verdict)), NULL, NULL, err);
}

int store_engine(struct store *store, const char *label, const char *version, int64_t cases,
                 struct error *err)
{
    return store_run(
        store,
        "INSERT INTO @engines (label, version, cases, first_seen, last_seen) VALUES ($1, $2, $3, " SECONDS_NOW
        ", " SECONDS_NOW ") "
        "ON CONFLICT (label) DO UPDATE SET version = excluded.version, "
        "cases = engines.cases + excluded.cases, last_seen = excluded.last_seen",
        CELLS(cell_text(label), cell_text(or_empty(version)), cell_int(cases)), NULL, NULL, err);
}

int store_coverage(struct store *store, const struct coverage_point *point, struct error *err)
{
    return store_run(
        store,
        "INSERT INTO @coverage (name, cases, seconds, value) VALUES ($1, $2, $3, $4) "
        "ON CONFLICT (name, cases) DO UPDATE SET seconds = excluded.seconds, value = excluded.value",
        CELLS(cell_text(point->name), cell_int(point->cases), cell_real(point->seconds),
              cell_real(point->value)),
        NULL, NULL, err);
}

int store_set(struct store *store, const char *key, const char *value, struct error *err)
{
    return store_run(store,
                     "INSERT INTO @state (name, value) VALUES ($1, $2) "
                     "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                     CELLS(cell_text(key), cell_text(value)), NULL, NULL, err);
}

int store_agree(struct store *store, const char *key, const char *value, struct str *agreed,
                struct error *err)
{
    bool found;
    if (store_run(store, "INSERT INTO @state (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
                  CELLS(cell_text(key), cell_text(value)), NULL, NULL, err))
        return -1;
    return store_get(store, key, agreed, &found, err);
}

struct got_value {
    struct str *value;
    bool found;
};

static int take_value(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct got_value *got = context;
    (void)err;
    got->found = true;
    if (count)
        str_add(got->value, cell_as_text(&cells[0]));
    return 0;
}

int store_get(struct store *store, const char *key, struct str *value, bool *found, struct error *err)
{
    struct got_value got = {.value = value};
    str_clear(value);
    int status = store_run(store, "SELECT value FROM @state WHERE name = $1", CELLS(cell_text(key)),
                           take_value, &got, err);
    *found = got.found;
    return status;
}

/* Whether `op` is one of "Mul+MatMul", bodies "If(Cos,Sin)" included. */
static bool names_operator(const char *operators, const char *op)
{
    size_t length = strlen(op);
    for (const char *at = operators; length && (at = strstr(at, op)); at++) {
        bool starts = at == operators || strchr("+(,.", at[-1]);
        if (starts && strchr("+(,)", at[length])) /* the end of the text is among them */
            return true;
    }
    return false;
}

struct listing {
    const struct store_filter *filter;
    int (*visit)(void *context, const struct stored *stored, struct error *err);
    void *context;
};

/* A word that is no class is of another version, or damaged: then the kind decides. */
const char *store_class_word(const char *kept, const char *kind)
{
    enum finding_class class;
    enum verdict_kind verdict;
    if (!finding_class_parse(kept, &class))
        class = verdict_parse(kind, &verdict) ? classify_kind(verdict) : FINDING_UNKNOWN;
    return finding_class_row(class)->word;
}

bool finding_is_apart(const char *class)
{
    enum finding_class parsed;
    return finding_class_parse(class, &parsed) && finding_class_row(parsed)->apart;
}

static bool is_wanted(const struct stored *stored, const struct store_filter *filter)
{
    if (filter->op && !names_operator(stored->operators, filter->op))
        return false;
    if (filter->class && !text_equal(stored->class, filter->class))
        return false;
    return !filter->signature || strcmp(stored->signature, filter->signature) == 0 ||
           text_starts(stored->name, filter->signature);
}

static int list_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    const struct listing *listing = context;
    if (count != 17)
        return error_set(err, ERROR_FORMAT, "a finding has %zu columns", count);
    struct stored stored = {
        .signature = cell_as_text(&cells[0]),
        .name = cell_as_text(&cells[1]),
        .kind = cell_as_text(&cells[2]),
        .engine = cell_as_text(&cells[3]),
        .version = cell_as_text(&cells[4]),
        .operators = cell_as_text(&cells[5]),
        .title = cell_as_text(&cells[6]),
        .recipe = cell_as_text(&cells[7]),
        .status = cell_as_text(&cells[8]),
        .bundle = cell_as_text(&cells[9]),
        .same_as = cell_as_text(&cells[10]),
        .factor = cell_as_real(&cells[11]),
        .nodes = cell_as_int(&cells[12]),
        .first_seen = cell_as_int(&cells[13]),
        .count = cell_as_int(&cells[14]),
        .last_seen = cell_as_int(&cells[15]),
        .class = store_class_word(cell_as_text(&cells[16]), cell_as_text(&cells[2])),
    };
    read_status(&stored);
    return is_wanted(&stored, listing->filter) ? listing->visit(listing->context, &stored, err) : 0;
}

int store_list(struct store *store, const struct store_filter *filter,
               int (*visit)(void *context, const struct stored *stored, struct error *err), void *context,
               struct error *err)
{
    struct listing listing = {filter, visit, context};
    /* A prefix is compared as such: LIKE would read % and _ in it. */
    return store_run(
        store,
        "SELECT f.signature, f.name, f.kind, f.engine, f.version, f.operators, f.title, f.recipe, "
        "f.status, f.bundle, f.same_as, f.factor, f.nodes, f.first_seen, t.number, t.latest, c.value "
        "FROM @findings f JOIN (SELECT CASE WHEN m.same_as = '' OR $1 = 1 THEN m.signature "
        "ELSE m.same_as END AS own, count(DISTINCT o.engine || ' ' || o.recipe) AS number, max(o.seen) AS "
        "latest "
        "FROM @occurrences o JOIN @findings m ON m.signature = o.signature "
        "WHERE $2 = '' OR substr(o.engine, 1, length($2)) = $2 GROUP BY 1) t "
        "ON t.own = f.signature LEFT JOIN @state c ON c.name = '" CLASS_KEY
        "' || f.signature WHERE ($3 = '' OR f.kind = $3) AND ($1 = 1 OR f.same_as = '') "
        "AND ($4 = 1 OR f.status <> $5) "
        "ORDER BY f.first_seen, f.{row}",
        CELLS(cell_int(filter->merged), cell_text(or_empty(filter->engine)),
              cell_text(or_empty(filter->kind)), cell_int(filter->gone), cell_text(state_words[STATE_GONE])),
        list_row, &listing, err);
}

struct occurrence_listing {
    int (*visit)(void *context, const struct occurrence *occurrence, struct error *err);
    void *context;
};

static int occurrence_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    const struct occurrence_listing *listing = context;
    if (count != 7)
        return error_set(err, ERROR_FORMAT, "an occurrence has %zu columns", count);
    struct occurrence occurrence = {
        .signature = cell_as_text(&cells[0]),
        .engine = cell_as_text(&cells[1]),
        .version = cell_as_text(&cells[2]),
        .recipe = cell_as_text(&cells[3]),
        .title = cell_as_text(&cells[4]),
        .factor = cell_as_real(&cells[5]),
        .seen = cell_as_int(&cells[6]),
    };
    return listing->visit(listing->context, &occurrence, err);
}

int store_occurrences(struct store *store, const char *signature, size_t limit,
                      int (*visit)(void *context, const struct occurrence *occurrence, struct error *err),
                      void *context, struct error *err)
{
    struct occurrence_listing listing = {visit, context};
    int64_t most = limit && limit < (size_t)INT64_MAX ? (int64_t)limit : INT64_MAX;
    return store_run(
        store,
        "SELECT min(o.signature), o.engine, min(o.version), o.recipe, min(o.title), max(o.factor), "
        "min(o.seen) AS first FROM @occurrences o JOIN @findings f ON f.signature = o.signature "
        "WHERE f.signature = $1 OR f.same_as = $1 GROUP BY o.engine, o.recipe "
        "ORDER BY first, o.engine, o.recipe LIMIT $2",
        CELLS(cell_text(signature), cell_int(most)), occurrence_row, &listing, err);
}

struct history_listing {
    int (*visit)(void *context, const char *engine, const char *verdict, struct error *err);
    void *context;
};

static int history_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    const struct history_listing *listing = context;
    if (count != 2)
        return error_set(err, ERROR_FORMAT, "a verdict has %zu columns", count);
    return listing->visit(listing->context, cell_as_text(&cells[0]), cell_as_text(&cells[1]), err);
}

int store_history_list(struct store *store, const char *signature,
                       int (*visit)(void *context, const char *engine, const char *verdict,
                                    struct error *err),
                       void *context, struct error *err)
{
    struct history_listing listing = {visit, context};
    return store_run(store, "SELECT engine, verdict FROM @history WHERE signature = $1 ORDER BY engine",
                     CELLS(cell_text(signature)), history_row, &listing, err);
}

struct engine_listing {
    int (*visit)(void *context, const struct stored_engine *engine, struct error *err);
    void *context;
};

static int engine_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    const struct engine_listing *listing = context;
    if (count != 5)
        return error_set(err, ERROR_FORMAT, "an engine has %zu columns", count);
    struct stored_engine engine = {
        .label = cell_as_text(&cells[0]),
        .version = cell_as_text(&cells[1]),
        .cases = cell_as_int(&cells[2]),
        .first_seen = cell_as_int(&cells[3]),
        .last_seen = cell_as_int(&cells[4]),
    };
    return listing->visit(listing->context, &engine, err);
}

int store_engines(struct store *store,
                  int (*visit)(void *context, const struct stored_engine *engine, struct error *err),
                  void *context, struct error *err)
{
    struct engine_listing listing = {visit, context};
    return store_run(store,
                     "SELECT label, version, cases, first_seen, last_seen FROM @engines ORDER BY label", NULL,
                     0, engine_row, &listing, err);
}
