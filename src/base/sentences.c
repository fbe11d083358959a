#include "base/sentences.h"

#include <ctype.h>

enum { MOST = 400 };

void sentences_add(struct str *out, const char *text)
{
    struct str line;
    size_t end = 0;
    str_init(&line);
    for (; *text; text++) {
        bool space = isspace((unsigned char)*text);
        if (!space || (line.length && line.data[line.length - 1] != ' '))
            str_append(&line, space ? " " : text, 1);
        bool ends = *text == '.' && (!text[1] || isspace((unsigned char)text[1]));
        if (ends || !text[1])
            end = line.length <= MOST || !end ? line.length : end;
        if (line.length > MOST && end)
            break;
    }
    while (end && line.data[end - 1] == ' ')
        end--;
    str_append(out, line.data, end);
    str_release(&line);
}
