/*
 * Labels: how an engine is named, `name[@version][:knob=value,...]`.
 *
 * This is the one place that knows how a label is written. The name ends at the first '@' or ':', the version
 * at the first ':', and the knobs are all that follows. Knobs are separated by commas, and a piece without
 * '=' belongs to the value before it, so that values may hold commas themselves. Where a knob is given twice
 * the last one counts.
 *
 * A parsed label points into the text it was parsed from and is valid only as long as that text. Nothing here
 * fails on any text: what a label lacks is a part whose text is NULL. Whether the engine, the version and the
 * knobs exist is the registry's to say (engine/registry.h).
 */
#ifndef ENGINE_LABEL_H
#define ENGINE_LABEL_H

#include "base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Some letters of a label, not terminated. text is NULL when the label has no such part. */
struct label_part {
    const char *text;
    size_t length;
};

struct label {
    struct label_part name;    /* always there; may be empty */
    struct label_part version; /* without the '@' */
    struct label_part knobs;   /* without the ':' */
};

struct label_knob {
    struct label_part name, value;
};

struct label label_parse(const char *text);

/* A whole text as a part; NULL gives the part that is not there. */
struct label_part label_part(const char *text);

/* A part that is not there equals only another that is not there. */
bool label_part_equal(struct label_part a, struct label_part b);
bool label_part_is(struct label_part part, const char *text);

/* Takes the first knob off *knobs: 1 and *knob, 0 when none is left, -1 when what comes next is not
 * name=value. */
int label_next_knob(struct label_part *knobs, struct label_knob *knob);

/* The value that counts of a knob; a part that is not there when the label does not set it. */
struct label_part label_knob(const struct label *label, const char *name);

/* Whether the label's text sets a knob to a value: label_sets(text, "opt", "none"). */
bool label_sets(const char *text, const char *knob, const char *value);

/* Whether the label's text names this engine, in whatever version and with whatever knobs. */
bool label_names(const char *text, const char *name);

/* Whether two labels' texts have the same name and the same version, or both none. */
bool label_same_release(const char *a, const char *b);

/* Appends the label as it is written. */
void label_print(struct str *out, const struct label *label);

/* Sets one more knob in a label that `label` holds and nothing else, behind those it has. */
void label_add_knob(struct str *label, struct label_part knob, struct label_part value);

/* The label's text at another release (NULL: at none), as a heap text; label_with: with one knob set to this
 * value, behind the others. */
char *label_at(const char *text, const char *version);
char *label_with(const char *text, const char *knob, const char *value);

#ifdef __cplusplus
}
#endif
#endif
