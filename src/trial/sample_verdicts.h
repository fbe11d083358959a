/*
 * The verdict on each engine over the samples of one model, and where the fault sits.
 *
 * Samples are judged as they come; of each engine the worst verdict is kept, the first of its kind, with the
 * node or fused group that settling finds. Settling runs the engine again, so of each engine only the first
 * wrong answer is settled, and a few suspects; suspects beyond those stay suspect. Answers of which some
 * output cannot be judged as a whole are looked at operator by operator, more of them, as they would else
 * count as not judged.
 */
#ifndef TRIAL_SAMPLE_VERDICTS_H
#define TRIAL_SAMPLE_VERDICTS_H

#include "base/arena.h"
#include "engine/panel.h"
#include "judge/judge.h"
#include "judge/standing.h"
#include "locate/settle.h"

/* Of one engine. Strings live in the arena given to sample_verdicts_init. */
struct engine_verdict {
    struct verdict verdict;
    size_t sample;                /* the one it is about */
    size_t counts[VERDICT_COUNT]; /* samples; they sum up to those judged */
    size_t heard[HEARD_COUNT];    /* the same samples */
    const char *why[HEARD_COUNT]; /* what was said of the first of each */
    size_t n_nodes;               /* to blame; 0: not known, or nobody */
    const char **operators, **nodes;
    bool fused;         /* the nodes are wrong only together */
    const char *detail; /* what is off and where, without the engine's name; may be empty */
    const char *known;  /* of a finding: what the known issue is written up as; NULL: it is none */
    bool accepted;      /* that issue does not count against the engine */
    size_t settled;     /* suspects that were */
    size_t resolved;    /* answers that could not be judged as a whole, looked at operator by operator */
};

/* A finding that may be known. */
struct sample_finding {
    const struct engine_info *engine;
    const struct sample_results *sample;
    const struct result *result;
    const struct verdict *verdict;
    const struct settlement *settlement; /* NULL: nothing was settled */
};
typedef void sample_look_up(const void *context, const struct sample_finding *finding,
                            struct engine_verdict *overall);

struct sample_verdicts {
    struct arena *arena;
    const struct panel *panel;
    size_t engines; /* of the panel */
    struct engine_verdict *engine;
    size_t samples, by_reference; /* judged at all; judged by the reference */
    struct refusals *refusals;    /* what the engines were asked about refusals (locate/refusal.h) */
    const char *reason;           /* why the reference did not judge, on the first such sample; or NULL */
    sample_look_up
        *look_up;      /* fills in known and accepted of the worst answer; findings/known_issues.h has one */
    const void *known; /* its context */
};

void sample_verdicts_init(struct sample_verdicts *verdicts, struct arena *arena, const struct panel *panel);
void sample_verdicts_release(struct sample_verdicts *verdicts); /* the verdicts stay, in the arena */

/* One sample on all engines. */
struct sample_results {
    size_t number;
    const struct test_case *test;
    const struct test_case *stack;  /* the run it was answered in, with other samples; or NULL */
    const struct result *results;   /* one an engine */
    const struct result *reference; /* with bounds; NULL when it was not asked */
};
void sample_verdicts_add(struct sample_verdicts *verdicts, const struct sample_results *sample);

/* What the engine's samples mean for the exit status. */
void engine_verdict_stands(const struct engine_verdict *overall, const char *engine,
                           struct standing *standing);

/* The only engine with a finding, or -1: none, or several. */
int sample_verdicts_culprit(const struct sample_verdicts *verdicts);

/* A sentence without its subject: "is wrong: Conv (node c1): output y[3] is 4, expected 2: ...". */
void engine_verdict_sentence(const struct engine_verdict *overall, struct str *out);

#endif
