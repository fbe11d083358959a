/*
 * Which well-known format a file is in that was meant to be something else: what people give by mistake for a
 * model or for data. Told by the first bytes, and of archives by the names inside.
 */
#ifndef BASE_FILE_FORMAT_H
#define BASE_FILE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

/* "a PyTorch file; torch.onnx.export writes ...": what it is and what to do about it, to stand after "but".
 * NULL when the format is not known here. Ask only after the bytes were found not to be what they should be:
 * a few of the marks are short. */
const char *file_format(const void *data, size_t size);

/* What Git has in the place of a large file until that is fetched. No other file looks like that, and
 * file_map_open refuses it. */
bool file_is_lfs_pointer(const void *data, size_t size);

#endif
