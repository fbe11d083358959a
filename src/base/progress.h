/*
 * Progress of long work: one line on stderr, and only when stderr is a terminal. It appears when the work has
 * taken a second, and is redrawn twice a second by a thread of its own, which does nothing else: so the time
 * runs on, whatever the work is waiting for. progress_end clears the line, so that results follow on a clean
 * screen.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct progress_line;

struct progress {
    struct progress_line *line; /* NULL: nothing is shown */
};

/* what: "compare", a text that outlives the work. total: how many steps it has; 0: not known. */
void progress_begin(struct progress *progress, const char *what, size_t total);
void progress_end(struct progress *progress); /* also of zeroed, or ended, progress */

/* From here on something new is being done: the line is cleared, and its counts and its time begin anew. */
void progress_restart(struct progress *progress);

/* The work ends after so many seconds, counted from here, whatever is left of it then; 0: no limit. */
void progress_limit(struct progress *progress, double seconds);

/* How many steps there are, when that is known later. */
void progress_total(struct progress *progress, size_t total);

/* So many steps are done; one more is. Progress that was not begun, or NULL, is left alone here and above. */
void progress_step(struct progress *progress, size_t done);
void progress_add(struct progress *progress);

/* So many more runs of engines ended (engine/pool.h): what moves on while a step takes long. */
void progress_runs(struct progress *progress, size_t more);

/* What is being done within the step, "settling", in a text that outlives the work; NULL: nothing special. */
void progress_doing(struct progress *progress, const char *doing);

#ifdef __cplusplus
}
#endif
#endif
