/* Ctrl-C and SIGTERM for commands that end cleanly: blocked, and looked for where it suits. */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include <stdbool.h>

void interrupt_block(void);

/* Whether one of them has come. */
bool interrupt_pending(void);

/* Waits so many seconds, or until one of them comes; true: it came. */
bool interrupt_wait(double seconds);

#endif
