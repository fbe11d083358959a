/*
 * The head of an HTTP/1.1 request, as a page on loopback gets it from a browser. Nothing in it is trusted.
 * Only GET without a body is accepted, only under a name of this machine's loopback (a page from elsewhere
 * whose name was made to point here, by DNS rebinding, sends another one), and only from pages of the same
 * address or from none: browsers tell in Sec-Fetch-Site and Origin.
 */
#ifndef SERVE_HTTP_REQUEST_H
#define SERVE_HTTP_REQUEST_H

#include <stddef.h>

enum { HTTP_HEAD_LIMIT = 8 << 10, HTTP_PATH_LIMIT = 400 };

/* The statuses that Assay sends. */
enum http_status {
    HTTP_INCOMPLETE = 0, /* none: more of the head is to come */
    HTTP_OK = 200,
    HTTP_FOUND = 302,
    HTTP_BAD = 400,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_METHOD = 405,
    HTTP_TIMEOUT = 408,
    HTTP_LONG_PATH = 414,
    HTTP_WRONG_HOST = 421,
    HTTP_LONG_HEAD = 431,
    HTTP_TROUBLE = 500,
    HTTP_BUSY = 503,
    HTTP_VERSION = 505,
};
const char *http_status_text(enum http_status status); /* "Not Found" */

struct http_request {
    /* Decoded, without the query. Begins with '/', and consists of printable ASCII characters. */
    char path[HTTP_PATH_LIMIT];
};

/* Returns HTTP_OK when the bytes begin with a whole head that is to be answered, HTTP_INCOMPLETE when they
 * may become one, otherwise the status with which the request is refused. */
enum http_status http_request_parse(struct http_request *request, const char *data, size_t size);

#endif
