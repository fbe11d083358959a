#include "base/clean.h"

#include "base/json.h"

bool clean_is_shown(uint32_t code)
{
    bool c0 = code < 0x20 && code != '\n' && code != '\t';
    bool c1 = code >= 0x7F && code <= 0x9F;
    bool bidirectional = code == 0x61C || code == 0x200E || code == 0x200F ||
                         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    bool line = code == 0x2028 || code == 0x2029; /* ends a line for some readers and not for others */
    bool no_character = code == 0xFFFE || code == 0xFFFF;
    return !c0 && !c1 && !bidirectional && !line && !no_character;
}

size_t clean_add_character(struct str *out, const char *text, const char *instead)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = utf8_length(bytes);
    if (length && clean_is_shown(utf8_code(bytes, length)))
        str_append(out, text, length);
    else
        str_add(out, instead);
    return length ? length : 1;
}

void clean_add(struct str *out, const char *text)
{
    while (*text)
        text += clean_add_character(out, text, "?");
}
