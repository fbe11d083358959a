/*
 * INI files: [section] lines and `key = value` lines. A line that begins with ; or # is a comment, and so is
 * what follows a ; after white space. Values keep their inner spaces and have no escapes.
 */
#ifndef ENGINE_INI_H
#define ENGINE_INI_H

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls visit for each section's start (key and value NULL) and for each key, with the number of the line. A
 * visit that fails ends the reading. Errors name the file and the line.
 */
typedef int (*ini_visit)(void *context, const char *section, const char *key, const char *value, int line,
                         struct error *err);
int ini_read(const char *path, ini_visit visit, void *context, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
