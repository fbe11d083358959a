#define _GNU_SOURCE
#include "engine/sandbox.h"

#include "base/file.h"
#include "base/memory.h"
#include "engine/paths.h"
#include "engine/scratch.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What tells libraries how to compute, where to find themselves and how to speak, and what the tools of
 * developers need. Each is named: by their beginnings, tokens and keys would pass (NODE_AUTH_TOKEN,
 * NVIDIA_API_KEY). Variables of single engines stand in their engine files. */
static const char *const known_variables[] = {
    "PATH", "TZ", "TERM", "CI", "NO_COLOR",
    /* language */
    "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MONETARY",
    "LC_MESSAGES", "LC_PAPER", "LC_NAME", "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION",
    /* loader and C library */
    "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_BIND_NOW", "LD_DEBUG", "LD_DEBUG_OUTPUT", "LD_SHOW_AUXV",
    "GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_ARENA_TEST", "MALLOC_CHECK_", "MALLOC_PERTURB_",
    "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_CONF",
    /* OpenMP */
    "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "OMP_SCHEDULE", "OMP_PROC_BIND", "OMP_PLACES",
    "OMP_WAIT_POLICY", "OMP_STACKSIZE", "OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS", "OMP_CANCELLATION",
    "OMP_DISPLAY_ENV", "OMP_DISPLAY_AFFINITY", "OMP_DEFAULT_DEVICE", "OMP_TARGET_OFFLOAD", "OMP_TOOL",
    "GOMP_CPU_AFFINITY", "GOMP_DEBUG", "GOMP_SPINCOUNT", "GOMP_STACKSIZE", "KMP_AFFINITY", "KMP_BLOCKTIME",
    "KMP_DUPLICATE_LIB_OK", "KMP_HW_SUBSET", "KMP_INIT_AT_FORK", "KMP_LIBRARY", "KMP_SETTINGS",
    "KMP_STACKSIZE",
    /* linear algebra */
    "OPENBLAS_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS", "OPENBLAS_CORETYPE", "OPENBLAS_VERBOSE",
    "OPENBLAS_MAIN_FREE", "OPENBLAS_THREAD_TIMEOUT", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS", "BLIS_ARCH_TYPE",
    "BLIS_ARCH_DEBUG", "MKL_NUM_THREADS", "MKL_DYNAMIC", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS",
    "MKL_DEBUG_CPU_TYPE", "MKL_THREADING_LAYER", "MKL_INTERFACE_LAYER", "MKL_SERVICE_FORCE_INTEL",
    "MKL_VERBOSE",
    /* graphics processors */
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "CUDA_PATH", "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_PATH", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE", "HIP_VISIBLE_DEVICES",
    "HIP_PATH", "ROCM_PATH", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "HSA_ENABLE_SDMA",
    /* interpreters */
    "NODE_PATH", "NODE_OPTIONS", "NODE_ENV", "NODE_NO_WARNINGS", "NODE_ICU_DATA", "NODE_DISABLE_COLORS",
    "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONWARNINGS", "PYTHONFAULTHANDLER",
    "PYTHONMALLOC", "PYTHONOPTIMIZE", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONVERBOSE", "PYTHONSAFEPATH",
    "PYENV_ROOT", "PYENV_VERSION", "PYENV_DIR", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION",
    /* sanitizers, coverage, profilers */
    "ASAN_OPTIONS", "ASAN_SYMBOLIZER_PATH", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "MSAN_OPTIONS",
    "LLVM_PROFILE_FILE", "LLVM_SYMBOLIZER_PATH", "GCOV_PREFIX", "GCOV_PREFIX_STRIP", "VALGRIND_LIB",
    "VALGRIND_OPTS", NULL};

static const char data_folder[] = "ASSAY_DATA=";

struct seen {
    const char **paths;
    size_t count, room;
    struct arena *arena;
};

const char *sandbox_mode_name(enum sandbox_mode mode)
{
    return mode == SANDBOX_STRICT ? "strict" : mode == SANDBOX_OFF ? "off" : "default";
}

