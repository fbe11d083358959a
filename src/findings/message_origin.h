/*
 * Which code of the engine a refusal speaks of.
 *
 * A message names its place in two ways: a source file ("graph_utils.cc:531"), or an operator that the model
 * does not have, as the engine made it itself (FastGelu of eight nodes, a QuantizeLinear moved behind a
 * Reshape, a Cast inserted for float16). Such a place stands for the operators: the bug is there, whatever
 * nodes wake it. How the engine words all this is in its profile; NULL knows nothing.
 */
#ifndef FINDINGS_MESSAGE_ORIGIN_H
#define FINDINGS_MESSAGE_ORIGIN_H

#include "base/str.h"
#include "engine/profile.h"
#include "model/model.h"

/* The engine's message without what it puts around every one ("... Status Message: "), also when one body's
 * is inside another's. Points into `message`. */
const char *origin_innermost(const char *message, const struct engine_profile *profile);

/*
 * Appends the message's class where its wording is one of several for the same thing ("no kernel for
 * FusedGemm"); false, and nothing appended, where it has none.
 */
bool origin_class(struct str *out, const char *message, const struct engine_profile *profile);

/*
 * Appends the operator of the engine's own making that the whole message names; false when there is none, or
 * when more than one part of the engine makes such operators, so that the name does not tell which.
 */
bool origin_operator(struct str *out, const char *message, const struct engine_profile *profile,
                     const struct model *model);

/*
 * Appends the source file that a normalised message (judge/message.h) names, unless the message speaks of one
 * of the operators as well: then it is that operator's.
 */
bool origin_file(struct str *out, const char *normalised, const char *const *operators, size_t count);

#endif
