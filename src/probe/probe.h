/*
 * Finds out what each engine supports: every operator of the table with every element type, opset, rank of
 * its primary input and choice of optional inputs is run as a case of one node and judged by the reference.
 *
 * The results of each engine version are kept in a file (probe_file.h), so that generators can avoid what an
 * engine lacks. Only what the verdict *unsupported* names is lacking: a crash, a hang, a refusal or a wrong
 * answer is a finding.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include "base/arena.h"
#include "engine/panel.h"
#include "generate/operator_case.h"
#include "judge/verdict.h"

/* The verdicts, summed up in fewer words. */
enum probe_answer {
    PROBE_NONE,   /* not asked */
    PROBE_OK,     /* agrees */
    PROBE_UNSURE, /* answered, but the answer proves nothing: the verdict is open, undecided, mistrusted or a
                     vote's */
    PROBE_UNSUPPORTED, /* the engine says cleanly that it lacks this */
    PROBE_REJECTED,    /* refuses a valid case, or fails on it */
    PROBE_WRONG,       /* wrong value, shape or type */
    PROBE_CRASH,       /* also garbage */
    PROBE_HANG,
    PROBE_ANSWERS
};
const char *probe_answer_name(enum probe_answer answer);
char probe_letter(enum probe_answer answer);           /* ".o?urwch" */
enum probe_answer probe_answer_of_letter(char letter); /* PROBE_NONE when there is no such letter */
enum probe_answer probe_answer_of(const struct verdict *verdict);
bool probe_is_finding(enum probe_answer answer);

enum { PROBE_OPSETS = OPSET_NEWEST - OPSET_FIRST + 1, PROBE_FORMS = 32, PROBE_NAMES = 200 };

/*
 * The answers for one element type, rank and choice of inputs: a letter for each opset from OPSET_FIRST on.
 */
struct probe_row {
    enum dtype type; /* of the primary input; a narrow one may be that of a parameter or output instead */
    int rank;        /* of the primary input; -1: the operator has none */
    uint32_t given;  /* which inputs are given, bit i for input i; 0: all that there can be, or any number */
    char opsets[PROBE_OPSETS + 1];
};

/* A kind of finding of an operator: its first case, and how many cases have the same verdict. */
struct probe_find {
    enum verdict_kind verdict;
    enum dtype type;
    int opset;
    size_t count;
    const char *message, *recipe;
    uint64_t index; /* of the first case, while probing: answers come in any order */
};

struct probe_op {
    const char *name, *family;
    size_t n_rows, n_finds;
    struct probe_row *rows;
    struct probe_find *finds;
    /* With probe_options.trace: what the engine used to compute it, as trace_names has it ("kernel Conv"), in
     * alphabetical order; at most PROBE_NAMES. */
    size_t n_names;
    const char **names;
};

/* Everything about one engine. Texts and lists live in the arena. */
struct probe_result {
    struct arena arena;
    const char *engine;         /* name[@version][:knob=value,...], the version as the engine says it */
    const char *name, *version; /* version: NULL when it did not say */
    uint64_t seed;
    bool complete; /* every operator, opset, rank and choice of inputs was tried */
    bool started;  /* the engine could be started */
    size_t n_ops;
    struct probe_op *ops;
    const char *declared; /* operators that the engine itself says it has, "A,B@13"; NULL: it does not say */
    dtype_set types;      /* element types that it says it computes with; 0: it does not say */
};

struct probe_options {
    const struct panel *panel; /* must have the reference */
    const char *ops;           /* comma-separated operator names; NULL: all */
    dtype_set narrow;          /* narrow types to ask for as well, see op_narrow_at */
    uint64_t seed;
    bool trace;     /* also ask which kernels and passes the engines use, which takes time */
    bool quick;     /* only opsets 13, 17 and 21 (or an operator's first), two ranks and choices of inputs */
    bool oldest;    /* with quick: also the oldest opset */
    bool progress;  /* show the progress on a terminal */
    double seconds; /* after which no more is asked, as after a signal to end; 0: no limit */
};

/*
 * Probes all engines at once; results[i] belongs to engine i and is released by probe_results_free. Fails
 * with ERROR_NOT_FOUND for an operator that the table does not have.
 */
int probe_run(const struct probe_options *options, struct probe_result **results, struct error *err);
void probe_results_free(struct probe_result *results, size_t count);

/* Takes what the engine says of itself: its names, and what it declares. It has been started, or cannot be.
 */
void probe_introduce(struct probe_result *result, const struct engine_info *info);

/* name[@version][:knob=value,...] of an engine, the version as it says it itself; heap. */
char *probe_engine(const struct engine_info *info);

/*
 * How many cases got each answer: those of an operator, of one element type (DTYPE_NONE: of all), or all
 * cases of an engine.
 */
struct probe_counts {
    size_t of[PROBE_ANSWERS], total;
};
struct probe_counts probe_count(const struct probe_op *op, enum dtype type);
struct probe_counts probe_count_all(const struct probe_result *result);

/*
 * Sums a group of cases up in one answer: the worst finding; else unsupported, when all cases are; else ok or
 * unsure.
 */
enum probe_answer probe_sum_up(const struct probe_counts *counts);

#endif
