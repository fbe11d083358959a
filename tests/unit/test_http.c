/* HTTP: what is a request and what is refused, and the server with clients that behave badly. */
#include "serve/http_server.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HOST "Host: localhost:8642\r\n"
#define TOKEN "0123456789abcdef"

static void assert_status(const char *head, enum http_status expected)
{
    struct http_request request;
    enum http_status got = http_request_parse(&request, head, strlen(head));
    if (got != expected)
        fail_msg("%d instead of %d for: %s", (int)got, (int)expected, head);
}

static void assert_path(const char *head, const char *expected)
{
    struct http_request request;
    assert_int_equal(http_request_parse(&request, head, strlen(head)), HTTP_OK);
    assert_string_equal(request.path, expected);
}

static void requests_are_read(void **state)
{
    (void)state;
    assert_path("GET / HTTP/1.1\r\n" HOST "\r\n", "/");
    assert_path("GET /night/events?last=3 HTTP/1.0\r\nACCEPT: */*\r\nhost:127.0.0.1\r\n\r\n",
                "/night/events");
    assert_path("GET /a%2Fb%2e%2e HTTP/1.1\r\nHost:   [::1]:1  \r\n\r\nGET", "/a/b..");
    assert_status("", HTTP_INCOMPLETE);
    assert_status("GET / HTTP/1.1\r\n" HOST "\r", HTTP_INCOMPLETE);
}

static void bad_requests_are_refused(void **state)
{
    static const char *const bad[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n" HOST "\r\n",
        "GET / HTTP/1.1 more\r\n" HOST "\r\n",
        "GET  / HTTP/1.1\r\n" HOST "\r\n",
        "GET http://localhost/ HTTP/1.1\r\n" HOST "\r\n",
        "GET * HTTP/1.1\r\n" HOST "\r\n",
        "GET /%00 HTTP/1.1\r\n" HOST "\r\n",
        "GET /%0d%0aX HTTP/1.1\r\n" HOST "\r\n",
        "GET /%c3%a4 HTTP/1.1\r\n" HOST "\r\n",
        "GET /%4 HTTP/1.1\r\n" HOST "\r\n",
        "GET /%zz HTTP/1.1\r\n" HOST "\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST HOST "\r\n",
        "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "No colon\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "Bad name: x\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "A: \001\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n",
        "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
        "G\x80T / HTTP/1.1\r\n" HOST "\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(bad[i], HTTP_BAD);
    assert_status("POST / HTTP/1.1\r\n" HOST "\r\n", HTTP_METHOD);
    assert_status("get / HTTP/1.1\r\n" HOST "\r\n", HTTP_METHOD);
    assert_status("GET / HTTP/2.0\r\n" HOST "\r\n", HTTP_VERSION);
}

static void other_names_are_refused(void **state)
{
    static const char *const names[] = {"evil.example",
                                        "localhost.evil.example",
                                        "127.0.0.1.evil.example",
                                        "localhost:80@evil",
                                        "localhost:",
                                        "[::1",
                                        "",
                                        "0.0.0.0",
                                        "localhost:123456"};
    char head[200];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(head, sizeof head, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", names[i]);
        struct http_request request;
        enum http_status status = http_request_parse(&request, head, strlen(head));
        /* An empty port is a port. */
        assert_int_equal(status, text_equal(names[i], "localhost:") ? HTTP_OK : HTTP_WRONG_HOST);
    }
}

static void other_sites_are_refused(void **state)
{
    (void)state;
    assert_path("GET /x HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-origin\r\n\r\n", "/x");
    assert_path("GET /x HTTP/1.1\r\nsec-fetch-site: none\r\n" HOST "\r\n", "/x");
    assert_path("GET /x HTTP/1.1\r\nOrigin: http://localhost:8642\r\n" HOST "\r\n", "/x");
    static const char *const fields[] = {
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n", /* another port of this machine */
        "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: \r\n",
        "Origin: http://localhost:8643\r\n",
        "Origin: http://localhost:86420\r\n",
        "Origin: https://localhost:8642\r\n",
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char head[300];
        snprintf(head, sizeof head, "GET / HTTP/1.1\r\n" HOST "%s\r\n", fields[i]);
        assert_status(head, HTTP_FORBIDDEN);
    }
    assert_status("GET / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: http://localhost:8642\r\n\r\n", HTTP_BAD);
}

static void long_requests_are_refused(void **state)
{
    struct str text;
    (void)state;
    str_init(&text);
    str_add(&text, "GET /");
    for (int i = 0; i < HTTP_PATH_LIMIT; i++)
        str_add(&text, "a");
    str_add(&text, " HTTP/1.1\r\n" HOST "\r\n");
    assert_status(text.data, HTTP_LONG_PATH);
    str_clear(&text);
    str_add(&text, "GET / HTTP/1.1\r\n");
    while (text.length < HTTP_HEAD_LIMIT)
        str_add(&text, "A: b\r\n");
    assert_status(text.data, HTTP_LONG_HEAD);
    str_add(&text, HOST "\r\n");
    assert_status(text.data, HTTP_LONG_HEAD);
    str_release(&text);
}

/* A site whose every page names its path; /events is a stream, /large is large, /away leads
 * elsewhere. */
static void answer(void *context, const struct http_request *request, struct http_answer *out)
{
    (void)context;
    if (text_equal(request->path, "/events"))
        strcpy(out->topic, "night");
    else if (text_equal(request->path, "/away"))
        out->status = HTTP_FOUND, strcpy(out->location, "/there");
    else if (text_equal(request->path, "/large"))
        for (int i = 0; i < 1 << 19; i++)
            str_add(&out->body, "0123456789abcde\n");
    else
        str_printf(&out->body, "path %s", request->path);
}

static void news(void *context, const char *topic, struct str *out)
{
    (void)context;
    str_printf(out, "data: %s\n\n", topic);
}

static bool stopped(void *context)
{
    sigset_t pending;
    (void)context;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM);
}

