/*
 * The store: exactly once, kills, versions, and files that are not what they say. With ASSAY_TEST_POSTGRES,
 * the address of a server (tools/with-postgres), the same in PostgreSQL, and what only a server can do:
 * vanish.
 */
#include "base/memory.h"
#include "campaign/fuzz_record.h"
#include "campaign_store.h"
#include "findings/database.h"
#include "findings/schema.h"
#include "findings/work.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

static bool add(struct store *store, const char *signature, const char *engine, const char *recipe)
{
    struct finding finding = {.signature = signature,
                              .name = signature,
                              .kind = "wrong",
                              .engine = engine,
                              .operators = "Mul+MatMul",
                              .title = "a line",
                              .recipe = recipe,
                              .factor = INFINITY,
                              .nodes = 7};
    bool is_new = false;
    struct error err = {0};
    if (store_add(store, &finding, &is_new, &err))
        fail_msg("%s", err.message);
    return is_new;
}

/* "signature:count status|" of all that is listed. */
static int write_row(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    str_printf(context, "%s:%lld %s|", stored->signature, (long long)stored->count, stored->status);
    return 0;
}

static void assert_listed(struct store *store, struct store_filter filter, const char *expected)
{
    struct str text;
    str_init(&text);
    assert_int_equal(store_list(store, &filter, write_row, &text, NULL), 0);
    assert_string_equal(text.data, expected);
    str_release(&text);
}

static void a_signature_is_new_once(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    assert_true(add(store, "a", "onnxruntime@1.12.0:opt=all", "r1"));
    assert_false(add(store, "a", "onnxruntime@1.12.0:opt=all", "r2"));
    assert_false(add(store, "a", "onnxruntime@1.12.0:opt=none", "r1"));
    assert_false(add(store, "a", "onnxruntime@1.12.0:opt=all", "r1")); /* a range run again */
    assert_true(add(store, "b", "opencv", "r1"));
    assert_listed(store, (struct store_filter){0}, "a:3 new|b:1 new|");
    assert_listed(store, (struct store_filter){.engine = "onnxruntime@1.12.0:opt=none"}, "a:1 new|");
    assert_listed(store, (struct store_filter){.engine = "open"}, "b:1 new|");
    assert_listed(store, (struct store_filter){.kind = "crash"}, "");
    assert_listed(store, (struct store_filter){.op = "MatMul"}, "a:3 new|b:1 new|");
    assert_listed(store, (struct store_filter){.op = "Mat"}, "");
    assert_listed(store, (struct store_filter){.signature = "b"}, "b:1 new|");
    store_close(store);
    store = open_store(STORE_READ);
    assert_listed(store, (struct store_filter){0}, "a:3 new|b:1 new|");
    bool is_new;
    struct error err = {0};
    assert_int_equal(store_add(store, &(struct finding){.signature = "c"}, &is_new, &err), -1);
    store_close(store);
}

/* Within one second, too, so that how fast a campaign went does not show in the order. */
static void findings_are_listed_as_they_came(void **state)
{
    (void)state;
    static const char *const names[] = {"e", "b", "d", "a", "c"};
    struct store *store = open_store(STORE_CREATE);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add(store, names[i], "opencv", "r1");
    if (!server)
        assert_listed(store, (struct store_filter){0}, "e:1 new|b:1 new|d:1 new|a:1 new|c:1 new|");
    store_close(store);
}

static int count_case(void *context, const struct occurrence *occurrence, struct error *err)
{
    (void)occurrence;
    (void)err;
    ++*(int *)context;
    return 0;
}

