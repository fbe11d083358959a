#include "engine/paths.h"

#include "base/file.h"
#include "base/memory.h"
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder that holds `path`, cut off in place. */
static char *cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return path;
}

static bool in_folder(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* The folder of the build tree's, the one beside the program, or where the build said it would be installed.
 */
static char *find_folder(const char *built, const char *beside, const char *installed)
{
    char exe[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[length > 0 ? length : 0] = '\0';
    char *build = cut_last(memory_strdup(ASSAY_BUILD_LIBEXEC));
    bool uninstalled = in_folder(exe, build);
    free(build);
    if (uninstalled)
        return memory_strdup(built);
    /* PREFIX/bin/assay, and PREFIX/libexec/assay/assay-judge. */
    cut_last(exe);
    for (int up = 0; up < 2; up++) {
        char *path = file_join(cut_last(exe), beside);
        if (file_is_folder(path))
            return path;
        free(path);
    }
    return memory_strdup(installed);
}

char *paths_libexec(void)
{
    return find_folder(ASSAY_BUILD_LIBEXEC, "libexec/assay", ASSAY_LIBEXEC);
}

char *paths_known(void)
{
    return find_folder(ASSAY_BUILD_KNOWN, "share/assay/known", ASSAY_KNOWN);
}

static char *user_folder(const char *own, const char *xdg, const char *fallback)
{
    const char *set = own ? getenv(own) : NULL;
    if (set && *set)
        return memory_strdup(set);
    set = getenv(xdg);
    if (set && *set)
        return file_join(set, "assay");
    const char *home = getenv("HOME");
    return file_join(home && *home ? home : "/", fallback);
}

char *paths_data(void)
{
    return user_folder("ASSAY_DATA", "XDG_DATA_HOME", ".local/share/assay");
}

char *paths_config(void)
{
    return user_folder(NULL, "XDG_CONFIG_HOME", ".config/assay");
}
