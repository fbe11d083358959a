/*
 * Compares several engines on one model and many samples: the judge's verdict on each engine, plain
 * differences between each pair of them, and the distances by which CRADLE (ICSE 2019) detects bugs.
 *
 * Every sample is run on every engine; a crash is recorded and ends nothing. Samples are run in batches where
 * the model's first dimension is open and samples do not influence each other (batch.h), but results are
 * always those of single samples. With a folder of kept answers (answer_cache.h), what was answered before is
 * not run again.
 *
 * The judge gives a verdict on each engine: by the reference where it knows the operators, by vote where it
 * does not. Where outputs agree, every operator is checked too (trial/sample_verdicts.h), as the last ones
 * may hide what is wrong. Both are done on all samples if that takes no longer than `seconds`, otherwise on
 * some that are spread evenly, at least the first, and then on those on which engines failed or differ most.
 *
 * Each pair of engines is compared on the samples that both answered: type and shape of every output, its
 * values (largest absolute and relative error, whether all are within the tolerance, the share of elements
 * within 0.1 %), and for the first output the class and MAD distances to the ground truth, with their
 * patterns (judge/metrics.h).
 *
 * Outputs that the data expects (case/inputs_expected.h) are a third party beside engines and reference:
 * every answer is compared with them, and the judge tells who is wrong (judge/expectation.h) on the samples
 * that it hears and on those that are not as expected.
 *
 * Without labels the first engine's top class takes the place of the truth. Two nearly equal classes can then
 * look like a large class distance, so such distances are reported but decide nothing. The MAD distance needs
 * true labels.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "case/inputs.h"
#include "compare/label_fit.h"
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
    size_t elements, nan, inf; /* summed over all samples */
    double min, max;           /* of the finite elements; NaN when there are none */
};

/* How an engine meets the expected outputs, on all samples. The first samples that it does not meet are
 * judged. */
enum { COMPARE_UNMET = 20 };
struct compare_expected {
    size_t compared, unmet;        /* samples that were compared with them; those that are not as expected */
    size_t samples[COMPARE_UNMET]; /* the first of those */
};

struct compare_engine {
    size_t outcomes[OUTCOME_COUNT];
    enum outcome worst; /* the first outcome that was not ok; its sample, stage, signal and message follow */
    size_t worst_sample;
    enum stage stage;
    int signal;
    const char *message;
    const char *last_lines; /* of its stderr, when it died; else NULL */
    size_t n_outputs;
    struct compare_output *outputs;
    struct compare_expected expected;
    struct label_fit labels; /* how class labels fit */
    size_t top1, topk;       /* samples whose label is the first class, is among the first k classes */
    int64_t load_ns, run_ns;
    size_t kept;       /* samples whose answer had been kept */
    size_t alone;      /* samples run alone because a batch failed */
    const char *stack; /* how the first such batch failed, or NULL */
};

struct compare_pair {
    size_t a, b;      /* engines */
    size_t compared;  /* samples both answered */
    size_t one_sided; /* samples that one answered and the other did not, although it started and supports the
                         model */
    size_t mismatched;    /* samples whose outputs differ in number, kind, type or shape */
    const char *mismatch; /* the first such difference in words, or NULL */
    size_t mismatch_sample;
    size_t beyond; /* samples with an element outside the tolerance */
    double max_abs, max_rel,
        ratio; /* the largest errors of all outputs; the smallest share of elements within 0.1 % */
    size_t worst_sample, worst_output, worst_element; /* where the values differ most */
    double worst_a, worst_b;
    struct metrics_pattern class, mad;
    bool class_inconsistent, mad_inconsistent;
    int class_pattern, mad_pattern; /* equal patterns have the same number, from 1; 0: not inconsistent */
    bool differs;                   /* for any of the above reasons that decide */
    struct classification why;      /* of a pair that differs: on the sample on which it differs most */
};

struct compare {
    struct arena arena;
    size_t samples, engines, pairs;
    size_t n_expected, n_unused;
    const char **expected; /* the outputs that the data expects, by name */
    const char **unused;   /* arrays and files of the data that belong to nothing */
    enum truth truth;
    double truth_off;      /* of true outputs: how far the first output of some engine is from them at most */
    size_t batch;          /* samples in one run; 1: each is run alone */
    const char *batch_why; /* why samples are run alone although the first dimension is open, or NULL */
    size_t judged_spread, judged_worst; /* samples that were judged: those spread evenly, those on which
                                           engines failed or differ most */
    bool chosen; /* how many are judged was chosen (compare_options.judge): the others are not missing */
    struct sample_verdicts verdicts; /* the judge's, one for each engine */
    struct compare_engine *engine;
    struct compare_pair *pair; /* (0,1), (0,2) ... (1,2) ... */
    size_t unique; /* different patterns among the inconsistent pairs, by class and by MAD together */
};

#define COMPARE_SECONDS 20.0

struct compare_options {
    struct metrics_thresholds thresholds;
    struct metrics_tolerance tolerance;
    size_t together;  /* most runs for one load of the model; 0: chosen by size */
    size_t batch;     /* most samples in one run; 0: 100 */
    size_t judge;     /* samples to judge besides the worst; 0: as many as there is time for */
    size_t operators; /* those of them on which operators are checked; 0: as many as there is time for */
    double seconds;   /* time for what has no number above; 0: COMPARE_SECONDS */
    const char *keep; /* folder of answers, or NULL */
    bool progress;
    bool no_causes;                   /* not to look for the parameters that make engines fail */
    const struct known_issues *known; /* must outlive the comparison; NULL: none */
};

/*
 * path: the file that the model was loaded from. Fails, and blames no engine, when the reference says that a
 * sample is invalid. Without the reference in the panel the engines vote.
 */
int compare_run(struct compare *compare, const char *path, const struct model *model,
                const struct inputs *inputs, const struct panel *panel, const struct compare_options *options,
                struct error *err);
void compare_release(struct compare *compare); /* also after a failure */

/* Reports samples that are not as expected and were not judged, and labels that do not fit. labels: one for
 * each engine. */
void compare_expected_stands(const struct compare *compare, const char *const *labels,
                             struct standing *standing);

/* Reports to *standing what the comparison means for the exit status: of each engine, labels[i], of what is
 * not as expected, and of the samples that were not judged. Differences between engines are not reported. */
void compare_stands(const struct compare *compare, const char *const *labels, struct standing *standing);

/*
 * A unique inconsistency. All inconsistencies with the same pattern are counted as one, whichever engines and
 * versions show it; patterns are of class distances where the labels are classes, of MAD distances where they
 * are true outputs.
 */
struct compare_unique {
    bool mad;
    int pattern;    /* class_pattern or mad_pattern of its pairs */
    size_t pairs;   /* how many show it */
    size_t first;   /* number of the first of them */
    size_t sample;  /* the most inconsistent one */
    double largest; /* its distance */
};
/* Fills in uniques, which must have room for compare->pairs of them, and returns how many there are. */
size_t compare_uniques(const struct compare *compare, struct compare_unique *uniques);

#endif
