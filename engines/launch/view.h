/*
 * A file system of an engine's own, made in a new mount namespace: the system's folders and what the sandbox
 * shows, read-only, device nodes, /proc, small file systems in memory, and the scratch folder.
 */
#ifndef LAUNCH_VIEW_H
#define LAUNCH_VIEW_H

#include "sandbox.h"

/*
 * Builds it over the scratch folder, which is copied before, and leaves it as the present folder. `nobody`:
 * root builds it for nobody; what the engine is shown is then mounted as nobody's by `mapped` (user_map_root,
 * or -1) where the file system can, and the scratch folder is nobody's. Where one can not, and not everybody
 * may read the files, all of them stay root's: *refused then names one, and is NULL otherwise.
 */
int view_build(const struct sandbox *sandbox, bool nobody, int mapped, const char **refused);

/* In the present folder, mounts a /proc of its own (first: this process is in the new namespace of
 * processes), or shows the one that there is. Both are read-only. */
int view_mount_proc(void);
int view_show_proc(void);

/* The present folder becomes the root, and the old one is gone. */
int view_enter(void);

#endif
