/*
 * The exit status of every command: did every engine answer, and was every answer judged?
 *
 * Status 0 must be earned. A command reports what became of each engine (and sample, case, release) to a
 * struct standing. A finding makes the status 1; an engine that did not answer, or an answer that was not
 * judged, is trouble and makes it 2. The reason for the first trouble is kept as a sentence for people. So is
 * the first mistake of the user, such as expected outputs that are not those of the model: it makes the
 * status 2 as well, although everything was judged. Findings take precedence over both. A form that an engine
 * takes nowhere, and a forbidden model that it answers, are trouble unless `strict` makes them findings.
 */
#ifndef JUDGE_STANDING_H
#define JUDGE_STANDING_H

#include "judge/verdict.h"

/* Exit statuses, with the meaning they have for diff. */
enum { STATUS_AGREE = 0, STATUS_FINDINGS = 1, STATUS_TROUBLE = 2 };

/* What a verdict means for the exit status. Where only the verdict's word was kept, use `heard` of its row
 * (verdict_row). */
enum heard verdict_heard(const struct verdict *verdict);

struct standing {
    bool strict; /* what is listed apart (CLASS_APART) counts as a finding */
    size_t findings, troubles, mistakes;
    char reason[1200];  /* the first trouble, a sentence without its full stop; "" when there is none */
    char mistake[1200]; /* the first mistake, the same */
    uint64_t latest;    /* a hash of the last one */
};

void standing_finding(struct standing *standing);
void standing_trouble(struct standing *standing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same mistake, which several engines bring to light one after the other, counts once. */
void standing_mistake(struct standing *standing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports that `count` of an engine's `all` samples (or cases) have this `heard`; 1 of 1 stands for a single
 * case. `why` is the text for the first of them; may be NULL. */
void standing_heard(struct standing *standing, const char *engine, enum heard heard, size_t count, size_t all,
                    const char *why);

int standing_status(const struct standing *standing);

/*
 * What status 0 of a command promises: the one table, which `assay COMMAND --help` and docs/commands.md show.
 * A command reports to its standing whatever falls short of its row.
 */
struct promise {
    const char *command;
    const char *answered;  /* what every engine answered */
    const char *judged;    /* what was judged of that, and found right */
    const char *operators; /* which operators of the models were judged by themselves */
};
const struct promise *standing_promise(const char *command); /* NULL: its status is about something else */

#endif
