#define _GNU_SOURCE /* accept4 */
#include "serve/http_server.h"

#include "base/clock.h"
#include "base/folder.h"
#include "base/memory.h"
#include "serve/private_file.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LISTENERS = 2, BACKLOG_LIMIT = 4 << 20, NAP_MS = 200 };
static const double DRAIN_SECONDS = 1, LEAST_REST = 10;

enum phase { PHASE_FREE, PHASE_HEAD, PHASE_ANSWER, PHASE_STREAM, PHASE_DRAIN };

struct connection {
    enum phase phase;
    int fd;
    double patience;
    double until; /* when it is cut off; a stream: unless it takes something before */
    size_t got, sent;
    struct str out;
    char topic[HTTP_TOPIC];
    char head[HTTP_HEAD_LIMIT];
};

struct http_server {
    int listeners[LISTENERS];
    struct connection connections[HTTP_CONNECTIONS];
    double next_news;
};

static void end_connection(struct connection *c)
{
    close(c->fd);
    str_release(&c->out);
    c->phase = PHASE_FREE;
}

/* What remains is taken note of no more, but read: closing at once could destroy the answer on its way. */
static void drain(struct connection *c)
{
    shutdown(c->fd, SHUT_WR);
    c->phase = PHASE_DRAIN;
    c->until = clock_seconds() + DRAIN_SECONDS;
}

static void send_some(struct connection *c)
{
    while (c->sent < c->out.length) {
        ssize_t n = send(c->fd, c->out.data + c->sent, c->out.length - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n < 0) {
            end_connection(c);
            return;
        }
        c->sent += (size_t)n;
        c->until = clock_seconds() + c->patience;
    }
    str_clear(&c->out);
    c->sent = 0;
    if (c->phase == PHASE_ANSWER)
        drain(c);
}

static void add_head(struct str *out, const struct http_answer *answer, const char *token)
{
    bool stream = *answer->topic;
    str_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", (int)answer->status,
               http_status_text(answer->status), stream ? "text/event-stream" : answer->type);
    if (!stream)
        str_printf(out, "Content-Length: %zu\r\n", answer->body.length);
    if (answer->status == HTTP_FOUND)
        str_printf(out, "Location: /%s%s\r\n", token, answer->location);
    if (answer->status == HTTP_METHOD)
        str_add(out, "Allow: GET\r\n");
    str_printf(
        out,
        "Content-Security-Policy: %s\r\n"
        "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        answer->policy ? answer->policy : "default-src 'none'; frame-ancestors 'none'");
}

static size_t count_streams(const struct http_server *server)
{
    size_t count = 0;
    for (size_t i = 0; i < HTTP_CONNECTIONS; i++)
        count += server->connections[i].phase == PHASE_STREAM;
    return count;
}

static void refuse(struct http_answer *answer, enum http_status status)
{
    answer->status = status;
    answer->type = "text/plain; charset=utf-8";
    answer->policy = NULL;
    *answer->topic = '\0';
    str_clear(&answer->body);
    str_printf(&answer->body, "%s%s\n", http_status_text(status),
               status == HTTP_FORBIDDEN
                   ? ": open the address that 'assay campaign serve' printed, token included"
                   : "");
}

/* Takes the token from the path; false when it is not there. The time that this takes tells nothing of it. */
static bool take_token(struct http_request *request, const char *token)
{
    size_t length = strlen(token);
    if (strlen(request->path) < length + 2)
        return false;
    unsigned differs = (unsigned)(request->path[length + 1] ^ '/');
    for (size_t i = 0; i < length; i++)
        differs |= (unsigned)(request->path[1 + i] ^ token[i]);
    memmove(request->path, request->path + 1 + length, strlen(request->path + 1 + length) + 1);
    return differs == 0;
}

static void answer_request(struct http_server *server, struct connection *c, const struct http_site *site,
                           enum http_status status, struct http_request *request)
{
    struct http_answer answer = {.status = HTTP_OK, .type = "text/plain; charset=utf-8"};
    str_init(&answer.body);
    if (status == HTTP_OK && !take_token(request, site->token))
        status = HTTP_FORBIDDEN;
    if (status == HTTP_OK)
        site->answer(site->context, request, &answer);
    else
        refuse(&answer, status);
    if (*answer.topic && count_streams(server) >= HTTP_STREAMS)
        refuse(&answer, HTTP_BUSY);
    add_head(&c->out, &answer, site->token);
    str_append(&c->out, answer.body.data, answer.body.length);
    c->phase = *answer.topic ? PHASE_STREAM : PHASE_ANSWER;
    memcpy(c->topic, answer.topic, sizeof c->topic);
    c->until = clock_seconds() + c->patience;
    str_release(&answer.body);
    send_some(c);
}

