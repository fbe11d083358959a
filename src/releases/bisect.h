/*
 * Since when, until when and by what: one case over the releases of an engine, over its knobs and over the
 * optimiser passes it can leave out.
 *
 * Every answer is judged by the reference; where the case brings an answer of its own that counts too, so
 * that what the ONNX text leaves open is still told apart. The releases with the same verdict next to each
 * other are a stretch. See change_search.h for how few are run and what that can miss.
 *
 * Knobs: on one bad release, every value of every knob whose values are listed ("none|basic|all"). Passes: a
 * knob whose values read "A+B+C" is a set; when all of them together, left out, make the fault go, a smallest
 * set that does is found by delta debugging.
 */
#ifndef RELEASES_BISECT_H
#define RELEASES_BISECT_H

#include "base/arena.h"
#include "case/test_case.h"
#include "engine/pool.h"
#include "judge/verdict.h"

struct bisect_options {
    struct registry *registry;
    struct pool_options limits;
    const char *engine; /* name[@version][:knobs]; with a version only knobs and passes are looked at */
    size_t step;        /* of change_search; 0: 2 */
    bool no_knobs;      /* releases alone */
};

/* What one engine says to the case. */
struct bisect_verdict {
    enum verdict_kind kind;
    enum stage stage;
    bool by_answer;      /* only the case's own answer says so, not the reference */
    const char *text;    /* one line */
    const char *message; /* the engine's own, whole; may be NULL */
    uint64_t state;      /* equal for equal verdicts; of clean refusals, what is lacking counts too */
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
    size_t runs; /* of the engine, for the releases */
    const char
        *at; /* the release on which knobs and passes were tried: the last bad one; NULL: none is bad */
    size_t n_knobs;
    struct bisect_knob *knobs;
    const char *pass_knob; /* NULL: the engine has none */
    size_t n_passes;       /* it can leave out */
    size_t n_blamed;       /* a smallest set without which the fault goes; 0: it stays without them all */
    const char **blamed;
    size_t knob_runs, pass_runs;
};

int bisect_run(struct bisect *bisect, const struct test_case *test, const struct bisect_options *options,
               struct error *err);
void bisect_release(struct bisect *bisect); /* also after a failure */

#endif
