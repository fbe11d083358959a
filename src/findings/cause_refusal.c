#include "findings/cause_refusal.h"

#include "findings/cause_words.h"

#include <string.h>

/* An operator that needs one of its inputs to be a constant says so in many places. */
static bool add_wants_constant(struct str *out, const struct finding_evidence *evidence)
{
    static const char which[] = "frozen-";
    for (const char *at = evidence->cures; (at = strstr(at, which)) && cause_is_one_operator(evidence); at++)
        if (at == evidence->cures || at[-1] == '+') {
            size_t length = strcspn(at, "+");
            str_printf(out, "%s|cured by %.*s", evidence->main, (int)length, at);
            return true;
        }
    return false;
}

/* The pass, and where the engine noticed; that the types of what the pass made do not fit is said in several
 * ways. */
static bool add_refused_pass(struct str *out, const struct signature *signature,
                             const struct finding_evidence *evidence)
{
    if (!*evidence->passes)
        return false;
    cause_add_passes(out, evidence->passes);
    str_add(out, "|");
    if (cause_names_source(signature->message))
        str_append(out, signature->message, strcspn(signature->message, ":"));
    else if (strstr(signature->message, "Type Error"))
        str_add(out, "types");
    else
        cause_add_message(out, signature->message);
    return true;
}

/* That an operator does not expect tensors without elements is noticed in many places. */
static bool add_refused_empty(struct str *out, const struct signature *signature,
                              const struct finding_evidence *evidence)
{
    if (!evidence->empty || !cause_is_one_operator(evidence) || !cause_names_source(signature->message))
        return false;
    str_printf(out, "%s|empty", cause_mates(evidence->main));
    return true;
}

/* Sums within one operand, which are noticed wherever the operands are brought together. */
static bool add_refused_sum(struct str *out, const struct signature *signature,
                            const struct finding_evidence *evidence)
{
    if (!cause_is_one_operator(evidence) || !evidence_has_cure(evidence, "letters-kept") ||
        !cause_names_source(signature->message))
        return false;
    str_printf(out, "%s|cured by letters-kept", evidence->main);
    return true;
}

/* And so does one that needs one of its inputs not to be a constant, of a type that the engine has. */
static bool add_wants_variable(struct str *out, const struct finding_evidence *evidence)
{
    if (!cause_is_one_operator(evidence) || evidence->no_inputs || *evidence->parameter ||
        cause_is_broadcasting(evidence->main) || !text_equal(evidence->cures, "initializer-as-input") ||
        !text_equal(evidence->constant, "float32"))
        return false;
    str_printf(out, "%s|cured by initializer-as-input", cause_mates(evidence->main));
    return true;
}

/* Negative numbers that a source file does not expect, wherever in it that is noticed: pads before and after,
 * say. */
static bool add_negative(struct str *out, size_t start, const struct signature *signature,
                         const struct finding_evidence *evidence)
{
    if (!*evidence->parameter || !cause_is_one_operator(evidence) || cause_names_axes(evidence->parameter) ||
        strchr(evidence->parameter, '+') || !cause_is_negative(evidence->value) ||
        !cause_names_source(signature->message))
        return false;
    cause_cut(out, start);
    str_printf(out, "%s|", cause_mates(evidence->owner));
    cause_add_parameter(out, evidence);
    str_printf(out, "|%.*s", (int)strcspn(signature->message, ":"), signature->message);
    return true;
}

/* Whether it is the node that is refused, whatever its parameters; where the engine names another operator,
 * it may be any that comes by. */
static bool is_of_node(const struct signature *signature, const struct finding_evidence *evidence)
{
    char named[SIGNATURE_PART_SIZE + 1];
    cause_only_operator(signature, named);
    return evidence->by_operator && cause_is_one_operator(evidence) &&
           cause_names_source(signature->message) && (!*named || text_equal(named, evidence->main));
}

/* Tensors without elements that a library refuses in the same words, whoever calls it. */
static bool add_refused_in_words(struct str *out, const struct signature *signature,
                                 const struct finding_evidence *evidence)
{
    if (!evidence->empty || !cause_is_one_operator(evidence) || !evidence_has_cure(evidence, "filled") ||
        cause_names_source(signature->message) || *evidence->parameter)
        return false;
    str_add(out, "empty|");
    cause_add_message(out, signature->message);
    return true;
}

/* The engine's own words tell more than experiments. */
bool cause_add_refusal(struct str *out, const struct signature *signature,
                       const struct finding_evidence *evidence)
{
    if (!*signature->message)
        return false;
    if (!*evidence->passes && (add_wants_constant(out, evidence) || add_wants_variable(out, evidence)))
        return true;
    size_t start = out->length;
    if (add_refused_pass(out, signature, evidence) || add_refused_empty(out, signature, evidence) ||
        add_refused_sum(out, signature, evidence) || add_refused_in_words(out, signature, evidence))
        return true;
    if (cause_names_source(signature->message)) {
        /* Many callers may come to that place, each with inputs of its own; constants come with most. Of
         * several nodes, those in front may be why it is reached. */
        if (cause_add_cure(out, evidence) == CLASS_CONSTANTS)
            cause_cut(out, start);
        if (signature->blame == BLAME_OPERATORS && cause_count_outer(signature) != 1) {
            cause_cut(out, start);
            cause_add_without_bodies(out, signature->operators);
        }
    } else if (evidence->no_inputs)
        str_add(out, "no inputs");
    else
        cause_add_without_bodies(out, signature->operators);
    if (add_negative(out, start, signature, evidence))
        return true;
    if (*evidence->parameter && cause_is_one_operator(evidence) &&
        cause_names_source(
            signature->message)) /* the place may be one that all come by; scalars are a reason */
        str_printf(out, "%s%s%s", out->length > start ? "|" : "", cause_mates(evidence->owner),
                   evidence->scalar ? " to a scalar" : "");
    else if (is_of_node(signature, evidence))
        str_printf(out, "%s%s", out->length > start ? "|" : "", cause_mates(evidence->main));
    str_add(out, out->length > start ? "|" : "");
    cause_add_message(out, signature->message);
    return true;
}