/* One case that showed two of them counts once. */
static void merged_findings_count_for_their_owner(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    struct error err = {0};
    add(store, "raw1", "e", "r1");
    add(store, "raw2", "e", "r2");
    add(store, "small", "e", "r1");
    assert_int_equal(
        store_settle(store, "small", &(struct settled){.state = STATE_BUNDLED, .nodes = 1}, &err), 0);
    assert_int_equal(store_merge(store, "raw1", "small", &err), 0);
    assert_int_equal(store_merge(store, "raw2", "raw1", &err), -1); /* raw1 is merged itself */
    assert_int_equal(store_merge(store, "raw2", "small", &err), 0);
    assert_int_equal(store_merge(store, "raw2", "nobody", &err), -1);
    assert_int_equal(store_merge(store, "small", "small", &err), 0);
    assert_listed(store, (struct store_filter){0}, "small:2 bundled|");
    assert_listed(store, (struct store_filter){.merged = true}, "raw1:1 new|raw2:1 new|small:1 bundled|");
    add(store, "smaller", "e", "r3");
    assert_int_equal(store_merge(store, "small", "smaller", &err), 0); /* all follow */
    assert_listed(store, (struct store_filter){0}, "smaller:3 new|");
    /* As many cases are listed as are counted: one that was met under two signatures once. */
    int listed = 0;
    assert_int_equal(store_occurrences(store, "smaller", 0, count_case, &listed, &err), 0);
    assert_int_equal(listed, 3);
    store_close(store);
}

static int note_state(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    str_printf(context, "%s %s [%s]|", stored->status, finding_state_word(stored->state), stored->detail);
    return 0;
}

/* A state is kept as its word and, behind a colon, its detail: as it always was. */
static void states_have_details(void **state)
{
    (void)state;
    static const struct {
        enum finding_state state;
        const char *detail, *due;
    } rows[] = {
        {STATE_UNCHANGED, "no", "new new []|"},
        {STATE_BUNDLED, NULL, "bundled bundled []|"},
        {STATE_UNCHANGED, NULL, "bundled bundled []|"},
        {STATE_KNOWN, "found/a b: c", "known: found/a b: c known [found/a b: c]|"},
        {STATE_FAILED, "at load: no", "failed: at load: no failed [at load: no]|"},
        {STATE_FAILED, "", "failed failed []|"},
        {STATE_GONE, NULL, "gone gone []|"},
    };
    struct store *store = open_store(STORE_CREATE);
    struct error err = {0};
    struct str out;
    str_init(&out);
    add(store, "a", "e", "r1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct settled settled = {.state = rows[i].state, .detail = rows[i].detail};
        assert_int_equal(store_settle(store, "a", &settled, &err), 0);
        str_clear(&out);
        assert_int_equal(store_list(store, &(struct store_filter){.gone = true}, note_state, &out, &err), 0);
        assert_string_equal(out.data, rows[i].due);
    }
    str_release(&out);
    store_close(store);
}

static int note_class(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    str_printf(context, "%s:%s|", stored->signature, stored->class);
    return 0;
}

/* Stores of older versions have no classes, and rubbish is none: then the kind tells. */
static void classes_are_kept_or_follow(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    struct finding precise = {.signature = "b", .kind = "suspect", .class = "precision"};
    struct str out;
    str_init(&out);
    add(store, "a", "e", "r1");
    assert_int_equal(store_add(store, &precise, NULL, NULL), 0);
    assert_int_equal(store_list(store, &(struct store_filter){0}, note_class, &out, NULL), 0);
    assert_string_equal(out.data, "a:engine bug|b:precision|");
    str_clear(&out);
    assert_int_equal(store_set(store, "class b", "rubbish", NULL), 0);
    assert_int_equal(store_list(store, &(struct store_filter){.class = "unknown"}, note_class, &out, NULL),
                     0);
    assert_string_equal(out.data, "b:unknown|");
    str_release(&out);
    store_close(store);
}

/* The number of findings is one everywhere: of the screen and of the list. */
static void what_is_gone_is_no_finding(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    struct fuzz_status status = {0};
    add(store, "a", "e", "r1");
    add(store, "b", "e", "r2");
    assert_int_equal(store_settle(store, "b", &(struct settled){.state = STATE_GONE}, NULL), 0);
    assert_listed(store, (struct store_filter){0}, "a:1 new|");
    assert_listed(store, (struct store_filter){.merged = true}, "a:1 new|");
    assert_listed(store, (struct store_filter){.gone = true}, "a:1 new|b:1 gone|");
    assert_int_equal(fuzz_recount(&status, store, NULL), 0);
    assert_int_equal(status.findings, 1);
    store_close(store);
}

