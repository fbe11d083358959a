/*
 * What assay-judge does: it answers the requests of the public library (include/assay/assay.h) that come over
 * a socket, one after the other, until the other side closes it. Models are judged as the commands judge
 * them: the reference and every engine run in workers of their own.
 */
#ifndef LIBRARY_SERVER_H
#define LIBRARY_SERVER_H

/* Serves the socket; returns the program's exit status. */
int library_serve(int fd);

#endif
