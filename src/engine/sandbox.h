/*
 * What an engine's process sees of this machine: which files besides the system's own, and which environment
 * variables. assay-launch builds the walls (engines/launch/sandbox.h).
 */
#ifndef ENGINE_SANDBOX_H
#define ENGINE_SANDBOX_H

#include "base/str.h"
#include "engine/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The words of --sandbox, in this order. */
#define SANDBOX_MODES "default|strict|off"
const char *sandbox_mode_name(enum sandbox_mode mode);

/* The mode for an engine: its own from the registry, unless the user wants it strict. */
enum sandbox_mode sandbox_mode_for(enum sandbox_mode asked, const struct engine_spec *spec);

/*
 * The paths that the engine may read, NULL-terminated, in the arena: Assay's own programs and fetched
 * engines, the folder of its engine file and those of its command with the interpreter, what `see` names
 * there, and `further` (NULL-terminated).
 */
const char *const *sandbox_sees(const struct engine_spec *spec, const char *libexec,
                                const char *const *further, struct arena *arena);

/* Assay's environment, without the variables that are not known to concern engines (sandbox off: with them),
 * and with those of the spec. */
char **sandbox_environment(const struct engine_spec *spec, enum sandbox_mode mode, struct arena *arena);

/* Appends a sentence when not all walls of --sandbox default stand on this machine: what an engine can do
 * that it should not. Asks assay-launch, like sandbox_describe. */
void sandbox_warn(const char *libexec, struct str *out);

/* Which walls stand on this machine, in sentences, by asking assay-launch. */
int sandbox_describe(const char *libexec, struct str *out, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
