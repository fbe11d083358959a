/*
 * Operators that are computed alike (all reductions, all pools) may share a bug of an engine, or not. That
 * they do is shown by the case with another of them in its place.
 */
#ifndef DIAGNOSE_MATES_H
#define DIAGNOSE_MATES_H

#include "diagnose/experiment.h"

struct op;

/* Whether an engine may compute both by the same code: they have the same kernel in the reference, or both
 * have keepdims (all reductions) or the same weights (GRU, LSTM and RNN). A function of single elements is
 * like no other. */
bool mates_are_alike(const struct op *a, const struct op *b);

/* The first operator of the table that is like this one, or this one. */
const char *mates_first(const char *op);

/* Sets evidence->shared: the first operator of the table in whose place, or by itself, the case fails in the
 * same way as with evidence->main. */
void mates_find(const struct experiment *how);

#endif
