/* The part of a campaign's status that only a search has: its models, and what was reached on them. */
#ifndef REPORT_SEARCH_REPORT_H
#define REPORT_SEARCH_REPORT_H

#include "base/json.h"
#include "base/str.h"
#include "campaign/fuzz.h"

/* "goal nan, level input, fitness ours". */
void search_words_print(struct str *out, const struct fuzz_status *status);

/* The table of models, and in words on how many the goal was reached and what that means. */
void search_screen(struct str *out, const struct fuzz_status *status, bool colour);

/* "reached on 3 of 5 models". */
void search_line(struct str *out, const struct fuzz_status *status);

void search_json(struct json *json, const struct fuzz_status *status, const struct standing *standing);

/* Appends the answer (report/answer.h): whether the goal was reached, and on what evidence. */
void search_answer(struct str *out, const struct fuzz_status *status, const struct standing *standing,
                   const char *between);

#endif
