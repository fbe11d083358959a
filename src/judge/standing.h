/*
 * What the exit status of every command stands on: was every engine heard, and was everything it said judged?
 *
 * Status 0 is earned. A command tells what became of each engine (and sample, case, release); whatever was
 * found makes it 1, whatever was not heard or not judged makes it 2, and the first reason for that is kept as
 * a sentence for people. Findings win.
 */
#ifndef JUDGE_STANDING_H
#define JUDGE_STANDING_H

#include "judge/verdict.h"

/* As of diff. */
enum { STATUS_AGREE = 0, STATUS_FINDINGS = 1, STATUS_TROUBLE = 2 };

/* What a verdict is worth; where only its word was kept, its row says so (verdict_row). */
enum heard verdict_heard(const struct verdict *verdict);

struct standing {
    size_t findings, troubles;
    char reason[400]; /* the first trouble, a sentence without its full stop; "" when there is none */
};

void standing_finding(struct standing *standing);
void standing_trouble(struct standing *standing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What `count` of `all` samples (or cases; 1 of 1: the only one) came to on an engine, all heard alike.
 * why: of the first of them; may be NULL. */
void standing_heard(struct standing *standing, const char *engine, enum heard heard, size_t count, size_t all,
                    const char *why);

int standing_status(const struct standing *standing);

#endif
