/*
 * The registry of engines: finds how to start an engine by its name.
 *
 * An engine is named `name[@version][:knob=value,...]`. The registry reads the INI files of the installed
 * adapters (one for each engine, engines/NAME/NAME.ini), then ~/.config/assay/engines.ini, then the file that
 * $ASSAY_ENGINES names and those of the -E option. A later section replaces an earlier one of the same name.
 * docs/engines.md explains the format to users.
 *
 *     [onnxruntime]
 *     command = {libexec}/assay-engine-onnxruntime
 *     library = {data}/onnxruntime/{version}/libonnxruntime.so
 *     package = onnxruntime/capi/libonnxruntime.so.{version}
 *     fetch = tools/fetch onnxruntime
 *     knob-environment.cpu = SOME_VARIABLE
 *     environment.OMP_NUM_THREADS = 1
 *     launcher = yes
 *     memory = 4G
 *     see = {here}/weights /dev/nvidia0
 *     pass = MY_LICENCE_FILE
 *     sandbox = strict
 *
 *     [simplify]
 *     transform = onnxsim {in} {out}
 *     then = onnxruntime:opt=none
 *     lacks = not supported
 *
 *     [opencv]
 *     command = {libexec}/assay-engine-opencv
 *     versions = {data}/opencv/{version}/assay-engine-opencv
 *     fetch = tools/fetch-root
 *
 * library: the path of each version of the library; package: the same among the packages of the Python
 * environment (paths.h). The path that was found is passed to the adapter in $ASSAY_LIBRARY. A name without a
 * version means the path in $ASSAY_LIBRARY_NAME, else what is in the Python environment, else the newest
 * version found, else the library that the adapter finds by itself (the system's). When a version is named
 * and not there, the engine is not found. versions: the path of adapters that were built with other versions
 * of the library; opencv@4.10.0 runs the adapter of that version, plain opencv runs the command.
 * knob-environment: a knob that must be set before the library is loaded; it is passed in that environment
 * variable and not in hello. launcher: the command brings its own isolation (ssh, docker). see: further files
 * and folders that the engine may read in its sandbox, devices also to write. pass: further environment
 * variables that it gets. sandbox: strict, default or off. knob.NAME: what a knob chooses, and which of its
 * values others than the user may choose (engine/declared_knobs.h). The other keys declare facts about the
 * engine itself (profile.h); like = NAME copies those of an earlier section.
 *
 * transform: in place of a command, a tool that makes one model from another; what it wrote runs on the
 * engine of `then`, whose profile and knobs are this engine's (engines/transform). lacks: a text, several
 * with | between them, in what the tool says where it lacks something.
 *
 * Every engine has the knobs `perturb`, `freed`, `guard` and `memcheck`, which go to environment variables.
 */
#ifndef ENGINE_REGISTRY_H
#define ENGINE_REGISTRY_H

#include "base/arena.h"
#include "base/error.h"
#include "engine/given_label.h"
#include "engine/profile.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct registry;

/* How an engine is walled in: as far as the system allows, not at all unless completely, or by limits alone.
 */
enum sandbox_mode { SANDBOX_DEFAULT, SANDBOX_STRICT, SANDBOX_OFF };

/* One engine, ready to start. Strings live in the registry. */
struct engine_spec {
    const char *label;               /* the name as given: "onnxruntime@1.17.0:opt=none" */
    const struct given_label *given; /* the same with its origin, for whoever makes another of it */
    const char *name;                /* "onnxruntime" */
    const char *version;             /* as named or found; NULL when only the adapter knows it */
    const char *const *argv;         /* NULL-terminated */
    const char *const *environment;  /* "NAME=value", added to Assay's own environment; NULL-terminated */
    size_t knobs;
    const char *const *knob_names, *const *knob_values;
    const char *const *hidden_knobs; /* "NAME=value": those that go into the environment; NULL-terminated */
    const char *const *writes; /* whole paths of files that knobs name for it to write; NULL-terminated */
    const char *folder;        /* of its engine file */
    const char *const *see, *const *pass; /* of its engine file: further paths and variables; or NULL */
    enum sandbox_mode sandbox;
    bool launcher; /* runs without Assay's isolation */
    bool tool;     /* it makes another model, which an engine runs (`transform`) */
    size_t memory; /* bytes of address space, 0: the default */
    const struct engine_profile *profile;
};

int registry_open(struct registry **registry, const char *const *extra_files, size_t count,
                  struct error *err);
void registry_free(struct registry *registry);

/* For labels that live as long as the registry. */
struct arena *registry_arena(struct registry *registry);

/*
 * Finds an engine by its label. Fails with ERROR_NOT_FOUND and a message that lists the engines or versions
 * there are, and with ERROR_UNSUPPORTED where the label has settings that are the user's own and the user did
 * not type them (engine/given_label.h). A file that a knob names for the engine to write is made anew, once
 * for the registry, and removed with it when it stayed empty; a name that is taken is refused
 * (base/made_file.h). It is relative to the current folder.
 */
int registry_find(struct registry *registry, const struct given_label *label, const struct engine_spec **spec,
                  struct error *err);

/* The file in which the engine's section stands; NULL when there is no such engine. */
const char *registry_file(const struct registry *registry, const char *name);

/* The program that fetches releases of an engine's library, as the engine's section names it and an
 * installation has it; NULL where it has none. */
const char *registry_fetcher(struct registry *registry, const char *name);

/* The engine that gives second opinions (profile.h); NULL when none is installed. */
const char *registry_second_opinion(const struct registry *registry);

/*
 * Calls visit(name, version or NULL, library path or NULL) for every engine and each of its versions, in
 * ascending order. Used by `assay engines` and for name@all.
 */
int registry_each(struct registry *registry,
                  int (*visit)(void *context, const char *name, const char *version, const char *path),
                  void *context);

#ifdef __cplusplus
}
#endif
#endif
