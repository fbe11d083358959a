/*
 * INI files: [section] lines and `key = value` lines. A line that begins with ; or # is a comment; so is
 * everything after a ; that follows white space. Values keep their inner spaces and have no escapes.
 * Before the first section `format = N` may say which format the file has (base/format.h).
 */
#ifndef ENGINE_INI_H
#define ENGINE_INI_H

#include "base/folder.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls visit at the start of each section (key and value are NULL) and for each key, with the number of the
 * line. When visit fails, reading ends with its error. Errors name the file and the line.
 */
typedef int (*ini_visit)(void *context, const char *section, const char *key, const char *value, int line,
                         struct error *err);
int ini_read(const char *path, ini_visit visit, void *context, struct error *err); /* of the user's */
int ini_read_in(const struct folder *in, const char *name, ini_visit visit, void *context, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
