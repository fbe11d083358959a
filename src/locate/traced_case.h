/*
 * What an engine says it did with a case (engine/trace.h), and with the nodes of it that are to blame.
 */
#ifndef LOCATE_TRACED_CASE_H
#define LOCATE_TRACED_CASE_H

#include "case/test_case.h"
#include "engine/pool.h"

/*
 * Runs the case once more, in a way that the engine tells what it does. The caller frees the trace. NULL: the
 * engine does not tell, or ended before it could; nobody's answer depends on it, so that is no failure. Of a
 * case about gradients the outputs alone are computed.
 */
struct trace *traced_case(struct pool *pool, int engine, const struct test_case *test);

/*
 * Appends what computed these nodes: "computed by FusedConv, CPUExecutionProvider, after
 * ConvActivationFusion". A value that the engine does not have, as it computes several nodes at once, is
 * computed by what computes the nearest value behind it. Nothing when the trace is NULL or names nothing.
 */
void traced_words(const struct trace *trace, const struct model *model, const size_t *nodes, size_t count,
                  struct str *out);

/*
 * Appends the names of the kernels that computed these nodes, of a model of one node that one: all that made
 * the value of the last, in the order of the trace and once where it comes again and again, "Reduce,
 * Identity". Returns the first pass or fusion that put one of them there, which lives in the trace; "": none
 * did, or the trace is NULL or does not say.
 */
const char *traced_kernels(const struct trace *trace, const struct model *model, const size_t *nodes,
                           size_t count, struct str *out);

#endif
