/*
 * How far the answers of an engine's settings, and the reference's, are from what the engine itself computes
 * in float64: what PyTorch's maintainers look at first, as its own tests of compiled models do. Where eager
 * and compiled are equally far, the compiler is not at fault; where the engine's float64 is far from the
 * reference, no rounding is.
 */
#ifndef FINDINGS_FLOAT64_ERRORS_H
#define FINDINGS_FLOAT64_ERRORS_H

#include "findings/bundle.h"

/* Appends a table for the report, or nothing where the engine was not asked or the verdict is not about a
 * number. */
void float64_errors_add(struct str *out, const struct bundle_case *which);

#endif
