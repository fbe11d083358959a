/* What every program may need of the system, for view.c and landlock.c. */
#ifndef LAUNCH_PATHS_H
#define LAUNCH_PATHS_H

#include <stdbool.h>
#include <string.h>

static const char *const system_folders[] = {"/usr",   "/bin", "/sbin",  "/lib",
                                             "/lib32", "/opt", "/lib64", "/sys/devices/system"};
static const char *const system_settings[] = {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
                                              "/etc/ld.so.conf.d", "/etc/localtime",   "/etc/OpenCL"};
static const char *const system_devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                             "/dev/urandom"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static inline bool is_device(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0;
}

#endif
