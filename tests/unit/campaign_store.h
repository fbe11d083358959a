/*
 * The store of a campaign for tests: in SQLite, in a folder of its own; or with ASSAY_TEST_POSTGRES, the
 * address of a server (tools/with-postgres), in PostgreSQL, under a name of its own.
 */
#ifndef TESTS_CAMPAIGN_STORE_H
#define TESTS_CAMPAIGN_STORE_H

#include "base/file.h"
#include "findings/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static const char *server; /* NULL: SQLite */
static char campaign[40];

/* Every test has a campaign of its own. */
static inline int make_campaign(void **state)
{
    static int number;
    (void)state;
    snprintf(campaign, sizeof campaign, "test-%d-%d", (int)getpid(), number++);
    return 0;
}

static inline int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/assay-store-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder, NULL);
}

static inline struct store *open_store(enum store_mode mode)
{
    struct store *store;
    struct error err = {0};
    if (server ? store_open_campaign(&store, server, campaign, mode, &err)
               : store_open(&store, folder, mode, &err))
        fail_msg("%s", err.message);
    return store;
}

#endif
