/*
 * Probe results on disk: one JSON file an engine version (docs/json.md), and what generators want of it.
 *
 * Files lie in a folder, by default probe/ in the data folder ($ASSAY_DATA). A file is named after its
 * engine, with what is unusual in file names as %XX, and names the engine inside, too.
 */
#ifndef RELEASES_PROBE_FILE_H
#define RELEASES_PROBE_FILE_H

#include "base/json.h"
#include "releases/probe.h"

enum { PROBE_FILE_LIMIT = 8 << 20 };

/* The result as a JSON object; `name` as in json_object. */
void probe_write(const struct probe_result *result, struct json *json, const char *name);

/* From the text of a file; the caller releases result->arena, also after a failure. */
int probe_parse(struct probe_result *result, const char *data, size_t size, struct error *err);

char *probe_folder(void); /* the default one; heap */

/* "FOLDER/ENGINE.json", heap. */
char *probe_path(const char *folder, const char *engine);

/* Writes the file, making the folder where needed. */
int probe_keep(const struct probe_result *result, const char *folder, struct error *err);

/* Reads an engine's file; the caller releases result->arena, also after a failure. */
int probe_load(struct probe_result *result, const char *folder, const char *engine, struct error *err);

/*
 * What engines lack. An operator is lacking for a type and opset when every case asked of it was answered
 * *unsupported*; what was not asked is not lacking.
 */
struct probe_support;
struct probe_support *probe_support_new(void); /* of no engine: nothing is lacking */
void probe_support_free(struct probe_support *support);

/* Takes one more engine in: from then on only what all of them lack is lacking. */
void probe_support_add(struct probe_support *support, const struct probe_result *result);
int probe_support_load(struct probe_support *support, const char *folder, const char *engine,
                       struct error *err);

bool probe_lacks(const struct probe_support *support, const struct op *op, enum dtype type, int opset);

/* The same as generate_options.lacks wants it, with the support as its context. */
bool probe_lacks_any(const void *support, const struct op *op, enum dtype type, int opset);

#endif
