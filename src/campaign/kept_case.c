#include "campaign/kept_case.h"

#include "base/file.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "rules/rewriting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "case cases/", subfolder[] = "cases";

static bool plain(char c, bool first)
{
    bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return alphanumeric || (!first && c && strchr("_-.", c));
}

bool kept_case_name_valid(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!plain(name[i], i == 0))
            return false;
    return length > 0 && length < KEPT_NAME_SIZE;
}

void kept_case_name(const char *text, uint64_t number, char name[KEPT_NAME_SIZE])
{
    snprintf(name, KEPT_NAME_SIZE, "%.60s-%" PRIu64, text, number);
    for (size_t i = 0; name[i]; i++)
        if (!plain(name[i], i == 0))
            name[i] = i ? '_' : 'm';
}

static int load(const struct folder *folder, const char *recipe, struct test_case **out, struct error *err)
{
    const char *name = recipe + strlen(prefix);
    if (!kept_case_name_valid(name))
        return error_set(err, ERROR_INVALID, "'%.100s' is no name of a case", name);
    if (!folder)
        return error_set(err, ERROR_USAGE,
                         "the case '%.100s' lies in the folder of its campaign: name that with -o", name);
    char *path = file_join(subfolder, name);
    int status = suite_load_in(folder, path, out, err);
    free(path);
    if (!status)
        test_case_set_recipe(*out, recipe);
    return status;
}

int campaign_case(const struct folder *folder, const char *recipe, struct test_case **out, struct error *err)
{
    *out = NULL;
    if (text_starts(recipe, prefix))
        return load(folder, recipe, out, err);
    return rewriting_recipe(recipe, out, err);
}

static int write_new(const struct folder *folder, const char *temporary, const char *path,
                     const struct test_case *test, struct error *err)
{
    struct folder made = {0};
    int status = folder_remove(folder, temporary, err) || folder_make(&made, folder, temporary, err) ||
                         suite_write(&made, test, err) || folder_move(folder, temporary, folder, path, err)
                     ? -1
                     : 0;
    folder_close(&made);
    return status;
}

int kept_case_write(const struct folder *folder, const char *name, const struct test_case *test,
                    struct error *err)
{
    if (!kept_case_name_valid(name))
        return error_set(err, ERROR_INVALID, "'%.100s' is no name of a case", name);
    struct str path, temporary;
    str_init(&path);
    str_init(&temporary);
    str_printf(&path, "%s/%s", subfolder, name);
    str_printf(&temporary, "%s/.%s.new", subfolder, name);
    int status = folder_has(folder, path.data)
                     ? folder_make_all(folder, path.data, err) /* fails where it is no folder */
                     : write_new(folder, temporary.data, path.data, test, err);
    str_release(&path);
    str_release(&temporary);
    return status;
}