static void read_head(struct http_server *server, struct connection *c, const struct http_site *site)
{
    struct http_request request;
    ssize_t n = recv(c->fd, c->head + c->got, sizeof c->head - c->got, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n <= 0) {
        end_connection(c);
        return;
    }
    c->got += (size_t)n;
    enum http_status status = http_request_parse(&request, c->head, c->got);
    if (status != HTTP_INCOMPLETE)
        answer_request(server, c, site, status, &request);
}

/* After its head nothing that a client sends counts; that it leaves does. */
static void read_nothing(struct connection *c)
{
    char waste[4096];
    ssize_t n = recv(c->fd, waste, sizeof waste, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        end_connection(c);
}

/* The connection of this phase that has waited longest, NULL if there is none: it is closed to make room. */
static struct connection *oldest_in(struct http_server *server, enum phase phase)
{
    struct connection *oldest = NULL;
    for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
        struct connection *c = &server->connections[i];
        if (c->phase == phase && (!oldest || c->until < oldest->until))
            oldest = c;
    }
    return oldest;
}

/* A place for one more connection; NULL when all are taken by answers and streams. */
static struct connection *place_for_one(struct http_server *server)
{
    static const enum phase order[] = {PHASE_FREE, PHASE_HEAD, PHASE_DRAIN};
    struct connection *found = NULL;
    for (size_t i = 0; i < sizeof order / sizeof *order && !found; i++)
        found = oldest_in(server, order[i]);
    return found;
}

static void accept_one(struct http_server *server, int listener, double patience)
{
    struct connection *c = place_for_one(server);
    int fd = c ? accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;
    if (fd < 0)
        return;
    if (c->phase != PHASE_FREE)
        end_connection(c);
    c->phase = PHASE_HEAD;
    c->fd = fd;
    c->patience = patience;
    c->got = c->sent = 0;
    c->until = clock_seconds() + patience;
    str_init(&c->out);
}

/* A stream that has taken everything waits for news, not for its client. */
static void cut_off_late(struct http_server *server, const struct http_site *site)
{
    struct http_request none = {""};
    for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
        struct connection *c = &server->connections[i];
        bool waits = c->phase == PHASE_STREAM && !c->out.length;
        if (c->phase == PHASE_FREE || waits || clock_seconds() <= c->until)
            continue;
        if (c->phase == PHASE_HEAD)
            answer_request(server, c, site, HTTP_TIMEOUT, &none);
        else
            end_connection(c);
    }
}

/* Gives the news of one topic to all its streams; `first` is the first of them. */
static void give_news(struct http_server *server, size_t first, const struct http_site *site)
{
    struct str news;
    char topic[HTTP_TOPIC];
    memcpy(topic, server->connections[first].topic, sizeof topic);
    str_init(&news);
    site->news(site->context, topic, &news);
    for (size_t i = first; i < HTTP_CONNECTIONS; i++) {
        struct connection *c = &server->connections[i];
        if (c->phase != PHASE_STREAM || !text_equal(c->topic, topic))
            continue;
        if (c->out.length - c->sent + news.length > BACKLOG_LIMIT) {
            end_connection(c);
            continue;
        }
        if (!c->out.length)
            c->until = clock_seconds() + c->patience;
        str_append(&c->out, news.data, news.length);
        send_some(c);
    }
    str_release(&news);
}

static void spread_news(struct http_server *server, const struct http_site *site)
{
    double start = clock_seconds();
    if (start < server->next_news)
        return;
    for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
        const struct connection *c = &server->connections[i];
        bool first = c->phase == PHASE_STREAM;
        for (size_t k = 0; k < i && first; k++)
            first = server->connections[k].phase != PHASE_STREAM ||
                    !text_equal(server->connections[k].topic, c->topic);
        if (first)
            give_news(server, i, site);
    }
    /* What takes long to find out, of a large campaign, is asked for less often. */
    double took = clock_seconds() - start, rest = took * LEAST_REST;
    server->next_news = start + took + (rest > site->period ? rest : site->period);
}

/* While it is answered, nothing is expected of a client but that it takes the answer. */
static short wanted_events(const struct connection *c)
{
    bool pending = c->phase != PHASE_FREE && c->sent < c->out.length;
    return (short)((c->phase == PHASE_ANSWER ? 0 : POLLIN) | (pending ? POLLOUT : 0));
}

