/*
 * Whether a tool that makes one model from another (`transform` of an engine file) is off by its format
 * alone.
 *
 * A quantiser, or a converter to float16, changes answers by more than rounding explains, and does what it is
 * for. Its answer loses precision, and is not wrong, when two things hold: the engine behind it computes the
 * model as the tool wrote it, by the reference's bounds for that model; and that model differs from the
 * original by nothing but what its types explain (against.explained).
 */
#ifndef LOCATE_FORMAT_LOSS_H
#define LOCATE_FORMAT_LOSS_H

#include "locate/settlement.h"

/* Makes the verdict on a wrong or suspect answer of a tool "loses precision", with its text, where that is
 * so. False where it is not, or the engine is no tool. */
bool format_loss_explains(const struct settle_case *which, struct verdict *verdict);

#endif
