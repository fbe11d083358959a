#include "findings/database.h"

#include "base/str.h"

#include <string.h>

const char *cell_as_text(const struct cell *cell)
{
    return cell->kind == CELL_TEXT && cell->text ? cell->text : "";
}

int64_t cell_as_int(const struct cell *cell)
{
    if (cell->kind == CELL_REAL && cell->real > -9e18 && cell->real < 9e18)
        return (int64_t)cell->real;
    return cell->kind == CELL_INT ? cell->number : 0;
}

double cell_as_real(const struct cell *cell)
{
    return cell->kind == CELL_REAL ? cell->real : cell->kind == CELL_INT ? (double)cell->number : 0;
}

int row_noted(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)cells;
    (void)count;
    (void)err;
    *(bool *)context = true;
    return 0;
}

int row_number(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    if (count && cells[0].kind != CELL_NULL)
        *(int64_t *)context = cell_as_int(&cells[0]);
    return 0;
}

int row_text(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    if (count)
        str_add(context, cell_as_text(&cells[0]));
    return 0;
}

int database_run(struct database *database, const char *sql, const struct cell *params, size_t count,
                 database_row *row, void *context, struct error *err)
{
    const struct {
        const char *word, *meaning;
    } words[] = {{"{now}", database->driver->now}, {"{row}", database->driver->row}, {"@", database->place}};
    const size_t n_words = sizeof words / sizeof *words;
    struct str full;
    str_init(&full);
    while (*sql) {
        size_t word = 0;
        while (word < n_words && !text_starts(sql, words[word].word))
            word++;
        if (word < n_words)
            str_add(&full, words[word].meaning);
        else
            str_append(&full, sql, 1);
        sql += word < n_words ? strlen(words[word].word) : 1;
    }
    int status = database->driver->run(database, full.data, params, count, row, context, err);
    str_release(&full);
    return status;
}

static int transact(struct database *database, bool reserve, int (*body)(void *context, struct error *err),
                    void *context, struct error *err)
{
    const struct database_driver *driver = database->driver;
    for (;;) {
        int status = driver->begin(database, err);
        if (status)
            return status;
        status = reserve && driver->reserve ? driver->reserve(database, err) : 0;
        if (status == 0)
            status = body(context, err);
        if (driver->end(database, status == 0, status == 0 ? err : NULL))
            status = -1;
        if (status == 0 || !driver->again || !driver->again(database))
            return status;
    }
}

int database_transact(struct database *database, int (*body)(void *context, struct error *err), void *context,
                      struct error *err)
{
    return transact(database, false, body, context, err);
}

int database_reserve(struct database *database, int (*body)(void *context, struct error *err), void *context,
                     struct error *err)
{
    return transact(database, true, body, context, err);
}

int database_lock(struct database *database, const char *name, struct error *err)
{
    return database->driver->lock ? database->driver->lock(database, name, err) : 0;
}
