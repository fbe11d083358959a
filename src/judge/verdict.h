/*
 * The verdict on one engine's answer to one case.
 *
 * A value is judged element by element against the reference's value and bounds (bounds/bounded.h).
 * Acceptance is written positively (`error <= bound`), so that a NaN can never pass by accident. -0 equals 0.
 * An element whose hard bound is infinite is not judged; it is counted as undecided or, when ONNX leaves it
 * unspecified, as open.
 */
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include "bounds/bounded.h"
#include "engine/outcome.h"

/* Each verdict has a row in verdict.c. The order of the enum has no meaning. */
enum verdict_kind {
    VERDICT_UNTESTED = 0, /* counts as failure wherever verdicts are summed */
    VERDICT_AGREES,       /* every judged element is within its bounds */
    VERDICT_UNSUPPORTED,  /* the engine reports that it lacks something */
    VERDICT_UNDECIDED,    /* no element could be judged: their error bounds reach across a jump */
    VERDICT_OPEN,       /* ONNX leaves the result unspecified, or the model is not valid: any answer passes */
    VERDICT_MISTRUSTED, /* agreement that is no evidence, or all engines agree against the reference */
    VERDICT_IMPRECISE,  /* far beyond the likely bound, though no operator is outside its hard bound; or NaN
                           where the steps that ONNX states give some number */
    VERDICT_SUSPECT,    /* beyond the likely bound and not settled; or outvoted where there is no reference */
    VERDICT_WRONG,      /* outside the hard bound: no rounding explains it */
    VERDICT_NAN,        /* NaN where a number is expected, or a number where NaN is */
    VERDICT_SHAPE,      /* wrong shape */
    VERDICT_DTYPE,      /* wrong element type, or not a tensor at all */
    VERDICT_REJECTED,   /* refuses a valid model or input */
    VERDICT_FAILED,     /* reports an error on a valid case */
    VERDICT_LIMITATION, /* refuses a valid case for its form, which it takes nowhere (locate/form_limit.h) */
    VERDICT_CRASH,      /* the process ended */
    VERDICT_HANG,       /* no answer within the deadline */
    VERDICT_MEMORY,     /* the memory it is allowed is too little: trouble, not a finding */
    VERDICT_GARBAGE,    /* its answer breaks the protocol */
    VERDICT_UNSAID,     /* right by another reading of what ONNX does not say (locate/other_reading.h) */
    VERDICT_ACCEPTED,   /* it answers a model that ONNX forbids (judge_forbidden) */
    VERDICT_INCONSISTENT,     /* another answer to an equivalent model (judge/pair.h) */
    VERDICT_NONDETERMINISTIC, /* a repeated run gave different bytes */
    VERDICT_UNWRITTEN,   /* its answer follows the contents of memory that nobody wrote (trial/trial.h) */
    VERDICT_NO_ENGINE,   /* it could not be started: trouble, not a finding */
    VERDICT_ADAPTER,     /* not the engine but its adapter failed: trouble, not a finding */
    VERDICT_EXPECTATION, /* it is right; the outputs that the user expects are not those of the model
                            (judge/expectation.h): a mistake of the user, not a finding */
    VERDICT_LOSSY,       /* the answer of a tool, which is off by what the types of its model explain
                             (trial/format_loss.h): the format, not a fault */
    VERDICT_COUNT
};

