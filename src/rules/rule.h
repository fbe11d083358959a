/*
 * Equivalence rules: what may be changed about a case without changing its answer (after EAGLE, ICSE 2022).
 *
 * A rule is one `const struct rule rule_NAME` and one row in meson.build; a file holds one rule or a small
 * family. It says where it may be applied, what it changes, and which relation must hold between the two
 * answers of one engine.
 *
 * A rule must be an identity of ONNX: true for every value that the inputs may have, NaN, infinities and
 * empty tensors included, up to rounding. Where it holds only under conditions, it checks them and otherwise
 * does not apply. Relations are judged with the bounds of both forms (judge/pair.h), so a rule may round
 * differently, but not more often than its own operators account for.
 */
#ifndef RULES_RULE_H
#define RULES_RULE_H

#include "rules/rewrite.h"

enum rule_scope {
    RULE_NODE = 1, /* at a node of the top graph */
    RULE_VALUE,    /* at a value of the top graph: an input, an initialiser or the output of a node */
    RULE_MODEL,    /* the model as a whole, or all its inputs */
    RULE_RUN,      /* the way in which it is run; model and inputs stay as they are */
};

/* In which respect two runs differ that do the same work. What stands behind another hangs on it, too: when
 * two runs in one session differ, so may two processes. */
enum rule_axis {
    AXIS_NONE = 0,
    AXIS_RUNS,
    AXIS_SESSIONS,
    AXIS_OTHER_MODELS,
    AXIS_PROCESSES,
    AXIS_MEMORY,
    AXIS_BUFFERS,
    AXIS_THREADS,
    AXIS_THREAD_ORDER, /* runs with several threads; no rule has it alone */
    AXIS_BATCH_SIZE,
    AXIS_BATCH_POSITION,
    AXIS_COUNT
};

struct axis_row {
    const char *word;     /* "batch size", in tables and JSON */
    const char *differs;  /* "from run to run in one session" */
    const char *hangs_on; /* what an answer hangs on that differs in this respect alone */
};
const struct axis_row *rule_axis_row(enum rule_axis axis);

/* Where a rule is applied. */
struct rule_site {
    Onnx__NodeProto *node;           /* RULE_NODE */
    const struct index_value *value; /* RULE_VALUE */
    const char *knob;                /* RULE_RUN with `each_knob`: "opt=none" */
};

struct rule {
    const char *name;    /* "auto-pad": in recipes, stores and on command lines, so it never changes */
    int paper;           /* its number in EAGLE's list, 1 to 16; 0: it is not there */
    const char *summary; /* one line: what is written instead of what */
    enum rule_scope scope;
    enum relation relation;
    const char *operators; /* RULE_NODE: "Conv|ConvTranspose"; NULL: any, of any domain */
    bool each_knob;        /* RULE_RUN: applied once for each setting of the engine (rewriting.h) */
    const char *knobs;     /* RULE_RUN: all it does is to add these settings of the engine: "threads=1" */
    bool nothing_new;      /* see struct equivalence */
    bool respells;         /* the node stays, and one of its parameters is written in another way */
    bool on_request;       /* left out unless it is named */
    bool memory;           /* RULE_RUN: see struct equivalence */
    /* In which respect two runs of the same work differ, for questions about determinism
     * (check/determinism.h), and how many variations of the rule are then tried; AXIS_NONE: there is no such
     * question. */
    enum rule_axis axis;
    int variations;
    /*
     * Applies the rule to rewrite->model, rewrite->inputs or rewrite->way. Returns 1 when it did, 0 when it
     * does not apply at this site (the model may then be changed half-way: it is thrown away), -1 with an
     * error in rewrite->err when something else failed. NULL with `knobs`.
     */
    int (*apply)(struct rewrite *rewrite, const struct rule_site *site);
};

/* All rules, in the order of meson.build. */
extern const struct rule *const rules_all[];
extern const size_t rules_count;

/* Finds a rule by the first `length` bytes of a name. NULL when there is none. */
const struct rule *rule_named(const char *name, size_t length);

/* Whether a list of names ("again,memory") has the rule, or the respect that it is about (struct axis_row).
 */
bool rule_is_listed(const char *list, const struct rule *rule);

/* Whether a list of words with a separator between them has this word. */
bool rule_list_has(const char *list, char separator, const char *word);

/* Whether the rule's operators include this one. */
bool rule_takes(const struct rule *rule, const char *op_type);

#endif
