/*
 * Which bug a finding is of.
 *
 * Two findings with one signature are taken for one bug. It has six parts, which its text divides by '|':
 *
 *     symptom | engine | operators | types | attributes | message
 *
 * - symptom: the verdict's word; a NaN that the engine loses is "nan-lost", a division trap "crash-fpe", a
 *   model that is rejected or fails is "refused": at load or at run depends on what could be folded.
 * - engine: its family and the settings that choose other code (onednn:isa=avx2). Neither the version nor
 *   the settings with which the same bugs show, as the engine's profile declares them.
 * - operators: the node to blame or the fused group; those inside the bodies of If, Loop and Scan in
 *   brackets. Where nobody could be blamed: all of a small model, "graph" of a larger one. Where the message
 *   names a place of the engine's own, that place (message_origin.h).
 * - types: the class of the first input's elements and of the first output's where it differs; "any" for
 *   operators that only move data, for wrong shapes and for crashes; "empty" behind it where an input has no
 * elements.
 * - attributes: modes and flags off their defaults. Sizes are left out: kernel, strides, pads and axes differ
 *   from case to case of one bug.
 * - message: of an engine that refused or failed, without numbers, names, addresses and paths; types and
 *   attributes are then left out, as one message comes with many of them. Of one that died the top stack
 * frames.
 *
 * A pure function of its arguments: the same on every machine.
 */
#ifndef FINDINGS_SIGNATURE_H
#define FINDINGS_SIGNATURE_H

#include "engine/outcome.h"
#include "judge/message.h"
#include "engine/profile.h"
#include "locate/settle.h"
#include "model/model.h"

/* What a finding shows: a verdict, those below VERDICT_COUNT, or something more precise or wider. */
enum symptom {
    SYMPTOM_NAN_LOST = VERDICT_COUNT, /* a number where NaN is due */
    SYMPTOM_REFUSED,                  /* rejected or failed */
    SYMPTOM_CRASH_FPE,                /* ended by SIGFPE */
    SYMPTOM_COUNT
};
const char *symptom_word(enum symptom symptom);
bool symptom_parse(const char *word, size_t length, enum symptom *symptom); /* false: it is none */
enum verdict_kind symptom_verdict(enum symptom symptom);                    /* one that has this symptom */

enum {
    SIGNATURE_TEXT_SIZE = 600,
    SIGNATURE_NAME_SIZE = 64,
    SIGNATURE_ENGINE_SIZE = 60, /* where the parts are cut */
    SIGNATURE_TYPES_SIZE = 30,
    SIGNATURE_PART_SIZE = 110, /* operators and attributes */
    SIGNATURE_OPERATORS = SIGNATURE_PART_SIZE / 2,
};

/* An operator that a signature names, as a piece of its `operators`. */
struct signature_operator {
    unsigned char start, length;
    short outer; /* number of the operator in whose body it stands, or -1 */
};

enum signature_blame {
    BLAME_OPERATORS,
    BLAME_GRAPH, /* of a larger model nobody could be blamed */
    BLAME_PLACE, /* in the engine's own code */
};

struct signature {
    enum symptom symptom;
    enum signature_blame blame;
    char engine[SIGNATURE_ENGINE_SIZE + 1];
    char operators[SIGNATURE_PART_SIZE + 1]; /* "Mul+If(Abs,Neg)", "graph" or the place */
    bool larger;                             /* more are to blame than are named */
    size_t n_named;                          /* operators, in the order in which they are written */
    struct signature_operator named[SIGNATURE_OPERATORS];
    char types[SIGNATURE_TYPES_SIZE + 1];
    char attributes[SIGNATURE_PART_SIZE + 1];
    char message[MESSAGE_LIMIT + 1];

    char text[SIGNATURE_TEXT_SIZE]; /* all that written down: the key of the finding in stores */
    char name[SIGNATURE_NAME_SIZE]; /* for folders and people: "wrong-resize-3fa9c2d1b0e4" */
    uint64_t hash;                  /* of the text */
};

/* Of the part to blame where there is one, as the worst element of the whole need not be its fault. */
enum symptom symptom_of(const struct verdict *verdict, const struct settlement *settlement,
                        const struct result *result);

/* The signature whose text that is; false when it is none, and what is in *signature then says nothing. */
bool signature_parse(struct signature *signature, const char *text);

/*
 * profile, settlement and result may be NULL, so may settlement->nodes be empty. engine: a label,
 * "onnxruntime@1.12.0:opt=all".
 */
void signature_of(struct signature *signature, const char *engine, const struct engine_profile *profile,
                  const struct verdict *verdict, const struct settlement *settlement,
                  const struct model *model, const struct result *result);

bool signature_equal(const struct signature *a, const struct signature *b);

/*
 * Alike but for types and attributes: what stays the same while a case is made smaller, as that turns
 * attributes to their defaults and types to simpler ones. A wrong number may stand for a wrong NaN, not the
 * other way round: many faults show as NaN only because one was among the inputs.
 */
bool signature_alike(const struct signature *smaller, const struct signature *larger);

/*
 * Whether a case made smaller may be kept in the place of another. Where operators are to blame for that one,
 * both must be of one kin (verdict.h): about numbers, about the same of their form, a refusal, a crash; what
 * nobody could be blamed for may show itself in any other way.
 */
bool signature_stands_for(const struct signature *smaller, const struct signature *larger);

#endif
