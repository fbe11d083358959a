/*
 * Who an engine is. Started by root it would own what root owns, even without capabilities: so it becomes
 * nobody, and the files that it is shown look like nobody's.
 */
#ifndef LAUNCH_USER_H
#define LAUNCH_USER_H

#include <stdbool.h>

enum { NOBODY = 65534 };

/* Whether this process is root, and not only in a namespace that some user made. */
bool user_is_root(void);

/* A user namespace for mounts in which files of root are nobody's; -1: none can be made. */
int user_map_root(void);

/* Enters a new user namespace, in which the user stays who it is and has capabilities, and further ones
 * (CLONE_NEW flags). `proc`: the folder /proc. *failed: what could not be done. */
int user_enter_namespaces(int proc, int further, const char **failed);

/* Makes this process nobody, without capabilities, in a user namespace of its own where one may be made
 * (*apart). */
int user_become_nobody(int proc, bool *apart);

/* No capability from now on; for a process that executes nothing. */
int user_clear_capabilities(void);

/* No capability, not even inside its namespaces, and no way to get one by executing something. */
int user_drop_capabilities(void);

#endif
