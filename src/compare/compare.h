/*
 * One model, many samples, several engines: what CRADLE's detection sees, and plain errors beside it.
 *
 * Samples are run in stacks where the model's first dimension is open and its samples do not mix (batch.h);
 * results are always those of single samples. With a folder to keep answers in (answer_cache.h), what was
 * answered before is not run again.
 *
 * Every sample goes through every engine; a crash is recorded, never fatal. Then each pair of engines is
 * compared on the samples both answered: type and shape of every output, its values (largest absolute and
 * relative error, tolerance, element ratio), and for the first output the class and MAD distance to the
 * ground truth, with their patterns.
 *
 * The judge speaks about each engine: with the reference as arbiter where it knows the operators, by vote
 * where it does not. In a large data set it hears a sample of the samples, spread evenly, then those on which
 * engines failed or were farthest apart.
 *
 * Without labels the top class of the first engine stands in for the truth. Near-ties can then look like a
 * large class distance, so such distances are reported but decide nothing; MAD distance needs a real truth.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "case/inputs.h"
#include "engine/panel.h"
#include "judge/metrics.h"
#include "findings/known_issues.h"
#include "trial/sample_verdicts.h"

enum truth { TRUTH_NONE, TRUTH_CLASSES, TRUTH_VALUES, TRUTH_FIRST_ENGINE };

/* One output of one engine, over all samples. */
struct compare_output {
    const char *name;
    enum value_kind kind;
    enum dtype dtype; /* of the first sample's (first) tensor */
    struct shape shape;
    size_t elements, nan, inf; /* sums */
    double min, max;           /* of the finite elements; NaN when there are none */
};

struct compare_engine {
    size_t outcomes[OUTCOME_COUNT];
    enum outcome worst; /* the first outcome that was not ok, with its sample, stage and message */
    size_t worst_sample;
    enum stage stage;
    int signal;
    const char *message;
    size_t n_outputs;
    struct compare_output *outputs;
    size_t top1, topk; /* samples whose label came first, among the first k */
    int64_t load_ns, run_ns;
    size_t kept;       /* samples answered from what was kept */
    size_t alone;      /* samples run alone because a stack of them failed */
    const char *stack; /* how it failed first, or NULL */
};

struct compare_pair {
    size_t a, b;          /* engines */
    size_t compared;      /* samples both answered */
    size_t one_sided;     /* samples one answered and the other, present and able, did not */
    size_t mismatched;    /* samples with another number, kind, type or shape of outputs */
    const char *mismatch; /* the first such, or NULL */
    size_t mismatch_sample;
    size_t beyond;                  /* samples with an element outside the tolerance */
    double max_abs, max_rel, ratio; /* over all outputs; the ratio is the least of all samples' outputs */
    size_t worst_sample, worst_output, worst_element; /* where the values are farthest apart */
    double worst_a, worst_b;
    struct metrics_pattern class, mad;
    bool class_inconsistent, mad_inconsistent;
    int class_pattern, mad_pattern; /* equal patterns have equal numbers, from 1; 0: not inconsistent */
    bool differs;                   /* anything above that decides */
};

struct compare {
    struct arena arena;
    size_t samples, engines, pairs;
    enum truth truth;
    size_t batch;          /* samples in one run; 1: alone */
    const char *batch_why; /* why they are run alone although the first dimension is open, or NULL */
    size_t judged_spread, judged_worst; /* samples the judge heard: spread evenly, farthest apart */
    struct sample_verdicts verdicts;    /* the judge's, one an engine */
    struct compare_engine *engine;
    struct compare_pair *pair; /* (0,1), (0,2) ... (1,2) ... */
    size_t unique; /* different patterns among the inconsistent pairs, by class and by MAD together */
};

struct compare_options {
    struct metrics_thresholds thresholds;
    struct metrics_tolerance tolerance;
    size_t together;  /* runs on one load of the model at most; 0: as many as are sensible */
    size_t batch;     /* samples in one run at most; 0: 100 */
    size_t judge;     /* samples for the judge, besides the farthest apart; 0: all up to 200, else 20 */
    const char *keep; /* folder of answers, or NULL */
    bool progress;
    const struct known_issues *known; /* outlives the compare; NULL: none */
};

/* path is the file that the model was loaded from; fails, blaming nobody, when the reference calls a sample
 * invalid. Without an arbiter in the panel the engines vote. */
int compare_run(struct compare *compare, const char *path, const struct model *model,
                const struct inputs *inputs, const struct panel *panel, const struct compare_options *options,
                struct error *err);
void compare_release(struct compare *compare); /* also after a failure */

/*
 * Inconsistencies with equal patterns are one, whichever engines and versions they are between; by class
 * where the labels are classes, by MAD where they are true outputs. Of each, the pairs and the most
 * inconsistent sample.
 */
struct compare_unique {
    bool mad;
    int pattern;   /* its number in the model */
    size_t pairs;  /* that show it */
    size_t first;  /* number of the first of them */
    size_t sample; /* the most inconsistent, */
    double largest;
};
size_t compare_uniques(const struct compare *compare, struct compare_unique *uniques); /* room for `pairs` */

#endif
