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

/* A piece of a label's text, not NUL-terminated. text is NULL when the label has no such part. */
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

/* A whole text as a part. NULL gives the absent part, whose text is NULL. */
struct label_part label_part(const char *text);

/* An absent part equals only another absent part. */
bool label_part_equal(struct label_part a, struct label_part b);
bool label_part_is(struct label_part part, const char *text);

/* Takes the first knob off *knobs. Returns 1 with *knob filled in, 0 when none is left, -1 when the next
 * piece is not name=value. */
int label_next_knob(struct label_part *knobs, struct label_knob *knob);

/* Whether the label's text names this engine, in whatever version and with whatever knobs. */
bool label_names(const char *text, const char *name);

/* Whether two labels' texts have the same name and the same version, or both none. */
bool label_same_release(const char *a, const char *b);

/* Appends the label as it is written. */
void label_print(struct str *out, const struct label *label);

/* Appends a knob to the label in `label`, which must hold nothing else. */
void label_add_knob(struct str *label, struct label_part knob, struct label_part value);

/* label_at gives the label with another version (NULL: without a version), label_with the label with one more
 * knob appended. Both return heap texts. */
char *label_at(const char *text, const char *version);
char *label_with(const char *text, const char *knob, const char *value);

#ifdef __cplusplus
}
#endif
#endif
