/*
 * Runs every case of a suite on every engine and compares each answer with the expected outputs that the case
 * brings. These decide, unless the reference refutes them (judge/expectation.h). The judge, with the
 * reference, gives a verdict of its own beside that: on each engine, and on the expected outputs themselves.
 *
 * All engines work at the same time. Only a window of cases is in memory; a case leaves it when its last
 * engine has answered. Each case gets exactly one verdict for each engine, and conform_run asserts that none
 * is lost.
 */
#ifndef CONFORM_CONFORM_H
#define CONFORM_CONFORM_H

#include "case/backend_suite.h"
#include "conform/expected_failures.h"
#include "engine/panel.h"
#include "judge/golden.h"
#include "trial/sample_verdicts.h"

/* Untested is the zero value, and counts as trouble. */
enum conform_verdict {
    CONFORM_UNTESTED = 0,
    CONFORM_PASS,
    CONFORM_WRONG,       /* values beyond the tolerance */
    CONFORM_NAN,         /* NaN where a number is expected, or the reverse */
    CONFORM_SHAPE,       /* a shape, or the number of outputs, is not as expected */
    CONFORM_DTYPE,       /* an element type is not as expected */
    CONFORM_RANDOM,      /* answered; the values are random, so only types and shapes were compared */
    CONFORM_UNSUPPORTED, /* this and the next eight: engine/outcome.h explains them */
    CONFORM_REJECTED,
    CONFORM_FAILED,
    CONFORM_CRASH,
    CONFORM_HANG,
    CONFORM_MEMORY,
    CONFORM_GARBAGE,
    CONFORM_NO_ENGINE,
    CONFORM_ADAPTER,
    CONFORM_NOT_RUNNABLE, /* the case's own files cannot be read, or are not valid */
    CONFORM_EXPECTATION,  /* the answer is right, and the expected outputs are not those of the model */
    CONFORM_UNDECIDED,    /* every operator is right; whether rounding explains that the answer is not as
                             expected cannot be told */
    CONFORM_COUNT
};
const char *conform_verdict_name(enum conform_verdict verdict); /* "pass", "not runnable" ... */

/* The judge's verdict that says the same. */
enum verdict_kind conform_verdict_kind(enum conform_verdict verdict);

/*
 * Whether the judge's verdict (judge/verdict.h) that corresponds to this one is of these classes. A pass
 * corresponds to agreement, random to an unspecified result, not runnable to undecided.
 */
bool conform_is(enum conform_verdict verdict, unsigned classes);

/* Whether it counts against the engine: everything but pass, random, unsupported, not runnable, expectation,
 * undecided and trouble. */
bool conform_is_finding(enum conform_verdict verdict);

struct conform_result {
    enum conform_verdict verdict;
    enum stage stage;
    int64_t load_ns, run_ns;
    const char *message; /* one line, or NULL; lives in the conform. Of a pass: how it differs from the
                            expected outputs by no more than rounding */
    const char *log;     /* the tail of the engine's stderr when it died; or NULL */
    bool
        bare; /* a data set brings no expected outputs: only the judge can tell whether the answer is right */
    /*
     * The judge's verdict over all data sets of the case; NULL when the case is not runnable, is random, or
     * has inputs that do not fit the model. Judged by itself, only what counts for the exit status is there
     * (conform/kept_verdicts.h), and NULL where nothing does.
     */
    const struct engine_verdict *judged;
    const char *said;     /* judged by itself, what the judge says besides `message`; NULL: nothing */
    enum listing listing; /* what the list of expected failures says, where there is one */
};

struct conform {
    struct arena arena;
    const struct suite *suite;
    size_t engines;
    struct conform_result *results; /* [case * engines + engine] */
    const char *
        *golden; /* [case]: how the case's expected outputs are outside the reference's hard bound, or NULL */
    size_t (*counts)[CONFORM_COUNT]; /* [engine][verdict] */
    bool listed;                     /* a list of expected failures was held against the results */
    size_t kept;                     /* verdicts that were kept, so that their engine was not asked */
    size_t at_least;                 /* as many cases must have run on each engine */
    double seconds;
};

struct conform_options {
    struct registry
        *registry; /* for findings that need other settings of an engine (replay.h); may be NULL */
    struct metrics_tolerance tolerance;
    size_t window;       /* most cases in memory; 0: 32 */
    size_t window_bytes; /* most bytes of them; 0: 1 GiB; a single case may exceed it */
    bool progress;
    /* For many releases of many engines: each is judged as if it were the only one, little is remembered of
     * each verdict, and no more engines run at a time than there are cores to run them. */
    bool by_itself;
    const char *keep; /* with by_itself: the folder of kept verdicts (conform/kept_verdicts.h); or NULL */
    uint64_t judge;   /* a hash of what these hang on besides what is in here */
    sample_look_up *look_up; /* for known issues, see struct sample_verdicts; NULL: none are known */
    const void *known;       /* its context, which must outlive the conform */
};

/*
 * Whether it is a pass that nothing was compared with: the case brings no expected outputs, and the judge
 * cannot tell.
 */
bool conform_is_unjudged(const struct conform_result *result);

/*
 * Whether the case passes although rounding cannot explain the answer: the tolerance is wider than the hard
 * bound.
 */
bool conform_is_beyond_rounding(const struct conform_result *result);

/* Whether the judge does not agree and says more than the verdict. */
bool conform_judge_says(const struct conform_result *result);

/* Whether the judge says that the engine does not take a form (CLASS_APART), which counts as what it does not
 * support unless the standing is strict. */
bool conform_is_apart(const struct conform_result *result);

/* Whether the case failed, as lists of expected failures have it: the engine was asked and its answer was not
 * as expected, or it gave none. */
bool conform_is_failure(const struct conform_result *result);

/* Whether it is not as the list of expected failures says: it fails and is not listed, or the reverse. */
bool conform_is_unexpected(const struct conform_result *result);

/* Holds the results of the one engine against a list, and adds to it the cases that fail and are not listed.
 */
void conform_hold(struct conform *conform, struct expected_failures *list);

/*
 * What the results mean for the exit status. An unsupported case is not a finding, but an engine that
 * supports no case at all was not tested, which is trouble. With a list of expected failures, an unexpected
 * result is a finding, and an expected one is none. labels: one for each engine.
 */
void conform_stands(const struct conform *conform, const char *const *labels, struct standing *standing);

int conform_run(struct conform *conform, const struct suite *suite, const struct panel *panel,
                const struct conform_options *options, struct error *err);
/* Forgets the engines of the panel that do not start. */
void conform_leave_out_absent(struct conform *conform, const struct panel *panel);
void conform_release(struct conform *conform); /* also after a failure */

static inline const struct conform_result *conform_at(const struct conform *conform, size_t number,
                                                      size_t engine)
{
    return &conform->results[number * conform->engines + engine];
}

#endif
