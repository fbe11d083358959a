/*
 * Which samples of a comparison are judged, and on which of these every operator is checked, within a limit
 * of time. Both are spread evenly over the data set; the first sample always has both.
 *
 * Who chooses to judge only some of many samples wants the rest at the engines' own price: operators are then
 * checked on as many as a twentieth of the time allows that all else takes.
 */
#ifndef COMPARE_SCHEDULE_H
#define COMPARE_SCHEDULE_H

#include "trial/sample_verdicts.h"

struct schedule_options {
    size_t samples;
    size_t judge, operators; /* how many; 0: as many as there is time for */
    double seconds;          /* the limit for what has no number; 0: COMPARE_SECONDS, or the share above */
    double measured;         /* seconds that judging the first sample took; 0: not known, it takes no time */
};

struct schedule {
    struct schedule_options options;
    int64_t begun;
    size_t judge_every, check_every; /* of the samples, and of those judged */
    size_t heard, checked; /* samples judged so far, and those of them whose operators were checked */
    bool sparing;          /* operators have a share of the time */
    double spent, latest;  /* seconds that checks of operators took: all, and the latest */
};

void schedule_init(struct schedule *schedule, const struct schedule_options *options);

/* Whether the sample is to be judged, asked in the order of the samples. */
bool schedule_judges(const struct schedule *schedule, size_t sample);

/* What is to be checked of the sample that is judged next, and how long that and judging it took. */
enum sample_check schedule_check(const struct schedule *schedule);
void schedule_heard(struct schedule *schedule, enum sample_check check, double seconds);

#endif
