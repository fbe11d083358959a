/*
 * Leases, generations and follow-ups: every range once, whoever dies. With ASSAY_TEST_POSTGRES, the address
 * of a server (tools/with-postgres), the same in PostgreSQL.
 */
#include "findings/work_follow_up.h"

#include "base/base64.h"
#include "campaign_store.h"
#include "findings/database.h"
#include "findings/stored_files.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static int begin_test(void **state)
{
    return make_campaign(state) || make_folder(state) ? -1 : 0;
}

/* A worker with a connection of its own. */
struct worker {
    struct store *store;
    struct work *work;
};

static struct worker open_worker(const char *owner, double seconds, struct work_settings settings)
{
    struct worker worker = {.store = open_store(STORE_CREATE)};
    struct error err = {0};
    if (work_agree(worker.store, &settings, &err) ||
        work_open(&worker.work, worker.store, owner, seconds, &err))
        fail_msg("%s", err.message);
    return worker;
}

static void close_worker(struct worker *worker)
{
    work_close(worker->work);
    store_close(worker->store);
}

static struct work_lease lease_of(const struct worker *worker)
{
    struct work_lease lease;
    struct error err = {0};
    if (work_lease(worker->work, &lease, &err))
        fail_msg("%s", err.message);
    return lease;
}

/* Returns a range with one finding, whose signature all ranges share, and one of its own. */
static bool return_range(const struct worker *worker, int64_t first, const char *result)
{
    char own[40], recipe[40];
    struct error err = {0};
    bool held, is_new[2];
    snprintf(own, sizeof own, "own %" PRId64, first);
    snprintf(recipe, sizeof recipe, "case %" PRId64, first);
    struct finding findings[] = {
        {.signature = "shared", .engine = "e", .recipe = recipe, .facts = "facts", .number = first},
        {.signature = own,
         .engine = "e",
         .recipe = recipe,
         .known = first % 20 ? NULL : "docs/known",
         .number = first},
    };
    struct work_return range = {.first = first,
                                .cases = 10,
                                .counters = "counters",
                                .result = result,
                                .n_findings = 2,
                                .findings = findings,
                                .is_new = is_new};
    if (work_return(worker->work, &range, &held, &err))
        fail_msg("%s", err.message);
    assert_true(held || !is_new[1]);
    return held;
}

static int count_finding(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    *(int64_t *)context += stored->count;
    return 0;
}

static int64_t occurrences(struct store *store)
{
    int64_t count = 0;
    assert_int_equal(store_list(store, &(struct store_filter){0}, count_finding, &count, NULL), 0);
    return count;
}

static void a_range_is_returned_once(void **state)
{
    (void)state;
    struct worker one = open_worker("one", 60, (struct work_settings){.range = 10, .width = 2, .count = 25}),
                  two = open_worker("two", 60, (struct work_settings){.range = 99});
    assert_int_equal(work_settings_of(two.work)->range, 10); /* the first one's count */
    struct work_lease lease = lease_of(&one);
    assert_int_equal(lease.kind, WORK_RANGE);
    assert_true(lease.first == 0 && lease.count == 10 && lease.generation == 0 && lease.attempts == 1);
    lease = lease_of(&two);
    assert_true(lease.first == 10 && lease.generation == 0);
    assert_false(return_range(&two, 0, "")); /* is not its own */
    assert_true(return_range(&one, 0, ""));
    assert_false(return_range(&one, 0, ""));
    assert_int_equal(occurrences(one.store), 2);
    lease = lease_of(&one);
    assert_true(lease.first == 20 && lease.count == 5 && lease.generation == 1); /* the rest */
    assert_int_equal(lease_of(&two).kind, WORK_WAIT);
    assert_true(return_range(&two, 10, ""));
    assert_true(return_range(&one, 20, ""));
    assert_int_equal(occurrences(one.store), 6);
    close_worker(&one);
    close_worker(&two);
}

