/* Error classes from what the library prints. */
#include "ref.h"

#include <stdio.h>
#include <string.h>

/* How it says that it lacks something; the rest of its messages say what a model does wrong, or what it did
 * itself. */
#define LACKING(text) text,
static const char *const lacking[] = {
#include "lacking.inc"
    NULL,
};

/* "MIGraphX Error: /build/.../parse_conv.cpp:45: parse: CONV: ...": the reason from the file's name on, in
 * one line. */
static void shorten(const char *message, char *text, size_t size)
{
    static const char before[] = "Error: ";
    const char *at = strstr(message, before);
    snprintf(text, size, "%s", at ? at + sizeof before - 1 : message);
    for (char *end = text; *end; end++)
        if (*end == '\n')
            *end = end[1] ? ' ' : '\0';
}

int migraphx_refuse(struct adapter_call *call, enum adapter_class otherwise)
{
    struct migraphx *migraphx = call->engine;
    char text[MESSAGES_SIZE];
    const char *message = messages_text(migraphx->messages);
    shorten(message, text, sizeof text);
    enum adapter_class class = adapter_says(text, lacking) ? ADAPTER_UNSUPPORTED : otherwise;
    return adapter_fail(call, class, "%s", *text ? text : "the library gives no reason");
}
