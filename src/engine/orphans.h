/*
 * What an ended engine leaves behind. A process that an engine started and that left its group (setsid)
 * survives a signal to the group. Usually assay-launch ends it with the engine; when that was killed itself,
 * Assay adopts it, and ends it here.
 */
#ifndef ENGINE_ORPHANS_H
#define ENGINE_ORPHANS_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A worker, which is the leader of its session, is about to be started, lives, and has ended (NO_WORKER:
 * could not be started); what it left behind is then killed. While workers live this process adopts what they
 * leave behind: children in another session than its own that are no workers and were not there before the
 * first one. It adopts nothing while one lives that was started by a launcher of its own, as what such a
 * launcher leaves behind (the master connection of ssh) may serve other workers; nor when none lives, as
 * whatever else this process starts (a database) is no engine's.
 */
enum { NO_WORKER = 0 };
void orphans_worker_comes(bool by_launcher);
void orphans_worker_lives(pid_t worker, bool by_launcher);
void orphans_worker_ended(pid_t worker);

#ifdef __cplusplus
}
#endif
#endif