static int see_recipe(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    if (text_equal(stored->signature, "shared"))
        snprintf(context, 40, "%s %s", stored->recipe, stored->status);
    return 0;
}

/* What one worker finds for the whole campaign comes before what ranges find, whoever writes first. */
static void a_task_comes_before_all_ranges(void **state)
{
    (void)state;
    struct worker one = open_worker("one", 60, (struct work_settings){.range = 10, .count = 30}),
                  two = open_worker("two", 60, (struct work_settings){.range = 10});
    struct finding found[] = {{.signature = "shared", .engine = "e", .recipe = "task 1", .number = -2},
                              {.signature = "shared", .engine = "e", .recipe = "task 0", .number = -3}};
    bool mine, held, done;
    char recipe[40] = "";
    assert_int_equal(work_task(one.work, "task", -5, &mine, NULL), 0);
    assert_true(mine);
    assert_int_equal(work_task(two.work, "task", 60, &mine, NULL), 0);
    assert_true(mine); /* the first one took too long */
    lease_of(&one);
    assert_true(return_range(&one, 0, ""));
    assert_int_equal(work_task_return(one.work, "task", found, 2, &held, NULL), 0);
    assert_int_equal(work_task_is_done(one.work, "task", &done, NULL), 0);
    assert_false(held || done);
    assert_int_equal(work_task_return(two.work, "task", found, 2, &held, NULL), 0);
    assert_int_equal(work_task_is_done(one.work, "task", &done, NULL), 0);
    assert_true(held && done);
    lease_of(&two);
    assert_true(return_range(&two, 10, ""));
    assert_int_equal(store_list(one.store, &(struct store_filter){0}, see_recipe, recipe, NULL), 0);
    assert_string_equal(recipe, "task 0 new");
    assert_int_equal(work_task(one.work, "task", 60, &mine, NULL), 0);
    assert_false(mine);
    close_worker(&one);
    close_worker(&two);
}

static int take_real(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    if (count)
        *(double *)context = cell_as_real(&cells[0]);
    return 0;
}

static double time_left(const struct worker *worker)
{
    double left = 0;
    assert_int_equal(database_run(store_database(worker->store),
                                  "SELECT until - {now} FROM @leases WHERE first = 0", NULL, 0, take_real,
                                  &left, NULL),
                     0);
    return left;
}

/* Else a range that takes longer than a lease between two renewals would go round for ever. */
static void a_lease_that_was_lost_is_longer_the_next_time(void **state)
{
    (void)state;
    struct work_settings settings = {.range = 10};
    struct worker slow = open_worker("slow", -5, settings), one = open_worker("one", 1000, settings);
    bool held;
    assert_true(lease_of(&slow).first == 0);
    assert_true(lease_of(&slow).attempts == 2);
    assert_true(lease_of(&one).attempts == 3);
    double left = time_left(&one);
    assert_true(left > 2000 && left <= 3000);
    assert_int_equal(work_renew(one.work, 0, &held, NULL), 0);
    assert_true(held);
    left = time_left(&one);
    assert_true(left > 2000 && left <= 3000);
    close_worker(&slow);
    close_worker(&one);
}

static void lost_leases_are_taken_again(void **state)
{
    (void)state;
    struct work_settings settings = {.range = 10};
    struct worker slow = open_worker("slow", -5, settings), one = open_worker("one", 60, settings);
    bool held;
    assert_true(lease_of(&slow).first == 0);
    struct work_lease lease = lease_of(&one);
    assert_true(lease.kind == WORK_RANGE && lease.first == 0 && lease.count == 10 && lease.attempts == 2);
    assert_false(return_range(&slow, 0, ""));
    assert_int_equal(work_renew(slow.work, 0, &held, NULL), 0);
    assert_false(held);
    assert_int_equal(work_hand_back(slow.work, 0, NULL), 0); /* changes nothing */
    assert_int_equal(work_renew(one.work, 0, &held, NULL), 0);
    assert_true(held);
    lease = lease_of(&slow);
    assert_true(lease.first == 10);
    /* A lease that is renewed in time is not lost. */
    assert_int_equal(work_hand_back(one.work, 0, NULL), 0);
    struct worker two = open_worker("two", 60, settings);
    lease = lease_of(&two);
    assert_true(lease.first == 0 && lease.attempts == 3);
    assert_false(return_range(&one, 0, ""));
    assert_true(return_range(&two, 0, ""));
    assert_int_equal(work_renew(two.work, 0, &held, NULL), 0);
    assert_false(held);
    close_worker(&slow);
    close_worker(&one);
    close_worker(&two);
}

