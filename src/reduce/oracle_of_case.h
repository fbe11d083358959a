/*
 * An oracle (oracle.h) for a whole case: made from the options of a reduction, started on the case, and the
 * case that its subject has become at the end.
 */
#ifndef REDUCE_ORACLE_OF_CASE_H
#define REDUCE_ORACLE_OF_CASE_H

#include "reduce/oracle.h"
#include "reduce/reduce.h"

/* Borrows from the options and the case. */
struct oracle oracle_of_case(const struct test_case *from, const struct reduce_options *options);

/* oracle_start, with the newest checker at hand and, where the case alone shows nothing, with the companion
 * of the options. Fails also when the failure is not the one to keep. */
int oracle_begin(struct oracle *oracle, struct subject *subject, const struct reduce_options *options,
                 struct error *err);

/* A case of the subject, which is empty afterwards, that asks for the same as `from`. forbidden_node: the
 * node that breaks a rule of ONNX, as the subject names it, or NULL. */
int oracle_case(struct test_case **test, struct subject *subject, const struct test_case *from,
                const char *forbidden_node, struct error *err);

/* Fills in what the oracle tells, and the size of the subject that it came to. */
void oracle_stats(const struct oracle *oracle, const struct subject *subject, struct reduce_stats *stats);

#endif