static int count_occurrence(void *context, const struct occurrence *occurrence, struct error *err)
{
    (void)err;
    assert_true(isinf(occurrence->factor));
    ++*(int *)context;
    return 0;
}

static int write_history(void *context, const char *engine, const char *verdict, struct error *err)
{
    (void)err;
    str_printf(context, "%s=%s ", engine, verdict);
    return 0;
}

static int write_engine(void *context, const struct stored_engine *engine, struct error *err)
{
    (void)err;
    str_printf(context, "%s %s %lld|", engine->label, engine->version, (long long)engine->cases);
    return 0;
}

static int write_point(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    assert_int_equal(count, 4);
    str_printf(context, "%s %lld %g %g|", cell_as_text(&cells[0]), (long long)cell_as_int(&cells[1]),
               cell_as_real(&cells[2]), cell_as_real(&cells[3]));
    return 0;
}

static void the_rest_reads_back(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    struct error err = {0};
    struct str text;
    int count = 0;
    bool found;
    str_init(&text);
    for (int i = 0; i < 5; i++) {
        char recipe[20];
        snprintf(recipe, sizeof recipe, "r%d", i);
        add(store, "a", "e", recipe);
    }
    assert_int_equal(store_occurrences(store, "a", 3, count_occurrence, &count, &err), 0);
    assert_int_equal(count, 3);
    store_history(store, "a", "e@2", "agrees", &err);
    store_history(store, "a", "e@1", "agrees", &err);
    store_history(store, "a", "e@1", "wrong", &err);
    assert_int_equal(store_history_list(store, "a", write_history, &text, &err), 0);
    assert_string_equal(text.data, "e@1=wrong e@2=agrees ");
    str_clear(&text);
    store_engine(store, "e", "1.0", 10, &err);
    store_engine(store, "e", "1.0", 5, &err);
    assert_int_equal(store_engines(store, write_engine, &text, &err), 0);
    assert_string_equal(text.data, "e 1.0 15|");
    str_clear(&text);
    store_coverage(store, &(struct coverage_point){"ops", 10, 1.5, 3}, &err);
    store_coverage(store, &(struct coverage_point){"ops", 20, 2.5, 4}, &err);
    store_coverage(store, &(struct coverage_point){"types", 20, 2.5, 4}, &err);
    assert_int_equal(store_run(store, "SELECT * FROM @coverage WHERE name = 'ops' ORDER BY cases", NULL, 0,
                               write_point, &text, &err),
                     0);
    assert_string_equal(text.data, "ops 10 1.5 3|ops 20 2.5 4|");
    assert_int_equal(store_get(store, "seed", &text, &found, &err), 0);
    assert_false(found);
    store_set(store, "seed", "1", &err);
    store_set(store, "seed", "2'; DROP TABLE state", &err);
    assert_int_equal(store_get(store, "seed", &text, &found, &err), 0);
    assert_true(found);
    assert_string_equal(text.data, "2'; DROP TABLE state");
    str_release(&text);
    store_close(store);
}

/* Children write and are killed at some point; nothing that returned may be missing, nothing half. */
static void a_kill_loses_nothing(void **state)
{
    (void)state;
    long all = 0;
    store_close(open_store(STORE_CREATE));
    for (int round = 0; round < 8; round++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0) {
            struct store *store = open_store(STORE_CREATE);
            for (int i = 0;; i++) {
                char recipe[40];
                snprintf(recipe, sizeof recipe, "round %d case %d", round, i);
                add(store, "a", "e", recipe);
                if (write(pipes[1], "x", 1) != 1)
                    _exit(1);
            }
        }
        close(pipes[1]);
        char byte;
        long acknowledged = 0;
        struct timespec some = {0, (3 + round) * 1000 * 1000};
        while (acknowledged < 20 && read(pipes[0], &byte, 1) == 1)
            acknowledged++;
        nanosleep(&some, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(pipes[0], &byte, 1) == 1)
            acknowledged++;
        close(pipes[0]);
        struct store *store = open_store(STORE_READ);
        long stored = 0;
        struct str text;
        str_init(&text);
        assert_int_equal(store_list(store, &(struct store_filter){0}, write_row, &text, NULL), 0);
        sscanf(text.data, "a:%ld", &stored);
        str_release(&text);
        store_close(store);
        all += acknowledged;
        /* What was under way when a child was killed may be there, or come later from a server. */
        assert_in_range(stored, all, all + round + 1);
    }
}

