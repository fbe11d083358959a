/*
 * What an engine makes of a case, before a command goes to work on it: judged as `assay compare` judges it,
 * on all samples of --data or --random. Where the engine fails, the sample on which it does is the case;
 * where it does not, there is nothing to work on, and that is said at once.
 */
#ifndef CLI_JUDGE_FIRST_H
#define CLI_JUDGE_FIRST_H

#include "case/test_case.h"
#include "cli/common.h"

struct judged_first {
    bool right; /* it answered every sample, and nothing is wrong: there is no failure to work on */
    char *answer,
        *line; /* heap: what `assay compare` answers, in lines and in one; NULL: it was not judged */
    enum verdict_kind kind;
    int status;             /* of `assay compare` */
    size_t sample, samples; /* the one that *test is, and how many there are */
};

/* For a command that works on one case with one engine: fails when the words are others. */
int judge_first_words(const struct common *common, const struct cli_list *words, struct error *err);

/* Opens the case, in its rewritten form where it takes that to show, and the session, does the work and
 * closes both. The work may replace *test by another case. */
typedef int (*judge_first_work)(const void *settings, const char *path, struct session *session,
                                struct test_case **test, struct error *err);
int judge_first_run(const struct common *common, const struct input_settings *inputs, const char *path,
                    judge_first_work work, const void *settings, struct error *err);

/*
 * Judges the first engine of the session, which has the reference. *test is the case that casefile_open made
 * of `path`; where it has several samples and the engine fails on another than the first, that one replaces
 * it. A case that takes more than an answer to judge (two forms, gradients, a forbidden model) is not judged.
 * The caller releases *judged, also after a failure.
 */
int judge_first(struct judged_first *judged, struct test_case **test, const char *path,
                const struct input_settings *settings, struct session *session, struct error *err);
/* Appends what is said of an engine that is right: the answer, and that there is nothing to `work`. */
void judged_first_say(const struct judged_first *judged, const char *work, struct str *out);
/* The same as the whole result of a command that makes a case of `path` in a folder: as JSON, or as text.
 * Returns the exit status, or -1. */
int judged_first_write(const struct judged_first *judged, const char *work, const char *path,
                       const struct common *common, const struct session *session, struct error *err);
void judged_first_release(struct judged_first *judged);

/* Adds the reference's answers to a case that was made, as far as there are any: a forbidden model has none,
 * and nor has one with an operator that the reference lacks. */
int judged_first_add_answers(struct test_case *made, struct error *err);

#endif
