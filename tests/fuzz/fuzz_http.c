/* The head of an HTTP request: what is accepted is a clean path under a loopback name, and more bytes never
 * change what was decided. */
#include "serve/http_request.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_request request, again;
    enum http_status whole = http_request_parse(&request, (const char *)data, size);
    if (whole == HTTP_OK) {
        require(request.path[0] == '/' && strlen(request.path) < sizeof request.path);
        for (const char *c = request.path; *c; c++)
            require(*c > ' ' && *c < 127);
    }
    /* As it arrives over the network. */
    enum http_status status = HTTP_INCOMPLETE;
    for (size_t part = 1; part <= size && status == HTTP_INCOMPLETE; part++)
        status = http_request_parse(&again, (const char *)data, part);
    if (size <= HTTP_HEAD_LIMIT) {
        require(status == whole);
        require(strcmp(request.path, again.path) == 0 || size == 0);
    }
    return 0;
}
