#include "findings/campaign_export.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/output.h"
#include "findings/bundle.h"
#include "findings/campaign_view.h"
#include "findings/database.h"
#include "findings/stored_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits: bytes of a short text and of a long one; rows in memory at the same time, with short texts only and
 * with a long one; rows of a table; bytes and files of a bundle. */
enum {
    SHORT_TEXT = 32 << 10,
    LONG_TEXT = DATABASE_TEXT_LIMIT,
    SHORT_PAGE = 100,
    LONG_PAGE = 4,
    MOST_ROWS = 20000000,
    MOST_BUNDLE = 64 << 20,
    MOST_FILES = 500,
    MAX_COLUMNS = 14,
};
static const double MOST_BYTES = 8e9;

enum column_kind { COLUMN_END, COLUMN_TEXT, COLUMN_LONG, COLUMN_INT, COLUMN_REAL };
struct column {
    const char *name;
    enum column_kind kind;
};
struct copied_table {
    const char *name;
    size_t keys; /* the first columns are its key */
    struct column columns[MAX_COLUMNS + 1];
};

/* What all commands that read campaigns read; leases and generations are not of use to them. */
static const struct copied_table tables[] = {
    {"findings",
     1,
     {{"signature", COLUMN_TEXT},
      {"name", COLUMN_TEXT},
      {"kind", COLUMN_TEXT},
      {"engine", COLUMN_TEXT},
      {"version", COLUMN_TEXT},
      {"operators", COLUMN_TEXT},
      {"title", COLUMN_TEXT},
      {"recipe", COLUMN_TEXT},
      {"status", COLUMN_TEXT},
      {"bundle", COLUMN_TEXT},
      {"same_as", COLUMN_TEXT},
      {"factor", COLUMN_REAL},
      {"nodes", COLUMN_INT},
      {"first_seen", COLUMN_INT}}},
    {"occurrences",
     3,
     {{"signature", COLUMN_TEXT},
      {"engine", COLUMN_TEXT},
      {"recipe", COLUMN_TEXT},
      {"version", COLUMN_TEXT},
      {"title", COLUMN_TEXT},
      {"factor", COLUMN_REAL},
      {"seen", COLUMN_INT}}},
    {"history", 2, {{"signature", COLUMN_TEXT}, {"engine", COLUMN_TEXT}, {"verdict", COLUMN_TEXT}}},
    {"engines",
     1,
     {{"label", COLUMN_TEXT},
      {"version", COLUMN_TEXT},
      {"cases", COLUMN_INT},
      {"first_seen", COLUMN_INT},
      {"last_seen", COLUMN_INT}}},
    {"coverage",
     2,
     {{"name", COLUMN_TEXT}, {"cases", COLUMN_INT}, {"seconds", COLUMN_REAL}, {"value", COLUMN_REAL}}},
    {"state", 1, {{"name", COLUMN_TEXT}, {"value", COLUMN_LONG}}},
};

/* A finding that may have a bundle: one that is merged into another has none of use. */
struct exported {
    const char *signature, *name;
};

struct export
{
    struct store *from;
    struct database *source, *target;
    struct export_result *result;
    struct arena arena;
    const struct folder *part; /* the folder under its temporary name */
    double bytes;
    size_t count, capacity;
    struct exported *findings;
    size_t n_cases, cases_capacity;
    const char **cases; /* their keys */
    /* the table that is copied now */
    const struct copied_table *table;
    size_t n_columns;
    const char *insert;
    size_t rows, page_rows;
    struct str last[MAX_COLUMNS]; /* the key of the last row */
    int64_t last_numbers[MAX_COLUMNS];
};

static void leave_out(struct export *export, size_t count, const char *what, const char *why)
{
    if (count && !export->result->left_out)
        snprintf(export->result->why, sizeof export->result->why, "%.80s: %.200s", what, why);
    export->result->left_out += count;
}

/* A cell as its column has it. */
static struct cell cell_of(const struct cell *cell, enum column_kind kind)
{
    return kind == COLUMN_INT    ? cell_int(cell_as_int(cell))
           : kind == COLUMN_REAL ? cell_real(cell_as_real(cell))
                                 : cell_text(cell_as_text(cell));
}

static int spend(struct export *export, const struct cell *cells, struct error *err)
{
    for (size_t i = 0; i < export->n_columns; i++)
        export->bytes += cells[i].kind == CELL_TEXT ? (double)strlen(cells[i].text) : 8;
    if (export->bytes > MOST_BYTES || ++export->rows > MOST_ROWS)
        return error_set(err, ERROR_LIMIT, "the table %s is too large to be exported", export->table->name);
    return 0;
}

