/*
 * Replaces what people wrote into a model: names of values, nodes, graphs, dimensions, functions and domains
 * become letters without a meaning, the same name everywhere the same; descriptions, the producer, metadata,
 * denotations, training information and fields that Assay does not know are removed.
 */
#ifndef SCRAMBLE_NAMES_H
#define SCRAMBLE_NAMES_H

#include "base/map.h"
#include "base/str.h"
#include "reduce/subject.h"
#include "scramble/leak.h"

/* What stays, where a finding needs it. */
struct names_kept {
    bool lengths;          /* new names are as long as the old ones; those of less than 4 letters stay */
    bool public_functions; /* functions that have the name of an operator of ONNX keep it */
    bool functions;        /* all functions, and operators that nobody knows, keep name and domain */
    bool values;           /* values and nodes keep their names */
};

/* Old names and their new ones. */
struct names {
    struct arena arena;
    struct map numbers; /* of old names, in `fresh` */
    size_t count, capacity;
    const char **fresh;
};
void names_init(struct names *names);
void names_release(struct names *names);

/* The new name, or the old one where it has none. */
const char *names_fresh(const struct names *names, const char *old);

/* Fails when the model has something whose names cannot be replaced. The names are those of `names`
 * afterwards. */
int names_replace(struct subject *subject, const struct names_kept *kept, struct names *names,
                  struct error *err);

/* Forbids every text of the model, and allows the words of ONNX that stand in it. */
void names_forbid(struct leak_search *search, const struct model *model);
void names_allow(struct leak_search *search, const struct model *model, const struct names_kept *kept);

/* The operators and functions of the model that are not public, as "domain::name", separated by ", ". */
void names_private(const struct model *model, struct str *out);

#endif
