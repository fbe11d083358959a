/*
 * Messages between the public library and assay-judge, over a socket: a frame is the length of its body, 8
 * bytes, and the body is a row of fields that both sides put and take in the same order. Numbers are 8 bytes,
 * little-endian; texts and bytes have their length before them and are filled up to a multiple of 8, so that
 * every field is aligned.
 *
 * The library is loaded into programs of others, so nothing here ends the process: a packet that ran out of
 * memory has failed, and one that is read beyond its end, or has a length that does not fit, is bad.
 */
#ifndef LIBRARY_PACKET_H
#define LIBRARY_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both sides state it first. It changes with the fields of any request or reply. */
enum { PACKET_PROTOCOL = 1 };

/* What is asked for; the fields of each are those that library/client.c puts and library/server.c takes. */
enum packet_request {
    PACKET_HELLO = 1,
    PACKET_LOAD,
    PACKET_PARSE,
    PACKET_UNLOAD,
    PACKET_REFERENCE,
    PACKET_RUN,
    PACKET_JUDGE,
    PACKET_JUDGE_VALUES,
    PACKET_JUDGE_ENGINE,
    PACKET_TOLERANCES
};

struct packet {
    uint8_t *data; /* heap, owned */
    size_t length, capacity, at;
    bool failed; /* no memory */
    bool bad;    /* what was taken is not there */
};

void packet_release(struct packet *packet); /* leaves an empty one */

void packet_put(struct packet *packet, uint64_t number);
void packet_put_double(struct packet *packet, double number);
void packet_put_bytes(struct packet *packet, const void *bytes, size_t size);
void packet_put_text(struct packet *packet, const char *text); /* NULL is put as "" */

/* Room for that many bytes, which the caller fills in; NULL when there is no memory. */
void *packet_put_room(struct packet *packet, size_t size);

/* What is not there is taken as 0, NULL and "". Bytes and texts live as long as the packet; texts end with a
 * 0. */
uint64_t packet_take(struct packet *packet);
double packet_take_double(struct packet *packet);
const void *packet_take_bytes(struct packet *packet, size_t *size);
const char *packet_take_text(struct packet *packet);

/* A number that counts things which take at least `least` bytes each of what is left; else the packet is bad.
 */
size_t packet_take_count(struct packet *packet, size_t least);

/* Sends the whole packet: 0, or -1 when the other side is gone. */
int packet_send(int fd, const struct packet *packet);

/*
 * Receives a whole packet of at most `limit` bytes into *packet, which is released first. Returns 1; 0 when
 * the other side has ended; -1 when its frame is broken or there is no memory; -2 when `wait` asked to stop.
 * wait: called about ten times a second before anything has come; NULL: never.
 */
int packet_receive(int fd, struct packet *packet, uint64_t limit, bool (*wait)(void *context), void *context);

#endif
