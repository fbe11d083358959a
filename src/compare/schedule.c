#include "compare/schedule.h"

#include "base/clock.h"
#include "compare/compare.h"

#include <math.h>

static const double share = 0.05; /* of the time that all else takes */

static double elapsed(const struct schedule *schedule)
{
    return (double)(clock_ns() - schedule->begun) * 1e-9;
}

/* The step with which `count` of them are taken; 1: all. */
static size_t every(size_t all, size_t count)
{
    return count && count < all ? (all + count - 1) / count : 1;
}

/* How many there is time for, at least one. */
static size_t in_time(double seconds, double each)
{
    double count = each > 0 ? seconds / each : INFINITY;
    return count < 1 ? 1 : count < 1e9 ? (size_t)count : (size_t)1e9;
}

void schedule_init(struct schedule *schedule, const struct schedule_options *options)
{
    *schedule = (struct schedule){.options = *options, .begun = clock_ns(), .check_every = 1};
    if (!(schedule->options.seconds > 0)) {
        schedule->options.seconds = COMPARE_SECONDS;
        schedule->sparing = !options->operators && options->judge && options->judge < options->samples;
    }
    /* Half of the time is for operators. */
    size_t judge =
        options->judge ? options->judge : in_time(schedule->options.seconds / 2, options->measured);
    schedule->judge_every = every(options->samples, judge);
}

static bool is_late(const struct schedule *schedule)
{
    return elapsed(schedule) > schedule->options.seconds;
}

static bool has_share(const struct schedule *schedule)
{
    double others = elapsed(schedule) - schedule->spent;
    return !schedule->sparing || schedule->spent + schedule->latest <= share * others;
}

bool schedule_judges(const struct schedule *schedule, size_t sample)
{
    return sample % schedule->judge_every == 0 &&
           (sample == 0 || schedule->options.judge || !is_late(schedule));
}

enum sample_check schedule_check(const struct schedule *schedule)
{
    const struct schedule_options *options = &schedule->options;
    if (schedule->heard == 0)
        return CHECK_OPERATORS;
    if (options->operators ? schedule->checked >= options->operators : is_late(schedule))
        return CHECK_NOTHING;
    return schedule->heard % schedule->check_every == 0 && has_share(schedule) ? CHECK_OPERATORS
                                                                               : CHECK_UNDECIDED;
}

/* After the first sample it is known how long a check takes. A share of the time grows with it, which spreads
 * them by itself. */
void schedule_heard(struct schedule *schedule, enum sample_check check, double seconds)
{
    const struct schedule_options *options = &schedule->options;
    size_t judged = (options->samples + schedule->judge_every - 1) / schedule->judge_every;
    if (check == CHECK_OPERATORS) {
        schedule->checked++;
        schedule->spent += seconds;
        schedule->latest = seconds;
    }
    if (schedule->heard++ || check != CHECK_OPERATORS || schedule->sparing)
        return;
    double left = options->seconds - (double)judged * options->measured;
    schedule->check_every = every(judged, options->operators ? options->operators : in_time(left, seconds));
}
