/*
 * Single keys from the keyboard, without Enter. Only where stdin is a terminal and this process is in its
 * foreground; elsewhere there are no keys. Ctrl-C and Ctrl-Z work as ever.
 */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

#include <stdbool.h>
#include <termios.h>

struct keys {
    bool open;
    struct termios before; /* what keys_close puts back */
};

void keys_open(struct keys *keys);
void keys_close(struct keys *keys);

/* The next key that was pressed; 0: none. Never waits. */
int keys_next(const struct keys *keys);

#endif