static void note_finding(struct export *export, const struct cell *cells)
{
    struct exported finding = {cell_as_text(&cells[0]), cell_as_text(&cells[1])};
    /* Counted as everywhere: neither those that turned out to be others nor those that were not seen again.
     */
    bool gone = text_equal(cell_as_text(&cells[8]), finding_state_word(STATE_GONE));
    bool apart = finding_is_apart(store_class_word("", cell_as_text(&cells[2])));
    export->result->findings += !*cell_as_text(&cells[10]) && !gone && !apart;
    export->result->apart += !*cell_as_text(&cells[10]) && !gone && apart;
    if (!finding_name_is_plain(finding.name) || *cell_as_text(&cells[10]))
        return;
    finding.signature = arena_strdup(&export->arena, finding.signature);
    finding.name = arena_strdup(&export->arena, finding.name);
    export->findings =
        memory_grow(export->findings, &export->capacity, export->count + 1, sizeof *export->findings);
    export->findings[export->count++] = finding;
}

static int copy_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct export *export = context;
    struct cell row[MAX_COLUMNS];
    if (count != export->n_columns)
        return error_set(err, ERROR_FORMAT, "the table %s has %zu columns", export->table->name, count);
    for (size_t i = 0; i < count; i++)
        row[i] = cell_of(&cells[i], export->table->columns[i].kind);
    if (spend(export, row, err))
        return -1;
    for (size_t i = 0; i < export->table->keys; i++) {
        str_clear(&export->last[i]);
        str_add(&export->last[i], cell_as_text(&row[i]));
        export->last_numbers[i] = cell_as_int(&row[i]);
    }
    export->page_rows++;
    if (export->table == &tables[0]) {
        note_finding(export, row);
        row[9] = cell_text(""); /* the bundle, until it is written */
    }
    return database_run(export->target, export->insert, row, count, NULL, NULL, err);
}

/* Only rows are copied whose texts are not null and not too long. */
static void add_condition(struct str *sql, const struct copied_table *table)
{
    const char *between = "";
    for (const struct column *c = table->columns; c->kind; c++)
        if (c->kind == COLUMN_TEXT || c->kind == COLUMN_LONG) {
            str_printf(sql, "%soctet_length(CAST(%s AS TEXT)) <= %d", between, c->name,
                       c->kind == COLUMN_LONG ? LONG_TEXT : SHORT_TEXT);
            between = " AND ";
        }
}

static void add_keys(struct str *sql, const struct copied_table *table)
{
    for (size_t i = 0; i < table->keys; i++)
        str_printf(sql, "%s%s", i ? ", " : "", table->columns[i].name);
}

static bool has_long_text(const struct copied_table *table)
{
    for (const struct column *c = table->columns; c->kind; c++)
        if (c->kind == COLUMN_LONG)
            return true;
    return false;
}

/* The next rows after the last one, in the order of the key. */
static void write_select(struct export *export, struct str *sql, size_t page, bool first)
{
    const struct copied_table *table = export->table;
    str_add(sql, "SELECT ");
    for (size_t i = 0; i < export->n_columns; i++)
        str_printf(sql, "%s%s", i ? ", " : "", table->columns[i].name);
    str_printf(sql, " FROM @%s WHERE ", table->name);
    add_condition(sql, table);
    if (!first) {
        str_add(sql, " AND (");
        add_keys(sql, table);
        str_add(sql, ") > (");
        for (size_t i = 0; i < table->keys; i++)
            str_printf(sql, "%s$%zu", i ? ", " : "", i + 1);
        str_add(sql, ")");
    }
    str_add(sql, " ORDER BY ");
    add_keys(sql, table);
    str_printf(sql, " LIMIT %zu", page);
}

static int copy_pages(struct export *export, struct error *err)
{
    size_t page = has_long_text(export->table) ? LONG_PAGE : SHORT_PAGE;
    struct cell keys[MAX_COLUMNS];
    int status = 0;
    for (bool first = true; !status && (first || export->page_rows == page); first = false) {
        struct str sql;
        str_init(&sql);
        write_select(export, &sql, page, first);
        for (size_t i = 0; i < export->table->keys; i++)
            keys[i] = export->table->columns[i].kind == COLUMN_INT ? cell_int(export->last_numbers[i])
                                                                   : cell_text(export->last[i].data);
        /* Rows are copied from memory while the next ones are asked for with their key. */
        export->page_rows = 0;
        status = database_run(export->source, sql.data, keys, first ? 0 : export->table->keys, copy_row,
                              export, err);
        str_release(&sql);
    }
    return status;
}

