/* A folder of its own for each test that writes: set-up and tear-down of a test, whose state is its path. */
#ifndef UNIT_OWN_FOLDER_H
#define UNIT_OWN_FOLDER_H

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

static inline int make_folder(void **state)
{
    char *folder = strdup("/tmp/assay-test-XXXXXX");
    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    int result = file_remove_tree(*state, NULL);
    free(*state);
    return result;
}

#endif
