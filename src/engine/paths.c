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

/* LIB/python3.11/site-packages, of the newest Python that is there; NULL: there is none. */
static char *packages_below(const char *lib)
{
    char **names, *found = NULL;
    size_t count;
    if (file_list(lib, &names, &count, NULL))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        char *python = file_join(lib, names[i]), *packages = file_join(python, "site-packages");
        if (strncmp(names[i], "python3", strlen("python3")) == 0 && file_is_folder(packages)) {
            free(found);
            found = memory_strdup(packages);
        }
        free(packages);
        free(python);
    }
    file_names_free(names, count);
    return found;
}

char *paths_packages(void)
{
    static const char inside[] = "/assay/files/libexec/assay";
    char *libexec = paths_libexec();
    size_t length = strlen(libexec), end = strlen(inside);
    if (length > end && strcmp(libexec + length - end, inside) == 0) {
        libexec[length - end] = '\0';
        return libexec;
    }
    free(libexec);
    const char *environment = getenv("VIRTUAL_ENV");
    if (!environment || *environment != '/')
        return NULL;
    char *lib = file_join(environment, "lib"), *packages = packages_below(lib);
    free(lib);
    return packages;
}

char *paths_config(void)
{
    return user_folder(NULL, "XDG_CONFIG_HOME", ".config/assay");
}