/* What a verdict is about. Each verdict has one class; code asks for one or several (verdict_is). */
enum verdict_class {
    CLASS_NOTHING = 1 << 0, /* the engine was not asked */
    CLASS_AGREES = 1 << 1,
    CLASS_LACK = 1 << 2,      /* the engine reports that it lacks something */
    CLASS_UNDECIDED = 1 << 3, /* it cannot be judged */
    CLASS_OPEN = 1 << 4,      /* ONNX leaves the result unspecified: any answer is right */
    CLASS_DOUBT = 1 << 5,     /* the answer was judged, but the judgement cannot be relied on */
    CLASS_IMPRECISE = 1 << 6, /* each operator is right, but the errors add up */
    CLASS_SUSPECT = 1 << 7,   /* far off; settling decides whether it is wrong */
    CLASS_NUMBERS = 1 << 8,   /* elements are wrong */
    CLASS_FORM = 1 << 9,      /* type or shape is wrong */
    CLASS_REFUSAL = 1 << 10,  /* an error message on a valid case */
    CLASS_DEATH = 1 << 11,    /* the process crashed, hung or broke the protocol */
    CLASS_UNSTABLE = 1 << 12, /* answers to the same case, or to equivalent ones, differ */
    CLASS_TROUBLE =
        1 << 13, /* the engine could not be started or not with enough memory; its adapter failed */
    CLASS_LENIENT = 1 << 14, /* it answers what it must refuse */
    CLASS_REFUTED = 1 << 15, /* it is right, against the outputs that the user expects */
    CLASS_LIMITED = 1 << 16, /* it refuses a form that it takes nowhere */
    CLASS_UNSAID = 1 << 17,  /* elements are other than expected, where ONNX does not say which are right */
    CLASS_LOSSY = 1 << 18,   /* what the types cost in which a tool stores numbers, and nothing else */
    /* Combinations: */
    CLASS_UNJUDGED = CLASS_UNDECIDED | CLASS_OPEN,
    CLASS_WRONG_ANSWER = CLASS_NUMBERS | CLASS_FORM,
    CLASS_DEVIATES = CLASS_SUSPECT | CLASS_WRONG_ANSWER,           /* the answer is not what is expected */
    CLASS_NO_ANSWER = CLASS_REFUSAL | CLASS_LIMITED | CLASS_DEATH, /* though the case is valid */
    CLASS_OTHER_VALUES = CLASS_NUMBERS | CLASS_UNSAID,
    CLASS_APART = CLASS_LIMITED | CLASS_LENIENT | CLASS_UNSAID, /* kept and listed, but not counted as bugs */
    CLASS_ALL = (1 << 19) - 1,
};

/* What a verdict means for the exit status (judge/standing.h). */
enum heard {
    HEARD_NOTHING = 0, /* no answer, and no finding: the engine did not start, met its memory limit, was not
                          asked, or it is not known whether it should have answered */
    HEARD_LACK,        /* it reports that it lacks something */
    HEARD_UNJUDGED,    /* it answered, but for some output no element could be judged */
    HEARD_JUDGED,      /* it answered, some element of every output was judged, and there is no finding */
    HEARD_MISTAKE,     /* it answered and is right, but what the user expects of it is not */
    HEARD_LIMITED,     /* it does not take a form that ONNX has */
    HEARD_LENIENT,     /* it takes what ONNX forbids */
    HEARD_UNSAID,      /* it is right by one reading of what ONNX does not say */
    HEARD_FINDING,
    HEARD_COUNT
};

/* What became of the outputs that a case expects (judge/expectation.h). */
enum expectation {
    EXPECTATION_NONE = 0, /* it expects none, or there is no answer to compare with them */
    EXPECTATION_MET,      /* the answer is as expected, within the tolerance */
    EXPECTATION_ROUNDING, /* it is not, but every operator is right, and rounding explains the difference */
    EXPECTATION_UNMET,   /* the engine is wrong: the reference refutes the answer, not the expected outputs */
    EXPECTATION_REFUTED, /* the engine is right: the reference refutes the expected outputs */
    EXPECTATION_BOTH,    /* both are wrong */
    EXPECTATION_UNTOLD,  /* every operator is right, but it cannot be told whether rounding explains it */
    EXPECTATION_WIDE,    /* both are inside bounds that are wide, and some operator could not be judged */
    EXPECTATION_ALONE, /* the reference cannot judge the answer: only the expected outputs speak against it */
    EXPECTATION_COUNT
};

