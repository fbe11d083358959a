#include "cli/keys.h"

#include <poll.h>
#include <unistd.h>

/* A process in the background that reads from its terminal, or sets it, is stopped. */
static bool in_foreground(void)
{
    return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void keys_open(struct keys *keys)
{
    *keys = (struct keys){0};
    if (!in_foreground() || tcgetattr(STDIN_FILENO, &keys->before))
        return;
    struct termios single = keys->before;
    single.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    single.c_cc[VMIN] = 0;
    single.c_cc[VTIME] = 0;
    keys->open = tcsetattr(STDIN_FILENO, TCSANOW, &single) == 0;
}

void keys_close(struct keys *keys)
{
    if (keys->open && in_foreground())
        tcsetattr(STDIN_FILENO, TCSANOW, &keys->before);
    keys->open = false;
}

int keys_next(const struct keys *keys)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned char key;
    if (!keys->open || !in_foreground() || poll(&input, 1, 0) != 1 || read(STDIN_FILENO, &key, 1) != 1)
        return 0;
    return key;
}
