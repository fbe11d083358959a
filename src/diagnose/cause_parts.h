/*
 * What the keys of causes (diagnose/table.h) are made of: facts of a finding that decide which row applies,
 * and the parts that a row puts together.
 */
#ifndef DIAGNOSE_CAUSE_PARTS_H
#define DIAGNOSE_CAUSE_PARTS_H

#include "diagnose/evidence.h"
#include "findings/signature.h"

/* Facts that follow from the signature and the evidence; their bits come after those of the evidence. */
enum cause_fact {
    HAS_PASS = EVIDENCE_BITS, /* an optimiser pass without which it is gone */
    HAS_PARAMETER,            /* a parameter is to blame */
    HAS_KERNEL,               /* the engine tells what computed it */
    HAS_FUSION,               /* the engine computes several nodes at once */
    HAS_TYPE,                 /* an output has a wrong element type */
    HAS_MESSAGE,              /* the engine gave a message, or left a stack */
    NAMES_PLACE,              /* the message names a file of the engine's source and a line */
    HAS_STACK,                /* the frames of a crash are known */
    NAMES_OPERATOR,           /* one operator is blamed, bodies aside */
    NAMES_SEVERAL,            /* several operators are blamed, bodies aside */
    NAMES_ANOTHER,            /* one operator is blamed, but another does most of the work */
    HAS_OPERATOR,             /* one operator does most of the work */
    ON_OPERANDS,              /* it works on the elements of several operands */
    BROADCASTS,               /* it does, and each of them may be broadcast: Add, Less, Max */
    READS_VECTORS,            /* a tensor of one dimension is a vector to it: MatMul */
    IS_FUNCTION,              /* of single elements of one operand: Exp, LeakyRelu */
    KEEPS_NAN,                /* its formula has no kinks and compares nothing, so that it keeps NaN */
    COUNTS_WINDOWS,           /* convolutions and pools, which have one rule for how many windows there are */
    OWNS_PARAMETER,           /* the operator that is blamed has the parameter to blame */
    IS_AXES,                  /* the parameter to blame is axes, or an axis */
    IS_NEGATIVE,              /* its value holds a negative whole number */
    READS_INTEGERS,           /* the constant to blame holds integers */
    WANTS_INTEGERS,           /* the right element type is an integer type */
    CURED_VARIABLE_ALONE,     /* only an input in place of a constant cures */
    CAUSE_FACTS
};

/* A finding, as the table looks at it. */
struct cause_subject {
    const struct signature *signature;
    const struct finding_evidence *evidence;
    uint64_t facts;                       /* EVIDENCE(bit) and EVIDENCE(fact) */
    enum kin kin;                         /* to which kind of failure the symptom belongs */
    char blamed[SIGNATURE_PART_SIZE + 1]; /* the only operator blamed; "" when there are several */
    const char *operator_name; /* the only operator blamed, or the one that does most of the work; "" when
                                  there is none */
};

void cause_subject_init(struct cause_subject *subject, const struct signature *signature,
                        const struct finding_evidence *evidence);

/* Whether the operator is a function of single elements of one operand. */
struct op;
bool cause_is_function(const struct op *op);

/* A part of a key. It may append nothing. */
typedef void cause_part(struct str *out, const struct cause_subject *subject);

cause_part cause_operator; /* the operator */
cause_part cause_kind;   /* the operator, or one that was shown to fail alike (diagnose/mates.h); of several,
                            all of them */
cause_part cause_kernel; /* what computed it, as the engine tells; the kind as well for functions of elements,
                            and alone where the engine does not tell */
cause_part cause_fusion; /* the pass or fusion that put the kernel there */
cause_part cause_shared_kind;    /* the kind; operators that broadcast are one, "elementwise" */
cause_part cause_window_kind;    /* the kind; convolutions and pools are one, "windows" */
cause_part cause_owner_kind;     /* the kind of the operator that has the parameter */
cause_part cause_parameter;      /* the parameter, and what matters of its value */
cause_part cause_parameter_name; /* the parameter alone */
cause_part cause_passes;         /* optimiser passes, without the level at which they run */
cause_part cause_place;          /* the file of the engine's source, or the message */
cause_part cause_message;        /* the message without the names of element types */
cause_part cause_coarse_types;   /* the element types; integers of all sizes are one */
cause_part cause_wrong_type;     /* the right element type and the one that came instead */
cause_part cause_constant;       /* the element type of the constant */
cause_part cause_operators;      /* all operators that are blamed, without their bodies */
cause_part cause_stack;          /* the innermost frames of a crash */
cause_part cause_main_operators; /* those of them that do most of the work */
cause_part cause_taker;          /* the operator that takes computed constants */
cause_part cause_spoiler;        /* the operator that overwrites what it reads, and those computed alike */
cause_part cause_scalar;         /* that the result is a scalar */

#endif
