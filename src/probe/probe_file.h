/*
 * Probe results on disk, one JSON file for each engine version (docs/json.md), and what generators learn from
 * them: the operators that engines lack.
 *
 * The files lie in one folder, by default probe/ in the data folder ($ASSAY_DATA). A file is named after its
 * engine, with characters that are unusual in file names written as %XX; the engine is also named inside.
 * Files may be damaged or hostile and are checked when they are read.
 */
#ifndef PROBE_PROBE_FILE_H
#define PROBE_PROBE_FILE_H

#include "base/json.h"
#include "probe/probe.h"

enum { PROBE_FILE_LIMIT = 8 << 20 };

/* Adds the result as a JSON object; `name` as in json_object. */
void probe_write(const struct probe_result *result, struct json *json, const char *name);

/* Reads the text of a file; the caller releases result->arena, also after a failure. */
int probe_parse(struct probe_result *result, const char *data, size_t size, struct error *err);

char *probe_folder(void); /* the default one; heap */

/* "FOLDER/ENGINE.json", heap. */
char *probe_file(const char *engine);

/* Writes the file; the folder is made when it does not exist. */
int probe_keep(const struct probe_result *result, const struct folder *in, const char *folder,
               struct error *err);

/* Reads an engine's file; the caller releases result->arena, also after a failure. */
int probe_load(struct probe_result *result, const struct folder *in, const char *folder, const char *engine,
               struct error *err);

/*
 * What engines lack. An operator is lacking for an element type and opset when all of its cases that were
 * tried are *unsupported*. What was not tried is lacking when the engine declares operators, or types, and it
 * is not among them.
 */
struct probe_support;
struct probe_support *probe_support_new(void); /* of no engine yet: nothing is lacking */
void probe_support_free(struct probe_support *support);

/* Adds an engine: only what all engines added so far lack is lacking. */
void probe_support_add(struct probe_support *support, const struct probe_result *result);
int probe_support_load(struct probe_support *support, const char *folder, const char *engine,
                       struct error *err);

bool probe_lacks(const struct probe_support *support, const struct op *op, enum dtype type, int opset);

/* The same with the arguments of generate_options.lacks; `support` is its context. */
bool probe_lacks_any(const void *support, const struct op *op, enum dtype type, int opset);

#endif
