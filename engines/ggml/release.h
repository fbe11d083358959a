/* What a package of node-llama-cpp says of itself, in small files of JSON. */
#ifndef GGML_RELEASE_H
#define GGML_RELEASE_H

#include <stddef.h>

/* The text behind "key": in a file of the folder; empty where there is none. */
void release_text(const char *folder, const char *file, const char *key, char *text, size_t size);

#endif
