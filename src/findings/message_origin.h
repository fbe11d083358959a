/*
 * Finds out from an engine's error message which part of the engine's own code refused.
 *
 * A message can name it in two ways: by a source file ("graph_utils.cc:531"), or by an operator that is not
 * in the model because the engine made it (FastGelu out of eight nodes, a QuantizeLinear moved behind a
 * Reshape, a Cast inserted for float16). A signature then names this place instead of the operators, because
 * the bug is there, whichever nodes trigger it. The engine's profile says how its messages are worded; with a
 * NULL profile nothing is recognised.
 */
#ifndef FINDINGS_MESSAGE_ORIGIN_H
#define FINDINGS_MESSAGE_ORIGIN_H

#include "base/str.h"
#include "engine/profile.h"
#include "model/model.h"

/*
 * Returns the part of a message behind the text that the engine puts before every message ("... Status
 * Message: "), repeatedly where messages of bodies are nested. The result points into `message`.
 */
const char *origin_innermost(const char *message, const struct engine_profile *profile);

/*
 * Appends the class of a message, if the profile knows several wordings for the same thing: "no kernel for
 * FusedGemm". Returns false and appends nothing if the message has no class.
 */
bool origin_class(struct str *out, const char *message, const struct engine_profile *profile);

/*
 * Appends the operator made by the engine itself that the whole message names. Returns false if there is
 * none, or if several parts of the engine make this operator, so that its name does not tell which part
 * failed.
 */
bool origin_operator(struct str *out, const char *message, const struct engine_profile *profile,
                     const struct model *model);

/*
 * Appends the source file that a normalised message (judge/message.h) names. Returns false if it names none,
 * or if it also mentions one of the `count` operators: then the operator is to blame.
 */
bool origin_file(struct str *out, const char *normalised, const char *const *operators, size_t count);

#endif
