/*
 * Names to command lines.
 *
 * An engine is named `name[@version][:knob=value,...]`. The registry is what the installed adapters bring
 * (one INI file an engine, engines/NAME/NAME.ini), then ~/.config/assay/engines.ini, then the file in
 * $ASSAY_ENGINES and the -E option; a later section of the same name replaces an earlier one. docs/engines.md
 * explains the format to users.
 *
 *     [onnxruntime]
 *     command = {libexec}/assay-engine-onnxruntime
 *     library = {data}/onnxruntime/{version}/libonnxruntime.so
 *     fetch = tools/fetch-onnxruntime
 *     knob-environment.cpu = SOME_VARIABLE
 *     environment.OMP_NUM_THREADS = 1
 *     launcher = yes
 *     memory = 4G
 *
 *     [opencv]
 *     command = {libexec}/assay-engine-opencv
 *     versions = {data}/opencv/{version}/assay-engine-opencv
 *     fetch = tools/fetch-root
 *
 * library: where versions lie; the path found goes to the adapter in $ASSAY_LIBRARY. A plain name takes the
 * path in $ASSAY_LIBRARY_NAME, else the newest version found, else what the adapter finds by itself (the
 * system's library). knob-environment: a knob that must be set before the library loads; it goes into that
 * variable, not into hello. launcher: the command brings its own isolation (ssh, docker). Without the named
 * version an engine is not found. versions: where adapters lie that were built with other versions of the
 * library; opencv@4.10.0 runs that one's, plain opencv the command. The other keys declare what is known of
 * the engine itself (profile.h); like = NAME takes over what an earlier section declares of its.
 */
#ifndef ENGINE_REGISTRY_H
#define ENGINE_REGISTRY_H

#include "base/arena.h"
#include "base/error.h"
#include "engine/profile.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct registry;

/* One engine, ready to start. Strings live in the registry. */
struct engine_spec {
    const char *label;              /* the name as given: "onnxruntime@1.17.0:opt=none" */
    const char *name;               /* "onnxruntime" */
    const char *version;            /* as asked or found; NULL when the adapter must tell */
    const char *const *argv;        /* NULL-terminated */
    const char *const *environment; /* "NAME=value", added to ours; NULL-terminated */
    size_t knobs;
    const char *const *knob_names, *const *knob_values;
    const char *const *hidden_knobs; /* "NAME=value": those that go into the environment; NULL-terminated */
    bool launcher;                   /* exempt from our isolation */
    size_t memory;                   /* bytes of address space, 0: the default */
    const struct engine_profile *profile;
};

int registry_open(struct registry **registry, const char *const *extra_files, size_t count,
                  struct error *err);
void registry_free(struct registry *registry);

/* Fails with ERROR_NOT_FOUND and a message that lists what there is. */
int registry_find(struct registry *registry, const char *label, const struct engine_spec **spec,
                  struct error *err);

/*
 * Names and versions, for `assay engines` and for name@all: calls visit(name, version or NULL, library path
 * or NULL), versions ascending.
 */
int registry_each(struct registry *registry,
                  int (*visit)(void *context, const char *name, const char *version, const char *path),
                  void *context);

#ifdef __cplusplus
}
#endif
#endif