static int take_count(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    *(int64_t *)context = count ? cell_as_int(&cells[0]) : 0;
    return 0;
}

static int count_left_out(struct export *export, struct error *err)
{
    int64_t all = 0;
    struct str sql;
    str_init(&sql);
    str_printf(&sql, "SELECT count(*) FROM @%s WHERE (", export->table->name);
    add_condition(&sql, export->table);
    str_add(&sql, ") IS NOT TRUE");
    int status = database_run(export->source, sql.data, NULL, 0, take_count, &all, err);
    str_release(&sql);
    if (!status && all > 0)
        leave_out(export, (size_t)all, export->table->name, "a text is missing or too long");
    return status;
}

static int copy_table(struct export *export, const struct copied_table *table, struct error *err)
{
    struct str insert, marks;
    export->table = table;
    export->rows = 0;
    export->n_columns = 0;
    str_init(&insert);
    str_init(&marks);
    str_printf(&insert, "INSERT INTO @%s (", table->name);
    for (const struct column *c = table->columns; c->kind; c++) {
        size_t number = ++export->n_columns;
        str_printf(&insert, "%s%s", number > 1 ? ", " : "", c->name);
        str_printf(&marks, "%s$%zu", number > 1 ? ", " : "", number);
    }
    str_printf(&insert, ") VALUES (%s) ON CONFLICT DO NOTHING", marks.data);
    export->insert = insert.data;
    int status = copy_pages(export, err) || count_left_out(export, err) ? -1 : 0;
    str_release(&insert);
    str_release(&marks);
    return status;
}

static int copy_tables(void *context, struct error *err)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (copy_table(context, &tables[i], err))
            return -1;
    return 0;
}

/* A bundle or a case on its way to disk. */
struct unpacking {
    struct export *export;
    struct folder folder; /* made with its first file */
    const char *place;    /* of it */
    const struct output_layout *layout;
};

static int write_file(void *context, const char *path, const void *data, size_t size, struct error *err)
{
    struct unpacking *unpacking = context;
    if (!output_layout_has(unpacking->layout, path))
        return error_set(err, ERROR_FORMAT, "its files are not those of a %s", unpacking->layout->what);
    unpacking->export->bytes += (double)size;
    if (unpacking->export->bytes > MOST_BYTES)
        return error_set(err, ERROR_LIMIT, "the campaign is too large to be exported");
    if (!unpacking->folder.path &&
        folder_make(&unpacking->folder, unpacking->export->part, unpacking->place, err))
        return -1;
    return stored_file_write(&unpacking->folder, path, data, size, err);
}

struct measured {
    double files, bytes;
};

static int measure_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct measured *measured = context;
    (void)err;
    measured->files = count > 0 ? cell_as_real(&cells[0]) : 0;
    measured->bytes = count > 1 ? cell_as_real(&cells[1]) : 0;
    return 0;
}

static int measure(struct export *export, const char *signature, struct measured *measured, struct error *err)
{
    return database_run(export->source,
                        "SELECT CAST(count(*) AS DOUBLE PRECISION), "
                        "CAST(sum(octet_length(CAST(content AS TEXT))) AS DOUBLE PRECISION) "
                        "FROM @files WHERE signature = $1",
                        CELLS(cell_text(signature)), measure_row, measured, err);
}

static int note_bundle(struct export *export, const struct exported *finding, const char *bundle,
                       struct error *err)
{
    export->result->bundles++;
    return database_run(export->target, "UPDATE @findings SET bundle = $1 WHERE signature = $2",
                        CELLS(cell_text(bundle), cell_text(finding->signature)), NULL, NULL, err);
}

/*
 * Writes the files of a key to a place within the folder. What is wrong with some is no reason to do without
 * the others, unless the disk is full.
 */
static int unpack(struct export *export, const char *key, const char *place,
                  const struct output_layout *layout, bool *written, struct error *err)
{
    struct measured measured = {0};
    struct error why = {0};
    *written = false;
    if (measure(export, key, &measured, err))
        return -1;
    if (!(measured.files > 0))
        return 0;
    const char *name = strrchr(place, '/') + 1;
    struct unpacking unpacking = {.export = export, .place = place, .layout = layout};
    int status = 0;
    if (folder_has(export->part, place)) {
        leave_out(export, 1, name, "another has the same name");
    } else if (!(measured.files <= MOST_FILES && measured.bytes <= MOST_BUNDLE)) {
        leave_out(export, 1, name, "its files are too large");
    } else if (stored_files_visit(export->from, key, write_file, &unpacking, &why)) {
        leave_out(export, 1, name, why.message);
        status = folder_remove(export->part, place, err);
        if (!status && why.cause) /* the system is at fault, so the next one would fail as well */
            status = error_set(err, why.code, "%s", why.message);
    } else {
        *written = true;
    }
    folder_close(&unpacking.folder);
    return status;
}

