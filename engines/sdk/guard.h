/*
 * What an adapter does for its own containment. The launcher has set limits and denied sockets before; these
 * are the parts that only the process itself can do, or must do again.
 */
#ifndef SDK_GUARD_H
#define SDK_GUARD_H

#ifdef __cplusplus
extern "C" {
#endif

/* SIGKILL when the parent dies. Set again here, because an exec of a setuid launcher clears it. */
void guard_die_with_parent(void);

/* On SIGSEGV and its like, and on SIGTERM: print the stack on stderr from a stack of its own, then die by
 * that signal. */
void guard_print_crashes(void);

/* From now on exec and fork fail with EPERM; threads may still be made. 0, or -1 with errno set. */
int guard_deny_spawn(void);

#ifdef __cplusplus
}
#endif
#endif
