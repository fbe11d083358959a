/*
 * One table of experiments and causes. A row is an experiment on a reduced case: how the case is changed,
 * what counts as cured, and how wide the cause is that this proves. Rows without an experiment make causes of
 * what the engine told by itself, or of several experiments.
 *
 * The cause of a finding is a key: findings with the same key are variants of one bug, as far as can be told.
 * The first row that applies makes it, so their order is their precedence: what the engine says it did comes
 * first, then a class of inputs that unrelated operators fail on, then equivalent forms of the case, then
 * other data, then the mere message. Two bugs under one key are worse than one bug under two, so a key is
 * wider than the signature only where a row says so; where none applies, it is the signature itself.
 */
#ifndef DIAGNOSE_TABLE_H
#define DIAGNOSE_TABLE_H

#include "diagnose/cause_parts.h"
#include "diagnose/experiment.h"

/* What counts as cured, besides a right answer. */
enum {
    CURED_BY_FAILURE = 1, /* of a case without an answer, another failure as well: it is another bug */
    CURED_BY_LIFE =
        2, /* of a case that ends the engine, any failure that does not: the changed case means the same */
    CURED_BY_FORM =
        4, /* of wrong numbers, an answer of zeros that agree as well: the wrong numbers are left out */
};

enum { CAUSE_PARTS = 4 };

struct cause_row {
    const char *name; /* the first word of the key */

    /* The experiment, if any. `shows` is known when the case that `make` makes is cured, and the one of
     * `also` as well, if that can be made; or when `ask` returns true. */
    enum evidence_bit shows;
    struct test_case *(*make)(const struct test_case *test);
    struct test_case *(*also)(const struct test_case *test);
    bool (*ask)(const struct experiment *how);
    unsigned cured; /* CURED_BY_ ... */
    bool of_base;   /* it is about the case that is changed, if there is one (constants_base) */
    bool late;      /* it depends on what others show */

    /* The key, if any: when it applies, and which parts follow the name, the symptom class and the engine.
     * Facts are EVIDENCE(bit or fact); a row with a key needs some. */
    unsigned kins;    /* of failures, 1 << KIN_NUMBERS ...; 0: all */
    uint64_t all;     /* what must be known */
    uint64_t any;     /* at least one of these must be known; 0: none need be */
    uint64_t none;    /* what must not be known */
    bool any_symptom; /* how the failure shows is accidental: the symptom is no part of the key */
    cause_part *parts[CAUSE_PARTS];
};

/* All rows. */
size_t cause_row_count(void);
const struct cause_row *cause_row_at(size_t number);

/*
 * Appends the key of the finding's cause: "parameter|wrong|onnxruntime|GRU|activations=ThresholdedRelu".
 * without: a row that is left out, for benches; NULL: none.
 */
void cause_key(struct str *out, const struct signature *signature, const struct finding_evidence *evidence,
               const struct cause_row *without);

/* Appends the file of the engine's source that the message names; nothing where it names none. */
void cause_file(struct str *out, const struct signature *signature, const struct finding_evidence *evidence);

/* Appends the key of a crash whatever its stack, where a parameter is to blame; nothing otherwise. Memory
 * that was damaged makes an engine end here or there. */
void cause_crash_key(struct str *out, const struct signature *signature,
                     const struct finding_evidence *evidence);

/* Whether a key says nothing of the symptom. */
bool cause_is_of_any_symptom(const char *key);

#endif
