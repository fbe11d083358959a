/*
 * Which bug a finding is of.
 *
 * Two findings with one signature are taken for one bug. The text has six parts, divided by '|':
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
#include "engine/profile.h"
#include "locate/settle.h"
#include "model/model.h"

enum {
    SIGNATURE_TEXT_SIZE = 600,
    SIGNATURE_NAME_SIZE = 64,
    SIGNATURE_PART_SIZE = 110, /* operators and attributes are cut there */
};

struct signature {
    char text[SIGNATURE_TEXT_SIZE];
    char name[SIGNATURE_NAME_SIZE]; /* for folders and people: "wrong-resize-3fa9c2d1b0e4" */
    uint64_t hash;                  /* of the text */
    uint64_t core;                  /* of engine, operators and message alone */
};

/* The parts of the text, in its order. */
enum signature_part {
    SIGNATURE_SYMPTOM,
    SIGNATURE_ENGINE,
    SIGNATURE_OPERATORS,
    SIGNATURE_TYPES,
    SIGNATURE_ATTRIBUTES,
    SIGNATURE_MESSAGE,
    SIGNATURE_PARTS,
};

/* Where a part of a signature's text begins, and its length: 0 where it is empty or not there. */
size_t signature_part(const char *text, enum signature_part part, const char **start);

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
 * Whether a case made smaller may be kept in the place of the one whose signature has that text. Where the
 * text names the operators to blame, both are about numbers, or both about the same of their form, a refusal
 * and a death; what nobody could be blamed for may show itself in any other way.
 */
bool signature_stands_for(const struct signature *smaller, const char *text);

#endif
