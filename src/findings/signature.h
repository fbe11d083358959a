/*
 * The signature of a finding: two findings with the same signature are taken for the same bug. It has six
 * parts, which are separated by '|' in its text:
 *
 *     symptom | engine | operators | types | attributes | message
 *
 * - symptom: the verdict's word, with three exceptions. A number where NaN is expected is "nan-lost", a
 *   division trap is "crash-fpe", and a model that is rejected or fails is "refused" (whether that happens at
 *   load or at run depends only on what the engine could fold).
 * - engine: the engine's name, with those settings that select other code (onednn:isa=avx2). The version is
 *   left out, and so are the settings that the engine's profile declares to show the same bugs.
 * - operators: the node or the fused group to blame; operators inside the bodies of If, Loop and Scan are in
 *   brackets. If none could be blamed, all operators of a small model, or "graph" for a larger one. If the
 *   message names a place in the engine's own code, that place (message_origin.h).
 * - types: the class of the first input's element type, and that of the first output's if it differs. It is
 *   "any" for operators that only move data, for wrong shapes and for crashes. "empty" follows where an
 *   input has no elements.
 * - attributes: modes and flags that differ from their defaults. Sizes (kernel, strides, pads, axes) are left
 *   out, because they differ between cases of the same bug.
 * - message: the message of an engine that refused or failed, without numbers, names, addresses and paths.
 *   Types and attributes are then left out, because the same message comes with many of them. For an engine
 *   that died, the top stack frames. For one that gives another answer to an equivalent model, the rules that
 *   made that model; the other parts are those of the original. For a wrong gradient, "gradient".
 *
 * A signature depends on the arguments of signature_of alone and is the same on every machine.
 */
#ifndef FINDINGS_SIGNATURE_H
#define FINDINGS_SIGNATURE_H

#include "engine/outcome.h"
#include "judge/message.h"
#include "engine/profile.h"
#include "locate/settle.h"
#include "model/model.h"
#include "trial/trial.h"

/* How a finding shows. Values below VERDICT_COUNT are verdicts; the others are narrower or wider than one. */
enum symptom {
    SYMPTOM_NAN_LOST = VERDICT_COUNT, /* a number where NaN is expected */
    SYMPTOM_REFUSED,                  /* the engine rejected the model or failed */
    SYMPTOM_CRASH_FPE,                /* ended by SIGFPE */
    SYMPTOM_COUNT
};
const char *symptom_word(enum symptom symptom);
bool symptom_parse(const char *word, size_t length, enum symptom *symptom); /* false: not a symptom */
enum verdict_kind symptom_verdict(enum symptom symptom);                    /* a verdict with this symptom */

enum {
    SIGNATURE_TEXT_SIZE = 600,
    SIGNATURE_NAME_SIZE = 64,
    SIGNATURE_ENGINE_SIZE = 60, /* longer parts are cut */
    SIGNATURE_TYPES_SIZE = 30,
    SIGNATURE_PART_SIZE = 110, /* operators and attributes */
    SIGNATURE_OPERATORS = SIGNATURE_PART_SIZE / 2,
};

/* An operator that a signature names: a part of its text `operators`. */
struct signature_operator {
    unsigned char start, length;
    short outer; /* the index of the operator whose body contains it, or -1 */
};

enum signature_blame {
    BLAME_OPERATORS,
    BLAME_GRAPH, /* no node of a larger model could be blamed */
    BLAME_PLACE, /* a place in the engine's own code */
};

struct signature {
    enum symptom symptom;
    enum signature_blame blame;
    char engine[SIGNATURE_ENGINE_SIZE + 1];
    char operators[SIGNATURE_PART_SIZE + 1]; /* "Mul+If(Abs,Neg)", "graph", or the place */
    bool larger;                             /* more operators are to blame than are named */
    size_t n_named;                          /* the operators, in the order of the text */
    struct signature_operator named[SIGNATURE_OPERATORS];
    char types[SIGNATURE_TYPES_SIZE + 1];
    char attributes[SIGNATURE_PART_SIZE + 1];
    char message[MESSAGE_LIMIT + 1];

    char text[SIGNATURE_TEXT_SIZE]; /* all parts as text: the key of the finding in stores */
    char name[SIGNATURE_NAME_SIZE]; /* for folders and people: "wrong-resize-3fa9c2d1b0e4" */
    uint64_t hash;                  /* of the text */
};

/*
 * Returns the symptom of a verdict. If a part of the model is to blame, the symptom is that of the part,
 * because the worst element of the whole model need not be its fault. settlement and result may be NULL.
 */
enum symptom symptom_of(const struct verdict *verdict, const struct settlement *settlement,
                        const struct result *result);

/* Reads a signature from its text. Returns false if the text is not one; *signature is then undefined. */
bool signature_parse(struct signature *signature, const char *text);

/*
 * Makes the signature of a finding. `engine` is a label, "onnxruntime@1.12.0:opt=all". profile, settlement
 * and result may be NULL, and settlement->nodes may be empty.
 */
void signature_of(struct signature *signature, const char *engine, const struct engine_profile *profile,
                  const struct verdict *verdict, const struct settlement *settlement,
                  const struct model *model, const struct result *result);

/*
 * Makes the signature of a finding about a pair of equivalent cases (verdict->of_pair). `original` is the
 * original's model, `rules` are the rules that were applied ("auto-pad+identity"): they are its message.
 */
void signature_of_pair(struct signature *signature, const char *engine, const struct engine_profile *profile,
                       const struct verdict *verdict, const struct settlement *settlement,
                       const struct model *original, const char *rules);

/* The signature of what a trial found on an engine (its place in the panel), of the case or of the pair;
 * false when that is no finding. */
bool signature_of_trial(struct signature *signature, const char *label, const struct engine_profile *profile,
                        const struct trial_done *done, size_t engine);

bool signature_equal(const struct signature *a, const struct signature *b);

/*
 * Whether two signatures are the same except for types and attributes. A case that is reduced must stay alike
 * in this sense: reduction resets attributes to their defaults and types to simpler ones. The smaller case
 * may show a wrong number where the larger one shows a wrong NaN, but not the other way round: many faults
 * show as NaN only because there was one among the inputs.
 */
bool signature_alike(const struct signature *smaller, const struct signature *larger);

/*
 * Whether a reduced case may replace the larger one. If operators are to blame for the larger one, both must
 * be of the same kin (judge/verdict.h): wrong numbers, the same kind of wrong form, a refusal, or a crash. If
 * no operator could be blamed, the smaller case may show any symptom. What is listed apart (CLASS_APART)
 * never stands for a bug.
 */
bool signature_stands_for(const struct signature *smaller, const struct signature *larger);

#endif