static int join_result(void *context, const struct work_result *result, struct error *err)
{
    (void)err;
    str_printf(context, "%" PRId64 "%s %s|", result->first, result->result, result->counters);
    return 0;
}

static void generations_lag(void **state)
{
    (void)state;
    struct work_settings settings = {.range = 10, .width = 2, .count = 60};
    struct worker one = open_worker("one", 60, settings), two = open_worker("two", 60, settings);
    struct str text;
    bool found;
    int64_t newest;
    str_init(&text);
    for (int i = 0; i < 4; i++)
        assert_int_equal(lease_of(i % 2 ? &one : &two).generation, i / 2);
    assert_int_equal(lease_of(&one).kind, WORK_WAIT); /* as generation 0 is not done */
    return_range(&one, 10, "b");
    return_range(&two, 0, "a");
    struct work_lease lease = lease_of(&one);
    assert_true(lease.kind == WORK_FOLD && lease.generation == 2);
    assert_int_equal(lease_of(&two).kind, WORK_WAIT); /* one does it */
    assert_int_equal(work_results(one.store, work_settings_of(one.work), 0, join_result, &text, NULL), 0);
    assert_string_equal(text.data, "0a counters|10b counters|");
    assert_int_equal(work_snapshot(one.store, 1, &text, &found, NULL), 0);
    assert_true(found && !text.length);
    assert_int_equal(work_snapshot(one.store, 2, &text, &found, NULL), 0);
    assert_false(found);
    assert_int_equal(work_make_snapshot(one.store, 2, "S2", NULL), 0);
    assert_int_equal(work_make_snapshot(two.store, 2, "other", NULL), 0); /* comes too late */
    assert_int_equal(work_snapshot(two.store, 2, &text, &found, NULL), 0);
    assert_true(found);
    assert_string_equal(text.data, "S2");
    lease = lease_of(&two);
    assert_true(lease.kind == WORK_RANGE && lease.first == 40 && lease.generation == 2);
    lease_of(&two);
    return_range(&one, 30, "");
    return_range(&two, 20, "");
    return_range(&two, 40, "");
    assert_int_equal(lease_of(&one).kind, WORK_WAIT); /* the last is under way */
    return_range(&two, 50, "");
    for (int64_t g = 3; g <= 4; g++) { /* the newest snapshot is of all */
        lease = lease_of(&one);
        assert_true(lease.kind == WORK_FOLD && lease.generation == g);
        assert_int_equal(work_make_snapshot(one.store, g, "S", NULL), 0);
    }
    assert_int_equal(lease_of(&one).kind, WORK_OVER);
    assert_int_equal(work_newest_snapshot(one.store, &newest, NULL), 0);
    assert_int_equal(newest, 4);
    assert_int_equal(work_snapshot(two.store, 2, &text, &found, NULL), 0);
    assert_false(found); /* nobody needs it */
    str_release(&text);
    close_worker(&one);
    close_worker(&two);
}

static void spans_follow_each_other(void **state)
{
    (void)state;
    struct work_settings kinds[] = {{.range = 10, .width = 3}, {.range = 7, .width = 5, .islands = 4}};
    for (size_t k = 0; k < 2; k++) {
        int64_t next = 0;
        for (int64_t g = 0; g < 40; g++) {
            int64_t first, count;
            work_generation_span(&kinds[k], g, &first, &count);
            assert_int_equal(first, next);
            assert_true(count >= 1);
            assert_int_equal(work_generation_of(&kinds[k], first), g);
            assert_int_equal(work_generation_of(&kinds[k], first + count - 1), g);
            next = first + count;
        }
    }
}

