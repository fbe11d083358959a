/* How `assay compare` writes its results; compare.c runs, compare_write.c writes. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli/common.h"
#include "compare/compare.h"

struct compare_settings {
    struct common common;
    struct input_settings inputs;
    double rtol, atol, scale;
    long long top;
    double class, mad, percent;
    long long batch, judge;
    const char *keep, *known;
    bool no_known;
};

/* One model of the command line. */
struct compare_model {
    const char *path;
    struct model *model; /* until it was run */
    struct inputs inputs;
    struct compare compare;
    bool classes; /* labels are classes */
};

void compare_write_text(const struct compare_model *models, size_t count, const char *const *labels,
                        const struct compare_settings *settings, const struct standing *standing, bool colour,
                        struct str *out);
void compare_write_json(const struct compare_model *models, size_t count, const char *const *labels,
                        const struct compare_settings *settings, const struct standing *standing,
                        struct str *out);
void compare_write_junit(const struct compare_model *models, size_t count, const char *const *labels,
                         struct str *out);

/* Why a pair differs, in one line; empty when it does not. */
void compare_reason(const struct compare *compare, const struct compare_pair *pair, struct str *out);

#endif
