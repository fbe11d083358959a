/*
 * Writes texts as reports have them: reads them from stdin, each ended by a zero byte, and writes what the
 * function of base/markup.h makes of each in the same way, for tests/attack/rendered.
 */
#include "base/markup.h"

#include <stdio.h>
#include <string.h>

static void add(struct str *out, const char *place, const char *text)
{
    if (text_equal(place, "cell"))
        markdown_cell(out, text);
    else if (text_equal(place, "code"))
        markdown_code(out, text);
    else if (text_equal(place, "block"))
        markdown_block(out, "", text);
    else
        markdown_text(out, text);
}

int main(int argc, char **argv)
{
    struct str text, out;
    int c;
    str_init(&text);
    str_init(&out);
    while (argc == 2 && (c = getchar()) != EOF) {
        if (c) {
            str_append(&text, &(char){(char)c}, 1);
            continue;
        }
        str_clear(&out);
        /* "text": at the start of a line; "within": behind other words */
        str_add(&out, text_equal(argv[1], "within") ? "x " : "");
        add(&out, argv[1], text.data);
        fwrite(out.data, 1, out.length + 1, stdout);
        str_clear(&text);
    }
    str_release(&text);
    str_release(&out);
    return argc == 2 ? 0 : 2;
}