static void a_stopped_campaign_gives_nothing(void **state)
{
    (void)state;
    struct worker one = open_worker("one", 60, (struct work_settings){0});
    bool stopped;
    assert_int_equal(work_is_stopped(one.store, &stopped, NULL), 0);
    assert_false(stopped);
    lease_of(&one);
    assert_int_equal(work_set_stopped(one.store, true, NULL), 0);
    assert_int_equal(lease_of(&one).kind, WORK_STOPPED);
    assert_true(return_range(&one, 0, ""));
    assert_int_equal(work_set_stopped(one.store, false, NULL), 0);
    assert_int_equal(lease_of(&one).kind, WORK_RANGE);
    close_worker(&one);
}

static void islands_go_on_by_themselves(void **state)
{
    (void)state;
    struct worker one =
        open_worker("one", 60, (struct work_settings){.range = 10, .islands = 2, .count = 70});
    struct str text;
    bool found;
    str_init(&text);
    assert_true(lease_of(&one).first == 0);
    assert_true(lease_of(&one).first == 10);
    assert_int_equal(lease_of(&one).kind, WORK_WAIT);
    return_range(&one, 10, "island 1");
    assert_true(lease_of(&one).first == 30); /* the second island goes on */
    assert_int_equal(work_result_of(one.store, 10, &text, &found, NULL), 0);
    assert_true(found);
    assert_string_equal(text.data, "island 1");
    return_range(&one, 30, "");
    assert_int_equal(lease_of(&one).kind, WORK_WAIT); /* but not too far ahead */
    assert_int_equal(work_result_of(one.store, 0, &text, &found, NULL), 0);
    assert_false(found);
    return_range(&one, 0, "");
    for (int64_t first = 20; first < 70; first += first == 20 ? 20 : 10) {
        assert_true(lease_of(&one).first == first);
        return_range(&one, first, "");
    }
    assert_int_equal(lease_of(&one).kind, WORK_OVER);
    str_release(&text);
    close_worker(&one);
}

static struct work_finding empty_finding(void)
{
    struct work_finding finding;
    work_finding_init(&finding);
    return finding;
}

static bool follow_ups_left(const struct worker *worker)
{
    bool left;
    assert_int_equal(work_follow_ups_left(worker->work, &left, NULL), 0);
    return left;
}

static void a_finding_is_followed_up_once(void **state)
{
    (void)state;
    struct work_settings settings = {.range = 10};
    struct worker one = open_worker("one", 60, settings), two = open_worker("two", 60, settings);
    struct work_finding finding = empty_finding();
    bool found;
    assert_int_equal(work_follow_up(one.work, 60, &finding, &found, NULL), 0);
    assert_false(found);
    lease_of(&one);
    return_range(&one, 0, ""); /* "own 0" is known, "shared" is not */
    assert_int_equal(work_follow_up(one.work, 60, &finding, &found, NULL), 0);
    assert_true(found);
    assert_string_equal(finding.signature.data, "shared");
    assert_string_equal(finding.recipe.data, "case 0");
    assert_string_equal(finding.engine.data, "e");
    assert_int_equal(work_follow_up(two.work, 60, &finding, &found, NULL), 0);
    assert_false(found);
    assert_int_equal(work_follow_up_back(one.work, "shared", NULL), 0);
    for (int i = 0; i < 3; i++) { /* three workers die of it */
        assert_int_equal(work_follow_up(i % 2 ? one.work : two.work, -1, &finding, &found, NULL), 0);
        assert_true(found);
    }
    assert_int_equal(work_follow_up(one.work, 60, &finding, &found, NULL), 0);
    assert_false(found);
    lease_of(&one);
    return_range(&one, 10, "");
    assert_int_equal(work_follow_up(two.work, -1, &finding, &found, NULL), 0);
    assert_true(found);
    assert_string_equal(finding.signature.data, "own 10");
    bool held;
    assert_int_equal(work_follow_up_renew(one.work, "own 10", 60, &held, NULL), 0);
    assert_false(held); /* is another's */
    assert_int_equal(work_follow_up_renew(two.work, "own 10", 60, &held, NULL), 0);
    assert_true(held);
    struct work_outcome gone = {.from = "own 10", .state = STATE_GONE};
    assert_int_equal(work_follow_up_done(one.work, &gone, NULL), 0);
    assert_true(follow_ups_left(&one));
    assert_int_equal(work_follow_up_done(two.work, &gone, NULL), 0);
    assert_false(follow_ups_left(&one));
    assert_int_equal(work_follow_up(one.work, 60, &finding, &found, NULL), 0);
    assert_false(found);
    work_finding_release(&finding);
    close_worker(&one);
    close_worker(&two);
}

