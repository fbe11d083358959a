/* How `assay localize` writes its result: localize.c runs it, localize_write.c and, for --method swap,
 * localize_swap.c append it to *out. */
#ifndef CLI_LOCALIZE_H
#define CLI_LOCALIZE_H

#include "base/json.h"
#include "cli/common.h"
#include "locate/classify.h"
#include "locate/localize.h"

struct localize_report {
    const char *path; /* of the model */
    const struct model *model;
    size_t sample, samples;
    const struct localization *found;
    const struct engine_settings *settings;
    const struct standing *standing;
    const struct classification *class; /* of the verdict */
    const char *described;              /* the samples in words */
    const struct trace *trace;          /* what the engine says it did; NULL: nothing */
};

/* Appends the answer; its sentences are separated by `between`. */
void localize_answer(const struct localize_report *report, const char *between, struct str *out);

void localize_write_text(const struct localize_report *report, bool colour, struct str *out);
void localize_write_json(const struct localize_report *report, struct str *out);

void localize_write_swap_text(const struct localize_report *report, bool colour, struct str *out);
void localize_write_swap_json(const struct localize_report *report, struct json *json);

#endif
