/*
 * A campaign that several workers share ends as with one: whoever runs its cases, and whoever dies. With
 * ASSAY_TEST_POSTGRES, the address of a server (tools/with-postgres), in PostgreSQL, which dies as well.
 */
#include "scene.h"

#include "campaign/fuzz.h"
#include "campaign/fuzz_shared.h"
#include "campaign/search_source.h"
#include "findings/stored_files.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char padded[] = "reference:fault=pad-unpad-off", joined[] = "reference:fault=concat-three";
static const char overflowing[] = "reference:fault=softmax-no-max";
static const char *server; /* NULL: SQLite */

enum { CASES = 500, RANGE = 25 };

/* How a worker takes part. */
struct part {
    const char *campaign; /* its name, which no other test has */
    uint64_t count;
    int64_t range; /* 0: RANGE */
    bool reduce, search;
    bool (*watch)(void *context, const struct fuzz_status *status);
};

static struct fuzz_shared_options place_of(const struct part *part, char *place, size_t size)
{
    char *name = place + size / 2;
    snprintf(place, size / 2, "/tmp/assay-shared-%d-%s", (int)getpgrp(), part->campaign);
    snprintf(name, size / 2, "%s-%d", part->campaign, (int)getpgrp());
    return (struct fuzz_shared_options){.database = server ? server : place,
                                        .campaign = name,
                                        .range = part->range ? part->range : RANGE,
                                        .lease = 1.5};
}

static int take_part(const struct scene *scene, const struct part *part, struct fuzz_status *status,
                     struct error *err)
{
    char place[200];
    struct fuzz_shared_options shared = place_of(part, place, sizeof place);
    struct fuzz_options options = {
        .panel = &scene->panel,
        .shared = &shared,
        .source = {.seed = 11,
                   .strategy = FUZZ_MCTS,
                   .blocks = 2,
                   .redraw = true,
                   .generate = {.ops = "Concat,Pad,Relu,Add"}},
        .count = part->count,
        .registry = scene->registry,
        .no_known = true,
        .reduce = part->reduce,
        .watch = part->watch,
    };
    int result = fuzz_run(&options, status, err);
    status->folder = NULL;
    return result;
}

static int search(const struct scene *scene, const struct part *part, struct fuzz_status *status,
                  struct error *err)
{
    char place[200];
    struct fuzz_shared_options shared = place_of(part, place, sizeof place);
    struct model *model = model_of_text("g (float[N,4] x) => (float[N,3] y) <float[4,3] w = {1,0,0, 0,1,0, "
                                        "0,0,1, 1,1,1}> { s = MatMul(x, w) y = Softmax(s) }");
    struct inputs inputs;
    if (inputs_random(&inputs, model, 4, 1, NULL, 0, err))
        return -1;
    struct search_seed seed = {"some/classes.onnx", model, &inputs};
    struct search_source_options source = {
        .seed = 5, .goal = SEARCH_NAN, .limits = SEARCH_LIMITS_TYPE, .n_models = 1, .models = &seed};
    struct fuzz_options options = {
        .panel = &scene->panel,
        .shared = &shared,
        .search = &source,
        .count = part->count,
        .registry = scene->registry,
        .no_known = true,
        .watch = part->watch,
    };
    int result = fuzz_run(&options, status, err);
    status->folder = NULL;
    inputs_release(&inputs);
    model_free(model);
    return result;
}

/* A worker in a process of its own. */
static pid_t start_worker(const struct part *part)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    struct scene scene = {.registry = open_registry()};
    struct fuzz_status status;
    struct error err = {0};
    alarm(100);
    const char *labels[2] = {part->search ? "reference" : padded, part->search ? overflowing : joined};
    if (panel_open(&scene.panel, scene.registry, given_all_typed(registry_arena(scene.registry), labels, 2),
                   NULL, &err) ||
        panel_add_reference(&scene.panel, scene.registry, &err) ||
        (part->search ? search : take_part)(&scene, part, &status, &err)) {
        fprintf(stderr, "worker: %s\n", err.message);
        _exit(1);
    }
    panel_close(&scene.panel);
    _exit(0);
}

static int end_of(pid_t child)
{
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    return ended;
}

