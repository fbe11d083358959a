/*
 * Tells another program of each new cause that the campaigns of a database meet: a POST of JSON to an address
 * that the user keeps in a file. The address is often a secret, so it never stands on a command line: curl,
 * which sends it, gets it through a pipe of its own. What was told stands beside the address, in FILE.told,
 * so each cause is told once, also when `assay campaign serve` begins again; it is noted when the other end
 * has taken it, and is sent again after growing pauses until then.
 *
 * A cause is news when none of its findings was told before, no known issue explains it, it counts, and its
 * findings were reduced (or nobody did so for a while): before that, causes that look different may turn out
 * to be one.
 *
 *     {"text": "Assay: 1 new cause in the campaign night: ...", "campaign": "night", "causes": [{"cause":
 * ..., ...}]}
 *
 * "text" is what chat programs show. docs/json.md describes the rest.
 */
#ifndef SERVE_WEBHOOK_H
#define SERVE_WEBHOOK_H

#include "base/error.h"

struct webhook;

/* `file` holds the address, and nobody else may read it (serve/private_file.h). Fails where curl is not
 * installed. */
int webhook_open(struct webhook **hook, const char *file, const char *database, struct error *err);

/* Looks for news, sends them, and looks what became of what was sent: a little of it each time, without
 * waiting. */
void webhook_go_on(struct webhook *hook);

/* Gives up what is being sent. */
void webhook_close(struct webhook *hook);

#endif
