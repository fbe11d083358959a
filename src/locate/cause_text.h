/*
 * A cause in words.
 */
#ifndef LOCATE_CAUSE_TEXT_H
#define LOCATE_CAUSE_TEXT_H

#include "locate/param_evidence.h"

/* Writes cause->text from the other members: "Conv `conv2`: auto_pad=SAME_UPPER with strides=2,2; cured by
 * pads=0,0,1,1 in place of auto_pad". */
void cause_describe(struct examination *look, const struct params_evidence *evidence);

#endif