static int note_signature(void *context, const struct stored *stored, struct error *err)
{
    struct str lines[1];
    (void)err;
    str_init(lines);
    str_printf(lines, "%s, %s\n", stored->signature, stored->kind);
    /* in order of the text: who came first depends on who was fast */
    struct str *all = context;
    char *at = all->data ? all->data : "";
    while (*at && strncmp(at, lines->data, strcspn(at, "\n") + 1) < 0)
        at += strcspn(at, "\n") + 1;
    char *rest = strdup(at);
    size_t kept = (size_t)(at - all->data);
    struct str joined_text;
    str_init(&joined_text);
    str_append(&joined_text, all->data, kept);
    str_add(&joined_text, lines->data);
    str_add(&joined_text, rest);
    free(rest);
    str_release(lines);
    str_release(all);
    *all = joined_text;
    return 0;
}

/* Signatures and the newest snapshot, in which the counters are. */
static char *end_state(const struct part *part)
{
    char place[200];
    struct fuzz_shared_options shared = place_of(part, place, sizeof place);
    struct store *store;
    struct error err = {0};
    struct str text, snapshot;
    int64_t newest, cases;
    bool found;
    str_init(&text);
    str_init(&snapshot);
    if (fuzz_shared_store(&store, &shared, STORE_READ, &err) ||
        store_list(store, &(struct store_filter){.merged = true}, note_signature, &text, &err) ||
        work_newest_snapshot(store, &newest, &err) || work_snapshot(store, newest, &snapshot, &found, &err))
        fail_msg("%s", err.message);
    assert_true(found);
    assert_true(sscanf(snapshot.data, "cases %ld", &cases) == 1 && cases == (int64_t)part->count);
    store_close(store);
    str_printf(&text, "generation %ld\n%s", (long)newest, snapshot.data);
    str_release(&snapshot);
    char *all = str_detach(&text);
    str_release(&text);
    return all;
}

static void remove_place(const struct part *part)
{
    char place[200];
    place_of(part, place, sizeof place);
    if (!server)
        assert_int_equal(file_remove_tree(place, NULL), 0);
}

/* Removes the campaign, and frees what is expected. */
static void expect_end_state(const struct part *part, char *expected)
{
    char *got = end_state(part);
    assert_string_equal(got, expected);
    remove_place(part);
    free(expected);
    free(got);
}

/* What one worker leaves that nobody disturbs. */
static char *undisturbed(const char *campaign, uint64_t count, int64_t range)
{
    struct part alone = {.campaign = campaign, .count = count, .range = range};
    assert_int_equal(end_of(start_worker(&alone)), 0);
    char *text = end_state(&alone);
    remove_place(&alone);
    return text;
}

static bool die(void *context, const struct fuzz_status *status)
{
    (void)context;
    if (status->session_cases >= 30)
        raise(SIGKILL);
    return false;
}

static void workers_that_die_change_nothing(void **state)
{
    (void)state;
    char *expected = undisturbed("alone", CASES, RANGE);
    assert_non_null(strstr(expected, "shape|reference:fault=pad-unpad-off|Pad|"));
    assert_non_null(strstr(expected, "wrong|reference:fault=concat-three|Concat|"));
    struct part healthy = {.campaign = "several", .count = CASES}, sick = healthy;
    sick.watch = die;
    pid_t one = start_worker(&healthy), two = start_worker(&sick);
    int ended = end_of(two);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    two = start_worker(&sick);
    ended = end_of(two); /* perhaps there is nothing left for it to die of */
    assert_true(ended == 0 || (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL));
    assert_int_equal(end_of(one), 0);
    char *got = end_state(&healthy);
    assert_string_equal(got, expected);
    remove_place(&healthy);
    free(expected);
    free(got);
}

/* Kills one of its engines, by turns, while they are at work: as the kernel does when memory is short. */
static bool lose_engine(void *context, const struct fuzz_status *status)
{
    enum { KILLS = 12 };
    static size_t kills;
    char path[60];
    int engines[20];
    size_t count = 0;
    (void)context;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = status->session_cases && kills < KILLS ? fopen(path, "r") : NULL;
    while (file && count < 20 && fscanf(file, "%d", &engines[count]) == 1)
        count++;
    if (file)
        fclose(file);
    if (count)
        kill(engines[kills++ % count], SIGKILL);
    return false;
}

