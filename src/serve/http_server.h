/*
 * A small HTTP/1.1 server for pages that are looked at on the machine itself. It listens on loopback alone,
 * and is one thread: a request is answered whole, and streams of server-sent events get what is new every few
 * seconds. Every connection serves one request. A client that sends its request slowly, takes its answer
 * slowly or falls behind with its events is cut off, and there are never more than HTTP_CONNECTIONS: when
 * they are taken, the oldest that has not sent its request yet makes room for the next.
 *
 * Loopback is open to every user of the machine. So all pages lie below a token that is drawn for each
 * server, /TOKEN/; whoever does not know it gets nothing. It is no cookie, which browsers would send to other
 * ports of the machine as well.
 */
#ifndef SERVE_HTTP_SERVER_H
#define SERVE_HTTP_SERVER_H

#include "base/error.h"
#include "base/str.h"
#include "serve/http_request.h"

#include <stdbool.h>

enum { HTTP_CONNECTIONS = 64, HTTP_STREAMS = 32, HTTP_TOPIC = 64, HTTP_TOKEN = 33 };

struct http_answer {
    enum http_status status;
    const char *type;               /* "text/html; charset=utf-8" */
    const char *policy;             /* the Content-Security-Policy; NULL: nothing may be loaded or run */
    char location[HTTP_PATH_LIMIT]; /* of HTTP_FOUND, below the token; without line breaks or spaces */
    struct str body;
    char topic[HTTP_TOPIC]; /* not "": a stream of events, which begins with the body */
};

struct http_site {
    const char *token; /* http_token_draw */
    /* The path of the request is without the token. */
    void (*answer)(void *context, const struct http_request *request, struct http_answer *answer);
    /* Appends to *out what all streams of a topic are to get now. Called about every `period` seconds. */
    void (*news)(void *context, const char *topic, struct str *out);
    bool (*stop)(void *context);   /* asked several times a second */
    void (*beside)(void *context); /* called as often, for what else there is to do; may be NULL */
    double period;
    double patience; /* seconds for a client to send its request, and to take some of what it is sent */
    void *context;
};

/* Draws 128 bits as hexadecimal digits. */
int http_token_draw(char token[HTTP_TOKEN], struct error *err);

/* Reads the token from the user's file, which nobody else may read, or draws one and writes it there. For
 * addresses that stay the same. */
int http_token_keep(char token[HTTP_TOKEN], const char *path, struct error *err);

struct http_server;

/* Begins to listen on 127.0.0.1 and, where there is IPv6, on ::1. *port: 0 means any, which is put there. */
int http_server_open(struct http_server **server, int *port, struct error *err);
void http_server_close(struct http_server *server);

/* Serves until the site says to stop. */
int http_serve(struct http_server *server, const struct http_site *site, struct error *err);

#endif
