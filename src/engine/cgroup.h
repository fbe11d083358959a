/*
 * Groups of processes whose memory the kernel limits as a whole (cgroups), for workers. Few users may make
 * any: root, and whoever has a part of the tree to themselves. Everybody else does without, and what an
 * engine takes is watched (footprint.h), as it is inside a group.
 */
#ifndef ENGINE_CGROUP_H
#define ENGINE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where groups can be made. */
struct cgroup_home {
    char *folder; /* NULL: nowhere */
    bool unified; /* version 2 */
    size_t made;
};

/* Finds it, and removes groups there whose Assay is gone. Release with cgroup_home_release. */
void cgroup_home_find(struct cgroup_home *home);
void cgroup_home_release(struct cgroup_home *home);

/* A new group that may take so many bytes: its folder, a heap path, for assay-launch to enter; NULL: there is
 * none. */
char *cgroup_make(struct cgroup_home *home, size_t memory);

/* How many of its processes the kernel ended because they took more. */
uint64_t cgroup_kills(const char *folder);

/* Removes the group, when all of its processes are gone. */
void cgroup_remove(const char *folder);

#ifdef __cplusplus
}
#endif
#endif
