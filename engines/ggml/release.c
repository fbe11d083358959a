#include "release.h"

#include <stdio.h>
#include <string.h>

void release_text(const char *folder, const char *file, const char *key, char *text, size_t size)
{
    char path[4096], bytes[4096], word[64];
    text[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return;
    bytes[fread(bytes, 1, sizeof bytes - 1, stream)] = '\0';
    fclose(stream);
    snprintf(word, sizeof word, "\"%s\":", key);
    const char *at = strstr(bytes, word);
    if (!at)
        return;
    at += strlen(word);
    at += strspn(at, " \t\n\"");
    snprintf(text, size, "%.*s", (int)strcspn(at, "\""), at);
}