/* A file full of rubbish, cut off, or with bytes changed: an error or an answer, no crash. */
static void hostile_files_are_refused(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    for (int i = 0; i < 200; i++) {
        char recipe[20];
        snprintf(recipe, sizeof recipe, "r%d", i);
        add(store, i % 3 ? "a" : "b", "e", recipe);
    }
    store_close(store);
    char *path = file_join(folder, "assay.db"), *data;
    size_t size;
    assert_int_equal(file_read(path, 1 << 26, &data, &size, NULL), 0);
    struct error err = {0};
    struct str text;
    str_init(&text);
    size_t refused = 0;
    for (unsigned i = 0; i < 300; i++) {
        char *copy = memory_zeroed(size, 1);
        memcpy(copy, data, size);
        size_t kept = i % 10 == 0 ? size * i / 300 : size;
        for (unsigned k = 0; k < 8; k++)
            copy[(i * 7919u + k * 104729u) % (k < 4 ? 4096 : size)] = (char)(i * 31 + k * 17);
        assert_int_equal(file_write(path, copy, kept, NULL), 0);
        free(copy);
        str_clear(&text);
        if (store_open(&store, folder, i % 2 ? STORE_READ : STORE_CREATE, &err)) {
            refused++;
            continue;
        }
        if (store_list(store, &(struct store_filter){0}, write_row, &text, &err))
            refused++;
        store_close(store);
    }
    assert_true(refused > 100);
    str_release(&text);
    free(data);
    free(path);
}

static void foreign_databases_are_refused(void **state)
{
    (void)state;
    static const char *const others[] = {
        "CREATE TABLE findings (a)",
        "CREATE VIEW findings AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM "
        "c",
    };
    for (size_t i = 0; i < 2; i++) {
        struct str command;
        str_init(&command);
        str_printf(&command, "%s/assay.db", folder);
        unlink(command.data);
        str_clear(&command);
        str_printf(&command, "python3 -c \"import sqlite3; sqlite3.connect('%s/assay.db').execute('%s')\"",
                   folder, others[i]);
        struct store *store;
        struct error err = {0};
        if (system(command.data) != 0)
            skip();
        assert_int_equal(store_open(&store, folder, STORE_READ, &err), -1);
        assert_int_equal(err.code, ERROR_FORMAT);
        assert_int_equal(store_open(&store, folder, STORE_CREATE, &err), -1);
        str_release(&command);
    }
}

