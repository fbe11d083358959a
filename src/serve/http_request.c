#define _GNU_SOURCE /* memmem */
#include "serve/http_request.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

const char *http_status_text(enum http_status status)
{
    switch (status) {
    case HTTP_OK:
        return "OK";
    case HTTP_FOUND:
        return "Found";
    case HTTP_BAD:
        return "Bad Request";
    case HTTP_FORBIDDEN:
        return "Forbidden";
    case HTTP_NOT_FOUND:
        return "Not Found";
    case HTTP_METHOD:
        return "Method Not Allowed";
    case HTTP_TIMEOUT:
        return "Request Timeout";
    case HTTP_LONG_PATH:
        return "URI Too Long";
    case HTTP_WRONG_HOST:
        return "Misdirected Request";
    case HTTP_LONG_HEAD:
        return "Request Header Fields Too Large";
    case HTTP_BUSY:
        return "Service Unavailable";
    case HTTP_VERSION:
        return "HTTP Version Not Supported";
    default:
        return "Internal Server Error";
    }
}

/* A part of the head; not terminated. */
struct span {
    const char *text;
    size_t length;
};

static bool span_is(struct span span, const char *word)
{
    return strlen(word) == span.length && strncasecmp(span.text, word, span.length) == 0;
}

/* Takes what stands before the mark; false when the mark is missing. */
static bool take_until(struct span *rest, const char *mark, struct span *taken)
{
    const char *end = memmem(rest->text, rest->length, mark, strlen(mark));
    if (!end)
        return false;
    *taken = (struct span){rest->text, (size_t)(end - rest->text)};
    rest->text = end + strlen(mark);
    rest->length -= taken->length + strlen(mark);
    return true;
}

static bool is_token(struct span span)
{
    for (size_t i = 0; i < span.length; i++) {
        char c = span.text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return span.length > 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static enum http_status read_path(struct http_request *request, struct span target)
{
    size_t length = 0;
    if (!target.length || target.text[0] != '/')
        return HTTP_BAD;
    for (size_t i = 0; i < target.length && target.text[i] != '?'; i++) {
        int c = target.text[i];
        if (c == '%') {
            int high = i + 2 < target.length ? hex_digit(target.text[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(target.text[i + 2]) : -1;
            if (low < 0)
                return HTTP_BAD;
            c = high * 16 + low;
            i += 2;
        }
        if (c <= ' ' || c >= 127)
            return HTTP_BAD;
        if (length + 1 >= sizeof request->path)
            return HTTP_LONG_PATH;
        request->path[length++] = (char)c;
    }
    request->path[length] = '\0';
    return HTTP_OK;
}

/* "GET /path HTTP/1.1". */
static enum http_status read_first_line(struct http_request *request, struct span line)
{
    struct span method, target;
    if (!take_until(&line, " ", &method) || !is_token(method) || !take_until(&line, " ", &target))
        return HTTP_BAD;
    if (line.length != 8 || strncmp(line.text, "HTTP/", 5) != 0)
        return HTTP_BAD;
    if (!span_is(line, "HTTP/1.1") && !span_is(line, "HTTP/1.0"))
        return HTTP_VERSION;
    if (method.length != 3 || strncmp(method.text, "GET", 3) != 0)
        return HTTP_METHOD;
    return read_path(request, target);
}

/* Whatever port: the page may be reached through a tunnel. */
static bool is_loopback(struct span host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (host.length < length || !span_is((struct span){host.text, length}, names[i]))
            continue;
        struct span port = {host.text + length, host.length - length};
        bool good = !port.length || (port.length <= 6 && port.text[0] == ':');
        for (size_t k = 1; k < port.length; k++)
            good = good && port.text[k] >= '0' && port.text[k] <= '9';
        if (good)
            return true;
    }
    return false;
}

static bool read_field(struct span line, struct span *name, struct span *value)
{
    if (!take_until(&line, ":", name) || !is_token(*name))
        return false;
    while (line.length && strchr(" \t", line.text[0]) && line.text[0]) {
        line.text++;
        line.length--;
    }
    while (line.length && (line.text[line.length - 1] == ' ' || line.text[line.length - 1] == '\t'))
        line.length--;
    for (size_t i = 0; i < line.length; i++)
        if (((unsigned char)line.text[i] < ' ' && line.text[i] != '\t') || line.text[i] == 127)
            return false;
    *value = line;
    return true;
}

/* What the fields tell about where the request goes and where it comes from. */
struct origin {
    size_t hosts, origins;
    struct span host, origin;
    bool elsewhere; /* a page of another address asks */
};

static bool is_same_origin(const struct origin *from)
{
    static const char scheme[] = "http://";
    const size_t length = strlen(scheme);
    return from->origin.length == length + from->host.length &&
           strncasecmp(from->origin.text, scheme, length) == 0 &&
           strncasecmp(from->origin.text + length, from->host.text, from->host.length) == 0;
}

static enum http_status judge_origin(const struct origin *from)
{
    if (from->hosts != 1 || from->origins > 1)
        return HTTP_BAD;
    if (!is_loopback(from->host))
        return HTTP_WRONG_HOST;
    return from->elsewhere || (from->origins && !is_same_origin(from)) ? HTTP_FORBIDDEN : HTTP_OK;
}

static enum http_status read_fields(struct span head)
{
    struct span line, name, value;
    struct origin from = {0};
    while (head.length) {
        if (!take_until(&head, "\r\n", &line) || !read_field(line, &name, &value))
            return HTTP_BAD;
        if (span_is(name, "Transfer-Encoding") || (span_is(name, "Content-Length") && !span_is(value, "0")))
            return HTTP_BAD;
        if (span_is(name, "Host")) {
            from.hosts++;
            from.host = value;
        } else if (span_is(name, "Origin")) {
            from.origins++;
            from.origin = value;
        } else if (span_is(name, "Sec-Fetch-Site")) {
            from.elsewhere |= !span_is(value, "same-origin") && !span_is(value, "none");
        }
    }
    return judge_origin(&from);
}

enum http_status http_request_parse(struct http_request *request, const char *data, size_t size)
{
    struct span rest = {data, size}, head, line;
    *request = (struct http_request){0};
    if (!take_until(&rest, "\r\n\r\n", &head))
        return size < HTTP_HEAD_LIMIT ? HTTP_INCOMPLETE : HTTP_LONG_HEAD;
    if (head.length + 4 > HTTP_HEAD_LIMIT)
        return HTTP_LONG_HEAD;
    head.length += 2; /* every line ends with a line break */
    if (!take_until(&head, "\r\n", &line))
        return HTTP_BAD;
    enum http_status status = read_first_line(request, line);
    return status == HTTP_OK ? read_fields(head) : status;
}
