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

/* Each has a row in verdict.c; a new one takes a row there and whoever gives it. No order is meant. */
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
    VERDICT_NAN,        /* NaN where a number is expected, or a number where NaN is */
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

/* What a verdict is about. Each verdict has one class; questions ask for one or several (verdict_is). */
enum verdict_class {
    CLASS_NOTHING = 1 << 0, /* nobody was asked */
    CLASS_AGREES = 1 << 1,
    CLASS_LACK = 1 << 2,      /* the engine lacks something, and says so */
    CLASS_UNDECIDED = 1 << 3, /* nobody can tell */
    CLASS_OPEN = 1 << 4,      /* any answer is right */
    CLASS_DOUBT = 1 << 5,     /* the answer was judged, and that shows nothing */
    CLASS_IMPRECISE = 1 << 6, /* each operator is right, their sum is far off */
    CLASS_SUSPECT = 1 << 7,   /* far off, and right or wrong only when it is settled */
    CLASS_NUMBERS = 1 << 8,   /* elements are wrong */
    CLASS_FORM = 1 << 9,      /* type or shape is wrong */
    CLASS_REFUSAL = 1 << 10,  /* an error in words on a valid case */
    CLASS_DEATH = 1 << 11,    /* the process came to no good end */
    CLASS_UNSTABLE = 1 << 12, /* its answers differ from each other */
    CLASS_TROUBLE = 1 << 13,  /* the engine could not be asked */
    /* Several at once: */
    CLASS_UNJUDGED = CLASS_UNDECIDED | CLASS_OPEN,
    CLASS_WRONG_ANSWER = CLASS_NUMBERS | CLASS_FORM,
    CLASS_DEVIATES = CLASS_SUSPECT | CLASS_WRONG_ANSWER, /* the answer is not what is expected */
    CLASS_NO_ANSWER = CLASS_REFUSAL | CLASS_DEATH,       /* on a case that has one */
};

/* What a verdict is worth for the exit status (judge/standing.h). */
enum heard {
    HEARD_NOTHING = 0, /* the engine did not start, was not asked or gave no answer, and nobody knows whether
                          it should have */
    HEARD_LACK,        /* it says cleanly that it lacks something */
    HEARD_UNJUDGED,    /* it answered, and of some output no element could be judged */
    HEARD_JUDGED,      /* of every output some element was, and nothing is found */
    HEARD_FINDING,
    HEARD_COUNT
};

/* How it is shown; report/ has the colours. */
enum tone { TONE_WARN, TONE_GOOD, TONE_BAD };

/* Which of an engine's own words tell two bugs with this verdict apart. */
enum evidence { EVIDENCE_NONE, EVIDENCE_MESSAGE, EVIDENCE_STACK };

/* Failures of one kin may be one bug, which a smaller case shows in another way. */
enum kin { KIN_OTHER, KIN_NUMBERS, KIN_SHAPE, KIN_TYPE, KIN_REFUSAL, KIN_CRASH };

/* All that is known of a verdict. */
struct verdict_row {
    const char *word;     /* "wrong": in tables, JSON, JUnit and stores, so it never changes */
    const char *sentence; /* without its subject: "is wrong" */
    const char *deed;     /* of an operator, in a report's title: "crashes at"; NULL: the title has its own */
    enum verdict_class class;
    enum heard heard; /* where no more is known than the word; an engine bug is HEARD_FINDING */
    enum tone tone;
    int rank;     /* of two verdicts on parts of one answer the one with more stands for it; all differ */
    int loudness; /* of verdicts on several samples the loudest speaks for the engine, of equals the first */
    char letter;  /* in the tables of `assay probe` */
    enum evidence evidence;
    enum kin kin;
    bool every_type;    /* such a bug shows with one element type as with another */
    bool calls_invalid; /* the engine says that the model or its inputs break a rule */
    bool by_signal;     /* a signal ended the process, and tells such bugs apart */
    bool to_deadline;   /* every run that shows it takes as long as is allowed */
    bool narrowed;      /* it is worth running parts of a graph to see which one ends in the same way */
};

const struct verdict_row *verdict_row(enum verdict_kind kind);
const char *verdict_name(enum verdict_kind kind); /* the row's word */

/* The verdict of that word; false when there is none. */
bool verdict_parse(const char *word, enum verdict_kind *kind);

/* Whether it is of one of these classes. */
bool verdict_is(enum verdict_kind kind, unsigned classes);

/* An engine bug by this word alone. */
bool verdict_is_finding(enum verdict_kind kind);

/* What an engine that gave no answer to a valid case gets; VERDICT_UNTESTED where it gave one. */
enum verdict_kind verdict_of_outcome(enum outcome outcome);

struct verdict {
    enum verdict_kind kind;
    bool unanswered; /* the engine gave no outputs */
    bool at_stage;   /* the text begins with the stage at which the engine ended: "at load: ..." */
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
 * one with kind VERDICT_AGREES); the worse word (by rank) wins.
 */
void verdict_output(struct verdict *verdict, size_t output, const struct bounded *expected,
                    const struct value *got);

/* Sums up: undecided or open when nothing was judged; the text. `name` of the worst output, may be NULL. */
void verdict_finish(struct verdict *verdict, const char *name);

#endif
