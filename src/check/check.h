/*
 * A model checked by equivalence rules: it is rewritten in many ways, and every engine must give the same
 * answer to each of them (rules/rewriting.h, judge/pair.h).
 *
 * First each rule is applied at each of its sites alone, at most `sites` of them spread evenly over the
 * model; then rewritings of several steps are drawn at random. Cases are run and judged by trials
 * (trial/trial.h).
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "findings/known_issues.h"
#include "rules/rewriting.h"
#include "trial/trial.h"

/* What an engine made of one rewriting. */
enum check_answer {
    CHECK_SAME = 1,   /* the answers agree, and some element of every output was compared */
    CHECK_UNCOMPARED, /* no element of some output could be compared, or there is no answer to compare */
    CHECK_LACKING, /* the rewritten form has an operator, attribute or type that the engine lacks, as it says
                      of a node alone (locate/refusal.h) */
    CHECK_WRONG,   /* the answer is wrong by the reference, and the one to the original is alike; or neither
                      has one, for the same kind of fault */
    CHECK_CHANGED, /* a finding */
};

/* A rewriting on which an engine fails. */
struct check_finding {
    size_t engine;            /* place in the panel */
    enum check_answer answer; /* wrong or changed */
    size_t sample;
    struct test_case *test; /* one share of the rewritten case */
    struct verdict verdict;
    bool by_reference;       /* the reference judged the answer to the rewritten form by itself */
    const char *known;       /* where its known issue is written up; NULL: it is not a known issue */
    char text[VERDICT_LINE]; /* what is wrong, one line, with the operator to blame where it is known */
};

struct check_engine {
    size_t answers[CHECK_CHANGED + 1]; /* rewritings by enum check_answer */
    struct verdict origin;             /* on the model as it is, of the first sample where it is a finding */
    /* Of the first rewritten form that it does not run: */
    char lacking[VERDICT_TEXT]; /* what it says */
    char *lacking_form;         /* the rewriting; NULL: it runs all */
    size_t unanswered;          /* changed ones that it refuses, or that end its process */
};

struct check {
    size_t n_engines;
    struct check_engine *engines;
    size_t samples;
    size_t rewritings;  /* that were run, over all samples */
    size_t untried;     /* steps left out because a rule has more sites than wanted */
    size_t bad;         /* rewritings that the reference itself finds unequal: never held against an engine */
    char bad_text[300]; /* the first of them */
    size_t *by_rule;    /* rewritings for each rule */
    size_t *changed_by_rule;
    size_t n_findings, findings_capacity;
    struct check_finding *findings;
};

struct check_options {
    const struct panel *panel;
    struct registry *registry;        /* for rules about settings */
    const struct known_issues *known; /* must outlive the result; NULL: none */
    struct rule_choice choice;
    size_t sites;                              /* of each rule; 0: all */
    size_t combined;                           /* rewritings of several steps, drawn at random */
    size_t depth;                              /* how many steps each of them has; 0: 3 */
    const struct metrics_tolerance *tolerance; /* without the reference (judge/pair.h); NULL: the usual */
    uint64_t seed;
    double seconds; /* no further rewriting is begun after so many; 0: no limit */
    bool progress;
};

/* Checks one sample of a model and adds the result to *check, which is zeroed before the first. */
int check_run(struct check *check, struct test_case *origin, const struct check_options *options,
              struct error *err);
void check_release(struct check *check);

/* The finding of an engine whose rewriting is smallest: the fewest steps, then the fewest nodes; NULL: none.
 */
const struct check_finding *check_smallest(const struct check *check, size_t engine);

#endif
