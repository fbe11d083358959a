/*
 * Known issues: engine bugs that are written up, described by conditions on the fields of a finding
 * (findings/finding_facts.h). docs/known-issues.md is the manual of the format; in short, an INI file with
 * one section for each issue:
 *
 *     [pad-wrap-turns]
 *     engine    = onnxruntime
 *     from      = 1.16.3
 *     symptom   = wrong nan
 *     operators = Pad
 *     attribute = mode=wrap
 *     cause     = Pad with mode wrap leaves elements unwritten where the pad is larger than the axis
 *     case      = docs/found/onnxruntime/pad-wrap-turns
 *
 * A finding is of an issue when all conditions hold. Nothing is matched against text that Assay itself
 * writes; `message` asks about the engine's own words. An issue without a condition beyond its operators is
 * refused, because it would hide every further bug of these operators, and so is whatever cannot be
 * understood: the error names the file and the line.
 */
#ifndef FINDINGS_KNOWN_ISSUES_H
#define FINDINGS_KNOWN_ISSUES_H

#include "findings/finding_facts.h"
#include "findings/store.h"
#include "trial/sample_verdicts.h"

/* Both ends belong to it; one that is not given is infinite. */
struct known_range {
    double low, high;
};

enum known_compare {
    COMPARE_NONE,
    COMPARE_EQUAL,
    COMPARE_NOT,
    COMPARE_LESS,
    COMPARE_UP_TO,
    COMPARE_FROM,
    COMPARE_MORE
};

/* What a word of a condition on a node asks about. */
enum known_subject {
    KNOWN_ATTRIBUTE, /* `name` compares to `text`, or to `number` */
    KNOWN_TYPE,      /* the element type is one of `text` */
    KNOWN_CONSTANT,
    KNOWN_GIVEN,     /* it is there */
    KNOWN_MARK,      /* some element is this */
    KNOWN_SOME,      /* some finite element compares to the number */
    KNOWN_MAGNITUDE, /* the largest finite one does, without its sign */
    KNOWN_RANK,      /* compares to the number, and so on */
    KNOWN_ELEMENTS,
    KNOWN_DIM, /* number `index`, from the last one when it is negative */
};

struct known_word {
    enum known_subject subject;
    bool negated;
    enum known_compare compare;
    int index;
    unsigned mark;
    double number;
    const char *name, *text;
};

enum known_place { KNOWN_NODE, KNOWN_INPUT, KNOWN_OUTPUT, KNOWN_INPUT_COUNT, KNOWN_SHAPES, KNOWN_RANKS };

struct known_condition {
    const char *op;         /* of a node of this operator; NULL: of one that `operators` names */
    int which;              /* the first of them is 1; 0: any of them */
    enum known_place place; /* the attributes, some input ... */
    int index;              /* of an input or output; -1: some */
    bool same;              /* of shapes and ranks: they are the same, else they differ */
    struct known_range count;
    size_t n_words; /* all must hold */
    struct known_word *words;
};

enum { KNOWN_NUMBERS = 8 };

/* What an element may be: "nan", "inf", "-inf", or a range of numbers. */
struct known_element {
    bool asked, nan;
    size_t n_ranges;
    struct known_range ranges[KNOWN_NUMBERS];
};

struct known_issue {
    const char *name, *engine, *cause;
    const char *document; /* the case that shows it, or "" */
    const char *file;
    int line;
    bool accepted;            /* from a file that the user named: it does not count against the engine */
    const char *from, *until; /* releases, both included; "" : no limit */
    uint32_t symptoms;        /* bits by enum symptom */
    size_t n_knobs, n_stages, n_messages, n_groups, n_conditions;
    const char **knobs; /* settings that the engine must have; not with a ! before it */
    const char **stages;
    const char **messages; /* parts of the engine's message; one of them, * stands for anything */
    const char **groups;   /* of operators: one of them must fit */
    struct known_range opset, factor;
    int signal; /* 0: any */
    struct known_element expected, got;
    struct known_condition *conditions;
    size_t met; /* for the caller */
};

struct known_issues {
    struct arena arena;
    size_t count, capacity;
    struct known_issue *items;
};

void known_init(struct known_issues *known);
void known_release(struct known_issues *known);

/* Adds the issues of a file. accepted: the user named it. */
int known_read(struct known_issues *known, const char *path, bool accepted, struct error *err);

/* Where issues are read from: a file that the user names, KNOWN_FILE in the folder of a campaign, and those
 * that are installed. The first one that a finding is of counts. */
struct known_files {
    const char *named, *folder; /* may be NULL */
    bool none_installed;
};
#define KNOWN_FILE "known.ini"

/* *known must be released also after a failure. */
int known_open(struct known_issues *known, const struct known_files *files, struct error *err);

/* The first issue that the finding is of, or NULL. */
struct known_issue *known_find(const struct known_issues *known, const struct finding_facts *facts);
bool known_matches(const struct known_issue *issue, const struct finding_facts *facts);

/* For sample_verdicts.look_up; context: the known issues. */
void known_look_up(const void *context, const struct sample_finding *finding, struct engine_verdict *overall);

/* What people and the store are told: the case, else the name. */
const char *known_document(const struct known_issue *issue);

/*
 * Looks a finding of a store up: with an issue its status becomes "known: DOCUMENT". The facts stay in the
 * store, so that known_again finds it with a later list.
 */
int known_mark(const struct known_issues *known, struct store *store, const char *signature,
               const struct finding_facts *facts, struct error *err);

/* Looks up again all findings of the store that are not known yet. */
int known_again(const struct known_issues *known, struct store *store, struct error *err);

/* The facts of a finding in a store; ERROR_NOT_FOUND when it has none. */
int known_facts(struct finding_facts *facts, struct store *store, const char *signature, struct error *err);

/* Writes an issue that is as narrow as these facts: a section to be added to a file. */
void known_write(struct str *out, const char *name, const char *because, const char *document,
                 const struct finding_facts *facts);

#endif
