/*
 * Experiments made again on cases that were reduced before: bench/dedup --again.
 *
 *     experiments_of ENGINE... <FOLDERS
 *
 * Reads the folders of bundles (docs/commands.md), one a line with the number of the engine that fails and a
 * tab before it, and prints the evidence of each (diagnose/evidence.h) as a line of JSON. A case that the
 * engine now answers right gives an empty line.
 */
#include "base/memory.h"
#include "case/backend_suite.h"
#include "diagnose/diagnose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE = 10 };

struct again {
    struct panel *panel;
    struct registry *registry;
};

/* The trial of a case on one engine, in a fresh process; settled, so that the nodes at fault are known. */
static int try_case(const struct panel *panel, const char *folder, struct trial_done *done, struct error *err)
{
    struct test_case *test;
    if (suite_load_one(folder, &test, err))
        return -1;
    struct trials *trials =
        trials_new(&(struct trial_options){.panel = panel, .fresh = true, .settle = true});
    int status = trials_submit(trials, test, NULL, err) || trials_next(trials, done, err) != 1 ? -1 : 0;
    trials_free(trials);
    return status;
}

static int look_again(const struct again *again, size_t engine, const char *folder, struct error *err)
{
    struct panel alone = *again->panel;
    struct trial_done done;
    struct finding_evidence evidence;
    struct str text;
    alone.engines = &again->panel->engines[engine];
    alone.count = 1;
    if (try_case(&alone, folder, &done, err))
        return -1;
    evidence_init(&evidence);
    str_init(&text);
    if (verdict_is_finding(done.judgement.verdicts[0].kind)) {
        free(diagnose(&alone, again->registry, &done, &evidence));
        evidence_write(&text, &evidence);
    }
    puts(text.data);
    fflush(stdout);
    str_release(&text);
    evidence_release(&evidence);
    trial_done_release(&done);
    return 0;
}

static int look_at_all(const struct again *again, struct error *err)
{
    char *line = NULL;
    size_t room = 0;
    int status = 0;
    while (status == 0 && getline(&line, &room, stdin) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        char *folder;
        unsigned long engine = strtoul(line, &folder, 10);
        status = *folder != '\t' || engine >= again->panel->count
                     ? error_set(err, ERROR_INVALID, "no number and folder: %s", line)
                     : look_again(again, engine, folder + 1, err);
    }
    free(line);
    return status;
}

int main(int argc, char **argv)
{
    struct registry *registry = NULL;
    struct panel panel = {0};
    struct error err = {0};
    struct pool_options limits = {.deadline = DEADLINE};
    int status = registry_open(&registry, NULL, 0, &err);
    if (!status) {
        status = panel_open(&panel, registry,
                            given_all_typed(registry_arena(registry), (const char *const *)argv + 1,
                                            (size_t)argc - 1),
                            &limits, &err) ||
                 panel_add_reference(&panel, registry, &err);
        if (!status) {
            panel_add_fresh(&panel);
            status = look_at_all(&(struct again){.panel = &panel, .registry = registry}, &err);
        }
        panel_close(&panel);
    }
    if (status)
        fprintf(stderr, "experiments_of: %s\n", err.message);
    registry_free(registry);
    return status ? 2 : 0;
}
