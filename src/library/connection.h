/*
 * The library's side of the socket: it starts assay-judge, asks it, and ends it. It is loaded into programs
 * of others: it allocates with malloc and says so when there is no memory, waits for no process but its own,
 * and leaves signals and the environment alone.
 */
#ifndef LIBRARY_CONNECTION_H
#define LIBRARY_CONNECTION_H

#include "assay/assay.h"
#include "library/packet.h"

#include <sys/types.h>

struct connection {
    char *program; /* assay-judge */
    struct packet hello;
    int (*progress)(void *context, double seconds);
    void *context;
    int fd;    /* -1: it is not running */
    int words; /* a file of what it writes to stderr */
    pid_t pid;
    uint64_t started; /* how often it was: what it was told before the last time is lost */
};

/* Fills in *error, unless NULL, and returns the status. */
enum assay_status connection_fail(struct assay_error *error, enum assay_status status, const char *format,
                                  ...) __attribute__((format(printf, 3, 4)));

/* options: not NULL. Nothing is started yet. Close it also after a failure. */
enum assay_status connection_init(struct connection *connection, const struct assay_options *options,
                                  struct assay_error *error);
void connection_close(struct connection *connection);

/* Starts the program unless it runs. */
enum assay_status connection_start(struct connection *connection, struct assay_error *error);

/* Sends a request and receives the reply, whose result is taken next. The program must run. The caller
 * releases the reply, also after a failure. */
enum assay_status connection_ask(struct connection *connection, const struct packet *request,
                                 struct packet *reply, struct assay_error *error);

#endif