enum sandbox_mode sandbox_mode_for(enum sandbox_mode asked, const struct engine_spec *spec)
{
    return asked == SANDBOX_DEFAULT ? spec->sandbox : asked;
}

static void add_one(struct seen *seen, const char *path)
{
    if (*path != '/' || !path[1])
        return;
    seen->paths = memory_grow(seen->paths, &seen->room, seen->count + 1, sizeof *seen->paths);
    seen->paths[seen->count++] = arena_strdup(seen->arena, path);
}

/* As it is written, and as it is called without links: programs ask for either. */
static void add(struct seen *seen, const char *path)
{
    char whole[PATH_MAX];
    if (*path != '/' || !realpath(path, whole))
        return;
    add_one(seen, path);
    if (!text_equal(path, whole))
        add_one(seen, whole);
}

static bool is_home(const char *path)
{
    const char *home = getenv("HOME");
    char whole[PATH_MAX], own[PATH_MAX];
    return home && realpath(home, whole) && realpath(path, own) && text_equal(whole, own);
}

/* The folder of a file, as what lies beside a program is part of it; only the file where that is somebody's
 * home. */
static void add_folder_of(struct seen *seen, const char *path)
{
    char *folder = memory_strdup(path), *slash = strrchr(folder, '/');
    struct stat status;
    if (slash && slash > folder && stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
        *slash = '\0';
    add(seen, is_home(folder) ? path : folder);
    free(folder);
}

/* The same for a file and for what it is a link to. */
static void add_with_folder(struct seen *seen, const char *path)
{
    char whole[PATH_MAX];
    add_folder_of(seen, path);
    if (realpath(path, whole) && !text_equal(path, whole))
        add_folder_of(seen, whole);
}

/* The folder into which a program was installed with its libraries: that above its bin. */
static void add_installation(struct seen *seen, const char *program)
{
    char whole[PATH_MAX];
    add_with_folder(seen, program);
    if (!realpath(program, whole))
        return;
    char *slash = strrchr(whole, '/');
    *slash = '\0';
    char *last = strrchr(whole, '/');
    if (!last || (!text_equal(last, "/bin") && !text_equal(last, "/shims")))
        return;
    *last = '\0';
    if (*whole && !text_equal(whole, "/usr") && !is_home(whole) && !text_ends(whole, "/.local"))
        add(seen, whole);
}

static bool find_in_path(const char *name, char *path, size_t size)
{
    const char *at = getenv("PATH");
    for (at = at ? at : "/usr/bin:/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        int written = snprintf(path, size, "%.*s/%s", (int)strcspn(at, ":"), at, name);
        if (written > 0 && (size_t)written < size && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

static void add_program(struct seen *seen, const char *name)
{
    char path[PATH_MAX];
    if (strchr(name, '/'))
        add_installation(seen, name);
    else if (find_in_path(name, path, sizeof path))
        add_installation(seen, path);
}

/* The words of a script's first line: "#!/usr/bin/env python3" needs both. */
static void add_interpreter(struct seen *seen, const char *script)
{
    char line[256] = "";
    FILE *file = fopen(script, "re");
    size_t got = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file)
        fclose(file);
    line[got] = '\0';
    if (!text_starts(line, "#!"))
        return;
    line[strcspn(line, "\n")] = '\0';
    char *rest = NULL;
    for (char *word = strtok_r(line + 2, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest))
        add_program(seen, word);
}

/* Packages that a user installed for Python. */
static void add_user_packages(struct seen *seen)
{
    const char *home = getenv("HOME");
    char path[PATH_MAX];
    if (home && snprintf(path, sizeof path, "%s/.local/lib", home) < (int)sizeof path)
        add(seen, path);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each path once, NULL-terminated, in the arena. */
static const char *const *finish_list(struct seen *seen)
{
    const char **list = arena_array(seen->arena, seen->count + 1, sizeof *list);
    size_t count = 0;
    if (seen->count)
        qsort(seen->paths, seen->count, sizeof *seen->paths, by_path);
    for (size_t i = 0; i < seen->count; i++)
        if (!count || !text_equal(list[count - 1], seen->paths[i]))
            list[count++] = seen->paths[i];
    free(seen->paths);
    return list;
}

const char *const *sandbox_sees(const struct engine_spec *spec, const char *libexec,
                                const char *const *further, struct arena *arena)
{
    struct seen seen = {.arena = arena};
    char *data = paths_data();
    add(&seen, libexec);
    add(&seen, data);
    free(data);
    add_program(&seen, spec->argv[0]);
    add_interpreter(&seen, spec->argv[0]);
    for (size_t i = 1; spec->argv[i]; i++)
        if (*spec->argv[i] == '/')
            add_with_folder(&seen, spec->argv[i]);
    for (size_t i = 0; spec->environment && spec->environment[i]; i++) {
        const char *value = strchr(spec->environment[i], '=');
        if (value && value[1] == '/')
            add_with_folder(&seen, value + 1); /* a library may be a link out of the data folder */
    }
    if (spec->folder && !is_home(spec->folder))
        add(&seen, spec->folder);
    add_user_packages(&seen);
    for (size_t i = 0; spec->see && spec->see[i]; i++)
        add(&seen, spec->see[i]);
    for (size_t i = 0; further && further[i]; i++)
        add(&seen, further[i]);
    return finish_list(&seen);
}

/* True when `variable` ("NAME=value") sets the same name as one of the spec's. */
static bool is_replaced(const char *variable, const char *const *environment)
{
    const char *equals = strchr(variable, '=');
    size_t length = equals ? (size_t)(equals - variable) + 1 : strlen(variable);
    for (size_t i = 0; environment && environment[i]; i++)
        if (strncmp(environment[i], variable, length) == 0)
            return true;
    return false;
}

/* Whether one of the names, NULL-terminated, is the variable's. */
static bool is_named(const char *variable, const char *const *names)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; names && names[i]; i++)
        if (strlen(names[i]) == length && strncmp(names[i], variable, length) == 0)
            return true;
    return false;
}

char **sandbox_environment(const struct engine_spec *spec, enum sandbox_mode mode, struct arena *arena)
{
    const char *const *added = spec->environment;
    const char *home = getenv("HOME");
    size_t ours = 0, theirs = 0, n = 0;
    while (environ[ours])
        ours++;
    while (added && added[theirs])
        theirs++;
    char **list = arena_array(arena, ours + theirs + 3, sizeof *list);
    for (size_t i = 0; i < ours; i++)
        if (!is_replaced(environ[i], added) &&
            (mode == SANDBOX_OFF ||
             (strncmp(environ[i], data_folder, strlen(data_folder)) != 0 &&
              (is_named(environ[i], known_variables) || is_named(environ[i], spec->pass)))))
            list[n++] = environ[i];
    /* Inside, the home folder is the scratch folder: what is found by it otherwise is named. */
    if (mode != SANDBOX_OFF) {
        char *data = paths_data();
        list[n++] = arena_printf(arena, "%s%s", data_folder, data);
        free(data);
    }
    if (mode != SANDBOX_OFF && home && !getenv("PYTHONUSERBASE"))
        list[n++] = arena_printf(arena, "PYTHONUSERBASE=%s/.local", home);
    for (size_t i = 0; i < theirs; i++)
        list[n++] = arena_strdup(arena, added[i]);
    return list;
}

/* The value of a line "key=value" of assay-launch. */
static const char *value_of(const char *text, const char *key, char *value, size_t size)
{
    const char *line = strstr(text, key);
    *value = '\0';
    if (line)
        snprintf(value, size, "%.*s", (int)strcspn(line + strlen(key), "\n"), line + strlen(key));
    return value;
}

static void describe(const char *text, struct str *out)
{
    char files[40], processes[40], network[40], user[40], why[640];
    value_of(text, "files=", files, sizeof files);
    value_of(text, "processes=", processes, sizeof processes);
    value_of(text, "network=", network, sizeof network);
    value_of(text, "user=", user, sizeof user);
    value_of(text, "why=", why, sizeof why);
    bool root = text_equal(user, "root");
    bool all = text_equal(files, "namespace") && text_equal(processes, "namespace") && !root;
    if (text_equal(files, "none"))
        str_add(out, "Files: no wall. An engine reads and writes what this user may.\n");
    else
        str_printf(
            out,
            "Files: an engine reads the system's programs and libraries and the folders that it needs, "
            "and writes to its scratch folder (%s).\n",
            text_equal(files, "namespace") ? "mount namespace" : "Landlock");
    str_add(out,
            text_equal(processes, "namespace")
                ? "Processes: an engine sees no others, and all that it starts end with it (PID namespace).\n"
                : "Processes: an engine sees those of others, and reaches none of them by signals.\n");
    str_printf(out, "Network: none (%s).\n",
               text_equal(network, "namespace") ? "network namespace and seccomp" : "seccomp");
    if (root)
        str_add(out, "User: root starts engines, and they stay root, without its capabilities.\n");
    else if (geteuid() == 0)
        str_add(out, "User: root starts engines, and they run as nobody.\n");
    str_add(out, "Memory, size of files, number of files: limited (setrlimit), and memory watched.\n");
    if (!all)
        str_printf(out, "Not everything stands: %s. --sandbox strict refuses to run here.\n",
                   *why ? why : "no private /proc may be mounted");
}

/* What assay-launch prints about the walls around a folder; false when it does not. */
static bool ask_launcher(const char *libexec, const char *folder, char *text, size_t size)
{
    int ends[2], status = -1;
    pid_t pid = -1;
    char *program = file_join(libexec, "assay-launch");
    char *argv[] = {program, "--scratch", memory_strdup(folder), "--walls", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    size_t length = 0;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (posix_spawn(&pid, program, &actions, NULL, argv, environ))
            pid = -1;
        close(ends[1]);
        for (ssize_t got = 1; got > 0 && length<size - 1; length += got> 0 ? (size_t)got : 0)
            got = read(ends[0], text + length, size - 1 - length);
        close(ends[0]);
    }
    text[length] = '\0';
    posix_spawn_file_actions_destroy(&actions);
    free(argv[2]);
    free(program);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

enum { WALLS_TEXT = 1000 };

static int ask(const char *libexec, char text[WALLS_TEXT], struct error *err)
{
    struct scratch scratch;
    char *folder = NULL;
    if (scratch_open(&scratch, err) || scratch_add(&scratch, &folder, err))
        return -1;
    bool said = ask_launcher(libexec, folder, text, WALLS_TEXT);
    free(folder);
    scratch_close(&scratch);
    return said ? 0 : error_set(err, ERROR_IO, "assay-launch does not say which walls stand");
}

int sandbox_describe(const char *libexec, struct str *out, struct error *err)
{
    char text[WALLS_TEXT];
    if (ask(libexec, text, err))
        return -1;
    describe(text, out);
    return 0;
}

void sandbox_warn(const char *libexec, struct str *out)
{
    char text[WALLS_TEXT], files[40], processes[40], user[40];
    struct error ignored;
    if (ask(libexec, text, &ignored))
        return; /* no engine starts then, and says why */
    value_of(text, "files=", files, sizeof files);
    value_of(text, "processes=", processes, sizeof processes);
    value_of(text, "user=", user, sizeof user);
    struct str what;
    str_init(&what);
    if (text_equal(files, "none"))
        str_add(&what, "reads and writes what this user may");
    if (!text_equal(processes, "namespace"))
        str_printf(&what, "%ssees other processes", what.length ? ", and " : "");
    if (text_equal(user, "root"))
        str_printf(&what, "%sstays root", what.length ? ", and " : "");
    if (what.length)
        str_printf(
            out,
            "The sandbox is not whole on this machine: an engine %s; 'assay engines --sandbox' says why.",
            what.data);
    str_release(&what);
}
