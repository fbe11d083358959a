/*
 * Labels together with who wrote them. Whatever starts an engine takes its label in this form, so that a text
 * cannot become an engine without its origin.
 *
 * A label is *typed* when the user wrote it, in an option, or when it stands in Assay's own source. It is
 * *foreign* when it was read from a file, a bundle, the folder of a campaign or a database, whoever wrote
 * that. given_typed and given_foreign are the only ways to make one of a text; the others make one of
 * another.
 *
 * The user may set every knob of an engine. Foreign knobs may choose kernels, the form of the graph or the
 * schedule, and that only among the values that the engine's file declares (engine/declared_knobs.h): never a
 * file, a library or a command. registry_find sees to it.
 *
 * Labels live in the arena that they were made in, with copies of all texts.
 */
#ifndef ENGINE_GIVEN_LABEL_H
#define ENGINE_GIVEN_LABEL_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct given_label;

struct given_labels {
    size_t count;
    const struct given_label **items;
};

/* source: what the label comes from, for messages: "bundle/finding.json". */
const struct given_label *given_typed(struct arena *arena, const char *text);
const struct given_label *given_foreign(struct arena *arena, const char *text, const char *source);

/* The label as it is written. */
const char *given_text(const struct given_label *label);

/* Where a setting of the label comes from; NULL: the user typed it, or it is of given_writing. */
const char *given_source(const struct given_label *label, const char *knob, const char *value);

const struct given_label *given_copy(struct arena *arena, const struct given_label *label);

/* The label with another version (NULL: without a version). */
const struct given_label *given_at(struct arena *arena, const struct given_label *label, const char *version);

/*
 * The label with further knobs, "opt=none,threads=4", each in place of its own former value. They are
 * foreign, whatever the label is: they stand in a rewriting, which may come from a bundle, or in what an
 * engine says about itself. Returns NULL with an error when they are malformed or longer than any setting
 * that Assay makes.
 */
const struct given_label *given_with(struct arena *arena, const struct given_label *label, const char *knobs,
                                     const char *source, struct error *err);

/* The label with a knob by which the engine writes a file, at a path that Assay itself chose. */
const struct given_label *given_writing(struct arena *arena, const struct given_label *label,
                                        const char *knob, const char *path);

/* Lists. given_all_typed makes typed labels of all texts. given_vouched replaces each label of `labels` that
 * has the same text as one of `typed`: for what is read from elsewhere and was typed as well. */
void given_add(struct arena *arena, struct given_labels *labels, const struct given_label *label);
const struct given_labels *given_all_typed(struct arena *arena, const char *const *texts, size_t count);
void given_vouched(struct given_labels *labels, const struct given_labels *typed);

#ifdef __cplusplus
}
#endif
#endif
