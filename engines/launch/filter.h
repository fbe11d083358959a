/* The system calls that an engine may not make. */
#ifndef LAUNCH_FILTER_H
#define LAUNCH_FILTER_H

#include "sandbox.h"

/*
 * Refuses, from now on and to all that this process starts: the network; looking into other processes;
 * mounts, namespaces and extensions of the kernel; memory that no limit counts. Behind walls that are no
 * namespaces also what would reach over them: modes, owners, times and attributes of files, and lengths where
 * Landlock does not guard them; signals, priorities and limits of other processes. Returns -1 with errno when
 * the kernel does not take the filter.
 */
int filter_load(const struct sandbox *sandbox, const struct walls *walls);

#endif
