#include "findings/cause_class.h"

#include "findings/cause_words.h"

#include <string.h>

/* A class of inputs that the engine fails on whatever the operator; the symptom is chance. Another class
 * whose lack cures may be the narrower one. */
static bool add_general(struct str *out, const struct signature *signature,
                        const struct finding_evidence *evidence)
{
    static const char *const than_lists[] = {"axes-sorted", "filled", "finite", "other-type", NULL};
    static const char *const than_constants[] = {"axes-sorted", "axes-forward", "steps-forward",
                                                 "ranked",      "filled",       "finite",
                                                 "other-type",  "above-lowest", NULL};
    const char *class = NULL;
    bool columns = (evidence_has_cure(evidence, "as-columns") && !cause_broadcasts_one(evidence->main)) ||
                   evidence_has_cure(evidence, "made-two-dims") || evidence_has_cure(evidence, "deeper");
    if (text_equal(evidence->main, "MatMul") &&
        !cause_is_of_several(signature)) { /* a vector is no list to it */
        if (columns || evidence_has_cure(evidence, "two-dims"))
            class = "MatMul|vectors";
    } else if (evidence_has_word(evidence->general, "lists") && cause_kin(signature) != KIN_TYPE &&
               !evidence_has_cure(evidence, "ranked") &&
               (columns || !(cause_has_operands(evidence->main) || cause_has_any_cure(evidence, than_lists))))
        class = "lists";
    else if (evidence_has_word(evidence->general, "constants") &&
             !cause_has_any_cure(evidence, than_constants))
        class = "constants alone";
    if (class)
        str_printf(out, "any|%s|%s", signature->engine, class);
    return class != NULL;
}

/* How axes are written down, which means the same in any way; the symptom is chance. */
static bool add_axes(struct str *out, const struct signature *signature,
                     const struct finding_evidence *evidence)
{
    static const char *const cures[] = {"axes-forward", "axes-sorted"};
    for (size_t i = 0; cause_is_one_operator(evidence) && i < sizeof cures / sizeof *cures; i++)
        if (evidence_has_cure(evidence, cures[i])) {
            str_printf(out, "any|%s|%s|cured by %s", signature->engine, cause_mates(evidence->main),
                       cures[i]);
            return true;
        }
    return false;
}

/* Slices that go backwards: the cure is about these, whatever stands around them, and the symptom is chance.
 */
static bool add_steps(struct str *out, const struct signature *signature,
                      const struct finding_evidence *evidence)
{
    if (!evidence_has_cure(evidence, "steps-forward"))
        return false;
    str_printf(out, "any|%s|cured by steps-forward", signature->engine);
    return true;
}

/* Constants that the engine has to compute: given, they are the same, and the symptom is chance. */
static bool add_computed(struct str *out, const struct signature *signature,
                         const struct finding_evidence *evidence)
{
    if (*evidence->computed)
        str_printf(out, "any|%s|%s|computed constants", signature->engine, evidence->computed);
    return *evidence->computed;
}

/* Operands that are broadcast: written out they mean the same, and the symptom is chance. Of a list among
 * them it is the same matter, where that it is a list is none. */
static bool add_operands(struct str *out, const struct signature *signature,
                         const struct finding_evidence *evidence)
{
    bool ranks = cause_has_operands(evidence->main) && evidence_has_cure(evidence, "two-dims");
    if (!cause_is_one_operator(evidence) || cause_is_of_several(signature) ||
        !(ranks || evidence_has_cure(evidence, "expanded")))
        return false;
    str_printf(out, "any|%s|%s|cured by expanded", signature->engine,
               cause_is_broadcasting(evidence->main) ? "elementwise" : cause_mates(evidence->main));
    return true;
}

/* Of an answer, leaving out a wrong result always helps: it is to blame where nothing else does, whatever the
 * parameters, and where it is not an element type that the engine does not have. */
static bool is_never_right(const struct signature *signature, const struct finding_evidence *evidence)
{
    bool of_type =
        cause_kin(signature) == KIN_TYPE && text_equal(cause_coarse_type(evidence->wanted), "integers");
    struct str cure;
    str_init(&cure);
    bool otherwise = cause_add_cure(&cure, evidence) != CLASS_KINDS;
    str_release(&cure);
    return evidence->by_operator && !otherwise && !of_type;
}

/* Results that a node need not give; without an answer it is chance where that is noticed. */
static bool add_outputs(struct str *out, const struct signature *signature,
                        const struct finding_evidence *evidence)
{
    bool answered = cause_kin(signature) != KIN_REFUSAL && cause_kin(signature) != KIN_CRASH;
    if (!cause_is_one_operator(evidence) || !evidence_has_cure(evidence, "fewer-outputs") ||
        (answered && !is_never_right(signature, evidence)))
        return false;
    str_printf(out, "any|%s|%s|cured by fewer-outputs", signature->engine, evidence->main);
    return true;
}

/* Rules with which the symptom is chance; the first that applies counts. A class of inputs that unrelated
 * operators fail on comes before what is found of the operator. */
static bool (*const any_symptom[])(struct str *out, const struct signature *signature,
                                   const struct finding_evidence *evidence) = {
    add_general, add_computed, add_axes, add_steps, add_operands, add_outputs,
};

bool cause_add_any_symptom(struct str *out, const struct signature *signature,
                           const struct finding_evidence *evidence)
{
    for (size_t i = 0; i < sizeof any_symptom / sizeof *any_symptom; i++)
        if (any_symptom[i](out, signature, evidence))
            return true;
    return false;
}
