/*
 * Evidence of a finding's cause: what experiments on its reduced case showed. A change that cures the case
 * names what the failure needs: an optimiser pass, a parameter, a constant input. The campaign's store keeps
 * it as JSON beside the facts of the finding; findings/cause_key.h makes causes of it.
 */
#ifndef FINDINGS_EVIDENCE_H
#define FINDINGS_EVIDENCE_H

#include "base/arena.h"
#include "findings/store.h"

/* Texts live in the arena, and none is NULL: "" is nothing found, or not looked for. */
struct finding_evidence {
    struct arena arena;
    const char *passes;    /* "A+B": optimiser passes without which it is gone */
    const char *parameter; /* the parameter to blame, "axes"; several that cure only together: "A+B" */
    const char
        *value; /* of the parameter, or of the first of several; of a list of words those that matter */
    const char *owner; /* the operator that has it */
    /* What the case does not fail with: equivalent forms, by their rule ("initializer-as-input+other-type"),
     * "axes-sorted", "axes-forward" (from the front, where they are counted from the back), "steps-forward",
     * operands "expanded" to one shape, "finite" numbers, numbers "above-lowest", the lowest of their type,
     * which the largest in its place is, too, "moderate" ones in the place of very large ones, "filled"
     * tensors in the place of empty ones, "ranked" ones of scalars, inputs of "two-dims" in the place of
     * lists, and data of "another-size", where wrong numbers come with some sizes alone;
     * "as-columns" where the failure is what is right for columns in the place of lists
     * (campaign/as_columns.h); "made-two-dims" where rows or columns in the place of lists that nodes make do
     * not fail (campaign/made_lists.h); "deeper" where all data has a dimension more, lists among it;
     * "constant-by-cast" where a constant of integers is read wrong
     * (campaign/integer_constants.h); "fewer-outputs", without those that the node can do without. Of a case
     * without an answer: a node on constants alone that is "fed" a
     * variable, where another failure is a cure, too; "frozen-1", the second input of a node as a constant,
     * with data that is none. */
    const char *cures;
    const char *constant; /* the element type of the constant that must be one, "uint8" */
    /* Classes of inputs that the failure needs and that unrelated operators fail on, too: "constants",
     * "lists" (campaign/elsewhere.h). */
    const char *general;
    /* The operator that takes a constant which the engine has to compute, "Gather": the failure is gone when
     * it is given. */
    const char *computed;
    const char *wanted; /* the right element type of the first output that has a wrong one, "int32" */
    const char *made;   /* the element type that came in the place of the right one, "float32" */
    /* Of a model of several nodes: the signature of the first node that is at fault by itself
     * (campaign/stand_in.h); all else is then about that node alone. */
    const char *alone;
    const char *main;    /* the operators that do most of the work, each once: "MatMul"; of one node, it */
    const char *element; /* the element type of the model's first input, "int32" */
    bool by_operator;    /* it fails whatever its parameters */
    bool no_inputs;      /* the model computes constants alone */
    bool empty;          /* a right result has no elements */
    bool scalar;         /* a right result is a scalar */
};

/* Nothing found yet. The caller releases it. */
void evidence_init(struct finding_evidence *evidence);
void evidence_release(struct finding_evidence *evidence);

/* Whether it is among the cures. */
bool evidence_has_cure(const struct finding_evidence *evidence, const char *cure);

/* Whether a word stands in a list such as "A+B". */
bool evidence_has_word(const char *list, const char *word);

/* As one line of JSON, written and read. Of damaged text nothing is taken: there is no evidence then. */
void evidence_write(struct str *out, const struct finding_evidence *evidence);
void evidence_read(struct finding_evidence *evidence, const char *text, size_t size);

/* Stores the evidence of a finding, in the place of what was there. */
int evidence_store(struct store *store, const char *signature, const struct finding_evidence *evidence,
                   struct error *err);

/*
 * Reads the evidence of a finding. One without any, or with evidence that is damaged, has none: that is no
 * failure, as every finding that was not reduced has none. The caller releases it, also after a failure.
 */
int evidence_load(struct finding_evidence *evidence, struct store *store, const char *signature,
                  struct error *err);

#endif
