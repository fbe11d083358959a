#include "judge/standing.h"

#include "base/hash.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What is listed apart, and is a finding with --strict alone. */
static bool is_apart(enum heard heard)
{
    return heard == HEARD_LIMITED || heard == HEARD_LENIENT || heard == HEARD_UNSAID;
}

enum heard verdict_heard(const struct verdict *verdict)
{
    enum heard heard = verdict_row(verdict->kind)->heard;
    if (heard == HEARD_FINDING || heard == HEARD_LACK || is_apart(heard))
        return heard;
    if (verdict->unanswered)
        return HEARD_NOTHING;
    /* In turn: all engines agree against the reference; a vote without a reference; an output without a
     * judged element; the answer is not as expected, and it is not known who is wrong. */
    bool doubtful = (verdict_is(verdict->kind, CLASS_DOUBT) && verdict->wrong) ||
                    (verdict_is(verdict->kind, CLASS_SUSPECT) && verdict->by_vote) || verdict->blank ||
                    expectation_is_open(verdict->expectation);
    return heard == HEARD_JUDGED && doubtful ? HEARD_UNJUDGED : heard;
}

void standing_finding(struct standing *standing)
{
    standing->findings++;
}

void standing_trouble(struct standing *standing, const char *format, ...)
{
    if (standing->troubles++)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(standing->reason, sizeof standing->reason, format, args);
    va_end(args);
}

void standing_mistake(struct standing *standing, const char *format, ...)
{
    char text[sizeof standing->mistake];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    uint64_t hash = hash_text(text);
    if (standing->mistakes && standing->latest == hash)
        return;
    standing->latest = hash;
    if (!standing->mistakes++)
        snprintf(standing->mistake, sizeof standing->mistake, "%s", text);
}

void standing_heard(struct standing *standing, const char *engine, enum heard heard, size_t count, size_t all,
                    const char *why)
{
    static const char *const texts[HEARD_COUNT] = {
        [HEARD_NOTHING] = "gave no answer",
        [HEARD_LACK] = "does not support it (name another engine, release or opset)",
        [HEARD_UNJUDGED] = "answered, and the answer could not be judged",
        [HEARD_LIMITED] = "does not take this form (a limitation, which --strict counts as a finding)",
        [HEARD_LENIENT] = "accepts what ONNX forbids (which --strict counts as a finding)",
        [HEARD_UNSAID] = "reads otherwise what ONNX does not say (which --strict counts as a finding)",
    };
    char where[60] = "", because[1020] = "";
    bool apart = is_apart(heard);
    if (heard == HEARD_FINDING || (apart && standing->strict && count))
        standing_finding(standing);
    if (!count || !texts[heard] || (apart && standing->strict))
        return;
    if (all > 1)
        snprintf(where, sizeof where, " on %zu of %zu samples", count, all);
    if (why && *why)
        snprintf(because, sizeof because, ": %.1000s", why);
    standing_trouble(standing, "%s %s%s%s", engine, texts[heard], where, because);
}

int standing_status(const struct standing *standing)
{
    if (standing->findings)
        return STATUS_FINDINGS;
    return standing->troubles || standing->mistakes ? STATUS_TROUBLE : STATUS_AGREE;
}

static const struct promise promises[] = {
    {.command = "run", .answered = "every sample", .judged = "nothing", .operators = "none"},
    {.command = "compare",
     .answered = "every sample",
     .judged = "the outputs of every sample; with --judge N, of N spread evenly and of the worst",
     .operators = "every one, on at least one sample"},
    {.command = "localize",
     .answered = "the sample examined",
     .judged = "its outputs",
     .operators = "every one, on that sample"},
    {.command = "conform",
     .answered = "every case that it supports, at least one",
     .judged = "the outputs of every case, as expected or by the reference",
     .operators = "every one that the reference knows, of cases with several"},
    {.command = "replay",
     .answered = "every finding that it supports",
     .judged = "the outputs of every finding, as expected or by the reference",
     .operators = "every one that the reference knows, of findings with several"},
    {.command = "check",
     .answered = "the model, and every form that has nothing new to it",
     .judged = "the outputs of every such form, against those of the model as it is",
     .operators = "none"},
    {.command = "fuzz",
     .answered = "some cases",
     .judged = "as many answers as the evidence says",
     .operators = "those whose values are outputs: what the last operators would hide is made one"},
    {.command = "search",
     .answered = "some changed samples",
     .judged = "as many changed samples as the first sentence says",
     .operators = "none"},
    {.command = "grad",
     .answered = "every sample, and every step of the training",
     .judged = "every gradient, on every sample and at every step",
     .operators = "none; gradients that are zero everywhere are named"},
    {.command = "decode",
     .answered = "every step",
     .judged =
         "every step; with --judge N, N spread evenly, the first, the last and those at which engines part",
     .operators = "every one, at each step judged"},
    {.command = "bisect",
     .answered = "some releases, and what others do not answer they lack",
     .judged = "the outputs of every sample, on the releases that were run",
     .operators = "none"},
    {.command = "report",
     .answered = "every sample of the case",
     .judged = "the outputs of every sample",
     .operators = "every one, on at least one sample"},
};

const struct promise *standing_promise(const char *command)
{
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++)
        if (strcmp(promises[i].command, command) == 0)
            return &promises[i];
    return NULL;
}
