/*
 * Evidence of a finding's cause: what experiments on its reduced case showed, and what the engine told of
 * itself. The campaign's store keeps it as JSON beside the facts of the finding; diagnose/table.h makes
 * causes of it.
 */
#ifndef DIAGNOSE_EVIDENCE_H
#define DIAGNOSE_EVIDENCE_H

#include "base/arena.h"
#include "findings/store.h"

/* What was shown, one bit each. A change that cures the case tells what the failure needs; the rows of
 * diagnose/table.c say how cases are changed. A cure of a case with a single node proves most. */
enum evidence_bit {
    CURED_AXES_FORWARD,  /* axes counted from the front, where they were counted from the back */
    CURED_AXES_SORTED,   /* axes in ascending order */
    CURED_STEPS_FORWARD, /* slices that go forward */
    CURED_EXPANDED,      /* operands written out in the shape of the result */
    CURED_FINITE,        /* no NaN and no infinity */
    CURED_ABOVE_LOWEST, /* not the lowest number of its type; the largest number in its place cures as well */
    CURED_MODERATE,     /* no numbers whose square is infinite */
    CURED_FILLED,       /* no tensors without elements */
    CURED_RANKED,       /* lists of one element in place of scalars */
    CURED_TWO_DIMS,     /* matrices of one row in the place of lists */
    CURED_LETTERS_KEPT, /* an Einsum that sums nothing within one operand */
    CURED_FEWER_OUTPUTS, /* without the results that the node need not give */
    CURED_VARIABLE,      /* an input in the place of a constant */
    CURED_OTHER_TYPE,    /* the same in another element type */
    CURED_CAST,          /* a constant of integers that is cast from floats */
    CURED_FROZEN,        /* the second input as a constant, while the first is not */
    CURED_COPIED,        /* a copy in place of an operand that others read as well (diagnose/spoiled.h) */
    CURED_COLUMNS,       /* none: the answer is what would be right for columns in place of lists */
    CURED_MADE_LISTS,    /* rows or columns in the place of lists that nodes make */
    CURED_DEEPER, /* one more dimension for all data, among which are lists; tried when nothing else cures */
    CURED_COMPUTED,     /* constants given that the engine would have to compute */
    CURED_SIZE,         /* other sizes: the numbers are wrong with some sizes only */
    DIAGNOSED,          /* experiments were made */
    FAILS_ON_LISTS,     /* a cure is about lists, and unrelated operators fail on lists as well */
    FAILS_ON_CONSTANTS, /* the same for nodes that compute on constants alone */
    FAILS_ON_NAN,       /* the same for NaN */
    FAILS_NARROWER,     /* functions of elements are computed in a narrower type (diagnose/narrower.h) */
    FAILS_ALWAYS,       /* the operator fails whatever its parameters */
    FAILS_TOGETHER,     /* several parameters cure only together, so that none alone is to blame */
    GIVES_CONSTANTS,    /* the model computes constants alone */
    GIVES_EMPTY,        /* a right result has no elements */
    GIVES_SCALAR,       /* a right result is a scalar */
    COUNTS_MATES, /* the evidence is from before mates were tried (diagnose/mates.h): all count as one */
    EVIDENCE_BITS
};
#define EVIDENCE(bit) (UINT64_C(1) << (bit))
#define EVIDENCE_CURES (EVIDENCE(CURED_COMPUTED) - 1) /* by a change of data or form */

/* Texts live in the arena, and none is NULL: "" is nothing found, or not looked for. */
struct finding_evidence {
    struct arena arena;
    uint64_t shown; /* of evidence_bit */
    size_t n_passes;
    const char **passes;   /* optimiser passes without which it is gone */
    const char *kernel;    /* what computes the nodes at fault, as the engine calls it: "FusedConv" */
    const char *made_by;   /* the pass or fusion that put it there, as the engine calls it */
    const char *parameter; /* the parameter to blame, "axes"; the first of several that cure only together */
    const char *needed;    /* further parameters without which it does not fail, with blanks between */
    const char *value;     /* of the parameter; of a list of words only those that matter */
    const char *owner;     /* the operator that has it */
    const char *constant;  /* the element type of the constant that the failure needs, "uint8" */
    const char *computed;  /* the operator that takes a constant which the engine has to compute, "Gather" */
    const char *spoiler;   /* the operator that overwrites what others read, too, "ScatterND" */
    const char *wanted;    /* the right element type of the first output that has a wrong one, "int32" */
    const char *made;      /* the element type that came in the place of the right one, "float32" */
    const char *stack;     /* of a crash, the innermost frames in the engine's libraries (judge/message.h), or
                              EVIDENCE_HEAP, as where that is noticed is chance */
    /* Of a model of several nodes: the signature of the first node that is at fault by itself
     * (diagnose/single_node.h); all else is then about that node alone. */
    const char *alone;
    const char *main;   /* the operator that does most of the work; "" where several do */
    const char *shared; /* an operator of which the case fails alike (diagnose/mates.h); "" where none is
                           before `main` in the table */
};

#define EVIDENCE_HEAP "damaged heap"

/* Nothing found yet. The caller releases it. */
void evidence_init(struct finding_evidence *evidence);
void evidence_release(struct finding_evidence *evidence);

/* The name of a bit in JSON, "axes-forward". */
const char *evidence_bit_name(enum evidence_bit bit);

/* As one line of JSON, written and read. Of damaged text nothing is taken: there is no evidence then. */
void evidence_write(struct str *out, const struct finding_evidence *evidence);
void evidence_read(struct finding_evidence *evidence, const char *text, size_t size);

/* Stores the evidence of a finding, in the place of what was there. */
int evidence_store(struct store *store, const char *signature, const struct finding_evidence *evidence,
                   struct error *err);

/* Reads the evidence of a finding. That there is none, or that it is damaged, is no failure: the evidence is
 * then empty, as for every finding that was not reduced. The caller releases it, also after a failure. */
int evidence_load(struct finding_evidence *evidence, struct store *store, const char *signature,
                  struct error *err);

#endif
