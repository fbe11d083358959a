#include "base/progress.h"

#include "base/clock.h"

#include <stdio.h>
#include <unistd.h>

void progress_begin(struct progress *progress, const char *what, size_t total)
{
    *progress = (struct progress){.what = what, .total = total, .started = clock_ns()};
    progress->visible = isatty(STDERR_FILENO);
}

static void draw(const struct progress *progress, int64_t now)
{
    double seconds = (double)(now - progress->started) * 1e-9;
    double rate = seconds > 0 ? (double)progress->done / seconds : 0;
    fprintf(stderr, "\r\033[K%s %zu", progress->what, progress->done);
    if (progress->total)
        fprintf(stderr, "/%zu", progress->total);
    fprintf(stderr, "  %.0f/s", rate);
    if (progress->total && rate > 0 && progress->done < progress->total)
        fprintf(stderr, "  %.0f s left", (double)(progress->total - progress->done) / rate);
    fflush(stderr);
}

void progress_step(struct progress *progress, size_t done)
{
    progress->done = done;
    if (!progress->visible)
        return;
    int64_t now = clock_ns();
    if (now - progress->drawn < 100000000)
        return;
    progress->drawn = now;
    draw(progress, now);
}

void progress_end(struct progress *progress)
{
    if (progress->visible && progress->drawn)
        fputs("\r\033[K", stderr);
}
