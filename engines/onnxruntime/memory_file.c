/*
 * Mesa's Vulkan driver for the processor keeps a device's memory in a file of memory and dies where it gets
 * none. Assay's filter has no memfd_create, because what it makes belongs to no process and so counts for
 * no limit. This definition comes before the C library's: a file of the scratch folder without a name.
 */
#define _GNU_SOURCE
#include "ort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int memfd_create(const char *name, unsigned flags)
{
    int file = (int)syscall(SYS_memfd_create, name, flags);
    if (file >= 0 || errno != ENOSYS)
        return file;
    char *path = ort_scratch_file("memory.XXXXXX");
    file = mkostemp(path, flags & MFD_CLOEXEC ? O_CLOEXEC : 0);
    if (file >= 0)
        unlink(path);
    free(path);
    return file;
}
