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
 *     case      = found/onnxruntime/pad-wrap-turns
 *
 * An issue matches a finding when all its conditions hold. Conditions never look at text that Assay itself
 * writes; `message` is about the engine's own message. An issue without a condition beyond its operators is
 * refused, because it would hide every further bug of these operators. One that was muted names findings and
 * their cause instead, with the case that shows it: `finding = NAME...`, `same-cause = KEY`, `witness = ...`
 * (findings/known_witness.h). Whatever cannot be understood is
 * refused too; the error names the file and the line.
 */
#ifndef FINDINGS_KNOWN_ISSUES_H
#define FINDINGS_KNOWN_ISSUES_H

#include "findings/finding_facts.h"
#include "findings/store.h"
#include "trial/sample_verdicts.h"

/* A range of numbers, both ends included. An end that the file does not give is infinite. */
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

/* Limits: issues in a file; words in a group of operators; bytes of such a word ("Add|Sub") with its end;
 * bytes of the pattern of an attribute's text with its end. */
enum { KNOWN_ISSUES = 2000, KNOWN_GROUP_WORDS = 32, KNOWN_WORD_SIZE = 120, KNOWN_PATTERN_SIZE = 200 };

/* What one word of a condition on a node is about. */
enum known_subject {
    KNOWN_ATTRIBUTE, /* `name` compares to `text`, or to `number` */
    KNOWN_TYPE,      /* the element type is one of `text` */
    KNOWN_CONSTANT,
    KNOWN_GIVEN,     /* the value is not left out */
    KNOWN_MARK,      /* some element has the mark (enum fact_mark) */
    KNOWN_SOME,      /* some finite element compares to the number */
    KNOWN_MAGNITUDE, /* the largest absolute value of the finite elements does */
    KNOWN_RANK,      /* the rank compares to the number; the next two likewise */
    KNOWN_ELEMENTS,
    KNOWN_DIM, /* the dimension `index`, counted from the end if negative */
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
    const char *op;           /* the node has this operator; NULL: one that `operators` names */
    int which;                /* which of these nodes, from 1; 0: any of them */
    enum known_place place;   /* what part of the node it is about */
    int index;                /* of the input or output; -1: any of them */
    bool same;                /* KNOWN_SHAPES, KNOWN_RANKS: they must be the same, else they must differ */
    struct known_range count; /* KNOWN_INPUT_COUNT */
    size_t n_words;           /* all must hold */
    struct known_word *words;
};

enum { KNOWN_NUMBERS = 8 };

/* What an element may be: NaN, or inside one of the ranges. Without `asked` there is no condition. */
struct known_element {
    bool asked, nan;
    size_t n_ranges;
    struct known_range ranges[KNOWN_NUMBERS];
};

/* What was asked of the engine. */
enum { KNOWN_OUTPUTS = 1 << 0, KNOWN_GRADIENTS = 1 << 1 };

/* What became of an issue's witness on an engine. */
enum witness_state {
    WITNESS_UNTRIED = 0, /* or it could not be run */
    WITNESS_FAILS,       /* as when it was muted */
    WITNESS_OTHERWISE,   /* it fails, in another way */
    WITNESS_AGREES,
    WITNESS_NOT_JUDGED, /* the engine lacks something, or nobody can tell what is right */
    WITNESS_STATES
};
const char *witness_state_word(enum witness_state state);
bool witness_state_parse(const char *word, enum witness_state *state);

struct known_tried {
    const char *engine; /* label; "": on every engine that no other entry names */
    enum witness_state state;
};

