/*
 * Every case of a suite on every engine, each held against the answer the case brings. That answer decides;
 * the judge's word, with the reference as arbiter, stands beside it, on the engines and on the answer itself.
 *
 * All engines work at once. A window of cases is in memory; a case leaves it when its last engine has
 * answered. Each case gets exactly one verdict on each engine, which conform_run asserts: none is lost.
 */
#ifndef CONFORM_CONFORM_H
#define CONFORM_CONFORM_H

#include "case/backend_suite.h"
#include "engine/panel.h"
#include "findings/known_issues.h"
#include "judge/golden.h"
#include "trial/sample_verdicts.h"

/* Untested is the zero value, and counts as trouble. */
enum conform_verdict {
    CONFORM_UNTESTED = 0,
    CONFORM_PASS,
    CONFORM_WRONG,       /* values beyond the tolerance */
    CONFORM_NAN,         /* NaN where a number belongs, or the other way round */
    CONFORM_SHAPE,       /* a shape, or the number of outputs, is not as expected */
    CONFORM_DTYPE,       /* an element type is not as expected */
    CONFORM_RANDOM,      /* ran; its values are random and were not judged, only types and shapes */
    CONFORM_UNSUPPORTED, /* these as engine/outcome.h says */
    CONFORM_REJECTED,
    CONFORM_FAILED,
    CONFORM_CRASH,
    CONFORM_HANG,
    CONFORM_MEMORY,
    CONFORM_GARBAGE,
    CONFORM_NO_ENGINE,
    CONFORM_NOT_RUNNABLE, /* the case's own files cannot be read, or are not valid */
    CONFORM_COUNT
};
const char *conform_verdict_name(enum conform_verdict verdict); /* "pass", "not runnable" ... */

/* Whether the judge's verdict (judge/verdict.h) that says the same is of these classes: a pass is agreement,
 * random any answer, and of what is not runnable nobody can tell. */
bool conform_is(enum conform_verdict verdict, unsigned classes);

/* Pass, random, unsupported and not runnable say nothing against an engine; everything else is a finding. */
bool conform_is_finding(enum conform_verdict verdict);

struct conform_result {
    enum conform_verdict verdict;
    enum stage stage;
    int64_t load_ns, run_ns;
    const char *message; /* one line, or NULL; lives in the conform */
    const char *log;     /* the tail of the engine's stderr when it died; or NULL */
    bool bare;           /* a data set brings no answer: only the judge can say whether it is right */
    const struct engine_verdict
        *judged; /* over the case's data sets; NULL when the case is not runnable, random or misfit */
};

struct conform {
    struct arena arena;
    const struct suite *suite;
    size_t engines;
    struct conform_result *results; /* [case * engines + engine] */
    const char **golden; /* [case]: how the case's own answer leaves the reference's hard bound, or NULL */
    size_t (*counts)[CONFORM_COUNT]; /* [engine][verdict] */
    double seconds;
};

struct conform_options {
    struct metrics_tolerance tolerance;
    size_t window;       /* cases in memory; 0: 32 */
    size_t window_bytes; /* their size; 0: 1 GiB; a single case may exceed it */
    bool progress;
    const struct known_issues *known; /* outlives the conform; NULL: none */
};

/* A pass that nobody judged: the case brings no answer, and the judge cannot tell. */
bool conform_is_unjudged(const struct conform_result *result);

/* A case that passes though no rounding explains the answer: its tolerance is wider than the bound. */
bool conform_is_beyond_rounding(const struct conform_result *result);

/*
 * What it all means for the exit status. Unsupported cases are no finding, but an engine on which nothing ran
 * at all was not tested. labels: one an engine.
 */
void conform_stands(const struct conform *conform, const char *const *labels, struct standing *standing);

int conform_run(struct conform *conform, const struct suite *suite, const struct panel *panel,
                const struct conform_options *options, struct error *err);
void conform_release(struct conform *conform); /* also after a failure */

static inline const struct conform_result *conform_at(const struct conform *conform, size_t number,
                                                      size_t engine)
{
    return &conform->results[number * conform->engines + engine];
}

#endif
