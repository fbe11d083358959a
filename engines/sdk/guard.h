/*
 * The part of its isolation that an adapter must set up itself. The launcher has already set limits and
 * denied sockets; these are things that only the process itself can do, or must do again.
 */
#ifndef SDK_GUARD_H
#define SDK_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the kernel send SIGKILL when the parent dies. The launcher has set this too, but executing a setuid
 * program clears it. */
void guard_die_with_parent(void);

/* Says which memory was meant by an address that could not be reached: one line, true when it knows.
 * `reaches`: "reads". */
typedef bool guard_tell(const void *address, const char *reaches, char *text, size_t size);

/* Who is asked about it when the process crashes. NULL: nobody. */
void guard_ask_of_crashes(guard_tell *tell);

/* On SIGSEGV and similar signals, and on SIGTERM, prints the stack to stderr (the handler has a stack of its
 * own), then lets the signal end the process. */
void guard_print_crashes(void);

/* From now on exec and fork fail with EPERM; threads can still be started. Returns 0, or -1 with errno set.
 */
int guard_deny_spawn(void);

#ifdef __cplusplus
}
#endif
#endif
