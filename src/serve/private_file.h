/* A secret of one line in a file that the user names and nobody else may read: a token, a webhook's address.
 */
#ifndef SERVE_PRIVATE_FILE_H
#define SERVE_PRIVATE_FILE_H

#include "base/error.h"

#include <stddef.h>

/* Reads its line, without the line break. Refuses a file that others may read, and one of more lines or of
 * `size` and more characters. Errors name the file. */
int private_file_read(const char *path, char *line, size_t size, struct error *err);

/* Writes it so that only its owner may read it. */
int private_file_write(const char *path, const char *text, struct error *err);

#endif
