/* What `assay grad` found, as it writes it. */
#ifndef CLI_GRAD_H
#define CLI_GRAD_H

#include "cli/common.h"
#include "gradients/gradients.h"
#include "gradients/train.h"

struct grad_report {
    const char *path;
    const char *const *labels; /* one for each engine */
    const struct engine_settings *settings;
    const struct gradients *gradients;
    const struct train *train; /* NULL: no training was asked for */
    const struct train_options *training;
    uint64_t seed;
    const char *loss; /* NULL: random weights */
    const struct standing *standing;
    const char *described; /* the samples in words */
};
void grad_write_text(const struct grad_report *report, bool colour, struct str *out);
void grad_write_json(const struct grad_report *report, struct str *out);
void grad_write_junit(const struct grad_report *report, struct str *out);

#endif
