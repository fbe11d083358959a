/*
 * What an engine said, without what changes from case to case: two cases of one bug should read alike.
 */
#ifndef JUDGE_MESSAGE_H
#define JUDGE_MESSAGE_H

#include "base/str.h"
#include "engine/profile.h"
#include "model/model.h"

enum { MESSAGE_LIMIT = 200 };

/*
 * Appends the text, at most MESSAGE_LIMIT bytes of it, on one line: numbers (lists of them, addresses, signs)
 * become '#', element types T, folders of paths go, and whatever the model calls by a name (values, nodes,
 * the graph) becomes '?', as does what stands where the engine says that it names something. The model and
 * the profile may be NULL.
 */
void message_normalise(struct str *out, const char *text, const struct model *model,
                       const struct engine_profile *profile);

/*
 * Appends the top `count` frames of the stack that an engine left on its stderr, innermost first, as
 * "function<function"; frames without a name, of the C library and of the adapter are passed over. Nothing
 * where no frame has a name.
 */
void message_frames(struct str *out, const char *log, size_t count);

/* Appends the stack itself, a line a frame of the engine's own libraries, without folders and addresses of
 * this machine: "libx.so(+0x1f)". */
void message_stack(struct str *out, const char *log, size_t lines);

#endif