/* Whether the answer is not as expected, and it is not known who is wrong. */
static inline bool expectation_is_open(enum expectation expectation)
{
    return expectation == EXPECTATION_UNTOLD || expectation == EXPECTATION_WIDE ||
           expectation == EXPECTATION_ALONE;
}

/* How a verdict is shown; src/report has the colours. */
enum tone { TONE_WARN, TONE_GOOD, TONE_BAD };

/* Which of an engine's own texts distinguishes two bugs with this verdict. */
enum evidence { EVIDENCE_NONE, EVIDENCE_MESSAGE, EVIDENCE_STACK };

/* Failures of one kin may be the same bug: a smaller case may show it in another way. */
enum kin { KIN_OTHER, KIN_NUMBERS, KIN_SHAPE, KIN_TYPE, KIN_REFUSAL, KIN_CRASH };

/* Everything that depends on the verdict alone. */
struct verdict_row {
    const char *word;     /* "wrong": in tables, JSON, JUnit and stores, so it never changes */
    const char *sentence; /* without its subject: "is wrong" */
    const char *says[2];  /* of one engine and of several, with the model after it: "refuses", "refuse"; of
                             those that agree, with the engines after it: "is computed correctly by" (a model),
                             and  the same of several things (gradients) */
    const char *deed; /* what happens to an operator, for a report's title: "crashes at"; NULL: such titles
                         are worded otherwise */
    enum verdict_class class;
    enum heard heard; /* when nothing but the word is known; an engine bug is HEARD_FINDING */
    enum tone tone;
    int rank; /* the verdict on an answer is the one with the highest rank of those on its parts; all ranks
                 differ */
    int loudness; /* the verdict on an engine is the one with the highest loudness of those on its samples; of
                     equals, the first */
    char letter;  /* in the tables of `assay probe` */
    enum evidence evidence;
    enum kin kin;
    bool every_type;    /* such a bug shows with any element type */
    bool calls_invalid; /* the engine calls the model or its inputs invalid */
    bool by_signal;     /* a signal may have ended the process; its number distinguishes such bugs */
    bool to_deadline;   /* every run that shows it lasts until the deadline */
    bool not_started;   /* the engine could not be started */
    bool narrowed;      /* parts of the graph are run to find the one that ends in the same way */
    bool of_forms;      /* it is about two forms of a model, which are equivalent */
    bool of_memory;     /* it is about what memory held before */
};

const struct verdict_row *verdict_row(enum verdict_kind kind);
const char *verdict_name(enum verdict_kind kind); /* the row's word */

/* Goes through all verdicts: for (enum verdict_kind kind = 0; verdict_exists(kind); kind++). */
bool verdict_exists(enum verdict_kind kind);

/* Of counts of every verdict, the sum of those of these classes (an or of enum verdict_class). */
uint64_t verdict_sum(const uint64_t counts[VERDICT_COUNT], unsigned classes);

/* Finds the verdict with that word; false when there is none. */
bool verdict_parse(const char *word, enum verdict_kind *kind);

/* Whether the verdict has one of these classes (an or of enum verdict_class). */
bool verdict_is(enum verdict_kind kind, unsigned classes);

/* Whether this verdict is kept and looked into: it means a bug of the engine, or is listed apart from these
 * (CLASS_APART). */
bool verdict_is_finding(enum verdict_kind kind);

/* Whether it means a bug: what is counted as found, and makes the exit status 1. */
bool verdict_is_bug(enum verdict_kind kind);

/* The verdict on an engine that gave no answer to a valid case; VERDICT_UNTESTED when it did answer. */
enum verdict_kind verdict_of_outcome(enum outcome outcome);

enum {
    VERDICT_TEXT = 1000,
    VERDICT_MEMCHECK = 200,
    VERDICT_LINE = VERDICT_TEXT + 200 /* with the operator to blame before it */
};