static pid_t child;
static int port;

static int start_server(void **state)
{
    struct http_server *server;
    struct error err = {0};
    sigset_t term;
    (void)state;
    port = 0;
    if (http_server_open(&server, &port, &err))
        fail_msg("%s", err.message);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    child = fork();
    if (child == 0) {
        struct http_site site = {
            .token = TOKEN, .answer = answer, .news = news, .stop = stopped, .period = 0.1, .patience = 2};
        int status = http_serve(server, &site, &err);
        http_server_close(server);
        _exit(status ? 1 : 0);
    }
    http_server_close(server);
    return child > 0 ? 0 : -1;
}

static int stop_server(void **state)
{
    int status = -1;
    (void)state;
    kill(child, SIGTERM);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int dial(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* What the server sends until it closes the connection or `seconds` have passed. */
static void listen_to(int fd, struct str *out, double seconds)
{
    double until = clock_seconds() + seconds;
    char part[65536];
    str_clear(out);
    while (clock_seconds() < until) {
        struct pollfd poll_it = {.fd = fd, .events = POLLIN};
        if (poll(&poll_it, 1, 50) <= 0)
            continue;
        ssize_t n = recv(fd, part, sizeof part, 0);
        if (n <= 0)
            return;
        str_append(out, part, (size_t)n);
    }
}

static void ask(const char *request, struct str *out)
{
    int fd = dial();
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    listen_to(fd, out, 30);
    close(fd);
}

#define assert_has(text, part)                                   \
    do {                                                         \
        if (!strstr((text).data, part))                          \
            fail_msg("%s is missing in: %s", part, (text).data); \
    } while (0)

static void pages_are_served_with_their_guards(void **state)
{
    struct str out;
    (void)state;
    str_init(&out);
    ask("GET /" TOKEN "/x HTTP/1.1\r\n" HOST "\r\n", &out);
    assert_has(out, "HTTP/1.1 200 OK\r\n");
    assert_has(out, "Content-Length: 7\r\n");
    assert_has(out, "Content-Security-Policy: default-src 'none'");
    assert_has(out, "X-Content-Type-Options: nosniff\r\n");
    assert_has(out, "\r\n\r\npath /x");
    ask("GET /" TOKEN "/x HTTP/1.1\r\nHost: evil.example\r\n\r\n", &out);
    assert_has(out, "HTTP/1.1 421 ");
    assert_null(strstr(out.data, "path"));
    ask("POST /x HTTP/1.1\r\n" HOST "\r\n", &out);
    assert_has(out, "Allow: GET\r\n");
    ask("GET /" TOKEN "/large HTTP/1.1\r\n" HOST "\r\n", &out);
    assert_true(out.length > 8 << 20 && text_ends(out.data, "0123456789abcde\n"));
    str_release(&out);
}

static void only_the_token_opens_pages(void **state)
{
    static const char *const paths[] = {"/",
                                        "/x",
                                        "/" TOKEN,
                                        "/" TOKEN "x/x",
                                        "/0123456789abcdee/x",
                                        "//" TOKEN "/x",
                                        "/x/../" TOKEN "/x",
                                        "/x?token=" TOKEN};
    struct str out;
    char head[200];
    (void)state;
    str_init(&out);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(head, sizeof head, "GET %s HTTP/1.1\r\n" HOST "\r\n", paths[i]);
        ask(head, &out);
        assert_has(out, "HTTP/1.1 403 ");
        assert_null(strstr(out.data, "path"));
        assert_null(strstr(out.data, TOKEN));
    }
    ask("GET /" TOKEN "/away HTTP/1.1\r\n" HOST "\r\n", &out);
    assert_has(out, "Location: /" TOKEN "/there\r\n");
    str_release(&out);
}

static void tokens_differ(void **state)
{
    char one[HTTP_TOKEN], other[HTTP_TOKEN];
    (void)state;
    assert_int_equal(http_token_draw(one, NULL), 0);
    assert_int_equal(http_token_draw(other, NULL), 0);
    assert_int_equal(strspn(one, "0123456789abcdef"), HTTP_TOKEN - 1);
    assert_string_not_equal(one, other);
}

static void events_are_streamed(void **state)
{
    const char *request = "GET /" TOKEN "/events HTTP/1.1\r\n" HOST "\r\n";
    struct str out;
    int fd = dial();
    (void)state;
    str_init(&out);
    /* Byte by byte, and longer than a request may take: a stream stays. */
    for (const char *c = request; *c; c++)
        assert_int_equal(send(fd, c, 1, MSG_NOSIGNAL), 1);
    listen_to(fd, &out, 4);
    assert_has(out, "Content-Type: text/event-stream\r\n");
    assert_null(strstr(out.data, "Content-Length"));
    assert_has(out, "data: night\n\ndata: night\n\ndata: night\n\n");
    close(fd);
    str_release(&out);
}

/* Idle connections use every place, and make room for others at once. */
static void slow_clients_hold_nobody(void **state)
{
    enum { MANY = 200 };
    int idle[MANY];
    struct str out;
    (void)state;
    str_init(&out);
    for (size_t i = 0; i < MANY; i++) {
        idle[i] = dial();
        send(idle[i], "GET /slow", 9, MSG_NOSIGNAL);
    }
    double start = clock_seconds();
    ask("GET /" TOKEN "/x HTTP/1.1\r\n" HOST "\r\n", &out);
    assert_has(out, "path /x");
    assert_true(clock_seconds() - start < 1.5); /* their patience is 2 seconds */
    for (size_t i = 0; i < MANY; i++)
        close(idle[i]);
    str_release(&out);
}

static void slow_clients_are_cut_off(void **state)
{
    struct str out;
    (void)state;
    str_init(&out);
    int fd = dial();
    send(fd, "GET /slow", 9, MSG_NOSIGNAL);
    listen_to(fd, &out, 8);
    assert_has(out, "HTTP/1.1 408 ");
    close(fd);
    /* One that takes nothing of a large answer. */
    fd = dial();
    const char *request = "GET /" TOKEN "/large HTTP/1.1\r\n" HOST "\r\n";
    send(fd, request, strlen(request), MSG_NOSIGNAL);
    usleep(6000000);
    listen_to(fd, &out, 5);
    assert_true(out.length < 8 << 20);
    close(fd);
    str_release(&out);
}

static void streams_leave_room_for_pages(void **state)
{
    enum { MANY = HTTP_STREAMS + 5 };
    int fds[MANY];
    const char *request = "GET /" TOKEN "/events HTTP/1.1\r\n" HOST "\r\n";
    struct str out;
    (void)state;
    str_init(&out);
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = dial();
        send(fds[i], request, strlen(request), MSG_NOSIGNAL);
    }
    listen_to(fds[MANY - 1], &out, 5);
    assert_has(out, "HTTP/1.1 503 ");
    ask("GET /" TOKEN "/x HTTP/1.1\r\n" HOST "\r\n", &out);
    assert_has(out, "path /x");
    for (size_t i = 0; i < MANY; i++)
        close(fds[i]);
    str_release(&out);
}

static void a_port_in_use_is_named(void **state)
{
    struct http_server *server;
    struct error err = {0};
    int same = port;
    (void)state;
    assert_int_equal(http_server_open(&server, &same, &err), -1);
    assert_non_null(strstr(err.message, "is in use; name another one with --port"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_read),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(other_sites_are_refused),
        cmocka_unit_test(tokens_differ),
        cmocka_unit_test(long_requests_are_refused),
        cmocka_unit_test_setup_teardown(pages_are_served_with_their_guards, start_server, stop_server),
        cmocka_unit_test_setup_teardown(events_are_streamed, start_server, stop_server),
        cmocka_unit_test_setup_teardown(only_the_token_opens_pages, start_server, stop_server),
        cmocka_unit_test_setup_teardown(slow_clients_hold_nobody, start_server, stop_server),
        cmocka_unit_test_setup_teardown(slow_clients_are_cut_off, start_server, stop_server),
        cmocka_unit_test_setup_teardown(streams_leave_room_for_pages, start_server, stop_server),
        cmocka_unit_test_setup_teardown(a_port_in_use_is_named, start_server, stop_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
