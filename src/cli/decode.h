/* What `assay decode` found, as it writes it. */
#ifndef CLI_DECODE_H
#define CLI_DECODE_H

#include "cli/common.h"
#include "decode/decode.h"

struct decode_report {
    const char *path;
    const char *const *labels; /* one for each engine */
    const struct decode *decode;
    const struct decode_options *options;
    const struct engine_settings *settings;
    const struct standing *standing;
};
void decode_write_text(const struct decode_report *report, bool colour, struct str *out);
void decode_write_json(const struct decode_report *report, struct str *out);

#endif