static void follow_ups_of_the_dead_are_left(void **state)
{
    (void)state;
    struct work_settings settings = {.range = 10};
    struct worker one = open_worker("one", 60, settings), two = open_worker("two", 60, settings);
    struct work_finding finding = empty_finding();
    bool found;
    assert_false(follow_ups_left(&one));
    lease_of(&one);
    return_range(&one, 0, "");
    assert_true(follow_ups_left(&two)); /* nobody has it */
    assert_int_equal(work_follow_up(one.work, -1, &finding, &found, NULL), 0);
    assert_true(found);
    assert_true(follow_ups_left(&two)); /* its worker may have died */
    /* A known issue explains it, which was written meanwhile. */
    assert_int_equal(
        store_settle(one.store, finding.signature.data, &(struct settled){.state = STATE_KNOWN}, NULL), 0);
    assert_true(follow_ups_left(&two));
    assert_int_equal(work_follow_up(two.work, 60, &finding, &found, NULL), 0);
    assert_false(found);
    assert_false(follow_ups_left(&two));
    work_finding_release(&finding);
    close_worker(&one);
    close_worker(&two);
}

static void only_cases_whose_elders_are_back_are_followed_up(void **state)
{
    (void)state;
    struct work_settings settings = {.range = 10};
    struct worker one = open_worker("one", 60, settings);
    struct work_finding finding = empty_finding();
    bool found;
    lease_of(&one);
    lease_of(&one);
    return_range(&one, 10, "");
    assert_int_equal(work_follow_up(one.work, 60, &finding, &found, NULL), 0);
    assert_false(found); /* "shared" may be met in range 0, too */
    return_range(&one, 0, "");
    assert_int_equal(work_follow_up(one.work, 60, &finding, &found, NULL), 0);
    assert_true(found);
    assert_string_equal(finding.signature.data, "shared");
    assert_string_equal(finding.recipe.data, "case 0"); /* not that which was there first */
    work_finding_release(&finding);
    close_worker(&one);
}

/* What happens to a campaign of six ranges, of which each meets "own FIRST", known for every second one, and
 * "shared": 'a' to 'f' returns a range, 'B', 'D', 'F' and 'S' end the follow-up of what is not known. */
static const struct plot {
    char event;
    const char *from, *to; /* signatures: "own 10" is reduced to this one */
    int nodes;
} plot[] = {{'B', "own 10", "own 30", 2},
            {'D', "own 30", "own 10", 1},
            {'F', "own 50", "own 30", 2},
            {'S', "shared", "own 20", 1}};

