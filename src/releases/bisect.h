/*
 * Finds the releases of an engine in which one case fails, and which of its knobs and optimiser passes make
 * the difference.
 *
 * Every answer is judged by the reference. Where the case brings expected outputs these count too, so that
 * releases can be told apart even where ONNX leaves the result unspecified. Neighbouring releases with the
 * same verdict are a stretch. change_search.h tells which releases are run, and what is missed by not running
 * the others.
 *
 * A rewritten case is run with its original on each release, and their answers are held against each other.
 *
 * Knobs are tried on the last bad release: every value of every knob that lists its values
 * ("none|basic|all"), as far as the engine's file declares them (engine/declared_knobs.h). A knob whose
 * values read "A+B+C" names optimiser passes to leave out. When the fault is gone without all of them, delta
 * debugging finds a smallest set whose absence is enough.
 */
#ifndef RELEASES_BISECT_H
#define RELEASES_BISECT_H

#include "base/arena.h"
#include "base/progress.h"
#include "case/test_case.h"
#include "engine/panel.h"
#include "judge/verdict.h"

struct bisect_options {
    struct registry *registry;
    struct pool_options limits;
    const struct given_label *engine; /* with a version only knobs and passes are tried */
    size_t step;                      /* of change_search; 0: 2 */
    bool no_knobs;                    /* try releases only */
    bool passes_only;                 /* of the knobs try only the one that names passes */
    void (*alive)(void *context);     /* called between runs of the engine; may be NULL */
    void *context;
    /* Called with the engines of all releases that were run, as the user gave it; may be NULL. */
    void (*ran)(void *context, const struct panel *releases);
    struct progress *progress; /* counts the runs; may be NULL */
};

/* The verdict on one engine's answer to the case. */
struct bisect_verdict {
    enum verdict_kind kind;
    enum stage stage;
    bool by_answer;      /* from the case's expected outputs; the reference does not object */
    const char *text;    /* one line */
    const char *message; /* the engine's own, whole; may be NULL */
    uint64_t state;      /* equal for equal verdicts; of *unsupported*, also what is lacking must be equal */
};

struct bisect_stretch {
    size_t first, last; /* releases */
    struct bisect_verdict verdict;
    bool bad;
};

struct bisect_value {
    const char *value;
    struct bisect_verdict verdict;
    bool bad;
};

struct bisect_knob {
    const char *name;
    size_t count;
    struct bisect_value *values;
};

/* Strings live in the arena. */
struct bisect {
    struct arena arena;
    const char *engine;
    size_t n_releases;
    const char **releases; /* ascending */
    bool *looked;          /* run, not inferred from neighbours */
    size_t n_stretches;
    struct bisect_stretch *stretches;
    size_t runs;    /* of the engine, for the releases */
    const char *at; /* the last bad release, on which knobs and passes were tried; NULL: none is bad */
    size_t n_knobs;
    struct bisect_knob *knobs;
    const char *pass_knob; /* NULL: the engine has none */
    size_t n_passes;       /* that it can leave out */
    size_t n_blamed;       /* passes whose absence is enough; 0: the fault stays even without all */
    const char **blamed;
    size_t knob_runs, pass_runs;
};

/*
 * Fails when an engine does not start, when the case is invalid, and when nothing can judge it: the reference
 * cannot and the case brings no expected outputs.
 */
int bisect_run(struct bisect *bisect, struct test_case *test, const struct bisect_options *options,
               struct error *err);
void bisect_release(struct bisect *bisect); /* also after a failure */

#endif