static void an_empty_folder_has_no_store(void **state)
{
    (void)state;
    struct store *store;
    struct error err = {0};
    assert_int_equal(store_open(&store, folder, STORE_READ, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* Statements from outside, as whoever has the database could run them. */
static void tamper(const char *sql)
{
    struct str command;
    str_init(&command);
    str_printf(&command, "psql -q -v ON_ERROR_STOP=1 \"$ASSAY_TEST_POSTGRES\" -c '%s'", sql);
    if (system(command.data) != 0)
        fail_msg("%s", command.data);
    str_release(&command);
}

static void tampered_rows_are_read_as_they_are(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    struct str sql, text;
    struct error err = {0};
    str_init(&sql);
    str_init(&text);
    add(store, "a", "e", "r1");
    str_printf(&sql, "ALTER TABLE \"assay_%s\".findings ALTER nodes TYPE TEXT USING repeat($$x$$, 1000)",
               campaign);
    tamper(sql.data);
    assert_listed(store, (struct store_filter){0}, "a:1 new|");
    str_clear(&sql);
    str_printf(&sql, "UPDATE \"assay_%s\".findings SET title = repeat($$<b>$$, 6000000)", campaign);
    tamper(sql.data);
    assert_int_equal(store_list(store, &(struct store_filter){0}, write_row, &text, &err), -1);
    assert_int_equal(err.code, ERROR_LIMIT);
    str_clear(&sql);
    str_printf(&sql, "DROP TABLE \"assay_%s\".findings", campaign);
    tamper(sql.data);
    assert_int_equal(store_list(store, &(struct store_filter){0}, write_row, &text, &err), -1);
    str_release(&sql);
    str_release(&text);
    store_close(store);
}

static void names_and_addresses_are_checked(void **state)
{
    (void)state;
    struct store *store;
    struct error err = {0};
    assert_int_equal(store_open_campaign(&store, server, "a\";DROP", STORE_CREATE, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    assert_int_equal(store_open_campaign(&store, "postgresql://u:secret@/x", "a", STORE_CREATE, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    assert_null(strstr(err.message, "secret"));
    assert_int_equal(store_open_campaign(&store, server, campaign, STORE_READ, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(
        store_open_campaign(&store, "postgresql://nobody@/x?host=/nowhere", "a", STORE_READ, &err), -1);
    assert_int_equal(err.code, ERROR_IO);
}

/* The server is killed while a child writes, twice, and started again: the child notices a pause. */
static void a_server_that_dies_loses_nothing(void **state)
{
    (void)state;
    int pipes[2];
    store_close(open_store(STORE_CREATE));
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(100); /* no longer than the test */
        struct store *store = open_store(STORE_CREATE);
        for (int i = 0; i < 700; i++) {
            char recipe[40];
            snprintf(recipe, sizeof recipe, "case %d", i);
            add(store, i % 7 ? "a" : "b", "e", recipe);
            if (write(pipes[1], "x", 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    close(pipes[1]);
    char byte;
    for (int i = 0, kills = 0; read(pipes[0], &byte, 1) == 1; i++)
        if (i % 250 == 200 && kills++ < 2)
            assert_int_equal(system("kill -9 $(head -1 $POSTGRES_FOLDER/data/postmaster.pid); "
                                    "sleep 0.3; $ASSAY_WITH_POSTGRES --start"),
                             0);
    int ended = 0;
    waitpid(child, &ended, 0);
    assert_int_equal(ended, 0);
    close(pipes[0]);
    struct store *store = open_store(STORE_READ);
    assert_listed(store, (struct store_filter){0}, "a:600 new|b:100 new|");
    store_close(store);
}

/* Statements from outside on the campaign's own tables. */
static void alter(const char *sql)
{
    if (server) {
        struct str text;
        str_init(&text);
        str_printf(&text, "SET search_path TO \"assay_%s\"; %s", campaign, sql);
        char *quoted = text.data;
        for (char *c = quoted; *c; c++)
            assert_int_not_equal(*c, '$');
        struct str command;
        str_init(&command);
        for (char *c = quoted; *c; c++)
            str_printf(&command, *c == '"' ? "\\\"" : "%c", *c);
        str_clear(&text);
        str_printf(&text, "psql -q -v ON_ERROR_STOP=1 \"$ASSAY_TEST_POSTGRES\" -c \"%s\"", command.data);
        assert_int_equal(system(text.data), 0);
        str_release(&command);
        str_release(&text);
        return;
    }
    sqlite3 *handle;
    char *path = file_join(folder, "assay.db");
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    sqlite3_close(handle);
    free(path);
}

/* Makes of a campaign what the first version would have made: its statements are those of the first file. */
static void make_old(void)
{
    struct str sql;
    str_init(&sql);
    str_add(&sql, "DROP TABLE generations; DROP TABLE leases; DROP TABLE follow_ups; DROP TABLE files; "
                  "CREATE TABLE moved AS SELECT * FROM occurrences; DROP TABLE occurrences; ");
    for (size_t i = 0; i < schema_statements(1); i++) {
        const char *statement = schema_statement(i);
        if (!strstr(statement, "@occurrences") && !strstr(statement, "@ranges"))
            continue;
        for (const char *c = statement; *c; c++)
            if (*c != '@')
                str_append(&sql, c, 1);
        str_add(&sql, "; ");
    }
    str_add(&sql,
            "INSERT INTO occurrences SELECT signature, engine, recipe, version, title, factor, seen FROM "
            "moved; DROP TABLE moved");
    if (server)
        str_printf(&sql, "; UPDATE assay.campaigns SET tables = 7 WHERE name = '%s'", campaign);
    else
        str_add(&sql, "; PRAGMA user_version = 0");
    alter(sql.data);
    str_release(&sql);
}

static void an_old_campaign_is_read_and_upgraded(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    add(store, "a", "e", "r1");
    store_close(store);
    make_old();
    store = open_store(STORE_READ); /* changes nothing */
    assert_int_equal(store_database(store)->version, 1);
    assert_listed(store, (struct store_filter){0}, "a:1 new|");
    store_close(store);
    for (int mode = STORE_WRITE; mode <= STORE_CREATE; mode++) {
        store = open_store((enum store_mode)mode);
        assert_int_equal(store_database(store)->version, schema_version());
        assert_listed(store, (struct store_filter){0}, "a:1 new|");
        struct work_settings settings = {.range = 10};
        struct work_lease lease;
        struct work *work;
        struct error err = {0};
        assert_int_equal(work_agree(store, &settings, &err), 0);
        assert_int_equal(work_open(&work, store, "w", 60, &err), 0);
        assert_int_equal(work_lease(work, &lease, &err), 0);
        assert_int_equal(lease.kind, WORK_RANGE);
        work_close(work);
        store_close(store);
        store = open_store(STORE_READ);
        assert_int_equal(store_database(store)->version, schema_version());
        store_close(store);
        make_old();
    }
}

static void a_newer_campaign_is_refused(void **state)
{
    (void)state;
    struct str sql;
    str_init(&sql);
    store_close(open_store(STORE_CREATE));
    if (server)
        str_printf(&sql, "UPDATE assay.campaigns SET tables = 1000 WHERE name = '%s'", campaign);
    else
        str_add(&sql, "PRAGMA user_version = 1000");
    alter(sql.data);
    for (int mode = STORE_READ; mode <= STORE_CREATE; mode++) {
        struct store *store;
        struct error err = {0};
        assert_int_equal(server ? store_open_campaign(&store, server, campaign, (enum store_mode)mode, &err)
                                : store_open(&store, folder, (enum store_mode)mode, &err),
                         -1);
        assert_int_equal(err.code, ERROR_FORMAT);
        assert_non_null(strstr(err.message, "newer version of Assay"));
    }
    str_release(&sql);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
#define SERVED(name) cmocka_unit_test_setup(name, make_campaign)

/* What holds for every kind of database. */
#define COMMON(T)                                                                                  \
    T(a_signature_is_new_once), T(findings_are_listed_as_they_came),                               \
        T(merged_findings_count_for_their_owner), T(the_rest_reads_back), T(a_kill_loses_nothing), \
        T(what_is_gone_is_no_finding), T(states_have_details), T(classes_are_kept_or_follow),      \
        T(an_old_campaign_is_read_and_upgraded), T(a_newer_campaign_is_refused)

int main(void)
{
    const struct CMUnitTest files[] = {
        COMMON(TEST),
        TEST(hostile_files_are_refused),
        TEST(foreign_databases_are_refused),
        TEST(an_empty_folder_has_no_store),
    };
    const struct CMUnitTest served[] = {
        COMMON(SERVED),
        SERVED(names_and_addresses_are_checked),
        SERVED(tampered_rows_are_read_as_they_are),
        SERVED(a_server_that_dies_loses_nothing),
    };
    server = getenv("ASSAY_TEST_POSTGRES");
    return server ? cmocka_run_group_tests_name("PostgreSQL", served, NULL, NULL)
                  : cmocka_run_group_tests_name("SQLite", files, NULL, NULL);
}