static void follow(const struct worker *worker, const struct plot *what)
{
    char recipe[40];
    struct error err = {0};
    snprintf(recipe, sizeof recipe, "less of %s", what->from);
    struct finding smaller = {.signature = what->to,
                              .name = "n",
                              .engine = "e",
                              .recipe = recipe,
                              .title = recipe,
                              .nodes = what->nodes};
    struct work_outcome outcome = {.from = what->from,
                                   .state = STATE_BUNDLED,
                                   .finding = &smaller,
                                   .bundle = "findings/n",
                                   .n_history = 1,
                                   .history = &(struct work_verdict){"e@1", recipe}};
    char *path = file_join(folder, "bundle"), *file = file_join(path, "report.md");
    assert_int_equal(file_make_folders(path, &err), 0);
    assert_int_equal(file_write(file, recipe, strlen(recipe), &err), 0);
    bool wanted;
    struct folder bundle;
    assert_int_equal(folder_open(&bundle, USERS_PATH, path, &err), 0);
    assert_int_equal(work_wants_bundle(worker->work, what->from, &smaller, &wanted, &err), 0);
    outcome.folder = wanted ? &bundle : NULL;
    if (work_follow_up_done(worker->work, &outcome, &err) ||
        work_follow_up_done(worker->work, &outcome, &err))
        fail_msg("%s", err.message);
    folder_close(&bundle);
    free(path);
    free(file);
}

static int print_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        if (cells[i].kind == CELL_TEXT)
            str_printf(context, "%s|", cells[i].text);
        else
            str_printf(context, "%" PRId64 "|", cell_as_int(&cells[i]));
    str_add(context, "\n");
    return 0;
}

static char *play(const char *events)
{
    struct worker one = open_worker("one", 60, (struct work_settings){.range = 10, .count = 60});
    struct work_finding finding;
    struct str text;
    bool found = true;
    str_init(&text);
    work_finding_init(&finding);
    for (int i = 0; i < 6; i++)
        lease_of(&one);
    for (; *events; events++) {
        if (*events >= 'a')
            assert_true(return_range(&one, (*events - 'a') * 10, ""));
        for (found = *events < 'a'; found;) /* whatever can be */
            assert_int_equal(work_follow_up(one.work, 60, &finding, &found, NULL), 0);
        for (size_t i = 0; i < sizeof plot / sizeof *plot; i++)
            if (plot[i].event == *events)
                follow(&one, &plot[i]);
    }
    assert_false(follow_ups_left(&one));
    static const char *const queries[] = {
        "SELECT signature, same_as, status, nodes, recipe, title, bundle FROM @findings ORDER BY signature",
        "SELECT signature, recipe, number FROM @occurrences ORDER BY signature, recipe",
        "SELECT signature, path, content FROM @files ORDER BY signature, path",
        "SELECT signature, engine, verdict FROM @history ORDER BY signature"};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_int_equal(database_run(store_database(one.store), queries[i], NULL, 0, print_row, &text, NULL),
                         0);
    work_finding_release(&finding);
    close_worker(&one);
    return str_detach(&text);
}

static void the_order_of_events_changes_nothing(void **state)
{
    static const char *const events[] = {"abcdefSBDF", "fedcbaFDBS", "aSbBcdDefF", "bacSBdDfeF",
                                         "cadbBSDfeF"};
    char *first = NULL;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (i)
            assert_int_equal(remove_folder(state) || begin_test(state), 0);
        char *text = play(events[i]);
        if (first)
            assert_string_equal(text, first);
        else
            first = text;
        if (text != first)
            free(text);
    }
    assert_non_null(strstr(first, "\nown 10||bundled|1|case 10|less of own 30|findings/n|\n"));
    assert_non_null(strstr(first, "\nown 20||known: docs/known|0|case 20|||\n"));
    assert_non_null(strstr(first, "\nown 30|own 10|bundled|2|case 30|less of own 10|findings/n|\n"));
    assert_non_null(strstr(first, "\nown 50|own 10|bundled|0|case 50|"));
    assert_non_null(strstr(first, "\nshared|own 20|bundled|0|case 0|"));
    free(first);
}

static int pause_briefly(void)
{
    return nanosleep(&(struct timespec){0, 2000000}, NULL);
}