static void engines_that_are_killed_change_nothing(void **state)
{
    (void)state;
    char *expected = undisturbed("unhurt", CASES / 2, RANGE);
    struct part part = {.campaign = "hurt", .count = CASES / 2, .watch = lose_engine};
    assert_int_equal(end_of(start_worker(&part)), 0);
    expect_end_state(&part, expected);
}

/* Ends within its first range, as with SIGTERM: the range is handed back, not lost for the time of a lease.
 */
static bool leave(void *context, const struct fuzz_status *status)
{
    (void)context;
    return status->session_cases >= 1;
}

static void a_worker_hands_back_and_the_next_goes_on(void **state)
{
    (void)state;
    char place[200];
    enum { COUNT = 2000 }; /* one range, much longer than a watcher waits */
    struct part part = {.campaign = "left", .count = COUNT, .range = COUNT, .watch = leave};
    char *expected = undisturbed("whole", COUNT, COUNT);
    assert_int_equal(end_of(start_worker(&part)), 0);
    struct fuzz_shared_options shared = place_of(&part, place, sizeof place);
    struct store *store;
    struct error err = {0};
    struct work *work;
    struct work_lease lease;
    assert_int_equal(fuzz_shared_store(&store, &shared, STORE_WRITE, &err), 0);
    assert_int_equal(work_open(&work, store, "test", 60, &err), 0);
    assert_int_equal(work_lease(work, &lease, &err), 0);
    assert_true(lease.kind == WORK_RANGE && lease.first == 0 && lease.attempts == 2);
    assert_int_equal(work_hand_back(work, 0, &err), 0);
    work_close(work);
    /* A stopped campaign ends its workers at once. */
    part.watch = NULL;
    assert_int_equal(work_set_stopped(store, true, &err), 0);
    assert_int_equal(end_of(start_worker(&part)), 0);
    assert_int_equal(work_set_stopped(store, false, &err), 0);
    store_close(store);
    assert_int_equal(end_of(start_worker(&part)), 0);
    expect_end_state(&part, expected);
}

