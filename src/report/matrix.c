#include "report/matrix.h"

#include "base/clean.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/packed.h"
#include "engine/label.h"
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 400 }; /* bytes of what is said about a verdict */

/* What a verdict means to who looks at a row of them. */
enum cell_class { CELL_GOOD, CELL_BAD, CELL_LACK, CELL_OPEN, CELL_CLASSES };
static const char *const class_words[CELL_CLASSES] = {
    [CELL_GOOD] = "good", [CELL_BAD] = "bad", [CELL_LACK] = "lack", [CELL_OPEN] = "open"};

struct family {
    char *name; /* a label without its version */
    size_t first, count;
};

/* The matrix's columns, by family. */
struct columns {
    size_t count, n_families;
    size_t *place; /* in the panel */
    struct family *families;
};

static char *family_name(const char *text)
{
    struct str name;
    struct label label = label_parse(text);
    label.version = (struct label_part){0};
    str_init(&name);
    label_print(&name, &label);
    return name.data;
}

static void columns_init(struct columns *columns, const struct matrix *matrix)
{
    size_t engines = matrix->conform->engines;
    char **names = memory_zeroed(engines + 1, sizeof *names);
    *columns = (struct columns){.place = memory_zeroed(engines + 1, sizeof *columns->place),
                                .families = memory_zeroed(engines + 1, sizeof *columns->families)};
    for (size_t i = 0; i < engines; i++)
        names[i] = family_name(matrix->labels[i]);
    for (size_t i = 0; i < engines; i++) {
        if (!names[i])
            continue;
        struct family *family = &columns->families[columns->n_families++];
        *family = (struct family){.name = names[i], .first = columns->count};
        for (size_t k = i; k < engines; k++) {
            if (!names[k] || !text_equal(names[k], family->name))
                continue;
            columns->place[columns->count++] = k;
            family->count++;
            if (k > i)
                free(names[k]);
            names[k] = NULL;
        }
    }
    free(names);
}

static void columns_release(struct columns *columns)
{
    for (size_t i = 0; i < columns->n_families; i++)
        free(columns->families[i].name);
    free(columns->families);
    free(columns->place);
}

static const char *version_at(const struct matrix *matrix, size_t place)
{
    const struct engine_info *engine = panel_engine(matrix->panel, place);
    const char *version = engine->spec->version ? engine->spec->version : engine->version;
    return version ? version : matrix->labels[place];
}

static enum cell_class cell_class(const struct matrix *matrix, const struct conform_result *result)
{
    bool apart = conform_is_apart(result) && !matrix->strict;
    if (conform_is(result->verdict, CLASS_LACK) || apart)
        return CELL_LACK;
    if (conform_is_finding(result->verdict) || conform_is_beyond_rounding(result))
        return CELL_BAD;
    return conform_is(result->verdict, CLASS_AGREES) && !conform_is_unjudged(result) ? CELL_GOOD : CELL_OPEN;
}

static const char *cell_word(const struct conform_result *result)
{
    if (conform_is_beyond_rounding(result))
        return "beyond rounding";
    return conform_is_unjudged(result) ? "unjudged" : conform_verdict_name(result->verdict);
}

/* Different cells: word, class and text. */
struct states {
    struct arena arena;
    struct map numbers; /* of each, by all of it */
    struct json *json;
};

static size_t state_of(struct states *states, const struct matrix *matrix,
                       const struct conform_result *result)
{
    const char *said = result->said ? result->said : result->message ? result->message : "";
    const char *class = class_words[cell_class(matrix, result)], *word = cell_word(result);
    struct str text, whole;
    size_t number = states->numbers.count, found;
    str_init(&text);
    str_init(&whole);
    clean_line(&text, said);
    if (text.length > MOST_TEXT) {
        str_clear(&text);
        str_printf(&whole, "%.*s", MOST_TEXT, said);
        clean_line(&text, whole.data);
        str_add(&text, " ...");
        str_clear(&whole);
    }
    str_printf(&whole, "%s\t%s\t%s", word, class, text.data);
    if (map_get(&states->numbers, whole.data, &found)) {
        number = found;
    } else {
        map_set(&states->numbers, arena_strdup(&states->arena, whole.data), number);
        json_array(states->json, NULL);
        json_string(states->json, NULL, word);
        json_string(states->json, NULL, class);
        json_string(states->json, NULL, text.data);
        json_end(states->json);
    }
    str_release(&whole);
    str_release(&text);
    return number;
}

/* A case as pairs of numbers: so many columns, and the state that they have. */
static void pack_row(struct states *states, const struct matrix *matrix, const struct columns *columns,
                     size_t number, struct str *out)
{
    size_t run = 0, last = 0;
    for (size_t i = 0; i < columns->count; i++) {
        size_t state = state_of(states, matrix, conform_at(matrix->conform, number, columns->place[i]));
        if (run && state != last) {
            packed_add(out, run);
            packed_add(out, last);
            run = 0;
        }
        last = state;
        run++;
    }
    packed_add(out, run);
    packed_add(out, last);
}

