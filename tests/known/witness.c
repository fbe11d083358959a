/*
 * The witnesses of known issues.
 *
 *     known_witness record FOLDER LABEL...
 *     known_witness check KNOWN FOLDER=PLACE...
 *
 * record runs the cases in FOLDER (found/ENGINE) on the engines, in their order, and prints the facts of
 * the first finding that each case gives: this is FOLDER/facts.json, one case a line. check runs no engine:
 * it reads the files in KNOWN and the facts.json of each FOLDER, which lies in PLACE with its cases, and asks
 * that the recorded nodes are those of the model, and that each issue matches the case that it names and no
 * other issue's.
 */
#include "base/file.h"
#include "base/memory.h"
#include "case/backend_suite.h"
#include "findings/known_issues.h"
#include "trial/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENGINES = 80, FACTS_LIMIT = 16 << 20 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- record ---- */

struct recorder {
    struct pool *pool;
    int reference;
    size_t n_engines;
    int engines[MAX_ENGINES];
};

/* The case with its first data set. */
static struct test_case *read_case(const struct suite_case *entry, struct error *err)
{
    struct suite_loaded loaded;
    struct test_case *test = NULL;
    if (!suite_load(entry, &loaded, err))
        test = test_case_share(loaded.tests[0]);
    suite_unload(&loaded);
    return test;
}

/* True when the engine gives a finding, which is printed. */
static bool try_engine(const struct recorder *recorder, const struct suite_case *entry, int engine,
                       const char *comma, struct error *err)
{
    /* Beside the one that leaves graphs alone: what only an optimiser's work makes it refuse is a finding. */
    int plain = pool_plain(recorder->pool, engine), engines[] = {engine, plain};
    struct panel panel = {.pool = recorder->pool,
                          .count = plain >= 0 && plain != engine ? 2 : 1,
                          .engines = engines,
                          .reference = recorder->reference};
    struct trial_options options = {.panel = &panel, .repeat = 1, .settle = true};
    struct test_case *test = read_case(entry, err);
    struct trial_done done;
    bool found = false;
    if (!test)
        return false;
    struct trials *trials = trials_new(&options);
    if (!trials_submit(trials, test, NULL, err) && trials_next(trials, &done, err) == 1) {
        const struct engine_info *info = pool_engine(recorder->pool, engine);
        found = verdict_is_finding(done.judgement.verdicts[0].kind);
        if (found) {
            struct finding_facts facts;
            struct str text;
            str_init(&text);
            facts_of(&facts, &(struct facts_source){.engine = info->label,
                                                    .version = info->version,
                                                    .profile = info->profile,
                                                    .verdict = &done.judgement.verdicts[0],
                                                    .settlement = &done.settlements[0],
                                                    .result = &done.results[0],
                                                    .test = done.test});
            facts_write(&text, &facts);
            printf("%s\"%s\": %s", comma, base_name(entry->folder), text.data);
            facts_release(&facts);
            str_release(&text);
        }
        trial_done_release(&done);
    }
    trials_free(trials);
    return found;
}

static int record(int argc, char **argv, struct error *err)
{
    struct registry *registry;
    struct recorder recorder = {.pool = pool_new(&(struct pool_options){.fresh = true, .deadline = 10})};
    const char *folder = argv[0], *comma = "{\n";
    struct suite suite;
    const struct engine_spec *spec;
    if (registry_open(&registry, NULL, 0, err) ||
        registry_find(registry, given_typed(registry_arena(registry), "reference"), &spec, err))
        return -1;
    recorder.reference = pool_add(recorder.pool, spec);
    for (int i = 1; i < argc && recorder.n_engines < MAX_ENGINES; i++) {
        if (registry_find(registry, given_typed(registry_arena(registry), argv[i]), &spec, err))
            return -1;
        recorder.engines[recorder.n_engines++] = pool_add(recorder.pool, spec);
    }
    if (suite_open(&suite, &folder, 1, NULL, err))
        return -1;
    pool_warm(recorder.pool);
    for (size_t i = 0; i < suite.count; i++) {
        size_t e = 0;
        struct error why = {0};
        while (e < recorder.n_engines &&
               !try_engine(&recorder, &suite.cases[i], recorder.engines[e], comma, &why))
            e++;
        if (e == recorder.n_engines)
            fprintf(stderr, "no finding: %s %s\n", suite.cases[i].folder, why.message);
        else
            comma = ",\n";
    }
    printf("\n}\n");
    suite_release(&suite);
    pool_free(recorder.pool);
    registry_free(registry);
    return 0;
}

/* ---- check ---- */

struct witness {
    char *document; /* FOLDER/NAME */
    struct finding_facts facts;
    bool witnessed;
};

struct check {
    struct known_issues known;
    size_t count, capacity, failed;
    struct witness *items;
};

static void fail(struct check *check, const char *what, const char *which, const char *other)
{
    check->failed++;
    printf("%s: %s%s%s\n", what, which, *other ? ", " : "", other);
}

