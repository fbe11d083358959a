/*
 * Engines that compute functions of single elements in a narrower type than they are given in: whatever the
 * function, doubles come out with the digits of a float32.
 */
#ifndef DIAGNOSE_NARROWER_H
#define DIAGNOSE_NARROWER_H

#include "diagnose/experiment.h"

/* A model of one such function on a few numbers; NULL when it cannot be made. The caller frees it. */
struct op;
struct test_case *narrower_case(const struct op *op, enum dtype type);

/* Whether the finding's numbers are right but for their last digits, as those of float32 are, and three
 * functions that are right on float32 have such results on doubles, too. */
bool narrower_computed(const struct experiment *how);

#endif
