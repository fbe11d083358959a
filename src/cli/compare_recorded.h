/* A recording in `assay compare --expected`: read, judged and written. */
#ifndef CLI_COMPARE_RECORDED_H
#define CLI_COMPARE_RECORDED_H

#include "cli/compare.h"
#include "report/junit.h"

/* Reads and judges the recording of the settings, if they name one. The model and its inputs are open. */
int compare_recorded_run(struct compare_model *model, const struct compare_settings *settings,
                         struct error *err);

/* What it means for the exit status: a device that computes wrongly is a finding, a recording of something
 * else a mistake of the user. */
void compare_recorded_stands(const struct compare_model *model, const struct compare_settings *settings,
                             struct standing *standing);

/* Append nothing where there is no recording. The answer stands first, with an empty line after it. */
void compare_recorded_answer(const struct compare_model *model, const struct compare_settings *settings,
                             struct str *out);
void compare_recorded_text(const struct compare_model *model, const struct compare_settings *settings,
                           bool colour, struct str *out);
void compare_recorded_json(const struct compare_model *model, struct json *json);
void compare_recorded_junit(const struct compare_model *model, const struct compare_settings *settings,
                            struct junit *junit);

/* The whole result where no engine is named. */
void compare_recorded_alone(const struct compare_model *model, const struct compare_settings *settings,
                            const struct standing *standing, struct str *out);

#endif
