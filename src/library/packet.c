#include "library/packet.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { UNIT = 8, TENTH = 100 /* milliseconds */ };

void packet_release(struct packet *packet)
{
    free(packet->data);
    *packet = (struct packet){0};
}

static size_t filled_up(size_t size)
{
    return (size + UNIT - 1) / UNIT * UNIT;
}

/* The next `size` bytes at the end, a multiple of UNIT. */
static uint8_t *extend(struct packet *packet, size_t size)
{
    if (packet->failed || size > SIZE_MAX / 4 || packet->length > SIZE_MAX / 4) {
        packet->failed = true;
        return NULL;
    }
    if (packet->length + size > packet->capacity) {
        size_t capacity =
            packet->capacity * 2 > packet->length + size ? packet->capacity * 2 : packet->length + size + 256;
        uint8_t *data = realloc(packet->data, capacity);
        if (!data) {
            packet->failed = true;
            return NULL;
        }
        packet->data = data;
        packet->capacity = capacity;
    }
    uint8_t *at = packet->data + packet->length;
    packet->length += size;
    return at;
}

void packet_put(struct packet *packet, uint64_t number)
{
    uint8_t *at = extend(packet, UNIT);
    if (at)
        memcpy(at, &number, UNIT);
}

void packet_put_double(struct packet *packet, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    packet_put(packet, bits);
}

void *packet_put_room(struct packet *packet, size_t size)
{
    packet_put(packet, size);
    size_t whole = filled_up(size);
    uint8_t *at = whole >= size ? extend(packet, whole) : NULL;
    if (at && whole > size)
        memset(at + whole - UNIT, 0, UNIT);
    return at;
}

void packet_put_bytes(struct packet *packet, const void *bytes, size_t size)
{
    void *at = packet_put_room(packet, size);
    if (at && size)
        memcpy(at, bytes, size);
}

void packet_put_text(struct packet *packet, const char *text)
{
    packet_put_bytes(packet, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* The next `size` bytes, or NULL. */
static const uint8_t *advance(struct packet *packet, size_t size)
{
    if (packet->bad || size > packet->length - packet->at) {
        packet->bad = true;
        return NULL;
    }
    const uint8_t *at = packet->data + packet->at;
    packet->at += size;
    return at;
}

uint64_t packet_take(struct packet *packet)
{
    uint64_t number = 0;
    const uint8_t *at = advance(packet, UNIT);
    if (at)
        memcpy(&number, at, UNIT);
    return number;
}

double packet_take_double(struct packet *packet)
{
    uint64_t bits = packet_take(packet);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

const void *packet_take_bytes(struct packet *packet, size_t *size)
{
    uint64_t length = packet_take(packet);
    const uint8_t *at = NULL;
    if (length > packet->length - packet->at)
        packet->bad = true;
    else
        at = advance(packet, filled_up((size_t)length));
    *size = at ? (size_t)length : 0;
    return at;
}

const char *packet_take_text(struct packet *packet)
{
    size_t size;
    const char *text = packet_take_bytes(packet, &size);
    if (text && size && !text[size - 1])
        return text;
    packet->bad = true;
    return "";
}

size_t packet_take_count(struct packet *packet, size_t least)
{
    uint64_t count = packet_take(packet);
    if (count <= (packet->length - packet->at) / least)
        return (size_t)count;
    packet->bad = true;
    return 0;
}

static int send_bytes(int fd, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
        data += sent;
        size -= (size_t)sent;
    }
    return 0;
}

int packet_send(int fd, const struct packet *packet)
{
    uint64_t length = packet->length;
    if (send_bytes(fd, (const uint8_t *)&length, sizeof length))
        return -1;
    return send_bytes(fd, packet->data, packet->length);
}

/* 1, 0 at the end of the stream, -1. */
static int receive_bytes(int fd, uint8_t *data, size_t size)
{
    while (size) {
        ssize_t got = recv(fd, data, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && errno != ECONNRESET ? -1 : 0;
        data += got;
        size -= (size_t)got;
    }
    return 1;
}

int packet_receive(int fd, struct packet *packet, uint64_t limit, bool (*wait)(void *context), void *context)
{
    uint64_t length;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    packet_release(packet);
    while (wait && poll(&ready, 1, TENTH) <= 0)
        if (wait(context))
            return -2;
    int got = receive_bytes(fd, (uint8_t *)&length, sizeof length);
    if (got <= 0)
        return got;
    if (length > limit || length % UNIT)
        return -1;
    if (!extend(packet, (size_t)length))
        return -1;
    return receive_bytes(fd, packet->data, (size_t)length);
}