static int write_bundle(struct export *export, const struct exported *finding, struct error *err)
{
    bool written;
    char *bundle = file_join("findings", finding->name);
    int status = unpack(export, finding->signature, bundle, &bundle_layout, &written, err);
    if (!status && written)
        status = note_bundle(export, finding, bundle, err);
    free(bundle);
    return status;
}

/* Cases that a search kept, as suite_write writes them. */
static const struct output_layout case_layout = {
    .what = "case",
    .marks = (const char *const[]){"model.onnx", NULL},
    .files = (const char *const[]){"test_data_set_0/input_*.pb", "test_data_set_0/output_*.pb", NULL},
    .folders = (const char *const[]){"test_data_set_0", NULL},
};

static int note_case(void *context, const char *key, struct error *err)
{
    static const char prefix[] = "case cases/"; /* recipes of such cases, see campaign/kept_case.h */
    struct export *export = context;
    (void)err;
    if (!text_starts(key, prefix))
        return 0;
    const char *name = key + strlen(prefix);
    if (!stored_path_is_plain(name) || strchr(name, '/')) {
        leave_out(export, 1, key, "the case has no plain name");
        return 0;
    }
    export->cases =
        memory_grow(export->cases, &export->cases_capacity, export->n_cases + 1, sizeof *export->cases);
    export->cases[export->n_cases++] = arena_strdup(&export->arena, key);
    return 0;
}

static int write_cases(struct export *export, struct error *err)
{
    if (stored_files_keys(export->from, note_case, export, err))
        return -1;
    for (size_t i = 0; i < export->n_cases; i++) {
        bool written;
        if (unpack(export, export->cases[i], export->cases[i] + strlen("case "), &case_layout, &written, err))
            return -1;
        export->result->cases += written;
    }
    return 0;
}

static int write_bundles(void *context, struct error *err)
{
    struct export *export = context;
    if (export->source->version < 2) /* without files */
        return 0;
    for (size_t i = 0; i < export->count; i++)
        if (write_bundle(export, &export->findings[i], err))
            return -1;
    return write_cases(export, err);
}

static const struct output_layout campaign_layout = {
    .what = "campaign",
    .marks = (const char *const[]){"assay.db", NULL},
    .files = (const char *const[]){NULL},
    .folders = (const char *const[]){"findings", "cases", NULL},
};

static int write_folder(struct export *export, struct error *err)
{
    struct store *target;
    if (store_open(&target, export->part->path, STORE_CREATE, err))
        return -1;
    export->target = store_database(target);
    int status = database_transact(export->target, copy_tables, export, err) ||
                         database_transact(export->target, write_bundles, export, err)
                     ? -1
                     : 0;
    store_close(target);
    return status;
}

static int check_target(const char *folder, struct error *err)
{
    char **names;
    size_t count = 0;
    if (file_is_folder(folder) && file_list(folder, &names, &count, err) == 0)
        file_names_free(names, count);
    return count ? error_set(err, ERROR_IO, "%s is not empty; name a new folder", folder)
                 : output_folder_check(folder, &campaign_layout, false, err);
}

int campaign_export(const char *url, const char *name, const char *folder, struct export_result *result,
                    struct error *err)
{
    struct export export = {.result = result};
    struct output_folder output;
    *result = (struct export_result){0};
    if (check_target(folder, err) || store_open_campaign(&export.from, url, name, STORE_READ, err))
        return -1;
    export.source = store_database(export.from);
    arena_init(&export.arena);
    for (size_t i = 0; i < MAX_COLUMNS; i++)
        str_init(&export.last[i]);
    int status = output_folder_begin(&output, USERS_PATH, folder, &campaign_layout, false, err);
    if (!status) {
        export.part = &output.part;
        status = write_folder(&export, err) || output_folder_put(&output, err) ? -1 : 0;
    }
    output_folder_release(&output);
    for (size_t i = 0; i < MAX_COLUMNS; i++)
        str_release(&export.last[i]);
    free(export.findings);
    free(export.cases);
    arena_release(&export.arena);
    store_close(export.from);
    return status;
}