static void add_families(struct json *json, const struct matrix *matrix, const struct columns *columns)
{
    json_array(json, "families");
    for (size_t i = 0; i < columns->n_families; i++) {
        const struct family *family = &columns->families[i];
        json_object(json, NULL);
        json_string(json, "name", family->name);
        json_array(json, "versions");
        for (size_t k = 0; k < family->count; k++)
            json_string(json, NULL, version_at(matrix, columns->place[family->first + k]));
        json_end(json);
        json_array(json, "labels");
        for (size_t k = 0; k < family->count; k++)
            json_string(json, NULL, matrix->labels[columns->place[family->first + k]]);
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

static void add_rows(struct json *json, const struct matrix *matrix, const struct columns *columns)
{
    size_t cases = matrix->conform->suite->count;
    struct states states = {.json = json};
    struct str *rows = memory_zeroed(cases + 1, sizeof *rows);
    arena_init(&states.arena);
    map_init(&states.numbers);
    json_array(json, "states");
    for (size_t i = 0; i < cases; i++) {
        str_init(&rows[i]);
        pack_row(&states, matrix, columns, i, &rows[i]);
    }
    json_end(json);
    json_array(json, "rows");
    for (size_t i = 0; i < cases; i++) {
        json_string(json, NULL, rows[i].data);
        str_release(&rows[i]);
    }
    json_end(json);
    free(rows);
    map_release(&states.numbers);
    arena_release(&states.arena);
}

static void add_names(struct json *json, const struct suite *suite)
{
    struct str name;
    str_init(&name);
    json_array(json, "cases");
    for (size_t i = 0; i < suite->count; i++) {
        str_clear(&name);
        clean_line(&name, suite->cases[i].name);
        json_string(json, NULL, name.data);
    }
    json_end(json);
    str_release(&name);
}

static const char page[] =
#include "report/matrix_page.inc"
    ;

void matrix_html(const struct matrix *matrix, struct str *out)
{
    struct columns columns;
    struct str data;
    struct json json;
    str_init(&data);
    columns_init(&columns, matrix);
    output_json(&json, &data, false);
    add_families(&json, matrix, &columns);
    json_array(&json, "absent");
    for (size_t i = 0; i < matrix->n_absent; i++)
        json_string(&json, NULL, matrix->absent[i]);
    json_end(&json);
    add_names(&json, matrix->conform->suite);
    add_rows(&json, matrix, &columns);
    json_end(&json);
    page_fill(out, page, data.data);
    columns_release(&columns);
    str_release(&data);
}

/* A text in quotes. Spreadsheets take what begins so for a formula, and would compute it. */
static void csv_text(struct str *out, const char *text)
{
    struct str clean;
    str_init(&clean);
    clean_line(&clean, text);
    str_add(out, *clean.data && strchr("=+-@", *clean.data) ? "\"'" : "\"");
    for (const char *c = clean.data; *c; c++)
        str_append(out, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    str_add(out, "\"");
    str_release(&clean);
}

static void csv_head(const struct matrix *matrix, const struct columns *columns, struct str *out)
{
    static const char *const facts[] = {"first bad", "last bad", "changes"};
    str_add(out, "case");
    for (size_t i = 0; i < columns->count; i++) {
        str_add(out, ",");
        csv_text(out, matrix->labels[columns->place[i]]);
    }
    for (size_t i = 0; i < columns->n_families; i++)
        for (size_t k = 0; k < sizeof facts / sizeof *facts && columns->families[i].count > 1; k++) {
            struct str words;
            str_init(&words);
            str_printf(&words, "%s: %s", columns->families[i].name, facts[k]);
            str_add(out, ",");
            csv_text(out, words.data);
            str_release(&words);
        }
    str_add(out, "\n");
}

static void csv_family(const struct matrix *matrix, const struct columns *columns,
                       const struct family *family, size_t number, struct str *out)
{
    const char *first = "", *last = "";
    struct str changes;
    bool before = false;
    str_init(&changes);
    for (size_t i = 0; i < family->count; i++) {
        size_t place = columns->place[family->first + i];
        const char *version = version_at(matrix, place);
        bool bad = cell_class(matrix, conform_at(matrix->conform, number, place)) == CELL_BAD;
        if (i && bad != before)
            str_printf(&changes, "%s%s %s", changes.length ? "; " : "", bad ? "bad from" : "not bad from",
                       version);
        if (bad && !*first)
            first = version;
        if (bad)
            last = version;
        before = bad;
    }
    const char *const facts[] = {first, last, changes.data};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        str_add(out, ",");
        csv_text(out, facts[i]);
    }
    str_release(&changes);
}

void matrix_csv(const struct matrix *matrix, struct str *out)
{
    struct columns columns;
    columns_init(&columns, matrix);
    csv_head(matrix, &columns, out);
    for (size_t i = 0; i < matrix->conform->suite->count; i++) {
        csv_text(out, matrix->conform->suite->cases[i].name);
        for (size_t k = 0; k < columns.count; k++)
            str_printf(out, ",%s", cell_word(conform_at(matrix->conform, i, columns.place[k])));
        for (size_t k = 0; k < columns.n_families; k++)
            if (columns.families[k].count > 1)
                csv_family(matrix, &columns, &columns.families[k], i, out);
        str_add(out, "\n");
    }
    columns_release(&columns);
}