/* What the model itself tells is as recorded. */
static void check_nodes(struct check *check, const struct witness *witness, const char *folder)
{
    struct suite suite;
    struct finding_facts now;
    struct error err = {0};
    struct str was, is;
    size_t numbers[64], count = 0;
    struct test_case *test =
        suite_open(&suite, &folder, 1, NULL, &err) ? NULL : read_case(&suite.cases[0], &err);
    suite_release(&suite);
    if (!test) {
        fail(check, "facts without a case", witness->document, err.message);
        return;
    }
    str_init(&was);
    str_init(&is);
    for (; count < witness->facts.n_nodes && count < 64; count++)
        numbers[count] = witness->facts.nodes[count].number;
    facts_of_nodes(&now, test, numbers, count, symptom_verdict(witness->facts.symptom));
    for (size_t i = 0; i < now.n_nodes; i++)
        fact_node_write(&is, &now.nodes[i]);
    for (size_t i = 0; i < witness->facts.n_nodes; i++)
        fact_node_write(&was, &witness->facts.nodes[i]);
    if (strcmp(was.data, is.data) != 0 || now.gradient != witness->facts.gradient)
        fail(check, "the case is not as it was recorded", witness->document, is.data);
    facts_release(&now);
    test_case_free(test);
    str_release(&was);
    str_release(&is);
}

static int read_witnesses(struct check *check, const char *argument, struct error *err)
{
    struct str path;
    struct arena arena;
    const struct json_value *top;
    const char *equals = strchr(argument, '='), *place = equals ? equals + 1 : argument;
    int length = (int)(equals ? equals - argument : (ptrdiff_t)strlen(argument));
    char *data;
    size_t size;
    str_init(&path);
    arena_init(&arena);
    str_printf(&path, "%s/facts.json", place);
    int status = file_read(path.data, FACTS_LIMIT, &data, &size, err);
    if (!status) {
        status = json_read(&arena, data, size, &top, err);
        free(data);
    }
    for (const struct json_value *item = status ? NULL : top->first; item && !status; item = item->next) {
        check->items = memory_grow(check->items, &check->capacity, check->count + 1, sizeof *check->items);
        struct witness *witness = &check->items[check->count++];
        *witness = (struct witness){0};
        str_clear(&path);
        str_printf(&path, "%.*s/%s", length, argument, item->name);
        witness->document = memory_strdup(path.data);
        status = facts_from_json(&witness->facts, item, err);
        str_clear(&path);
        str_printf(&path, "%s/%s", place, item->name);
        if (!status)
            check_nodes(check, witness, path.data);
    }
    str_release(&path);
    arena_release(&arena);
    return status;
}

/* Several cases may show one bug: only one that another issue names must not match. */
static void note_witnessed(struct check *check)
{
    for (size_t i = 0; i < check->count; i++)
        for (size_t k = 0; k < check->known.count; k++)
            check->items[i].witnessed |= text_equal(check->items[i].document, check->known.items[k].document);
}

static void check_issue(struct check *check, const struct known_issue *issue)
{
    bool seen = false;
    for (size_t i = 0; i < check->count; i++) {
        struct witness *witness = &check->items[i];
        bool own = text_equal(witness->document, issue->document);
        bool matches = !known_misfit(&check->known, issue, &witness->facts);
        seen |= own;
        if (own && !matches)
            fail(check, "dead: the issue does not match its own case", issue->name, issue->document);
        if (!own && witness->witnessed && matches)
            fail(check, "the issue matches another one's case", issue->name, witness->document);
    }
    if (!seen)
        fail(check, "dead: the issue has no witness", issue->name, issue->document);
}

static int check_all(int argc, char **argv, struct error *err)
{
    struct check check = {0};
    char **names = NULL;
    size_t count = 0, without = 0;
    known_init(&check.known);
    int status = file_list(argv[0], &names, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        char *path = file_join(argv[0], names[i]);
        if (text_ends(path, ".ini"))
            status = known_read(&check.known, path, KNOWN_INSTALLED, err);
        free(path);
    }
    if (names)
        file_names_free(names, count);
    for (int i = 1; i < argc && !status; i++)
        status = read_witnesses(&check, argv[i], err);
    note_witnessed(&check);
    for (size_t i = 0; i < check.known.count && !status; i++)
        check_issue(&check, &check.known.items[i]);
    for (size_t i = 0; i < check.count; i++) {
        if (!check.items[i].witnessed)
            printf("no issue: %s\n", check.items[i].document);
        without += !check.items[i].witnessed;
        free(check.items[i].document);
        facts_release(&check.items[i].facts);
    }
    printf("%zu issues, %zu cases, %zu of them without an issue, %zu failed\n", check.known.count,
           check.count, without, check.failed);
    status = status ? -1 : check.failed != 0;
    free(check.items);
    known_release(&check.known);
    return status;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    int status = -1;
    if (argc > 3 && text_equal(argv[1], "record"))
        status = record(argc - 2, argv + 2, &err);
    else if (argc > 3 && text_equal(argv[1], "check"))
        status = check_all(argc - 2, argv + 2, &err);
    else
        error_set(&err, ERROR_USAGE,
                  "usage: known_witness record FOLDER LABEL... | check KNOWN FOLDER=PLACE...");
    if (status < 0)
        fprintf(stderr, "known_witness: %s\n", err.message);
    return status < 0 ? 2 : status;
}
