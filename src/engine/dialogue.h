/*
 * A talk with one engine process, a question at a time: for checks of the adapter itself, where a pool would
 * hide which answer came to which question. Everything that runs cases uses pool.h.
 */
#ifndef ENGINE_DIALOGUE_H
#define ENGINE_DIALOGUE_H

#include "engine/scratch.h"
#include "engine/worker.h"

/* Why there is no more to hear: the process ended by itself, gave no answer in time, or wrote what is no
 * message. */
enum dialogue_stop { DIALOGUE_GOES_ON, DIALOGUE_ENDED, DIALOGUE_SILENT, DIALOGUE_GARBLED };

struct dialogue {
    struct worker worker;
    struct scratch scratch;
    bool up;         /* there is a process, or its end has not been reported yet */
    double deadline; /* seconds for an answer */
    double slowest;  /* seconds that the slowest answer took */
    uint8_t *buffer; /* what was read and not yet decoded, from `at` to `end` */
    size_t at, end;
    enum dialogue_stop stop;
};

int dialogue_start(struct dialogue *dialogue, const struct engine_spec *spec, const char *libexec,
                   double deadline, struct error *err);
void dialogue_close(struct dialogue *dialogue); /* kills the process; accepts a zeroed dialogue */

/*
 * Sends the requests that were put into worker.pending, and waits for the next reply. Returns 0 with the
 * reply, which is valid until the next call and must be released. Otherwise -1: the process is gone (it died,
 * was killed because it hung, or wrote what is no message), and *why says so in words.
 */
int dialogue_hear(struct dialogue *dialogue, struct wire_message *message, struct str *why);

/* Whether the process died before it read anything that was sent. */
bool dialogue_was_unread(const struct dialogue *dialogue);

/* Ends its input and waits `seconds` for the process to exit. 0: it did, with status 0; else -1 and why. */
int dialogue_end(struct dialogue *dialogue, double seconds, struct str *why);

#endif
