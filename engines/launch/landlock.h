/* Landlock, where namespaces may not be made. Each of these goes as far as the kernel has it. */
#ifndef LAUNCH_LANDLOCK_H
#define LAUNCH_LANDLOCK_H

#include "sandbox.h"

/* From now on this process and all that it starts reach no processes by signals but each other. True: the
 * kernel sees to it. */
bool landlock_scope_signals(void);

/* The same, and the view of files that the sandbox says; notes in `walls` what stands. */
void landlock_enter(const struct sandbox *sandbox, struct walls *walls);

#endif
