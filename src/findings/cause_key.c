#include "findings/cause_key.h"

#include "findings/cause_class.h"
#include "findings/cause_refusal.h"
#include "findings/cause_words.h"
#include "ops/op.h"

#include <string.h>

/* How much an operator does, so that those around it can be told apart. */
static int work_of(const char *name)
{
    const struct op *op = op_find(name);
    return op ? (int)op->work : WORK_ELEMENTS;
}

/* The operators that do most of the work, each once: MatMul of "Mul+MatMul", DequantizeLinear of
 * "DequantizeLinear+Reshape". What a pass fuses with them, or moves across them, varies. */
static void add_main_operators(struct str *out, const struct signature *signature)
{
    const char *names[SIGNATURE_OPERATORS];
    struct arena arena;
    size_t count = 0;
    int most = 0;
    arena_init(&arena);
    for (size_t i = 0; i < signature->n_named; i++) {
        const struct signature_operator *one = &signature->named[i];
        const char *name = arena_copy(&arena, signature->operators + one->start, one->length);
        if (one->outer >= 0 || work_of(name) < most)
            continue;
        if (work_of(name) > most)
            count = 0;
        most = work_of(name);
        bool again = false;
        for (size_t k = 0; k < count; k++)
            again |= text_equal(names[k], name);
        if (!again)
            names[count++] = name;
    }
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%s%s", i ? "+" : "", names[i]);
    if (!count)
        cause_add_without_bodies(out, signature->operators);
    arena_release(&arena);
}

static bool add_pass(struct str *out, const struct signature *signature,
                     const struct finding_evidence *evidence)
{
    if (!*evidence->passes)
        return false;
    cause_add_passes(out, evidence->passes);
    if (cause_kin(signature) == KIN_TYPE) /* what the pass made has none, or a wrong one */
        return true;
    str_add(out, "|");
    add_main_operators(out, signature);
    str_printf(out, "|%s|%s", signature->types, signature->message);
    return true;
}

/* What a pass makes of tensors without elements: the symptom is chance. */
static bool add_empty_pass(struct str *out, const struct signature *signature,
                           const struct finding_evidence *evidence)
{
    if (!*evidence->passes || !evidence_has_cure(evidence, "filled"))
        return false;
    str_printf(out, "any|%s|", signature->engine);
    cause_add_passes(out, evidence->passes);
    str_add(out, "|cured by filled");
    return true;
}

/* An engine that dies of a model without inputs, always in the same place. */
static bool add_death(struct str *out, const struct signature *signature,
                      const struct finding_evidence *evidence)
{
    if (cause_kin(signature) != KIN_CRASH || !evidence->no_inputs || !*signature->message)
        return false;
    str_printf(out, "no inputs|%s|%s", signature->types, signature->message);
    if (evidence->empty) /* that may be what matters */
        str_printf(out, "|%s", cause_mates(evidence->main));
    return true;
}

/* An engine without integers has them nowhere. Of several nodes, the types of the first say nothing of the
 * last. */
static bool add_type(struct str *out, const char *name, const struct signature *signature,
                     const struct finding_evidence *evidence)
{
    bool any = text_equal(signature->types, "any") && *evidence->wanted;
    const char *types = any || !*name ? evidence->wanted : signature->types, *to = strchr(types, '>');
    if (!*name && !text_equal(cause_coarse_type(types), "integers"))
        return false;
    if (to && *types == 'f' && (text_equal(to, ">bool") || text_equal(to, ">int"))) /* of a Cast, say */
        str_add(out, "floats>integers");
    else
        str_add(out, cause_coarse_type(types));
    str_printf(out, ">%s", evidence->made);
    return true;
}

static bool add_experiment(struct str *out, const struct signature *signature,
                           const struct finding_evidence *evidence)
{
    char name[SIGNATURE_PART_SIZE + 1];
    size_t start = out->length;
    cause_only_operator(signature, name);
    if (!*name && cause_kin(signature) == KIN_CRASH && *evidence->parameter) { /* as below */
        cause_add_parameter_of(out, evidence->owner, evidence);
        return true;
    }
    if (cause_kin(signature) == KIN_TYPE && *evidence->made)
        return add_type(out, name, signature, evidence);
    if (!*name)
        return false;
    if (cause_kin(signature) == KIN_NUMBERS && evidence_has_cure(evidence, "another-size")) {
        /* it is chance which parameters bring the sizes out */
        str_printf(out, "%s|cured by another-size", cause_mates(name));
        return true;
    }
    bool done = cause_is_class_first(name, evidence) && cause_add_classes(out, name, signature, evidence);
    if (!done && *evidence->parameter && text_equal(evidence->owner, name)) {
        bool windows = cause_kin(signature) == KIN_SHAPE && cause_has_windows(name);
        str_printf(out, "%s|", windows ? "windows" : cause_mates(name));
        cause_add_parameter(out, evidence);
        done = true;
    }
    if (done && cause_kin(signature) == KIN_CRASH && *evidence->parameter) {
        /* With one parameter at fault it is chance of what the engine dies, and where. */
        cause_cut(out, start);
        cause_add_parameter_of(out, name, evidence);
        return true;
    }
    if (done || cause_add_classes(out, name, signature, evidence)) {
        str_printf(out, "|%s", signature->message);
        return true;
    }
    if (!evidence->by_operator)
        return false;
    /* What ends the engine in the same place for operators of a kind, does so for one reason. */
    bool death = cause_kin(signature) == KIN_CRASH, same_place = death && *signature->message;
    str_printf(out, "%s|%s|%s|%s", same_place ? cause_mates(name) : name, signature->types,
               death ? "" : signature->attributes, signature->message);
    return true;
}

/* With one parameter at fault it is chance of what the engine dies, and whether wrong numbers are none; so it
 * is where a constant is. */
static const char *kind_of_symptom(const struct signature *signature, const struct finding_evidence *evidence)
{
    if (*evidence->parameter && cause_kin(signature) == KIN_CRASH)
        return "crash";
    bool constants = text_equal(evidence->cures, "initializer-as-input");
    if (cause_kin(signature) == KIN_NUMBERS && ((*evidence->parameter && !*evidence->cures) || constants))
        return "wrong";
    return symptom_word(signature->symptom);
}

void cause_key(struct str *out, const struct signature *whole, const struct finding_evidence *evidence)
{
    size_t start = out->length;
    struct signature alone;
    const struct signature *signature =
        *evidence->alone && signature_parse(&alone, evidence->alone) ? &alone : whole;
    bool own = signature->symptom == SYMPTOM_COUNT || text_equal(signature->message, "gradient") ||
               symptom_verdict(signature->symptom) == VERDICT_INCONSISTENT;
    if (!own && add_empty_pass(out, signature, evidence))
        return;
    if (!own && !*evidence->passes && cause_add_any_symptom(out, signature, evidence))
        return;
    str_printf(out, "%s|%s|", own ? symptom_word(signature->symptom) : kind_of_symptom(signature, evidence),
               signature->engine);
    if (!own && (cause_kin(signature) == KIN_REFUSAL
                     ? cause_add_refusal(out, signature, evidence)
                     : add_pass(out, signature, evidence) || add_death(out, signature, evidence) ||
                           add_experiment(out, signature, evidence)))
        return;
    cause_cut(out, start);
    str_add(out, signature->text);
}
