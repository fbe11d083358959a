/*
 * Whether an engine computes the same bytes each time: a model is run again in one session, in new sessions
 * and processes, after other models, with other contents of memory, with other numbers of threads, in other
 * batches (enum rule_axis), and every byte of the answers is compared.
 *
 * The runs are rewritings (rules/rewriting.h): each begins with the step "bytes" and ends with that of a rule
 * that has an axis. Where answers differ, every value of the model is made an output and the rewriting is run
 * again: the first value in the order of the nodes that differs tells the node. Whether rounding explains a
 * difference is judged by the reference's bounds as for any rewriting.
 */
#ifndef CHECK_DETERMINISM_H
#define CHECK_DETERMINISM_H

#include "rules/rewriting.h"
#include "trial/trial.h"

/* What was found in one respect; the more serious comes behind. */
enum determinism_answer {
    DETERMINISM_UNASKED = 0, /* no rule of the axis applies to the model or the engine's settings */
    DETERMINISM_UNANSWERED,  /* there are no two answers to compare */
    DETERMINISM_SAME,
    DETERMINISM_ROUNDING,  /* bytes differ, and rounding explains it */
    DETERMINISM_UNBOUNDED, /* bytes differ, and nobody knows whether rounding explains it */
    DETERMINISM_BEYOND,    /* no rounding explains it */
    DETERMINISM_ENDED,     /* there is no answer, though the model as it is has one */
};

enum { DETERMINISM_TEXT = 1200 };

struct determinism_axis {
    enum determinism_answer answer;
    size_t runs, differ; /* rewritings that were compared, and those that differ */
    const char *why;     /* why it was not asked or compared, as far as known; borrowed from `text` */
    char text[DETERMINISM_TEXT];
    char *rewriting;         /* the first with this answer; NULL: none differs */
    struct test_case *test;  /* one share of that rewritten case */
    struct verdict verdict;  /* of that */
    size_t output, elements; /* the first output that differs, and how many elements of all do */
    /* Where it begins: the first node one of whose outputs differs. */
    bool located;     /* it shows with all values exposed */
    char node[160];   /* "Conv conv1" */
    char value[100];  /* its output */
    long node_number; /* in the graph; -1: not known */
};

struct determinism_engine {
    struct verdict origin; /* on the model as it is */
    struct determinism_axis axes[AXIS_COUNT];
};

struct determinism {
    size_t n_engines, samples;
    struct determinism_engine *engines;
};

struct determinism_options {
    const struct panel *panel; /* with fresh workers */
    struct registry *registry;
    struct rule_choice choice; /* rules that are left out, or the only ones */
    int threads;               /* numbers of threads from 1 to this are tried; 0: 4 */
    bool progress;
};

/* Asks about one sample of a model and adds the result to *found, which is zeroed before the first. */
int determinism_run(struct determinism *found, struct test_case *origin,
                    const struct determinism_options *options, struct error *err);
void determinism_release(struct determinism *found);

/* The respect in which the engine's answer differs and that explains the others: what it hangs on. AXIS_NONE:
 * it is the same in all. */
enum rule_axis determinism_cause(const struct determinism_engine *engine);

/* Whether the answer tells of two runs that were compared, and whether they differ or one had no end. */
bool determinism_compared(enum determinism_answer answer);
bool determinism_differs(enum determinism_answer answer);

/* Whether it differs because memory was read that nobody wrote. */
bool determinism_unwritten(const struct determinism_axis *axis);

/* The word of an answer, "within rounding", for tables and JSON. */
const char *determinism_word(enum determinism_answer answer);

#endif
