/*
 * What the changes tell of each parameter, and which of several that can be cured is the cause.
 */
#ifndef LOCATE_PARAM_EVIDENCE_H
#define LOCATE_PARAM_EVIDENCE_H

#include "locate/examination.h"

/* What is known of a parameter from its changes. */
struct param_evidence {
    size_t node; /* in the part */
    const struct op_param *param;
    const char *present;
    bool plain; /* its present value is the default */
    size_t cures, keeps;
    double apart;    /* the smallest distance of the answer at which a change cures; INFINITY: none does */
    size_t best;     /* that change */
    bool by_default; /* cured by its default, which it has not */
    bool by_synonym; /* cured by another spelling of the same node */
    bool same_shape; /* some cure leaves the shape of the answer as it is */
};

struct params_evidence {
    size_t count;
    struct param_evidence *items; /* heap */
    bool size_matters;            /* data of another size is computed right; see param_to_blame */
};

/* Weighs all parameters of the part, after examination_try_each. */
void params_evidence_init(struct params_evidence *evidence, struct examination *look);
void params_evidence_release(struct params_evidence *evidence);

/* The row of the change's parameter. */
struct param_evidence *params_evidence_of(const struct params_evidence *evidence,
                                          const struct param_change *change);

/*
 * The parameter that is to blame; NULL when none that can be cured is believed. A change that gives the
 * answer another shape may cure because of the shape alone. Where data of another size cures as well, such a
 * change is believed only of a parameter with no value that keeps the failure, when the default cures.
 */
const struct param_evidence *param_to_blame(const struct params_evidence *evidence, struct examination *look);

#endif
