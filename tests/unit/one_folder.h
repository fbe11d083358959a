/* A folder that all tests of a program share: set-up and tear-down of the group. */
#ifndef UNIT_ONE_FOLDER_H
#define UNIT_ONE_FOLDER_H

#include "base/file.h"

#include <stdlib.h>

static char folder[] = "/tmp/assay-test-XXXXXX";

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder, NULL);
}

#endif