static void serve_connection(struct http_server *server, struct connection *c, short events,
                             const struct http_site *site)
{
    if (c->phase == PHASE_HEAD)
        read_head(server, c, site);
    else if (c->phase == PHASE_ANSWER)
        send_some(c);
    else if (events & (POLLIN | POLLHUP | POLLERR))
        read_nothing(c);
    if (c->phase == PHASE_STREAM && (events & POLLOUT))
        send_some(c);
}

static int serve_once(struct http_server *server, const struct http_site *site, struct error *err)
{
    struct pollfd polls[LISTENERS + HTTP_CONNECTIONS];
    for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
        const struct connection *c = &server->connections[i];
        polls[LISTENERS + i] =
            (struct pollfd){.fd = c->phase == PHASE_FREE ? -1 : c->fd, .events = wanted_events(c)};
    }
    bool full = !place_for_one(server);
    for (size_t i = 0; i < LISTENERS; i++)
        polls[i] = (struct pollfd){.fd = full ? -1 : server->listeners[i], .events = POLLIN};
    if (poll(polls, LISTENERS + HTTP_CONNECTIONS, NAP_MS) < 0 && errno != EINTR)
        return error_errno(err, "cannot wait for connections");
    for (size_t i = 0; i < HTTP_CONNECTIONS; i++)
        if (polls[LISTENERS + i].fd >= 0 && polls[LISTENERS + i].revents)
            serve_connection(server, &server->connections[i], polls[LISTENERS + i].revents, site);
    for (size_t i = 0; i < LISTENERS; i++)
        if (polls[i].fd >= 0 && (polls[i].revents & POLLIN))
            accept_one(server, server->listeners[i], site->patience);
    cut_off_late(server, site);
    spread_news(server, site);
    return 0;
}

int http_serve(struct http_server *server, const struct http_site *site, struct error *err)
{
    while (!site->stop(site->context)) {
        if (serve_once(server, site, err))
            return -1;
        if (site->beside)
            site->beside(site->context);
    }
    return 0;
}

int http_token_draw(char token[HTTP_TOKEN], struct error *err)
{
    unsigned char bytes[(HTTP_TOKEN - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return error_errno(err, "cannot draw a token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static bool is_token(const char *line)
{
    return strlen(line) == HTTP_TOKEN - 1 && strspn(line, "0123456789abcdef") == HTTP_TOKEN - 1;
}

int http_token_keep(char token[HTTP_TOKEN], const char *path, struct error *err)
{
    char line[2 * HTTP_TOKEN];
    if (folder_look(USERS_PATH, path) == ENTRY_NONE)
        return http_token_draw(token, err) || private_file_write(path, token, err) ? -1 : 0;
    if (private_file_read(path, line, sizeof line, err))
        return -1;
    if (!is_token(line))
        return error_set(
            err, ERROR_FORMAT,
            "%s: it holds no token, which is %d hexadecimal digits; where there is no file, one is drawn",
            path, HTTP_TOKEN - 1);
    memcpy(token, line, HTTP_TOKEN);
    return 0;
}

static int listen_on(const struct sockaddr *address, socklen_t size)
{
    int yes = 1, fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (bind(fd, address, size) == 0 && listen(fd, HTTP_CONNECTIONS) == 0)
        return fd;
    int cause = errno;
    close(fd);
    errno = cause;
    return -1;
}

int http_server_open(struct http_server **server, int *port, struct error *err)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof v4;
    *server = NULL;
    int fd = listen_on((struct sockaddr *)&v4, sizeof v4);
    if (fd < 0 && errno == EADDRINUSE)
        return error_set(err, ERROR_IO, "port %d is in use; name another one with --port", *port);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&v4, &size))
        return error_errno(err, "cannot listen on 127.0.0.1, port %d", *port);
    *port = ntohs(v4.sin_port);
    v6.sin6_port = v4.sin_port;
    *server = memory_zeroed(1, sizeof **server);
    (*server)->listeners[0] = fd;
    (*server)->listeners[1] = listen_on((struct sockaddr *)&v6, sizeof v6);
    return 0;
}

void http_server_close(struct http_server *server)
{
    if (!server)
        return;
    for (size_t i = 0; i < HTTP_CONNECTIONS; i++)
        if (server->connections[i].phase != PHASE_FREE)
            end_connection(&server->connections[i]);
    for (size_t i = 0; i < LISTENERS; i++)
        if (server->listeners[i] >= 0)
            close(server->listeners[i]);
    free(server);
}
