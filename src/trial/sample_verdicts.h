/*
 * The verdict on each engine over all samples of one model, and the node at fault.
 *
 * Samples are judged as they come. For each engine the worst verdict is kept (by loudness, judge/verdict.h;
 * the first of equals), with the node or fused group that settling finds. Settling runs the engine again, so
 * only the first wrong answer of each engine and four suspects are settled; further suspects stay suspect.
 *
 * An answer that agrees may hide a wrong operator, so the operators are checked on the samples for which that
 * is asked (locate/operator_check.h). An answer with an output that cannot be judged as a whole is judged by
 * its operators as well, as it would otherwise count as not judged.
 */
#ifndef TRIAL_SAMPLE_VERDICTS_H
#define TRIAL_SAMPLE_VERDICTS_H

#include "base/arena.h"
#include "engine/panel.h"
#include "judge/expectation.h"
#include "judge/judge.h"
#include "judge/standing.h"
#include "locate/classify.h"
#include "locate/settle.h"
#include "trial/operator_evidence.h"

/* A refusal to load the model, which no data changes, and what was decided about it (locate/refusal.h). */
struct load_refusal {
    const char *message; /* NULL: there was none so far */
    struct verdict decided;
};

/* The verdict on one engine. Strings live in the arena given to sample_verdicts_init. */
struct engine_verdict {
    struct verdict verdict;
    size_t sample;                  /* the sample that the verdict is about */
    uint64_t counts[VERDICT_COUNT]; /* number of samples with each verdict; the sum is the number of samples
                                     judged */
    size_t heard[HEARD_COUNT];      /* the same samples, by what they mean for the exit status */
    size_t expectations[EXPECTATION_COUNT]; /* the same samples, by what became of the expected outputs */
    const char *why[HEARD_COUNT];           /* the text for the first sample of each */
    size_t n_nodes;                         /* nodes to blame; 0: none, or not known */
    const char **operators, **nodes;
    bool fused;                  /* the nodes are wrong only together */
    bool behind;                 /* ... and the first of them goes wrong, but only behind the others */
    const char *detail;          /* what is wrong and where, without the engine's name; may be empty */
    struct classification class; /* whose matter it is */
    const char *limit;   /* of a finding about numbers beyond their type: which, in words; else NULL */
    const char *cause;   /* which parameter makes it fail (compare/compare_cause.h); NULL: not known */
    const char *refuted; /* how the expected outputs of the first sample on which the reference refutes them
                            differ from what the model gives; NULL: there is none */
    const char *known; /* of a finding: where its known issue is written up; NULL: it is not a known issue */
    bool accepted;     /* the known issue does not count against the engine */
    /* Over all samples: elements of its answers, those judged, and those that were judged operator by
     * operator instead. */
    size_t elements, judged, by_operator;
    double factor, error, visible;     /* the largest over all samples (struct verdict) */
    struct operator_evidence evidence; /* of its operators */
    size_t settled;                    /* suspects that were settled */
    struct load_refusal refused;       /* the first */
    size_t resolved; /* answers that could not be judged as a whole, or are not as expected, and were judged
                        operator by operator */
};

/* A finding, to be looked up among the known issues. */
struct sample_finding {
    const struct engine_info *engine;
    const struct sample_results *sample;
    const struct result *result;
    const struct verdict *verdict;
    const struct settlement *settlement; /* NULL: nothing was settled */
};
/* Fills in `known` and `accepted` of *overall when the finding is a known issue. */
typedef void sample_look_up(const void *context, const struct sample_finding *finding,
                            struct engine_verdict *overall);

struct sample_verdicts {
    struct arena *arena;
    const struct panel *panel;
    size_t engines; /* how many the panel has; engine[i] is the one at place i */
    struct engine_verdict *engine;
    size_t samples, by_reference; /* samples judged, and those judged by the reference */
    struct refusals *refusals;    /* what the engines answered about refusals (locate/refusal.h) */
    const char *reason; /* why the reference did not judge the first sample that it did not judge; or NULL */
    const char *beyond; /* numbers beyond their type that decide the answer of the first sample that has such,
                           though every operator is right; or NULL */
    size_t limits_sought; /* `samples` when these were last sought */
    const char *unjudged; /* why elements of the first sample that has such could not be judged; NULL: all
                             were,    or nobody knows */
    const struct metrics_tolerance *tolerance; /* for expected outputs; that of ONNX's own cases unless set */
    sample_look_up *look_up; /* called for each finding that becomes the worst; NULL: none are known.
                                findings/known_issues.h has such a function */
    const void *known;       /* its context */
};

/* Arena and panel must outlive the verdicts. tolerance, look_up and known may be set afterwards. */
void sample_verdicts_init(struct sample_verdicts *verdicts, struct arena *arena, const struct panel *panel);
/* The engines' verdicts stay valid: they are in the arena. */
void sample_verdicts_release(struct sample_verdicts *verdicts);

/* When the operators of a model are checked: on answers that cannot be judged as a whole, up to 20 of an
 * engine; on each answer that agrees or cannot be judged; never. */
enum sample_check { CHECK_UNDECIDED, CHECK_OPERATORS, CHECK_NOTHING };

/* One sample on all engines. */
struct sample_results {
    size_t number;
    const struct test_case *test;
    const struct inputs *inputs;    /* whose sample `number` it is, for words; NULL: it is no sample of any */
    const struct test_case *stack;  /* when it was run in a batch with other samples, that batch; else NULL */
    const struct result *results;   /* one for each engine */
    const struct result *reference; /* with bounds; NULL when it was not asked */
    struct expected expected;       /* the outputs that the user expects; may be none */
    enum sample_check check;
};
/* Judges one sample, settles it where needed, and adds it. Nothing of the sample is kept. `each` gets the
 * verdict on each engine, unless NULL. */
void sample_verdicts_add(struct sample_verdicts *verdicts, const struct sample_results *sample,
                         struct verdict *each);

/* Reports to *standing what the engine's samples mean for the exit status. */
void engine_verdict_stands(const struct engine_verdict *overall, const char *engine,
                           struct standing *standing);

/* The only engine with a finding; -1 when there are none or several. */
int sample_verdicts_culprit(const struct sample_verdicts *verdicts);

/* Appends the verdict as a sentence without its subject: "is wrong (engine bug): Conv (node c1): output y[3]
 * is 4, expected 2: ...". */
void engine_verdict_sentence(const struct engine_verdict *overall, struct str *out);

#endif
