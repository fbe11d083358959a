/*
 * The judge's word on one engine's answer.
 *
 * A value is judged element by element against the reference's value and bounds (bounds/bounded.h).
 * Acceptance is written positively (`error <= bound`), so that a NaN can never pass by accident. -0 equals 0.
 * An element whose hard bound is infinite is not judged: undecided or open, counted as such.
 */
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include "bounds/bounded.h"
#include "engine/outcome.h"

enum verdict_kind {
    VERDICT_UNTESTED = 0, /* counts as failure wherever verdicts are summed */
    VERDICT_AGREES,       /* every judged element is within its bounds */
    VERDICT_UNSUPPORTED,  /* the engine says cleanly that it lacks this */
    VERDICT_UNDECIDED,    /* no element could be judged: bounds straddle jumps */
    VERDICT_OPEN, /* the ONNX text leaves the result open, or the model is not valid: any answer passes */
    VERDICT_MISTRUSTED, /* the answer proves nothing, or everybody disagrees with the reference */
    VERDICT_IMPRECISE,  /* far beyond the likely bound, though no operator is outside its hard one */
    VERDICT_SUSPECT,    /* beyond the likely bound and not settled; or outvoted where there is no reference */
    VERDICT_WRONG,      /* outside the hard bound: no rounding explains it */
    VERDICT_NAN,        /* NaN where a number is due, or a number where NaN is */
    VERDICT_SHAPE,      /* wrong shape */
    VERDICT_DTYPE,      /* wrong element type, or not a tensor at all */
    VERDICT_REJECTED,   /* refuses a valid model or input */
    VERDICT_FAILED,     /* reports an error on a valid case */
    VERDICT_CRASH,
    VERDICT_HANG,
    VERDICT_MEMORY,
    VERDICT_GARBAGE,          /* its answer breaks the protocol */
    VERDICT_NONDETERMINISTIC, /* a repeated run gave other bytes */
    VERDICT_NO_ENGINE,        /* it could not be started: trouble, not a finding */
    VERDICT_COUNT
};

const char *verdict_name(enum verdict_kind kind); /* "agrees", "wrong" ... */

/* An engine bug by this word alone: wrong, nan, shape, dtype, rejected, failed, crash, hang, memory, garbage,
 * nondeterministic. */
bool verdict_is_finding(enum verdict_kind kind);

struct verdict {
    enum verdict_kind kind;
    bool unanswered; /* the engine gave no outputs */
    bool invalid;    /* the reference calls the model or its inputs invalid */
    bool by_vote;    /* no reference: other engines and a tolerance decided, and it is said so */
    size_t output;   /* the output it is about */
    size_t element;  /* the worst element */
    size_t total, judged, wrong, suspect, undecided, open; /* elements over all outputs */
    size_t blank;      /* outputs that have elements of which none was judged */
    double factor;     /* largest error over its hard bound; infinite where the bound is 0 */
    double deviations; /* largest error in standard deviations of the likely bound */
    long double expected, got;
    double hard;
    char text[240]; /* one line for people, without the engine's name */
};

/* How many standard deviations are suspicious: see docs/bounds.md for the evidence. */
#define VERDICT_DEVIATIONS 16.0

/* True, and the word is shape, when an answer has more or fewer outputs than it should. */
bool verdict_count(struct verdict *verdict, size_t expected, size_t got);

/*
 * Judges one output into *verdict, which already holds what the outputs before it gave (start from a zeroed
 * one with kind VERDICT_AGREES); the worse word wins.
 */
void verdict_output(struct verdict *verdict, size_t output, const struct bounded *expected,
                    const struct value *got);

/* Sums up: undecided or open when nothing was judged; the text. `name` of the worst output, may be NULL. */
void verdict_finish(struct verdict *verdict, const char *name);

#endif
