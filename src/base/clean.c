#include "base/clean.h"

#include "base/json.h"

#include <string.h>

/* First and last characters that move, turn round or hide what others show. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x00, 0x08},                     /* C0, without tab and newline */
    {0x0B, 0x1F},       {0x7F, 0x9F}, /* DEL and C1 */
    {0x061C, 0x061C},                 /* bidirectional marks, embeddings and isolates */
    {0x200B, 0x200F},                 /* with the spaces and joiners of no width before them */
    {0x2028, 0x202E}, /* with the separators before them, which end a line for some readers and not for others
                       */
    {0x2060, 0x206F}, /* with invisible operators and deprecated controls */
    {0xFEFF, 0xFEFF}, /* byte order mark */
    {0xFFF9, 0xFFFB}, /* annotations */
    {0xFFFE, 0xFFFF}, /* no characters */
    {0xE0000, 0xE007F}, /* tags */
};

bool clean_is_shown(uint32_t code)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return false;
    return true;
}

/* The length of the character at `text` when it may be shown, else 0. */
static size_t shown_length(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = utf8_length(bytes);
    return length && clean_is_shown(utf8_code(bytes, length)) ? length : 0;
}

const char *clean_find_hidden(const char *text)
{
    while (*text) {
        size_t length = shown_length(text);
        if (!length || *text == '\n' || *text == '\t')
            return text;
        text += length;
    }
    return NULL;
}

size_t clean_add_character(struct str *out, const char *text, const char *instead)
{
    size_t length = shown_length(text);
    if (length) {
        str_append(out, text, length);
        return length;
    }
    str_add(out, instead);
    length = utf8_length((const unsigned char *)text);
    return length ? length : 1;
}

void clean_add(struct str *out, const char *text)
{
    while (*text)
        text += clean_add_character(out, text, "?");
}

void clean_line(struct str *out, const char *text)
{
    size_t start = out->length;
    clean_add(out, text);
    for (char *at = out->data + start; (at = strpbrk(at, "\n\t"));)
        *at = ' ';
}

void clean_quoted(struct str *out, const void *data, size_t size)
{
    struct str text; /* with a zero byte behind it, which UTF-8 is read up to */
    str_init(&text);
    str_append(&text, data, size);
    str_add(out, "\"");
    for (size_t i = 0; i < size;) {
        const char *at = text.data + i;
        size_t length = *at == '\n' || *at == '\t' ? 0 : shown_length(at);
        if (*at == '"' || *at == '\\')
            str_add(out, "\\");
        if (length)
            str_append(out, at, length);
        else
            str_printf(out, "\\%03o", (unsigned)(unsigned char)*at);
        i += length ? length : 1;
    }
    str_add(out, "\"");
    str_release(&text);
}
