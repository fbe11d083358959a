/* Finds the library for this processor in a release's folder and opens it. */
#include "library.h"

#include "base/memory.h"
#include "base/str.h"
#include "release.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One library for each level of x86-64, from 3.4.0 on; older releases have one for AVX2. */
const char library_levels[] = "best|x64|sse42|sandybridge|ivybridge|piledriver|haswell|skylakex|cannonlake|"
                              "cascadelake|icelake|cooperlake|zen4|alderlake|sapphirerapids";

static void *open_file(const char *folder, const char *name, const char *level)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s%s%s.so", folder, name, *level ? "-" : "", level);
    if (length < 0 || (size_t)length >= sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* What the library itself says of this processor: 0 where it cannot run here. */
static int score_of(void *handle)
{
    int (*score)(void) = NULL;
    void *symbol = dlsym(handle, "ggml_backend_score");
    memcpy(&score, &symbol, sizeof symbol);
    return score ? score() : 0;
}

/* The library of the highest score, as ggml_backend_load_all chooses it; NULL where the release has no
 * levels. */
static void *open_best(const char *folder)
{
    void *best = NULL;
    int most = 0;
    char level[32];
    for (const char *at = strchr(library_levels, '|'); at; at = strchr(at, '|')) {
        size_t length = strcspn(++at, "|");
        snprintf(level, sizeof level, "%.*s", (int)length, at);
        void *handle = open_file(folder, "libggml-cpu", level);
        int score = handle ? score_of(handle) : 0;
        if (score <= most) {
            if (handle)
                dlclose(handle);
            continue;
        }
        if (best)
            dlclose(best);
        best = handle;
        most = score;
    }
    return best;
}

static int open_level(struct adapter_call *call, struct library *library, const char *folder)
{
    const char *level = adapter_knob(call->adapter, "cpu");
    /* What the others need, which those of 3.4 look for elsewhere; releases before 3.3 have none. */
    open_file(folder, "libggml-base", "");
    if (strcmp(level, "best") == 0) {
        library->handle = open_best(folder);
        if (!library->handle)
            library->handle = open_file(folder, "libggml-cpu", "");
        if (!library->handle)
            library->handle = open_file(folder, "libggml", "");
        return library->handle ? 0
                               : adapter_fail(call, ADAPTER_FAILED, "no ggml in %s: %s", folder, dlerror());
    }
    library->handle = open_file(folder, "libggml-cpu", level);
    if (!library->handle)
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "this release has no libggml-cpu-%s.so", level);
    if (score_of(library->handle) == 0)
        return adapter_fail(call, ADAPTER_UNSUPPORTED,
                            "libggml-cpu-%s.so says that it cannot run on this processor", level);
    return 0;
}

/* "3.22.1 (llama.cpp v0.5.0)": the package's number, and the sources' name where the package tells it. */
static void name_release(struct library *library, const char *folder, struct str *version)
{
    char package[64], sources[64];
    release_text(folder, "package.json", "version", package, sizeof package);
    release_text(folder, "_nlcBuildMetadata.json", "release", sources, sizeof sources);
    if (sscanf(package, "%d.%d.%d", &library->release[0], &library->release[1], &library->release[2]) != 3)
        library->release[0] = 999;
    str_add(version, package[0] ? package : "unknown");
    if (sources[0])
        str_printf(version, " (llama.cpp %s)", sources);
}

bool library_since(const struct library *library, int major, int minor, int patch)
{
    const int *release = library->release, least[] = {major, minor, patch};
    for (int i = 0; i < 3; i++)
        if (release[i] != least[i])
            return release[i] > least[i];
    return true;
}

/* The types' numbers must mean what they meant: else the release has another interface than the adapter's. */
static int check_types(struct adapter_call *call, const struct api *api)
{
    static const struct {
        int type;
        const char *name;
    } types[] = {
        {TYPE_F32, "f32"},   {TYPE_F16, "f16"}, {TYPE_Q4_0, "q4_0"}, {TYPE_Q5_0, "q5_0"},
        {TYPE_Q8_0, "q8_0"}, {TYPE_I32, "i32"}, {TYPE_BF16, "bf16"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *name = api->type_name(types[i].type);
        if (!name || strcmp(name, types[i].name) != 0)
            return adapter_fail(call, ADAPTER_AT_FAULT, "this release calls type %d %s, and not %s",
                                types[i].type, name ? name : "nothing", types[i].name);
    }
    return 0;
}

static int read_knobs(struct adapter_call *call, struct library *library)
{
    static const int types[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_Q8_0, TYPE_Q5_0, TYPE_Q4_0};
    int weights = adapter_choice(call, "weights"), convolution = adapter_choice(call, "conv");
    int threads = adapter_number(call, "threads", 1, 256);
    if (weights < 0 || convolution < 0 || threads < 0 || adapter_choice(call, "cpu") < 0)
        return -1;
    library->weights = types[weights];
    library->convolution = (enum convolution)convolution;
    return threads;
}

static int start_library(struct adapter_call *call, struct library *library, const char *folder,
                         struct str *version)
{
    int threads = read_knobs(call, library);
    if (threads < 0 || open_level(call, library, folder))
        return -1;
    const char *missing = api_find(&library->api, library->handle);
    if (missing)
        return adapter_fail(call, ADAPTER_AT_FAULT, "this release has no %s", missing);
    if (check_types(call, &library->api))
        return -1;
    name_release(library, folder, version);
    library->backend = library->api.backend_cpu_init();
    if (!library->backend)
        return adapter_fail(call, ADAPTER_FAILED, "ggml_backend_cpu_init gives nothing");
    library->api.backend_cpu_set_n_threads(library->backend, threads);
    return 0;
}

int library_open(struct adapter_call *call, struct library **library, struct str *version)
{
    const char *path = getenv("ASSAY_LIBRARY");
    if (!path || !*path)
        return adapter_fail(call, ADAPTER_FAILED,
                            "no release of ggml is here: 'assay fetch ggml' brings one");
    char *folder = memory_strdup(path), *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    *library = memory_zeroed(1, sizeof **library);
    int result = start_library(call, *library, folder, version);
    free(folder);
    if (result) {
        library_close(*library);
        *library = NULL;
    }
    return result;
}

/* The library stays loaded, for what it runs at the end of the process. */
void library_close(struct library *library)
{
    if (library && library->backend)
        library->api.backend_free(library->backend);
    free(library);
}