struct verdict {
    enum verdict_kind kind;
    bool no_evidence; /* of a mistrusted answer: it agrees, but so would a wrong computation */
    bool unanswered;  /* the engine gave no outputs */
    bool at_stage;    /* the text begins with the stage at which the engine ended: "at load: ..." */
    bool invalid;     /* the reference calls the model or its inputs invalid */
    bool of_pair;     /* the engine's answers to two equivalent cases differ (judge/pair.h) */
    bool gradient;    /* it is about gradients: `output` is one of them, by an input or initialiser */
    bool by_vote;     /* there was no reference: the engines voted, and the text says so */
    bool lowered;     /* it agrees, though only by the bounds of fewer bits (eval/lowered_products.h) */
    enum expectation expectation;                          /* what became of the expected outputs */
    size_t output;                                         /* the output it is about */
    size_t element;                                        /* the worst element */
    size_t total, judged, wrong, suspect, undecided, open; /* elements over all outputs */
    size_t strange; /* elements that are NaN or infinite where some number is expected */
    size_t vague;   /* judged elements in which an error of the output's size would pass */
    size_t blank;   /* outputs that have elements, none of which was judged */
    /* Of a pair: elements whose bytes differ, whether or not rounding explains it; the first of them. */
    size_t other_bytes, bytes_output, bytes_element;
    long double bytes_before, bytes_after;
    double factor;     /* largest error divided by its hard bound; infinite where the bound is 0 */
    double deviations; /* largest error in standard deviations of the likely bound */
    /* Both as shares of the largest finite value of their output: the largest error, and the smallest error
     * that is noticed in whichever judged element it is, as it is outside the hard bound or suspect. */
    double error, visible;
    long double expected, got;       /* values of the worst element */
    double hard;                     /* its hard bound */
    char text[VERDICT_TEXT];         /* one line for people, without the engine's name */
    char memcheck[VERDICT_MEMCHECK]; /* what valgrind says of memory that nobody wrote, in the text, too; "":
                                        not asked */
};

/* The verdict on an answer before any of its outputs is judged (verdict_output): nothing speaks against it.
 */
struct verdict verdict_begin(bool gradient);

/* The judgement cannot be relied on. */
void verdict_doubt(struct verdict *verdict);

/* Whether it is about a number where NaN is expected; and what it becomes where ONNX does not say that NaN is
 * right (locate/other_reading.h). */
bool verdict_loses_nan(const struct verdict *verdict);
void verdict_leave_unsaid(struct verdict *verdict);

/* The answer of a tool is off by what the types of its model explain (locate/format_loss.h): which types, and
 * how much of the answer they cost. */
void verdict_lose_precision(struct verdict *verdict, const char *formats, double share);

/* Whether the answer was judged, and some element of every output by a bound that is smaller than the output
 * itself: otherwise any result would have passed. */
bool verdict_is_earned(const struct verdict *verdict);

/* Sets the text. One that is too long, as it quotes an engine's message, loses its middle. */
void verdict_say(struct verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An error of more standard deviations than this is suspect: see docs/bounds.md for the evidence. */
#define VERDICT_DEVIATIONS 16.0

/* The largest error that is not suspect, where rounding has that standard deviation. */
static inline double verdict_unsuspected(double likely)
{
    return VERDICT_DEVIATIONS * likely;
}

/* When an answer has more or fewer outputs than expected, sets the verdict to shape and returns true. */
bool verdict_count(struct verdict *verdict, size_t expected, size_t got);

/*
 * Judges one output into *verdict, which already holds what the outputs before it gave (start from a zeroed
 * one with kind VERDICT_AGREES). The verdict with the higher rank is kept.
 */
void verdict_output(struct verdict *verdict, size_t output, const struct bounded *expected,
                    const struct value *got);

/* To be called after the last output: makes the verdict undecided or open when no element was judged, and
 * writes the text. `name` is the name of the worst output, or NULL. */
void verdict_finish(struct verdict *verdict, const char *name);

#endif
