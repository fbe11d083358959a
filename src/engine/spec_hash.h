/*
 * What an engine is made of, as a hash: its version and knobs, the words of its command and its environment,
 * and what the files hold that these name. Beside a script, or a file that says what a package is, lie the
 * parts of a program or library, so all files of its folder count. Answers that are kept
 * (engine/answer_cache.h) are worth something as long as the hash is the same.
 *
 * Libraries that the system's loader finds by itself do not count; such an engine tells its library's
 * version.
 */
#ifndef ENGINE_SPEC_HASH_H
#define ENGINE_SPEC_HASH_H

#include "engine/registry.h"

/* version: as the engine tells it; may be NULL. */
uint64_t spec_hash(const struct engine_spec *spec, const char *version);

#endif