static void other_options_are_refused(void **state)
{
    (void)state;
    struct part part = {.campaign = "options", .count = 20}, longer = part;
    struct scene scene;
    struct fuzz_status status;
    struct error err = {0};
    longer.count = 40;
    scene_open(&scene, LABELS(padded, joined));
    assert_int_equal(take_part(&scene, &part, &status, &err), 0);
    assert_int_equal(status.cases, 20);
    fuzz_status_release(&status);
    assert_int_equal(take_part(&scene, &longer, &status, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    fuzz_status_release(&status);
    scene_close(&scene);
    scene_open(&scene, LABELS(padded));
    assert_int_equal(take_part(&scene, &part, &status, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    fuzz_status_release(&status);
    scene_close(&scene);
    remove_place(&part);
}

struct bundles {
    struct store *store;
    size_t bundled;
};

static int see_file(void *context, const char *path, const void *data, size_t size, struct error *err)
{
    (void)data;
    (void)err;
    *(bool *)context |= text_equal(path, "report.md") && size > 100;
    return 0;
}

static int see_bundle(void *context, const struct stored *stored, struct error *err)
{
    struct bundles *bundles = context;
    bool report = false;
    if (stored->state != STATE_BUNDLED)
        return 0;
    bundles->bundled++;
    assert_int_equal(stored_files_visit(bundles->store, stored->signature, see_file, &report, err), 0);
    assert_true(report);
    return 0;
}

static void bundles_live_in_the_database(void **state)
{
    (void)state;
    struct part part = {.campaign = "bundles", .count = 120, .reduce = true};
    char place[200];
    pid_t workers[] = {start_worker(&part), start_worker(&part)};
    assert_int_equal(end_of(workers[0]), 0);
    assert_int_equal(end_of(workers[1]), 0);
    struct fuzz_shared_options shared = place_of(&part, place, sizeof place);
    struct bundles bundles = {0};
    struct error err = {0};
    assert_int_equal(fuzz_shared_store(&bundles.store, &shared, STORE_READ, &err), 0);
    assert_int_equal(store_list(bundles.store, &(struct store_filter){0}, see_bundle, &bundles, &err), 0);
    assert_true(bundles.bundled > 0);
    store_close(bundles.store);
    remove_place(&part);
}

/* A worker that cannot reach the database at its start gives up, so the database lives until both have. */
static void wait_for_workers(void)
{
    assert_int_equal(
        system("for i in $(seq 600); do "
               "[ $(psql -X \"$ASSAY_TEST_POSTGRES\" -Atc \"SELECT count(*) FROM pg_stat_activity "
               "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()\") -lt 2 ] || exit 0; "
               "sleep 0.05; done; exit 1"),
        0);
}

/* The database is killed twice while two workers work: they wait, and the end is the same. */
static void a_database_that_dies_changes_nothing(void **state)
{
    (void)state;
    char *expected = undisturbed("calm", CASES, RANGE);
    struct part part = {.campaign = "storm", .count = CASES};
    pid_t workers[] = {start_worker(&part), start_worker(&part)};
    wait_for_workers();
    for (int i = 0; i < 2; i++) {
        usleep(700000);
        assert_int_equal(system("kill -9 $(head -1 $POSTGRES_FOLDER/data/postmaster.pid); "
                                "sleep 0.2; $ASSAY_WITH_POSTGRES --start"),
                         0);
    }
    assert_int_equal(end_of(workers[0]), 0);
    assert_int_equal(end_of(workers[1]), 0);
    char *got = end_state(&part);
    assert_string_equal(got, expected);
    free(expected);
    free(got);
}

static int add_range(void *context, const struct work_result *result, struct error *err)
{
    (void)err;
    /* Without the seconds that the engines took, and when the goal was reached. */
    str_printf(context, "%ld %ld", (long)result->first, (long)result->cases);
    for (const char *verdicts = result->counters; (verdicts = strstr(verdicts, "engine "));) {
        verdicts += strlen("engine ");
        verdicts += strcspn(verdicts, " ");
        str_printf(context, "%.*s", (int)strcspn(verdicts, "\n"), verdicts);
    }
    str_printf(context, " %.*s\n", (int)strcspn(result->result, "\n"), result->result);
    return 0;
}

/* Of each range the verdicts, and the signatures that its island knows. */
static char *islands_of(const struct part *part)
{
    char place[200];
    struct fuzz_shared_options shared = place_of(part, place, sizeof place);
    struct store *store;
    struct error err = {0};
    struct str text;
    struct work_settings settings;
    bool found;
    str_init(&text);
    if (fuzz_shared_store(&store, &shared, STORE_READ, &err) || work_settings(store, &settings, &found, &err))
        fail_msg("%s", err.message);
    assert_true(found && settings.islands > 1);
    for (int64_t g = 0; g * settings.islands * settings.range < (int64_t)part->count; g++)
        assert_int_equal(work_results(store, &settings, g, add_range, &text, &err), 0);
    assert_int_equal(store_list(store, &(struct store_filter){0}, note_signature, &text, &err), 0);
    store_close(store);
    remove_place(part);
    char *all = str_detach(&text);
    str_release(&text);
    return all;
}

static void islands_are_the_same_whoever_searches(void **state)
{
    (void)state;
    struct part alone = {.campaign = "island", .count = 600, .range = 30, .search = true}, several = alone;
    assert_int_equal(end_of(start_worker(&alone)), 0);
    char *expected = islands_of(&alone);
    assert_non_null(strstr(expected, "softmax-no-max|Softmax|"));
    several.campaign = "islands";
    struct part sick = several;
    sick.watch = die;
    pid_t one = start_worker(&several), two = start_worker(&sick);
    end_of(two);
    assert_int_equal(end_of(one), 0);
    char *got = islands_of(&several);
    assert_string_equal(got, expected);
    free(expected);
    free(got);
}

/* An argument chooses tests by name, with * for any text. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_that_die_change_nothing),
        cmocka_unit_test(engines_that_are_killed_change_nothing),
        cmocka_unit_test(a_worker_hands_back_and_the_next_goes_on),
        cmocka_unit_test(other_options_are_refused),
        cmocka_unit_test(bundles_live_in_the_database),
        cmocka_unit_test(islands_are_the_same_whoever_searches),
        cmocka_unit_test(a_database_that_dies_changes_nothing),
    };
    server = getenv("ASSAY_TEST_POSTGRES");
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    size_t count = sizeof tests / sizeof *tests - !server;
    return _cmocka_run_group_tests(server ? "PostgreSQL" : "SQLite", tests, count, NULL, NULL);
}