/* One worker of many, to the end of the campaign. */
static void work_to_the_end(const char *owner, struct work_settings settings, int report)
{
    struct worker worker = open_worker(owner, 2, settings);
    for (;;) {
        struct work_lease lease = lease_of(&worker);
        if (lease.kind == WORK_OVER)
            break;
        if (lease.kind == WORK_WAIT)
            pause_briefly();
        if (lease.kind == WORK_FOLD)
            assert_int_equal(work_make_snapshot(worker.store, lease.generation, "S", NULL), 0);
        if (lease.kind == WORK_RANGE && return_range(&worker, lease.first, "r"))
            assert_int_equal(write(report, &lease.first, sizeof lease.first), sizeof lease.first);
    }
    close_worker(&worker);
    _exit(0);
}

static int take_highest(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    *(int64_t *)context = count ? cell_as_int(&cells[0]) : -1;
    return 0;
}

/* Many processes lease at once, and some are killed: every range is returned exactly once, with its findings.
 */
static void every_range_is_done_once_whoever_dies(void **state)
{
    (void)state;
    enum { WORKERS = 6, KILLS = 12, RANGES = 150 };
    struct work_settings settings = {.range = 10, .width = 8, .count = RANGES * 10};
    int pipes[2], seen[RANGES] = {0}, dead = 0;
    pid_t children[WORKERS];
    store_close(open_store(STORE_CREATE));
    assert_int_equal(pipe(pipes), 0);
    for (int n = 0; n < WORKERS + KILLS; n++) {
        int w = n % WORKERS;
        if (n >= WORKERS) {
            nanosleep(&(struct timespec){0, 15000000}, NULL);
            kill(children[w], SIGKILL);
            int ended;
            waitpid(children[w], &ended, 0);
            dead += WIFSIGNALED(ended);
        }
        children[w] = fork();
        if (children[w] == 0) {
            char owner[40];
            snprintf(owner, sizeof owner, "worker %d", n);
            work_to_the_end(owner, settings, pipes[1]);
        }
    }
    close(pipes[1]);
    int64_t first;
    while (read(pipes[0], &first, sizeof first) == sizeof first)
        seen[first / 10]++;
    close(pipes[0]);
    for (int w = 0; w < WORKERS; w++) {
        int ended = 0;
        waitpid(children[w], &ended, 0);
        assert_int_equal(ended, 0);
    }
    int missing = 0;
    for (int i = 0; i < RANGES; i++) {
        assert_true(seen[i] <= 1);
        missing += !seen[i]; /* returned, and killed before it could say so */
    }
    assert_true(missing <= dead);
    struct store *store = open_store(STORE_READ);
    /* Of the shared finding only the lowest occurrences are kept. */
    assert_int_equal(occurrences(store), RANGES + WORK_OCCURRENCES);
    int64_t highest = 0;
    assert_int_equal(database_run(store_database(store),
                                  "SELECT max(number) FROM @occurrences WHERE signature = 'shared'", NULL, 0,
                                  take_highest, &highest, NULL),
                     0);
    assert_int_equal(highest, (WORK_OCCURRENCES - 1) * 10);
    store_close(store);
}

static int note_file(void *context, const char *path, const void *data, size_t size, struct error *err)
{
    (void)err;
    str_printf(context, "%s:%zu:%.3s|", path, size, (const char *)data);
    return 0;
}

static void put_raw(struct store *store, const char *path, const char *content)
{
    assert_int_equal(database_run(store_database(store),
                                  "INSERT INTO @files (signature, path, content) VALUES ('bad', $1, $2)",
                                  CELLS(cell_text(path), cell_text(content)), NULL, NULL, NULL),
                     0);
}

