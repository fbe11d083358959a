/*
 * Whether a smaller case shows the failure of a larger one, by their signatures.
 */
#ifndef REDUCE_SAME_FAILURE_H
#define REDUCE_SAME_FAILURE_H

#include "findings/signature.h"

/* Alike (signature.h), or with fewer operators to blame, as settling sees the better the less there is. Plain
 * operators (pass.h) may stand for others, but not for all. */
bool same_failure(const struct signature *smaller, const struct signature *larger);

/* The same symptom and message. */
bool same_message(const struct signature *a, const struct signature *b);

#endif
