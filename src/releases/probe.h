/*
 * What each engine can do: every operator of the table, for every element type, opset, rank of the primary
 * input and form of optional inputs, as a case of one node, judged by the reference.
 *
 * Results are kept one file an engine version (probe_file.h), so that generators do not ask an engine for
 * what it cleanly lacks. Only *unsupported* is lacking: a crash, a hang, a refusal or a wrong answer is a
 * finding.
 */
#ifndef RELEASES_PROBE_H
#define RELEASES_PROBE_H

#include "base/arena.h"
#include "engine/panel.h"
#include "generate/operator_case.h"
#include "judge/verdict.h"

/* Verdicts, fewer of them. */
enum probe_answer {
    PROBE_NONE,        /* not asked */
    PROBE_OK,          /* agrees */
    PROBE_UNSURE,      /* answered, but the answer proves nothing: open, undecided, mistrusted, by vote */
    PROBE_UNSUPPORTED, /* says cleanly that it lacks this */
    PROBE_REJECTED,    /* refuses a valid case, or fails on it */
    PROBE_WRONG,       /* wrong value, shape or type */
    PROBE_CRASH,       /* also out of memory, or garbage */
    PROBE_HANG,
    PROBE_ANSWERS
};
const char *probe_answer_name(enum probe_answer answer);
char probe_letter(enum probe_answer answer);           /* ".o?urwch" */
enum probe_answer probe_answer_of_letter(char letter); /* PROBE_NONE when there is no such letter */
enum probe_answer probe_answer_of(const struct verdict *verdict);
bool probe_is_finding(enum probe_answer answer);

enum { PROBE_OPSETS = OPSET_LAST - OPSET_FIRST + 1, PROBE_FORMS = 32 };

/* One type, rank and form: a letter for each opset from OPSET_FIRST on. */
struct probe_row {
    enum dtype type;
    int rank;       /* of the primary input; -1: the operator has none */
    uint32_t given; /* which inputs are there, bit i for input i; 0: all there can be, or any number */
    char opsets[PROBE_OPSETS + 1];
};

/* The first case of its verdict, and how many there are. */
struct probe_find {
    enum verdict_kind verdict;
    enum dtype type;
    int opset;
    size_t count;
    const char *message, *recipe;
};

struct probe_op {
    const char *name, *family;
    size_t n_rows, n_finds;
    struct probe_row *rows;
    struct probe_find *finds;
};

/* Everything about one engine. Texts and lists live in the arena. */
struct probe_result {
    struct arena arena;
    const char *engine;         /* name[@version][:knob=value,...], the version as the engine says it */
    const char *name, *version; /* version: NULL when it did not say */
    uint64_t seed;
    bool complete; /* every operator, opset, rank and form was asked */
    bool started;  /* the engine could be started */
    size_t n_ops;
    struct probe_op *ops;
};

struct probe_options {
    const struct panel *panel; /* with the reference */
    const char *ops;           /* comma-separated operator names; NULL: all */
    uint64_t seed;
    bool quick;    /* opsets 13, 17 and 21 (or an operator's first), two ranks and forms: a few per cent */
    bool progress; /* show it */
};

/*
 * Probes all engines at once; results[i] belongs to engine i and is released by probe_results_free. Fails
 * with ERROR_NOT_FOUND for an operator that the table does not have.
 */
int probe_run(const struct probe_options *options, struct probe_result **results, struct error *err);
void probe_results_free(struct probe_result *results, size_t count);

/* name[@version][:knob=value,...] of an engine, the version as it says it itself; heap. */
char *probe_engine(const struct engine_info *info);

/* Sums, by answer, of an operator's cases, of those of one type (DTYPE_NONE: all), of an engine's. */
struct probe_counts {
    size_t of[PROBE_ANSWERS], total;
};
struct probe_counts probe_count(const struct probe_op *op, enum dtype type);
struct probe_counts probe_count_all(const struct probe_result *result);

/* What a group of cases is as one answer: the worst finding, else unsupported when nothing else, else ok or
 * unsure. */
enum probe_answer probe_sum_up(const struct probe_counts *counts);

#endif
