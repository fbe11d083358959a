#include "campaign/kept_case.h"

#include "base/file.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "rules/rewriting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* FOLDER/cases/NAME and what is in it, as far as it must be no link. */
static int check_place(const char *folder, const char *name, struct error *err)
{
    static const char *const parts[] = {"", "/model.onnx", "/test_data_set_0"};
    struct str path;
    int status = 0;
    str_init(&path);
    for (size_t i = 0; i <= sizeof parts / sizeof *parts && !status; i++) {
        struct stat info;
        str_clear(&path);
        str_printf(&path, "%s/%s", folder, subfolder);
        if (i)
            str_printf(&path, "/%s%s", name, parts[i - 1]);
        if (lstat(path.data, &info))
            status = error_errno(err, "%s", path.data);
        else if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
            status = error_set(err, ERROR_INVALID, "%s is neither a file nor a folder", path.data);
    }
    str_release(&path);
    return status;
}

static int load(const char *folder, const char *recipe, struct test_case **out, struct error *err)
{
    const char *name = recipe + strlen(prefix);
    if (!kept_case_name_valid(name))
        return error_set(err, ERROR_INVALID, "'%.100s' is no name of a case", name);
    if (!folder)
        return error_set(err, ERROR_USAGE,
                         "the case '%.100s' lies in the folder of its campaign: name that with -o", name);
    if (check_place(folder, name, err))
        return -1;
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/%s/%s", folder, subfolder, name);
    int status = suite_load_one(path.data, out, err);
    str_release(&path);
    if (!status)
        test_case_set_recipe(*out, recipe);
    return status;
}

int campaign_case(const char *folder, const char *recipe, struct test_case **out, struct error *err)
{
    *out = NULL;
    if (text_starts(recipe, prefix))
        return load(folder, recipe, out, err);
    return rewriting_recipe(recipe, out, err);
}

static int write_new(const char *temporary, const char *path, const struct test_case *test, struct error *err)
{
    file_remove_tree(temporary, NULL);
    if (file_make_folders(temporary, err) || suite_write(temporary, test, err))
        return -1;
    return rename(temporary, path) ? error_errno(err, "cannot write %s", path) : 0;
}

int kept_case_write(const char *folder, const char *name, const struct test_case *test, struct error *err)
{
    if (!kept_case_name_valid(name))
        return error_set(err, ERROR_INVALID, "'%.100s' is no name of a case", name);
    struct str path, temporary;
    str_init(&path);
    str_init(&temporary);
    str_printf(&path, "%s/%s/%s", folder, subfolder, name);
    str_printf(&temporary, "%s/%s/.%s.new", folder, subfolder, name);
    int status = file_exists(path.data) ? 0 : write_new(temporary.data, path.data, test, err);
    str_release(&path);
    str_release(&temporary);
    return status;
}
