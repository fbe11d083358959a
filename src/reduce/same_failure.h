/*
 * Whether a smaller case shows the failure of a larger one, by their signatures.
 */
#ifndef REDUCE_SAME_FAILURE_H
#define REDUCE_SAME_FAILURE_H

#include "findings/signature.h"

/* Whether the signatures are alike (signature.h), or the smaller one blames fewer operators, since settling
 * finds the fault more precisely in a smaller model. Plain operators (pass.h) may have replaced some of the
 * operators, but not all. */
bool same_failure(const struct signature *smaller, const struct signature *larger);

/* Whether symptom and message are the same. */
bool same_message(const struct signature *a, const struct signature *b);

#endif
