/* What `assay decode` found, as it writes it. */
#ifndef CLI_DECODE_H
#define CLI_DECODE_H

#include "cli/common.h"
#include "decode/decode.h"
#include "gguf/beside.h"

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

/* The same of a model beside a GGUF file. */
struct beside_report {
    const char *path, *file;
    const char *const *labels; /* of both engines */
    const struct beside *beside;
    const struct engine_settings *settings;
    const struct standing *standing;
};
void beside_stand(const struct beside *beside, const char *const *labels, struct standing *standing);
void beside_write_text(const struct beside_report *report, bool colour, struct str *out);
void beside_write_json(const struct beside_report *report, struct str *out);

#endif