static void files_come_back(void **state)
{
    (void)state;
    struct store *store = open_store(STORE_CREATE);
    struct str text;
    struct error err = {0};
    size_t count;
    str_init(&text);
    char *data = file_join(folder, "bundle/data"), *one = file_join(folder, "bundle/a.txt"),
         *two = file_join(data, "b.bin"), *back = file_join(folder, "copy/data/b.bin");
    assert_int_equal(file_make_folders(data, NULL), 0);
    assert_int_equal(file_write(one, "text", 4, NULL), 0);
    assert_int_equal(file_write(two, "\0\xff\1\2", 4, NULL), 0);
    struct folder all, bundle;
    assert_int_equal(folder_open(&all, USERS_PATH, folder, &err), 0);
    assert_int_equal(folder_open(&bundle, &all, "bundle", &err), 0);
    assert_int_equal(stored_files_put(store, "sig", &bundle, &err), 0);
    assert_int_equal(unlink(one), 0);
    assert_int_equal(stored_files_put(store, "sig", &bundle, &err), 0); /* in place of the old ones */
    assert_int_equal(symlink("/etc/hostname", one), 0);
    assert_int_equal(stored_files_put(store, "sig", &bundle, &err), -1);
    assert_non_null(strstr(err.message, "bundle/a.txt is a symbolic link"));
    folder_close(&bundle);
    assert_int_equal(stored_files_write(store, "sig", &all, "copy", &count, &err), 0);
    folder_close(&all);
    assert_int_equal(count, 1);
    char *read;
    size_t size;
    assert_int_equal(file_read(back, 100, &read, &size, NULL), 0);
    assert_true(size == 4 && memcmp(read, "\0\xff\1\2", 4) == 0);
    free(read);
    static const char *const bad[] = {"../x", "/etc/x", "a/../x", "a//x", ".x", "a/", "", "x\ny"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(database_run(store_database(store), "DELETE FROM @files WHERE signature = 'bad'",
                                      NULL, 0, NULL, NULL, NULL),
                         0);
        put_raw(store, bad[i], "aGVs");
        assert_int_equal(stored_files_visit(store, "bad", note_file, &text, &err), -1);
        assert_int_equal(err.code, ERROR_FORMAT);
    }
    put_raw(store, "a", "no base64!");
    assert_int_equal(stored_files_visit(store, "bad", note_file, &text, &err), -1);
    assert_int_equal(text.length, 0);
    free(data), free(one), free(two), free(back);
    str_release(&text);
    store_close(store);
}

static void base64_is_read_back(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                                           {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < 6; i++) {
        size_t size;
        str_clear(&text);
        base64_write(&text, pairs[i][0], strlen(pairs[i][0]));
        assert_string_equal(text.data, pairs[i][1]);
        uint8_t *bytes = base64_read(text.data, &size);
        assert_non_null(bytes);
        assert_true(size == strlen(pairs[i][0]) && memcmp(bytes, pairs[i][0], size) == 0);
        free(bytes);
    }
    static const char *const bad[] = {"Z", "Zg=", "Z===", "Zm9v!m9v", "Zg==Zg==", "===="};
    for (size_t i = 0; i < 6; i++) {
        size_t size;
        assert_null(base64_read(bad[i], &size));
    }
    str_release(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_range_is_returned_once),
        TEST(a_task_comes_before_all_ranges),
        TEST(a_lease_that_was_lost_is_longer_the_next_time),
        TEST(lost_leases_are_taken_again),
        TEST(generations_lag),
        TEST(a_stopped_campaign_gives_nothing),
        TEST(islands_go_on_by_themselves),
        TEST(a_finding_is_followed_up_once),
        TEST(follow_ups_of_the_dead_are_left),
        TEST(only_cases_whose_elders_are_back_are_followed_up),
        TEST(the_order_of_events_changes_nothing),
        TEST(every_range_is_done_once_whoever_dies),
        TEST(files_come_back),
        cmocka_unit_test(spans_follow_each_other),
        cmocka_unit_test(base64_is_read_back),
    };
    server = getenv("ASSAY_TEST_POSTGRES");
    return cmocka_run_group_tests_name(server ? "PostgreSQL" : "SQLite", tests, NULL, NULL);
}