struct known_issue {
    const char *name, *engine, *cause;
    const char *document; /* the case that shows it, or "" */
    /* Which findings are of this issue: those with one of these names, or with this cause. Where neither is
     * given, the conditions alone decide. */
    size_t n_names;
    const char **names;
    const char *same_cause; /* as known_cause_text writes it, or "" */
    const char *crash;      /* the same for crashes whatever their stack, or "" */
    /* Where there are some, a finding for which another parameter is to blame, and that does not need one of
     * them either, is another bug. */
    size_t n_parameters;
    const char **parameters;
    /* Where there are some, a finding with the cause is another bug if the engine's message names another
     * file of its source. */
    size_t n_places;
    const char **places;
    const char *witness; /* on an engine where it does not fail any more the issue does not hold; or "" */
    size_t n_tried;
    struct known_tried *tried;
    const char *file;
    int line;
    bool accepted;            /* not Assay's own: its findings do not count against the engine */
    bool foreign;             /* of a campaign's folder */
    const char *from, *until; /* releases, both included; "": no limit */
    uint32_t symptoms;        /* one bit for each enum symptom */
    unsigned asked;           /* bits of KNOWN_OUTPUTS ...; 0: not said (docs/known-issues.md) */
    size_t n_knobs, n_stages, n_messages, n_groups, n_conditions;
    const char **knobs; /* settings that the engine must have, or after a ! must not have */
    const char **stages;
    const char **messages; /* one must be part of the engine's message; * stands for any text */
    const char **groups;   /* groups of operators, one of which must match those to blame */
    struct known_range opset, factor;
    int signal; /* 0: any */
    struct known_element expected, got;
    struct known_condition *conditions;
    size_t met; /* for the caller, who may count matches here */
};

/* Whether the issue says by name or by cause which findings are of it. */
static inline bool known_is_of_findings(const struct known_issue *issue)
{
    return issue->n_names || *issue->same_cause;
}

struct known_issues {
    struct arena arena;
    size_t count, capacity;
    struct known_issue *items;
    double *foreign_seconds; /* that comparing foreign issues has taken */
    bool asks_witnesses;     /* somebody has tried the witnesses, so that those which were not do not hold */
};

void known_init(struct known_issues *known);
void known_release(struct known_issues *known);

/* Whose file it is: Assay's own, one that the user names, or one that a campaign's folder brought, whoever
 * made that. */
enum known_origin { KNOWN_INSTALLED, KNOWN_OF_USER, KNOWN_OF_CAMPAIGN };

/* Adds the issues of a file. */
int known_read(struct known_issues *known, const char *path, enum known_origin origin, struct error *err);
int known_read_in(struct known_issues *known, const struct folder *in, const char *name,
                  enum known_origin origin, struct error *err);

/*
 * Where issues are read from, in this order: a file that the user names, KNOWN_FILE in the folder of a
 * campaign, and the installed files. The first issue that matches a finding counts.
 */
struct known_files {
    const char *named, *folder; /* each may be NULL */
    bool none_installed;        /* do not read the installed files */
};
#define KNOWN_FILE "known.ini"

/* Reads all these files. The caller releases *known, also after a failure. */
int known_open(struct known_issues *known, const struct known_files *files, struct error *err);

/*
 * Returns the first issue that matches the finding, or NULL. The time is linear in the facts, and those that
 * a campaign brings may take 30 s together, or as long as --deadline says: after that they match nothing, and
 * known_in_time fails.
 */
int known_in_time(const struct known_issues *known, struct error *err);
struct known_issue *known_find(const struct known_issues *known, const struct finding_facts *facts);

/* The key in the file of the first condition that does not hold, "symptom" or "input.0"; NULL: all hold.
 * Where witnesses are asked, that of the issue is the last condition. */
const char *known_misfit(const struct known_issues *known, const struct known_issue *issue,
                         const struct finding_facts *facts);

/* Whether the issue is about the engine, as far as name, release and knobs tell. */
bool known_is_about(const struct known_issue *issue, const struct engine_info *engine);

/* Whether the issue is about the engine and the operators of the finding, so that it is worth saying which
 * of its other conditions fails. */
bool known_is_near(const struct known_issue *issue, const struct finding_facts *facts);

/*
 * Sets overall->known and overall->accepted from the first issue that matches. It is a function for
 * sample_verdicts.look_up; `context` is a struct known_issues.
 */
void known_look_up(const void *context, const struct sample_finding *finding, struct engine_verdict *overall);

/* Returns what is shown and stored as the issue: its case, or its name if it has no case. */
const char *known_document(const struct known_issue *issue);

#endif
