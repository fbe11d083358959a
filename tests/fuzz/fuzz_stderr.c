/* What engines write to stderr: made comparable and clean, whatever it is. */
#define _GNU_SOURCE
#include "fuzz_file.h"

#include "base/clean.h"
#include "base/markup.h"
#include "base/wrap.h"
#include "judge/message.h"

/* No text that hides or moves others comes out of those that make it clean. */
static void require_clean(struct str *text)
{
    for (const char *c = text->data; *c; c++)
        if (*c == '\n' || *c == '\t')
            text->data[c - text->data] = ' ';
    require(!clean_find_hidden(text->data));
    str_clear(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct str out;
    str_init(&out);
    message_normalise(&out, text, NULL, NULL);
    require(out.length <= MESSAGE_LIMIT + 8);
    str_clear(&out);
    message_frames(&out, text, 5, true);
    str_clear(&out);
    message_stack(&out, text, 12);
    str_clear(&out);
    wrap_text(&out, text, 0);
    require_clean(&out);
    markdown_text(&out, text);
    require_clean(&out);
    markdown_code(&out, text);
    require_clean(&out);
    markdown_block(&out, "", text);
    require_clean(&out);
    markup_escape(&out, text);
    require(!strpbrk(out.data, "<>\""));
    require_clean(&out);
    clean_quoted(&out, data, size);
    require_clean(&out);
    str_release(&out);
    free(text);
    return 0;
}
