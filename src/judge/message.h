/*
 * An engine's messages and stacks without what varies from case to case, so that two cases of one bug give
 * the same text.
 */
#ifndef JUDGE_MESSAGE_H
#define JUDGE_MESSAGE_H

#include "base/str.h"
#include "engine/profile.h"
#include "model/model.h"

enum { MESSAGE_LIMIT = 200 };

/*
 * Appends the text, at most MESSAGE_LIMIT bytes of it, on one line. Numbers (also lists of them, addresses,
 * signs) become '#', element types become T, paths lose their folders, and functions of C++ the types of
 * their parameters. Names that occur in the model (of values, nodes, the graph) become '?', and so does
 * whatever stands where the engine's profile says that a name follows. The model and the profile may be NULL.
 */
void message_normalise(struct str *out, const char *text, const struct model *model,
                       const struct engine_profile *profile);

/* The length of a message without the marks at its end that tell that it was passed on at load. */
size_t message_length(const char *message);

/*
 * Appends the top `count` frames of the stack that an engine left on its stderr, innermost first, as
 * "function<function"; those of the C library and of the adapter are skipped. A frame without a name, as in a
 * library without symbols, is skipped too or, with `places`, given by the library and the place in it,
 * "libx.so+0x1f", which is another one in each release. Appends nothing when there is no such frame.
 */
void message_frames(struct str *out, const char *log, size_t count, bool places);

/* Whether the C library's allocator ended the engine because memory was damaged earlier: the stack then tells
 * where that was noticed, which differs from case to case. */
bool message_heap_damaged(const char *log);

/* Appends the stack itself, one line for each frame in the engine's own libraries, without this machine's
 * folders and addresses: "libx.so(+0x1f)". */
void message_stack(struct str *out, const char *log, size_t lines);

#endif
