/*
 * The memory that an engine takes: its process and all that it started, however many generations down.
 */
#ifndef ENGINE_FOOTPRINT_H
#define ENGINE_FOOTPRINT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a process and its descendants take now, in bytes; 0 when that is not known. Memory that they share
 * with each other or with Assay counts, mapped files do not, as a model's weights may be mapped. The kernel's
 * quick counts have a shared page once for each process that has it: when they are above `most`, what each
 * mapping takes is looked at, and a page counts once.
 */
size_t footprint_of(pid_t process, size_t most);

/* The most address space that one of them ever had, in bytes: what a limit on it counts; 0 when that is not
 * known. */
size_t footprint_address_peak(pid_t process);

/* How many processes the kernel has ended for want of memory since it was started; 0 when it does not say. */
uint64_t footprint_kills(void);

#ifdef __cplusplus
}
#endif
#endif
