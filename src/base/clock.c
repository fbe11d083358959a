#include "base/clock.h"

#include <string.h>
#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_process_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

double clock_seconds(void)
{
    return (double)clock_ns() * 1e-9;
}

const char *clock_date(int64_t seconds, char buffer[CLOCK_DATE_SIZE])
{
    time_t moment = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&moment, &parts) || !strftime(buffer, CLOCK_DATE_SIZE, "%Y-%m-%d %H:%M:%SZ", &parts))
        strcpy(buffer, "?");
    return buffer;
}
