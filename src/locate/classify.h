/*
 * The class of a finding or of a difference between engines, in words: whose matter it is.
 *
 * It follows from the verdict, as settled, and the reference's values, and judges nothing again. What the
 * judge calls a finding is an engine bug. What ONNX leaves open, or what engines do by a convention of their
 * own, is a difference. What stays inside all bounds is a matter of precision, and locate/uncertainty.h names
 * the node at which the answer became uncertain. Where no reference can tell, the class is not known.
 */
#ifndef LOCATE_CLASSIFY_H
#define LOCATE_CLASSIFY_H

#include "base/str.h"
#include "judge/verdict.h"
#include "locate/uncertainty.h"

enum finding_class {
    FINDING_UNCLASSIFIED =
        0, /* nothing is to be explained: the engine agrees, lacks something, was not asked */
    FINDING_BUG,
    FINDING_DIFFERENCE,
    FINDING_PRECISION,
    FINDING_UNKNOWN,
    FINDING_LIMITATION, /* listed apart, and not counted as found (finding_class_row.apart) */
    FINDING_LENIENT,    /* the same */
    FINDING_UNSAID,     /* the same */
    FINDING_CLASS_COUNT
};

struct finding_class_row {
    const char *word;     /* "engine bug": in tables, JSON and stores, so it never changes */
    const char *sentence; /* what the class means, for help and documents */
    bool apart; /* what is of this class is listed apart: it is in no count of findings, and no reason for
                   status 1 */
};
const struct finding_class_row *finding_class_row(enum finding_class class);

/* Finds the class with that word; false when there is none. */
bool finding_class_parse(const char *word, enum finding_class *class);

struct classification {
    enum finding_class class;
    size_t node;             /* where the uncertainty arises: its number in graph->node; SIZE_MAX: none */
    char whose[200];         /* of a bug that makes two engines differ: the engine or engines that have it */
    char because[320];       /* why, without the class: "Sub (node diff) cancels 7 digits" */
    struct type_limit limit; /* numbers beyond their type, where they are why; else of kind LIMIT_NONE */
    char handling[60]; /* what the engine did about these: "the engine keeps them wide"; "": not known */
};

/* The class that follows from the verdict alone. */
enum finding_class classify_verdict(const struct verdict *verdict);

/* The same where only the verdict's word was kept, as in the store of a campaign. */
enum finding_class classify_kind(enum verdict_kind kind);

/* Classifies the verdict on an engine, which was settled if it had to be. `test` is the case that the verdict
 * is about; NULL: no node is looked for. */
void classify(struct classification *classification, const struct verdict *verdict,
              const struct test_case *test);

/* Looks whether a finding is about numbers beyond their type: where the value that is expected, or the one
 * that the engine gave, is the end of a type or infinite. verdict: on the node to blame, where one is known.
 */
void classify_finding_limit(struct classification *classification, const struct verdict *verdict,
                            const struct test_case *test);

/* Adds to a class about numbers beyond their type what the engine did about them, as its answer shows. */
void classify_handling(struct classification *classification, const struct test_case *test,
                       const struct value *outputs, size_t count);

/* Appends "Pow (node p) overflows float16: ...; the engine keeps them wide"; nothing where there are none. */
void classification_limit(struct str *out, const struct classification *classification,
                          const struct model *model);

/* How the answers of two engines differ. */
struct answer_difference {
    const struct verdict *a, *b; /* the verdicts on the two */
    const char *name_a, *name_b; /* labels, for words */
    const struct test_case *test;
    size_t output, element; /* where the values differ most */
    bool by_rank;           /* not the values of output 0 differ, but which of them is the largest */
};

/* Classifies the difference between two engines on one case. */
void classify_difference(struct classification *classification, const struct answer_difference *difference);

/* Appends "precision: Sub (node diff) cancels 7 digits", or the word alone where there is no more to say;
 * nothing for FINDING_UNCLASSIFIED. */
void classification_text(struct str *out, const struct classification *classification);

#endif
