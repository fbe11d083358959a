/*
 * What the keys of causes (findings/cause_key.h) are made of: operators and their kinds, parameters, cures
 * and the words of messages.
 */
#ifndef FINDINGS_CAUSE_WORDS_H
#define FINDINGS_CAUSE_WORDS_H

#include "findings/evidence.h"
#include "findings/signature.h"

/* What a cure by a class of inputs is about. */
enum class_kind {
    CLASS_AXES,
    CLASS_OPERANDS,
    CLASS_CONSTANTS,
    CLASS_TYPES,
    CLASS_OTHER,
    CLASS_EXTREME,
    CLASS_KINDS
};

/*
 * The name that stands for an operator and those computed alike: of the first operator of the table with the
 * same kernel, both with keepdims (all reductions) or the same weights (GRU for GRU, LSTM and RNN). A
 * function of single elements stands for itself, as do operators that the table does not have.
 */
const char *cause_mates(const char *op);

/* Takes back what was appended behind this length. */
void cause_cut(struct str *text, size_t length);

/* To which kind of failure the symptom belongs. */
enum kin cause_kin(const struct signature *signature);

/* The operators to blame that are not inside a body. */
size_t cause_count_outer(const struct signature *signature);

/* Whether several operators are named, and no place in the engine's code. */
bool cause_is_of_several(const struct signature *signature);

/* The only operator to blame that is not inside a body; "" when there are several. */
void cause_only_operator(const struct signature *signature, char name[SIGNATURE_PART_SIZE + 1]);

/* "Mul+If" of "Mul+If(Abs,Neg)". */
void cause_add_without_bodies(struct str *out, const char *operators);

/* Whether a value holds a negative whole number; of data the sign is chance. */
bool cause_is_negative(const char *value);

/* Operators on elements of several operands: a row in the place of one list may fit the others by chance. */
bool cause_has_operands(const char *name);

/* Add, Less, Max ...: elements of several operands, none of which has the shape of the result always. */
bool cause_is_broadcasting(const char *name);

/* PRelu: one operand is broadcast to the other, and another shape of it may fit by chance. */
bool cause_broadcasts_one(const char *name);

/* Convolutions and pools have the same rule for how many windows there are. */
bool cause_has_windows(const char *name);

/* Integers of all sizes are one type. */
const char *cause_coarse_type(const char *types);

/* Whether a cure of the list, which NULL ends, is there. */
bool cause_has_any_cure(const struct finding_evidence *evidence, const char *const *cures);

/* "cured by filled", and of which kind that is; CLASS_KINDS and nothing when no cure is about a class. */
enum class_kind cause_add_cure(struct str *out, const struct finding_evidence *evidence);

/* The operators of a kind, and what cures them. False when no cure is about a class of inputs. How operands
 * are brought together, and which types they may have, all broadcasting operators share. */
bool cause_add_classes(struct str *out, const char *name, const struct signature *signature,
                       const struct finding_evidence *evidence);

/* Whether the class tells more than a parameter that was found: axes in another order are not about their
 * values, and the operands of a broadcasting operator are no parameters. */
bool cause_is_class_first(const char *name, const struct finding_evidence *evidence);

/* Whether the message names a file of source code and a line. */
bool cause_names_source(const char *message);

/* Whether the parameter is that of axes, which operators call either way. */
bool cause_names_axes(const char *parameter);

/* "parameter axes", with what matters of its value. */
void cause_add_parameter(struct str *out, const struct finding_evidence *evidence);

/* The first parameter to blame, without its value. */
void cause_add_parameter_of(struct str *out, const char *name, const struct finding_evidence *evidence);

/* The message without the names of element types, and without what follows a message that was passed on at
 * load. */
void cause_add_message(struct str *out, const char *message);

/* Whether one operator alone does most of the work. */
bool cause_is_one_operator(const struct finding_evidence *evidence);

/* "LayerNormFusion" of "LayerNormFusionL1": the level at which a pass is run is no part of its name. */
void cause_add_passes(struct str *out, const char *passes);

#endif
