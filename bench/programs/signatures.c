/*
 * The signatures of cases in the layout of ONNX's backend tests: what bench/dedup holds against the truth.
 *
 *     signatures -e ENGINE... FOLDER...
 *
 * One line a case and engine that is a finding: case, engine, signature, with tabs between. All engines run
 * together, as their verdicts depend on each other.
 */
#include "base/memory.h"
#include "campaign/follow_up.h"
#include "case/backend_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sign_case(const struct panel *panel, const struct suite_case *entry)
{
    struct suite_loaded loaded;
    struct trial_done done;
    struct error err = {0};
    if (suite_load(entry, &loaded, &err)) {
        fprintf(stderr, "signatures: %s\n", err.message);
        suite_unload(&loaded);
        return;
    }
    int status = follow_up_try(panel, loaded.tests[0], &done, &err);
    suite_unload(&loaded);
    if (status) {
        fprintf(stderr, "signatures: %s: %s\n", entry->name, err.message);
        return;
    }
    for (size_t i = 0; i < done.n_engines; i++) {
        struct signature signature;
        if (follow_up_signature(panel, i, &done, &signature))
            printf("%s\t%s\t%s\n", entry->name, panel_engine(panel, i)->label, signature.text);
    }
    trial_done_release(&done);
}

int main(int argc, char **argv)
{
    const char **labels = memory_zeroed((size_t)argc, sizeof *labels);
    int option, status = 2;
    size_t count = 0;
    while ((option = getopt(argc, argv, "e:")) == 'e')
        labels[count++] = optarg;
    if (!count || optind == argc || option == '?') {
        fputs("usage: signatures -e ENGINE... FOLDER...\n", stderr);
        return 2;
    }
    struct error err = {0};
    struct registry *registry = NULL;
    struct suite suite = {0};
    /* Fresh: what reads beyond its memory must always find the same there. */
    struct pool_options limits = {.fresh = true};
    struct panel panel = {0};
    if (registry_open(&registry, NULL, 0, &err) == 0 &&
        panel_open(&panel, registry, labels, count, &limits, &err) == 0 &&
        panel_add_reference(&panel, registry, &err) == 0 &&
        suite_open(&suite, (const char *const *)&argv[optind], (size_t)(argc - optind), NULL, &err) == 0) {
        for (size_t i = 0; i < suite.count; i++)
            sign_case(&panel, &suite.cases[i]);
        status = 0;
    } else {
        fprintf(stderr, "signatures: %s\n", err.message);
    }
    suite_release(&suite);
    panel_close(&panel);
    free(labels);
    if (registry)
        registry_free(registry);
    return status;
}
