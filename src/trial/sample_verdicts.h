/*
 * The judge's word on each engine over the samples of one model, and where the fault sits.
 *
 * Samples are judged as they come; of each engine the worst verdict is kept, the first of its kind, with the
 * node or fused group that settling finds. Settling runs the engine again, so of each engine only the first
 * wrong answer is settled, and a few suspects; suspects beyond those stay suspect. Answers of which some
 * output cannot be judged as a whole are looked at operator by operator, more of them, as they would else
 * count as not judged.
 */
#ifndef TRIAL_SAMPLE_VERDICTS_H
#define TRIAL_SAMPLE_VERDICTS_H

#include "base/arena.h"
#include "judge/judge.h"
#include "judge/standing.h"
#include "locate/settle.h"

/* Of one engine. Strings live in the arena given to words_init. */
struct word {
    struct verdict verdict;
    size_t sample;                /* the one it is about */
    size_t counts[VERDICT_COUNT]; /* samples; they sum up to those judged */
    size_t heard[HEARD_COUNT];    /* the same samples */
    const char *why[HEARD_COUNT]; /* what was said of the first of each */
    size_t n_nodes;               /* to blame; 0: not known, or nobody */
    const char **operators, **nodes;
    bool fused;         /* the nodes are wrong only together */
    const char *detail; /* what is off and where, without the engine's name; may be empty */
    size_t settled;     /* suspects that were */
    size_t resolved;    /* answers that could not be judged as a whole, looked at operator by operator */
};

struct words {
    struct arena *arena;
    struct pool *pool;
    size_t engines; /* numbers 0 ... in the pool */
    struct word *word;
    size_t samples, by_reference; /* judged at all; judged by the reference */
    struct lacks *lacks;          /* what the engines were asked about refusals (locate/refusal.h) */
    const char *reason;           /* why the reference did not judge, on the first such sample; or NULL */
};

void words_init(struct words *words, struct arena *arena, struct pool *pool, size_t engines);
void words_release(struct words *words); /* the words themselves stay, in the arena */

/* One sample on all engines. */
struct words_sample {
    size_t number;
    const struct model *model;
    const struct value *inputs;
    size_t n_inputs;
    const struct value *stack;    /* the inputs of the run it was answered in, with other samples; or NULL */
    const struct result *results; /* one an engine */
    const struct result *reference; /* with bounds; NULL when it was not asked */
};
void words_add(struct words *words, const struct words_sample *sample);

/* What the engine's samples mean for the exit status. */
void word_stands(const struct word *word, const char *engine, struct standing *standing);

/* The only engine with a finding, or -1: none, or several. */
int words_culprit(const struct words *words);

/* A sentence without its subject: "is wrong: Conv (node c1): output y[3] is 4, 2 is due: ...". */
void word_sentence(const struct word *word, struct str *out);

/* Settles one verdict where that is called for: a suspect becomes what settling says; a verdict that was sure
 * keeps its word and gets its node. False, and *settlement untouched, when nothing was settled. */
bool word_settle(const struct settle_case *which, struct verdict *verdict, struct settlement *settlement);

/* Whether word_settle would try. */
bool word_wants_settling(const struct verdict *verdict);

#endif
